"""Figure 1: run time on Gisette by records and by features, or on made-up data of its shape.

The made-up values are Gisette's kind: whole numbers 0..999, 13 % of them not zero, a tenth of the features
telling the classes apart. The run time of SEFR, naive Bayes and the SVM's kernel depends on the shape alone;
that of the trees also on the values, so their curves are of the right order but not Gisette's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from laboratory.datasets.catalogue import entry
from laboratory.journal import Key, Row
from laboratory.protocol import Data

NAME = "gisette_shape"
NOTE = "made-up data of Gisette's shape"

# One fold of ten is measured: the paper's curves are of ten, so its times are about ten times these.
FOLDS = 10

# A method that took more CPU seconds than this for a point is left out of the larger ones.
LIMIT_SECONDS = 60.0

_SEED = 2003
_NON_ZERO = 0.13
_TELLING = 0.1


def make() -> Data:
    """Return data of Gisette's shape, the same every time."""
    n, m = entry("gisette").shape
    rng = np.random.default_rng(_SEED)
    y = rng.permutation(np.arange(n) % 2)
    X = np.zeros((n, m))
    chance = np.full((2, m), _NON_ZERO)
    telling = rng.random(m) < _TELLING
    chance[:, telling] = np.clip(_NON_ZERO + rng.normal(0, 0.05, (2, int(telling.sum()))), 0.01, 0.5)
    for i in range(n):
        filled = rng.random(m) < chance[y[i]]
        X[i, filled] = rng.integers(1, 1000, int(filled.sum()))
    return Data(X, y, NOTE)


def plan(dataset: str, methods: list[str], quick: bool) -> Iterator[Key]:
    """Yield the paper's ten points and the whole for every method, or four small ones."""
    if quick:
        points = [(1000, 500), (2000, 500), (2000, 250), (2000, 1000)]
    else:
        n, m = entry("gisette").shape
        points = [(records, m) for records in range(1000, 7000, 1000)]
        points += [(n, features) for features in range(1000, 5000, 1000)] + [(n, m)]
    # Smallest first, so that what is cut short is the end of a curve.
    for records, features in sorted(points, key=lambda point: point[0] * point[1]):
        for method in methods:
            yield Key("scalability", dataset, method, f"records={records},features={features}", FOLDS, 0, 0)


def too_slow(key: Key, rows: Iterable[Row]) -> bool:
    """Tell whether the method of this point took longer than the limit on a smaller one."""
    return any(
        row.experiment == key.experiment
        and row.method == key.method
        and row.dataset == key.dataset
        and (row.cpu_seconds or 0) > LIMIT_SECONDS
        and np.prod(parse(row.variant)) < np.prod(parse(key.variant))
        for row in rows
    )


def part(data: Data, variant: str) -> Data:
    """Return the first records and features that the variant names."""
    records, features = parse(variant)
    return Data(np.ascontiguousarray(data.X[:records, :features]), data.y[:records], data.note)


def parse(variant: str) -> tuple[int, int]:
    """Return (records, features) of a variant."""
    records, features = (int(pair.split("=")[1]) for pair in variant.split(","))
    return records, features
