"""Candidate links: which genes may regulate which."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from randsub._typing import BoolArray, FloatArray, IntArray
from randsub.network.links import InferredNetwork


@dataclass(frozen=True)
class CandidateLinks:
    """Candidate regulators and targets, each sorted by name.

    Parameters
    ----------
    regulator_columns : int ndarray of shape (n_regulators,)
        Columns of the expression data; ascending, hence in the order of the names.
    target_columns : int ndarray of shape (n_targets,)
    regulators, targets : tuples of str
        Their names.
    regulator_order, target_order : int ndarrays
        Their positions in the order in which the user gave them.
    """

    regulator_columns: IntArray
    target_columns: IntArray
    regulators: tuple[str, ...]
    targets: tuple[str, ...]
    regulator_order: IntArray
    target_order: IntArray

    @property
    def allowed(self) -> BoolArray:
        """(n_targets, n_regulators): False from a gene to itself."""
        return self.target_columns[:, np.newaxis] != self.regulator_columns

    @property
    def trained(self) -> IntArray:
        """Targets that are trained: not those whose only candidate is the target itself."""
        return np.flatnonzero(self.allowed.any(axis=1))

    def for_user(self, theta: FloatArray) -> FloatArray:
        """Weights (n_targets, n_regulators) as (regulators, targets) in the user's order.

        Shadows behind the regulators keep their order among themselves in the same way.
        """
        n = len(self.regulator_order)
        columns = [self.regulator_order + n * copy for copy in range(theta.shape[1] // n)]
        return np.ascontiguousarray(theta[np.ix_(self.target_order, np.concatenate(columns))].T)

    def sizes_for_user(self, theta: FloatArray) -> FloatArray:
        """Sum of the weights of each target, added up in the order of the names."""
        return theta.sum(axis=1)[self.target_order]

    def regulators_for_user(self) -> tuple[str, ...]:
        """Names of the rows of :meth:`for_user`."""
        return tuple(self.regulators[j] for j in self.regulator_order)

    def targets_for_user(self) -> tuple[str, ...]:
        """Names of the columns of :meth:`for_user`."""
        return tuple(self.targets[g] for g in self.target_order)

    def network(
        self, theta: FloatArray, n_models: int, expected_sizes: FloatArray | None = None
    ) -> InferredNetwork:
        """The network with weights theta (n_targets, n_regulators)."""
        return InferredNetwork(
            alpha=self.for_user(theta),
            regulators=self.regulators_for_user(),
            targets=self.targets_for_user(),
            expected_sizes=expected_sizes,
            n_models_trained=n_models,
        )


def candidate_links(
    names: Sequence[str], regulators: IntArray, targets: IntArray
) -> CandidateLinks:
    """Candidate links between the chosen regulators and targets, by their places among names."""
    by_name, for_user = np.unique(regulators, return_inverse=True)
    targets_by_name, targets_for_user = np.unique(targets, return_inverse=True)
    candidates = CandidateLinks(
        regulator_columns=by_name,
        target_columns=targets_by_name,
        regulators=tuple(names[j] for j in by_name),
        targets=tuple(names[j] for j in targets_by_name),
        regulator_order=for_user,
        target_order=targets_for_user,
    )
    if not candidates.allowed.any():
        raise ValueError(
            f"There is no link to infer: the only regulator is the only target, "
            f"{candidates.targets[0]!r}. Give more regulators or targets."
        )
    return candidates


def gene_generator(name: str, seed: Sequence[int]) -> np.random.Generator:
    """Random generator of a gene, which depends on the seed and its name only."""
    digest = hashlib.blake2b(name.encode(), digest_size=16).digest()
    words = np.frombuffer(digest, dtype="<u4")
    return np.random.default_rng([*map(int, seed), *map(int, words)])


def gene_seed(name: str, seed: Sequence[int]) -> int:
    """``random_state`` for the model of a target gene."""
    return int(gene_generator(name, seed).integers(2**31))
