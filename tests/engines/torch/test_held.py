"""Predictions that stay on a device: the same sums, the same fits, and nothing kept too long."""

import gc

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from randsub import PRSClassifier, PRSRegressor
from randsub.callbacks import Checkpoint
from randsub.engines import Learner, TorchEngine
from randsub.gradients import ensemble_output, model_costs

torch = pytest.importorskip("torch", reason="PyTorch is not installed; see make test-torch.")
from randsub.engines.torch import held as module  # noqa: E402

CPU = torch.device("cpu")
rng = np.random.default_rng(0)
X = rng.normal(size=(80, 6))


@pytest.fixture
def everything_is_held(monkeypatch):
    """Copies are counted, and made whatever the device and the size."""
    copies = []
    plain = module.DevicePredictions

    def counted(predictions, device):
        # Tensors of the CPU share the memory of an array.
        copies.append(plain(predictions.copy(), device))
        return copies[-1]

    monkeypatch.setattr(module, "is_worth_it", lambda predictions, device: True)
    monkeypatch.setattr(module, "DevicePredictions", counted)
    return copies


def test_sums_are_those_of_the_host():
    predictions, weights = rng.normal(size=(7, 20, 3)), rng.dirichlet(np.ones(7))
    gradient = rng.normal(size=(20, 3))
    copy = module.DevicePredictions(predictions, CPU)
    np.testing.assert_allclose(
        ensemble_output(weights, copy), ensemble_output(weights, predictions), rtol=1e-13
    )
    np.testing.assert_allclose(
        model_costs(gradient, copy), model_costs(gradient, predictions), rtol=1e-12, atol=1e-12
    )


def test_few_numbers_single_precision_and_the_cpu_are_left_where_they_are(monkeypatch):
    gpu = torch.device("cuda")
    few, many = np.zeros((2, 3, 1)), np.broadcast_to(0.0, (2, module.LARGE, 1))
    assert not module.is_worth_it(few, gpu)
    assert module.is_worth_it(many, gpu)
    assert not module.is_worth_it(many.astype(np.float32), gpu)
    assert not module.is_worth_it(many, CPU)
    assert TorchEngine(Learner(KNeighborsRegressor(), device="cpu")).held(many) is many
    monkeypatch.setattr(
        "randsub.engines.torch.device.obstacle_of", lambda device: "finds no CUDA GPU"
    )
    assert TorchEngine(Learner(KNeighborsRegressor(), device="cuda")).held(many) is many


def test_an_array_has_one_copy_which_goes_with_it(everything_is_held):
    predictions = np.ones((4, 5, 1))
    first = module.held(predictions, CPU)
    assert module.held(predictions, CPU) is first
    assert len(everything_is_held) == 1
    place = id(predictions)
    assert place in module._HELD
    del predictions
    gc.collect()
    assert place not in module._HELD


def test_no_copy_where_memory_is_short(everything_is_held, monkeypatch):
    monkeypatch.setattr(module, "free_bytes", lambda device: 8)
    predictions = np.ones((4, 5, 1))
    assert module.held(predictions, CPU) is predictions
    assert everything_is_held == []


def classifier(**options):
    return PRSClassifier(
        KNeighborsClassifier(3),
        **{"n_estimators": 8, "max_iter": 12, "n_repeats": 1, "random_state": 0, **options},
    )


@pytest.mark.parametrize("objective", ["ensemble", "members"])
def test_fits_are_those_of_the_host(everything_is_held, objective):
    labels = (X[:, 0] > 0).astype(int)
    options = {"objective": objective}
    there = classifier(engine="torch", device="cpu", **options).fit(X, labels)
    here = classifier(engine="knn", **options).fit(X, labels)
    np.testing.assert_allclose(there.alpha_, here.alpha_, atol=1e-9)
    # Losses of single members are no sums over models.
    assert bool(everything_is_held) == (objective == "ensemble")
    # The rounds of a fit are gone, and their copies with them.
    gc.collect()
    assert module._HELD == {}


def test_fits_with_targets_of_any_size(everything_is_held):
    y = 1e6 + 1e3 * X[:, 0]
    there, here = (
        PRSRegressor(
            KNeighborsRegressor(3), n_estimators=8, max_iter=12, engine=engine, random_state=0
        ).fit(X, y)
        for engine in ("torch", "knn")
    )
    np.testing.assert_allclose(there.alpha_, here.alpha_, atol=1e-9)
    assert everything_is_held


def test_checkpoints_hold_arrays_of_the_host(everything_is_held, monkeypatch, tmp_path):
    labels, path = (X[:, 0] > 0).astype(int), tmp_path / "half.ckpt"
    whole = classifier(engine="torch", device="cpu")
    whole.set_callbacks(Checkpoint(path, every=7)).fit(X, labels)
    resumed = classifier(engine="torch", device="cpu").fit(X, labels, resume_from=path)
    np.testing.assert_array_equal(resumed.alpha_, whole.alpha_)
    # On a machine where nothing is kept on a device.
    monkeypatch.setattr(module, "is_worth_it", lambda predictions, device: False)
    elsewhere = classifier(engine="torch", device="cpu").fit(X, labels, resume_from=path)
    np.testing.assert_allclose(elsewhere.alpha_, whole.alpha_, atol=1e-9)


@pytest.mark.parametrize("is_full", [True, False])
def test_a_copy_for_which_memory_is_too_small(is_full, monkeypatch):
    """It only saves time; other failures are failures."""
    error = torch.OutOfMemoryError("CUDA out of memory.") if is_full else RuntimeError("odd")

    def fails(*args):
        raise error

    monkeypatch.setattr(module, "is_worth_it", lambda predictions, device: True)
    monkeypatch.setattr(module, "on_device", fails)
    predictions = np.zeros((2, 3, 1))
    if is_full:
        assert module.held(predictions, CPU) is predictions
    else:
        with pytest.raises(RuntimeError, match="odd"):
            module.held(predictions, CPU)
