"""Small data are scored without a thread: one takes longer to start than the scores take."""

import shutil
import subprocess

import pytest
from native.paths import ROOT

SOURCES = ["tests/native/threads_started.c", "native/score/scores.c", "native/common/threads.c"]


# rows, features and hyperplanes: digits, and what a thread scores in 40 us; then what pays
@pytest.mark.parametrize(
    ("shape", "started"),
    [((1797, 64, 10), 0), ((16_400, 64, 1), 0), ((70_000, 64, 1), 1), ((9000, 64, 10), 1)],
)
def test_threads_are_started_for_enough_work(tmp_path, shape, started):
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs gcc")
    program = tmp_path / "threads_started"
    command = [compiler, "-std=c11", "-O1", "-DSEFR_ONE_TARGET", f"-I{ROOT / 'native'}", "-pthread"]
    command += [*(str(ROOT / source) for source in SOURCES), "-Wl,--wrap=pthread_create", "-o", str(program)]
    subprocess.run([*command, "-lm"], check=True)
    done = subprocess.run([program, *map(str, shape)], capture_output=True, text=True, check=True)
    assert int(done.stdout) == started
