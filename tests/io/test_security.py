"""Nothing runs on load that was not allowed."""

import functools
import importlib
import io
import json
import operator
import os
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import Bunch

from flat_parameters import flat
from randsub import PRSRegressor
from randsub.exceptions import ModelFormatError, UntrustedTypesError
from randsub.io import load, save
from randsub.io.files import FORMAT_VERSION, NOTE, dumped
from randsub.io.safe_forms import SafeForm, build_tree, tree_arguments
from randsub.io.trusted_types import SKLEARN, VALUES, our_types, trusted_by_default
from randsub.penalties import FusedLasso

skops_io = pytest.importorskip("skops.io")

HERE = Path(__file__).parent
X = np.random.default_rng(0).normal(size=(40, 3))
Y = X[:, 0] + 0.1 * X[:, 1]
QUICK: dict[str, Any] = {"n_estimators": 3, "max_iter": 2, "n_revivals": 0, "random_state": 0}


@pytest.fixture
def user_module(monkeypatch):
    """A module of a user, which is importable as long as the test runs."""
    monkeypatch.syspath_prepend(str(HERE))
    yield importlib.import_module("models_of_a_user")
    sys.modules.pop("models_of_a_user", None)


def plant(path: Path, content: Any) -> Path:
    """A file with anything in it, written as an attacker would: past all checks of ours."""
    archive = io.BytesIO(skops_io.dumps(content))
    with zipfile.ZipFile(archive, "a") as file:
        note = {"format_version": FORMAT_VERSION, "holds": "skops", "type": "", "versions": {}}
        file.writestr(NOTE, json.dumps(note))
    path.write_bytes(archive.getvalue())
    return path


def forge(path: Path, change: Any) -> Path:
    """Change the description of the objects in a file by hand."""
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    schema = json.loads(members["schema.json"])
    change(schema)
    members["schema.json"] = json.dumps(schema).encode()
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


def holding(culprit: Any) -> PRSRegressor:
    """A model with something deep in it."""
    model = PRSRegressor(make_pipeline(StandardScaler(), Ridge()))
    model.estimator.steps[1][1].alpha = {"deep": [{"deeper": culprit}]}
    return model


FOREIGN = {
    "eval": (eval, "builtins.eval"),
    "system": (os.system, f"{os.system.__module__}.system"),
    "subprocess": (subprocess.Popen, "subprocess.Popen"),
    "subprocess.run": (subprocess.run, "subprocess.run"),
    "pickle": (pickle.loads, "_pickle.loads"),
    "partial": (functools.partial(print, "!"), "functools.partial"),
    "methodcaller": (operator.methodcaller("fit"), "operator.methodcaller"),
    "attrgetter": (operator.attrgetter("__class__"), "operator.attrgetter"),
    "numpy": (np.load, "numpy.load"),
    "file": (Path("/"), f"{type(Path('/')).__module__}.{type(Path('/')).__name__}"),
    "method": (Ridge().fit, "sklearn.linear_model._ridge.Ridge.fit"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_types_are_refused_and_named(name, tmp_path):
    culprit, shown = FOREIGN[name]
    path = plant(tmp_path / "model.skops", holding(culprit))
    with pytest.raises(UntrustedTypesError) as caught:
        load(path)
    assert shown in caught.value.types
    assert f"trusted=[{', '.join(map(repr, caught.value.types))}]" in str(caught.value)


@pytest.mark.parametrize("loader", ["ObjectNode", "ConstructorFromReduceNode", "ListNode"])
@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("builtins", "eval"),
        ("subprocess", "Popen"),
        # Modules of ours and of scikit-learn's hold what they import.
        ("randsub._files", "write_atomically"),
        ("randsub._files", "os"),
        ("randsub.io.files", "load"),
        ("sklearn.datasets._base", "load_files"),
    ],
)
def test_a_foreign_name_in_any_kind_of_node_is_refused(loader, module, name, tmp_path):
    path = plant(tmp_path / "model.skops", holding(["x"]))

    def change(schema: dict[str, Any]) -> None:
        found = _find(schema, "builtins", "list", last=True)
        if loader != "ListNode":
            # Their content is one node, here the list that was there.
            found["content"] = {**found, "__id__": 1}
        found |= {"__module__": module, "__class__": name, "__loader__": loader}

    forge(path, change)
    with pytest.raises(UntrustedTypesError, match=f"{module}.{name}"):
        load(path)


def _find(state: Any, module: str, name: str, *, last: bool = False) -> dict[str, Any]:
    found = list(_walk(state, module, name))
    return found[-1 if last else 0]


