"""Each private name of joblib that we use, so that a release that moves one is told by name."""

import importlib.metadata
import inspect

import pytest

from randsub import _joblib


@pytest.mark.parametrize("name", _joblib.__all__)
def test_joblib_still_has_it(name):
    version = importlib.metadata.version("joblib")
    assert getattr(_joblib, name, None) is not None, f"joblib {version} has no {name}"


def test_backends_still_have_what_is_called_on_them():
    backend = _joblib.LokyBackend
    for name in (_joblib.SUBMIT, "retrieve_result_callback", "effective_n_jobs"):
        assert callable(getattr(backend, name))
    assert isinstance(backend.supports_retrieve_callback, bool)
    assert list(inspect.signature(getattr(backend, _joblib.SUBMIT)).parameters)[:3] == [
        "self",
        "func",
        "callback",
    ]
    assert "reuse" in inspect.signature(_joblib.get_reusable_executor).parameters


def test_the_backend_for_dask_still_has_what_is_copied():
    pytest.importorskip("distributed")
    dask = pytest.importorskip("joblib._dask")
    parameters = inspect.signature(dask.DaskDistributedBackend).parameters
    assert {"client", "wait_for_workers_timeout", "submit_kwargs"} <= set(parameters)
