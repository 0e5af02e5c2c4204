"""From a frame to a file, whole or not at all."""

import csv
import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from randsub.cli.outputs import check_file, whole_file
from randsub.cli.tables.archive import TARGET
from randsub.cli.tables.kinds import TableError, format_of
from randsub.cli.tables.reading import needs_pyarrow


def check_table_file(path: Path) -> None:
    """Raise where no table could be written to a file of this name."""
    form = format_of(path)
    check_file(path)
    if form.kind in ("parquet", "feather"):
        try:
            import pyarrow  # noqa: F401
        except ImportError as error:
            raise needs_pyarrow(path) from error


def write_table(path: Path, frame: pd.DataFrame, target: str | None = None) -> None:
    """Write a frame to a csv, tsv, parquet, feather or npz file.

    Parameters
    ----------
    path : Path
    frame : DataFrame
        An index other than 0, 1, ... is written as the first column.
    target : str, default=None
        The column that becomes y of an .npz file.
    """
    form = format_of(path)
    has_names = not isinstance(frame.index, pd.RangeIndex)
    with whole_file(path) as draft:
        match form.kind:
            case "csv" | "tsv":
                data = as_text(frame, "\t" if form.kind == "tsv" else ",").encode()
                draft.write_bytes(gzip.compress(data, mtime=0) if form.is_zipped else data)
            case "parquet":
                frame.to_parquet(draft, engine="pyarrow", index=has_names)
            case "feather":
                # The format has no index of its own.
                (frame.reset_index(names="row") if has_names else frame).to_feather(draft)
            case "npz":
                arrays = _arrays(path, frame, target, has_names)
                with draft.open("wb") as file:
                    np.savez(file, **arrays)


def as_text(frame: pd.DataFrame, separator: str = ",") -> str:
    """A frame as delimited text, with every digit; pandas takes minutes for very wide ones."""
    values = frame.to_numpy(dtype=object, copy=True)
    values[frame.isna().to_numpy()] = ""
    rows, header = values.tolist(), [str(name) for name in frame.columns]
    if not isinstance(frame.index, pd.RangeIndex):
        header = ["", *header]
        rows = [[name, *row] for name, row in zip(frame.index, rows, strict=True)]
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def _arrays(path: Path, frame: pd.DataFrame, target: str | None, has_names: bool) -> dict[str, Any]:
    arrays: dict[str, Any] = {}
    if target is not None and target in frame:
        y = frame[target].to_numpy()
        arrays["y"] = y.astype(str) if y.dtype == object else y
        if target != TARGET:
            arrays["target_name"] = np.array(target)
        frame = frame.drop(columns=target)
    texts = [name for name in frame.columns if not pd.api.types.is_numeric_dtype(frame[name])]
    if texts:
        raise TableError(
            path, f"an .npz file holds numbers, and column {texts[0]!r} has text; write .csv"
        )
    arrays["X"] = frame.to_numpy(dtype=float, na_value=np.nan)
    arrays["feature_names"] = np.array(list(frame.columns), dtype=str)
    if has_names:
        arrays["row_names"] = frame.index.to_numpy().astype(str)
    return arrays
