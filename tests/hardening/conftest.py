"""Counts the examples of each test."""

from collections.abc import Callable, Iterator

import pytest

from hardening.tally import PROPERTY, Tally


@pytest.fixture
def tally(request: pytest.FixtureRequest, record_property: Callable[..., None]) -> Iterator[Tally]:
    """What comes of the examples of the test with the mark ``subject``."""
    failures = request.session.testsfailed
    counted = Tally(request.node.get_closest_marker("subject").args[0])
    yield counted
    record_property(PROPERTY, counted.as_property())
    # After a failure, hypothesis tries simpler examples instead of all of them.
    if request.session.testsfailed == failures:
        counted.check()
