"""``randsub fit``: train a model on a table, and write it to a folder."""

import argparse
import shlex
import warnings
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from randsub import PRSClassifier, PRSRegressor
from randsub.callbacks import Checkpoint, TimeLimit
from randsub.cli.base_models import make_base_models, refusing_missing
from randsub.cli.console import Console, printable
from randsub.cli.fitted_model import check_model_folder, ranked
from randsub.cli.model_parameters import set_parameters
from randsub.cli.option_names import with_options
from randsub.cli.option_values import make_penalty
from randsub.cli.output_files import check_file, named_in_errors
from randsub.cli.stop_signals import StopOnSignal, interruptions_are_errors
from randsub.cli.tables import Layout
from randsub.cli.tables.column_checks import Task, find_column
from randsub.cli.tables.column_groups import read_groups
from randsub.cli.training_progress import TrainingProgress
from randsub.cli.training_table import (
    TrainingTable,
    check_training,
    read_held_out,
    read_training,
    split_test,
)
from randsub.estimators.groups import resolve_groups
from randsub.estimators.training_rows import TrainingRows
from randsub.exceptions import InterruptedFitWarning
from randsub.io import DataFacts, ModelFolder
from randsub.io.metadata import model_scores
from randsub.losses import METRICS
from randsub.solver import Solver
from randsub.solver.state import was_interrupted


@dataclass(frozen=True)
class Job:
    """A model, the samples to train it on, and those to score it on."""

    model: Any
    task: Task
    samples: TrainingTable
    validation: TrainingTable | None
    test: TrainingTable | None


def run(args: argparse.Namespace) -> None:
    """Read and check everything, train, and write the folder."""
    console = Console(args)
    check_model_folder(args.output, replace=args.force, format=args.format)
    job = _prepare(args, console)
    _train(args, job, console)
    model, samples = job.model, job.samples
    scores = _test_scores(job)
    # Members that are ensembles themselves, as of boosting, may take a minute.
    console.say(f"Writing the model to {args.output}.")
    extra = {
        "task": job.task,
        "base": args.base,
        "categorical": samples.categorical,
        "weight": args.weight,
        "left_out": samples.left_out,
        "layout": Layout.of(args).as_dict(),
        "validation": None if args.validation is None else str(args.validation.resolve()),
        "test": None if args.test is None else str(args.test.resolve()),
        "test_size": args.test_size,
        "test_rows": None if job.test is None else len(job.test.X),
        "stopped": model.stop_reason_,
    }
    with named_in_errors(args.output):
        ModelFolder.write(
            args.output,
            model,
            data=DataFacts.of(samples.X, samples.y, target=args.target, source=args.data.resolve()),
            scores=scores,
            command=["randsub", *args.words],
            extra=extra,
            format=args.format,
            overwrite=args.force,
        )
    document = _summary(args, job) | {"scores": {**model_scores(model), **scores}}
    document["warnings"] = _warnings(job)
    for warning in document["warnings"]:
        console.say(f"Warning: {warning}")
    top = ", ".join(f"{printable(name)} {alpha:.2f}" for name, alpha in document["top"].items())
    best = f"the best epoch is {model.best_iter_}, with a validation loss of"
    if model.n_repeats_ > 1:
        best = f"the mean of {model.n_repeats_} repeats, with a mean validation loss of"
    shares = ", ".join(f"{name} {share:.2f}" for name, share in document["shares"].items())
    shares = shares and f"Shares of the base models: {shares}. "
    console.done(
        f"{args.output}: a model after {model.n_iter_} epochs ({model.stop_reason_}); {best} "
        f"{model.validation_loss_:.4f}. {_scores_in_words(job, document['scores'])}{shares}"
        f"On average, base models see {model.expected_size_:.1f} of "
        f"{samples.X.shape[1]} features. Most important: {top}.",
        document,
    )
    if was_interrupted(model.stop_reason_):
        args.after_interruption = f"the model of the best alpha so far is in {args.output}."
        # The document is already printed.
        args.json = False
        raise args.stop_signal or KeyboardInterrupt


def _prepare(args: argparse.Namespace, console: Console) -> Job:
    """Read and check everything."""
    if args.resume is not None and not args.resume.is_file():
        raise FileNotFoundError(f"There is no checkpoint {args.resume} to resume from.")
    if args.checkpoint is not None and args.checkpoint != args.resume:
        instead = f"continue from it with --resume {shlex.quote(str(args.checkpoint))}"
        check_file(args.checkpoint, replace=args.force, instead=instead)
    unchecked, task, reason = read_training(args, console)
    for name in args.categorical:
        find_column(args.data, unchecked.X, name, "--categorical")
    base = make_base_models(args.base, args.base_param, task)
    model = _make_model(args, base, task)
    samples = check_training(args, unchecked, task, refusing_missing(args.base, base))
    _set_groups_and_penalty(args, model, samples)
    if args.categorical:
        model.set_params(categorical_features=samples.categorical)
    validation = read_held_out(args, args.validation, samples, task, console)
    test = read_held_out(args, args.test, samples, task, console)
    test = _new_rows(args, test, samples, console)
    console.say(
        f"{args.data}: {samples.X.shape[0]} rows, {samples.X.shape[1]} features, target "
        f"{args.target!r}."
    )
    if args.test_size is not None:
        samples, test = split_test(samples, task, args.test_size, args.seed)
        console.say(f"{len(test.X)} of these rows are held out for the test.")
    if test is not None and len(test.X) < 2:
        raise ValueError("A score needs at least 2 test rows; use a larger --test-size or table.")
    hint = "" if args.task else "; override with --task"
    bases = f"models: {base!r}" if isinstance(base, list) else f"model: {base!r}"
    console.say(f"Task: {task} ({reason}{hint}). Base {bases}.")
    return Job(model, task, samples, validation, test)


