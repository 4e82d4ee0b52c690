"""Boards that started from one base model: merged, the base counts once."""

import json

import numpy as np
import pytest
from device_reference import Reference

from sefr import SEFRClassifier, Summary
from sefr.device import StateError, export, merge_states, read_state
from sefr.device.state import State, base_id_of, id_of, pack_state


def started_board(base, X, y, k):
    """A board that took the base and learned records, by the reference."""
    start = read_state(base)
    board = Reference(X.shape[1], k)
    board.n, board.s = start.counts.astype(int).tolist(), start.sums.astype(int).tolist()
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        board.learn(row, label)
    ids = {"id": id_of(base), "base": base_id_of(base)}
    return pack_state(State(np.array(board.n), np.array(board.s), None, 5, **ids), 16)


@pytest.fixture
def exported(tmp_path, rng):
    X, y = rng.integers(0, 256, (90, 6)), np.arange(90) % 3
    path = export(SEFRClassifier(scale=(0, 255)).fit(X, y), "arduino", tmp_path, learn=True)
    return X, y, path


def test_boards_with_one_base_equal_training_on_all_records(exported, rng):
    X, y, path = exported
    base = (path / "base.state").read_bytes()
    assert id_of(base) == json.loads((path / "model.json").read_text())["id"]
    more = [(rng.integers(0, 256, (n, 6)), rng.integers(0, 3, n)) for n in (40, 25, 60)]
    states = [started_board(base, rows, labels, 3) for rows, labels in more]
    total = merge_states(states, base=base)
    whole = Summary.of(
        np.concatenate([X, *(rows for rows, _ in more)]), np.concatenate([y, *(labels for _, labels in more)])
    )
    assert total.counts.tolist() == whole.counts.tolist()
    assert total.sums.tolist() == whole.sums.tolist()
    double = merge_states(states)  # each board with its base
    assert double.n_rows == whole.n_rows + 2 * 90
    alone = read_state(states[0], base=base)
    assert alone.sums.tolist() == Summary.of(*more[0]).sums.tolist()


def test_a_board_of_another_base_is_refused(exported, tmp_path, rng):
    X, y, path = exported
    base = (path / "base.state").read_bytes()
    other = export(SEFRClassifier(scale=(0, 255)).fit(X[::-1] // 2, y), "arduino", tmp_path / "b", learn=True)
    foreign = (other / "base.state").read_bytes()
    with pytest.raises(StateError, match=r"the board started from base \w+, not from"):
        read_state(foreign, base=base)
    third = export(SEFRClassifier(scale=(0, 255)).fit(X, y % 2), "arduino", tmp_path / "c", learn=True)
    with pytest.raises(StateError, match="the board started from something else"):
        read_state((third / "base.state").read_bytes(), base=base)
    with pytest.raises(StateError, match="base: "):
        read_state(foreign, base=base[:-1])
    with pytest.raises(StateError, match="no state to merge"):
        merge_states([])


def test_a_halved_board_is_refused(exported):
    _, _, path = exported
    base = (path / "base.state").read_bytes()
    start = read_state(base)
    halved = State(start.counts // 2, start.sums // 2, None, 9, id_of(base), base=base_id_of(base))
    halved = pack_state(halved, 16)
    with pytest.raises(StateError, match="holds less than its base"):
        read_state(halved, base=base)


def test_a_base_leaves_room_to_learn(tmp_path, rng):
    """Of many records, at most 128 per class count, so that 128 more fit before anything is halved."""
    X, y = rng.integers(0, 256, (5000, 4)), np.arange(5000) % 2
    path = export(SEFRClassifier(scale=(0, 255)).fit(X, y), "arduino", tmp_path, learn=True)
    base = (path / "base.state").read_bytes()
    assert read_state(base).counts.tolist() == [128, 128]
    state = started_board(base, X[:256], y[:256], 2)
    assert read_state(state, base=base).sums.tolist() == Summary.of(X[:256], y[:256]).sums.tolist()


def test_a_model_trained_again_keeps_its_id(tmp_path, rng):
    """The id is of features, scaling and classes: what boards learned stays good."""
    X, y = rng.integers(0, 1024, (60, 4)), np.arange(60) % 2

    def ids(name, rows, labels, scale=(0, 1023)):
        clf = SEFRClassifier(scale=scale).fit(rows, labels)
        state = (export(clf, "arduino", tmp_path, name=name, learn=True) / "base.state").read_bytes()
        return id_of(state), base_id_of(state)

    first, again = ids("first", X, y), ids("again", X[:-1], y[:-1])
    assert first[0] == again[0]
    assert first[1] != again[1]
    others = [
        ids("labels", X, np.array(["no", "yes"])[y]),
        ids("scaled", X, y, (0, 4095)),
        ids("narrow", X[:, :3], y),
    ]
    assert len({first[0], *(other[0] for other in others)}) == 4
