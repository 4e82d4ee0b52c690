"""Correcting a board: bit for bit the reference on every board, worth its cycles on the Uno."""

import numpy as np
import pytest
from device_program import EVERYWHERE, built
from device_reference import BAD_LABEL, NOT_READY, OK, Reference
from sklearn.datasets import load_digits

from sefr.device import BOARDS


def header(X, y, classes, epochs):
    rows = ",\n".join("{" + ",".join(map(str, row)) + "}" for row in X.tolist())
    return f"""#include "sefr.h"
#define ROWS {len(X)}
#define FEATURES {X.shape[1]}
#define CLASSES {classes}
#define EPOCHS {epochs}
static const uint8_t rows[ROWS][FEATURES] SEFR_FLASH = {{{rows}}};
static const uint8_t labels[ROWS] SEFR_FLASH = {{{",".join(map(str, y.tolist()))}}};
"""


def taught(X, y, classes, weight_bits=8, sum_bits=16):
    reference = Reference(X.shape[1], classes, weight_bits, sum_bits)
    assert reference.correct(X[0].tolist(), 0) == NOT_READY
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        reference.learn(row, label)
    assert reference.solve() == OK
    return reference


def corrected(reference, X, y, epochs):
    for _ in range(epochs):
        for row, label in zip(X.tolist(), y.tolist(), strict=True):
            assert reference.correct(row, label) == OK
    return reference


def accuracy(reference, X, y):
    return np.mean(
        [reference.classify(row) == label for row, label in zip(X.tolist(), y.tolist(), strict=True)]
    )


def halves(X, y):
    order = np.random.default_rng(0).permutation(len(y))
    cut = len(y) // 2
    return X[order[:cut]], y[order[:cut]], X[order[cut:]], y[order[cut:]]


def run(board, X, y, classes, epochs, weight_bits=8):
    image = built(
        board, "correct.c", weight_bits=weight_bits, sum_bits=16, data=header(X, y, classes, epochs)
    )
    found = BOARDS[board].run(image)
    rows, m = 1 if classes == 2 else classes, X.shape[1]
    output, size = found.output, weight_bits // 8
    assert output[0] == NOT_READY
    assert output[1] == BAD_LABEL
    weights = np.frombuffer(output[2 : 2 + rows * m * size], f"<i{size}").reshape(rows, m)
    bias = np.frombuffer(output[2 + rows * m * size :], "<i4" if size == 1 else "<i8")
    return weights.tolist(), bias.tolist(), found


@pytest.fixture
def uno_sample(paper_data):
    data = paper_data("gisette_uno_120x119")
    return halves(data["X"].astype(np.uint8), data["y"].astype(np.uint8))


@pytest.mark.parametrize(
    ("board", "weight_bits"), [*((board, 8) for board in EVERYWHERE), ("host", 16), ("uno", 16)]
)
def test_two_classes_equal_the_reference(uno_sample, board, weight_bits):
    X, y, _, _ = uno_sample
    expected = corrected(taught(X, y, 2, weight_bits), X, y, 2)
    weights, bias, _ = run(board, X, y, 2, 2, weight_bits)
    assert weights == expected.weights
    assert bias == expected.bias


@pytest.mark.parametrize("board", EVERYWHERE)
def test_more_classes_equal_the_reference(rng, board):
    X, y = rng.integers(0, 256, (60, 20)).astype(np.uint8), (np.arange(60) % 4).astype(np.uint8)
    X[np.arange(60), y] = 255
    expected = corrected(taught(X, y, 4), X, y, 3)
    weights, bias, _ = run(board, X, y, 4, 3)
    assert weights == expected.weights
    assert bias == expected.bias


@pytest.mark.needs("avr")
def test_cycles_on_the_uno(uno_sample):
    X, y, _, _ = uno_sample
    reference = taught(X, y, 2)
    wrong = []
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        wrong.append(reference.classify(row) != label)
        reference.correct(row, label)
    _, _, found = run("uno", X, y, 2, 1)
    spent = np.diff(found.marks)
    each = spent[2::2][: len(y)] - spent[0]
    right, moved = each[~np.array(wrong)], each[np.array(wrong)]
    print(f"a right answer {np.median(right):.0f} cycles, a correction {np.median(moved):.0f}")
    assert np.median(right) < 1_600
    assert np.median(moved) < 5_000
    assert found.sram < 2048


def test_corrections_pay_on_digits_and_do_no_harm_on_the_uno_sample(uno_sample):
    digits, labels = load_digits(return_X_y=True)
    X, y, X_test, y_test = halves((digits * 15.9).astype(np.uint8), labels)
    model = taught(X, y, 10, sum_bits=32)
    before = accuracy(model, X_test, y_test)
    once = accuracy(corrected(model, X, y, 1), X_test, y_test)
    thrice = accuracy(corrected(model, X, y, 2), X_test, y_test)
    print(f"digits {before:.3f}, {once:.3f}, {thrice:.3f}")
    assert once > before + 0.02
    assert thrice > before + 0.05
    X, y, X_test, y_test = uno_sample
    model = taught(X, y, 2)
    before = accuracy(model, X_test, y_test)
    once = accuracy(corrected(model, X, y, 1), X_test, y_test)
    thrice = accuracy(corrected(model, X, y, 2), X_test, y_test)
    print(f"the Uno sample {before:.3f}, {once:.3f}, {thrice:.3f}")
    assert thrice > before - 0.05
