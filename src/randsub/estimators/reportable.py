"""A fitted ensemble that writes a report on itself."""

from os import PathLike
from pathlib import Path
from typing import Any

from randsub._typing import Table


class Reportable:
    """Ensembles with the method ``to_report``."""

    def to_report(
        self: Any, path: PathLike[str] | str, X: Table | None = None, y: Any = None, **options: Any
    ) -> Path:
        """Write a report on this fitted model to an HTML page.

        Parameters
        ----------
        path : path-like
            The file to write.
        X, y : table and array-like, default=None
            The data that the model was fitted on.
        **options : dict
            Further arguments of :func:`randsub.report.write_report`: ``X_test`` and ``y_test`` for
            scores on new rows, ``title``, ``compare``, ``stability`` and others.

        Returns
        -------
        path : Path
            Path of the page.
        """
        from randsub.report import write_report

        return write_report(self, path, X, y, **options)
