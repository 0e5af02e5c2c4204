"""Devices: their choice, their failures, and portions of the work."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from engine_choice import choose_engine, ensemble
from randsub import PRSClassifier, PRSRegressor
from randsub.engines import KNNEngine, Learner, TorchEngine
from randsub.engines.torch import device as devices
from randsub.engines.torch.cost import gpu_wins
from randsub.exceptions import DeviceError, SlowEngineWarning

torch = pytest.importorskip("torch", reason="PyTorch is not installed; see make test-torch.")
X = np.random.default_rng(0).normal(size=(60, 5))
Y = X[:, 0] + 0.1 * X[:, 1]
no_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="There is a GPU.")


@pytest.mark.parametrize("device", ["gpu", "cuda:x", "tpu", "CUDA"])
@pytest.mark.parametrize("engine", ["auto", "torch"])
def test_unknown_devices_are_named(device, engine):
    with pytest.raises(ValueError, match=f"does not know device='{device}'; use None, 'cuda'"):
        PRSRegressor(KNeighborsRegressor(), engine=engine, device=device).fit(X, Y)


@no_gpu
@pytest.mark.parametrize("estimator", [KNeighborsRegressor(), DecisionTreeClassifier()])
def test_a_gpu_that_is_not_there(estimator):
    with pytest.raises(ValueError, match=r"finds no CUDA GPU for device='cuda'; use device='cpu'"):
        choose_engine("auto", estimator, X, Y, None, device="cuda")


def test_auto_stays_on_the_cpu_where_that_is_faster(monkeypatch):
    monkeypatch.setattr("randsub.engines.torch.cost.obstacle_of", lambda device: None)
    monkeypatch.setattr("randsub.engines.torch.device.obstacle_of", lambda device: None)
    # The paper's size.
    small, large = np.zeros((300, 305)), np.broadcast_to(0.0, (100_000, 300))
    options = {"model": ensemble("auto", 100, 2)}
    base = KNeighborsRegressor()
    y = np.zeros(100_000)
    assert choose_engine("auto", base, small, y[:300], None, **options) is KNNEngine
    assert choose_engine("auto", base, large, y, None, **options) is TorchEngine
    assert choose_engine("auto", base, large, y, None, device="cpu", **options) is KNNEngine
    assert choose_engine("auto", base, small, y[:300], None, device="cuda") is TorchEngine
    assert gpu_wins(MLPClassifier(), 5000, 1000, 10, 2)
    assert not gpu_wins(MLPClassifier(), 5000, 1000, 1, 2)


def test_auto_without_a_gpu_does_not_import_torch(monkeypatch):
    monkeypatch.setattr(devices, "is_installed", lambda: pytest.fail("not needed"))
    monkeypatch.setattr("randsub.engines.torch.cost.gpu_wins", lambda *work: False)
    monkeypatch.setattr(TorchEngine, "obstacle", lambda *args: None)
    assert choose_engine("auto", KNeighborsRegressor(), X, Y, None) is KNNEngine


def predictions(base, dtype=np.float64):
    engine = TorchEngine(Learner(base))
    masks = np.random.default_rng(1).random((7, 5)) < 0.6
    masks[:, 0] = True
    return engine.predict_many(X.astype(dtype), Y, masks, X[:9].astype(dtype), np.arange(7))


def test_small_memory_changes_nothing(monkeypatch):
    whole = predictions(KNeighborsRegressor(3))
    monkeypatch.setattr(devices, "CPU_BYTES", 1)
    np.testing.assert_array_equal(predictions(KNeighborsRegressor(3)), whole)


FULL = [
    torch.OutOfMemoryError("CUDA out of memory."),
    RuntimeError("CUDA error: out of memory"),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate(handle)"),
    RuntimeError("MPS backend out of memory (MPS allocated: 1 GB)"),
    RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory"),
]


@pytest.mark.parametrize("error", FULL, ids=str)
def test_out_of_memory_halves_the_portion_and_goes_on(monkeypatch, error):
    whole = predictions(KNeighborsRegressor(3))
    sizes, plain = [], torch.bmm

    def short_of_memory(left, right):
        sizes.append(left.shape[0] * left.shape[1])
        if sizes[-1] > 5:
            raise error
        return plain(left, right)

    monkeypatch.setattr(torch, "bmm", short_of_memory)
    np.testing.assert_array_equal(predictions(KNeighborsRegressor(3)), whole)
    assert max(sizes) > 5 >= min(sizes) > 0


def fail(error):
    def failing(*args):
        raise error

    return failing


@pytest.mark.parametrize("error", FULL, ids=str)
def test_no_memory_at_all_is_one_sentence(monkeypatch, error):
    monkeypatch.setattr(torch, "bmm", fail(error))
    with pytest.raises(DeviceError, match=r"too small even for one model and one sample.*max_samp"):
        predictions(KNeighborsRegressor(3))


def test_a_device_that_vanishes_loses_nothing(monkeypatch):
    labels = (Y > 0).astype(int)
    model = PRSClassifier(
        KNeighborsClassifier(3), n_estimators=4, max_iter=2, engine="torch", random_state=0
    ).fit(X, labels)
    before = model.alpha_.copy()
    gone = RuntimeError("CUDA error: unspecified launch failure\nMore words.")
    monkeypatch.setattr(torch, "bmm", fail(gone))
    # Errors of PyTorch on its CPU are no failures of a device.
    with pytest.raises(RuntimeError, match="CUDA error"):
        model.fit(X, labels)
    monkeypatch.setattr(devices, "_is_cpu", lambda device: False)
    # Nor can memory be given back then.
    monkeypatch.setattr(devices, "release", fail(gone))
    with pytest.raises(DeviceError, match=r"failed while .* \(CUDA error: unspec.* resume_from"):
        model.fit(X, labels)
    np.testing.assert_array_equal(model.alpha_, before)
    assert model.engine_ == "torch"


@pytest.mark.parametrize(
    ("words", "is_lost"),
    [
        ("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED", True),
        ("cusolver error: CUSOLVER_STATUS_INTERNAL_ERROR, when calling cusolverDnCreate", True),
        ("cuDNN error: CUDNN_STATUS_BAD_PARAM", False),
        ("mat1 and mat2 shapes cannot be multiplied", False),
    ],
)
def test_what_the_libraries_of_a_gpu_say(words, is_lost, monkeypatch):
    monkeypatch.setattr(devices, "_is_cpu", lambda device: False)
    with pytest.raises(RuntimeError) as caught, devices.at_work(torch.device("cpu")):
        raise RuntimeError(words)
    assert isinstance(caught.value, DeviceError) == is_lost


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_device_that_the_user_named_is_not_passed_over_in_silence(monkeypatch):
    monkeypatch.setattr("randsub.estimators.fit_data.check_device", lambda device: None)
    base = MLPClassifier(solver="lbfgs")
    model = PRSClassifier(base, device="cuda", n_estimators=2, max_iter=1)
    message = r"device='cuda' is not used for MLPClassifier.*does not support solver='lbfgs'"
    with pytest.warns(SlowEngineWarning, match=message):
        model.fit(X, (Y > 0).astype(int))
    assert model.engine_ == "generic"


def test_memory_of_neighbours_counts_the_rows_of_each_mask(monkeypatch):
    asked = []

    def portions(work, n_masks, n_queries, n_bytes, *rest, **options):
        asked.append(n_queries * n_bytes)
        return in_portions(work, n_masks, n_queries, n_bytes, *rest, **options)

    in_portions = devices.in_portions
    monkeypatch.setattr("randsub.engines.torch.knn.in_portions", portions)
    rng = np.random.default_rng(0)
    rows, masks = rng.normal(size=(500, 256)), np.ones((2, 256), dtype=bool)
    engine = TorchEngine(Learner(KNeighborsRegressor(3)))
    engine.predict_many(rows, rows[:, 0], masks, rows[:2], np.arange(2))
    # In double precision: the cells of a mask, and the same moved.
    assert min(asked) > 2 * 8 * rows.size


def test_half_precision_is_computed_in_double(monkeypatch):
    rounded = X.astype(np.float16).astype(np.float64)
    half = TorchEngine(Learner(KNeighborsRegressor(3)))
    masks = np.ones((1, 5), dtype=bool)
    found = half.predict_many(X.astype(np.float16), Y, masks, X[:9].astype(np.float16), np.zeros(1))
    np.testing.assert_array_equal(
        found, half.predict_many(rounded, Y, masks, rounded[:9], np.zeros(1))
    )


def test_an_engine_for_other_base_models_says_so_before_anything_else():
    model = PRSClassifier(DecisionTreeClassifier(), engine="torch", bootstrap=True)
    with pytest.raises(ValueError, match="cannot train DecisionTreeClassifier") as caught:
        model.fit(X, (Y > 0).astype(int))
    assert "bootstrap samples" not in str(caught.value)
    model = PRSClassifier(KNeighborsClassifier(), engine="torch", bootstrap=True)
    with pytest.raises(ValueError, match="does not draw bootstrap samples; use bootstrap=False"):
        model.fit(X, (Y > 0).astype(int))
