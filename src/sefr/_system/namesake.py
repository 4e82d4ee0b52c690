"""PyPI's distribution ``sefr`` has our import name; pip lets each overwrite the other's files silently."""

from __future__ import annotations

import os
import sys

REINSTALL = "pip install --force-reinstall --no-deps . in the folder of sefr-learn's source (or its wheel)"


def namesake() -> str | None:
    """Return what to do about an installed distribution ``sefr``, or None where there is none.

    Nothing else of this package is imported here: the namesake may have overwritten ``sefr/__init__.py``.
    """
    if not any(map(_may_have_it, sys.path)):
        return None
    # here, because it takes a fourth of the time of importing sefr
    from importlib.metadata import PackageNotFoundError, version

    try:
        number = version("sefr")
    except PackageNotFoundError:
        return None
    return (
        f"another distribution, sefr {number}, is installed and has the same import name as sefr-learn: "
        f"pip uninstall sefr, then {REINSTALL}"
    )


def _may_have_it(path: str) -> bool:
    """Say whether a folder has the record of a distribution ``sefr``, or is none, such as a zip file."""
    try:
        names = os.listdir(path or ".")
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return any(
        name == "EGG-INFO" or (name.lower().startswith(("sefr-", "sefr.")) and name.endswith("-info"))
        for name in names
    )
