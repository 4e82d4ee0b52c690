"""Builds the C programs in tests/device for a board, once a session and choice of settings."""

import functools
import struct
import tempfile
from pathlib import Path

from device_reference import BAD_SHAPE, KEEP_WEIGHTS, NOT_READY, OK, Reference

from sefr.device import BOARDS, library

HERE = Path(__file__).parent
SIMULATED = [name for name in BOARDS if name != "host"]
EVERYWHERE = [*SIMULATED, "host"]
FOLDER = tempfile.TemporaryDirectory(prefix="sefr-programs-")


@functools.cache
def built(board, program, defines=(), weight_bits=8, sum_bits=16, optimise="-Os", kernels=True, data=None):
    """Return the image of a program of tests/device; data is the text of data.h."""
    folder = Path(tempfile.mkdtemp(dir=FOLDER.name))
    sources = [HERE / program, library() / "sefr.c"]
    if BOARDS[board].has_assembly:
        sources.append(library() / "sefr_avr.S")
    if data is not None:
        (folder / "data.h").write_text(data)
    defines = (*defines, f"SEFR_WEIGHT_BITS={weight_bits}", f"SEFR_SUM_BITS={sum_bits}")
    return BOARDS[board].build(
        sources, folder, defines=defines, includes=[folder, library()], optimise=optimise, kernels=kernels
    )


class Conversation:
    """A script for conformance.c together with what the reference says the answers must be."""

    def __init__(self, features, classes, weight_bits=8, sum_bits=16, kind="SEFR_MODEL"):
        self.shape = (features, classes, weight_bits, sum_bits)
        self.kind = kind
        self.lean = kind == "SEFR_LEAN_MODEL"
        self.ranged = kind == "SEFR_RANGE_MODEL"
        self.model, self.other = (Reference(*self.shape, self.ranged) for _ in range(2))
        self.script, self.expected = bytearray(), bytearray()
        self.say("r", OK)

    def say(self, command, *answers, data=b""):
        self.script += command.encode() + data
        self.expected += bytes(answers)

    def learn(self, record, label, command="l"):
        target = self.other if command == "o" else self.model
        status = target.learn(record, label)
        # learn_each must not read values for a label it refuses
        values = b"" if command == "e" and status else bytes(record)
        self.say(command, status, data=bytes([label]) + values)

    def forget(self, record, label):
        self.say("f", self.model.forget(record, label), data=bytes([label]) + bytes(record))

    def decay(self):
        self.say("d", self.model.decay())

    def merge(self):
        self.say("m", self.model.merge(self.other))

    def fill(self, label, count, total):
        self.model.n[label], self.model.s[label] = count, [total] * self.model.m
        self.say("n", data=bytes([label]) + struct.pack("<II", count, total))

    def solve(self):
        status = self.model.solve()
        self.say("s", status)
        if status == OK:
            self.say("w")
            if not self.lean:
                for row in self.model.weights:
                    self.expected += struct.pack(f"<{len(row)}h", *row)
            self.expected += struct.pack(f"<{len(self.model.bias)}q", *self.model.bias)

    def ready(self):
        return self.model.weights is not None and (self.model.fresh or not self.lean)

    def classify(self, record, command="c"):
        if command == "y" and self.model.k > 2:
            return
        data = b"" if command == "y" and not self.ready() else bytes(record)
        if self.ready():
            answers = (self.model.is_known(record), self.model.classify(record))
        else:
            answers = (NOT_READY, 0)
        self.say(command, *answers, data=data)

    def scores(self, record):
        if not self.ready():
            return self.say("v", NOT_READY, data=bytes(record))
        self.say("v", OK, data=bytes(record))
        scores = self.model.scores(record)
        self.expected += struct.pack(f"<{len(scores)}q", *scores)
        return None

    def correct(self, record, label):
        status = BAD_SHAPE if self.lean and label < self.model.k else self.model.correct(record, label)
        self.say("u", status, data=bytes([label]) + bytes(record))

    def set(self, options=None, half_life=None, margin=None, model_id=None):
        """Settings of the model, on the board and in the reference."""
        if options is not None:
            self.model.options = options & ~KEEP_WEIGHTS if self.lean else options  # there are none to keep
            self.say("O", data=bytes([options]))
        if half_life is not None:
            self.model.half_life = half_life
            self.say("h", data=struct.pack("<I", half_life - 1))
        if margin is not None:
            self.model.margin = margin
            self.say("M", data=struct.pack("<I", margin))
        if model_id is not None:
            self.model.id = model_id
            self.say("i", data=struct.pack("<I", model_id))

    def space(self, states, bytes_of_a_state):
        """Let the storage hold so many states."""
        self.say("j", data=struct.pack("<I", states * bytes_of_a_state - 1))

    def send(self):
        self.script += b"x"
        self.expected += self.model.state() + bytes([OK])

    def then(self, other):
        """Go on with another conversation of the same shape, which starts by forgetting."""
        self.script += other.script
        self.expected += other.expected
        return self

    def run(self, board, **settings):
        features, classes, weight_bits, sum_bits = self.shape
        defines = (f"FEATURES={features}", f"CLASSES={classes}", f"KIND={self.kind}")
        image = built(board, "conformance.c", defines, weight_bits, sum_bits, **settings)
        output = BOARDS[board].run(image, bytes(self.script) + b"q").output
        assert output == bytes(self.expected), _difference(output, self.expected)


def _difference(output, expected):
    at = next((i for i, (a, b) in enumerate(zip(output, expected, strict=False)) if a != b), None)
    return f"{len(output)} bytes, {len(expected)} expected; the first difference is at byte {at}"
