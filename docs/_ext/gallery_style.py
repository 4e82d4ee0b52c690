"""The gallery's pictures in the one style of the documentation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

from benchmarks.style import settings


def reset(gallery_conf: dict[str, Any], file: str | Path | None) -> None:
    """Set the style anew before each example; sphinx-gallery calls it."""
    mpl.rcParams.update(settings())
