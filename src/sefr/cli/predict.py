"""``sefr predict``: labels for the rows of files, streaming in and out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Annotated, Any

import numpy as np
import pyarrow as pa
import typer
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from .._system.atomic_file import atomic_file
from ..classifier import SEFRClassifier
from ..files import SourceError, open_dataset
from ..files.learning import checked, without_feature_names
from ..files.reader import NUMBER, TEXT
from . import options
from .screen import Screen
from .stored import fitted_recipe, read_model


def predict(
    model: options.OneModel,
    data: options.Data,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", help="A .csv, .tsv or .parquet file; without it, CSV to standard output."
        ),
    ] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Add the score, or one for each class.")] = False,
    keep: Annotated[
        str, typer.Option(help="Columns to copy from DATA, a,b,c or all.", metavar="COLUMNS")
    ] = "",
    format: options.FileFormat = None,
    delimiter: options.Delimiter = None,
    no_header: options.NoHeader = False,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Write the predicted label of every row.

    Columns are matched by name, in any order. Output columns are those kept, then prediction, then the
    scores: score for two classes (above 0 is the second), else score_LABEL for each (the highest wins).

    For example:

      sefr predict iris.sefr new.csv

      sefr predict iris.sefr new.parquet -o out.parquet --scores --keep id
    """
    screen = Screen(quiet=quiet, as_json=json)
    if output:
        options.check_writable(output)
    elif json:
        raise typer.BadParameter("--json needs --output: standard output is for one of the two")
    clf, stored = read_model(model)
    table = open_dataset(data, **options.reading(format, delimiter, no_header))
    recipe = fitted_recipe(table, clf, stored, None, screen)
    kept = list(table.columns) if keep == "all" else options.names(keep)
    if unknown := [name for name in kept if name not in table.columns]:
        raise SourceError(f"{table.readers[0].name}: there is no column {unknown[0]!r} to keep")
    wanted = recipe.wanted() | {
        name: _as_kept(table.columns[name]) for name in kept if name not in recipe.columns
    }
    scorer, rows = without_feature_names(clf), 0
    strange: dict[str, str] = {}
    with screen.progress(table, "predicting") as tick, _writer(output) as write:
        for batch in table.batches(wanted):
            X = checked(batch, recipe.matrix(batch.rows), recipe, clf.missing)
            strange = recipe.unknown_categories(batch.rows) | strange
            write(_answers(scorer, X, batch.select(kept), scores=scores))
            rows += len(batch)
            tick(len(batch))
    for name, value in strange.items():
        screen.note(f"column {name!r} has values that the model has not seen, such as {value!r}: no category")
    if output:
        screen.note(f"{output}: {rows:,} rows")
    screen.json({"output": output, "rows": rows})


def _as_kept(kind: str) -> str:
    return NUMBER if kind == NUMBER else TEXT


def _answers(clf: SEFRClassifier, X: Any, kept: pa.Table, *, scores: bool) -> pa.Table:
    answer = kept.append_column("prediction", pa.array(clf.predict(X).tolist(), type=label_type(clf)))
    if scores:
        values = clf.decision_function(X)
        if values.ndim == 1:
            return answer.append_column("score", pa.array(values))
        for k, label in enumerate(clf.classes_):
            answer = answer.append_column(f"score_{label}", pa.array(np.ascontiguousarray(values[:, k])))
    return answer


def label_type(clf: SEFRClassifier) -> pa.DataType:
    """Return the Arrow type of a model's labels."""
    return {"i": pa.int64(), "u": pa.uint64(), "b": pa.bool_(), "f": pa.float64()}.get(
        clf.classes_.dtype.kind, pa.string()
    )


@contextmanager
def _writer(output: str | None) -> Iterator[Any]:
    """Yield what writes a table; the file is there when all is written, or not at all."""
    if output is None or output == "-":
        with _Tables(sys.stdout.buffer, "csv") as tables:
            yield tables.write
        sys.stdout.flush()
        return
    kind = output.rsplit(".", 1)[-1].lower()
    if kind not in ("csv", "tsv", "parquet"):
        raise SourceError(f"{output}: predictions are written as .csv, .tsv or .parquet")
    with atomic_file(output) as file, _Tables(file, kind) as tables:
        yield tables.write


class _Tables:
    """Tables of one schema, written one after the other."""

    def __init__(self, file: IO[bytes], kind: str) -> None:
        self._file = file
        self._kind = kind
        self._writer: Any = None

    def __enter__(self) -> _Tables:
        return self

    def write(self, table: pa.Table) -> None:
        if self._writer is None:
            if self._kind == "parquet":
                self._writer = parquet.ParquetWriter(self._file, table.schema)
            else:
                how = arrow_csv.WriteOptions(
                    delimiter="\t" if self._kind == "tsv" else ",", quoting_style="needed"
                )
                self._writer = arrow_csv.CSVWriter(self._file, table.schema, write_options=how)
        self._writer.write_table(table)

    def __exit__(self, *error: object) -> None:
        if self._writer is not None:
            self._writer.close()
