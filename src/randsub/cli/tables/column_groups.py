"""Groups of columns from a file."""

import json
from pathlib import Path
from typing import Any

from randsub.cli.tables.file_formats import TableError, listed
from randsub.cli.tables.layout import Layout
from randsub.cli.tables.table_reader import read_table


def read_groups(text: str | None, separator: str | None) -> Any:
    """The groups of ``--groups``.

    Parameters
    ----------
    text : str or None
        "prefix", or a file: json with ``{group: [columns]}``, or a table with the columns
        ``feature`` and ``group``.
    separator : str or None
        Character between the columns of a table of text.

    Returns
    -------
    groups : "prefix", dict of lists of str, or None
    """
    if text is None or text == "prefix":
        return text
    path = Path(text)
    if path.suffix.lower() == ".json":
        return _read_json(path)
    frame = read_table(path, Layout(separator))
    if not {"feature", "group"} <= set(frame.columns):
        raise TableError(
            path,
            "a table of groups needs the columns 'feature' and 'group', but has "
            f"{listed(list(frame.columns))}",
        )
    features = frame["feature"].astype(str).groupby(frame["group"].astype(str), sort=False)
    return features.agg(list).to_dict()


def _read_json(path: Path) -> dict[str, list[str]]:
    if not path.exists():
        raise FileNotFoundError(
            f"There is no file {path}; --groups takes 'prefix' or the name of a file."
        )
    try:
        groups = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise TableError(path, f"it is not json ({error})") from error
    if not isinstance(groups, dict) or not all(
        isinstance(columns, list) and all(isinstance(name, str) for name in columns)
        for columns in groups.values()
    ):
        raise TableError(path, "a json file of groups should be {group: [names of columns]}")
    return groups
