"""The kernels under AddressSanitizer and UndefinedBehaviorSanitizer, on random shapes and strides."""

import re
import shutil
import subprocess

import pytest
from torture import races

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def storm(tmp_path_factory):
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    return races.build(tmp_path_factory.mktemp("sanitizers"), "storm")[0]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_no_kernel_reads_or_writes_beside_its_buffers(storm, seed):
    done = subprocess.run([storm, str(seed), "300", "calm"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout == "300 rounds\n0 gusts\n"


@pytest.mark.slow
def test_nor_while_another_thread_changes_the_arrays(storm):
    found = races.run(storm, 5, 1)
    assert found["failures"] == []
    assert found["changes"] > 1000


LIMITS = """\
plain: taken
one float32: taken
below float32: taken
a shift beyond float32: taken
beyond float32: taken
half of float64: taken
starts fall: refused
starts below 0: refused
starts beyond: refused
plain again: taken
ferns fall: refused
ferns below 0: refused
ferns beyond: refused
ferns: taken
"""


@pytest.mark.slow
def test_edges_at_the_limits_of_their_types_overflow_nothing(tmp_path):
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    (program,) = races.build(tmp_path, "limits")
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-4000:]
    said = re.sub(r": 0$", ": taken", done.stdout, flags=re.MULTILINE)
    assert re.sub(r": \d+$", ": refused", said, flags=re.MULTILINE) == LIMITS
