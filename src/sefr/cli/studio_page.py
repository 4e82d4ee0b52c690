"""A copy of the studio's page with a table in it."""

from __future__ import annotations

import base64
import gzip
import html
import io
import tempfile
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pyarrow as pa
from pyarrow import csv as arrow_csv

from .._system.atomic_file import atomic_file
from ..files import Dataset, SourceError
from ..files.reader import NUMBER, OTHER, TEXT
from . import options
from .screen import Screen

PAGE = Path(__file__).parents[1] / "studio" / "studio.html"
PLACE = b"<noscript>"  # what the page reads stands before it
AS_THEY_ARE = frozenset([".csv", ".tsv", ".txt"])  # so that messages in the page name the file's own lines
MOST_BYTES = 256 << 20  # of the table as CSV: a page that holds more takes a browser long to open


def show(
    screen: Screen, data: str | None, reading: options.ReadingOptions, label: str | None, output: str | None
) -> None:
    """Open the page, or write it; with data, a copy that holds them."""
    if output is not None:
        output = options.output_path(output)
    content = PAGE.read_bytes()
    name = ""
    if data is not None:
        table = reading.open([data])
        if label is not None:
            label = table.label_name(label)
        plain = reading.is_plain and Path(data).suffix.lower() in AS_THEY_ARE
        name = Path(data).name if plain else f"{Path(data).stem if data != '-' else 'data'}.csv"
        content = with_data(content, name, _bytes_of(data) if plain else as_csv(table))
    if output is None:
        path = PAGE if data is None else _written(content, name)
        words = f"#{urlencode({'label': label})}" if label is not None else ""
        opened = webbrowser.open(path.as_uri() + words)
    else:
        path, opened = Path(output), False
        with atomic_file(path) as file:
            file.write(content)
    screen.line(f"{path}: {'opened' if opened else 'open it in a browser'}")
    screen.json({"page": str(path), "bytes": len(content), "opened": opened})


def with_data(page: bytes, name: str, table: bytes) -> bytes:
    """Return the page with a table in it, compressed, as text that is no program."""
    text = base64.b64encode(gzip.compress(table, mtime=0)).decode("ascii")
    given = f'<script type="text/plain" id="given" data-name="{html.escape(name)}">{text}</script>\n'
    before, place, after = page.partition(PLACE)
    if not place:
        raise ValueError(f"{PAGE}: the page is damaged; reinstall sefr")
    return before + given.encode() + place + after


def as_csv(table: Dataset) -> bytes:
    """Return the rows of files as one CSV; columns that no model can use, such as lists, are left out."""
    wanted = {
        name: TEXT if kind == TEXT or not table.typed else NUMBER
        for name, kind in table.columns.items()
        if kind != OTHER
    }
    if table.sparse or not wanted:
        raise SourceError(f"{table.readers[0].name}: the page takes tables of columns, not sparse rows")
    out = io.BytesIO()
    for number, rows in enumerate(_tables(table, wanted)):
        arrow_csv.write_csv(rows, out, arrow_csv.WriteOptions(include_header=number == 0))
        if out.tell() > MOST_BYTES:
            raise _too_large(table.readers[0].name)
    return out.getvalue()


def _bytes_of(path: str) -> bytes:
    if Path(path).stat().st_size > MOST_BYTES:
        raise _too_large(path)
    return Path(path).read_bytes()


def _too_large(name: str) -> SourceError:
    return SourceError(
        f"{name}: too large to be put into a page: open sefr studio alone, and drop the file there"
    )


def _tables(table: Dataset, wanted: dict[str, str]) -> Iterator[pa.Table]:
    for batch in table.batches(wanted):
        yield batch.rows


def _written(content: bytes, name: str) -> Path:
    path = Path(tempfile.mkdtemp(prefix="sefr-studio-")) / f"{Path(name).stem}.html"
    path.write_bytes(content)
    return path
