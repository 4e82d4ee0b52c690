"""Scores by AVX-512, AVX2 and NEON, of rows and of columns, are those of plain C, to the bit."""

import pytest
from native.paths import ROOT, assert_same_bits, build, build_for_aarch64

pytestmark = pytest.mark.slow

EXERCISE = "exercise_scores.c"
SOURCES = [ROOT / "native/score/scores.c", ROOT / "native/common/threads.c"]


@pytest.fixture(scope="module")
def on_x86(tmp_path_factory):
    fused = ("-O2", "-march=x86-64-v3", "-ffp-contract=fast")  # products with sums, as those written by hand
    return build(tmp_path_factory.mktemp("scores"), EXERCISE, SOURCES, fused)


@pytest.mark.parametrize("seed", ["1", "2"])
def test_all_paths_give_the_same_bits(on_x86, seed):
    assert_same_bits(on_x86, seed, "200", 150)


def test_aarch64_gives_the_bits_of_x86(on_x86, tmp_path):
    assert_same_bits([*on_x86, *build_for_aarch64(tmp_path, EXERCISE, SOURCES)], "3", "200", 150)
