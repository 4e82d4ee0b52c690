"""The sefr command: what it answers, what it refuses, what it leaves behind."""

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli.driver import assert_one_line, fitted, process
from pyarrow import parquet
from sklearn.datasets import load_digits

from sefr import SEFRClassifier, Summary, load, save


def test_train_writes_the_model_that_fit_learns(sefr, iris):
    code, out, err = sefr("train", "iris.csv", "--label", "species", "--paper")
    assert code == 0, err
    assert "model.sefr: 150 rows, 3 classes, 4 features" in out
    assert "petal_width" in out
    clf = load("model.sefr")
    assert clf.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    np.testing.assert_allclose(clf.coef_, fitted(iris, "species").coef_, rtol=1e-12)


def test_train_as_json_and_quiet(sefr, iris):
    code, out, err = sefr("train", "iris.csv", "-l", "species", "--paper", "--json", "-o", "a.sefr")
    answer = json.loads(out)
    assert (code, err) == (0, "")
    assert answer["rows"] == 150
    assert answer["classes"][0] == {"label": "setosa", "rows": 50}
    assert answer["strongest"][0]["features"][0]["feature"] == "petal_width"
    assert sefr("train", "iris.csv", "-l", "species", "--paper", "--quiet", "-o", "b.sefr") == (0, "", "")
    assert Path("a.sefr").read_bytes() == Path("b.sefr").read_bytes()


def test_train_chooses_columns_and_settings(sefr, iris):
    sefr(
        "train",
        "iris.csv",
        "-l",
        "species",
        "--paper",
        "--features",
        "petal_width,sepal_width",
        "-o",
        "a.sefr",
    )
    sefr(
        "train",
        "iris.csv",
        "-l",
        "species",
        "--drop",
        "petal_length,sepal_length",
        "--scale",
        "0:10",
        "-o",
        "b.sefr",
    )
    assert load("a.sefr").summary_.feature_names == ("petal_width", "sepal_width")
    assert load("b.sefr").summary_.feature_names == ("sepal_width", "petal_width")
    assert load("b.sefr").scale == (0, 10)


def test_train_with_categories_predicts_from_text(sefr):
    Path("t.csv").write_text("colour,size,y\nred,1,a\nblue,2,b\nred,1,a\nblue,3,b\ngreen,1,a\n")
    assert_one_line(
        *sefr("train", "t.csv", "-l", "y", "--strict"), r"'colour' \('red' in line 2\); leave out with --drop"
    )
    code, _out, err = sefr("train", "t.csv", "-l", "y", "--categories", "colour", "--paper")
    assert code == 0, err
    code, out, err = sefr("predict", "model.sefr", "t.csv")
    assert code == 0, err
    assert [row["prediction"] for row in csv.DictReader(io.StringIO(out))] == ["a", "b", "a", "b", "a"]
    Path("new.csv").write_text("size,colour\n1,violet\n")
    _code, out, err = sefr("predict", "model.sefr", "new.csv")
    assert "'violet'" in err
    assert out.splitlines()[1] == "a"
    Path("more.csv").write_text("size,colour,y\n1,violet,a\n")
    before = Path("model.sefr").read_bytes()
    assert_one_line(*sefr("update", "model.sefr", "more.csv"), "'violet', a category new to the model")
    assert Path("model.sefr").read_bytes() == before


def test_standard_input_in_every_format(sefr, iris, monkeypatch):
    iris.to_parquet("iris.parquet")
    np.savez("iris.npz", **iris.drop(columns="species"), species=iris["species"].to_numpy().astype(str))
    models = []
    for name in ("iris.csv", "iris.parquet", "iris.npz"):
        with open(name) as file:
            monkeypatch.setattr(sys, "stdin", file)
            code, _out, err = sefr("train", "-", "--label", "species", "-o", "m.sefr")
        assert code == 0, err
        models.append(load("m.sefr").summary_)
    assert models[0] == models[1] == models[2]


