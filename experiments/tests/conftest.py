"""Fixtures that several test modules share."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of the data sets that cannot be part of the repository, or a skip."""
    beside_the_repository = Path(__file__).resolve().parents[3] / "shared" / "data"
    folder = Path(os.environ.get("RANDSUB_SHARED_DATA") or beside_the_repository)
    if not folder.is_dir():
        pytest.skip(
            f"no data sets in {folder}: set RANDSUB_SHARED_DATA to the folder that holds them"
        )
    return folder
