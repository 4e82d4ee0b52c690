"""The device library on every board against the big-integer reference: results, errors, state and power
loss."""

import functools
import itertools
import struct

import numpy as np
import pytest
from device_program import EVERYWHERE, Conversation
from device_reference import (
    BAD_SHAPE,
    BAD_STATE,
    BAD_VERSION,
    IO,
    NOT_READY,
    OK,
    OTHER_MODEL,
)

KINDS = ("SEFR_MODEL", "SEFR_RANGE_MODEL", "SEFR_LEAN_MODEL")
# features, classes, bits of a weight, bits of a sum, kind: each setting and both numbers of classes with
# each other
SHAPES = [
    (7, 2, 8, 16, "SEFR_MODEL"),
    (9, 2, 8, 16, "SEFR_LEAN_MODEL"),
    (5, 3, 8, 16, "SEFR_MODEL"),
    (6, 2, 8, 16, "SEFR_RANGE_MODEL"),
    (5, 4, 16, 16, "SEFR_RANGE_MODEL"),
    (7, 2, 16, 32, "SEFR_MODEL"),
    (6, 3, 8, 32, "SEFR_RANGE_MODEL"),
    (4, 3, 16, 32, "SEFR_LEAN_MODEL"),
]
boards = pytest.mark.parametrize("board", EVERYWHERE)
shapes = pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "-".join(map(str, s)))


def record(rng, features):
    """Values of all kinds: zeros, extremes, small and spread ones."""
    style = rng.integers(5)
    if style == 0:
        return [0] * features
    if style == 1:
        return [255] * features
    values = rng.integers(0, (256, 256, 256, 4, 20)[style], features)
    return (values * (rng.random(features) < rng.random())).tolist()


def anything(rng, talk, steps):
    """Random calls, good and bad ones, under random settings."""
    features, classes = talk.shape[:2]
    talk.set(
        options=int(rng.integers(16)), half_life=int(rng.integers(1, 12)), margin=int(rng.integers(4000))
    )
    for command in rng.choice(list("lllllebooffdmssuucvyx"), steps):
        values, label = record(rng, features), int(rng.integers(0, classes + (rng.random() < 0.05)))
        match command:
            case "l" | "e" | "b" | "o":
                talk.learn(values, label, command)
            case "f":
                talk.forget(values, label)
            case "d":
                talk.decay()
            case "m":
                talk.merge()
            case "s":
                talk.solve()
            case "u":
                talk.correct(values, label)
            case "c" | "y":
                talk.classify(values, command)
            case "v":
                talk.scores(values)
            case "x":
                talk.send()


@boards
@shapes
def test_random_calls(board, shape):
    rng = np.random.default_rng(SHAPES.index(shape))
    talk = Conversation(*shape)
    anything(rng, talk, 120)
    talk.solve()
    for _ in range(10):
        talk.scores(record(rng, shape[0]))
        talk.classify(record(rng, shape[0]))
    talk.run(board)


def edges(features, classes, kind, weight_bits, sum_bits):
    """Yield conversations at the edges of what can be learned."""
    zero, full = [0] * features, [255] * features
    new = lambda: Conversation(features, classes, weight_bits, sum_bits, kind)  # noqa: E731
    one_each = new()  # one record a class
    for label in range(classes):
        one_each.learn([min(255, 40 * label + j) for j in range(features)], label)
        one_each.solve()
    one_each.classify(full)
    yield one_each
    halves = new()  # 127 * 2 / 508 is one half: rounded away from 0
    for values, label in (([255, 253], 1), ([253, 255], 0)):
        halves.learn([values[j % 2] for j in range(features)], label)
    halves.solve()
    yield halves
    nothing = new()  # all zero, and an empty class
    nothing.classify(zero)
    nothing.solve()
    nothing.learn(zero, 0)
    nothing.solve()
    nothing.learn(zero, classes - 1)
    nothing.solve()
    nothing.scores(full)
    nothing.learn(full, classes - 1)
    nothing.solve()
    nothing.scores(full)
    nothing.classify(zero)
    yield nothing
    if kind == "SEFR_RANGE_MODEL":
        return
    most = 256 if sum_bits == 16 else (1 << 24) // classes
    for pattern in itertools.product((0, 1, 255), repeat=2):  # the largest counts and sums
        large = new()
        for label in range(classes):
            large.fill(label, most, most * pattern[label % 2])
        large.solve()
        large.scores([j % 256 for j in range(features)])
        large.scores(full)
        large.learn(full, 1)  # one more: halves where the sums are full
        large.send()
        large.solve()
        large.merge()
        large.learn(zero, 0, "o")
        large.merge()
        yield large
    odd = new()  # halving an odd count keeps the mean
    odd.fill(0, 3 if sum_bits == 16 else 5, 3 * 255)
    odd.learn(full, 1)
    odd.decay()
    odd.solve()
    odd.send()
    yield odd