def test_evaluate_by_folds_says_what_scikit_learn_says(sefr, cancer):
    from sklearn.metrics import accuracy_score
    from sklearn.model_selection import PredefinedSplit, cross_val_predict

    code, out, _err = sefr(
        "evaluate", "cancer.csv", "-l", "target", "--folds", "7", "--passes", "1", "--json"
    )
    answer = json.loads(out)
    X, y = cancer.drop(columns="target"), cancer["target"]
    folds = np.empty(len(y), dtype=int)
    for label in (0, 1):
        folds[y == label] = np.arange((y == label).sum()) % 7
    oracle = cross_val_predict(SEFRClassifier(), X, y, cv=PredefinedSplit(folds))
    assert code == 0
    assert answer["accuracy"] == accuracy_score(y, oracle)
    assert np.array(answer["confusion"]).sum() == len(y)


def test_evaluate_a_model_and_with_a_test_file(sefr, iris):
    iris[::2].to_csv("train.csv", index=False)
    iris[1::2].to_csv("test.csv", index=False)
    oracle = fitted(iris[::2], "species").score(iris[1::2].drop(columns="species"), iris["species"][1::2])
    _code, out, _err = sefr(
        "evaluate", "train.csv", "-l", "species", "--paper", "--test", "test.csv", "--json"
    )
    assert json.loads(out)["accuracy"] == pytest.approx(oracle)
    sefr("train", "train.csv", "-l", "species", "--paper")
    _code, out, _err = sefr("evaluate", "test.csv", "--model", "model.sefr", "--json")
    assert json.loads(out)["accuracy"] == pytest.approx(oracle)
    _code, out, _err = sefr("evaluate", "test.csv", "--model", "model.sefr")
    assert "accuracy 0.9" in out
    assert "macro F1" in out
    assert "confusion" in out


def test_evaluate_counts_labels_that_the_model_has_never_seen(sefr, iris):
    iris[iris["species"] != "setosa"].to_csv("two.csv", index=False)
    sefr("train", "two.csv", "-l", "species", "--paper")
    _code, out, _err = sefr("evaluate", "iris.csv", "--model", "model.sefr", "--json")
    answer = json.loads(out)
    assert [line["label"] for line in answer["classes"]] == ["setosa", "versicolor", "virginica"]
    assert answer["classes"][0]["recall"] == 0


def test_predict_in_any_order_of_columns_with_scores_and_kept_columns(sefr, iris):
    clf = fitted(iris, "species")
    X = iris.drop(columns="species")
    sefr("train", "iris.csv", "-l", "species", "--paper")
    iris.assign(id=range(150))[["id", *reversed(iris.columns)]].to_csv("other.csv", index=False)
    code, out, err = sefr("predict", "model.sefr", "other.csv", "--scores", "--keep", "id")
    assert code == 0
    assert "'id' is not in the model and left out" in err
    answers = pd.read_csv(io.StringIO(out))
    assert answers.columns.tolist() == [
        "id",
        "prediction",
        "score_setosa",
        "score_versicolor",
        "score_virginica",
    ]
    assert (answers["prediction"] == clf.predict(X)).all()
    np.testing.assert_allclose(answers.iloc[:, 2:], clf.decision_function(X), rtol=1e-9, atol=1e-12)
    code, _out, _err = sefr(
        "predict", "model.sefr", "other.csv", "-o", "out.parquet", "--scores", "--keep", "all"
    )
    kept = parquet.read_table("out.parquet").to_pandas()
    assert (kept["species"] == iris["species"]).all()
    assert (kept["prediction"] == answers["prediction"]).all()


def test_predict_says_which_columns_are_missing(sefr, iris):
    sefr("train", "iris.csv", "-l", "species", "--paper")
    iris.drop(columns=["petal_width", "sepal_width"]).to_csv("less.csv", index=False)
    result = sefr("predict", "model.sefr", "less.csv", "-o", "out.csv")
    assert_one_line(
        *result, "less.csv: columns 'sepal_width', 'petal_width' are missing; the model needs them"
    )
    assert not Path("out.csv").exists()


