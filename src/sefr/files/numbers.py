"""A column of numbers to predict: the rows of files for a regressor, and how to tell one from labels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .._rows.cells import AnyCut, Categories, Coder, code_matrix
from .._rows.labelled import Labelled
from .._rows.labels import ONE_CLASS
from .._summary.source import BatchRows, RowBatch
from .._system.types import Array
from ..regressor import SEFRRegressor
from .dataset import Dataset, refuse_bad_value
from .learning import Tick, checked, without_feature_names
from .reader import NUMBER, SourceError
from .recipe import ColumnRecipe
from .survey import SURVEYED_VALUES

# More different numbers than these are a quantity. The alphabet and the days of a month are classes.
MOST_LABELS = 30


class NumberRows(BatchRows):
    """The rows of files whose label is a number, for every reading anew; errors name their place.

    ``known`` says how a model that was trained before cuts features into bins; None: the rows say it.
    """

    def __init__(
        self,
        dataset: Dataset,
        recipe: ColumnRecipe,
        missing: str,
        tick: Tick = lambda rows: None,
        known: Coder | None = None,
    ) -> None:
        super().__init__()
        self.dataset, self.recipe, self.missing, self.tick = dataset, recipe, missing, tick
        self.known = known
        self.names = np.array(recipe.feature_names, dtype=object)
        self.label = str(recipe.label)
        self.place = f"column {self.label!r}"

    def read(self, coder: Coder | None, classes: Array | None = None) -> Iterator[RowBatch]:
        """Yield the rows, cut into bins by ``coder``."""
        names = self.recipe.feature_names
        for batch, matrix, targets in self.dataset.numbered(self.recipe, self.label):
            refuse_bad_value(
                batch, matrix, self.recipe, self.missing, hint=" (--missing ignore takes its mean)"
            )
            codes, cells = np.zeros(len(targets), dtype=np.int32), code_matrix(matrix, coder)
            yield RowBatch(Labelled(cells, ONE_CLASS, codes, None, targets[:, None]), names)
            self.tick(len(batch))

    def learn_coder(self, cut: AnyCut) -> Coder | None:
        """Return where features are cut, columns with categories into these."""
        if self.known is not None:
            return self.known
        categories: dict[int, Categories] = dict(self.recipe.coded_features)
        return cut.learn_from_batches((batch.rows, categories) for batch in self.read(None))

    def no_rows(self) -> Exception:
        """Return the error for files without rows."""
        return self.dataset.no_rows()


def why_a_quantity(dataset: Dataset, label: str) -> str | None:
    """Return what shows that a column is a quantity, not labels of classes; None if nothing does.

    Fractions do, and more than 30 different numbers. Of a large table the first rows are looked at, and a
    pipe, which can be read once, not at all.
    """
    if any(reader.source.once or reader.columns.get(label) != NUMBER for reader in dataset.readers):
        return None
    seen: set[float] = set()
    left = SURVEYED_VALUES // max(1, len(dataset.columns))
    for batch in dataset.batches({label: NUMBER}):
        values = np.asarray(batch.rows.column(label).drop_null(), dtype=np.float64)
        values = np.unique(values[np.isfinite(values)])
        broken = values[values != np.floor(values)]
        if len(broken):
            return f"{label!r} has fractions, for example {float(broken[0]):.6g}"
        seen.update(values.tolist())
        if len(seen) > MOST_LABELS:
            return f"{label!r} has more than {MOST_LABELS} different numbers"
        left -= len(batch)
        if left <= 0:
            break
    return None


def predicted_numbers(
    dataset: Dataset,
    recipe: ColumnRecipe,
    reg: SEFRRegressor,
    *,
    tick: Tick = lambda rows: None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the numbers of a dataset and those that a model predicts for its rows."""
    if recipe.label is None:
        raise SourceError("which column is the label? (--label)")
    truth: list[NDArray[np.float64]] = []
    given: list[NDArray[np.float64]] = []
    scorer = without_feature_names(reg)
    for batch, matrix, targets in dataset.numbered(recipe, recipe.label):
        truth.append(targets)
        given.append(scorer.predict(checked(batch, matrix, recipe, reg.missing)))
        tick(len(batch))
    if not truth:
        raise dataset.no_rows()
    return np.concatenate(truth), np.concatenate(given)
