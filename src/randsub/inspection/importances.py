"""Importances of features, as bars."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from randsub._typing import FloatArray, IntArray
from randsub.inspection.canvas import COLORS, NEUTRAL, explain, make_panels, styled, tidy
from randsub.inspection.features import (
    check_count,
    check_values,
    features_of,
    importances_of,
    shortened,
    threshold_of,
)

# Height of what is drawn of the features without a bar, in bars.
_REST = 2.0
# Corners of its outline, at most.
_CORNERS = 256


class ImportanceDisplay:
    """The most important features as bars with their names, the others as one curve.

    Several models are drawn side by side, with the same features in the same order. It is best made
    by :meth:`from_estimator`.

    Parameters
    ----------
    importances : ndarray of shape (n_features,) or (n_models, n_features)
    feature_names : sequence of str, default=None
        Names of the features; x0, x1, ... by default.
    intervals : ndarray of shape (2, n_features) or (n_models, 2, n_features), default=None
        Lower and upper end of an interval for each importance, for example over several runs.
    thresholds : float or sequence of floats, default=None
        From where on features are selected, in all models or in each.
    names : sequence of str, default=None
        Titles, one for each model.
    label : str, default="importance"
        What the bars mean.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
        The one that was given, or the first.
    axes_ : ndarray of matplotlib Axes
        One for each model.
    shown_ : int ndarray
        Features that have a bar, the most important one first.
    bars_ : list of matplotlib BarContainer
        For each model. Bars of features below the threshold are pale.
    intervals_ : list of matplotlib ErrorbarContainer or None
    threshold_lines_ : list of matplotlib Line2D or None
    rests_ : list of matplotlib PolyCollection or None
        The features without a bar: how many of them exceed a value, on a logarithmic scale.

    See Also
    --------
    SubspaceDisplay : Which member sees which feature.
    PathDisplay : How alpha got there.

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

    def __init__(
        self,
        importances: Any,
        feature_names: Sequence[str] | None = None,
        *,
        intervals: Any = None,
        thresholds: Any = None,
        names: Sequence[str] | None = None,
        label: str = "importance",
    ) -> None:
        self.importances = importances
        self.feature_names = feature_names
        self.intervals = intervals
        self.thresholds = thresholds
        self.names = names
        self.label = label

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        *,
        feature_names: Sequence[str] | None = None,
        by_group: bool | None = None,
        threshold: float | str | None = "mean",
        intervals: Any = None,
        names: Sequence[str] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the importances of a fitted model, or of several.

        Parameters
        ----------
        model : fitted estimator, or sequence of these
            With ``feature_importances_``: PRS, RaSE, a forest. Several must have been trained on
            the same columns.
        feature_names : sequence of str, default=None
            Names of the columns (or of the groups); by default those that the first model has seen.
        by_group : bool, default=None
            Whether columns of a group, which share an importance, share a bar; by default where
            the first model has ``feature_groups_``.
        threshold : float, "mean", "median", a multiple such as "1.25*mean", or None, \
                default="mean"
            Where to draw the line, with the meaning that it has in
            :class:`sklearn.feature_selection.SelectFromModel`.
        intervals : array-like of shape (2, n) or (n_models, 2, n), default=None
            Lower and upper end of an interval for each of the n columns (or groups).
        names : sequence of str, default=None
            Titles, one for each model.
        ax : matplotlib Axes or sequence of Axes, default=None
            One for each model, or one that is divided; a new figure by default.
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
        sizes = {len(importances) for importances in found}
        if len(sizes) > 1:
            raise ValueError(
                "Models side by side must have been trained on the same columns, but these have "
                f"{', '.join(str(len(importances)) for importances in found)} of them."
            )
        features = features_of(models[0], sizes.pop(), feature_names, by_group)
        return cls(
            np.array(found)[:, features.columns],
            features.names,
            intervals=intervals,
            # Of all columns: what SelectFromModel selects are columns.
            thresholds=None if threshold is None else [threshold_of(a, threshold) for a in found],
            names=names,
            label="alpha" if all(hasattr(one, "alpha_") for one in models) else "importance",
        ).plot(ax, **options)

    def plot(
        self,
        ax: Any = None,
        *,
        n_features: int | None = 20,
        bar_kw: Mapping[str, Any] | None = None,
        interval_kw: Mapping[str, Any] | None = None,
        threshold_kw: Mapping[str, Any] | None = None,
        rest_kw: Mapping[str, Any] | None = None,
    ) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of Axes, default=None
            One for each model, or one that is divided; a new figure by default.
        n_features : int, default=20
            Features with a bar and a name; None for all. Of several models, those with the largest
            mean importance, where that of the most important feature of each model counts as 1.
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
        importances, intervals, thresholds, names = self._checked()
        n_models, n_all = importances.shape
        n_shown = check_count("n_features", n_features, n_all)
        self.shown_ = _order(importances)[:n_shown]
        rest = np.setdiff1d(np.arange(n_all), self.shown_)
        n_rows = n_shown + (_REST if len(rest) else 0.0)
        panels = make_panels(
            ax,
            n_models,
            size=(3.4 + 2.6 * n_models, 1.0 + 0.26 * max(n_rows, 3)),
            n_columns=n_models,
            share="y",
            what="models",
        )
        self.ax_, self.axes_, self.figure_ = panels.ax, panels.axes, panels.figure
        self.bars_: list[Any] = []
        self.intervals_: list[Any] = []
        self.threshold_lines_: list[Any] = []
        self.rests_: list[Any] = []
        for k, panel in enumerate(self.axes_):
            values, level = importances[k], thresholds[k]
            self.bars_.append(_bars(panel, values[self.shown_], level, bar_kw))
            self.intervals_.append(
                None
                if intervals is None
                else _whiskers(panel, intervals[k][:, self.shown_], interval_kw)
            )
            self.rests_.append(_curve(panel, values[rest], n_shown, rest_kw) if len(rest) else None)
            line = None if level is None else _line(panel, level, threshold_kw)
            self.threshold_lines_.append(line)
            explain(panel, [] if line is None else [(line, f"threshold {level:.3g}")])
            panel.set(xlabel=self.label, ylim=(n_rows - 0.4, -0.6))
            panel.set_xlim(left=min(0.0, panel.get_xlim()[0]) if values.min() < 0.0 else 0.0)
            if self.names is not None:
                title = shortened(str(self.names[k]))
                panel.set_title(title, loc="left", fontsize="medium", parse_math=False)
            tidy(panel, grid="x")
        labelled = self.axes_[:1] if panels.are_new else self.axes_
        self._name_rows(labelled, names, importances[:, rest])
        return self

    def _checked(
        self,
    ) -> tuple[FloatArray, FloatArray | None, list[float | None], list[str]]:
        importances = check_values(self.importances, "importances")
        n_models, n_features = importances.shape
        names = self.feature_names
        if names is None:
            names = [f"x{j}" for j in range(n_features)]
        if len(names) != n_features:
            raise ValueError(f"There are {n_features} importances, but {len(names)} names.")
        if self.names is not None and len(self.names) != n_models:
            raise ValueError(f"There are {n_models} models, but {len(self.names)} titles.")
        intervals = None
        if self.intervals is not None:
            intervals = np.asarray(self.intervals, dtype=float)
            intervals = intervals[np.newaxis] if intervals.ndim == 2 else intervals
            if intervals.shape != (n_models, 2, n_features):
                raise ValueError(
                    f"intervals must have the shape {(n_models, 2, n_features)}: models, lower and "
                    f"upper end, features; got {intervals.shape}."
                )
        thresholds = self.thresholds
        if thresholds is None or np.ndim(thresholds) == 0:
            thresholds = [thresholds] * n_models
        if len(thresholds) != n_models:
            raise ValueError(f"There are {n_models} models, but {len(thresholds)} thresholds.")
        return importances, intervals, list(thresholds), [str(name) for name in names]

    def _name_rows(self, axes: Any, names: list[str], rest: FloatArray) -> None:
        places = list(map(float, range(len(self.shown_))))
        labels = [shortened(names[j]) for j in self.shown_]
        n_rest = rest.shape[1]
        if n_rest:
            places.append(len(self.shown_) + (_REST - 1.0) / 2.0)
            labels.append(f"{n_rest:,} other{'s' if n_rest > 1 else ''}")
            if len(rest) == 1:
                labels[-1] += f",\nup to {rest.max():.2g}"
        for panel in axes:
            panel.set_yticks(places, labels, parse_math=False)
            panel.tick_params(axis="y", length=0)


