"""Curves of the training history."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Final, NamedTuple, Self

import numpy as np
import pandas as pd
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from sklearn.utils.validation import check_is_fitted

from randsub.estimators.assembly import has_repeats
from randsub.inspection.drawing import COLORS, Display, Style, line_style, styled


class Panel(NamedTuple):
    """What one panel can show.

    Parameters
    ----------
    label : str
        Label of the y axis.
    curves : mapping of str to str
        Columns of the history, with their names in the legend. Those that exist are drawn.
    from_zero : bool
        Whether the y axis starts at 0.
    height : float
        Relative to other panels.
    prefix : str
        Of further columns, whose names in the legend are what follows.
    """

    label: str
    curves: Mapping[str, str]
    from_zero: bool = True
    height: float = 1.0
    prefix: str = ""

    def curves_in(self, history: pd.DataFrame) -> dict[str, str]:
        """Columns of a history that the panel draws, those with at least one number; and names."""
        curves = dict(self.curves)
        if self.prefix:
            names = (str(c) for c in history if str(c).startswith(self.prefix))
            curves |= {name: name.removeprefix(self.prefix) for name in names}
        return {c: name for c, name in curves.items() if c in history and history[c].notna().any()}


PANELS: Final[Mapping[str, Panel]] = {
    "objective": Panel(
        "objective",
        {"objective": "held-out batches", "validation_objective": "validation"},
        from_zero=False,
        height=1.8,
    ),
    "error": Panel("cross-validation error", {"cv_error": "cross-validation"}, False, 1.4),
    "score": Panel("validation score", {"validation_score": "validation"}, False, 1.4),
    "ess": Panel("minimum ESS", {"min_ess": "minimum ESS"}),
    "size": Panel(
        "features\nper member", {"expected_size": "expected size", "mean_size": "mean size"}
    ),
    "shares": Panel("shares of\nbase models", {}, height=1.4, prefix="share_"),
    "models": Panel("models\ntrained", {"n_models_trained": "models trained"}),
    "distinct": Panel("distinct\nsubsets", {"n_distinct": "distinct subsets"}),
}


@dataclass(eq=False, repr=False)
class ConvergenceDisplay(Display):
    """Training history: objectives, effective sample size, expected subset size, and events.

    For PRS: the objective on the held-out batches and on the validation samples, the smallest
    effective sample size (ESS) over the batches with the level below which models are renewed, the
    expected number of features per member, and the shares of base models if there are several. For
    RaSE: the cross-validation error, the validation score and the mean number of features. Use
    :meth:`from_estimator` to create one.

    Parameters
    ----------
    history : pandas.DataFrame
        One row per epoch or iteration, with its number as index, and columns as in ``history_``
        of PRS or RaSE.
    best : int, default=None
        The epoch or iteration that was kept, marked by a line.
    ess_level : float, default=None
        Effective sample size below which models are renewed.
    n_masks : int, default=None
        Number of masks per batch: the largest possible effective sample size.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
        The given one, or the first.
    axes_ : ndarray of matplotlib Axes
        One per panel.
    panels_ : list of str
        Names of the panels.
    lines_ : dict of str to matplotlib Line2D
        The curve of each column of the history.
    refresh_marks_ : matplotlib LineCollection or None
        Ticks in the first panel at the epochs before which models were renewed.
    revival_lines_ : list of matplotlib Line2D
        In every panel, at the epochs before which dropped features were revived.
    best_lines_ : list of matplotlib Line2D
        In every panel, at the best epoch.
    ess_line_ : matplotlib Line2D or None

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from randsub import PRSRegressor
    >>> from randsub.datasets import make_friedman
    >>> from randsub.inspection import ConvergenceDisplay
    >>> X, y, _ = make_friedman(n_samples=200, n_irrelevant=45, random_state=0)
    >>> model = PRSRegressor(KNeighborsRegressor(), max_iter=300, random_state=0).fit(X, y)
    >>> ConvergenceDisplay.from_estimator(model).panels_
    ['objective', 'ess', 'size']
    """

    history: pd.DataFrame
    _: KW_ONLY
    best: int | None = None
    ess_level: float | None = None
    n_masks: int | None = None

    @classmethod
    def from_estimator(
        cls, model: Any, *, part: tuple[float, int] | None = None, ax: Any = None, **options: Any
    ) -> Self:
        """Draw the history of a fitted model.

        Parameters
        ----------
        model : fitted PRS, RaSE or PRSNetwork
            With ``history_``.
        part : (float, int), default=None
            Of a network, the coefficient ``lam`` and the block of targets; by default the chosen
            coefficient and the first block.
        ax : matplotlib Axes or sequence of Axes, default=None
            One per panel, or a single one, which is divided; a new figure by default.
        **options : dict
            Further arguments of :meth:`plot`.

        Returns
        -------
        display : ConvergenceDisplay
        """
        check_is_fitted(model)
        history = getattr(model, "history_", None)
        if history is None:
            raise ValueError(
                f"{type(model).__name__} has no history_ to draw: it is not trained iteratively. "
                "Use PRS, RaSE or PRSNetwork."
            )
        best = getattr(model, "best_iter_", None)
        if has_repeats(model):
            # The history is a mean over repeats, and each of them has its own best epoch.
            best = None
        if history.index.nlevels > 1:
            history = _part(history, (model.lam_, 0) if part is None else part)
            lowest = int(history["validation_objective"].to_numpy().argmin())
            best = int(history.index.to_numpy()[lowest])
        elif part is not None:
            raise ValueError(f"part={part!r} is for networks; {type(model).__name__} has no parts.")
        n_masks = model.n_estimators
        level = model.solver_.ess_threshold * n_masks if "min_ess" in history else None
        return cls(history, best=best, ess_level=level, n_masks=n_masks).plot(ax, **options)

    def plot(
        self,
        ax: Any = None,
        *,
        panels: Sequence[str] | None = None,
        line_kw: Style = None,
        mark_kw: Style = None,
        refresh_kw: Style = None,
    ) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of Axes, default=None
            One per panel, or a single one, which is divided; a new figure by default.
        panels : sequence of {"objective", "error", "score", "ess", "size", "shares", "models", \
                "distinct"}, default=None
            Panels to show; by default all but the last two, as far as the history has them.
        line_kw : dict, default=None
            Arguments of :meth:`matplotlib.axes.Axes.plot`, for all curves.
        mark_kw : dict, default=None
            Arguments of :meth:`matplotlib.axes.Axes.axvline` for the best epoch and revivals, and
            of :meth:`matplotlib.axes.Axes.axhline` for the ESS at which models are renewed.
        refresh_kw : dict, default=None
            Arguments of :meth:`matplotlib.axes.Axes.vlines`, for renewals.

        Returns
        -------
        display : ConvergenceDisplay
        """
        self.panels_ = _chosen(self.history, panels)
        chosen = [PANELS[name] for name in self.panels_]
        heights = [panel.height for panel in chosen]
        size = (7.0, 1.0 + 1.3 * sum(heights))
        self._make_panels(ax, len(chosen), size=size, heights=heights, share="x", grid="y")
        self.lines_: dict[str, Any] = {}
        self.revival_lines_: list[Any] = []
        self.best_lines_: list[Any] = []
        best = [] if self.best is None else [self.best]
        revived = self._epochs_where("revived") - 0.5
        for place, panel in zip(self.axes_, chosen, strict=True):
            self._draw_curves(place, panel, line_kw)
            self.best_lines_ += self._mark_epochs(place, best, f"best ({self.best})", "--", mark_kw)
            self.revival_lines_ += self._mark_epochs(place, revived, "revival", ":", mark_kw)
        self.ess_line_ = self._draw_ess_level(mark_kw)
        self._show_span(self.axes_[0], *self.history.index[[0, -1]])
        self.refresh_marks_ = self._draw_refreshes(refresh_kw)
        self._add_legend(self.axes_[0])
        self.axes_[-1].set_xlabel(self.history.index.name or "epoch")
        return self

    def _draw_curves(self, ax: Any, panel: Panel, given: Any) -> None:
        # Few iterations are drawn as points, many epochs as a curve.
        marker = "o" if len(self.history) <= 30 else ""
        for place, (column, name) in enumerate(panel.curves_in(self.history).items()):
            style = {
                **line_style(place),
                "linewidth": 1.2,
                "marker": marker,
                "markersize": 4,
                "clip_on": not marker,
                # A name is no formula.
                "label": name.replace("$", r"\$"),
            }
            values = self.history[column].to_numpy(dtype=float)
            (line,) = ax.plot(self.history.index, values, **styled(Line2D, given, **style))
            self.lines_[column] = line
        ax.set_ylabel(panel.label)
        if panel.from_zero:
            ax.set_ylim(bottom=0.0)
        if panel.prefix and ax is not self.axes_[0]:
            ax.legend(frameon=False, fontsize="small", ncols=4)

    def _draw_ess_level(self, given: Any) -> Any:
        if "ess" not in self.panels_:
            return None
        ax = self.axes_[self.panels_.index("ess")]
        if self.n_masks is not None:
            ax.set_ylim(0.0, 1.05 * self.n_masks)
        if self.ess_level is None:
            return None
        style = {"color": COLORS[1], "linestyle": "--", "linewidth": 1.2, "label": "renewed below"}
        line = ax.axhline(self.ess_level, **styled(Line2D, given, **style))
        if ax is not self.axes_[0]:
            ax.legend(handles=[line], frameon=False, fontsize="small", loc="lower right")
        return line

    def _draw_refreshes(self, given: Any) -> Any:
        epochs = self._epochs_where("refreshed")
        if not len(epochs):
            return None
        ax = self.axes_[0]
        # Of several repeats or targets, on average.
        label = f"models renewed ({self.history['refreshed'].sum():,.0f}x)"
        style = styled(LineCollection, given, color=COLORS[2], linewidth=1.0, label=label)
        return ax.vlines(epochs, 0.0, 0.05, transform=ax.get_xaxis_transform(), **style)

    def _epochs_where(self, flag: str) -> Any:
        happened = self.history[flag] if flag in self.history else np.zeros(len(self.history))
        return self.history.index.to_numpy()[np.asarray(happened, dtype=bool)]


def _part(history: pd.DataFrame, part: tuple[float, int]) -> pd.DataFrame:
    parts = dict(iter(history.groupby(level=["lam", "block"], sort=False)))
    if part not in parts:
        raise ValueError(
            f"part={part!r} is not among the parts (lam, block) of the history: {list(parts)}."
        )
    return parts[part].droplevel(["lam", "block"])


def _chosen(history: pd.DataFrame, panels: Sequence[str] | None) -> list[str]:
    if not isinstance(history, pd.DataFrame) or not len(history):
        raise ValueError("The history must be a data frame with at least one row.")
    there = [name for name, panel in PANELS.items() if panel.curves_in(history)]
    if panels is None:
        chosen = [name for name in there if name not in ("models", "distinct")]
    else:
        chosen = [panels] if isinstance(panels, str) else list(panels)
    unknown = [name for name in chosen if name not in there]
    if unknown or not chosen:
        raise ValueError(f"panels must be some of {there} for this history, got {panels!r}.")
    return chosen
