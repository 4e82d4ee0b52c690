"""Which reader a file needs: told by its name, by its first bytes, or by the user."""

from __future__ import annotations

import codecs
import glob
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from .arff_file import ArffReader
from .arrow_file import ArrowReader
from .csv_file import CsvReader
from .dataset import Dataset
from .libsvm_file import LibsvmReader
from .numpy_file import NumpyReader
from .parquet_file import ParquetReader
from .reader import Reader, SourceError
from .source import Source

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
# Spreadsheets, which are named so that nobody must guess what is wrong with them.
SPREADSHEETS = {".xlsx": "Excel", ".xls": "Excel", ".xlsm": "Excel", ".xlsb": "Excel", ".ods": "OpenDocument"}
JSON = (".json", ".jsonl", ".ndjson")
MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\x93NUMPY": "numpy", b"PK\x03\x04": "numpy"}
COMPRESSED = (".gz", ".zst", ".zstd", ".bz2")
BINARY: dict[str, Callable[[Source], Reader]] = {
    "parquet": ParquetReader,
    "arrow": ArrowReader,
    "numpy": NumpyReader,
}
REREAD = (*BINARY, "libsvm")  # formats that are read twice or out of order


def open_dataset(
    paths: Sequence[str],
    *,
    format: str | None = None,
    delimiter: str | None = None,
    header: bool = True,
    reread: bool = False,
    encoding: str | None = None,
    decimal: str | None = None,
    usual_encoding: str | None = None,
    dates: Mapping[str, str] | None = None,
) -> Dataset:
    r"""Open files, folders and globs, "-" for standard input, as one dataset.

    ``reread`` says that the rows will be read more than once, for which a pipe is copied to disk. Text is
    UTF-8 unless ``encoding`` names another; ``usual_encoding`` is taken for text that does not begin as
    UTF-8. ``decimal`` is the decimal point of CSV; without it, decimal commas are noticed. ``dates`` are the
    columns of dates that a model has the parts of, and how each is written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sefr.files import open_dataset
    >>> path = Path(tempfile.mkdtemp()) / "rain.csv"
    >>> _ = path.write_text("humidity,pressure,rain\n8,1,no\n9,3,yes\n")
    >>> list(open_dataset([str(path)]).columns)
    ['humidity', 'pressure', 'rain']
    """
    found = [path for given in paths for path in _expanded(given)]
    sources = [Source(path, None if (format or _ending(path)) in BINARY else encoding) for path in found]
    pipes = [source.path for source in sources if source.once]
    if twice := next((path for path in pipes if pipes.count(path) > 1), None):
        raise SourceError(f"{Source(twice).name} is given twice, but can be read only once")
    readers = []
    for source in sources:
        if format is None:
            _refuse_other(source)
        kind = format or _ending(source.path) or _by_content(source)
        if kind in ("csv", "tsv") and encoding is None and usual_encoding and not _begins_as_utf8(source):
            source = _recoded(source, usual_encoding)
        if source.once and (reread or kind in REREAD):
            source.spool()
        readers.append(_reader(source, kind, delimiter, header=header, decimal=decimal))
        source.release()
    found_rows = Dataset(readers)
    found_rows.split_dates(dates or {})
    return found_rows


def refuse_table_format(folder: str) -> None:
    """Refuse a folder of Delta Lake or Iceberg: its own log says which of its Parquet files count.

    Read as bare Parquet files, rows that were deleted or replaced would count too.
    """
    at = Path(folder)
    if (at / "_delta_log").is_dir():
        raise SourceError(
            f"{folder}: a Delta Lake table; its Parquet files also hold deleted rows: read it with the "
            "package deltalake (DeltaTable(...).to_pyarrow_table()) or DuckDB's delta_scan"
        )
    if next(at.glob("metadata/*.metadata.json"), None) is not None:
        raise SourceError(
            f"{folder}: an Iceberg table; its Parquet files also hold deleted rows: read it with the package "
            "pyiceberg (table.scan().to_arrow()) or DuckDB's iceberg_scan"
        )


def _expanded(given: str) -> list[str]:
    """Return the files that a path stands for, in order."""
    if given == "-" or os.path.isfile(given):
        return [given]
    if os.path.isdir(given):
        return _in_folder(given)
    if glob.has_magic(given):
        found = sorted(path for path in glob.glob(given, recursive=True) if os.path.isfile(path))
        if not found:
            raise SourceError(f"{given}: no file matches")
        for folder in {os.path.dirname(path) or "." for path in found}:
            refuse_table_format(folder)
        return found
    if os.path.exists(given):
        return [given]
    if os.path.islink(given):
        raise SourceError(f"{given}: a symbolic link that leads to no file")
    raise SourceError(f"{given}: no such file or folder")


def _in_folder(folder: str) -> list[str]:
    """Return the data files of a folder and the folders in it; a link to a folder is not followed."""
    found = []
    for at, _folders, names in os.walk(folder):
        refuse_table_format(at)
        paths = [os.path.join(at, name) for name in names]
        found += [path for path in paths if _ending(path) is not None and os.path.isfile(path)]
    if not found:
        raise SourceError(f"{folder}: no data file in this folder ({', '.join(ENDINGS)})")
    return sorted(found)


def _ending(path: str) -> str | None:
    name = path.lower()
    for compressed in COMPRESSED:
        name = name.removesuffix(compressed)
    return ENDINGS.get(os.path.splitext(name)[1])


def _by_content(source: Source) -> str:
    start = source.peek(8)
    return next((kind for magic, kind in MAGIC.items() if start.startswith(magic)), "csv")


def _refuse_other(source: Source) -> None:
    """Refuse a workbook by name, which may have many sheets and anything around its table; and JSON."""
    ending = os.path.splitext(source.path.lower())[1]
    if ending in JSON:
        raise SourceError(
            f"{source.name}: JSON is read by sefr train --engine duckdb alone; elsewhere give CSV or Parquet"
        )
    kind = SPREADSHEETS.get(ending)
    if kind is None and not source.once:
        start = source.peek(1 << 12)
        if start.startswith(b"PK\x03\x04") and b"[Content_Types].xml" in start:
            kind = "Excel"
    if kind is not None:
        raise SourceError(
            f"{source.name}: an {kind} workbook, which is not read: save the "
            "sheet as CSV (in Excel: Save as, CSV UTF-8) and give that file"
        )


def _begins_as_utf8(source: Source) -> bool:
    start = source.peek(1 << 19)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return False
    return True


def _recoded(source: Source, encoding: str) -> Source:
    """Return the same bytes as text in another encoding; a pipe is copied first, since it was looked at."""
    if source.once:
        source.spool()
    source.release()
    source.encoding = encoding
    return source


def _reader(
    source: Source, kind: str, delimiter: str | None, *, header: bool, decimal: str | None = None
) -> Reader:
    if kind in BINARY:
        return BINARY[kind](source)
    if kind == "libsvm":
        return LibsvmReader(source)
    if kind == "arff":
        return ArffReader(source)
    between = delimiter or ("\t" if kind == "tsv" else None)
    return CsvReader(source, delimiter=between, header=header, decimal=decimal)
