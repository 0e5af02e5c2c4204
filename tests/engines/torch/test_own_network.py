"""Networks of the user: trained as PyTorch trains one, and as base models that see their places."""

import pickle
import threading
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import r2_score
from sklearn.utils import shuffle
from sklearn.utils.estimator_checks import check_estimator

from randsub import PRSClassifier, PRSRegressor
from randsub.engines import Learner, TorchEngine
from randsub.engines.base import set_seeds
from randsub.engines.torch import device as devices
from randsub.engines.torch import modules
from randsub.engines.torch.layers import advance, first_use, seeded_dropout, with_own_noise
from randsub.engines.torch.networks import Task
from randsub.engines.torch.own_network import _sizes
from randsub.exceptions import UnsafeLoadWarning, UntrustedTypesError
from randsub.io import load, save
from randsub.torch import TorchClassifier, TorchRegressor

torch = pytest.importorskip("torch", reason="PyTorch is not installed; see make test-torch.")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 60)).astype(np.float32)
HEIGHT = X[:, 0] + X[:, 1]
no_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="There is a GPU.")
LABELS = np.array(["a", "b", "c"])[np.digitize(HEIGHT, [-0.7, 0.7])]
SEEDS = np.array([5, 6, 7])
MASKS = RNG.random((3, 60)) < 0.2
MASKS[:, :2] = True


def net(n_columns, n_outputs):
    from torch import nn

    return nn.Sequential(nn.Linear(n_columns, 8), nn.ReLU(), nn.Linear(8, n_outputs))


def conv(n_columns, n_outputs):
    from torch import nn

    return nn.Sequential(
        nn.Unflatten(1, (1, 6, 10)),
        nn.Conv2d(1, 4, 3),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Flatten(),
        nn.Linear(4 * 4 * 8, n_outputs),
    )


def plain_values(mask, seed, factory=net):
    """One network trained by PyTorch's own optimiser, on columns that the mask leaves."""
    first = int(np.random.RandomState(seed).randint(np.iinfo(np.int32).max))
    own = int(np.random.RandomState(first).randint(np.iinfo(np.int32).max))
    torch.manual_seed(own)
    module = factory(60, 3)
    adam = torch.optim.AdamW(module.parameters(), lr=0.01, weight_decay=0.1)
    rows, codes = torch.from_numpy(X * mask), torch.from_numpy(np.unique(LABELS, False, True)[1])
    generator, order = np.random.RandomState(own), np.arange(120)
    for _ in range(3):
        order = shuffle(order, random_state=generator)
        for begin in range(0, 120, 50):
            part = order[begin : begin + 50]
            loss = torch.nn.functional.cross_entropy(module(rows[part]), codes[part])
            adam.zero_grad()
            loss.backward()
            adam.step()
    with torch.no_grad():
        return torch.softmax(module(torch.from_numpy(X[:10] * mask)), dim=1).numpy()


BASE = TorchClassifier(net, lr=0.01, max_epochs=3, batch_size=50, weight_decay=0.1)


def test_many_networks_are_trained_as_one():
    engine = TorchEngine(Learner(BASE, np.unique(LABELS), "soft"))
    found = engine.predict_many(X, LABELS, MASKS, X[:10], SEEDS)
    expected = [plain_values(mask, seed) for mask, seed in zip(MASKS, SEEDS, strict=True)]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    for model, mask, one in zip(
        engine.fit_many(X, LABELS, MASKS, SEEDS), MASKS, found, strict=True
    ):
        np.testing.assert_allclose(model.predict_proba(X[:10, mask]), one, atol=1e-5)
        assert (model.n_features_in_, model.n_inputs_) == (mask.sum(), 60)


@pytest.mark.parametrize("module", [net, conv])
def test_as_base_models_of_an_ensemble(module):
    options = {"n_estimators": 6, "max_iter": 3, "random_state": 0}
    base = TorchClassifier(module, max_epochs=2, lr=0.01)
    # Every tenth column belongs to one patch.
    model = PRSClassifier(base, feature_groups=np.arange(60) % 10, **options).fit(X, LABELS)
    assert model.engine_ == "torch"
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    same = clone(model).set_params(n_jobs=2).fit(X, LABELS)
    np.testing.assert_array_equal(same.alpha_, model.alpha_)


