"""Problems to try things on: simulated ones, and loaders for the real ones.

Generators, whose relevant features or links are known: `make_checkerboard`, `make_friedman`,
`make_hypercube`, `make_linear` and `make_network`. Loaders read files in a folder that you name,
since the data are not ours to ship; where something is missing, the error says where it can be had.
`open_parquet` opens tables of your own that may be larger than memory.
"""

from randsub.datasets.authors import SimulatedDataset, list_simulated, load_simulated
from randsub.datasets.dream4 import Dream4Network, load_dream4
from randsub.datasets.genomic import (
    Fold,
    GenomicDataset,
    genomic_folds,
    list_genomic,
    load_genomic,
)
from randsub.datasets.mnist import DigitImages, load_mnist
from randsub.datasets.network import RegulatoryNetwork, make_network
from randsub.datasets.parquet import MappedTable, open_parquet
from randsub.datasets.simulated import (
    make_checkerboard,
    make_friedman,
    make_hypercube,
    make_linear,
)
from randsub.datasets.tabular import (
    TABULAR_BENCHMARK,
    BenchmarkEntry,
    TabularDataset,
    TabularName,
    TabularSample,
    fetch_tabular,
    list_tabular,
    load_tabular,
    sample_tabular,
)

__all__ = [
    "TABULAR_BENCHMARK",
    "BenchmarkEntry",
    "DigitImages",
    "Dream4Network",
    "Fold",
    "GenomicDataset",
    "MappedTable",
    "RegulatoryNetwork",
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
    "make_checkerboard",
    "make_friedman",
    "make_hypercube",
    "make_linear",
    "make_network",
    "open_parquet",
    "sample_tabular",
]
