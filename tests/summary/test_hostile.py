"""Summaries that no rows could give, as someone might send them: each is refused, and costs nothing."""

import tracemalloc

import numpy as np
import pytest

from sefr import SEFRClassifier, Summary
from sefr._rows.coding import Uncut
from sefr._summary.double_double import DoubleDouble, Totals

GOOD = {
    "classes": np.array([0, 1]),
    "counts": np.array([50.0, 50.0]),
    "sums": np.array([[10.0, 20.0], [40.0, 30.0]]),
    "low": np.array([0.0, 0.0]),
    "high": np.array([1.0, 1.0]),
    "present": None,
}


def forged(**change):
    """Return the bytes of a Summary that was never looked at, with a right checksum."""
    parts = {name: None if part is None else np.array(part) for name, part in (GOOD | change).items()}
    present = parts["present"]
    return Summary.from_doubles(
        parts["classes"],
        Totals(
            DoubleDouble(parts["counts"]),
            DoubleDouble(parts["sums"]),
            None if present is None else DoubleDouble(present),
        ),
        (parts["low"], parts["high"]),
        None,
        Uncut(len(parts["low"])),
    ).to_bytes()


HOSTILE = {
    "low above high": ({"low": [0.0, 2.0]}, "low must not be above high: column 1 has 2 and 1"),
    "infinite range": ({"high": [1.0, np.inf]}, "low must not be above high: column 1"),
    "more values than rows": (
        {"present": [[50.0, 50.0], [51.0, 50.0]], "sums": [[10.0, 20.0], [40.0, 30.0]]},
        "present must not be above counts",
    ),
    "sum above the range": (
        {"sums": [[10.0, 20.0], [1e6, 30.0]]},
        r"count \* \[low, high\]: class 1, column 0",
    ),
    "sum below the range": ({"sums": [[-5.0, 20.0], [40.0, 30.0]]}, r"class 0, column 0 has a sum of -5"),
    "counts of 1e300": (
        {"counts": [50.0, 1e300], "sums": [[10.0, 20.0], [0.0, 0.0]]},
        "counts must not be above",
    ),
    "sums without rows": (
        {"counts": [50.0, 0.0], "sums": [[10.0, 20.0], [3.0, 0.0]]},
        r"class 1, column 0 has a sum of 3 of 0 values",
    ),
    "sums of what was never seen": (
        {"low": [np.inf, 0.0], "high": [-np.inf, 1.0]},
        "column 0 has a sum of 10, but no lowest and highest value",
    ),
}


@pytest.mark.parametrize(("change", "message"), HOSTILE.values(), ids=HOSTILE)
def test_what_no_rows_could_give_is_refused_in_bytes_and_in_parts(change, message):
    Summary.from_bytes(forged())
    with pytest.raises(ValueError, match=message):
        Summary.from_bytes(forged(**change))
    with pytest.raises(ValueError, match=message):
        Summary.from_parts(**{name: part for name, part in (GOOD | change).items() if part is not None})


def test_a_tiny_message_cannot_swing_the_weights():
    """One row's Summary with a sum of a million rows made a weight of -0.999 of one near 0."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(10_000, 2)), rng.integers(0, 2, 10_000)
    learned = Summary.of(X, y)
    before = SEFRClassifier.from_summary(learned).feature_scores_
    tiny = forged(counts=[1.0, 1.0], sums=[[1e9, 0.0], [0.0, 0.0]])
    with pytest.raises(ValueError, match="sums must lie within"):
        Summary.from_bytes(tiny)
    fair = Summary.from_bytes(forged(counts=[1.0, 1.0], sums=[[1.0, 0.0], [0.0, 1.0]]))
    after = SEFRClassifier.from_summary(learned + fair).feature_scores_
    assert np.abs(after - before).max() < 1e-3


@pytest.mark.parametrize("labels", ["text", "text objects"])
def test_one_long_label_among_many_takes_no_memory_of_its_length_each(labels):
    """5 MB with one label of 1 million characters asked for 18.6 GiB: every label as long as the longest."""
    names = [f"{i:04}" for i in range(4_999)] + ["z" * 1_000_000]
    classes = np.array(names, dtype=object)
    data = forged(
        classes=classes, counts=np.ones(5_000), sums=np.zeros((5_000, 1)), low=np.zeros(1), high=np.zeros(1)
    )
    if labels == "text":
        data = retyped(data)
    assert len(data) < 2_000_000
    tracemalloc.start()
    try:
        found = Summary.from_bytes(data)
        assert found.classes[-1] == names[-1]
    except ValueError as error:
        assert "label" in str(error)  # noqa: PT017
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 100_000_000


def retyped(data):
    """Say that the labels are text of one width, not objects: kind 11 instead of 12."""
    import zlib

    at = data.index(b"\x0c\x04" + b"0000")
    body = data[:at] + b"\x0b" + data[at + 1 : -4]
    return body + zlib.crc32(body).to_bytes(4, "little")
