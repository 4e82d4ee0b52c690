"""Where the real datasets are: ``SEFR_DATA``, or ``../shared/datasets`` beside the repository."""

import os
from pathlib import Path

import pytest

SIBLING = Path(__file__).resolve().parents[3] / "shared" / "datasets"


@pytest.fixture
def real_data(monkeypatch, tmp_path):
    """Point ``SEFR_DATA`` at the real datasets, or skip; the user's cache is kept out of it."""
    folder = Path(os.environ.get("SEFR_DATA", SIBLING))
    if not folder.is_dir():
        pytest.skip(f"no datasets: set SEFR_DATA, or put them into {SIBLING}")
    monkeypatch.setenv("SEFR_DATA", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder
