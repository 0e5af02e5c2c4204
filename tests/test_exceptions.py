"""An error of a base model tells where, on what, and what to do."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.utils import check_array

from randsub import PRSRegressor
from randsub.exceptions import (
    BaseModelError,
    DatasetFormatError,
    DatasetNotFoundError,
    InterruptedFitWarning,
    ModelFormatError,
    NoFeatureLeftWarning,
    RandsubWarning,
    UnsavableModelError,
    UntrustedTypesError,
    as_sentence,
)


class Wants(DummyRegressor):
    """A model that needs nine samples."""

    def fit(self, X, y, sample_weight=None):
        check_array(X, ensure_min_samples=9)
        return super().fit(X, y, sample_weight)


def test_the_message_tells_the_model_the_subset_and_the_reason() -> None:
    error = BaseModelError("Ridge()", "ValueError: too few rows", [3, 7], epoch=12)
    assert str(error) == (
        "The base model Ridge() failed at epoch 12 on the subset of 2 feature(s) [3, 7]: "
        "ValueError: too few rows. If it can learn from other subsets but not from this one, wrap "
        "it in a pipeline that copes with it or, in PRS, keep columns that need each other "
        "together with feature_groups."
    )


@pytest.mark.parametrize(
    ("base", "words"),
    [
        (KNeighborsRegressor(), "Expected n_neighbors <= n_samples_fit"),
        (Wants(), "minimum of 9 is required"),
    ],
)
def test_too_few_samples_for_a_base_model(base, words) -> None:
    X = np.random.default_rng(0).normal(size=(6, 4))
    with pytest.raises(BaseModelError, match=words) as failure:
        PRSRegressor(base, n_repeats=1, random_state=0).fit(X, X[:, 0])
    advice = "If it needs more samples: base models are trained on a part"
    assert advice in str(failure.value)
    for other in (failure.value.located([], None), failure.value.located([], 1, "in iteration 1")):
        assert advice not in str(other)


@pytest.mark.parametrize(
    ("epoch", "words"),
    [(None, "in the final ensemble"), (0, "at epoch 0"), (4, "at epoch 4")],
)
def test_the_message_tells_when(epoch, words) -> None:
    assert f"failed {words} on" in str(BaseModelError("Ridge()", "no", [1], epoch=epoch))


@pytest.mark.parametrize(("n", "shown", "more"), [(20, 20, None), (21, 20, 1), (500, 20, 480)])
@pytest.mark.parametrize("named", [False, True])
def test_a_long_list_is_shortened(n, shown, more, named) -> None:
    names = [f"gene {j}" for j in range(n)] if named else []
    error = BaseModelError("Ridge()", "no", range(n), names)
    listed = str(error).split("[")[1].split("]")[0]
    words = [f"'gene {j}'" if named else str(j) for j in range(n)][:shown]
    tail = "" if more is None else f", ... ({more} more)"
    assert listed == ", ".join(words) + tail
    assert f"subset of {n} feature(s)" in str(error)
    # Nothing is lost: the whole list is on the error.
    assert error.features == tuple(range(n))


def test_a_stage_in_words_stands_for_the_epoch() -> None:
    error = BaseModelError("Ridge()", "no", [0, 2]).located(["a", "b", "c"], None, "in iteration 2")
    assert "failed in iteration 2 on the subset of 2 feature(s) ['a', 'c']" in str(error)
    for same in (pickle.loads(pickle.dumps(error)), error.among([0, 1, 2])):
        assert str(same) == str(error)


def test_located_adds_names_and_epoch() -> None:
    error = BaseModelError("Ridge()", "no", [0, 2])
    located = error.located(["age", "size", "colour"], 5)
    assert isinstance(located, BaseModelError)
    assert (located.model, located.reason, located.features) == ("Ridge()", "no", (0, 2))
    assert located.names == ("age", "colour")
    assert located.epoch == 5
    assert "at epoch 5 on the subset of 2 feature(s) ['age', 'colour']" in str(located)
    # The first one is as it was.
    assert (error.names, error.epoch) == ((), None)


def test_located_without_names_keeps_the_numbers() -> None:
    located = BaseModelError("Ridge()", "no", [0, 2]).located([], 1)
    assert located.names == ()
    assert "[0, 2]" in str(located)


@pytest.mark.parametrize("columns", [[7, 30, 31, 500], np.array([7, 30, 31, 500])])
def test_among_names_the_columns_of_the_whole_table(columns) -> None:
    error = BaseModelError("Ridge()", "no", [3, 0], ["last", "first"], 12)
    whole = error.among(columns)
    assert type(whole) is BaseModelError
    assert whole.features == (500, 7)
    assert all(type(j) is int for j in whole.features)
    assert (whole.model, whole.reason) == ("Ridge()", "no")
    assert (whole.names, whole.epoch) == (("last", "first"), 12)
    assert error.features == (3, 0)


def test_among_then_located() -> None:
    names = [f"gene {j}" for j in range(40)]
    error = BaseModelError("Ridge()", "no", [1]).among([2, 33]).located(names, 5)
    assert error.features == (33,)
    assert error.names == ("gene 33",)


def test_the_empty_subset_has_no_columns_among_any() -> None:
    assert BaseModelError("Ridge()", "no", []).among([]).features == ()


def test_the_empty_subset_can_be_told() -> None:
    error = BaseModelError("Ridge()", "no", []).located(["age"], 1)
    assert "subset of 0 feature(s) []" in str(error)


@pytest.mark.parametrize("travel", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy])
def test_an_error_survives_the_way_back_from_a_worker(travel) -> None:
    error = BaseModelError("Ridge()", "no", [3, 7], ["age", "size"], 12)
    back = travel(error)
    assert type(back) is BaseModelError
    assert str(back) == str(error)
    for name in ("model", "reason", "features", "names", "epoch", "args"):
        assert getattr(back, name) == getattr(error, name)


def test_the_error_can_be_caught_as_a_runtime_error() -> None:
    assert issubclass(BaseModelError, RuntimeError)


@pytest.mark.parametrize("warning", [InterruptedFitWarning, NoFeatureLeftWarning])
def test_warnings_can_be_filtered_together(warning) -> None:
    assert issubclass(warning, RandsubWarning)
    assert issubclass(warning, UserWarning)


def test_an_error_about_a_file_survives_the_way_back_from_a_worker() -> None:
    error = DatasetFormatError("data/lung.npz", "it has no array y")
    assert str(error).startswith("data/lung.npz is not the expected data set: it has no array")
    for copied in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (str(copied), copied.path) == (str(error), "data/lung.npz")
    assert isinstance(error, ValueError)


def test_an_error_about_a_missing_data_set_reads_as_it_was_written() -> None:
    error = DatasetNotFoundError("Found no lung.npz in data.")
    assert isinstance(error, FileNotFoundError)
    assert str(pickle.loads(pickle.dumps(error))) == "Found no lung.npz in data."


@pytest.mark.parametrize(
    "error",
    [
        ModelFormatError("a.skops", "it is a folder"),
        UntrustedTypesError("a.skops", ["os.system", "builtins.eval"]),
        UnsavableModelError("Ridge", "a lambda"),
    ],
)
def test_errors_about_model_files_survive_copying_and_name_the_remedy(error) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(copy.copy(error)) == str(error)
    assert vars(again) == vars(error)
    remedies = ("that randsub.io wrote", "trusted=['os.system', 'builtins.eval']", "in a module")
    assert any(remedy in str(error) for remedy in remedies)


@pytest.mark.parametrize(
    ("clause", "sentence"), [("a b", "a b."), ("a b.", "a b."), ("a 'b'?", "a 'b'?")]
)
def test_a_sentence_ends_in_one_mark(clause: str, sentence: str) -> None:
    assert as_sentence(clause) == sentence
    assert str(ModelFormatError("f", clause, "Do it.")) == (
        f"No model could be loaded from f: {sentence} Do it."
    )
    assert f": {sentence} If it can" in str(BaseModelError("Ridge()", clause, [0], epoch=1))
