"""What a GPU is worth: checks, costs, and whole fits beside two CPU threads on the same machine.

    python benchmarks/gpu.py                 everything, in one command
    python benchmarks/gpu.py --parts checks  some of it: checks, law, costs, knn, mlp, wide, rows,
                                             paper, same, mnist, large, profile

Each line is printed as soon as it is measured, and a ratio is the time of the CPU over that of the
GPU. The CPU side has two workers: run it with OMP_NUM_THREADS=2 NUMBA_NUM_THREADS=2. ``--mnist
FILE`` is an .npz with ``X`` (n, 784) and ``y``; without it, scikit-learn's digits are used.
"""

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier

from randsub import PRSClassifier
from randsub.callbacks import Checkpoint
from randsub.engines import GenericEngine, KNNEngine, Learner, LinearAndBayesEngine, TorchEngine
from randsub.solver import Solver

Found = dict[str, Any]


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def classes(n: int, n_features: int, n_classes: int = 2, seed: int = 0) -> tuple[Any, Any]:
    """Classes that ten of the features tell apart, in single precision."""
    X, y = make_classification(
        n,
        n_features,
        n_informative=10,
        n_redundant=0,
        n_classes=n_classes,
        shuffle=False,
        random_state=seed,
    )
    order = np.random.default_rng(seed).permutation(n)
    return X[order].astype(np.float32), y[order]


def task(
    n_train: int, n_query: int, n_features: int, n_masks: int, size: int, seed: int = 0
) -> Any:
    """Arguments of ``predict_many``: masks of about the same size."""
    rng = np.random.default_rng(seed)
    X, y = classes(n_train + n_query, n_features, seed=seed)
    masks = rng.random((n_masks, n_features)) < size / n_features
    masks[np.arange(n_masks), rng.integers(n_features, size=n_masks)] = True
    return X[:n_train], y[:n_train], masks, X[n_train:], rng.integers(2**31, size=n_masks)


def checks(args: argparse.Namespace) -> Found:
    """Predictions of the GPU beside those of the CPU engines and of scikit-learn."""
    learner = {
        name: Learner(base, np.array([0, 1]), "soft", device=args.device)
        for name, base in {
            "knn": KNeighborsClassifier(),
            "naive Bayes": GaussianNB(),
            "discriminant": LinearDiscriminantAnalysis(),
        }.items()
    }
    found: Found = {}
    data = task(4000, 1000, 60, 50, 20)
    ours, theirs = (kind(learner["knn"]).predict_many(*data) for kind in (TorchEngine, KNNEngine))
    found["knn: share of answers that differ"] = float((ours != theirs).mean())
    for dtype in (np.float32, np.float64):
        X, y, masks, query, seeds = data
        cast = (X.astype(dtype), y, masks[:20], query.astype(dtype), seeds[:20])
        for name in ("naive Bayes", "discriminant"):
            kinds = (TorchEngine, GenericEngine)
            ours, theirs = (kind(learner[name]).predict_many(*cast) for kind in kinds)
            found[f"{name}, {np.dtype(dtype)}: largest difference"] = float(
                np.abs(ours - theirs).max()
            )
        ridge = Learner(Ridge(), device=args.device)
        ours, theirs = (kind(ridge).predict_many(*cast) for kind in (TorchEngine, GenericEngine))
        found[f"ridge, {np.dtype(dtype)}: largest difference"] = float(np.abs(ours - theirs).max())
    return found


def mlp_law(args: argparse.Namespace) -> Found:
    """Test errors of 100 masked networks, by the GPU and by scikit-learn."""
    X, y, masks, query, seeds = task(1000, 1000, 30, 100, 12, seed=5)
    truth = classes(2000, 30, seed=5)[1][1000:]
    learner = Learner(MLPClassifier(20, max_iter=30), np.array([0, 1]), "hard", device=args.device)
    errors = []
    for kind in (TorchEngine, GenericEngine):
        votes = kind(learner).predict_many(X, y, masks, query, seeds)
        errors.append((votes.argmax(axis=2) != truth).mean(axis=1))
    gaps = errors[0] - errors[1]
    return {
        "mean test error, torch and scikit-learn": [float(one.mean()) for one in errors],
        "standard error of the mean difference": float(gaps.std() / np.sqrt(len(gaps))),
        "mean difference": float(gaps.mean()),
    }


def costs(args: argparse.Namespace) -> Found:
    """Times of the parts in randsub/engines/torch/cost.py, and of models made of moments."""
    found: Found = {}
    knn = Learner(KNeighborsClassifier(), np.array([0, 1]), "hard", device=args.device)
    for n_train, n_query, n_masks in [(200, 60, 10), (200, 60, 100), (9000, 2000, 100)]:
        data = task(n_train, n_query, 300, n_masks, 30)
        pairs = n_train * n_query * n_masks
        for name, kind, part in [("gpu", TorchEngine, 1.0), ("core", KNNEngine, 0.1)]:
            n_some = max(int(part * n_masks), 5)
            some = (*data[:2], data[2][:n_some], data[3], data[4][:n_some])
            engine = kind(knn)
            engine.predict_many(*some)
            spent = min(seconds(lambda some=some, e=engine: e.predict_many(*some))[0] for _ in "ab")
            found[f"knn {n_train} x {n_query}, {n_masks} masks, {name}: s per pair"] = (
                spent * n_masks / n_some / pairs
            )
    for name, base in {"naive Bayes": GaussianNB(), "LDA": LinearDiscriminantAnalysis()}.items():
        learner = Learner(base, np.array([0, 1]), "hard", device=args.device)
        data = task(20_000, 5000, 300, 100, 30)
        data = (data[0].astype(float), *data[1:3], data[3].astype(float), data[4])
        for kind in (TorchEngine, LinearAndBayesEngine):
            engine = kind(learner)
            engine.predict_many(*data)
            spent, _ = seconds(lambda engine=engine, data=data: engine.predict_many(*data))
            found[f"{name}, 20,000 rows, 100 masks, {kind.__name__}: s"] = spent
    return found


def fit(base: Any, X: Any, y: Any, args: argparse.Namespace, engine: str, **options: Any) -> Found:
    """A whole fit: seconds, models, alpha and accuracy on rows that are not trained on."""
    X_new, y_new = options.pop("new", (None, None))
    settings = {"random_state": 0, "voting": "soft", **options}
    device = args.device if engine in ("torch", "auto") else None
    n_jobs = 2 if engine != "torch" else None
    model = PRSClassifier(base, engine=engine, device=device, n_jobs=n_jobs, **settings)
    spent, _ = seconds(lambda: model.fit(X, y))
    found: Found = {
        "seconds": round(spent, 2),
        "models": model.n_models_trained_,
        "engine": model.engine_,
        "top ten of alpha": np.sort(np.argsort(-model.alpha_)[:10]).tolist(),
    }
    if X_new is not None:
        spent, score = seconds(lambda: model.score(X_new, y_new))
        found |= {"accuracy": round(score, 4), "seconds of predict": round(spent, 2)}
    return {**found, "model": model}


def shown(found: Found) -> Found:
    return {name: value for name, value in found.items() if name != "model"}


def compared(
    base: Any, X: Any, y: Any, args: argparse.Namespace, cpu: str, **options: Any
) -> Found:
    """The same fit on the GPU and on two CPU threads."""
    fit(base, X[:3000], y[:3000], args, "torch", **{**options, "max_iter": 1, "n_estimators": 4})
    fast, slow = (fit(base, X, y, args, engine, **options) for engine in ("torch", cpu))
    gap = float(np.abs(fast["model"].alpha_ - slow["model"].alpha_).max())
    ratio = round(slow["seconds"] / fast["seconds"], 1)
    return {"gpu": shown(fast), "cpu": shown(slow), "ratio": ratio, "alpha differs by": gap}


def knn(args: argparse.Namespace) -> Found:
    """N = 100,000, M = 300, max_samples=20000: a whole fit of few models, so that the CPU ends."""
    X, y = classes(100_000, 300)
    return compared(
        KNeighborsClassifier(),
        X,
        y,
        args,
        "knn",
        n_estimators=args.masks,
        max_iter=2,
        max_samples=20_000,
        solver=Solver(n_batches=2, n_revivals=0),
    )


