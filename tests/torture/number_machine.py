"""The verbs of a regressor in any order, against sums of products in exact rationals."""

from __future__ import annotations

import copy
import pickle
import tempfile
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sefr import SEFRRegressor, Summary, load, save

from .machine import Batch, _frame, batches, steps
from .oracle import Oracle, Row

WAYS = ["rows", "Summary", "model", "bytes"]


@dataclass(frozen=True)
class NumberKind:
    """What all rows of one machine have in common; the names are those that a ``Batch`` asks for."""

    n_features: int
    scale: str
    missing: bool
    offset: float
    unit: float
    named: bool
    bins: int | None
    interactions: int | None
    auto: bool
    labels: str = "int"

    def model(self) -> SEFRRegressor:
        """Return the regressor, not trained yet."""
        ends = (self.offset - 200 * self.unit, self.offset + 200 * self.unit)
        settings: dict[str, Any] = {"auto": True} if self.auto else {"bins": self.bins}
        if self.bins and not self.auto:
            settings["interactions"] = self.interactions
        return SEFRRegressor(
            scale=ends if self.scale == "known" else "minmax",
            missing="ignore" if self.missing else "error",
            **settings,
        )


@st.composite
def numbers(draw: st.DrawFn, first: bool = False) -> tuple[Batch, list[int]]:
    """Rows from one on, and what is to be predicted of each; those that come first have two values."""
    batch = draw(batches(first=first))
    y = draw(st.lists(st.integers(-50, 50), min_size=len(batch.labels), max_size=len(batch.labels)))
    return batch, [0, 7, *y[2:]] if first else y


kinds = st.builds(
    NumberKind,
    n_features=st.integers(1, 4),
    scale=st.sampled_from(["minmax", "known"]),
    missing=st.booleans(),
    offset=st.sampled_from([0.0, 0.0, 100.0, 1e9]),
    unit=st.sampled_from([1.0, 1.0, 0.1]),
    named=st.booleans(),
    bins=st.sampled_from([None, None, 3, 5]),
    interactions=st.sampled_from([None, 2]),
    auto=st.sampled_from([False, False, False, True]),
)


