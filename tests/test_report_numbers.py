"""The report of a regressor: one page, with what the model knows and no more."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score

from sefr import SEFRRegressor, save
from sefr.report import explained, report

from .test_regressor import drawn

NAMES = ["a", "b <script>", "c", "d", "e"]


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"bins": 8},
        {"bins": 8, "interactions": 4},
        {"moments": 1},
        {"moments": 1, "passes": 4},
        {"auto": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("k", [1, 2])
def test_a_page_for_every_kind_of_model(params, k):
    X, y = drawn(1, k=k)
    frame = pd.DataFrame(X, columns=NAMES)
    reg = SEFRRegressor(**params).fit(frame, y)
    records = explained(reg, frame[:30], places=[f"row {i}" for i in range(30)], truths=None)
    page = report(reg, title="made", records=records)
    assert "<script>b" not in page
    assert "b &lt;script&gt;" in page
    assert page.count("<details") == 30
    assert ('class="curve"' in page) == ("bins" in params or "auto" in params)
    assert ("±" in page.split("</header>")[1]) == (params == {})
    assert ("scatter about predictions" in page) == (params != {"moments": 1})
    assert ("output 1" in page) == (k == 2)


def test_what_auto_chose_is_not_called_none():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    reg = SEFRRegressor(auto=True).fit(X, X[:, 0] * X[:, 1] + rng.normal(0, 0.1, 400))
    page = report(reg, title="t")
    assert f"<dt>interactions</dt><dd>{len(reg.interactions_)}</dd>" in page
    assert "<dt>bins</dt>" not in page
    assert "<dt>moments</dt>" not in page


def test_weights_errors_and_the_plots_are_those_of_the_model():
    X, y = drawn(2)
    reg = SEFRRegressor().fit(X, y)
    records = explained(reg, X[:50], places=[f"row {i}" for i in range(50)], truths=y[:50].tolist())
    page = report(reg, title="made", records=records)
    for weight, error in zip(reg.coef_, reg.coef_std_, strict=True):
        assert f"{weight:+.4g} ± {error:.2g}" in page
    assert f"R² {r2_score(y[:50], reg.predict(X[:50])):.3f}" in page
    assert len(re.findall("<circle", page)) == 100
    assert f"{1 - reg.noise_**2 / y.var(ddof=1):.3f}" in page
    with pytest.raises(ValueError, match="pictures show classes"):
        report(reg, title="made", image=(1, 5))


def test_the_command_writes_it(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from sefr.cli import app

    X, y = drawn(3)
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(y=y)
    frame.to_csv("d.csv", index=False)
    run = CliRunner().invoke
    assert run(app, ["train", "d.csv", "-l", "y", "--exact", "-q", "-o", "m.sefr"]).exit_code == 0
    done = run(app, ["explain", "m.sefr", "--rows", "d.csv", "-o", "r.html"])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "r.html").read_text()
    assert "It predicts <b>y</b>" in page
    assert "Predictions and what is true" in page
    done = run(app, ["explain", "m.sefr", "-o", "r.png"])
    assert done.exit_code != 0
    assert "-o takes an .html file" in done.output + str(done.exception)
    save(SEFRRegressor(moments=1).fit(frame[list("abcde")], np.asarray(y)), "first.sefr")
    assert run(app, ["explain", "first.sefr"]).exit_code == 0
