"""``make paper`` as a person runs it: options, interrupt and resume, errors, the report in a browser."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import pytest
from typer.testing import CliRunner

from laboratory import run
from laboratory.__main__ import app
from laboratory.journal import Journal

ROOT = Path(__file__).parents[2]
FAST = ["--datasets", "sonar", "--methods", "sefr,sefr_two_pass,naive_bayes", "--folds", "3"]


def sefr(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A small but complete run: every part, the report written."""
    sibling = Path(__file__).resolve().parents[3] / "shared" / "datasets"
    folder = Path(os.environ.get("SEFR_DATA", sibling))
    if not (folder / "semeion.npz").exists() or not (folder / "sonar.npz").exists():
        pytest.skip(f"no sonar and semeion in {folder}: set SEFR_DATA")
    output = tmp_path_factory.mktemp("paper")
    uno = output / "uno.csv"
    uno.write_text("phase,records,features,milliseconds\ntrain,100,100,6.53\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEFR_DATA", str(folder))
        patch.setattr(run, "QUICK_SECONDS", float("inf"))
        methods = "sefr,sefr_two_pass,naive_bayes,decision_tree"
        got = sefr(
            "--output", output / "out", "--datasets", "sonar,semeion,gli_85", "--methods", methods, "--quick",
            "--device-results", uno,
        )  # fmt: skip
    assert got.exit_code == 0, got.output
    return output / "out"


@pytest.mark.slow
def test_it_leaves_rows_and_two_reports(finished):
    names = {path.name for path in finished.iterdir()}
    assert names == {"results.csv", "run.json", "report.html", "report.md", "semeion_weights.csv", "figures"}
    rows = list(Journal(finished / "results.csv"))
    assert {row.experiment for row in rows} == {"folds", "protocol", "bytes", "scalability"}
    assert {row.variant for row in rows if row.experiment == "bytes"} == {"float", "uint8", "int8"}
    sonar = [
        row for row in rows if row.experiment == "folds" and row.dataset == "sonar" and row.method == "sefr"
    ]
    assert sorted(row.fold for row in sonar) == list(range(10))
    weights = (finished / "semeion_weights.csv").read_text().splitlines()
    assert len(weights) == 11
    assert all(len(line.split(",")) == 257 for line in weights)


@pytest.mark.slow
def test_every_cell_can_be_traced_to_rows(finished):
    html = (finished / "report.html").read_text()
    keys = {(row.dataset, row.method) for row in Journal(finished / "results.csv")}
    traces = re.findall(
        r"experiment=folds, dataset=(\w+), method=(\w+), seeds 0\.\.0, (?:10|1) of 10 folds", html
    )
    assert len(traces) == 2 * 4 * 3  # two datasets, four methods; accuracy, F1 and run time
    assert set(traces) <= keys


@pytest.mark.slow
def test_markdown_has_the_same_numbers(finished):
    html, markdown = (finished / "report.html").read_text(), (finished / "report.md").read_text()
    table = html[html.index('id="table2"') : html.index("</table>", html.index('id="table2"'))]
    ours = re.findall(r"<b>([\d.]+)</b>", table)
    assert len(ours) == 8
    for number in ours:
        assert number in markdown
    for name in re.findall(r"\((figures/\w+\.svg)\)", markdown):
        assert (finished / name).read_text().startswith("<svg")
    broken = [line for line in markdown.splitlines() if line.startswith("|") and not line.endswith("|")]
    assert broken == []


@pytest.mark.slow
def test_the_report_stands_alone(finished):
    html = (finished / "report.html").read_text()
    outside = [
        address for address in re.findall(r'(?:src|href|url)\s*[=(]\s*"?([^"\s)>]+)', html)
        if not address.startswith(("#", "data:"))
    ]  # fmt: skip
    assert outside == []


@pytest.mark.slow
def test_missing_data_is_said(finished):
    html = (finished / "report.html").read_text()
    assert "Not at hand: GLI_85" in html
    assert "made-up data of Gisette's shape: the real one is not at hand" in html.replace("&#39;", "'")
    assert "not measured" in html
    assert "6.53" in html


@pytest.mark.slow
def test_a_second_run_measures_nothing(real_data, tmp_path, monkeypatch):
    arguments = ["--output", tmp_path, "--tables", "accuracy", *FAST]
    assert sefr(*arguments).exit_code == 0
    before = (tmp_path / "results.csv").read_bytes()
    monkeypatch.setattr(run, "Bench", None)
    assert sefr(*arguments).exit_code == 0
    assert (tmp_path / "results.csv").read_bytes() == before


@pytest.mark.slow
def test_only_what_was_asked_for_runs(real_data, tmp_path):
    assert sefr("--output", tmp_path, "--tables", "bytes", "--datasets", "sonar", "--folds", 3).exit_code == 0
    assert {row.experiment for row in Journal(tmp_path / "results.csv")} == {"bytes"}
    assert not (tmp_path / "semeion_weights.csv").exists()


