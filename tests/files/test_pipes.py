"""Pipes are opened once: no row is lost, and nothing waits for a second writer."""

import json
import os
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pytest

from sefr import load
from sefr.files import SourceError, open_dataset
from sefr.files.learning import learn

pytestmark = pytest.mark.slow

ROWS = 60_000  # more than the 512 KB that tell the columns
SEFR = f"{sys.executable} -m sefr.cli"


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(ROWS, 4)).round(6), columns=list("abcd"))
    frame["y"] = np.arange(ROWS) % 3
    frame.to_csv("t.csv", index=False)
    frame.to_csv("bare.csv", index=False, header=False)
    frame.to_csv("t.csv.gz", index=False)
    frame.to_parquet("t.parquet")
    return frame


def bash(command):
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done
    return done


class Fifo:
    """A named pipe that one thread writes once."""

    def __init__(self, name, content):
        os.mkfifo(name)
        self.writer = threading.Thread(target=self._write, args=(name, content), daemon=True)
        self.writer.start()

    @staticmethod
    def _write(name, content):
        with open(name, "wb") as pipe:
            pipe.write(content)


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("cat bare.csv", "--no-header -l -1"),
        pytest.param("cat t.csv.gz", "-l y", marks=pytest.mark.slow),
        pytest.param("cat t.parquet", "-l y", marks=pytest.mark.slow),
        pytest.param("cat t.csv", "-l y --passes 2", marks=pytest.mark.slow),
    ],
)
def test_process_substitution_loses_no_row(table, command, options):
    bash(f"{SEFR} train <({command}) {options} -q -o m.sefr")
    assert load("m.sefr").summary_.n_rows == ROWS


@pytest.mark.slow
def test_two_pipes_are_one_dataset(table):
    bash(f"{SEFR} train <(cat t.csv) <(cat t.parquet) -l y -q -o m.sefr")
    assert load("m.sefr").summary_.n_rows == 2 * ROWS


def test_a_pipe_can_be_evaluated_which_reads_twice(table):
    assert f"{ROWS:,} rows" in bash(f"{SEFR} evaluate <(cat t.csv) -l y --folds 3").stdout


@pytest.mark.slow
def test_a_fifo_can_be_evaluated_fold_by_fold(table):
    """One pass learns all folds and a second tests them: of a named pipe there is one reading only."""
    expected = bash(f"{SEFR} evaluate t.csv -l y --folds 3 --passes 1 --json").stdout
    with open("t.csv", "rb") as file:
        Fifo("pipe.csv", file.read())
    found = bash(f"{SEFR} evaluate pipe.csv -l y --folds 3 --passes 1 --json").stdout
    assert _without_time(json.loads(found)) == _without_time(json.loads(expected))


def _without_time(report):
    return {name: value for name, value in report.items() if "seconds" not in name and name != "method"}


@pytest.mark.parametrize("name", ["pipe", "pipe.csv", "pipe.gz"])
@pytest.mark.parametrize("reread", [False, True])
def test_a_fifo_is_read_to_its_end(table, name, reread):
    with open("t.csv.gz" if name.endswith("gz") else "t.csv", "rb") as file:
        Fifo(name, file.read())
    rows = open_dataset([name], reread=reread)
    assert learn(rows, rows.recipe("y")).n_rows == ROWS
    if reread:
        assert learn(rows, rows.recipe("y")).n_rows == ROWS
    else:
        with pytest.raises(SourceError, match=r"pipe.* can be read only once"):
            learn(rows, rows.recipe("y"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,y\n1,p\n2,q\n3\n", "pipe"),
        ("a,y\n1,p\nred,q\n", "text where numbers are needed: column 'a'; leave out"),
        ("a,y\n1,p\n2,q\n,p\n", "pipe.csv, row 3: the value of column 'a' is missing"),
        ("a,y\n1,p\n2,\n", "pipe.csv, row 2: there is no label"),
        ('a,y\n1,p\n2,"q\n', "one is not closed"),
        ("", "the file is empty"),
    ],
)
def test_an_error_in_a_fifo_does_not_wait_for_more(tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    Fifo("pipe.csv", text.encode())
    with pytest.raises(SourceError, match=message):
        learn(rows := open_dataset(["pipe.csv"]), rows.recipe("y"))


def test_one_pipe_cannot_be_given_twice(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    for paths in (["pipe", "pipe"], ["-", "-"]):
        with pytest.raises(SourceError, match="given twice"):
            open_dataset(paths)


def test_closed_standard_input_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = subprocess.run(
        ["bash", "-c", f"{SEFR} train - -l y <&-"], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 1
    assert done.stderr == "sefr: standard input: is closed\n"


@pytest.mark.slow
def test_the_copy_of_a_pipe_is_removed(table, tmp_path, monkeypatch):
    spool = tmp_path / "spool"
    spool.mkdir()
    monkeypatch.setenv("TMPDIR", str(spool))
    bash(f"{SEFR} evaluate <(cat t.csv) -l y --folds 3 -q")
    assert os.listdir(spool) == []


def test_a_thousand_files_do_not_stay_open(tmp_path):
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    frame = pd.DataFrame({"a": [1.0, 2.0], "y": [0, 1]})
    for number in range(40):
        frame.to_csv(tmp_path / f"{number}.csv", index=False)
        frame.to_parquet(tmp_path / f"{number}.parquet")
        frame.to_feather(tmp_path / f"{number}.feather")
    opened = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (opened + 20, hard))
    try:
        rows = open_dataset([str(tmp_path)])
        assert learn(rows, rows.recipe("y")).n_rows == 240
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
