"""What the C files export: names that begin with sefr_, so that they never meet those of another library."""

import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


def test_every_symbol_is_static_or_prefixed(tmp_path):
    compiler, nm = shutil.which("gcc") or shutil.which("cc"), shutil.which("nm")
    if compiler is None or nm is None:
        pytest.skip("needs a C compiler and nm")
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        pytest.skip("needs the headers of Python")
    sources = sorted((ROOT / "native").rglob("*.c"))
    includes = [f"-I{ROOT / 'native'}", f"-I{sysconfig.get_path('include')}"]
    command = [compiler, "-std=c11", "-O0", "-DSEFR_ONE_TARGET", *includes, "-c", *map(str, sources)]
    subprocess.run(command, check=True, cwd=tmp_path)
    listed = subprocess.run(
        [nm, "--extern-only", "--defined-only", "--format=posix", *sorted(tmp_path.glob("*.o"))],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    names = [line.split()[0] for line in listed.splitlines() if len(line.split()) > 1]
    assert len(names) > 20
    assert [name for name in names if not name.startswith("sefr_") and name != "PyInit__native"] == []
