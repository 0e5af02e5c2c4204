"""Tabular data sets: from a folder or from OpenML, and samples of them as the paper draws them.

Whatever a data set comes from, it becomes a `TabularDataset` (dataset.py): numbers, and codes of
the levels of categorical columns. files.py reads a folder, openml.py downloads the data sets that
suites.py lists, and sample.py turns a data set into training, validation and test samples in which
each level is a column.
"""

from randsub.datasets.tabular.dataset import TabularDataset
from randsub.datasets.tabular.files import TabularName, list_tabular, load_tabular
from randsub.datasets.tabular.openml import fetch_tabular
from randsub.datasets.tabular.sample import TabularSample, sample_tabular
from randsub.datasets.tabular.suites import TABULAR_BENCHMARK, BenchmarkEntry

__all__ = [
    "TABULAR_BENCHMARK",
    "BenchmarkEntry",
    "TabularDataset",
    "TabularName",
    "TabularSample",
    "fetch_tabular",
    "list_tabular",
    "load_tabular",
    "sample_tabular",
]
