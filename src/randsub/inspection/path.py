"""Alpha along the epochs, as lines."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from randsub._typing import FloatArray, IntArray
from randsub.inspection.alpha_path import AlphaPath
from randsub.inspection.canvas import COLORS, NEUTRAL, explain, make_panels, show_span, styled, tidy
from randsub.inspection.features import check_count, features_of, shortened

_DASHES = ("-", "--", ":", "-.")
# Least distance between the names of two lines, as a share of the height.
_APART = 0.052


class PathDisplay:
    """How alpha moved: the features that won as lines with their names, the others as bands.

    It needs alpha along the epochs, which :class:`AlphaPath` remembers during a fit, and is best
    made by :meth:`from_estimator`.

    Parameters
    ----------
    epochs : int ndarray of shape (n_snapshots,)
        Ascending.
    alphas : ndarray of shape (n_snapshots, n_features)
        Alpha after each of these epochs.
    feature_names : sequence of str, default=None
        Names of the features; x0, x1, ... by default.
    final_alpha : ndarray of shape (n_features,), default=None
        What features are ordered by; alpha of the last snapshot by default.
    best_epoch : int, default=None
        Where to put a mark: the epoch whose alpha was kept.
    revivals : sequence of int, default=()
        Epochs before which dropped features were raised, marked as well.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
    shown_ : int ndarray
        Features with a line of their own, the largest alpha first.
    lines_ : list of matplotlib Line2D
        One for each of them.
    texts_ : list of matplotlib Annotation
        Their names, at the right end.
    bands_ : list of matplotlib PolyCollection
        Of the other features, if there are some: the range of alpha, and where the middle 90 % are.
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

    def __init__(
        self,
        epochs: Any,
        alphas: Any,
        feature_names: Sequence[str] | None = None,
        *,
        final_alpha: Any = None,
        best_epoch: int | None = None,
        revivals: Sequence[int] = (),
    ) -> None:
        self.epochs = epochs
        self.alphas = alphas
        self.feature_names = feature_names
        self.final_alpha = final_alpha
        self.best_epoch = best_epoch
        self.revivals = revivals

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        path: AlphaPath | None = None,
        *,
        feature_names: Sequence[str] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the path of a model that was fitted with an :class:`AlphaPath` among its callbacks.

        Parameters
        ----------
        model : fitted PRSClassifier or PRSRegressor
        path : AlphaPath, default=None
            What has watched the fit; by default the one among the model's callbacks.
        feature_names : sequence of str, default=None
            Names of the columns (or of the groups); by default those that the model has seen.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        **options : dict
            Further arguments of :meth:`plot`.

        Returns
        -------
        display : PathDisplay
        """
        check_is_fitted(model)
        path = _path_of(model) if path is None else path
        if not path.has_ended:
            raise ValueError(
                "The AlphaPath has not watched a fit yet: give it to the model with "
                "set_callbacks(path) before fit."
            )
        alphas = path.alphas_
        if alphas.shape[1] != 1:
            raise ValueError(
                f"The AlphaPath holds {alphas.shape[1]} tasks, of which one can be drawn: "
                "PathDisplay(path.epochs_, path.alphas_[:, task], names).plot()."
            )
        features = features_of(model, model.n_features_in_, feature_names, None)
        if not np.array_equal(path.best_alpha_[0], model.alpha_[features.columns]):
            raise ValueError(
                "The AlphaPath has watched another fit: alpha at its best epoch is not that of "
                "this model. Give every model an AlphaPath of its own."
            )
        history = model.history_
        return cls(
            path.epochs_,
            alphas[:, 0],
            features.names,
            final_alpha=path.best_alpha_[0],
            best_epoch=path.best_epoch_,
            revivals=history.index[history["revived"]].tolist(),
        ).plot(ax, **options)

    def plot(
        self,
        ax: Any = None,
        *,
        n_features: int | None = 10,
        line_kw: Mapping[str, Any] | None = None,
        band_kw: Mapping[str, Any] | None = None,
        mark_kw: Mapping[str, Any] | None = None,
    ) -> Self:
        """Draw the lines.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        n_features : int, default=10
            Features with a line and a name, those with the largest alpha in the end; None for all.
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
        epochs, alphas, final, names = self._checked()
        n_shown = check_count("n_features", n_features, alphas.shape[1])
        self.shown_ = np.argsort(-final, kind="stable")[:n_shown]
        others = np.setdiff1d(np.arange(alphas.shape[1]), self.shown_)
        panels = make_panels(ax, 1, size=(7.0, 4.2))
        self.ax_, self.figure_ = panels.ax, panels.figure
        self.bands_ = _bands(self.ax_, epochs, alphas[:, others], band_kw) if len(others) else []
        self.lines_ = [
            _line(self.ax_, epochs, alphas[:, j], place, line_kw)
            for place, j in enumerate(self.shown_)
        ]
        self.best_line_ = None
        if self.best_epoch is not None:
            self.best_line_ = _mark(self.ax_, self.best_epoch, "--", mark_kw)
        self.revival_lines_ = [_mark(self.ax_, e - 0.5, ":", mark_kw) for e in self.revivals]
        tidy(self.ax_, grid="y")
        self.ax_.set(xlabel="epoch", ylabel="alpha")
        show_span(self.ax_, epochs[0], epochs[-1])
        self.ax_.set_ylim(bottom=0.0)
        self._explain_marks()
        self.texts_ = self._name_lines([shortened(names[j]) for j in self.shown_])
        return self

    def _checked(self) -> tuple[IntArray, FloatArray, FloatArray, list[str]]:
        epochs, alphas = np.asarray(self.epochs), np.asarray(self.alphas)
        if alphas.ndim != 2 or not alphas.size or epochs.shape != alphas.shape[:1]:
            raise ValueError(
                "alphas must have the shape (n_snapshots, n_features), with one snapshot for each "
                f"epoch, got {alphas.shape} and {epochs.shape[0] if epochs.ndim else 0} epoch(s)."
            )
        n_features = alphas.shape[1]
        final = alphas[-1] if self.final_alpha is None else np.asarray(self.final_alpha)
        names = self.feature_names
        if names is None:
            names = [f"x{j}" for j in range(n_features)]
        for what, found in (("names", len(names)), ("entries in final_alpha", len(final))):
            if found != n_features:
                raise ValueError(f"There are {n_features} features, but {found} {what}.")
        return epochs, alphas, final, [str(name) for name in names]

    def _explain_marks(self) -> None:
        marks: list[tuple[Any, str]] = []
        if self.best_line_ is not None:
            marks.append((self.best_line_, "best epoch"))
        if self.revival_lines_:
            marks.append((self.revival_lines_[0], "revival"))
        if len(self.bands_):
            marks.append((self.bands_[0], f"range of the {self._n_others():,} others"))
            marks.append((self.bands_[1], "the middle 90 % of these"))
        explain(self.ax_, marks, n_columns=2)

    def _n_others(self) -> int:
        return int(np.shape(self.alphas)[1]) - len(self.shown_)

    def _name_lines(self, names: list[str]) -> list[Any]:
        """Each name where its line ends, as far as others leave room."""
        top = self.ax_.get_ylim()[1] or 1.0
        ends = np.array([line.get_ydata()[-1] for line in self.lines_], dtype=float) / top
        texts = []
        for line, name, height in zip(self.lines_, names, spread(ends, _APART), strict=True):
            text = self.ax_.annotate(
                name,
                (1.0, height),
                xytext=(6, 0),
                textcoords="offset points",
                xycoords="axes fraction",
                color=line.get_color(),
                fontsize="small",
                va="center",
                annotation_clip=False,
                parse_math=False,
            )
            texts.append(text)
        return texts


