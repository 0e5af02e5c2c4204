"""The page as a whole: what it says is what the model says."""

import json
import re
from copy import copy

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.dummy import DummyRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from randsub import PRSRegressor, RandomSubspaceRegressor, RaSERegressor
from randsub.exceptions import TrainingRowsWarning
from randsub.optim import ProjectedAdam
from randsub.penalties import ExpectedSize
from randsub.report import refit_code, write_report
from randsub.report.markup import visible
from randsub.report.text_format import listed, score
from randsub.selection import Stability, stability
from randsub.selection.stability_index import StabilityIndex
from randsub.solver import Solver, Window


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("report") / "report.html"


def page_of(model, path, *data, **options):
    return write_report(model, path, *data, **options).read_text(encoding="utf-8")


def data_of(page):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return json.loads(found[1])


def column(page, key):
    table = data_of(page)["table"]
    keys = [c["key"] for c in table["columns"]]
    return table["values"][keys.index(key)]


def test_the_page_says_what_the_model_says(regressor, friedman, path, read):
    X, y = friedman
    page = page_of(regressor, path, X[:80], y[:80], X_test=X[80:], y_test=y[80:])
    reader = read(page)
    order = np.argsort(-regressor.alpha_, kind="stable")
    assert column(page, "alpha") == pytest.approx(regressor.alpha_[order], rel=1e-5)
    assert column(page, "name") == [f"x{j}" for j in order]
    held = [sum(j in f for f in regressor.estimators_features_) for j in order]
    assert column(page, "held") == held
    rows = reader.find("tr", under="features")[1:]
    assert len(rows) == 25
    cells = [e["text"] for e in reader.find("td", under="features", class_="name")]
    assert cells == [f"x{j}" for j in order[:25]]
    scored = reader.text("scores")
    assert f"{regressor.score(X[80:], y[80:]):.3f}" in scored
    assert "trained on the same 80 rows and scored on the same 40 rows" in scored
    assert f"{regressor.n_models_trained_:,}" in reader.text("fitted")
    # One among the parameters that were changed, and the other among all.
    assert reader.text("fitted").count("solver__learning_rate") == 2
    assert reader.text("fitted").count("solver__n_batches") == 1
    objective = data_of(page)["charts"]["objective"]
    shown = dict(zip(objective["x"], objective["lines"]["validation"], strict=True))
    assert shown == pytest.approx(regressor.history_["validation_objective"].to_dict(), rel=1e-4)


def test_the_page_may_reach_nothing(regressor, path, read):
    reader = read(page_of(regressor, path))
    (policy,) = reader.find("meta", **{"http-equiv": "Content-Security-Policy"})
    assert policy["attrs"]["content"].startswith("default-src 'none'")
    for element in reader.elements:
        for name in ("src", "href", "xlink:href", "action", "data"):
            address = element["attrs"].get(name)
            assert address is None or address.startswith(("#", "data:")), element
        assert not [name for name in element["attrs"] if name.startswith("on")], element
    style = reader.find("style")[0]["text"]
    assert "url(" not in style
    assert "@import" not in style


def test_ids_are_unique_and_labels_lead_somewhere(regressor, path, read):
    reader = read(page_of(regressor, path))
    ids = [e["attrs"]["id"] for e in reader.elements if "id" in e["attrs"]]
    assert len(ids) == len(set(ids))
    for element in reader.elements:
        target = element["attrs"].get("aria-labelledby")
        assert target is None or target in ids
        address = element["attrs"].get("href", "")
        assert not address.startswith("#") or address[1:] in ids
        if element["attrs"].get("role") == "img":
            assert element["attrs"]["aria-label"]
    assert len(reader.find("h1")) == len(reader.find("main")) == 1


NAMES = st.lists(
    st.one_of(st.text(max_size=20), st.sampled_from(["<script>alert(1)</script>", "a&b", "\"x'"])),
    min_size=30,
    max_size=30,
    unique=True,
)


@settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(names=NAMES, title=st.text(max_size=20))
def test_names_of_any_kind_are_text(regressor, path, read, names, title):
    model = PRSRegressor()
    model.__dict__ = {**regressor.__dict__, "feature_names_in_": np.array(names, dtype=object)}
    page = page_of(model, path, title=title, facts={"<i>": title})
    reader = read(page)
    assert len(reader.find("script")) == 2
    assert not reader.find("i", under="fitted")
    assert sorted(column(page, "name")) == sorted(visible(name) for name in names)
    assert reader.find("h1")[0]["text"] == visible(title)


def test_labels_of_classes_are_text(classifier, classes, path, read):
    X, y = classes
    reader = read(page_of(classifier, path, X, y, compare=False))
    assert "<b>low</b> (30)" in reader.text("fitted")


def test_without_data_nothing_is_made_up(regressor, path, read):
    page = page_of(regressor, path)
    reader = read(page)
    assert "No rows were given to score the model on" in reader.text("scores")
    assert f"chosen: {score(regressor.validation_score_)}" in reader.text("scores")
    assert "slightly optimistic" in reader.text("scores")
    assert not reader.find("table", under="scores")
    assert "not given" in reader.text("summary")


@pytest.mark.parametrize("gives_training", [True, False])
def test_training_rows_are_not_new(regressor, friedman, tmp_path, read, gives_training):
    (X, y), path = friedman, tmp_path / "r.html"
    training = (X[:80], y[:80]) if gives_training else ()
    test = {"X_test": X[:80][::-1], "y_test": y[:80][::-1]}
    with pytest.raises(ValueError, match="not new: all 80 are training rows"):
        regressor.to_report(path, *training, **test)
    assert not path.exists()
    with pytest.warns(TrainingRowsWarning, match="30 of 70 rows are training rows"):
        page = page_of(regressor, path, *training, X_test=X[50:], y_test=y[50:])
    assert "on 40 new rows" in read(page).text("summary")
    assert "30 of 70 rows are training rows" in read(page).text("summary")


def test_training_rows_of_a_model_that_does_not_remember_them(regressor, friedman, path):
    X, y = friedman
    model = copy(regressor)
    del model._training_rows
    page_of(model, path, X_test=X[:80], y_test=y[:80])
    with pytest.raises(ValueError, match="all 80 are training rows"):
        page_of(model, path, X[:80], y[:80], X_test=X[:80], y_test=y[:80])


def test_scores_of_a_copy_are_called_that(regressor, friedman, path, read):
    X, y = friedman
    reader = read(page_of(regressor, path, X[:80], y[:80], test_fraction=0.5))
    assert "trained on 40 rows and scored on the other 40 rows" in reader.text("scores")
    assert "This model, trained again" in reader.text("scores")


