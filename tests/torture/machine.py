"""Every verb in any order, on every type and layout, against the oracle in exact rationals."""

from __future__ import annotations

import copy
import io
import os
import pickle
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import isinf
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from scipy import sparse
from sklearn.base import clone

from sefr import SEFRClassifier, Summary, load, save

from .oracle import Cells, Oracle, Row

TOLERANCE = 1e-12
TYPES = [
    "float64",
    "float32",
    "float16",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "bool",
]
ARRAYS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "swapped": lambda X: X.astype(X.dtype.newbyteorder()),
    "read-only": lambda X: np.frombuffer(X.tobytes(), X.dtype).reshape(X.shape),
    "list": lambda X: X.tolist(),
    "CSR": sparse.csr_matrix,
    "CSC": sparse.csc_array,
    "COO": sparse.coo_array,
}
NAMES = list("abcdefgh")
FRAMES = {
    "pandas": lambda X: _frame(X),
    "nullable": lambda X: _frame(X).convert_dtypes(),
    "mixed": lambda X: _frame(X).assign(a=X[:, 0].astype(np.float64)),
    "polars": lambda X: pl.DataFrame({name: X[:, j] for j, name in enumerate(NAMES[: X.shape[1]])}),
    "arrow": lambda X: pa.table({name: X[:, j] for j, name in enumerate(NAMES[: X.shape[1]])}),
}
LABELS: dict[str, list[Any]] = {
    "int": [-3, 0, 7, 2**40],
    "text": ["", "a", "b", "ü"],
    "bool": [False, True],
    "float": [-3.0, 0.0, 2.0, 2.0**40],
}
WEIGHTS = [0.0, 1.0, 2.0, 0.5, 0.1, 1 / 3, 1e-2, 1e3]

steps: Counter[str] = Counter()  # what was done, for the report


def _weights_of(clf: SEFRClassifier) -> Any:
    return clf.coef_ if clf.bins is None else clf.fitted_.model.entries


def _frame(X: Any) -> Any:
    return pd.DataFrame(X, columns=NAMES[: X.shape[1]])


@dataclass(frozen=True)
class Kind:
    """What all rows of one machine have in common."""

    n_features: int
    labels: str
    scale: str
    missing: bool
    offset: float
    unit: float
    named: bool
    epsilon: float
    passes: int
    bins: int | None
    interactions: int | None
    class_weight: Any
    moments: int
    auto: bool = False

    @property
    def order(self) -> int:
        """The moments that are added up: second ones are solved from one pass."""
        return self.moments if self.passes == 1 else 1

    @property
    def refined(self) -> bool:
        """Whether the weights follow from rows that are gone, so that verbs that need them are refused."""
        return self.passes > 1 or self.auto

    def model(self) -> SEFRClassifier:
        """Return the classifier, not trained yet."""
        weight = self.class_weight
        if isinstance(weight, list):  # of the two classes that every first batch has
            weight = dict(zip(LABELS[self.labels], weight, strict=False))
        chosen: dict[str, Any] = {"auto": True}
        if not self.auto:
            chosen = {"passes": self.passes, "bins": self.bins, "moments": self.order}
            chosen["interactions"] = self.interactions if self.bins else None
        return SEFRClassifier(
            scale=self.setting(),
            epsilon=self.epsilon,
            missing="ignore" if self.missing else "error",
            class_weight=weight,
            **chosen,
        )

    def setting(self) -> Any:
        """Return the classifier's ``scale``."""
        ends = (self.offset - 200 * self.unit, self.offset + 200 * self.unit)
        return {"minmax": "minmax", "none": None, "known": ends}[self.scale]


