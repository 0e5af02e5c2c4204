"""The fitted attributes of a network, and the links along its path of coefficients."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from randsub._typing import FloatArray
from randsub.exceptions import DoubtfulNetworkWarning
from randsub.network.candidate_links import CandidateLinks
from randsub.network.link_rules import mean_score
from randsub.network.links import InferredNetwork, LinkOutputs
from randsub.network.path import PathPoint, choose, path_table
from randsub.network.ranking import Ranking
from randsub.network.repeats import Repeat, path_points


class FittedNetwork(LinkOutputs):
    """Sets the fitted attributes of a network from the solutions along its path.

    Subclasses have the constructor parameters ``lam_choice`` and ``ranking``.
    """

    mean_error_: float
    lam_choice: Literal["lowest", "one_se"]
    ranking: Literal["mean", "alpha"] | Ranking

    def _ranking(self) -> Ranking:
        given = self.ranking
        return Ranking(evidence=given) if isinstance(given, str) else given

    def _record(
        self,
        candidates: CandidateLinks,
        repeats: Sequence[Repeat],
        base_names: Sequence[str],
        ask_members: Callable[[PathPoint], list[FloatArray]],
    ) -> None:
        """Set the attributes; ``ask_members`` returns the evidence of the members."""
        points = path_points(repeats)
        self.path_ = path_table(points, len(candidates.regulators))
        place = choose(self.path_, self.lam_choice)
        self._record_alphas(candidates, points, place)
        self.regulator_names_ = np.array(candidates.regulators_for_user(), dtype=object)
        self.target_names_ = np.array(candidates.targets_for_user(), dtype=object)
        self.lam_ = points[place].lam
        self._record_weights(candidates, points, place, ask_members)
        self.history_ = _history(repeats, base_names)
        self.stop_reason_ = repeats[-1].solutions[-1][-1].stop_reason
        self.n_models_trained_ = sum(point.n_models for point in points)
        self.mean_error_ = float(np.mean([repeat.mean_error for repeat in repeats]))
        if base_names:
            self._record_bases(candidates, points[place], base_names)

    def _record_alphas(
        self, candidates: CandidateLinks, points: Sequence[PathPoint], place: int
    ) -> None:
        n = len(candidates.regulators)
        alphas = [_of_all(candidates, point.alpha)[:, :n] for point in points]
        self.alpha_ = candidates.for_user(alphas[place])
        chosen = points[place].repeats
        self.n_repeats_ = len(chosen)
        of_repeats = [_of_all(candidates, mean_score([s.alpha for s in r])) for r in chosen]
        self.repeat_alphas_ = self.alpha_[np.newaxis]
        if self.n_repeats_ > 1:
            self.repeat_alphas_ = np.stack([candidates.for_user(one[:, :n]) for one in of_repeats])
        self.alpha_std_ = self.repeat_alphas_.std(axis=0)
        self.path_expected_sizes_ = np.stack([candidates.sizes_for_user(alpha) for alpha in alphas])
        self.expected_sizes_ = self.path_expected_sizes_[place]

    def _record_weights(
        self,
        candidates: CandidateLinks,
        points: Sequence[PathPoint],
        place: int,
        ask_members: Callable[[PathPoint], list[FloatArray]],
    ) -> None:
        """What the fit says of the links, and what they are ranked by."""
        ranking = self._ranking()
        of_solution = {"mean": lambda s: s.mean_alpha, "alpha": lambda s: s.alpha}
        self.evidence_ = {}
        for kind in ranking.kinds:
            if kind == "members":
                found = [ask_members(points[place])]
            else:
                found = [[of_solution[kind](s) for s in point.solutions] for point in points]
            self.evidence_[kind] = np.stack(
                [
                    [candidates.for_user(_of_all(candidates, one)) for one in of_point]
                    for of_point in found
                ]
            )
        genes = self.regulator_names_.tolist(), self.target_names_.tolist()
        alone = clone(ranking).set_params(path="chosen")
        every = [alone.weights(self.evidence_, number, *genes) for number in range(len(points))]
        # Where nothing was to be done, without a copy.
        source = self.evidence_[ranking.kinds[0]]
        is_same = all(np.shares_memory(one, source) for one in every)
        self.path_link_weights_ = source[:, 0] if is_same else np.stack(every)
        self.link_weights_ = self.path_link_weights_[place]
        if ranking.path == "mean":
            self.link_weights_ = ranking.weights(self.evidence_, place, *genes)
        n = len(candidates.regulators)
        if len(self.link_weights_) > n:
            self.shadow_weights_ = self.link_weights_[n:]
            self.path_shadow_weights_ = self.path_link_weights_[:, n:]
            self.link_weights_ = self.link_weights_[:n]
            self.path_link_weights_ = self.path_link_weights_[:, :n]

    def _record_bases(
        self, candidates: CandidateLinks, chosen: PathPoint, names: Sequence[str]
    ) -> None:
        """Shares and alphas of several base models, for the chosen coefficient alone."""
        # Base models that are trained apart have a solution each.
        n_mixed = len(names) // len(chosen.repeats[0])
        of_repeats = [
            np.concatenate([s.shares for s in repeat], axis=1) / len(repeat)
            for repeat in chosen.repeats
        ]
        self.shares_ = pd.DataFrame(
            _of_all(candidates, mean_score(of_repeats), np.nan)[candidates.target_order],
            index=pd.Index(candidates.targets_for_user(), name="target"),
            columns=list(names),
        )
        self.alphas_ = {}
        for number, name in enumerate(names):
            group, base = divmod(number, n_mixed)
            thetas = [repeat[group].theta[base::n_mixed] for repeat in chosen.repeats]
            of_all = _of_all(candidates, mean_score(thetas))[:, : len(candidates.regulators)]
            self.alphas_[name] = candidates.for_user(of_all)

    def _warn_of_doubts(self, lams: Sequence[float]) -> None:
        """Warn if the links mean little, or if lam is at an end of what was tried, ascending."""
        chosen = self.path_["lam"].to_numpy() == self.lam_
        error = float(self.path_["validation_error"].to_numpy()[chosen][0])
        if error >= self.mean_error_:
            warnings.warn(
                f"The validation error of the network, {error:.4g}, is not below that of "
                f"predicting the mean of each target, {self.mean_error_:.4g}: on samples that it "
                "was not trained on it predicts nothing, and its links mean little. Use more "
                "samples, fewer candidate regulators or another base model.",
                DoubtfulNetworkWarning,
                stacklevel=5,
            )
        if len(lams) == 1:
            return
        for end, comparative in ((lams[-1], "larger"), (lams[0], "smaller")):
            # 0 is no end: there is no smaller penalty.
            if self.lam_ == end > 0.0:
                warnings.warn(
                    f"The chosen coefficient, lam={end:g}, is at an end of those that were tried, "
                    f"{lams[0]:g} to {lams[-1]:g}: a {comparative} one may be better. Extend lams.",
                    DoubtfulNetworkWarning,
                    stacklevel=5,
                )

    def ranked(self, ranking: Ranking) -> InferredNetwork:
        """The links ranked by other rules, without a new fit.

        Parameters
        ----------
        ranking : Ranking
            Its kinds of evidence must be among those of the fit.

        Returns
        -------
        network : InferredNetwork
            Its ``alpha`` holds the link weights.
        """
        fitted = self._network()
        if not isinstance(ranking, Ranking):
            raise TypeError(f"ranking must be a Ranking, got {ranking!r}.")
        ranking.check()
        for kind in ranking.kinds:
            if kind not in self.evidence_:
                raise ValueError(
                    f"The fit has the evidence {', '.join(self.evidence_)}, not {kind!r}: fit with "
                    f"ranking=Ranking(evidence=..., combine='rank') that names it, too."
                )
        place = int(np.flatnonzero(self.path_["lam"].to_numpy() == self.lam_)[0])
        genes = self.regulator_names_.tolist(), self.target_names_.tolist()
        weights, n = ranking.weights(self.evidence_, place, *genes), len(genes[0])
        return replace(fitted, alpha=weights[:n], shadows=weights[n:] if len(weights) > n else None)

    def network_at(self, lam: float) -> InferredNetwork:
        """The links for another coefficient of the path, without a new fit.

        Parameters
        ----------
        lam : float
            One of ``path_["lam"]``.

        Returns
        -------
        network : InferredNetwork
            Its ``alpha`` holds the link weights.
        """
        fitted = self._network()
        tried = self.path_["lam"].to_numpy()
        value = lam if np.asarray(lam).dtype.kind in "biuf" else np.nan
        found = np.flatnonzero(np.isclose(tried, value, rtol=1e-9, atol=0.0))
        if not len(found):
            raise ValueError(
                f"lam={lam!r} was not tried; the path has {', '.join(f'{one:g}' for one in tried)}."
            )
        place = int(found[0])
        return replace(
            fitted,
            alpha=self.path_link_weights_[place],
            shadows=self.path_shadow_weights_[place] if fitted.shadows is not None else None,
            expected_sizes=self.path_expected_sizes_[place],
            n_models_trained=int(self.path_["n_models"].iloc[place]),
        )

    def _network(self) -> InferredNetwork:
        check_is_fitted(self, "link_weights_")
        return InferredNetwork(
            alpha=self.link_weights_,
            regulators=tuple(self.regulator_names_),
            targets=tuple(self.target_names_),
            expected_sizes=self.expected_sizes_,
            n_models_trained=self.n_models_trained_,
            shadows=getattr(self, "shadow_weights_", None),
        )


def _of_all(candidates: CandidateLinks, values: FloatArray, others: float = 0.0) -> FloatArray:
    """Rows of the trained targets among those of all, and a constant for the others."""
    full = np.full((len(candidates.targets), values.shape[1]), others)
    full[candidates.trained] = values
    return full


def _history(repeats: Sequence[Repeat], base_names: Sequence[str]) -> pd.DataFrame:
    """Epochs of all trainings; one level of the index says which, if there are several."""
    histories = {}
    for number, repeat in enumerate(repeats):
        for place, path in enumerate(repeat.solutions):
            histories[number, (*base_names, "")[place]] = pd.concat(
                [solution.history for solution in path],
                keys=[solution.lam for solution in path],
                names=["lam"],
            )
    if len(histories) == 1:
        return next(iter(histories.values()))
    if len(repeats[0].solutions) == 1:
        return pd.concat({number: h for (number, _), h in histories.items()}, names=["repeat"])
    return pd.concat(histories, names=["repeat", "base"])
