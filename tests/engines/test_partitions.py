"""However a table is cut, retried or delivered, each row counts once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sefr import Summary
from sefr.engines.error import EngineError
from sefr.engines.partitions import whole


def parts_of(X, y, cuts):
    edges = [0, *sorted(cuts), len(y)]
    parts = []
    for i, (a, b) in enumerate(zip(edges, edges[1:], strict=False)):
        parts.append((i, Summary.of(X[a:b], y[a:b]).to_bytes() if b > a else None, None))
    return parts


@given(st.lists(st.integers(0, 50), max_size=8), st.randoms(use_true_random=False))
def test_cuts_order_and_repetition_change_no_bit(cuts, random):
    rng = np.random.default_rng(3)
    X, y = rng.integers(-999, 999, (50, 3)), rng.integers(0, 3, 50)
    parts = parts_of(X, y, cuts)
    delivered = [*parts, *random.sample(parts, random.randrange(len(parts) + 1))]
    random.shuffle(delivered)
    assert whole(delivered, "test", len(parts)) == Summary.of(X, y)


def test_floats_do_not_depend_on_the_order_of_delivery():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(50, 3)) + 1e9, rng.integers(0, 2, 50)
    parts = parts_of(X, y, [7, 20, 33])
    assert whole(parts, "test") == whole(parts[::-1], "test")


def test_what_cannot_be_whole():
    X, y = np.arange(12).reshape(6, 2), np.arange(6) % 2
    parts = parts_of(X, y, [3])
    with pytest.raises(EngineError, match="test: partition 0 came twice, with different rows"):
        whole([*parts, (0, parts[1][1], None)], "test")
    with pytest.raises(EngineError, match="test: 1 of 3 partitions did not answer"):
        whole(parts, "test", 3)
    with pytest.raises(EngineError, match="test: partition 2: cannot add Summaries of 2 and 1 features"):
        whole([*parts, (2, Summary.of(X[:, :1], y).to_bytes(), None)], "test")
    with pytest.raises(EngineError, match="test: the table has no rows"):
        whole([(0, None, None)], "test", 1)
    with pytest.raises(EngineError, match="what happened"):
        whole([*parts, (2, None, "what happened")], "test")
