"""Tiny data sets on disk, in the layouts that the loaders read."""

import gzip
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def save(path: Path, arrays: Arrays) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **arrays)
    return path


def simulated(seed: int = 0) -> Arrays:
    rng = np.random.default_rng(seed)
    arrays: Arrays = {"idx_relevant": np.array([1, 3])}
    for part, n in (("LS", 6), ("VS", 4), ("TS", 3)):
        arrays[f"X{part}"] = rng.normal(size=(n, 5)).astype(np.float32)
        arrays[f"y{part}"] = rng.normal(size=n)
    return arrays


def tabular(seed: int = 0, n: int = 40) -> Arrays:
    """A number, a column of three levels, a number and a column of two levels."""
    rng = np.random.default_rng(seed)
    columns = [rng.normal(size=n), np.arange(n) % 3, rng.normal(size=n), np.arange(n) % 2]
    return {
        "X": np.column_stack(columns).astype(np.float32),
        "y": rng.normal(size=n),
        "feature_names": np.array(["size", "colour", "weight", "kind"]),
        "target_name": np.array("price"),
        "is_categorical": np.array([False, True, False, True]),
        "category_levels_json": np.array(
            json.dumps({"colour": ["red", "green", "blue"], "kind": ["old", "new"]})
        ),
    }


def genomic(sizes: dict[int, int], n_features: int = 7, seed: int = 0) -> Arrays:
    y = np.repeat(list(sizes), list(sizes.values())).astype(np.int16)
    rng = np.random.default_rng(seed)
    return {"X": rng.integers(-100, 100, (len(y), n_features)).astype(np.int8), "y": y}


def digits(seed: int = 0, n: int = 60) -> Arrays:
    """Images of 5, 6 and 7 in turn, every third of each of the test part."""
    rng = np.random.default_rng(seed)
    return {
        "X": rng.integers(0, 256, (n, 784), dtype=np.uint8),
        "y": (5 + np.arange(n) % 3).astype(np.uint8),
        "is_test": np.arange(n) // 3 % 3 == 0,
    }


def dream4(size: int, seed: int = 0) -> Arrays:
    rng = np.random.default_rng(seed)
    gold = (rng.random((size, size)) < 0.2).astype(np.int8)
    np.fill_diagonal(gold, 0)
    arrays: Arrays = {"gold": gold, "gene_names": np.array([f"G{j + 1}" for j in range(size)])}
    if size == 100:
        arrays["X_LS"] = rng.random((9, size)).astype(np.float32)
        arrays["X_VS"] = rng.random((2, size)).astype(np.float32)
        return arrays
    for name, rows in (("multifactorial", 10), ("knockouts", 10), ("knockdowns", 10)):
        arrays[name] = rng.random((rows, size)).astype(np.float32)
    arrays["wildtype"] = rng.random((1, size)).astype(np.float32)
    arrays["timeseries"] = rng.random((6, size)).astype(np.float32)
    arrays["ts_time"] = np.array([0.0, 50, 100] * 2)
    return arrays


def write_idx(path: Path, array: NDArray[np.uint8]) -> Path:
    """The format of the original MNIST files."""
    header = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
    data = header + array.tobytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path
