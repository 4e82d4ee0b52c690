"""What each setting is called, means and may be, without a library: the shell asks for completions.

``sefr.settings`` adds how a setting is checked and stored; ``sefr.cli.options`` makes options of these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Declaration:
    """A setting: its name, its default, its sentence in help texts, and its limits if it is a number."""

    name: str
    default: Any
    meaning: str
    low: int | None = None
    high: int | None = None


SCALE = Declaration(
    "scale",
    "minmax",
    "Range of the features: minmax learns it, LOW:HIGH is known, none takes values as they are.",
)
EPSILON = Declaration(
    "epsilon", 1e-7, "Keeps the weights of the SEFR paper (equation 5) from dividing by zero.", low=0
)
MISSING = Declaration("missing", "error", "A missing value: an error, or left out of sums and scores.")
CLASS_WEIGHT = Declaration("class_weight", None, "balanced: rare classes count as much as frequent ones.")
BINS = Declaration(
    "bins", None, "Maximum number of bins per feature, e.g. 32 (allows non-linear effects).", low=2, high=256
)
INTERACTIONS = Declaration(
    "interactions",
    None,
    "With bins: maximum number of feature interactions, e.g. 60.",
    low=1,
    high=1000,
)
N_JOBS = Declaration("n_jobs", None, "Number of threads. None means 1, -1 means all cores.")
PASSES = Declaration(
    "passes",
    1,
    "Passes over the data. 1: the SEFR paper; 10: about as accurate as logistic regression.",
    low=1,
)
MOMENTS = Declaration(
    "moments",
    1,
    "What is added up. 1: features, as in the SEFR paper; 2: products of any two as well, which is more "
    "accurate.",
    low=1,
    high=2,
)
AUTO = Declaration(
    "auto", False, "Nothing to choose: lines, curves and interactions, weighted on held-out rows."
)
VERBOSE = Declaration("verbose", 0, "1 shows the passes as they are made.")
