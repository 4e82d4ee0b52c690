"""Instructions per value on aarch64, where NEON is all there is: counted by QEMU, an instruction per line.

The bounds are about a tenth above what gcc 12 makes. Without a cross compiler or QEMU the test skips.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(str(file) for file in (ROOT / "native").rglob("*.c") if file.parent.name != "python")
COMPILER = shutil.which("aarch64-linux-gnu-gcc")
EMULATOR = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")

# kernel, type, rows, columns, groups or classes: most instructions per value
BOUNDS = {
    ("rows", "f4", 400, 40, 2): 4.6,
    ("rows", "f8", 400, 40, 2): 8.5,
    ("rows", "u1", 400, 40, 2): 1.7,
    ("rows", "f4", 16, 2000, 2): 5.1,
    ("rows", "u1", 16, 5000, 2): 2.0,
    ("columns", "f4", 400, 40, 2): 7.9,
    ("columns", "f8", 400, 40, 2): 12.4,
    ("columns", "u1", 400, 40, 2): 3.8,
    ("cells", "f4", 3200, 40, 2): 24.0,
    ("scores", "f4", 400, 40, 1): 2.2,
    ("scores", "u1", 400, 40, 1): 2.4,
    ("scores", "f4", 16, 2000, 1): 1.75,
    ("gradient", "f4", 400, 40, 2): 13.5,
    ("gradient", "u1", 400, 40, 2): 14.7,
}


@pytest.fixture(scope="module")
def count(tmp_path_factory):
    if COMPILER is None or EMULATOR is None:
        pytest.skip("needs gcc-aarch64-linux-gnu and qemu-user-static")
    version = subprocess.run([COMPILER, "-dumpversion"], capture_output=True, text=True).stdout
    if int(version.split(".")[0]) < 12:
        pytest.skip(f"the bounds are for gcc 12 or newer, not {version.strip()}")
    program = tmp_path_factory.mktemp("aarch64") / "count"
    flags = re.search(r"get_supported_arguments\((.*?)\)", (ROOT / "meson.build").read_text(), re.DOTALL)[1]
    command = [COMPILER, "-std=c11", "-static", "-pthread", *re.findall(r"'(-[^']+)'", flags)]
    command += [f"-I{ROOT / 'native'}", str(ROOT / "tests/native/count.c"), *SOURCES]
    subprocess.run([*command, "-o", str(program), "-lm"], check=True)

    known = subprocess.run([EMULATOR, "-help"], capture_output=True, text=True).stdout
    one_by_one = "-one-insn-per-tb" if "one-insn-per-tb" in known else "-singlestep"  # before QEMU 8.1

    def instructions(*args):
        trace = [EMULATOR, one_by_one, "-d", "nochain,exec", "-D", "/dev/stdout"]
        with subprocess.Popen([*trace, str(program), *map(str, args)], stdout=subprocess.PIPE) as run:
            lines = sum(line.startswith(b"Trace") for line in run.stdout)
        assert run.returncode == 0
        return lines

    return instructions


@pytest.mark.parametrize("case", BOUNDS, ids=lambda case: "-".join(map(str, case)))
def test_instructions_per_value_are_bounded_on_aarch64(count, case):
    kernel, *rest = case
    rest_of_it = "edges" if kernel == "cells" else "none"
    per_value = (count(kernel, *rest) - count(rest_of_it, *rest)) / (rest[1] * rest[2])
    print(f"{per_value:.2f}")
    assert per_value <= BOUNDS[case]
    assert per_value > 0.5  # the kernel ran, and every instruction was counted
