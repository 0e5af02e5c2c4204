"""What is told at the end of a test run."""

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
