"""Instructions per value of the main kernels, counted: a slow change is caught on a noisy machine too.

The bounds are about a tenth above what gcc 12 makes for x86-64-v3. On another
processor, with an older compiler or without valgrind the test skips.
"""

import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(str(file) for file in (ROOT / "native").rglob("*.c") if file.parent.name != "python")

# kernel, type, rows, columns, groups or classes: most instructions a value
BOUNDS = {
    ("rows", "f4", 8000, 40, 2): 2.1,
    ("rows", "f8", 8000, 40, 2): 2.5,
    ("rows", "u1", 8000, 40, 2): 0.73,
    ("rows", "f4", 2000, 200, 10): 2.2,
    ("rows", "u1", 2000, 200, 2): 0.5,
    ("rows", "u1", 2000, 200, 10): 0.7,
    ("rows", "f4", 80, 5000, 2): 1.6,
    ("rows", "f8", 80, 5000, 2): 1.75,
    ("rows", "u1", 80, 5000, 2): 0.56,
    ("columns", "f4", 8000, 40, 2): 2.65,
    ("columns", "f4", 8000, 40, 10): 3.65,
    ("columns", "f8", 8000, 40, 2): 3.0,
    ("columns", "f8", 8000, 40, 10): 4.2,
    ("columns", "u1", 8000, 40, 2): 0.61,
    ("columns", "u1", 8000, 40, 10): 1.55,
    ("cells", "f4", 8000, 40, 2): 6.9,
    ("csr", "f4", 2000, 100, 2): 31.0,
    ("scores", "f4", 8000, 40, 1): 1.3,
    ("scores", "u1", 8000, 40, 1): 1.85,
    ("scores", "f4", 200, 2000, 1): 0.9,
    ("scores", "f8", 200, 2000, 1): 0.5,
    ("scores", "u1", 200, 2000, 1): 1.4,
    ("scores", "f4", 200, 2000, 10): 8.3,
    ("solve", "f8", 10, 20000, 10): 13.5,
    ("gradient", "f4", 4000, 200, 2): 2.7,
    ("gradient", "u1", 4000, 200, 2): 2.9,
    ("gradient", "f4", 4000, 200, 10): 10.1,
    ("gradient", "u1", 4000, 200, 10): 10.2,
    ("gradient", "f4", 200, 5000, 2): 2.6,
    ("gradient", "f8", 200, 5000, 2): 3.9,
    ("gradient", "u1", 200, 5000, 2): 2.8,
    ("gradient", "f4", 200, 5000, 10): 11.2,
}


@pytest.fixture(scope="module")
def count(tmp_path_factory):
    compiler, valgrind = shutil.which("gcc"), shutil.which("valgrind")
    if platform.machine() != "x86_64" or compiler is None or valgrind is None:
        pytest.skip("needs gcc and valgrind on x86-64")
    version = subprocess.run([compiler, "-dumpversion"], capture_output=True, text=True).stdout
    if int(version.split(".")[0]) < 12:
        pytest.skip(f"the bounds are for gcc 12 or newer, not {version.strip()}")
    folder = tmp_path_factory.mktemp("instructions")
    flags = re.search(r"get_supported_arguments\((.*?)\)", (ROOT / "meson.build").read_text(), re.DOTALL)[1]
    command = [
        *(
            compiler,
            "-std=c11",
            "-march=x86-64-v3",
            "-DSEFR_ONE_TARGET",
            "-pthread",
            *re.findall(r"'(-[^']+)'", flags),
        ),
        *(f"-I{ROOT / 'native'}", str(ROOT / "tests/native/count.c")),
        *SOURCES,
        *("-o", str(folder / "count"), "-lm"),
    ]
    subprocess.run(command, check=True)

    def instructions(*args):
        done = subprocess.run(
            [
                valgrind,
                "--tool=callgrind",
                f"--callgrind-out-file={folder}/out",
                f"{folder}/count",
                *map(str, args),
            ],
            capture_output=True,
            text=True,
        )
        if "unhandled instruction" in done.stderr or "unrecognised instruction" in done.stderr:
            pytest.skip("this valgrind does not know x86-64-v3")
        assert done.returncode == 0, done.stderr
        return int(re.search(r"Collected : (\d+)", done.stderr)[1])

    return instructions


@pytest.mark.slow
@pytest.mark.parametrize("case", BOUNDS, ids=lambda case: "-".join(map(str, case)))
def test_instructions_per_value_are_bounded(count, case):
    kernel, *rest = case
    rest_of_it = "edges" if kernel == "cells" else "none"
    per_value = (count(kernel, *rest) - count(rest_of_it, *rest)) / (rest[1] * rest[2])
    print(f"{per_value:.2f}")
    assert per_value <= BOUNDS[case]
    assert per_value > 0.01  # the kernel ran
