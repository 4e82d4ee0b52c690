"""Instructions per value of the main kernels: on AVX2 alone, counted by callgrind, and on aarch64, by QEMU.

    python -m benchmarks.host.instructions

Writes ``instructions.csv`` beside this file. The counts do not depend on what else the machine does. A kind
of processor whose compiler or counter is not installed is left out, and said.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from ..machine import commit
from ..tables import write_lines

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ROOMS = ("answers", "common", "moments", "refine", "score", "solve", "summarise")
FLAGS = ("-std=c11", "-O3", "-ffp-contract=fast", "-fno-math-errno", "-pthread")
# kernel, type, rows, columns, groups or hyperplanes
CASES = (
    ("rows", "f4", 400, 40, 2),
    ("rows", "u1", 400, 40, 2),
    ("rows", "u1", 400, 200, 2),
    ("rows", "u1", 600, 5000, 2),
    ("columns", "f4", 16000, 10, 2),
    ("columns", "f4", 16000, 10, 10),
    ("columns", "u1", 16000, 10, 2),
    ("columns", "u1", 16000, 10, 10),
    ("columns", "u1", 16000, 40, 10),
    ("cells", "f4", 16000, 40, 2),
    ("scores", "f4", 400, 40, 1),
    ("scores", "u1", 400, 40, 1),
)


def build(compiler: str, program: Path, *more: str) -> None:
    """Compile the program that runs one kernel once."""
    sources = [str(file) for room in ROOMS for file in sorted((ROOT / "native" / room).glob("*.c"))]
    sources += [str(ROOT / f"native/cells/{name}.c") for name in ("coder", "coding", "count", "tally")]
    main = [f"-I{ROOT / 'native'}", str(ROOT / "tests/native/count.c")]
    subprocess.run([compiler, *FLAGS, *more, *main, *sources, "-o", str(program), "-lm"], check=True)


def on_avx2(folder: Path) -> Callable[..., int] | None:
    """Return what counts the instructions of a kernel on x86-64 with AVX2; None if it cannot be counted."""
    compiler, valgrind = shutil.which("gcc"), shutil.which("valgrind")
    if compiler is None or valgrind is None:
        return None
    program = folder / "avx2"
    build(compiler, program, "-march=x86-64-v3", "-DSEFR_ONE_TARGET")

    def count(*case: object) -> int:
        tool = [valgrind, "--tool=callgrind", f"--callgrind-out-file={folder / 'out'}", str(program)]
        done = subprocess.run([*tool, *map(str, case)], capture_output=True, text=True, check=True)
        found = re.search(r"Collected : (\d+)", done.stderr)
        return int(found[1]) if found else 0

    return count


def on_aarch64(folder: Path) -> Callable[..., int] | None:
    """Return the same for aarch64."""
    compiler = shutil.which("aarch64-linux-gnu-gcc")
    emulator = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
    if compiler is None or emulator is None:
        return None
    program = folder / "aarch64"
    build(compiler, program, "-static")
    known = subprocess.run([emulator, "-help"], capture_output=True, text=True, check=False).stdout
    one_by_one = "-one-insn-per-tb" if "one-insn-per-tb" in known else "-singlestep"  # before QEMU 8.1

    def count(*case: object) -> int:
        trace = [emulator, one_by_one, "-d", "nochain,exec", "-D", "/dev/stdout", str(program)]
        with subprocess.Popen([*trace, *map(str, case)], stdout=subprocess.PIPE) as run:
            return sum(line.startswith(b"Trace") for line in run.stdout or ())

    return count


def main() -> None:
    """Count and write."""
    lines = []
    with tempfile.TemporaryDirectory(prefix="sefr-bench-") as name:
        for processor, prepare in (("x86-64, AVX2", on_avx2), ("aarch64, NEON", on_aarch64)):
            count = prepare(Path(name))
            if count is None:
                print(f"{processor}: cannot be counted here, left out")
                continue
            for kernel, *rest in CASES:
                _, rows, columns, _ = rest
                rest_of_it = "edges" if kernel == "cells" else "none"
                per_value = (count(kernel, *rest) - count(rest_of_it, *rest)) / (int(rows) * int(columns))
                case = dict(
                    zip(("kernel", "type", "rows", "columns", "groups"), (kernel, *rest), strict=True)
                )
                lines.append(
                    {
                        "processor": processor,
                        **{key: str(value) for key, value in case.items()},
                        "instructions_per_value": f"{per_value:.2f}",
                        "commit": commit(),
                    }
                )
                print(*lines[-1].values(), flush=True)
    write_lines(HERE / "instructions.csv", lines)


if __name__ == "__main__":
    main()
