"""What people read is plain English: habits of speech that native readers stumble over are gone."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.main import get_command

from sefr.cli import app

ROOT = Path(__file__).parents[2]
HABITS = re.compile(
    r"\bso many\b|\bsuch as\b|\bat hand\b|\bspeaks? (?:for|against)\b|\bcomes? home\b|\bwhat should be told\b"
    r"|\bin passing\b|\bequals never having\b|\bcarry away\b|\bferns?\b",
    re.IGNORECASE,
)
# The pages that explain the word to those who read the code, the file and the library in C.
NAMED_THERE = {"how_it_works.md", "glossary.md", "model_file.md", "auto.md", "regression.md"}
DOCUMENTED = ("sefr", "sefr.device", "sefr.signals", "sefr.files", "sefr.engines.river")


def _pages() -> list[Path]:
    own = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "guide").glob("*.md")]
    own += [*(ROOT / "docs" / "start").glob("*.md"), ROOT / "docs" / "reference" / "model_file.md"]
    return [ROOT / "README.md", ROOT / "joss" / "paper.md", *own]


def _prose(text: str) -> str:
    """Return Markdown without code and without what benchmarks wrote."""
    text = re.sub(r"<!-- numbers: .*?<!-- end of numbers -->", "", text, flags=re.DOTALL)
    return re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.DOTALL | re.MULTILINE)


def _stumbles(text: str, *, fern: bool = False) -> list[str]:
    found = [match[0] for match in HABITS.finditer(text)]
    return [word for word in found if not (fern and word.lower().startswith("fern"))]


def _helps() -> Iterator[tuple[str, str]]:
    def walk(command, path):
        yield " ".join(path), command.help or ""
        for parameter in command.params:
            yield f"{' '.join(path)} {parameter.name}", getattr(parameter, "help", None) or ""
        for name, child in getattr(command, "commands", {}).items():
            yield from walk(child, (*path, name))

    yield from walk(get_command(app), ("sefr",))


def test_habits_are_noticed() -> None:
    assert _stumbles("up to so many ferns, such as 60") == ["so many", "ferns", "such as"]
    assert _stumbles(_prose("`ferns` and\n```text\nat hand\n```\n")) == []


@pytest.mark.parametrize("page", _pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_are_plain(page: Path) -> None:
    assert _stumbles(_prose(page.read_text()), fern=page.name in NAMED_THERE) == []


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("plot_*.py")), ids=lambda path: path.stem)
def test_examples_are_plain(example: Path) -> None:
    assert _stumbles(example.read_text()) == []


def test_the_help_of_the_command_is_plain() -> None:
    helps = dict(_helps())
    assert len(helps) > 100
    assert {place: found for place, text in helps.items() if (found := _stumbles(text))} == {}


@pytest.mark.parametrize("module", DOCUMENTED)
def test_docstrings_of_the_reference_are_plain(module: str) -> None:
    if module == "sefr.engines.river":
        pytest.importorskip("river")
    found = {}
    for name in importlib.import_module(module).__all__:
        value = getattr(importlib.import_module(module), name)
        found[name] = inspect.getdoc(value) or ""
        for member, method in inspect.getmembers(value) if inspect.isclass(value) else ():
            if not member.startswith("_") and str(getattr(method, "__module__", "")).startswith("sefr"):
                found[f"{name}.{member}"] = inspect.getdoc(method) or ""
    plain = {name: text.replace("ferns :", "") for name, text in found.items()}  # a member of that name
    assert {name: words for name, text in plain.items() if (words := _stumbles(text))} == {}


def test_the_glossary_has_the_words_that_are_ours() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text()
    ours = {
        "Summary",
        "pass",
        "bins",
        "interaction",
        "contribution",
        "effect",
        "midpoint",
        "forget",
        "engine",
        "Twin",
    }
    assert ours <= set(re.findall(r"\*\*(.*?)\*\*", text))
