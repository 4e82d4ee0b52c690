"""The site, built once as ``make docs`` builds it, also where several processes run the tests."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock

ROOT = Path(__file__).parents[2]
PACKAGES = (
    *("sphinx", "pydata_sphinx_theme", "numpydoc", "myst_parser", "sphinx_gallery", "sphinx_design"),
    "sphinx_copybutton",
)


@dataclass(frozen=True)
class Site:
    """Where the pages are, and how many seconds of CPU time they took."""

    folder: Path
    seconds: float

    @property
    def pages(self) -> list[Path]:
        """All pages of HTML."""
        return sorted(set(self.folder.rglob("*.html")) - set((self.folder / "_static").rglob("*.html")))


@pytest.fixture(scope="session")
def site(shared_folder: Path) -> Site:
    """Build the site; a warning is an error."""
    for package in PACKAGES:
        pytest.importorskip(package, reason=f"{package} is not installed: pip install '.[docs]'")
    folder, note = shared_folder / "site", shared_folder / "site.json"
    with FileLock(shared_folder / "site.lock"):
        if not note.exists():
            note.write_text(json.dumps(_build(folder)))
        status, said, seconds = json.loads(note.read_text())
    assert status == 0, said
    return Site(folder / "html", seconds)


def _build(folder: Path) -> tuple[int, str, float]:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    done = subprocess.run(
        [*command, "-d", str(folder / "doctrees"), str(ROOT / "docs"), str(folder / "html")],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.returncode, done.stdout + done.stderr, seconds
