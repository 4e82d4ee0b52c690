"""The kernel of signals in buffers of exactly its size, under sanitizers, and compiled in several ways."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ["tests/native/exercise_signals.c", "native/signals/signals.c", "native/common/threads.c"]
WAYS = {
    "sanitizers": ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "one target": ["-O2", "-DSEFR_ONE_TARGET"],
    "as in the package": ["-O3"],
}


@pytest.mark.slow
def test_every_build_gives_the_same_bytes_and_stays_in_its_buffers(tmp_path):
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    said = {}
    for way, flags in WAYS.items():
        program = tmp_path / way.replace(" ", "_")
        command = [
            "gcc",
            "-std=gnu11",
            *flags,
            f"-I{ROOT / 'native'}",
            *(str(ROOT / name) for name in SOURCES),
        ]
        subprocess.run([*command, "-o", str(program), "-lpthread"], check=True)
        done = subprocess.run([str(program), "7", "300"], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr[-3000:]
        said[way] = done.stdout
    assert len(set(said.values())) == 1
    assert int(said["sanitizers"]) > 0
