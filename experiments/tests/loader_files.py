"""Tiny data sets on disk, in the layouts that the loaders read."""

import gzip
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiny_files import Arrays, genomic, save, tabular

__all__ = ["Arrays", "digits", "dream4", "genomic", "save", "simulated", "tabular", "write_idx"]


def simulated(seed: int = 0) -> Arrays:
    rng = np.random.default_rng(seed)
    arrays: Arrays = {"idx_relevant": np.array([1, 3])}
    for part, n in (("LS", 6), ("VS", 4), ("TS", 3)):
        arrays[f"X{part}"] = rng.normal(size=(n, 5)).astype(np.float32)
        arrays[f"y{part}"] = rng.normal(size=n)
    return arrays


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