def test_a_regressor_learns_in_any_units():
    base = TorchRegressor(net, lr=0.02, max_epochs=30)
    y = 1e4 + 1e-2 * HEIGHT
    assert base.fit(X, y).score(X, y) > 0.8
    model = PRSRegressor(base, n_estimators=4, max_iter=2, random_state=0).fit(X, y)
    assert np.abs(model.predict(X) - 1e4).max() < 1.0


@pytest.mark.parametrize("estimator", [TorchClassifier(net), TorchRegressor(net)])
def test_it_is_a_scikit_learn_estimator(estimator):
    # As of scikit-learn's own networks: batches of other rows are other steps.
    other = dict.fromkeys(
        [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")],
        "The samples of a step are drawn from all rows.",
    )
    other["check_methods_subset_invariance"] = "Single precision has seven digits."
    estimator.set_params(max_epochs=20, lr=0.03, device="cpu")
    check_estimator(estimator, expected_failed_checks=other, on_skip=None)


def with_batch_norm(n_columns, n_outputs):
    return torch.nn.Sequential(torch.nn.BatchNorm1d(n_columns), torch.nn.Linear(n_columns, 3))


def loose(n_columns, n_outputs):
    class Loose(torch.nn.Linear):
        shift = None

        def forward(self, inputs):
            return super().forward(inputs) + self.shift

    module = Loose(n_columns, n_outputs)
    module.shift = torch.randn(n_outputs)
    return module


def built_of(forward, state=None):
    """A function that builds linear networks with a ``forward`` of their own."""

    def build(n_columns, n_outputs):
        kind = type(forward.__name__.capitalize(), (torch.nn.Module,), {"forward": forward})
        module = kind()
        module.last = torch.nn.Linear(n_columns, n_outputs)
        if state is not None:
            state(module, n_columns, n_outputs)
        return module

    return build


def hoard(module, n_columns, n_outputs):
    module.weights = [torch.ones(n_columns)]


def permute(module, n_columns, n_outputs):
    module.order = torch.randperm(n_columns).tolist()


def moment(module, n_columns, n_outputs):
    module.register_buffer("mean", torch.zeros(n_columns))


def hoarding(self, values):
    return self.last(values * self.weights[0])


def permuting(self, values):
    return self.last(values[:, self.order])


def assigning(self, values):
    if self.training:
        self.mean = 0.9 * self.mean + 0.1 * values.detach().mean(0)
    return self.last(values - self.mean)


def counting(self, values):
    self.n_steps += self.training
    return self.last(values) * min(1.0, self.n_steps / 50)


def listing(self, values):
    if self.training:
        self.sizes["seen"].append(len(values))
    return self.last(values)


def counted(module, n_columns, n_outputs):
    module.n_steps, module.sizes = 0, {"seen": []}


def averaging(self, values):
    return self.last(values.mean(0, keepdim=True))


def helped(self, values):
    found = self.last(values)
    return (found, found) if self.training else found


hoarding, permuting = built_of(hoarding, hoard), built_of(permuting, permute)
assigning, averaging, helped = built_of(assigning, moment), built_of(averaging), built_of(helped)
counting, listing = built_of(counting, counted), built_of(listing, counted)


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (TorchClassifier("net"), "The 'module' parameter of TorchClassifier must be a callable"),
        (TorchClassifier(lambda a, b: 3), "module must return a torch.nn.Module, got 3"),
        (TorchClassifier(with_batch_norm), "BatchNorm1d needs statistics of a batch.*GroupNorm"),
        (TorchClassifier(torch.nn.Linear(60, 3)), "function that builds a network.*got a network"),
        (
            TorchClassifier(lambda a, b: torch.nn.Linear(a, 1)),
            r"outputs of shape \(n, 3\), got \(2, 1",
        ),
        (TorchClassifier(lambda a, b: torch.nn.Flatten(0)), "must have parameters.*has none"),
        (TorchClassifier(loose), "'shift' of Loose is or holds a tensor.*register_buffer"),
        (TorchClassifier(hoarding), "'weights' of Hoarding is or holds a tensor.*register_buffer"),
        (TorchClassifier(permuting), "'order' of Permuting differs between networks of two seeds"),
        (TorchClassifier(assigning), r"assigns the buffer 'mean'.*self.mean.copy_\(...\)"),
        (TorchClassifier(counting), "Counting changes its 'n_steps' when .*self.n_steps.add_"),
        (TorchClassifier(listing), "Listing changes its 'sizes' when .* self.register_buffer"),
        (TorchClassifier(averaging), r"to outputs of shape \(n, 3\), got \(1, 3\) for n=2"),
        (TorchClassifier(helped), r"to outputs of shape \(n, 3\), got a tuple for n=2 in training"),
        (
            TorchClassifier(net, loss=lambda o, t: o.mean()),
            r"number for each of n=2.*got shape \(\)",
        ),
        (TorchClassifier(net, loss=lambda o, t: None), "number for each of n=2.*got a NoneType"),
        (TorchClassifier(net, loss="hinge"), "The 'loss' parameter"),
        (TorchClassifier(net, lr=1e30), "NaN or infinite after training: lower lr"),
        (TorchClassifier(net, lr=0.0), "The 'lr' parameter"),
        (TorchClassifier(net, weight_decay=-1.0), "The 'weight_decay' parameter"),
    ],
)
def test_bad_networks_are_refused(estimator, words):
    with pytest.raises((TypeError, ValueError), match=words):
        estimator.fit(X, LABELS)


