"""What a new user does first: hints that run, settings that suit the data, errors that name every column."""

import io
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli.driver import assert_one_line, fitted

from sefr import compare, load
from sefr.comparison import METHODS, dealt_folds
from sefr.files import FORMATS
from sefr.files.learning import FoldAssigner


@pytest.fixture
def messy():
    """Write a table with an id, a date, a category, an empty cell and a row without a label."""
    rng = np.random.default_rng(5)
    n = 120
    frame = pd.DataFrame(
        {
            "id": [f"r{i}" for i in range(n)],
            "day": [f"2026-01-{1 + i % 28:02d}" for i in range(n)],
            "colour": np.array(["red", "green", "blue"])[np.arange(n) % 3],
            "size of it": rng.normal(size=n).round(3),
            "weight": rng.normal(size=n).round(3),
        }
    )
    frame["kind"] = np.where(frame["weight"] + (frame["colour"] == "red") > 0.3, "yes", "no")
    frame.loc[3, "weight"] = None
    frame.to_csv("messy.csv", index=False)
    return frame


def hinted(err):
    """Return the commands that a note suggests."""
    (line,) = [line for line in err.splitlines() if line.startswith("next: ")]
    return [shlex.split(command) for command in line.removeprefix("next: ").split("; ")]


def test_the_suggested_commands_run_with_the_options_that_training_needed(sefr, messy):
    for options in (
        ["--categories", "colour", "--missing", "ignore", "--drop", "id,day"],
        ["--categories", "colour", "--missing", "ignore", "--drop-text"],
        ["--features", "size of it,weight", "--missing", "ignore", "--scale", "-9:9", "--epsilon", "0.01"],
    ):
        code, _out, err = sefr("train", "messy.csv", "--label", "kind", *options, "-o", "my model.sefr")
        assert code == 0, err
        commands = hinted(err)
        assert [command[1] for command in commands] == ["evaluate", "explain"]
        for command in commands:
            code, _out, err = sefr(*command[1:])
            assert code == 0, (command, err)
    assert Path("report.html").exists()


def test_the_hint_for_csv_without_names_runs(sefr, iris):
    iris.to_csv("bare.txt", index=False, header=False, sep=";")
    code, _out, err = sefr("train", "bare.txt", "--label", "-1", "--no-header", "--delimiter", ";")
    assert code == 0, err
    for command in hinted(err):
        assert sefr(*command[1:])[0] == 0, command


@pytest.fixture
def crossed():
    """Write data of which one pass makes little: a yes/no column beside numbers that lie close together."""
    rng = np.random.default_rng(8)
    n = 1500
    X = rng.normal(size=(n, 6))
    y = (X[:, 0] + X[:, 1] - 2 * X[:, 2] > 0).astype(int)
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(flag=rng.integers(0, 2, n), y=y)
    frame["c"] = frame["c"] + frame["a"]
    frame.to_csv("crossed.csv", index=False)
    return frame


def test_evaluate_and_train_find_features_that_matter_together(sefr):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(900, 3)), columns=["a", "b", "c"])
    frame["y"] = np.where((frame["a"] > 0) ^ (frame["b"] > 0), "yes", "no")
    frame.to_csv("together.csv", index=False)
    code, out, err = sefr("evaluate", "together.csv", "--label", "y", "--json")
    assert code == 0, err
    told = json.loads(out)
    assert told["recommended"] == "auto"
    assert told["accuracy"] > 0.9
    linear = ("base rate", "paper", "exact", "logistic regression")
    assert max(row["accuracy"] for row in told["settings"] if row["name"] in linear) < 0.65
    code, out, err = sefr("train", "together.csv", "--label", "y", "-o", "auto.sefr", "--json")
    assert code == 0, err
    assert json.loads(out)["settings"]["auto"] is True
    assert json.loads(out)["auto"]["interactions"] == len(load("auto.sefr").interactions_) > 10


