"""Tables as people have them, from CSV to predictions with the fewest commands: what is decided is said."""

import csv
import io
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli.driver import assert_one_line
from sklearn.preprocessing import OneHotEncoder

from sefr import SEFRClassifier, load
from sefr.cli import options
from sefr.files import survey as surveys
from sefr.model_file import FORMAT, columns_of


@pytest.fixture
def titanic(rng):
    """Write a table like that of the Titanic: names, categories, and an age that is often unknown."""
    n = 900
    sex = rng.choice(["female", "male"], n, p=[0.35, 0.65])
    rank = rng.choice(["1st", "2nd", "3rd"], n)
    chance = 0.2 + 0.5 * (sex == "female") + 0.2 * (rank == "1st")
    age = rng.uniform(1, 75, n).round(1)
    age[rng.random(n) < 0.2] = np.nan
    frame = pd.DataFrame(
        {
            "rownames": [f"Passenger, Mr. {i}" for i in range(n)],
            "survived": np.where(rng.random(n) < chance, "yes", "no"),
            "sex": sex,
            "age": age,
            "passengerClass": rank,
        }
    )
    frame.to_csv("titanic.csv", index=False)
    return frame


def test_titanic_trains_at_the_first_command_and_says_what_it_did(sefr, titanic):
    code, _out, err = sefr("train", "titanic.csv", "--label", "survived", "--paper")
    assert code == 0, err
    gone = int(titanic["age"].isna().sum())
    assert err.splitlines()[:3] == [
        "2 columns of text learned as categories: sex (2 values), passengerClass (3 values)",
        "left out: rownames (a name per row)",
        f"{gone} empty cells treated as missing: age ({gone})",
    ]
    encoder = OneHotEncoder(sparse_output=False).set_output(transform="pandas")
    hot = encoder.fit_transform(titanic[["sex", "passengerClass"]])
    X = pd.concat([hot.iloc[:, :2], titanic[["age"]], hot.iloc[:, 2:]], axis=1)
    same = SEFRClassifier(missing="ignore").fit(X, titanic["survived"])
    np.testing.assert_allclose(load("model.sefr").coef_, same.coef_, rtol=1e-12)


def test_what_training_decided_holds_for_raw_files_that_come_later(sefr, titanic):
    titanic[:700].to_csv("first.csv", index=False)
    titanic[700:].to_csv("rest.csv", index=False)
    assert sefr("train", "first.csv", "--label", "survived", "--exact")[0] == 0
    code, out, err = sefr("predict", "model.sefr", "rest.csv")
    assert (code, err) == (0, "")  # the column that was left out is known, and not spoken of again
    answers = [row["prediction"] for row in csv.DictReader(io.StringIO(out))]
    assert np.mean(np.array(answers) == titanic["survived"][700:]) > 0.6
    code, out, err = sefr("evaluate", "rest.csv", "--model", "model.sefr", "--json")
    assert json.loads(out)["accuracy"] == np.mean(np.array(answers) == titanic["survived"][700:])
    code, _out, err = sefr("update", "model.sefr", "rest.csv")
    assert code == 0, err
    assert sefr("train", "titanic.csv", "--label", "survived", "--exact", "-o", "all.sefr")[0] == 0
    np.testing.assert_allclose(load("model.sefr").coef_, load("all.sefr").coef_, rtol=1e-12)
    assert sefr("explain", "model.sefr", "--rows", "rest.csv", "-o", "report.html")[0] == 0
    assert sefr("studio", "titanic.csv", "--label", "survived", "-o", "page.html")[0] == 0


@pytest.mark.parametrize("more", [[], ["--bins", "8", "--passes", "3"], ["--exact"]])
def test_the_suggested_commands_run_as_printed(sefr, titanic, more):
    code, _out, err = sefr("train", "titanic.csv", "--label", "survived", *more)
    assert code == 0, err
    (line,) = [line for line in err.splitlines() if line.startswith("next: ")]
    for command in line.removeprefix("next: ").split("; "):
        code, _out, err = sefr(*command.split()[1:])
        assert code == 0, err
    (line,) = [line for line in err.splitlines() if line.startswith("next: ")] or ["next: sefr --version"]
    assert sefr(*line.split()[2:])[0] == 0