def test_a_model_saved_from_python_predicts_by_name_or_by_position(sefr, iris):
    save(fitted(iris, "species"), "named.sefr")
    X = iris.drop(columns="species")
    save(SEFRClassifier().fit(X.to_numpy(), iris["species"]), "nameless.sefr")
    X.to_csv("x.csv", index=False)
    assert sefr("predict", "named.sefr", "x.csv")[1] == sefr("predict", "nameless.sefr", "x.csv")[1]
    assert_one_line(
        *sefr("predict", "nameless.sefr", "iris.csv"),
        "iris.csv has 5 columns for features; the model",
    )


def test_update_merge_and_forget_are_sums(sefr, iris):
    for name, rows in {"a": iris[:70], "b": iris[70:120], "c": iris[120:]}.items():
        rows.to_csv(f"{name}.csv", index=False)
    for command in (
        ("train", "a.csv", "-l", "species", "--paper", "-o", "m.sefr"),
        ("train", "iris.csv", "-l", "species", "--paper", "-o", "all.sefr"),
        ("update", "m.sefr", "b.csv", "c.csv"),
    ):
        code, _out, err = sefr(*command)
        assert code == 0, err
    close = {"rtol": 1e-12}
    np.testing.assert_allclose(load("m.sefr").summary_.sums, load("all.sefr").summary_.sums, **close)
    sefr("train", "b.csv", "-l", "species", "--paper", "-o", "b.sefr")
    code, out, _err = sefr("merge", "m.sefr", "b.sefr", "-o", "more.sefr", "--json")
    assert json.loads(out)["rows"] == 200
    code, out, _err = sefr("forget", "more.sefr", "b.csv", "-o", "less.sefr")
    assert "forgot 50 rows, now 150 rows" in out
    np.testing.assert_allclose(load("less.sefr").summary_.sums, load("all.sefr").summary_.sums, **close)
    assert_one_line(*sefr("forget", "b.sefr", "a.csv"), "rows of class setosa: none was learned")


def test_merge_refuses_other_features_settings_and_kinds_of_label(sefr, iris):
    sefr("train", "iris.csv", "-l", "species", "--paper", "-o", "a.sefr")
    sefr("train", "iris.csv", "-l", "species", "--paper", "--drop", "petal_width", "-o", "b.sefr")
    sefr("train", "iris.csv", "-l", "species", "--paper", "--epsilon", "1", "-o", "c.sefr")
    assert_one_line(*sefr("merge", "a.sefr", "b.sefr", "-o", "x.sefr"), "b.sefr: .*features")
    assert_one_line(*sefr("merge", "a.sefr", "c.sefr", "-o", "x.sefr"), "different settings")
    assert not Path("x.sefr").exists()


def test_explain_in_the_terminal_and_as_json(sefr, cancer):
    sefr("train", "cancer.csv", "-l", "target", "--paper")
    code, out, _err = sefr("explain", "model.sefr", "--count", "3")
    assert code == 0
    assert re.search(r"mean concave points +-0\.\d{3} +-0\.\d{3} +█+", out)
    cancer[:2].to_csv("two.csv", index=False)
    _code, out, _err = sefr("explain", "model.sefr", "--rows", "two.csv", "--json")
    records = json.loads(out)["records"]
    clf = fitted(cancer, "target")
    X = cancer.drop(columns="target")[:2]
    assert [record["answer"] for record in records] == clf.predict(X).tolist()
    for record, score in zip(records, clf.decision_function(X), strict=True):
        assert record["score"] == pytest.approx(score)
        assert sum(part["part"] for part in record["parts"]) == pytest.approx(score)


def test_explain_images(sefr):
    X, y = load_digits(return_X_y=True)
    save(SEFRClassifier().fit(X, y), "digits.sefr")
    code, out, _err = sefr("explain", "digits.sefr", "--image", "8x8")
    assert code == 0
    assert "█" in out
    assert sefr("explain", "digits.sefr", "--image", "8x8", "-o", "d.png", "-q") == (0, "", "")
    assert Path("d.png").read_bytes().startswith(b"\x89PNG")
    assert_one_line(*sefr("explain", "digits.sefr", "--image", "9x8"), "9x8 pixels does not fit 64 features")


