"""Damaged files of every format: success or one clean error, never a signal, never a hang."""

import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from files import mutator
from pyarrow import feather, ipc, parquet

from sefr.files import SourceError, open_dataset
from sefr.files.learning import learn

pytestmark = pytest.mark.slow

SECONDS = float(os.environ.get("SEFR_TORTURE_SECONDS", "8"))
SEED = int(os.environ.get("SEFR_TORTURE_SEED", str(int(time.time()))))
MUTATOR = Path(mutator.__file__)


def text_table(coded=False):
    """Return a table that is mostly offsets of text, or codes of a dictionary."""
    rng = np.random.default_rng(0)
    y = pa.array([("p" * 9, "q" * 7)[k] for k in rng.integers(0, 2, 4000)])
    return pa.table(
        {"a": rng.integers(0, 9, 4000).astype(np.int8), "y": y.dictionary_encode() if coded else y}
    )


def as_stream(table, path):
    with ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table)


WRITERS = {
    "text.arrow": lambda p: feather.write_feather(text_table(), p, compression="uncompressed"),
    "coded.arrow": lambda p: feather.write_feather(text_table(coded=True), p, compression="uncompressed"),
    "text.arrows": lambda p: as_stream(text_table(), p),
    "text.feather": lambda p: feather.write_feather(text_table(), p),
    "text.parquet": lambda p: parquet.write_table(text_table(), p, compression="none", use_dictionary=False),
    "coded.parquet": lambda p: parquet.write_table(text_table(coded=True), p),
}


FLIPS = """
import sys, random
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import mutator, sefr.files.learning
path, count = sys.argv[2], int(sys.argv[3])
content, rng = Path(path).read_bytes(), random.Random(3)
for _ in range(count):
    data = bytearray(content)
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    print(mutator.attempt(path, bytes(data)))
"""


