"""A page of several runs: the text of a template, tables from result files.

The template is ``reproduction_page.md`` beside this file, without explanations, or one of the
user's. In it, ``{{ runs }}`` becomes the list of what was run, ``{{ agreement }}`` the summary of
where we agree with the paper, ``{{ missing }}`` the paper's tables that our copy lacks, and
``{{ NAME }}`` the tables and figures of the experiment of that name.

In the page each of these parts stands between two comments, so that later results of one experiment
can replace its part and leave the others as they are.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

from randsub._files import write_atomically
from randsub_experiments import published
from randsub_experiments.cells import FIRST_SEED, label
from randsub_experiments.compatibility import PROTOCOL, check_comparable
from randsub_experiments.experiments import EXPERIMENTS
from randsub_experiments.figures.style import png
from randsub_experiments.paper_tables import MEASURES
from randsub_experiments.result_folder import FURTHER, NUMBERS, VECTORS, Folder
from randsub_experiments.result_table import Table, plain

_MARK = re.compile(r"\{\{ (\w+) \}\}")
_PART = re.compile(r"<!-- begin (\w+) -->\n\n(.*?)\n\n<!-- end \1 -->", re.DOTALL)


def write_page(
    folders: Sequence[Path],
    output: Path,
    *,
    figures: bool = True,
    template: Path | None = None,
    update: bool = False,
) -> None:
    """Write the page of the results in some folders.

    Parameters
    ----------
    folders : sequence of Path
        Folders that ``randsub-experiments`` has written. Several may be of one experiment: their
        cells are combined, and cells that are in two of them must agree.
    output : Path
        The page, markdown. Figures go into a folder of its name beside it.
    figures : bool, default=True
        Whether to draw figures.
    template : Path, default=None
        The text around the tables; by default that of ``reproduction_page.md``.
    update : bool, default=False
        Whether the page keeps what it has of experiments that are in none of the folders.
    """
    words, former = _template(template), _parts(output) if update else {}
    runs: list[dict[str, Any]] = []
    results: dict[str, list[pd.DataFrame]] = {}
    for folder in folders:
        run, frame = Folder(folder).read()
        if run["experiment"] not in EXPERIMENTS:
            raise ValueError(
                f"{folder} has results of the experiment {run['experiment']!r}, which this version "
                f"of randsub does not know; it knows {', '.join(EXPERIMENTS)}."
            )
        runs.append(run)
        results.setdefault(run["experiment"], []).append(frame)
    merged = {name: merge(frames, name) for name, frames in results.items()}
    tables = {name: EXPERIMENTS[name].tables(frame) for name, frame in merged.items()}
    images = {name: _draw(name, merged[name], output) if figures else [] for name in merged}
    parts = {
        "runs": _runs(runs, former.get("runs")),
        "agreement": agreement(tables),
        "missing": "\n".join(
            f"* {row.content} (`{row.table}`)" for row in published.missing().itertuples()
        ),
        **{
            name: _section(tables.get(name, []), images.get(name, []), former.get(name))
            for name in EXPERIMENTS
        },
    }
    if update:
        parts["agreement"] = _kept_agreement(tables, former)
    marked = {
        name: f"<!-- begin {name} -->\n\n{text.rstrip()}\n\n<!-- end {name} -->"
        for name, text in parts.items()
    }
    write_atomically(output, fill(words, marked).encode())


def _template(path: Path | None) -> str:
    if path is None:
        return files(__package__).joinpath("reproduction_page.md").read_text(encoding="utf-8")
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(
            f"--template={path} cannot be read ({error}); name a markdown file, or leave it out."
        ) from error


def _parts(page: Path) -> dict[str, str]:
    """Parts of a page that was written before, by their names."""
    found = dict(_PART.findall(page.read_text(encoding="utf-8"))) if page.is_file() else {}
    if not found:
        raise ValueError(f"{page} is not a page of results, so it cannot be updated.")
    return found


def _kept_agreement(tables: Mapping[str, Sequence[Table]], former: Mapping[str, str]) -> str:
    """The summary of agreement as it was, where no new table is judged."""
    judged = [name for name, some in tables.items() if any("verdict" in t.frame for t in some)]
    if judged:
        raise ValueError(
            f"The summary of agreement with the paper has results of {', '.join(judged)} in it: "
            "write the whole page, with the folders of all experiments."
        )
    return former["agreement"]


def fill(template: str, parts: Mapping[str, str]) -> str:
    """The template with each mark replaced; a mark or a part without the other is an error."""
    marks = set(_MARK.findall(template))
    if marks != set(parts):
        odd = ", ".join(sorted(marks ^ set(parts)))
        raise ValueError(f"The template and the parts of the page do not fit together: {odd}.")
    return _MARK.sub(lambda mark: parts[mark[1]].rstrip("\n"), template)


def merge(frames: Sequence[pd.DataFrame], name: str) -> pd.DataFrame:
    """Results of several runs of one experiment; the times of a cell are those of the first."""
    frame = pd.concat(frames, ignore_index=True)
    check_comparable(frame, name)
    # Who a cell is, and its conditions.
    measured = {*PROTOCOL, *NUMBERS, *FURTHER, *VECTORS, "seconds"}
    keys = [column for column in frame if column not in measured]
    numbers = frame.drop(columns=["seconds", *VECTORS], errors="ignore").drop_duplicates()
    if numbers.duplicated(keys).any():
        twice = numbers[numbers.duplicated(keys)].iloc[0]
        raise ValueError(
            f"Two folders have different results for one cell of {name!r}: {twice['problem']} "
            f"#{twice['replicate']}, {label(twice['method'], twice['base'], twice['setting'])}; "
            "leave one of them out."
        )
    return frame.loc[numbers.index].reset_index(drop=True)


def _runs(runs: Sequence[Mapping[str, Any]], former: str | None = None) -> str:
    # A row begins with a command, whose second word is the experiment.
    new = {run["experiment"] for run in runs}
    rows = [line for line in (former or "").splitlines() if line.startswith("| `")]
    kept = [row for row in rows if row.replace("`", " ").split()[2] not in new]
    lines = [
        "| command | cells | failed | not run | versions |",
        "|---|---|---|---|---|",
        *kept,
        *(
            f"| {', '.join(f'`{portable(one)}`' for one in run['commands'])} | {run['cells']} | "
            f"{run['failed']} | {run['missing']} | "
            + ", ".join(f"{name} {version}" for name, version in run["environment"].items())
            + " |"
            for run in runs
        ),
        "",
        f"Replicate i has the random state {FIRST_SEED} + i, for the data and for the method.",
    ]
    return "\n".join(lines)


def portable(command: str) -> str:
    """A command without the folders of one machine, on which its results do not depend.

    Parameters
    ----------
    command : str
        The command as it was given.

    Returns
    -------
    command : str
        Without ``--output`` and ``--cells``, and with ``DATA`` for the data folder.
    """
    words: list[str] = []
    for word in shlex.split(command):
        before = words[-1] if words else ""
        option, is_one_word, _ = word.partition("=")
        if before in ("-o", "--output", "--cells"):
            words.pop()
        elif before == "--data":
            words.append("DATA")
        elif is_one_word and option == "--data":
            words.append("--data=DATA")
        elif not (is_one_word and option in ("--output", "--cells")):
            words.append(word)
    return shlex.join(words)


def agreement(tables: Mapping[str, Sequence[Table]]) -> str:
    """Numbers of cells that agree with the paper, and those that do not."""
    words = ("agrees", "better", "worse", "differs")
    lines = [f"| experiment | table | setting | {' | '.join(words)} | too few to judge |"]
    lines.append("|---" * (4 + len(words)) + "|")
    apart: list[str] = []
    for name, several in tables.items():
        for table in several:
            if "verdict" not in table.frame:
                continue
            judged = table.frame[table.frame["paper_mean"].notna()]
            for setting, rows in judged.groupby("setting", sort=False):
                counts = rows["verdict"].value_counts()
                cells = [str(counts.get(word, 0)) for word in (*words, "")]
                line = [name, table.name, str(setting) or "(no setting)", *cells]
                lines.append(f"| {' | '.join(line)} |")
            outside = judged[judged["verdict"].isin(["worse", "differs"])]
            apart += [_apart(row) for row in outside.itertuples()]
    if len(lines) == 2:
        return "None of these results has a published counterpart."
    heading = ["", "Not within two standard errors, and not better:", ""]
    return "\n".join([*lines, *heading, *(apart or ["* none"])])


def _apart(row: Any) -> str:
    digits = 2 if row.measure == "size" else 3
    return (
        f"* {row.problem}, {label(row.method, row.base, row.setting)}, {MEASURES[row.measure]}: "
        f"{plain(row.mean, digits)}, paper {plain(row.paper_mean, 2)} "
        f"({plain(row.standard_errors, 1, '+')} standard errors)"
    )


def _draw(name: str, results: pd.DataFrame, output: Path) -> list[str]:
    """Draw the figures of an experiment beside the page; returns their lines in it."""
    lines = []
    for figure_name, figure in EXPERIMENTS[name].figures(results).items():
        file = f"{name}-{figure_name}.png"
        write_atomically(output.with_suffix("") / file, png(figure))
        lines.append(f"![{name}: {figure_name}]({output.stem}/{file})")
    return lines


def _section(tables: Sequence[Table], images: Sequence[str], former: str | None) -> str:
    if not tables:
        return former or "Not among the results of this page."
    return "\n\n".join([*images, *(table.markdown().rstrip("\n") for table in tables)])
