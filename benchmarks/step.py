"""Time and peak memory of one optimisation step, compared with the plain tensor formula.

The plain implementation is the paper's formula: for each sample, each model and each feature,
weight times score times (prediction minus baseline), in arrays of shape (T, n, M). Ours first sums
over the samples, which gives one cost per model, and uses sparse masks. Both compute the same
gradient (printed: the largest difference) for T = 100 models, a batch of 30 samples and squared
error, at weights other than 1; the whole step includes weights, ensemble output, gradient and Adam.

    python benchmarks/step.py [--sizes 300 3000 30000]
"""

import argparse
import re
import resource
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from plain import plain_gradient

from randsub.distributions import Bernoulli
from randsub.gradients import (
    ensemble_output,
    importance_weights,
    model_costs,
    score_gradient,
)
from randsub.losses import SquaredError
from randsub.optim import ProjectedAdam

N_MODELS, BATCH, ALPHA = 100, 30, 0.05
# The plain tensors at this size no longer fit a small machine.
LARGEST_PLAIN = 10_000


def make_round(n_features: int, seed: int = 0) -> dict[str, Any]:
    """Masks from one theta, to be used at another, with predictions and targets."""
    rng = np.random.default_rng(seed)
    drawn = np.full(n_features, ALPHA)
    theta = np.clip(drawn + rng.normal(scale=0.002, size=n_features), 0.001, 0.999)
    sparse = Bernoulli(n_features).sample(drawn, N_MODELS, rng)
    return {
        "theta": theta,
        "masks": sparse.toarray() != 0,
        "sparse": sparse,
        "log_q": Bernoulli(n_features).log_prob(sparse, drawn),
        "predictions": rng.normal(size=(N_MODELS, BATCH, 1)),
        "targets": rng.normal(size=(BATCH, 1)),
        "weights": np.ones(BATCH),
    }


def our_gradient(world: dict[str, Any]) -> Any:
    """The gradient as the library computes it."""
    distribution, loss = Bernoulli(len(world["theta"])), SquaredError()
    masks, theta, predictions = world["sparse"], world["theta"], world["predictions"]
    w = importance_weights(distribution.log_prob(masks, theta) - world["log_q"])
    output = ensemble_output(w, predictions)
    costs = model_costs(loss.gradient(world["targets"], output, world["weights"]), predictions)
    return score_gradient(distribution, masks, theta, w, costs, "weighted")


def plain(world: dict[str, Any]) -> Any:
    """The gradient by the paper's per-sample formula."""
    return plain_gradient(
        world["masks"],
        world["theta"],
        world["log_q"],
        world["predictions"][:, :, 0],
        lambda f: 2.0 * (f - world["targets"][:, 0]) / BATCH,
    )


def stepper(world: dict[str, Any], gradient: Callable[[dict[str, Any]], Any]) -> Callable[[], Any]:
    """One whole step: gradient, then Adam."""
    adam, project = ProjectedAdam(), Bernoulli(len(world["theta"])).project
    theta = world["theta"][np.newaxis]
    memory = adam.init(theta)
    return lambda: adam.update(gradient(world)[np.newaxis], memory, theta, project)


def seconds(step: Callable[[], Any], budget: float = 1.0) -> float:
    """Best of repeated calls within a budget of seconds."""
    step()
    best, spent = np.inf, 0.0
    while spent < budget:
        begin = time.perf_counter()
        step()
        last = time.perf_counter() - begin
        best, spent = min(best, last), spent + last
    return best


def peak_megabytes(step: Callable[[], Any]) -> float:
    """Largest memory that one step allocates beyond its inputs."""
    tracemalloc.start()
    step()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 1e6


def inputs_megabytes(world: dict[str, Any]) -> float:
    """What is kept between steps: sparse masks, predictions and the rest of the round."""
    sparse = world["sparse"]
    arrays = [world[k] for k in ("theta", "log_q", "predictions", "targets", "weights")]
    arrays += [sparse.data, sparse.indices, sparse.indptr]
    return sum(a.nbytes for a in arrays) / 1e6


def own_megabytes() -> tuple[float, float]:
    """Memory that this process has written to, and its peak with the pages mapped from files.

    The latter counts code of the libraries, of which the system maps more or less as it sees fit.
    """
    status = Path("/proc/self/status")
    if not status.is_file():
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return float("nan"), peak / (1e6 if sys.platform == "darwin" else 1e3)
    # Not ru_maxrss, which on Linux begins with the size of the parent process.
    kilobytes = dict(re.findall(r"(\w+):\s+(\d+) kB", status.read_text()))
    return int(kilobytes["RssAnon"]) / 1e3, int(kilobytes["VmHWM"]) / 1e3


def in_process_megabytes(n_features: int) -> list[float]:
    """The same for a separate process that makes a round and takes 100 steps."""
    code = f"import step; s = step.stepper(step.make_round({n_features}), step.our_gradient)\n"
    code += "for _ in range(100): s()\nprint(*step.own_megabytes())"
    answer = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=True,
    )
    return [float(word) for word in answer.stdout.split()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[300, 3000, 30000])
    args = parser.parse_args()
    print(f"One step, T = {N_MODELS} models, batch of {BATCH}, alpha about {ALPHA}; seed 0.")
    print(
        f"{'M':>7}{'ours ms':>10}{'plain ms':>10}{'ratio':>8}{'step MB':>9}{'plain MB':>10}"
        f"{'round MB':>10}{'own MB':>12}{'process MB':>12}{'difference':>12}"
    )
    for size in args.sizes:
        own, process = in_process_megabytes(size)
        world = make_round(size)
        ours = stepper(world, our_gradient)
        row = f"{size:>7}{1e3 * seconds(ours):>10.3f}"
        if size <= LARGEST_PLAIN:
            tensors = stepper(world, plain)
            slow = seconds(tensors)
            row += f"{1e3 * slow:>10.1f}{slow / seconds(ours):>8.0f}"
            memory = f"{peak_megabytes(tensors):>10.1f}"
            difference = np.abs(our_gradient(world) - plain(world)).max()
            last = f"{difference:>12.1e}"
        else:
            row, memory, last = row + f"{'-':>10}{'-':>8}", f"{'-':>10}", f"{'-':>12}"
        row += f"{peak_megabytes(ours):>9.2f}{memory}{inputs_megabytes(world):>10.2f}"
        print(row + f"{own:>12.0f}{process:>12.0f}{last}", flush=True)
    print(
        "own MB: private memory of a new process with the library after 100 steps;\n"
        "process MB: its peak memory, including the mapped code of libraries."
    )


if __name__ == "__main__":
    main()
