"""Time of the tree and nearest-neighbour engines compared with a lower bound, the floor.

The unavoidable operations are counted on the masks of benchmarks/engines.py. Their rates are
measured with small loops on this machine, in this run, with one thread, on arrays that stay in the
first-level cache. The floor is the time for these operations alone, at these rates.

Tree. To split a node, each of its rows is scanned in each column, which reads an entry and a
target and computes the gain of a split. Unless both children are leaves, the entry and the target
are then moved in each column. Elements are rows times columns, summed over the nodes of
scikit-learn's trees (ours have the same distribution). The floor does not include choosing between
columns, sums of leaves, queries and sorting.

Nearest neighbours. In single precision, a multiply-add (of a difference by itself) for each
training row, query and column, and a compare-exchange (a minimum and a maximum) for each training
row, query and neighbour, and one more to check whether these are certain.

    python benchmarks/floors.py [--repeats 5]
"""

import argparse
from typing import Any

import numba as nb
import numpy as np
from sklearn.base import clone
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from engines import N_MASKS, N_QUERY, N_TRAIN, best_of
from randsub.datasets import make_friedman, make_hypercube
from randsub.engines import Engine, KNNEngine, Learner, TreeEngine

N_ELEMENTS, N_PASSES = 512, 2000


@nb.njit(fastmath=True)
def _scan_loop(entries, targets, total, n_passes):
    """Read an entry and a target, and what two sides of a split are worth."""
    worth = 0.0
    for _ in range(n_passes):
        for i in range(len(entries)):
            left = targets[i] + entries[i]
            right = total - left
            worth += left * left * 0.25 + right * right * 0.5
        total += 1.0
    return worth


@nb.njit
def _move_loop(entries, targets, places, to_entries, to_targets, n_passes):
    """Move an entry and a target to places that are known beforehand."""
    for _ in range(n_passes):
        for i in range(len(entries)):
            place = places[i]
            to_entries[place] = entries[i]
            to_targets[place] = targets[i]


@nb.njit(fastmath=True)
def _multiply_add_loop(values, n_passes):
    total = np.float32(0.0)
    for k in range(n_passes):
        from_here = values[k % len(values)]
        for i in range(len(values)):
            gap = values[i] - from_here
            total += gap * gap
    return total


@nb.njit(fastmath=True)
def _exchange_loop(values, n_passes):
    total = np.float32(0.0)
    for k in range(n_passes):
        kept = values[k % len(values)]
        for i in range(len(values)):
            # The product is there for the compiler to need both.
            total += min(values[i], kept) * max(values[i], kept)
    return total


def rates(repeats: int) -> dict[str, float]:
    """Seconds an element, or an operation, of each of the loops."""
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=N_ELEMENTS), rng.normal(size=N_ELEMENTS)
    # Half go left and half right, as in a partition.
    goes_right = rng.random(N_ELEMENTS) < 0.5
    places = np.empty(N_ELEMENTS, dtype=np.uint64)
    places[np.argsort(goes_right, kind="stable")] = np.arange(N_ELEMENTS)
    to_one, to_other = np.empty(N_ELEMENTS), np.empty(N_ELEMENTS)
    single = one.astype(np.float32)
    loops = {
        "scan": lambda: _scan_loop(one, other, 1.0, N_PASSES),
        "move": lambda: _move_loop(one, other, places, to_one, to_other, N_PASSES),
        "multiply-add": lambda: _multiply_add_loop(single, N_PASSES),
        "compare-exchange": lambda: _exchange_loop(single, N_PASSES),
    }
    n_done = N_ELEMENTS * N_PASSES
    return {name: best_of(4 * repeats, loop) / n_done for name, loop in loops.items()}


