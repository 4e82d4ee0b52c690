"""Learning: from rows, wherever they are, to what a model knows; the same for every way of training."""

from __future__ import annotations

import warnings
from dataclasses import replace

from .._summary.source import RowSource
from .._summary.summary import Summary
from .._system.progress import Progress
from .._system.threads import thread_count
from .._weights.refine.lbfgs import Limits
from .._weights.refine.refine import Earlier, TrainingRows, refine
from .._weights.solve import solve
from ..settings import AnySettings
from .fitted import Fitted

# From MANY_LABELS different numbers on, with fewer than FEW_ROWS rows each, labels look like measurements.
MANY_LABELS, FEW_ROWS = 100, 10


def learn(source: RowSource, settings: AnySettings) -> Fitted:
    """Return what rows teach: their Summary, what further passes over them find, and their probabilities."""
    summary = source.summarise(settings)
    warn_of_numbers(summary)
    solved = Fitted.solve(summary, settings, source.names, place=source.place, hint=source.hint)
    return with_rows(solved, source)


def warn_of_numbers(summary: Summary) -> None:
    """Warn of labels that look like numbers to predict: hundreds of them, with a few rows each."""
    n_classes = len(summary.classes)
    if n_classes < MANY_LABELS or summary.classes.dtype.kind not in "iuf":
        return
    if summary.n_rows < FEW_ROWS * n_classes:
        warnings.warn(
            f"y has {n_classes} different numbers in {summary.n_rows:g} rows, and each is taken for a class: "
            "SEFRRegressor predicts numbers",
            UserWarning,
            stacklevel=2,
        )


def with_rows(fitted: Fitted, source: RowSource, before: Fitted | None = None, n_new: float = 0.0) -> Fitted:
    """Return the same after further passes over rows of its Summary, with the scores of a few of them.

    ``before`` is what was known without these rows, which count ``n_new``.
    """
    summary, passes = fitted.summary, int(fitted.settings.passes)
    if passes > 1:
        earlier = None
        if before is not None:
            earlier = Earlier(before.refined, before.summary.classes, before.summary.n_rows, n_new)
        watch = Progress(passes) if fitted.settings.verbose else None
        rows = TrainingRows(source, thread_count(fitted.settings.n_jobs), fitted.class_weight)
        sefr = solve(fitted.weighted, fitted.scaling, fitted.epsilon)
        fitted = replace(fitted, refined=refine(summary, sefr, rows, Limits(passes, watch), earlier))
    if before is None:
        return fitted.calibrated_with(source)
    return fitted.calibrated_with(source, before.calibration_over(summary.classes))
