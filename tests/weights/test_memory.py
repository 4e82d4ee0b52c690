"""What L-BFGS remembers, and two searches that go on from it."""

import numpy as np

from sefr._weights.refine.lbfgs import MEMORY, Evaluated, Memory

SIZE = 40


def walk(memory, rng, count):
    """Add steps along which the gradient of a quadratic function rises."""
    curvature = np.linspace(1, 5, SIZE)
    at = Evaluated(rng.normal(size=SIZE), 1.0, np.zeros(SIZE))
    at = at._replace(gradient=curvature * at.point)
    for _ in range(count):
        point = rng.normal(size=SIZE)
        tried = Evaluated(point, 1.0, curvature * point)
        assert memory.add(tried, at)
        at = tried


def pairs(memory):
    return [(memory.steps[place].copy(), memory.changes[place].copy()) for place in memory.order]


def test_the_last_steps_are_remembered(rng):
    memory = Memory(SIZE)
    walk(memory, rng, MEMORY)
    before = pairs(memory)
    walk(memory, rng, 3)
    after = pairs(memory)
    assert len(after) == MEMORY
    np.testing.assert_array_equal(after[: MEMORY - 3], before[3:])


def test_a_step_along_which_the_gradient_falls_is_not_remembered(rng):
    memory = Memory(SIZE)
    walk(memory, rng, MEMORY)
    before, gradient = pairs(memory), rng.normal(size=SIZE)
    direction = memory.direction(gradient)
    point = rng.normal(size=SIZE)
    zero = Evaluated(np.zeros(SIZE), 1.0, np.zeros(SIZE))
    assert not memory.add(Evaluated(point, 1.0, -point), zero)
    np.testing.assert_array_equal(pairs(memory), before)
    np.testing.assert_array_equal(memory.direction(gradient), direction)


def test_a_fork_leaves_what_it_goes_on_from_as_it_is(rng):
    memory = Memory(SIZE, forked=True)
    walk(memory, rng, MEMORY + 2)
    before, gradient = pairs(memory), rng.normal(size=SIZE)
    direction = memory.direction(gradient)
    fork = memory.fork()
    np.testing.assert_array_equal(fork.direction(gradient), direction)
    walk(fork, rng, 2 * MEMORY + 1)
    assert not np.array_equal(fork.direction(gradient), direction)
    np.testing.assert_array_equal(pairs(memory), before)
    np.testing.assert_array_equal(memory.direction(gradient), direction)


def test_products_are_those_of_what_is_remembered_now(rng):
    """A place that is used again has another product, and so have all of them under another penalty."""
    memory, gradient = Memory(SIZE), rng.normal(size=SIZE)
    for count in (4, MEMORY, 3):
        walk(memory, rng, count)
        memory.direction(gradient)
        known = memory.curved[memory.order]
        np.testing.assert_allclose(known, [step @ change for step, change in pairs(memory)], rtol=1e-12)
    moved = memory.under(0.5, SIZE - 1)
    moved.direction(gradient)
    known = moved.curved[moved.order]
    np.testing.assert_allclose(known, [step @ change for step, change in pairs(moved)], rtol=1e-12)