def test_noise_belongs_to_each_network():
    """Dropout does not depend on what is trained beside a network."""
    base = TorchClassifier(conv, max_epochs=2, lr=0.01)
    engine = TorchEngine(Learner(base, np.unique(LABELS), "soft"))
    masks, seeds = np.vstack([MASKS, MASKS[:1]]), np.append(SEEDS, SEEDS[0])
    together = engine.predict_many(X, LABELS, masks, X[:10], seeds)
    np.testing.assert_allclose(together[3], together[0], atol=1e-6)
    back = engine.predict_many(X, LABELS, masks[::-1], X[:10], seeds[::-1])
    np.testing.assert_allclose(back[::-1], together, atol=1e-6)
    for mask, seed, one in zip(MASKS, SEEDS, together, strict=False):
        alone = engine.predict_many(X, LABELS, mask[None], X[:10], np.array([seed]))
        np.testing.assert_allclose(alone[0], one, atol=1e-6)
    # It is noise: another seed is another network, and the share of zeros is right.
    layer, values = seeded_dropout(0.3, False, 12345), torch.ones(200, 300)
    kept = layer(values)
    assert abs((kept == 0.0).double().mean().item() - 0.3) < 0.01
    assert abs(kept.mean().item() - 1.0) < 0.02
    again = layer(values)
    assert ((again == 0.0) & (kept == 0.0)).double().mean().item() < 0.1
    first_use(layer)
    advance(dict(layer.named_buffers()))
    assert ((layer(values) == 0.0) & (kept == 0.0)).double().mean().item() < 0.1
    channels = seeded_dropout(0.5, True, 3)(torch.ones(20, 8, 4, 4)).flatten(2)
    assert (channels == channels[:, :, :1]).all()
    assert (seeded_dropout(1.0, False, 3)(values) == 0.0).all()
    assert seeded_dropout(0.3, False, 3).eval()(values) is values


def frozen_and_tied(n_columns, n_outputs):
    from torch import nn

    first, second = nn.Linear(n_columns, 8), nn.Linear(8, 8)
    third = nn.Linear(8, 8)
    third.weight = second.weight
    first.requires_grad_(False)
    nn.init.constant_(first.weight, 0.5)
    module = nn.Sequential(first, second, nn.Tanh(), third, nn.Linear(8, n_outputs))
    module.register_buffer("unused", torch.zeros(3), persistent=False)
    return module


def test_frozen_and_tied_parameters_stay_so():
    model = TorchClassifier(frozen_and_tied, max_epochs=2, lr=0.05).fit(X, LABELS)
    parts = model.module_
    assert (parts[0].weight == 0.5).all()
    assert parts[1].weight is parts[3].weight
    assert model.predict_proba(X).shape == (120, 3)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    PRSClassifier(TorchClassifier(frozen_and_tied, max_epochs=2), n_estimators=3, max_iter=2).fit(
        X, LABELS
    )


def test_a_model_of_another_machine_predicts_without_its_device(monkeypatch):
    model = TorchClassifier(net, max_epochs=2, random_state=0).fit(X, LABELS)
    expected = model.predict_proba(X)
    model.set_params(device="cuda:9")
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-6)


def test_steps_without_weight_are_no_steps():
    weights = np.zeros(120)
    weights[:50] = 1.0
    model = TorchRegressor(net, batch_size=1, max_epochs=2).fit(X, HEIGHT, sample_weight=weights)
    assert np.isfinite(model.predict(X)).all()


