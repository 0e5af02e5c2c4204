"""What a reader of the results should know before trusting them, in plain words.

Each check looks at the evidence and says something or nothing. A check that lacks what it needs,
such as the training rows, says nothing: the page lists what was not given.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

import numpy as np
import pandas as pd

from randsub.ensemble import parts
from randsub.ensemble.base import BasePRS
from randsub.ensemble.subspace import SubspaceEnsemble
from randsub.report.comparison import Comparison, Contender
from randsub.report.importances import Importances
from randsub.report.rows import Rows
from randsub.report.wording import counted, listed, number, score, signed

# The end of training, as a share of its epochs.
END = 0.1
# Share of all that was gained which, gained at the end, means that more was to be had.
STILL_GAINING = 0.01
# Relative change of the expected size at the end.
STILL_MOVING = 0.05
# With fewer rows than this, a choice or a score rests on chance.
FEW_ROWS = 30
FEW_MASKS = 3.0
LARGE_SHARE = 0.3


@dataclass(frozen=True)
class Notice:
    """One thing to know.

    Parameters
    ----------
    level : {"warning", "note"}
        Whether it puts a result in doubt.
    title : str
        In a few words.
    explanation : str
        What was seen, with its numbers, and what to do.
    """

    level: Literal["warning", "note"]
    title: str
    explanation: str


@dataclass(frozen=True, eq=False)
class Evidence:
    """All that checks may look at; what is missing is None."""

    model: SubspaceEnsemble
    importances: Importances | None
    train: Rows | None
    comparison: Comparison | None

    @property
    def history(self) -> pd.DataFrame | None:
        """One row an epoch, of a model that is trained in epochs."""
        return self.model.history_ if isinstance(self.model, BasePRS) else None

    def parameter(self, name: str) -> Any:
        """A parameter of the model, or None where it has no such."""
        return self.model.get_params(deep=False).get(name)


def notices(evidence: Evidence) -> list[Notice]:
    """Everything worth knowing, what is doubtful first."""
    found = list(chain.from_iterable(check(evidence) for check in CHECKS))
    return sorted(found, key=lambda notice: notice.level != "warning")


def _interrupted(evidence: Evidence) -> Iterator[Notice]:
    if getattr(evidence.model, "stop_reason_", None) == "interrupted":
        yield Notice(
            "warning",
            "Training was interrupted",
            f"It was stopped after epoch {evidence.model.n_iter_:,} of "
            f"{evidence.parameter('max_iter'):,}; alpha is the best that had been found by then.",
        )


def _not_converged(evidence: Evidence) -> Iterator[Notice]:
    history = evidence.history
    if history is None or len(history) < 2:
        return
    validation = history["validation_objective"].to_numpy()
    n_end = max(1, round(END * len(validation)))
    earlier, best = validation[:-n_end].min(), validation.min()
    gained, late = validation[0] - best, earlier - best
    if late > 0.0 and late > STILL_GAINING * gained:
        yield Notice(
            "warning",
            "Training was still improving",
            f"The lowest validation objective is that of epoch {evidence.model.best_iter_:,} of "
            f"{len(history):,}, and {late / gained:.0%} of all that was gained came in the last "
            f"{counted(n_end, 'epoch')}. Train longer: raise max_iter.",
        )
    elif late > 0.0 and evidence.model.stop_reason_ == "all epochs done":
        yield Notice(
            "note",
            "The best epoch is among the last",
            f"It is epoch {evidence.model.best_iter_:,} of {len(history):,}, though little was "
            "gained at the end. A larger max_iter may find a slightly better alpha.",
        )
    size = history["expected_size"].to_numpy()
    before, after = size[-n_end - 1], size[-1]
    if abs(after - before) > STILL_MOVING * max(before, 1.0):
        yield Notice(
            "warning",
            "Alpha was still moving",
            f"In the last {counted(n_end, 'epoch')} the number of features that a member sees went "
            f"from {number(before)} to {number(after)}. Importances may change with more epochs: "
            "raise max_iter.",
        )


def _renewed_too_often(evidence: Evidence) -> Iterator[Notice]:
    history = evidence.history
    if history is None or len(history) < 10:
        return
    share = float(history["refreshed"].mean())
    if share > 0.5:
        yield Notice(
            "warning",
            "Models were renewed at almost every epoch",
            f"The effective sample size fell below its threshold in {share:.0%} of the epochs: "
            "alpha moves further in an epoch than its models can tell about. Lower learning_rate, "
            "or raise n_estimators.",
        )


def _few_masks(evidence: Evidence) -> Iterator[Notice]:
    model = evidence.model
    if isinstance(model, BasePRS):
        n_masks = model.n_estimators
        n_parameters = model._distribution.n_parameters
        theta = parts.initial_theta(model.alpha_init, n_masks, n_parameters, model.penalty)
        started = theta[theta > 0.0]
        holding = float(np.median(started)) * n_masks
        if holding < FEW_MASKS:
            wanted = int(np.ceil(5.0 * n_masks / holding / 100.0)) * 100
            yield Notice(
                "warning",
                "Too few subsets hold a feature",
                f"At the start a feature is in {number(holding)} of {n_masks:,} subsets on "
                "average, so that what is learned about it rests on a model or two, and a "
                "relevant feature may be dropped by chance. Raise n_estimators (about "
                f"{wanted:,} would give each feature five subsets), or remove columns first.",
            )
    empty = sum(len(features) == 0 for features in model.estimators_features_)
    if empty > 0.1 * len(model.estimators_features_):
        yield Notice(
            "warning",
            "Members without any feature",
            f"{empty:,} of {counted(len(model.estimators_features_), 'member')} see no feature and "
            "predict a constant. Little in this data helps the base model, or the penalty is too "
            "strong.",
        )


def _small_classes(evidence: Evidence) -> Iterator[Notice]:
    train, n_batches = evidence.train, evidence.parameter("n_batches")
    if train is None or n_batches is None or evidence.model._task != "classification":
        return
    kept = 1.0 - (evidence.parameter("validation_fraction") or 0.0)
    rows = train.y if train.weight is None else train.y[train.weight > 0.0]
    labels, counts = np.unique(rows, return_counts=True)
    missing = counts * kept < n_batches
    if missing.any():
        shown = [f"{labels[c]} ({counts[c]})" for c in np.flatnonzero(missing)]
        yield Notice(
            "warning",
            "Classes that are missing from batches",
            f"Too small for each of the {n_batches} batches to hold one of their rows: "
            f"{listed(shown)}. Where a class is missing, alpha learns nothing about it. Lower "
            "n_batches, or bring more rows of these classes.",
        )


def _small_validation(evidence: Evidence) -> Iterator[Notice]:
    train, fraction = evidence.train, evidence.parameter("validation_fraction")
    if not isinstance(evidence.model, BasePRS):
        return
    if fraction is None:
        yield Notice(
            "note",
            "No validation rows",
            "The best alpha was chosen on the rows that it was learned from "
            "(validation_fraction=None), unless fit was given validation data.",
        )
    elif train is not None and round(fraction * train.n) < FEW_ROWS:
        yield Notice(
            "warning",
            "Few validation rows",
            f"Of {counted(train.n, 'row')} about {max(round(fraction * train.n), 1)} were set "
            "aside to choose the best alpha, unless fit was given validation data. So few say "
            "little: which epoch was best is partly chance.",
        )


def _large_subsets(evidence: Evidence) -> Iterator[Notice]:
    model, n_features = evidence.model, evidence.model.n_features_in_
    size = getattr(model, "expected_size_", 0.0)
    if isinstance(model, BasePRS) and n_features >= 10 and size > LARGE_SHARE * n_features:
        yield Notice(
            "note",
            "Members see much of the data",
            f"On average {number(size)} of {n_features:,} features: importances separate little. "
            "Either many features matter, or irrelevant ones do not hurt this base model. For a "
            "shorter list, add penalty=ExpectedSize(0.01).",
        )


def _flat_importances(evidence: Evidence) -> Iterator[Notice]:
    found = evidence.importances
    if found is None or len(found.alpha) < 5 or not found.alpha.any():
        return
    if found.alpha.max() < 2.0 * found.alpha.mean():
        yield Notice(
            "note",
            "No feature stands out",
            f"The highest alpha, {number(float(found.alpha.max()))}, is less than twice the mean. "
            "The order of the features should not be read as a ranking.",
        )


def _rivals(evidence: Evidence) -> Iterator[Notice]:
    comparison = evidence.comparison
    if comparison is None:
        return
    if comparison.n_test < FEW_ROWS:
        yield Notice(
            "warning",
            "Few new rows",
            f"Scores are measured on {counted(comparison.n_test, 'row')}; they could easily be "
            "others on the next ones.",
        )
    said = {
        "constant": "a constant prediction",
        "single": "its own base model on all features",
        "forest": "a random forest",
        "subspace": "a plain random subspace",
    }
    for key, name in said.items():
        rival = comparison.find(key)
        if rival is not None:
            yield from _not_better(comparison, rival, name)


def _not_better(comparison: Comparison, rival: Contender, name: str) -> Iterator[Notice]:
    assert rival.lead is not None
    lead, low, high = rival.lead
    # Within a sentence a name is not capitalised; a formula stays what it is.
    metric = comparison.metric.lower() if comparison.metric == "Accuracy" else comparison.metric
    span = f"(95 % interval {signed(low)} to {signed(high)})"
    scores = f"{score(comparison.model.score)} against {score(rival.score)}"
    if high < 0.0:
        yield Notice(
            "warning",
            f"Worse than {name}",
            f"Its {metric} is {scores}, a difference of {signed(lead)} {span}. For prediction, "
            f"{name} is the better choice on this data.",
        )
    elif not low > 0.0:
        yield Notice(
            "note",
            f"Not clearly better than {name}",
            f"Its {metric} is {scores}, a difference of {signed(lead)} {span}: on these rows the "
            "two cannot be told apart.",
        )


def _unseeded(evidence: Evidence) -> Iterator[Notice]:
    if evidence.parameter("random_state") is None:
        yield Notice(
            "note",
            "No seed",
            "random_state was not set, so that the same fit gives another result each time.",
        )


CHECKS: tuple[Callable[[Evidence], Iterator[Notice]], ...] = (
    _interrupted,
    _not_converged,
    _renewed_too_often,
    _few_masks,
    _small_classes,
    _small_validation,
    _rivals,
    _large_subsets,
    _flat_importances,
    _unseeded,
)
