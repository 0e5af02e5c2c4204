"""Classification with several labels: one alpha for all of them."""

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from scipy.sparse import csr_array
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import accuracy_score
from sklearn.model_selection import cross_val_predict, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from flat_parameters import flat
from randsub import PRSClassifier, RandomSubspaceClassifier, RaSEClassifier
from randsub.callbacks import Checkpoint
from randsub.estimators.calibration import best_temperature, tempered
from randsub.io import DataFacts, ModelFolder, load, save
from randsub.penalties import ExpectedSize
from randsub.selection import stability

# Some base models are left to scikit-learn here, which a fit says.
pytestmark = pytest.mark.filterwarnings("ignore::randsub.exceptions.SlowEngineWarning")

SMALL = {"n_estimators": 8, "max_iter": 4, "n_batches": 3, "n_revivals": 0, "random_state": 0}
X, Y = make_multilabel_classification(
    n_samples=90, n_features=6, n_classes=3, n_labels=2, random_state=1
)
N, M = X.shape
# Counts, which are all that these are, have neighbours at equal distances.
X = X + np.random.default_rng(0).uniform(0.0, 0.5, X.shape)

BASES = {
    "knn": KNeighborsClassifier(4),
    "tree": DecisionTreeClassifier(max_depth=4),
    "forest": RandomForestClassifier(3, max_depth=4),
    "network": MLPClassifier(hidden_layer_sizes=(8,), solver="lbfgs", max_iter=40),
    "ridge": RidgeClassifier(),
    "one per label": MultiOutputClassifier(LogisticRegression()),
    "one versus rest": OneVsRestClassifier(LogisticRegression()),
    "chain": ClassifierChain(LogisticRegression()),
}
VOTERS = [(name, voting) for name in BASES for voting in ("hard", "soft")]
VOTERS.remove(("ridge", "soft"))


def prs(base=None, **changes):
    base = KNeighborsClassifier(4) if base is None else base
    return PRSClassifier(base, **flat(**{**SMALL, **changes}))


def presence(member, voting, part):
    """Whether a member says that samples have each label, by scikit-learn's own conventions."""
    if voting == "hard":
        return member.predict(part)
    p = member.predict_proba(part)
    if not isinstance(p, list):
        return p
    columns = zip(p, member.classes_, strict=True)
    return np.column_stack([one[:, c == 1].sum(axis=1) for one, c in columns])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("name", "voting"), VOTERS)
def test_many_base_models_vote_on_every_label(name, voting):
    model = prs(BASES[name], voting=voting, alpha_init=0.6, calibrate=False).fit(X, Y)
    p = model.predict_proba(X)
    assert [one.shape for one in p] == [(N, 2)] * 3
    scaled = model.standardizer_.transform(X)
    members = [
        presence(one, voting, scaled[:, columns])
        for one, columns in zip(model.estimators_, model.estimators_features_, strict=True)
    ]
    expected = np.mean(members, axis=0)
    np.testing.assert_allclose(np.column_stack([one[:, 1] for one in p]), expected, atol=1e-12)
    np.testing.assert_allclose([one.sum(axis=1) for one in p], 1.0)
    predicted = model.predict(X)
    np.testing.assert_array_equal(predicted, expected > 0.5)
    assert predicted.dtype == Y.dtype
    assert model.score(X, Y) == accuracy_score(Y, predicted) > 0.3


def test_classes_are_those_of_each_label():
    model = prs().fit(X, Y)
    assert [one.tolist() for one in model.classes_] == [[0, 1]] * 3
    assert model.n_outputs_ == 3


@pytest.mark.parametrize("dtype", [bool, np.int8, float, np.uint8])
def test_predictions_have_the_type_of_the_targets(dtype):
    predicted = prs().fit(X, Y.astype(dtype)).predict(X)
    assert predicted.dtype == dtype
    np.testing.assert_array_equal(predicted, prs().fit(X, Y).predict(X))


@pytest.mark.parametrize(
    "kind", [pd.DataFrame, csr_array, np.ndarray.tolist, lambda y: pd.DataFrame(y).astype(object)]
)
def test_targets_in_other_containers(kind):
    np.testing.assert_array_equal(prs().fit(X, kind(Y)).alpha_, prs().fit(X, Y).alpha_)


def test_columns_of_different_types():
    mixed = pd.DataFrame({"a": Y[:, 0] == 1, "b": Y[:, 1], "c": Y[:, 2].astype(float)})
    np.testing.assert_array_equal(prs().fit(X, mixed).alpha_, prs().fit(X, Y).alpha_)


def test_calibration_keeps_predictions_and_improves_the_log_loss():
    plain, calibrated = prs(calibrate=False).fit(X, Y), prs().fit(X, Y)
    assert calibrated.temperature_ != 1.0
    np.testing.assert_array_equal(plain.predict(X), calibrated.predict(X))
    raw = np.stack(plain.predict_proba(X), axis=1)
    floor = 0.5 / SMALL["n_estimators"]
    expected = tempered(raw, calibrated.temperature_, floor)
    np.testing.assert_allclose(np.stack(calibrated.predict_proba(X), axis=1), expected)


def test_the_temperature_of_labels_is_one_for_all():
    """Found by direct search of the mean log loss, with the pull towards 1."""
    rng = np.random.default_rng(0)
    output = rng.dirichlet([1.0, 1.0], size=(200, 3))
    codes = (rng.random((200, 3)) > tempered(output, 0.5, 1e-3)[..., 0]).astype(int)
    found = best_temperature(output, np.eye(2)[codes], np.ones(200), 1e-3)

    def cost(t):
        p = tempered(output, t, 1e-3)
        mean = -np.log(np.take_along_axis(p, codes[..., np.newaxis], axis=2)).mean()
        return 200 * mean + np.log(t) ** 2 / (2.0 * 0.5**2)

    grid = np.exp(np.linspace(-1.5, 1.5, 601))
    assert found == pytest.approx(grid[np.argmin([cost(t) for t in grid])], rel=0.01)


