"""``import sefr`` on Windows and macOS, as far as can be told here: without modules that only Unix has."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

_IMPORT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

for name in {names!r}:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Absent())
import sefr, sefr.device, sefr.files, sefr.reference
print(sefr.SEFRClassifier().fit([[0.0], [1.0]], [0, 1]).predict([[1.0]])[0])
"""

# Not "posix": Python itself has it on macOS, and chooses by it on Windows.
_UNIX_ONLY = ("grp", "pwd", "resource", "termios", "syslog", "pty", "tty")


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(_UNIX_ONLY, id="grp, pwd, resource, termios"),
        pytest.param((*_UNIX_ONLY, "fcntl"), id="and fcntl"),
    ],
)
def test_the_package_imports_without_what_only_unix_has(names: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _IMPORT.format(names=set(names))], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "1\n"
