"""The surroundings of a child process: the tests on its path, and one thread."""

from __future__ import annotations

import os
from pathlib import Path


def environment(**more: str) -> dict[str, str]:
    """Return the environment of this process with what a child needs."""
    paths = [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths)}
    return os.environ | one | more
