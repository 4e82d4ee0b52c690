"""``sefr studio``: the page with data in it."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest
from pyarrow import parquet
from steps import PAGE


def run(*arguments, code=0):
    done = subprocess.run(
        [sys.executable, "-m", "sefr.cli", "studio", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


@pytest.mark.slow
def test_the_page_opens_with_a_csv_in_it(open_page, example_files, tmp_path):
    output = tmp_path / "page.html"
    run(example_files["flowers"], "--output", output)
    page = open_page(output)
    page.wait_for_selector("#figure-accuracy")
    assert "flowers.csv 150 rows, 5 columns" in page.inner_text(".opened")


@pytest.mark.slow
def test_the_page_opens_with_a_parquet_file_in_it(open_page, tmp_path):
    table = pa.table(
        {"a": [1.5, 2.5, 3.5, 4.5] * 5, "n": list(range(20)), "kind": ["x", "x", "y,z", "y,z"] * 5}
    )
    parquet.write_table(table, tmp_path / "data.parquet")
    output = tmp_path / "page.html"
    run(tmp_path / "data.parquet", "-o", output)
    page = open_page(output)
    page.wait_for_selector("#figure-accuracy")
    assert "data.csv 20 rows, 3 columns" in page.inner_text(".opened")
    assert "y,z" in page.inner_text("#classes")


def test_a_name_cannot_break_out_of_the_page():
    from sefr.cli.studio_page import with_data

    page = with_data(PAGE.read_bytes(), '"><script>alert(1)</script>.csv', b"a,b\n1,2\n")
    assert b"<script>alert" not in page
    assert page.count(b'id="given"') == 1


def test_data_that_cannot_be_read_are_one_line(tmp_path):
    done = run(tmp_path / "none.csv", code=1)
    assert done.stderr.count("\n") == 1
    assert "none.csv" in done.stderr
