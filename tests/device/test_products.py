"""What products of weights and values cost: many classes, int16 weights, and the DSP instructions of an M4.

``simulate`` compares every answer with the twin's."""

import numpy as np
import pytest

from sefr import SEFRClassifier
from sefr.device import Twin, simulate

FEATURES, CLASSES = 100, 10


def models():
    """Return models of two and ten classes of bytes, zeros and extremes among them, and rows to ask about."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 256, (200, FEATURES))
    X[rng.random(X.shape) < 0.1] = 0
    X[rng.random(X.shape) < 0.1] = 255
    found = {}
    for classes in (2, CLASSES):
        y = np.arange(len(X)) % classes
        shifted = np.clip(X + 40 * (np.arange(FEATURES) % classes == y[:, None]), 0, 255)
        found[classes] = SEFRClassifier(scale=(0, 255)).fit(shifted, y), shifted[:40]
    return found


@pytest.fixture(scope="module")
def taught():
    return models()


def cost(taught, classes, board, target, weights):
    clf, X = taught[classes]
    result = simulate(clf, X, board, target=target, input="uint8", weights=weights)
    assert (result.predictions == Twin(clf, input="uint8", weights=weights).predict(X)).all()
    return result.per_record / (FEATURES * (1 if classes == 2 else classes))


@pytest.mark.needs("avr")
@pytest.mark.parametrize(
    ("classes", "target", "weights", "most"),
    [
        (2, "c", "int8", 12),
        (CLASSES, "c", "int8", 13),
        (CLASSES, "arduino", "int8", 14),
        (2, "c", "int16", 21),
        (2, "arduino", "int16", 23),
        (CLASSES, "arduino", "int16", 24),
    ],
)
def test_cycles_per_weight_on_an_uno(taught, classes, target, weights, most):
    assert cost(taught, classes, "uno", target, weights) < most


@pytest.mark.needs("arm")
@pytest.mark.parametrize("target", ["c", "arduino"])
def test_an_m4_multiplies_two_at_a_time(taught, target):
    """An M0 has no such instruction: the same header takes more than twice as many."""
    m4, m0 = (cost(taught, CLASSES, board, target, "int8") for board in ("cortex-m4", "cortex-m0"))
    assert m4 < 3.1
    assert m4 < 0.5 * m0
