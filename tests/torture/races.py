"""The kernels beside other threads: under AddressSanitizer their arrays change, under ThreadSanitizer not.

The first must find no access beside a buffer, whatever the arrays come to hold; the second no race between
the threads of the kernels themselves.
"""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = {
    "storm": (ROOT / "tests/torture/storm.c", ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]),
    "limits": (
        ROOT / "tests/native/coder_limits.c",
        [
            "-fsanitize=address,undefined,float-divide-by-zero",
            "-fno-sanitize-recover=all",
        ],
    ),
    "races": (ROOT / "tests/native/exercise.c", ["-fsanitize=thread"]),
}
ROUNDS = 20


def build(folder: Path, *names: str) -> list[Path]:
    """Compile programs and all kernels with their sanitizers, all at the same time."""
    builds = [subprocess.Popen(_command(folder, name)) for name in names]
    if any(build.wait() for build in builds):
        raise RuntimeError(f"could not build {names}")
    return [folder / name for name in names]


def _command(folder: Path, name: str) -> list[str]:
    source, flags = PROGRAMS[name]
    kernels = sorted(str(file) for file in (ROOT / "native").rglob("*.c") if file.parent.name != "python")
    common = ["-std=c11", "-O1", "-g", "-DSEFR_ONE_TARGET", "-pthread", f"-I{ROOT / 'native'}", *flags]
    return ["gcc", *common, str(source), *kernels, "-o", str(folder / name), "-lm"]


def run(program: Path, seconds: float, seed: int) -> dict[str, object]:
    """Run a program with one seed after the other until the time is up; stop at the first complaint."""
    ends, rounds, gusts, at = time.monotonic() + seconds, 0, 0, 0
    failures: list[str] = []
    while not failures and (at == 0 or time.monotonic() < ends):
        done = subprocess.run(
            [program, str(seed + at), str(ROUNDS)],
            capture_output=True,
            text=True,
            timeout=1800,
            errors="replace",
        )
        if done.returncode or "WARNING: ThreadSanitizer" in done.stderr:
            failures.append(f"{program.name}, seed {seed + at}: {done.returncode}: {done.stderr[:3000]}")
        rounds += ROUNDS
        found = re.search(r"(\d+) gusts", done.stdout)
        gusts += int(found[1]) if found else 0
        at += 1
    return {"rounds": rounds, "changes": gusts, "failures": failures}
