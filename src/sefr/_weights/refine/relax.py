"""A weaker ridge penalty, where passes are left over: kept as long as the leave-one-out loss falls.

Where features correlate, the usual penalty costs accuracy once many passes have found its minimum. With bins
it does not: their weights are many, and the leave-one-out loss prefers too weak a penalty.
"""

from __future__ import annotations

from dataclasses import replace

from ..._rows.labelled import CodedRows
from ..._system.types import Floats
from ..loss import row_losses
from .lbfgs import Limits, Objective, Search
from .leave_one_out import leave_one_out

# With fewer rows per weight the classes may be separable, and the leave-one-out loss then prefers no penalty.
ROWS_PER_WEIGHT = 32
# Try a weaker penalty only if at least this many passes, and as many as were used, remain.
FEWEST_LEFT = 16
# How much weaker the penalty is each time.
WEAKER = 10.0


def relax(
    objective: Objective, search: Search, sampled: CodedRows, curve: list[float], limits: Limits
) -> tuple[Objective, Floats]:
    """Return the objective with the penalty that is kept, and the best point under it.

    If the weaker penalty is rejected, its passes repeat the last accepted loss in ``curve``.
    """
    if limits.passes - len(curve) < max(len(curve), FEWEST_LEFT):
        return objective, search.best.point
    loss = _loss(objective, search, sampled)
    while (made := len(curve)) < limits.passes:
        weaker = replace(
            objective, penalty=replace(objective.penalty, ridge=objective.penalty.ridge / WEAKER)
        )
        further = search.under(weaker.penalty.ridge)
        further.minimise(weaker, curve, limits)
        found = _loss(weaker, further, sampled)
        if len(curve) == made or not found < loss:
            curve[made:] = [search.best.loss] * (len(curve) - made)
            break
        objective, search, loss = weaker, further, found
    return objective, search.best.point


def _loss(objective: Objective, search: Search, sampled: CodedRows) -> float:
    unseen = leave_one_out(objective, search.best.point, sampled)
    return float(objective.sample.weights @ row_losses(unseen.scores, unseen.codes)[0])
