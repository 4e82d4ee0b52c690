"""The kernels of cells for AVX-512 and for AVX2 against the portable ones, with sanitizers: equal bits.

On a processor without AVX-512 VBMI the first is the second, without AVX2 all are the last.
"""

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [
    *sorted((ROOT / "native/cells").glob("*.c")),
    ROOT / "native/common/threads.c",
    *(
        ROOT / f"native/refine/{name}.c"
        for name in ("gradient_cells", "loss", "pairs", "product", "shelf", "wide_cells")
    ),
]
FLAGS = ["-std=c11", "-O1", "-g", "-DSEFR_ONE_TARGET", "-pthread", "-fno-sanitize-recover=all"]


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    compiler = shutil.which("gcc")
    if compiler is None or platform.machine() != "x86_64":
        pytest.skip("needs gcc on x86-64")
    folder = tmp_path_factory.mktemp("cells")
    builds = {}
    for name, more in (("quick", []), ("avx2", ["-DSEFR_NO_AVX512"]), ("portable", ["-DSEFR_PORTABLE"])):
        command = [compiler, *FLAGS, "-fsanitize=address,undefined", *more, f"-I{ROOT / 'native'}"]
        command += [str(ROOT / "tests/native/exercise_cells.c"), *map(str, SOURCES)]
        builds[folder / name] = subprocess.Popen([*command, "-o", str(folder / name), "-lm"])
    assert not any(build.wait() for build in builds.values())
    return list(builds)


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["1", "2"])
def test_all_paths_give_the_same_bits(programs, seed):
    printed = []
    for program in programs:
        done = subprocess.run([program, seed, "60"], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr[-4000:]
        printed.append(done.stdout)
    assert printed[0] == printed[1] == printed[2]
    assert len(set(printed[0].splitlines())) > 200
