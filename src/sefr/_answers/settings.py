"""The settings of a model, checked."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np

from .._rows.cells.coder import check_bins
from .._rows.cells.ferns import check_interactions
from .._system.types import Foreign, Settings


def check_settings(settings: Settings) -> None:
    """Raise an error that names the first setting that has no meaning."""
    scale, epsilon, missing = settings["scale"], settings["epsilon"], settings["missing"]
    passes, n_jobs, verbose = settings["passes"], settings["n_jobs"], settings["verbose"]
    if isinstance(scale, str) and scale != "minmax":
        raise ValueError(f"scale must be 'minmax', None or a pair (low, high), not {scale!r}")
    if not (type(epsilon) is float or isinstance(epsilon, Real)) or not 0 <= float(epsilon) < np.inf:
        raise ValueError(f"epsilon must be a number from 0 up, not {epsilon!r}")
    if missing not in ("error", "ignore"):
        raise ValueError(f"missing must be 'error' or 'ignore', not {missing!r}")
    if settings["bins"] is not None:
        check_bins(settings["bins"])
    if settings["interactions"] is not None:
        check_interactions(settings["interactions"], settings["bins"])
    if not _is_whole(passes) or isinstance(passes, bool) or passes < 1:
        raise ValueError(f"passes must be a whole number from 1 up, not {passes!r}")
    if n_jobs is not None and not _is_whole(n_jobs):
        raise ValueError(f"n_jobs must be None or an integer, not {n_jobs!r}")
    if not _is_whole(verbose):
        raise ValueError(f"verbose must be a whole number, not {verbose!r}")


def _is_whole(value: Foreign) -> bool:
    return type(value) is int or isinstance(value, Integral)  # what an abstract class is asked takes 1 us
