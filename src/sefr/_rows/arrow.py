"""Arrow data that is no table yet: record batches, readers (as of ADBC and Flight), datasets, scanners."""

from __future__ import annotations

import sys
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from .pandas_frame import is_pandas_frame


def arrow_table(X: Any) -> Any:
    """Return Arrow data that is no table as one; anything else as it is. A reader is read here, once."""
    if type(X) is np.ndarray or is_pandas_frame(X):
        return X
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        if isinstance(X, arrow.RecordBatch):
            return arrow.Table.from_batches([X])
        if isinstance(X, arrow.RecordBatchReader):
            return X.read_all()
        dataset = sys.modules.get("pyarrow.dataset")
        if dataset is not None and isinstance(X, dataset.Dataset | dataset.Scanner):
            return X.to_table()
    if nw.dependencies.is_into_series(X):  # one column, or one row of a frame: scikit-learn has words for it
        return nw.from_native(X, series_only=True).to_numpy()
    if hasattr(X, "__arrow_c_stream__") and not nw.dependencies.is_into_dataframe(X) and not _is_lazy(X):
        import pyarrow

        return pyarrow.table(X)
    return X


def _is_lazy(X: Any) -> bool:
    """Say whether X is a query of an engine, which other words refuse."""
    return type(X).__module__.split(".")[0].lstrip("_") in {"polars", "duckdb", "ibis", "dask", "pyspark"}


def stored_dictionary(series: Any) -> tuple[list[Any], NDArray[np.int64]] | None:
    """Return the values of Arrow dictionaries and the number of each row's, -1 for none; None for others.

    A value may occur twice, since chunks have dictionaries of their own.
    """
    column = series.to_native()
    if not nw.dependencies.is_pyarrow_chunked_array(column):
        return None
    import pyarrow

    if not pyarrow.types.is_dictionary(column.type):
        return None
    values: list[Any] = []
    numbers = [np.empty(0, dtype=np.int64)]
    for part in column.chunks:
        own = part.indices.cast(pyarrow.int64()).fill_null(-1).to_numpy()
        numbers.append(np.where(own < 0, own, own + len(values)))
        values += part.dictionary.to_pylist()
    return values, np.concatenate(numbers)
