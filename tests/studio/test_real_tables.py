"""Tables as people have them: the page decides as the command does, says it, and writes the same model."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from steps import give, saved, without_calibration

# Options of the command in its sentences, which the page does not have.
OPTIONS = (" (--decimal . reads text)", ": --drop 'reading'")


def titanic(folder, rng, *, dates=True):
    """Names, categories, and an age that is often unknown; no dates in any case."""
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


def penguins(folder, rng, *, dates=True):
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
    frame = frame if dates else frame.drop(columns="day")
    frame.to_csv(path, index=False, na_rep="NA")
    return path, "species", []


def kunden(folder, rng, *, dates=True):
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
    frame = frame if dates else frame.drop(columns="Datum")
    frame.to_csv(path, index=False, sep=";", decimal=",", encoding="cp1252", lineterminator="\r\n")
    return path, "Bezahlt", ["--encoding", "cp1252"]


def command(path, label, *more):
    """Return what ``sefr train --paper`` writes, and the sentences in which it says what it decided."""
    model = path.with_suffix(".own")
    words = [sys.executable, "-m", "sefr.cli", "train", str(path), "--label", label, "--paper"]
    done = subprocess.run(
        [*words, "-o", str(model), *more], capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if not line.startswith("next: ")]
    for option in OPTIONS:
        said = [line.replace(option, "") for line in said]
    return model.read_bytes(), said


@pytest.mark.parametrize("made", [titanic, penguins, kunden])
def test_a_real_table_is_opened_as_the_command_opens_it(page, tmp_path, made):
    path, label, more = made(tmp_path, np.random.default_rng(3), dates=False)
    content, said = command(path, label, *more)
    assert give(page, path) is None
    assert page.input_value("#label") == label
    told = [line.inner_text() for line in page.locator("#decided li").all()]
    if made is kunden:
        assert "Windows-1252" in told.pop(0)
    assert told == said
    assert len(told) >= 3
    assert "--" not in page.inner_text("#data")
    page.wait_for_selector("#save-model")
    assert without_calibration(saved(page, "save-model")[1]) == without_calibration(content)


@pytest.mark.parametrize(("made", "name"), [(penguins, "day"), (kunden, "Datum")])
def test_dates_are_left_out_and_it_is_said(page, tmp_path, made, name):
    """The command learns their parts; the page does not yet."""
    path, _label, _more = made(tmp_path, np.random.default_rng(3))
    assert give(page, path) is None
    assert f"{name} (a date)" in page.inner_text("#decided")
    assert page.input_value(f"select[aria-label='Use of {name}']") == "out"


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
    lines = path.read_bytes().split(b"\r\n")
    cells = lines[1].split(b";")
    lines[1] = b";".join([*cells[:3], b"", *cells[4:]])  # Umsatz
    path.write_bytes(b"\r\n".join(lines))
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
