"""Rows drawn with replacement, one sample for each model, from the model's seed alone."""

import numpy as np

from randsub._compile import compiled
from randsub._typing import IntArray


def bootstrap_rows(seed: int, n_rows: int) -> IntArray:
    """As many row numbers as there are rows, in ascending order; some of them several times."""
    counts = np.empty(n_rows, dtype=np.int64)
    draw_counts(np.uint64(seed), counts)
    return np.repeat(np.arange(n_rows), counts)


@compiled()
def draw_counts(seed, counts):  # type: ignore[no-untyped-def]
    """How often each row is drawn, by the generator SplitMix64."""
    counts[:] = 0
    n = np.uint64(len(counts))
    state = (seed + np.uint64(1)) * np.uint64(0xD1B54A32D192ED03)
    for _ in range(len(counts)):
        state += np.uint64(0x9E3779B97F4A7C15)
        bits = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        bits ^= bits >> np.uint64(31)
        # The upper half as a fraction of n.
        counts[np.int64(((bits >> np.uint64(32)) * n) >> np.uint64(32))] += 1