@pytest.mark.parametrize("name", WRITERS)
def test_one_flipped_bit_never_ends_the_process(tmp_path, name):
    WRITERS[name](str(tmp_path / name))
    done = subprocess.run(
        [sys.executable, "-c", FLIPS, MUTATOR.parent, tmp_path / name, "60"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert Counter(done.stdout.split()) == {"0": 60}, done.stderr


def test_mutated_files_of_every_format_give_success_or_a_clean_error(tmp_path):
    """``SEFR_TORTURE_SECONDS`` asks for a longer run, ``SEFR_TORTURE_SEED`` for one again."""
    done = subprocess.run(
        [sys.executable, MUTATOR, tmp_path, str(SECONDS), str(SEED)],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    print(done.stdout)
    assert done.returncode == 0, f"SEFR_TORTURE_SEED={SEED}\n{done.stdout}{done.stderr}"


# In a process of its own: one that has run other tests maps more than the limits of a fork allow.
CRASHES = """
import os, signal, sys
from pathlib import Path
from files import mutator

def learn(path):
    if b"!" in Path(path).read_bytes():
        os.kill(os.getpid(), signal.SIGSEGV)
    return mutator.CLEAN

path = sys.argv[1]
mutator.learn = learn
assert mutator.attempt(path, b"a,y 1,2 ") == 0
assert mutator.attempt(path, b"a,y 1!2 ") == -signal.SIGSEGV
crashes = lambda data: mutator.attempt(path, data) == -signal.SIGSEGV
assert mutator.reduced(b"a,y " * 50 + b"x! ", b"", crashes) == b"!"
mutator.learn = lambda path: bytearray(8 << 30) and 0
assert mutator.attempt(path, b"") == mutator.FAULTY
mutator.learn = lambda path: next(n for n in iter(int, 1) if n)
assert mutator.attempt(path, b"", seconds=1) == -signal.SIGXCPU
"""


def test_the_mutator_finds_and_reduces_what_crashes(tmp_path):
    """A reader that ends the process at one byte: found, and reduced to that byte."""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-c", CRASHES, str(tmp_path / "t.csv")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr


def test_mutations_are_made_again_by_their_seed():
    content = bytes(range(256))
    assert mutator.mutated(content, random.Random(7)) == mutator.mutated(content, random.Random(7))
    assert len({mutator.mutated(content, random.Random(seed)) for seed in range(50)}) > 40


def test_the_text_of_a_damaged_file_is_checked_before_it_is_used(tmp_path):
    content = text_table().combine_chunks()
    for name, write in {
        "t.arrow": lambda p: feather.write_feather(content, p, compression="uncompressed"),
        "t.parquet": lambda p: parquet.write_table(content, p, compression="none", use_dictionary=False),
    }.items():
        write(str(tmp_path / name))
        data = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(data.replace(b"ppp", b"p\xffp"))
        rows = open_dataset([str(tmp_path / name)])
        with pytest.raises(SourceError, match=r"row 1: damaged: .*UTF8"):
            learn(rows, rows.recipe("y"))


def test_a_page_whose_checksum_is_wrong_is_refused(tmp_path):
    path = tmp_path / "t.parquet"
    table = pa.table({"a": np.arange(1000.0), "y": np.arange(1000) % 2})
    parquet.write_table(table, path, compression="none", use_dictionary=False, write_page_checksum=True)
    data = bytearray(path.read_bytes())
    data[data.index(np.float64(500.0).tobytes())] ^= 1
    path.write_bytes(data)
    rows = open_dataset([str(path)])
    with pytest.raises(SourceError, match=r"damaged: .*CRC"):
        learn(rows, rows.recipe("y"))


def test_a_symbolic_link_to_itself_is_said(tmp_path):
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    (tmp_path / "folder").symlink_to(tmp_path)
    with pytest.raises(SourceError, match="symbolic link that leads to no file"):
        open_dataset([str(tmp_path / "loop.csv")])
    with pytest.raises(SourceError, match="no file matches"):
        open_dataset([str(tmp_path / "*.csv")])
    with pytest.raises(SourceError, match="no data file"):
        open_dataset([str(tmp_path)])
    (tmp_path / "good.csv").write_text("a,y\n1,2\n3,4\n")
    assert len(open_dataset([str(tmp_path)]).readers) == 1


def test_what_cannot_be_opened_is_said(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n1,2\n3,4\n")
    os.mkdir(tmp_path / "d.csv")
    with pytest.raises(SourceError, match="no data file in this folder"):
        open_dataset([str(tmp_path / "d.csv")])
    rows = open_dataset([str(tmp_path / "t.csv")])
    os.unlink(tmp_path / "t.csv")
    with pytest.raises(SourceError, match=r"t\.csv: no such file"):
        learn(rows, rows.recipe("y"))


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        ("_delta_log/00000000000000000000.json", "Delta Lake.*deltalake"),
        ("metadata/v1.metadata.json", "Iceberg.*DuckDB"),
    ],
)
def test_a_lakehouse_table_is_not_read_as_bare_parquet(tmp_path, mark, message):
    folder = tmp_path / "lake" / "orders"
    (folder / mark).parent.mkdir(parents=True)
    (folder / mark).write_text("{}")
    parquet.write_table(pa.table({"a": [1.0, 2.0], "y": [0, 1]}), folder / "part-0.parquet")
    for path in (folder, folder.parent, folder / "*.parquet"):
        with pytest.raises(SourceError, match=message):
            open_dataset([str(path)])
    assert len(open_dataset([str(folder / "part-0.parquet")]).readers) == 1  # by its own name: on purpose


@pytest.mark.parametrize("order", "<>")
def test_a_damaged_byte_of_text_in_an_npy_is_an_error_with_its_row(tmp_path, order):
    """numpy keeps four bytes per character, and more of their values mean nothing than mean something."""
    rows = np.array([(1.0, "red"), (2.0, "green")] * 10, dtype=[("a", "f8"), ("y", f"{order}U5")])
    np.save(tmp_path / "t.npy", rows)
    content = bytearray((tmp_path / "t.npy").read_bytes())
    row = len(content) - 13 * rows.itemsize  # the eighth
    for at, value in [
        (row + 8 + (3 if order == "<" else 0), 0x11),
        (row + 8 + (1 if order == "<" else 2), 0xD8),
    ]:
        (tmp_path / "t.npy").write_bytes(content[:at] + bytes([value]) + content[at + 1 :])
        table = open_dataset([str(tmp_path / "t.npy")])
        with pytest.raises(SourceError, match=r"t\.npy, row 8: damaged: a text is not Unicode"):
            learn(table, table.recipe("y"))


def test_damaged_feature_names_in_an_npz_are_an_error(tmp_path):
    names = np.array(["a", "b"]).view(np.uint32) + np.array([0, 0x110000], np.uint32)
    np.savez(tmp_path / "t.npz", X=np.zeros((4, 2)), y=[0, 1, 0, 1], feature_names=names.view("U1"))
    with pytest.raises(SourceError, match="feature name 2 is not Unicode text"):
        open_dataset([str(tmp_path / "t.npz")])