class NumberMachine(RuleBasedStateMachine):
    """A regressor, and the sums of its rows as fractions; what was learned is kept to be taken back."""

    def __init__(self) -> None:
        super().__init__()
        self.reg: SEFRRegressor | None = None
        self.learned: list[tuple[tuple[Batch, list[int]], float]] = []

    @initialize(kind=kinds, some=numbers(first=True))
    def start(self, kind: NumberKind, some: tuple[Batch, list[int]]) -> None:
        self.kind = kind
        self.fit(some)

    def made(self, some: tuple[Batch, list[int]]) -> tuple[Any, Any, Any, list[Row]]:
        """Return X, y, weights, and the rows as fractions, with the target as a feature more."""
        X, _, weights, rows = some[0].made(self.kind)
        y = np.array(some[1]) * self.kind.unit + self.kind.offset
        beside = zip(rows, y.tolist(), strict=True)
        return X, y, weights, [((*values, Fraction(own)), 0, weight) for (values, _, weight), own in beside]

    @rule(some=numbers(first=True))
    def fit(self, some: tuple[Batch, list[int]]) -> None:
        steps["regressor: fit"] += 1
        X, y, weights, rows = self.made(some)
        self.reg = self.kind.model().fit(X, y, sample_weight=weights)
        self.exact = Oracle(self.kind.n_features + 1, None, Fraction(0))
        self.exact.learn(rows)
        self.learned, self.probe = [(some, 1.0)], rows

    @rule(some=numbers())
    def partial_fit(self, some: tuple[Batch, list[int]]) -> None:
        steps["regressor: partial_fit"] += 1
        X, y, weights, rows = self.made(some)
        self.reg.partial_fit(X, y, sample_weight=weights)
        self._remember(some, rows)

    @rule(some=numbers(), how=st.sampled_from(WAYS))
    def merge(self, some: tuple[Batch, list[int]], how: str) -> None:
        steps[f"regressor: merge {how}"] += 1
        X, y, weights, rows = self.made(some)
        if how == "rows":
            self.reg.merge(X, y, sample_weight=weights)
        else:
            self.reg.merge(self._other(how, X, y, weights))
        self._remember(some, rows)

    @precondition(lambda self: self.learned)
    @rule(which=st.integers(0, 99), how=st.sampled_from(WAYS))
    def forget(self, which: int, how: str) -> None:
        some, factor = self.learned[which % len(self.learned)]
        X, y, weights, rows = self.made(some)
        after = copy.deepcopy(self.exact)
        after.learn(rows, -Fraction(factor))
        state = self.reg.fitted_
        other = self._other("Summary" if how == "rows" else how, X, y, weights)
        other = (other.summary_ if isinstance(other, SEFRRegressor) else other) * factor
        try:
            if how == "rows" and factor == 1.0:
                self.reg.forget(X, y, sample_weight=weights)
            else:
                self.reg.forget(other)
        except ValueError:
            assert self.reg.fitted_ is state
            assert self._variance(after) <= 1e-9 * self._variance(self.exact), "it could have forgotten"
            steps["regressor: forget refused"] += 1
            return
        steps[f"regressor: forget {how}"] += 1
        self.exact = after
        self.learned.pop(which % len(self.learned))

    @rule(factor=st.sampled_from([1.0, 0.5, 0.25]))
    def decay(self, factor: float) -> None:
        if self.learned and min(part for _, part in self.learned) * factor < 2.0**-10:
            return
        steps["regressor: decay"] += 1
        self.reg.decay(factor)
        self.exact.decay(Fraction(factor))
        self.learned = [(some, part * factor) for some, part in self.learned]

    @rule(how=st.sampled_from(["file", "pickle", "copy", "bytes"]))
    def stored(self, how: str) -> None:
        steps[f"regressor: stored as {how}"] += 1
        reg, X = self.reg, self._probe_rows()
        if how == "file":
            with tempfile.TemporaryDirectory() as folder:
                save(reg, Path(folder) / "m.sefr")
                self.reg = load(Path(folder) / "m.sefr")
        elif how == "pickle":
            self.reg = pickle.loads(pickle.dumps(reg))  # noqa: S301
        elif how == "copy":
            self.reg = copy.deepcopy(reg)
        else:
            summary = Summary.from_bytes(reg.summary_.to_bytes())
            self.reg = SEFRRegressor.from_summary(summary, **reg.get_params())
        assert self.reg.summary_ == reg.summary_
        np.testing.assert_array_equal(self.reg.predict(X), reg.predict(X))

    @rule(some=numbers(), what=st.sampled_from(["infinity", "a column", "a number", "a target", "a weight"]))
    def refused(self, some: tuple[Batch, list[int]], what: str) -> None:
        steps[f"regressor: refused {what}"] += 1
        n, kind = len(some[1]), self.kind
        X = np.full((n, kind.n_features + (what == "a column")), kind.offset or 1.0)
        y = np.arange(n + (what == "a number"), dtype=float)
        weights = [*[1.0] * (n - 1), -1.0] if what == "a weight" else None
        if what == "infinity":
            X[-1, -1] = np.inf
        if what == "a target":
            y[-1] = np.nan
        state, before = self.reg.fitted_, pickle.dumps(self.reg)
        for verb in (self.reg.partial_fit, self.reg.merge, self.reg.forget):
            try:
                verb(_frame(X) if kind.named else X, y, sample_weight=weights)
            except ValueError:
                continue
            raise AssertionError(f"{verb.__name__} took {what}")
        assert self.reg.fitted_ is state
        assert pickle.dumps(self.reg) == before

    @invariant()
    def says_one_thing(self) -> None:
        """Predictions are finite, lie in their intervals, and are the sum of what the features add."""
        if self.reg is None:
            return
        X = self._probe_rows()
        mean, low, high = self.reg.predict(X, interval=0.9)
        found = self.reg.predict(X)
        assert np.isfinite(found).all()
        np.testing.assert_allclose(mean, found, rtol=1e-12)
        assert (low <= mean).all()
        assert (mean <= high).all()

    @invariant()
    def equals_the_sums(self) -> None:
        if self.reg is None:
            return
        steps["compared"] += 1
        exact, products = self.exact, self.reg.summary_.products
        slack = exact.cancelled()
        (sums,) = exact.classes.values()
        np.testing.assert_allclose(self.reg.summary_.n_rows, float(sums.count), rtol=1e-14 * slack)
        m, matrix = self.kind.n_features, products.matrix()
        origin = [Fraction(value) for value in products.origin.tolist()]
        places = {m: -1}  # of the target, after whatever columns there are
        plain = self.reg.summary_.coder is None
        if plain:
            places |= {j: j for j in range(m)}
        about = {place: origin[-1] if place == m else origin[place] for place in places}
        size = {j: float(exact.product(j, j, (about[j], about[j]))) ** 0.5 + self.kind.unit for j in places}
        for i in places:
            for j in places:
                if i <= j:
                    right = exact.product(i, j, (about[i], about[j]))
                    found = Fraction(float(matrix[places[i], places[j]]))
                    assert abs(found - right) <= 1e-11 * slack * size[i] * size[j], (i, j)

    def _variance(self, exact: Oracle) -> float:
        """Return the sum of squares of the target about its mean."""
        m = self.kind.n_features
        count, total, _, squares = exact.pairs.get((m, m), [Fraction(0)] * 4)
        return float(squares - total * total / count) if count > 0 else 0.0

    def _remember(self, some: tuple[Batch, list[int]], rows: list[Row]) -> None:
        self.exact.learn(rows)
        self.learned.append((some, 1.0))
        self.probe = rows

    def _probe_rows(self) -> Any:
        m = self.kind.n_features
        X = np.array([[np.nan if v is None else float(v) for v in row[0][:m]] for row in self.probe])
        return _frame(X) if self.kind.named else X

    def _other(self, how: str, X: Any, y: Any, weights: Any) -> Any:
        """Return rows as a Summary or as a model of their own."""
        own = SEFRRegressor(missing=self.reg.missing)
        coder = self.reg.summary_.coder
        if coder is not None:
            own.set_params(bins=self.reg.edges_, interactions=self.reg.interactions_ or None)
        try:
            own.fit(X, y, sample_weight=weights)
        except ValueError as error:  # one row, or one value: a Summary, but no model
            assert "two" in str(error), error  # noqa: PT017
            zero = copy.deepcopy(self.reg)
            zero.merge(X, y, sample_weight=weights)
            return zero.summary_ - self.reg.summary_
        summary = own.summary_
        return (
            own if how == "model" else Summary.from_bytes(summary.to_bytes()) if how == "bytes" else summary
        )