def test_evaluate_says_what_to_type_for_what_it_recommends(sefr, titanic):
    code, out, err = sefr("evaluate", "titanic.csv", "--label", "survived", "--json")
    assert code == 0, err
    told = json.loads(out)
    words = told["command"].split()
    assert words[:5] == ["sefr", "train", "titanic.csv", "--label", "survived"]
    code, out, err = sefr(*words[1:], "--json")
    assert code == 0, err
    row = next(row for row in told["settings"] if row["name"] == told["recommended"])
    settings = json.loads(out)["settings"]
    assert {name: settings[name] for name in row["params"]} == row["params"]


def test_strict_refuses_and_changes_nothing(sefr, titanic):
    result = sefr("train", "titanic.csv", "--label", "survived", "--strict")
    assert_one_line(*result, "columns 'rownames', 'sex', 'passengerClass'")
    assert not Path("model.sefr").exists()
    result = sefr("train", "titanic.csv", "--label", "survived", "--strict", "--drop-text")
    assert_one_line(*result, r"the value of column 'age' is missing \(--missing ignore gives it a bin\)")


def test_options_are_stronger_than_what_would_be_decided(sefr, titanic):
    code, _out, err = sefr("train", "titanic.csv", "-l", "survived", "--drop-text", "--missing", "ignore")
    assert code == 0, err
    assert load("model.sefr").summary_.feature_names == ("age",)
    result = sefr("train", "titanic.csv", "-l", "survived", "--missing", "error")
    assert_one_line(*result, "the value of column 'age' is missing")
    code, _out, err = sefr("train", "titanic.csv", "-l", "survived", "--features", "sex,age", "--paper")
    assert code == 0, err
    assert load("model.sefr").summary_.feature_names == ("sex=female", "sex=male", "age")


def test_a_clean_table_gives_the_model_that_it_gave_before(sefr, iris):
    code, _out, err = sefr("train", "iris.csv", "--label", "species")
    assert code == 0, err
    assert [line.split(": ")[0] for line in err.splitlines()] == ["--auto", "next"]
    assert sefr("train", "iris.csv", "--label", "species", "--paper")[2].count("\n") == 1
    clf = load("model.sefr")
    assert clf.missing == "error"
    assert set(columns_of(clf)) == {"label", "columns", "categories"}


@pytest.fixture
def penguins(rng):
    """Write a table like that of the penguins, as R writes it: row numbers, NA, categories, a year."""
    n = 330
    species = rng.choice(["Adelie", "Chinstrap", "Gentoo"], n)
    of = {"Adelie": (38.8, 3700), "Chinstrap": (48.8, 3730), "Gentoo": (47.5, 5070)}
    frame = pd.DataFrame(
        {
            "rownames": np.arange(1, n + 1),
            "species": species,
            "island": np.where(species == "Gentoo", "Biscoe", rng.choice(["Dream", "Torgersen"], n)),
            "bill_length_mm": [round(rng.normal(of[s][0], 2), 1) for s in species],
            "body_mass_g": [float(int(rng.normal(of[s][1], 300))) for s in species],
            "sex": rng.choice(["female", "male"], n),
            "year": rng.choice([2007, 2008, 2009], n),
        }
    )
    frame.loc[[3, 200], ["bill_length_mm", "sex"]] = None
    frame.to_csv("penguins.csv", index=False, na_rep="NA")
    return frame


def test_penguins_from_csv_to_predictions(sefr, penguins):
    code, _out, err = sefr("train", "penguins.csv", "--label", "species", "--passes", "10")
    assert code == 0, err
    assert err.splitlines()[:3] == [
        "2 columns of text learned as categories: island (3 values), sex (2 values)",
        "left out: rownames (a number per row)",
        "4 empty cells treated as missing: bill_length_mm (2), sex (2)",
    ]
    code, out, err = sefr("evaluate", "penguins.csv", "--model", "model.sefr", "--json")
    assert json.loads(out)["accuracy"] > 0.97


