"""Where the work of an engine runs: threads, processes, clusters.

* :mod:`~randsub.parallel.average`: the mean prediction of fitted models;
* :mod:`~randsub.parallel.dispatch`: cuts the work into tasks and sends them out;
* :mod:`~randsub.parallel.assignment`: what a task is made of: data, rows, masks, seeds;
* :mod:`~randsub.parallel.piece`: trains the models of a task, on its worker;
* :mod:`~randsub.parallel.stop_request`: the wish to stop before all models are trained;
* :mod:`~randsub.parallel.threads`: threads of this process;
* :mod:`~randsub.parallel.worker_pool`: workers of the joblib backend, replaced when they die;
* :mod:`~randsub.parallel.cluster_transport`: sends the data once to each worker of a cluster;
* :mod:`~randsub.parallel.stall_detector`: notices that a cluster is gone;
* :mod:`~randsub.parallel.blas_threads`: keeps BLAS and OpenMP at one thread meanwhile.
"""

from randsub.parallel.assignment import Assignment, Data
from randsub.parallel.average import Member, average_prediction
from randsub.parallel.blas_threads import one_thread
from randsub.parallel.dispatch import Dispatcher, Watch
from randsub.parallel.stop_request import StopRequest
from randsub.parallel.worker_pool import WorkerPool, lost_a_worker, on_one_worker

__all__ = [
    "Assignment",
    "Data",
    "Dispatcher",
    "Member",
    "StopRequest",
    "Watch",
    "WorkerPool",
    "average_prediction",
    "lost_a_worker",
    "on_one_worker",
    "one_thread",
]
