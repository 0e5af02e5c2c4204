"""Everything that a report is made of."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from randsub.estimators.base import SubspaceEnsemble
from randsub.estimators.prs import BasePRS
from randsub.estimators.training_rows import KnownRows
from randsub.report.charts import Chart, members_chart, training_charts
from randsub.report.feature_table import rank_features
from randsub.report.labelled_rows import Rows
from randsub.report.model_comparison import Comparison
from randsub.selection import Stability


@dataclass(frozen=True, eq=False)
class Findings:
    """A fitted model and what is known about it; unknown parts are None.

    Parameters
    ----------
    model : fitted ensemble
    train, test : Rows or None
        Training rows and new rows.
    known : KnownRows or None
        Which of the rows that were given as new are training rows, and not in ``test``.
    comparison : Comparison or None
    stability : Stability or None
    title : str
    facts : mapping of str to str
        Further lines for the table of model and data.
    command : str or None
        Command line that fits the model again.
    n_validation : int or None
        Number of rows of the validation data that was given to ``fit``, if it is known.
    """

    model: SubspaceEnsemble
    train: Rows | None = None
    test: Rows | None = None
    known: KnownRows | None = None
    comparison: Comparison | None = None
    stability: Stability | None = None
    title: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    command: str | None = None
    n_validation: int | None = None

    @cached_property
    def features(self) -> pd.DataFrame | None:
        """The table of features; None for a model without importances."""
        return rank_features(self.model, self.stability)

    @cached_property
    def charts(self) -> dict[str, Chart]:
        """Charts of the training history and of the members, by their keys on the page."""
        return {**training_charts(self.model), "members": members_chart(self.model)}

    @property
    def history(self) -> pd.DataFrame | None:
        """One row per epoch; None for a model that is not trained in epochs."""
        return self.model.history_ if isinstance(self.model, BasePRS) else None

    def parameter(self, name: str) -> Any:
        """A parameter of the model, or None if it has no such parameter."""
        return self.model.get_params(deep=False).get(name)
