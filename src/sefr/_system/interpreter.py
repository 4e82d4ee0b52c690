"""Only the main interpreter of a process will do: NumPy and SciPy do not support subinterpreters."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def refuse_subinterpreters() -> None:
    """Raise ImportError in a subinterpreter, where NumPy would fail to load or never return.

    Nothing is imported here that a subinterpreter cannot load.
    """
    for name in ("_interpreters", "_xxsubinterpreters"):  # from Python 3.13 on, and before
        try:
            interpreters: Any = import_module(name)
        except ImportError:
            continue
        if _number(interpreters.get_current()) != _number(interpreters.get_main()):
            raise ImportError(
                "sefr cannot be imported in a subinterpreter: NumPy and SciPy, which it needs, do not "
                "support them. Use the main interpreter (mod_wsgi: WSGIApplicationGroup %{GLOBAL}), threads "
                "or processes"
            )
        return


def _number(interpreter: Any) -> int:
    """Return the number of an interpreter, which Python 3.13 gives with where it comes from."""
    return int(interpreter[0] if isinstance(interpreter, tuple) else interpreter)