def test_evaluate_compares_settings_and_recommends_one(sefr, crossed):
    code, out, err = sefr("evaluate", "crossed.csv", "--label", "y", "--folds", "3")
    assert code == 0, err
    for words in ("base rate", "paper", "exact", "log loss", "sefr train takes auto: macro F1", "confusion"):
        assert words in out
    _code, out, _err = sefr("evaluate", "crossed.csv", "--label", "y", "--folds", "3", "--json")
    answer = json.loads(out)
    rows = {row["name"]: row for row in answer["settings"]}
    assert {"base rate", "paper", "exact", "auto", "logistic regression"} <= set(rows)
    assert answer["recommended"] == "auto"
    assert answer["accuracy"] == rows["auto"]["accuracy"] > 0.95
    assert rows["paper"]["model_bytes"] > 500
    for name in ("paper", "exact"):  # the same folds, in one pass
        words = ("evaluate", "crossed.csv", "--label", "y", "--folds", "3", f"--{name}", "--json")
        assert json.loads(sefr(*words)[1])["accuracy"] == rows[name]["accuracy"]
    table = compare(crossed.drop(columns="y").to_numpy(), crossed["y"], cv=3, settings=METHODS, others=True)
    own = {row.name: row.accuracy for row in table if not row.is_other}
    assert own == {name: row["accuracy"] for name, row in rows.items() if name in own}
    assert answer["command"] == "sefr train crossed.csv --label y"
    assert sefr(*answer["command"].split()[1:])[0] == 0
    assert load("model.sefr").auto is True


def test_evaluate_ten_passes_has_the_columns_of_classes_and_the_confusion_matrix(sefr, iris):
    code, out, err = sefr("evaluate", "iris.csv", "--label", "species", "--passes", "10", "--folds", "5")
    assert code == 0, err
    assert re.search(r"virginica +50 +0\.\d{3}", out)
    assert "confusion" in out
    code, out, _err = sefr("evaluate", "iris.csv", "-l", "species", "--passes", "3", "--folds", "5", "--json")
    oracle = compare(
        iris.drop(columns="species").to_numpy(), iris["species"], cv=5, settings={"three": {"passes": 3}}
    )
    assert json.loads(out)["accuracy"] == oracle[0].accuracy


def test_several_passes_are_compared_and_drawn(sefr, iris):
    code, out, err = sefr("evaluate", "iris.csv", "-l", "species", "--passes", "1,3", "--plot", "passes.png")
    assert code == 0, err
    assert "one pass" in out
    assert "3 passes" in out
    assert Path("passes.png").read_bytes().startswith(b"\x89PNG")


def test_folds_in_memory_are_those_of_files(rng):
    codes = rng.integers(0, 4, 1000).astype(np.int32)
    classes = np.array(list("abcd"))
    dealer = FoldAssigner(7)
    parts = [dealer.assign(classes, codes[start : start + 130]) for start in range(0, 1000, 130)]
    np.testing.assert_array_equal(np.concatenate(parts), dealt_folds(codes, 7))


def test_predict_writes_probabilities(sefr, iris):
    clf = fitted(iris, "species")
    sefr("train", "iris.csv", "-l", "species")
    code, out, err = sefr("predict", "model.sefr", "iris.csv", "--probabilities")
    assert code == 0, err
    answers = pd.read_csv(io.StringIO(out))
    assert answers.columns.tolist() == ["prediction", *(f"probability_{name}" for name in clf.classes_)]
    np.testing.assert_allclose(answers.iloc[:, 1:].sum(axis=1), 1)
    expected = load("model.sefr").predict_proba(iris.drop(columns="species"))
    np.testing.assert_allclose(answers.iloc[:, 1:], expected, rtol=1e-12)


