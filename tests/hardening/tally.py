"""How many examples were tried, and what came of them: a line for each subject at the end.

``RANDSUB_HYPOTHESIS=long`` tries ten times as many, and other ones at each run; without it, the
examples are the same at each run.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Final

from hypothesis import HealthCheck, settings

# Examples of each subject.
BUDGETS: Final = {
    "PRSClassifier": 400,
    "PRSRegressor": 400,
    "RandomSubspaceClassifier": 120,
    "RandomSubspaceRegressor": 120,
    "RaSEClassifier": 120,
    "RaSERegressor": 120,
    "PRSNetwork": 160,
    "tables of text": 200,
    "tables in binary files": 120,
    "checkpoints": 120,
    "model files": 100,
    "model folders": 60,
}
# Of the examples of a subject, the least share that must come to this good end; else they would
# show little but that nonsense is refused.
LEAST_SHARE: Final = {
    **dict.fromkeys(list(BUDGETS)[:7], ("fitted", 0.25)),
    # Genes without variance, and tables without names, are more often refused.
    "PRSNetwork": ("fitted", 0.15),
    "tables of text": ("fitted", 0.1),
    "tables in binary files": ("read", 0.1),
    # There is one that is intact, which hypothesis does not try again.
    "checkpoints": ("resumed", 1e-9),
    "model files": ("loaded", 0.05),
    "model folders": ("loaded", 0.05),
}
LONG: Final = os.environ.get("RANDSUB_HYPOTHESIS") == "long"
FACTOR: Final = 10 if LONG else 1
PROPERTY: Final = "hardening"


def tries(subject: str) -> Callable[[Any], Any]:
    """Settings of a test of this subject."""
    return settings(
        max_examples=BUDGETS[subject] * FACTOR,
        deadline=None,  # a watchdog sees to it, and compiling takes long
        derandomize=not LONG,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )


class Tally:
    """Outcomes of the examples of one test, and which parameters they varied.

    Parameters
    ----------
    subject : str
        One of ``BUDGETS``.
    """

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.outcomes: Counter[str] = Counter()
        self.varied: set[str] = set()

    def add(self, outcome: str, varied: Iterable[str] = ()) -> None:
        """Count an example."""
        self.outcomes[outcome] += 1
        self.varied.update(varied)

    def check(self) -> None:
        """Raise where there were too few examples, or too few of them came to a good end."""
        total = self.outcomes.total()
        assert total >= BUDGETS[self.subject] * FACTOR
        end, share = LEAST_SHARE[self.subject]
        assert self.outcomes[end] >= share * total, self.outcomes

    def as_property(self) -> dict[str, Any]:
        """In a form that survives the way from one process to another."""
        return {
            "subject": self.subject,
            "outcomes": dict(self.outcomes),
            "varied": sorted(self.varied),
        }


def summary(found: Iterable[dict[str, Any]]) -> list[str]:
    """Lines for the end of a test run."""
    rows = sorted(found, key=lambda row: list(BUDGETS).index(row["subject"]))
    if not rows:
        return []
    total: Counter[str] = Counter()
    lines = []
    for row in rows:
        outcomes = Counter(row["outcomes"])
        total += outcomes
        lines.append(f"{row['subject']}: {_told(outcomes)}")
        if row["varied"]:
            lines.append(f"    varied: {', '.join(row['varied'])}")
    return [*lines, f"in all: {_told(total)}"]


def _told(outcomes: Counter[str]) -> str:
    parts = ", ".join(f"{n:,} {outcome}" for outcome, n in outcomes.most_common())
    return f"{outcomes.total():,} examples ({parts})"
