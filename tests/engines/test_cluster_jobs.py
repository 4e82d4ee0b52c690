"""However a table is cut, retried or delivered, each row counts once."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sefr import Summary
from sefr._rows.cells import Coder
from sefr.engines.batches import Reading
from sefr.engines.cluster.jobs import AddSummaries, Reply, group_width, join_replies, summary_of_reply
from sefr.engines.columns import Columns
from sefr.engines.error import EngineError


def whole(replies, engine="test"):
    return summary_of_reply(join_replies(replies, AddSummaries(engine), engine), engine)


def parts_of(X, y, cuts):
    edges = [0, *sorted(cuts), len(y)]
    parts = []
    for i, (a, b) in enumerate(pairwise(edges)):
        parts.append(Reply({i: b - a}, Summary.of(X[a:b], y[a:b]).to_bytes() if b > a else None))
    return parts


@given(st.lists(st.integers(0, 50), max_size=8), st.randoms(use_true_random=False))
def test_cuts_order_and_repetition_change_no_bit(cuts, random):
    rng = np.random.default_rng(3)
    X, y = rng.integers(-999, 999, (50, 3)), rng.integers(0, 3, 50)
    parts = parts_of(X, y, cuts)
    delivered = [*parts, *random.sample(parts, random.randrange(len(parts) + 1))]
    random.shuffle(delivered)
    assert whole(delivered) == Summary.of(X, y)


def test_floats_do_not_depend_on_the_order_of_delivery():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(50, 3)) + 1e9, rng.integers(0, 2, 50)
    parts = parts_of(X, y, [7, 20, 33])
    assert whole(parts) == whole(parts[::-1])


def test_what_cannot_be_whole():
    X, y = np.arange(12).reshape(6, 2), np.arange(6) % 2
    parts = parts_of(X, y, [3])
    with pytest.raises(EngineError, match="test: partition 0 came twice, with different rows"):
        whole([*parts, Reply({0: 3}, parts[1].data)])
    with pytest.raises(EngineError, match="test: partition 2: cannot add Summaries of 2 and 1 features"):
        whole([*parts, Reply({2: 6}, Summary.of(X[:, :1], y).to_bytes())])
    with pytest.raises(EngineError, match="test: the table has no rows"):
        whole([Reply({0: 0}, None)])
    with pytest.raises(EngineError, match="what happened"):
        whole([*parts, Reply({2: 0}, None, "what happened")])


def test_replies_are_joined_on_the_cluster_only_if_they_are_many_and_large():
    assert group_width(32, 1 << 40) == group_width(30_000, 1 << 20) == 1
    assert group_width(600, 600 * 32_000) == 25
    assert group_width(30_000, 30_000 * 32_000) == 174


def test_elements_of_vectors_keep_their_names_in_bins():
    """They were compared with the number of cells."""
    columns = Columns("pyspark", "y", ("f",), None, elements=("a", "b"))
    batch = pa.RecordBatch.from_pydict({"f": [[1.0, 2.0], [3.0, 0.0]], "y": [0, 1]})
    coder = Coder.of([np.array([2.0]), np.array([1.0])], missing=False)
    for how in (None, coder):
        (found,) = Reading(columns, how).rows([batch])
        assert found.names == ("a", "b")
    (found,) = Reading(replace(columns, elements=("a", "b", "c")), coder).rows([batch])
    assert found.names is None
