"""Tables as people have them: the page decides as the command does, says it, and writes the same model."""

from __future__ import annotations

import csv
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from steps import give, saved, without_calibration

# Options of the command in its sentences, which the page does not have.
OPTIONS = (" (--decimal . reads text)", ": --drop 'reading'")


def titanic(folder, rng):
    """Names, categories, and an age that is often unknown."""
    n = 900
    sex = rng.choice(["female", "male"], n, p=[0.35, 0.65])
    rank = rng.choice(["1st", "2nd", "3rd"], n)
    chance = 0.2 + 0.5 * (sex == "female") + 0.2 * (rank == "1st")
    age = rng.uniform(1, 75, n).round(1)
    age[rng.random(n) < 0.2] = np.nan
    survived = np.where(rng.random(n) < chance, "yes", "no").astype(object)
    survived[[7, 70]] = None
    names = [f"Passenger, Mr. {i}" for i in range(n)]
    frame = pd.DataFrame(
        {"rownames": names, "survived": survived, "sex": sex, "age": age, "passengerClass": rank}
    )
    path = folder / "titanic.csv"
    frame.to_csv(path, index=False)
    return path, "survived", []


def penguins(folder, rng):
    """As R writes it: row numbers, NA, categories, a year; and readings that rise from row to row."""
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
            "day": pd.date_range("2026-01-01", periods=n).strftime("%Y-%m-%d"),
            "reading": np.cumsum(rng.integers(1, 9, n)),
        }
    )
    frame.loc[[3, 200], ["bill_length_mm", "sex"]] = None
    path = folder / "penguins.csv"
    frame.to_csv(path, index=False, na_rep="NA")
    return path, "species", []


def kunden(folder, rng):
    """As Excel writes it in Germany: cp1252, semicolons, decimal commas, the day first."""
    n = 240
    amount = rng.uniform(10, 5000, n).round(2)
    frame = pd.DataFrame(
        {
            "Kunden-Nr": 100_001 + np.cumsum(rng.integers(1, 5, n)),
            "Datum": [f"{1 + i % 28:02d}.{1 + i % 12:02d}.2025" for i in range(n)],
            "Straße": rng.choice(["Hauptstraße", "Mühlweg", "Am Bäcker"], n),
            "Umsatz": amount,
            "Anzahl": rng.integers(1, 9, n),
            "Punkte": [f"{1000 + 7 * i:,}" for i in range(n)],
            "Firma": "Müller GmbH",
            "Bezahlt": np.where(amount > 2000, "ja", "nein"),
        }
    )
    path = folder / "kunden.csv"
    frame.to_csv(path, index=False, sep=";", decimal=",", encoding="cp1252", lineterminator="\r\n")
    return path, "Bezahlt", ["--encoding", "cp1252"]


def orders(folder, rng):
    """Dates in every way of writing them, with times, empty cells and hours of a 12-hour clock."""
    n = 300
    day = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D")
    day += pd.to_timedelta(rng.integers(0, 24 * 60, n), "m")
    frame = pd.DataFrame(
        {
            "ordered": day.strftime("%d/%m/%Y").to_numpy(dtype=object),
            "price": rng.normal(size=n).round(3),
            "paid": day.strftime("%m/%d/%Y %I:%M %p"),
            "sent": day.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "born": [f"{1 + i % 31}.{1 + i % 7 // 2 * 2}.{i % 100:02d}" for i in range(n)],
            "seen": [f"{d:%Y/%m/%d, %H:%M:%S.5} +02:00" for d in day],
            "late": [f"{d:%d-%m-%Y} {12 + i % 5}:59:00 {'apAP'[i % 4]}m" for i, d in enumerate(day)],
        }
    )
    frame.loc[[3, 30, 200], "ordered"] = None
    frame["busy"] = np.where((day.day_of_week >= 5) | (day.month == 12), "yes", "no")
    path = folder / "orders.csv"
    frame.to_csv(path, index=False, quoting=csv.QUOTE_NONNUMERIC)
    return path, "busy", []


def shifts(folder, rng):
    """Dates that are left out, each for its reason, and times of day."""
    n = 250
    frame = pd.DataFrame(
        {
            "either": [f"{1 + i % 12}/{1 + i % 5}/2026" for i in range(n)],
            "due": pd.date_range("2026-01-01", periods=n).strftime("%Y-%m-%d"),
            "due month": rng.integers(1, 13, n),
            "begin": [f"{6 + i % 9:02d}:30" for i in range(n)],
            "clock": [f"{i % 24:02d}:{i % 60:02d}:{i % 59:02d}" for i in range(n)],
            "until": [f"2026-01-{1 + i % 31:02d}{' 18:00' if i > 200 else ''}" for i in range(n)],
            "mixed": [f"2026-01-0{1 + i % 9}" if i % 7 else "soon" for i in range(n)],
            "x": rng.normal(size=n).round(2),
        }
    )
    frame["kind"] = np.where(frame["x"] > 0, "late", "early")
    path = folder / "shifts.csv"
    frame.to_csv(path, index=False)
    return path, "kind", []