def test_demo_tells_the_story_and_leaves_its_files(sefr):
    code, out, err = sefr("demo")
    assert code == 0, err
    assert "86.8 %" in out
    assert {path.name for path in Path("demo").iterdir()} == {
        "iris.csv",
        "passengers.csv",
        *(f"digits.{end}" for end in ("csv", "sefr", "png", "html")),
    }
    code, out, _err = sefr("evaluate", "demo/digits.csv", "--model", "demo/digits.sefr", "--json")
    assert json.loads(out)["accuracy"] > 0.85
    code, out, _err = sefr("demo", "--json")
    told = json.loads(out)
    for name, words in (("accuracy", ["--paper"]), ("accuracy_of_ten_passes", ["--passes", "10"])):
        _code, out, _err = sefr("evaluate", "demo/digits.csv", "--label", "digit", *words, "--json")
        assert told[name] == json.loads(out)["accuracy"]


def test_one_feature_is_one(sefr, iris):
    iris[["petal_width", "species"]].to_csv("one.csv", index=False)
    _code, out, _err = sefr("train", "one.csv", "--label", "species", "--paper")
    assert "150 rows, 3 classes, 1 feature, " in out


@pytest.mark.parametrize("command", ["train", "evaluate"])
def test_without_a_label_the_columns_to_choose_from_are_named(sefr, iris, command):
    code, _out, err = sefr(command, "iris.csv")
    said = " ".join(err.replace("│", " ").split())
    assert code == 2
    assert "which column is the label? (--label); iris.csv has 'sepal_length', 'sepal_width'," in said
    assert "'species'" in said


FAULTS = {
    "no such file": (["train", "nowhere.csv", "-l", "y"], "nowhere.csv: no such file"),
    "no such model": (["predict", "nowhere.sefr", "iris.csv"], "nowhere.sefr: no such file or folder"),
    "no such column": (
        ["train", "iris.csv", "-l", "kind"],
        "no column 'kind'; its columns are 'sepal_length'",
    ),
    "no column to drop": (
        ["train", "iris.csv", "-l", "species", "--drop", "colour"],
        "no column 'colour'",
    ),
    "wrong delimiter": (["train", "iris.csv", "-l", "species", "--delimiter", ";"], "line 1: .*another one"),
    "no folder to write to": (
        ["train", "iris.csv", "-l", "species", "-o", "no/m.sefr"],
        "no such folder",
    ),
    "a folder to write to": (["train", "iris.csv", "-l", "species", "-o", "."], "is a folder"),
    "no model": (["predict", "iris.csv", "iris.csv"], "iris.csv: not a model"),
    "outside the range": (
        ["train", "iris.csv", "-l", "species", "--scale", "0:1"],
        "takes values from 0 to 1",
    ),
    "wrong range": (["train", "iris.csv", "-l", "species", "--scale", "1:0"], "low must be below high"),
    "text as feature": (
        ["train", "iris.csv", "-l", "petal_width", "--strict"],
        "text where numbers are needed",
    ),
    "continuous label": (
        ["train", "iris.csv", "-l", "petal_width", "--drop", "species", "--task", "classify"],
        "line 11: .*a fraction, and a label names a class: --task regress predicts numbers",
    ),
    "label as feature": (
        ["train", "iris.csv", "-l", "species", "--features", "species"],
        "is the label",
    ),
    "wrong format": (["train", "iris.csv", "-l", "species", "--format", "parquet"], "not a Parquet file"),
    "unknown output": (["predict", "iris.csv", "iris.csv", "-o", "x.doc"], "iris.csv: not a model"),
}


