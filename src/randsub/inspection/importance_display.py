"""Importances of features, as bars."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from randsub._typing import FloatArray
from randsub.inspection.drawing import COLORS, NEUTRAL, Display, Style, styled
from randsub.inspection.feature_names import (
    check_lengths,
    checked_names,
    features_of,
    importances_of,
    shortened,
    threshold_of,
    top_features,
)

# Height of the row for all features without a bar, in bars.
_REST = 2.0
# Maximum number of corners of its outline.
_CORNERS = 256


@dataclass(eq=False, repr=False)
class ImportanceDisplay(Display):
    """The most important features as bars with their names, the others as one curve.

    Several models are drawn side by side, with the same features in the same order. Use
    :meth:`from_estimator` to create one.

    Parameters
    ----------
    importances : ndarray of shape (n_features,) or (n_models, n_features)
    feature_names : sequence of str, default=None
        Names of the features; x0, x1, ... by default.
    intervals : ndarray of shape (2, n_features) or (n_models, 2, n_features), default=None
        Lower and upper end of an interval for each importance, for example over several runs.
    thresholds : float or sequence of floats, default=None
        Importance from which features are selected: one for all models, or one per model.
    names : sequence of str, default=None
        Titles, one per model.
    label : str, default="importance"
        Label of the axis of the bars.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
        The given one, or the first.
    axes_ : ndarray of matplotlib Axes
        One per model.
    shown_ : int ndarray
        Features with a bar, the most important one first.
    bars_ : list of matplotlib BarContainer
        One per model. Bars of features below the threshold are pale.
    intervals_ : list of matplotlib ErrorbarContainer or None
    threshold_lines_ : list of matplotlib Line2D or None
    rests_ : list of matplotlib PolyCollection or None
        The features without a bar: number of them above each value, on a logarithmic scale.

    See Also
    --------
    SubspaceDisplay : Feature subset of each member.
    PathDisplay : Alpha along the epochs.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from randsub import PRSRegressor
    >>> from randsub.datasets import make_friedman
    >>> from randsub.inspection import ImportanceDisplay
    >>> X, y, relevant = make_friedman(n_samples=200, n_irrelevant=45, random_state=0)
    >>> model = PRSRegressor(KNeighborsRegressor(), max_iter=300, random_state=0).fit(X, y)
    >>> display = ImportanceDisplay.from_estimator(model, n_features=10)
    >>> len(display.bars_[0])
    10
    """

    importances: Any
    feature_names: Any = None
    _: KW_ONLY
    intervals: Any = None
    thresholds: Any = None
    names: Sequence[str] | None = None
    label: str = "importance"

    def __post_init__(self) -> None:
        self.importances = np.atleast_2d(np.asarray(self.importances, dtype=float))
        if self.importances.ndim != 2 or not self.importances.size:
            raise ValueError(
                "importances must have the shape (n_features,) or (n_models, n_features), with at "
                f"least one feature, got {self.importances.shape}."
            )
        if not np.isfinite(self.importances).all():
            n_bad = int((~np.isfinite(self.importances)).sum())
            raise ValueError(f"importances must be finite, but {n_bad} value(s) are not.")
        n_models, n_features = self.importances.shape
        self.feature_names = checked_names(self.feature_names, n_features)
        if np.ndim(self.thresholds) == 0:
            self.thresholds = [self.thresholds] * n_models
        check_lengths(n_models, "models", names=self.names, thresholds=self.thresholds)
        if self.intervals is not None:
            ends = np.asarray(self.intervals, dtype=float)
            self.intervals = ends.reshape(-1, *ends.shape[-2:])
            if self.intervals.shape != (n_models, 2, n_features):
                raise ValueError(
                    f"intervals must have the shape {(n_models, 2, n_features)}: models, lower and "
                    f"upper end, features; got {ends.shape}."
                )

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        *,
        feature_names: Sequence[str] | None = None,
        by_group: bool | None = None,
        by_base: bool = False,
        threshold: float | str | None = "mean",
        intervals: Any = "auto",
        names: Sequence[str] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the importances of one or several fitted models.

        Parameters
        ----------
        model : fitted estimator, or sequence of these
            With ``feature_importances_``: PRS, RaSE, a forest. Several must have been trained on
            the same columns.
        feature_names : sequence of str, default=None
            Names of the columns (or of the groups); by default those seen by the first model.
        by_group : bool, default=None
            Whether columns of a group, which share an importance, share a bar; by default if the
            first model has ``feature_groups_``.
        by_base : bool, default=False
            Whether each base model has its own bars, its alpha, if there is one model with several
            base models. Those without a share in the ensemble are left out.
        threshold : float, "mean", "median", a multiple such as "1.25*mean", or None, \
                default="mean"
            Importance from which features are selected, with the meaning that it has in
            :class:`sklearn.feature_selection.SelectFromModel`.
        intervals : array-like of shape (2, n) or (n_models, 2, n), "auto" or None, default="auto"
            Lower and upper end of an interval for each of the n columns (or groups). "auto" is one
            standard deviation over repeats, ``alpha_std_``, below and above alpha, for models with
            several repeats.
        names : sequence of str, default=None
            Titles, one per model; by default, with ``by_base``, the base models and their shares.
        ax : matplotlib Axes or sequence of Axes, default=None
            One per model, or a single one, which is divided; a new figure by default.
        **options : dict
            Further arguments of :meth:`plot`.

        Returns
        -------
        display : ImportanceDisplay
        """
        models = list(model) if isinstance(model, Sequence) else [model]
        if not models:
            raise ValueError("There is no model to draw.")
        found = [importances_of(one) for one in models]
        sizes = [len(importances) for importances in found]
        if len(set(sizes)) > 1:
            raise ValueError(
                "Models side by side must have been trained on the same columns, but the numbers "
                f"of their columns are {', '.join(map(str, sizes))}."
            )
        feature_names, columns = features_of(models[0], sizes[0], feature_names, by_group)
        repeats = [getattr(one, "repeat_alphas_", None) for one in models]
        if by_base:
            of_bases = _alphas_of_bases(models)
            names, repeats = [*of_bases] if names is None else names, [*of_bases.values()]
            found = [alphas.mean(axis=0) for alphas in of_bases.values()]
        if isinstance(intervals, str):
            intervals = _over_repeats(repeats, columns, intervals)
        return cls(
            np.array(found)[:, columns],
            feature_names,
            intervals=intervals,
            # Of all columns: SelectFromModel selects columns, not groups.
            thresholds=[threshold_of(importances, threshold) for importances in found],
            names=names,
            label="alpha" if all(hasattr(one, "alpha_") for one in models) else "importance",
        ).plot(ax, **options)

    def plot(
        self,
        ax: Any = None,
        *,
        n_features: int | None = 20,
        bar_kw: Style = None,
        interval_kw: Style = None,
        threshold_kw: Style = None,
        rest_kw: Style = None,
    ) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of Axes, default=None
            One per model, or a single one, which is divided; a new figure by default.
        n_features : int, default=20
            Number of features with a bar and a name; None for all. Of several models, those with
            the largest mean importance, relative to the largest importance of each model.
        bar_kw : dict, default=None
            Arguments of :meth:`matplotlib.axes.Axes.barh`.
        interval_kw : dict, default=None
            Arguments of :meth:`matplotlib.axes.Axes.errorbar`.
        threshold_kw : dict, default=None
            Arguments of :meth:`matplotlib.axes.Axes.axvline`.
        rest_kw : dict, default=None
            Arguments of :meth:`matplotlib.axes.Axes.fill_between`.

        Returns
        -------
        display : ImportanceDisplay
        """
        n_models = len(self.importances)
        self.shown_, rest = top_features(_relative(self.importances), n_features)
        n_shown = len(self.shown_)
        n_rows = n_shown + (_REST if len(rest) else 0.0)
        size = (3.4 + 2.6 * n_models, 1.0 + 0.26 * max(n_rows, 3))
        self._make_panels(ax, n_models, size=size, n_columns=n_models, share="y", grid="x")
        self.bars_: list[Any] = []
        self.intervals_: list[Any] = [None] * n_models
        self.threshold_lines_: list[Any] = [None] * n_models
        self.rests_: list[Any] = [None] * n_models
        labels = [shortened(self.feature_names[j]) for j in self.shown_]
        for k, panel in enumerate(self.axes_):
            values, level = self.importances[k], self.thresholds[k]
            self.bars_.append(_bars(panel, values[self.shown_], level, bar_kw))
            if self.intervals is not None:
                ends = self.intervals[k][:, self.shown_]
                self.intervals_[k] = _whiskers(panel, ends, interval_kw)
            if len(rest):
                self.rests_[k] = _curve(panel, values[rest], n_shown, rest_kw)
            if level is not None:
                style = {"color": COLORS[1], "linestyle": "--", "linewidth": 1.2}
                style = styled(Line2D, threshold_kw, **style, label=f"threshold {level:.3g}")
                self.threshold_lines_[k] = panel.axvline(level, **style)
                self._add_legend(panel)
            panel.set_xlabel(self.label)
            panel.set_xlim(left=min(0.0, panel.get_xlim()[0]) if values.min() < 0.0 else 0.0)
            if self.names is not None:
                self._set_title(panel, self.names[k], loc="left", fontsize="medium")
            self._name_rows(panel, labels, _rest_label(self.importances[:, rest]), _REST)
        return self


def _alphas_of_bases(models: Sequence[Any]) -> dict[str, FloatArray]:
    """Alpha of each base model in each repeat, (n_repeats, n_features), by name and share."""
    shares = getattr(models[0], "shares_", None)
    if shares is None or len(models) > 1:
        raise ValueError(
            "by_base=True is for one model that was fitted with a list of base models, got "
            f"{len(models)} model(s), the first of them {models[0]!r}."
        )
    return {
        f"{name} ({share:.0%})": models[0].alphas_[name]
        for name, share in shares.items()
        if share > 0.0
    }


def _over_repeats(
    repeats: Sequence[FloatArray | None], columns: Any, given: str
) -> FloatArray | None:
    """Alpha minus and plus its deviation over repeats, (n_models, 2, n); None without repeats.

    ``repeats`` are the alphas of each model, (n_repeats, n_features), if it has some.
    """
    if given != "auto":
        raise ValueError(f"intervals must be an array, 'auto' or None, got {given!r}.")
    ends = np.full((len(repeats), 2, len(columns)), np.nan)
    for place, alphas in enumerate(repeats):
        # Nothing is drawn for a model with a single repeat.
        if alphas is not None and len(alphas) > 1:
            alpha, spread = alphas.mean(axis=0)[columns], alphas.std(axis=0)[columns]
            ends[place] = np.clip([alpha - spread, alpha + spread], 0.0, 1.0)
    return None if np.isnan(ends).all() else ends


def _rest_label(rest: FloatArray) -> str | None:
    """What is said of the features without a bar, (n_models, n); None without any."""
    n_models, n = rest.shape
    if not n:
        return None
    label = f"{n:,} other{'s' if n > 1 else ''}"
    return f"{label},\nup to {rest.max():.2g}" if n_models == 1 else label


def _relative(importances: FloatArray) -> FloatArray:
    """Mean importance of each feature, relative to the largest one of each model."""
    largest = np.abs(importances).max(axis=1, keepdims=True)
    return (importances / np.where(largest > 0.0, largest, 1.0)).mean(axis=0)


def _bars(ax: Any, values: FloatArray, level: float | None, given: Any) -> Any:
    style = styled(Rectangle, given, color=COLORS[0], height=0.72)
    bars = ax.barh(np.arange(len(values)), values, **style)
    for bar, value in zip(bars, values, strict=True):
        if level is not None and value < level and "alpha" not in style:
            bar.set_alpha(0.4)
    return bars


def _whiskers(ax: Any, interval: FloatArray, given: Any) -> Any:
    middle = interval.mean(axis=0)
    style = {"color": NEUTRAL, "linestyle": "none", "elinewidth": 1.6, "capsize": 2.5}
    # Around its own middle: an interval over other runs need not contain the importance drawn.
    return ax.errorbar(
        middle,
        np.arange(len(middle)),
        xerr=middle - interval[0],
        **styled(Line2D, given, **style),
    )


def _curve(ax: Any, values: FloatArray, n_shown: int, given: Any) -> Any:
    """Number of values above each level, which falls from all of them to none."""
    falling = np.sort(values)[::-1]
    # Ranks on a logarithmic scale: of ten thousand the first few matter as much as the rest.
    ranks = np.unique(np.geomspace(1, len(values), _CORNERS).round().astype(int))
    height = np.log1p(ranks) / np.log1p(len(values))
    bottom = n_shown + _REST - 0.5
    levels = np.concatenate([[min(0.0, falling[-1])], falling[ranks - 1][::-1]])
    tops = bottom - (_REST - 0.2) * np.concatenate([[1.0], height[::-1]])
    style = styled(PolyCollection, given, facecolor=NEUTRAL, alpha=0.45, linewidth=0.8)
    return ax.fill_between(levels, tops, bottom, step="pre", **style)
