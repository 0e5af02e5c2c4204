"""The data of a fit: as passed by the user, and split and scaled for training."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from randsub._tables import by_column
from randsub._typing import FloatArray, IntArray, Table
from randsub.checkpoint import describe_data
from randsub.engines import ENGINES, Engine, Learner, TorchEngine
from randsub.engines.torch.cost import takes_over, warn_of_unused
from randsub.engines.torch.device import check_device
from randsub.engines.torch.modules import TorchEstimator
from randsub.estimators.column_encoding import ColumnEncoder
from randsub.estimators.standardize import Standardizer
from randsub.exceptions import SlowEngineWarning
from randsub.parallel import Data, Dispatcher

# n_repeats="auto" repeats where validation is noise: at least as many features as samples, and
# few samples; and more often where there are many times as many features.
AUTO_REPEATS, AUTO_REPEATS_WIDE = 5, 20
WIDE = 10
MOST_SAMPLES = 1000
# Kind of the table that members are trained on ("pandas", "polars", "sparse", or None for an
# array), and the names of its columns.
Layout: TypeAlias = tuple[str | None, list[Any]]


class Samples(NamedTuple):
    """X with its targets and weights (None if there are none).

    ``rows`` are those with a positive weight: samples of weight 0 are left out, whether or not the
    base model supports weights.
    """

    X: Table
    y: Any
    sample_weight: FloatArray | None
    rows: IntArray

    def loss_weight(self) -> FloatArray:
        """Weights in the loss."""
        return np.ones(len(self.y)) if self.sample_weight is None else self.sample_weight

    def described(self, suffix: str = "") -> dict[str, str | None]:
        """Shapes, types and digests, by the names of the parameters of ``fit``."""
        weight = self.sample_weight
        return {
            f"X{suffix}": describe_data(self.X),
            f"y{suffix}": describe_data(self.y),
            f"sample_weight{suffix}": None if weight is None else describe_data(weight),
        }


class Given(NamedTuple):
    """The arguments of ``fit``, checked.

    ``learners`` are the base models by ``names``, and ``metadata`` what is passed to each of them.
    ``validation`` is None if there is no validation data.
    """

    names: Sequence[str]
    learners: Sequence[Learner]
    samples: Samples
    validation: Samples | None
    metadata: Sequence[dict[str, Any]]
    layout: Layout
    encoder: ColumnEncoder | None

    def described(self) -> dict[str, str | None]:
        """Shapes, types and digests of all data."""
        nothing: dict[str, Any] = dict.fromkeys(("X_val", "y_val", "sample_weight_val"))
        return {
            **self.samples.described(),
            **(nothing if self.validation is None else self.validation.described("_val")),
            **{
                f"{name} of base model {n}" if n else name: describe_data(value)
                for n, of_base in enumerate(self.metadata)
                for name, value in of_base.items()
            },
        }


class Split(NamedTuple):
    """Rows that models are trained on, and validation rows; the latter may be empty."""

    train_rows: IntArray
    val_rows: IntArray


@dataclass(frozen=True)
class FitData:
    """Training and validation rows, their targets, and the dispatcher that trains on them.

    Parameters
    ----------
    samples : Samples
        The training data as passed by the user, n rows. The final members are trained on all
        ``samples.rows``.
    encoded : ndarray of shape (n, C)
        Their targets as numbers, or as indicators of the classes.
    strata : int ndarray of shape (n,) or None
        Class of each row; None in regression.
    splits : sequence of Split
        Rows that models are trained on to find the subsets, and validation rows, of ``judges``;
        one split per repeat.
    rngs : sequence of numpy.random.Generator
        Random generator of each repeat.
    loss_weight : ndarray of shape (n,)
        Weight of each row in the loss.
    judges : Samples
        Data of the validation rows: that of the user, or ``samples``.
    val_encoded, val_strata, val_loss_weight : as above
        For the rows of ``judges``.
    standardizer : Standardizer or None
        The scaler of the data.
    dispatcher : Dispatcher
        Trains models on the scaled data.
    feature_names : sequence of str
        For messages; may be empty.
    engine_names : str or dict of str to str
        The engine of the base model, or those of the base models by name.
    """

    samples: Samples
    encoded: FloatArray
    strata: IntArray | None
    splits: Sequence[Split]
    rngs: Sequence[np.random.Generator]
    loss_weight: FloatArray
    judges: Samples
    val_encoded: FloatArray
    val_strata: IntArray | None
    val_loss_weight: FloatArray
    standardizer: Standardizer | None
    dispatcher: Dispatcher
    feature_names: Sequence[str]
    engine_names: str | dict[str, str] = ""

    @property
    def train_rows(self) -> IntArray:
        """Training rows of the first split, for models that have no other."""
        return self.splits[0].train_rows

    @property
    def val_rows(self) -> IntArray:
        """Validation rows of the first split; may be empty."""
        return self.splits[0].val_rows


def prepare(model: Any, given: Given, seed: IntArray) -> FitData:
    """Split and scale the data of an ensemble's fit, and choose the engine that trains on it."""
    rngs = repeat_generators(seed, model._count_repeats(given))
    samples, validation = given.samples, given.validation
    encoded, strata = model._encode(samples.y, samples.rows)
    judges, splits = samples, [Split(samples.rows, samples.rows[:0])] * len(rngs)
    val_encoded, val_strata = encoded, strata
    if validation is not None:
        judges, splits = validation, [Split(samples.rows, validation.rows)] * len(rngs)
        val_encoded, val_strata = model._encode(judges.y, judges.rows)
    elif model._splits_validation():
        splits = repeated_splits(samples.rows, model.validation_fraction, strata, rngs)
    standardizer = None
    X, X_val = samples.X, judges.X
    if model.standardize:
        standardizer = Standardizer().fit(X, samples.sample_weight, samples.rows)
        X = standardizer.applied_to(samples.X)
        X_val = X if judges is samples else standardizer.applied_to(judges.X)
    data = _shown(given, judges, X, X_val, model._base_weight(samples))
    engines = choose_engines(
        model, given.learners, data, samples.y, model._most_rows(len(samples.y)), given.names
    )
    return FitData(
        samples=samples,
        encoded=encoded,
        strata=strata,
        splits=splits,
        rngs=rngs,
        loss_weight=samples.loss_weight(),
        judges=judges,
        val_encoded=val_encoded,
        val_strata=val_strata,
        val_loss_weight=judges.loss_weight(),
        standardizer=standardizer,
        dispatcher=Dispatcher(engines, data, model.n_jobs, time_limit=model.task_timeout),
        feature_names=list(getattr(model, "feature_names_in_", ())),
        engine_names=engine_names(engines, given.names),
    )


