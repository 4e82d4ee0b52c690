"""The kernels of second moments for AVX-512 and AVX2 against the portable ones, with sanitizers: equal bits.

On a processor without AVX-512 VBMI the first is the second, without AVX2 all are the last.
"""

import pytest
from native.paths import ROOT, assert_same_bits, build

pytestmark = pytest.mark.slow

SOURCES = [
    *sorted((ROOT / "native/moments").glob("*.c")),
    *(
        ROOT / f"native/{name}.c"
        for name in ("cells/coder", "cells/coding", "common/threads", "refine/product")
    ),
]


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    return build(tmp_path_factory.mktemp("moments"), "exercise_moments.c", SOURCES)


@pytest.mark.parametrize("seed", ["1", "2"])
def test_all_paths_give_the_same_bits(programs, seed):
    assert_same_bits(programs, seed, "100", 270)
