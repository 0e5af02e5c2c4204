"""Whether a GPU is faster than the CPU, from counts and from measured times of the parts.

``benchmarks/gpu.py`` measures the times: in part ``costs`` those of neighbours, in part ``mlp``
those of a thousand steps of networks. Those below are of an NVIDIA H200 and of one core of the
machine that it is in. They need not be exact: where they are close, neither choice is bad.
"""

import warnings
from typing import Any

from joblib import effective_n_jobs
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor

from randsub.engines.base import Learner
from randsub.engines.torch.device import obstacle_of
from randsub.exceptions import SlowEngineWarning

# Seconds on one core per pair of a training row and a query, and on the GPU per call and per pair.
CORE_PER_PAIR = 8.0e-9
GPU_PER_CALL, GPU_PER_PAIR = 1.5e-3, 2.5e-11
# Seconds of a step of one network on one core, and of a step of all networks on the GPU.
CORE_PER_STEP, GPU_PER_STEP, GPU_PER_TRAINING = 3.4e-4, 1.8e-4, 0.1
# How much faster the GPU must be: it must make up for starting it, some seconds.
MARGIN = 2.0
# With a window of generations a refresh trains so many times fewer models than there are masks.
GENERATIONS = 10


def takes_over(learner: Learner, n_train: int, model: Any) -> bool:
    """Whether engine="auto" trains a base model on a GPU: the user's, or one that is much faster.

    ``model`` has ``n_estimators``, the number of models per batch, and ``n_jobs``.
    """
    if learner.device is not None:
        return learner.device != "cpu"
    n_at_once, n_workers = -(-model.n_estimators // GENERATIONS), effective_n_jobs(model.n_jobs)
    wins = gpu_wins(learner.estimator, n_train, n_train // 4, n_at_once, n_workers)
    return wins and obstacle_of("cuda") is None


def warn_of_unused(learner: Learner, reason: str) -> None:
    """Say why a device that the user has named is not used; ``reason`` is of the engine."""
    if learner.device is not None:
        warnings.warn(
            f"device={learner.device!r} is not used for {learner.estimator!r}: the engine 'torch' "
            f"{reason}.",
            SlowEngineWarning,
            stacklevel=2,
        )


def gpu_wins(estimator: Any, n_train: int, n_query: int, n_masks: int, n_workers: int) -> bool:
    """Whether training base models on a GPU is much faster than on the CPU.

    Parameters
    ----------
    estimator : estimator
    n_train, n_query : int
        Rows that a model is trained on and asked about.
    n_masks : int
        Number of models that are trained together.
    n_workers : int
        Number of CPU workers.
    """
    if type(estimator) in (KNeighborsClassifier, KNeighborsRegressor):
        pairs = n_masks * n_train * n_query
        on_cpu, on_gpu = CORE_PER_PAIR * pairs, GPU_PER_CALL + GPU_PER_PAIR * pairs
    elif type(estimator) in (MLPClassifier, MLPRegressor):
        size = 200 if estimator.batch_size == "auto" else int(estimator.batch_size)
        # Few networks need all of their epochs.
        n_steps = -(-n_train // size) * max(estimator.max_iter // 4, 1)
        on_cpu, on_gpu = (
            CORE_PER_STEP * n_masks * n_steps,
            GPU_PER_TRAINING + GPU_PER_STEP * n_steps,
        )
    else:
        # Models made of shared moments take microseconds on a core.
        return False
    return on_cpu / max(n_workers, 1) > MARGIN * on_gpu
