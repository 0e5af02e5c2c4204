"""Which engine "auto" chooses, and what it says of a compiled one that steps aside."""

import warnings

from randsub.engines import ENGINES, GenericEngine
from randsub.estimators.fit_data import choose_engine
from randsub.exceptions import SlowEngineWarning


def reason_to_step_aside(estimator, X, y, weight=None, **options) -> str:
    """The message that scikit-learn trains these models; empty for kinds that no engine knows."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert choose_engine("auto", estimator, X, y, weight, **options) is GenericEngine
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
        assert choose_engine("generic", estimator, X, y, weight, **options) is GenericEngine
    return message
