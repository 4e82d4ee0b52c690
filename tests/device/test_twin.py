"""The twin, the exported code and the simulated boards give the same answers, and states come home as
Summaries."""

import functools
import json
import operator
import struct
import subprocess
import zlib

import numpy as np
import pytest
from device_program import SIMULATED, built
from device_reference import BALANCED, ONE, Reference
from sklearn.datasets import load_digits, load_iris

from sefr import SEFRClassifier, Summary
from sefr.device import (
    BOARDS,
    BuildError,
    StateError,
    Twin,
    _twin,
    export,
    library,
    quantise,
    read_state,
    simulate,
    write_state,
)

STRICT = ("-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror")


def digits(two=False):
    X, y = load_digits(return_X_y=True)
    return (X[y < 2], y[y < 2]) if two else (X, y)


def models():
    """Every kind of input and scaling, two classes and more."""
    rng = np.random.default_rng(4)
    X, y = load_iris(return_X_y=True)
    names = np.array(["a b", "a_b", "*/ \\"])[y]
    adc = rng.integers(0, 1024, (120, 9))
    adc[:, 3] = 7  # constant
    far = rng.integers(-70000, 70000, (90, 4))
    yield "float", SEFRClassifier().fit(X, names), X
    yield "float two", SEFRClassifier(scale=None).fit(X, y == 1), X
    yield "uint8 ranges", SEFRClassifier().fit(*digits()), digits()[0][:150]
    yield "uint8 two", SEFRClassifier(scale=(0, 255)).fit(*digits(two=True)), digits(two=True)[0][:150]
    yield "int16", SEFRClassifier(scale=(0, 1023)).fit(adc, rng.integers(0, 2, 120)), adc
    yield "int32", SEFRClassifier().fit(far, np.arange(90) % 3), far


CASES = {name: (clf, X) for name, clf, X in models()}
cases = pytest.mark.parametrize("case", CASES)


@cases
@pytest.mark.parametrize("weights", ["int8", "int16"])
def test_weights_follow_the_definition(case, weights):
    """The reference, given the same sums of bytes, has the same weights and bias."""
    clf, X = CASES[case]
    q = quantise(clf, weights)
    assert q.input == case.split()[0]
    model = Reference(q.n_features, len(q.classes), q.weight_bits, 32, q.ranges is not None)
    model.n, model.s = q.counts.tolist(), q.sums.tolist()
    if q.ranges is not None:
        model.low, model.high = q.ranges.tolist()
    model.solve()
    assert q.weights.tolist() == model.weights
    assert list(q.bias) == model.bias
    expected = [model.classify(row) for row in q.bytes_of(X).tolist()]
    assert Twin(clf, weights).predict(X).tolist() == q.classes[expected].tolist()


@cases
def test_quantised_weights_are_near_the_paper_s(case):
    """Without ranges folded in, a weight is the paper's times ONE, rounded."""
    clf, _ = CASES[case]
    q = quantise(clf, "int16")
    if q.ranges is None:
        assert np.abs(q.weights / ONE[16] - clf.feature_scores_).max() < 0.01


@cases
def test_little_accuracy_is_lost(case):
    clf, X = CASES[case]
    loss = Twin(clf, "int16").loss(X, clf.predict(X))
    assert loss.host == 1
    assert loss.accuracy_lost == pytest.approx(loss.differing / loss.rows)
    assert loss.accuracy_lost <= 0.02


def test_exact_bytes_learn_the_same_on_host_and_board(rng):
    """Trained on the same bytes, the board's own weights are those that are exported."""
    X, y = rng.integers(0, 256, (90, 11)), rng.integers(0, 3, 90)
    q = quantise(SEFRClassifier(scale=(0, 255)).fit(X, y))
    board = Reference(11, 3)
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        board.learn(row, label)
    board.solve()
    assert q.weights.tolist() == board.weights
    assert list(q.bias) == board.bias


@pytest.mark.parametrize("board", SIMULATED)
@pytest.mark.parametrize("target", ["arduino", "c", "generated"])
def test_boards_answer_as_the_twin(board, target):
    for case, (clf, X) in CASES.items():
        result = simulate(clf, X[:40], board, target=target)
        assert result.predictions.tolist() == Twin(clf).predict(X[:40]).tolist(), case
        assert result.counter == BOARDS[board].counter
        assert result.per_record > 0
        assert 0 < result.sram <= BOARDS[board].ram
        assert (result.seconds is not None) == (result.joules is not None) == (board == "uno")


