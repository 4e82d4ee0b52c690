"""However a reading ends, no thread of Arrow's is left that asks anything of an interpreter that ends."""

import csv
import gc
import gzip
import io
import os
import subprocess
import sys
from contextlib import suppress

import pyarrow as pa
import pytest

from sefr.files import open_dataset
from sefr.files.arrow_input import in_memory, whole_rows

# The real reader, on a disk that takes a moment for each block: Arrow reads ahead while the process ends.
SLOW_DISK = """
import sys, time
from sefr.files import source
whole = source.Stream.readinto
def readinto(self, buffer):
    time.sleep(0.02)
    return whole(self, buffer)
source.Stream.readinto = readinto
"""
COMMAND = """
from sefr.cli import main
sys.argv = ["sefr", *sys.argv[1:]]
main()
"""
# One batch is read; then the process ends in some way.
FIRST_BATCH = """
from sefr.files import open_dataset
rows = open_dataset([sys.argv[1]])
batches = rows.batches(rows.columns)
print(len(next(batches)))
"""
ENDINGS = {
    "the end of the program": ("", 0),
    "an error": ("del batches; raise ValueError", 1),
    "an exit": ("batches.close(); sys.exit(3)", 3),
    "an interrupt": (
        "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"  # it may be ignored
        "try:\n    for batch in batches:\n        signal.raise_signal(signal.SIGINT)\n"
        "except KeyboardInterrupt:\n    sys.exit(130)",
        130,
    ),
}


def run(program, *arguments):
    return subprocess.run(
        [sys.executable, "-c", SLOW_DISK + program, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
    )


def rows_of(bad):
    lines = [f"{i},{'inf' if i == bad else i},{i % 2}\n" for i in range(200_000)]
    return "".join(lines)


@pytest.fixture
def table(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,y\n" + rows_of(bad=5))
    return tmp_path / "t.csv"


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.arff"])
def test_a_command_that_fails_while_rows_are_read_ahead_ends_with_its_own_exit_code(tmp_path, name):
    header = "a,b,y\n"
    if name.endswith(".arff"):
        header = "@attribute a real\n@attribute b real\n@attribute y {0,1}\n@data\n"
    content = (header + rows_of(bad=5)).encode()
    (tmp_path / name).write_bytes(gzip.compress(content, 1) if name.endswith(".gz") else content)
    done = run(COMMAND, "train", tmp_path / name, "--label", "y", "-o", tmp_path / "m.sefr")
    assert done.returncode == 1, done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert "the value of column 'b' is infinite" in done.stderr


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_reading_that_is_left_early_ends_with_the_process(table, ending):
    program, code = ENDINGS[ending]
    done = run(FIRST_BATCH + program, table)
    assert done.returncode == code, done.stderr
    assert "Fatal Python error" not in done.stderr
    assert "terminate called" not in done.stderr


def test_arrow_owns_the_text_whose_types_it_finds():
    """What it held of Python's it would give back from its own thread, at any time."""
    data = b"1,2\n" * 100_000
    before = sys.getrefcount(data)
    reader = in_memory(data)
    assert sys.getrefcount(data) == before
    assert reader.read() == data


def test_a_file_is_closed_when_its_reading_is_left(table):
    rows = open_dataset([str(table)])
    batches = rows.batches(rows.columns)
    next(batches)
    batches.close()
    gc.collect()
    held = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if _is_open(fd)]
    assert str(table) not in held


def _is_open(fd):
    return os.path.islink(f"/proc/self/fd/{fd}")


def test_an_error_is_said_at_once_though_a_pipe_does_not_go_on(tmp_path):
    """What is read ahead of a pipe may never come."""
    child = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "sefr.cli",
            "train",
            "-",
            "--label",
            "y",
            "--paper",
            "-o",
            str(tmp_path / "m.sefr"),
        ],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with child:
        with suppress(BrokenPipeError):  # it has seen enough
            child.stdin.write("a,b,y\n" + rows_of(bad=5))
            child.stdin.flush()
        try:
            code = child.wait(timeout=60)
        finally:
            child.kill()
            with suppress(BrokenPipeError):
                child.stdin.close()
        assert child.stderr.read() == "sefr: standard input, row 6: the value of column 'b' is infinite\n"
        assert code == 1


@pytest.mark.parametrize("size", [5, 7, 16, 64, 10_000])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_parts_of_a_stream_end_with_whole_rows(size, end):
    """However long the parts are, their rows are those of the whole text as Python's csv module reads it."""
    rows = [
        ["a", "b"],
        ['say ""x""', "2"],
        ["two\nlines", "3"],
        ["", ""],
        ["x" * 9, '5" pipe'],
        [" ", "c\n\nd"],
    ]
    rows = (rows * 7)[:-1]
    text = io.StringIO()
    csv.writer(text, lineterminator=end, quoting=csv.QUOTE_ALL).writerows(rows)
    data = text.getvalue().replace('"5"" pipe"', '5" pipe').encode()  # a quote within a field begins nothing
    longest = max(len(line) for line in data.split(end.encode())) + 12
    parts = list(whole_rows(io.BytesIO(data), max(size, longest), ","))
    found = [row for part in parts for row in csv.reader(io.StringIO(part.decode(), newline=""))]
    assert [row for row in found if row] == list(csv.reader(io.StringIO(data.decode(), newline="")))
    assert b"".join(parts) == data


def test_a_row_without_end_is_an_error_before_memory_goes():
    endless = io.BytesIO(b'a,"b\n' + b"c\n" * 1000)
    with pytest.raises(pa.ArrowInvalid, match="longer than 100 bytes"):
        list(whole_rows(endless, 100, ","))
