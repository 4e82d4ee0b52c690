"""Models with bins: files, bytes and pickles hold all of them, and lies are refused."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest

from sefr import SEFRClassifier, Summary
from sefr.model_file import CLOSING, DIGITS, ModelFileError, dump, parse


def model(**params):
    rng = np.random.default_rng(4)
    X = pd.DataFrame(
        {"age": rng.normal(size=90), "colour": pd.Categorical(rng.choice(["red", "blue"], size=90))}
    )
    X.loc[3, "age"] = np.nan
    y = rng.choice(["no", "yes", "maybe"], size=90)
    return SEFRClassifier(bins=6, missing="ignore", **params).fit(X, y), X


@pytest.mark.parametrize("interactions", [None, 3])
@pytest.mark.parametrize("passes", [1, 4])
def test_a_model_comes_back_to_the_bit(passes, interactions):
    clf, X = model(passes=passes, interactions=interactions)
    for again in (parse(dump(clf)), pickle.loads(pickle.dumps(clf))):  # noqa: S301
        assert again.summary_ == clf.summary_
        assert again.decision_function(X).tobytes() == clf.decision_function(X).tobytes()
        assert again.contributions(X).tobytes() == clf.contributions(X).tobytes()
        np.testing.assert_allclose(again.predict_proba(X), clf.predict_proba(X), atol=1e-12)
        assert again.edges_[1] == clf.edges_[1] == ("blue", "red")
        assert again.get_params()["bins"] == 6
        assert again.get_params()["interactions"] == interactions
        assert again.interactions_ == clf.interactions_
    assert dump(parse(dump(clf))) == dump(clf)


def test_edges_as_a_setting_come_back():
    clf, X = model(interactions=2)
    cut = {"bins": clf.edges_, "interactions": clf.interactions_}
    shared = SEFRClassifier(**cut, missing="ignore").fit(X, clf.predict(X))
    again = parse(dump(shared))
    assert again.merge(clf).summary_.n_rows == 180
    assert again.bins[1] == ("blue", "red")
    assert dump(parse(dump(again))) == dump(again)


def test_a_file_of_the_schema_before_interactions_is_read():
    clf, X = model(passes=4)
    content = json.loads(dump(clf))
    del content["bins"]["interactions"], content["settings"]["interactions"]
    again = parse(sealed(content | {"schema": 3}))
    assert again.interactions is None
    assert again.interactions_ == []
    assert again.decision_function(X).tobytes() == clf.decision_function(X).tobytes()


def test_a_file_of_the_schema_before_bins_is_read():
    clf = SEFRClassifier().fit([[1.0, 2.0], [3.0, 1.0]], [0, 1])
    content = json.loads(dump(clf))
    del content["bins"], content["settings"]["bins"], content["settings"]["interactions"]
    again = parse(sealed(content | {"schema": 2}))
    assert again.summary_ == clf.summary_
    assert again.bins is None


def sealed(content):
    import hashlib

    from sefr import model_file

    rest = {name: value for name, value in content.items() if name not in {"format", "schema", "checksum"}}
    lines = "".join(f'  "{name}": {json.dumps(value)},\n' for name, value in rest.items())
    body = model_file.OPENING + f"{content['schema']},\n{lines}".encode() + model_file.SEAL
    return body + hashlib.sha256(body).hexdigest().encode() + CLOSING


LIES = {
    "edges fall": lambda c: c["bins"]["edges"][0].reverse(),
    "an edge less": lambda c: c["bins"]["edges"][0].pop(),
    "a feature less": lambda c: c["bins"]["edges"].pop(),
    "edges of text": lambda c: c["bins"]["edges"][0].__setitem__(0, "1"),
    "an edge is null": lambda c: c["bins"]["edges"][0].__setitem__(0, None),
    "missing is 1": lambda c: c["bins"].update(missing=1),
    "missing has no cell": lambda c: c["bins"].update(missing=False),
    "another member": lambda c: c["bins"].update(depth=3),
    "categories twice": lambda c: c["bins"]["edges"][1].update(categories=["red", "red"]),
    "categories nested": lambda c: c["bins"]["edges"][1].update(categories=["red", ["blue"]]),
    "categories and more": lambda c: c["bins"]["edges"][1].update(order=1),
    "bins is a list": lambda c: c.update(bins=[]),
    "bins left out": lambda c: c.pop("bins"),
    "a row in two cells": lambda c: c["summary"]["sums"][0].__setitem__(0, c["summary"]["sums"][0][0] + 1),
    "a negative cell": lambda c: c["summary"]["sums"][0].__setitem__(0, -1),
    "interactions left out": lambda c: c["bins"].pop("interactions"),
    "no interactions": lambda c: c["bins"].update(interactions=[]),
    "interactions are null": lambda c: c["bins"].update(interactions=None),
    "a fern less": lambda c: c["bins"]["interactions"].pop(),
    "a comparison less": lambda c: c["bins"]["interactions"][0].pop(),
    "a comparison of text": lambda c: c["bins"]["interactions"][0].__setitem__(0, ["0", 1]),
    "a comparison of a float": lambda c: c["bins"]["interactions"][0].__setitem__(0, [0, 1.5]),
    "a feature that is not there": lambda c: c["bins"]["interactions"][0].__setitem__(0, [2, 1]),
    "a bin that is not there": lambda c: c["bins"]["interactions"][0].__setitem__(0, [0, 99]),
    "a negative bin": lambda c: c["bins"]["interactions"][0].__setitem__(0, [0, -1]),
    "a row in two cells of a fern": lambda c: c["summary"]["sums"][0].__setitem__(-1, 90),
    "setting of 0 interactions": lambda c: c["settings"].update(interactions=0),
    "setting of text": lambda c: c["settings"].update(bins="many"),
    "n_jobs of 0": lambda c: c["settings"].update(n_jobs=0),
    "n_jobs true": lambda c: c["settings"].update(n_jobs=True),
    "n_jobs beyond an int": lambda c: c["settings"].update(n_jobs=10**30),
    "a scale that falls": lambda c: c["settings"].update(scale=[1, 0]),
    "a scale of three": lambda c: c["settings"].update(scale=[0, 1, 2]),
    "a scale of other features": lambda c: c["settings"].update(scale=[[0.0] * 3, [1.0] * 3]),
    "an empty scale": lambda c: c["settings"].update(scale=[]),
    "a scale that is a number": lambda c: c["settings"].update(scale=7),
    "a scale that is true": lambda c: c["settings"].update(scale=True),
    "a scale that is an object": lambda c: c["settings"].update(scale={}),
    "setting of one bin": lambda c: c["settings"].update(bins=1),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_a_lie_is_refused(lie):
    content = json.loads(dump(model(interactions=2)[0]))
    parse(sealed(content))
    lie(content)
    with pytest.raises(ModelFileError):
        parse(sealed(content))


@pytest.mark.parametrize("interactions", [None, 1])
def test_bytes_of_a_summary_come_back_and_every_cut_and_flip_is_refused(interactions):
    summary = model(interactions=interactions)[0].summary_
    data = summary.to_bytes()
    assert Summary.from_bytes(data) == summary
    assert Summary.from_bytes(data).to_bytes() == data
    for end in range(len(data)):
        with pytest.raises(ValueError, match=r"Summary"):
            Summary.from_bytes(data[:end])
    for at in range(len(data)):
        flipped = bytearray(data)
        flipped[at] ^= 4
        with pytest.raises(ValueError, match=r"Summary"):
            Summary.from_bytes(flipped)
    assert len(data) < (250 if interactions is None else 480)
    assert len(dump(model()[0])) - DIGITS < 2_500


def test_ferns_without_cells_and_other_lies_in_bytes_are_refused():
    import zlib

    plain = bytearray(SEFRClassifier().fit([[1.0, 2.0], [3.0, 1.0]], [0, 1]).summary_.to_bytes()[:-4])
    plain[10] |= 64
    with pytest.raises(ValueError, match="ferns but no cells"):
        Summary.from_bytes(bytes(plain) + zlib.crc32(plain).to_bytes(4, "little"))
    clf = SEFRClassifier(bins=[[1.5]], interactions=[[(0, 1)]]).fit([[1.0], [3.0]], [0, 1])
    data = clf.summary_.to_bytes()[:-4]
    at = data.index(bytes([1, 1, 0, 1]), 8)  # a fern, a comparison, of feature 0, of bin 1
    for lie in (bytes([1, 1, 1, 1]), bytes([1, 1, 0, 2]), bytes([1, 9, 0, 1]), bytes([0, 1, 0, 1])):
        body = data[:at] + lie + data[at + 4 :]
        with pytest.raises(ValueError, match=r"Summary|interactions"):
            Summary.from_bytes(body + zlib.crc32(body).to_bytes(4, "little"))
