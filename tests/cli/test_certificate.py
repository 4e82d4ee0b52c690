"""A deletion certificate: it holds for the model that it is of, and for no other."""

import json
from pathlib import Path

import pytest
from cli.driver import assert_one_line

from sefr import SEFRClassifier, load


@pytest.fixture(params=["1", "2"])
def forgotten(request, sefr, iris):
    """Return what was removed from a model of known ranges."""
    gone = iris[::10]
    gone.to_csv("gone.csv", index=False)
    words = ("--label", "species", "--moments", request.param, "--scale", "0:16", "-q")
    assert sefr("train", "iris.csv", *words, "-o", "m.sefr")[0] == 0
    assert sefr("forget", "m.sefr", "gone.csv", "--certificate", "c.json")[0] == 0
    return gone


def test_it_holds_for_the_model_and_the_rows(sefr, forgotten, iris):
    code, out, err = sefr("verify", "c.json", "m.sefr", "--rows", "gone.csv", "--json")
    assert code == 0, err
    answer = json.loads(out)
    assert (answer["removed"], answer["rows"], answer["ranges"]) == (15, 135, "known")
    rest = iris.drop(index=forgotten.index)
    found = load("m.sefr")
    never = SEFRClassifier(**found.get_params()).fit(rest.drop(columns="species"), rest["species"])
    assert found.summary_.counts.tolist() == never.summary_.counts.tolist()
    assert abs(found.coef_ - never.coef_).max() <= 1e-9 * abs(never.coef_).max()


def test_whole_numbers_are_forgotten_to_the_bit(sefr, iris):
    whole = iris.assign(**{name: (iris[name] * 10).round().astype(int) for name in iris.columns[:4]})
    whole.to_csv("all.csv", index=False)
    whole[::7].to_csv("gone.csv", index=False)
    rest = whole.drop(index=whole.index[::7])
    sefr("train", "all.csv", "--label", "species", "--moments", "2", "--scale", "0:100", "-q", "-o", "m.sefr")
    sefr("forget", "m.sefr", "gone.csv", "--certificate", "c.json", "-q")
    found = load("m.sefr")
    never = SEFRClassifier(**found.get_params()).fit(rest.drop(columns="species"), rest["species"])
    assert found.summary_.products == never.summary_.products
    assert (found.summary_.sums == never.summary_.sums).all()
    assert sefr("verify", "c.json", "m.sefr")[0] == 0


def test_it_does_not_hold_for_another_model_or_other_rows(sefr, forgotten):
    assert_one_line(*sefr("verify", "c.json", "m.sefr", "--rows", "iris.csv"), "not a file that was removed")
    sefr("update", "m.sefr", "gone.csv")
    assert_one_line(*sefr("verify", "c.json", "m.sefr"), "it was changed since, or is another model")


def test_a_forged_certificate_is_one_line(sefr, forgotten):
    text = Path("c.json").read_text()
    content = json.loads(text)
    for name, value in (("removed", content["before"]), ("rows", 3), ("before", "x"), ("format", "y")):
        Path("forged.json").write_text(json.dumps(content | {name: value}))
        code, _, err = sefr("verify", "forged.json", "m.sefr")
        assert code == 1, name
        assert err.count("\n") == 1
    Path("forged.json").write_text(text[:-40])
    assert sefr("verify", "forged.json", "m.sefr")[0] == 1
    assert sefr("verify", "c.json", "m.sefr")[0] == 0


def test_ranges_that_were_learned_stay_and_are_said(sefr, iris):
    iris[::10].to_csv("gone.csv", index=False)
    sefr("train", "iris.csv", "--label", "species", "--exact", "-q", "-o", "m.sefr")
    sefr("forget", "m.sefr", "gone.csv", "--certificate", "c.json")
    code, _, err = sefr("verify", "c.json", "m.sefr")
    assert code == 0
    assert "lowest and highest value" in err


def test_a_certificate_that_cannot_be_written_changes_nothing(sefr, iris):
    iris[::10].to_csv("gone.csv", index=False)
    sefr("train", "iris.csv", "--label", "species", "--exact", "-q", "-o", "m.sefr")
    before = Path("m.sefr").read_bytes()
    assert_one_line(
        *sefr("forget", "m.sefr", "gone.csv", "--certificate", "no/such/folder/c.json"), "no such folder"
    )
    assert Path("m.sefr").read_bytes() == before