def test_rows_without_a_label_are_skipped_where_that_is_asked_for(sefr, iris):
    gaps = iris.copy()
    gaps.loc[[0, 70, 149], "species"] = None
    gaps.to_csv("gaps.csv", index=False)
    assert_one_line(*sefr("train", "gaps.csv", "-l", "species", "--strict"), "line 2: there is no label")
    code, _out, err = sefr("train", "gaps.csv", "-l", "species", "--skip-unlabelled", "--paper")
    assert code == 0, err
    expected = fitted(iris.drop(index=[0, 70, 149]), "species")
    np.testing.assert_allclose(load("model.sefr").coef_, expected.coef_, rtol=1e-12)
    code, out, err = sefr("update", "model.sefr", "gaps.csv", "--skip-unlabelled", "--json")
    assert json.loads(out)["learned"] == 147
    for extra in (["--passes", "1"], ["--passes", "3"], []):
        code, out, err = sefr("evaluate", "gaps.csv", "-l", "species", "--skip-unlabelled", "--json", *extra)
        assert code == 0, err
        assert json.loads(out)["rows"] == 147
    gaps.loc[100, "petal_width"] = np.inf
    gaps.to_csv("gaps.csv", index=False)
    result = sefr("train", "gaps.csv", "-l", "species", "--skip-unlabelled")
    assert_one_line(*result, "gaps.csv, line 102: .*'petal_width' is infinite")


def test_an_error_about_text_and_dates_names_every_column(sefr, messy):
    code, _out, err = sefr("train", "messy.csv", "--label", "kind", "--strict")
    assert code == 1
    for name in ("id", "day", "colour"):
        assert f"'{name}'" in err
    assert "--drop-text" in err
    assert "--categories" in err
    many = pd.DataFrame({f"text{j}": ["a", "b"] for j in range(20)}).assign(x=[1, 2], y=["p", "q"])
    many.to_csv("many.csv", index=False)
    _code, _out, err = sefr("train", "many.csv", "--label", "y", "--strict")
    assert all(f"'text{j}'" in err for j in range(20))


def test_columns_of_text_are_dropped_where_that_is_asked_for(sefr, messy):
    code, _out, err = sefr("train", "messy.csv", "--label", "kind", "--drop-text", "--missing", "ignore")
    assert code == 0, err
    assert load("model.sefr").summary_.feature_names == ("size of it", "weight")


def test_json_counts_whole_rows(sefr, iris):
    for command in (
        ("train", "iris.csv", "-l", "species", "--exact", "--json"),
        ("update", "model.sefr", "iris.csv", "--json"),
        ("merge", "model.sefr", "model.sefr", "-o", "two.sefr", "--json"),
    ):
        _code, out, _err = sefr(*command)
        assert not re.search(r'"(rows|learned)": \d+\.', out), out


def test_a_missing_package_is_named_with_the_extra_that_brings_it(sefr, iris, monkeypatch):
    iris.to_parquet("iris.parquet")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    result = sefr("train", "iris.parquet", "-l", "species", "--engine", "duckdb")
    assert_one_line(*result, r"duckdb: pip install 'duckdb>=1.5' 'pyarrow>=15'")


def test_duckdb_adds_up_second_moments(sefr, iris):
    iris.to_parquet("iris.parquet")
    for path, engine in (("ours.sefr", []), ("theirs.sefr", ["--engine", "duckdb"])):
        code, _out, err = sefr(
            "train", "iris.parquet", "-l", "species", "--moments", "2", "-o", path, *engine
        )
        assert code == 0, err
    ours, theirs = load("ours.sefr"), load("theirs.sefr")
    assert theirs.moments == theirs.summary_.moments == 2
    X = iris.drop(columns="species")
    np.testing.assert_allclose(theirs.decision_function(X), ours.decision_function(X), rtol=1e-9, atol=1e-9)


COMPLETE = """
import sys
from sefr.cli import main
sys.argv = ["sefr"]
try:
    main()
except SystemExit:
    pass
heavy = {"numpy", "scipy", "sklearn", "pyarrow", "matplotlib", "narwhals", "jinja2"} & set(sys.modules)
print("heavy:", sorted(heavy))
"""


