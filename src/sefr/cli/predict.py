"""``sefr predict``: labels or numbers for the rows of files, or windows of recordings, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from . import options

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from .._rows.matrix import Matrix
    from .._summary.summary import Summary
    from ..classifier import SEFRClassifier
    from ..files import ColumnRecipe, Dataset
    from .recordings import RecordingReader, Windows
    from .screen import Screen

SCORES_AT_ONCE = 1 << 22  # of scores and probabilities that are in memory at once
ENDINGS = ("csv", "tsv", "parquet")


def predict(
    *,
    model: options.OneModel,
    data: options.Data,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            help="A .csv, .tsv or .parquet file. Without it: CSV to standard output.",
            metavar="FILE",
        ),
    ] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Add the score, or one per class.")] = False,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Add the probability of each class.")
    ] = False,
    interval: Annotated[
        float | None,
        typer.Option(
            help="Of numbers: add low and high, between which this share of true ones is expected.",
            min=0.01,
            max=0.999,
            metavar="SHARE",
        ),
    ] = None,
    keep: Annotated[
        str, typer.Option(help="Columns to copy from DATA: a,b,c or all.", metavar="COLUMNS")
    ] = "",
    check: Annotated[
        bool, typer.Option("--check", help="Warn if the rows differ from those learned: see sefr drift.")
    ] = False,
    reading: options.ReadingOptions,
    printing: options.PrintingOptions,
) -> None:
    """Predict the label, or the number, of every row of a table.

    For example:

      sefr predict iris.sefr new.csv

    Columns are matched by name, in any order. The output has the columns that were kept, the prediction, and
    then the scores: score for two classes (above 0 is the second), else score_LABEL per class (the highest
    wins), and probability_LABEL per class.

    A model of train --signal answers about recordings: files, or a folder of them. The output has one row
    per window, with the recording and the number of its first sample, counted from 1. The prediction is empty
    if too many samples lie at the ends of the sensor's range.

    More examples:

      sefr predict iris.sefr new.csv --probabilities

      sefr predict iris.sefr new.parquet -o out.parquet --scores --keep id

      sefr predict iris.sefr new.csv --check -o out.csv

      sefr predict gesture.sefr recordings/ --probabilities

      sefr predict price.sefr new.csv --interval 0.9
    """
    options.refuse_swapped(model, data)
    screen = printing.screen(output or "-")
    if output == "-":
        output = None
    if output is None and printing.json:
        raise typer.BadParameter("--json needs --output: standard output is for one of the two")
    if output is not None:
        output = options.output_path(output)
    rows = _predict(
        screen, model, data, reading, output, AnswerColumns(scores, probabilities, keep, check, interval)
    )
    if output:
        screen.note(f"{output}: {rows:,} rows")
    screen.json({"output": output, "rows": rows})


@dataclass(frozen=True)
class AnswerColumns:
    """What is written beside the predicted label."""

    scores: bool
    probabilities: bool
    keep: str
    check: bool = False
    interval: float | None = None


def _predict(
    screen: Screen,
    model: str,
    data: list[str],
    reading: options.ReadingOptions,
    path: str | None,
    wanted: AnswerColumns,
) -> int:
    """Write the answers for all rows, or windows of recordings, to a file or to standard output."""
    from .recordings import RecordingReader
    from .stored import read_model
    from .task import words_of

    clf, stored = read_model(model)
    words_of(clf).refuse_columns(model, wanted)
    reader = RecordingReader.of(clf, data, reading)
    if reader is not None:
        return _write_windows(
            screen, clf, reader, reader.windows(data, reading, labelled=False), path, wanted
        )
    return _write_rows(screen, clf, stored, reading.open(data, like=stored), path, wanted)


def _write_windows(
    screen: Screen,
    clf: SEFRClassifier,
    reader: RecordingReader,
    recordings: Iterator[Windows],
    path: str | None,
    wanted: AnswerColumns,
) -> int:
    """Write an answer per window, with its recording and first sample; none if a board says don't know."""
    import numpy as np
    import pyarrow as pa

    from .._rows.matrix import Dense
    from ..files import SourceError
    from ..files.learning import without_feature_names

    if wanted.keep:
        raise SourceError("--keep copies columns of rows; an answer about a recording is of a window")
    hop, rows, seen = reader.sampling.hop, 0, None
    scorer = without_feature_names(clf)
    with _writer(path) as write:
        for windows in recordings:
            n = len(windows.features)
            X = Dense(windows.features.astype(np.float64))
            place = {"recording": [windows.recording.name] * n, "sample": np.arange(n) * hop + 1}
            answer = _answers(scorer, X, pa.table(place), wanted)
            write(_without(answer, list(place), ~windows.answered))
            if wanted.check:
                seen = clf.fitted_.summarise(X, clf.missing) + (seen or 0)
            rows += n
    reader.tell(screen)
    _tell_drift(screen, clf, seen)
    return rows


