"""The answers of a model for the rows of a table or the windows of recordings, written batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from .._rows.cells import code_matrix
from .._rows.inputs import labelled
from .._rows.matrix import Dense, Matrix
from .._summary.drift import drift
from .._summary.summary import Summary
from .._system.atomic_file import atomic_file
from ..base import Learner
from ..classifier import SEFRClassifier
from ..files import ColumnRecipe, Dataset, SourceError
from ..files.learning import checked, without_feature_names
from ..files.reader import NUMBER, TEXT
from ..regressor import SEFRRegressor
from . import options
from .recordings import RecordingReader, Windows
from .screen import Screen, binary_output, output
from .stored import fitted_recipe, read_model

MOST_CELLS = 1 << 22  # of scores and probabilities that are in memory at once
ENDINGS = ("csv", "tsv", "parquet")


@dataclass(frozen=True)
class Wanted:
    """What is written beside the predicted label."""

    scores: bool
    probabilities: bool
    keep: str
    check: bool = False
    interval: float | None = None


def predict(
    screen: Screen, model: str, data: list[str], reading: options.Reading, path: str | None, wanted: Wanted
) -> int:
    """Write the answers for all rows, or windows of recordings, to a file or to standard output."""
    clf, stored = read_model(model, numbers=True)
    _refuse_of_other_models(model, clf, wanted)
    reader = RecordingReader.of(clf, data, reading)
    if reader is not None:
        return _write_windows(
            screen, clf, reader, reader.windows(data, reading, labelled=False), path, wanted
        )
    return _write_rows(screen, clf, stored, reading.open(data, like=stored), path, wanted)


def _refuse_of_other_models(path: str, clf: Learner, wanted: Wanted) -> None:
    """Raise an error for what a model that predicts numbers does not have, or only such a model has."""
    if clf.predicts_numbers and (wanted.scores or wanted.probabilities):
        raise SourceError(
            f"{path}: a model that predicts numbers has no --scores or --probabilities; it has --interval"
        )
    if wanted.interval is not None and not clf.predicts_numbers:
        raise SourceError(f"{path}: a model of classes has no --interval; it has --probabilities")
    if wanted.check and clf.predicts_numbers:
        raise SourceError(f"{path}: --check compares rows with those of classes, and this model has none")


def _write_windows(
    screen: Screen,
    clf: SEFRClassifier,
    reader: RecordingReader,
    recordings: Iterator[Windows],
    path: str | None,
    wanted: Wanted,
) -> int:
    """Write an answer per window, with its recording and first sample; none where a board says don't know."""
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
                seen = _summary_of(X, clf) + (seen or 0)
            rows += n
    reader.tell(screen)
    _tell_drift(screen, clf, seen)
    return rows


def _without(answer: pa.Table, kept: list[str], unknown: NDArray[np.bool_]) -> pa.Table:
    """Return a table with nothing in some rows but in the columns that are kept."""
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
    wanted: Wanted,
) -> int:
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
                seen = _summary_of(X, clf) + (seen or 0)
            rows += len(batch)
            tick(len(batch))
    for name, value in strange.items():
        if recipe.coded:
            what = f"without a bin of their own, such as {value!r}: they share one"
        else:
            what = f"that the model has not seen, such as {value!r}: no category"
        screen.note(f"column {name!r} has values {what}")
    _tell_drift(screen, clf, seen)
    return rows


def _tell_drift(screen: Screen, clf: SEFRClassifier, seen: Summary | None) -> None:
    """Warn where rows differ from those learned."""
    if seen is not None:
        for said in drift(clf.summary_, seen, labelled=False).findings:
            screen.note(f"warning: {said}")


def _parts(n_rows: int, clf: Any, wanted: Wanted) -> Iterator[NDArray[np.intp]]:
    """Yield the numbers of so many rows that a column per class stays small."""
    columns = 0 if clf.predicts_numbers else (wanted.scores + wanted.probabilities) * len(clf.classes_)
    step = max(1, MOST_CELLS // max(1, columns))
    for at in range(0, n_rows, step):
        yield np.arange(at, min(n_rows, at + step))


def _summary_of(X: Matrix, clf: SEFRClassifier) -> Summary:
    """Return the Summary of rows without labels, in the bins of a model that has some."""
    coder = clf.summary_.coder
    rows = labelled(X if coder is None else code_matrix(X, coder), np.zeros(X.shape[0], dtype=np.int8))
    return Summary.of_rows(rows, missing=clf.missing)


def _as_kept(kind: str) -> str:
    return NUMBER if kind == NUMBER else TEXT


def _answers(clf: Any, X: Matrix, kept: pa.Table, wanted: Wanted) -> pa.Table:
    if clf.predicts_numbers:
        return _numbers(clf, X, kept, wanted)
    answer = kept.append_column("prediction", pa.array(clf.predict(X).tolist(), type=label_type(clf)))
    if wanted.scores:
        values = clf.decision_function(X)
        if values.ndim == 1:
            answer = answer.append_column("score", pa.array(values))
        else:
            answer = _with_columns(answer, "score", clf, values)
    if wanted.probabilities:
        answer = _with_columns(answer, "probability", clf, clf.predict_proba(X))
    return answer


def _numbers(reg: SEFRRegressor, X: Matrix, kept: pa.Table, wanted: Wanted) -> pa.Table:
    """Return the rows kept with the numbers predicted, and with the ends of intervals if they are wanted."""
    found = (reg.predict(X),) if wanted.interval is None else reg.predict(X, interval=wanted.interval)
    for name, values in zip(("prediction", "low", "high"), found, strict=False):
        kept = kept.append_column(name, pa.array(values))
    return kept


def _with_columns(table: pa.Table, what: str, clf: SEFRClassifier, values: NDArray[np.float64]) -> pa.Table:
    for k, label in enumerate(clf.classes_):
        table = table.append_column(f"{what}_{label}", pa.array(np.ascontiguousarray(values[:, k])))
    return table


def label_type(clf: SEFRClassifier) -> pa.DataType:
    """Return the Arrow type of a model's labels."""
    return {"i": pa.int64(), "u": pa.uint64(), "b": pa.bool_(), "f": pa.float64()}.get(
        clf.classes_.dtype.kind, pa.string()
    )


@contextmanager
def _writer(path: str | None) -> Iterator[Callable[[pa.Table], None]]:
    """Yield what writes a table; a file is there when all is written, or not at all."""
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
        if self._to_output:
            with output():
                self._write(table)
        else:
            self._write(table)

    def _write(self, table: pa.Table) -> None:
        if self._writer is None:
            if self._kind == "parquet":
                self._writer = parquet.ParquetWriter(self._file, table.schema)
            else:
                how = arrow_csv.WriteOptions(
                    delimiter="\t" if self._kind == "tsv" else ",", quoting_style="needed"
                )
                self._writer = arrow_csv.CSVWriter(self._file, table.schema, write_options=how)
        self._writer.write_table(table)

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if self._writer is None:
            return
        if kind is None and self._to_output:
            with output():
                self._writer.close()
        else:
            self._writer.close()
