import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "sefr",
    deadline=None,
    max_examples=60,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("sefr")


# Boards, engines, browsers, fuzzed files and instrumented builds: minutes in all, though each test is short.
SLOW_FILES = (
    *("tests/device/", "tests/engines/", "tests/studio/"),
    *("test_damaged", "test_pipes", "test_shapes", "test_bombs", "test_foreign_text", "rows/test_faults"),
    *("test_kernel_sanitizers", "test_kernel_instructions"),
)


def pytest_collection_modifyitems(items):
    for item in items:
        if any(part in item.path.as_posix() for part in SLOW_FILES) and item.path.suffix == ".py":
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def rng():
    return np.random.default_rng(20)


@pytest.fixture(scope="module")
def browser():
    """A Chromium without a window. One per module: no two may be open in one process."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        assert os.environ.get("CI") != "true", "CI must have Chromium: make browser-tools"
        pytest.skip("there is no Chromium: make browser-tools installs it")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def paper_data():
    """Return a loader for the paper's data sets, or skip where they are absent."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "datasets"
    folder = Path(os.environ.get("SEFR_DATA", beside))

    def load(name):
        path = folder / f"{name}.npz"
        if not path.exists():
            pytest.skip(f"{path.name} is not in {folder.name}/: set SEFR_DATA to the folder that has it")
        return np.load(path)

    return load
