"""MNIST, 5 against 6, with noise: PRS without and with the penalty that validation chooses.

Prints the accuracies beside the paper's, and draws the alpha maps. The penalties are those of the
paper: sparsity and smoothness in {0, 1e-4, 1e-3, 1e-2} each, unless --coefficients says otherwise.

    python benchmarks/mnist.py --data FOLDER [--noise 0.6] [--images 1500] [--epochs 400]
        [--bases knn tree svm] [--coefficients 0 1e-3] [--optimizer adam] [--jobs 2]
        [--figure maps.png]
"""

import argparse
from pathlib import Path

from defaults.settings import BASES
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from randsub import PRSClassifier
from randsub.datasets import load_mnist
from randsub.exceptions import DatasetNotFoundError
from randsub.inspection import AlphaMapDisplay
from randsub.search import COEFFICIENTS, image_penalties, search_penalty

SHAPE = (28, 28)
# Test accuracies without regularisation, and with the coefficients that validation chooses; the
# level of the noise is not published.
PUBLISHED = {"tree": (0.976, 0.982), "knn": (0.938, 0.955), "svm": (0.954, 0.959)}
PUBLISHED_FORESTS = {"RandomForestClassifier": 0.969, "GradientBoostingClassifier": 0.982}


def parse() -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with the images")
    parser.add_argument("--noise", type=float, default=0.6, help="standard deviation; ink is 1")
    parser.add_argument("--images", type=int, help="training images; all of them if not given")
    parser.add_argument("--epochs", type=int, default=400)
    parser.add_argument("--bases", nargs="+", choices=BASES, default=["knn"])
    parser.add_argument("--coefficients", nargs="+", type=float, default=COEFFICIENTS)
    parser.add_argument("--optimizer", default="adam")
    parser.add_argument("--warm", action="store_true", help="start each fit from its neighbour")
    parser.add_argument("--forests", action="store_true", help="random forest and boosting, too")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--figure", type=Path, help="where to draw the maps of the first base")
    return parser, parser.parse_args()


def main() -> None:
    parser, args = parse()
    try:
        data = load_mnist(args.data, (5, 6), args.noise, random_state=args.seed)
    except DatasetNotFoundError as error:
        parser.error(str(error))
    # Training and validation images are in random order.
    n_train = min(args.images or len(data.y_train), len(data.y_train))
    n_val = min(n_train // 4 if args.images else len(data.y_val), len(data.y_val))
    X, y = data.X_train[:n_train], data.y_train[:n_train]
    X_val, y_val = data.X_val[:n_val], data.y_val[:n_val]
    print(
        f"{n_train} training, {n_val} validation and {len(data.y_test)} test images, noise "
        f"{args.noise:g}, {args.epochs} epochs, {args.optimizer}, seed {args.seed}"
    )
    drawn = []
    for base in args.bases:
        model = PRSClassifier(
            BASES[base][1],
            n_batches=2,
            max_iter=args.epochs,
            optimizer=args.optimizer,
            n_jobs=args.jobs,
            random_state=args.seed,
        )
        penalties = image_penalties(
            *SHAPE, sparsity=args.coefficients, smoothness=args.coefficients
        )
        search = search_penalty(
            model, penalties, X, y, X_val=X_val, y_val=y_val, warm_start=args.warm
        )
        table = search.table.assign(
            test_accuracy=[m.score(data.X_test, data.y_test) for m in search.models]
        )
        plain, chosen = PUBLISHED[base]
        print(f"\n{base} (the paper: {plain} without, {chosen} with a penalty)")
        print(table.round(4).to_string(), flush=True)
        drawn = drawn or search.models
    if args.forests:
        for forest in (RandomForestClassifier(1000), GradientBoostingClassifier()):
            forest.set_params(random_state=args.seed).fit(X, y)
            name, score = type(forest).__name__, forest.score(data.X_test, data.y_test)
            print(f"{name}: {score:.4f} (the paper: {PUBLISHED_FORESTS[name]})")
    if args.figure:
        names = [
            " ".join(f"{kind[:5]} {lam:g}" for kind, lam in m.penalty.coefficients().items())
            for m in drawn
        ]
        display = AlphaMapDisplay.from_estimator(drawn, SHAPE, names=names)
        args.figure.parent.mkdir(parents=True, exist_ok=True)
        display.figure_.savefig(args.figure, dpi=120)


if __name__ == "__main__":
    main()
