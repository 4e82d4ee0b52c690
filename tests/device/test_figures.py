"""Figures in the documents are those that the benchmark wrote, and they reach the aims."""

import importlib
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HERE = ROOT / "benchmarks" / "device"
pytestmark = pytest.mark.skipif(not HERE.exists(), reason="the benchmark is in the source tree only")


@pytest.fixture
def documents(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    for name in [name for name in sys.modules if name.split(".")[0] == "benchmarks"]:
        monkeypatch.delitem(sys.modules, name)
    return importlib.import_module("benchmarks.device.documents")


@pytest.mark.parametrize("name", ["docs/guide/device.md", "device/README.md"])
def test_the_tables_of_the_documents_are_the_benchmark_s(name, documents):
    """Write them anew with ``python -m benchmarks.device.documents``."""
    text = (ROOT / name).read_text()
    assert "<!-- figures: " in text
    assert documents.filled(text) == text


def test_a_changed_figure_is_noticed(documents):
    text = (ROOT / "device" / "README.md").read_text()
    number = f"{documents.figures()['train, batch from flash']:,}"
    assert number in text
    assert documents.filled(text.replace(number, "1")) == text


def test_every_table_is_in_a_document(documents):
    texts = "".join((ROOT / name).read_text() for name in documents.DOCUMENTS)
    assert {name for name in documents.TABLES if f"<!-- figures: {name} -->" not in texts} == set()


def test_the_aims_are_reached(documents):
    """What the issue asked for, on the figures that the documents show."""
    f = documents.figures()
    assert f["train, batch from flash"] <= 77_500
    assert f["int16 wide, arduino"] <= 8_500
    assert f["int16 to 4096, arduino"] <= 8_500
    assert f["floats, arduino"] <= 12_000
    assert f["classify, weights in RAM, margin"] - f["classify, weights in RAM"] <= 20
    assert f["classify, weights in flash, margin"] - f["classify, weights in flash, no unknown"] <= 20
    assert f["int16 wide, c"] <= 8_500
    assert f["int16 to 4096, c"] <= 8_500
    assert f["floats, c"] <= 12_000
    for target in ("c", "arduino", "generated"):
        assert f[f"table uint8, {target}"] <= 2_500
        assert f[f"table int16, {target}"] <= 2_500
        assert f[f"table float, {target}"] <= 2_500
    assert f["interactions int16, uno"] <= 7_500
    assert f["interactions float, uno"] <= 7_500
    assert f["m4 learn"] <= 36_000
    assert f["m4 classify"] <= 300
    assert f["m0 learn"] <= 64_000
    assert f["bins learn"] <= 2_500
    assert f["bins classify"] <= 2_500
    assert f["bins classify fixed"] <= 2_500


def test_the_run_says_what_was_measured_with_what():
    run = json.loads((HERE / "run.json").read_text())
    for part in ("tables", "figures", "learning"):
        assert len(run[part]["commit"]) == 40
        assert run[part]["tools"]["avr-gcc"]
        assert run[part]["machine"]
