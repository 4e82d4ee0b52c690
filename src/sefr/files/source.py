"""Where the bytes of a file come from: a regular file, or a pipe, which is opened and read once only."""

from __future__ import annotations

import codecs
import hashlib
import io
import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa

from .reader import SourceError, first_line

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2"}
CHUNK = 1 << 18
LONGEST_LINE = 1 << 26


class Source:
    """One file, "-" for standard input.

    ``once`` says that its bytes can be read a single time: it is a pipe, a socket or a device. What ``peek``
    has shown is not lost: ``open`` gives it again. ``spool`` makes a copy that can be read many times.
    Text in another ``encoding`` than UTF-8 is read as UTF-8.
    """

    def __init__(self, path: str, encoding: str | None = None) -> None:
        self.path = path
        self.encoding = encoding
        self.name = "standard input" if path == "-" else path
        self.once = path == "-" or not os.path.isfile(path)
        self._held: Stream | None = None
        self._taken = False

    @property
    def size(self) -> int | None:
        """Bytes of the file, None for a pipe."""
        return None if self.once else os.path.getsize(self.path)

    def peek(self, length: int) -> bytes:
        """Return the first bytes, decompressed, and leave them to be read."""
        if self._held is None:
            self._held = self._new_stream()
        return self._held.head(length)

    def open(self) -> Stream:
        """Return the content from its first byte; of a pipe, once."""
        stream, self._held = self._held, None
        return stream or self._new_stream()

    def digest(self) -> bytes:
        """Return the SHA-256 of the content, decompressed; of a pipe, after ``spool``."""
        total = hashlib.sha256()
        with self.open() as stream:
            while chunk := stream.read(CHUNK):
                total.update(chunk)
        return total.digest()

    def release(self) -> None:
        """Close the file between two readings, so that thousands of files can be one dataset."""
        if self._held is not None and not self.once:
            self._held.close()
            self._held = None

    def spool(self) -> None:
        """Copy a pipe to a temporary file, for what must be read twice or out of order."""
        handle, copy = tempfile.mkstemp(prefix="sefr-input-")
        weakref.finalize(self, _remove, copy)
        with os.fdopen(handle, "wb") as file, self.open() as stream:
            shutil.copyfileobj(io.BufferedReader(stream, CHUNK), file, CHUNK)
        self.path = copy
        self.encoding = None  # the copy is UTF-8
        self.once = self._taken = False

    def _new_stream(self) -> Stream:
        if self.once and self._taken:
            raise SourceError(f"{self.name} can be read only once here")
        self._taken = True
        return Stream(self.path, self.name, self.encoding)


class _Counted(io.RawIOBase):
    """A file that knows how much of it was read."""

    def __init__(self, raw: IO[bytes]) -> None:
        self.raw = raw
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        n: int = self.raw.readinto(buffer)  # type: ignore[attr-defined]
        self.count += n
        return n

    def close(self) -> None:
        if sys.stdin is None or self.raw is not sys.stdin.buffer:
            self.raw.close()
        super().close()


