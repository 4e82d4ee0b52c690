"""Learn files in a child process with limits of memory and of processor time."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from typing import NamedTuple

# What the interpreter and the libraries map by themselves, most of it never touched.
LIBRARIES = 3 << 30
# Prints the peak memory in MB. Not ru_maxrss: a child begins with that of the process that started it.
PEAK = """
with open("/proc/self/status") as status:
    print(int(next(line for line in status if line.startswith("VmHWM")).split()[1]) // 1024)
"""
LEARN = """
import sys, time
from sefr.files import open_dataset
from sefr.files.learning import learn
label, *paths = sys.argv[1:]
for path in paths:
    started = time.process_time()
    try:
        rows = open_dataset([path])
        learn(rows, rows.recipe(rows.label_name(label)), missing="ignore")
        said = "learned"
    except ValueError as error:
        said = type(error).__name__ + ": " + str(error)
    print(f"{time.process_time() - started:.3f} " + " ".join(said.split()), flush=True)
"""
LEARN += PEAK


class Outcome(NamedTuple):
    """How a child ended: exit code (below 0 a signal), the lines it said, its peak memory in MB."""

    code: int
    said: list[str]
    errors: str
    peak_mb: int


def run(program: str, *arguments: object, cpu_seconds: int = 60, memory: int = LIBRARIES) -> Outcome:
    """Run a Python program whose last line of output is its peak memory in MB."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 5))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60 + 20 * cpu_seconds,  # for a child that waits; a busy machine must not fail the test
        preexec_fn=limit,
        env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    *said, last = done.stdout.splitlines() or [""]
    if not last.isdigit():
        return Outcome(done.returncode, [*said, last], done.stderr, -1)
    return Outcome(done.returncode, said, done.stderr, int(last))


class Learned(NamedTuple):
    """What came of one file, and the processor seconds it took."""

    said: str
    seconds: float


def learn(*paths: object, label: str = "y", **limits: int) -> tuple[list[Learned], int]:
    """Learn files one after the other in a child; return what came of each, and the peak memory in MB."""
    outcome = run(LEARN, label, *paths, **limits)
    assert outcome.code == 0, outcome
    assert len(outcome.said) == len(paths), outcome
    lines = [line.split(" ", 1) for line in outcome.said]
    return [Learned(said, float(seconds)) for seconds, said in lines], outcome.peak_mb
