"""Who may regulate whom: regulators, targets, and the samples of both."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from randsub._typing import BoolArray, FloatArray, IntArray
from randsub.network.expression import Expression


@dataclass(frozen=True)
class Panel:
    """Columns of a table of genes that regulate and that are targets, each in order of name.

    Parameters
    ----------
    regulator_columns : int ndarray of shape (n_regulators,)
        Ascending, hence in the order of the names.
    target_columns : int ndarray of shape (n_targets,)
    regulators, targets : tuples of str
        Their names.
    regulator_order, target_order : int ndarrays
        Places among them in the order in which the user knows them.
    """

    regulator_columns: IntArray
    target_columns: IntArray
    regulators: tuple[str, ...]
    targets: tuple[str, ...]
    regulator_order: IntArray
    target_order: IntArray

    @property
    def allowed(self) -> BoolArray:
        """(n_targets, n_regulators): all links but those of a gene to itself."""
        return self.target_columns[:, np.newaxis] != self.regulator_columns

    def for_user(self, theta: FloatArray) -> FloatArray:
        """Weights (n_targets, n_regulators) as the user sees them: (regulators, targets)."""
        return np.ascontiguousarray(theta[np.ix_(self.target_order, self.regulator_order)].T)

    def sizes_for_user(self, theta: FloatArray) -> FloatArray:
        """Sum of the weights of each target; added up in order of name, whatever the user's."""
        return theta.sum(axis=1)[self.target_order]

    def regulators_for_user(self) -> tuple[str, ...]:
        """Names of the rows of what :meth:`for_user` gives."""
        return tuple(self.regulators[j] for j in self.regulator_order)

    def targets_for_user(self) -> tuple[str, ...]:
        """Names of its columns."""
        return tuple(self.targets[g] for g in self.target_order)


def make_panel(expression: Expression, regulators: IntArray, targets: IntArray) -> Panel:
    """Put the regulators and targets that a user named, as columns, in order."""
    by_name, for_user = np.unique(regulators, return_inverse=True)
    targets_by_name, targets_for_user = np.unique(targets, return_inverse=True)
    panel = Panel(
        regulator_columns=by_name,
        target_columns=targets_by_name,
        regulators=tuple(expression.names[j] for j in by_name),
        targets=tuple(expression.names[j] for j in targets_by_name),
        regulator_order=for_user,
        target_order=targets_for_user,
    )
    if not panel.allowed.any():
        raise ValueError(
            f"There is no link to infer: the only regulator is the only target, "
            f"{panel.targets[0]!r}. Name more regulators or targets."
        )
    return panel


def draws_of(name: str, seed: Sequence[int]) -> np.random.Generator:
    """A gene's own generator: it depends on the seed and the name, and on no other gene."""
    digest = hashlib.blake2b(name.encode(), digest_size=16).digest()
    words = np.frombuffer(digest, dtype="<u4")
    return np.random.default_rng([*map(int, seed), *map(int, words)])