def _shown(
    given: Given, judges: Samples, X: Table, X_val: Table, sample_weight: FloatArray | None
) -> Data:
    """What base models are trained on, from scaled tables."""
    encoder = given.encoder
    plain = (X, X_val) if encoder is not None and encoder.unused_by else None
    if encoder is not None:
        X = encoder.transform(given.samples.X, X)
        X_val = X if judges is given.samples else encoder.transform(judges.X, X_val)
    X, X_val = (part := by_column(X)), part if X_val is X else by_column(X_val)
    data = Data(X, X_val, sample_weight, given.metadata)
    if encoder is None:
        return data
    return replace(data, origin=encoder.origin_, plain=plain, shown_plain=encoder.unused_by)


class Choice(NamedTuple):
    """An engine for a base model.

    Parameters
    ----------
    engine : type of Engine
    refusal : tuple of str or None
        Name of the engine that is made for such base models, and why it steps aside, as a clause of
        which it is the subject.
    """

    engine: type[Engine]
    refusal: tuple[str, str] | None


def choose_engines(
    model: Any,
    learners: Sequence[Learner],
    data: Data,
    y: Any,
    most_rows: int,
    names: Sequence[str],
) -> list[Engine]:
    """The engine of each base model; one warning if faster ones step aside.

    ``model`` has ``engine``, ``n_estimators`` and ``n_jobs``; ``most_rows`` is the size of the
    largest training set. The name of a single base model is empty.
    """
    choices = [
        find_engine(model, learner, data, y, most_rows, base)
        for base, learner in enumerate(learners)
    ]
    refusals = {
        name or repr(learner.estimator): choice.refusal
        for name, learner, choice in zip(names, learners, choices, strict=True)
        if choice.refusal is not None
    }
    if refusals:
        warnings.warn(SlowEngineWarning.text(refusals), SlowEngineWarning, stacklevel=2)
    return [
        choice.engine(_placed(learner)) for choice, learner in zip(choices, learners, strict=True)
    ]


