"""Which reader a file needs: told by its name, by its first bytes, or by the user."""

from __future__ import annotations

import atexit
import glob
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from .arff_file import ArffPart
from .arrow_file import ArrowPart
from .csv_file import CsvPart
from .libsvm_file import LibsvmPart
from .numpy_file import NumpyPart
from .parquet_file import ParquetPart
from .part import Part, SourceError
from .stream import Stream, name_of, spooled
from .table import Table

FORMATS = ("csv", "tsv", "parquet", "arrow", "numpy", "arff", "libsvm")
ENDINGS = {
    ".csv": "csv",
    ".txt": "csv",
    ".data": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "arrow",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".ipc": "arrow",
    ".npy": "numpy",
    ".npz": "numpy",
    ".arff": "arff",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".svm": "libsvm",
}
MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\x93NUMPY": "numpy", b"PK\x03\x04": "numpy"}
COMPRESSED = (".gz", ".zst", ".zstd", ".bz2")
SEEKING: dict[str, Callable[[str, str], Part]] = {
    "parquet": ParquetPart,
    "arrow": ArrowPart,
    "numpy": NumpyPart,
}


def open_table(
    paths: Sequence[str],
    *,
    format: str | None = None,
    delimiter: str | None = None,
    header: bool = True,
    again: bool = False,
) -> Table:
    """Open files, folders and globs, "-" for standard input, as one table.

    ``again`` says that the rows will be read more than once, for which standard input is copied to disk.
    """
    parts = [
        _part(path, format, delimiter, header=header, again=again)
        for given in paths
        for path in _expanded(given)
    ]
    return Table(parts)


def _expanded(given: str) -> list[str]:
    """Return the files that a path stands for, in order."""
    if given == "-" or os.path.isfile(given):
        return [given]
    if os.path.isdir(given):
        found = sorted(str(p) for p in Path(given).rglob("*") if p.is_file() and _ending(str(p)) is not None)
        if not found:
            raise SourceError(f"{given}: no data file in this folder ({', '.join(ENDINGS)})")
        return found
    if glob.has_magic(given):
        found = sorted(path for path in glob.glob(given, recursive=True) if os.path.isfile(path))
        if not found:
            raise SourceError(f"{given}: no file matches")
        return found
    if os.path.exists(given):
        return [given]
    raise SourceError(f"{given}: no such file or folder")


def _ending(path: str) -> str | None:
    name = path.lower()
    for compressed in COMPRESSED:
        name = name.removesuffix(compressed)
    return ENDINGS.get(os.path.splitext(name)[1])


def _part(path: str, given: str | None, delimiter: str | None, *, header: bool, again: bool) -> Part:
    kind = given or (_ending(path) if path != "-" else None) or _by_content(path)
    source = path
    if path == "-" and (again or kind in SEEKING or kind == "libsvm"):
        source = spooled(path)
        atexit.register(_remove, source)
    if kind in SEEKING:
        if path != "-" and not os.path.isfile(source):
            raise SourceError(f"{name_of(path)}: a {kind} file must be a regular file")
        return SEEKING[kind](source, name_of(path))
    if kind == "libsvm":
        return LibsvmPart(source, name_of(path))
    if kind == "arff":
        return ArffPart(source)
    return CsvPart(source, delimiter=delimiter or ("\t" if kind == "tsv" else None), header=header)


def _by_content(path: str) -> str:
    if path == "-":  # its bytes must not be lost
        buffer: Any = sys.stdin.buffer
        start = buffer.peek(8)[:8]
    else:
        with Stream(path) as stream:
            start = stream.head(8)
    return next((kind for magic, kind in MAGIC.items() if start.startswith(magic)), "csv")


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)
