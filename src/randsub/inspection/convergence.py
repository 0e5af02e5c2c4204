"""The history of a fit, as curves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from randsub.inspection.canvas import COLORS, NEUTRAL, explain, make_panels, show_span, styled, tidy


@dataclass(frozen=True)
class Panel:
    """What one panel can show.

    Parameters
    ----------
    label : str
        What its values mean.
    curves : mapping of str to str
        Columns of the history, with what they are called in the legend. Those that are there are
        drawn.
    from_zero : bool
        Whether the axis begins at 0.
    height : float
        Relative to other panels.
    """

    label: str
    curves: Mapping[str, str]
    from_zero: bool = False
    height: float = 1.0


PANELS: Final[Mapping[str, Panel]] = {
    "objective": Panel(
        "objective",
        {"objective": "held-out batches", "validation_objective": "validation"},
        height=1.8,
    ),
    "error": Panel("cross-validation error", {"cv_error": "cross-validation"}, height=1.4),
    "score": Panel("validation score", {"validation_score": "validation"}, height=1.4),
    "ess": Panel("least ESS", {"min_ess": "least ESS"}, from_zero=True),
    "size": Panel(
        "features\na member",
        {"expected_size": "expected size", "mean_size": "mean size"},
        from_zero=True,
    ),
    "models": Panel("models\ntrained", {"n_models_trained": "models trained"}, from_zero=True),
}
_DEFAULT = ("objective", "error", "score", "ess", "size")


class ConvergenceDisplay:
    """How a fit went: objectives, effective sample size, expected size, and what happened when.

    Of PRS one sees the objective on the held-out batches and on validation, the smallest effective
    sample size (ESS) of a batch with the level below which models are renewed, and the expected
    number of features of a member; of RaSE the cross-validation error, the validation score and
    the mean number of features. It is best made by :meth:`from_estimator`.

    Parameters
    ----------
    history : pandas.DataFrame
        One row for each epoch or iteration, with its number as index, and columns as in
        ``history_`` of PRS or RaSE.
    best : int, default=None
        The epoch or iteration that was kept, marked.
    ess_level : float, default=None
        Effective sample size below which models are renewed.
    n_masks : int, default=None
        The largest effective sample size that there can be.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
        The one that was given, or the first.
    axes_ : ndarray of matplotlib Axes
        One for each panel.
    panels_ : list of str
        What they show.
    lines_ : dict of str to matplotlib Line2D
        The curve of each column of the history.
    refresh_marks_ : matplotlib LineCollection or None
        Strokes below the first panel at the epochs before which models were renewed.
    revival_lines_ : list of matplotlib Line2D
        In every panel, at the epochs before which dropped features were raised.
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

    def __init__(
        self,
        history: pd.DataFrame,
        *,
        best: int | None = None,
        ess_level: float | None = None,
        n_masks: int | None = None,
    ) -> None:
        self.history = history
        self.best = best
        self.ess_level = ess_level
        self.n_masks = n_masks

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        *,
        part: tuple[float, int] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the history of a fitted model.

        Parameters
        ----------
        model : fitted PRS, RaSE or PRSNetwork
            With ``history_``.
        part : (float, int), default=None
            Of a network, the coefficient ``lam`` and the block of targets; by default the
            coefficient that was chosen, and the first block.
        ax : matplotlib Axes or sequence of Axes, default=None
            One for each panel, or one that is divided; a new figure by default.
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
                f"{type(model).__name__} has no history_ to draw: nothing is learned step by step "
                "in it. PRS, RaSE and PRSNetwork have one."
            )
        best = getattr(model, "best_iter_", None)
        if history.index.nlevels > 1:
            history = _part(history, (model.lam_, 0) if part is None else part)
            lowest = int(history["validation_objective"].to_numpy().argmin())
            best = int(history.index.to_numpy()[lowest])
        elif part is not None:
            raise ValueError(f"part={part!r} is for networks; {type(model).__name__} has no parts.")
        level = None
        if "min_ess" in history:
            level = model.ess_threshold * model.n_estimators
        return cls(history, best=best, ess_level=level, n_masks=model.n_estimators).plot(
            ax, **options
        )

    def plot(
        self,
        ax: Any = None,
        *,
        panels: Sequence[str] | None = None,
        line_kw: Mapping[str, Any] | None = None,
        mark_kw: Mapping[str, Any] | None = None,
        refresh_kw: Mapping[str, Any] | None = None,
    ) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of Axes, default=None
            One for each panel, or one that is divided; a new figure by default.
        panels : sequence of {"objective", "error", "score", "ess", "size", "models"}, default=None
            What to show; by default all but the last, as far as the history has it.
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
        made = make_panels(
            ax,
            len(chosen),
            size=(7.0, 1.0 + 1.3 * sum(heights)),
            heights=heights,
            share="x",
        )
        self.ax_, self.axes_, self.figure_ = made.ax, made.axes, made.figure
        self.lines_: dict[str, Any] = {}
        self.revival_lines_: list[Any] = []
        self.best_lines_: list[Any] = []
        revivals = _epochs_where(self.history, "revived")
        for place, panel in zip(self.axes_, chosen, strict=True):
            self._draw(place, panel, line_kw)
            self.revival_lines_ += [_upright(place, e - 0.5, ":", mark_kw) for e in revivals]
            if self.best is not None:
                self.best_lines_.append(_upright(place, self.best, "--", mark_kw))
            tidy(place, grid="y")
        self.ess_line_ = self._draw_ess_level(mark_kw)
        first, last = self.history.index[[0, -1]]
        show_span(self.axes_[0], first, last)
        self.refresh_marks_ = self._draw_refreshes(refresh_kw)
        self._explain()
        self.axes_[-1].set_xlabel(self.history.index.name or "epoch")
        return self

    def _draw(self, ax: Any, panel: Panel, given: Any) -> None:
        from matplotlib.lines import Line2D

        # Few iterations are points that were computed; many epochs are a curve.
        marker = "o" if len(self.history) <= 30 else ""
        for column in _columns(self.history, panel):
            defaults = {
                "color": COLORS[_place(column, panel)],
                "linewidth": 1.2,
                "marker": marker,
                "markersize": 4,
            }
            self.lines_[column] = ax.plot(
                self.history.index,
                self.history[column].to_numpy(dtype=float),
                **styled(Line2D, defaults, given),
            )[0]
        ax.set_ylabel(panel.label)
        if panel.from_zero:
            ax.set_ylim(bottom=0.0)

    def _draw_ess_level(self, given: Any) -> Any:
        if "ess" not in self.panels_:
            return None
        from matplotlib.lines import Line2D

        ax = self.axes_[self.panels_.index("ess")]
        if self.n_masks is not None:
            ax.set_ylim(0.0, 1.05 * self.n_masks)
        if self.ess_level is None:
            return None
        style = {"color": COLORS[1], "linestyle": "--", "linewidth": 1.2}
        return ax.axhline(self.ess_level, **styled(Line2D, style, given))

    def _draw_refreshes(self, given: Any) -> Any:
        epochs = _epochs_where(self.history, "refreshed")
        if not len(epochs):
            return None
        from matplotlib.collections import LineCollection

        ax = self.axes_[0]
        style = {"color": COLORS[2], "linewidth": 1.0}
        return ax.vlines(
            epochs,
            0.0,
            0.05,
            transform=ax.get_xaxis_transform(),
            **styled(LineCollection, style, given),
        )

    def _explain(self) -> None:
        """One legend, of what the first panel has."""
        ax, panel = self.axes_[0], PANELS[self.panels_[0]]
        entries = [
            (self.lines_[column], panel.curves[column]) for column in _columns(self.history, panel)
        ]
        if self.best_lines_:
            entries.append((self.best_lines_[0], f"best ({self.best})"))
        if self.revival_lines_:
            entries.append((self.revival_lines_[0], "revival"))
        if self.refresh_marks_ is not None:
            n = len(self.refresh_marks_.get_segments())
            entries.append((self.refresh_marks_, f"models renewed ({n}x)"))
        explain(ax, entries)
        if self.ess_line_ is not None:
            below = self.axes_[self.panels_.index("ess")]
            below.legend(
                [self.ess_line_],
                ["renewed below"],
                frameon=False,
                fontsize="small",
                loc="lower right",
            )


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
    there = [name for name, panel in PANELS.items() if _columns(history, panel)]
    if panels is None:
        chosen = [name for name in there if name in _DEFAULT]
    else:
        chosen = [panels] if isinstance(panels, str) else list(panels)
    unknown = [name for name in chosen if name not in there]
    if unknown or not chosen:
        raise ValueError(f"panels must be some of {there} for this history, got {panels!r}.")
    return chosen


def _columns(history: pd.DataFrame, panel: Panel) -> list[str]:
    """Columns of the history for a panel; one without any number is none."""
    return [c for c in panel.curves if c in history and history[c].notna().any()]


def _place(column: str, panel: Panel) -> int:
    return list(panel.curves).index(column) if len(panel.curves) > 1 else 0


def _epochs_where(history: pd.DataFrame, flag: str) -> Any:
    if flag not in history:
        return np.empty(0, dtype=int)
    return history.index.to_numpy()[history[flag].to_numpy(dtype=bool)]


def _upright(ax: Any, epoch: float, dash: str, given: Any) -> Any:
    from matplotlib.lines import Line2D

    style = {"color": NEUTRAL, "linestyle": dash, "linewidth": 1.2}
    return ax.axvline(epoch, **styled(Line2D, style, given))
