"""Checks of the results: what a reader should know before trusting them.

Each check looks at the findings and yields notices, or none. A check without the data it needs,
such as the training rows, yields none: the page lists what was not given.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Literal, NamedTuple

import numpy as np

from randsub.estimators.assembly import initial_theta
from randsub.estimators.prs import BasePRS
from randsub.losses import METRICS
from randsub.report.findings import Findings
from randsub.report.text_format import counted, listed, number, score, signed
from randsub.solver.state import was_interrupted

# The end of training, as a share of its epochs.
END = 0.1
# Share of the total gain which, gained at the end, shows that training was too short.
STILL_GAINING = 0.01
# Relative change of the expected size at the end.
STILL_MOVING = 0.05
# Share of the total gain that is lost again after the best epoch, while the objective falls on.
LOST_AGAIN = 0.2
# With fewer rows, a choice or a score depends on chance.
FEW_ROWS = 30
FEW_MASKS = 3.0
# Agreement of several runs, which is 0 on average if they choose at random.
CHANCE = 0.05
LARGE_SHARE = 0.3
RIVALS = {
    "constant": "a constant prediction",
    "single": "its own base model on all features",
    "forest": "a random forest",
    "subspace": "a plain random subspace",
}


class Notice(NamedTuple):
    """One result of the checks.

    Parameters
    ----------
    level : {"warning", "note", "good"}
        A warning puts a result in doubt.
    title : str
    explanation : str
        The evidence, with its numbers, and the remedy.
    """

    level: Literal["warning", "note", "good"]
    title: str
    explanation: str


_warning, _note = partial(Notice, "warning"), partial(Notice, "note")


def notices(findings: Findings) -> list[Notice]:
    """Results of all checks, warnings first."""
    found = chain.from_iterable(check(findings) for check in (*TRAINING, *DATA, *RESULTS))
    return sorted(found, key=lambda notice: notice.level != "warning")


def _interrupted(findings: Findings) -> Iterator[Notice]:
    reason = getattr(findings.model, "stop_reason_", None) or ""
    if was_interrupted(reason):
        n_epochs = findings.parameter("max_iter") or findings.model.solver_.max_iter
        said = (
            f"It was stopped after epoch {findings.model.n_iter_:,} of {n_epochs:,}; alpha is the "
            "best found until then."
        )
        if repeats := reason.partition("; ")[2]:
            said = f"Only {repeats} were trained; alpha is the mean of these."
        yield _warning("Training was interrupted", said)


def _not_converged(findings: Findings) -> Iterator[Notice]:
    history, model = findings.history, findings.model
    if history is None or len(history) < 2:
        return
    validation = history["validation_objective"].to_numpy()
    n_end = max(1, round(END * len(validation)))
    earlier, best = validation[:-n_end].min(), validation.min()
    # That of the mean over repeats; each repeat has its own.
    best_epoch = int(np.argmin(validation)) + 1
    gained, late = validation[0] - best, earlier - best
    if late > 0.0 and late > STILL_GAINING * gained:
        yield _warning(
            "Training was still improving",
            f"The lowest validation objective is that of epoch {best_epoch:,} of "
            f"{len(history):,}, and {late / gained:.0%} of the total gain came in the last "
            f"{counted(n_end, 'epoch')}. Train longer: raise max_iter.",
        )
    elif late > 0.0 and model.stop_reason_ == "all epochs done":
        yield _note(
            "The best epoch is among the last",
            f"It is epoch {best_epoch:,} of {len(history):,}, though little was gained at "
            "the end. A larger max_iter may find a slightly better alpha.",
        )
    before, after = history["expected_size"].to_numpy()[[-n_end - 1, -1]]
    if abs(after - before) > STILL_MOVING * max(before, 1.0):
        yield _warning(
            "Alpha was still moving",
            f"In the last {counted(n_end, 'epoch')} the expected number of features per member "
            f"went from {number(before)} to {number(after)}. Importances may change with more "
            "epochs: raise max_iter.",
        )


def _overfitting(findings: Findings) -> Iterator[Notice]:
    history = findings.history
    if history is None or len(history) < 10:
        return
    validation = history["validation_objective"].to_numpy()
    objective = history["objective"].to_numpy()
    # Neither is smooth; and without validation rows they are the same.
    n_end, best = max(1, round(END * len(history))), int(np.argmin(validation))
    gained, lost = validation[0] - validation[best], validation[-n_end:].mean() - validation[best]
    fell = objective[best] - objective[-n_end:].mean()
    if fell > 0.0 and lost > LOST_AGAIN * max(gained, fell):
        # Which epoch is the best need not be for the validation rows alone to say.
        model, remedy = findings.model, "Add rows or a penalty"
        where, whose = "", f"that of epoch {model.best_iter_:,}"
        if model.n_repeats_ > 1:
            where, whose = ", in the mean over repeats,", "the mean over repeats at their own best"
            whose += " epochs"
        else:
            remedy += ", or raise n_repeats"
        yield _warning(
            "Alpha adapts to its training rows",
            f"After epoch {best + 1:,} of {len(history):,}{where} the objective on the held-out "
            f"batches fell further, by {number(fell)}, but on the validation rows it rose by "
            f"{number(lost)}. Alpha is {whose}, but it may be about these rows more than about "
            f"others. {remedy}.",
        )


def _no_better_than_constant(findings: Findings) -> Iterator[Notice]:
    model, train = findings.model, findings.train
    if not isinstance(model, BasePRS) or findings.comparison is not None:
        return
    chance = 0.0
    if model._task == "regression":
        level, constant = 0.0, "the mean"
    elif train is not None:
        _, codes = np.unique(train.y, return_inverse=True)
        counts = np.bincount(codes, weights=train.weight)
        level, constant = float(counts.max() / counts.sum()), "the most frequent class"
        chance = float(np.sqrt(level * (1.0 - level) / _n_validation(findings, train.n)))
    else:
        return
    if level < model.validation_score_ < level + chance:
        yield _warning(
            "Hardly better than a constant",
            f"{METRICS[model._task]} on the validation rows is {score(model.validation_score_)}, "
            f"and always predicting {constant} has {score(level)} ± {score(chance)}, the standard "
            "error of so few rows. The importances may mean little.",
        )
    if model.validation_score_ <= level:
        yield _warning(
            "No better than a constant",
            f"{METRICS[model._task]} on the validation rows is {score(model.validation_score_)}, "
            f"and always predicting {constant} has {score(level)}. The importances mean little: "
            "either no feature helps this base model, or there are too few rows to find out which.",
        )


def _n_validation(findings: Findings, n_rows: int) -> int:
    """Number of rows that have served for validation in one repeat or another, at most."""
    if findings.n_validation is not None:
        return findings.n_validation
    per_repeat = round((findings.parameter("validation_fraction") or 1.0) * n_rows)
    return int(np.clip(findings.model.n_repeats_ * per_repeat, 1, n_rows))


def _renewed_too_often(findings: Findings) -> Iterator[Notice]:
    history = findings.history
    if history is None or len(history) < 10:
        return
    # Of each repeat: with many of them, one or another is renewed in nearly every epoch.
    share = float(history["refreshed"].mean())
    if share > 0.5:
        yield _warning(
            "Models were renewed very often",
            f"The effective sample size fell below its threshold in {share:.0%} of the epochs: "
            "the steps of alpha are too large for the number of models. Lower learning_rate of the "
            "solver, or raise n_estimators.",
        )


def _few_masks(findings: Findings) -> Iterator[Notice]:
    model = findings.model
    if isinstance(model, BasePRS):
        n_masks, n_parameters = model.n_estimators, model._distribution.n_parameters
        theta = initial_theta(model.alpha_init, n_masks, n_parameters, model.penalty)
        # Each batch of each repeat has masks of its own.
        n_subsets = n_masks * model.solver_.n_batches * model.n_repeats_
        holding = float(np.median(theta[theta > 0.0])) * n_subsets
        if holding < FEW_MASKS:
            wanted = int(np.ceil(5.0 * n_masks / holding / 100.0)) * 100
            yield _warning(
                "Too few subsets hold a feature",
                f"At the start a feature is in {number(holding)} of {n_subsets:,} subsets on "
                "average, so that its importance depends on one or two models, and a relevant "
                f"feature may be dropped by chance. Raise n_estimators (about {wanted:,} would "
                "give five subsets per feature) or n_repeats, or remove columns first.",
            )
    n_members = len(model.estimators_features_)
    empty = sum(len(features) == 0 for features in model.estimators_features_)
    if empty > 0.1 * n_members:
        yield _warning(
            "Members without any feature",
            f"{empty:,} of {counted(n_members, 'member')} see no feature and predict a constant. "
            "Either few features help the base model, or the penalty is too strong.",
        )


def _small_classes(findings: Findings) -> Iterator[Notice]:
    train, model = findings.train, findings.model
    if train is None or not isinstance(model, BasePRS) or model._task != "classification":
        return
    n_batches = model.solver_.n_batches
    kept = 1.0 - (findings.parameter("validation_fraction") or 0.0)
    rows = train.y if train.weight is None else train.y[train.weight > 0.0]
    labels, counts = np.unique(rows, return_counts=True)
    shown = [
        f"{label} ({n})" for label, n in zip(labels, counts, strict=True) if n * kept < n_batches
    ]
    if shown:
        yield _warning(
            "Classes that are missing from batches",
            f"Too small for one row in each of the {n_batches} batches: {listed(shown)}. Where a "
            "class is missing, alpha learns nothing about it. Lower n_batches of the solver, or "
            "add rows of these classes.",
        )


def _small_validation(findings: Findings) -> Iterator[Notice]:
    train, fraction = findings.train, findings.parameter("validation_fraction")
    if not isinstance(findings.model, BasePRS):
        return
    if findings.n_validation is not None:
        if findings.n_validation < FEW_ROWS:
            yield _warning(
                "Few validation rows",
                f"The best alpha was chosen on {counted(findings.n_validation, 'row')}. With this "
                "number the choice of the best epoch is partly chance. Give more of them.",
            )
        return
    if fraction is None:
        yield _note(
            "No validation rows",
            "The best alpha was chosen on its own training rows (validation_fraction=None), unless "
            "fit was given validation data.",
        )
    elif train is not None and round(fraction * train.n) < FEW_ROWS:
        n_repeats = findings.model.n_repeats_
        said = (
            f"Of {counted(train.n, 'row')} about {max(round(fraction * train.n), 1)} were set "
            "aside to choose the best alpha, unless fit was given validation data. With this "
            "number the choice of the best epoch is partly chance"
        )
        if n_repeats > 1:
            said += f"; alpha is the mean of {n_repeats} repeats with different validation rows."
            yield _note("Few validation rows per repeat", said)
        else:
            # A time limit may have left one of many.
            remedy = "Raise n_repeats, for example to 5"
            reason = findings.model.stop_reason_ or ""
            if reason.endswith(" repeats") and not was_interrupted(reason):
                remedy = "Raise the time limit, which has left one repeat"
            yield _warning("Few validation rows", f"{said}. {remedy}.")


def _unchecked(findings: Findings) -> Iterator[Notice]:
    if findings.train is None:
        yield _note(
            "Not all checks were possible",
            "The training rows were not given with this report, so the sizes of classes and of the "
            "validation part were not checked.",
        )


def _large_subsets(findings: Findings) -> Iterator[Notice]:
    model, n_features = findings.model, findings.model.n_features_in_
    size = getattr(model, "expected_size_", 0.0)
    if isinstance(model, BasePRS) and n_features >= 10 and size > LARGE_SHARE * n_features:
        yield _note(
            "Members see much of the data",
            f"On average {number(size)} of {n_features:,} features: importances separate little. "
            "Either many features matter, or irrelevant ones do not hurt this base model. For a "
            "shorter list, add penalty=ExpectedSize(0.01).",
        )


def _flat_importances(findings: Findings) -> Iterator[Notice]:
    if findings.features is None:
        return
    alpha = findings.features["alpha"]
    if len(alpha) >= 5 and alpha.any() and alpha.max() < 2.0 * alpha.mean():
        yield _note(
            "No feature stands out",
            f"The highest alpha, {number(float(alpha.max()))}, is less than twice the mean. "
            "The order of the features should not be read as a ranking.",
        )


def _chance_agreement(findings: Findings) -> Iterator[Notice]:
    result = findings.stability
    if result is None:
        return
    agreement, n_runs = float(result.agreement.value), len(result.importances)
    said = (
        f"the agreement of {n_runs} {result.runs} is {number(agreement)}, where 1 would be the "
        "same selections and 0 is chance"
    )
    if np.isnan(agreement):
        said = f"none of {n_runs} {result.runs} selects some features and not others"
    if not agreement >= CHANCE:
        yield _warning(
            f"The {result.runs} do not agree",
            f"Which features stand out is nearly by chance: {said}. Either no feature helps this "
            "base model, or there are too few rows to find out which.",
        )


def _known_rows(findings: Findings) -> Iterator[Notice]:
    known = findings.known
    if known is not None and known.is_known.any():
        yield _warning(
            "Training rows among the new ones",
            f"In the data that was given as new, {known}. They were left out of the scores.",
        )


def _rivals(findings: Findings) -> Iterator[Notice]:
    comparison = findings.comparison
    if comparison is None:
        return
    if comparison.n_test < FEW_ROWS:
        yield _warning(
            "Few new rows",
            f"Scores are measured on {counted(comparison.n_test, 'row')}; they could be quite "
            "different on other rows.",
        )
    metric, ours = comparison.metric, score(comparison.model.score)
    for key, name in RIVALS.items():
        rival = comparison.find(key)
        if rival is None or rival.lead is None or rival.lead[1] > 0.0:
            continue
        lead, low, high = map(signed, rival.lead)
        said = f"{metric} is {ours} against {score(rival.score)}, a difference of {lead} (95 % "
        said += f"interval {low} to {high})"
        if rival.lead[2] < 0.0:
            said += f". For prediction, {name} is the better choice on this data."
            yield _warning(f"Worse than {name}", said)
        else:
            said += ": on these rows the two cannot be distinguished."
            yield _note(f"Not clearly better than {name}", said)


def _unseeded(findings: Findings) -> Iterator[Notice]:
    if findings.parameter("random_state") is None:
        yield _note(
            "No seed",
            "random_state was not set, so the same fit gives another result each time.",
        )


Check = Callable[[Findings], Iterator[Notice]]
TRAINING: tuple[Check, ...] = (
    _interrupted,
    _not_converged,
    _overfitting,
    _renewed_too_often,
    _few_masks,
)
DATA: tuple[Check, ...] = (_small_classes, _small_validation, _unchecked)
RESULTS: tuple[Check, ...] = (
    _known_rows,
    _no_better_than_constant,
    _chance_agreement,
    _rivals,
    _large_subsets,
    _flat_importances,
    _unseeded,
)
