"""Bins on a board: counts per class, feature and bin, equal to the definition with a column per cell."""

import struct

import numpy as np
import pytest
from cell_reference import CellReference
from device_program import EVERYWHERE, Conversation, built
from device_reference import BAD_SHAPE, BAD_STATE, NEVER_LEARNED, OK

from sefr import SEFRClassifier
from sefr.device import (
    BOARDS,
    BuildError,
    StateError,
    library,
    merge_states,
    read_state,
    write_state,
)

boards = pytest.mark.parametrize("board", EVERYWHERE)
MOST = struct.pack("<I", 1 << 20)


class CellConversation(Conversation):
    """A script for conformance.c built with SEFR_BINS."""

    def __init__(self, features, classes, bins, weight_bits=8):
        super().__init__(features, classes, weight_bits, 16)
        self.bins = bins
        self.model, self.other = (CellReference(features, classes, bins, weight_bits) for _ in range(2))

    def run(self, board, **settings):
        features, classes, weight_bits, _ = self.shape
        defines = (f"FEATURES={features}", f"CLASSES={classes}", "KIND=SEFR_MODEL", f"SEFR_BINS={self.bins}")
        image = built(board, "conformance.c", defines, weight_bits, 16, **settings)
        output = BOARDS[board].run(image, bytes(self.script) + b"q").output
        assert output == bytes(self.expected)


def rows(rng, n, features):
    """Bytes with the borders of bins among them."""
    values = rng.integers(0, 256, (n, features))
    borders = rng.choice([0, 15, 16, 31, 32, 127, 128, 240, 255], (n, features))
    return np.where(rng.random((n, features)) < 0.4, borders, values).tolist()


@boards
@pytest.mark.parametrize(
    ("features", "classes", "bins", "weight_bits"),
    [(5, 2, 16, 8), (4, 3, 8, 8), (3, 2, 8, 16), (1, 4, 16, 16)],
)
def test_boards_follow_the_definition(board, features, classes, bins, weight_bits, rng):
    """Learn, forget, merge, decay, solve, scores, answers, margins and states, in any order."""
    talk = CellConversation(features, classes, bins, weight_bits)
    learned = []
    for turn in range(3):
        for record in rows(rng, 18, features):
            label = int(rng.integers(classes))
            talk.learn(record, label, "leb"[int(rng.integers(3))])
            learned.append((record, label))
        for record, label in learned[::5]:
            talk.forget(record, label)
        learned = []
        talk.learn(rows(rng, 1, features)[0], classes)  # no such class
        for record in rows(rng, 4, features):
            talk.learn(record, int(rng.integers(classes)), "o")
        talk.merge()
        talk.set(options=2 * (turn == 1), margin=(0, 40, 0)[turn])
        talk.solve()
        for record in rows(rng, 6, features):
            talk.scores(record)
            talk.classify(record)
            talk.classify(record, "y")
        talk.send()
        if turn == 1:
            talk.decay()
    talk.run(board)


@boards
def test_cells_at_their_limits(board, rng):
    """A full class is halved alone; the largest counts solve; what was never learned is not forgotten."""
    talk = CellConversation(3, 2, 16)
    for i in range(600):
        talk.learn([7, i % 256, 255], 1)
    talk.learn([7, 7, 7], 0)
    assert talk.model.n[1] <= 254
    talk.forget([200, 0, 255], 1)
    assert talk.model.forget([200, 0, 255], 1) == NEVER_LEARNED
    talk.solve()
    talk.send()
    for pattern in ((0, 254), (254, 254), (254, 1)):
        for label, count in enumerate(pattern):
            talk.fill(label, 254, count)
        talk.solve()
        talk.scores([0, 128, 255])
    talk.learn([0, 0, 0], 1)
    talk.send()
    talk.set(half_life=3)
    for record in rows(rng, 20, 3):
        talk.learn(record, 0)
    talk.solve()
    talk.send()
    talk.run(board)


