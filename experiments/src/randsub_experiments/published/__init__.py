"""The numbers that the paper reports, as small csv files beside this one.

Each file of numbers is one table of the paper, with its label in the column ``table``; ``mean`` and
``sd`` are as printed there. An empty ``setting`` holds for PRS in general, whatever our setting.
``remarks.csv`` has statements of the text that no table has, and ``missing.csv`` the tables that
our copy of the paper lacks: there are no numbers for them here, and their columns stay empty.

The paper's deviations are those of the ten values themselves (divided by ten, not by nine): a
tree's 132.00 +- 24.49 features under random subspace can only be four times 102 and six times 152.
"""

from functools import cache
from importlib.resources import files
from typing import Final

import pandas as pd

TABLES: Final = (
    "sim_comp",
    "sim_alphas_sum",
    "sim_prs_vs_prs_novr",
    "real_perf_overall",
    "mnist",
    "dream4_aupr",
)
KEYS: Final = ("experiment", "problem", "method", "base", "setting", "measure")


def _read(name: str) -> pd.DataFrame:
    text = dict.fromkeys(("table", *KEYS, "source", "remark", "content"), str)
    with files(__name__).joinpath(f"{name}.csv").open(encoding="utf-8") as file:
        frame = pd.read_csv(file, dtype=text)
    named = [column for column in frame if column in text]
    return frame.fillna(dict.fromkeys(named, ""))


@cache
def _numbers() -> pd.DataFrame:
    return pd.concat([_read(name) for name in TABLES], ignore_index=True)


def numbers(experiment: str | None = None) -> pd.DataFrame:
    """The published means and deviations.

    Parameters
    ----------
    experiment : str, default=None
        Only those of this experiment.

    Returns
    -------
    numbers : DataFrame
        One row per number: ``table``, what it is about (``experiment``, ``problem``, ``method``,
        ``base``, ``setting``, ``measure``), ``mean``, ``sd`` and ``n``, the number of datasets.
    """
    every = _numbers()
    return every.copy() if experiment is None else every[every["experiment"] == experiment].copy()


def remarks(experiment: str) -> dict[str, str]:
    """Statements of the text about settings of an experiment, in a few words each."""
    frame = _read("remarks")
    chosen = frame[frame["experiment"] == experiment]
    return dict(zip(chosen["setting"], chosen["remark"], strict=True))


def missing() -> pd.DataFrame:
    """Tables of the paper that our copy lacks: ``table`` and ``content``."""
    return _read("missing")
