import importlib.util
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from sefr.device import board

settings.register_profile(
    "sefr",
    deadline=None,
    max_examples=60,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("sefr")


class Need(NamedTuple):
    """What a test may need beyond the wheels of ``make test``: who installs it, and whether it is here."""

    tier: str
    found: Callable[[], bool]


def programs(*names):
    return lambda: all(shutil.which(name) for name in names)


def packages(*names):
    return lambda: all(importlib.util.find_spec(name) for name in names)


def both(*conditions):
    return lambda: all(condition() for condition in conditions)


# make test-boards, test-engines and test-web install what their tests need, make test-all everything.
NEEDS = {
    "avr": Need("boards", programs("avr-gcc")),
    "arduino": Need("boards", lambda: Path("/usr/share/arduino/hardware/arduino/avr").is_dir()),
    "arm": Need("boards", programs("arm-none-eabi-gcc", "qemu-system-arm")),
    "riscv": Need("boards", programs("riscv64-unknown-elf-gcc", "qemu-system-riscv32")),
    "manifests": Need("boards", packages("yaml", "west")),
    "esphome": Need("boards", lambda: Path("build/esphome").is_dir() or packages("esphome")()),
    "micropython": Need("boards", programs("node", "npm")),
    "spark": Need("engines", both(programs("java"), packages("pyspark"))),
    "dask": Need("engines", packages("dask", "distributed")),
    "ibis": Need("engines", packages("ibis")),
    "postgresql": Need("engines", both(packages("psycopg"), lambda: Path("/usr/lib/postgresql").is_dir())),
    "mlflow": Need("engines", packages("mlflow")),
    "remote": Need("engines", packages("fsspec", "aiohttp")),
    "browser": Need("web", both(programs("chromium"), packages("playwright"))),
    "node": Need("web", programs("node", "npm")),
    "sphinx": Need("web", packages("sphinx", "pyspark")),
}
# Programs of ``sefr.device``, fixtures and values of parameters that need something.
OF_PROGRAMS = {
    "avr-gcc": "avr",
    "arm-none-eabi-gcc": "arm",
    "qemu-system-arm": "arm",
    "riscv64-unknown-elf-gcc": "riscv",
    "qemu-system-riscv32": "riscv",
}
OF_FIXTURES = {"spark": "spark", "postgres": "postgresql", "browser": "browser", "site": "sphinx"}
OF_VALUES = {
    "uno": "avr",
    **dict.fromkeys(["cortex-m0", "cortex-m3", "cortex-m4"], "arm"),
    "riscv32": "riscv",
    "pyspark": "spark",
    "dask": "dask",
    "ibis": "ibis",
}


NEEDED = pytest.StashKey[set[str]]()
running: set[str] = set()


def pytest_collection_modifyitems(items):
    for item in items:
        needs = {need for mark in item.iter_markers("needs") for need in mark.args}
        needs |= {OF_FIXTURES[name] for name in getattr(item, "fixturenames", ()) if name in OF_FIXTURES}
        given = getattr(getattr(item, "callspec", None), "params", {}).values()
        values = [part for value in given for part in (value if isinstance(value, tuple) else [value])]
        needs |= {OF_VALUES[value] for value in values if isinstance(value, str) and value in OF_VALUES}
        item.stash[NEEDED] = needs
        for need in sorted(needs):
            item.add_marker(getattr(pytest.mark, NEEDS[need].tier))
            if not NEEDS[need].found() and os.environ.get("CI") != "true":
                reason = f"needs {need}: make test-{NEEDS[need].tier} installs it"
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    running.update(item.stash[NEEDED])


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown():
    running.clear()


@pytest.fixture(scope="session", autouse=True)
def undeclared_tools_are_absent():
    """Let a test find no toolchain that it does not say it needs: the next machine may not have it."""
    find = board._find

    def find_declared(program, packages):
        need = OF_PROGRAMS.get(program)
        if need is not None and need not in running:
            undeclared = f"this test is not marked needs({need!r})"
            raise board.ToolMissingError(f"{program} is not installed ({packages}): {undeclared}")
        return find(program, packages)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(board, "_find", find_declared)
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(20)


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory):
    """Return one folder for all processes that pytest-xdist started."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


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
