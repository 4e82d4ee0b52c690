"""The kernels of cells for AVX-512 and for AVX2 against the portable ones, with sanitizers: equal bits.

On a processor without AVX-512 VBMI the first is the second, without AVX2 all are the last. On
aarch64, NEON.
"""

import pytest
from native.paths import ROOT, assert_same_bits, build, build_for_aarch64

pytestmark = pytest.mark.slow

SOURCES = [
    *sorted((ROOT / "native/cells").glob("*.c")),
    ROOT / "native/common/threads.c",
    *(
        ROOT / f"native/refine/{name}.c"
        for name in ("gradient_cells", "loss", "pairs", "product", "shelf", "wide_cells")
    ),
]


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    return build(tmp_path_factory.mktemp("cells"), "exercise_cells.c", SOURCES)


@pytest.mark.parametrize("seed", ["1", "2"])
def test_all_paths_give_the_same_bits(programs, seed):
    assert_same_bits(programs, seed, "60", 200)


def test_neon_gives_the_bits_of_plain_c(tmp_path):
    assert_same_bits(build_for_aarch64(tmp_path, "exercise_cells.c", SOURCES), "3", "60", 200)
