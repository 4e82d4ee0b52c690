"""Times measured side by side: functions take turns, so that a noisy machine disturbs all of them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

Times = dict[str, list[float]]


def interleaved(
    functions: dict[str, Callable[[], object]],
    turns: int,
    *,
    seconds: float = 20.0,
    clock: Callable[[], float] = time.perf_counter,
    least: float = 0.0,
) -> Times:
    """Call each function once per turn; stop early when ``seconds`` are over (after two turns).

    With ``least``, a function is called again within its turn until so many seconds have passed; the time of
    that turn is the mean of its calls.
    """
    times: Times = {name: [] for name in functions}
    end = time.perf_counter() + seconds
    for turn in range(turns):
        for name, function in functions.items():
            calls, start = 0, clock()
            while not calls or clock() - start < least:
                function()
                calls += 1
            times[name].append((clock() - start) / calls)
        if turn >= 1 and time.perf_counter() > end:
            break
    return times


def ratio(times: Times, above: str, below: str) -> float:
    """Return the median over the turns of ``above`` / ``below``."""
    return statistics.median(a / b for a, b in zip(times[above], times[below], strict=True))


def least(times: Times, name: str) -> float:
    """Return the least time in seconds: what else a machine does only adds to it."""
    return min(times[name])


def least_ratio(times: Times, above: str, below: str) -> float:
    """Return the least time of ``above`` over that of ``below``."""
    return least(times, above) / least(times, below)


def typical(times: Times, name: str) -> float:
    """Return the median time in seconds."""
    return statistics.median(times[name])