def _placed(learner: Learner) -> Learner:
    """Networks of the user are trained on the device of the ensemble, whatever the engine."""
    if learner.device is None or not isinstance(learner.estimator, TorchEstimator):
        return learner
    return replace(learner, estimator=clone(learner.estimator).set_params(device=learner.device))


def find_engine(
    model: Any, learner: Learner, data: Data, y: Any, n_train: int, base: int = 0
) -> Choice:
    """The first engine that reproduces a base model on this data, or that of the user.

    ``base`` is the place of the base model, and ``n_train`` the size of the largest training set.
    """
    engine: str | type[Engine] = model.engine
    estimator, metadata = learner.estimator, data.metadata(base)
    X, weight = data.tables(base)[0], data.sample_weight if learner.passes_weight else None
    if engine == "torch" or learner.device not in (None, "cpu"):
        check_device(learner.device)
    if isinstance(estimator, TorchEstimator):
        estimator.check_device()

    def obstacle(engine: type[Engine]) -> str | None:
        if engine.most_rows is not None and n_train > engine.most_rows:
            return (
                f"supports training sets of at most {engine.most_rows} samples, got up to "
                f"{n_train}; use max_samples, if the model has it"
            )
        if learner.bootstrap and not engine.can_bootstrap:
            # An engine for other base models is no help without them either.
            other = None if engine.knows(estimator) else engine.obstacle(estimator, X, y, weight)
            return other or "does not draw bootstrap samples; use bootstrap=False"
        if metadata and engine.knows(estimator):
            return f"passes no metadata to fit, got {', '.join(metadata)}; leave it out"
        return engine.obstacle(estimator, X, y, weight)

    if engine == "auto":
        if TorchEngine.knows(estimator) and takes_over(learner, n_train, model):
            reason = obstacle(TorchEngine)
            if reason is None:
                return Choice(TorchEngine, None)
            warn_of_unused(learner, reason)
        refusal = None
        for candidate in [one for one in ENGINES.values() if one.is_automatic(estimator)]:
            reason = obstacle(candidate)
            if reason is None:
                return Choice(candidate, refusal)
            if candidate.knows(estimator):
                refusal = engine_name(candidate), reason
    chosen = ENGINES[engine] if isinstance(engine, str) else engine
    if not (isinstance(chosen, type) and issubclass(chosen, Engine)):
        raise TypeError(
            f"engine must be 'auto', one of {list(ENGINES)}, or a subclass of "
            f"randsub.engines.Engine, got {engine!r}."
        )
    reason = obstacle(chosen)
    if reason is not None:
        raise ValueError(
            f"engine={engine!r} cannot train {estimator!r} on this data: it {reason}; or use "
            "engine='auto'."
        )
    return Choice(chosen, None)


def engine_name(engine: type[Engine]) -> str:
    """The string by which users choose an engine; the name of its class, if there is none."""
    names = [name for name, known in ENGINES.items() if known is engine]
    return names[0] if names else engine.__name__


def engine_names(engines: Sequence[Engine], bases: Sequence[str]) -> str | dict[str, str]:
    """The engine of a single base model, whose name is empty, or those of several by name."""
    found = [engine_name(type(engine)) for engine in engines]
    return dict(zip(bases, found, strict=True)) if bases[0] else found[0]


def sample_limit(max_samples: Any, n_train: int) -> int | None:
    """Largest number of training rows of a model, from a number or a fraction."""
    if max_samples is None:
        return None
    if isinstance(max_samples, Integral):
        return int(max_samples)
    return max(2, int(max_samples * n_train))


def seed_words(random_state: Any) -> IntArray:
    """Four integers that seed all random numbers of a fit."""
    return check_random_state(random_state).randint(np.iinfo(np.int32).max, size=4)


