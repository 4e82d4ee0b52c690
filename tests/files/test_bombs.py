"""Small files that claim much are refused, or read, in bounded time and memory: a child has limits."""

import gzip
import io
import struct
import tracemalloc
import zipfile
import zlib
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pytest
from files import limited
from pyarrow import feather, ipc

from sefr import SEFRClassifier, Summary, save
from sefr.device import Moments, Normal, Regression, StateError, read_state, write_state
from sefr.files.arrow_messages import messages

pytestmark = pytest.mark.slow

FEW = [[1, 200], [3, 100], [9, 50]]  # rows of a board
QUIET_MB = 260  # what a child takes that learns four rows


def npy(shape, descr="<f8", content=b"", order=False):
    """Return an npy file whose header says what we like."""
    header = repr({"descr": descr, "fortran_order": order, "shape": shape}).encode()
    header += b" " * (63 - (len(header) + 10) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + content


HEADERS = {
    "one wide row": npy((1, 500_000_000)),
    "no rows, but columns": npy((0, 500_000_000)),
    "rows without columns": npy((10**12, 0)),
    "items of no bytes": npy((10**12,), "|S0"),
    "many rows": npy((10**12, 4)),
    "negative": npy((-4, -2), content=bytes(64)),
    "more than a machine has": npy((10**30, 10**30)),
    "one long text": npy((1,), "<U500000000"),
    "wide by columns": npy((2, 500_000_000), order=True),
    "nested brackets": npy((1,)).replace(b"'<f8'", b"[" * 5) + bytes(8),
}


def refused(folder, ending, contents, label="y"):
    """Write files, learn them in one child, and demand an error for each, in little memory."""
    paths = []
    for number, content in enumerate(contents.values()):
        paths.append(folder / f"{number}{ending}")
        paths[-1].write_bytes(content() if callable(content) else content)
    outcomes, peak_mb = limited.learn(*paths, label=label)
    for name, outcome in zip(contents, outcomes, strict=True):
        assert outcome.said.startswith("SourceError: "), name
        assert outcome.seconds < 10, name
    return outcomes, peak_mb


def test_an_npy_header_is_not_believed(tmp_path):
    _outcomes, peak_mb = refused(tmp_path, ".npy", HEADERS, "x0")
    assert peak_mb < QUIET_MB


def zipped(**members):
    """Return an npz; a member is bytes, or the number of zeros that follow a header."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, (header, zeros) in members.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                member.write(header)
                for _ in range(zeros >> 22):
                    member.write(bytes(1 << 22))
    return out.getvalue()


HALF_GB = 1 << 29
ARCHIVES = {
    "wide table": lambda: zipped(X=(npy((1, HALF_GB // 8)), HALF_GB)),
    "long names": lambda: zipped(
        X=(npy((2, 4)) + bytes(64), 0), feature_names=(npy((4,), f"<U{HALF_GB // 16}"), HALF_GB)
    ),
    "one long text": lambda: zipped(y=(npy((4,), f"<U{HALF_GB // 16}"), HALF_GB)),
    "claims more than there is": lambda: zipped(X=(npy((HALF_GB, 4)), 0)),
}


@pytest.mark.slow
def test_a_small_npz_does_not_take_gigabytes(tmp_path):
    _outcomes, peak_mb = refused(tmp_path, ".npz", ARCHIVES, "x0")
    assert peak_mb < QUIET_MB


@pytest.mark.slow
def test_a_deflated_npz_of_many_rows_is_read_in_bounded_memory(tmp_path):
    """256 MB of zeros in 1 MB: real rows, so they are read; never at once."""
    rows = (256 << 20) // 64
    y = npy((rows,), "|i1") + bytes([0, 1] * (rows // 2))
    (tmp_path / "t.npz").write_bytes(zipped(X=(npy((rows, 8)), 256 << 20), y=(y, 0)))
    (outcome,), peak_mb = limited.learn(tmp_path / "t.npz")
    assert outcome.said == "learned"
    assert peak_mb < QUIET_MB


LIBSVM = {
    "an index beyond all": ("1 1:1\n0 2000000000:1\n", "2,000,000,001 columns, but at most"),
    "an index beyond int64": ("1 1:1\n0 99999999999999999999:1\n", "line 2: not libsvm"),
    "a high index": ("1 1:1\n0 1000000:1\n", "learned"),
    "many rows and a high index": ("1 1:1\n0 2:1\n" * 50_000 + "0 300000:1\n", "learned"),
    "classes times columns": (
        "".join(f"{k} 1:1\n" for k in range(100)) + "0 1000000:1\n",
        "different labels",
    ),
}


@pytest.mark.slow
def test_a_short_libsvm_file_takes_neither_hours_nor_gigabytes(tmp_path):
    paths = [tmp_path / f"{number}.libsvm" for number in range(len(LIBSVM))]
    for path, (text, _message) in zip(paths, LIBSVM.values(), strict=True):
        path.write_text(text)
    outcomes, peak_mb = limited.learn(*paths, label="label", cpu_seconds=120)
    for outcome, (name, (_text, message)) in zip(outcomes, LIBSVM.items(), strict=True):
        assert message in outcome.said, name
        assert outcome.seconds < 20, name
    assert peak_mb < 1000


ARFF = "@attribute a real\n@attribute y {p,q}\n@data\n1,p\n2,q\n"
LINES = {
    "escaped quotes": "'" + "\\'" * 200_000 + "\n",
    "blanks": "1" + " " * 400_000 + "p\n",
    "quotes": "1," + "'p' " * 100_000 + "\n",
    "backslashes": "1," + "\\" * 400_000 + "\n",
}


def test_an_arff_line_takes_time_in_proportion_to_its_length(tmp_path):
    rows = {f"row of {name}": (ARFF + line).encode() for name, line in LINES.items()}
    names = {f"name of {name}": f"@attribute {line}{ARFF}".encode() for name, line in LINES.items()}
    refused(tmp_path, ".arff", rows | names)


@pytest.mark.slow
def test_a_line_without_end_is_refused(tmp_path):
    starts = {"t.csv.gz": b"a,y\n1,2\n", "t.libsvm.gz": b"1 1:1\n", "t.arff.gz": ARFF.encode()}
    for name, start in starts.items():
        with gzip.open(tmp_path / name, "wb", compresslevel=1) as file:
            file.write(start)
            for _ in range(400):
                file.write(b" 1" * (1 << 19))
    outcomes, peak_mb = limited.learn(*(tmp_path / name for name in starts))
    assert all("too long" in o.said or "longer than" in o.said for o in outcomes), outcomes
    assert peak_mb < 800


def test_long_labels_do_not_make_a_wide_array(tmp_path):
    rows = "".join(f"{i},n{i}\n" for i in range(9_000))
    (tmp_path / "t.csv").write_text(f"x,y\n{rows}1,{'z' * 400_000}\n")
    (outcome,), peak_mb = limited.learn(tmp_path / "t.csv")
    assert "a label of 400,000 characters" in outcome.said
    assert peak_mb < QUIET_MB


def test_the_limits_of_the_child_are_real():
    """The child fails where it takes what these tests forbid."""
    outcome = limited.run("b = bytearray(8 << 30); print(0)")
    assert outcome.code == 1
    assert "MemoryError" in outcome.errors
    assert limited.run("import os; os.abort()").code < 0
    assert limited.run("b = b'x' * (300 << 20)\n" + limited.PEAK).peak_mb > 300
    assert limited.run("while True: pass", cpu_seconds=1).code < 0


@pytest.mark.slow
def test_a_wide_csv_takes_at_most_twice_the_time_and_memory_of_pandas(tmp_path, rng):
    rows, columns = 200, 20_000
    with (tmp_path / "wide.csv").open("w") as file:
        file.write(",".join(f"f{j}" for j in range(columns)) + ",y\n")
        for i in range(rows):
            file.write(",".join(f"{v:.4f}" for v in rng.normal(size=columns)) + f",{i % 2}\n")
    pandas = (
        "import sys, time\nimport pandas as pd\nstart = time.process_time()\n"
        "pd.read_csv(sys.argv[1])\nprint(time.process_time() - start)\n" + limited.PEAK
    )
    theirs = limited.run(pandas, tmp_path / "wide.csv")
    (ours,), peak_mb = limited.learn(tmp_path / "wide.csv")
    assert ours.said == "learned"
    again = limited.run(pandas, tmp_path / "wide.csv")
    (once_more,), _ = limited.learn(tmp_path / "wide.csv")
    assert min(ours.seconds, once_more.seconds) < 2 * min(float(theirs.said[0]), float(again.said[0]))
    assert peak_mb < 2 * theirs.peak_mb


@pytest.mark.parametrize("kind", ["file", "stream"])
@pytest.mark.parametrize("coded", [False, True])
def test_a_small_arrow_file_does_not_take_gigabytes(tmp_path, kind, coded):
    """A gigabyte of zeros in 32 KB, as the values of a column or as those of its dictionary."""
    zeros = pa.array(np.zeros(1 << 27))
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), zeros) if coded else zeros
    table = pa.table({"a": column, "y": pa.nulls(len(column), pa.int8())})
    new = ipc.new_file if kind == "file" else ipc.new_stream
    with new(tmp_path / "t.arrow", table.schema, options=ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    assert (tmp_path / "t.arrow").stat().st_size < 100_000
    (outcome,), peak_mb = limited.learn(tmp_path / "t.arrow")
    assert "bytes claims 1," in outcome.said
    assert "write it in batches of fewer rows" in outcome.said
    assert peak_mb < QUIET_MB


@pytest.mark.parametrize("compression", ["zstd", "lz4", "uncompressed"])
def test_what_an_arrow_file_claims_is_what_it_holds(tmp_path, rng, compression):
    """The oracle: the buffers that Arrow makes of each batch."""
    table = pa.table({"a": rng.random(1000), "s": pa.array(["some", "text"] * 500)})
    feather.write_feather(table, tmp_path / "t.arrow", compression=compression, chunksize=300)
    content = (tmp_path / "t.arrow").read_bytes()
    with ipc.open_file(content) as file:
        held = [file.get_batch(i).get_total_buffer_size() for i in range(file.num_record_batches)]
    found = list(messages(content))
    assert len(found) == len(held) == 4
    for message, size in zip(found, held, strict=True):
        assert abs(message.claimed - size) < 256  # padding
    for cut in range(8, len(content), 97):
        with suppress(ValueError):
            list(messages(content[:cut]))


def test_a_csv_of_very_many_columns_is_refused(tmp_path):
    columns = 400_000
    texts = {
        "names": [",".join(f"f{j}" for j in range(columns - 1)) + ",y\n", ",".join(["1"] * columns) + "\n"],
        "commas": ["," * 9_000_000 + "y\n", "1\n"],
    }
    for name, lines in texts.items():
        (tmp_path / f"{name}.csv").write_text("".join(lines))
    arff = "".join(f"@attribute a{j} real\n" for j in range(columns))
    (tmp_path / "t.arff").write_text(f"{arff}@data\n{','.join(['1'] * columns)}\n")
    paths = [*(tmp_path / f"{name}.csv" for name in texts), tmp_path / "t.arff"]
    outcomes, peak_mb = limited.learn(*paths)
    for outcome in outcomes:
        assert "columns, but at most 131,072 are read from CSV and ARFF" in outcome.said
    assert peak_mb < 600


PREDICT = """
import sys
import numpy as np
from scipy import sparse
from sefr import load
X = np.random.default_rng(0).random((30_000, 4))
clf = load(sys.argv[1])
labels = clf.predict(sparse.csr_array(X) if sys.argv[2] == "CSR" else X)
assert len(labels) == len(X)
some = np.arange(0, len(X), 1_000)
assert (labels[some] == clf.predict(X[some])).all()
X[29_000, 2] = np.nan
try:
    clf.predict(X)
except ValueError as error:
    print(error)
"""


@pytest.mark.filterwarnings("ignore:y has 8000 different numbers")
@pytest.mark.parametrize(("bins", "layout"), [(None, "dense"), (None, "CSR"), (4, "dense")])
def test_labels_of_thousands_of_classes_are_found_in_bounded_memory(tmp_path, rng, bins, layout):
    """30,000 rows have 240 million scores, 1.9 GB; a fault is named by its row among all."""
    classes = 8_000
    clf = SEFRClassifier(bins=bins).fit(rng.random((2 * classes, 4)), np.arange(2 * classes) % classes)
    save(clf, tmp_path / "m.sefr")
    outcome = limited.run(PREDICT + limited.PEAK, tmp_path / "m.sefr", layout, cpu_seconds=300)
    assert outcome.code == 0, outcome
    assert "row 29000" in outcome.said[0]
    assert outcome.peak_mb < 500


def with_features(state, count):
    """Return a board's state that claims another number of features, with the checksum that fits."""
    changed = bytearray(state[:-4])
    struct.pack_into("<I", changed, 8, count)
    return bytes(changed) + struct.pack("<I", zlib.crc32(changed))


@pytest.mark.parametrize(
    ("read", "state"),
    [
        (read_state, lambda: write_state(Summary.of(FEW, [0, 1, 1]))),
        (read_state, lambda: write_state(Summary.of(FEW, [0, 1, 1]), ranges=True)),
        (Moments.from_state, lambda: Moments(2).learn(FEW, [0, 1, 1]).state()),
        (Regression.from_state, lambda: Regression().learn(FEW, [5, 6, 7]).state()),
        (Normal.from_state, lambda: Normal(2).learn(FEW).state()),
    ],
    ids=["classes", "classes and ranges", "moments", "regression", "normal"],
)
def test_the_state_of_a_board_is_not_believed(read, state):
    """It says how many features it has: 4 billion would be 64 GB of sums."""
    sent = state()
    assert struct.unpack_from("<I", sent, 8)[0] == 2
    read(sent)
    tracemalloc.start()
    try:
        for count in ((1 << 32) - 1, 65_535, 3, 0):
            with pytest.raises(StateError):
                read(with_features(sent, count))
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_np_is_what_writes_these_headers(tmp_path):
    """The oracle of ``npy``: numpy reads what it makes."""
    (tmp_path / "t.npy").write_bytes(npy((2, 2), content=np.arange(4.0).tobytes()))
    assert np.load(tmp_path / "t.npy").tolist() == [[0, 1], [2, 3]]
