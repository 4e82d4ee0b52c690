"""The read limit: the time merely to read the same bytes, by the best of several loops."""

from __future__ import annotations

import ctypes
import functools
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

STREAMS = (1, 4)


@functools.cache
def _library() -> Any:
    source = Path(__file__).with_name("read_limit.c")
    target = Path(tempfile.mkdtemp(prefix="sefr-bench-")) / "read_limit.so"
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    subprocess.run(
        [compiler, "-O3", "-shared", "-fPIC", "-pthread", str(source), "-o", str(target)], check=True
    )
    read = ctypes.CDLL(str(target)).read_limit
    read.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
    read.restype = ctypes.c_uint64
    return read


def readers(X: Any, n_threads: int) -> dict[str, Any]:
    """Return the loops, to be timed in turns with what is compared with them."""
    read = _library()
    return {f"read {n}": functools.partial(read, X.ctypes.data, X.nbytes, n, n_threads) for n in STREAMS}


def read_once(X: Any) -> None:
    """Read an array that lies in one piece, by one loop of one thread."""
    _library()(X.ctypes.data, X.nbytes, 1, 1)


def fastest(times: dict[str, list[float]]) -> dict[str, list[float]]:
    """Add "limit": the times of the loop that was fastest."""
    best = min((f"read {n}" for n in STREAMS), key=lambda name: min(times[name]))
    return {**times, "limit": times[best]}
