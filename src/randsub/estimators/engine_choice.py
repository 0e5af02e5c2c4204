"""Which engine trains a base model, and what is said if a faster one steps aside."""

import warnings
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from randsub._tables import n_rows
from randsub._typing import FloatArray, Table
from randsub.engines import ENGINES, Engine, Learner
from randsub.exceptions import SlowEngineWarning


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
    engine: str | type[Engine],
    learners: Sequence[Learner],
    X: Table,
    y: Any,
    sample_weight: FloatArray | None,
    most_rows: int | None = None,
    metadata: Sequence[Collection[str]] | None = None,
    names: Sequence[str] = ("",),
) -> list[Engine]:
    """The engine of each base model; one warning if faster ones step aside.

    ``most_rows`` is the size of the largest training set, by default all of X; ``metadata`` is what
    else the ``fit`` of each base model is given. The name of a single base model is empty.
    """
    choices = [
        find_engine(engine, learner, X, y, sample_weight, most_rows, passed)
        for learner, passed in zip(learners, metadata or [()] * len(learners), strict=True)
    ]
    refusals = {
        name or repr(learner.estimator): choice.refusal
        for name, learner, choice in zip(names, learners, choices, strict=True)
        if choice.refusal is not None
    }
    if refusals:
        warnings.warn(SlowEngineWarning.text(refusals), SlowEngineWarning, stacklevel=2)
    return [choice.engine(learner) for choice, learner in zip(choices, learners, strict=True)]


def find_engine(
    engine: str | type[Engine],
    learner: Learner,
    X: Table,
    y: Any,
    sample_weight: FloatArray | None,
    most_rows: int | None = None,
    metadata: Collection[str] = (),
) -> Choice:
    """The first engine that reproduces a base model on this data, or that of the user."""
    estimator, n_train = learner.estimator, n_rows(X) if most_rows is None else most_rows
    weight = sample_weight if learner.passes_weight else None

    def obstacle(engine: type[Engine]) -> str | None:
        if engine.most_rows is not None and n_train > engine.most_rows:
            return (
                f"supports training sets of at most {engine.most_rows} samples, got up to "
                f"{n_train}; use max_samples, if the model has it"
            )
        if learner.bootstrap and not engine.can_bootstrap:
            return "does not draw bootstrap samples; use bootstrap=False"
        if metadata and engine.knows(estimator):
            return f"passes no metadata to fit, got {', '.join(metadata)}; leave it out"
        return engine.obstacle(estimator, X, y, weight)

    if engine == "auto":
        refusal = None
        for candidate in ENGINES.values():
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
