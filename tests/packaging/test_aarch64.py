"""The kernels on another kind of processor: cross-compiled as for the wheel, run under QEMU."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SOURCES = sorted(path for path in (ROOT / "native").rglob("*.c") if path.parent.name != "python")
COMPILER = shutil.which("aarch64-linux-gnu-gcc")
EMULATOR = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")


@pytest.mark.slow
@pytest.mark.skipif(COMPILER is None, reason="gcc-aarch64-linux-gnu is not installed")
@pytest.mark.skipif(EMULATOR is None, reason="qemu-user-static is not installed")
def test_every_kernel_runs_on_aarch64(tmp_path: Path) -> None:
    program = tmp_path / "exercise"
    subprocess.run(
        [
            *(COMPILER, "-std=c11", "-O3", "-ffp-contract=fast", "-fno-math-errno", "-static", "-pthread"),
            *(f"-I{ROOT / 'native'}", str(ROOT / "tests/native/exercise.c"), *map(str, SOURCES)),
            *("-o", str(program), "-lm"),
        ],
        check=True,
    )
    done = subprocess.run(
        [EMULATOR, str(program), "3", "100"], capture_output=True, text=True, check=False, timeout=600
    )
    assert (done.returncode, done.stdout) == (0, "100 rounds\n"), done.stderr
