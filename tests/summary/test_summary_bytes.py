"""A Summary as bytes: everything comes back, nothing else is taken."""

import zlib

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.datasets import load_digits

from sefr import SEFRClassifier, Summary

LABELS = [
    np.array([0, 1, 2], dtype=np.int8),
    np.array([-5, 0, 2**40]),
    np.array([3, 4, 5], dtype=np.uint16),
    np.array([0.0, 1.0, 7.0]),
    np.array([False, True]),
    np.array(["", "grün", "z"]),
    np.array(["a", "b", "c"], dtype=object),
    np.array([b"x", b"y"]),
]


def summary_of(classes, m=3, names=None, seed=0, **more):
    rng = np.random.default_rng(seed)
    parts = {
        "classes": classes,
        "counts": rng.integers(3, 99, len(classes)),
        "sums": rng.normal(size=(len(classes), m)),
        "low": np.full(m, -1.5),
        "high": np.full(m, 2.0**70),
        "feature_names": names,
    }
    return Summary.from_parts(**(parts | more))


@pytest.mark.parametrize("classes", LABELS, ids=lambda a: f"{a.dtype}")
def test_labels_of_every_kind_come_back(classes):
    summary = summary_of(classes)
    back = Summary.from_bytes(summary.to_bytes())
    assert back == summary
    assert back.classes.dtype == classes.dtype
    assert back.to_bytes() == summary.to_bytes()


floats = hnp.arrays(np.float64, (2, 4), elements=st.floats(allow_nan=False, allow_infinity=False))


parts_of_an_ulp = hnp.arrays(np.float64, (2, 4), elements=st.floats(-(2.0**-53), 2.0**-53))


@given(floats, parts_of_an_ulp, st.booleans())
def test_every_bit_of_the_sums_comes_back(sums, parts, named):
    names = list("wxyz") if named else None
    wide = {"low": np.full(4, -1.79e308), "high": np.full(4, 1.79e308), "tails": sums * parts}
    summary = summary_of(np.array(["a", "b"]), 4, names, sums=sums, **wide)
    back = Summary.from_bytes(bytearray(summary.to_bytes()))
    assert back.sums.tobytes() == summary.sums.tobytes()
    assert back.tails.tobytes() == summary.tails.tobytes()
    assert back.feature_names == summary.feature_names


def test_missing_values_and_unseen_features_come_back():
    X = np.array([[1, np.nan, np.nan], [2, 5, np.nan]])
    summary = Summary.of(X, ["a", "b"], missing="ignore")
    assert summary.present is not None
    assert Summary.from_bytes(summary.to_bytes()) == summary


def test_small_whole_numbers_take_two_bytes():
    X, y = load_digits(return_X_y=True)
    data = Summary.of(X, y).to_bytes()
    assert len(data) < 10 * 64 * 2 + 64 * 2 + 150
    assert Summary.from_bytes(data) == Summary.of(X, y)


def test_every_flipped_bit_is_found():
    data = summary_of(np.array([0, 1]), 2, ["a", "b"]).to_bytes()
    for i in range(len(data)):
        for bit in range(8):
            broken = bytearray(data)
            broken[i] ^= 1 << bit
            with pytest.raises(ValueError, match="Summary"):
                Summary.from_bytes(broken)


def test_every_cut_and_any_addition_is_found():
    data = summary_of(np.array([0, 1]), 2).to_bytes()
    for i in range(len(data)):
        with pytest.raises(ValueError, match="Summary"):
            Summary.from_bytes(data[:i])
    with pytest.raises(ValueError, match="damaged"):
        Summary.from_bytes(data + b"\0")


def sealed(body):
    return body + zlib.crc32(body).to_bytes(4, "little")


def test_a_lie_with_a_right_checksum_is_refused_and_allocates_nothing():
    head = b"SEFRsum\x01"
    huge = b"\xff\xff\xff\xff\xff\xff\xff\x7f"
    lies = {
        "end too early": [
            head + huge + huge + b"\0\x09",
            head + b"\x02\x02\0",
            head + b"\x01" + huge + b"\0\x00a\x00b",
        ],
        "no end": [head + b"\xff" * 12],
        "ferns but no cells": [head + b"\x01\x01\x40"],
        "unknown kind": [head + b"\x01\x01\x00\x63\x00", head + b"\x01\x01\x00\x00\x01\x0b\x01"],
        "go on after": [summary_of(np.array([0, 1]), 1).to_bytes()[:-4] + b"\0"],
        "UTF-8": [head + b"\x01\x01\x00\x0b\x01\xff"],
        "version 3": [b"SEFRsum\x03" + b"\0" * 20],
        "do not start": [b"\x80\x04pickle.................", b"SEFR"],
    }
    for words, bodies in lies.items():
        for body in bodies:
            with pytest.raises(ValueError, match=words):
                Summary.from_bytes(sealed(body))
    good = summary_of(np.array([3, 4], dtype=np.int8), 1).to_bytes()[:-4]
    assert good.count(b"\x01\x03\x04") == 1
    with pytest.raises(ValueError, match="sorted"):
        Summary.from_bytes(sealed(good.replace(b"\x01\x03\x04", b"\x01\x04\x03")))


def test_labels_that_cannot_travel():
    days = np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]")
    with pytest.raises(ValueError, match="no place"):
        summary_of(days).to_bytes()


# Two columns of categories, of text and of numbers, as they were written before several kinds could be mixed.
EARLIER = (
    "5345465273756d01020324090000000000000000010000000000000000020202060000003f0000c03f0000003f0000c03f00004040"
    "0000e0400200020b04626c75650372656401020901000000000000000300000000000000000804000404000404000203030202000202"
    "000101020174016e017a4e822378"
)


def test_bytes_of_an_earlier_version_are_read_and_written_the_same():
    found = Summary.from_bytes(bytes.fromhex(EARLIER))
    assert dict(found.coder.categories) == {0: ("blue", "red"), 1: (1, 3)}
    assert found.counts.tolist() == [8, 4]
    assert found.to_bytes().hex() == EARLIER


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'["a", 1, 2]', "categories that do not go with its edges"),
        (b'["a", [1]]', "neither text nor a number"),
        (b'["a", NaN]', "damaged JSON: categories"),
        (b'["a", {"float": "nan"}]', "neither text nor a number"),
        (b'{"a": 1}', "must be a list"),
        (b"[" * 100_000, "damaged JSON: categories"),
    ],
)
def test_forged_categories_are_refused(text, message):
    X = pd.DataFrame({"c": pd.Categorical.from_codes([0, 1] * 9, pd.Index([1, "x"], dtype=object))})
    good = SEFRClassifier(bins=4).fit(X, [0, 1, 1] * 6).summary_.to_bytes()[:-4]
    assert good.count(b'\x08[1, "x"]') == 1
    length = bytearray()
    n = len(text)
    while n > 127:
        length.append(n & 127 | 128)
        n >>= 7
    length.append(n)
    with pytest.raises(ValueError, match=message):
        Summary.from_bytes(sealed(good.replace(b'\x08[1, "x"]', bytes(length) + text)))
