"""Columns and rows of few groups: AVX2 gives the bits of portable loops and reads no byte beyond its rows."""

import pytest
from native.paths import ROOT, assert_same_bits, build

pytestmark = pytest.mark.slow

SOURCES = [*sorted((ROOT / "native/summarise").glob("*.c")), ROOT / "native/common/threads.c"]


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    return build(tmp_path_factory.mktemp("masked"), "exercise_masked.c", SOURCES)


@pytest.mark.parametrize("seed", ["1", "2"])
def test_every_path_gives_the_same_bits(programs, seed):
    assert_same_bits(programs, seed, "300", fewest=500)
