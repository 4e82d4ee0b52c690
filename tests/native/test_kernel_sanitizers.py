"""The kernels under AddressSanitizer and UndefinedBehaviorSanitizer, on random shapes and strides."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(str(file) for file in (ROOT / "native").rglob("*.c") if file.parent.name != "python")


@pytest.fixture(scope="module")
def exercise(tmp_path_factory):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    program = tmp_path_factory.mktemp("sanitizers") / "exercise"
    command = [
        *(compiler, "-std=c11", "-O1", "-g", "-DSEFR_ONE_TARGET", "-pthread", f"-I{ROOT / 'native'}"),
        *("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"),
        str(ROOT / "tests/native/exercise.c"),
        *SOURCES,
        *("-o", str(program), "-lm"),
    ]
    built = subprocess.run(command, capture_output=True, text=True)
    if "asan" in built.stderr and "cannot find" in built.stderr:
        pytest.skip("the compiler has no AddressSanitizer")
    assert built.returncode == 0, built.stderr
    return program


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_no_kernel_reads_or_writes_beside_its_buffers(exercise, seed):
    done = subprocess.run([exercise, str(seed), "300"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout == "300 rounds\n"
