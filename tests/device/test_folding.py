"""Scaling folded into int16 weights over raw values: bits equal to the twin, and what it saves."""

import numpy as np
import pytest

from sefr import SEFRClassifier
from sefr.device import Twin, export, simulate
from sefr.device.folding import fold


def adc(rng, classes, n=150, m=20):
    """Codes of a converter of 10 bits, whose ranges differ."""
    y = np.arange(n) % classes
    X = rng.normal(300 + 40 * np.arange(m), 60, (n, m)) + 90 * (np.arange(m) % classes == y[:, None])
    return np.clip(np.rint(X), 0, 1023).astype(int), y


def extremes(rng, X):
    """Rows that were learned from, and rows of values that lie anywhere in 16 bits."""
    strange = rng.integers(-32768, 32768, (20, X.shape[1]))
    strange[0], strange[1] = -32768, 32767
    return np.vstack([X[:40], strange])


@pytest.mark.parametrize("board", ["uno", "cortex-m0", "cortex-m4", "host"])
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_boards_answer_as_the_twin_and_nearly_always_as_the_host(board, classes, rng):
    X, y = adc(rng, classes)
    for settings in ({"scale": (0, 1023)}, {}, {"passes": 5}):
        clf = SEFRClassifier(**settings).fit(X, y)
        rows = extremes(rng, X)
        for target in ("c", "arduino"):
            answered = simulate(clf, rows, board, target=target, folded=True).predictions
            assert (answered == Twin(clf, folded=True).predict(rows)).all()
            assert np.mean(answered == clf.predict(rows)) > 0.95


@pytest.mark.parametrize("classes", [2, 4])
def test_a_score_fits_32_bits_for_any_values(classes, rng):
    """Also where the values lie far from 0, and with a class that was never seen."""
    X, y = adc(rng, classes)
    for shift in (0, 20_000, -30_000):
        model = fold(SEFRClassifier().fit(X + shift, y))
        largest = 32768 * np.abs(model.weights.astype(np.int64)).sum(axis=1) + np.abs(model.bias)
        assert largest.max() < 1 << 31
        assert np.mean(model.classes[model.answers(X + shift)] == y) > 0.8


@pytest.mark.needs("avr")
def test_it_takes_less_than_half_the_cycles_and_flash_of_bytes():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 1024, (120, 100))
    clf = SEFRClassifier(scale=(0, 1023)).fit(X, np.arange(120) % 2)
    lean, bytes_first = (simulate(clf, X[:30], "uno", target="c", folded=f) for f in (True, False))
    assert lean.per_record < 3700
    assert lean.per_record < 0.5 * bytes_first.per_record
    assert lean.flash < 0.4 * bytes_first.flash
    sketch = simulate(clf, X[:30], "uno", target="arduino", folded=True)
    assert sketch.per_record < 3700


def test_what_cannot_be_folded_is_refused(tmp_path, rng):
    X, y = adc(rng, 2)
    clf = SEFRClassifier().fit(X, y)
    for words in (
        {"target": "generated"},
        {"target": "micropython"},
        {"target": "arduino", "learn": True},
        {"target": "c", "input": "float"},
        {"target": "c", "check": True},
    ):
        with pytest.raises(ValueError, match="folded goes with the targets 'c' and 'arduino'"):
            export(clf, directory=tmp_path, folded=True, **words)
    with pytest.raises(ValueError, match="a model with bins is a table"):
        export(SEFRClassifier(bins=4).fit(X, y), "c", tmp_path, folded=True)
    with pytest.raises(ValueError, match="is not"):
        Twin(clf, folded=True).predict(np.where(X[0, 0] == X, 40_000, X))
    assert list(tmp_path.iterdir()) == []