def _new_rows(
    args: argparse.Namespace, test: TrainingTable | None, samples: TrainingTable, console: Console
) -> TrainingTable | None:
    """The rows of ``--test`` that are not in the training table."""
    if test is None:
        return None
    known = TrainingRows.of(samples.X, samples.y).among(test.X, test.y)
    if not len(known.new):
        raise ValueError(
            f"{args.test} has no new row: {known}. A score on them would tell how well they are "
            "remembered. Give other rows, or hold some out with --test-size 0.2."
        )
    if known.is_known.any():
        console.say(f"{args.test}: {known}; only the others are scored.")
    return test.take(known.new)


def _make_model(args: argparse.Namespace, base: Any, task: Task) -> Any:
    cls = PRSClassifier if task == "classification" else PRSRegressor
    model = cls(base, n_jobs=args.jobs, random_state=args.seed)
    set_parameters(model, args, Solver())
    if args.members is not None:
        model.set_params(n_estimators=args.members)
    if args.repeats is not None:
        model.set_params(n_repeats=args.repeats)
    if args.validation_fraction is not None:
        model.set_params(validation_fraction=args.validation_fraction)
    return model


def _set_groups_and_penalty(args: argparse.Namespace, model: Any, samples: TrainingTable) -> None:
    n_columns = samples.X.shape[1]
    groups = read_groups(args.groups, args.separator)
    if groups is not None:
        model.set_params(feature_groups=groups)
        # Penalties act on groups.
        n_columns = resolve_groups(groups, n_columns, list(samples.X.columns)).max() + 1
    if args.penalty:
        model.set_params(penalty=make_penalty(args.penalty, int(n_columns)))


def _train(args: argparse.Namespace, job: Job, console: Console) -> None:
    callbacks: list[Any] = [StopOnSignal(args)]
    if not console.quiet:
        callbacks.append(TrainingProgress())
    if args.time_limit is not None:
        callbacks.append(TimeLimit(args.time_limit))
    checkpoint = args.checkpoint or args.resume
    if checkpoint is not None:
        callbacks.append(Checkpoint(checkpoint, every=args.checkpoint_every))
    given: dict[str, Any] = {"sample_weight": job.samples.weight}
    if job.validation is not None:
        given |= {
            "X_val": job.validation.X,
            "y_val": job.validation.y,
            "sample_weight_val": job.validation.weight,
        }
    if args.resume is not None:
        given["resume_from"] = args.resume
    job.model.set_callbacks(*callbacks)
    try:
        with nullcontext() if args.keep_best else interruptions_are_errors():
            if args.keep_best:
                # The last message says it, with the name of the folder.
                warnings.simplefilter("ignore", InterruptedFitWarning)
            job.model.fit(job.samples.X, job.samples.y, **given)
    except BaseException:
        if checkpoint is not None and checkpoint.is_file():
            args.after_interruption = (
                f"no model was written. To continue from the checkpoint, repeat the command with "
                f"--resume {shlex.quote(str(checkpoint))}."
            )
        raise
    finally:
        # Callbacks are not part of the model that is written.
        job.model.set_callbacks()


def _test_scores(job: Job) -> dict[str, float]:
    """The score on the test rows, if it is defined."""
    if job.test is None:
        return {}
    value = job.model.score(job.test.X, job.test.y, job.test.weight)
    return {f"test_{METRICS[job.task].lower()}": float(value)} if np.isfinite(value) else {}


def _scores_in_words(job: Job, scores: dict[str, float]) -> str:
    """One sentence for each score, with what it was measured on; nothing without scores."""
    metric, said = METRICS[job.task], ""
    shown = metric[0].upper() + metric[1:]
    name = f"validation_{metric.lower()}"
    if name in scores:
        spread = f" ± {scores[f'{name}_std']:.4f} over repeats" if f"{name}_std" in scores else ""
        said += (
            f"{shown} on the validation rows is {scores[name]:.4f}{spread}, slightly optimistic "
            "since the epoch was chosen on them. "
        )
    if job.test is not None and f"test_{metric.lower()}" in scores:
        value = scores[f"test_{metric.lower()}"]
        said += f"{shown} on {len(job.test.X)} test rows is {value:.4f}. "
    return said


def _warnings(job: Job) -> list[str]:
    """What the report would warn of, in the words of the command line."""
    # The report draws charts, which the import of its parts prepares.
    from randsub.report.diagnostics import notices
    from randsub.report.findings import Findings
    from randsub.report.labelled_rows import Rows

    samples, n_validation = job.samples, None if job.validation is None else len(job.validation.X)
    rows = Rows(samples.X, np.asarray(samples.y), samples.weight)
    found = notices(Findings(job.model, rows, n_validation=n_validation))
    found = [notice for notice in found if notice.level == "warning"]
    return [f"{title}. {with_options(explanation)}" for _, title, explanation in found]


def _summary(args: argparse.Namespace, job: Job) -> dict[str, Any]:
    model, best = job.model, ranked(job.model).head(5)
    return {
        "output": str(args.output),
        "task": job.task,
        "target": args.target,
        "rows": int(job.samples.X.shape[0]),
        "features": int(job.samples.X.shape[1]),
        "left_out": job.samples.left_out,
        "base": args.base,
        "shares": getattr(model, "shares_", {}),
        "repeats": model.n_repeats_,
        "epochs": model.n_iter_,
        "best_epoch": model.best_iter_,
        "stopped": model.stop_reason_,
        "validation_loss": model.validation_loss_,
        "expected_size": model.expected_size_,
        "models_trained": model.n_models_trained_,
        "top": dict(zip(best["feature"], best["importance"], strict=True)),
    }
