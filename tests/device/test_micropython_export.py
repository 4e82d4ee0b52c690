"""``export(clf, "micropython")``: a module that answers as the twin does, in MicroPython and in Python."""

import json
import runpy

import numpy as np
import pytest
from test_micropython import ROOT, micropython

from sefr import SEFRClassifier
from sefr.device import Twin, export, quantise

pytestmark = [
    pytest.mark.needs("micropython"),
    pytest.mark.skipif(not ROOT.exists(), reason="micropython/ is in the source tree only"),
]


def blobs(rng, classes, scale=1.0, n=240, m=6):
    y = np.arange(n) % classes
    return scale * (rng.normal(size=(n, m)) + 2 * (np.arange(m) % classes == y[:, None])), y


def cases(rng):
    """Models of every kind, with rows inside and outside of what they learned."""
    X2, y2 = blobs(rng, 2)
    X3, y3 = blobs(rng, 3)
    whole, wide = np.rint(200 + 90 * X3).astype(int), np.rint(200_000 * X2).astype(int)
    byte = np.clip(np.rint(120 + 30 * X3), 0, 255).astype(int)
    labels = np.array(['it\'s \\ "quoted"', "two\nlines", "drei ✓"])[y3]
    holes = np.where(rng.random(X2.shape) < 0.2, np.nan, X2)
    yield "floats", SEFRClassifier().fit(X2, y2), 3 * X2, {}
    yield "floats of three classes, int16", SEFRClassifier().fit(X3, y3), X3, {"weights": "int16"}
    yield "int16", SEFRClassifier().fit(whole, labels), 2 * whole - 150, {}
    yield "int32", SEFRClassifier().fit(wide, y2), wide, {"input": "int32"}
    yield "bytes", SEFRClassifier(scale=(0, 255)).fit(byte, y3), byte, {}
    yield "refined", SEFRClassifier(passes=5).fit(X3, y3), X3, {"weights": "int16"}
    yield "bins", SEFRClassifier(bins=8).fit(X3, y3), 2 * X3, {}
    yield "bins of whole numbers", SEFRClassifier(bins=16).fit(whole, y3), whole, {"weights": "int16"}
    yield "missing", SEFRClassifier(bins=8, missing="ignore").fit(holes, y2), holes, {}
    yield "interactions", SEFRClassifier(bins=8, interactions=5, passes=3).fit(X3, y3), X3, {}


CASES = [case[0] for case in cases(np.random.default_rng(0))]


def case_of(name):
    return next(case[1:] for case in cases(np.random.default_rng(0)) if case[0] == name)


@pytest.mark.parametrize("name", CASES)
def test_the_module_answers_as_the_twin(name, tmp_path):
    clf, X, options = case_of(name)
    path = export(clf, "micropython", tmp_path, name="room", **options)
    q = quantise(clf, options.get("weights", "int8"), options.get("input"))
    X = X[:60]
    expected, answers = q.scores(X).tolist(), q.answers(X).tolist()
    module = runpy.run_path(str(path))
    rows = X.tolist()
    assert [module["scores"](row) for row in rows] == expected
    assert [module["classify"](row) for row in rows] == answers
    assert list(module["LABELS"]) == [str(c) if isinstance(c, str) else c for c in q.classes.tolist()]
    assert (
        micropython(
            path.read_text() + "\nimport json\n"
            f'rows = json.loads("""{json.dumps(rows)}""".replace("NaN", "null"))\n'
            "for row in rows:\n"
            '    print(json.dumps(scores([float("nan") if value is None else value for value in row])))\n',
            tmp_path,
        )
        == expected
    )


def test_dont_know(tmp_path):
    rng = np.random.default_rng(1)
    X, y = blobs(rng, 2)
    clf = SEFRClassifier().fit(X, y)
    leads = Twin(clf).leads(X)
    margin = int(np.median(leads))
    module = runpy.run_path(str(export(clf, "micropython", tmp_path, name="room", margin=margin, check=True)))
    said = [module["classify"](row) for row in X.tolist()]
    assert [answer is None for answer in said] == (leads < margin).tolist()
    sure = X[leads >= margin][0]
    assert module["classify"](sure.tolist()) is not None
    for strange in (np.nan, 1e6, -np.inf):
        assert module["classify"]([strange, *sure[1:].tolist()]) is None
    with pytest.raises(ValueError, match="another length"):
        module["classify"]([0.0])


def test_what_cannot_be_is_refused(tmp_path):
    X, y = blobs(np.random.default_rng(1), 2)
    with pytest.raises(ValueError, match="only the target 'arduino' can learn"):
        export(SEFRClassifier().fit(X, y), "micropython", tmp_path, learn=True)
    with pytest.raises(ValueError, match="check goes without bins"):
        export(SEFRClassifier(bins=4).fit(X, y), "micropython", tmp_path, check=True)
    assert (
        export(SEFRClassifier().fit(X, y), "micropython", tmp_path, name="machine").name == "model_machine.py"
    )


def test_the_command(tmp_path):
    from typer.testing import CliRunner

    from sefr import save
    from sefr.cli import app

    X, y = blobs(np.random.default_rng(1), 3)
    save(SEFRClassifier().fit(X, y), tmp_path / "room.sefr")
    words = ["export", str(tmp_path / "room.sefr"), "--to", "micropython", "-o", str(tmp_path)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert runpy.run_path(str(tmp_path / "room.py"))["FEATURES"] == X.shape[1]
