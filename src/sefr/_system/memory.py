"""How much memory there is: what the machine has free, or what the group of processes may still take."""

from __future__ import annotations

import math
from pathlib import Path

MEMINFO, GROUP = Path("/proc/meminfo"), Path("/sys/fs/cgroup")


def free_memory() -> float:
    """Return the bytes of memory that are free; infinity where the system does not say."""
    free = math.inf
    try:
        for line in MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                free = 1024.0 * int(line.split()[1])
        most, used = ((GROUP / name).read_text() for name in ("memory.max", "memory.current"))
        if most.strip() != "max":
            free = min(free, float(int(most) - int(used)))
    except (OSError, ValueError, IndexError):  # another system, or no group
        pass
    return max(free, 0.0)