def test_random_numbers_of_the_user_are_left_alone():
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    TorchClassifier(conv, max_epochs=1).fit(X, LABELS)
    assert torch.equal(torch.rand(2), expected)


@no_gpu
def test_networks_on_the_cpu_leave_the_gpus_of_the_user_alone(monkeypatch):
    seeded = []
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seeded.append)
    torch.manual_seed(3)
    assert seeded == [3]
    TorchClassifier(conv, max_epochs=1, device="cpu").fit(X, LABELS)
    assert seeded == [3]


def test_networks_that_are_read_meanwhile_change_nothing():
    base = TorchClassifier(net, max_epochs=1, device="cpu")
    ensemble = PRSClassifier(base, n_estimators=4, max_iter=3, random_state=0)
    alone = clone(ensemble).fit(X, LABELS).alpha_
    file = pickle.dumps(ensemble.fit(X, LABELS))
    is_done = threading.Event()

    def read():
        while not is_done.is_set():
            pickle.loads(file)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        beside = clone(ensemble).fit(X, LABELS).alpha_
    finally:
        is_done.set()
        reader.join()
    np.testing.assert_array_equal(beside, alone)


def twice(n_columns, n_outputs):
    """The same dropout at two places."""
    from torch import nn

    noise = nn.Dropout(0.5)
    return nn.Sequential(nn.Linear(n_columns, 8), noise, nn.ReLU(), noise, nn.Linear(8, n_outputs))


def test_a_layer_of_dropout_at_two_places():
    module = with_own_noise(twice(4, 2), seed=3)
    layers = [part for part in module if hasattr(part, "p")]
    assert len(layers) == 2
    values = torch.ones(50, 8)
    assert ((layers[0](values) == 0.0) != (layers[1](values) == 0.0)).any()
    engine = TorchEngine(Learner(TorchClassifier(twice, max_epochs=2), np.unique(LABELS), "soft"))
    together = engine.predict_many(X, LABELS, MASKS, X[:10], SEEDS)
    alone = engine.predict_many(X, LABELS, MASKS[1:2], X[:10], SEEDS[1:2])
    np.testing.assert_allclose(alone[0], together[1], atol=1e-6)


def recurrent(n_columns, n_outputs, share=0.0):
    from torch import nn

    # A class that is another one in each call.
    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.noise, self.layer = nn.Dropout(share), nn.GRU(10, 5, batch_first=True)
            self.last = nn.Linear(5, n_outputs)

        def forward(self, values):
            steps, _ = self.layer(self.noise(values.reshape(len(values), -1, 10)))
            return self.last(self.noise(steps[:, -1]))

    return Recurrent()


def noisy(n_columns, n_outputs):
    return recurrent(n_columns, n_outputs, share=0.3)


def branching(n_columns, n_outputs):
    from torch import nn

    class Branching(nn.Module):
        def __init__(self):
            super().__init__()
            self.last = nn.Linear(n_columns, n_outputs)

        def forward(self, values):
            # One sample has no spread.
            if len(values) > 1 and values[:, 0].std() > 0.9:
                return self.last(values)
            return self.last(2.0 * values)

    return Branching()


def dropping(n_columns, n_outputs):
    from torch import nn

    class Dropping(nn.Sequential):
        pass

    return Dropping(nn.Linear(n_columns, 8), nn.Dropout(0.3), nn.Linear(8, n_outputs))


