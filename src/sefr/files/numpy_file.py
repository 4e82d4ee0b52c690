"""npy and npz, read a block of rows at a time; nothing is ever unpickled.

A header may say anything, so every size that it claims is compared with the bytes that are there before
anything of that size is made.
"""

from __future__ import annotations

import ast
import math
import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.lib import format as npy

from .._system.types import Array
from .reader import (
    DAMAGE,
    NUMBER,
    OTHER,
    TEXT,
    Reader,
    SourceError,
    batch_rows,
    check_width,
    checked_names,
    first_line,
)
from .source import Source

NAMES = ("feature_names", "columns", "names")
LONGEST_HEADER = 1 << 22
MOST_ROW_BYTES = 1 << 26
READ_BYTES = 1 << 24
NAMES_BYTES = 1 << 28
LAST_CHARACTER = 0x10FFFF
# Deflate makes at most 1,032 bytes from one (zlib's documentation, "Maximum Compression Factor").
DEFLATE_RATIO = 1032
FAULTS = (*DAMAGE, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, StopIteration)
CHANGED = "the file was changed while it was read"
# Rows that are turned into columns at a time: their lines stay in the first cache.
TURNED_ROWS = 256
Place = int | str | None


class NumpyReader(Reader):
    """An npy or npz file.

    npy: a table (2-D), whose columns are called x0, x1, ..., or an array of records, whose fields have names.
    npz: one table and any columns (1-D arrays) beside it, such as ``X`` and ``y``; or columns only. The array
    ``feature_names``, if there is one, has the names of the table's columns.
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._seen = 0
        try:
            self._zip = zipfile.ZipFile(source.path) if zipfile.is_zipfile(source.path) else None
            self._arrays = self._headers()
            self._columns = self._laid_out()
        except SourceError:
            raise
        except FAULTS as error:
            raise SourceError(
                f"{self.name}: not an npy or npz file that can be read: {first_line(error)}"
            ) from None
        checked_names(list(self._columns), self.name)
        self.columns = {name: _kind(array.dtype, at) for name, (array, at) in self._columns.items()}
        self._n_rows = next(iter(self._arrays.values())).shape[0]

    @property
    def position(self) -> int:
        return int((self.size or 0) * self._seen / max(1, self._n_rows))

    def batches(self, wanted: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
        self._seen = 0
        chosen = {name: self._columns[name] for name in (wanted or list(self._columns)[:1])}
        needed = {array.member: array for array, _at in chosen.values()}
        step = batch_rows(sum(array.width for array in needed.values()))
        step = max(1, min(step, READ_BYTES // max(array.row_bytes for array in needed.values())))
        try:
            with ExitStack() as files:
                readers = {member: self._blocks(array, step, files) for member, array in needed.items()}
                while self._seen < self._n_rows:
                    blocks = {member: next(reader) for member, reader in readers.items()}
                    columns = [self._column(blocks[array.member], at) for array, at in chosen.values()]
                    self._seen += len(columns[0])
                    if wanted:
                        yield pa.RecordBatch.from_arrays(columns, names=list(wanted))
                    else:
                        yield pa.RecordBatch.from_struct_array(
                            pa.array([{}] * len(columns[0]), type=pa.struct([]))
                        )
        except SourceError:
            raise
        except FAULTS as error:
            raise SourceError(
                f"{self.place(self._seen)}: the file ends here or is damaged ({first_line(error)})"
            ) from None

    def _column(self, block: Array, at: Place) -> pa.Array:
        values = block if at is None else block[at] if isinstance(at, str) else block[:, at]
        if values.dtype.kind == "S":
            values = values.astype("U")
        if values.dtype.kind == "U":
            if (bad := _first_without_meaning(values)) is not None:
                raise SourceError(f"{self.place(self._seen + bad)}: damaged: a text is not Unicode")
            return pa.array(values.tolist(), type=pa.string())
        if values.dtype.kind == "f" and values.dtype.itemsize not in (4, 8):
            values = values.astype(np.float64)
        return pa.array(np.ascontiguousarray(values.astype(values.dtype.newbyteorder("="), copy=False)))

    def _headers(self) -> dict[str, _Array]:
        if self._zip is None:
            with open(self.source.path, "rb") as file:
                return {"": _Array.at("", file, self.size or 0)}
        members = [info for info in self._zip.infolist() if info.filename.endswith(".npy")]
        check_width(len(members), self.name)
        if not members:
            raise ValueError("there is no array in it")
        arrays = {}
        for info in members:
            self._check_sizes(info)
            with self._zip.open(info) as file:
                name = info.filename.removesuffix(".npy")
                arrays[name] = _Array.at(info.filename, file, info.file_size)
        return arrays

    def _check_sizes(self, info: zipfile.ZipInfo) -> None:
        """Compare what the directory of a zip file claims with what can be true."""
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{info.filename}: a compression that numpy does not write")
        ratio = DEFLATE_RATIO if info.compress_type == zipfile.ZIP_DEFLATED else 1
        if info.compress_size > (self.size or 0) or info.file_size > ratio * info.compress_size + ratio:
            raise ValueError(f"{info.filename}: it claims more bytes than the file can hold")

    def _blocks(self, array: _Array, step: int, files: ExitStack) -> Iterator[Array]:
        """Return the rows of an array, ``step`` at a time."""
        if self._zip is None and array.by_columns:
            return array.mapped_blocks(self.source.path, step)
        if self._zip is None:
            plain = files.enter_context(open(self.source.path, "rb"))  # noqa: SIM115
            if not array.is_like(_Array.at("", plain, os.fstat(plain.fileno()).st_size)):
                raise ValueError(CHANGED)
            plain.seek(0)
            return array.blocks(plain, step)
        file = files.enter_context(self._zip.open(array.member))
        if array.by_columns:  # its rows lie all over the file
            copy = files.enter_context(tempfile.NamedTemporaryFile(prefix="sefr-"))  # noqa: SIM115
            shutil.copyfileobj(file, copy, 1 << 18)
            copy.flush()
            return array.mapped_blocks(copy.name, step)
        return array.blocks(file, step)

    def _laid_out(self) -> dict[str, tuple[_Array, Place]]:
        """Return every column: the array that has it and where in it."""
        names = next(
            (self._arrays.pop(n) for n in NAMES if n in self._arrays and len(self._arrays) > 1), None
        )
        columns: dict[str, tuple[_Array, Place]] = {}
        tables = [name for name, array in self._arrays.items() if len(array.shape) == 2]
        if len(tables) > 1:
            raise SourceError(f"{self.name}: more than one table: {', '.join(tables)}; keep one 2-D array")
        shapes = {name or "array": array.shape for name, array in self._arrays.items()}
        if any(len(shape) not in (1, 2) for shape in shapes.values()):
            raise SourceError(f"{self.name}: arrays must have one or two dimensions: {_shown(shapes)}")
        if len({shape[0] for shape in shapes.values()}) > 1:
            raise SourceError(f"{self.name}: the arrays have different numbers of rows: {_shown(shapes)}")
        for name, array in self._arrays.items():
            if array.dtype.names:
                columns |= {field: (array, field) for field in array.dtype.names}
            elif len(array.shape) == 1:
                columns[name or "x0"] = (array, None)
            else:
                check_width(array.shape[1], self.name)
                columns |= {field: (array, j) for j, field in enumerate(self._field_names(names, array))}
        return columns

    def _field_names(self, names: _Array | None, table: _Array) -> list[str]:
        if names is None or self._zip is None:
            return [f"x{j}" for j in range(table.shape[1])]
        count = math.prod(names.shape)
        if count != table.shape[1]:
            raise SourceError(f"{self.name}: {count} feature names for {table.shape[1]} columns")
        if count * names.dtype.itemsize > NAMES_BYTES:
            raise SourceError(f"{self.name}: the feature names take more than {NAMES_BYTES >> 20} MB")
        with self._zip.open(names.member) as file:
            read = npy.read_array(file, allow_pickle=False).ravel()
        if (at := _first_without_meaning(read)) is not None:
            raise SourceError(f"{self.name}: feature name {at + 1} is not Unicode text")
        return [str(name) for name in read]


class _Array:
    """What the header of an npy file says."""

    def __init__(
        self, member: str, header: tuple[tuple[int, ...], bool, np.dtype[np.generic]], offset: int
    ) -> None:
        self.member = member
        self.shape, by_columns, self.dtype = header
        self.offset = offset
        self.by_columns = by_columns and len(self.shape) == 2
        self.width = math.prod(self.shape[1:]) * max(1, len(self.dtype.names or ()))
        self.row_bytes = max(1, self.dtype.itemsize * math.prod(self.shape[1:]))

    @classmethod
    def at(cls, member: str, file: IO[bytes], size: int) -> _Array:
        """Read a header; ``size`` is the number of bytes of the whole file, which must be what it claims."""
        what = member or "the array"
        header = _header(file)
        array = cls(member, header, file.tell())
        if array.dtype.hasobject:
            raise ValueError(f"{what} holds Python objects, which are not read")
        if not array.shape:
            raise ValueError(f"{what} is a single value")
        if min(array.shape) < 0 or array.dtype.itemsize == 0:
            raise ValueError(f"{what} has a shape or a type without bytes")
        if array.dtype.names and len(array.shape) > 1:
            raise ValueError(f"{what} is a table of records; only a list of records is read")
        there, claimed = size - array.offset, array.dtype.itemsize * math.prod(array.shape)
        if there != claimed:
            raise ValueError(f"{what} claims {claimed:,} bytes, but {there:,} are there")
        if array.row_bytes > MOST_ROW_BYTES:
            raise ValueError(f"a row of {what} takes more than {MOST_ROW_BYTES >> 20} MB")
        return array

    def mapped_blocks(self, path: str, step: int) -> Iterator[Array]:
        """Yield blocks of rows of a file by itself; it is mapped for each, so that memory stays bounded."""
        for start in range(0, self.shape[0], step):
            whole = np.load(path, mmap_mode="r", max_header_size=LONGEST_HEADER)
            if whole.shape != self.shape or whole.dtype != self.dtype:
                raise ValueError(CHANGED)
            yield np.array(whole[start : start + step])
            del whole

    def is_like(self, other: _Array) -> bool:
        """Say whether another header says the same."""
        return vars(self) == vars(other)

    def blocks(self, file: IO[bytes], step: int) -> Iterator[Array]:
        """Yield blocks of rows of a file, or of a member of an npz, from its first byte on."""
        file.read(self.offset)
        turned = len(self.shape) == 2 and self.dtype.kind in "iufb"
        data = bytearray()
        for start in range(0, self.shape[0], step):
            rows = min(step, self.shape[0] - start)
            if not turned or len(data) != rows * self.row_bytes:  # what was turned is a copy
                data = bytearray(rows * self.row_bytes)
            if file.readinto(data) != len(data):  # type: ignore[attr-defined]
                raise EOFError("too few bytes")
            block = np.frombuffer(data, dtype=self.dtype).reshape(rows, *self.shape[1:])
            yield _by_columns(block) if turned else block


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[np.generic]]:
    """Read a header; numpy's reader lets many kinds of error through for a damaged one."""
    version = npy.read_magic(file)
    try:
        shape, by_columns, dtype = _read_header(file, version)
    except Exception as error:
        raise ValueError(f"a damaged header: {first_line(error)}") from None
    if not isinstance(shape, tuple) or not all(type(n) is int for n in shape):
        raise ValueError("a damaged header: the shape")
    return shape, bool(by_columns), dtype