def test_to_report_is_the_same_page(regressor, friedman, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    X, y = friedman
    ours = regressor.to_report(tmp_path / "a.html", X, y, compare=False, title="T")
    other = write_report(regressor, tmp_path / "b.html", X, y, compare=False, title="T")
    assert ours.read_bytes() == other.read_bytes()
    assert "01 January 1970" in ours.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "model",
    [
        RandomSubspaceRegressor(KNeighborsRegressor(), n_estimators=5, random_state=0),
        RaSERegressor(
            KNeighborsRegressor(), n_estimators=5, n_candidates=3, max_iter=2, random_state=0
        ),
        PRSRegressor(KNeighborsRegressor(), n_estimators=5, max_iter=1, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_ensemble_has_a_page(model, friedman, path, read):
    X, y = friedman
    page = page_of(model.fit(X, y), path, X, y, compare=False)
    assert f"{model.n_models_trained_:,}" in read(page).text("fitted")
    assert ("table" in data_of(page)) == hasattr(model, "alpha_")


def test_groups_have_their_column(friedman, path):
    X, y = friedman
    groups = np.repeat(np.arange(15), 2)
    model = PRSRegressor(
        KNeighborsRegressor(), n_estimators=5, max_iter=2, feature_groups=groups, random_state=0
    )
    page = page_of(model.fit(X, y), path)
    places = [int(name[1:]) for name in column(page, "name")]
    assert column(page, "group") == groups[places].tolist()


def reruns(names, n_runs=4):
    rng = np.random.default_rng(0)
    importances = rng.uniform(size=(n_runs, len(names)))
    return Stability(
        importances=importances,
        selected=importances > 0.5,
        threshold=0.5,
        level=0.9,
        feature_names=names,
        groups=np.arange(len(names)),
        agreement=StabilityIndex(0.75, 0.7, 0.8),
    )


def test_stability(regressor, path, read):
    result = reruns([f"x{j}" for j in range(30)])
    page = page_of(regressor, path, stability=result)
    places = [int(name[1:]) for name in column(page, "name")]
    for key in ("mean", "lower", "upper", "frequency"):
        assert column(page, key) == pytest.approx(result.table()[key].iloc[places], rel=1e-5)
    said = read(page).text("stability")
    assert "0.75" in said
    often = np.flatnonzero(result.table()["frequency"] >= 0.8)
    assert all(f"x{j}" in said for j in often)


@pytest.mark.parametrize("is_mix", [False, True])
def test_code_makes_the_model_again(is_mix):
    base = make_pipeline(PolynomialFeatures(2), Ridge(alpha=3.0))
    if is_mix:
        base = [("poly", base), ("knn", KNeighborsRegressor(3)), ("tree", "drop")]
    solver = Solver(refresh=Window(4), optimizer=ProjectedAdam(0.1))
    model = PRSRegressor(
        base, penalty=ExpectedSize(0.01), max_iter=7, solver=solver, random_state=3
    )
    made = {}
    code = refit_code.code(model).replace("model.fit(X, y)", "")
    exec(code, made)
    assert repr(made["model"].get_params()) == repr(model.get_params())


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"X": "X"}, ValueError, "X was given without y; give both"),
        ({"y_test": "y"}, ValueError, "y_test was given without X_test"),
        ({"sample_weight": "y"}, ValueError, "sample_weight was given without X"),
        ({"X": "narrow", "y": "y"}, ValueError, r"In the data for the report \(X, y"),
        ({"X_test": "X", "y_test": "short"}, ValueError, r"\(X_test, y_test.*inconsistent"),
        ({"X": "X", "y": "nan"}, ValueError, "NaN"),
        ({"test_fraction": 2}, ValueError, "test_fraction must be .* got 2"),
        ({"title": 3}, TypeError, "title must be a str, got int"),
        ({"command": 3}, TypeError, "command must be a str, got int"),
        ({"facts": ["a"]}, TypeError, "facts must be a Mapping, got list"),
        ({"stability": 3}, TypeError, "randsub.selection.stability, got int"),
        ({"stability": reruns(["a", "b"])}, ValueError, "about 2 features, but .* 30"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else None,
)
def test_unusable_arguments(regressor, friedman, tmp_path, change, error, message):
    X, y = friedman
    data = {"X": X, "y": y, "narrow": X[:, :3], "short": y[:-1], "nan": np.full(len(y), np.nan)}
    options = {k: data[v] if isinstance(v, str) else v for k, v in change.items()}
    with pytest.raises(error, match=message):
        write_report(regressor, tmp_path / "report.html", **options)
    assert not list(tmp_path.iterdir())


def test_unusable_models_and_paths(regressor, tmp_path):
    with pytest.raises(TypeError, match="got Ridge"):
        write_report(Ridge(), tmp_path / "report.html")
    with pytest.raises(NotFittedError):
        PRSRegressor().to_report(tmp_path / "report.html")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write_report(regressor, tmp_path)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        write_report(regressor, tmp_path / "none" / "report.html")
    assert not list(tmp_path.iterdir())


def test_a_page_that_cannot_be_written_leaves_the_old_one(regressor, tmp_path, monkeypatch):
    target = tmp_path / "report.html"
    target.write_text("old")

    def full(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="No space"):
        write_report(regressor, target)
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    assert target.read_text() == "old"


def test_names_of_other_reruns_are_refused(regressor, path):
    model = PRSRegressor()
    names = np.array([f"c{j}" for j in range(30)], dtype=object)
    model.__dict__ = {**regressor.__dict__, "feature_names_in_": names}
    with pytest.raises(ValueError, match="which has 'c0' in a place where the reruns have another"):
        write_report(model, path, stability=reruns([f"x{j}" for j in range(30)]))


def test_repeats_are_shown_without_reruns(path, read):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6))
    model = PRSRegressor(
        KNeighborsRegressor(), n_estimators=10, max_iter=5, n_repeats=4, random_state=0
    ).fit(X, X[:, 0])
    page = page_of(model, path)
    reader = read(page)
    heads = [head["text"] for head in reader.find("th", under="importances", scope="col")]
    assert heads == ["Rank", "Feature", "Alpha", "Spread", "Members", "Selected", "Low", "High"]
    said = reader.text("stability")
    assert "repeats with different validation rows" in said
    assert "share of the repeats" in said
    assert "4 repeats of up to 5 epochs" in reader.text("training")
    first = int(np.argmax(model.alpha_))
    assert f"alpha {model.alpha_[first]:.3f} ± {model.alpha_std_[first]:.3f}" in page
    # Reruns, if there are any, are shown beside the spread of the repeats.
    result = stability(model, X, X[:, 0], 2, random_state=0)
    reader = read(page_of(model, path, stability=result))
    heads = [head["text"] for head in reader.find("th", under="importances", scope="col")]
    assert heads[3:] == ["Spread", "Members", "Selected", "Mean alpha", "Low", "High"]
    assert "reruns on parts of the rows" in reader.text("stability")


