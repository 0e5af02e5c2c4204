"""Real datasets: where they are, which task they are, and whether they are still the same."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd


def data_folder(data: Path | None, experiment: str, origin: str) -> Path:
    """The folder of the data sets; an error that says what to do where there is none.

    ``origin`` says where the data can be had.
    """
    if data is None:
        raise ValueError(
            f"The experiment {experiment!r} reads data sets: name their folder with --data. "
            f"{origin}"
        )
    if not data.is_dir():
        raise FileNotFoundError(
            f"--data={data} is not a folder; name one that holds the data sets. {origin}"
        )
    return data


def choose(
    wanted: Sequence[str], available: Sequence[str], home: Path | str, origin: str
) -> list[str]:
    """The names asked for, or all; an error where there are none of that name."""
    names = list(dict.fromkeys(available))
    if not names:
        raise ValueError(f"Found no dataset at all in {home}. {origin}")
    unknown = [name for name in wanted if name not in names]
    if unknown:
        raise ValueError(
            f"Found no dataset {', '.join(unknown)} in {home}; there are: {', '.join(names)}."
        )
    return list(wanted or names)


def fingerprint(dataset: Any) -> str:
    """A hash of X and y: cells of a dataset that has changed are not those of today."""
    return hash_of(dataset.X, dataset.y)


def hash_of(*parts: Any) -> str:
    """A hash of arrays, frames or series."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, pd.DataFrame | pd.Series):
            part = pd.util.hash_pandas_object(part, index=False).to_numpy()
        array = np.ascontiguousarray(part)
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()[:16]
