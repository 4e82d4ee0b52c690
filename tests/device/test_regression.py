"""Numbers learned on boards: bits equal to the definition, states, and what they cost."""

import importlib
import struct
import zlib

import numpy as np
import pytest
from device_program import EVERYWHERE, HERE
from device_reference import BAD_SHAPE, FULL, NEVER_LEARNED, NOT_READY, OK, OTHER_MODEL
from sklearn.datasets import load_diabetes, load_wine
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score

from sefr.device import BOARDS, Regression, StateError, hats, library
from sefr.device.board import Board

boards = pytest.mark.parametrize("board", EVERYWHERE)


def program(board, inputs, folder, kernels=True):
    sources = [HERE / "regress.c", library() / "sefr.c"]
    sources += [library() / "sefr_avr.S"] if board == "uno" else []
    place: Board = BOARDS[board]
    defines = [f"INPUTS={inputs}", *(["ALONE"] if board == "uno" and inputs > 8 else [])]
    return place.build(sources, folder, defines=defines, includes=[library()], kernels=kernels)


class Definition:
    """sefr_regress.h in Python's integers, one record at a time."""

    def __init__(self, m, half_life=32767):
        self.m, self.half_life = m, half_life
        self.n = self.t = 0
        self.s, self.p, self.q = [0] * m, [0] * m, [[0] * m for _ in range(m)]

    def learn(self, x, y, sign=1):
        if sign > 0 and self.n >= 2 * self.half_life:
            self.decay()
        self.n, self.t = self.n + sign, self.t + sign * y
        for i in range(self.m):
            self.s[i] += sign * x[i]
            self.p[i] += sign * x[i] * y
            for j in range(self.m):
                self.q[i][j] += sign * x[i] * x[j]

    def decay(self):
        n, half = self.n, (self.n + 1) // 2
        if n < 2:
            return
        self.s, self.p = [v * half // n for v in self.s], [v * half // n for v in self.p]
        self.q = [[v * half // n for v in row] for row in self.q]
        self.t, self.n = self.t * half // n, half

    def solve(self):
        m, n = self.m, self.n
        a = [[n * self.q[i][j] - self.s[i] * self.s[j] for j in range(m)] for i in range(m)]
        b = [n * self.p[j] - self.s[j] * self.t for j in range(m)]
        t = 0
        while max(a[j][j] for j in range(m)) >> t >= 1 << 31:
            t += 1
        a, b, w = [[v >> t for v in row] for row in a], [v >> t for v in b], [0] * m
        for _ in range(30):
            changed = False
            for j in range(m):
                if a[j][j] > 0:
                    left = 1024 * b[j] - sum(a[j][k] * w[k] for k in range(m) if k != j)
                    d = a[j][j] + (a[j][j] >> 10) + 1
                    new = max(-(1 << 25), min(1 << 25, (2 * left + d) // (2 * d)))
                    changed, w[j] = changed or new != w[j], new
            if not changed:
                break
        k = 0
        while any(not -32768 <= (v + (1 << k >> 1)) >> k <= 32767 for v in w):
            k += 1
        self.v = [(v + (1 << k >> 1)) >> k for v in w]
        self.bias = ((1024 * self.t >> k) - sum(v * s for v, s in zip(self.v, self.s, strict=True))) // n
        self.shift = 10 - k

    def answer(self, x):
        total = sum(v * value for v, value in zip(self.v, x, strict=True)) + self.bias
        total = (total + (1 << (self.shift - 1))) >> self.shift if self.shift > 0 else total << -self.shift
        return max(-32768, min(32767, total))


class Talk:
    """Commands for regress.c, and what they must answer."""

    def __init__(self, m, half_life=32767):
        self.model, self.other = Definition(m, half_life), Definition(m, half_life)
        self.script, self.expected = b"h" + struct.pack("<H", half_life) + b"r", bytes([OK])

    def say(self, command, *answers):
        self.script += command
        self.expected += bytes(answers)

    def learn(self, x, y, command=b"l"):
        (self.other if command == b"o" else self.model).learn(x, y, -1 if command == b"f" else 1)
        self.say(command + bytes(x) + struct.pack("<h", y), OK)

    def solve(self):
        self.model.solve()
        self.say(b"s", OK)
        self.expected += struct.pack(f"<{self.model.m}hib", *self.model.v, self.model.bias, self.model.shift)

    def answer(self, x):
        self.say(b"c" + bytes(x), OK)
        self.expected += struct.pack("<h", self.model.answer(x))

    def fill(self, n, t, s, p, q):
        model = self.model
        model.n, model.t, model.s, model.p = n, t, s, p
        model.q = [[q[max(i, j)][min(i, j)] for j in range(model.m)] for i in range(model.m)]
        self.say(b"n" + struct.pack("<Hi", n, t))
        for value, product in zip(s, p, strict=True):
            self.script += struct.pack("<I", value) + product.to_bytes(5, "little", signed=True)
        self.script += b"".join(struct.pack("<I", q[i][j]) for i in range(model.m) for j in range(i + 1))


def rows(rng, n, m):
    """Bytes of all kinds: spread, sparse, extremes."""
    X = rng.integers(0, 256, (n, m))
    X[rng.random((n, m)) < 0.3] = 0
    X[rng.random((n, m)) < 0.1] = 255
    return X


@boards
@pytest.mark.parametrize("m", [1, 2, 5, 16])
def test_boards_follow_the_definition(board, m, tmp_path, rng):
    talk = Talk(m, half_life=20)
    for n in (3, 30, 41):
        X = rows(rng, n, m)
        y = np.clip(X @ rng.normal(0, 60, m) + rng.normal(0, 900, n), -32768, 32767).astype(int)
        for x, value in zip(X.tolist(), y.tolist(), strict=True):
            talk.learn(x, value)
        talk.solve()
        for x in rows(rng, 6, m).tolist():
            talk.answer(x)
    talk.learn(X[-1].tolist(), int(y[-1]), b"f")
    talk.model.decay()
    talk.say(b"d", OK)
    talk.solve()
    if board == "uno" and m > 8:  # there is room for one model
        assert BOARDS[board].run(program(board, m, tmp_path), talk.script + b"q").output == talk.expected
        return
    for x, value in zip(X[:4].tolist(), y[:4].tolist(), strict=True):
        talk.learn(x, value, b"o")
    other, model = talk.other, talk.model
    model.n, model.t = model.n + other.n, model.t + other.t
    model.s, model.p = [
        list(map(sum, zip(*pair, strict=True))) for pair in ((model.s, other.s), (model.p, other.p))
    ]
    model.q = [list(map(sum, zip(*pair, strict=True))) for pair in zip(model.q, other.q, strict=True)]
    talk.say(b"m", OK)
    talk.solve()
    output = BOARDS[board].run(program(board, m, tmp_path), talk.script + b"q").output
    assert output == talk.expected


@boards
def test_the_largest_sums_and_numbers(board, tmp_path):
    """65,535 records at the extremes: no step overflows, and a constant column says nothing."""
    n, m = 65535, 3
    talk = Talk(m)
    high = n // 2
    s = [255 * high, 255 * n, 255 * (n - high)]
    q = [[65025 * high], [65025 * high, 65025 * n], [0, 65025 * (n - high), 65025 * (n - high)]]
    p = [255 * 32767 * high, 255 * (32767 * high - 32768 * (n - high)), -255 * 32768 * (n - high)]
    talk.fill(n, 32767 * high - 32768 * (n - high), s, p, q)
    talk.solve()
    for x in ([255, 255, 0], [0, 255, 255], [0, 0, 0], [255, 255, 255], [128, 255, 127]):
        talk.answer(x)
    talk.learn([255, 255, 0], 32767)  # full: halved, then one more
    talk.solve()
    talk.fill(
        2, 32767 - 32768, [1, 0, 0], [32767, 0, 0], [[1], [0, 0], [0, 0, 0]]
    )  # the steepest line there is
    talk.solve()
    for x in ([0, 0, 0], [1, 0, 0], [255, 3, 3]):
        talk.answer(x)
    output = BOARDS[board].run(program(board, m, tmp_path), talk.script + b"q").output
    assert output == talk.expected


def test_statuses(tmp_path):
    script = b"r" + b"c\x01\x02" + b"s" + b"l\x0a\x14\x64\x00"
    script += b"f\x0b\x14\x64\x00" + b"f\x0a\x14\x65\x00" + b"f\x0a\x14\x64\x00" + b"f\x0a\x14\x64\x00"
    script += b"h\x00\x00" + b"r" + b"h\xff\x7f" + b"r" + b"i\x01\x00\x00\x00m" + b"i\x00\x00\x00\x00"
    script += b"n" + struct.pack("<Hi", 65535, 0) + bytes(18 + 12) + b"o\x01\x02\x03\x00m"
    output = BOARDS["host"].run(program("host", 2, tmp_path), script + b"q").output
    zeros = bytes(9)
    expected = bytes([OK, NOT_READY, 0, 0, NOT_READY]) + zeros + bytes([OK, NEVER_LEARNED, NEVER_LEARNED, OK])
    expected += bytes([NEVER_LEARNED, BAD_SHAPE, OK, OTHER_MODEL, OK, FULL])
    assert output == expected


@boards
def test_the_twin_equals_a_board(board, tmp_path, rng):
    m = 4
    X, model = rows(rng, 90, m), Regression(half_life=30)
    y = (X @ [20, -31, 4, 9] + rng.integers(-300, 300, 90)).clip(-32768, 32767)
    script = b"h" + struct.pack("<H", 30) + b"r"
    script += b"".join(
        b"l" + bytes(x) + struct.pack("<h", v) for x, v in zip(X.tolist(), y.tolist(), strict=True)
    )
    script += b"s" + b"".join(b"c" + bytes(x) for x in X[:20].tolist()) + b"x"
    model.learn(X[:50], y[:50]).learn(X[50:], y[50:]).solve()
    output = BOARDS[board].run(program(board, m, tmp_path), script + b"q").output
    at = 1 + 90 + 1
    found = struct.unpack_from(f"<{m}hib", output, at)
    assert found == (*model.weights.tolist(), model.bias, model.shift)
    answers = np.frombuffer(
        output[at + 2 * m + 5 : at + 2 * m + 5 + 60], np.dtype([("s", "u1"), ("y", "<i2")])
    )
    assert answers["y"].tolist() == model.predict(X[:20]).tolist()
    assert output[at + 2 * m + 5 + 60 : -1] == model.state()
    back = Regression.from_state(model.state())
    assert back.predict(X).tolist() == model.predict(X).tolist()
    assert back.state() == model.state()


@boards
def test_states_are_saved_restored_and_damaged_ones_refused(board, tmp_path, rng):
    m = 3
    X, y = rows(rng, 9, m), rng.integers(-900, 900, 9)
    model = Regression().learn(X[:5], y[:5]).solve()
    forever = struct.pack("<I", 1 << 20)
    size = len(model.state())
    taught = [b"l" + bytes(x) + struct.pack("<h", v) for x, v in zip(X.tolist(), y.tolist(), strict=True)]
    script = b"zr" + b"".join(taught[:5]) + b"s" + b"p" + forever + b"".join(taught[5:]) + b"p" + forever
    for at in (0, 3, 4, 8, 16, 30, size - 1):  # bytes of the second state
        byte = saved_bytes(X, y, sequence=1)[at]
        script += b"k" + struct.pack("<I", size + at) + bytes([byte ^ 0x55]) + b"g" + b"x"
        script += b"k" + struct.pack("<I", size + at) + bytes([byte])
    script += b"g" + b"x"
    output = BOARDS[board].run(program(board, m, tmp_path), script + b"q").output
    rest = output[1 + 5 + 1 + 2 * m + 5 + 1 + 4 + 1 :]
    for _ in range(7):
        assert rest[0] == OK
        assert rest[1 : 1 + size] == model.state()
        rest = rest[1 + size + 1 :]
    assert rest[1 : 1 + size] == Regression().learn(X, y).solve().state()


def saved_bytes(X, y, sequence):
    state = bytearray(Regression().learn(X, y).solve().state())
    state[12] = sequence
    body = bytes(state[:-4])
    return body + struct.pack("<I", zlib.crc32(body))


def test_boards_merge_on_the_host_exactly(rng):
    X, y = rows(rng, 300, 5), rng.integers(-2000, 2000, 300)
    parts = [Regression().learn(X[i::3], y[i::3]) for i in range(3)]
    merged = Regression()
    for part in parts:
        merged.merge(Regression.from_state(part.state()))
    whole = Regression().learn(X, y)
    assert merged.solve().state() == whole.solve().state()


def test_bad_states_and_values_are_refused(rng):
    model = Regression().learn(rows(rng, 9, 2), rng.integers(-9, 9, 9))
    good = model.state()
    for bad, message in (
        (b"", "no state"),
        (b"SEFR" + good[4:], "no state"),
        (good[:-1], "bytes"),
        (good[:30] + b"\xff" + good[31:], "checksum"),
        (good[:4] + b"\x02" + good[5:], "version 2"),
    ):
        with pytest.raises(StateError, match=message):
            Regression.from_state(bad)
    for call, message in (
        (lambda: Regression(0), "half_life must be 1 to 32767"),
        (lambda: Regression().solve(), "two records are needed"),
        (lambda: Regression().learn([[1, 256]], [1]), "row 0, feature 1: 256 is not a whole number"),
        (lambda: Regression().learn([[1]], [40000]), "row 0: 40000"),
        (lambda: Regression().learn([[1], [2]], [1]), "2 records and 1 numbers"),
        (lambda: Regression().predict([[1]]), r"call solve\(\) first"),
        (lambda: model.merge(Regression().learn([[1]], [1])), "one has 2 features, the other 1 features"),
        (lambda: Regression().state(), "learn records first"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize("data", ["diabetes", "wine"])
def test_it_fits_as_linear_regression_does(data):
    if data == "diabetes":
        X, y = load_diabetes(return_X_y=True)
    else:
        X, y = load_wine().data[:, 1:], load_wine().data[:, 0]
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], y[order]
    n = int(len(X) * 0.6)
    low, high = X[:n].min(axis=0), X[:n].max(axis=0)
    as_bytes = np.clip(np.floor(255 * (X - low) / (high - low) + 0.5), 0, 255)
    bottom, span = y[:n].min(), np.ptp(y[:n])
    numbers = np.clip(np.rint((y - bottom) / span * 4000), -32767, 32767)
    model = Regression().learn(as_bytes[:n], numbers[:n]).solve()
    host = r2_score(y[n:], LinearRegression().fit(X[:n], y[:n]).predict(X[n:]))
    assert r2_score(numbers[n:], model.predict(as_bytes[n:])) >= host - 0.005


def test_a_curve_is_learned_by_hats():
    """A thermistor: 4.6 degrees of mean error by a line, under a quarter by 17 hats."""
    rng = np.random.default_rng(0)
    code = rng.integers(60, 980, 800)
    degrees = 1 / (1 / 298.15 + np.log(1023 / code - 1) / 3950) - 273.15
    y = np.rint(100 * degrees + rng.normal(0, 20, 800)).astype(int)
    value = (255 * code + 511) // 1023
    errors = []
    for X in (value[:, None], hats(value, 9), hats(value, 17)):
        model = Regression().learn(X[:400], y[:400]).solve()
        errors.append(np.abs(model.predict(X[400:]) / 100 - degrees[400:]).mean())
    assert errors[0] > 4
    assert errors[1] < 0.6
    assert errors[2] < 0.25


@pytest.mark.needs("avr")
def test_hats_on_a_board(tmp_path):
    script = b"".join(b"H" + bytes([n, value]) for n in (2, 9, 17) for value in range(256))
    output = BOARDS["uno"].run(program("uno", 1, tmp_path), script + b"q").output
    expected = b"".join(hats(np.arange(256), n).tobytes() for n in (2, 9, 17))
    assert output == expected


@pytest.mark.parametrize(("m", "learn", "answer"), [(6, 1000, 330), (16, 4500, 550)])
@pytest.mark.needs("avr")
def test_cycles_on_an_uno(m, learn, answer, tmp_path, rng):
    """Dense records, the slowest there are, after as many as make the sums wide."""
    X = rng.integers(1, 256, (60, m))
    y = (X @ rng.integers(-20, 20, m)).clip(-32768, 32767)
    script = b"r" + b"".join(
        b"T" + bytes(x) + struct.pack("<h", v) for x, v in zip(X.tolist(), y.tolist(), strict=True)
    )
    run = BOARDS["uno"].run(program("uno", m, tmp_path), script + b"q")
    spent = np.diff(run.marks).reshape(-1)
    each = spent[: len(spent) // 4 * 4 + 3]
    learned, answered = each[0::4], each[2::4]
    assert np.mean(learned) <= learn
    assert np.max(answered) <= answer


@pytest.mark.needs("avr")
def test_twenty_four_inputs_fit_an_uno(tmp_path, rng):
    """Learned, solved and answered within 2 KB: painted SRAM tells."""
    (tmp_path / "program.c").write_text(
        '#include "board.h"\n#include "sefr_regress.h"\nSEFR_REGRESS(model, 24)\nint main(void) {\n'
        "    uint8_t x[24], i, n;\n    int16_t y;\n    sefr_regress_reset(&model);\n"
        "    for (n = 0; n < 40; n++) {\n        for (i = 0; i < 24; i++) x[i] = board_get();\n"
        "        sefr_regress_learn(&model, x, (int16_t)(x[0] * 40 - x[5] * 9));\n    }\n"
        "    board_put((uint8_t)sefr_regress_solve(&model));\n    sefr_regress_answer(&model, x, &y);\n"
        "    board_put((uint8_t)y);\n    board_put((uint8_t)((uint16_t)y >> 8));\n    return 0;\n}\n"
    )
    uno, X = BOARDS["uno"], rng.integers(0, 256, (40, 24))
    sources = [
        tmp_path / "program.c",
        library() / "sefr.c",
        library() / "sefr_regress.c",
        library() / "sefr_avr.S",
    ]
    run = uno.run(uno.build(sources, tmp_path, includes=[library()]), X.astype(np.uint8).tobytes())
    model = Regression().learn(X, X[:, 0] * 40 - X[:, 5] * 9).solve()
    assert run.output == bytes([OK]) + struct.pack("<h", int(model.predict(X[-1:])[0]))
    assert run.sram <= 2048


@pytest.mark.needs("avr")
@pytest.mark.slow
@pytest.mark.parametrize("pollutant", ["NOx(GT)"])
def test_a_gas_sensor_that_calibrates_itself(pollutant, tmp_path, monkeypatch, paper_data):
    """A year of hours through a simulated Uno: one reference day per week keeps it right."""
    paper_data("signals/air_quality")
    monkeypatch.syspath_prepend(str(HERE.parents[1]))
    air = importlib.import_module("benchmarks.device.air_quality")
    X, y, hour = air.hours(pollutant)
    static, at, _ = air.on_an_uno(X, y, hour, False, tmp_path)
    answers, at, state = air.on_an_uno(X, y, hour, True, tmp_path)
    assert r2_score(y[at], static) < 0.1
    assert r2_score(y[at], answers) >= 0.88
    assert len(state) < 300
    twin, places, model = air.by_the_twin(X, y, hour)
    assert places.tolist() == at.tolist()
    assert twin.tolist() == answers.tolist()
    assert model.state() == state


@pytest.mark.needs("avr")
def test_three_boards_that_calibrate_are_merged_exactly(tmp_path, monkeypatch, paper_data):
    """Each board learned other hours; merged on the host they are one that learned all of them."""
    paper_data("signals/air_quality")
    monkeypatch.syspath_prepend(str(HERE.parents[1]))
    air = importlib.import_module("benchmarks.device.air_quality")
    X, y, _ = air.hours("NOx(GT)")
    image, merged = air.build(X.shape[1], tmp_path), Regression()
    for board in range(3):
        part = slice(board * 200, board * 200 + 200)
        learned = [b"l" + x.tobytes() + struct.pack("<h", v) for x, v in zip(X[part], y[part], strict=True)]
        output = BOARDS["uno"].run(image, b"r" + b"".join(learned) + b"xq").output
        merged.merge(Regression.from_state(output[201:-1]))
    assert merged.solve().state() == Regression().learn(X[:600], y[:600]).solve().state()
