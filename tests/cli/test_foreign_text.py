"""Names and labels that somebody else chose: harmless on every screen, in JSON, on pages, in pictures."""

import csv
import json
import os
import pty
import re
import select
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cli.driver import process
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from sefr._system.text import json_text, visible

pytestmark = pytest.mark.slow

HOSTILE = [
    "[/x]",  # closes markup that was never opened: a traceback in rich
    "[bold red]alarm[/]",
    "[link=https://example.com]click[/link]",
    "\x1b]0;title\x07",  # sets the title of the window
    "\x1b[31mred\x1b[0m",
    "\x9b31m",  # the same in one byte
    "a\rb",
    "\u202eneder",  # turns the direction of writing
    ":smile:",
    "$\\frac{",
    "<script>alert(1)</script>",
    "'; DROP TABLE t; --",
    "x" * 5000,
]
LABELS = ["[/y]", "\x1b[2J", "\u2066z"]
OWN = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\x1b\[1A|\x1b\[2K|\r")  # colours and the bar that moves


@pytest.fixture
def hostile():
    """Write rows.csv, whose columns and labels are hostile."""
    rng = np.random.default_rng(3)
    with open("rows.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*HOSTILE, "label [/z]\x1b[1m"])
        for i in range(90):
            writer.writerow([*(rng.random(len(HOSTILE)) + i % 3).round(3), LABELS[i % 3]])
    return "rows.csv", "label [/z]\x1b[1m"


def assert_harmless(text):
    """Nothing but colours of our own, line breaks and characters that can be seen."""
    rest = OWN.sub("", text)
    unseen = {char for char in rest if visible(char) != char} - {"\n"}
    assert not unseen, ascii("".join(unseen))
    assert "\x1b[31mred" not in text
    assert "a\rb" not in text


def commands(data, label):
    return [
        ("train", data, "--label", label, "--exact", "-o", "m.sefr"),
        ("train", data, "--label", label, "-o", "p.sefr", "--passes", "3"),
        ("train", data, "--label", label, "-o", "a.sefr"),
        ("train", data, "--label", label, "--auto", "-o", "a.sefr", "--json"),
        ("evaluate", data, "--label", label, "--folds", "3"),
        ("evaluate", data, "--label", label, "--passes", "1,2", "--plot", "dial.png"),
        ("evaluate", data, "--label", label, "--passes", "1", "--json"),
        ("evaluate", data, "--model", "m.sefr"),
        ("predict", "m.sefr", data, "-o", "out.csv", "--scores", "--probabilities", "--keep", "all"),
        ("predict", "m.sefr", data, "-o", "out.parquet"),
        ("update", "m.sefr", data),
        ("forget", "m.sefr", data, "--json"),
        ("merge", "m.sefr", "m.sefr", "-o", "both.sefr"),
        ("explain", "m.sefr"),
        ("explain", "m.sefr", "--rows", data),
        ("explain", "m.sefr", "--rows", data, "--json"),
        ("explain", "m.sefr", "--image", "1x13"),
        ("explain", "m.sefr", "--rows", data, "-o", "r.html"),
        ("explain", "m.sefr", "-o", "r.png"),
        ("export", "m.sefr", "--to", "onnx"),
    ]


@pytest.mark.parametrize("forced", [False, True], ids=["plain", "coloured"])
def test_every_command_shows_hostile_names_harmlessly(sefr, hostile, monkeypatch, forced):
    if forced:
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TERM", "xterm-256color")
    for command in commands(*hostile):
        code, out, err = sefr(*command)
        assert code == 0, (command, err)
        assert_harmless(out + err)
        if "--json" in command:
            json.loads(out)
    page = Path("r.html").read_text()
    assert "<script>alert" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page


def test_errors_about_hostile_names_are_one_harmless_line(sefr, hostile):
    data, _label = hostile
    faults = [
        ("train", data, "--label", "[/none]"),
        ("train", "[/x]\x1b[31m.csv", "--label", "y"),
        ("predict", "\x1b]0;x\x07.sefr", data),
        ("sql", "--label", "[/y]", "--table", "t", "--drop", "[/z]\x1b[1m"),
        ("evaluate", data, "--label", "x\x9b", "--test", "[/x]"),
    ]
    for command in faults:
        code, out, err = sefr(*command)
        assert code in (1, 2), command
        assert "Traceback" not in err
        assert_harmless(out + err)


def in_a_terminal(*arguments):
    """Return what the command writes to a terminal."""
    reader, writer = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "sefr.cli", *arguments], stdout=writer, stderr=writer, stdin=subprocess.DEVNULL
    ):
        os.close(writer)
        parts = []
        while True:
            ready, _, _ = select.select([reader], [], [], 60)
            try:
                part = os.read(reader, 65536) if ready else b""
            except OSError:  # the terminal is closed
                part = b""
            if not part:
                break
            parts.append(part)
    os.close(reader)
    return b"".join(parts).decode().replace("\r\n", "\n")


@pytest.mark.slow
def test_a_terminal_that_gets_predictions_or_sql_sees_no_escape_sequence(sefr, hostile):
    data, label = hostile
    sefr("train", data, "--label", label, "-o", "m.sefr")
    said = in_a_terminal("predict", "m.sefr", data, "--keep", "all")
    assert "\\x1b[2J" in said
    assert "\x1b[2J" not in said
    said = in_a_terminal("sql", "--label", label, "--table", "t", "--features", "a\x1b[31mred")
    assert "\x1b[31mred" not in said
    with process("predict", "m.sefr", data) as run:
        out, _err = run.communicate()
    assert b"\x1b[2J" in out  # a program gets the labels as they are


@given(st.text())
def test_visible_text_is_visible_and_stays_so(text):
    shown = visible(text)
    assert visible(shown) == shown
    assert "\x1b" not in shown
    assert "\n" not in shown
    shown.encode()
    assert len(visible(text, 10)) <= 10
    assert json.loads(json_text({"t": text}))["t"] == text
    assert_harmless(json_text({"t": text}))


@given(st.text(alphabet=st.characters()) | st.sampled_from(HOSTILE))
def test_no_text_reaches_the_console_as_markup_or_control(text):
    import io

    from sefr.cli.screen import SafeConsole, grid, shown

    file = io.StringIO()
    console = SafeConsole(file=file, force_terminal=True, color_system="truecolor", width=200)
    table = grid(text, title=text)
    table.add_row(text)
    table.add_row(shown(text))
    console.print(text)
    console.print(table)
    assert isinstance(console, Console)
    assert_harmless(file.getvalue())