def test_several_base_models_have_a_section(friedman, path, read):
    X, y = friedman
    useless = DummyRegressor(strategy="constant", constant=60.0)
    bases = [("knn", KNeighborsRegressor()), ("<b>", Ridge(alpha=2.0)), ("useless", useless)]
    model = PRSRegressor(bases, n_estimators=10, max_iter=30, random_state=0).fit(X, y)
    assert model.shares_["useless"] == 0.0
    page = page_of(model, path)
    reader = read(page)
    assert "10 copies of 3 base models (knn, &lt;b&gt;, useless)" in page
    said = reader.text("bases")
    assert f"alpha: {max(model.shares_, key=model.shares_.get)} has the largest" in said
    dropped = [name for name, share in model.shares_.items() if share == 0.0]
    assert f"Dropped during training: {listed(dropped)}." in said
    cells = [e["text"] for e in reader.find("td", under="bases")]
    shares = [f"{share:.3f}" for share in model.shares_.values()]
    assert cells[0:12:4] == shares
    assert [int(n) for n in cells[1:12:4]] == [model.estimators_bases_.count(n) for n, _ in bases]
    assert cells[2:4] == ["KNeighborsRegressor()", "knn"]
    heads = [e["text"] for e in reader.find("th", under="bases", scope="col")]
    kept = [name for name in model.shares_ if name not in dropped]
    assert heads[5:] == ["Feature", *kept]
    first = int(np.argmax(model.alpha_))
    alphas = [f"{model.alphas_[name][0, first]:.3f}" for name in kept]
    assert cells[12 : 13 + len(kept)] == [f"x{first}", *alphas]
    assert "knn: KNeighborsRegressor(); <b>: Ridge(alpha=2.0)" in reader.text("fitted")
    lines = data_of(page)["charts"]["shares"]["lines"]
    assert lines["knn"] == pytest.approx(model.history_["share_knn"], rel=1e-4)
