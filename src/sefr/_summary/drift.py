"""Drift: what has changed from the rows of one Summary to those of another, and whether by more than chance.

A Summary knows no variances, but it knows the extremes: the variance of values between low and high whose
mean is m is at most (high - m)(m - low) (Bhatia and Davis, 2000). So the standard error of a mean has an
upper bound, and a difference smaller than a few of these is taken for chance, however small the batch.

A Summary with bins knows no means and ranges but the whole distribution of each feature over its bins: these
are compared by the population stability index (PSI) and by the Kolmogorov-Smirnov distance (KS).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._system.text import visible
from .._system.value import Value

if TYPE_CHECKING:
    from .._rows.cells import Coder
    from .summary import Summary

Floats = NDArray[np.float64]


class DriftWarning(UserWarning):
    """Rows differ from those that were learned."""


@dataclass(frozen=True)
class Thresholds(Value):
    """How much may change before it counts as drift.

    ``share`` is the change of a class's share of the rows; ``mean`` that of a feature's mean, of all rows or
    of one class, in units of the range it had; ``missing`` that of its share of missing values; ``outside``
    how far its values leave that range, in units of it (one row decides that, so the usual limit is wide).
    ``chance`` is how many standard errors, by their upper bound, a change of a share or a mean must exceed.
    With bins, ``psi`` and ``ks`` are those of a feature's distribution over its bins; 0.25 is the PSI that
    people take for a major change.
    """

    share: float = 0.1
    mean: float = 0.1
    missing: float = 0.1
    outside: float = 10.0
    chance: float = 4.0
    psi: float = 0.25
    ks: float = 0.1

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < np.inf:
                raise ValueError(f"the threshold {each.name} must be a number from 0 up, not {value!r}")


USUAL = Thresholds()


@dataclass(frozen=True)
class ClassDrift(Value):
    """A class's share of the rows, before and after; ``is_new`` where it had none before."""

    label: Any
    before: float
    after: float
    is_new: bool
    drifted: bool

    @property
    def change(self) -> float:
        """How much the share has grown."""
        return self.after - self.before


@dataclass(frozen=True)
class FeatureDrift(Value):
    """One feature, before and after.

    ``mean_before`` and ``mean_after`` are None where it had no value. ``shift`` is the change of the mean in
    units of the range before; ``class_shift`` the change in the class ``of_class``, in which it exceeds
    chance most. ``below`` and ``above`` say how far values leave the range, in the same units. With bins
    there are ``psi`` and ``ks`` instead, the latter None for categories, which have no order. ``drifted``
    names what exceeds its threshold: "mean", "class mean", "missing", "outside", "psi", "ks".
    """

    feature: str
    mean_before: float | None
    mean_after: float | None
    shift: float
    class_shift: float
    of_class: Any
    missing_before: float
    missing_after: float
    below: float
    above: float
    drifted: tuple[str, ...]
    psi: float | None = None
    ks: float | None = None

    @property
    def size(self) -> float:
        """The largest of its changes, by which features are ordered."""
        missing = abs(self.missing_after - self.missing_before)
        moved = (abs(self.shift), abs(self.class_shift), self.below, self.above)
        return max(*moved, missing, self.psi or 0.0, self.ks or 0.0)


