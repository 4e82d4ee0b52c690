"""The machine and the versions a run was made with."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from laboratory.methods import versions


def describe() -> dict[str, str]:
    """Return what changes run times: processor, memory, system, Python; nothing that names the owner."""
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def fingerprint() -> dict[str, dict[str, str]]:
    """Return machine and package versions: rows made under another fingerprint must not be mixed."""
    return {"machine": describe(), "versions": versions()}


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _memory() -> str:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return "unknown"
    return f"{size / 2**30:.0f} GiB"
