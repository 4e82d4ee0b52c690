"""Sequences of verbs in this process: python -m torture.sequences SEED COUNT prints how many there were."""

from __future__ import annotations

import json
import sys

from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from .machine import Machine, steps
from .number_machine import NumberMachine


def check(number: int, count: int, length: int = 20) -> dict[str, int]:
    """Run so many sequences of so many steps; raise what Hypothesis found, reduced."""
    before = sum(steps.values()), steps["compared"]
    chosen = settings(
        max_examples=count,
        stateful_step_count=length,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    # A regressor has every fourth sequence.
    some = settings(chosen, max_examples=max(1, count // 4))
    run_state_machine_as_test(seed(number)(NumberMachine), settings=some)
    rest = settings(chosen, max_examples=max(1, count - count // 4))
    run_state_machine_as_test(seed(number)(Machine), settings=rest)
    return {
        "sequences": count,
        "steps": sum(steps.values()) - before[0],
        "compared": steps["compared"] - before[1],
    }


if __name__ == "__main__":
    print(json.dumps(check(int(sys.argv[1]), int(sys.argv[2]))))
