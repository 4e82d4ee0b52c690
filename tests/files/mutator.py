"""Mutated files of every format, and what becomes of them when they are learned in a child with limits."""

from __future__ import annotations

import bz2
import gzip
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import feather, ipc, parquet

ROWS = 60
INTERESTING = [0, 1, 0x7F, 0x80, 0xFF]
WORDS = [b"\xff" * 4, b"\xff" * 8, b"\x7f" + b"\xff" * 7, b"\0" * 8, b"-1", b"99999999999", b"1e999", b"nan"]
TEXT = [b",", b"\n", b'"', b"'", b"\\", b"{", b"%", b"\0", b"\r", b"\xff", b":", b"#", b" " * 50, b"@data"]
CLEAN = 0
FAULTY = 3  # the child's exit code for an error that is not a clean one


def samples(folder: Path) -> list[Path]:
    """Write a small sound file of every format, with numbers, text, gaps, booleans and dictionaries."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=ROWS),
            "b": rng.integers(0, 9, ROWS),
            "c": np.where(rng.random(ROWS) < 0.1, np.nan, rng.random(ROWS)),
            "d": rng.random(ROWS) > 0.5,
            "y": rng.choice(["red", "green", "blue"], ROWS),
        }
    )
    table = pa.Table.from_pandas(frame, preserve_index=False)
    coded = table.set_column(4, "y", table.column("y").dictionary_encode())
    numbers = frame.assign(d=frame.d.astype(int), y=rng.integers(0, 3, ROWS)).fillna(0)
    csv = frame.to_csv(index=False).encode()
    quoted = frame.to_csv(index=False, quoting=1).encode()
    text = frame.fillna(0).to_csv(index=False, header=False).encode()
    header = b"@attribute a real\n@attribute b real\n@attribute c real\n@attribute d {True,False}\n"
    arff = header + b"@attribute y {red,green,blue}\n@data\n" + text
    lines = [
        f"{y} " + " ".join(f"{j}:{v}" for j, v in enumerate(values, 1) if v)
        for *values, y in numbers.itertuples(index=False)
    ]
    libsvm = ("\n".join(lines) + "\n").encode()
    made: dict[str, bytes | Callable[[str], object]] = {
        "t.csv": csv,
        "quoted.csv": quoted,
        "t.tsv": csv.replace(b",", b"\t"),
        "t.csv.gz": gzip.compress(csv, mtime=0),
        "t.csv.bz2": bz2.compress(csv),
        "t.arff": arff,
        "quoted.arff": arff.replace(b"red", b"'re d'"),
        "t.libsvm": libsvm,
        "t.libsvm.gz": gzip.compress(libsvm, mtime=0),
        "t.parquet": lambda path: parquet.write_table(table, path, row_group_size=25),
        "plain.parquet": lambda path: parquet.write_table(
            coded, path, compression="none", use_dictionary=False, write_page_checksum=True
        ),
        "v2.parquet": lambda path: parquet.write_table(
            table,
            path,
            compression="zstd",
            data_page_version="2.0",
            use_byte_stream_split=["a"],
            use_dictionary=["y"],
        ),
        "t.feather": lambda path: feather.write_feather(table, path, chunksize=25),
        "coded.feather": lambda path: feather.write_feather(coded, path, compression="zstd"),
        "t.arrow": lambda path: feather.write_feather(coded, path, compression="uncompressed", chunksize=25),
        "t.arrows": lambda path: _stream(coded, path),
        "t.npy": lambda path: np.save(path, frame.assign(y=frame.y.astype("S5")).to_records(index=False)),
        "text.npy": lambda path: np.save(path, frame.assign(y=frame.y.astype("U5")).to_records(index=False)),
        "t.npz": lambda path: np.savez(path, X=numbers.to_numpy(), y=frame.y.to_numpy().astype("U5")),
        "deflated.npz": lambda path: np.savez_compressed(
            path, X=np.asfortranarray(numbers), y=frame.y.to_numpy().astype("U5"), feature_names=list("abcdz")
        ),
    }
    for name, content in made.items():
        if isinstance(content, bytes):
            (folder / name).write_bytes(content)
        else:
            content(str(folder / name))
    return [folder / name for name in made]


def _stream(table: pa.Table, path: str) -> None:
    with ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=25)


def mutated(content: bytes, rng: random.Random) -> bytes:
    """Return a file with a few changes: bits, bytes, whole words, cuts, copies and pieces of text."""
    data = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 4, 16])):
        at = rng.randrange(len(data) + 1) if data else 0
        kind = rng.randrange(8)
        if kind <= 1 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 2 and at < len(data):
            data[at] = rng.choice([*INTERESTING, rng.randrange(256)])
        elif kind == 3:
            word = rng.choice(WORDS)
            data[at : at + len(word)] = word
        elif kind == 4:
            del data[at : at + rng.choice([1, 2, 8, 100, len(data)])]
        elif kind == 5:
            data[at:at] = data[at : at + rng.choice([1, 8, 100])] * rng.choice([1, 3, 50])
        elif kind == 6:
            data[at:at] = rng.choice(TEXT) * rng.choice([1, 1, 30])
        else:
            data[at : at + 1] = bytes(rng.randrange(256) for _ in range(rng.choice([1, 4, 16])))
    return bytes(data)


def reduced(content: bytes, sound: bytes, fails: Callable[[bytes], bool]) -> bytes:
    """Return a smaller file that fails too: bytes put back to the sound ones, then pieces cut out."""
    if len(content) == len(sound):
        for at in [i for i in range(len(content)) if content[i] != sound[i]]:
            fewer = content[:at] + sound[at : at + 1] + content[at + 1 :]
            content = fewer if fails(fewer) else content
    size = max(1, len(content) // 2)
    tries = 0
    while size and tries < 200:
        for at in range(0, len(content), size):
            tries += 1
            shorter = content[:at] + content[at + size :]
            if len(shorter) < len(content) and fails(shorter):
                content = shorter
                break
        else:
            size //= 2
    return content


def learn(path: str) -> int:
    """Learn a file, by its last column; return ``CLEAN`` if all went well or the error was a clean one."""
    from sefr import SEFRClassifier
    from sefr.files import SourceError, open_dataset
    from sefr.files.learning import evaluate_model, learn

    try:
        rows = open_dataset([path])
        label = "label" if "libsvm" in path else rows.label_name(list(rows.columns)[-1])
        recipe = rows.recipe(label, categories=["all"])
        summary = learn(rows, recipe, missing="ignore")
        evaluate_model(rows, recipe, SEFRClassifier.from_summary(summary, missing="ignore"))
    except SourceError:
        return CLEAN
    except ValueError as error:  # of the classifier: too large to be summed, one class only
        return CLEAN if type(error) is ValueError else _faulty(error)
    except BaseException as error:
        return _faulty(error)
    return CLEAN


def _faulty(error: BaseException) -> int:
    print(f"{type(error).__name__}: {error}"[:500], file=sys.stderr)
    return FAULTY


def attempt(path: str, content: bytes, *, seconds: int = 20, memory: int = 4 << 30) -> int:
    """Learn a content in a fork of this process; return its exit code, below 0 for a signal.

    ``SIGXCPU`` says that it took too long. The fork has all libraries already, so that it takes milliseconds.
    """
    child = os.fork()
    if not child:
        code = FAULTY
        try:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            signal.alarm(20 * seconds)  # for one that waits
            Path(path).write_bytes(content)
            code = learn(path)
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def campaign(folder: Path, seconds: float, seed: int) -> Iterator[tuple[str, int, bytes, int]]:
    """Yield the failures of mutated files, reduced: name, seed, content and exit code.

    Every format gets its turn; each mutation has its own seed, so that it can be made again.
    """
    files = [(path.name, path.read_bytes()) for path in samples(folder)]
    trial = folder / "mutated"
    trial.mkdir()
    for name, content in files:
        path = str(trial / name)
        if code := attempt(path, content):
            yield name, -1, content, code
    ends, tried = time.monotonic() + seconds, 0
    while time.monotonic() < ends:
        name, content = files[tried % len(files)]
        path = str(trial / name)
        once = mutated(content, random.Random(seed + tried))
        if code := attempt(path, once):
            small = reduced(once, content, lambda data, path=path, code=code: attempt(path, data) == code)  # type: ignore[misc]
            yield name, seed + tried, small, code
        tried += 1
    print(f"{tried} mutated files, seeds {seed} to {seed + tried - 1}")


def main() -> int:
    """Run a campaign in a process of its own: folder, seconds, seed. The exit code says whether it failed."""
    folder, seconds, seed = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])

    import sefr.files.learning  # noqa: F401 - once, not in every fork

    failures = 0
    for name, at, content, code in campaign(folder, seconds, seed):
        failures += 1
        kept = folder / f"failure-{at}-{name}"
        kept.write_bytes(content)
        how = signal.Signals(-code).name if code < 0 else "not a clean error"
        print(f"{name}, seed {at}: {how}; the smallest file found: {kept} ({len(content)} bytes)")
        if failures >= 5:
            break
    return 1 if failures else 0


if __name__ == "__main__":
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    sys.exit(main())
