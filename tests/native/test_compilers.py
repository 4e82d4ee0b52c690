"""The kernels are compiled by clang too, which wants other words than gcc for some of them."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(path for path in (ROOT / "native").rglob("*.c") if path.parent.name != "python")


@pytest.mark.slow
@pytest.mark.parametrize("target", ["x86_64-linux-gnu", "aarch64-linux-gnu"])
def test_clang_compiles_every_kernel(tmp_path, target):
    pytest.importorskip("ziglang", reason="needs ziglang, which brings clang")
    clang = [sys.executable, "-m", "ziglang", "cc", "-target", target, "-std=c11", "-O0", "-w"]
    for source in SOURCES:
        command = [*clang, f"-I{ROOT / 'native'}", "-c", str(source), "-o", str(tmp_path / "kernel.o")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr[-4000:]
