"""What Arrow's threads are given to read: memory of Arrow's own, nothing of Python's.

Arrow's CSV reader reads ahead in threads of its own, which go on after the reader is dropped. A thread that
gives back a Python object, or asks one for more, while the interpreter ends makes the process abort
("terminate called without an active exception"); a reader that is dropped while such a thread waits for the
interpreter's lock never ends. So streams are read here, in parts that end with a row, and each part is copied
into Arrow's memory.
"""

from __future__ import annotations

import io
import re
from bisect import bisect_right
from collections.abc import Iterator

import pyarrow as pa

END_OF_LINE = (b"\n", b"\r")


def in_memory(data: bytes) -> pa.BufferReader:
    """Return a copy of some bytes that Arrow owns."""
    out = pa.BufferOutputStream()
    out.write(data)
    return pa.BufferReader(out.getvalue())


def whole_rows(stream: io.RawIOBase, size: int, delimiter: str) -> Iterator[bytes]:
    """Yield the rows of CSV text in parts of about ``size`` bytes; a row longer than two parts is an error.

    A line break within a quoted field ends no row.
    """
    quoted = re.compile(rb'(?<![^%s\r\n])"(?:[^"]+|"")*("?)' % re.escape(delimiter.encode()))
    rest = b""
    while part := _filled(stream, size):
        data = rest + part
        end = _end_of_rows(data, quoted) if len(part) == size else len(data)
        if not end and len(data) >= 2 * size:
            raise pa.ArrowInvalid(f"a row is longer than {size} bytes")
        if data[:end].strip():
            yield data[:end]
        rest = data[end:]
    if rest.strip():
        yield rest


def _filled(stream: io.RawIOBase, size: int) -> bytes:
    """Return so many bytes, fewer at the end of the stream."""
    pieces, have = [], 0
    while have < size and (piece := stream.read(size - have)):
        pieces.append(piece)
        have += len(piece)
    return b"".join(pieces)


def _end_of_rows(data: bytes, quoted: re.Pattern[bytes]) -> int:
    """Return where the last whole row ends, 0 if there is none; the last byte may be half of a line end."""
    last = len(data) - 1
    fields = list(quoted.finditer(data)) if b'"' in data else []
    if fields and not fields[-1][1]:  # it goes on in the next part
        last = fields.pop().start()
    starts = [field.start() for field in fields]
    at = _last_line_end(data, last)
    while at >= 0 and (number := bisect_right(starts, at) - 1) >= 0 and at < fields[number].end():
        at = _last_line_end(data, starts[number])
    return at + 1


def _last_line_end(data: bytes, before: int) -> int:
    return max(data.rfind(mark, 0, before) for mark in END_OF_LINE)