@pytest.mark.slow
def test_an_interrupted_run_goes_on(real_data, tmp_path):
    command = [sys.executable, "-m", "laboratory", "--output", str(tmp_path), "--tables", "accuracy"]
    command += ["--datasets", "sonar", "--methods", "sefr,naive_bayes,decision_tree"]
    results = tmp_path / "results.csv"
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (results.exists() and results.read_text().count("\n") > 4):
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=30)[1]
    assert process.returncode == 130
    assert "goes on where it ended" in said
    kept = results.read_bytes()
    assert 4 < kept.count(b"\n") < 31
    assert not (tmp_path / "report.html").exists()
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    assert results.read_bytes().startswith(kept)
    assert results.read_bytes().count(b"\n") == 31
    assert (tmp_path / "report.html").exists()


@pytest.mark.slow
def test_results_of_other_versions_are_not_mixed(real_data, tmp_path):
    arguments = ["--output", tmp_path, "--tables", "bytes", *FAST]
    assert sefr(*arguments).exit_code == 0
    circumstances = json.loads((tmp_path / "run.json").read_text())
    circumstances["versions"]["numpy"] = "1.0"
    (tmp_path / "run.json").write_text(json.dumps(circumstances))
    kept = (tmp_path / "results.csv").read_bytes()
    got = sefr(*arguments)
    assert got.exit_code == 1
    assert "numpy 1.0 ->" in " ".join(got.output.split())
    assert (tmp_path / "results.csv").read_bytes() == kept
    assert sefr(*arguments, "--fresh").exit_code == 0


def test_a_damaged_circumstances_file_is_one_clear_line(real_data, tmp_path):
    (tmp_path / "run.json").write_text("{")
    got = sefr("--output", tmp_path, "--tables", "bytes", *FAST)
    assert got.exit_code == 1
    assert "run.json is damaged" in "".join(got.output.split("\n"))


@pytest.mark.slow
def test_an_estimate_of_energy_is_said_and_marked(real_data, tmp_path):
    arguments = ["--output", tmp_path, "--tables", "runtime", *FAST]
    assert sefr(*arguments).exit_code == 0
    html = (tmp_path / "report.html").read_text()
    assert "not measured" in html
    assert " J</b>" not in html
    if "Energy is from the processor" in html:
        pytest.skip("this machine has an energy counter: nothing is estimated")
    assert sefr(*arguments, "--watts", 10).exit_code == 0
    html = (tmp_path / "report.html").read_text()
    assert "<strong>estimated</strong>" in html
    assert len(re.findall(r"<b>≈ [\d.,]+ J</b>", html)) == 3


@pytest.mark.slow
def test_fresh_removes_only_its_own_files(real_data, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    assert sefr("--output", tmp_path, "--tables", "bytes", "--fresh", *FAST).exit_code == 0
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_quick_run_ends_when_its_time_is_up(real_data, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "QUICK_SECONDS", -1.0)
    got = sefr("--output", tmp_path, "--tables", "accuracy", "--quick", *FAST)
    assert got.exit_code == 0
    assert len(Journal(tmp_path / "results.csv")) == 0
    assert "left out when the time was up" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tables", "table9"], "no part 'table9'"),
        (["--datasets", "iris"], "no dataset 'iris'"),
        (["--methods", "knn"], "no method 'knn'"),
        (["--folds", "1"], "folds must be at least 2"),
    ],
)
def test_wrong_options_are_one_clear_line(arguments, message, tmp_path):
    got = sefr("--output", tmp_path / "out", *arguments)
    assert got.exit_code == 2
    assert message in " ".join(got.output.split())
    assert not (tmp_path / "out").exists()


def test_an_unreadable_device_benchmark_is_one_clear_line(real_data, tmp_path):
    got = sefr("--output", tmp_path, "--tables", "uno", "--device-results", tmp_path / "absent.csv")
    assert got.exit_code == 1
    assert "absent.csv" in "".join(got.output.split())


@pytest.mark.parametrize(("scheme", "width"), list(product(("light", "dark"), (1280, 360))))
@pytest.mark.slow
def test_the_report_in_a_browser(finished, browser, scheme, width, tmp_path):
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    complaints = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("requestfailed", lambda request: complaints.append(request.url))
    page.goto((finished / "report.html").as_uri())

    for table in ("2", "2m", "3", "3m", "4", "5", "1", "-bytes", "-protocol", "-machine", "-versions"):
        cells = page.locator(f"#table{table} td")
        assert cells.count() > 4, table
        assert cells.first.is_visible()
        assert cells.first.inner_text().strip()
    for name in ("overview", "scalability", "weights"):
        figure = page.locator(f"#figure-{name}{'-narrow' if width < 640 else ''}")
        box = figure.bounding_box()
        assert box["width"] > 300
        assert box["x"] + box["width"] <= width
        assert box["height"] > 100
        letters = figure.locator("text").evaluate_all(
            "all => Math.min(...all.map(each => each.getBoundingClientRect().height))"
        )
        assert letters >= 8
    assert page.locator("#figure-weights image").count() >= 10
    assert page.locator(".findings dt").count() >= 6

    # The page itself never scrolls sideways; wide tables do so inside their box.
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ink = page.evaluate("getComputedStyle(document.querySelector('svg.figure')).color")
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (brightness(ink) > brightness(paper)) == (scheme == "dark")
    assert abs(brightness(ink) - brightness(paper)) > 150
    page.screenshot(path=tmp_path / "report.png", full_page=True)
    assert complaints == []
    page.close()


def brightness(colour):
    return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3
