"""One call of ``fit``, with the words that tell what is special about it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


@dataclass
class Data:
    """What is known of a table.

    Parameters
    ----------
    n_rows, n_columns : int
    numbers : ndarray of shape (n_rows, m)
        Its numbers, before it became a table of some kind.
    signal : ndarray of shape (n_rows,)
        Something to predict.
    rng : numpy.random.Generator
    told : dict
        The choices that made it.
    """

    n_rows: int
    n_columns: int
    numbers: Any
    signal: Any
    rng: Any
    told: dict[str, Any]


@dataclass
class Case:
    """An estimator, and what its ``fit`` is given.

    Parameters
    ----------
    model : estimator
    given : dict
        Arguments of ``fit``.
    queries : list
        Tables to predict from.
    told : dict
        The choices that made it; a failure shows these.
    parameters : tuple of str
        Parameters that were given a value.
    """

    model: Any
    given: dict[str, Any]
    queries: list[Any] = field(default_factory=list)
    told: dict[str, Any] = field(default_factory=dict)
    parameters: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"{' '.join(repr(self.model).split())} on {self.told}"


def pick(draw: Any, choices: Mapping[str, T]) -> tuple[str, T]:
    """One of the choices, with its name."""
    name = draw(st.sampled_from(list(choices)))
    return name, choices[name]


def hostile_dimensions(draw: Any, dimensions: list[str]) -> set[str]:
    """None, one or two of what may be hostile in a case."""
    n = draw(st.sampled_from([1, 0, 2, 1, 0]))
    return set(draw(st.lists(st.sampled_from(dimensions), min_size=n, max_size=n, unique=True)))
