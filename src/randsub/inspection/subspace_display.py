"""Feature subsets of the members of an ensemble."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.colors import ListedColormap, to_rgba_array
from matplotlib.image import AxesImage
from sklearn.utils.validation import check_is_fitted

from randsub._typing import BoolArray, IntArray
from randsub.inspection.drawing import COLORS, NEUTRAL, Display, Style, styled
from randsub.inspection.feature_names import (
    check_lengths,
    checked_names,
    features_of,
    shortened,
    top_features,
)

# Height of the row for all features without a row of their own.
_REST = 3.0


@dataclass(eq=False, repr=False)
class SubspaceDisplay(Display):
    """Features against members: the feature subset of each member.

    The features with the largest alpha have a row and a name each; the number of other features
    that a member sees is drawn below. Members are sorted by their subsets, so that similar members
    are neighbours. Use :meth:`from_estimator` to create one.

    Parameters
    ----------
    masks : bool ndarray of shape (n_members, n_features)
        Which features each member sees.
    feature_names : sequence of str, default=None
        Names of the features; x0, x1, ... by default.
    alpha : ndarray of shape (n_features,), default=None
        Features are ordered by it; by default, by the share of members that see each feature.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
    shown_ : int ndarray
        Features with a row, the largest alpha first.
    members_ : int ndarray of shape (n_members,)
        Members from left to right.
    image_ : matplotlib AxesImage
        1 where a member sees a feature, (n_shown, n_members).
    rest_ : matplotlib PolyCollection or None
        Number of the other features that each member sees.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from randsub import RandomSubspaceRegressor
    >>> from randsub.datasets import make_friedman
    >>> from randsub.inspection import SubspaceDisplay
    >>> X, y, _ = make_friedman(n_samples=100, n_irrelevant=5, random_state=0)
    >>> model = RandomSubspaceRegressor(n_estimators=20, max_features=4, random_state=0).fit(X, y)
    >>> display = SubspaceDisplay.from_estimator(model)
    >>> display.image_.get_array().shape
    (10, 20)
    """

    masks: Any
    feature_names: Any = None
    _: KW_ONLY
    alpha: Any = None

    def __post_init__(self) -> None:
        self.masks = masks = np.asarray(self.masks)
        if masks.ndim != 2 or not masks.size or masks.dtype != bool:
            raise ValueError(
                "masks must be a bool array of shape (n_members, n_features), got "
                f"{masks.dtype} of shape {masks.shape}."
            )
        self.alpha = masks.mean(axis=0) if self.alpha is None else np.asarray(self.alpha)
        check_lengths(masks.shape[1], "features", alpha=self.alpha)
        self.feature_names = checked_names(self.feature_names, masks.shape[1])

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        *,
        feature_names: Sequence[str] | None = None,
        by_group: bool | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the feature subsets of a fitted ensemble.

        Parameters
        ----------
        model : fitted ensemble
            With ``estimators_features_``: PRS, RaSE, random subspace, or scikit-learn's bagging.
            Features are ordered by its ``alpha_``, if it has one.
        feature_names : sequence of str, default=None
            Names of the columns (or of the groups); by default those seen during fit.
        by_group : bool, default=None
            Whether columns of a group, which are always seen together, share a row; by default if
            the model has ``feature_groups_``.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        **options : dict
            Further arguments of :meth:`plot`.

        Returns
        -------
        display : SubspaceDisplay
        """
        check_is_fitted(model)
        columns_of_members = getattr(model, "estimators_features_", None)
        if columns_of_members is None:
            raise ValueError(
                f"{type(model).__name__} has no estimators_features_: its members are not trained "
                "on subsets of the features. Use PRS, RaSE or a random subspace ensemble."
            )
        n_columns = model.n_features_in_
        masks = np.zeros((len(columns_of_members), n_columns), dtype=bool)
        for member, columns in zip(masks, columns_of_members, strict=True):
            member[columns] = True
        names, kept = features_of(model, n_columns, feature_names, by_group)
        alpha = getattr(model, "alpha_", None)
        return cls(masks[:, kept], names, alpha=None if alpha is None else alpha[kept]).plot(
            ax, **options
        )

    def plot(
        self,
        ax: Any = None,
        *,
        n_features: int | None = 30,
        image_kw: Style = None,
        rest_kw: Style = None,
    ) -> Self:
        """Draw the subsets.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        n_features : int, default=30
            Number of features with a row and a name; None for all.
        image_kw : dict, default=None
            Arguments of :meth:`matplotlib.axes.Axes.imshow`.
        rest_kw : dict, default=None
            Arguments of :meth:`matplotlib.axes.Axes.fill_between`.

        Returns
        -------
        display : SubspaceDisplay
        """
        masks, names = self.masks, self.feature_names
        n_members = len(masks)
        self.shown_, rest = top_features(self.alpha, n_features)
        n_shown = len(self.shown_)
        # Members with the first feature first, among them those with the second, and so on.
        self.members_ = np.lexsort(~masks[:, self.shown_].T[::-1])
        n_rows = n_shown + (_REST if len(rest) else 0.0)
        self._make_panels(ax, size=(7.0, 1.0 + 0.21 * max(n_rows, 5.0)), grid="")
        self.image_ = _image(self.ax_, masks[np.ix_(self.members_, self.shown_)].T, image_kw)
        self.rest_, rest_label = None, None
        if len(rest):
            counts = masks[np.ix_(self.members_, rest)].sum(axis=1)
            self.rest_ = _counts(self.ax_, counts, n_shown, rest_kw)
            plural = "s" if len(rest) > 1 else ""
            rest_label = f"{len(rest):,} other{plural},\n{counts.min()} to {counts.max()} seen"
        labels = [f"{shortened(names[j])}  {masks[:, j].mean():4.0%}" for j in self.shown_]
        self._name_rows(self.ax_, labels, rest_label, _REST, fontsize="small")
        self.ax_.set(xlim=(-0.5, n_members - 0.5), xticks=[])
        self.ax_.set_xlabel(f"{n_members:,} members, sorted by subset (%: share that sees it)")
        return self


def _image(ax: Any, seen: BoolArray, given: Any) -> Any:
    style = {
        # Features that are not seen keep the background, white or black.
        "cmap": ListedColormap(to_rgba_array(["0.5", COLORS[0]], [0.08, 1.0])),
        "vmin": 0,
        "vmax": 1,
        "aspect": "auto",
        "interpolation": "nearest",
    }
    return ax.imshow(seen.astype(float), **styled(AxesImage, given, **style))


def _counts(ax: Any, counts: IntArray, n_shown: int, given: Any) -> Any:
    bottom = n_shown + _REST - 0.5
    heights = (_REST - 0.3) * counts / max(int(counts.max()), 1)
    tops = bottom - np.append(heights, heights[-1])
    style = styled(PolyCollection, given, facecolor=NEUTRAL, alpha=0.6, linewidth=0.0)
    return ax.fill_between(np.arange(len(tops)) - 0.5, tops, bottom, step="post", **style)
