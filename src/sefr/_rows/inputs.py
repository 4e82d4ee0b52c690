"""Convert X, y and sample_weight for the kernels; raise errors that name row and column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from .._system.types import Array, Floats, Rows
from .arrow import arrow_table as arrow_table
from .cells import NO_CUT, Categories, Cutter
from .cells.categories import category_codes
from .coding import describe_feature as describe_feature
from .labelled import Labelled
from .labels import ReadTarget, Target
from .matrix import KERNEL_TYPES, Columnar, Dense, Matrix, Raw, Sparse, Stacked
from .pandas_frame import (
    is_categorical_array,
    is_pandas_frame,
    is_sparse_type,
    numbers_of_categories,
    stored_columns,
    values_of_index,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

# Arrow's names of the types that the kernels read in place: booleans are bits there.
ARROW_TYPES = frozenset(
    ["float", "double", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))]
)
# A weight times a value stays a normal float64 above this.
SMALLEST_WEIGHT = 1e-290
# Shorter pieces than this cost more each by themselves than to be joined.
PIECE_ROWS = 1 << 13


def complain_of_sums(rows: Labelled, raw: Raw, feature_names: Sequence[str] | None, missing: str) -> None:
    """Raise an error that says why the sums are not finite."""
    skip = rows.codes < 0
    if rows.weights is not None:
        skip |= rows.weights == 0
    complain_of_bad_value(rows.matrix, feature_names, skip=skip, missing=missing)
    j = int(np.argmin(np.isfinite(raw.sums).all(axis=0)))
    raise ValueError(
        f"the values of {describe_feature(j, feature_names)} are too large to be summed in float64"
    )


def complain_of_bad_value(
    matrix: Matrix,
    feature_names: Sequence[str] | Array | None,
    *,
    skip: NDArray[np.bool_] | None = None,
    missing: str = "error",
) -> None:
    """Raise an error that names the first NaN or infinity; return if there is none."""
    found = matrix.bad_value(skip=skip, missing=missing == "ignore")
    if found is None:
        return
    row, feature, value = found
    where = f"row {row}, {describe_feature(feature, feature_names)}"
    if np.isnan(value):
        raise ValueError(f"Input X contains NaN: {where}. missing='ignore' leaves such values out.")
    raise ValueError(f"Input X contains infinity: {where}.")


def refuse_one_class(classes: Array, where: str, hint: str = "") -> None:
    """Raise an error if there is one class only."""
    if len(classes) < 2:
        only = "" if not len(classes) else f": {classes[0]!r}"
        raise ValueError(f"SEFR needs at least two classes, but {where} has one class only{only}{hint}")


def checked_weights(sample_weight: ArrayLike | None, n_rows: int) -> Floats | None:
    """Return the weights as float64, one per row; say what is wrong with them."""
    if sample_weight is None:
        return None
    if np.isscalar(sample_weight):
        sample_weight = np.full(n_rows, sample_weight)
    weights = np.require(sample_weight, np.float64, ["C", "A"])  # what came over a wire may lie anywhere
    if weights.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got {weights.ndim}D array")
    if len(weights) != n_rows:
        raise ValueError(f"sample_weight has {len(weights)} values for {n_rows} rows")
    if not np.isfinite(weights).all() or (weights < 0).any():
        row = int(np.flatnonzero(~np.isfinite(weights) | (weights < 0))[0])
        raise ValueError(f"sample_weight must be finite and not negative; row {row} has {weights[row]}")
    if (tiny := (weights > 0) & (weights < SMALLEST_WEIGHT)).any():
        row = int(np.argmax(tiny))
        raise ValueError(
            f"sample_weight of row {row} is {weights[row]:g}: below {SMALLEST_WEIGHT:g} float64 has too few "
            "digits left; multiply all weights"
        )
    if not weights.any():
        raise ValueError("sample_weight is zero for every row: there is nothing to learn from")
    return weights


def feature_names_of(X: Rows) -> tuple[str, ...] | None:
    """Return the column names of a dataframe whose names are all strings, else None."""
    if type(X) is np.ndarray:
        return None
    columns: Any
    if is_pandas_frame(X):  # whose columns may have any names, those of attributes too
        columns = values_of_index(X.columns)
    else:
        columns = getattr(X, "column_names", None) or getattr(X, "columns", None)
    if columns is None:
        return None
    names = tuple(columns)
    return names if all(issubclass(kind, str) for kind in set(map(type, names))) else None


def feature_names_in(X: Rows) -> Array | None:
    """Return the features' names as scikit-learn sees them; None if there are none."""
    if type(X) is np.ndarray:  # asking what X might be takes 30 us
        return None
    if is_pandas_frame(X) and (names := feature_names_of(X)) is not None:
        return np.array(names, dtype=object)
    asked = BaseEstimator()
    validate_data(asked, X, reset=True, skip_check_array=True)
    return getattr(asked, "feature_names_in_", None)


