"""What the library takes of a Cortex-M: instructions (QEMU counts them); the same bits as the plain loops."""

import numpy as np
import pytest
from device_program import built
from test_uno import data_header, taught

from sefr.device import BOARDS

pytestmark = pytest.mark.needs("arm")

STREAM = 0


def instructions(board, X, y, kernels=True):
    """Return the instructions of learning and of classifying one record, after checking the results."""
    reference = taught(X, y)
    image = built(board, "cycles.c", (f"MODE={STREAM}",), kernels=kernels, data=data_header(X, y, reference))
    run = BOARDS[board].run(image)
    m = X.shape[1]
    assert np.frombuffer(run.output[:m], np.int8).tolist() == reference.weights[0]
    assert int.from_bytes(run.output[m : m + 4], "little", signed=True) == reference.bias[0]
    answers = np.frombuffer(run.output[m + 4 :], np.uint8).reshape(-1, 3)
    assert (answers == [[reference.classify(row)] for row in X.tolist()]).all()
    spent = np.diff(run.marks)
    _, learn, _, _, classify, fixed = spent[1:7] - spent[0]
    return learn, max(classify, fixed)


@pytest.mark.parametrize(
    ("board", "learning", "classifying"),
    [("cortex-m0", 50_000, 1_000), ("cortex-m3", 44_000, 580), ("cortex-m4", 36_000, 300)],
)
def test_instructions(paper_data, board, learning, classifying):
    """100 records x 100 features, and one record, at -Os."""
    data = paper_data("gisette_uno_120x119")
    X, y = data["X"][:100, :100].astype(np.uint8), data["y"][:100].astype(np.uint8)
    learn, classify = instructions(board, X, y)
    assert learn <= learning
    assert classify <= classifying


@pytest.mark.parametrize("board", ["cortex-m0", "cortex-m4"])
@pytest.mark.parametrize("features", [1, 3, 4, 7, 8, 13, 16, 21, 47])
def test_packed_arithmetic_equals_the_loops(board, features, rng):
    """Rows of every remainder, at odd addresses, with the largest sums that 16 bits hold."""
    X = rng.integers(0, 256, (24, features))
    X[0], X[1] = 255, 0
    y = (np.arange(24) % 3 == 0).astype(np.uint8)
    instructions(board, X, y)
    full = np.full((60, features), 255)
    full[::2, 0] = 254
    instructions(board, full, np.arange(60) % 2)


@pytest.mark.parametrize("board", ["cortex-m0", "cortex-m3", "riscv32"])
def test_the_ram_of_a_board_is_the_program_s_own(board, rng):
    """Files and marks of the harness do not count: 60 more features cost 60 x 5 bytes and the record's 60."""
    used = []
    for features in (20, 80):
        image = built(board, "small.c", ("PARTS=1", f"FEATURES={features}", "SEFR_RAM_BYTES=8192"))
        X = rng.integers(0, 256, (4, features)).astype(np.uint8)
        learned = b"".join(bytes([i % 2]) + X[i].tobytes() for i in range(4))
        data = bytes([4]) + learned + bytes([1]) + X[0].tobytes()
        used.append(BOARDS[board].run(image, data).sram)
    assert used[0] < 600
    assert abs(used[1] - used[0] - 60 * 6) <= 8


LONG = """#include "board.h"
static volatile uint32_t sink;
int main(void) {
    uint32_t i, part;
    for (part = 1; part <= 3; part++) {
        board_mark();
        for (i = 0; i < part * 4000000UL; i++) sink = i;
    }
    board_mark();
    return 0;
}
"""


@pytest.mark.parametrize("board", ["cortex-m0", "cortex-m4", "riscv32"])
def test_long_runs_are_counted_whole(board, tmp_path):
    """A counter of 24 bits is through after 16 million instructions."""
    (tmp_path / "program.c").write_text(LONG)
    spent = np.diff(BOARDS[board].run(BOARDS[board].build([tmp_path / "program.c"], tmp_path)).marks)
    assert spent[0] >= 12_000_000
    assert spent[1] == pytest.approx(2 * spent[0], rel=0.001)
    assert spent[2] == pytest.approx(3 * spent[0], rel=0.001)