def _without(answer: pa.Table, kept: list[str], unknown: NDArray[np.bool_]) -> pa.Table:
    """Return a table with nothing in some rows but in the columns that are kept."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not unknown.any():
        return answer
    mask = pa.array(unknown)
    for i, name in enumerate(answer.column_names):
        if name not in kept:
            column = answer.column(i)
            answer = answer.set_column(i, name, pc.if_else(mask, pa.scalar(None, column.type), column))
    return answer


def _write_rows(
    screen: Screen,
    clf: SEFRClassifier,
    stored: ColumnRecipe | None,
    table: Dataset,
    path: str | None,
    wanted: AnswerColumns,
) -> int:
    from ..files import SourceError
    from ..files.learning import checked, without_feature_names
    from .stored import fitted_recipe

    recipe = fitted_recipe(table, clf, stored, None, screen)
    kept = list(table.columns) if wanted.keep == "all" else options.names(wanted.keep)
    if unknown := [name for name in kept if name not in table.columns]:
        raise SourceError(f"{table.readers[0].name}: there is no column {unknown[0]!r} to keep")
    columns = recipe.wanted() | {
        name: _as_kept(table.columns[name]) for name in kept if name not in recipe.columns
    }
    scorer, rows = without_feature_names(clf), 0
    strange: dict[str, str] = {}
    seen: Summary | None = None
    with screen.progress(table, "predicting") as tick, _writer(path) as write:
        for batch in table.batches(columns):
            X = checked(batch, recipe.matrix(batch.rows), recipe, clf.missing)
            strange = recipe.unknown_categories(batch.rows) | strange
            for part in _parts(len(batch), clf, wanted):
                rows_kept = batch.select(kept).slice(int(part[0]), len(part))
                write(_answers(scorer, X.take(part) if len(part) < len(batch) else X, rows_kept, wanted))
            if wanted.check:
                seen = clf.fitted_.summarise(X, clf.missing) + (seen or 0)
            rows += len(batch)
            tick(len(batch))
    for name, value in strange.items():
        if recipe.coded:
            what = f"without a bin of their own, for example {value!r}: they share one"
        else:
            what = f"that the model has not seen, for example {value!r}: no category"
        screen.note(f"column {name!r} has values {what}")
    _tell_drift(screen, clf, seen)
    return rows


def _tell_drift(screen: Screen, clf: SEFRClassifier, seen: Summary | None) -> None:
    """Warn if rows differ from those learned."""
    from .._summary.drift import drift

    if seen is not None:
        for said in drift(clf.summary_, seen, labelled=False).findings:
            screen.note(f"warning: {said}")


def _parts(n_rows: int, clf: Any, wanted: AnswerColumns) -> Iterator[NDArray[np.intp]]:
    """Yield the numbers of so many rows that a column per class stays small."""
    import numpy as np

    columns = (wanted.scores + wanted.probabilities) * len(clf.fitted_.labels)
    step = max(1, SCORES_AT_ONCE // max(1, columns))
    for at in range(0, n_rows, step):
        yield np.arange(at, min(n_rows, at + step))


def _as_kept(kind: str) -> str:
    from ..files.reader import NUMBER, TEXT

    return NUMBER if kind == NUMBER else TEXT


def _answers(clf: Any, X: Matrix, kept: pa.Table, wanted: AnswerColumns) -> pa.Table:
    """Return the rows kept with the columns of the answers."""
    from .task import words_of

    for name, column in words_of(clf).answers(X, wanted).items():
        kept = kept.append_column(name, column)
    return kept


@contextmanager
def _writer(path: str | None) -> Iterator[Callable[[pa.Table], None]]:
    """Yield what writes a table; a file is there when all is written, or not at all."""
    from .._system.atomic_file import atomic_file
    from ..files import SourceError
    from .screen import binary_output, output

    if path is None:
        with output():
            out = binary_output()
        with _Tables(out, "csv", to_output=True) as tables:
            yield tables.write
        with output():
            out.flush()
        return
    kind = path.rsplit(".", 1)[-1].lower()
    if path == "/dev/stdout":
        kind = "csv"
    if kind not in ENDINGS:
        raise SourceError(f"{path}: predictions are written as .csv, .tsv or .parquet")
    with atomic_file(path) as file, _Tables(file, kind) as tables:
        yield tables.write


class _Tables:
    """Tables of one schema, written one after the other."""

    def __init__(self, file: IO[bytes], kind: str, *, to_output: bool = False) -> None:
        self._file = file
        self._kind = kind
        self._to_output = to_output
        self._writer: Any = None

    def __enter__(self) -> _Tables:
        return self

    def write(self, table: pa.Table) -> None:
        """Write some rows, the names of the columns before the first."""
        from .screen import output

        if self._to_output:
            with output():
                self._write(table)
        else:
            self._write(table)

    def _write(self, table: pa.Table) -> None:
        if self._writer is None:
            self._writer = self._opened(table.schema)
        self._writer.write_table(table)

    def _opened(self, schema: pa.Schema) -> Any:
        from pyarrow import parquet

        if self._kind == "parquet":
            return parquet.ParquetWriter(self._file, schema)
        return _TextWriter(self._file, schema.names, "\t" if self._kind == "tsv" else ",")

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        from .screen import output

        if self._writer is None:
            return
        if kind is None and self._to_output:
            with output():
                self._writer.close()
        else:
            self._writer.close()


class _TextWriter:
    """CSV with quotes only if a text needs them; Arrow's writer has quotes around every text."""

    def __init__(self, file: IO[bytes], names: list[str], delimiter: str) -> None:
        import pyarrow as pa

        self._file = file
        self._delimiter = delimiter
        self.write_table(pa.table([pa.array([name]) for name in names], names=names))

    def write_table(self, table: pa.Table) -> None:
        """Write the rows of a table."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not table.num_rows:
            return
        cells = [self._cells(column.combine_chunks()) for column in table.columns]
        rows = pc.binary_join_element_wise(*cells, self._delimiter) if len(cells) > 1 else cells[0]
        together = pa.ListArray.from_arrays(pa.array([0, len(rows)], pa.int32()), rows)
        self._file.write(pc.binary_join(together, "\n")[0].as_buffer())
        self._file.write(b"\n")

    def _cells(self, column: pa.Array) -> pa.Array:
        """Return a column as text; a missing value is empty, and a text that is empty has quotes."""
        import pyarrow as pa
        import pyarrow.compute as pc

        text = column.cast(pa.string())
        if pa.types.is_string(column.type):
            quoted = pc.binary_join_element_wise('"', pc.replace_substring(text, '"', '""'), '"', "")
            needed = pc.match_substring_regex(text, f'^$|["\r\n{self._delimiter}]')
            text = pc.if_else(needed, quoted, text)
        return pc.fill_null(text, "")

    def close(self) -> None:
        """Do nothing: the file is closed by whoever opened it."""
