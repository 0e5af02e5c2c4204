"""``randsub fit``: learn which columns of a table matter, and a model that predicts from them."""

import argparse
import shlex
from pathlib import Path
from typing import Any

from randsub.cli.options import (
    add_base_flags,
    add_run_flags,
    add_table_flags,
    add_verb,
    real_number,
    seconds,
    whole_number,
)
from randsub.cli.penalties import FORMS, read_penalty

_DESCRIPTION = """\
Learn from a table which of its columns matter for another one, the target, and a model that
predicts it from them. The model, what it was learned from, how training went and the importances
are written to a folder, for `randsub predict`, `rank`, `select`, `report` and `info`.
"""
_EPILOG = """\
Ctrl-C and SIGTERM stop the training and leave nothing behind but the --checkpoint, if there is one;
with --keep-best, the model of the best alpha so far is written. The exit code is 130 (143) either
way. --time-limit is for those who know beforehand how long they will wait: it ends well.
"""


def add(verbs: Any) -> None:
    """Add the verb and what may follow it."""
    verb = add_verb(
        verbs,
        "fit",
        "learn which columns of a table matter, and a model that predicts from them",
        _DESCRIPTION,
        epilog=_EPILOG,
    )
    verb.add_argument(
        "data", type=Path, metavar="DATA", help="table: .csv, .tsv, .parquet, .feather or .npz"
    )
    verb.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FOLDER", help="where the model goes"
    )
    verb.add_argument("--force", action="store_true", help="replace a model that is there")
    verb.add_argument(
        "--format",
        choices=("skops", "joblib"),
        default="skops",
        help="of the model file; joblib takes any Python object, and can run any code when it is "
        "loaded (default: skops)",
    )
    _add_columns(verb.add_argument_group("columns"))
    _add_method(verb.add_argument_group("method"))
    _add_run(verb.add_argument_group("run"))
    verb.set_defaults(run=_run)


def _add_columns(group: Any) -> None:
    group.add_argument("--target", required=True, metavar="COLUMN", help="what is predicted")
    group.add_argument(
        "--task",
        choices=("regression", "classification"),
        help="by default guessed from the target, and said",
    )
    group.add_argument(
        "--drop", nargs="+", default=[], metavar="COLUMN", help="columns that do not count"
    )
    group.add_argument(
        "--categorical",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="columns that hold categories, though they read as numbers; text always does",
    )
    group.add_argument("--weight", metavar="COLUMN", help="column of sample weights")
    group.add_argument(
        "--groups",
        metavar="prefix|FILE",
        help="columns that are drawn together: by what comes before the last underscore of their "
        "names, or as a file says: json {group: [columns]}, or a table of feature and group",
    )
    add_table_flags(group)


def _add_method(group: Any) -> None:
    add_base_flags(group, "tree")
    group.add_argument(
        "--penalty",
        type=read_penalty,
        action="append",
        default=[],
        metavar="KIND=LAM",
        help=f"added to the loss: {FORMS}; may be repeated",
    )
    group.add_argument("--members", type=whole_number(2), metavar="N", help="models (default: 100)")
    group.add_argument(
        "--epochs", type=whole_number(1), metavar="N", help="epochs of training (default: 2400)"
    )
    held_out = group.add_mutually_exclusive_group()
    held_out.add_argument(
        "--validation", type=Path, metavar="FILE", help="table to choose the best alpha on"
    )
    held_out.add_argument(
        "--validation-fraction",
        type=real_number(0.0, 1.0, open_ends=True),
        metavar="X",
        help="share of the rows that is set aside for that (default: 0.2)",
    )


def _add_run(group: Any) -> None:
    add_run_flags(group)
    group.add_argument(
        "--time-limit",
        type=seconds,
        metavar="TIME",
        help="end training after so long, as 90s, 15m or 2h, and keep the best alpha so far",
    )
    group.add_argument(
        "--checkpoint",
        type=Path,
        metavar="FILE",
        help="write the state of training now and then, for --resume",
    )
    group.add_argument(
        "--checkpoint-every",
        type=whole_number(1),
        metavar="N",
        help="after every N epochs (default: after every minute)",
    )
    group.add_argument(
        "--resume",
        type=Path,
        metavar="FILE",
        help="go on from a checkpoint of the same command; it goes on being written",
    )
    group.add_argument(
        "--keep-best", action="store_true", help="when interrupted, write the best model so far"
    )


def _run(args: argparse.Namespace) -> int:
    from randsub.cli.console import Console
    from randsub.cli.main import Exit
    from randsub.cli.models import check_place, write_model
    from randsub.persistence import DataFacts

    console = Console(args)
    check_place(args.output, replace=args.force, format=args.format)
    job = _prepared(args, console)
    _trained(args, job, console)
    was_interrupted = job.model.stop_reason_ == "interrupted"
    source = args.data.resolve()
    write_model(
        args.output,
        job.model,
        DataFacts.of(job.samples.X, job.samples.y, target=args.target, source=source),
        command=["randsub", *args.command],
        extra=_extra(args, job),
        replace=args.force,
        format=args.format,
    )
    summary = _summary(args, job)
    console.done(_in_words(summary), summary)
    if was_interrupted:
        args.after_interruption = f"the model of the best alpha so far is in {args.output}."
        # Its one document is written.
        args.json = False
        raise args.stop_signal or KeyboardInterrupt
    return Exit.DONE