def labelled(
    matrix: Matrix,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    read: ReadTarget = Target.of_labels,
) -> Labelled:
    """Return rows with y, as ``read`` takes it, and weights; say what is wrong with these."""
    classes, codes, numbers = read(y)
    if len(codes) != matrix.shape[0]:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {[matrix.shape[0], len(codes)]}"
        )
    return Labelled.of(matrix, classes, codes, checked_weights(sample_weight, len(codes)), numbers)


def read_rows(
    X: Rows,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    cut: Cutter = NO_CUT,
    read: ReadTarget = Target.of_labels,
) -> tuple[Labelled, tuple[str, ...] | None]:
    """Return what was passed as rows with their labels, and the features' names if they have any.

    Features are cut into cells as ``cut`` says; ``read`` says what y is taken for.
    """
    stored = None
    if type(X) is not np.ndarray:  # asking what X might be takes time
        X = arrow_table(X)
        stored = stored_columns(X) if is_pandas_frame(X) else None
    categories = cut.categories_in(X, stored)
    rows = labelled(matrix_of(X, categories, stored), y, sample_weight, read)
    return cut.applied(rows, categories), feature_names_of(X)


def matrix_of(
    X: Rows, categories: Mapping[int, Categories] | None = None, stored: list[Any] | None = None
) -> Matrix:
    """Return ``X`` as a matrix that the kernels can read, without copying it.

    ``categories`` are those of some columns, whose values become numbers of categories;
    ``stored`` the arrays of a pandas frame, if they are at hand.

    Raises what scikit-learn raises for what is not a table of numbers; NaN and infinity are left to the sums.
    """
    if type(X) is np.ndarray and X.ndim == 2 and X.dtype in KERNEL_TYPES and X.size and not categories:
        return Dense(X)
    if isinstance(X, Matrix):  # of a file, for instance
        return X
    if sparse.issparse(X):
        return _sparse(X)
    if is_pandas_frame(X):
        return _pandas(X, categories or {}, stored_columns(X) if stored is None else stored)
    refuse_lazy(X)
    if (
        hasattr(X, "__arrow_c_stream__")
        or hasattr(X, "__dataframe__")
        or nw.dependencies.is_into_dataframe(X)
    ):
        return _frame(X, categories or {})
    if categories:
        raise ValueError(
            f"column {min(categories)} of X has categories: pass a data frame with their values, not an array"
        )
    return Dense(_array(X))


def refuse_lazy(X: Any) -> None:
    """Raise an error for a frame whose rows are not here: a query, or a table on a cluster."""
    engine = type(X).__module__.split(".")[0].lstrip("_")
    kinds = {"LazyFrame", "DuckDBPyRelation", "DataFrame"} | ({"Table"} if engine == "ibis" else set())
    lazy = engine in {"polars", "duckdb", "ibis", "dask", "pyspark"} and type(X).__name__ in kinds
    if lazy and not nw.dependencies.is_into_dataframe(X):
        scored = {
            "duckdb": "the query of `sefr sql --predict`",
            "dask": "frame.map_partitions(model.predict)",
        }
        raise TypeError(
            f"X is a lazy frame ({engine}), whose rows are not here yet: collect it first, learn from it "
            f"with fit_frame, or score it where it is with {scored.get(engine, 'model.expression')}"
        )


def _array(X: Any) -> Array:
    if isinstance(X, np.ndarray) and X.dtype.kind in "fiub" and X.ndim == 2 and X.size:
        return np.asarray(X)
    return np.asarray(check_array(X, dtype="numeric", ensure_all_finite=False, copy=False))


def _sparse(X: csr_matrix) -> Sparse:
    _check_indices(X)
    X = check_array(
        X, accept_sparse=("csr", "csc"), dtype="numeric", ensure_all_finite=False, accept_large_sparse=True
    )
    if X.dtype not in KERNEL_TYPES:
        X = X.astype(np.float64)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return Sparse(X)


def _check_indices(X: csr_matrix) -> None:
    """Refuse a matrix that points outside itself, before scipy follows it there."""
    axes: list[tuple[Array, int]] = []
    if X.format in ("csr", "csc", "bsr"):
        rows, columns = X.shape if X.format != "csc" else X.shape[::-1]
        if X.format == "bsr":
            rows, columns = rows // X.blocksize[0], columns // X.blocksize[1]
        starts = X.indptr
        if len(starts) != rows + 1 or starts[0] != 0 or (np.diff(starts) < 0).any():
            raise ValueError(
                f"X is a damaged {X.format.upper()} matrix: indptr must rise from 0, one per line"
            )
        if starts[-1] > min(len(X.indices), len(X.data)):
            raise ValueError(f"X is a damaged {X.format.upper()} matrix: indptr goes beyond its values")
        axes = [(X.indices[: starts[-1]], columns)]
    elif X.format == "coo":
        places = X.coords if hasattr(X, "coords") else (X.row, X.col)  # before SciPy 1.13
        axes = list(zip(places, X.shape, strict=True))
    for indices, size in axes:
        # seen as unsigned, a negative index is beyond every size: one pass finds both
        if len(indices) and indices.view(f"u{indices.itemsize}").max() >= size:
            raise ValueError(f"X is a damaged {X.format.upper()} matrix: an index is outside the matrix")


