"""Products of steps from those of columns: as written out, and refused where there is no room for them."""

import numpy as np
import pytest

from sefr import _native


@pytest.mark.parametrize("n", [1, 2, 9, 40])
@pytest.mark.parametrize("more", [0, 3])
def test_steps_are_sums_to_the_end_of_their_run(n, more):
    rng = np.random.default_rng(n)
    X = rng.integers(-9, 10, (50, n + more)).astype(float)
    begins = (rng.random(n) < 0.3).astype(np.uint8)
    begins[0] = 1
    scale = rng.integers(0, 4, n).astype(float)
    steps = np.zeros((50, n))
    for j in range(n):
        end = next((k for k in range(j + 1, n) if begins[k]), n)
        steps[:, j] = X[:, j:end].sum(axis=1) * scale[j]
    steps = steps[:, scale > 0]
    G = X.T @ X
    packed = np.concatenate([G[i, i:] for i in range(n + more)])
    out = np.full((n + 1, n + 1), 7.0)
    _native.step_products(begins, scale, packed, n + more, out)
    p = steps.shape[1]
    expected = steps.T @ steps
    upper = np.triu_indices(p)
    assert np.array_equal(out[:p, :p][upper], expected[upper])
    assert (out[p:] == 7.0).all()


def test_room_is_checked():
    begins, scale, packed = np.ones(3, dtype=np.uint8), np.ones(3), np.zeros(6)
    with pytest.raises(ValueError, match="3 steps"):
        _native.step_products(begins, scale, packed, 3, np.zeros((2, 2)))
    with pytest.raises(ValueError, match="3 columns"):
        _native.step_products(begins, scale, np.zeros(3), 2, np.zeros((3, 3)))
    with pytest.raises(ValueError, match="packed has length 6, not 10"):
        _native.step_products(begins, scale, packed, 4, np.zeros((3, 3)))
