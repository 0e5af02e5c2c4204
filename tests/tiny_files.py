"""Tiny data sets in .npz files."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def save(path: Path, arrays: Arrays) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **arrays)
    return path


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
