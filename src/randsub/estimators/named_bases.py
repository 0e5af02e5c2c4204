"""Several base models under names, as in scikit-learn's ``VotingClassifier``."""

from typing import Any, Self

from randsub._sklearn import BaseComposition

# What stands in the list for a base model that is left out.
DROP = "drop"
# What stands for a list that is chosen by the data; see :mod:`randsub.estimators.portfolio`.
AUTO = "auto"


class NamedBases(BaseComposition):
    """Parameters of an estimator whose ``estimator`` may be a list of (name, base model).

    Each base model is a parameter by its name, which replaces it or, set to "drop", leaves it out;
    its own parameters follow after two underscores: ``set_params(knn__n_neighbors=7)``.
    """

    estimator: Any

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of this estimator.

        Parameters
        ----------
        deep : bool, default=True
            Whether those of nested objects, and base models by their names, are included.

        Returns
        -------
        params : dict
        """
        if is_mix(self.estimator):
            return self._get_params("estimator", deep=deep)
        return super().get_params(deep=deep)

    def set_params(self, **params: Any) -> Self:
        """Set the parameters of this estimator, of nested objects, and base models by name.

        Parameters
        ----------
        **params : dict
            As in scikit-learn's ``VotingClassifier``. ``solver__learning_rate`` and other
            parameters of the solver can also be set if ``solver`` is None; they then change the
            default solver.

        Returns
        -------
        self : object
        """
        nested = any(name.startswith("solver__") for name in params)
        if nested and params.get("solver", self.solver) is None:
            params["solver"] = self._default_solver()
        if is_mix(params.get("estimator", self.estimator)):
            return self._set_params("estimator", **params)
        return super().set_params(**params)

    def named_bases(self) -> dict[str, Any]:
        """The base models of a list by name, without those that are dropped, checked."""
        bases: Any = self.estimator
        are_pairs = all(isinstance(entry, tuple | list) and len(entry) == 2 for entry in bases)
        if (
            not bases
            or not are_pairs
            or not all(isinstance(name, str) and name for name, _ in bases)
        ):
            raise ValueError(
                "A list of base models needs pairs of a name and an estimator, such as "
                f"[('first', one_model), ('second', another)]; got {bases!r}."
            )
        self._validate_names([name for name, _ in bases])
        kept = {name: base for name, base in bases if not _is_dropped(base)}
        if not kept:
            raise ValueError(f"All base models are dropped: {[name for name, _ in bases]}.")
        for name, base in kept.items():
            if isinstance(base, type) or not (hasattr(base, "fit") and hasattr(base, "predict")):
                raise ValueError(
                    f"The base model {name!r} must be an estimator, an object with the methods fit "
                    f"and predict, or 'drop'; got {base!r}."
                )
        return kept


def _is_dropped(base: Any) -> bool:
    return isinstance(base, str) and base == DROP


def is_mix(estimator: Any) -> bool:
    """Whether an ``estimator`` is a list of base models."""
    return isinstance(estimator, list)


def bases_of(estimator: Any) -> dict[str, Any]:
    """The base models in ``estimator_`` of a fitted ensemble by name; of a single one it is ''."""
    return dict(estimator) if is_mix(estimator) else {"": estimator}
