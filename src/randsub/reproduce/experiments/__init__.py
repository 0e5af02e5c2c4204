"""The experiments, one file each."""

from typing import Final

from randsub.reproduce.experiment import Experiment
from randsub.reproduce.experiments.ablation import Ablation
from randsub.reproduce.experiments.dream4 import Dream4
from randsub.reproduce.experiments.genomic import Genomic
from randsub.reproduce.experiments.mnist import Mnist
from randsub.reproduce.experiments.simulated import Simulated
from randsub.reproduce.experiments.tabular import Tabular
from randsub.reproduce.experiments.timing import Timing

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