def test_a_label_given_twice_is_the_same_as_once():
    twice = Y[:, [0, 1, 0, 1]]
    once = prs(max_iter=15).fit(X, Y[:, :2])
    again = prs(max_iter=15).fit(X, twice)
    np.testing.assert_allclose(again.alpha_, once.alpha_, atol=1e-9)
    assert again.validation_loss_ == pytest.approx(once.validation_loss_, rel=1e-9)


@pytest.mark.parametrize(
    "changes",
    [
        {"n_repeats": 3},
        {"penalty": ExpectedSize(0.01)},
        {"feature_groups": [0, 0, 1, 1, 2, 2]},
        {"loss": "squared_error"},
        {"objective": "members"},
        {"bootstrap": True},
        {"max_samples": 30},
        {"validation_fraction": None},
        {"estimator": "auto", "n_batches": 2},
        {"estimator": [("knn", KNeighborsClassifier(4)), ("tree", DecisionTreeClassifier())]},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_other_parameters_work_as_with_classes(changes):
    model = prs().set_params(**flat(**{**SMALL, **changes})).fit(X, Y)
    assert model.predict(X).shape == Y.shape
    assert np.isfinite(model.validation_loss_)


def test_constant_labels_are_learned_beside_others():
    constant = np.c_[Y[:, 0], np.ones(N, dtype=int), np.zeros(N, dtype=int)]
    for base in (KNeighborsClassifier(4), DecisionTreeClassifier()):
        predicted = prs(base, voting="soft").fit(X, constant).predict(X)
        np.testing.assert_array_equal(predicted[:, 1:], constant[:, 1:])
    with pytest.raises(ValueError, match=r"all samples have the labels \[1, 0\]"):
        prs().fit(X, constant[:, 1:])


@pytest.mark.parametrize(
    ("y", "seen"),
    [(Y + 1, "2"), (Y * 2, "2"), (Y.astype(str), "'0'"), (Y * 0.5, r"0\.5"), (Y - 1, "-1")],
    ids=["1 and 2", "0 and 2", "text", "fractions", "negative"],
)
def test_several_columns_of_classes_are_refused(y, seen):
    match = rf"y holds {seen}\..*\(multiclass-multioutput\) are not supported: fit one model per"
    with pytest.raises(ValueError, match=match):
        prs().fit(X, y)
    with pytest.raises(ValueError, match="In the validation data"):
        prs().fit(X, Y, X_val=X, y_val=y)


def test_base_models_of_one_target_are_refused_before_training():
    with pytest.raises(ValueError, match=r"y has 3 columns.*MultiOutputClassifier\(SVC"):
        prs(SVC()).fit(X, Y)
    for make in (RandomSubspaceClassifier, RaSEClassifier):
        with pytest.raises(ValueError, match=r"takes one target per sample.*PRSClassifier"):
            make(KNeighborsClassifier()).fit(X, Y)


def test_tags_follow_the_base_models():
    assert get_tags(prs()).classifier_tags.multi_label
    assert get_tags(prs("auto")).classifier_tags.multi_label
    assert not get_tags(prs(SVC())).classifier_tags.multi_label
    # Several columns of classes are not supported.
    assert not get_tags(prs()).target_tags.multi_output


def test_weights_validation_data_and_workers():
    weight = np.linspace(0.1, 2.0, N)
    options = {"sample_weight": weight, "X_val": X, "y_val": Y == 1, "sample_weight_val": weight}
    one = prs(DecisionTreeClassifier(), n_jobs=1).fit(X, Y, **options)
    with parallel_config("threading"):
        two = prs(DecisionTreeClassifier(), n_jobs=2).fit(X, Y, **options)
    np.testing.assert_array_equal(one.alpha_, two.alpha_)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_resumed_and_saved_models_have_the_same_bits(tmp_path):
    whole = prs(max_iter=6).fit(X, Y)
    prs(max_iter=3).set_callbacks(Checkpoint(tmp_path / "fit.npz", every=3)).fit(X, Y)
    resumed = prs(max_iter=6).fit(X, Y, resume_from=tmp_path / "fit.npz")
    np.testing.assert_array_equal(resumed.predict_proba(X), whole.predict_proba(X))
    save(whole, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict_proba(X), whole.predict_proba(X))
    ModelFolder.write(tmp_path / "folder", whole, data=DataFacts.of(X, Y))
    again = ModelFolder.read(tmp_path / "folder").model
    np.testing.assert_array_equal(again.predict(X), whole.predict(X))


def test_scikit_learns_scorers_take_the_probabilities():
    scores = cross_validate(prs(), X, Y, cv=2, scoring=["roc_auc", "average_precision", "f1_macro"])
    assert scores["test_roc_auc"].min() > 0.5
    assert np.shape(cross_val_predict(prs(), X, Y, cv=2, method="predict_proba")) == (3, N, 2)
    # Two labels are not two classes.
    found = cross_validate(prs(), X, Y[:, :2], cv=2, scoring="roc_auc")
    assert np.isfinite(found["test_score"]).all()


def test_stability_of_the_ranking():
    assert len(stability(prs(), X, Y, n_runs=2, random_state=0).table()) == M