@pytest.mark.usefixtures("iris")
@pytest.mark.parametrize(("arguments", "message"), FAULTS.values(), ids=FAULTS)
def test_a_mistake_gets_one_line_and_leaves_nothing(sefr, arguments, message):
    before = sorted(os.listdir())
    assert_one_line(*sefr(*arguments), message)
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["train"],
        ["train", "iris.csv"],
        ["fly"],
        ["train", "iris.csv", "-l", "species", "--scale", "large"],
        ["train", "iris.csv", "-l", "species", "--delimiter", "xx"],
        ["evaluate", "iris.csv"],
        ["evaluate", "iris.csv", "-l", "species", "--folds", "1"],
        ["merge", "a.sefr", "-o", "b.sefr"],
        ["export", "m.sefr", "--to", "paper"],
        ["explain", "m.sefr", "--image", "large"],
    ],
)
@pytest.mark.usefixtures("iris")
def test_wrong_usage_exits_with_2(sefr, arguments):
    sefr("train", "iris.csv", "-l", "species", "--paper", "-o", "m.sefr")
    code, _out, err = sefr(*arguments)
    assert code == 2
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "command", ["train", "evaluate", "predict", "update", "merge", "forget", "explain", "demo"]
)
def test_help_has_an_example(sefr, command):
    code, out, _err = sefr(command, "--help")
    assert code == 0
    assert f"sefr {command}" in out


def test_a_damaged_model_is_refused_and_stays(sefr, iris):
    sefr("train", "iris.csv", "-l", "species", "--paper", "-o", "m.sefr")
    content = bytearray(Path("m.sefr").read_bytes())
    content[200] ^= 1
    Path("m.sefr").write_bytes(content)
    assert_one_line(*sefr("update", "m.sefr", "iris.csv"), "m.sefr: damaged")
    assert Path("m.sefr").read_bytes() == bytes(content)


AS_NOBODY = """
import os, sys
from sefr.cli import main

def train(output):
    sys.argv = ["sefr", "train", "iris.csv", "-l", "species", "--quiet", "-o", output]
    try:
        main()
    except SystemExit as end:
        return end.code or 0
    return 0

assert train("m.sefr") == 0  # every module is read before root becomes somebody else
if os.geteuid() == 0:
    os.seteuid(65534)  # root may write anywhere
sys.exit(train("closed/m.sefr"))
"""


def test_a_read_only_folder_is_said(iris):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # nobody may read a folder of pytest's
        iris.to_csv(f"{folder}/iris.csv", index=False)
        closed = Path(folder, "closed")
        closed.mkdir(mode=0o555)
        # In a process of its own: what pytest's frees meanwhile may be root's.
        run = subprocess.run([sys.executable, "-c", AS_NOBODY], cwd=folder, capture_output=True, text=True)
        assert_one_line(run.returncode, run.stdout, run.stderr, "closed.*Permission denied")
        assert os.listdir(closed) == []


def test_a_full_disk_is_said_and_leaves_no_half_file(sefr, iris, monkeypatch):
    sefr("train", "iris.csv", "-l", "species", "--paper", "-o", "m.sefr")
    before = Path("m.sefr").read_bytes()

    def full(_descriptor):
        raise OSError(28, "No space left on device", "m.sefr")

    monkeypatch.setattr(os, "fsync", full)
    assert_one_line(*sefr("update", "m.sefr", "iris.csv"), "No space left on device")
    assert Path("m.sefr").read_bytes() == before
    assert sorted(os.listdir()) == ["iris.csv", "m.sefr"]


def test_a_device_that_is_full_is_said(sefr, iris):
    sefr("train", "iris.csv", "-l", "species", "--paper", "-o", "m.sefr")
    code, _out, err = sefr("predict", "m.sefr", "iris.csv", "-o", "/dev/full")
    assert code == 1
    assert err.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_in_mid_train_it_says_so_and_leaves_nothing(number):
    with process("train", "-", "--label", "y", "-o", "m.sefr") as run:
        run.stdin.write(b"x,y\n")
        rows = b"".join(b"%d,%d\n" % (i, i % 2) for i in range(100_000))
        for _ in range(20):
            run.stdin.write(rows)
        run.stdin.flush()
        time.sleep(2)  # until it waits, inside Arrow, for rows that do not come
        run.send_signal(number)
        run.wait(30)
        err = run.stderr.read()
    assert run.returncode == 130, err
    assert err == b"sefr: interrupted; nothing was written\n"
    assert os.listdir() == []


