"""A program that exercises kernels, built for three kinds of processors, with sanitizers."""

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FLAGS = ["-std=c11", "-O1", "-g", "-DSEFR_ONE_TARGET", "-pthread", "-fno-sanitize-recover=all"]
KINDS = {"quick": [], "avx2": ["-DSEFR_NO_AVX512"], "portable": ["-DSEFR_PORTABLE"]}


def build(folder, exercise, sources):
    """Return the programs of ``exercise`` and sources of ``native``, one per kind."""
    compiler = shutil.which("gcc")
    if compiler is None or platform.machine() != "x86_64":
        pytest.skip("needs gcc on x86-64")
    builds = {}
    for name, more in KINDS.items():
        command = [compiler, *FLAGS, "-fsanitize=address,undefined", *more, f"-I{ROOT / 'native'}"]
        command += [str(ROOT / f"tests/native/{exercise}"), *map(str, sources)]
        builds[folder / name] = subprocess.Popen([*command, "-o", str(folder / name), "-lm"])
    assert not any(built.wait() for built in builds.values())
    return list(builds)


def assert_same_bits(programs, seed, count, fewest):
    """Run the programs with a seed and a count: they print the same, and so many different lines at least."""
    printed = []
    for program in programs:
        done = subprocess.run([program, seed, count], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr[-4000:]
        printed.append(done.stdout)
    assert printed[0] == printed[1] == printed[2]
    assert len(set(printed[0].splitlines())) > fewest
