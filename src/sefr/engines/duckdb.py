"""A Summary of files that do not fit in memory: DuckDB reads them, in parallel and a piece at a time.

Files are Parquet, CSV or JSON, by name, pattern or folder; folders named key=value are columns. The columns
are found by name: every file must have those that are asked for, in any order, and may have others. A Delta
or Iceberg table is read through its own metadata.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._summary.summary import Summary
from .._system.installation import install_line
from .._system.types import Params
from .columns import choose_columns
from .dialects import literal
from .error import EngineError, engine_errors, one_line
from .frames import summary_of_frame
from .lakes import lake_format, open_lake, refuse_part_of_lake, refuse_part_of_remote_lake

if TYPE_CHECKING:
    import duckdb

ENGINE = "duckdb"
PATTERN = re.compile(r"[*?\[]")
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
    moments: int = 1,
    settings: Params | None = None,
) -> Summary:
    """Return the Summary of the rows of files (also .csv.gz), or of a Delta or Iceberg table.

    ``features`` None takes the columns of the first file but label and weight. ``missing`` and ``moments`` as
    for ``Summary.of``. ``settings`` are DuckDB's, such as ``{"memory_limit": "2GB", "threads": 2}``; by
    default it takes 80 % of memory and all cores.
    """
    import duckdb

    given = [paths] if isinstance(paths, str | Path) else list(paths)
    if len(given) == 1 and (kind := lake_format(Path(given[0]))) is not None:
        lake = open_lake(Path(given[0]), kind)
        return summary_of_frame(lake, label, features, weight, missing=missing, moments=moments)
    with engine_errors(ENGINE, "start"):
        connection = duckdb.connect(config=dict(settings or {}))
    with connection:
        connection.execute("SET enable_progress_bar = false")  # it would write to standard output
        relation, columns = _relation(connection, _files(connection, given), label, features, weight)
        return summary_of_frame(relation, label, columns, weight, missing=missing, moments=moments)


def _files(connection: duckdb.DuckDBPyConnection, paths: Sequence[str | Path]) -> list[str]:
    files: list[str] = []
    for path in map(str, paths):
        if "://" in path:
            found = _remote(connection, path)
        elif Path(path).is_dir():
            found = _in_folder(Path(path))
        else:
            found = [path] if Path(path).is_file() else sorted(glob(path, recursive=True))
        if not found:
            raise EngineError(f"{ENGINE}: there is no file {path}")
        files += found
    if not files:
        raise EngineError(f"{ENGINE}: there are no files to read")
    for file in files:
        if "://" not in file:
            refuse_part_of_lake(Path(file))
    return files


def exact_file(file: str) -> str:
    """Return the name of a file as a pattern of DuckDB's that only this file matches."""
    if file.startswith(("http://", "https://")):  # a question mark begins what a server is asked
        return file
    if file.startswith("~"):  # it would be a home folder
        file = f"./{file}"
    if PATTERN.search(file) and "\\" in file:
        raise EngineError(
            f"{ENGINE}: {file}: a name with a backslash and one of *?[ cannot be told from a pattern: rename "
            "it"
        )
    return PATTERN.sub(r"[\g<0>]", file)


def _in_folder(folder: Path) -> list[str]:
    """Return the files of a folder and its folders, without hidden ones and the marks of writers."""
    if (kind := lake_format(folder)) is not None:
        raise EngineError(f"{ENGINE}: {folder} is a {kind.capitalize()} table: read it by itself")
    found = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith((".", "_")))
    return sorted(str(path) for path in found)


def _remote(connection: duckdb.DuckDBPyConnection, path: str) -> list[str]:
    """Return the files that an address stands for; fsspec reads them for DuckDB."""
    protocol = path.split("://")[0]
    try:
        import fsspec

        system = _with_times(fsspec.filesystem(protocol))
    except (ImportError, ValueError) as error:
        raise EngineError(
            f"{ENGINE}: {path}: {install_line('remote')} reads addresses ({one_line(error)})"
        ) from None
    with engine_errors(ENGINE, f"read {path}"):
        connection.register_filesystem(system)
        if protocol in ("http", "https"):  # a web server lists nothing
            return [path]
        if system.isfile(path):
            found = [path.split("://", 1)[1]]
        elif system.isdir(path):
            names = sorted(system.find(path))
            found = [name for name in names if not name.rsplit("/", 1)[-1].startswith((".", "_"))]
        else:
            found = sorted(system.glob(path))
        refuse_part_of_remote_lake(system, found)
        return [name if "://" in name else f"{protocol}://{name.lstrip('/')}" for name in found]


def _with_times(system: Any) -> Any:
    """Return a file system that can say when a file was changed, which DuckDB asks; that of https cannot."""
    from fsspec import AbstractFileSystem

    kind = type(system)
    if kind.modified is not AbstractFileSystem.modified:
        return system

    class Timeless(kind):  # type: ignore[misc, valid-type]
        def modified(self, path: str) -> datetime:
            return datetime.fromtimestamp(0, UTC)

    return Timeless(*system.storage_args, **system.storage_options)


def _relation(
    connection: duckdb.DuckDBPyConnection,
    files: list[str],
    label: str,
    features: Sequence[str] | None,
    weight: str | None,
) -> tuple[Any, tuple[str, ...]]:
    """Return the rows of all files as one relation, and the columns of the features."""
    kinds = {_reader(file) for file in files}
    if len(kinds) > 1:
        raise EngineError(f"{ENGINE}: the files are of different kinds: {', '.join(sorted(kinds))}")
    function = f"read_{kinds.pop()}"

    def read(some: list[str]) -> Any:
        names = ", ".join(literal(exact_file(file)) for file in some)
        return connection.sql(f"FROM {function}([{names}], union_by_name=true, hive_partitioning=true)")

    first: tuple[str, ...] | None = None
    for file in files:
        with engine_errors(ENGINE, f"read {file}"):
            names = list(read([file]).columns)
        if first is None:
            first = choose_columns(f"{ENGINE}: {file}", names, label, features, weight).features
        else:
            try:
                choose_columns(f"{ENGINE}: {file}", names, label, first, weight)
            except EngineError as error:
                raise EngineError(f"{error}, unlike {files[0]}") from None
    with engine_errors(ENGINE, f"read {files[0]}" if len(files) == 1 else f"read {len(files)} files"):
        return read(files), first or ()


def _reader(file: str) -> str:
    suffixes = [suffix for suffix in Path(file).suffixes if suffix not in {".gz", ".zst"}]
    if not suffixes or suffixes[-1].lower() not in READERS:
        raise EngineError(f"{ENGINE}: {file} is none of {', '.join(READERS)}")
    return READERS[suffixes[-1].lower()]
