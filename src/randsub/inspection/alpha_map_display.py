"""Importances of pixels, as an image."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from randsub._typing import FloatArray
from randsub.images import alpha_image
from randsub.inspection.drawing import Display
from randsub.inspection.feature_names import check_lengths, importances_of


@dataclass(eq=False, repr=False)
class AlphaMapDisplay(Display):
    """Alpha as images: one map, or several side by side on one colour scale.

    Use :meth:`from_estimator` to create one.

    Parameters
    ----------
    alphas : sequence of ndarrays of shape (height, width) or (height, width, channels)
        Of images with channels, the largest alpha of each pixel is drawn.
    names : sequence of str, default=None
        Titles of the maps.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
        The given one, or the first.
    axes_ : ndarray of matplotlib Axes
        One per map.
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

    alphas: Sequence[FloatArray]
    names: Sequence[str] | None = None

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
        """Draw the importances of one or several fitted models.

        Parameters
        ----------
        model : fitted estimator, or sequence of these
            With ``feature_importances_``.
        shape : tuple of int
            (height, width) or (height, width, channels) of the images.
        names : sequence of str, default=None
            Titles, one per model.
        ax : matplotlib Axes or sequence of Axes, default=None
            One per model, or a single one, which is divided; a new figure by default.
        **options : dict
            Further arguments of :meth:`plot`.

        Returns
        -------
        display : AlphaMapDisplay
        """
        models = list(model) if isinstance(model, Sequence) else [model]
        for one in models:
            importances_of(one)
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
            One per map, or a single one, which is divided; a new figure by default.
        n_columns : int, default=None
            Number of maps per row, unless axes are given; all of them, up to four, by default.
        colorbar : bool, default=True
        **imshow_options : dict
            Arguments of :meth:`matplotlib.axes.Axes.imshow`. By default colours run from 0 to the
            largest alpha of all maps.

        Returns
        -------
        display : AlphaMapDisplay
        """
        maps = [_flat(alpha) for alpha in self.alphas]
        if not maps:
            raise ValueError("There is no alpha to draw.")
        check_lengths(len(maps), "maps", names=self.names)
        if n_columns is not None and n_columns < 1:
            raise ValueError(f"n_columns must be at least 1, got {n_columns!r}.")
        n_columns = min(len(maps), 4 if n_columns is None else n_columns)
        size = (2.6 * n_columns + 0.8, 2.8 * -(-len(maps) // n_columns))
        self._make_panels(ax, len(maps), size=size, n_columns=n_columns)
        top = max(float(alpha.max()) for alpha in maps)
        options = {"cmap": "viridis", "vmin": 0.0, "vmax": top or 1.0, **imshow_options}
        self.images_ = []
        for place, (panel, alpha) in enumerate(zip(self.axes_, maps, strict=True)):
            self.images_.append(panel.imshow(alpha, **options))
            panel.set(xticks=[], yticks=[])
            if self.names is not None:
                self._set_title(panel, self.names[place])
        self.colorbar_ = None
        if colorbar:
            self.colorbar_ = self.figure_.colorbar(
                self.images_[0], ax=list(self.axes_), label="alpha", shrink=0.8
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
