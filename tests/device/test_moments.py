"""Classes by second moments on boards: bits equal to the definition, states, accuracy, and what they cost."""

import struct

import numpy as np
import pytest
from device_program import EVERYWHERE, HERE
from device_reference import BAD_LABEL, BAD_SHAPE, NEVER_LEARNED, NOT_READY, OK, OTHER_MODEL
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from sefr import SEFRClassifier, Summary
from sefr.device import BOARDS, Moments, StateError, library

boards = pytest.mark.parametrize("board", EVERYWHERE)


def program(board, features, classes, folder, bits=32, kernels=True, alone=False):
    sources = [HERE / "moments.c", library() / "sefr.c"]
    sources += [library() / "sefr_avr.S"] if board == "uno" else []
    defines = [
        f"FEATURES={features}",
        f"CLASSES={classes}",
        f"SEFR_MOMENT_BITS={bits}",
        *(["ALONE"] if alone else []),
    ]
    return BOARDS[board].build(sources, folder, defines=defines, includes=[library()], kernels=kernels)


class Definition:
    """sefr_moments.h in Python's integers, one record at a time."""

    def __init__(self, m, classes, half_life):
        self.m, self.half_life = m, half_life
        self.n, self.s = [0] * classes, [[0] * m for _ in range(classes)]
        self.q = [[0] * m for _ in range(m)]

    def learn(self, x, c, sign=1):
        if sign > 0 and sum(self.n) >= 2 * self.half_life:
            self.decay()
        self.n[c] += sign
        for i in range(self.m):
            self.s[c][i] += sign * x[i]
            for j in range(self.m):
                self.q[i][j] += sign * x[i] * x[j]

    def decay(self):
        before = sum(self.n)
        for c, n in enumerate(self.n):
            if n > 1:
                self.n[c] = (n + 1) // 2
                self.s[c] = [v * self.n[c] // n for v in self.s[c]]
        after = sum(self.n)
        self.q = [[v * after // before for v in row] for row in self.q]

    def solve(self):
        m, n, classes = self.m, sum(self.n), range(len(self.n))
        total = [sum(self.s[c][j] for c in classes) for j in range(m)]
        w_in = [
            [
                self.q[i][j] - sum(self.s[c][i] * self.s[c][j] // self.n[c] for c in classes if self.n[c])
                for j in range(m)
            ]
            for i in range(m)
        ]
        t = 0
        while max(w_in[j][j] for j in range(m)) >> t >= 1 << 31:
            t += 1
        w_in = [[v >> t for v in row] for row in w_in]
        rows = {}
        for c in classes:
            if self.n[c] == 0:
                continue
            b = [((n * self.s[c][j] - self.n[c] * total[j]) // self.n[c]) >> t for j in range(m)]
            w = [0] * m
            for _ in range(30):
                before = w[:]
                for j in range(m):
                    v = max(w_in[j][j], 0)
                    d = v + (v >> 4) + ((n >> t) >> 2) + 1
                    left = 32768 * b[j] - sum(w_in[j][i] * w[i] for i in range(m) if i != j)
                    w[j] = max(-(1 << 25), min(1 << 25, (2 * left + d) // (2 * d)))
                if w == before:
                    break
            rows[c] = w
        k = 0
        while any(not -32768 <= (v + (1 << k >> 1)) >> k <= 32767 for w in rows.values() for v in w):
            k += 1
        self.v = [[(v + (1 << k >> 1)) >> k for v in rows[c]] if c in rows else [0] * m for c in classes]
        self.bias = []
        for c in classes:
            own, everything = (
                sum(a * b for a, b in zip(self.v[c], part, strict=True)) for part in (self.s[c], total)
            )
            self.bias.append(-((own // self.n[c] + everything // n) >> 1) if self.n[c] else -(1 << 31))

    def scores(self, x):
        dots = (sum(a * b for a, b in zip(v, x, strict=True)) for v in self.v)
        return [d + b for d, b in zip(dots, self.bias, strict=True)]


def rows(rng, n, m):
    """Bytes that go together, sparse ones and extremes."""
    X = rng.integers(0, 200, (n, 1)) + rng.integers(0, 56, (n, m))
    X[rng.random((n, m)) < 0.2] = 0
    X[rng.random((n, m)) < 0.05] = 255
    return X


@boards
@pytest.mark.parametrize(("m", "classes", "bits"), [(1, 2, 32), (4, 3, 32), (6, 2, 64), (9, 4, 32)])
def test_boards_follow_the_definition(board, m, classes, bits, tmp_path, rng):
    half_life = 25
    model = Definition(m, classes, half_life)
    script, expected = b"h" + struct.pack("<I", half_life) + b"r", bytes([OK])
    for n in (7, 60):
        X, y = (
            rows(rng, n, m),
            rng.integers(0, max(classes - 1, 2), n),
        )  # a class without records, where there are 3
        for x, c in zip(X.tolist(), y.tolist(), strict=True):
            model.learn(x, c)
            script, expected = script + b"l" + bytes([c]) + bytes(x), expected + bytes([OK])
        model.solve()
        script, expected = script + b"sw", expected + bytes([OK])
        expected += struct.pack(f"<{m * classes}h", *(v for row in model.v for v in row))
        expected += struct.pack(f"<{classes}i", *model.bias)
        for x in rows(rng, 5, m).tolist():
            scores = model.scores(x)
            script += b"c" + bytes(x)
            expected += bytes([OK, scores.index(max(scores))]) + struct.pack(f"<{classes}i", *scores)
    twin = Moments(classes, half_life, bits)
    twin.counts, twin.sums, twin.squares = np.array(model.n), np.array(model.s), np.array(model.q)
    script, expected = script + b"x", expected + twin.solve().state() + bytes([OK])
    assert twin.weights.tolist() == model.v
    assert twin.bias.tolist() == model.bias
    model.learn(X[-1].tolist(), int(y[-1]), -1)
    model.decay()
    script += b"f" + bytes([int(y[-1])]) + bytes(X[-1].tolist()) + b"d"
    model.solve()
    script, expected = script + b"sw", expected + bytes([OK, OK, OK])
    expected += struct.pack(f"<{m * classes}h", *(v for row in model.v for v in row))
    expected += struct.pack(f"<{classes}i", *model.bias)
    alone = board == "uno" and m > 6
    output = BOARDS[board].run(program(board, m, classes, tmp_path, bits, alone=alone), script + b"q").output
    assert output == expected


@boards
def test_the_twin_learns_as_a_board(board, tmp_path, rng):
    m, classes = 5, 3
    X, y = rows(rng, 90, m), rng.integers(0, classes, 90)
    script = b"h" + struct.pack("<I", 30) + b"r"
    script += (
        b"".join(b"l" + bytes([c]) + bytes(x) for x, c in zip(X.tolist(), y.tolist(), strict=True)) + b"sx"
    )
    output = BOARDS[board].run(program(board, m, classes, tmp_path), script + b"q").output
    model = Moments(classes, 30).learn(X[:40], y[:40]).learn(X[40:], y[40:]).solve()
    assert output[92:-1] == model.state()
    back = Moments.from_state(model.state())
    assert back.state() == model.state()
    assert back.predict(X).tolist() == model.predict(X).tolist()


def test_states_and_statuses(tmp_path, rng):
    X, y = rows(rng, 8, 3), np.arange(8) % 2
    taught = [b"l" + bytes([c]) + bytes(x) for x, c in zip(X.tolist(), y.tolist(), strict=True)]
    forever = struct.pack("<I", 1 << 20)
    script = b"zr" + b"c\x01\x02\x03" + b"s" + b"l\x02\x01\x02\x03" + b"f\x00\x01\x02\x03" + b"".join(taught)
    script += b"s" + b"p" + forever + b"i\x05\x00\x00\x00" + b"g" + b"p" + forever + b"i\x00\x00\x00\x00"
    script += b"r" + b"g" + b"x" + b"h\x00\x00\x00\x00" + b"r"
    output = BOARDS["host"].run(program("host", 3, 2, tmp_path), script + b"q").output
    head = bytes([OK, NOT_READY, 0, NOT_READY, BAD_LABEL, NEVER_LEARNED]) + bytes(8) + bytes([OK, OK])
    state = Moments(2).learn(X, y).solve().state()
    assert output == head + bytes([OTHER_MODEL, OTHER_MODEL, OK, OK]) + state + bytes([OK, BAD_SHAPE])


def test_boards_merge_on_the_host_exactly(rng):
    X, y = rows(rng, 300, 6), rng.integers(0, 3, 300)
    merged = Moments(3)
    for i in range(3):
        merged.merge(Moments.from_state(Moments(3).learn(X[i::3], y[i::3]).state()))
    assert merged.solve().state() == Moments(3).learn(X, y).solve().state()
    assert (
        merged.forget(X[:100], y[:100]).solve().state() == Moments(3).learn(X[100:], y[100:]).solve().state()
    )


def same_model(found, expected, X):
    """Both have the same Summary to the bit, but for the extremes, and the same answers."""
    ours, theirs = found.summary_, expected.summary_
    assert (ours.classes == theirs.classes).all()
    assert (ours.counts == theirs.counts).all()
    assert (ours.sums == theirs.sums).all()
    assert ours.tails is None
    assert ours.products == theirs.products
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-9, atol=1e-12)
    assert (found.predict(X) == expected.predict(X)).all()


BYTES = {"moments": 2, "scale": (0, 255)}


@pytest.mark.parametrize("boards", [1, 3])
def test_states_become_a_summary_of_second_moments_on_the_host(boards, rng):
    """One board, or several merged: the Summary of the records, whole numbers to the bit."""
    X, y = rows(rng, 600, 7), rng.integers(0, 3, 600)
    learned = [Moments(3).learn(X[i::boards], y[i::boards]) for i in range(boards)]
    summaries = [Moments.from_state(board.state()).summary() for board in learned]
    total = sum(summaries[1:], summaries[0])
    host = SEFRClassifier(**BYTES).fit(X, y)
    same_model(SEFRClassifier.from_summary(total, **BYTES), host, X)
    merged = Moments(3)
    for board in learned:
        merged.merge(board)
    assert merged.summary() == total
    assert Summary.from_bytes(total.to_bytes()) == total
    with_more = SEFRClassifier(**BYTES).fit(X[:50], y[:50]).merge(total)
    same_model(with_more, SEFRClassifier(**BYTES).fit(np.vstack([X[:50], X]), np.r_[y[:50], y]), X)
    same_model(with_more.forget(X[:50], y[:50]), host, X)


@pytest.mark.parametrize("bits", [32, 64])
def test_what_the_c_library_learned_merges_on_the_host(bits, tmp_path, rng):
    X, y = rows(rng, 180, 5), np.arange(180) % 3
    image = program("host", 5, 3, tmp_path, bits)
    found = []
    for part in range(2):
        taught = zip(X[part::2].tolist(), y[part::2].tolist(), strict=True)
        script = b"r" + b"".join(b"l" + bytes([c]) + bytes(x) for x, c in taught) + b"sx"
        sent = BOARDS["host"].run(image, script + b"q").output[92:-1]
        found.append(Moments.from_state(sent).summary(["a", "b", "c"]))
    clf = SEFRClassifier.from_summary(found[0], **BYTES).merge(found[1])
    same_model(clf, SEFRClassifier(**BYTES).fit(X, np.array(["a", "b", "c"])[y]), X)


def test_bytes_that_stand_for_other_values(rng):
    """The model in raw units is that of the raw values, and names and labels are theirs."""
    X, y = rows(rng, 400, 4), rng.integers(0, 2, 400)
    low, high = np.array([-40.0, 0, 900, 1e6]), np.array([85.0, 1, 1100, 1e6 + 51])
    raw = low + X * (high - low) / 255
    board, names = Moments(2).learn(X, y), ["t", "h", "p", "far"]
    assert board.summary(feature_names=names).feature_names == tuple(names)
    summary = board.summary(["no", "yes"], low=low, high=high)
    clf = SEFRClassifier.from_summary(summary, moments=2, scale=(low, high))
    host = SEFRClassifier(moments=2, scale=(low, high)).fit(raw, np.array(["no", "yes"])[y])
    np.testing.assert_allclose(clf.decision_function(raw), host.decision_function(raw), rtol=1e-8, atol=1e-9)
    for call, message in (
        (lambda: Moments(2).summary(), "learn records first"),
        (lambda: Moments(2).learn(X, y).summary([1, 2, 3]), "2 classes, but 3 labels"),
        (lambda: Moments(2).learn(X, y).summary(low=3, high=3), "low must be below high"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_bad_states_and_values_are_refused(rng):
    model = Moments(2).learn(rows(rng, 9, 2), np.arange(9) % 2)
    good = model.state()
    for bad, message in (
        (b"", "no state"),
        (good[:-1], "bytes"),
        (good[:30] + b"\xff" + good[31:], "checksum"),
        (good[:4] + b"\x02" + good[5:], "version 2"),
    ):
        with pytest.raises(StateError, match=message):
            Moments.from_state(bad)
    for call, message in (
        (lambda: Moments(1), "classes must be 2 to 254"),
        (lambda: Moments(2, bits=16), "bits must be 32 or 64"),
        (lambda: Moments(2).solve(), "two classes need records"),
        (lambda: Moments(2).learn([[1, 256]], [1]), "row 0, feature 1: 256 is not a whole number"),
        (lambda: Moments(2).learn([[1]], [2]), "row 0: 2"),
        (lambda: Moments(2).predict([[1]]), r"call solve\(\) first"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_it_is_the_discriminant_and_more_accurate_than_one_pass():
    """Digits, 1,000 to train: as accurate as scikit-learn's discriminant, far above one pass."""
    X, y = load_digits(return_X_y=True)
    X = np.rint(X * 255 / 16).astype(int)
    model = Moments(10).learn(X[:1000], y[:1000]).solve()
    accuracy = np.mean(model.predict(X[1000:]) == y[1000:])
    other = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.05).fit(X[:1000], y[:1000])
    one_pass = SEFRClassifier(scale=(0, 255)).fit(X[:1000], y[:1000])
    assert accuracy >= other.score(X[1000:], y[1000:]) - 0.015
    assert accuracy >= one_pass.score(X[1000:], y[1000:]) + 0.08


@pytest.mark.needs("avr")
def test_sixteen_features_on_an_uno(tmp_path, rng):
    """Learned, solved and classified within 2 KB; learning takes no more cycles than numbers do."""
    X, y = rows(rng, 40, 16), np.arange(40) % 2
    X[:, 3] = np.clip(X[:, 2] + 20 * y, 0, 255)
    image = program("uno", 16, 2, tmp_path, alone=True)
    script = b"r" + b"".join(
        b"T" + bytes([c]) + bytes(x) for x, c in zip(X.tolist(), y.tolist(), strict=True)
    )
    run = BOARDS["uno"].run(image, script + b"q")
    spent = np.diff(run.marks)
    assert np.mean(spent[: len(spent) // 4 * 4 + 3][0::4]) <= 4500
    assert run.sram <= 2048
    assert run.output[-1] == Moments(2).learn(X, y).solve().predict(X[-1:])[0]


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.needs("arm")
def test_eighty_four_features_on_a_cortex_m4(bits, tmp_path, rng):
    """14 or 28 KB of products, as an M4 or ESP32 has room for; the same bits as the twin."""
    X, y = rows(rng, 60, 84), np.arange(60) % 3
    script = (
        b"r"
        + b"".join(b"l" + bytes([c]) + bytes(x) for x, c in zip(X.tolist(), y.tolist(), strict=True))
        + b"sw"
    )
    output = (
        BOARDS["cortex-m4"].run(program("cortex-m4", 84, 3, tmp_path, bits, alone=True), script + b"q").output
    )
    model = Moments(3, bits=bits).learn(X, y).solve()
    assert output[62 : 62 + 2 * 84 * 3] == model.weights.astype("<i2").tobytes()
    assert output[62 + 2 * 84 * 3 :] == model.bias.astype("<i4").tobytes()