@pytest.fixture
def kunden(rng):
    """Write a table as Excel does in Germany: cp1252, semicolons, decimal commas, the day first."""
    n = 240
    amount = rng.uniform(10, 5000, n).round(2)
    frame = pd.DataFrame(
        {
            "Kunden-Nr": 100_001 + np.cumsum(rng.integers(1, 5, n)),
            "Datum": [f"{1 + i % 28:02d}.{1 + i % 12:02d}.2025" for i in range(n)],
            "Straße": rng.choice(["Hauptstraße", "Mühlweg", "Am Bäcker"], n),
            "Umsatz": amount,
            "Anzahl": rng.integers(1, 9, n),
            "Firma": "Müller GmbH",
            "Bezahlt": np.where(amount > 2000, "ja", "nein"),
        }
    )
    frame.to_csv("kunden.csv", index=False, sep=";", decimal=",", encoding="cp1252", lineterminator="\r\n")
    return frame


def test_a_german_table_of_excel_is_offered_its_encoding_and_then_trains(sefr, kunden):
    result = sefr("train", "kunden.csv", "--label", "Bezahlt")
    assert_one_line(*result, r"kunden.csv, line 1: the text is not UTF-8 \(byte 0xdf\): --encoding cp1252")
    code, out, err = sefr("train", "kunden.csv", "--label", "Bezahlt", "--encoding", "cp1252", "--exact")
    assert code == 0, err
    assert err.splitlines()[:4] == [
        "decimal commas are read in Umsatz (--decimal . reads text)",
        "1 column of text learned as categories: Straße (3 values)",
        "1 date learned as year, month and weekday: Datum",
        "left out: Kunden-Nr (a number per row), Firma (one value only)",
    ]
    clf = load("model.sefr")
    umsatz = clf.summary_.feature_names.index("Umsatz")
    assert clf.summary_.high[umsatz] == kunden["Umsatz"].max()
    code, out, err = sefr("predict", "model.sefr", "kunden.csv")  # the model knows the encoding
    assert (code, err) == (0, "")
    answers = [row["prediction"] for row in csv.DictReader(io.StringIO(out))]
    kunden.to_csv("utf8.csv", index=False, sep=";", decimal=",")
    assert [
        row["prediction"] for row in csv.DictReader(io.StringIO(sefr("predict", "model.sefr", "utf8.csv")[1]))
    ] == answers
    assert sefr("update", "model.sefr", "kunden.csv")[0] == 0


def test_a_table_of_which_no_column_is_left_says_why(sefr):
    rows = [f"{i},name {i},{'ab'[i % 2]}" for i in range(60)]
    Path("t.csv").write_text("\n".join(["id,name,y", *rows]))
    said = r"t.csv: no column is left for the features; left out: id \(.+\), name \(.+\)\. --features learns"
    assert_one_line(*sefr("train", "t.csv", "--label", "y"), said)
    assert_one_line(*sefr("evaluate", "t.csv", "--label", "y"), said)
    assert sefr("train", "t.csv", "--label", "y", "--features", "id", "--exact")[0] == 0


@pytest.mark.parametrize(
    ("quoted", "other", "said"),
    [
        (",5", "", "decimal commas are read in x (--decimal . reads text)"),
        (",5", ".25", "1 column of text learned as categories: x (9 values)"),
        (",500", "", "for example '1,500': write them without"),
    ],
    ids=["decimals", "points beside them", "thousands"],
)
def test_decimal_commas_in_quotes_are_read_if_no_other_number_has_a_point(sefr, quoted, other, said):
    rows = [f'"{i}{quoted}",{i}{other},{"ab"[i > 4]}' for i in range(1, 10)]
    Path("t.csv").write_text("\n".join(["x,z,y", *rows]))
    code, _, err = sefr("train", "t.csv", "--label", "y")
    assert code == 0, err
    assert said in err


def test_text_that_is_not_utf8_in_a_later_row_is_offered_an_encoding(sefr):
    rows = [f"{'süß' if i == 40 else 'rot'},{i},{'ab'[i % 2]}" for i in range(60)]
    Path("t.csv").write_bytes("\n".join(["art,x,y", *rows]).encode("cp1252"))
    result = sefr("train", "t.csv", "--label", "y")
    assert_one_line(*result, "t.csv, line 42: column 'art': the text is not UTF-8: --encoding cp1252")
    code, _out, err = sefr("train", "t.csv", "--label", "y", "--encoding", "cp1252", "--paper")
    assert code == 0, err
    assert "art=süß" in load("model.sefr").summary_.feature_names


