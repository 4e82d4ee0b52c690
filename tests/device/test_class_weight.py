"""class_weight reaches the board: the threshold that the host has, in integers."""

import numpy as np
import pytest

from sefr import SEFRClassifier
from sefr.device import Twin, export


@pytest.fixture
def rows(rng):
    y = (rng.random(2000) < 0.1).astype(int)
    X = np.clip(rng.normal(100, 30, (2000, 12)) + 25 * y[:, None], 0, 255).astype(np.uint8)
    return X, y


def test_the_boards_answers_are_those_of_the_weighted_model(rows):
    X, y = rows
    plain, balanced = SEFRClassifier().fit(X, y), SEFRClassifier(class_weight="balanced").fit(X, y)
    assert np.mean(plain.predict(X) != balanced.predict(X)) > 0.05
    assert np.mean(Twin(balanced).predict(X) == balanced.predict(X)) > 0.97
    assert np.mean(Twin(plain).predict(X) == plain.predict(X)) > 0.97


def test_a_board_that_learns_has_no_class_weight(rows, tmp_path):
    clf = SEFRClassifier(class_weight={1: 3.0}).fit(*rows)
    with pytest.raises(ValueError, match="class_weight"):
        export(clf, "arduino", tmp_path, learn=True)
    assert not any(tmp_path.iterdir())
