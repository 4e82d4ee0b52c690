"""What a model can be told: to halve, balance, forget, answer "unknown", keep corrections."""

import struct

import numpy as np
import pytest
from device_program import Conversation
from device_reference import (
    BAD_STATE,
    BALANCED,
    CHECK_RANGES,
    KEEP_WEIGHTS,
    MOST,
    NO_ROOM,
    NOT_READY,
    OK,
    OTHER_MODEL,
    UNKNOWN,
    Reference,
)
from test_library import SHAPES, _take, boards, record, saved

from sefr.device import BOARDS, library


@boards
def test_a_full_class_is_halved_alone(board):
    """A button held for a minute must not take away what the other one taught."""
    talk = Conversation(3, 2)
    for _ in range(30):
        talk.learn([200, 10, 10], 0)
    for i in range(600):
        talk.learn([i % 7, 200, 20], 1)
    assert talk.model.n == [30, 216]
    assert talk.model.s[0] == [30 * 200, 300, 300]
    talk.send()
    talk.solve()
    talk.classify([200, 10, 10])
    talk.run(board)


@boards
@pytest.mark.parametrize("bits", [(8, 16), (16, 32)], ids=str)
@pytest.mark.parametrize("classes", [2, 4])
def test_balanced_models(board, bits, classes, rng):
    """The border as if each class had as many records, at every remainder of the fractions."""
    talk = Conversation(5, classes, *bits)
    for label in range(classes):
        for _ in range(1 + 7 * label):
            talk.learn(record(rng, 5), label)
    talk.solve()
    plain = talk.model.bias[:]
    talk.set(options=BALANCED)
    for _ in range(12):
        talk.solve()
        talk.scores(record(rng, 5))
        talk.learn(record(rng, 5), int(rng.integers(classes)))
    assert talk.model.bias != plain
    for label in range(classes):
        talk.fill(
            label, MOST[bits[1]] // classes >> label, (MOST[bits[1]] // classes >> label) * 255 // (label + 1)
        )
    talk.solve()
    talk.run(board)


def test_a_balanced_model_keeps_the_small_class():
    """Held for 3 s against 60 s: eq. 9 moves the border to the small class, the balanced one does not."""
    rng = np.random.default_rng(5)
    wrong = {}
    for options in (0, BALANCED):
        model = Reference(6, 2)
        model.options = options
        for label, n in ((0, 12), (1, 240)):
            for row in np.clip(rng.normal(100 + 25 * label, 30, (n, 6)), 0, 255).astype(int).tolist():
                model.learn(row, label)
        model.solve()
        rows = np.clip(rng.normal(100, 30, (400, 6)), 0, 255).astype(int).tolist()
        wrong[options] = sum(model.classify(row) for row in rows) / len(rows)
    assert wrong[BALANCED] < 0.25 < wrong[0]


@boards
def test_a_half_life_follows_drift(board):
    talk = Conversation(2, 2)
    talk.set(half_life=8)
    for i in range(120):
        talk.learn([255 - 2 * i, 7], 1)
        talk.learn([40, 2 * i], 0)
    assert talk.model.n == [16, 16]
    assert talk.model.s[1][0] / talk.model.n[1] < 255 - 2 * 120 + 2 * 16
    talk.solve()
    talk.send()
    talk.run(board)


@boards
@pytest.mark.parametrize("classes", [2, 3])
def test_what_a_model_does_not_know(board, classes, rng):
    talk = Conversation(5, classes, kind="SEFR_RANGE_MODEL")
    for i in range(12):
        talk.learn(rng.integers(20 * (i % classes), 120, 5).tolist(), i % classes)
    talk.solve()
    seen = set()
    for margin, options in (
        (0, 0),
        (500, 0),
        (4000, 0),
        (1 << 31, 0),
        (0, CHECK_RANGES),
        (2000, CHECK_RANGES),
    ):
        talk.set(margin=margin, options=options)
        for _ in range(15):
            values = rng.integers(0, 160, 5).tolist()
            seen.add(talk.model.is_known(values))
            talk.classify(values)
            talk.classify(values, "y")
        talk.classify(list(talk.model.low))
    assert seen == {OK, UNKNOWN}
    talk.run(board)


@boards
def test_a_state_of_another_model_is_refused(board, rng):
    talk, states = saved(SHAPES[0], rng)
    talk.set(model_id=77)
    talk.say("g", OTHER_MODEL)
    talk.send()
    talk.learn(record(rng, 7), 1, "o")
    talk.merge()  # the other has id 0
    talk.set(model_id=0)
    talk.merge()
    talk.say("g", OK)
    _take(talk.model, states[1][0])
    talk.send()
    talk.space(1, len(states[0][0]))
    talk.say("p", NO_ROOM, data=struct.pack("<I", 1 << 20))
    talk.run(board)


