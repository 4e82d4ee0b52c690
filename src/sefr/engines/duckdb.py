"""A Summary of files that do not fit in memory: DuckDB reads them, in parallel and a piece at a time."""

from __future__ import annotations

from collections.abc import Sequence
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._summary.summary import Summary
from .error import EngineError, spoken_by
from .frames import summary_of_frame

if TYPE_CHECKING:
    import duckdb

ENGINE = "duckdb"
READERS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".ndjson": "json",
    ".jsonl": "json",
}


def summary_of_files(
    paths: str | Path | Sequence[str | Path],
    label: str,
    features: Sequence[str] | None = None,
    weight: str | None = None,
    *,
    missing: str = "error",
    memory_limit: str | None = None,
    threads: int | None = None,
) -> Summary:
    """Return the Summary of the rows of Parquet, CSV or JSON files (also .csv.gz), by name or pattern.

    ``memory_limit`` (such as "2GB") and ``threads`` are DuckDB's; by default 80 % of memory and all cores.
    """
    import duckdb

    files = _files([paths] if isinstance(paths, str | Path) else paths)
    settings: dict[str, Any] = {"memory_limit": memory_limit, "threads": threads}
    with spoken_by(ENGINE, "start"):
        connection = duckdb.connect(
            config={key: value for key, value in settings.items() if value is not None}
        )
    with connection:
        connection.execute("SET enable_progress_bar = false")  # it would write to standard output
        relation = _relation(connection, files)
        return summary_of_frame(relation, label, features, weight, missing=missing)


def _files(paths: Sequence[str | Path]) -> list[str]:
    files: list[str] = []
    for path in map(str, paths):
        found = [path] if Path(path).is_file() else sorted(glob(path, recursive=True))
        if not found:
            raise EngineError(f"{ENGINE}: there is no file {path}")
        files += found
    if not files:
        raise EngineError(f"{ENGINE}: there are no files to read")
    return files


def _relation(connection: duckdb.DuckDBPyConnection, files: list[str]) -> Any:
    kinds = {_reader(file) for file in files}
    if len(kinds) > 1:
        raise EngineError(f"{ENGINE}: the files are of different kinds: {', '.join(sorted(kinds))}")
    (kind,) = kinds
    read = {"parquet": connection.read_parquet, "csv": connection.read_csv, "json": connection.read_json}[
        kind
    ]
    _refuse_other_columns(read, files)
    with spoken_by(ENGINE, f"read {files[0]}" if len(files) == 1 else f"read {len(files)} files"):
        return read(files)


def _reader(file: str) -> str:
    suffixes = [suffix for suffix in Path(file).suffixes if suffix not in {".gz", ".zst"}]
    if not suffixes or suffixes[-1].lower() not in READERS:
        raise EngineError(f"{ENGINE}: {file} is none of {', '.join(READERS)}")
    return READERS[suffixes[-1].lower()]


def _refuse_other_columns(read: Any, files: list[str]) -> None:
    """Raise an error that names the first file, and the column, that differs from the first file's."""
    first: list[str] | None = None
    for file in files:
        with spoken_by(ENGINE, f"read {file}"):
            names = list(read(file).columns)
        if first is None:
            first = names
        elif names != first:
            odd = next(
                (name for name in [*first, *names] if name not in first or name not in names), names[0]
            )
            where = (
                "lacks" if odd not in names else "has also" if odd not in first else "has in another place"
            )
            raise EngineError(f"{ENGINE}: {file} {where} column {odd!r}, unlike {files[0]}")
