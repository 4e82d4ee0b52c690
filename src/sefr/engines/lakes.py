"""Delta and Iceberg tables, read through their own metadata: the bare files hold rows that were deleted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from .._system.installation import install_line
from .error import EngineError, engine_errors

EXTRAS = {"delta": "deltalake", "iceberg": "pyiceberg"}


def lake_format(folder: Path) -> str | None:
    """Say whether a folder is a Delta or an Iceberg table; None if it is neither."""
    if (folder / "_delta_log").is_dir():
        return "delta"
    if (folder / "metadata").is_dir() and any((folder / "metadata").glob("*.metadata.json")):
        return "iceberg"
    return None


def refuse_part_of_lake(file: Path) -> None:
    """Raise an error for a file that belongs to a Delta or Iceberg table: it may hold deleted rows."""
    for folder in file.resolve().parents:
        kind = lake_format(folder)
        if kind is not None:
            raise EngineError(
                f"{kind}: {file} is a part of the {kind.capitalize()} table {folder}, whose files also hold "
                "rows that were deleted: name the folder"
            )


def refuse_part_of_remote_lake(system: Any, files: Sequence[str]) -> None:
    """Raise an error if one of these files of fsspec belongs to a Delta or Iceberg table."""
    folders = {str(folder) for file in files for folder in PurePosixPath(file).parents if folder.name}
    for folder in sorted(folders):
        kind = "delta" if system.exists(f"{folder}/_delta_log") else None
        if kind is None and system.glob(f"{folder}/metadata/*.metadata.json"):
            kind = "iceberg"
        if kind is not None:
            raise EngineError(
                f"{kind}: {folder} is a {kind.capitalize()} table, whose files also hold rows that were "
                f"deleted: open it with {EXTRAS[kind]}, and pass Arrow data to Summary.of_frame"
            )


def open_lake(folder: Path, kind: str) -> Any:
    """Return the rows that a Delta or Iceberg table holds now, as Arrow data."""
    try:
        return _delta(folder) if kind == "delta" else _iceberg(folder)
    except ImportError:
        raise EngineError(
            f"{kind}: {folder} is a {kind.capitalize()} table: {install_line('lake')} reads it "
            f"({EXTRAS[kind]})"
        ) from None


def _delta(folder: Path) -> Any:
    from deltalake import DeltaTable

    with engine_errors("delta", f"open {folder}"):
        return DeltaTable(str(folder)).to_pyarrow_dataset()


def _iceberg(folder: Path) -> Any:
    from pyiceberg.table import StaticTable

    with engine_errors("iceberg", f"open {folder}"):
        return StaticTable.from_metadata(str(_latest(folder))).scan().to_arrow_batch_reader()


def _latest(folder: Path) -> Path:
    """Return the metadata file of the current version: the hinted one, or the highest number."""
    metadata = folder / "metadata"
    hint = metadata / "version-hint.text"
    if hint.is_file() and (named := metadata / f"v{hint.read_text().strip()}.metadata.json").is_file():
        return named

    def version(path: Path) -> int:
        digits = path.name.removeprefix("v").split("-")[0].split(".")[0]
        return int(digits) if digits.isdigit() else -1

    return max(metadata.glob("*.metadata.json"), key=version)