def count_repeats(
    n_repeats: int | Literal["auto"], *, n_samples: int, n_parameters: int, splits: bool
) -> int:
    """Number of repeats of a fit.

    Parameters
    ----------
    n_repeats : int or "auto"
        That of the user.
    n_samples : int
        Number of samples of positive weight.
    n_parameters : int
        Number of features, or of groups of them.
    splits : bool
        Whether each repeat has a validation split of its own.
    """
    if n_repeats != "auto":
        return n_repeats
    if not splits or n_samples > MOST_SAMPLES or n_parameters < n_samples:
        return 1
    return AUTO_REPEATS_WIDE if n_parameters >= WIDE * n_samples else AUTO_REPEATS


def repeat_generators(seed: IntArray, n_repeats: int) -> list[np.random.Generator]:
    """Random generator of each repeat, which does not depend on the number of repeats."""
    words = seed.tolist()
    return [
        np.random.default_rng([*words, number] if number else words) for number in range(n_repeats)
    ]


def split_validation(
    rows: IntArray, fraction: float, strata: IntArray | None, rng: np.random.Generator
) -> Split:
    """Split rows into training and validation rows.

    With classes (``strata``, one per sample) the split is stratified, and at least one sample of
    each class is kept for training. Training keeps at least two samples in total.
    """
    return repeated_splits(rows, fraction, strata, [rng])[0]


def repeated_splits(
    rows: IntArray,
    fraction: float,
    strata: IntArray | None,
    rngs: Sequence[np.random.Generator],
) -> list[Split]:
    """One split per generator; each is like that of :func:`split_validation`.

    As long as ``n_splits * fraction`` is at most 1, no sample is in the validation rows of two
    splits: five splits at 0.2 are five folds. Further splits come from a new shuffle, drawn from
    the generator of the split that begins it. The first splits do not depend on the number of
    splits.
    """
    n_rows, n_folds = len(rows), max(1, int(1.0 / fraction + 1e-9))
    splits: list[Split] = []
    for number, rng in enumerate(rngs):
        fold = number % n_folds
        # Boundaries are rounded, not sizes, so that the folds fit into the rows.
        size = round((fold + 1) * fraction * n_rows) - round(fold * fraction * n_rows)
        n_val = min(max(size, 1), n_rows - 2)
        if fold == 0:
            classes = _shuffled_classes(rows, strata, rng)
            sizes = np.array([len(members) for members in classes])
            used = np.zeros_like(sizes)
        least = 0 if strata is None else 1
        if not np.minimum(sizes - used, sizes - least).any():
            # With few samples, all of them may have been used before the last fold.
            classes, used = _shuffled_classes(rows, strata, rng), np.zeros_like(sizes)
        quotas = _quotas(sizes - used, np.minimum(sizes - used, sizes - least), n_val)
        chosen = np.concatenate(
            [m[u : u + q] for m, u, q in zip(classes, used, quotas, strict=True)]
        )
        used = used + quotas
        splits.append(Split(np.setdiff1d(rows, chosen), np.sort(chosen)))
    return splits


def _shuffled_classes(
    rows: IntArray, strata: IntArray | None, rng: np.random.Generator
) -> list[IntArray]:
    """The rows of each class in random order; without classes, all rows."""
    order = rng.permutation(rows)
    if strata is None:
        return [order]
    return [order[strata[order] == c] for c in np.unique(strata[rows])]


def _quotas(sizes: IntArray, most: IntArray, n_val: int) -> IntArray:
    """Number of validation samples per class: in proportion to the sizes, and at most ``most``.

    The quotas add up to ``n_val`` if that is possible.
    """
    exact = sizes * n_val / sizes.sum()
    quotas = np.minimum(np.floor(exact).astype(int), most)
    for c in np.argsort(quotas - exact, kind="stable"):  # largest remainder first
        if quotas.sum() >= n_val:
            break
        quotas[c] += quotas[c] < most[c]
    if not quotas.any():
        # One sample per class: that of the first class is used for validation.
        quotas[0] = 1
    return quotas