class Stream(io.RawIOBase):
    """The content of a file; gzip, zstd and bz2 decompressed.

    ``head(n)`` shows the next bytes without taking them away. With ``text``, a NUL byte is an error. Text in
    another ``encoding`` comes as UTF-8.
    """

    def __init__(self, path: str, name: str | None = None, encoding: str | None = None) -> None:
        self.name = name or path
        raw = _opened(path)
        self._counted = _Counted(raw)
        buffered = io.BufferedReader(self._counted, CHUNK)
        self._inner: Any = buffered
        try:
            start = buffered.peek(4)[:4]
        except OSError as error:
            raise SourceError(f"{self.name}: {_lower(error.strerror or str(error))}") from None
        compression = next((name for magic, name in COMPRESSIONS.items() if start.startswith(magic)), None)
        if compression:
            self._inner = pa.CompressedInputStream(buffered, compression)
        if encoding is not None:
            self._inner = _Recoded(self._inner, encoding)
        self._head = b""
        self._at = 0
        self.text = False
        self.quotes = 0  # double quotes handed out: an odd number means that one may not be closed

    @property
    def position(self) -> int:
        """Bytes of the file read so far, before decompression."""
        return self._counted.count

    def readable(self) -> bool:
        """Return True."""
        return True

    def head(self, length: int) -> bytes:
        """Return the next ``length`` bytes, or all there are, and leave them to be read again."""
        if self._at:
            self._head = self._head[self._at :]
            self._at = 0
        pieces, have = [self._head], len(self._head)
        while have < length and (more := self._take(length - have)):
            pieces.append(more)
            have += len(more)
        self._head = b"".join(pieces)
        return self._head[:length]

    def skip(self, length: int) -> None:
        """Leave out bytes that ``head`` has shown."""
        self._at += length

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer; return the number of bytes."""
        wanted = len(buffer)
        if self._at < len(self._head):
            data = self._head[self._at : self._at + wanted]
            self._at += len(data)
        else:
            self._head, self._at = b"", 0
            data = self._take(wanted)
        if self.text:
            self.quotes += data.count(b'"')
            if b"\0" in data:
                raise NulByteError(f"{self.name}: there is a NUL byte: this is not a text file")
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            self._inner.close()
            self._counted.close()
        super().close()

    def _take(self, length: int) -> bytes:
        try:
            return bytes(self._inner.read(length))
        except UnicodeDecodeError as error:
            raise SourceError(
                f"{self.name}: the text is not {error.encoding} (byte 0x{error.object[error.start]:02x})"
            ) from None
        except OSError as error:
            if error.errno is None:  # Arrow's: the compressed data is damaged or cut
                raise SourceError(
                    f"{self.name}: {_lower(first_line(error))}: the file is damaged or incomplete"
                ) from None
            raise SourceError(f"{self.name}: {_lower(error.strerror or str(error))}") from None


class _Recoded:
    """Text in some encoding, as UTF-8 without a byte order mark."""

    def __init__(self, inner: Any, encoding: str) -> None:
        self._inner = inner
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._pending = b""
        self._is_first = True

    def read(self, length: int) -> bytes:
        """Return up to ``length`` bytes; none at the end."""
        while not self._pending:
            data = bytes(self._inner.read(CHUNK))
            text = self._decoder.decode(data, final=not data)
            if self._is_first and text:
                text, self._is_first = text.removeprefix("\ufeff"), False
            self._pending = text.encode()
            if not data:
                break
        taken, self._pending = self._pending[:length], self._pending[length:]
        return taken

    def close(self) -> None:
        self._inner.close()


class NulByteError(SourceError):
    """A NUL byte in a text file."""


def lines_of(stream: Stream, chunk: int = CHUNK) -> Iterator[list[bytes]]:
    """Yield lists of whole lines, about ``chunk`` bytes each; a line without end is an error."""
    pending: list[bytes] = []
    pending_bytes = 0
    while data := stream.read(chunk):
        head, end, rest = data.rpartition(b"\n")
        if not end:
            pending.append(data)
            pending_bytes += len(data)
            if pending_bytes > LONGEST_LINE:
                raise SourceError(f"{stream.name}: a line is longer than {LONGEST_LINE >> 20} MB")
            continue
        yield io.BytesIO(b"".join([*pending, head, end])).readlines()
        pending, pending_bytes = [rest], len(rest)
    if last := b"".join(pending):
        yield [last]


def _opened(path: str) -> IO[bytes]:
    if path == "-":
        if sys.stdin is None or sys.stdin.closed:
            raise SourceError("standard input is closed")
        return sys.stdin.buffer
    try:
        return open(path, "rb", buffering=0)
    except OSError as error:
        raise SourceError(f"{path}: {_lower(error.strerror or str(error))}") from None


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