def _order(importances: FloatArray) -> IntArray:
    """Features by falling mean importance, where the largest one of each model counts as 1."""
    largest = np.abs(importances).max(axis=1, keepdims=True)
    relative = importances / np.where(largest > 0.0, largest, 1.0)
    return np.argsort(-relative.mean(axis=0), kind="stable")


def _bars(ax: Any, values: FloatArray, level: float | None, given: Any) -> Any:
    from matplotlib.patches import Rectangle

    style = styled(Rectangle, {"color": COLORS[0], "height": 0.72}, given)
    bars = ax.barh(np.arange(len(values)), values, **style)
    for bar, value in zip(bars, values, strict=True):
        if level is not None and value < level and "alpha" not in style:
            bar.set_alpha(0.4)
    return bars


def _whiskers(ax: Any, interval: FloatArray, given: Any) -> Any:
    from matplotlib.lines import Line2D

    middle = interval.mean(axis=0)
    style = styled(
        Line2D, {"color": NEUTRAL, "linestyle": "none", "elinewidth": 1.6, "capsize": 2.5}, given
    )
    # Around its own middle: an interval over other runs need not hold the importance of this one.
    return ax.errorbar(middle, np.arange(len(middle)), xerr=middle - interval[0], **style)


def _line(ax: Any, level: float, given: Any) -> Any:
    from matplotlib.lines import Line2D

    style = styled(Line2D, {"color": COLORS[1], "linestyle": "--", "linewidth": 1.2}, given)
    return ax.axvline(level, **style)


def _curve(ax: Any, values: FloatArray, n_shown: int, given: Any) -> Any:
    """Number of values that reach a level, along the levels; it falls from all of them to none."""
    from matplotlib.collections import PolyCollection

    falling = np.sort(values)[::-1]
    # Ranks on a logarithmic scale: of ten thousand the first few matter as much as the rest.
    ranks = np.unique(np.geomspace(1, len(values), _CORNERS).round().astype(int))
    height = np.log1p(ranks) / np.log1p(len(values))
    bottom = n_shown + _REST - 0.5
    style = styled(PolyCollection, {"facecolor": NEUTRAL, "alpha": 0.45, "linewidth": 0.8}, given)
    levels = np.concatenate([[min(0.0, falling[-1])], falling[ranks - 1][::-1]])
    tops = bottom - (_REST - 0.2) * np.concatenate([[1.0], height[::-1]])
    return ax.fill_between(levels, tops, bottom, step="pre", **style)