@boards
def test_cells_are_saved_and_restored(board, rng):
    """Power lost at bytes all over a save leaves the old state or the new one; a damaged one is refused."""
    talk = CellConversation(2, 2, 8)
    size = len(talk.model.state())
    talk.space(2, size)
    talk.say("z")
    talk.say("g", BAD_STATE)
    for _ in range(2):
        for record in rows(rng, 5, 2):
            talk.learn(record, int(rng.integers(2)))
        talk.say("p", OK, data=MOST)
    good = talk.model.state()
    kept = [row[:] for row in talk.model.s], talk.model.n[:]
    for writes in range(0, size - 1, 7):
        talk.learn([writes, 255 - writes], 1)
        talk.say("p", 9, data=struct.pack("<I", writes))
        talk.say("g", OK)
        talk.script += b"x"
        talk.expected += good + bytes([OK])
        talk.model.s, talk.model.n = [row[:] for row in kept[0]], kept[1][:]
    talk.run(board)


def test_the_number_of_bins_is_part_of_a_state(rng):
    """A state of 16 bins is refused by a model of 8 with as many cells; an impossible count is damage."""
    sixteen, eight = CellReference(1, 2, 16), CellReference(2, 2, 8)
    for label in (0, 1):
        sixteen.learn([200], label)
    state = bytearray(sixteen.state())
    for data, status in ((bytes(state), BAD_SHAPE), (_damaged(eight), BAD_STATE)):
        talk = CellConversation(2, 2, 8)
        for at, byte in enumerate(data):
            talk.say("k", data=struct.pack("<IB", at, byte))
        talk.say("g", status)
        talk.send()
        talk.run("host")


def _damaged(model):
    model.learn([1, 2], 0)
    model.s[0][0] = 2
    return model.state()


def test_any_bytes_may_be_commands(rng):
    """Fuzzed under the sanitizers."""
    letters = np.frombuffer(b"rlebofdmscyvwxOhMipgkzn", np.uint8)
    for bins in (8, 16):
        image = built(
            "host", "conformance.c", ("FEATURES=3", "CLASSES=3", "KIND=SEFR_MODEL", f"SEFR_BINS={bins}")
        )
        for _ in range(4):
            script = rng.integers(1, 256, 40_000).astype(np.uint8)
            script[::3] = rng.choice(letters, len(script[::3]))
            script[script == ord("q")] = ord("l")
            BOARDS["host"].run(image, script.tobytes() + b"q")


CYCLES = """#include "board.h"
#include "sefr.h"
SEFR_MODEL(model, 32, 2)
static uint8_t record[32], label;
static const sefr_weight weights[512] SEFR_FLASH = {1};
static const sefr_score bias[1] SEFR_FLASH = {0};
static const sefr_fixed fixed = {512, 2, weights, bias, 0};
int main(void) {
    uint8_t i, j;
    sefr_reset(&model);
    for (i = 0; i < 40; i++) {
        for (j = 0; j < 32; j++) record[j] = (uint8_t)(i * 37 + j * 11);
        board_mark(); board_mark();
        sefr_learn(&model, record, i & 1);
        board_mark();
    }
    board_mark(); board_mark();
    sefr_solve(&model);
    board_mark(); board_mark();
    sefr_classify(&model, record, &label);
    board_mark(); board_mark();
    sefr_classify_fixed(&fixed, record, &label);
    board_mark();
    board_put(label);
    return 0;
}
"""


def cell_cycles(folder):
    """What learning one record, solving and classifying take on an Uno; and the SRAM."""
    (folder / "program.c").write_text(CYCLES)
    sources = [folder / "program.c", library() / "sefr.c", library() / "sefr_avr.S"]
    image = BOARDS["uno"].build(sources, folder, includes=[library()], defines=["SEFR_BINS=16"])
    run = BOARDS["uno"].run(image)
    spent = np.diff(run.marks)
    base = spent[0]
    learn, tail = spent[1 : 3 * 40 : 3] - base, spent[3 * 40 :] - base
    return {
        "learn": int(learn.max()),
        "solve": int(tail[1]),
        "classify": int(tail[3]),
        "classify fixed": int(tail[5]),
        "sram": run.sram,
    }


@pytest.mark.needs("avr")
def test_cycles_of_32_features_and_16_bins(tmp_path):
    spent = cell_cycles(tmp_path)
    assert spent["learn"] <= 2_500
    assert max(spent["classify"], spent["classify fixed"]) <= 2_500
    assert spent["sram"] < 2048


