"""``randsub network``: which genes regulate which others."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from randsub.callbacks import Callback, TimeLimit
from randsub.cli.base_models import make_base_models
from randsub.cli.console import Console
from randsub.cli.model_parameters import set_parameters
from randsub.cli.output_files import check_file, whole_file
from randsub.cli.stop_signals import StopOnSignal, interruptions_are_errors
from randsub.cli.tables import Layout, read_table
from randsub.cli.tables.column_checks import as_numbers, find_column
from randsub.cli.tables.identifiers import find_row_labels, rows_look_like_features
from randsub.cli.training_progress import TrainingProgress
from randsub.network import PRSNetwork
from randsub.network.infer import count_targets, recommended
from randsub.solver import Solver


def run(args: argparse.Namespace) -> None:
    """Train the network, and write its links."""
    suffix = args.output.suffix.lower()
    if suffix not in (".csv", ".tsv", ".graphml", ".cyjs"):
        raise ValueError(
            f"{args.output}: links are written to .csv, .tsv, .graphml or .cyjs files."
        )
    if args.format != "links" and suffix not in (".csv", ".tsv"):
        raise ValueError(f"--format {args.format} is for .csv and .tsv files, not {suffix}.")
    check_file(args.output, replace=args.force)
    console = Console(args)
    base = None
    if args.base is not None:
        base = make_base_models(args.base, args.base_param, "regression")
    elif args.base_param:
        raise ValueError(f"--base-param {args.base_param[0][0]}: name the base model with --base.")
    regulators, targets = _gene_names(args.regulators), _gene_names(args.targets)
    asked = {"--regulators": regulators or [], "--targets": targets or []}
    asked |= {"--drop": args.drop, "--keep": args.keep}
    expression, of_samples = _read_expression(args, console, asked)
    validation = _read_validation(args, console, expression)
    chosen = recommended(
        n_targets=count_targets(expression, targets),
        knows_regulators=regulators is not None,
        fdr=args.fdr,
        estimator=base,
        lam=args.lam,
        n_repeats=args.repeats,
    )
    model = PRSNetwork(**chosen, n_jobs=args.jobs, random_state=args.seed)
    set_parameters(model, args, chosen.get("solver") or Solver.for_networks())
    n_samples, n_genes = expression.shape
    console.say(
        f"{args.data}: {n_samples} samples of {n_genes} genes, "
        f"{n_genes if regulators is None else len(regulators)} candidate regulators."
    )
    callbacks: list[Callback] = [StopOnSignal(args)]
    if not console.quiet:
        callbacks.append(TrainingProgress())
    if args.time_limit is not None:
        callbacks.append(TimeLimit(args.time_limit))
    model.set_callbacks(*callbacks)
    with interruptions_are_errors():
        model.fit(expression, regulators, validation, targets=targets, **of_samples)
    with whole_file(args.output) as draft:
        if suffix == ".graphml":
            model.to_graphml(draft, args.top, fdr=args.fdr)
        elif suffix == ".cyjs":
            model.to_cytoscape(draft, args.top, fdr=args.fdr)
        else:
            sep = "\t" if suffix == ".tsv" else ","
            model.to_csv(draft, args.top, sep=sep, format=args.format, fdr=args.fdr)
    links = model.links(args.top, fdr=args.fdr)
    first = ""
    if len(links):
        best = links.iloc[0]
        first = f"; the first is {best['regulator']} -> {best['target']} ({best['weight']:.3f})"
    learned = hasattr(model, "shares_") and model.mixing == "shares"
    means = dict(model.shares_.mean()) if learned else {}
    shares = ", ".join(f"{name} {share:.2f}" for name, share in means.items())
    console.done(
        f"{args.output}: {len(links)} links, lam {model.lam_:g}{first}."
        f"{shares and f' Mean shares of the base models: {shares}.'}",
        {
            "output": str(args.output),
            "genes": n_genes,
            "samples": n_samples,
            "links": len(links),
            "lam": model.lam_,
            "shares": means,
            "models_trained": model.n_models_trained_,
            "best": links.head(5).to_dict("records"),
        },
    )


def _read_expression(
    args: argparse.Namespace, console: Console, asked: Mapping[str, Sequence[str]]
) -> tuple[pd.DataFrame, dict[str, list[Any]]]:
    """The table of DATA, in which every column is a gene, and what others say of its samples.

    What is left out is told. `asked` are columns by the option that asks for them.
    """
    path = args.data
    frame = read_table(path, Layout.of(args), console.say)
    console.say_all(rows_look_like_features(path, frame))
    for option, names in asked.items():
        for name in names:
            find_column(path, frame, name, option)
    of_samples: dict[str, list[Any]] = {}
    used = []
    kinds: dict[str, Callable[[Any], Any]]
    kinds = {"perturbed": _genes_of_cell, "time": float, "series": str}
    for name, kind in kinds.items():
        given = getattr(args, name)
        if given is None:
            continue
        used.append(find_column(path, frame, given, f"--{name}"))
        try:
            of_samples[name] = [None if pd.isna(one) else kind(one) for one in frame[used[-1]]]
        except ValueError:
            raise ValueError(f"--{name} {given}: not all of its entries are numbers.") from None
    frame = frame.drop(columns=[*used, *args.drop])
    # What is named as a gene is one.
    labels = find_row_labels(frame, {name for names in asked.values() for name in names})
    console.say_all(labels.told(path))
    return as_numbers(path, frame.drop(columns=list(labels.left_out))), of_samples


def _read_validation(
    args: argparse.Namespace, console: Console, expression: pd.DataFrame
) -> pd.DataFrame | None:
    """The table of ``--validation``, with the genes of the other one."""
    path = args.validation
    if path is None:
        return None
    frame = read_table(path, Layout.of(args), console.say)
    genes = [find_column(path, frame, str(name), str(args.data)) for name in expression]
    return as_numbers(path, frame[genes])


def _genes_of_cell(cell: Any) -> list[str]:
    """The genes that a cell of ``--perturbed`` names."""
    return [name.strip() for name in str(cell).split(";") if name.strip()]


def _gene_names(text: str | None) -> list[str] | None:
    """Names of genes from a file, one per line, or from the text itself."""
    if text is None:
        return None
    path = Path(text)
    words = path.read_text(encoding="utf-8").splitlines() if path.is_file() else text.split(",")
    names = [word.strip() for word in words if word.strip()]
    if not names:
        raise ValueError(f"{text!r} names no gene; use a file with one name per line, or A,B,C.")
    return names