def _frame(X: Any, categories: Mapping[int, Categories]) -> Matrix:
    if nw.dependencies.is_pyarrow_table(X) and (pieces := _arrow_pieces(X)):
        return pieces[0] if len(pieces) == 1 else Stacked(pieces)
    frame = nw.from_native(X, eager_only=True)
    if frame.shape[0] == 0 or frame.shape[1] == 0:
        check_array(np.empty(frame.shape))  # raises scikit-learn's own words
    schema = frame.schema
    names = list(schema)
    text = [name for name in names if not (schema[name].is_numeric() or schema[name] == nw.Boolean)]
    converted = _numbers_in_disguise(frame, [name for name in text if schema[name] == nw.Object])
    converted |= {
        names[j]: category_codes(frame.get_column(names[j]), own)
        for j, own in categories.items()
        if j < len(names)
    }
    if left := [name for name in text if name not in converted]:
        kinds = ", ".join(f"{name!r} ({schema[name]})" for name in left[:5])
        more = f" and {len(left) - 5} more" if len(left) > 5 else ""
        raise ValueError(
            f"could not convert string to float: columns of X that are not numbers: {kinds}{more}; "
            "drop or encode them first, or use bins or auto=True, which take text as categories"
        )
    columns = [
        converted[series.name] if series.name in converted else _column(series)
        for series in frame.iter_columns()
    ]
    return Columnar(columns, frame.shape[0])


def _pandas(X: Any, categories: Mapping[int, Categories], columns: list[Any]) -> Matrix:
    """Return a pandas frame: of numbers and categories by its arrays alone."""
    kinds = [column.dtype for column in columns]
    if any(map(is_sparse_type, kinds)):
        X = _without_sparse_columns(X, kinds)
        return _sparse(X) if sparse.issparse(X) else _pandas(X, categories, stored_columns(X))
    numbers = [isinstance(kind, np.dtype) and kind in KERNEL_TYPES for kind in kinds]
    if not len(X) or not columns or not all(known or j in categories for j, known in enumerate(numbers)):
        return _frame(X, categories)
    if categories:
        for j in categories:
            if j < len(columns):
                columns[j] = _numbers(X, j, columns[j], categories[j])
        return Columnar(columns, len(X))
    if not X.columns.is_unique:
        return _frame(X, categories)  # an error
    if len(set(kinds)) == 1:
        return Dense(np.asarray(X.to_numpy(copy=False)))
    return _frame(X, categories) if np.dtype(np.float32) in kinds else Columnar(columns, len(X))


def _numbers(X: Any, j: int, column: Any, categories: Categories) -> Array:
    if is_categorical_array(column):
        return numbers_of_categories(column, categories)
    return category_codes(nw.from_native(X.iloc[:, j], series_only=True), categories)


def _without_sparse_columns(X: Any, kinds: Sequence[Any]) -> Any:
    """Return a pandas frame whose columns are all sparse as a CSR matrix, single sparse columns as dense."""
    hollow = list(map(is_sparse_type, kinds))
    if all(hollow) and all(kind.fill_value == 0 for kind in kinds):
        return X.sparse.to_coo().tocsr()
    columns = [
        X.iloc[:, j].astype(kind.subtype) if hollow[j] else X.iloc[:, j] for j, kind in enumerate(kinds)
    ]
    return type(X)(dict(enumerate(columns))).set_axis(X.columns, axis=1)


def _arrow_pieces(X: Any) -> list[Columnar]:
    """Return views of an Arrow table's chunks; none if a column needs conversion or chunks are small."""
    kinds = [str(field.type) for field in X.schema]
    if (
        not X.num_rows
        or not kinds
        or not set(kinds) <= ARROW_TYPES
        or any(column.null_count for column in X.columns)
    ):
        return []
    batches = X.to_batches()
    if len(batches) > 1 and X.num_rows < PIECE_ROWS * len(batches):
        return []
    return [Columnar([column.to_numpy() for column in batch.columns], batch.num_rows) for batch in batches]


def _numbers_in_disguise(frame: Any, names: list[str]) -> dict[str, Array]:
    """Return those of some columns of Python objects that are all numbers."""
    found = {}
    for name in names:
        try:
            found[name] = frame.get_column(name).to_numpy().astype(np.float64)
        except (TypeError, ValueError):
            continue
    return found


def _column(series: Any) -> Array:
    if series.null_count() or series.dtype.is_decimal():
        series = series.cast(nw.Float64)
    values = np.asarray(series.to_numpy())
    return values if values.dtype in KERNEL_TYPES else values.astype(np.float64)
