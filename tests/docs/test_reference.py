"""The reference pages: every public name of Python, the command and the C headers; examples run."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="the pages of the reference import every module: make test-web")
pytestmark = pytest.mark.needs("sphinx")

ROOT = Path(__file__).parents[2]


def _page_maker(name: str) -> ModuleType:
    folder = str(ROOT / "docs" / "_ext")
    sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(folder)


API, COMMANDS, DEVICE = (_page_maker(f"{name}_pages") for name in ("api", "command", "device"))
NAMES = {
    f"{module}.{name}": value
    for module in API.MODULES
    for name, value in API.names_of(module)
    if f"{module}.{name}" not in API.VALUES
}


def test_every_public_name_has_a_page() -> None:
    pages = API.pages()
    assert len(NAMES) > 40
    assert {f"api/{name}.rst" for name in NAMES} <= set(pages)
    for module in API.MODULES:
        for name in importlib.import_module(module).__all__:
            assert name in pages[f"api/{module}.rst"]


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_has_an_example(name: str) -> None:
    """The suite runs them: pytest collects doctests from src."""
    assert ">>> " in (inspect.getdoc(NAMES[name]) or "")


# These need a compiler for boards, Spark or data; the others run with the suite wherever it runs.
NEEDS = {
    "sefr.device": "avr-gcc",
    "sefr.engines.spark": "java",
    "sefr.engines.spark_regression": "java",
}
SKIPPED = [name for name, value in NAMES.items() if "+SKIP" in (inspect.getdoc(value) or "")]


def test_only_examples_that_need_tools_are_set_aside() -> None:
    assert {name.rpartition(".")[0] for name in SKIPPED} == set(NEEDS)


@pytest.mark.slow
@pytest.mark.parametrize("name", SKIPPED)
def test_examples_that_need_tools_run_where_the_tools_are(name: str) -> None:
    module, _, short = name.rpartition(".")
    if NEEDS[module] and shutil.which(NEEDS[module]) is None:
        pytest.skip(f"{NEEDS[module]} is not installed")
    if module == "laboratory.datasets" and len(importlib.import_module(module).available()) < 2:
        pytest.skip("the paper's datasets are not at hand")
    text = re.sub(r"\s*# doctest: \+SKIP", "", inspect.getdoc(NAMES[name]) or "")
    code = (
        "import doctest, sys\n"
        f"test = doctest.DocTestParser().get_doctest({text!r}, {{}}, {short!r}, None, 0)\n"
        "flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS\n"
        "sys.exit(doctest.DocTestRunner(optionflags=flags).run(test).failed)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_command_reference_has_every_command_and_option() -> None:
    page = COMMANDS.pages()["commands.md"]
    found = list(COMMANDS.commands(COMMANDS.typer.main.get_command(COMMANDS.app), ("sefr",)))
    assert len(found) > 12
    for path, command in found:
        section = page.partition(f"## {' '.join(path)}\n")[2].partition("\n## ")[0]
        options = [option for each in command.params for option in each.opts if option.startswith("--")]
        assert [option for option in options if option not in section] == [], path


@pytest.mark.parametrize(
    "header", ["sefr.h", "sefr_state.h", "sefr_window.h", "sefr_signal.h"]
)  # others: callbacks of their own
def test_the_device_reference_has_every_function(header: str) -> None:
    page = DEVICE.pages()["c_library.md"]
    text = (DEVICE.SOURCE / header).read_text()
    declared = set(re.findall(r"^\w[\w *]*?\b(sefr_[a-zA-Z_]+)\([^;{]*\)(?:;| \{)", text, re.MULTILINE))
    assert declared
    assert {name for name in declared if name not in page} == set()


def _examples(value: Any) -> list[doctest.Example]:
    return doctest.DocTestParser().get_examples(inspect.getdoc(value) or "")


def test_examples_show_results() -> None:
    """An example that only imports proves nothing."""
    assert [name for name, value in NAMES.items() if not any(e.want for e in _examples(value))] == []