def _walk(state: Any, module: str, name: str) -> Any:
    if isinstance(state, dict):
        if (state.get("__module__"), state.get("__class__")) == (module, name):
            yield state
        for value in state.values():
            yield from _walk(value, module, name)
    elif isinstance(state, list):
        for value in state:
            yield from _walk(value, module, name)


def test_nothing_of_a_user_module_runs_unless_named(tmp_path, user_module):
    mark = tmp_path / "mark"
    path = plant(tmp_path / "model.skops", holding(user_module.Trap(str(mark))))
    sys.modules.pop("models_of_a_user")
    with pytest.raises(UntrustedTypesError, match=r"models_of_a_user\.Trap"):
        load(path)
    assert not mark.exists()
    # Not even its module was imported.
    assert "models_of_a_user" not in sys.modules
    # That the trap works at all shows once it is allowed to.
    load(path, trusted=["models_of_a_user.Trap"])
    assert mark.read_text() == "it ran"


def test_a_base_model_of_the_user_loads_once_it_is_named(tmp_path, user_module):
    path = tmp_path / "model.skops"
    model = PRSRegressor(user_module.RidgeOfMine(), **flat(**QUICK)).fit(X, Y)
    save(model, path)
    with pytest.raises(UntrustedTypesError) as caught:
        load(path)
    assert caught.value.types == ("models_of_a_user.RidgeOfMine",)
    for trusted in (["models_of_a_user.RidgeOfMine"], [user_module.RidgeOfMine]):
        loaded = load(path, trusted=trusted)
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_a_function_of_the_user_is_asked_for(tmp_path, user_module):
    mark = tmp_path / "mark"
    model = make_pipeline(FunctionTransformer(user_module.leave_mark), Ridge())
    save(model, tmp_path / "model.skops")
    with pytest.raises(UntrustedTypesError, match=r"models_of_a_user\.leave_mark"):
        load(tmp_path / "model.skops")
    assert not mark.exists()


@pytest.mark.parametrize("name", ["__reduce_ex__", "__deepcopy__", "__class__", "__module__"])
def test_attributes_that_speak_for_python_are_refused(name, tmp_path):
    model = PRSRegressor()
    # str is a type that may be in a file, and pickle would ask it how to copy the model.
    model.__dict__[name] = str
    model.__dict__["__module__"] = "antigravity"
    path = plant(tmp_path / "model.skops", model)
    with pytest.raises(ModelFormatError, match="attribute '__"):
        load(path)
    assert "antigravity" not in sys.modules


def test_joblib_files_are_not_loaded_unasked(tmp_path):
    path = tmp_path / "model.skops"
    path.write_bytes(dumped(PRSRegressor(), "joblib")[0])
    with pytest.raises(ModelFormatError, match="format='joblib'"):
        load(path)


def test_every_name_that_is_trusted_is_a_class_with_harmless_making():
    for name in (*our_types(), *SKLEARN):
        module, _, attribute = name.rpartition(".")
        found = getattr(importlib.import_module(module), attribute)
        assert isinstance(found, type), name
        # Named where it is defined, so that no other object can take its place.
        assert f"{found.__module__}.{found.__qualname__}" == name
    for name in set(trusted_by_default()) - {*our_types(), *SKLEARN, *VALUES}:
        assert name.startswith("sklearn.metrics."), name


def test_nothing_of_ours_that_a_model_can_hold_is_forgotten():
    from randsub import (
        distributions,
        engines,
        estimators,
        losses,
        network,
        optim,
        penalties,
        solver,
    )
    from randsub.engines import Engine

    kinds = (
        distributions.SubsetDistribution,
        losses.Loss,
        penalties.Penalty,
        optim.Optimizer,
        Engine,
    )
    rooms = (distributions, engines, estimators, losses, network, optim, penalties, solver)
    for room in rooms:
        for found in (getattr(room, name) for name in room.__all__):
            concrete = isinstance(found, type) and not getattr(found, "__abstractmethods__", ())
            if concrete and (issubclass(found, kinds) or hasattr(found, "get_params")):
                assert f"{found.__module__}.{found.__qualname__}" in our_types()


# -- numbers that compiled code would take at their word -----------------------------------------


def tree_with(**changes: Any) -> dict[str, Any]:
    names = ("n_features", "n_classes", "n_outputs", "max_depth", "nodes", "values")
    grown = DecisionTreeRegressor(max_depth=2).fit(X, Y).tree_
    arguments = dict(zip(names, tree_arguments(grown), strict=True))
    for name, (place, value) in changes.items():
        arguments["nodes"][name][place] = value
    return arguments


def test_a_tree_survives():
    grown = DecisionTreeRegressor(max_depth=4).fit(X, Y).tree_
    again = build_tree(*tree_arguments(grown))
    np.testing.assert_array_equal(
        again.predict(X.astype(np.float32)), grown.predict(X.astype(np.float32))
    )
    assert again.max_depth == grown.max_depth
    assert again.node_count == grown.node_count


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("left_child", 0, 10**6),
        ("left_child", 0, -2),
        ("left_child", 0, 0),
        ("right_child", 0, 10**6),
        ("right_child", 0, 1),
        ("right_child", 1, 0),
        ("feature", 0, 3),
        ("feature", 0, -1),
    ],
)
def test_a_tree_that_leads_out_of_itself_is_refused(name, place, value):
    with pytest.raises(ValueError, match="lead nowhere"):
        build_tree(**tree_with(**{name: (place, value)}))


def test_a_tree_deeper_or_wider_than_it_says_is_refused():
    build_tree(**tree_with())
    with pytest.raises(ValueError, match="lead nowhere"):
        build_tree(**tree_with() | {"max_depth": 1})
    values = tree_with()["values"]
    for change in ({"values": values[:-1]}, {"n_outputs": 1000}, {"n_outputs": 0}):
        with pytest.raises(ValueError, match="impossible shape"):
            build_tree(**tree_with() | change)


def test_a_raw_tree_in_a_file_is_refused(tmp_path):
    path = plant(tmp_path / "model.skops", DecisionTreeRegressor().fit(X, Y))
    with pytest.raises(UntrustedTypesError, match=r"sklearn\.tree\._tree\.Tree"):
        load(path)


def bad_tree(model):
    _, *rest = tree_arguments(model.tree_)
    model.tree_ = build_tree(100, *rest)


def bad_forest(model):
    model.estimators_[1] = DecisionTreeRegressor().fit(np.c_[X, X], Y)


def bad_rows(model):
    model._fit_X = model._fit_X[:, :2]


def bad_targets(model):
    model._y = model._y[:5]


def bad_support(model):
    model.support_vectors_ = model.support_vectors_[:2]


@pytest.mark.parametrize(
    ("base", "spoil"),
    [
        (DecisionTreeRegressor(), bad_tree),
        (RandomForestRegressor(3), bad_forest),
        (KNeighborsRegressor(), bad_rows),
        (KNeighborsRegressor(), bad_targets),
        (SVR(), bad_support),
    ],
)
def test_parts_that_do_not_fit_are_refused(base, spoil, tmp_path):
    model = base.fit(X, Y)
    save(model, tmp_path / "model.skops")
    load(tmp_path / "model.skops")
    spoil(model)
    save(model, tmp_path / "model.skops")
    with pytest.raises(ModelFormatError, match="parts of different sizes"):
        load(tmp_path / "model.skops")


@pytest.mark.parametrize("columns", [[0, 1, 2, 3, 99], [-1], [0]])
def test_members_that_see_other_columns_are_refused(columns, tmp_path):
    model = PRSRegressor(Ridge(), **flat(**QUICK)).fit(X, Y)
    model.estimators_[0] = Ridge().fit(X, Y)
    model.estimators_features_[0] = np.array(columns)
    save(model, tmp_path / "model.skops")
    with pytest.raises(ModelFormatError, match=r"different sizes|columns that do not exist"):
        load(tmp_path / "model.skops")


@pytest.mark.parametrize("name", ["estimators_bases_", "estimators_weights_"])
def test_members_without_a_base_model_or_a_weight_are_refused(name, tmp_path):
    model = PRSRegressor([("ridge", Ridge()), ("knn", KNeighborsRegressor())], **flat(**QUICK))
    setattr(model, name, getattr(model.fit(X, Y), name)[:-1])
    save(model, tmp_path / "model.skops")
    with pytest.raises(ModelFormatError, match="parts of different sizes"):
        load(tmp_path / "model.skops")


def test_a_sparse_matrix_with_addresses_outside_is_refused(tmp_path):
    model = KNeighborsRegressor().fit(sparse.csr_array(X), Y)
    model._fit_X.indices[0] = 10**6
    save(model, tmp_path / "model.skops")
    with pytest.raises(ModelFormatError, match="content is damaged"):
        load(tmp_path / "model.skops")


def call(*arguments: Any) -> SafeForm:
    return SafeForm.of(*arguments)