@dataclass(frozen=True)
class Batch:
    """Rows as Hypothesis draws them: ``cells`` count units from the offset, None is missing."""

    cells: list[list[int | None]]
    labels: list[int]
    weights: list[float] | None
    dtype: str
    layout: int

    def made(self, kind: Kind) -> tuple[Any, Any, Any, list[Row]]:
        """Return X, y, weights, and the same rows as fractions."""
        X = self._array(kind)
        layouts = FRAMES if kind.named else ARRAYS
        names = LABELS[kind.labels]
        y = [names[label % len(names)] for label in self.labels]
        weights = None if self.weights is None else list(self.weights)
        rows = [
            (
                tuple(None if v != v else Fraction(float(v)) for v in row),
                label,
                Fraction(1 if weights is None else weights[i]),
            )
            for i, (row, label) in enumerate(zip(X, y, strict=True))
        ]
        layout = list(layouts)[self.layout % len(layouts)]
        if X.dtype == np.float16 and (kind.named or layout in {"CSR", "CSC", "COO"}):
            X = X.astype(np.float32)  # neither Arrow nor scipy takes the half floats everywhere
        steps[f"type {X.dtype}"] += 1
        steps[f"layout {layout}"] += 1
        return layouts[layout](X), np.array(y), weights, rows

    def _array(self, kind: Kind) -> Any:
        """Return the values in the type that was drawn, if it can hold them, else as float64."""
        values = np.array(
            [[self._value(cell, kind) for cell in row[: kind.n_features]] for row in self.cells]
        )
        whole = kind.offset == int(kind.offset) and kind.unit == 1
        dtype = np.dtype(self.dtype)
        if dtype.kind in "iu":
            ends = np.iinfo(dtype)
            fits = whole and bool(((values >= ends.min) & (values <= ends.max)).all())
        elif dtype.kind == "b":
            fits = bool(np.isin(values, (0, 1)).all())
        else:
            fits = not (np.abs(values) > 1e4).any() or dtype != np.float16
            if fits and kind.scale == "known":  # rounding must not lead out of the range
                fits = np.array_equal(values.astype(dtype), values, equal_nan=True)
        return values.astype(dtype if fits else np.float64)

    @staticmethod
    def _value(cell: int | None, kind: Kind) -> float:
        if cell is None and kind.missing:
            return float("nan")
        value = kind.offset + kind.unit * (cell or 0)
        return abs(value) if kind.scale == "none" else value


@st.composite
def batches(draw: st.DrawFn, first: bool = False) -> Batch:
    """Rows from one on; those that a model starts with are of two classes that count."""
    n = draw(st.integers(2, 7) if first else st.integers(1, 7))
    cell = st.one_of(st.integers(-9, 9), st.sampled_from([0, 1]), st.integers(-200, 200), st.none())
    cells = draw(st.lists(st.lists(cell, min_size=4, max_size=4), min_size=n, max_size=n))
    labels = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    weights = draw(st.none() | st.lists(st.sampled_from(WEIGHTS), min_size=n, max_size=n))
    if first:
        labels[:2] = [0, 1]
    if weights is not None:
        weights[:2] = [1.0, 0.25][:n]  # there is always something to learn
    return Batch(cells, labels, weights, draw(st.sampled_from(TYPES)), draw(st.integers(0, 9)))


kinds = st.builds(
    Kind,
    n_features=st.integers(1, 4),
    labels=st.sampled_from(list(LABELS)),
    scale=st.sampled_from(["minmax", "none", "known"]),
    missing=st.booleans(),
    offset=st.sampled_from([0.0, 0.0, 100.0, 1e9, -1e9]),
    unit=st.sampled_from([1.0, 1.0, 0.1, 1e-3]),
    named=st.booleans(),
    epsilon=st.sampled_from([1e-7, 1e-7, 1e-3, 1.0]),
    passes=st.sampled_from([1, 1, 1, 2, 6]),
    bins=st.sampled_from([None, None, 2, 5]),
    interactions=st.sampled_from([None, None, 1, 3]),
    class_weight=st.sampled_from([None, None, "balanced", [3.0, 0.5]]),
    moments=st.sampled_from([1, 1, 2]),
    auto=st.sampled_from([False, False, False, False, True]),
)


