"""A weaker ridge penalty, where passes are left over: kept as long as the leave-one-out loss falls.

Where features correlate, the usual penalty costs accuracy once many passes have found its minimum. With bins
it does not: their weights are many, and the leave-one-out loss prefers too weak a penalty.
"""

from __future__ import annotations

from dataclasses import replace

from ..._rows.labelled import CodedRows
from ..._system.types import Floats
from .lbfgs import Limits, Objective, Search, minimise, sample_loss
from .leave_one_out import leave_one_out

# Rows per weight of a score, at least: fewer may be told apart without an error, and then no weight is too
# large for the leave-one-out loss.
ROWS_PER_WEIGHT = 32
# Passes that are left, at least; and as many as were made.
FEWEST_LEFT = 16
# How much weaker the penalty is each time.
WEAKER = 10.0


def relax(
    objective: Objective, search: Search, sampled: CodedRows, curve: list[float], limits: Limits
) -> tuple[Objective, Floats]:
    """Return the objective with the penalty that is kept, and the best point under it.

    What further passes add to ``curve`` where they are in vain is the loss before them.
    """
    if limits.passes - len(curve) < max(len(curve), FEWEST_LEFT):
        return objective, search.best.point
    loss = _loss(objective, search, sampled)
    while (made := len(curve)) < limits.passes:
        weaker = replace(
            objective, penalty=replace(objective.penalty, ridge=objective.penalty.ridge / WEAKER)
        )
        further = search.under(objective.penalty, weaker.penalty)
        minimise(weaker, further, further.trial(weaker), curve, limits)
        found = _loss(weaker, further, sampled)
        if len(curve) == made or not found < loss:
            curve[made:] = [search.best.loss] * (len(curve) - made)
            break
        objective, search, loss = weaker, further, found
    return objective, search.best.point


def _loss(objective: Objective, search: Search, sampled: CodedRows) -> float:
    return sample_loss(leave_one_out(objective, search.best.point, sampled).scores, objective.sample)[0]