@boards
@pytest.mark.parametrize("bits", [(8, 16), (16, 32)], ids=str)
@pytest.mark.parametrize(
    ("classes", "kind"), [(2, KINDS[0]), (3, KINDS[0]), (2, KINDS[1]), (3, KINDS[2])], ids=str
)
def test_edges(board, classes, kind, bits):
    functools.reduce(Conversation.then, edges(6, classes, kind, *bits)).run(board)


@pytest.mark.parametrize("bits", [(8, 16), (16, 16), (8, 32), (16, 32)], ids=str)
def test_widest_bounds_on_the_host(bits):
    """The largest features and counts together, where a sum that is too narrow would overflow: UBSan
    watches."""
    classes = 43 if bits[1] == 16 else 254
    for features, n_classes in ((300, 2), (40, classes)):
        talk = Conversation(features, n_classes, *bits)
        most = 256 if bits[1] == 16 else (1 << 24) // n_classes
        for label in range(n_classes):
            talk.fill(label, most, most * 255 * (label % 2))
        talk.solve()
        talk.scores([255] * features)
        talk.run("host")


@boards
def test_bad_input_changes_nothing(board):
    talk = Conversation(5, 3)
    talk.learn([1, 2, 3, 4, 5], 3)
    talk.learn([1, 2, 3, 4, 5], 255, "e")
    talk.forget([0] * 5, 7)
    talk.forget([0] * 5, 0)  # nothing learned yet
    talk.send()
    talk.learn([9, 9, 9, 9, 9], 1)
    talk.solve()
    talk.forget([9, 9, 9, 9, 10], 1)  # one value too large
    talk.forget([0, 9, 9, 9, 9], 1)  # would leave a sum without a record
    talk.send()
    talk.forget([9, 9, 9, 9, 9], 1)
    talk.send()
    talk.run(board)


def saved(shape, rng):
    """A conversation with two states saved, the second newer, and the reference's bytes of both."""
    talk = Conversation(*shape)
    talk.space(2, len(talk.model.state()))
    talk.say("z")
    talk.say("g", BAD_STATE)
    states = []
    for _ in range(2):
        for label in range(shape[1]):
            talk.learn(record(rng, shape[0]), label)
        states.append((talk.model.state(), [row[:] for row in talk.model.s], talk.model.n[:]))
        talk.say("p", OK, data=struct.pack("<I", 1 << 20))
    return talk, states


@boards
@pytest.mark.parametrize("shape", [SHAPES[0], SHAPES[6]], ids=lambda s: "-".join(map(str, s)))
def test_power_loss_at_every_byte(board, shape, rng):
    talk, states = saved(shape, rng)
    size, sequence = len(states[0][0]), 2
    places = [bytearray(talk_state) for talk_state in _as_saved(talk.model, states)]
    old = states[1][0]
    for writes in range(size + 2):
        talk.learn(record(rng, shape[0]), writes % shape[1])
        new, saved_as = talk.model.state(), talk.model.state(sequence)
        place = places[sequence % 2]
        place[:writes] = saved_as[:writes]
        whole = bytes(place) == saved_as
        assert whole or writes < size
        talk.say("p", OK if whole else IO, data=struct.pack("<I", writes))
        talk.say("g", OK)
        talk.script += b"x"
        old = new if whole else old
        talk.expected += old + bytes([OK])
        _take(talk.model, old)
        sequence += whole
    talk.run(board)


