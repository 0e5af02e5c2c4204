"""A cell: the smallest piece of work, with everything that decides its result."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import randsub

# The i-th dataset of a problem, or resampling of a dataset, has the random state FIRST_SEED + i.
# The study of the defaults used 0 to 9, so what is measured here was not chosen on the same data.
FIRST_SEED: Final = 1000

# Raised when the same cell would give another result than before under the same version of randsub:
# cells finished before then no longer count.
RESULTS_VERSION: Final = 2

BASE_LABELS: Final = {"tree": "tree", "knn": "kNN", "svm": "SVM"}
METHOD_LABELS: Final = {
    "single": "single",
    "tuned": "tuned",
    "rs": "RS",
    "rase": "RaSE",
    "prs": "PRS",
    "auto": "PRS auto",
    "rf": "RF",
    "gbdt": "GBDT",
    "hgb": "HGB",
    "stack": "stacking",
    "l1": "L1",
    "genie3": "GENIE3",
    "random": "random",
}

# Sizes that are the same throughout an experiment.
_UNTOLD: Final = ("n_val", "n_test")

# Numbers by name. Under the names in `result_folder.VECTORS` there may be lists of numbers, and
# under PARTS several rows, where a cell measures several things at once, such as the values of a
# path: what is beside them holds for each.
Row = dict[str, Any]
PARTS: Final = "parts"


def label(method: str, base: str = "", setting: str = "") -> str:
    """A method as readers know it: "PRS kNN, defaults"."""
    words = " ".join(filter(None, [METHOD_LABELS[method], BASE_LABELS.get(base, base)]))
    return f"{words}, {setting}" if setting else words


@dataclass(frozen=True)
class Cell:
    """One fit and its test.

    Parameters
    ----------
    experiment, problem : str
        Where it belongs; a problem may be a dataset.
    replicate : int
        Number of the dataset or resampling, from 0; it seeds every random draw.
    method : str
        A name in ``METHOD_LABELS``.
    base : str, default=""
        Base model, where the method has one.
    setting : str, default=""
        Name of the setting, where the method has several.
    conditions : mapping of str to int or str
        Sizes and the like; they become columns of the results.
    params : mapping of str to Any
        All parameters of the method, as json can write them.
    """

    experiment: str
    problem: str
    replicate: int
    method: str
    base: str = ""
    setting: str = ""
    conditions: Mapping[str, Any] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def seed(self) -> int:
        """Random state of the data and of the method."""
        return FIRST_SEED + self.replicate

    @property
    def arguments(self) -> dict[str, Any]:
        """The parameters without the fingerprint of the data, which no method takes."""
        return {name: value for name, value in self.params.items() if name != "data"}

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that decides the result: the cell itself and the version of randsub."""
        versions = {"version": randsub.__version__, "results": RESULTS_VERSION}
        return {**asdict(self), "seed": self.seed, **versions}

    @property
    def fingerprint(self) -> str:
        """A hash of the parameters of the method."""
        return _hash(self.arguments)[:10]

    @property
    def key(self) -> str:
        """Name of the cell on disk: readable words and a hash of its identity."""
        words = [self.problem, self.method, self.base, self.setting, f"{self.replicate:03d}"]
        readable = "-".join(filter(None, words)).lower()
        slug = "".join(letter if letter.isalnum() else "-" for letter in readable)
        return f"{slug[:100]}-{_hash(self.identity)[:16]}"

    def __str__(self) -> str:
        words = [
            # Numbers say little without their names.
            value if isinstance(value, str) else f"{name.removeprefix('n_')} {value}"
            for name, value in self.conditions.items()
            if name not in _UNTOLD
        ]
        conditions = f" ({', '.join(words)})" if words else ""
        who = label(self.method, self.base, self.setting)
        return f"{self.problem} #{self.replicate}{conditions}, {who}"


def _hash(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