class Job:
    """What is to be trained on what."""

    def __init__(self, model: Any, task: str, samples: Any, validation: Any) -> None:
        self.model = model
        self.task = task
        self.samples = samples
        self.validation = validation


def _prepared(args: argparse.Namespace, console: Any) -> Job:
    """Everything read and checked."""
    from sklearn.utils import get_tags

    from randsub.cli.bases import make_base
    from randsub.cli.samples import check_training, read_training, read_validation
    from randsub.cli.tables.columns import FeatureRules, find_column

    if args.resume is not None and not args.resume.is_file():
        raise FileNotFoundError(f"There is no checkpoint {args.resume} to resume from.")
    if args.checkpoint is not None:
        from randsub.cli.outputs import check_file

        check_file(args.checkpoint)
    read = read_training(args)
    for name in args.categorical:
        find_column(args.data, read.X, name, "--categorical")
    base = make_base(args.base, args.base_param, read.task)
    model = _model(args, base, read.task)
    rules = FeatureRules(set(args.categorical), get_tags(model).input_tags.allow_nan, args.base)
    samples = check_training(read, rules)
    _add_groups(args, model, samples)
    if args.categorical:
        model.set_params(categorical_features=samples.categorical)
    validation = read_validation(args, samples, read.task)
    console.say(
        f"{args.data}: {samples.X.shape[0]} rows, {samples.X.shape[1]} features, target "
        f"{args.target!r}."
    )
    hint = "" if args.task else "; --task says otherwise"
    console.say(f"Task: {read.task} ({read.reason}{hint}). Base model: {base!r}.")
    return Job(model, read.task, samples, validation)


def _model(args: argparse.Namespace, base: Any, task: str) -> Any:
    from randsub import PRSClassifier, PRSRegressor
    from randsub.cli.models import with_parameters

    cls = PRSClassifier if task == "classification" else PRSRegressor
    model = with_parameters(cls(base, n_jobs=args.jobs, random_state=args.seed), dict(args.param))
    named = {
        "n_estimators": args.members,
        "max_iter": args.epochs,
        "validation_fraction": args.validation_fraction,
    }
    return model.set_params(**{name: value for name, value in named.items() if value is not None})


def _add_groups(args: argparse.Namespace, model: Any, samples: Any) -> None:
    """Groups and penalties, which count them."""
    from randsub.cli.penalties import make_penalty, read_groups
    from randsub.ensemble.groups import resolve_groups

    n_columns = samples.X.shape[1]
    groups = read_groups(args.groups, args.separator)
    if groups is not None:
        resolved = resolve_groups(groups, n_columns, list(samples.X.columns))
        n_columns = int(resolved.max()) + 1
        model.set_params(feature_groups=groups)
    if args.penalty:
        model.set_params(penalty=make_penalty(args.penalty, n_columns))


def _trained(args: argparse.Namespace, job: Job, console: Any) -> None:
    """Train, with what watches over it."""
    import warnings
    from contextlib import nullcontext

    from randsub.callbacks import Checkpoint, TimeLimit
    from randsub.cli.interruptions import SecondLook, interruptions_are_errors
    from randsub.cli.progress import TrainingProgress
    from randsub.exceptions import InterruptedFitWarning

    callbacks: list[Any] = [SecondLook(args)]
    if not console.quiet:
        callbacks.append(TrainingProgress(time_limit=args.time_limit))
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
                # It is told at the end, with where the model is.
                warnings.simplefilter("ignore", InterruptedFitWarning)
            job.model.fit(job.samples.X, job.samples.y, **given)
    except BaseException:
        if checkpoint is not None and checkpoint.is_file():
            args.after_interruption = (
                f"no model was written. The checkpoint is kept: the same command with --resume "
                f"{shlex.quote(str(checkpoint))} goes on from there."
            )
        raise
    finally:
        # What watched over it is no part of the model that is written.
        job.model.set_callbacks()


def _extra(args: argparse.Namespace, job: Job) -> dict[str, Any]:
    """What later verbs need to know of the run, beside the data."""
    return {
        "task": job.task,
        "base": args.base,
        "categorical": job.samples.categorical,
        "weight": args.weight,
        "validation": None if args.validation is None else str(args.validation.resolve()),
        "stopped": job.model.stop_reason_,
    }


def _summary(args: argparse.Namespace, job: Job) -> dict[str, Any]:
    from randsub.cli.models import importances

    model = job.model
    best = importances(model).head(5)
    return {
        "output": str(args.output),
        "task": job.task,
        "target": args.target,
        "rows": int(job.samples.X.shape[0]),
        "features": int(job.samples.X.shape[1]),
        "base": args.base,
        "epochs": model.n_iter_,
        "best_epoch": model.best_iter_,
        "stopped": model.stop_reason_,
        "validation_loss": model.validation_loss_,
        "expected_size": model.expected_size_,
        "models_trained": model.n_models_trained_,
        "top": dict(zip(best["feature"], best["importance"], strict=True)),
    }


def _in_words(summary: dict[str, Any]) -> str:
    from randsub.cli.console import printable

    top = ", ".join(f"{printable(name)} {alpha:.2f}" for name, alpha in summary["top"].items())
    return (
        f"{summary['output']}: a model of {summary['epochs']} epochs ({summary['stopped']}), the "
        f"best at {summary['best_epoch']} with a validation loss of "
        f"{summary['validation_loss']:.4f}; members see {summary['expected_size']:.1f} of "
        f"{summary['features']} features. Most important: {top}."
    )
