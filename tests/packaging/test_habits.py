"""Files that nothing else reads: workflows, templates, the citation, and the one version number."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"))


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("vendor.github-workflows", WORKFLOWS),
        ("vendor.github-issue-forms", FORMS),
        ("vendor.citation-file-format", [ROOT / "CITATION.cff"]),
    ],
    ids=["workflows", "issue forms", "citation"],
)
def test_files_follow_their_schema(schema: str, files: list[Path]) -> None:
    pytest.importorskip("check_jsonschema")
    assert files
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *map(str, files)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_workflows_call_targets_of_the_makefile_and_nothing_else() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    commands = [line for file in WORKFLOWS for line in re.findall(r"- run: (.*)", file.read_text())]
    assert commands
    for command in commands:
        if command != ".ci/run":
            program, *called = command.split()
            assert program == "make"
            assert set(called) <= targets


def test_the_version_is_the_same_everywhere() -> None:
    number = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())
    assert number is not None
    citation = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), flags=re.MULTILINE)
    assert citation is not None
    assert citation[1] == number[1]
    heads = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    versions = [head for head in heads if re.match(r"\d", head)]
    assert versions[0].startswith(f"{number[1]}, ")
    for head in versions:
        assert re.fullmatch(r"\d+\.\d+\.\d+, (unreleased|\d{4}-\d\d-\d\d)", head), head
    released = re.search(r"^date-released: (.+)$", (ROOT / "CITATION.cff").read_text(), flags=re.MULTILINE)
    dated = next((head for head in versions if not head.endswith("unreleased")), None)
    assert (released is None) == (dated is None)
    if released is not None and dated is not None:
        assert dated.endswith(f", {released[1]}")


PAGES = ("README", "CONTRIBUTING", "RELEASING", "SECURITY", "CODE_OF_CONDUCT", "GOVERNANCE")


@pytest.mark.parametrize("page", [f"{name}.md" for name in PAGES])
def test_links_between_pages_lead_somewhere(page: str) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (ROOT / page).read_text())
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_joss_paper_is_complete() -> None:
    text = (ROOT / "joss" / "paper.md").read_text()
    entries = set(
        re.findall(r"^@\w+\{([^,]+),", (ROOT / "joss" / "paper.bib").read_text(), flags=re.MULTILINE)
    )
    cited = {key for group in re.findall(r"\[(@[^\]]+)\]", text) for key in re.findall(r"@([\w-]+)", group)}
    assert cited == entries
    sections = re.findall(r"^# (.+)$", text, flags=re.MULTILINE)
    assert {"Summary", "Statement of need", "State of the field", "References"} <= set(sections)
    for picture in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text):
        assert (ROOT / "joss" / picture).is_file()
    assert 250 < len(re.sub(r"^\|.*$|^---.*?^---", "", text, flags=re.MULTILINE | re.DOTALL).split()) < 1750


def test_the_citation_has_the_number_of_the_paper() -> None:
    assert "arXiv:2006.04620" in (ROOT / "CITATION.cff").read_text()
    assert "10.48550/arXiv.2006.04620" in (ROOT / "joss" / "paper.bib").read_text()
