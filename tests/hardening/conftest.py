"""Counts the examples of each test."""

from collections.abc import Callable, Iterator

import pytest

from hardening.tally import BUDGETS, FACTOR, PROPERTY, Tally


@pytest.fixture
def tally(request: pytest.FixtureRequest, record_property: Callable[..., None]) -> Iterator[Tally]:
    """What comes of the examples of the test with the mark ``subject``."""
    counted = Tally(request.node.get_closest_marker("subject").args[0])
    yield counted
    record_property(PROPERTY, counted.as_property())
    # After a failure, hypothesis tries other examples, and not all of them.
    assert counted.outcomes.total() >= BUDGETS[counted.subject] * FACTOR