def mlp(args: argparse.Namespace) -> Found:
    """100 masked networks of 64 units, beside a loop over scikit-learn's."""
    data = task(10_000, 2000, 100, 100, 30)
    base = MLPClassifier(64, max_iter=args.epochs, tol=0.0)
    learner = Learner(base, np.array([0, 1]), "hard", device=args.device)
    engine = TorchEngine(learner)
    # Starts the device.
    engine.predict_many(*data[:2], data[2][:5], data[3], data[4][:5])
    spent, votes = seconds(lambda: engine.predict_many(*data))
    loop, plain = seconds(lambda: GenericEngine(learner).predict_many(*data))
    return {
        "gpu seconds": round(spent, 3),
        "scikit-learn seconds": round(loop, 2),
        "ratio": round(loop / spent, 1),
        "votes that differ": float((votes != plain).any(axis=2).mean()),
    }


def wide(args: argparse.Namespace) -> Found:
    """20,000 features, 200 samples, kNN."""
    X, y = classes(200, 20_000)
    options = {"max_iter": 100, "n_repeats": 1}
    return compared(KNeighborsClassifier(), X.astype(float), y, args, "knn", **options)


def rows(args: argparse.Namespace) -> Found:
    """20,000 samples, 200 features, kNN: few models, so that the CPU ends."""
    X, y = classes(20_000, 200)
    options = {"n_estimators": args.masks, "max_iter": 2, "n_repeats": 1}
    options["solver"] = Solver(n_batches=2, n_revivals=0)
    return compared(KNeighborsClassifier(), X, y, args, "knn", **options)


def paper(args: argparse.Namespace) -> Found:
    """The paper's size, where the GPU loses: what "auto" takes, and what each engine needs."""
    X, y = classes(300, 305)
    options = {"max_iter": 200, "n_repeats": 1}
    args = argparse.Namespace(**{**vars(args), "device": None})
    found = compared(KNeighborsClassifier(), X.astype(float), y, args, "auto", **options)
    X, y = classes(100_000, 300)
    large = PRSClassifier(
        KNeighborsClassifier(), n_estimators=20, max_iter=1, max_samples=20_000, n_repeats=1
    ).fit(X, y)
    return {**found, "auto at 100,000 x 300": large.engine_}


def same(args: argparse.Namespace) -> Found:
    """The same seed on both devices for 200 epochs; a checkpoint of one, resumed on the other."""
    X, y = classes(1000, 40)
    options = {"engine": "torch", "max_iter": 200, "random_state": 1, "n_repeats": 1}
    options |= {"voting": "soft", "solver": Solver(n_revivals=0)}
    base, found, alphas = KNeighborsClassifier(), {}, {}
    with TemporaryDirectory() as folder:
        for device in (args.device, "cpu"):
            path = Path(folder) / f"{device}.ckpt"
            model = PRSClassifier(base, device=device, **options)
            alphas[device] = model.set_callbacks(Checkpoint(path, every=120)).fit(X, y).alpha_
        for here, there in [(args.device, "cpu"), ("cpu", args.device)]:
            model = PRSClassifier(base, device=there, **options)
            path = Path(folder) / f"{here}.ckpt"
            gap = np.abs(model.fit(X, y, resume_from=path).alpha_ - alphas[here]).max()
            found[f"from {here} to {there}: alpha differs by"] = float(gap)
    gap = np.abs(alphas[args.device] - alphas["cpu"]).max()
    return {"alpha of both devices differs by": float(gap), **found}


