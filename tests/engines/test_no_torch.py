"""Without PyTorch: one sentence names the extra, and nothing else changes."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsRegressor

from randsub import PRSRegressor
from randsub.engines.torch import device as devices

X = np.random.default_rng(0).normal(size=(30, 3))


@pytest.mark.parametrize("options", [{"engine": "torch"}, {"device": "cuda"}])
def test_the_error_names_the_extra(options, monkeypatch):
    monkeypatch.setattr(devices, "is_installed", lambda: False)
    model = PRSRegressor(KNeighborsRegressor(), **options)
    with pytest.raises(ValueError, match=r"needs PyTorch, which is not installed.*randsub\[torch"):
        model.fit(X, X[:, 0])


def test_the_library_does_not_import_it():
    code = (
        "import sys, numpy as np, randsub; from sklearn.neighbors import KNeighborsRegressor; "
        "X = np.random.default_rng(0).normal(size=(30, 3)); "
        "model = randsub.PRSRegressor(KNeighborsRegressor(2), n_estimators=4, max_iter=1, "
        "engine='generic'); "
        "model.fit(X, X[:, 0]); assert 'torch' not in sys.modules, 'torch was imported'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