def readings(folder, rng):
    """More points in time than the page keeps texts of; the last rows show what order those of some have."""
    n = 10_500
    when = pd.date_range("2025-12-29", periods=n, freq="13min")
    warm = rng.normal(size=n).round(2) + (when.hour > 12)
    frame = pd.DataFrame({"time": when.strftime("%Y-%m-%d %H:%M"), "value": warm.round(2)})
    frame.loc[[5, n - 1], "time"] = None
    frame["stamp"] = [f"{1 + i % 12}/{1 + i % 11}/{2000 + i % 7} {i % 24}:{i % 59:02d}" for i in range(n)]
    frame["note"] = frame["stamp"]
    frame.loc[n - 50 :, "stamp"] = "25/12/2026 10:00"
    frame.loc[n - 1, "note"] = "soon"
    frame["kind"] = np.where(warm > 0.5, "warm", "cold")
    path = folder / "readings.csv"
    frame.to_csv(path, index=False)
    return path, "kind", []


def prices(folder, rng, points=False):
    """Decimal commas in quotes, between commas; and numbers with points beside them."""
    n = 120
    amount = rng.uniform(1, 50, n).round(2)
    width = rng.normal(size=n).round(3) if points else rng.integers(1, 90, n)
    shop = rng.choice(["A", "B", "C"], n)
    kind = np.where(amount > 20, "dear", "cheap")
    frame = pd.DataFrame(
        {"price": [f"{a:.2f}".replace(".", ",") for a in amount], "width": width, "shop": shop}
    )
    path = folder / "prices.csv"
    frame.assign(kind=kind).to_csv(path, index=False)
    return path, "kind", []


def prices_and_points(folder, rng):
    """Return the same with numbers that have points."""
    return prices(folder, rng, points=True)


def trained(path, label, model, *more):
    """Run ``sefr train --paper``."""
    words = [sys.executable, "-m", "sefr.cli", "train", str(path), "--label", label, "--paper"]
    return subprocess.run(
        [*words, "-o", str(model), *more], capture_output=True, encoding="utf-8", check=False
    )


def command(path, label, *more):
    """Return what ``sefr train --paper`` writes, and the sentences in which it says what it decided."""
    model = path.with_suffix(".own")
    done = trained(path, label, model, *more)
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if not line.startswith("next: ")]
    for option in OPTIONS:
        said = [line.replace(option, "") for line in said]
    return model.read_bytes(), said


def predictions(model, rows):
    """Return what ``sefr predict`` prints."""
    words = [sys.executable, "-m", "sefr.cli", "predict", str(model), str(rows)]
    done = subprocess.run(words, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "made", [titanic, penguins, kunden, orders, shifts, readings, prices, prices_and_points]
)
def test_a_real_table_is_opened_as_the_command_opens_it(page, tmp_path, made):
    path, label, more = made(tmp_path, np.random.default_rng(3))
    content, said = command(path, label, *more)
    assert give(page, path) is None
    assert page.input_value("#label") == label
    told = [line.inner_text() for line in page.locator("#decided li").all()]
    if made is kunden:
        assert "Windows-1252" in told.pop(0)
    assert told == said
    assert len(told) >= 2
    assert "--" not in page.inner_text("#data")
    page.wait_for_selector("#save-model")
    assert without_calibration(saved(page, "save-model")[1]) == without_calibration(content)


def test_the_command_reads_the_dates_of_other_rows_for_the_model_of_the_page(page, tmp_path):
    """Of a few rows alone nobody could tell day and month apart; the model can."""
    path, label, _more = orders(tmp_path, np.random.default_rng(3))
    content, _said = command(path, label)
    assert give(page, path) is None
    page.wait_for_selector("#save-model")
    (tmp_path / "page.sefr").write_bytes(saved(page, "save-model")[1])
    (tmp_path / "own.sefr").write_bytes(content)
    names, *rows = path.read_text().splitlines(keepends=True)
    few = tmp_path / "few.csv"
    few.write_text("".join([names, *[row for row in rows if '"01' <= row < '"13'][:11]]))
    theirs, ours = (predictions(tmp_path / name, few) for name in ("page.sefr", "own.sefr"))
    assert theirs == ours
    assert len(theirs.splitlines()) == 12


