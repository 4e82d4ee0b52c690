"""The site, built once as ``make docs`` builds it."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("sphinx", "pydata_sphinx_theme", "numpydoc", "myst_parser", "sphinx_gallery", "sphinx_design")


@dataclass(frozen=True)
class Site:
    """Where the pages are, and how long it took."""

    folder: Path
    seconds: float

    @property
    def pages(self) -> list[Path]:
        """All pages of HTML."""
        return sorted(set(self.folder.rglob("*.html")) - set((self.folder / "_static").rglob("*.html")))


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Build the site; a warning is an error."""
    for package in PACKAGES:
        pytest.importorskip(package, reason=f"{package} is not installed: pip install '.[docs]'")
    folder = tmp_path_factory.mktemp("site")
    started = time.monotonic()
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    done = subprocess.run(
        [*command, "-d", str(folder / "doctrees"), str(ROOT / "docs"), str(folder / "html")],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return Site(folder / "html", time.monotonic() - started)
