"""The tabular benchmark of Grinsztajn et al. (2022): names, tasks and OpenML's numbers.

Four suites of OpenML, 55 data sets in all, as the paper used them (the benchmark has been revised
since):

===== ============== ===========
suite task           categorical
===== ============== ===========
297   regression     no
298   classification no
299   regression     yes
304   classification yes
===== ============== ===========

Some data sets are in two suites, with and without their categorical columns; the name of the
version with them ends in ``__cat``, as in the files that `load_tabular` reads.
"""

from typing import NamedTuple


class BenchmarkEntry(NamedTuple):
    """A data set of the tabular benchmark.

    Attributes
    ----------
    name : str
        With ``__cat`` at its end where the data set has categorical columns.
    task : {"regression", "classification"}
    suite : int
        Number of the OpenML suite.
    data_id : int
        Number of the OpenML data set.
    openml_name : str
        Name of the data set on OpenML.
    """

    name: str
    task: str
    suite: int
    data_id: int
    openml_name: str


_REGRESSION = {
    "cpu_act": 44132,
    "pol": 44133,
    "elevators": 44134,
    "isolet": 44135,
    "wine_quality": 44136,
    "Ailerons": 44137,
    "houses": 44138,
    "house_16H": 44139,
    "diamonds": 44140,
    "Brazilian_houses": 44141,
    "Bike_Sharing_Demand": 44142,
    "nyc-taxi-green-dec-2016": 44143,
    "house_sales": 44144,
    "sulfur": 44145,
    "medical_charges": 44146,
    "MiamiHousing2016": 44147,
    "superconduct": 44148,
    "california": 44025,
    "fifa": 44026,
    "year": 44027,
}
_CLASSIFICATION = {
    "credit": 44089,
    "california": 44090,
    "wine": 44091,
    "electricity": 44120,
    "covertype": 44121,
    "pol": 44122,
    "house_16H": 44123,
    "kdd_ipums_la_97-small": 44124,
    "MagicTelescope": 44125,
    "bank-marketing": 44126,
    "phoneme": 44127,
    "MiniBooNE": 44128,
    "Higgs": 44129,
    "eye_movements": 44130,
    "jannis": 44131,
}
_REGRESSION_CATEGORICAL = {
    "yprop_4_1": 44054,
    "analcatdata_supreme": 44055,
    "visualizing_soil": 44056,
    "black_friday": 44057,
    "diamonds": 44059,
    "Mercedes_Benz_Greener_Manufacturing": 44061,
    "Brazilian_houses": 44062,
    "Bike_Sharing_Demand": 44063,
    "OnlineNewsPopularity": 44064,
    "nyc-taxi-green-dec-2016": 44065,
    "house_sales": 44066,
    "particulate-matter-ukair-2017": 44068,
    "SGEMM_GPU_kernel_performance": 44069,
}
_CLASSIFICATION_CATEGORICAL = {
    "electricity": 44156,
    "eye_movements": 44157,
    "covertype": 44159,
    "rl": 44160,
    "road-safety": 44161,
    "compass": 44162,
    "KDDCup09_upselling": 44186,
}

TABULAR_BENCHMARK: tuple[BenchmarkEntry, ...] = tuple(
    BenchmarkEntry(name + ending, task, suite, data_id, name)
    for suite, task, ending, ids in (
        (297, "regression", "", _REGRESSION),
        (298, "classification", "", _CLASSIFICATION),
        (299, "regression", "__cat", _REGRESSION_CATEGORICAL),
        (304, "classification", "__cat", _CLASSIFICATION_CATEGORICAL),
    )
    for name, data_id in ids.items()
)
