"""Problems to try things on, and large tables.

Generators, whose relevant features or links are known: `make_checkerboard`, `make_friedman`,
`make_hypercube`, `make_linear`, `make_network` and `make_kinetic_network`. `open_parquet` opens
tables that may be larger than memory. The loaders of the paper's data are in the package of the
experiments.
"""

from randsub.datasets.kinetic_network import make_kinetic_network
from randsub.datasets.parquet import MappedTable, open_parquet
from randsub.datasets.simulated import (
    make_checkerboard,
    make_friedman,
    make_hypercube,
    make_linear,
)
from randsub.datasets.simulated_network import RegulatoryNetwork, make_network

__all__ = [
    "MappedTable",
    "RegulatoryNetwork",
    "make_checkerboard",
    "make_friedman",
    "make_hypercube",
    "make_kinetic_network",
    "make_linear",
    "make_network",
    "open_parquet",
]
