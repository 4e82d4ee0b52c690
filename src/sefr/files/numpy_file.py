"""npy and npz, read a block of rows at a time; nothing is ever unpickled."""

from __future__ import annotations

import ast
import io
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.lib import format as npy
from numpy.typing import NDArray

from .part import NUMBER, OTHER, TEXT, Part, SourceError, batch_rows, checked_names

NAMES = ("feature_names", "columns", "names")


class NumpyPart(Part):
    """An npy or npz file.

    npy: a table (2-D), whose columns are called x0, x1, ..., or an array of records, whose fields have names.
    npz: one table and any columns (1-D arrays) beside it, such as ``X`` and ``y``; or columns only. The array
    ``feature_names``, where there is one, has the names of the table's columns.
    """

    def __init__(self, path: str, name: str | None = None) -> None:
        self.path = path
        self.name = name or path
        self.size = os.path.getsize(path)
        self._zip = zipfile.ZipFile(path) if zipfile.is_zipfile(path) else None
        try:
            self._arrays = self._headers()
        except (ValueError, OSError, zipfile.BadZipFile, EOFError) as error:
            raise SourceError(f"{self.name}: not an npy or npz file that can be read: {error}") from None
        self._columns = self._laid_out()
        checked_names(list(self._columns), self.name)
        self.columns = {name: self._kind(array.dtype, at) for name, (array, at) in self._columns.items()}
        self._n_rows = next(iter(self._arrays.values())).shape[0]
        self._seen = 0

    @property
    def position(self) -> int:
        return int((self.size or 0) * self._seen / max(1, self._n_rows))

    def batches(self, wanted: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
        self._seen = 0
        chosen = {name: self._columns[name] for name in (wanted or list(self._columns)[:1])}
        needed = {array.member: array for array, _at in chosen.values()}
        width = sum(array.width for array in needed.values())
        step = batch_rows(width)
        files = {member: self._opened(member) for member in needed}
        readers = {member: array.blocks(files[member], step) for member, array in needed.items()}
        try:
            while self._seen < self._n_rows:
                blocks = {member: next(reader) for member, reader in readers.items()}
                columns = [_column(blocks[array.member], at) for array, at in chosen.values()]
                self._seen += len(columns[0])
                if wanted:
                    yield pa.RecordBatch.from_arrays(columns, names=list(wanted))
                else:
                    yield pa.RecordBatch.from_struct_array(
                        pa.array([{}] * len(columns[0]), type=pa.struct([]))
                    )
        except (OSError, zipfile.BadZipFile, EOFError, StopIteration, ValueError) as error:
            raise SourceError(
                f"{self.place(self._seen)}: the file ends here or is damaged ({error})"
            ) from None
        finally:
            for file in files.values():
                file.close()

    def _headers(self) -> dict[str, _Array]:
        members = [""] if self._zip is None else [n for n in self._zip.namelist() if n.endswith(".npy")]
        arrays = {}
        for member in members:
            with self._opened(member) as file:
                arrays[member.removesuffix(".npy")] = _Array.at(member, file)
        if not arrays:
            raise ValueError("there is no array in it")
        return arrays

    def _opened(self, member: str) -> Any:
        if self._zip is None:
            return open(self.path, "rb")
        return self._zip.open(member)

    def _laid_out(self) -> dict[str, tuple[_Array, int | str | None]]:
        """Return every column: the array that has it and where in it."""
        names = next(
            (self._arrays.pop(n) for n in NAMES if n in self._arrays and len(self._arrays) > 1), None
        )
        columns: dict[str, tuple[_Array, int | str | None]] = {}
        tables = [name for name, array in self._arrays.items() if len(array.shape) == 2]
        if len(tables) > 1:
            raise SourceError(f"{self.name}: more than one table: {', '.join(tables)}; keep one 2-D array")
        lengths = {name or "array": array.shape for name, array in self._arrays.items()}
        if any(len(shape) not in (1, 2) for shape in lengths.values()):
            raise SourceError(f"{self.name}: arrays must have one or two dimensions: {lengths}")
        if len({shape[0] for shape in lengths.values()}) > 1:
            raise SourceError(f"{self.name}: the arrays have different numbers of rows: {lengths}")
        for name, array in self._arrays.items():
            if array.dtype.names:
                columns |= {field: (array, field) for field in array.dtype.names}
            elif len(array.shape) == 1:
                columns[name or "x0"] = (array, None)
            else:
                columns |= {field: (array, j) for j, field in enumerate(self._field_names(names, array))}
        return columns

    def _field_names(self, names: _Array | None, table: _Array) -> list[str]:
        if names is None:
            return [f"x{j}" for j in range(table.shape[1])]
        with self._opened(names.member) as file:
            found = [str(name) for name in npy.read_array(file, allow_pickle=False).ravel()]
        if len(found) != table.shape[1]:
            raise SourceError(f"{self.name}: {len(found)} feature names for {table.shape[1]} columns")
        return found

    @staticmethod
    def _kind(dtype: np.dtype[Any], at: int | str | None) -> str:
        if isinstance(at, str):
            dtype = dtype[at]
        return NUMBER if dtype.kind in "iufb" else TEXT if dtype.kind in "US" else OTHER


class _Array:
    """What the header of an npy file says."""

    def __init__(
        self, member: str, shape: tuple[int, ...], dtype: np.dtype[Any], *, by_columns: bool
    ) -> None:
        self.member = member
        self.shape = shape
        self.dtype = dtype
        self.by_columns = by_columns and len(shape) == 2
        self.width = int(np.prod(shape[1:], dtype=int)) * max(1, len(dtype.names or ()))

    @classmethod
    def at(cls, member: str, file: IO[bytes]) -> _Array:
        version = npy.read_magic(file)
        readers: dict[Any, Any] = {
            (1, 0): npy.read_array_header_1_0,
            (2, 0): npy.read_array_header_2_0,
            (3, 0): _header_3_0,
        }
        if version not in readers:
            raise ValueError(f"npy version {version}")
        shape, by_columns, dtype = readers[version](file)
        if dtype.hasobject:
            raise ValueError(f"{member or 'the array'} holds Python objects, which are not read")
        if not shape:
            raise ValueError(f"{member or 'the array'} is a single value")
        return cls(member, shape, dtype, by_columns=by_columns)

    def blocks(self, file: IO[bytes], step: int) -> Iterator[NDArray[Any]]:
        """Yield blocks of rows."""
        with _seekable(file) if self.by_columns else file as file:
            _Array.at(self.member, file)
            if self.by_columns:
                yield from self._by_columns(file, step)
                return
            row_bytes = self.dtype.itemsize * int(np.prod(self.shape[1:], dtype=int))
            for start in range(0, self.shape[0], step):
                rows = min(step, self.shape[0] - start)
                data = file.read(rows * row_bytes)
                if len(data) != rows * row_bytes:
                    raise EOFError("too few bytes")
                yield np.frombuffer(data, dtype=self.dtype).reshape(rows, *self.shape[1:])

    def _by_columns(self, file: IO[bytes], step: int) -> Iterator[NDArray[Any]]:
        """Yield rows of an array stored column by column: a piece of each column at a time."""
        start = file.tell()
        height, width = self.shape
        for first in range(0, height, step):
            rows = min(step, height - first)
            block = np.empty((rows, width), dtype=self.dtype, order="F")
            for j in range(width):
                file.seek(start + (j * height + first) * self.dtype.itemsize)
                data = file.read(rows * self.dtype.itemsize)
                if len(data) != rows * self.dtype.itemsize:
                    raise EOFError("too few bytes")
                block[:, j] = np.frombuffer(data, dtype=self.dtype)
            yield block


def _seekable(file: IO[bytes]) -> IO[bytes]:
    """Return a file whose parts can be read in any order: a copy on disk if it is compressed."""
    if isinstance(file, io.BufferedReader):
        return file
    copy = tempfile.TemporaryFile(prefix="sefr-")  # noqa: SIM115
    with file:
        shutil.copyfileobj(file, copy, 1 << 18)
    copy.seek(0)
    return copy


def _header_3_0(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read the header that numpy writes for field names beyond Latin-1; it has no reader for it in public."""
    length = int.from_bytes(file.read(4), "little")
    if length > 1 << 24:
        raise ValueError("the header is too long")
    try:
        header = ast.literal_eval(file.read(length).decode())
        return header["shape"], header["fortran_order"], npy.descr_to_dtype(header["descr"])
    except (SyntaxError, KeyError, TypeError) as error:
        raise ValueError(f"a damaged header: {error}") from None


def _column(block: NDArray[Any], at: int | str | None) -> pa.Array:
    values = block if at is None else block[at] if isinstance(at, str) else block[:, at]
    if values.dtype.kind == "S":
        values = values.astype("U")
    if values.dtype.kind == "U":
        return pa.array(values.tolist(), type=pa.string())
    if values.dtype.kind == "f" and values.dtype.itemsize not in (4, 8):
        values = values.astype(np.float64)
    return pa.array(np.ascontiguousarray(values.astype(values.dtype.newbyteorder("="), copy=False)))