@pytest.mark.parametrize(("words", "answer"), [("sefr tr", "train"), ("sefr train --drop-", "--drop-text")])
def test_completion_imports_nothing_heavy(words, answer, monkeypatch):
    """These libraries take a second or more; without them the answer takes some 0.2 s."""
    monkeypatch.setenv("_SEFR_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    run = subprocess.run([sys.executable, "-c", COMPLETE], capture_output=True, text=True, check=True)
    assert run.stdout.split("\n")[0] == answer
    assert "heavy: []" in run.stdout


def test_the_formats_of_the_command_are_those_of_files():
    from sefr.cli import options

    assert options.FORMATS == FORMATS


@pytest.mark.needs("avr")
def test_a_board_is_given_only_records_without_missing_values(sefr, iris):
    gaps = iris.copy()
    gaps.loc[[0, 5], "petal_width"] = None
    gaps.to_csv("gaps.csv", index=False)
    sefr("train", "gaps.csv", "-l", "species", "--missing", "ignore", "--paper")
    code, out, err = sefr("simulate", "model.sefr", "gaps.csv", "--rows", "20", "--json")
    assert code == 0, err
    answer = json.loads(out)
    assert (answer["records"], answer["left_out"]) == (20, 2)


def test_help_names_the_paper_before_its_equations(sefr):
    from sefr.cli import COMMANDS

    for command in COMMANDS:
        _code, out, _err = sefr(command, "--help")
        text = re.sub(r"[\s│╭╮╰╯─]+", " ", out)
        for found in re.finditer(r"equation", text):
            assert "SEFR paper" in text[: found.start()], command


def test_every_command_is_in_the_documents():
    from typer.main import get_command

    from sefr.cli import COMMANDS, app

    text = (Path(__file__).parents[2] / "docs" / "guide" / "command.md").read_text()
    table = re.findall(r"^\| `(\w+)[^`]*` \|", text, re.MULTILINE)
    real = set(get_command(app).commands)
    assert real == {*COMMANDS, "board"}  # a group of commands
    assert set(table) == real
    known = {"--help", "--install-completion"}
    for command in get_command(app).commands.values():
        known |= {name for parameter in command.params for name in parameter.opts}
    assert set(re.findall(r"`(--[a-z-]+)", text)) <= known


def test_what_the_demo_suggests_works(sefr):
    code, out, err = sefr("demo")
    assert code == 0, err
    lines = out[out.index("\nNext") :].splitlines()
    commands = [line.strip().split("  ")[0] for line in lines if line.strip().startswith("sefr ")]
    commands = [shlex.split(command)[1:] for command in commands if "yours.csv" not in command]
    assert [command[0] for command in commands] == ["evaluate", "explain", "predict", "export"]
    for command in commands:
        code, out, err = sefr(*command)
        assert code == 0, (command, err)
    assert Path("demo/digits/digits.ino").exists()
    page = (Path(__file__).parents[2] / "docs" / "start" / "csv.md").read_text()
    block = re.search(r"^\$ sefr (train passengers.csv .*)\n((?:.+\n)+?)```", page, re.MULTILINE)
    code, _out, err = sefr(*shlex.split(block[1].replace("passengers", "demo/passengers")))
    assert code == 0
    assert err.startswith(block[2]), "the page shows what is printed"


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("onnx", "onnxruntime.InferenceSession('iris.onnx')"),
        ("c", '#include "iris.h"'),
        ("generated", '#include "iris.h"'),
        ("arduino", "open iris/iris.ino in the Arduino IDE"),
        ("micropython", "copy it to the board, for example with: mpremote cp iris.py :"),
    ],
)
def test_export_says_what_to_do_with_what_it_wrote(sefr, iris, target, words):
    assert sefr("train", "iris.csv", "-l", "species", "--paper", "-o", "iris.sefr")[0] == 0
    code, _out, err = sefr("export", "iris.sefr", "--to", target)
    assert code == 0, err
    assert f"next: {words}" in err.replace("\n", " ")
    if target == "arduino":
        assert Path("iris/iris.ino").is_file()


def test_what_training_of_numbers_suggests_works(sefr):
    rows = [f"{i % 17},{i % 5},{3 * (i % 17) + i % 5 + i / 100}" for i in range(200)]
    Path("house.csv").write_text("\n".join(["rooms,floor,price", *rows]) + "\n")
    _code, _out, err = sefr("train", "house.csv", "-l", "price")
    suggested = re.search(r"next: (.*); sefr (explain .*)", err)
    assert suggested, err
    assert sefr(*shlex.split(suggested[2]))[0] == 0
    assert "price" in Path("report.html").read_text()
