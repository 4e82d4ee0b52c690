"""What the README says works after the installation that it names."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from sklearn.datasets import load_iris

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"

_DOCTEST = f"""
import doctest
flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
results = doctest.testfile({str(README)!r}, module_relative=False, optionflags=flags)
raise SystemExit(1 if results.failed or results.attempted < 15 else 0)
"""


def _console_lines() -> list[str]:
    blocks = re.findall(r"^```console\n(.*?)^```", README.read_text(), flags=re.DOTALL | re.MULTILINE)
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def _requirement_names(requirements: list[str]) -> set[str]:
    return {re.split(r"[^A-Za-z0-9_-]", requirement)[0] for requirement in requirements}


def test_the_names_of_what_pip_installs_are_those_of_the_metadata() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    sentence = re.search(r"the command, with\s+(.*?);", README.read_text(), flags=re.DOTALL)
    assert sentence is not None
    named = set(re.split(r",\s*|\s+and\s+", sentence[1].strip()))
    assert named == _requirement_names(project["dependencies"])


def test_every_make_target_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    named = set(re.findall(r"(?:\$ |`)make ([a-z-]+)", README.read_text()))
    assert named
    assert named <= targets


@pytest.mark.slow
def test_python_examples_after_a_plain_install(plain_install) -> None:
    absent = "import importlib.util as u; raise SystemExit(u.find_spec('pandas') is not None)"
    plain_install.run("python", "-c", absent)
    plain_install.run("python", "-c", _DOCTEST)


@pytest.mark.slow
def test_console_lines_after_the_install_with_the_command(command_install, tmp_path) -> None:
    iris = load_iris()
    header = ",".join(name.replace(" ", "_") for name in iris.feature_names)
    rows = [",".join(map(str, row)) for row in iris.data]
    species = iris.target_names[iris.target]
    labelled = [f"{row},{name}" for row, name in zip(rows, species, strict=True)]
    (tmp_path / "data.csv").write_text("\n".join([f"{header},species", *labelled]) + "\n")
    (tmp_path / "new.csv").write_text("\n".join([header, *rows[::10]]) + "\n")

    lines = [line for line in _console_lines() if line.startswith("sefr ")]
    assert len(lines) >= 6
    printed = {}
    for line in lines:
        program, *arguments = shlex.split(line, comments=True)
        printed[arguments[0]] = command_install.run(program, *arguments, cwd=tmp_path)
    assert (tmp_path / "my.sefr").is_file()
    assert "<html" in (tmp_path / "report.html").read_text()
    assert printed["predict"].count("setosa") >= 4
    assert list(tmp_path.rglob("*.ino"))


def test_what_make_demo_suggests_works_as_printed(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "meson.build", "Makefile"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    (tmp_path / ".venv" / "ready").touch()  # as after make has installed everything
    users = {**os.environ, "PATH": "/usr/local/bin:/usr/bin:/bin", "COLUMNS": "200"}

    def shell(line: str) -> str:
        done = subprocess.run(
            ["/bin/bash", "-ec", line], cwd=tmp_path, env=users, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout

    printed = shell("make demo").partition("\nNext\n")[2]
    lines = [line.strip().split("  ")[0] for line in printed.splitlines() if "  " in line.strip()]
    assert [line.split()[1] for line in lines] == ["evaluate", "explain", "predict", "export", "train"]
    for line in lines[1:4]:
        shell(line)
    for line in _console_lines():
        if line.startswith(". "):
            shell(f"{line.partition('#')[0]} && sefr --version")