def _as_saved(model, states):
    """The states with their sequence numbers 0 and 1."""
    now = model.s, model.n
    for sequence, (_, sums, counts) in enumerate(states):
        model.s, model.n = sums, counts
        yield model.state(sequence)
    model.s, model.n = now


def _take(model, state):
    at = 20
    model.n = list(struct.unpack_from(f"<{model.k}I", state, at))
    at += 4 * model.k
    width = model.sum_bits // 8
    flat = struct.unpack_from(f"<{model.k * model.m}{'H' if width == 2 else 'I'}", state, at)
    model.s = [list(flat[c * model.m : (c + 1) * model.m]) for c in range(model.k)]
    at += width * model.k * model.m
    if model.ranged:
        model.low, model.high = list(state[at : at + model.m]), list(state[at + model.m : at + 2 * model.m])
    model.weights, model.fresh = None, False


@boards
def test_any_flipped_byte_is_refused(board, rng):
    """A damaged newest state gives way to the older one; with both damaged nothing is taken and nothing
    changes."""
    shape = (3, 2, 8, 16, "SEFR_MODEL")
    talk, states = saved(shape, rng)
    size = len(states[0][0])
    for at in range(size):
        byte = states[1][0][at] if not 12 <= at < 16 and at < size - 4 else None
        if byte is None:
            continue  # the sequence number and the checksum differ from a sent state's
        talk.say("k", data=struct.pack("<I", size + at) + bytes([byte ^ 0x10]))
        talk.say("g", OK)
        talk.script += b"x"
        talk.expected += states[0][0] + bytes([OK])
        talk.say("k", data=struct.pack("<I", size + at) + bytes([byte]))
    talk.say("g", OK)
    _take(talk.model, states[1][0])
    for at, status in (
        (0, BAD_STATE),
        (4, BAD_VERSION),
        (5, BAD_SHAPE),
        (6, BAD_SHAPE),
        (8, BAD_SHAPE),
        (16, OTHER_MODEL),
        (24, BAD_STATE),
    ):
        for slot in (0, size):
            talk.say("k", data=struct.pack("<I", slot + at) + bytes([states[slot > 0][0][at] ^ 0x40]))
        talk.say("g", status)
        talk.send()
        for slot in (0, size):
            talk.say("k", data=struct.pack("<I", slot + at) + bytes([states[slot > 0][0][at]]))
    talk.run(board)


@boards
def test_restored_models_go_on(board, rng):
    talk, states = saved(SHAPES[2], rng)
    talk.say("r", OK)
    talk.model.reset()
    talk.say("s", NOT_READY)
    talk.say("g", OK)
    _take(talk.model, states[1][0])
    talk.solve()
    talk.learn(record(rng, 5), 1)
    talk.solve()
    talk.scores(record(rng, 5))
    talk.run(board)


@boards
def test_bytes_of_sensor_values(board, rng):
    talk = Conversation(2, 2)
    for _ in range(60):
        low, high = sorted(int(v) for v in rng.integers(-(1 << 22), 1 << 22, 2))
        value = int(rng.integers(low - 10, high + 11)) if high > low else low
        inside = min(max(value, low), high)
        expected = (510 * (inside - low) + high - low) // (2 * (high - low)) if high > low else 0
        talk.say("t", expected, data=struct.pack("<iii", value, low, high))
    talk.say("t", 0, data=struct.pack("<iii", 5, 5, 5))
    talk.say("t", 255, data=struct.pack("<iii", 1023, 0, 1023))
    talk.run(board)
