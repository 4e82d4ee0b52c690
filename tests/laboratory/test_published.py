"""published.toml holds every number that the paper prints, and nothing else."""

import re
from pathlib import Path

import pytest

from laboratory import datasets as datasets
from laboratory import published
from laboratory.methods import METHODS

ROOT = Path(__file__).resolve().parents[2]
TEX = ROOT.parent / "shared" / "paper" / "sefr.tex"
ROWS = ("LightGBM", "XGBoost", "CatBoost", "Decision Tree", "Random Forest", "Naive Bayes", "SVM", "SEFR")


def numbers(line):
    return [float(cell) for cell in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])", line)]


@pytest.fixture(scope="module")
def tex():
    if not TEX.exists():
        pytest.skip(f"no paper at {TEX}")
    blocks = re.split(r"\\begin\{table\*?\}", TEX.read_text())
    return {
        name: next(block for block in blocks if f"\\label{{tab:{name}}}" in block)
        for name in ("table1", "table2", "table2m", "table3", "table3m", "table4", "table5")
    }


@pytest.mark.parametrize(
    ("table", "names", "quantities"),
    [
        ("table2", published.BINARY, ("accuracy", "f1")),
        ("table2m", published.MULTICLASS, ("accuracy", "f1")),
        ("table3", published.BINARY, ("seconds", "joules")),
        ("table3m", published.MULTICLASS, ("seconds", "joules")),
    ],
)
def test_tables_2_and_3_are_the_papers(tex, table, names, quantities):
    printed = {}
    for line in tex[table].splitlines():
        title = line.split("&")[0].strip()
        if title in ROWS:
            printed[title.lower().replace(" ", "_")] = numbers(line.split("&", 1)[1])
    ours = {
        method: [published.number(q, name, method) for name in names for q in quantities]
        for method in printed
    }
    assert len(printed) == 8
    assert ours == printed
    assert set(published.tables()[table]) == set(names)


def test_table_1_is_the_papers_and_the_catalogues(tex):
    lines = [line for line in tex["table1"].splitlines() if line.count("&") == 3 and "Records" not in line]
    printed = [numbers(line.split("&", 1)[1]) for line in lines]
    table = published.tables()["table1"]
    assert [[row["records"], row["features"], row["classes"]] for row in table.values()] == printed
    for name, row in table.items():
        item = datasets.entry(name)
        assert (row["records"], row["features"]) == item.shape
        assert row["classes"] == len(item.counts)
        assert row["records"] == sum(item.counts)


@pytest.mark.parametrize("table", ["table4", "table5"])
def test_uno_tables_are_the_papers(tex, table):
    body = [
        line for line in tex[table].splitlines() if line.startswith(r"\multicolumn{1}{l|}") and "&" in line
    ]
    printed = [numbers(line.split("&", 2)[2]) for line in body]
    found = published.tables()[table]
    assert found["milliseconds"] == printed
    assert found["records"] == found["features"] == [25, 50, 75, 100]


def test_every_row_of_the_paper_has_a_method():
    assert {method.paper for method in METHODS.values()} == set(published.tables()["table2"]["sonar"])


def test_unknown_cells_are_none():
    assert published.number("accuracy", "gisette_shape", "sefr") is None
    assert published.number("accuracy", "sonar", "sefr") == 70.17
