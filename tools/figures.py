"""Make the numbers of the pages again, and say which have changed.

    python tools/figures.py --output FOLDER --data DATA          all of them: more than a day
    python tools/figures.py --output FOLDER --data DATA --share 0.1 --seed 3
    python tools/figures.py --output FOLDER --studies width defaults --minutes 30

The studies behind the tables keep their rows in csv files, from which the pages are written. Here a
study is run again in pieces, such as all seeds of a method on a problem, into a file of its own in
FOLDER, and the rows of both files are compared. ``--share`` runs a part of the pieces, drawn at
random; rows that are in FOLDER already are not run again. Seconds and memory differ from run to
run, and are not compared. Studies of files that are not in the repository need ``--data``, the
folder with them.

On another kind of processor the last digit of a sine or of a matrix product may be another one, and
a fit can turn on it: rows then differ without a change of the code, by as much as another seed
would make them differ. ``tools/alphas.py`` compares two commits on one machine.

The exit status is 1 if a number has changed.
"""

import argparse
import csv
import itertools
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
BENCHMARKS = REPOSITORY / "benchmarks"

Row = dict[str, str]
Command = list[str]


@dataclass(frozen=True)
class Study:
    """A file of results, and how its rows are made again.

    Attributes
    ----------
    results : Path
        The rows that the pages are written from.
    keys : tuple of str
        Columns that name a row.
    measures : tuple of str
        Columns that must not change.
    piece : tuple of str
        Columns that the rows of a piece have in common.
    commands : callable
        From the rows of a piece, the file for the new ones and the folder of the data: commands.
    needs_data : bool
    """

    results: Path
    keys: tuple[str, ...]
    measures: tuple[str, ...]
    piece: tuple[str, ...]
    commands: Callable[[list[Row], Path, Path], list[Command]]
    needs_data: bool = False

    def pieces(self) -> list[list[Row]]:
        """The rows, those of a piece together."""

        def of(row: Row) -> tuple[str, ...]:
            return tuple(row[name] for name in self.piece)

        return [list(rows) for _, rows in itertools.groupby(sorted(read(self.results), key=of), of)]


def read(path: Path) -> list[Row]:
    """Rows of a csv file; none if there is no file."""
    if not path.is_file():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


# -- the studies -----------------------------------------------------------------------------------


def width(rows: list[Row], new: Path, data: Path) -> list[Command]:
    """All fits of a method on the data of a problem."""
    first = rows[0]
    if first["method"] == "former":
        # Needs the code of another commit.
        return []
    limits = [row["limit"] for row in rows if row["limit"]]
    n_seeds, n_fits = (1 + max(int(row[key]) for row in rows) for key in ("seed", "fit"))
    return [
        [
            *("benchmarks/width.py", "--methods", first["method"], "--problems", first["problem"]),
            *("--features", first["features"], "--data", str(data / "genomic")),
            *("--seeds", str(n_seeds), "--fits", str(n_fits), "--results", str(new)),
            *(["--limit", max(limits, key=float)] if limits else []),
        ]
    ]


def defaults(rows: list[Row], new: Path, data: Path) -> list[Command]:
    """A setting of the study behind the defaults, on all seeds of a problem."""
    first, n_seeds = rows[0], 1 + max(int(row["seed"]) for row in rows)
    return [
        [
            *("benchmarks/defaults/study.py", "--settings", first["setting"]),
            *("--bases", first["base"], "--problems", first["problem"]),
            *("--seeds", str(n_seeds), "--results", str(new)),
        ]
    ]


def experiment(rows: list[Row], new: Path, data: Path) -> list[Command]:
    """A method of the paper's experiments, on all datasets or resamplings of a problem."""
    first, n_replicates = rows[0], 1 + max(int(row["replicate"]) for row in rows)
    return [
        [
            *("-m", "randsub_experiments", first["experiment"], "--problems", first["problem"]),
            *("--methods", first["method"], "--settings", "defaults"),
            *(["--bases", first["base"]] if first["base"] else []),
            *("--replicates", str(n_replicates), "--cells", str(new)),
            *("--output", str(new.parent / "runs" / "-".join(str(first[k]) for k in WHO[1:4]))),
            *(["--data", str(data)] if first["experiment"] != "simulated" else []),
            *SMALL.get((first["experiment"], first["method"]), []),
        ]
    ]