def doubling(n_columns, n_outputs):
    from torch import nn

    class Doubling(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(n_columns, n_outputs)

        def forward(self, values):
            values *= 2.0
            return self.first(values)

    return Doubling()


@pytest.mark.parametrize("module", [net, recurrent, branching, doubling])
def test_networks_of_any_kind_are_those_of_torch(module):
    base = clone(BASE).set_params(module=module)
    found = TorchEngine(Learner(base, np.unique(LABELS), "soft")).predict_many(
        X, LABELS, MASKS, X[:10], SEEDS
    )
    expected = [plain_values(mask, seed, module) for mask, seed in zip(MASKS, SEEDS, strict=True)]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert np.abs(found[0] - found[1]).max() > 1e-3


@pytest.mark.parametrize("module", [noisy, dropping])
def test_networks_with_noise_are_what_they_are_alone(module):
    base = TorchClassifier(module, lr=0.01, max_epochs=2, batch_size=50)
    engine = TorchEngine(Learner(base, np.unique(LABELS), "soft"))
    every = np.ones_like(MASKS)
    together = engine.predict_many(X, LABELS, every, X[:10], SEEDS)
    assert not np.allclose(together[0], together[1], atol=1e-3)
    models = engine.fit_many(X, LABELS, every, SEEDS)
    for values, model, seed in zip(together, models, SEEDS, strict=True):
        alone = clone(base)
        set_seeds(alone, seed)
        expected = alone.fit(X, LABELS).predict_proba(X[:10])
        # On a GPU, recurrent layers of a single network are computed with fewer digits.
        np.testing.assert_allclose(values, expected, atol=1e-4)
        np.testing.assert_allclose(model.predict_proba(X[:10]), expected, atol=1e-4)


@pytest.mark.parametrize("portion", [2**27, 1])
def test_layers_that_work_in_place_leave_the_data_alone(portion, monkeypatch):
    monkeypatch.setattr(devices, "CPU_BYTES", portion)
    table = X.copy()
    base = clone(BASE).set_params(module=doubling)
    base.fit(table, LABELS)
    engine = TorchEngine(Learner(base, np.unique(LABELS), "soft"))
    found = engine.predict_many(table, LABELS, MASKS, table[:10], SEEDS)
    np.testing.assert_array_equal(table, X)
    expected = [plain_values(mask, seed, doubling) for mask, seed in zip(MASKS, SEEDS, strict=True)]
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("weight", [0.0, 1e-12])
def test_samples_without_weight_do_not_decide_the_units(weight):
    y, weights = HEIGHT.copy(), np.ones(120)
    y[0], weights[0] = 1e6, weight
    base = TorchRegressor(net, lr=0.02, max_epochs=30, random_state=0)
    assert base.fit(X, y, weights).score(X[1:], y[1:]) > 0.8
    engine = TorchEngine(Learner(base, passes_weight=True))
    every = np.ones((1, 60), dtype=bool)
    (values,) = engine.predict_many(X, y, every, X, SEEDS[:1], sample_weight=weights)
    assert r2_score(y[1:], values[1:]) > 0.8
    (model,) = engine.fit_many(X, y, every, SEEDS[:1], weights)
    np.testing.assert_allclose(model.predict(X), values[:, 0], atol=1e-4)


def test_another_loss():
    """Of quantiles; of the squared error, which is that of no loss at all."""

    def pinball(values, targets, level):
        return torch.maximum(level * (targets - values), (level - 1.0) * (targets - values))

    base = TorchRegressor(net, lr=0.01, max_epochs=15, random_state=0)
    losses = [partial(pinball, level=level) for level in (0.1, 0.9)]
    losses += [partial(torch.nn.functional.mse_loss, reduction="none"), None]
    low, high, squared, plain = (
        clone(base).set_params(loss=one).fit(X, HEIGHT).predict(X) for one in losses
    )
    assert np.mean(low < high) > 0.95
    assert np.mean(low < HEIGHT) > 0.7
    assert np.mean(high > HEIGHT) > 0.7
    np.testing.assert_allclose(squared, plain, rtol=1e-5)
    smooth = partial(torch.nn.functional.cross_entropy, reduction="none", label_smoothing=0.1)
    model = PRSClassifier(TorchClassifier(net, loss=smooth), n_estimators=4, max_iter=2)
    assert model.fit(X, LABELS).engine_ == "torch"


def test_outputs_of_another_precision():
    def half(n_columns, n_outputs):
        class Half(torch.nn.Linear):
            def forward(self, values):
                with torch.autocast("cpu", torch.bfloat16):
                    return super().forward(values)

        return Half(n_columns, n_outputs)

    model = TorchClassifier(half, max_epochs=2).fit(X, LABELS)
    assert model.predict_proba(X).dtype == np.float64
    PRSClassifier(TorchClassifier(half), n_estimators=3, max_iter=2).fit(X, LABELS)


def test_buffers_that_are_changed_in_place_are_kept():
    def centred(self, values):
        if self.training:
            self.mean.mul_(0.5).add_(values.detach().mean(0), alpha=0.5)
        return self.last(values - self.mean)

    model = TorchClassifier(built_of(centred, moment), max_epochs=9).fit(X + 5.0, LABELS)
    assert abs(model.module_.mean.mean().item() - 5.0) < 0.2


def lazy(n_columns, n_outputs):
    from torch import nn

    return nn.LazyLinear(n_outputs)


def double(n_columns, n_outputs):
    return net(n_columns, n_outputs).double()


def pair(n_columns, n_outputs):
    from torch import nn

    class Pair(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(n_columns, n_outputs)

        def forward(self, values):
            return self.layer(values), values

    return Pair()


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (lazy, "parameter 'weight' has no shape yet: use no lazy layers"),
        (double, "'0.weight' is torch.float64; networks take and are trained in float32"),
        (pair, r"to outputs of shape \(n, 3\), got a tuple"),
    ],
)
def test_networks_that_cannot_be_trained_are_told_why(module, message):
    with pytest.raises(ValueError, match=message):
        TorchClassifier(module, max_epochs=1).fit(X, LABELS)