def test_what_is_done_with_a_date_can_be_changed(page, tmp_path):
    path, _label, _more = penguins(tmp_path, np.random.default_rng(3))
    assert give(page, path) is None
    menu = "select[aria-label='Use of day']"
    sentence = "1 date learned as year, month and weekday: day"
    assert page.input_value(menu) == "dates"
    assert sentence in page.inner_text("#decided")
    page.wait_for_function(
        "() => document.querySelector('#train .lead')?.textContent.includes('12 features')"
    )
    assert page.locator(f"{menu} option").count() == 4
    assert page.locator("select[aria-label='Use of year'] option").count() == 3
    page.select_option(menu, "out")
    page.wait_for_function("() => document.querySelector('#train .lead')?.textContent.includes('9 features')")
    assert sentence not in page.inner_text("#decided")
    page.select_option(menu, "categories")
    page.wait_for_function(
        "() => document.querySelector('#train .lead')?.textContent.includes('339 features')"
    )


def test_a_date_is_not_taken_for_the_label(page, tmp_path):
    path = tmp_path / "few.csv"
    rows = [f"{i % 7},{'ab'[i % 2]},{13 + i % 5}.02.2026" for i in range(60)]
    path.write_text("\n".join(["x,colour,day", *rows, ""]))
    assert give(page, path) is None
    assert page.input_value("#label") == "colour"


def test_a_day_that_does_not_exist_is_refused_as_the_command_refuses_it(page, tmp_path):
    path = tmp_path / "days.csv"
    days = ["2024-02-28", "2024-02-29", "2024-02-30"]
    rows = [f"{days[i % 3]},{i % 7},{'ab'[i % 2]}" for i in range(60)]
    path.write_text("\n".join(["day,x,kind", *rows, ""]))
    done = trained(path, "kind", path.with_suffix(".own"))
    assert "line 4: the value of column 'day year' is missing" in done.stderr
    assert give(page, path) in done.stderr


def test_what_was_decided_can_be_changed(page, tmp_path):
    path, _label, _more = titanic(tmp_path, np.random.default_rng(3))
    assert give(page, path) is None
    assert page.input_value("select[aria-label='Use of rownames']") == "out"
    assert "a name per row" in page.inner_text("tr:has(select[aria-label='Use of rownames'])")
    page.select_option("select[aria-label='Use of sex']", "out")
    page.wait_for_function("() => document.querySelector('#train .lead')?.textContent.includes('4 features')")
    assert "sex" not in page.inner_text("#decided")
    page.select_option("select[aria-label='Use of rownames']", "number")
    refusal = page.wait_for_selector("#data .refusal").inner_text()
    assert "text where numbers are needed: column 'rownames'" in refusal
    assert "--" not in refusal


@pytest.mark.parametrize("width", [390, 1280])
def test_what_is_shown_of_a_record_fits_and_names_what_is_missing(open_page, tmp_path, width):
    path, _label, _more = kunden(tmp_path, np.random.default_rng(3))
    rows = [line.split(b";") for line in path.read_bytes().split(b"\r\n")]
    rows[1][3] = b""  # Umsatz
    path.write_bytes(b"\r\n".join(b";".join([*cells[:1], *cells[2:]]) for cells in rows))  # without the date
    page = open_page(viewport={"width": width, "height": 900})
    assert give(page, path) is None
    page.wait_for_selector("#save-model")
    assert "Umsatz = missing" in page.inner_text("#contributions")
    assert "none" not in page.inner_text("#what-if")
    page.click("text=Next row")
    likely = page.locator("#likely .likely")
    assert likely.first.inner_text() == "100.0 %"
    heights = {round(one.bounding_box()["height"]) for one in likely.all()}
    assert len(heights) == 1  # on one line, as "0.0 %" is
    names = page.locator("#looks .feature").all_inner_texts()
    assert "Straße" in names
    assert not any("=" in name for name in names)
    assert page.evaluate("() => document.documentElement.scrollWidth") == width


def test_a_workbook_is_refused_by_name(page, tmp_path):
    path = tmp_path / "table.xlsx"
    path.write_bytes(b"PK\x03\x04\x14\x00\x06\x00[Content_Types].xml\xc0\x00")
    words = [sys.executable, "-m", "sefr.cli", "train", str(path), "--label", "y"]
    done = subprocess.run(words, capture_output=True, encoding="utf-8", check=False)
    said = give(page, path)
    assert "an Excel workbook, which is not read" in said
    assert said in done.stderr.replace(f"{tmp_path}/", "")
