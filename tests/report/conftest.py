"""Small fitted models, and what a page says."""

from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from randsub import PRSClassifier, PRSRegressor
from randsub.datasets import make_friedman
from randsub.report import reference_models
from randsub.solver import Solver

VOID = {"br", "hr", "input", "link", "meta"}


class Reader(HTMLParser):
    """The page as a list of elements, with the text under each; complains about loose ends."""

    def __init__(self, page):
        super().__init__()
        self.elements = []
        self._open = []
        self.feed(page)
        self.close()
        assert not self._open, f"never closed: {[e['tag'] for e in self._open]}"

    def handle_starttag(self, tag, attrs):
        element = {"tag": tag, "attrs": dict(attrs), "text": "", "under": [*self._open]}
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag):
        assert self._open[-1]["tag"] == tag, f"</{tag}> ends <{self._open[-1]['tag']}>"
        self._open.pop()

    def handle_data(self, data):
        for element in self._open:
            element["text"] += data

    def find(self, tag, under=None, **attrs):
        """Elements of a kind, with some attributes, within the element of an id."""
        return [
            e
            for e in self.elements
            if e["tag"] == tag
            and all(e["attrs"].get(k.rstrip("_")) == v for k, v in attrs.items())
            and (under is None or any(u["attrs"].get("id") == under for u in e["under"]))
        ]

    def text(self, identifier):
        """Text of the element with this id."""
        return next(e["text"] for e in self.elements if e["attrs"].get("id") == identifier)


@pytest.fixture
def read():
    return Reader


@pytest.fixture(autouse=True)
def _small_forest(monkeypatch):
    monkeypatch.setattr(reference_models, "N_TREES", 10)


@pytest.fixture(scope="session")
def friedman():
    """X and y of 120 rows with 5 relevant and 25 other columns."""
    X, y, _ = make_friedman(n_samples=120, n_irrelevant=25, correlation=0.0, random_state=0)
    return X, y


@pytest.fixture(scope="session")
def regressor(friedman):
    X, y = friedman
    model = PRSRegressor(
        KNeighborsRegressor(),
        n_estimators=20,
        max_iter=30,
        solver=Solver(learning_rate=0.02),
        random_state=0,
    )
    return model.fit(X[:80], y[:80])


@pytest.fixture(scope="session")
def classes():
    """X and y of 90 rows in three classes, told by the first two of six columns."""
    rng = np.random.default_rng(0)
    labels = np.repeat(["<b>low</b>", "middle", "high"], 30)
    X = rng.normal(size=(90, 6))
    X[:, 0] += 3.0 * (labels == "middle")
    X[:, 1] += 3.0 * (labels == "high")
    order = rng.permutation(90)
    return X[order], labels[order]


@pytest.fixture(scope="session")
def classifier(classes):
    X, y = classes
    model = PRSClassifier(KNeighborsClassifier(), n_estimators=20, max_iter=20, random_state=0)
    return model.fit(X[:60], y[:60])
