"""Which engine "auto" chooses, and what it says of a compiled one that steps aside."""

import warnings
from types import SimpleNamespace

from randsub.engines import ENGINES, GenericEngine, Learner
from randsub.estimators.fit_data import choose_engines, find_engine
from randsub.exceptions import SlowEngineWarning
from randsub.parallel import Data


def ensemble(engine, n_estimators=1, n_jobs=None):
    """What the choice depends on, of an ensemble."""
    return SimpleNamespace(engine=engine, n_estimators=n_estimators, n_jobs=n_jobs)


def choose_engine(
    engine, estimator, X, y, weight, *, bootstrap=False, device=None, model=None, **rest
):
    """The engine of a base model that takes the weights, if there are any."""
    passes = weight is not None
    learner = Learner(estimator, passes_weight=passes, bootstrap=bootstrap, device=device)
    return find_engine(model or ensemble(engine), learner, *_data(X, y, weight, **rest)).engine


def _data(X, y, weight, most_rows=None, metadata=()):
    """Data, targets, and the size of the largest training set."""
    data = Data(X, X, weight, dict.fromkeys(metadata))
    return data, y, X.shape[0] if most_rows is None else most_rows


def reason_to_step_aside(estimator, X, y, weight=None, *, bootstrap=False, **rest) -> str:
    """The message that scikit-learn trains these models; empty for kinds that no engine knows."""
    learner = Learner(estimator, passes_weight=weight is not None, bootstrap=bootstrap)
    data = _data(X, y, weight, **rest)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        [engine] = choose_engines(ensemble("auto"), [learner], *data, [""])
    assert type(engine) is GenericEngine
    known = [
        name
        for name, engine in ENGINES.items()
        if engine.is_automatic(estimator) and engine.knows(estimator)
    ]
    assert [one.category for one in caught] == [SlowEngineWarning] * len(known)
    message = str(caught[0].message) if caught else ""
    assert all(f"The compiled engine {name!r}" in message for name in known)
    # What the user has chosen needs no words.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        [engine] = choose_engines(
            ensemble("generic"), [learner], *_data(X, y, weight, **rest), [""]
        )
    assert type(engine) is GenericEngine
    return message