def batch(estimator: Any, size: int) -> tuple[Learner, tuple[Any, ...]]:
    """A learner and what it is asked: the masks and samples of benchmarks/engines.py."""
    classify = hasattr(estimator, "predict_proba")
    X, y, _ = (make_hypercube if classify else make_friedman)(N_TRAIN + N_QUERY, random_state=0)
    rng = np.random.default_rng(0)
    masks = rng.random((N_MASKS, X.shape[1])) < size / X.shape[1]
    masks[~masks.any(axis=1), 0] = True
    learner = Learner(estimator, np.unique(y) if classify else None, "soft")
    return learner, (X[:N_TRAIN], y[:N_TRAIN], masks, X[N_TRAIN:], np.arange(N_MASKS))


def seconds_a_model(engine: type[Engine], learner: Learner, data: Any, repeats: int) -> float:
    compiled = engine(learner)
    return best_of(2 * repeats, lambda: compiled.predict_many(*data)) / N_MASKS


def elements_a_model(estimator: Any, X: Any, y: Any, masks: Any) -> tuple[float, float]:
    """Rows times columns that are scanned, and that are moved, in the mean over the masks."""
    n_scanned = n_moved = 0
    for mask in masks:
        tree = clone(estimator).set_params(random_state=0).fit(X[:, mask], y).tree_
        is_split = tree.children_left >= 0
        goes_on = is_split[tree.children_left] | is_split[tree.children_right]
        n_scanned += tree.n_node_samples[is_split].sum() * mask.sum()
        n_moved += tree.n_node_samples[is_split & goes_on].sum() * mask.sum()
    return n_scanned / len(masks), n_moved / len(masks)


def print_trees(rate: dict[str, float], repeats: int) -> None:
    print(f"\n{'tree, per model':<24}{'columns':>8}{'scanned':>9}{'moved':>8}", end="")
    print(f"{'us':>8}{'ns/element':>12}{'floor ns':>10}{'ratio':>7}")
    for estimator in (DecisionTreeRegressor(), DecisionTreeClassifier()):
        for size in (6, 15):
            learner, data = batch(estimator, size)
            X, y, masks = data[:3]
            n_scanned, n_moved = elements_a_model(estimator, X, y, masks)
            seconds = seconds_a_model(TreeEngine, learner, data, repeats)
            floor = n_scanned * rate["scan"] + n_moved * rate["move"]
            n_elements = n_scanned + n_moved
            print(
                f"{type(estimator).__name__:<24}{masks.sum(axis=1).mean():>8.1f}"
                f"{n_scanned:>9.0f}{n_moved:>8.0f}{seconds * 1e6:>8.1f}"
                f"{seconds / n_elements * 1e9:>12.2f}{floor / n_elements * 1e9:>10.2f}"
                f"{seconds / floor:>7.1f}",
                flush=True,
            )


def print_neighbors(rate: dict[str, float], repeats: int) -> None:
    print(f"\n{'neighbours, per model':<24}{'columns':>8}{'multiply-adds':>15}", end="")
    print(f"{'exchanges':>11}{'engine us':>11}{'floor us':>10}{'ratio':>7}")
    estimator = KNeighborsRegressor()
    for size in (6, 15):
        learner, data = batch(estimator, size)
        masks = data[2]
        n_columns = masks.sum(axis=1).mean()
        n_products = N_TRAIN * N_QUERY * n_columns
        n_exchanges = N_TRAIN * N_QUERY * (estimator.n_neighbors + 1)
        seconds = seconds_a_model(KNNEngine, learner, data, repeats)
        floor = n_products * rate["multiply-add"] + n_exchanges * rate["compare-exchange"]
        print(
            f"{type(estimator).__name__:<24}{n_columns:>8.1f}{n_products:>15.0f}"
            f"{n_exchanges:>11.0f}{seconds * 1e6:>11.1f}{floor * 1e6:>10.1f}"
            f"{seconds / floor:>7.1f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    with threadpool_limits(1):
        rate = rates(args.repeats)
        print("Measured here, one thread: ", end="")
        print(", ".join(f"{name} {1e9 * value:.3f} ns" for name, value in rate.items()))
        print_trees(rate, args.repeats)
        print_neighbors(rate, args.repeats)


if __name__ == "__main__":
    main()