@boards
@pytest.mark.parametrize(("weight_bits", "classes"), [(8, 2), (16, 3)])
def test_corrections_are_kept(board, weight_bits, classes, rng):
    """With SEFR_KEEP_WEIGHTS a state holds what sefr_correct changed; without, it does not."""
    talk = Conversation(6, classes, weight_bits)
    for options in (KEEP_WEIGHTS, 0):
        talk.set(options=options)
        talk.say("z")
        for label in range(classes):
            talk.learn(record(rng, 6), label)
        talk.say("p", OK, data=struct.pack("<I", 1 << 20))  # not solved yet: no weights in it
        talk.solve()
        for _ in range(5):
            talk.correct(rng.integers(0, 256, 6).tolist(), int(rng.integers(classes)))
        talk.send()
        talk.say("p", OK, data=struct.pack("<I", 1 << 20))
        weights, bias = [row[:] for row in talk.model.weights], talk.model.bias[:]
        talk.solve()
        assert weights != talk.model.weights
        talk.say("g", OK)
        talk.model.weights, talk.model.bias = (weights, bias) if options else (None, None)
        talk.model.fresh = False
        talk.scores([9, 90, 200, 0, 255, 31])
    talk.run(board)


@boards
def test_classifying_goes_on_after_the_last_record_of_a_class_is_forgotten(board):
    talk = Conversation(3, 2)
    talk.learn([10, 200, 30], 1)
    talk.learn([200, 10, 30], 0)
    talk.solve()
    talk.forget([10, 200, 30], 1)
    for values in ([10, 200, 30], [200, 10, 30], [0, 0, 0]):
        talk.classify(values)
        talk.classify(values, "y")
    talk.run(board)


@boards
def test_a_class_without_records_cannot_be_corrected_towards(board):
    talk = Conversation(3, 3)
    talk.learn([10, 200, 30], 0)
    talk.learn([200, 10, 30], 1)
    talk.solve()
    talk.correct([0, 0, 255], 2)
    assert talk.model.correct([0, 0, 255], 2) == NOT_READY
    talk.scores([0, 0, 255])
    talk.learn([0, 0, 255], 2)
    talk.correct([0, 0, 255], 2)
    talk.solve()
    talk.correct([200, 10, 30], 2)
    talk.scores([0, 0, 255])
    talk.run(board)


@boards
@pytest.mark.parametrize(("before", "after"), [(0, KEEP_WEIGHTS), (KEEP_WEIGHTS, 0)])
def test_an_option_that_changes_the_size_of_a_state_loses_none(board, before, after, rng):
    """An update switches SEFR_KEEP_WEIGHTS: states lie elsewhere, and still the newest is restored."""
    talk = Conversation(6, 2)
    forever = struct.pack("<I", 1 << 20)
    for saves in (1, 2, 3):
        talk.say("z")
        talk.set(options=before)
        for label in (0, 1):
            talk.learn(record(rng, 6), label)
        talk.solve()
        for _ in range(saves):
            talk.learn(record(rng, 6), 1)
            talk.say("p", OK, data=forever)
        kept = (talk.model.n[:], [row[:] for row in talk.model.s])
        talk.set(options=after)
        status = NO_ROOM if saves == 2 and after else OK
        for _ in range(2):
            talk.learn(record(rng, 6), 0)  # not saved: the board restarts
            talk.say("g", OK)
            talk.model.n, talk.model.s, talk.model.fresh = kept[0][:], [row[:] for row in kept[1]], False
            if not after or before:
                talk.model.weights = talk.model.bias = None
            talk.solve()
            talk.send()
            talk.learn(record(rng, 6), 1)
            talk.say(
                "p", status, data=forever
            )  # NO_ROOM: the only two places have a part of the newest state
            if status == OK:
                kept = (talk.model.n[:], [row[:] for row in talk.model.s])
    talk.run(board)


@pytest.mark.needs("avr")
def test_a_storage_that_was_never_set_holds_nothing(tmp_path):
    (tmp_path / "program.c").write_text(
        '#include "board.h"\n#include "sefr.h"\nSEFR_MODEL(m, 4, 2)\nint main(void) {\n'
        "    static const sefr_storage zero;\n    sefr_reset(&m);\n"
        "    board_put((uint8_t)sefr_restore(&m, &zero));\n    board_put((uint8_t)sefr_save(&m, &zero));\n"
        "    board_put((uint8_t)sefr_discard(&zero));\n    return 0;\n}\n"
    )
    for board in ("host", "uno"):
        sources = [tmp_path / "program.c", library() / "sefr.c"]
        sources += [library() / "sefr_avr.S"] if board == "uno" else []
        image = BOARDS[board].build(sources, tmp_path, includes=[library()])
        assert list(BOARDS[board].run(image).output) == [BAD_STATE, NO_ROOM, OK]


@boards
def test_a_save_does_not_write_over_what_another_model_learned(board, rng):
    talk, states = saved(SHAPES[0], rng)
    forever = struct.pack("<I", 1 << 20)
    talk.set(model_id=77)
    talk.say("p", OTHER_MODEL, data=forever)
    talk.set(model_id=0)
    talk.say("g", OK)
    _take(talk.model, states[1][0])
    talk.send()
    talk.set(model_id=77)
    talk.say("D", OK)
    talk.say("p", OK, data=forever)
    talk.say("g", OK)
    talk.send()
    talk.run(board)