def test_utf_16_is_offered_and_read(sefr, iris):
    Path("t.csv").write_bytes(Path("iris.csv").read_text().encode("utf-16"))
    assert_one_line(
        *sefr("train", "t.csv", "--label", "species"),
        r"UTF-16; save it as UTF-8 \(--encoding utf-16 reads it\)",
    )
    assert sefr("train", "t.csv", "--label", "species", "--encoding", "utf-16")[0] == 0
    assert sefr("train", "iris.csv", "--label", "species", "-o", "plain.sefr")[0] == 0
    assert load("model.sefr").summary_ == load("plain.sefr").summary_
    code, _out, err = sefr("train", "iris.csv", "--label", "species", "--encoding", "base64")
    assert (code, "--encoding takes cp1252" in err) == (2, True)


def test_commas_between_thousands_are_not_taken_for_decimal_commas(sefr):
    rows = [f"{1000 + 7 * i:,};{i % 5};{'ab'[i % 2]}" for i in range(60)]
    Path("t.csv").write_text("\n".join(["amount;x;y", *rows]) + "\n")
    code, _out, err = sefr("train", "t.csv", "--label", "y")
    assert code == 0, err
    assert "left out: amount (numbers with separators, for example '1,000': write them without)" in err
    code, _out, err = sefr("train", "t.csv", "--label", "y", "--decimal", ",", "--paper")
    assert code == 0, err
    assert load("model.sefr").summary_.high[0] == 1.413


def test_what_is_done_about_dates_and_rows_without_a_label_is_said(sefr, iris):
    iris["day"] = pd.date_range("2026-01-01", periods=len(iris)).strftime("%Y-%m-%d")
    iris["when"] = pd.date_range("2026-01-01", periods=len(iris), freq="h").strftime("%d/%m/%Y %H:%M")
    iris.loc[[5, 6], "species"] = None
    iris.to_csv("days.csv", index=False)
    code, _out, err = sefr("train", "days.csv", "--label", "species", "--exact")
    assert code == 0, err
    assert "1 date learned as year, month and weekday: day\n" in err
    assert "left out: when (a date: the day or the month first?)" in err
    assert "2 rows without a label left out" in err
    assert load("model.sefr").summary_.n_rows == 148
    code, _out, err = sefr("update", "model.sefr", "days.csv")
    assert code == 0, err


