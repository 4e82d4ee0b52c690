"""Figures in the documents are those of the files that the benchmarks wrote."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
from benchmarks import numbers  # noqa: E402 - not a package that is installed

sys.path.remove(str(ROOT))

PAGES = [path for path in numbers.documents() if path.exists() and numbers.BLOCK.search(path.read_text())]


def test_documents_with_figures_are_found() -> None:
    names = {path.relative_to(ROOT).as_posix() for path in PAGES}
    assert {"README.md", "docs/guide/passes.md", "docs/guide/settings.md", "docs/guide/streams.md"} <= names


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_text_and_results_agree(page: Path) -> None:
    text = page.read_text()
    assert numbers.filled(text) == text, "run make numbers"


def test_a_figure_that_was_changed_by_hand_is_noticed() -> None:
    text = (ROOT / "README.md").read_text()
    start = text.index("<!-- numbers: choices -->")
    at = next(found.start() for found in re.finditer(r"\d\d\.\d", text) if found.start() > start)
    changed = text[:at] + "99.9" + text[at + 4 :]
    assert numbers.filled(changed) == text


def test_every_block_is_closed_and_known() -> None:
    for page in numbers.documents():
        if page.exists():
            text = page.read_text()
            opened = re.findall(r"<!-- numbers: (\w+) -->", text)
            assert [name for _, name, _ in numbers.BLOCK.findall(text)] == opened, page
            assert set(opened) <= set(numbers.TABLES), page


def test_the_readme_types_no_measurement_by_hand() -> None:
    """A time, a speed or a count of cycles stands in a table from a file, not in a sentence."""
    text = numbers.BLOCK.sub("", (ROOT / "README.md").read_text())
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    assert re.findall(r"\d[\d.,]*\s?(?:ms|µs|us|s|cycles|times|GB/s|points)\b", text) == []


def test_where_linear_svc_is_shown_logistic_regression_is_too() -> None:
    for page in numbers.documents():
        if page.exists() and page.name != "paper.md":  # which SVM the paper has used
            tables = re.findall(r"(?:^\|.*\n)+", page.read_text(), flags=re.MULTILINE)
            assert [t for t in tables if "LinearSVC" in t and "LogisticRegression" not in t] == [], page
