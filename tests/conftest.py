"""Fixtures that several test modules share."""

import os
from pathlib import Path

import pytest

from hardening import tally


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell how many examples were tried in tests/hardening, and what came of them."""
    reports = [report for group in terminalreporter.stats.values() for report in group]
    found = [
        value
        for report in reports
        if getattr(report, "when", None) == "teardown"
        for name, value in report.user_properties
        if name == tally.PROPERTY
    ]
    lines = tally.summary(found)
    if lines:
        terminalreporter.section("hypothesis examples of tests/hardening")
        for line in lines:
            terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of the data sets that cannot be part of the repository, or a skip."""
    beside_the_repository = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("RANDSUB_SHARED_DATA") or beside_the_repository)
    if not folder.is_dir():
        pytest.skip(
            f"no data sets in {folder}: set RANDSUB_SHARED_DATA to the folder that holds them"
        )
    return folder
