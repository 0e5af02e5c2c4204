"""The experiments, one file each."""

from typing import Final

from randsub_experiments.experiments.ablation import Ablation
from randsub_experiments.experiments.base import Experiment
from randsub_experiments.experiments.dream4 import Dream4
from randsub_experiments.experiments.genomic import Genomic
from randsub_experiments.experiments.mnist import Mnist
from randsub_experiments.experiments.simulated import Simulated
from randsub_experiments.experiments.tabular import Tabular
from randsub_experiments.experiments.timing import Timing

EXPERIMENTS: Final[dict[str, Experiment]] = {
    experiment.name: experiment
    for experiment in (
        Simulated(),
        Tabular(),
        Genomic(),
        Mnist(),
        Dream4(),
        Timing(),
        Ablation(),
    )
}

__all__ = ["EXPERIMENTS"]