@pytest.mark.parametrize(
    ("last", "said"),
    [
        ("25/12/2026", "1 date learned as year, month and weekday: day\n"),
        ("soon", "left out: day (dates, and values that are not dates)\n"),
    ],
)
def test_all_dates_are_looked_at_however_many_differ(sefr, last, said):
    n = 70_000  # more than a batch
    days = [f"{1 + i % 12}/{1 + i % 11}/{1900 + i % 119}" for i in range(n - 1)]
    pd.DataFrame({"day": [*days, last], "x": np.arange(n) % 7, "y": ["a", "b"] * (n // 2)}).to_csv(
        "t.csv", index=False
    )
    code, _out, err = sefr("train", "t.csv", "--label", "y", "--paper")
    assert code == 0, err
    assert said in err


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_date_whose_part_has_the_name_of_a_column_is_left_out_with_that_reason(sefr, iris, kind):
    iris["day"] = pd.date_range("2026-01-01", periods=len(iris))
    iris["day month"] = 1.5
    iris.to_csv("t.csv", index=False) if kind == "csv" else iris.to_parquet("t.parquet", index=False)
    code, _out, err = sefr("train", f"t.{kind}", "--label", "species", "--paper")
    assert code == 0, err
    assert "left out: day (a date whose parts need the name of the column 'day month')\n" in err


def test_a_number_that_rises_from_row_to_row_is_pointed_out(sefr, iris, rng):
    iris["reading"] = np.cumsum(rng.integers(1, 9, len(iris)))
    iris.to_csv("t.csv", index=False)
    code, _out, err = sefr("train", "t.csv", "--label", "species")
    assert code == 0, err
    assert "reading: larger in every row than in the one before" in err
    assert "--drop 'reading'" in err
    assert "reading" in load("model.sefr").summary_.feature_names


def test_a_quantity_as_label_is_pointed_out(sefr, iris):
    iris["amount"] = (iris["petal_length"] * 10).astype(int)
    assert iris["amount"].nunique() > 20
    iris.to_csv("t.csv", index=False)
    code, _out, err = sefr("train", "t.csv", "--label", "amount", "--task", "classify", "--paper")
    assert code == 0, err
    assert "warning: 'amount' has 43 different numbers in 150 rows" in err


def test_hundreds_of_numbers_as_labels_are_said_once(sefr):
    rng = np.random.default_rng(0)
    pd.DataFrame({"a": rng.normal(size=600), "price": rng.integers(0, 150, 600)}).to_csv("t.csv", index=False)
    code, _, err = sefr("train", "t.csv", "--label", "price", "--task", "classify")
    assert code == 0, err
    assert err.count("different numbers") == 1


def test_of_a_large_table_the_first_rows_decide(sefr, titanic, monkeypatch):
    monkeypatch.setattr(surveys, "SURVEYED_VALUES", 1)
    assert sefr("train", "titanic.csv", "--label", "survived")[0] == 0
    assert load("model.sefr").missing == "ignore"
    titanic.assign(age=30.0).to_csv("full.csv", index=False)
    assert sefr("train", "full.csv", "--label", "survived")[0] == 0


def test_a_pipe_is_looked_at_too(titanic):
    with open("titanic.csv") as file:
        words = [sys.executable, "-m", "sefr.cli", "train", "-", "--label", "survived"]
        done = subprocess.run(words, stdin=file, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "left out: rownames (a name per row)" in done.stderr
    assert load("model.sefr").summary_.n_rows == len(titanic)


@pytest.mark.parametrize("name", ["t.xlsx", "t.xls", "t.ods"])
def test_a_workbook_is_refused_by_name(sefr, name):
    Path(name).write_bytes(b"PK\x03\x04\x14\x00")
    assert_one_line(*sefr("train", name, "--label", "y"), f"{name}: an (Excel|OpenDocument) workbook")


def test_a_workbook_without_its_ending_is_known_by_its_content(sefr):
    Path("t").write_bytes(b"PK\x03\x04\x14\x00\x06\x00" + bytes(18) + b"\x13\x00[Content_Types].xml")
    assert_one_line(*sefr("train", "t", "--label", "y"), "t: an Excel workbook")


def test_json_is_for_duckdb(sefr, iris):
    iris.to_json("iris.jsonl", orient="records", lines=True)
    assert_one_line(
        *sefr("train", "iris.jsonl", "-l", "species"), "JSON is read by sefr train --engine duckdb"
    )
    pytest.importorskip("duckdb")
    code, _out, err = sefr("train", "iris.jsonl", "-l", "species", "--engine", "duckdb")
    assert code == 0, err
    assert sefr("train", "iris.csv", "-l", "species", "--paper", "-o", "csv.sefr")[0] == 0
    np.testing.assert_allclose(load("model.sefr").coef_, load("csv.sefr").coef_, rtol=1e-12)


@pytest.mark.parametrize("command", ["predict", "update", "forget", "simulate"])
def test_swapped_arguments_are_named(sefr, iris, command):
    sefr("train", "iris.csv", "-l", "species")
    result = sefr(command, "iris.csv", "model.sefr")
    assert_one_line(*result, "iris.csv is not a model, but model.sefr is: the model comes first")


def test_the_opening_of_a_model_is_that_of_model_files():
    assert options.MODEL_OPENING.decode() == f'{{\n  "format": "{FORMAT}",'


@pytest.mark.parametrize("words", [("train", "nowhere.csv", "-l", "y"), ("predict", "nowhere.sefr", "x.csv")])
def test_a_file_that_is_not_there_is_said_before_anything_heavy_is_imported(words):
    program = (
        "import sys\nfrom sefr.cli import main\ntry:\n    main()\nfinally:\n"
        "    print(sorted({'numpy', 'pyarrow', 'sklearn', 'rich.progress'} & set(sys.modules)))"
    )
    started = time.process_time()
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=False
    )
    assert done.stderr == f"sefr: {words[1]}: no such file or folder\n"
    assert done.stdout == "[]\n"
    assert time.process_time() - started < 5
