"""The answers of a model for the rows of a table, written batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from .._rows.cells import code_matrix
from .._rows.inputs import labelled
from .._rows.matrix import Matrix
from .._summary.drift import drift
from .._summary.summary import Summary
from .._system.atomic_file import atomic_file
from ..classifier import SEFRClassifier
from ..files import Dataset, SourceError
from ..files.learning import checked, without_feature_names
from ..files.reader import NUMBER, TEXT
from . import options
from .screen import Screen, binary_output, output
from .stored import fitted_recipe, read_model

ENDINGS = ("csv", "tsv", "parquet")


@dataclass(frozen=True)
class Wanted:
    """What is written beside the predicted label."""

    scores: bool
    probabilities: bool
    keep: str
    check: bool = False


def write_predictions(screen: Screen, model: str, table: Dataset, path: str | None, wanted: Wanted) -> int:
    """Write the answers for all rows to a file, or to standard output; return how many."""
    clf, stored = read_model(model)
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
            write(_answers(scorer, X, batch.select(kept), wanted))
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
    if seen is not None:
        for said in drift(clf.summary_, seen, labelled=False).findings:
            screen.note(f"warning: {said}")
    return rows


def _summary_of(X: Matrix, clf: SEFRClassifier) -> Summary:
    """Return the Summary of rows without labels, in the bins of a model that has some."""
    coder = clf.summary_.coder
    rows = labelled(X if coder is None else code_matrix(X, coder), np.zeros(X.shape[0], dtype=np.int8))
    return Summary.of_rows(rows, missing=clf.missing)


def _as_kept(kind: str) -> str:
    return NUMBER if kind == NUMBER else TEXT


def _answers(clf: SEFRClassifier, X: Matrix, kept: pa.Table, wanted: Wanted) -> pa.Table:
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