@pytest.mark.parametrize("base", [TorchClassifier(conv, max_epochs=2), TorchRegressor(net)])
@pytest.mark.parametrize("format", ["skops", "joblib"])
def test_an_ensemble_of_networks_is_saved(base, format, tmp_path):
    pytest.importorskip("skops", reason="skops is not installed.")
    kind, y = (PRSClassifier, LABELS) if base._classifies else (PRSRegressor, HEIGHT)
    model = kind(clone(base).set_params(max_epochs=2), n_estimators=3, max_iter=2).fit(X, y)
    save(model, tmp_path / "model", format=format)
    if format == "joblib":
        with pytest.warns(UnsafeLoadWarning):
            again = load(tmp_path / "model", format=format)
    else:
        # The function is the user's, and is named; nothing of it runs before.
        with pytest.raises(UntrustedTypesError, match=base.module.__name__):
            load(tmp_path / "model")
        again = load(tmp_path / "model", trusted=[f"{__name__}.{base.module.__name__}"])
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    # A file holds arrays: nothing of PyTorch, whose pickles run code.
    assert b"torch._utils" not in pickle.dumps(model.estimators_[0])


@pytest.mark.parametrize(
    ("device", "message"),
    [("nonsense", "TorchClassifier does not know device='nonsense'"), ("cuda", "no CUDA GPU")],
)
@pytest.mark.parametrize("engine", ["auto", "generic"])
def test_the_device_of_a_network_is_checked(device, message, engine):
    if device == "cuda" and torch.cuda.is_available():
        pytest.skip("There is a GPU.")
    model = PRSClassifier(TorchClassifier(net, device=device), engine=engine)
    with pytest.raises(ValueError, match=message):
        model.fit(X, LABELS)


@pytest.mark.parametrize("engine", ["auto", "generic"])
def test_networks_are_trained_on_the_device_of_the_ensemble(engine, monkeypatch):
    asked = []
    plain = modules.chosen
    monkeypatch.setattr(modules, "chosen", lambda device: asked.append(device) or plain(device))
    base = TorchClassifier(net, max_epochs=1)
    model = PRSClassifier(base, engine=engine, device="cpu", n_estimators=2, max_iter=1)
    model.fit(X, LABELS).predict(X)
    assert set(asked) == {"cpu"}
    assert {member.device for member in model.estimators_} == {"cpu"}


def test_memory_of_a_network_counts_what_its_layers_say():
    task = Task.of(
        TorchClassifier(conv, batch_size=10), torch.zeros(40, 60), np.arange(40) % 3, None
    )
    layers = [60, 4 * 4 * 8, 4 * 4 * 8, 4 * 4 * 8, 4 * 4 * 8, 3]
    # The last layer says what the whole does.
    n_bytes, n_values = _sizes(task)
    assert n_values == sum(layers) + 3
    n_parameters = 4 * 9 + 4 + 3 * (4 * 4 * 8) + 3
    assert n_bytes == 32 * n_parameters + 12 * 10 * (60 + n_values) + 24 * 40


def with_short_numbers(n_columns, n_outputs):
    module = net(n_columns, n_outputs)
    module.register_buffer("short", torch.ones(2, dtype=torch.bfloat16))
    return module


def test_networks_with_numbers_that_numpy_does_not_have_are_pickled():
    model = TorchClassifier(with_short_numbers, max_epochs=1).fit(X, LABELS)
    again = pickle.loads(pickle.dumps(model))
    assert again.module_.short.dtype == torch.bfloat16
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