@pytest.mark.needs("avr")
def test_energy_is_time_times_power():
    clf, X = CASES["uint8 two"]
    result = simulate(clf, X[:5], "uno")
    assert result.seconds == result.per_record / 16e6
    assert result.joules == pytest.approx(0.30 * result.seconds)
    assert "arithmetic" in str(result)


def assert_compiles(compiler, source, folder):
    command = [*compiler, "-Os", *STRICT, "-c", str(source), "-o", str(folder / "o")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@cases
@pytest.mark.parametrize("weights", ["int8", "int16"])
@pytest.mark.needs("avr")
def test_exported_headers_compile_without_a_warning(case, weights, tmp_path):
    clf, _ = CASES[case]
    for target in ("c", "generated"):
        export(clf, target, tmp_path / target, name="int", weights=weights)
        program = tmp_path / target / "program.c"
        program.write_text(
            '#include "model_int.h"\nmodel_int_value r[MODEL_INT_FEATURES];\n'
            "int main(void) { return model_int_classify(r); }\n"
        )
        for prefix, flags in (("", ()), ("avr-", ("-mmcu=atmega328p",))):
            for language in (("-x", "c", "-std=c99"), ("-x", "c++", "-std=c++11")):
                assert_compiles([prefix + "gcc", *flags, *language], program, tmp_path)


@pytest.mark.parametrize(
    "language", [("-x", "c", "-std=c99"), ("-x", "c++", "-std=c++11")], ids=["C99", "C++11"]
)
@pytest.mark.needs("avr", "arm")
def test_library_compiles_without_a_warning(language, tmp_path):
    compilers = [
        ["gcc"],
        [BOARDS["uno"].tool("gcc"), "-mmcu=atmega328p"],
        [BOARDS["cortex-m0"].tool("gcc"), "-mthumb"],
    ]
    for compiler in compilers:
        for source in [library() / "sefr.c"]:
            assert_compiles([*compiler, *language, "-ffreestanding"], source, tmp_path)


def trained_on_sums(m, k, rng):
    sums = rng.integers(0, 255 * 3, (k, m)) * (rng.random((k, m)) < 0.02)
    low, high = np.zeros(m), np.full(m, 255.0)
    summary = Summary.from_parts(classes=np.arange(k), counts=np.full(k, 3.0), sums=sums, low=low, high=high)
    return SEFRClassifier.from_summary(summary, scale=(0, 255)), (sums[:5] // 3).astype(float)


@pytest.mark.slow
def test_a_hundred_thousand_features_and_a_hundred_classes(tmp_path, rng):
    clf, _ = trained_on_sums(100_000, 100, rng)
    path = export(clf, "c", tmp_path, name="large")
    assert path.read_text().count(",") >= 100_000 * 100
    path = export(clf, "generated", tmp_path, name="straight")
    assert "straight_part_99_99968" in path.read_text()


def test_a_hundred_thousand_features_in_the_twin(tmp_path, rng):
    clf, X = trained_on_sums(100_000, 5, rng)
    assert (Twin(clf, "int16").predict(X) == clf.predict(X)).all()
    assert (Twin(clf).predict(X) == clf.predict(X)).all()
    with pytest.raises(ValueError, match="32767 features"):
        export(clf, "arduino", tmp_path)


def test_long_straight_code_compiles(tmp_path, rng):
    X = rng.integers(0, 256, (30, 5000))
    clf = SEFRClassifier(scale=(0, 255)).fit(X, np.arange(30) % 2)
    export(clf, "generated", tmp_path, name="long_one")
    program = tmp_path / "program.c"
    program.write_text(
        '#include <stdio.h>\n#include "long_one.h"\nstatic long_one_value r[LONG_ONE_FEATURES];\n'
        "int main(void) { while (fread(r, 1, sizeof r, stdin)) putchar(long_one_classify(r)); return 0; }\n"
    )
    subprocess.run(["gcc", "-O0", str(program), "-o", str(tmp_path / "program")], check=True)
    done = subprocess.run(
        [str(tmp_path / "program")], input=X.astype(np.uint8).tobytes(), capture_output=True, check=True
    )
    assert list(done.stdout) == Twin(clf).predict(X).tolist()


def board_state(X, y, features, classes, sum_bits=16, ranged=False):
    board = Reference(features, classes, 8, sum_bits, ranged)
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        board.learn(row, label)
    return board.state()


@pytest.mark.parametrize("ranged", [False, True])
@pytest.mark.parametrize("sum_bits", [16, 32])
def test_states_of_many_boards_add_up_to_training_on_all(rng, ranged, sum_bits):
    X, y = rng.integers(0, 256, (300, 6)), rng.integers(0, 3, 300)
    parts = [slice(i, i + 60) for i in range(0, 300, 60)]
    states = [board_state(X[p], y[p], 6, 3, sum_bits, ranged) for p in parts]
    total = functools.reduce(operator.add, map(read_state, states))
    whole = Summary.of(X, y)
    assert total.counts.tolist() == whole.counts.tolist()
    assert total.sums.tolist() == whole.sums.tolist()
    scale = "minmax" if ranged else (0, 255)
    one = SEFRClassifier.from_summary(total, scale=scale)
    other = SEFRClassifier(scale=scale).fit(X, y)
    assert (one.coef_ == other.coef_).all()
    assert (one.intercept_ == other.intercept_).all()


@pytest.mark.parametrize("ranged", [False, True])
@pytest.mark.parametrize("sum_bits", [16, 32])
def test_states_go_back_to_a_board(rng, ranged, sum_bits):
    X, y = rng.integers(0, 256, (80, 6)), rng.integers(0, 2, 80)
    state = board_state(X, y, 6, 2, sum_bits, ranged)
    assert write_state(read_state(state), sum_bits=sum_bits, ranges=ranged) == state
    low, high = np.arange(6) * 10.0 - 5, np.arange(6) * 10.0 + 99.5
    raw = read_state(state, low=low, high=high, classes=["no", "yes"])
    assert raw.classes.tolist() == ["no", "yes"]
    assert write_state(raw, sum_bits=sum_bits, low=low, high=high) == write_state(
        read_state(state), sum_bits=sum_bits
    )


def test_the_newest_good_slot_counts(rng):
    X, y = rng.integers(0, 256, (80, 4)), rng.integers(0, 2, 80)
    old, new = (Summary.of(X[:n], y[:n]) for n in (40, 80))
    states = [write_state(old, sequence=0xFFFFFFFF), write_state(new, sequence=0)]  # the number wraps around
    assert read_state(states[0] + states[1]).counts.tolist() == new.counts.tolist()
    assert read_state(states[1] + states[0]).counts.tolist() == new.counts.tolist()
    for at in range(len(states[1])):
        torn = bytearray(states[1])
        torn[at] ^= 0x01
        assert read_state(states[0] + bytes(torn)).counts.tolist() == old.counts.tolist()


def test_bad_states_are_refused(rng):
    state = board_state(rng.integers(0, 256, (9, 4)), np.arange(9) % 2, 4, 2)
    for at in range(len(state)):
        with pytest.raises(StateError):
            read_state(state[:at])
        torn = bytearray(state)
        torn[at] ^= 0x80
        with pytest.raises(StateError):
            read_state(bytes(torn))
    with pytest.raises(StateError, match="version 3"):
        read_state(state[:4] + b"\x03" + state[5:])
    with pytest.raises(StateError, match="2 classes, but 3 labels"):
        read_state(state, classes=[1, 2, 3])
    with pytest.raises(ValueError, match="300 records of a class do not fit 16-bit sums"):
        write_state(Summary.of(np.ones((301, 2)), [0] * 300 + [1]))


@pytest.mark.parametrize("board", ["uno", "cortex-m3"])
def test_a_learning_sketch_starts_where_the_host_stopped(board, tmp_path):
    for case in ("uint8 ranges", "uint8 two", "int16", "float"):
        clf, X = CASES[case]
        path = export(clf, "arduino", tmp_path, name="go_on", learn=True, sum_bits=32, eeprom=8192)
        try:
            result = simulate(path, X[:20], board)
        except BuildError:
            assert case == "uint8 ranges"  # 64 features x 10 classes with 32-bit sums are more than 2 KB
            assert board == "uno"
            continue
        agree = np.mean(
            result.predictions == np.asarray(json.loads(json.dumps(clf.predict(X[:20]).tolist())))
        )
        assert agree >= 0.9, case


@pytest.mark.parametrize("sum_bits", [16, 32])
def test_the_twin_learns_as_the_reference(rng, sum_bits):
    X, y = rng.integers(0, 256, (700, 5)).astype(np.uint8), (rng.random(700) < 0.2).astype(np.uint8)
    kind = np.uint16 if sum_bits == 16 else np.uint32
    sums, counts = np.zeros((2, 5), kind), np.zeros(2, kind)
    assert _twin.learn(sum_bits, 5, 2, sums, counts, None, X, y) == 0
    board = Reference(5, 2, 8, sum_bits)
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        board.learn(row, label)
    assert sums.tolist() == board.s
    assert counts.tolist() == board.n
    with pytest.raises(ValueError, match="rows has"):
        _twin.learn(sum_bits, 5, 2, sums, counts, None, X[:3], y)


def test_the_twin_has_the_board_s_options(rng):
    """A half-life, a balanced border and "don't know" (label 255), as on a board."""
    X, y = rng.integers(0, 256, (90, 5)).astype(np.uint8), (rng.random(90) < 0.2).astype(np.uint8)
    sums, counts = np.zeros((2, 5), np.uint16), np.zeros(2, np.uint16)
    assert _twin.learn(16, 5, 2, sums, counts, None, X, y, 8) == 0
    board = Reference(5, 2)
    board.half_life, board.options, board.margin = 8, BALANCED, 3000
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        board.learn(row, label)
    assert sums.tolist() == board.s
    weights, bias = np.empty((1, 5), np.int8), np.empty(1, np.int32)
    assert _twin.solve(8, 16, 5, 2, sums, counts, None, weights, bias, BALANCED) == board.solve()
    assert weights.tolist() == board.weights
    assert bias.tolist() == board.bias
    labels = np.empty(90, np.uint8)
    _twin.classify(8, 5, 2, weights, bias, X, labels, 3000)
    expected = [255 if board.is_known(row) else board.classify(row) for row in X.tolist()]
    assert labels.tolist() == expected
    assert 0 < expected.count(255) < 90


def test_states_of_version_1_are_still_read(rng):
    """Boards in the field may send the format without an id."""
    state = board_state(rng.integers(0, 256, (9, 4)), np.arange(9) % 2, 4, 2)
    body = state[:4] + b"\x01" + state[5:16] + state[20:-4]
    old = body + struct.pack("<I", zlib.crc32(body))
    assert read_state(old).sums.tolist() == read_state(state).sums.tolist()


def test_bad_arguments_say_what_is_wrong(tmp_path):
    clf, X = CASES["uint8 two"]
    with pytest.raises(ValueError, match="target must be one of"):
        export(clf, "rust", tmp_path)
    with pytest.raises(ValueError, match="only the target 'arduino' can learn"):
        export(clf, "c", tmp_path, learn=True)
    with pytest.raises(ValueError, match="weights must be one of"):
        Twin(clf, "int4")
    with pytest.raises(
        ValueError, match="row 0, feature 2: 256 is not a value of the board's input type uint8"
    ):
        Twin(clf).predict(np.where(np.arange(64) == 2, 256, X[:1]))
    with pytest.raises(ValueError, match="board must be one of"):
        simulate(clf, X, "teensy")
    with pytest.raises(ValueError, match="no epsilon"):
        Twin(SEFRClassifier(epsilon=0.1).fit(X, X[:, 20] > 8))
    with pytest.raises(ValueError, match="has 3 features"):
        Twin(clf).predict(X[:, :3])
    (tmp_path / "mine").mkdir()
    with pytest.raises(FileExistsError, match="not an exported sketch"):
        export(clf, "arduino", tmp_path, name="mine")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("seed", range(6))
def test_sanitizers_stay_silent_under_random_bytes(seed):
    """Random bytes are commands too: calls, records, damaged storages. ASan and UBSan end the program at a
    fault."""
    rng = np.random.default_rng(seed)
    shape = [(5, 2), (3, 4), (6, 3)][seed % 3]
    bits = [(8, 16), (16, 32), (16, 16), (8, 32)][seed % 4]
    kind = ("SEFR_MODEL", "SEFR_RANGE_MODEL", "SEFR_LEAN_MODEL")[seed // 2]
    image = built(
        "host", "conformance.c", (f"FEATURES={shape[0]}", f"CLASSES={shape[1]}", f"KIND={kind}"), *bits
    )
    commands = np.frombuffer(b"lebofdmscyvwxpgkznt", np.uint8)
    for _ in range(20):
        noise = rng.integers(0, 256, 30000).astype(np.uint8)
        pick = rng.random(30000) < 0.5
        noise[pick] = rng.choice(commands, pick.sum())
        assert BOARDS["host"].run(image, noise.tobytes()).output