@dataclass(frozen=True)
class DriftReport(Value):
    """What ``Summary.compare`` found.

    Attributes
    ----------
    rows_before, rows_after : float
        Numbers of rows, by weight.
    classes : tuple of ClassDrift
        In the order of the labels.
    features : tuple of FeatureDrift
        In the order of the features.
    thresholds : Thresholds
        What was asked for.
    """

    rows_before: float
    rows_after: float
    classes: tuple[ClassDrift, ...]
    features: tuple[FeatureDrift, ...]
    thresholds: Thresholds

    def __bool__(self) -> bool:
        return bool(self.findings)

    @cached_property
    def findings(self) -> tuple[str, ...]:
        """A sentence for everything that exceeds its threshold; none where nothing has drifted."""
        return tuple(self._sentences())

    def _sentences(self) -> Iterator[str]:
        for each in self.classes:
            if each.drifted:
                said = "is new: " if each.is_new else "had "
                before = "" if each.is_new else f"{each.before:.1%} of the rows, now "
                rows = " of the rows" if each.is_new else ""
                yield f"class {visible(each.label, 60)} {said}{before}{each.after:.1%}{rows}"
        for item in sorted(self.features, key=lambda item: -item.size):
            name = repr(visible(item.feature, 60))
            if "mean" in item.drifted:
                yield (
                    f"the mean of {name} moved by {item.shift:+.2f} of its range, from {item.mean_before:g} "
                    f"to {item.mean_after:g}"
                )
            elif "class mean" in item.drifted:
                where = visible(item.of_class, 60)
                yield f"the mean of {name} in class {where} moved by {item.class_shift:+.2f} of its range"
            if "missing" in item.drifted:
                was, now = item.missing_before, item.missing_after
                yield f"{name}: {was:.1%} of the values were missing, now {now:.1%}"
            if "outside" in item.drifted:
                side = "above" if item.above >= item.below else "below"
                far = max(item.above, item.below)
                yield f"{name} has values {side} its range by {far:.2f} of it"
            both = [("psi", item.psi), ("ks", item.ks)]
            if over := [f"{what.upper()} {value:.2f}" for what, value in both if what in item.drifted]:
                yield f"{name} is distributed otherwise over its bins: {', '.join(over)}"

    def warn(self) -> None:
        """Issue a DriftWarning with the findings, the first three in words; nothing where there are none."""
        if self.findings:
            more = f"; and {len(self.findings) - 3} more" if len(self.findings) > 3 else ""
            said = "; ".join(self.findings[:3])
            warnings.warn(f"these rows differ from those learned: {said}{more}", DriftWarning, stacklevel=2)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, for JSON."""
        return {
            "drifted": bool(self),
            "rows": {"before": self.rows_before, "after": self.rows_after},
            "thresholds": self.thresholds.__getstate__(),
            "findings": list(self.findings),
            "classes": [each.__getstate__() for each in self.classes],
            "features": [{**item.__getstate__(), "drifted": list(item.drifted)} for item in self.features],
        }

    def __repr__(self) -> str:
        rows = f"{self.rows_before:g} to {self.rows_after:g} rows"
        return f"<DriftReport: {len(self.findings)} findings from {rows}>"


def _plain(label: Any) -> Any:
    value = label.item() if isinstance(label, np.generic) else label
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def drift(
    before: Summary, after: Summary, thresholds: Thresholds = USUAL, *, labelled: bool = True
) -> DriftReport:
    """Compare two Summaries of the same features and classes; without labels, the features alone."""
    for which, summary in (("first", before), ("second", after)):
        if not summary.n_rows > 0:
            raise ValueError(f"the {which} Summary has no rows to compare")
    classes = tuple(_classes(before, after, thresholds)) if labelled else ()
    if before.coder is not None:
        features = tuple(_binned_features(before, before.coder, after, thresholds))
    else:
        features = tuple(_features(before, after, thresholds, labelled=labelled))
    return DriftReport(before.n_rows, after.n_rows, classes, features, thresholds)


def _classes(before: Summary, after: Summary, limits: Thresholds) -> Iterator[ClassDrift]:
    shares = [summary.counts / summary.n_rows for summary in (before, after)]
    noise = _share_noise(shares[0], before.n_rows, shares[1], after.n_rows)
    moved = np.abs(shares[1] - shares[0]) > np.maximum(limits.share, limits.chance * noise)
    new = (before.counts == 0) & (after.counts > 0)
    for k, label in enumerate(before.classes):
        was, now = float(shares[0][k]), float(shares[1][k])
        yield ClassDrift(_plain(label), was, now, bool(new[k]), bool(moved[k] or new[k]))


def _share_noise(p: Floats, n: float, q: Floats, m: float) -> Floats:
    """Return the standard error of a difference of shares p of n and q of m, if both were the same share."""
    both = (p * n + q * m) / (n + m)
    return np.asarray(np.sqrt(both * (1 - both) * (1 / n + 1 / m)))


def _features(
    before: Summary, after: Summary, limits: Thresholds, *, labelled: bool
) -> Iterator[FeatureDrift]:
    unit = _units(before, after)
    all_of = [_Means.of(summary, unit, pooled=True) for summary in (before, after)]
    each_of = [_Means.of(summary, unit, pooled=not labelled) for summary in (before, after)]
    shift, over = (part[0] for part in _shifts(all_of, unit, limits))
    class_shift, class_over = _shifts(each_of, unit, limits)
    worst = class_over.argmax(axis=0)
    columns = np.arange(before.n_features)
    gaps = [
        1 - means.counts[0] / summary.n_rows for means, summary in zip(all_of, (before, after), strict=True)
    ]
    gaps = [np.clip(gap, 0.0, 1.0) for gap in gaps]
    noise = _share_noise(gaps[0], before.n_rows, gaps[1], after.n_rows)
    gone = np.abs(gaps[1] - gaps[0]) > np.maximum(limits.missing, limits.chance * noise)
    known = (all_of[0].counts[0] > 0) & (all_of[1].counts[0] > 0)
    below = np.maximum(0.0, _difference(before.low, after.low, known, unit))
    above = np.maximum(0.0, _difference(after.high, before.high, known, unit))
    names = before.feature_names or after.feature_names or [f"column {j}" for j in columns]
    for j in columns:
        k = int(worst[j])
        found = {
            "mean": over[j] > 1,
            "class mean": labelled and class_over[k, j] > 1,
            "missing": gone[j],
            "outside": max(below[j], above[j]) > limits.outside,
        }
        yield FeatureDrift(
            str(names[j]),
            _number(all_of[0].means[0, j]),
            _number(all_of[1].means[0, j]),
            float(shift[j]),
            float(class_shift[k, j]),
            _plain(before.classes[k]) if labelled else None,
            float(gaps[0][j]),
            float(gaps[1][j]),
            float(below[j]),
            float(above[j]),
            tuple(name for name, exceeds in found.items() if exceeds),
        )


def _binned_features(
    before: Summary, coder: Coder, after: Summary, limits: Thresholds
) -> Iterator[FeatureDrift]:
    """Compare how the rows of each feature lie in its bins.

    Among equal distributions over B bins, PSI / (1/n + 1/m) is near a chi-square of B - 1 degrees, whose tail
    Laurent and Massart (2000) bound, and the inequality of Dvoretzky, Kiefer and Wolfowitz bounds KS.
    """
    counts = [summary.sums.sum(axis=0) for summary in (before, after)]
    rows = [before.n_rows, after.n_rows]
    names = before.feature_names or after.feature_names or [f"column {j}" for j in range(coder.n_features)]
    for j in range(coder.n_features):
        cells = [count[coder.offsets[j] : coder.offsets[j + 1]] for count in counts]
        gaps = [np.array([own[-1] / n if coder.missing else 0.0]) for own, n in zip(cells, rows, strict=True)]
        noise = _share_noise(gaps[0], rows[0], gaps[1], rows[1])
        degrees, tail = len(cells[0]) - 1, limits.chance**2 / 2
        psi = _psi(*cells)
        by_chance = (degrees + 2 * np.sqrt(degrees * tail) + 2 * tail) * (1 / rows[0] + 1 / rows[1])
        values = [own[:-1] if coder.missing else own for own in cells]
        present = [float(own.sum()) for own in values]
        ks = None if j in coder.categories or not all(present) else _ks(*values)
        ks_noise = limits.chance / 2 * np.sqrt(sum(1 / n for n in present)) if all(present) else 0.0
        found = {
            "missing": bool(abs(gaps[1] - gaps[0]) > max(limits.missing, float(limits.chance * noise[0]))),
            "psi": psi > max(limits.psi, by_chance),
            "ks": ks is not None and ks > max(limits.ks, ks_noise),
        }
        drifted = tuple(name for name, exceeds in found.items() if exceeds)
        missing = (float(gaps[0][0]), float(gaps[1][0]))
        no_mean = (None, None, 0.0, 0.0, None)
        yield FeatureDrift(str(names[j]), *no_mean, *missing, 0.0, 0.0, drifted, psi, ks)


def _psi(before: Floats, after: Floats) -> float:
    """Return the population stability index of counts; half a row more in each bin keeps it finite."""
    p, q = ((own + 0.5) / (own.sum() + 0.5 * len(own)) for own in (before, after))
    return float(((q - p) * np.log(q / p)).sum())


def _ks(before: Floats, after: Floats) -> float:
    """Return the greatest difference between the shares of rows up to an edge."""
    p, q = (np.cumsum(own) / own.sum() for own in (before, after))
    return float(np.abs(p - q).max())


@dataclass(frozen=True)
class _Means:
    """Means (K, m), how many values stand behind each, and the upper bound of their squared errors."""

    means: Floats
    counts: Floats
    errors: Floats

    @classmethod
    def of(cls, summary: Summary, unit: Floats, *, pooled: bool) -> _Means:
        """Return the means of each class, or of all rows as if they were one class."""
        sums = summary.sums
        counts = np.broadcast_to(summary.value_counts.head, sums.shape)
        if pooled:
            sums, counts = sums.sum(axis=0, keepdims=True), counts.sum(axis=0, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            means = np.where(counts > 0, sums / counts, np.nan)
            spread = np.maximum(
                0.0, (summary.high / unit - means / unit) * (means / unit - summary.low / unit)
            )
            errors = np.where(counts > 0, spread / counts, np.nan)
        return cls(means, counts, errors)


def _shifts(means: Sequence[_Means], unit: Floats, limits: Thresholds) -> tuple[Floats, Floats]:
    """Return the shifts of the means in units, and each divided by the limit it must not exceed."""
    before, after = means
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = after.means / unit - before.means / unit
        limit = np.maximum(limits.mean, limits.chance * np.sqrt(before.errors + after.errors))
        over = np.where(shift == 0, 0.0, np.abs(shift) / limit)
    return np.nan_to_num(shift, nan=0.0), np.nan_to_num(over, nan=0.0, posinf=np.inf)


def _units(before: Summary, after: Summary) -> Floats:
    """Return the range of each feature before; where it was constant or had no value, that of both."""
    with np.errstate(invalid="ignore", over="ignore"):
        own = before.high - before.low
        both = np.maximum(before.high, after.high) - np.minimum(before.low, after.low)
    unit = np.where((own > 0) & np.isfinite(before.low), own, both)
    unit = np.where(unit > 0, unit, 1.0)
    return np.minimum(unit, np.finfo(float).max)  # the range itself may be too large for a float


def _difference(a: Floats, b: Floats, known: NDArray[np.bool_], unit: Floats) -> Floats:
    return np.where(known, a, 0.0) / unit - np.where(known, b, 0.0) / unit


def _number(value: float) -> float | None:
    return float(value) if isfinite(value) else None
