"""The fitted attributes of a network, and the links along its path of coefficients."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from randsub._typing import FloatArray, IntArray
from randsub.exceptions import DoubtfulNetworkWarning
from randsub.network.fit_data import NetworkFitData
from randsub.network.links import InferredNetwork, LinkOutputs
from randsub.network.solving import Solution, choose, path_table


class FittedNetwork(LinkOutputs):
    """Sets the fitted attributes of a network from the solutions along its path.

    Subclasses have the constructor parameters ``lam_choice`` and ``link_weight``.
    """

    mean_error_: float
    lam_choice: Literal["lowest", "one_se"]
    link_weight: Literal["mean", "alpha"]

    def _record(
        self,
        prepared: NetworkFitData,
        trained: IntArray,
        solutions: Sequence[Solution],
        base_names: Sequence[str],
    ) -> None:
        candidates = prepared.candidates
        self.path_ = path_table(solutions)
        place = choose(self.path_, self.lam_choice)
        alphas = [_of_all(prepared, trained, s.alpha) for s in solutions]
        ranked = alphas
        if self.link_weight == "mean":
            ranked = [_of_all(prepared, trained, s.mean_alpha) for s in solutions]
        self.alpha_ = candidates.for_user(alphas[place])
        self.path_link_weights_ = np.stack([candidates.for_user(alpha) for alpha in ranked])
        self.link_weights_ = self.path_link_weights_[place]
        self.path_expected_sizes_ = np.stack([candidates.sizes_for_user(alpha) for alpha in alphas])
        self.regulator_names_ = np.array(candidates.regulators_for_user(), dtype=object)
        self.target_names_ = np.array(candidates.targets_for_user(), dtype=object)
        self.expected_sizes_ = self.path_expected_sizes_[place]
        self.lam_ = solutions[place].lam
        self.history_ = pd.concat(
            [s.history for s in solutions], keys=[s.lam for s in solutions], names=["lam"]
        )
        self.stop_reason_ = solutions[-1].stop_reason
        self.n_models_trained_ = sum(s.n_models for s in solutions)
        if base_names:
            self._record_bases(prepared, trained, solutions[place], base_names)

    def _record_bases(
        self,
        prepared: NetworkFitData,
        trained: IntArray,
        chosen: Solution,
        names: Sequence[str],
    ) -> None:
        """Shares and alphas of several base models, for the chosen coefficient alone."""
        candidates, theta = prepared.candidates, chosen.theta
        self.shares_ = pd.DataFrame(
            _of_all(prepared, trained, chosen.shares, np.nan)[candidates.target_order],
            index=pd.Index(candidates.targets_for_user(), name="target"),
            columns=list(names),
        )
        self.alphas_ = {
            name: candidates.for_user(_of_all(prepared, trained, theta[base :: len(names)]))
            for base, name in enumerate(names)
        }

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
        )


def _of_all(
    prepared: NetworkFitData, trained: IntArray, values: FloatArray, others: float = 0.0
) -> FloatArray:
    """Rows of the trained targets among those of all, and a constant for the others."""
    full = np.full((len(prepared.candidates.targets), values.shape[1]), others)
    full[trained] = values
    return full
