"""Where and what was measured: every results file says it."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

AVX2 = "AVX2 alone"
MEASURED = ("src", "native", "device")  # a change elsewhere does not make another program of it


def machine() -> str:
    """Return the processor and its number of cores, in a few words."""
    name = platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                name = line.split(":", 1)[1].strip()
                break
    return f"{name}, {os.cpu_count()} cores"


def processor(*, avx2: bool = False) -> str:
    """Return the widest vectors that kernels use here; ``avx2``: the package was built for AVX2 alone."""
    cpuinfo = Path("/proc/cpuinfo")
    flags = cpuinfo.read_text() if cpuinfo.exists() else ""
    if "avx512bw" in flags and not avx2:
        return "AVX-512"
    return AVX2 if avx2 or "avx2" in flags else platform.machine()


def commit() -> str:
    """Return the commit that was measured; "dirty" where what is measured was changed since."""
    described = _git("describe", "--always") or "unknown"
    return f"{described}-dirty" if _git("status", "--porcelain", "--", *MEASURED) else described


def _git(*arguments: str) -> str:
    folder = Path(__file__).parents[1]
    done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip()
