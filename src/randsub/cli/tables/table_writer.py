"""Write a table to a file, completely or not at all."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from randsub.cli.output_files import check_file, whole_file
from randsub.cli.tables.file_formats import TableError, format_of
from randsub.cli.tables.npz_table import TARGET
from randsub.cli.tables.table_reader import import_pyarrow


def check_table_file(path: Path, *, replace: bool) -> None:
    """Raise if no table can be written to this path; see :func:`check_file`."""
    form = format_of(path)
    check_file(path, replace=replace)
    if form.kind in ("parquet", "feather"):
        import_pyarrow(path)


def write_table(path: Path, frame: pd.DataFrame, target: str | None = None) -> None:
    """Write a table to a csv, tsv, parquet, feather or npz file.

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
                data = as_csv(frame, "\t" if form.kind == "tsv" else ",").encode()
                draft.write_bytes(gzip.compress(data, mtime=0) if form.is_zipped else data)
            case "parquet":
                frame.to_parquet(draft, engine="pyarrow", index=has_names)
            case "feather":
                # This format has no index.
                (frame.reset_index(names="row") if has_names else frame).to_feather(draft)
            case "npz":
                arrays = _arrays(path, frame, target, has_names)
                with draft.open("wb") as file:
                    np.savez(file, **arrays)


def as_csv(frame: pd.DataFrame, separator: str = ",") -> str:
    """A table as delimited text; an index other than 0, 1, ... is a first column without a name."""
    has_names = not isinstance(frame.index, pd.RangeIndex)
    return frame.to_csv(sep=separator, index=has_names, index_label="", lineterminator="\n")


def _arrays(path: Path, frame: pd.DataFrame, target: str | None, has_names: bool) -> dict[str, Any]:
    arrays: dict[str, Any] = {}
    if target is not None and target in frame:
        y = frame[target].to_numpy()
        arrays["y"] = y.astype(str) if y.dtype == object else y
        if target != TARGET:
            arrays["target_name"] = np.array(target)
        frame = frame.drop(columns=target)
    texts = [name for name, dtype in frame.dtypes.items() if not is_numeric_dtype(dtype)]
    if texts:
        raise TableError(
            path, f"an .npz file holds numbers, but column {texts[0]!r} is text; write .csv instead"
        )
    arrays["X"] = frame.to_numpy(dtype=float, na_value=np.nan)
    arrays["feature_names"] = np.array(list(frame.columns), dtype=str)
    if has_names:
        arrays["row_names"] = frame.index.to_numpy().astype(str)
    return arrays