def peers(rows: list[Row], new: Path, data: Path) -> list[Command]:
    """A method on a dataset; packages that are not installed are skipped."""
    first, limits = rows[0], [row["limit"] for row in rows if row["limit"]]
    return [
        [
            *("benchmarks/peers.py", "--data", str(data), "--kinds", first["kind"]),
            *("--problems", first["problem"], "--methods", first["method"]),
            *("--results", str(new)),
            *(["--limit", max(limits, key=float)] if limits else []),
        ]
    ]


def selection(rows: list[Row], new: Path, data: Path) -> list[Command]:
    """A null on all datasets of a problem."""
    first, seeds = rows[0], [int(row["seed"]) for row in rows]
    return [
        [
            *("benchmarks/selection.py", "--problems", first["problem"], "--null", first["null"]),
            *("--seed", str(min(seeds)), "--datasets", str(1 + max(seeds) - min(seeds))),
            *("--samples", first["samples"], "--irrelevant", first["irrelevant"]),
            *("--runs", first["runs"], "--epochs", first["epochs"], "--results", str(new)),
        ]
    ]


def calibration(rows: list[Row], new: Path, data: Path) -> list[Command]:
    """A base model on a table; the page that is written is a copy."""
    page = new.with_suffix(".md")
    shutil.copy(REPOSITORY / "docs" / "guide" / "mixes.md", page)
    return [
        [
            *("benchmarks/calibration.py", "--data", str(data), "--bases", rows[0]["base"]),
            *("--tables", rows[0]["table"], "--results", str(new), "--page", str(page)),
        ]
    ]


def rules(rows: list[Row], new: Path, data: Path) -> list[Command]:
    """A rule of the optimisation at a width; the differences are to the stored default."""
    first, seeds = rows[0], {row["seed"] for row in rows}
    return [
        [
            *("benchmarks/refresh_rules.py", "--rules", first["rule"]),
            *("--features", first["features"], "--seeds", str(len(seeds)), "--results", str(new)),
        ]
    ]


def networks(rows: list[Row], new: Path, data: Path) -> list[Command]:
    """All rules on a network."""
    is_confirmed = any(row["rule"] == "default" for row in rows)
    return [
        [
            *("benchmarks/networks_study.py", "--kinds", rows[0]["kind"]),
            *("--seeds", rows[0]["seed"], "--results", str(new)),
            *(["--confirm"] if is_confirmed else []),
        ]
    ]


WHO = ("experiment", "problem", "method", "base", "setting", "replicate")
MEASURED = ("aupr", "log_loss", "calibration", "epochs", "models", "score", "size")
# Not the whole search of RaSE, which would take days, nor the whole grid of coefficients.
SMALL = {
    ("tabular", "rase"): ["--rase-candidates", "10", "--rase-iterations", "2"],
    ("genomic", "rase"): ["--rase-candidates", "50", "--rase-iterations", "3"],
    ("genomic", "prs"): ["--coefficients", "0", "0.001", "0.01"],
}
CELLS = REPOSITORY / "experiments" / "results"
OF_SELECTION = ("problem", "null", "samples", "irrelevant", "runs", "epochs")
FOUND = ("false", "distant", "found", "selected")
STUDIES = {
    "width": Study(
        BENCHMARKS / "results" / "width.csv",
        ("method", "problem", "features", "seed", "fit"),
        ("models", "feature_models", "score", "aupr", "best"),
        ("method", "problem", "features"),
        width,
        needs_data=True,
    ),
    "defaults": Study(
        BENCHMARKS / "defaults" / "results.csv",
        ("setting", "base", "problem", "seed"),
        ("score", "aupr", "models", "epochs"),
        ("setting", "base", "problem"),
        defaults,
    ),
    "simulated": Study(CELLS / "simulated.csv", WHO, MEASURED, WHO[:5], experiment),
    "tabular": Study(CELLS / "tabular.csv", WHO, MEASURED, WHO[:5], experiment, needs_data=True),
    "genomic": Study(CELLS / "genomic.csv", WHO, MEASURED, WHO[:5], experiment, needs_data=True),
    "peers": Study(
        BENCHMARKS / "results" / "peers.csv",
        ("method", "kind", "problem", "seed"),
        ("score", "aupr", "false", "distant", "found", "selected"),
        ("method", "kind", "problem"),
        peers,
        needs_data=True,
    ),
    "selection": Study(
        BENCHMARKS / "results" / "selection.csv",
        (*OF_SELECTION, "seed"),
        tuple(f"{one}_{rate}" for one in FOUND for rate in ("0.1", "0.2")),
        OF_SELECTION,
        selection,
    ),
    "calibration": Study(
        BENCHMARKS / "results" / "calibration.csv",
        ("base", "table", "seed"),
        ("log_loss_before", "log_loss_after", "calibration_before", "calibration_after", "score"),
        ("base", "table"),
        calibration,
        needs_data=True,
    ),
    "rules": Study(
        BENCHMARKS / "results" / "refresh_rules.csv",
        ("rule", "problem", "features", "seed"),
        ("score", "aupr", "models", "epochs"),
        ("rule", "features"),
        rules,
    ),
    "networks": Study(
        BENCHMARKS / "results" / "network_rules.csv",
        ("kind", "seed", "rule"),
        ("aupr", "auroc", "early"),
        ("kind", "seed"),
        networks,
    ),
}


