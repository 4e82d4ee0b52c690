"""What texts say of this project is true: whose it is, where it is, and what to type to install it."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from sefr._system import installation

ROOT = Path(__file__).parents[2]
BINARY = {".png", ".npz", ".npy", ".gz", ".so", ".bin", ".hex", ".pyc", ".parquet", ".whl", ".sefr"}


def texts() -> list[Path]:
    """Every text that is part of the project, this file excepted."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("not a clone")
    found = [ROOT / name for name in listed.stdout.split("\0") if name]
    return [p for p in found if p.is_file() and p.suffix not in BINARY and p != Path(__file__)]


def test_nobody_is_told_to_install_a_name_that_is_not_on_pypi() -> None:
    files = texts()
    assert len(files) > 300
    wrong = re.compile(r"pip3? install[^\n`]*\bsefr-learn\b|pip3? install\s+['\"]?sefr(?![-_./\w])")
    said = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in files
        for match in wrong.finditer(path.read_text(errors="replace"))
        if path.name not in ("CHANGELOG.md", "namesake.py", "test_namesake.py")
    ]
    assert said == []


def test_the_readme_says_so_where_it_says_how_to_install() -> None:
    text = (ROOT / "README.md").read_text()
    install = text[text.index("## Install") :].partition("\n## ")[0]
    assert "not on PyPI" in install
    assert "another package" in install
    assert "pip install '.[cli]'" in install


def test_the_address_of_the_papers_authors_is_only_where_they_are_credited() -> None:
    address = re.compile(r"github\.com/sefr-classifier")
    named = {p.relative_to(ROOT).as_posix() for p in texts() if address.search(p.read_text(errors="replace"))}
    assert named == {"docs/neighbours.md", "tests/docs/test_site.py"}


@pytest.mark.parametrize(
    "extra", tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
)
def test_messages_name_packages_that_pip_finds(extra: str) -> None:
    line = installation.install_line(extra)
    named = re.findall(r"'([^']+)'", line)
    assert line == "pip install " + " ".join(f"'{name}'" for name in named)
    assert named
    assert all(Requirement(name).name != installation.NAME for name in named)


def test_without_metadata_the_folder_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "NAME", "no-such-distribution")
    assert installation.install_line("cli") == "pip install '.[cli]' in the folder of sefr's source"


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/neighbours.md", "joss/paper.md"])
def test_it_is_called_an_independent_implementation(page: str) -> None:
    text = " ".join((ROOT / page).read_text().split())
    assert "independent implementation" in text
    assert "software behind" not in text


@pytest.mark.parametrize(
    "name",
    ["Keshavarz", "Rawassizadeh", "mlpack", "FLAML", "linearboost", "micromlgen", "alankrantas", "Salerno"],
)
def test_others_who_wrote_sefr_are_credited(name: str) -> None:
    assert name in (ROOT / "docs" / "neighbours.md").read_text()


def test_logistic_regression_is_shown_with_the_scaling_that_suits_it() -> None:
    readme = (ROOT / "README.md").read_text()
    rows = [line for line in readme.splitlines() if line.startswith("| LogisticRegression")]
    assert rows
    assert all("StandardScaler" in row for row in rows)
    methods = (ROOT / "benchmarks" / "accuracy" / "table_methods.py").read_text()
    assert "make_pipeline(StandardScaler(), LogisticRegression(" in methods
    kinds = (ROOT / "docs" / "guide" / "settings.md").read_text()
    assert "with standardised features" in kinds[: kinds.index("<!-- numbers: kinds -->")]