def spread(heights: FloatArray, apart: float) -> FloatArray:
    """Heights at least so far apart, in the same order and close to where they were.

    Where they do not fit between 0 and 1, they are spaced evenly there.

    Parameters
    ----------
    heights : ndarray of shape (n,)
        Between 0 and 1.
    apart : float
    """
    n = len(heights)
    order = np.argsort(heights, kind="stable")
    apart = min(apart, 1.0 / max(n - 1, 1))
    steps = apart * np.arange(n)
    # With y_k = x_k - k * apart, being apart is being sorted: pushed up by those below, and down
    # again where the uppermost would leave the picture.
    pushed = np.maximum.accumulate(heights[order] - steps)
    fitted = np.minimum(pushed, 1.0 - apart * (n - 1)) + steps
    placed = np.empty(n)
    placed[order] = fitted
    return placed


def _path_of(model: Any) -> AlphaPath:
    for callback in getattr(model, "_skl_callbacks", ()):
        if isinstance(callback, AlphaPath):
            return callback
    raise ValueError(
        f"This {type(model).__name__} has no record of alpha along the epochs. Fit it with one: "
        "path = AlphaPath(); model.set_callbacks(path).fit(X, y)."
    )


def _line(ax: Any, epochs: IntArray, alpha: FloatArray, place: int, given: Any) -> Any:
    from matplotlib.lines import Line2D

    defaults = {
        "color": COLORS[place % len(COLORS)],
        "linestyle": _DASHES[place // len(COLORS) % len(_DASHES)],
        "linewidth": 1.6,
    }
    return ax.plot(epochs, alpha, **styled(Line2D, defaults, given))[0]


def _bands(ax: Any, epochs: IntArray, alphas: FloatArray, given: Any) -> list[Any]:
    from matplotlib.collections import PolyCollection

    style = {"facecolor": NEUTRAL, "linewidth": 0.0}
    low, high = np.quantile(alphas, [0.05, 0.95], axis=1)
    return [
        ax.fill_between(epochs, below, above, **styled(PolyCollection, {**style, **pale}, given))
        for below, above, pale in (
            (alphas.min(axis=1), alphas.max(axis=1), {"alpha": 0.2}),
            (low, high, {"alpha": 0.45}),
        )
    ]


def _mark(ax: Any, epoch: float, dash: str, given: Any) -> Any:
    from matplotlib.lines import Line2D

    style = styled(Line2D, {"color": NEUTRAL, "linestyle": dash, "linewidth": 1.2}, given)
    return ax.axvline(epoch, **style)
