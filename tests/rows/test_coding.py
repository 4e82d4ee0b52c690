"""What columns are, features or cells, answers the same questions; who adds them up does not ask which."""

import numpy as np
import pytest

from sefr import Summary
from sefr._rows.cells import Cells
from sefr._rows.coding import Uncut, coding_of
from sefr._rows.inputs import labelled
from sefr._rows.matrix import Dense
from sefr.engines.cluster.storage import pack_rows, unpack_rows

X = np.array([[1.0, 5.0], [2.0, 4.0], [3.0, 9.0], [4.0, 7.0]])
Y = np.array([0, 1, 0, 1])
EDGES = [[2.5], [4.5, 8.0]]
SETTINGS = {"features": {}, "bins": {"bins": EDGES}, "interactions": {"bins": EDGES, "interactions": 2}}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_a_coding_describes_the_sums_of_its_summary(settings):
    summary = Summary.of(X, Y, **settings, moments=2)
    coding = summary.coding
    assert coding.width == summary.sums.shape[1] == len(summary.low)
    assert coding.n_features == summary.n_features == 2
    assert coding.coder is summary.coder
    for name, known in coding.known_ends().items():
        np.testing.assert_array_equal(known, getattr(summary, name))
    assert set(coding.known_ends()) == ({"low", "high"} if settings else set())
    coding.check_counts(summary.counts, summary.sums, None, 1e-6)
    assert coding.product_columns(missing=False) == summary.products.n_columns


def test_missing_values_have_columns_of_products_or_a_cell():
    gaps = np.where(X == 9, np.nan, X)
    for settings in ({}, {"bins": EDGES}):
        summary = Summary.of(gaps, Y, **settings, missing="ignore", moments=2)
        assert summary.coding.product_columns(missing=True) == summary.products.n_columns


def test_features_as_they_come_have_no_coder():
    assert coding_of(None, 3).n_features == Uncut(3).width == 3
    with pytest.raises(AttributeError, match="this model has no edges: it was made with bins=None"):
        Uncut(3).known_coder("edges")


def test_cells_are_not_read_without_their_coder():
    coder = Summary.of(X, Y, bins=EDGES).coder
    packed = pack_rows(labelled(Dense(X), Y)._replace(matrix=Cells(Dense(X), coder)))
    np.testing.assert_array_equal(unpack_rows(packed, np.array([0, 1]), coder).matrix.cells, coder.code(X))
    with pytest.raises(AttributeError, match="this model has no cells"):
        unpack_rows(packed, np.array([0, 1]))
