"""A program that exercises kernels, built for several kinds of processors, on x86-64 with sanitizers."""

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FLAGS = ["-std=c11", "-O1", "-g", "-DSEFR_ONE_TARGET", "-pthread", "-fno-sanitize-recover=all"]
OF_A_WHEEL = ["-std=c11", "-O3", "-ffp-contract=fast", "-fno-math-errno", "-pthread", "-static"]
KINDS = {"quick": [], "avx2": ["-DSEFR_NO_AVX512"], "portable": ["-DSEFR_PORTABLE"]}


def build(folder, exercise, sources, flags=()):
    """Return the programs of ``exercise`` and sources of ``native``, one per kind, as commands."""
    compiler = shutil.which("gcc")
    if compiler is None or platform.machine() != "x86_64":
        pytest.skip("needs gcc on x86-64")
    builds = {}
    for name, more in KINDS.items():
        command = [compiler, *FLAGS, *flags, "-fsanitize=address,undefined", *more, f"-I{ROOT / 'native'}"]
        command += [str(ROOT / f"tests/native/{exercise}"), *map(str, sources)]
        builds[folder / name] = subprocess.Popen([*command, "-o", str(folder / name), "-lm"])
    assert not any(built.wait() for built in builds.values())
    return [[str(program)] for program in builds]


def build_for_aarch64(folder, exercise, sources):
    """Return the same for aarch64, as the wheel is compiled: with NEON by hand, and without."""
    compiler = shutil.which("aarch64-linux-gnu-gcc")
    emulator = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
    if compiler is None or emulator is None:
        pytest.skip("needs gcc-aarch64-linux-gnu and qemu-user-static")
    programs = []
    for name, more in {"neon": [], "plain": ["-DSEFR_PORTABLE"]}.items():
        command = [compiler, *OF_A_WHEEL, *more, f"-I{ROOT / 'native'}"]
        command += [str(ROOT / f"tests/native/{exercise}"), *map(str, sources), "-o", str(folder / name)]
        subprocess.run([*command, "-lm"], check=True)
        programs.append([emulator, str(folder / name)])
    return programs


def assert_same_bits(programs, seed, count, fewest):
    """Run programs with a seed and a count: they print the same, and so many different lines at least."""
    printed = []
    for program in programs:
        done = subprocess.run([*program, seed, count], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr[-4000:]
        printed.append(done.stdout)
    assert len(set(printed)) == 1
    assert len(set(printed[0].splitlines())) > fewest
