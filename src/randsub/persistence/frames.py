"""Frames, series and indexes of pandas as arrays and lists."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype, is_object_dtype, is_string_dtype


@dataclass
class StoredValues:
    """One column, or the labels of rows or columns.

    Parameters
    ----------
    dtype : str
        As pandas spells it.
        "range" and "levels" stand for indexes of these kinds.
    values : ndarray or list
        Codes of the categories where there are some; StoredValues of each level of an index that
        has several; start, stop and step of a range.
    name : object
        Name of the column or of the index.
    categories : StoredValues or None
    ordered : bool
        Whether the categories are ordered.
    """

    dtype: str
    values: Any
    name: Any = None
    categories: "StoredValues | None" = None
    ordered: bool = False


@dataclass
class StoredFrame:
    """A frame, a series or an index.

    Parameters
    ----------
    kind : {"frame", "series", "index"}
    columns : list of StoredValues
    index : StoredValues or None
        Labels of the rows; None for an index.
    labels : StoredValues or None
        Labels of the columns; None for what is no frame.
    """

    kind: Literal["frame", "series", "index"]
    columns: list[StoredValues]
    index: StoredValues | None = None
    labels: StoredValues | None = None


def pack(table: Any) -> StoredFrame:
    """Take a frame, a series or an index apart.

    Raises
    ------
    TypeError
        Where it holds what cannot be put together again.
    """
    if isinstance(table, pd.DataFrame):
        columns = [_pack_values(table.iloc[:, j]) for j in range(table.shape[1])]
        stored = StoredFrame(
            "frame", columns, _pack_values(table.index), _pack_values(table.columns)
        )
    elif isinstance(table, pd.Series):
        stored = StoredFrame("series", [_pack_values(table)], _pack_values(table.index))
    else:
        stored = StoredFrame("index", [_pack_values(table)])
    if not unpack(stored).equals(table):
        raise TypeError(f"a pandas {type(table).__name__} that does not survive storing")
    return stored


def unpack(stored: StoredFrame) -> Any:
    """Put a frame, a series or an index together."""
    if stored.kind == "index":
        return _unpack_index(stored.columns[0])
    assert stored.index is not None
    index = _unpack_index(stored.index)
    if stored.kind == "series":
        return _unpack_column(stored.columns[0], index)
    assert stored.labels is not None
    # By position first: labels need not be unique.
    columns = [_unpack_column(column, index) for column in stored.columns]
    frame = pd.DataFrame(dict(enumerate(columns)), index=index)
    frame.columns = _unpack_index(stored.labels)
    return frame


def _pack_values(values: Any) -> StoredValues:
    dtype = values.dtype
    if isinstance(values, pd.MultiIndex):
        levels = [_pack_values(values.get_level_values(i)) for i in range(values.nlevels)]
        return StoredValues("levels", levels)
    if isinstance(values, pd.RangeIndex):
        return StoredValues("range", [values.start, values.stop, values.step], values.name)
    if isinstance(dtype, pd.CategoricalDtype):
        codes = values.cat.codes if isinstance(values, pd.Series) else values.codes
        return StoredValues(
            "category",
            np.asarray(codes),
            values.name,
            _pack_values(dtype.categories),
            bool(dtype.ordered),
        )
    if isinstance(dtype, np.dtype) and not dtype.hasobject:
        return StoredValues(str(dtype), np.array(values), values.name)
    if is_object_dtype(dtype) or is_string_dtype(dtype):
        return StoredValues(str(dtype), _listed(values, keep_nan=True), values.name)
    if is_numeric_dtype(dtype) or is_bool_dtype(dtype):
        return StoredValues(str(dtype), _listed(values, keep_nan=False), values.name)
    raise TypeError(f"pandas values of type {dtype}")


def _listed(values: Any, *, keep_nan: bool) -> list[Any]:
    """The values one by one; what only pandas has for a missing one becomes None."""
    return [
        None if value is pd.NA or (not keep_nan and pd.isna(value)) else value
        for value in values.tolist()
    ]


def _unpack_column(stored: StoredValues, index: pd.Index) -> pd.Series:
    if stored.dtype == "category":
        values: Any = _unpack_categories(stored)
    else:
        values = pd.array(stored.values, dtype=_dtype(stored))
    return pd.Series(values, index=index, name=stored.name)


def _unpack_index(stored: StoredValues) -> pd.Index:
    if stored.dtype == "range":
        start, stop, step = stored.values
        return pd.RangeIndex(start, stop, step, name=stored.name)
    if stored.dtype == "levels":
        return pd.MultiIndex.from_arrays([_unpack_index(level) for level in stored.values])
    if stored.dtype == "category":
        return pd.CategoricalIndex(_unpack_categories(stored), name=stored.name)
    return pd.Index(stored.values, dtype=_dtype(stored), name=stored.name)


def _unpack_categories(stored: StoredValues) -> pd.Categorical:
    assert stored.categories is not None
    categories = _unpack_index(stored.categories)
    return pd.Categorical.from_codes(stored.values, categories, ordered=stored.ordered)


def _dtype(stored: StoredValues) -> Any:
    # The name of a NumPy type stands for a type of pandas' own in some places.
    return stored.values.dtype if isinstance(stored.values, np.ndarray) else stored.dtype