# -- run again, and compare ------------------------------------------------------------------------


def changed(study: Study, new: Path) -> tuple[int, list[str]]:
    """Number of rows in both files, and a line for each that differs."""
    old = {tuple(row[key] for key in study.keys): row for row in read(study.results)}
    both, lines = 0, []
    for row in read(new):
        key = tuple(row[name] for name in study.keys)
        if key not in old:
            continue
        both += 1
        for name in study.measures:
            before, now = old[key].get(name, ""), row.get(name, "")
            if before != now and not is_equal(before, now):
                lines.append(f"{', '.join(filter(None, key))}: {name} {before} -> {now}")
    return both, lines


def is_equal(before: str, now: str) -> bool:
    """Whether two texts are the same number, up to rounding errors of another machine."""
    try:
        return abs(float(before) - float(now)) <= 1e-9 * max(abs(float(before)), 1.0)
    except ValueError:
        return False


def drawn(pieces: Sequence[list[Row]], share: float, seed: int) -> Iterator[list[Row]]:
    """A share of the pieces, one at least, in random order."""
    count = max(1, round(share * len(pieces)))
    yield from random.Random(seed).sample(list(pieces), count)


def run_again(name: str, args: argparse.Namespace) -> bool:
    """Run pieces of a study, and print what has changed; whether nothing has."""
    study, new = STUDIES[name], args.output / f"{name}.csv"
    if study.needs_data and args.data is None:
        print(f"{name}: needs --data")
        return True
    ends = time.monotonic() + 60.0 * args.minutes
    for rows in drawn(study.pieces(), args.share, args.seed):
        if time.monotonic() > ends:
            break
        for command in study.commands(rows, new, args.data):
            print("$ python", *command, flush=True)
            subprocess.run(
                [sys.executable, *command],
                cwd=REPOSITORY,
                check=True,
                stdout=None if args.verbose else subprocess.DEVNULL,
            )
    both, lines = changed(study, new)
    differ = f"{len(lines)} numbers differ" if lines else "all numbers are equal"
    print(f"{name}: {both} of {len(read(study.results))} rows again, {differ}", *lines, sep="\n  ")
    return not lines


def main() -> int:
    """0 if no number has changed, else 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, required=True, help="folder of the new rows")
    parser.add_argument("--data", type=Path, help="folder of the datasets")
    parser.add_argument("--studies", nargs="+", choices=STUDIES, default=list(STUDIES))
    parser.add_argument("--share", type=float, default=1.0, help="of the pieces of each study")
    parser.add_argument("--seed", type=int, default=0, help="of the draw of the pieces")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="per study, then stop")
    parser.add_argument("--verbose", action="store_true", help="what the studies print, too")
    args = parser.parse_args()
    args.output = args.output.resolve()
    args.output.mkdir(parents=True, exist_ok=True)
    args.data = args.data and args.data.resolve()
    # All of them, also after a change.
    same = [run_again(name, args) for name in args.studies]
    return 0 if all(same) else 1


if __name__ == "__main__":
    sys.exit(main())
