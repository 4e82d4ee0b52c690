"""A virtual environment of its own, in which nothing of the test environment can be seen."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# What would let the environment of the tests show through.
_LEAKS = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")


class Venv:
    """A virtual environment: ``run`` returns what a program printed, and fails with that."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)

    def run(self, program: str, *arguments: str, cwd: Path | None = None) -> str:
        kept = {name: value for name, value in os.environ.items() if name not in _LEAKS}
        kept["PATH"] = f"{self.bin}:/usr/bin:/bin"
        done = subprocess.run(
            [str(self.bin / program), *arguments],
            cwd=cwd or self.folder,
            env=kept,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{program} {' '.join(arguments)}\n{done.stdout}"
        return done.stdout

    def install(self, *what: str) -> None:
        self.run("python", "-m", "pip", "install", "--quiet", *what, cwd=ROOT)


@pytest.fixture(scope="session")
def plain_install(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Venv]:
    """What ``pip install .`` gives, and nothing else."""
    venv = Venv(tmp_path_factory.mktemp("plain") / "venv")
    venv.install(".")
    return venv


@pytest.fixture(scope="session")
def command_install(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Venv]:
    """What ``pip install '.[cli]'`` gives, and nothing else."""
    venv = Venv(tmp_path_factory.mktemp("command") / "venv")
    venv.install(".[cli]")
    return venv
