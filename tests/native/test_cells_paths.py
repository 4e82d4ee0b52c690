"""The kernels of cells for AVX-512 and for AVX2 against the portable ones, with sanitizers: equal bits.

On a processor without AVX-512 VBMI the first is the second, without AVX2 all are the last.
"""

import pytest
from native.paths import ROOT, assert_same_bits, build

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
