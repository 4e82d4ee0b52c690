"""How many threads ``n_jobs`` means."""

from __future__ import annotations

from numbers import Integral

from joblib import effective_n_jobs

MOST = 2**31 - 1  # the kernels take an int


def thread_count(n_jobs: int | None) -> int:
    """Return the number of threads: None is one, -1 all that this process may use, -2 all but one.

    joblib counts the processors, by affinity and by the limits of a container. It is not asked about None and
    about positive numbers, since its answer takes 10 us, a tenth of a small fit.

    Examples
    --------
    >>> thread_count(None), thread_count(3)
    (1, 3)
    """
    check_n_jobs(n_jobs)
    if n_jobs is None:
        return 1
    return n_jobs if n_jobs > 0 else int(effective_n_jobs(n_jobs))


def check_n_jobs(n_jobs: object) -> None:
    """Refuse what is no number of threads."""
    if n_jobs is None or (type(n_jobs) is int and 0 < n_jobs <= MOST):  # asking an abstract class takes 1 us
        return
    if not isinstance(n_jobs, Integral) or not -MOST <= int(n_jobs) <= MOST:
        raise ValueError(f"n_jobs must be None or an integer, not {n_jobs!r}")
    if n_jobs == 0:
        raise ValueError("n_jobs == 0 has no meaning: use None for one thread, -1 for all")
