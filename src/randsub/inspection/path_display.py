"""Alpha along the epochs, as lines."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.lines import Line2D
from sklearn.utils.validation import check_is_fitted

from randsub._typing import FloatArray, IntArray
from randsub.inspection.drawing import NEUTRAL, Display, Style, line_style, styled
from randsub.inspection.feature_names import (
    check_lengths,
    checked_names,
    features_of,
    shortened,
    top_features,
)

# Least distance between the names of two lines, as a share of the height of the axes.
_APART = 0.052


@dataclass(eq=False, repr=False)
class PathDisplay(Display):
    """Alpha along the epochs: the features with the largest alpha as lines, the others as bands.

    Use :meth:`from_estimator` to create one.

    Parameters
    ----------
    epochs : int ndarray of shape (n_snapshots,)
        Ascending.
    alphas : ndarray of shape (n_snapshots, n_features)
        Alpha after each of these epochs.
    feature_names : sequence of str, default=None
        Names of the features; x0, x1, ... by default.
    final_alpha : ndarray of shape (n_features,), default=None
        Features are ordered by it; alpha of the last snapshot by default.
    best_epoch : int, default=None
        The epoch whose alpha was kept, marked by a line.
    revivals : sequence of int, default=()
        Epochs before which dropped features were revived, marked by lines.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
    shown_ : int ndarray
        Features with a line, the largest alpha first.
    lines_ : list of matplotlib Line2D
        One per feature in ``shown_``.
    texts_ : list of matplotlib Annotation
        Their names, at the right end.
    bands_ : list of matplotlib PolyCollection
        Of the other features, if there are any: the range of alpha, and its middle 90 %.
    best_line_ : matplotlib Line2D or None
    revival_lines_ : list of matplotlib Line2D

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import numpy as np
    >>> from randsub.inspection import PathDisplay
    >>> alphas = np.array([[0.05, 0.05], [0.2, 0.03], [0.4, 0.0]])
    >>> display = PathDisplay([0, 10, 20], alphas, ["age", "noise"], best_epoch=20).plot()
    >>> display.lines_[0].get_ydata().tolist()
    [0.05, 0.2, 0.4]
    """

    epochs: Any
    alphas: Any
    feature_names: Any = None
    _: KW_ONLY
    final_alpha: Any = None
    best_epoch: int | None = None
    revivals: Sequence[int] = ()

    def __post_init__(self) -> None:
        self.epochs, self.alphas = np.asarray(self.epochs), np.asarray(self.alphas)
        if self.alphas.ndim != 2 or not self.alphas.size or len(self.alphas) != self.epochs.size:
            raise ValueError(
                "alphas must have the shape (n_snapshots, n_features), with one snapshot per "
                f"epoch, got {self.alphas.shape} and {self.epochs.size} epoch(s)."
            )
        n_features = self.alphas.shape[1]
        final = self.alphas[-1] if self.final_alpha is None else self.final_alpha
        self.final_alpha = np.asarray(final)
        check_lengths(n_features, "features", final_alpha=self.final_alpha)
        self.feature_names = checked_names(self.feature_names, n_features)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        *,
        feature_names: Sequence[str] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw alpha along the epochs of a fitted model, its ``alpha_path_``.

        Of a model with several repeats, the mean over repeats is drawn.

        Parameters
        ----------
        model : fitted PRSClassifier or PRSRegressor
        feature_names : sequence of str, default=None
            Names of the columns (or of the groups); by default those seen during fit.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        **options : dict
            Further arguments of :meth:`plot`.

        Returns
        -------
        display : PathDisplay
        """
        check_is_fitted(model)
        if not hasattr(model, "alpha_path_"):
            raise ValueError(
                f"{type(model).__name__} has no alpha_path_ to draw. Use PRSClassifier or "
                "PRSRegressor; of a pipeline or a search give the model inside (pipeline[-1], "
                "search.best_estimator_)."
            )
        names, columns = features_of(model, model.n_features_in_, feature_names, None)
        history = model.history_
        return cls(
            model.alpha_path_epochs_,
            model.alpha_path_[:, columns],
            names,
            final_alpha=model.alpha_[columns],
            # Each of several repeats has its own.
            best_epoch=model.best_iter_ if model.n_repeats_ == 1 else None,
            revivals=history.index[history["revived"]].tolist(),
        ).plot(ax, **options)

    def plot(
        self,
        ax: Any = None,
        *,
        n_features: int | None = 10,
        line_kw: Style = None,
        band_kw: Style = None,
        mark_kw: Style = None,
    ) -> Self:
        """Draw the lines.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        n_features : int, default=10
            Number of features with a line and a name, the largest alpha first; None for all.
        line_kw : dict, default=None
            Arguments of :meth:`matplotlib.axes.Axes.plot`, for all lines.
        band_kw : dict, default=None
            Arguments of :meth:`matplotlib.axes.Axes.fill_between`.
        mark_kw : dict, default=None
            Arguments of :meth:`matplotlib.axes.Axes.axvline`, for the best epoch and revivals.

        Returns
        -------
        display : PathDisplay
        """
        epochs, alphas, names = self.epochs, self.alphas, self.feature_names
        self.shown_, others = top_features(self.final_alpha, n_features)
        self._make_panels(ax, size=(7.0, 4.2), grid="y")
        self.bands_ = _bands(self.ax_, epochs, alphas[:, others], band_kw) if len(others) else []
        self.lines_ = [
            _line(self.ax_, epochs, alphas[:, j], place, line_kw)
            for place, j in enumerate(self.shown_)
        ]
        best = [] if self.best_epoch is None else [self.best_epoch]
        lines = self._mark_epochs(self.ax_, best, "best epoch", "--", mark_kw)
        self.best_line_ = lines[0] if lines else None
        revived = np.asarray(self.revivals) - 0.5
        self.revival_lines_ = self._mark_epochs(self.ax_, revived, "revival", ":", mark_kw)
        self.ax_.set(xlabel="epoch", ylabel="alpha")
        self._show_span(self.ax_, epochs[0], epochs[-1])
        self.ax_.set_ylim(bottom=0.0)
        self._add_legend(self.ax_, max_columns=2)
        self.texts_ = self._name_lines([shortened(names[j]) for j in self.shown_])
        return self

    def _name_lines(self, names: list[str]) -> list[Any]:
        """The name of each line at its right end, moved where names would overlap."""
        top = self.ax_.get_ylim()[1] or 1.0
        ends = np.array([line.get_ydata()[-1] for line in self.lines_], dtype=float) / top
        style = {"xycoords": "axes fraction", "va": "center", "annotation_clip": False}
        return [
            self._write(self.ax_, name, (1.0, height), (6, 0), {"color": line.get_color()}, **style)
            for line, name, height in zip(self.lines_, names, spread(ends, _APART), strict=True)
        ]


