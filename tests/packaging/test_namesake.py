"""PyPI's ``sefr`` has the same import name: it is noticed, and one sentence says what to do."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).parents[2] / "src" / "sefr"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of packages in which pip has recorded a distribution called ``sefr``."""
    record = tmp_path / "sefr-1.0.2.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: sefr\nVersion: 1.0.2\n")
    return tmp_path


def _python(*arguments: str, path: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False
    )


def test_import_warns_once_and_works(site: Path) -> None:
    done = _python("-c", "import sefr; import sefr.cli; print(sefr.SEFRClassifier.__name__)", path=str(site))
    assert done.stdout == "SEFRClassifier\n"
    assert done.stderr.count("sefr 1.0.2") == 1
    assert "pip uninstall sefr, then pip install --force-reinstall --no-deps . in the folder" in done.stderr


def test_without_it_no_records_are_read() -> None:
    loaded = "import sys; before = set(sys.modules); import sefr; print('email' in set(sys.modules) - before)"
    assert _python("-S", "-c", loaded, path=str(SOURCE.parent)).stdout == "False\n"


def test_version_says_it(site: Path) -> None:
    done = _python("-W", "ignore", "-m", "sefr.cli", "--version", path=str(site))
    assert done.returncode == 0
    assert done.stdout.startswith("sefr 0.")
    assert done.stdout.count("pip uninstall sefr") == 1


def test_without_it_nothing_is_said() -> None:
    done = _python("-W", "error", "-m", "sefr.cli", "--version")
    assert (done.returncode, done.stderr, len(done.stdout.splitlines())) == (0, "", 1)


def test_the_command_says_it_where_the_package_was_overwritten(site: Path) -> None:
    for file in ("cli/__init__.py", "_system/__init__.py", "_system/installation.py", "_system/namesake.py"):
        (site / "sefr" / file).parent.mkdir(parents=True, exist_ok=True)
        (site / "sefr" / file).write_text((SOURCE / file).read_text())
    (site / "sefr" / "__init__.py").write_text("class SEFR:\n    pass\n")
    # Without the editable installation's finder, which would find ours first.
    packages = sysconfig.get_path("purelib")
    done = _python("-S", "-c", "from sefr.cli import main", path=f"{site}{os.pathsep}{packages}")
    assert done.returncode == 1
    assert done.stderr.startswith("sefr: another distribution, sefr 1.0.2, is installed")
    assert done.stderr.count("\n") == 1