class Machine(RuleBasedStateMachine):
    """A model and the oracle; what was learned is kept so that it can be taken back."""

    def __init__(self) -> None:
        super().__init__()
        self.clf: SEFRClassifier | None = None
        self.learned: list[tuple[Batch, float]] = []  # and by how much they were decayed since

    @initialize(kind=kinds, batch=batches(first=True))
    def start(self, kind: Kind, batch: Batch) -> None:
        self.kind = kind
        self.new = kind.model()
        self.fit(batch)

    def oracle_of(self) -> Oracle:
        kind, epsilon, weight = self.kind, Fraction(self.kind.epsilon), self.new.class_weight
        if kind.bins is None or kind.auto:
            return Oracle(kind.n_features, kind.setting(), epsilon, weight)
        edges = [part.tolist() for part in self.clf.edges_]
        cells = Cells(edges, self.clf.interactions_, kind.missing)
        steps["ferns"] += len(cells.ferns)
        return Oracle(cells.number, (0.0, 1.0), epsilon, weight, cells)

    @rule(batch=batches(first=True))
    def fit(self, batch: Batch) -> None:
        steps["fit"] += 1
        X, y, weights, rows = batch.made(self.kind)
        self.clf = copy.copy(self.new).fit(X, y, sample_weight=weights)
        self.exact = self.oracle_of()
        self.exact.learn(rows)
        self.learned, self.probe = [(batch, 1.0)], rows

    @rule(batch=batches())
    def partial_fit(self, batch: Batch) -> None:
        steps["partial_fit"] += 1
        X, y, weights, rows = batch.made(self.kind)
        if self.kind.auto:
            self._refused_after_passes(lambda: self.clf.partial_fit(X, y, sample_weight=weights))
            return
        knew = _weights_of(self.clf).any()
        self.clf.partial_fit(X, y, sample_weight=weights)
        self._remember(batch, rows)
        if knew and self.kind.passes > 1:
            assert _weights_of(self.clf).any(), "what earlier rows gave was erased"

    @rule(batch=batches(), how=st.sampled_from(["rows", "Summary", "model", "bytes"]))
    def merge(self, batch: Batch, how: str) -> None:
        steps[f"merge {how}"] += 1
        X, y, weights, rows = batch.made(self.kind)
        if self._refused_after_passes(lambda: self.clf.merge(X, y, sample_weight=weights)):
            return
        if how == "rows":
            self.clf.merge(X, y, sample_weight=weights)
        else:
            self.clf.merge(self._other(how, X, y, weights))
        self._remember(batch, rows)

    @precondition(lambda self: self.learned)
    @rule(which=st.integers(0, 99), how=st.sampled_from(["rows", "Summary", "model", "bytes"]))
    def forget(self, which: int, how: str) -> None:
        batch, factor = self.learned[which % len(self.learned)]
        X, y, weights, rows = batch.made(self.kind)
        if self._refused_after_passes(lambda: self.clf.forget(X, y, sample_weight=weights)):
            return
        after = copy.deepcopy(self.exact)
        after.learn(rows, -Fraction(factor))
        state = self.clf.fitted_
        if after.seen() == 0:
            steps["forget all: refused"] += 1
            try:
                self.clf.forget(self._summary_of(X, y, weights) * factor)
            except ValueError as error:
                assert "no rows" in str(error), error  # noqa: PT017 - the state must not have changed, either
                assert self.clf.fitted_ is state
                return
            raise AssertionError("a model without rows")
        steps[f"forget {how}"] += 1
        if how == "rows" and factor == 1.0:
            self.clf.forget(X, y, sample_weight=weights)
        else:
            other = self._other("Summary" if how == "rows" else how, X, y, weights)
            self.clf.forget((other.summary_ if isinstance(other, SEFRClassifier) else other) * factor)
        self.exact = after
        self.learned.pop(which % len(self.learned))

    @rule(factor=st.sampled_from([1.0, 0.5, 0.25, 2.0**-10]))
    def decay(self, factor: float) -> None:
        if self.learned and min(part for _, part in self.learned) * factor < 2.0**-20:
            return
        if self.kind.auto:
            self._refused_after_passes(lambda: self.clf.decay(factor))
            return
        steps["decay"] += 1
        self.clf.decay(factor)
        self.exact.decay(Fraction(factor))
        self.learned = [(batch, part * factor) for batch, part in self.learned]

    @rule()
    def calibrate(self) -> None:
        if not self.learned:
            return
        steps["calibrate"] += 1
        batch = self.learned[-1][0]
        if batch.weights is not None and 0.0 in batch.weights:
            return  # a class that occurs with weight 0 alone was not learned
        X, y, weights, _rows = batch.made(self.kind)
        before = self.clf.decision_function(X)
        self.clf.calibrate(X, y, sample_weight=weights)
        np.testing.assert_array_equal(self.clf.decision_function(X), before)

    @rule(how=st.sampled_from(["file", "pickle", "copy", "bytes", "joblib"]))
    def stored(self, how: str) -> None:
        steps[f"stored as {how}"] += 1
        clf, summary = self.clf, self.clf.summary_
        if how == "file":
            descriptor, path = tempfile.mkstemp(".sefr")
            os.close(descriptor)
            save(clf, path)
            self.clf = load(path)
            os.unlink(path)
        elif how == "pickle":
            self.clf = pickle.loads(pickle.dumps(clf))  # noqa: S301
        elif how == "copy":
            self.clf = copy.deepcopy(clf)
        elif how == "joblib":
            import joblib

            file = io.BytesIO()
            joblib.dump(clf, file)
            file.seek(0)
            self.clf = joblib.load(file)
        elif not self.kind.refined:
            self.clf = SEFRClassifier.from_summary(Summary.from_bytes(summary.to_bytes()), **clf.get_params())
        assert self.clf.summary_ == summary
        X = self._probe_rows()
        np.testing.assert_array_equal(self.clf.decision_function(X), clf.decision_function(X))
        if self.kind.auto:
            return
        np.testing.assert_array_equal(_weights_of(self.clf), _weights_of(clf))
        if self.kind.bins is None:
            np.testing.assert_array_equal(self.clf.intercept_, clf.intercept_)

    @rule(batch=batches(), what=st.sampled_from(["infinity", "a column", "a label", "a weight", "NaN"]))
    def refused(self, batch: Batch, what: str) -> None:
        if what == "NaN" and self.kind.missing:
            return
        steps[f"refused {what}"] += 1
        kind = self.kind
        n = len(batch.labels)
        X = np.full((n, kind.n_features), kind.offset or 1.0)
        y: Any = np.array([LABELS[kind.labels][0]] * n)
        weights: Any = None
        if what in {"infinity", "NaN"}:
            X[-1, -1] = np.inf if what == "infinity" else np.nan
        elif what == "a column":
            X = np.hstack([X, X])
        elif what == "a label":
            y = y[1:]
        else:
            weights = [*[1.0] * (n - 1), -1.0]
        state, before = self.clf.fitted_, pickle.dumps(self.clf)
        for verb in (self.clf.forget,) if kind.auto else (self.clf.partial_fit, self.clf.forget):
            try:
                verb(_frame(X) if kind.named else X, y, sample_weight=weights)
            except ValueError:
                continue
            raise AssertionError(f"{verb.__name__} took {what}")
        assert self.clf.fitted_ is state
        assert pickle.dumps(self.clf) == before

    @invariant()
    def says_one_thing(self) -> None:
        """Answers, contributions and probabilities follow from the scores, whatever the settings."""
        if self.clf is None:
            return
        clf, X = self.clf, self._probe_rows()
        scores = np.asarray(clf.decision_function(X)).reshape(len(self.probe), -1)
        parts = clf.contributions(X).reshape(*scores.shape, -1)
        seen = np.isfinite(scores)
        size = np.abs(parts).sum(axis=2)[seen] + 1
        if self.kind.bins is None and not self.kind.auto:  # values as they are cancel in the score
            size += 1e-4 * np.abs(clf.coef_).sum() * np.nan_to_num(np.abs(np.asarray(X))).max()
        assert (np.abs(parts.sum(axis=2)[seen] - scores[seen]) <= 1e-9 * size).all()
        codes = (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
        assert (clf.predict(X) == clf.classes_[codes]).all()
        counts = clf.summary_.counts
        assert (seen == (counts > 0 if scores.shape[1] > 1 else counts.all())).all()
        try:
            chances = clf.predict_proba(X)
        except ValueError as error:
            assert "comes from a Summary" in str(error), error  # noqa: PT017
            return
        assert np.isfinite(chances).all()
        np.testing.assert_allclose(chances.sum(axis=1), 1, rtol=1e-12)

    @invariant()
    def equals_the_oracle(self) -> None:
        if self.clf is None:
            return
        steps["compared"] += 1
        clf, exact = self.clf, self.exact
        labels = exact.labels
        assert clf.classes_.tolist() == labels
        for k, label in enumerate(labels):
            sums = exact.classes[label]
            np.testing.assert_allclose(
                clf.summary_.counts[k], float(sums.count), rtol=1e-14 * exact.cancelled()
            )
        if self.kind.refined:
            return  # refined weights have no oracle
        if self.kind.order == 2:
            self._compare_products()
            first = {**clf.get_params(), "moments": 1}
            if clf.bins is not None and not clf.interactions_:  # nothing varied, and this would be refused
                first["interactions"] = None
            clf = SEFRClassifier.from_summary(clf.summary_, **first)
        tolerance = TOLERANCE * exact.cancelled()
        planes = exact.planes()
        weights = np.array([[float(w) for w in plane[0]] for plane in planes])
        if self.kind.bins is None:
            np.testing.assert_allclose(clf.feature_scores_, weights, rtol=0, atol=tolerance)
        unit = max(1.0, np.abs(weights).sum(axis=1).max())
        X = self._probe_rows()
        scores = np.asarray(clf.decision_function(X)).reshape(len(self.probe), -1)
        answers = clf.predict(X)
        for i, (values, _label, _weight) in enumerate(self.probe):
            expected = exact.scores(values, planes)
            for found, right in zip(scores[i], expected, strict=True):
                assert (
                    found == right
                    if isinf(right)
                    else abs(Fraction(float(found)) - right) <= tolerance * unit
                ), (
                    found,
                    float(right),
                )
            self._check_answer(answers[i], expected, tolerance * unit)

    def _compare_products(self) -> None:
        """Compare the sums of products with exact ones; what is solved from them is a number."""
        own, exact = self.clf.summary_.products, self.exact
        origin = [Fraction(value) for value in own.origin.tolist()]
        m, matrix = own.n_features, own.matrix()
        diagonal = np.sqrt(np.abs(np.diag(matrix)[:m]))
        for i in range(m):
            for j in range(i, m):
                right = exact.product(i, j, (origin[i], origin[j]))
                size = diagonal[i] * diagonal[j] + self.kind.unit**2
                assert abs(Fraction(float(matrix[i, j])) - right) <= 1e-11 * exact.cancelled() * size, (i, j)
        scores = np.asarray(self.clf.decision_function(self._probe_rows()))
        assert not np.isnan(scores).any()

    def _check_answer(self, answer: Any, scores: list[Any], tolerance: float) -> None:
        labels = self.exact.labels
        if len(scores) == 1:
            if abs(scores[0]) > tolerance:
                assert answer == labels[int(scores[0] > 0)]
            return
        first, second = sorted(scores, reverse=True)[:2]
        if isinf(second) or first - second > tolerance:
            assert answer == labels[scores.index(first)]

    def _remember(self, batch: Batch, rows: list[Row]) -> None:
        self.exact.learn(rows)
        self.learned.append((batch, 1.0))
        self.probe = rows

    def _probe_rows(self) -> Any:
        X = np.array([[np.nan if v is None else float(v) for v in row[0]] for row in self.probe])
        return _frame(X) if self.kind.named else X

    def _refused_after_passes(self, verb: Callable[[], object]) -> bool:
        """Say whether the model has refined weights; then the verb must be refused, and change nothing."""
        if not self.kind.refined:
            return False
        steps["refused after passes"] += 1
        state = self.clf.fitted_
        try:
            verb()
        except (ValueError, AttributeError) as error:  # hasattr says whether there is a partial_fit
            assert "no longer available" in str(error), error  # noqa: PT017
            assert self.clf.fitted_ is state
            return True
        raise AssertionError("a verb that needs the rows was taken")

    def _summary_of(self, X: Any, y: Any, weights: Any) -> Summary:
        cut = self._cut()
        return Summary.of(X, y, weights, missing=self.new.missing, moments=self.kind.order, **cut)

    def _cut(self) -> dict[str, Any]:
        if self.kind.bins is None:
            return {}
        return {"bins": self.clf.edges_, "interactions": self.clf.interactions_ or None}

    def _other(self, how: str, X: Any, y: Any, weights: Any) -> Any:
        """Return rows as a Summary or as a model of their own."""
        summary = self._summary_of(X, y, weights)
        if how == "model" and {*LABELS[self.kind.labels][:2]} <= {*summary.classes.tolist()}:
            return clone(self.new).set_params(**self._cut()).fit(X, y, sample_weight=weights)
        return Summary.from_bytes(summary.to_bytes()) if how == "bytes" else summary
