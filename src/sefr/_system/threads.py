"""How many threads ``n_jobs`` means."""

from __future__ import annotations

import functools
import os
import warnings
from numbers import Integral

from joblib import effective_n_jobs
from joblib.parallel import get_active_backend

MOST = 2**31 - 1  # the kernels take an int
# Fewer values, or products of values, are read sooner than joblib is asked (6 us) and a thread has started.
FEW_VALUES = 1 << 19
ONE_THREAD = os.name == "nt"  # the kernels start threads by pthread.h


def thread_count(n_jobs: int | None, n_values: int = MOST) -> int:
    """Return the number of threads: None is one, -1 all that this process may use, -2 all but one.

    joblib counts the processors, by affinity and by the limits of a container, once per process and affinity.
    It is not asked about None and about positive numbers, nor if there are few values. On Windows there is
    one thread, and a warning if more are asked for.

    Examples
    --------
    >>> thread_count(None), thread_count(3), thread_count(-1, 100)
    (1, 3, 1)
    """
    check_n_jobs(n_jobs)
    if n_jobs is None or n_values < FEW_VALUES:
        return 1
    count = n_jobs if n_jobs > 0 else _count(n_jobs)
    if ONE_THREAD and count > 1:
        warnings.warn(f"n_jobs={n_jobs}: on Windows sefr has one thread", UserWarning, stacklevel=2)
        return 1
    return count


def _count(n_jobs: int) -> int:
    """Ask joblib: again each time within its own workers and for a cluster, whose size may change."""
    backend, _ = get_active_backend()
    if backend.nesting_level or type(backend).__name__ != "LokyBackend":
        return int(effective_n_jobs(n_jobs))
    affinity = getattr(os, "sched_getaffinity", None)
    allowed = frozenset(affinity(0)) if affinity else frozenset()
    return _count_once(n_jobs, os.getpid(), allowed, os.environ.get("LOKY_MAX_CPU_COUNT"))


@functools.lru_cache(maxsize=16)
def _count_once(n_jobs: int, process: int, allowed: frozenset[int], most: str | None) -> int:
    """Ask joblib, which reads the limits of a container from files: 40 us, as long as a small fit."""
    return int(effective_n_jobs(n_jobs))


def check_n_jobs(n_jobs: object) -> None:
    """Refuse what is no number of threads."""
    if n_jobs is None or (
        type(n_jobs) is int and 0 < abs(n_jobs) <= MOST
    ):  # isinstance against an ABC costs 1 us
        return
    if not isinstance(n_jobs, Integral) or not -MOST <= int(n_jobs) <= MOST:
        raise ValueError(f"n_jobs must be None or an integer, not {n_jobs!r}")
    if n_jobs == 0:
        raise ValueError("n_jobs == 0 has no meaning: use None for one thread, -1 for all")