NONSENSE = {
    "a metric that runs code": call("KDTree", X, 30, "pyfunc", {"func": np.add}, None),
    "a metric with data": call("BallTree", X, 30, "seuclidean", {"V": X[0]}, None),
    "arguments of a metric": call("KDTree", X, 30, "euclidean", {"func": np.add}, None),
    "an unknown kind": call("eval", "1"),
    "a missing value": call("mapping", [1, 2], [1]),
    "a key that has no hash": call("mapping", [[]], [1]),
    "no arguments": call("tree"),
    "a tree of numbers": call("tree", 1, np.array([1]), 1, 0, np.array([1.0]), np.array([1.0])),
    "codes without categories": call("categories", np.array([5]), ["a"], False, None),
    "a frame of texts": call("frame", "abc", "de", "f"),
}


@pytest.mark.parametrize("name", NONSENSE)
def test_safe_forms_with_nonsense_in_them_are_refused(name, tmp_path):
    model = PRSRegressor()
    model.penalty = NONSENSE[name]
    with pytest.raises(ModelFormatError):
        load(plant(tmp_path / "model.skops", model))


def test_a_safe_form_without_its_call_is_refused(tmp_path):
    model = PRSRegressor(penalty=call("mapping", [1.5], [2]))
    path = plant(tmp_path / "model.skops", model)
    assert load(path).penalty == {1.5: 2}

    def change(schema: dict[str, Any]) -> None:
        found = _find(schema, "randsub.io.safe_forms", "SafeForm")
        found |= {"__loader__": "ObjectNode", "content": None}

    with pytest.raises(ModelFormatError):
        load(forge(path, change))


@pytest.mark.parametrize(
    ("base", "attributes"),
    [
        (RandomForestRegressor(3), {"estimators_features_": [], "tree_": None}),
        (KNeighborsRegressor(), {"tree_": None, "estimators_": []}),
    ],
)
def test_attributes_do_not_hide_a_part_that_does_not_fit(base, attributes, tmp_path):
    model = base.fit(X, Y)
    bad_forest(model) if hasattr(model, "estimators_") else bad_rows(model)
    vars(model).update(attributes | {"tree_": DecisionTreeRegressor().fit(X, Y).tree_})
    save(model, tmp_path / "model.skops")
    with pytest.raises(ModelFormatError, match="parts of different sizes"):
        load(tmp_path / "model.skops")


def test_a_forged_graph_is_not_followed(tmp_path):
    """Compiled code would read where the graph says."""
    penalty = FusedLasso(0.1, [[0, 1]])
    penalty.__dict__["_built"] = Bunch(a=X, b=X, weights=X, begin=X, arcs=X)
    loaded = load(plant(tmp_path / "model.skops", PRSRegressor(penalty=penalty))).penalty
    theta = np.array([[0.2, 0.5]])
    assert loaded.value(theta) == FusedLasso(0.1, [[0, 1]]).value(theta)


OUR_TYPES = """
    distributions.Bernoulli distributions.GroupedBernoulli
    engines.base.Learner engines.boosting.engine.BoostingEngine
    engines.generic.GenericEngine engines.svm.engine.SVMEngine
    engines.linear_and_bayes.engine.LinearAndBayesEngine engines.knn.engine.KNNEngine
    engines.target_units.Unit engines.torch.engine.TorchEngine engines.tree.engine.TreeEngine
    engines.torch.modules.TorchClassifier engines.torch.modules.TorchRegressor
    estimators.column_encoding.ColumnEncoder estimators.classifier.PRSClassifier
    estimators.random_subspace.RandomSubspaceClassifier
    estimators.random_subspace.RandomSubspaceRegressor
    estimators.rase.RaSEClassifier estimators.rase.RaSERegressor
    estimators.regressor.PRSRegressor estimators.standardize.Standardizer
    estimators.training_rows.TrainingRows
    io.safe_forms.SafeForm
    losses.CrossEntropy losses.Huber losses.MeanOverOutputs losses.PoissonDeviance
    losses.SquaredError
    network.links.InferredNetwork network.prs.PRSNetwork network.ranking.Ranking
    optim.adam.ProjectedAdam optim.descent.ProjectedGradientDescent optim.fisher.FisherAdam
    optim.logit.LogitAdam optim.proximal.ProximalAdam
    optim.proximal.ProximalGradientDescent
    penalties.base.Sum penalties.fused_lasso.FusedLasso penalties.row_groups.RowGroups
    penalties.size.ExpectedSize
    penalty_search.PenaltySearch
    solver.solver.Solver solver.solver.Window
"""


def test_what_is_trusted_of_ours_was_looked_at_one_by_one():
    """Add a type here once making it with any attributes is known to do no harm."""
    assert set(our_types()) == {f"randsub.{name}" for name in OUR_TYPES.split()}
