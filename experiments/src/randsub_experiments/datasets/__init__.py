"""Loaders of the paper's data.

They read files in a folder that you name, since the data are not ours to ship; where something is
missing, the error says where it can be downloaded. `data_folder` looks for files and checks them.
`load_simulated` (authors.py) reads the simulated files of the paper's authors, `load_genomic`,
`load_mnist` and `load_dream4` the data that their names say. A tabular data set, whether read from
a folder (tabular.py) or downloaded (openml.py, by the numbers in openml_suites.py), is a
`TabularDataset`; `sample_tabular` (tabular_sample.py) draws training, validation and test samples
from it, one-hot encoded.
"""

from randsub_experiments.datasets.authors import SimulatedDataset, list_simulated, load_simulated
from randsub_experiments.datasets.dream4 import Dream4Network, load_dream4
from randsub_experiments.datasets.genomic import (
    Fold,
    GenomicDataset,
    genomic_folds,
    list_genomic,
    load_genomic,
)
from randsub_experiments.datasets.mnist import DigitImages, load_mnist
from randsub_experiments.datasets.openml import fetch_tabular
from randsub_experiments.datasets.openml_suites import TABULAR_BENCHMARK, BenchmarkEntry
from randsub_experiments.datasets.tabular import (
    TabularDataset,
    TabularName,
    list_tabular,
    load_tabular,
)
from randsub_experiments.datasets.tabular_sample import TabularSample, sample_tabular

__all__ = [
    "TABULAR_BENCHMARK",
    "BenchmarkEntry",
    "DigitImages",
    "Dream4Network",
    "Fold",
    "GenomicDataset",
    "SimulatedDataset",
    "TabularDataset",
    "TabularName",
    "TabularSample",
    "fetch_tabular",
    "genomic_folds",
    "list_genomic",
    "list_simulated",
    "list_tabular",
    "load_dream4",
    "load_genomic",
    "load_mnist",
    "load_simulated",
    "load_tabular",
    "sample_tabular",
]