@pytest.mark.slow
def test_output_cut_by_head_is_no_traceback(iris):
    save(fitted(iris, "species"), "m.sefr")
    pd.concat([iris] * 2000).to_csv("long.csv", index=False)
    with process("predict", "m.sefr", "long.csv") as run:
        run.stdout.readline()
        run.stdout.close()
        err = run.stderr.read()
    assert b"Traceback" not in err
    assert b"Exception" not in err


@pytest.mark.slow
def test_a_large_csv_trains_in_bounded_memory():
    """300 MB for any size: a CSV of 170 MB comes through a pipe, and the peak is measured."""
    program = (
        "import re, sys\n"
        "sys.argv = ['sefr', 'train', '-', '-l', 'y', '--paper', '-q', '-o', 'm.sefr']\n"
        "from sefr.cli import main\n"
        "main_failed = False\n"
        "try:\n    main()\nexcept SystemExit as end:\n    main_failed = bool(end.code)\n"
        "print(main_failed, re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])\n"
    )
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 20))
    lines = [",".join(f"{v:.6f}" for v in row) + f",{i % 3}\n" for i, row in enumerate(X)]
    block = "".join(lines).encode()
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as run:
        run.stdin.write((",".join(f"x{j}" for j in range(20)) + ",y\n").encode())
        for _ in range(45):
            run.stdin.write(block)
        out, _err = run.communicate()
    failed, kilobytes = out.split()
    assert failed == b"False"
    assert load("m.sefr").summary_.n_rows == 900_000
    assert int(kilobytes) < 300 * 1024


def test_colour_only_where_it_is_wanted(sefr, iris, monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b[" not in sefr("train", "iris.csv", "-l", "species", "--paper")[1]
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in sefr("train", "iris.csv", "-l", "species", "--paper")[1]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in sefr("train", "iris.csv", "-l", "species", "--paper")[1]


def test_the_answers_are_those_of_the_summary(sefr, rng):
    """Integers from a file are exact: the same Summary as Summary.of."""
    X, y = rng.integers(-1000, 1000, (500, 6)), rng.integers(0, 4, 500)
    names = [f"f{j}" for j in range(6)]
    frame = pd.DataFrame(X, columns=names)
    frame.assign(y=y).to_csv("t.csv", index=False)
    sefr("train", "t.csv", "-l", "y", "--paper")
    assert load("model.sefr").summary_ == Summary.of(frame, y)


def test_the_session_in_the_documents_runs(sefr, iris, capfd):
    text = (Path(__file__).parents[2] / "docs" / "guide" / "command.md").read_text()
    (session,) = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    iris.drop(columns="species")[::10].to_csv("new.csv", index=False)
    iris[::7].to_csv("more.csv", index=False)
    for line in session.splitlines():
        if not line.startswith("sefr"):
            continue
        code, _out, err = sefr(*line.split()[1:])
        assert code == 0, f"{line}: {err}"
    assert load("iris.sefr").summary_.n_rows == 150
    assert {"report.html", "answers.parquet", "all.sefr", "iris.onnx", "firmware"} <= set(os.listdir())


@pytest.mark.needs("avr")
def test_a_board_answers_as_its_twin_does(sefr, iris):
    from sefr import device

    sefr("train", "iris.csv", "-l", "species", "--paper", "-o", "iris.sefr")
    code, out, err = sefr("simulate", "iris.sefr", "iris.csv", "--rows", "40", "--json")
    assert code == 0, err
    answer = json.loads(out)
    X = iris.drop(columns="species").to_numpy()[:40]
    clf = SEFRClassifier().fit(iris.drop(columns="species").to_numpy(), iris["species"])
    assert answer["agreement"] == pytest.approx((device.Twin(clf).predict(X) == clf.predict(X)).mean())
    assert answer["flash"] > 500
    assert_one_line(*sefr("simulate", "iris.sefr", "iris.csv", "--board", "abacus"), "abacus")
