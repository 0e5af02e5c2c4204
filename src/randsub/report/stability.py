"""Results of reruns, as the page shows them."""

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import pandas as pd

from randsub._typing import FloatArray
from randsub.ensemble.subspace import SubspaceEnsemble
from randsub.report.importances import feature_names
from randsub.report.markup import visible
from randsub.report.wording import number


@runtime_checkable
class StabilityResult(Protocol):
    """What the page reads of a result of :func:`randsub.selection.stability`.

    Parameters
    ----------
    importances : ndarray of shape (n_runs, n_features)
    threshold : float
        Importance from which on a feature counts as selected.
    level : float
        Share of the runs within the interval of an importance.
    agreement : object
        With the ``value`` of a measure of the stability of the whole selection, 1 at best.
    """

    importances: FloatArray
    threshold: float
    level: float
    agreement: Any

    def table(self) -> pd.DataFrame:
        """One row for each column of X, in their order.

        With the columns ``feature``, ``mean``, ``lower``, ``upper`` and ``frequency``.
        """


@dataclass(frozen=True, eq=False)
class StabilityView:
    """Reruns that are about the same features as the model.

    Parameters
    ----------
    result : StabilityResult
    table : DataFrame
        That of the result.
    names : list of str
        Of the columns of X.
    """

    OFTEN: ClassVar[float] = 0.8

    result: StabilityResult
    table: pd.DataFrame
    names: list[str]

    def often_selected(self) -> list[str]:
        """Features that almost every run selects, the most frequent first."""
        frequency = self.table["frequency"].to_numpy(dtype=float)
        order = np.argsort(-frequency, kind="stable")
        return [self.names[j] for j in order if frequency[j] >= self.OFTEN]

    def figures(self) -> list[tuple[str, str]]:
        """The few numbers that come first."""
        return [
            (f"{len(self.result.importances):,}", "reruns on parts of the rows"),
            (
                number(float(self.result.agreement.value)),
                "agreement of the selections: 1 if all are the same, about 0 if by chance",
            ),
        ]

    def explanation(self) -> str:
        """How the reruns were made, and how to read them."""
        return (
            "The model was trained again on parts of the rows, with other seeds. What comes back "
            "each time can be relied on more than what comes and goes. In the table above, "
            f"Selected is the share of these runs with an alpha of at least "
            f"{number(self.result.threshold)}, and {self.result.level:.0%} of the runs lie between "
            "Low and High. These are no confidence intervals: on fewer rows alpha moves more."
        )


def view_stability(model: SubspaceEnsemble, stability: Any) -> StabilityView | None:
    """A result of reruns, checked against the model; None stays None.

    Parameters
    ----------
    model : fitted ensemble
    stability : StabilityResult or None
    """
    if stability is None:
        return None
    if not isinstance(stability, StabilityResult):
        raise TypeError(
            "stability must be a result of randsub.selection.stability, got "
            f"{type(stability).__name__}."
        )
    table, names = stability.table(), feature_names(model)
    if len(table) != len(names):
        raise ValueError(
            f"stability is about {len(table)} features, but the model has seen {len(names)}; give "
            "that of the same data."
        )
    if hasattr(model, "feature_names_in_"):
        theirs = [visible(str(name)) for name in table["feature"]]
        strange = [ours for ours, other in zip(names, theirs, strict=True) if ours != other]
        if strange:
            raise ValueError(
                "stability is about other features than the model: it has none where the model "
                f"has {strange[0]!r}; give that of the same data, with columns in the same order."
            )
    return StabilityView(stability, table, names)