@pytest.mark.needs("avr")
def test_cells_that_do_not_fit_do_not_compile(tmp_path):
    for features, bins, message in ((32, 16, None), (40, 16, "m_does_not_fit"), (8, 12, "0, 8 or 16")):
        (tmp_path / "program.c").write_text(
            f'#include "sefr.h"\nSEFR_MODEL(m, {features}, 2)\nint main(void) {{ return sefr_reset(&m); }}\n'
        )
        sources = [tmp_path / "program.c", library() / "sefr.c", library() / "sefr_avr.S"]
        if message is None:
            BOARDS["uno"].build(sources, tmp_path, includes=[library()], defines=[f"SEFR_BINS={bins}"])
            continue
        with pytest.raises(BuildError, match=message):
            BOARDS["uno"].build(sources, tmp_path, includes=[library()], defines=[f"SEFR_BINS={bins}"])


def counted(rng, n, bins, features=3):
    """Rows, and the state of a board that learned them."""
    model, X, y = CellReference(features, 2, bins), rng.integers(0, 256, (n, features)), np.arange(n) % 2
    X[y == 1, 0] //= 2
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        model.learn(row, label)
    return X, y, model


@pytest.mark.parametrize("bins", [8, 16])
def test_states_come_home_and_add(bins, rng):
    """Two boards' counts equal one training of all their rows with the board's edges; the way back too."""
    (X, y, one), (X2, y2, two) = counted(rng, 120, bins), counted(rng, 90, bins)
    total = read_state(one.state()) + read_state(two.state())
    edges = [np.arange(256 // bins, 256, 256 // bins)] * 3
    both, labels = np.vstack([X, X2]), np.r_[y, y2]
    whole = SEFRClassifier(bins=edges).fit(both, labels)
    assert total == whole.summary_
    home = SEFRClassifier.from_summary(total, bins=edges)
    assert (home.predict(both) == whole.predict(both)).all()
    assert write_state(read_state(one.state())) == one.state()
    assert merge_states([one.state(), two.state()]) == total


def test_a_board_answers_as_the_model_of_its_state(rng):
    """eq. 3 to 9 on cells: int16 weights on the board differ from the host's floats in no clear answer."""
    X, _, model = counted(rng, 200, 16, 5)
    model.weight_bits = 16
    model.solve()
    scores = np.array([model.scores(row)[0] for row in X.tolist()])
    host = SEFRClassifier.from_summary(read_state(model.state()), bins=[np.arange(16, 256, 16)] * 5)
    clear = np.abs(scores) > 32767 // 100
    assert clear.mean() > 0.9
    assert ((scores > 0) == host.predict(X))[clear].all()


def test_raw_units_of_cells(rng):
    """Bytes that stand for other values: the edges are raw values."""
    _, _, model = counted(rng, 20, 8, 2)
    summary = read_state(model.state(), low=[0, -5], high=[1020, 5])
    assert summary.coder.parts[0].tolist() == [128, 256, 384, 512, 640, 768, 896]
    assert write_state(summary, low=[0, -5], high=[1020, 5]) == model.state()


def test_cells_that_are_no_board_s_are_refused(rng):
    X, y = rng.integers(0, 256, (40, 2)), np.arange(40) % 2
    other = SEFRClassifier(bins=5).fit(X, y)
    with pytest.raises(ValueError, match="8 or 16 bins of equal width"):
        write_state(other.summary_)
    _, _, model = counted(rng, 40, 8, 2)
    with pytest.raises(ValueError, match=r"320 records of a class .* hold 254"):
        write_state(read_state(model.state()) * 16)


def test_a_damaged_state_of_cells_is_refused(rng):
    """Every byte flipped, and every length cut off: an error, never another Summary."""
    _, _, model = counted(rng, 20, 8, 2)
    state = model.state()
    for at in range(len(state)):
        broken = bytearray(state)
        broken[at] ^= 0x24
        with pytest.raises(StateError):
            read_state(bytes(broken))
        with pytest.raises(StateError):
            read_state(state[:at])
    lied = CellReference(2, 2, 8)
    lied.n, lied.s[0][3] = [1, 1], 2
    with pytest.raises(StateError, match="a sum exceeds 1 per record"):
        read_state(lied.state())
