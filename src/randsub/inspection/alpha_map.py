"""Importances of pixels, drawn as an image."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from randsub._typing import FloatArray
from randsub.images import alpha_image


class AlphaMapDisplay:
    """Alpha as images: one map, or several side by side on one scale of colours.

    It is best made by :meth:`from_estimator`.

    Parameters
    ----------
    alphas : sequence of ndarrays of shape (height, width) or (height, width, channels)
        Of an image with channels the largest alpha of each pixel is drawn.
    names : sequence of str, default=None
        Titles of the maps.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : ndarray of matplotlib Axes
        One for each map.
    images_ : list of matplotlib AxesImage
    colorbar_ : matplotlib Colorbar or None

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from randsub import PRSClassifier
    >>> from randsub.inspection import AlphaMapDisplay
    >>> X, y = load_digits(n_class=2, return_X_y=True)
    >>> model = PRSClassifier(KNeighborsClassifier(), max_iter=5, random_state=0).fit(X, y)
    >>> display = AlphaMapDisplay.from_estimator(model, (8, 8))
    >>> display.images_[0].get_array().shape
    (8, 8)
    """

    def __init__(self, alphas: Sequence[FloatArray], names: Sequence[str] | None = None) -> None:
        self.alphas = alphas
        self.names = names

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        shape: Sequence[int],
        *,
        names: Sequence[str] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the importances of a fitted model, or of several.

        Parameters
        ----------
        model : fitted estimator, or sequence of these
            With ``feature_importances_``.
        shape : tuple of int
            (height, width) or (height, width, channels) of the images.
        names : sequence of str, default=None
            Titles, one for each model.
        ax : matplotlib Axes or sequence of Axes, default=None
            Where to draw; a new figure by default.
        **options : dict
            Further arguments of :meth:`plot`.

        Returns
        -------
        display : AlphaMapDisplay
        """
        models = list(model) if isinstance(model, Sequence) else [model]
        return cls([alpha_image(one, shape) for one in models], names).plot(ax, **options)

    def plot(
        self,
        ax: Any = None,
        *,
        n_columns: int | None = None,
        colorbar: bool = True,
        **imshow_options: Any,
    ) -> Self:
        """Draw the maps.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of Axes, default=None
            One for each map; a new figure by default.
        n_columns : int, default=None
            Maps in a row of a new figure; all of them, up to four, by default.
        colorbar : bool, default=True
        **imshow_options : dict
            Arguments of :meth:`matplotlib.axes.Axes.imshow`. By default colours run from 0 to the
            largest alpha of all the maps.

        Returns
        -------
        display : AlphaMapDisplay
        """
        maps = [_flat(alpha) for alpha in self.alphas]
        if not maps:
            raise ValueError("There is no alpha to draw.")
        if self.names is not None and len(self.names) != len(maps):
            raise ValueError(f"There are {len(maps)} maps, but {len(self.names)} names.")
        axes = _new_axes(len(maps), n_columns) if ax is None else np.atleast_1d(ax).ravel()
        if len(axes) != len(maps):
            raise ValueError(f"There are {len(maps)} maps, but {len(axes)} axes.")
        top = max(float(alpha.max()) for alpha in maps)
        options = {"cmap": "viridis", "vmin": 0.0, "vmax": top or 1.0, **imshow_options}
        self.axes_, self.figure_ = axes, axes[0].figure
        self.images_ = []
        for place, (one, alpha) in enumerate(zip(axes, maps, strict=True)):
            self.images_.append(one.imshow(alpha, **options))
            one.set(xticks=[], yticks=[])
            if self.names is not None:
                one.set_title(self.names[place])
        self.colorbar_ = None
        if colorbar:
            self.colorbar_ = self.figure_.colorbar(
                self.images_[0], ax=list(axes), label="alpha", shrink=0.8
            )
        return self


def _flat(alpha: FloatArray) -> FloatArray:
    alpha = np.asarray(alpha)
    if alpha.ndim not in (2, 3):
        raise ValueError(
            "alphas must have the shape (height, width) or (height, width, channels), got "
            f"{alpha.shape}."
        )
    return alpha if alpha.ndim == 2 else alpha.max(axis=2)


def _new_axes(n_maps: int, n_columns: int | None) -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "Drawing needs matplotlib: install it with pip install 'randsub[plot]'."
        ) from error
    n_columns = min(n_maps, 4 if n_columns is None else n_columns)
    n_rows = -(-n_maps // n_columns)
    _, axes = plt.subplots(
        n_rows,
        n_columns,
        squeeze=False,
        figsize=(2.6 * n_columns + 0.8, 2.8 * n_rows),
        layout="constrained",
    )
    for spare in axes.ravel()[n_maps:]:
        spare.remove()
    return axes.ravel()[:n_maps]
