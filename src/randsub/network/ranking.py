"""What the links of a network are ranked by."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from randsub._sklearn import DocumentedEstimator, StrOptions
from randsub._typing import FloatArray
from randsub.network.link_rules import (
    by_regulator,
    mean_rank,
    mean_score,
    per_target,
    weaker_direction,
)
from randsub.network.links import allowed_pairs

# Of what a fit says of a link.
KINDS = ("mean", "alpha", "members")


class Ranking(DocumentedEstimator):
    """Rules by which a network ranks its links.

    A fit says something of every link several times: for each repeat, for each base model that is
    trained apart, for each coefficient of the path, and by several kinds of evidence. The rules
    make one weight of all that, in the order of the parameters below.

    Parameters
    ----------
    evidence : {"mean", "alpha", "members"} or sequence of these, default="mean"
        "mean": alpha averaged over the epochs, which also ranks links with an alpha of 0, by the
        time at which they were dropped. "alpha": alpha of the best epoch, which is 0 for most
        links. "members": what models of the best coefficient, trained on subsets drawn from the
        mean alpha, say themselves: the reduction of the variance by splits of trees, or absolute
        coefficients of linear models, averaged over the models. Base models of other kinds have no
        such evidence.
    combine : {"mean", "rank"}, default="mean"
        What is averaged: the scores, or the rank of each link among all. Several kinds of evidence
        need "rank".
    path : {"chosen", "mean"}, default="chosen"
        Whether the links are those of the chosen coefficient, or of all coefficients of the path,
        which are then averaged, too.
    targets : {"max", "sum", "rank"} or None, default=None
        Normalisation per target: by the largest score, by the sum, or the ranks of its links.
    direction : {"weaker"} or None, default=None
        "weaker" reduces the weaker of two opposite links, s, to s * s / r, where r is the other.
    regulators : {"sum", "variance", "both"} or None, default=None
        Links are multiplied by the sum, or the variance, of the scores of their regulator over
        its targets: a regulator of many is more likely to be one of the next. "both" multiplies
        them by the sum and by the standard deviation. The more targets there are, the better it is
        known which regulators stand out, and the more such a factor is worth.

    See Also
    --------
    PRSNetwork : Has the parameter ``ranking``, and the method ``ranked``.

    Examples
    --------
    >>> from randsub.network import PRSNetwork, Ranking
    >>> model = PRSNetwork(n_repeats=3, ranking=Ranking(combine="rank", regulators="sum"))
    >>> model.set_params(ranking__path="mean").ranking
    Ranking(combine='rank', path='mean', regulators='sum')
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "evidence": [StrOptions({*KINDS}), "array-like"],
        "combine": [StrOptions({"mean", "rank"})],
        "path": [StrOptions({"chosen", "mean"})],
        "targets": [StrOptions({"max", "sum", "rank"}), None],
        "direction": [StrOptions({"weaker"}), None],
        "regulators": [StrOptions({"sum", "variance", "both"}), None],
    }

    def __init__(
        self,
        *,
        evidence: str | Sequence[str] = "mean",
        combine: Literal["mean", "rank"] = "mean",
        path: Literal["chosen", "mean"] = "chosen",
        targets: Literal["max", "sum", "rank"] | None = None,
        direction: Literal["weaker"] | None = None,
        regulators: Literal["sum", "variance", "both"] | None = None,
    ) -> None:
        self.evidence = evidence
        self.combine = combine
        self.path = path
        self.targets = targets
        self.direction = direction
        self.regulators = regulators

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of evidence."""
        return (self.evidence,) if isinstance(self.evidence, str) else tuple(self.evidence)

    def check(self) -> None:
        """Raise an error if a parameter is invalid."""
        self._validate_params()
        kinds = self.kinds
        if not kinds or len({*kinds}) < len(kinds) or not {*kinds} <= {*KINDS}:
            raise ValueError(
                f"evidence of Ranking must be one of {KINDS}, or several different ones, got "
                f"{self.evidence!r}."
            )
        if len(kinds) > 1 and self.combine == "mean":
            raise ValueError(
                f"evidence of Ranking has the kinds {kinds}, whose scores have different units: "
                "use combine='rank'."
            )

    def weights(
        self,
        evidence: Mapping[str, FloatArray],
        place: int,
        regulators: Sequence[str],
        targets: Sequence[str],
    ) -> FloatArray:
        """Weights of all links, (n_regulators, n_targets), and of those of shadows behind them.

        Parameters
        ----------
        evidence : mapping of str to ndarray of shape (n_lams or 1, n_parts, n_regulators, \
                n_targets)
            By its kind. There may be shadows behind the regulators, as many as these.
        place : int
            Which coefficient of the path is the chosen one.
        regulators, targets : sequences of str
        """
        parts = [part for kind in self.kinds for part in self._parts(evidence[kind], place)]
        if len(parts) == 1 and self._is_plain():
            return parts[0]
        # Sums in the order of the names, so that the order of the genes cannot change a bit.
        rows, columns = np.argsort(regulators), np.argsort(targets)
        allowed = allowed_pairs(regulators, targets)[np.ix_(rows, columns)].T
        n_shadows = parts[0].shape[0] - len(regulators)
        if n_shadows:
            rows, allowed = np.append(rows, rows + n_shadows), np.tile(allowed, (1, 2))
        sorted_parts = [part[np.ix_(rows, columns)].T for part in parts]
        if self.combine == "rank":
            scores = mean_rank(sorted_parts, allowed)
        else:
            scores = mean_score(sorted_parts)
        if self.targets is not None:
            scores = per_target(scores, allowed, self.targets)
        if self.direction is not None:
            names = sorted(regulators), sorted(targets)
            # Shadows are no targets.
            places = np.append(_places(*names), np.full(n_shadows, -1))
            scores = weaker_direction(scores, _places(names[1], names[0]), places)
        if self.regulators is not None:
            scores = by_regulator(scores, allowed, self.regulators)
        weights = np.empty_like(parts[0])
        weights[np.ix_(rows, columns)] = scores.T
        return weights

    def _is_plain(self) -> bool:
        rules = (self.targets, self.direction, self.regulators)
        return self.combine == "mean" and rules == (None, None, None)

    def _parts(self, scores: FloatArray, place: int) -> list[FloatArray]:
        if self.path == "mean":
            return [part for of_lam in scores for part in of_lam]
        return [*scores[place if len(scores) > 1 else 0]]


def _places(names: Sequence[str], others: Sequence[str]) -> Any:
    """Place of each name among the others; -1 if it is none of them."""
    found = {name: place for place, name in enumerate(others)}
    return np.array([found.get(name, -1) for name in names], dtype=np.intp)
