"""Who reads rows that lie elsewhere, in a frame of another engine or the result of a query, and scores there.

The package says so (``sefr/__init__.py``), since this room imports none of those above it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

READERS: dict[str, Callable[..., Any]] = {}