def mnist(args: argparse.Namespace) -> Found:
    """Ten digits, neighbours and networks: accuracy, minutes, maps of alpha (--output)."""
    if args.mnist is None:
        digits = load_digits()
        X, y = digits.data.astype(np.float32), digits.target
        name, side = "scikit-learn's digits", 8
    else:
        stored = np.load(args.mnist)
        X, y = stored["X"].astype(np.float32) / 255.0, stored["y"].astype(int)
        name, side = f"{len(y)} digits of {args.mnist.name}", 28
    n_new = min(10_000, len(y) // 5)
    X, y, new = X[:-n_new], y[:-n_new], (X[-n_new:], y[-n_new:])
    n_rows = min(args.mnist_rows, len(y))
    found: Found = {"data": name, "epochs": args.mnist_epochs, "rows per model": n_rows}
    bases = {
        "knn": KNeighborsClassifier(),
        "mlp": MLPClassifier(64, max_iter=20, learning_rate_init=3e-3, batch_size=500),
    }
    for title in args.mnist_bases:
        base = bases[title]
        options = {"n_estimators": 100, "max_iter": args.mnist_epochs, "standardize": False}
        if n_rows < len(y):
            options["max_samples"] = n_rows
        options["solver"] = Solver(n_batches=3, n_revivals=0)
        one = fit(base, X, y, args, "torch", new=new, **options)
        found[title] = {**shown(one), "minutes": round(one["seconds"] / 60, 2)}
        found[title]["pixels per member"] = round(one["model"].expected_size_, 1)
        # Beside it: scikit-learn's own on all pixels, of as many rows.
        alone = clone(base).set_params(**({"n_jobs": 2} if title == "knn" else {}))
        alone.fit(X[:n_rows], y[:n_rows])
        found[title]["accuracy of the base model alone"] = round(alone.score(*new), 4)
        if args.output is not None:
            alpha = one["model"].alpha_.reshape(side, side)
            np.save(args.output / f"alpha_{title}.npy", alpha)
    return found


def large(args: argparse.Namespace) -> Found:
    """A million rows, kNN and networks."""
    X, y = classes(1_000_000, 50)
    options = {"n_estimators": 10, "max_iter": 3, "max_samples": 100_000}
    options["solver"] = Solver(n_batches=2, n_revivals=0)
    found = {}
    for name, base in {
        "knn": KNeighborsClassifier(),
        "mlp": MLPClassifier(64, max_iter=5, batch_size=2000),
    }.items():
        found[name] = shown(fit(base, X, y, args, "torch", **options))
    return found


def profile(args: argparse.Namespace) -> Found:
    """What a wide run on the GPU spends its time on: seconds in engine calls, and elsewhere."""
    X, y = classes(200, 20_000)
    spent = [0.0]
    plain = TorchEngine.predict_many

    def timed(self: Any, *data: Any) -> Any:
        one, found = seconds(lambda: plain(self, *data))
        spent[0] += one
        return found

    TorchEngine.predict_many = timed  # type: ignore[method-assign]
    try:
        one = fit(KNeighborsClassifier(), X, y, args, "torch", max_iter=100, n_repeats=1)
    finally:
        TorchEngine.predict_many = plain  # type: ignore[method-assign]
    return {"seconds": one["seconds"], "in the engine": round(spent[0], 2), "models": one["models"]}


PARTS = {
    "checks": checks,
    "law": mlp_law,
    "costs": costs,
    "same": same,
    "paper": paper,
    "wide": wide,
    "rows": rows,
    "profile": profile,
    "mlp": mlp,
    "knn": knn,
    "mnist": mnist,
    "large": large,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--masks", type=int, default=10, help="masks per batch of part knn")
    parser.add_argument("--epochs", type=int, default=20, help="epochs of part mlp")
    parser.add_argument("--mnist", type=Path)
    parser.add_argument("--mnist-epochs", type=int, default=600)
    parser.add_argument("--mnist-rows", type=int, default=10_000, help="rows per model, at most")
    parser.add_argument("--mnist-bases", nargs="+", default=["knn", "mlp"])
    parser.add_argument("--output", type=Path, help="folder for maps of alpha")
    args = parser.parse_args()
    if args.output is not None:
        args.output.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore", ConvergenceWarning)
    threads = {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")}
    print(json.dumps({"device": args.device, **threads}), flush=True)
    for part in args.parts:
        spent, found = seconds(lambda part=part: PARTS[part](args))
        print(json.dumps({"part": part, **found, "took": round(spent, 1)}), flush=True)


if __name__ == "__main__":
    main()
