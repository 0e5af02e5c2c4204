"""How gene networks are inferred and measured: PRS along its path, RaSE, GENIE3, chance.

Alpha and the coefficient of PRS, and the iteration of RaSE, are chosen on the validation samples;
forests have nothing to choose.
"""

import time
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from randsub.network import PRSNetwork, genie3, rase_network, score_network
from randsub_experiments.cells import PARTS, Cell, Row
from randsub_experiments.datasets.dream4 import Dream4Network
from randsub_experiments.methods import compile_engines
from randsub_experiments.problem import BASES
from randsub_experiments.prs_settings import with_solver
from randsub_experiments.result_table import rows_of

# Samples that GENIE3 is trained on. The paper does not say; participants of the challenge had all.
ALL_SAMPLES: Final = "all samples"
TRAINING_SAMPLES: Final = "training samples"


def measure_network(cell: Cell, data: Dream4Network) -> Row:
    """Infer the network with the method of the cell, and compare it with the true one.

    Parameters
    ----------
    cell : Cell
    data : Dream4Network

    Returns
    -------
    row : dict
        ``aupr``, ``auroc`` and ``early_precision`` by the rules of the challenge; ``size``, the
        expected number of regulators of a target, and ``sizes``, that of each target; ``models``
        and ``seconds``. PRS has a part for each coefficient ``lam``, with its
        ``validation_loss`` and the ``standard_error`` of that.
    """
    return _METHODS[cell.method](cell, data)


def _scores(network: Any, data: Dream4Network) -> Row:
    scores = score_network(network, data.gold, gene_names=data.gene_names)
    return {
        "aupr": scores.aupr,
        "auroc": scores.auroc,
        "early_precision": scores.early_precision,
    }


def _named(data: Dream4Network) -> dict[str, Any]:
    # Files without a split have no validation samples: the methods then split some off.
    val = data.X_val if len(data.X_val) else None
    return {"expression_val": val, "gene_names": data.gene_names}


def _prs(cell: Cell, data: Dream4Network) -> Row:
    compile_engines("prs", cell.base, "regression")
    base = BASES[cell.base]["regression"]()
    model = PRSNetwork(base, random_state=cell.seed, n_jobs=1, **with_solver(cell.arguments))
    begin = time.perf_counter()
    model.fit(data.X_train, **_named(data))
    seconds = time.perf_counter() - begin
    parts = [
        {
            "lam": float(step.lam),
            **_scores(model.network_at(step.lam), data),
            "size": float(step.mean_size),
            "sizes": sizes.tolist(),
            "validation_loss": float(step.validation_error),
            "standard_error": float(step.standard_error),
            "models": int(step.n_models),
            "seconds": float(step.seconds),
        }
        for step, sizes in zip(rows_of(model.path_), model.path_expected_sizes_, strict=True)
    ]
    return {"models": model.n_models_trained_, "seconds": seconds, PARTS: parts}


def _rase(cell: Cell, data: Dream4Network) -> Row:
    compile_engines("rase", cell.base, "regression")
    base = BASES[cell.base]["regression"]()
    begin = time.perf_counter()
    network = rase_network(
        data.X_train,
        estimator=base,
        random_state=cell.seed,
        n_jobs=1,
        **_named(data),
        **cell.arguments,
    )
    seconds = time.perf_counter() - begin
    sizes = np.asarray(network.expected_sizes)
    return {
        **_scores(network, data),
        "size": float(sizes.mean()),
        "sizes": sizes.tolist(),
        "models": network.n_models_trained,
        "seconds": seconds,
    }


def _genie3(cell: Cell, data: Dream4Network) -> Row:
    rows = [data.X_train] + ([data.X_val] if cell.setting == ALL_SAMPLES else [])
    begin = time.perf_counter()
    network = genie3(
        np.concatenate(rows),
        gene_names=data.gene_names,
        n_jobs=1,
        random_state=cell.seed,
        **cell.arguments,
    )
    seconds = time.perf_counter() - begin
    return {**_scores(network, data), "models": network.n_models_trained, "seconds": seconds}


def _random(cell: Cell, data: Dream4Network) -> Row:
    """No ranking at all: every order of the pairs is equally likely."""
    begin = time.perf_counter()
    scores = _scores(np.zeros(data.gold.shape), data)
    return {**scores, "models": 0, "seconds": time.perf_counter() - begin}


_METHODS: Final[dict[str, Callable[[Cell, Dream4Network], Row]]] = {
    "prs": _prs,
    "rase": _rase,
    "genie3": _genie3,
    "random": _random,
}
