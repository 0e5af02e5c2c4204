"""Which member sees which feature."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from randsub._typing import BoolArray, FloatArray, IntArray
from randsub.inspection.canvas import COLORS, NEUTRAL, make_panels, styled, tidy
from randsub.inspection.features import check_count, features_of, shortened

# Height of what is drawn of the features without a row, in rows.
_REST = 3.0


class SubspaceDisplay:
    """Features against members: who sees what.

    The features with the largest alpha have a row and a name each; how many of the others a member
    sees is drawn below. Members are sorted by what they see, so that members which are alike stand
    together. It is best made by :meth:`from_estimator`.

    Parameters
    ----------
    masks : bool ndarray of shape (n_members, n_features)
        Which features each member sees.
    feature_names : sequence of str, default=None
        Names of the features; x0, x1, ... by default.
    alpha : ndarray of shape (n_features,), default=None
        What features are ordered by; the share of the members that see a feature by default.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
    shown_ : int ndarray
        Features that have a row, the largest alpha first.
    members_ : int ndarray of shape (n_members,)
        Members from left to right.
    image_ : matplotlib AxesImage
        1 where a member sees a feature, (n_shown, n_members).
    rest_ : matplotlib PolyCollection or None
        How many of the other features each member sees.

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

    def __init__(
        self,
        masks: Any,
        feature_names: Sequence[str] | None = None,
        *,
        alpha: Any = None,
    ) -> None:
        self.masks = masks
        self.feature_names = feature_names
        self.alpha = alpha

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
        """Draw what the members of a fitted ensemble see.

        Parameters
        ----------
        model : fitted ensemble
            With ``estimators_features_``: PRS, RaSE, random subspace, or scikit-learn's bagging.
            Where it has ``alpha_``, this is what features are ordered by.
        feature_names : sequence of str, default=None
            Names of the columns (or of the groups); by default those that the model has seen.
        by_group : bool, default=None
            Whether columns of a group, which are seen together, share a row; by default where the
            model has ``feature_groups_``.
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
                f"{type(model).__name__} has no estimators_features_: its members do not see "
                "subsets of the features. PRS, RaSE and random subspace ensembles have."
            )
        n_columns = model.n_features_in_
        masks = np.zeros((len(columns_of_members), n_columns), dtype=bool)
        for member, columns in zip(masks, columns_of_members, strict=True):
            member[columns] = True
        features = features_of(model, n_columns, feature_names, by_group)
        alpha = getattr(model, "alpha_", None)
        return cls(
            masks[:, features.columns],
            features.names,
            alpha=None if alpha is None else alpha[features.columns],
        ).plot(ax, **options)

    def plot(
        self,
        ax: Any = None,
        *,
        n_features: int | None = 30,
        image_kw: Mapping[str, Any] | None = None,
        rest_kw: Mapping[str, Any] | None = None,
    ) -> Self:
        """Draw the subsets.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        n_features : int, default=30
            Features with a row and a name; None for all.
        image_kw : dict, default=None
            Arguments of :meth:`matplotlib.axes.Axes.imshow`.
        rest_kw : dict, default=None
            Arguments of :meth:`matplotlib.axes.Axes.fill_between`.

        Returns
        -------
        display : SubspaceDisplay
        """
        masks, alpha, names = self._checked()
        n_members, n_all = masks.shape
        n_shown = check_count("n_features", n_features, n_all)
        self.shown_ = np.argsort(-alpha, kind="stable")[:n_shown]
        self.members_ = _alike(masks[:, self.shown_])
        rest = np.setdiff1d(np.arange(n_all), self.shown_)
        n_rows = n_shown + (_REST if len(rest) else 0.0)
        panels = make_panels(ax, 1, size=(7.0, 1.0 + 0.21 * max(n_rows, 5.0)))
        self.ax_, self.figure_ = panels.ax, panels.figure
        seen = masks[np.ix_(self.members_, self.shown_)].T
        self.image_ = _image(self.ax_, seen, image_kw)
        self.rest_, labels = None, [_label(names[j], masks[:, j].mean()) for j in self.shown_]
        places = list(map(float, range(n_shown)))
        if len(rest):
            counts = masks[np.ix_(self.members_, rest)].sum(axis=1)
            self.rest_ = _counts(self.ax_, counts, n_shown, rest_kw)
            places.append(n_shown + (_REST - 1.0) / 2.0)
            plural = "s" if len(rest) > 1 else ""
            labels.append(f"{len(rest):,} other{plural},\n{counts.min()} to {counts.max()} seen")
        self.ax_.set_yticks(places, labels, parse_math=False, fontsize="small")
        self.ax_.tick_params(axis="y", length=0)
        self.ax_.set(xlim=(-0.5, n_members - 0.5), ylim=(n_rows - 0.4, -0.6))
        self.ax_.set_xlabel(f"{n_members:,} members, sorted by what they see (%: who sees it)")
        self.ax_.set_xticks([])
        tidy(self.ax_)
        return self

    def _checked(self) -> tuple[BoolArray, FloatArray, list[str]]:
        masks = np.asarray(self.masks)
        if masks.ndim != 2 or not masks.size or masks.dtype != bool:
            raise ValueError(
                "masks must be a bool array of shape (n_members, n_features), got "
                f"{masks.dtype} of shape {masks.shape}."
            )
        n_features = masks.shape[1]
        alpha = masks.mean(axis=0) if self.alpha is None else np.asarray(self.alpha)
        names = self.feature_names
        if names is None:
            names = [f"x{j}" for j in range(n_features)]
        for what, found in (("names", len(names)), ("alphas", len(alpha))):
            if found != n_features:
                raise ValueError(f"There are {n_features} features, but {found} {what}.")
        return masks, alpha, [str(name) for name in names]


def _label(name: str, share: float) -> str:
    return f"{shortened(name)}  {share:4.0%}"


def _alike(masks: BoolArray) -> IntArray:
    """Members in the order of what they see: those with the first feature, among them ..."""
    return np.lexsort(~masks.T[::-1])


def _image(ax: Any, seen: BoolArray, given: Any) -> Any:
    from matplotlib.colors import ListedColormap, to_rgba_array
    from matplotlib.image import AxesImage

    defaults = {
        # What is not seen is left as the paper is, white or black.
        "cmap": ListedColormap(to_rgba_array(["0.5", COLORS[0]], [0.08, 1.0])),
        "vmin": 0,
        "vmax": 1,
        "aspect": "auto",
        "interpolation": "nearest",
    }
    return ax.imshow(seen.astype(float), **styled(AxesImage, defaults, given))


def _counts(ax: Any, counts: IntArray, n_shown: int, given: Any) -> Any:
    from matplotlib.collections import PolyCollection

    bottom = n_shown + _REST - 0.5
    heights = (_REST - 0.3) * counts / max(int(counts.max()), 1)
    style = styled(PolyCollection, {"facecolor": NEUTRAL, "alpha": 0.6, "linewidth": 0.0}, given)
    edges = np.arange(len(counts) + 1) - 0.5
    return ax.fill_between(
        edges, bottom - np.append(heights, heights[-1]), bottom, step="post", **style
    )