def spread(heights: FloatArray, apart: float) -> FloatArray:
    """Heights with a minimum distance, in the same order and close to where they were.

    Where they do not fit between 0 and 1, they are evenly spaced.

    Parameters
    ----------
    heights : ndarray of shape (n,)
        Between 0 and 1.
    apart : float
        The minimum distance.
    """
    n = len(heights)
    order = np.argsort(heights, kind="stable")
    apart = min(apart, 1.0 / max(n - 1, 1))
    steps = apart * np.arange(n)
    # With y_k = x_k - k * apart, being apart is being sorted: pushed up by those below, and down
    # again where the uppermost would leave the axes.
    pushed = np.maximum.accumulate(heights[order] - steps)
    fitted = np.minimum(pushed, 1.0 - apart * (n - 1)) + steps
    placed = np.empty(n)
    placed[order] = fitted
    return placed


def _line(ax: Any, epochs: IntArray, alpha: FloatArray, place: int, given: Any) -> Any:
    style = {**line_style(place), "linewidth": 1.6}
    return ax.plot(epochs, alpha, **styled(Line2D, given, **style))[0]


def _bands(ax: Any, epochs: IntArray, alphas: FloatArray, given: Any) -> list[Any]:
    low, below, above, high = np.quantile(alphas, [0.0, 0.05, 0.95, 1.0], axis=1)
    bands = [
        (low, high, 0.2, f"range of the {alphas.shape[1]:,} others"),
        (below, above, 0.45, "middle 90 % of these"),
    ]
    style = {"facecolor": NEUTRAL, "linewidth": 0.0}
    return [
        ax.fill_between(
            epochs, *ends, **styled(PolyCollection, given, **style, alpha=opacity, label=label)
        )
        for *ends, opacity, label in bands
    ]
