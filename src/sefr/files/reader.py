"""A Reader: one file of rows, whatever its format; its errors name the file and the place in it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from .source import Source

NUMBER, TEXT, OTHER = "number", "text", "other"
LABEL = "label"  # asked of a column of labels: as exact as the format has it
# The column of a sparse file: per row a list of entries, each an index and a value; others are zero.
ENTRIES = "\0entries"
# Arrow's types that are read as they are.
PLAIN = frozenset(
    kind.id
    for kind in (
        *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
        *(pa.float16(), pa.float32(), pa.float64(), pa.bool_(), pa.string()),
    )
)
# What other libraries raise for a damaged file.
DAMAGE = (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError)
CELLS = 1 << 18
WIDE_CELLS = 1 << 23
BATCH_ROWS = 1 << 16
MOST_COLUMNS = 1 << 20


class SourceError(ValueError):
    """Data that cannot be read, with the place: ``data.csv, line 17: expected 5 columns, found 4``.

    Examples
    --------
    >>> from sefr.files import SourceError, open_dataset
    >>> try:
    ...     open_dataset(["nowhere.csv"])
    ... except SourceError as error:
    ...     print(error)
    nowhere.csv: ...
    """


class EncodingError(SourceError):
    """Text in another encoding than UTF-8; ``advice`` is what the command adds for those who can give one."""

    def __init__(self, message: str, encoding: str = "cp1252") -> None:
        super().__init__(message)
        if encoding == "cp1252":
            self.advice = ": --encoding cp1252 reads what Excel writes in Western Europe"
        else:
            self.advice = f" (--encoding {encoding} reads it)"


class Reader(ABC):
    r"""One file.

    ``name`` is what messages call it, ``source`` where its bytes come from. ``columns`` has the name of every
    column and what it holds:
    ``NUMBER`` (integers, floats, booleans), ``TEXT``, or ``OTHER`` (dates, lists), which no model can use.
    ``typed`` says that the format itself tells "1" from 1; if it does not, labels of digits are integers.
    ``size`` is the number of bytes, if known, and ``position`` how many of them have been read. The rows of a
    ``sparse`` file come as one column, ``ENTRIES``, and that of the label.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sefr.files import open_dataset
    >>> path = Path(tempfile.mkdtemp()) / "rain.csv"
    >>> _ = path.write_text("humidity,rain\n8,no\n9,yes\n")
    >>> reader = open_dataset([str(path)]).readers[0]
    >>> reader.columns, reader.typed
    ({'humidity': 'number', 'rain': 'text'}, False)
    """

    name: str
    source: Source
    columns: dict[str, str]
    typed: bool = True
    sparse: bool = False
    size: int | None = None
    with_commas: Sequence[str] = ()  # columns whose numbers have decimal commas, which were noticed

    def __init__(self, source: Source) -> None:
        self.source, self.name, self.size = source, source.name, source.size

    @property
    @abstractmethod
    def position(self) -> int:
        """Bytes read so far."""

    @abstractmethod
    def batches(self, wanted: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the columns wanted, each column as numbers or as text, never all at once."""

    def place(self, record: int) -> str:
        """Return where the record is, counted from 0: "data.csv, line 17"."""
        return f"{self.name}, row {record + 1}"

    def absent_means_zero(self) -> bool:
        """Say whether a column that the file does not mention is zero throughout."""
        return False

    def describe_text(self, column: str) -> str:
        """Return an example of the text in a column, for a message: " ('red')", or nothing."""
        return ""

    def fault_of(self, column: str) -> str | None:
        """Return what must be put right before a column of ``OTHER`` values can be read; None if nothing."""
        return None


def kind_of(kind: pa.DataType) -> str:
    """Return what a column of an Arrow type holds."""
    if pa.types.is_dictionary(kind):
        return kind_of(kind.value_type)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return NUMBER
    if pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return NUMBER
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return TEXT
    return OTHER


def checked_names(names: Sequence[object], where: str) -> list[str]:
    """Return column names; a name that is empty or occurs twice is an error."""
    check_width(len(names), where)
    seen: dict[str, int] = {}
    for number, name in enumerate(names, start=1):
        if not isinstance(name, str) or not name.strip():
            raise SourceError(f"{where}: column {number} has no name")
        if name in seen:
            raise SourceError(f"{where}: two columns are called {name!r}: columns {seen[name]} and {number}")
        seen[name] = number
    if not seen:
        raise SourceError(f"{where}: there are no columns")
    return list(seen)


def check_width(n_columns: int, where: str, most: int = MOST_COLUMNS, what: str = "a file") -> None:
    """Refuse more columns than are read; to be asked before anything is made per column."""
    if n_columns > most:
        wider = "" if most == MOST_COLUMNS else f"npy and libsvm files may have {MOST_COLUMNS:,}; "
        raise SourceError(
            f"{where}: {n_columns:,} columns, but at most {most:,} are read from {what}; "
            f"{wider}from Python, SEFRClassifier.fit takes sparse matrices of any width"
        )


def first_line(error: BaseException) -> str:
    """Return the first line of another library's message, which may be empty or very long."""
    return next(iter(str(error).splitlines()), "")[:300] or type(error).__name__


def batch_rows(n_columns: int) -> int:
    """Return the rows of a batch: 2**18 cells, and not above 65,536.

    A wide batch has up to 64 rows, since each of its columns costs by itself.

    Examples
    --------
    >>> batch_rows(10), batch_rows(100), batch_rows(100_000), batch_rows(1_000_000)
    (26214, 2621, 64, 8)
    """
    n_columns = max(1, n_columns)
    wide = min(64, WIDE_CELLS // n_columns)
    return int(max(1, wide, min(BATCH_ROWS, CELLS // n_columns)))


def is_plain(schema: pa.Schema, names: Iterable[str]) -> bool:
    """Say whether columns are of types that are read as they are."""
    return all(schema.field(name).type.id in PLAIN for name in names)


def as_wanted(batch: pa.RecordBatch, wanted: Mapping[str, str]) -> pa.RecordBatch:
    """Return the columns wanted of a typed batch, as they are but for dictionaries, decimals and nulls."""
    if wanted and is_plain(batch.schema, wanted):
        return batch.select(list(wanted))
    if not wanted:
        return pa.RecordBatch.from_struct_array(pa.array([{}] * batch.num_rows, type=pa.struct([])))
    columns = []
    for name, kind in wanted.items():
        column = batch.column(name)
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if kind == NUMBER and (pa.types.is_decimal(column.type) or pa.types.is_null(column.type)):
            column = column.cast(pa.float64())
        elif pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type):
            column = column.cast(pa.string())
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, names=list(wanted))
