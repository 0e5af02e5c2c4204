"""The tabular benchmark, from OpenML."""

import re
from numbers import Integral

from sklearn.datasets import fetch_openml

from randsub._sklearn import Interval
from randsub.datasets.parameters import FOLDER, Folder, validated
from randsub.exceptions import DatasetFormatError, DatasetNotFoundError
from randsub_experiments.datasets.openml_suites import TABULAR_BENCHMARK, BenchmarkEntry
from randsub_experiments.datasets.tabular import TASK, TabularDataset, from_frame


def _benchmark_entry(name: str, task: str | None) -> BenchmarkEntry:
    entries = [entry for entry in TABULAR_BENCHMARK if entry.name == name]
    fitting = [entry for entry in entries if task in (entry.task, None)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise ValueError(
            f'{name!r} is a regression and a classification of the benchmark: say which with task="'
            'regression" or task="classification".'
        )
    known = ", ".join(sorted({entry.name for entry in TABULAR_BENCHMARK}))
    kind = f"a {task}" if entries else "a data set"
    raise ValueError(
        f"{name!r} is not {kind} of the benchmark. Give the number of an OpenML data set, or one "
        f"of the names: {known}."
    )


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


@validated(
    {
        "name": [str, Interval(Integral, 1, None, closed="left")],
        "task": TASK,
        "data_home": [*FOLDER, None],
        "cache": ["boolean"],
    }
)
def fetch_tabular(
    name: str | int,
    *,
    task: str | None = None,
    data_home: Folder | None = None,
    cache: bool = True,
) -> TabularDataset:
    """A data set of the tabular benchmark of Grinsztajn et al. (2022), from OpenML.

    Parameters
    ----------
    name : str or int
        A name of `TABULAR_BENCHMARK`, or the number of any OpenML data set.
    task : {"regression", "classification"} or None, default=None
        Which one, where the benchmark has both; for a number, None goes by the type of the output.
    data_home : path-like or None, default=None
        Folder in which scikit-learn keeps what it downloads; None is scikit-learn's own.
    cache : bool, default=True
        Whether to keep what is downloaded, and to use what was kept.

    Returns
    -------
    dataset : TabularDataset

    See Also
    --------
    load_tabular : Reads a folder of files.
    sklearn.datasets.fetch_openml : Does the download.

    References
    ----------
    L. Grinsztajn, E. Oyallon and G. Varoquaux, "Why do tree-based models still outperform deep
    learning on typical tabular data?", NeurIPS Datasets and Benchmarks, 2022.
    """
    entry = _benchmark_entry(name, task) if isinstance(name, str) else None
    data_id = entry.data_id if entry else int(name)
    source = f"The OpenML data set {data_id}"
    try:
        bunch = fetch_openml(
            data_id=data_id,
            data_home=None if data_home is None else str(data_home),
            cache=cache,
            as_frame=True,
            parser="auto",
        )
    except OSError as error:  # of which urllib's are a kind
        raise DatasetNotFoundError(
            f"{source} could not be fetched ({error}). Check the network, or download the files "
            "elsewhere and read them with load_tabular."
        ) from error
    if bunch.target is None:
        raise DatasetFormatError(source, "it names no output")
    # A number that led to other data would spoil a comparison unseen.
    if entry and _plain(bunch.details["name"]) != _plain(entry.openml_name):
        raise DatasetFormatError(
            source, f"OpenML calls it {bunch.details['name']!r}, not {entry.openml_name!r}"
        )
    name = entry.name if entry else str(bunch.details["name"])
    return from_frame(source, bunch.data, bunch.target, name, entry.task if entry else task)
