"""Data as users may give it: tables, targets and weights, tame or hostile.

A case is made of choices with names, and of a seed for the numbers: what fails is then short to
tell, and shrinks to the one choice that makes it fail.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import strategies as st
from scipy import sparse

from hardening.cases import Data, pick

ROWS = {"tame": [12, 20, 7, 5], "hostile": [4, 3, 2, 1, 0]}
COLUMNS = {"tame": [3, 1, 2, 6], "hostile": [0]}


def _with(change: Callable[[Any, Any], None]) -> Callable[[Any, Any], Any]:
    """A change of an array in its place, as a function that returns it."""

    def changed(values: Any, rng: Any) -> Any:
        if values.size:
            change(values, rng)
        return values

    return changed


def _holes(share: float, hole: float) -> Callable[[Any, Any], Any]:
    return lambda v, rng: np.where(rng.random(v.shape) < share, hole, v)


@_with
def _constant_column(values: Any, rng: Any) -> None:
    values[:, 0] = 0.1


@_with
def _missing_column(values: Any, rng: Any) -> None:
    values[:, -1] = np.nan


@_with
def _one_infinite(values: Any, rng: Any) -> None:
    values[0, 0] = np.inf


@_with
def _one_huge(values: Any, rng: Any) -> None:
    values[0, 0] = 1e300


@_with
def _magnitudes(values: Any, rng: Any) -> None:
    values *= 10.0 ** rng.integers(-30, 30, size=values.shape[1])


VALUES: Mapping[str, Mapping[str, Callable[[Any, Any], Any]]] = {
    "tame": {
        "normal": lambda v, rng: v,
        "few different": lambda v, rng: np.round(v),
        "a constant column": _constant_column,
        "equal rows": lambda v, rng: v[:1].repeat(len(v), axis=0),
        "equal columns": lambda v, rng: v[:, :1].repeat(v.shape[1], axis=1),
        "far from zero": lambda v, rng: v + 1e6,
        "all magnitudes": _magnitudes,
        "zeros": lambda v, rng: np.where(np.abs(v) < 1.0, 0.0, v),
    },
    "hostile": {
        "all equal": lambda v, rng: np.full_like(v, 0.1),
        "very far from zero": lambda v, rng: v + 1e15,
        "some missing": _holes(0.2, np.nan),
        "a missing column": _missing_column,
        "all missing": lambda v, rng: np.full_like(v, np.nan),
        "one infinite": _one_infinite,
        "one huge": _one_huge,
        "huge": lambda v, rng: v * 1e300,
        "large": lambda v, rng: v * 1e100,
        "beyond single precision": lambda v, rng: v * 1e45,
        "minute": lambda v, rng: v * 1e-300,
        "subnormal": lambda v, rng: v * 1e-315,
        "negative zeros": lambda v, rng: np.where(v < 0.0, -0.0, v),
    },
}


def _frame(values: Any) -> pd.DataFrame:
    return pd.DataFrame(values, columns=[f"a_{j}" for j in range(values.shape[1])])


def _polars(values: Any) -> pl.DataFrame:
    return pl.DataFrame({f"a_{j}": values[:, j] for j in range(values.shape[1])})


def _categories(values: Any) -> pd.DataFrame:
    frame = _frame(values)
    return frame.assign(kind=pd.Categorical(["red", "green"] * len(frame))[: len(frame)])


def _texts(values: Any) -> pd.DataFrame:
    frame = _frame(values)
    return frame.assign(text=[None, "red", "green"][: len(frame)] + ["red"] * (len(frame) - 3))


def _whole(values: Any, dtype: Any) -> Any:
    return np.round(np.clip(np.nan_to_num(values), -30.0, 30.0) * 3.0).astype(dtype)


def _read_only(values: Any) -> Any:
    values = np.asfortranarray(values)
    values.flags.writeable = False
    return values


def _swapped(values: Any) -> Any:
    return values.astype(values.dtype.newbyteorder())


def _nullable(values: Any) -> pd.DataFrame:
    return _frame(values).convert_dtypes()


def _gaps(values: Any) -> pd.DataFrame:
    frame = _frame(np.round(np.nan_to_num(np.clip(values, -9, 9)))).astype("Int64")
    if frame.size:
        frame.iloc[0, 0] = pd.NA
    return frame


def _narrow(values: Any, dtype: Any) -> Any:
    with np.errstate(over="ignore"):
        return values.astype(dtype)


CONTAINERS: Mapping[str, Mapping[str, Callable[[Any], Any]]] = {
    "tame": {
        "float64": lambda v: v,
        "float32": lambda v: _narrow(v, np.float32),
        "int64": lambda v: _whole(v, np.int64),
        "read-only, by columns": _read_only,
        "every other row": lambda v: v.repeat(2, axis=0)[::2],
        "lists": lambda v: v.tolist(),
        "pandas": _frame,
        "pandas of numbered columns": pd.DataFrame,
        "polars": _polars,
        "csr array": sparse.csr_array,
        "csc matrix": sparse.csc_matrix,
    },
    "hostile": {
        "float16": lambda v: _narrow(v, np.float16),
        "int8": lambda v: _whole(v, np.int8),
        "uint8": lambda v: _whole(v, np.uint8),
        "bool": lambda v: v > 0,
        "longdouble": lambda v: v.astype(np.longdouble),
        "swapped bytes": _swapped,
        "objects": lambda v: v.astype(object),
        "numbers as text": lambda v: v.astype(str),
        "text": lambda v: np.full(v.shape, "red"),
        "objects of text": lambda v: np.full(v.shape, "red", dtype=object),
        "complex": lambda v: v.astype(complex),
        "dates": lambda v: np.zeros(v.shape, "datetime64[s]"),
        "one-dimensional": np.ravel,
        "three-dimensional": lambda v: v[:, :, np.newaxis],
        "a number": lambda v: 3.0,
        "nothing": lambda v: None,
        "a word": lambda v: "table",
        "ragged lists": lambda v: [[1.0], [1.0, 2.0], [1.0], [2.0]],
        "lists of None": lambda v: [[None] * v.shape[1]] * len(v),
        "a generator": lambda v: (row for row in v),
        "a mapping": lambda v: {"a": v},
        "masked": lambda v: np.ma.masked_array(v, v > 0),
        "pandas of truth values": lambda v: _frame(v > 0),
        "pandas of categories": _categories,
        "pandas with text": _texts,
        "pandas of dates": lambda v: _frame(v).assign(d=pd.Timestamp("2020-01-01")),
        "pandas of objects": lambda v: _frame(v).astype(object),
        "pandas, nullable": _nullable,
        "pandas, whole with gaps": _gaps,
        "pandas, float32": lambda v: _frame(_narrow(v, np.float32)),
        "pandas, equal names": lambda v: _frame(v).set_axis(["a"] * v.shape[1], axis=1),
        "pandas, names of two kinds": lambda v: (
            _frame(v).assign(**{"b": 1.0}).rename(columns={"b": 7})
        ),
        "pandas, odd index": lambda v: _frame(v).set_index(np.zeros(len(v))),
        "pandas, sparse": lambda v: _frame(v).astype(pd.SparseDtype(float)),
        "polars with text": lambda v: _polars(v).with_columns(text=pl.lit("red")),
        "polars, float32": lambda v: _polars(v).cast(pl.Float32),
        "polars with nulls": lambda v: _polars(v).with_columns(gap=pl.lit(None, dtype=pl.Float64)),
        "series": lambda v: pd.Series(v[:, 0]) if v.shape[1] else pd.Series(dtype=float),
        "coo matrix": sparse.coo_matrix,
        "lil array": sparse.lil_array,
        "dok matrix": sparse.dok_matrix,
        "bsr array": sparse.bsr_array,
        "dia array": sparse.dia_array,
        "csr of int": lambda v: sparse.csr_array(_whole(v, np.int64)),
        "csr of float32": lambda v: sparse.csr_array(_narrow(v, np.float32)),
        "csr, empty": lambda v: sparse.csr_array(v.shape),
        "csr, long indices": lambda v: _long_indices(sparse.csr_array(v)),
    },
}


def _long_indices(X: Any) -> Any:
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def _classes(*labels: Any, dtype: Any = None) -> Callable[[Any, Any], Any]:
    """Labels in turn by the size of the signal, all of them where there are enough rows."""

    def made(signal: Any, rng: Any) -> Any:
        codes = np.arange(len(signal)) % len(labels)
        order = np.argsort(np.argsort(signal, kind="stable"), kind="stable")
        picked = [labels[code] for code in np.sort(codes)[order]]
        return np.array(picked, dtype=dtype) if dtype is not None else np.array(picked)

    return made


CLASSES: Mapping[str, Mapping[str, Callable[[Any, Any], Any]]] = {
    "tame": {
        "two numbers": _classes(0, 1),
        "three numbers": _classes(3, -1, 7),
        "truth values": _classes(False, True),
        "text": _classes("no", "yes"),
        "objects of text": _classes("a", "bb", "ccc", dtype=object),
        "whole floats": _classes(0.0, 1.0, 2.0),
        "list": lambda s, rng: _classes(0, 1)(s, rng).tolist(),
        "series": lambda s, rng: pd.Series(_classes("u", "v")(s, rng)),
    },
    "hostile": {
        "one class": _classes("only"),
        "fractions": lambda s, rng: s,
        "missing": _classes(0.0, np.nan),
        "missing text": _classes("a", None, dtype=object),
        "infinite": _classes(0.0, np.inf),
        "numbers and text": _classes(0, "a", dtype=object),
        "objects of numbers": _classes(0, 1, dtype=object),
        "large numbers": _classes(2**53, 2**53 + 1),
        "unsigned": _classes(0, 1, dtype=np.uint8),
        "bytes": _classes(b"a", b"b"),
        "dates": _classes(0, 1, dtype="datetime64[s]"),
        "categories": lambda s, rng: pd.Series(_classes("u", "v")(s, rng)).astype("category"),
        "unused category": lambda s, rng: pd.Series(
            pd.Categorical(_classes("u", "v")(s, rng), categories=["w", "u", "v"])
        ),
        "nullable": lambda s, rng: pd.Series(_classes(0, 1)(s, rng)).astype("Int64"),
        "polars": lambda s, rng: pl.Series(_classes("u", "v")(s, rng).tolist()),
        "each its own": lambda s, rng: np.arange(len(s)),
        "one of a kind": lambda s, rng: np.r_[np.zeros(max(len(s) - 1, 0)), 1.0],
        "column": lambda s, rng: _classes(0, 1)(s, rng)[:, np.newaxis],
        "indicators": lambda s, rng: np.eye(2)[_classes(0, 1)(s, rng)],
        "too short": lambda s, rng: _classes(0, 1)(s[1:], rng),
        "too long": lambda s, rng: _classes(0, 1)(np.r_[s, s, 1.0], rng),
        "nothing": lambda s, rng: None,
        "a word": lambda s, rng: "label",
        "a number": lambda s, rng: 1,
        "empty": lambda s, rng: [],
    },
}

NUMBERS: Mapping[str, Mapping[str, Callable[[Any, Any], Any]]] = {
    "tame": {
        "signal": lambda s, rng: s,
        "far from zero": lambda s, rng: s + 1e6,
        "float32": lambda s, rng: s.astype(np.float32),
        "counts": lambda s, rng: np.round(np.exp(s)).astype(int) + 1,
        "list": lambda s, rng: s.tolist(),
        "series": lambda s, rng: pd.Series(s, name="y"),
        "positive": lambda s, rng: np.exp(s),
    },
    "hostile": {
        "constant": lambda s, rng: np.full_like(s, 0.1),
        "zero": lambda s, rng: np.zeros_like(s),
        "all but one equal": lambda s, rng: np.r_[np.zeros(max(len(s) - 1, 0)), 1.0][: len(s)],
        "huge": lambda s, rng: s * 1e300,
        "all huge": lambda s, rng: np.full_like(s, 1.7e308),
        "large": lambda s, rng: s * 1e100,
        "beyond single precision": lambda s, rng: s * 1e45,
        "minute": lambda s, rng: s * 1e-300,
        "subnormal": lambda s, rng: s * 1e-315,
        "very far from zero": lambda s, rng: s + 1e15,
        "float16": lambda s, rng: s.astype(np.float16),
        "truth values": lambda s, rng: s > 0,
        "int8": lambda s, rng: np.clip(s * 10, -99, 99).astype(np.int8),
        "large whole numbers": lambda s, rng: 2**62 + np.arange(len(s)),
        "objects": lambda s, rng: s.astype(object),
        "numbers as text": lambda s, rng: s.astype(str),
        "text": lambda s, rng: np.full(len(s), "red"),
        "missing": lambda s, rng: np.where(s > 0, np.nan, s),
        "infinite": lambda s, rng: np.where(s > 0, np.inf, s),
        "nullable": lambda s, rng: pd.Series(s).astype("Float64"),
        "gaps": lambda s, rng: pd.Series([pd.NA] * len(s), dtype="Float64"),
        "polars": lambda s, rng: pl.Series(s),
        "complex": lambda s, rng: s.astype(complex),
        "dates": lambda s, rng: np.arange(len(s)).astype("datetime64[s]"),
        "column": lambda s, rng: s[:, np.newaxis],
        "two columns": lambda s, rng: np.column_stack([s, s]),
        "too short": lambda s, rng: s[1:],
        "too long": lambda s, rng: np.r_[s, 1.0],
        "nothing": lambda s, rng: None,
        "a word": lambda s, rng: "target",
        "empty": lambda s, rng: [],
    },
}

WEIGHTS: Mapping[str, Mapping[str, Callable[[int, Any], Any]]] = {
    "tame": {
        "none": lambda n, rng: None,
        "none at all": lambda n, rng: None,
        "random": lambda n, rng: rng.random(n) + 0.1,
        "whole": lambda n, rng: rng.integers(1, 4, n),
        "some zero": lambda n, rng: rng.integers(0, 3, n).astype(float),
        "list": lambda n, rng: [0.5] * n,
    },
    "hostile": {
        "all zero": lambda n, rng: np.zeros(n),
        "all but one zero": lambda n, rng: np.eye(max(n, 1))[0][:n],
        "all but three zero": lambda n, rng: (np.arange(n) < 3).astype(float),
        "negative": lambda n, rng: np.where(np.arange(n) == 0, -1.0, 1.0),
        "missing": lambda n, rng: np.where(np.arange(n) == 0, np.nan, 1.0),
        "infinite": lambda n, rng: np.where(np.arange(n) == 0, np.inf, 1.0),
        "huge": lambda n, rng: np.full(n, 1e300),
        "large": lambda n, rng: np.full(n, 1e150),
        "minute": lambda n, rng: np.full(n, 1e-300),
        "subnormal": lambda n, rng: np.full(n, 5e-324),
        "one huge": lambda n, rng: np.where(np.arange(n) == 0, 1e300, 1.0),
        "one minute": lambda n, rng: np.where(np.arange(n) == 0, 1e-300, 1.0),
        "float32": lambda n, rng: rng.random(n).astype(np.float32),
        "truth values": lambda n, rng: rng.random(n) < 0.7,
        "text": lambda n, rng: ["heavy"] * n,
        "a number": lambda n, rng: 2.0,
        "too short": lambda n, rng: np.ones(max(n - 1, 0)),
        "column": lambda n, rng: np.ones((n, 1)),
        "series": lambda n, rng: pd.Series(np.ones(n)),
    },
}


def tables(draw: Any, hostile: set[str]) -> tuple[Any, Data]:
    """A table, and what is known of it: its numbers as drawn, and the choices that made it."""
    n = draw(st.sampled_from(ROWS[kind("rows", hostile)]))
    m = draw(st.sampled_from(COLUMNS[kind("columns", hostile)]))
    seed = draw(st.integers(0, 999))
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n, m))
    signal = numbers[:, 0].copy() if m else rng.normal(size=n)
    values, make_values = pick(draw, VALUES[kind("values", hostile)])
    container, make_table = pick(draw, CONTAINERS[kind("container", hostile)])
    numbers = make_values(numbers, rng)
    told = {"rows": n, "columns": m, "seed": seed, "values": values, "container": container}
    X = make_table(numbers)
    shape = getattr(X, "shape", (n, m))
    columns = shape[1] if len(shape) == 2 else m
    return X, Data(n, columns, numbers, signal, rng, told)


def kind(dimension: str, hostile: set[str]) -> str:
    """Which choices a dimension has in this case."""
    return "hostile" if dimension in hostile else "tame"
