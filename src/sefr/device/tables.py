"""A model with bins in the board's integers: thresholds in raw units, and a table of small whole numbers.

A value lies in the cell whose number is the count of thresholds at or below it. Whole numbers have the cell
that they have on the host, floats as well where float32 can tell them from an edge; only the entries of the
table are rounded. A score is the bias and one entry per feature and per fern of interactions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from .._answers.additive import TableModel
from .._rows.cells import Categories, Coder
from .._rows.inputs import arrow_table, matrix_of
from .._rows.ranges import known_ranges
from .._system.types import Array, Floats, Scale
from ..classifier import SEFRClassifier
from .ferns import QuantisedFern, limits, needed_thresholds, quantise_ferns, thresholds_of
from .leads import answered, mean_leads
from .raw_values import checked_values, raw_values

Integers = NDArray[np.int64]

ONE = {8: 127, 16: 32767}
# A score and the difference of two are sums of at most three times 32767 per feature: below 2^31.
MAX_FEATURES = 21845
# The largest edge for which int16, and int32, is chosen: values beyond the edges then still fit.
LARGEST_EDGE = {"int16": 1 << 14, "int32": 1 << 30}


@dataclass(frozen=True)
class QuantisedTable:
    """A model with bins as the board has it.

    Attributes
    ----------
    classes : labels, in the order of the board's numbers 0, 1, ...
    input : type of the raw values, one of ``INPUTS``.
    thresholds : per feature, rising: a value at or above the first lies in cell 1, and so on.
    entries : per feature, what each cell adds to each score: (1, cells) for two classes, else (K, cells).
    ferns : the interactions, their questions and what their cells add.
    missing_entries : what a missing value (NaN) adds, (m, 1) or (m, K); None where there is none.
    bias : (1,) or (K,).
    clear : by how much the rows of each class lead in the mean; 1 where they do not.
    categories : of features whose values are numbers of categories, by the number of the feature.

    Examples
    --------
    >>> from sefr import SEFRClassifier
    >>> from sefr.device import quantise
    >>> clf = SEFRClassifier(bins=[[10, 20]]).fit([[5], [12], [25], [13]], [0, 1, 0, 1])
    >>> model = quantise(clf)
    >>> model.thresholds[0].tolist(), model.entries[0].tolist(), model.input
    ([10, 20], [[-127, 127, -127]], 'int16')
    """

    classes: Array
    feature_names: tuple[str, ...] | None
    input: str
    weight_bits: int
    thresholds: tuple[Array, ...]
    entries: tuple[Integers, ...]
    ferns: tuple[QuantisedFern, ...]
    missing_entries: Integers | None
    bias: tuple[int, ...]
    clear: tuple[int, ...]
    categories: Mapping[int, Categories]

    wide = False  # a score never needs 64 bits

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.thresholds)

    @property
    def n_entries(self) -> int:
        """How many entries a score is the sum of."""
        return len(self.thresholds) + len(self.ferns)

    @property
    def takes_missing(self) -> bool:
        """Whether NaN is a value of its own."""
        return self.missing_entries is not None

    def values_of(self, X: Any) -> Floats:
        """Return raw values as float64, categories of a frame as their numbers; or say what does not fit."""
        if self.categories and nw.dependencies.is_into_dataframe(X):
            X = matrix_of(arrow_table(X), self.categories).block(slice(None))
        return checked_values(X, self.input, self.n_features, missing=self.takes_missing)

    def raw_of(self, X: Any) -> Array:
        """Return raw values in the type the board reads."""
        return raw_values(self.values_of(X), self.input)

    def scores(self, X: Any) -> Integers:
        """Return the board's scores of raw values, (n, 1) or (n, K), to the bit."""
        values = self.values_of(X)
        result = np.tile(np.array(self.bias, np.int64), (len(values), 1))
        for j, (thresholds, entries) in enumerate(zip(self.thresholds, self.entries, strict=True)):
            own = values[:, j]
            gone = np.isnan(own)
            parts = entries[:, np.searchsorted(thresholds, np.where(gone, -np.inf, own), side="right")].T
            if self.missing_entries is not None:
                parts[gone] = self.missing_entries[j]
            result += parts
        for fern in self.ferns:
            result += fern.parts(values)
        return result

    def answers(self, X: Any) -> NDArray[np.uint8]:
        """Return the numbers of the classes that the board answers."""
        return answered(self.scores(X))


def quantise_table(
    clf: SEFRClassifier, model: TableModel, weight_bits: int, input: str | None
) -> QuantisedTable:
    """Turn a trained model with bins into the board's integers."""
    summary = clf.summary_
    coder, table = checked_cells(model)
    kind = input or smallest_type(clf.scale, coder)
    seen = np.isfinite(model.constant)
    whole, exact = _whole_entries(np.where(seen[:, None], table, 0.0), seen, summary.sums, coder, weight_bits)
    bias = _bounded_bias(whole, exact, seen, coder)
    means = summary.sums / np.maximum(summary.counts, 1e-300)[:, None]
    return QuantisedTable(
        clf.classes_,
        summary.feature_names,
        kind,
        weight_bits,
        *table_parts(coder, whole, kind),
        tuple(bias),
        mean_leads(means @ whole.T + np.array(bias)),
        coder.categories,
    )