def _read_header(file: IO[bytes], version: tuple[int, int]) -> Any:
    if version == (1, 0):
        return npy.read_array_header_1_0(file, max_header_size=LONGEST_HEADER)
    if version == (2, 0):
        return npy.read_array_header_2_0(file, max_header_size=LONGEST_HEADER)
    if version != (3, 0):
        raise ValueError(f"npy version {version}")
    # Names beyond Latin-1: numpy has no reader for it in its public part.
    length = int.from_bytes(file.read(4), "little")
    if length > LONGEST_HEADER:
        raise ValueError("the header is too long")
    header = ast.literal_eval(file.read(length).decode())
    return header["shape"], header["fortran_order"], npy.descr_to_dtype(header["descr"])


def _kind(dtype: np.dtype[Any], at: Place) -> str:
    if isinstance(at, str):
        dtype = dtype[at]
    return NUMBER if dtype.kind in "iufb" else TEXT if dtype.kind in "US" else OTHER


def _by_columns(block: Array) -> Array:
    """Return a copy of a table with the values of each column side by side."""
    turned = np.empty_like(block, order="F")
    for start in range(0, len(block), TURNED_ROWS):
        turned[start : start + TURNED_ROWS] = block[start : start + TURNED_ROWS]
    return turned


def _shown(shapes: dict[str, tuple[int, ...]]) -> str:
    few = [f"{name} {shape}" for name, shape in list(shapes.items())[:8]]
    return ", ".join(few) + (f" and {len(shapes) - 8} more" if len(shapes) > 8 else "")


def _first_without_meaning(values: Array) -> int | None:
    """Return the first text that has a character beyond Unicode, or half of one: a damaged file."""
    if values.dtype.kind != "U" or not values.dtype.itemsize:
        return None
    points = np.ascontiguousarray(values).view(values.dtype.byteorder.replace("|", "=") + "u4")
    bad = ((points > LAST_CHARACTER) | ((points >= 0xD800) & (points < 0xE000))).reshape(len(values), -1)
    return int(np.argmax(bad.any(axis=1))) if bad.any() else None
