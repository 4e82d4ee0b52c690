"""How many threads ``n_jobs`` means."""

from __future__ import annotations

import os


def thread_count(n_jobs: int | None) -> int:
    """Return the number of threads: None is one, -1 all that this process may use, -2 all but one.

    Examples
    --------
    >>> thread_count(None), thread_count(3)
    (1, 3)
    """
    if n_jobs is None:
        return 1
    if n_jobs > 0:
        return n_jobs
    if n_jobs == 0:
        raise ValueError("n_jobs == 0 has no meaning: use None for one thread, -1 for all")
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, available + 1 + n_jobs)
