"""``sefr board`` through a pseudo terminal joined to a simulated Uno that runs the exported sketch."""

import csv
import os
import subprocess
import sys
import threading
import tty
from contextlib import suppress

import numpy as np
import pytest
from arduino_core import build_sketch
from simulated_uno import Event, plugged_in

from sefr import SEFRClassifier, Summary, load, save
from sefr.device import export, read_state
from sefr.device.serial_board import BoardError, SerialBoard, Sketch

pytestmark = [pytest.mark.needs("avr", "arduino"), pytest.mark.slow]


@pytest.fixture
def boards(tmp_path, rng):
    """A sketch that learns, its program, and records beyond what it was trained on."""
    X = rng.integers(0, 1024, (30, 4))
    y = (X[:, 0] > 500).astype(int)
    clf = SEFRClassifier(scale=(0, 1023)).fit(X, np.array(["no", "yes"])[y])
    sketch = export(clf, "arduino", tmp_path, name="room", learn=True)
    return sketch, build_sketch(sketch, tmp_path)


def command(*arguments, code=0):
    line = [sys.executable, "-m", "sefr.cli", "board", *map(str, arguments)]
    done = subprocess.run(
        line, capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1"}, check=False
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


def write_rows(path, X, labels):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(
            [["a", "b", "c", "d", "label"], *([*row, x] for row, x in zip(X, labels, strict=True))]
        )


def test_two_boards_are_taught_fetched_merged_and_pushed(boards, tmp_path, rng):
    """The merged model equals one trained on the bytes of all records, the base once."""
    sketch, image = boards
    known = Sketch.read(sketch)
    taught = []
    for name in ("kitchen", "hall"):
        X, labels = rng.integers(0, 1024, (12, 4)), rng.choice(["no", "yes"], 12)
        taught.append((X, labels))
        write_rows(tmp_path / f"{name}.csv", X, labels)
        with plugged_in(image, eeprom=tmp_path / name) as port:
            command("teach", port, tmp_path / f"{name}.csv", "--sketch", sketch)
            command("fetch", port, "-o", tmp_path / f"{name}.state")
    states = [tmp_path / "kitchen.state", tmp_path / "hall.state"]
    command("merge", *states, "--sketch", sketch, "-o", tmp_path / "all.sefr")
    total = load(tmp_path / "all.sefr").summary_
    whole = read_state(known.base, **known.meaning)
    for X, labels in taught:
        as_bytes = (255 * X + 511) // 1023
        whole = whole + Summary.of(as_bytes * 1023 / 255, labels)
    assert total.classes.tolist() == ["no", "yes"]
    assert total.counts.tolist() == whole.counts.tolist()
    assert np.abs(total.sums - whole.sums).max() < 1e-6
    with plugged_in(image) as port:
        command("push", port, tmp_path / "all.sefr", "--sketch", sketch)
        with SerialBoard(str(port)) as board:
            now = read_state(board.state(), **known.meaning)
    assert now.counts.tolist() == total.counts.tolist()
    assert np.abs(now.sums - total.sums).max() <= 1023 / 255


def test_recording_adds_rows_and_goes_on(boards, tmp_path):
    _, image = boards
    events = [Event.analog(0, channel, 100 * channel + 23) for channel in range(4)]
    path = tmp_path / "rows.csv"
    with plugged_in(image, events) as port:
        command("record", port, "-o", path, "--label", "still", "--rows", 3, "--every", 10)
        command("record", port, "-o", path, "--label", "loud, very", "--rows", 2, "--every", 0)
        path.write_text(path.read_text())
        (tmp_path / "other.csv").write_text("a,b\n1,2\n")
        said = command("record", port, "-o", tmp_path / "other.csv", "--label", "x", code=1)
    assert "has the columns a, b" in said
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["x0", "x1", "x2", "x3", "label"]
    assert (
        rows[1:]
        == [["23", "123", "223", "323", "still"]] * 3 + [["23", "123", "223", "323", "loud, very"]] * 2
    )


def test_what_is_wrong_is_said_before_anything_changes(boards, tmp_path, rng):
    sketch, image = boards
    write_rows(tmp_path / "bad.csv", [[1, 2, 3, 4]], ["maybe"])
    said = command("teach", "/dev/null", tmp_path / "bad.csv", "--sketch", sketch, code=1)
    assert "line 2: the board knows no class 'maybe', only no, yes" in said
    assert "is not a sketch that learns" in command("teach", "x", "y", "--sketch", tmp_path, code=1)
    other = SEFRClassifier(scale=(0, 1023)).fit(rng.integers(0, 1024, (9, 4)), np.arange(9) % 2)
    foreign = export(other, "arduino", tmp_path, name="foreign", learn=True)
    save(other, tmp_path / "foreign.sefr")
    with plugged_in(image) as port:
        said = command("push", port, tmp_path / "foreign.sefr", "--sketch", foreign, code=1)
        assert "the board runs model" in said
        with SerialBoard(str(port)) as board:
            before = board.state()
            with pytest.raises(BoardError, match="there is no such class"):
                board.teach(9, [1, 2, 3, 4])
            with pytest.raises(BoardError, match="belongs to another model"):
                board.push((foreign / "base.state").read_bytes())
            with pytest.raises(BoardError, match="takes 4 values, not 2"):
                board.teach(0, [1, 2])
            assert board.state() == before
    said = command("merge", foreign / "base.state", "--sketch", sketch, "-o", tmp_path / "x.sefr", code=1)
    assert "base.state: the state belongs to model" in said
    assert not (tmp_path / "x.sefr").exists()


def test_a_port_without_a_board():
    with pytest.raises(BoardError, match="/dev/no-such-port"):
        SerialBoard("/dev/no-such-port")
    ours, theirs = os.openpty()
    with pytest.raises(BoardError, match="no answer within 1 s; is a sketch"):
        SerialBoard(os.ttyname(theirs), reset_limit=1)
    os.close(ours)
    os.close(theirs)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"sefr 1A 100000000000 2 uint8\n", "claims 100,000,000,000 features"),
        (b"sefr 1A 4 300 uint8\n", "and 300 classes"),
        (b"sefr 1A " + b"9" * 5000 + b" 2 uint8\n", "no answer within 1 s"),
    ],
)
def test_a_board_that_claims_what_no_board_has_is_refused(answer, message):
    ours, theirs = os.openpty()
    tty.setraw(theirs)

    def talk():
        with suppress(OSError):  # the test is over
            os.read(ours, 1)
            os.write(ours, answer)

    speaker = threading.Thread(target=talk, daemon=True)
    speaker.start()
    try:
        with pytest.raises(BoardError, match=message):
            SerialBoard(os.ttyname(theirs), reset_limit=1 if "no answer" in message else 20)
    finally:
        os.close(ours)
        os.close(theirs)
