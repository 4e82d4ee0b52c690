"""``sefr board merge`` of states of second moments and of numbers: exactly what all records give."""

import numpy as np
import pytest
from test_serial_board import command

from sefr import SEFRClassifier, load
from sefr.device import Moments, Regression


def thirds(rng, n=150, m=4):
    y = np.arange(n) % 3
    X = np.clip(rng.normal(60 + 50 * y[:, None], 30, (n, m)), 0, 255).astype(int)
    return X, y, [slice(0, 40), slice(40, 100), slice(100, n)]


def test_states_of_second_moments_become_the_model_of_all_records(tmp_path, rng):
    X, y, parts = thirds(rng)
    paths = [tmp_path / f"{number}.state" for number in range(2)]
    for path, part in zip(paths, parts[:2], strict=True):
        path.write_bytes(Moments(3).learn(X[part], y[part]).solve().state())
    out = tmp_path / "boards.sefr"
    said = command("merge", *paths, "--classes", "a,b,c", "-o", out)
    assert "100 records of 2 boards" in said
    names = np.array(["a", "b", "c"])[y]
    whole = SEFRClassifier(moments=2, scale=(0, 255)).fit(X[:100], names[:100])
    assert np.allclose(load(out).decision_function(X), whole.decision_function(X), rtol=1e-9, atol=1e-9)
    # and with what a computer learned
    whole = SEFRClassifier(moments=2, scale=(0, 255)).fit(X, names)
    merged = load(out).merge(SEFRClassifier(moments=2, scale=(0, 255)).fit(X[100:], names[100:]))
    assert merged.summary_.n_rows == len(X)
    assert np.allclose(merged.decision_function(X), whole.decision_function(X), rtol=1e-9, atol=1e-9)


def test_states_of_numbers_become_the_state_of_all_records(tmp_path, rng):
    X, _, parts = thirds(rng)
    y = 30 * X[:, 0] - 7 * X[:, 1] + rng.integers(-50, 50, len(X))
    paths = [tmp_path / f"{number}.state" for number in range(3)]
    for path, part in zip(paths, parts, strict=True):
        path.write_bytes(Regression().learn(X[part], y[part]).state())
    said = command("merge", *paths, "-o", tmp_path / "all.state")
    assert "150 records of 3 boards" in said
    assert (tmp_path / "all.state").read_bytes() == Regression().learn(X, y).solve().state()


@pytest.mark.parametrize(
    ("second", "words", "message"),
    [
        (Regression().learn([[1, 2], [3, 4]], [5, 6]).state(), (), "different kinds"),
        (
            Moments(2).learn([[1, 2]], [0]).state(),
            (),
            "one has 3 classes and 4 features, the other 2 classes",
        ),
        (b"SEFM", (), "b.state: these bytes are no state"),
        (None, ("--sketch", "here"), "goes without --sketch"),
        (None, ("--classes", "a,b"), "3 classes, but 2 labels"),
    ],
    ids=["kinds", "shapes", "bytes", "sketch", "labels"],
)
def test_what_does_not_add_up_is_refused(second, words, message, tmp_path, rng):
    X, y, _ = thirds(rng)
    first, other, out = (tmp_path / name for name in ("a.state", "b.state", "x.sefr"))
    first.write_bytes(Moments(3).learn(X, y).state())
    other.write_bytes(first.read_bytes() if second is None else second)
    assert message in command("merge", first, other, "-o", out, *words, code=1)
    assert not out.exists()
