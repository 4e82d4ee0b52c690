"""How many threads ``n_jobs`` means."""

from __future__ import annotations

import os
import warnings
from numbers import Integral

from joblib import effective_n_jobs

MOST = 2**31 - 1  # the kernels take an int
# Fewer values are read sooner than joblib has counted the processors (10 us) or a thread has started.
FEW_VALUES = 1 << 16
ONE_THREAD = os.name == "nt"  # the kernels start threads by pthread.h


def thread_count(n_jobs: int | None, n_values: int = MOST) -> int:
    """Return the number of threads: None is one, -1 all that this process may use, -2 all but one.

    joblib counts the processors, by affinity and by the limits of a container. It is not asked about None and
    about positive numbers, nor if there are few values: its answer takes a tenth of a small fit. On Windows
    there is one thread, and a warning if more are asked for.

    Examples
    --------
    >>> thread_count(None), thread_count(3), thread_count(-1, 100)
    (1, 3, 1)
    """
    check_n_jobs(n_jobs)
    if n_jobs is None or n_values < FEW_VALUES:
        return 1
    count = n_jobs if n_jobs > 0 else int(effective_n_jobs(n_jobs))
    if ONE_THREAD and count > 1:
        warnings.warn(f"n_jobs={n_jobs}: on Windows sefr has one thread", UserWarning, stacklevel=2)
        return 1
    return count


def check_n_jobs(n_jobs: object) -> None:
    """Refuse what is no number of threads."""
    if n_jobs is None or (type(n_jobs) is int and 0 < n_jobs <= MOST):  # isinstance against an ABC costs 1 us
        return
    if not isinstance(n_jobs, Integral) or not -MOST <= int(n_jobs) <= MOST:
        raise ValueError(f"n_jobs must be None or an integer, not {n_jobs!r}")
    if n_jobs == 0:
        raise ValueError("n_jobs == 0 has no meaning: use None for one thread, -1 for all")
