"""PyPI's distribution ``sefr`` has our import name; pip lets each overwrite the other's files silently."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

REINSTALL = "pip install --force-reinstall --no-deps . in the folder of sefr-learn's source (or its wheel)"


def namesake() -> str | None:
    """Return what to do about an installed distribution ``sefr``, or None where there is none.

    Nothing else of this package is imported here: the namesake may have overwritten ``sefr/__init__.py``.
    """
    try:
        number = version("sefr")
    except PackageNotFoundError:
        return None
    return (
        f"another distribution, sefr {number}, is installed and has the same import name as sefr-learn: "
        f"pip uninstall sefr, then {REINSTALL}"
    )
