"""What the tables of networks and images choose, against the estimators' own choices."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from randsub import PRSClassifier
from randsub.datasets import make_network
from randsub.exceptions import DatasetNotFoundError
from randsub.network import PRSNetwork, score_network
from randsub.penalty_search import image_penalties, search_penalty
from randsub.solver import Solver
from randsub_experiments import datasets
from randsub_experiments.cell_store import Record
from randsub_experiments.datasets.dream4 import Dream4Network
from randsub_experiments.datasets.mnist import DigitImages
from randsub_experiments.experiments import EXPERIMENTS, dream4, mnist
from randsub_experiments.problem import BASES
from randsub_experiments.prs_settings import network_parameters, with_solver
from randsub_experiments.result_folder import Folder, results_frame

TRUTH = make_network(50, n_regulators=4, n_targets=3, n_modules=1, random_state=3)
NETWORK = Dream4Network(
    TRUTH.expression[:40],
    TRUTH.expression[40:],
    np.asarray(TRUTH.gold, dtype=bool),
    tuple(TRUTH.gene_names),
)


def images(seed):
    rng = np.random.default_rng(seed)
    parts = {}
    for part, n in (("train", 40), ("val", 20), ("test", 30)):
        y = np.array([5, 6])[np.arange(n) % 2]
        X = rng.normal(scale=0.8, size=(n, 28, 28))
        X[y == 6, 18:22, 6:10] += 1.0
        parts |= {f"X_{part}": X.reshape(n, -1), f"y_{part}": y}
    return DigitImages(**parts)


@pytest.fixture
def loaders(monkeypatch):
    def load_dream4(number, home):
        if number != 2:
            raise DatasetNotFoundError("not here")
        return NETWORK

    monkeypatch.setattr(datasets, "load_dream4", load_dream4)
    monkeypatch.setattr(
        datasets,
        "load_mnist",
        lambda home, digits, random_state, **noise: images(random_state),
    )


def finished(name, folder, **options):
    experiment = EXPERIMENTS[name]
    cells = experiment.cells(replace(experiment.full, data=folder, **options))
    return cells, [Record(cell, experiment.run(cell, folder)) for cell in cells]


def test_rows_of_a_network_are_those_that_the_estimator_chooses(loaders, tmp_path):
    (cell,), records = finished("dream4", tmp_path, methods=("prs",), bases=("knn",), epochs=6)
    assert cell.problem == "net2"
    rows = dream4.chosen_rows(results_frame(records)).set_index("setting")
    assert list(rows.index) == [dream4.NO_PENALTY, *dream4.RULES]
    assert rows.loc[dream4.NO_PENALTY, "lam"] == 0.0
    for setting, rule in dream4.RULES.items():
        model = PRSNetwork(
            KNeighborsRegressor(), max_iter=6, lam_choice=rule, random_state=cell.seed
        ).fit(NETWORK.X_train, None, NETWORK.X_val, gene_names=NETWORK.gene_names)
        scores = score_network(model, NETWORK.gold, gene_names=NETWORK.gene_names)
        assert rows.loc[setting, "lam"] == model.lam_
        assert rows.loc[setting, "aupr"] == scores.aupr
        assert rows.loc[setting, "size"] == pytest.approx(model.expected_sizes_.mean())
        assert rows.loc[setting, "settings"] == "defaults"


def test_the_row_of_the_default_is_what_the_estimator_does_by_itself():
    default = PRSNetwork()
    base = BASES[dream4.DEFAULT["base"]]["regression"]()
    assert repr(default._base()) == repr(base)
    assert (default.lam, default.lam_choice) == ("path", dream4.RULES[dream4.DEFAULT["setting"]])
    own = {**default.get_params(), "lams": list(default.lams)}
    made = PRSNetwork(**with_solver(network_parameters(dream4.DEFAULT["settings"], None)))
    assert made.solver.get_params() == default._solver().get_params()
    assert {**made.get_params(deep=False), "solver": None} == own


def test_the_penalty_of_images_is_that_of_the_search(loaders, tmp_path):
    coefficients = (0.0, 1e-2)
    cells, records = finished(
        "mnist",
        tmp_path,
        methods=("prs",),
        bases=("knn",),
        epochs=4,
        samples=(40,),
        coefficients=coefficients,
    )
    data = images(cells[0].seed)
    search = search_penalty(
        PRSClassifier(
            KNeighborsClassifier(),
            solver=Solver(n_batches=2),
            max_iter=4,
            random_state=cells[0].seed,
        ),
        image_penalties(28, 28, sparsity=coefficients, smoothness=coefficients),
        data.X_train,
        data.y_train,
        X_val=data.X_val,
        y_val=data.y_val,
    )
    losses = [record.row["validation_loss"] for record in records]
    assert losses == search.table["validation_loss"].tolist()
    rows = mnist.chosen_rows(results_frame(records)).set_index("setting")
    assert list(rows.index) == [mnist.NO_PENALTY, mnist.CHOSEN]
    best = rows.loc[mnist.CHOSEN]
    assert best["validation_loss"] == search.table["validation_loss"].min()
    assert best["score"] == search.best_model.score(data.X_test, data.y_test)
    np.testing.assert_allclose(best["alpha"], search.best_model.alpha_, atol=1e-6)
    maps = EXPERIMENTS["mnist"].figures(results_frame(records))["alpha-knn"].axes
    drawn = {ax.get_title(): ax.get_images()[0].get_array() for ax in maps if ax.get_title()}
    assert len(drawn) == len(records)
    for record in records:
        shown = {name: record.cell.conditions[name] for name in ("sparsity", "smoothness")}
        title = ", ".join(f"{name} {value:g}" for name, value in shown.items())
        alpha = drawn[f"{title}\naccuracy {record.row['score']:.3f}"]
        np.testing.assert_array_equal(np.ravel(alpha), record.row["alpha"])


def test_base_models_come_in_one_order_whatever_penalty_is_theirs():
    rows = [
        {"base": base, "sparsity": lam, "smoothness": 0.0, "validation_loss": loss}
        for lam, losses in ((0.0, (3.0, 1.0, 3.0)), (0.1, (1.0, 2.0, 2.0)), (0.2, (2.0, 3.0, 1.0)))
        for base, loss in zip(("tree", "knn", "svm"), losses, strict=True)
    ]
    common = {"method": "prs", "setting": "defaults", "replicate": 0, "n_train": 9}
    common |= {"noise": 0.0, "salt_and_pepper": 0.0}
    chosen = mnist.chosen_rows(pd.DataFrame(rows).assign(**common))
    assert chosen["base"].tolist() == ["tree", "knn", "svm"] * 2
    assert chosen["sparsity"].tolist() == [0.0, 0.0, 0.0, 0.1, 0.0, 0.2]


def test_vectors_survive_the_way_to_disk_and_back(tmp_path):
    """Rows without one, too, and a vector of one number, which csv writes as an empty line."""
    cells = EXPERIMENTS["simulated"].cells(replace(EXPERIMENTS["simulated"].full, replicates=1))[:3]
    vectors = ([0.1 + 0.2], None, [1.0])
    rows = [{"score": 0.5, "seconds": 1.0} | ({"alpha": v} if v else {}) for v in vectors]
    records = [Record(cell, row) for cell, row in zip(cells, rows, strict=True)]
    folder = Folder(tmp_path)
    folder.write(EXPERIMENTS["simulated"], records, "randsub")
    assert "alpha" not in pd.read_csv(tmp_path / "results.csv")
    expected = results_frame(records)["alpha"].tolist()
    assert sorted(expected) == [(), (0.1 + 0.2,), (1.0,)]
    assert folder.read()[1]["alpha"].tolist() == expected
    # What no cell has any more is not left behind.
    Folder(tmp_path / "other").write(EXPERIMENTS["simulated"], [Record(cells[0], rows[1])], "x")
    assert not (tmp_path / "other" / "alpha.csv").exists()


def test_networks_that_are_not_there(loaders, tmp_path):
    with pytest.raises(ValueError, match=r"no dataset net1 in .*there are: net2"):
        finished("dream4", tmp_path, problems=("net1",))


def test_more_images_than_there_are(loaders, tmp_path):
    with pytest.raises(ValueError, match="--samples asks for 41 training images, but there are 40"):
        finished("mnist", tmp_path, samples=(20, 41))