def checked_cells(model: TableModel) -> tuple[Coder, Floats]:
    """Return the cells of a model and what each adds; say so if there are too many.

    A line beside the bins (``auto=True``) rises by steps: a board has tables alone.
    """
    coder, table = model.binned.coder, model.binned.entries
    if coder.n_columns > MAX_FEATURES:
        raise ValueError(
            f"a board takes {MAX_FEATURES} features with bins and interactions, not {coder.n_columns}: "
            "a score has 32 bits"
        )
    return coder, table


def table_parts(
    coder: Coder, whole: Integers, kind: str
) -> tuple[tuple[Array, ...], tuple[Integers, ...], tuple[QuantisedFern, ...], Integers | None]:
    """Return thresholds, entries, ferns and entries of missing values for values of a type."""
    ferns = quantise_ferns(coder, whole, kind)
    thresholds, entries = [], []
    for j in range(coder.n_features):
        own = whole[:, coder.offsets[j] : coder.offsets[j + 1] - coder.missing]
        edges = coder.edges[coder.starts[j] : coder.starts[j + 1]]
        found, parts = _reachable(edges, own, kind, needed_thresholds(ferns, j, kind))
        thresholds.append(found)
        entries.append(parts)
    has_missing = coder.missing and kind == "float"
    gone = whole[:, coder.offsets[1 : coder.n_features + 1] - 1].T.copy() if has_missing else None
    return tuple(thresholds), tuple(entries), ferns, gone


def smallest_type(scale: Scale, coder: Coder) -> str:
    """Return the type that a board's values have: whole numbers where every edge is one, else float."""
    if coder.missing:
        return "float"  # only floats can be missing
    named = np.isin(np.repeat(np.arange(coder.n_features), np.diff(coder.starts)), list(coder.categories))
    edges = coder.edges[~named]
    if (edges != np.floor(edges)).any():
        return "float"
    if not (scale is None or isinstance(scale, str)):
        low, high = known_ranges(scale, coder.n_features)
        for kind in ("uint8", "int16", "int32"):
            least, most = limits(kind)
            if low.min() >= least and high.max() <= most:
                return kind
        return "float"
    largest = float(np.abs(edges).max(initial=0))
    return next((kind for kind, most in LARGEST_EDGE.items() if largest <= most), "float")


def _whole_entries(
    table: Floats, seen: NDArray[np.bool_], counts: Floats, coder: Coder, weight_bits: int
) -> tuple[Integers, Floats]:
    """Return the entries as whole numbers up to ONE, and what the bias must be with them.

    What all classes get from a cell decides nothing: without it, the steps are finer.
    """
    if len(table) > 1:
        some = table[seen]
        table = np.where(seen[:, None], table - (some.max(axis=0) + some.min(axis=0)) / 2, 0.0)
    moved, middle, share = moved_entries(table, counts, coder)
    unit = ONE[weight_bits] / (float(np.abs(moved).max()) or 1.0)
    whole = np.rint(moved * unit)
    exact = unit * middle.sum(axis=1) + ((moved * unit - whole) * share).sum(axis=1)
    return whole.astype(np.int64), np.asarray(exact)


def moved_entries(table: Floats, counts: Floats, coder: Coder) -> tuple[Floats, Floats, Floats]:
    """Return the entries about the middle of their column, these middles, and the cells' shares of the rows.

    What all cells of a column have in common belongs to the bias: without it, the steps are finer. The mean
    rounding error over the training rows, by the shares, goes to the bias too.
    """
    first, column_of = coder.offsets[:-1], coder.column_of
    highest, lowest = (end.reduceat(table, first, axis=1) for end in (np.maximum, np.minimum))
    middle = (highest + lowest) / 2
    return table - middle[:, column_of], middle, coder.shares(counts.sum(axis=0))


def _bounded_bias(whole: Integers, exact: Floats, seen: NDArray[np.bool_], coder: Coder) -> list[int]:
    """Return whole biases of the same answers that 32 bits hold: beyond the reach of all entries one decides.

    More classes: they count from the highest, since a number that all scores have more decides nothing.
    """
    reach = int(np.maximum.reduceat(np.abs(whole).max(axis=0), coder.offsets[:-1]).sum())
    if len(exact) == 1:
        # above 0 exactly where the sum of the entries is above -exact
        return [int(np.clip(math.ceil(exact[0] - 1e-9), -reach - 1, reach + 1))]
    counted = np.rint(exact - exact[seen].max())
    bounded = np.maximum(counted, -2 * reach - 1)
    return [int(value) if known else -2 * reach - 2 for value, known in zip(bounded, seen, strict=True)]


def _reachable(
    edges: Floats, entries: Integers, kind: str, needed: Floats | tuple[()] = ()
) -> tuple[Array, Integers]:
    """Return the thresholds of the board's type and the entries of the cells between them.

    Cells that no value of the type lies in are left out, and neighbours that say the same are one, unless
    the threshold between them is ``needed``.
    """
    values, (low, high) = thresholds_of(edges, kind), limits(kind)
    first = int(np.count_nonzero(values <= low))
    reached = np.isfinite(values) | np.isin(values, needed)
    different = np.unique(values[(values > low) & (values <= high) & reached])
    cells = np.concatenate([[first], np.searchsorted(values, different, side="right")])
    kept = entries[:, cells]
    changes = (np.diff(kept, axis=1) != 0).any(axis=0) | np.isin(different, needed)
    found = different[changes]
    thresholds = found.astype(np.float32) if kind == "float" else found.astype(np.int64)
    return thresholds, kept[:, np.concatenate([[True], changes])]
