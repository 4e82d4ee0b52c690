"""Loads what draws the help, without a third of what it imports.

typer's ``rich_utils`` imports Markdown and tracebacks at its top, and these a parser and lexers: a third of
the time of ``sefr --help``, which is written in neither.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from types import ModuleType
from typing import Any

NOT_NEEDED = {"rich.markdown": "Markdown", "rich.traceback": "Traceback"}


def load_help_drawing() -> None:
    """Import ``typer.rich_utils``; what it imports in vain is loaded when somebody asks for it."""
    if "typer.rich_utils" in sys.modules:
        return
    stands_in = {module: _later(module, name) for module, name in NOT_NEEDED.items()}
    stands_in = {module: found for module, found in stands_in.items() if module not in sys.modules}
    sys.modules.update(stands_in)
    try:
        with suppress(ImportError):  # without rich, typer draws the help by itself
            import_module("typer.rich_utils")
    finally:
        for module in stands_in:
            del sys.modules[module]


def _later(module: str, name: str) -> ModuleType:
    """Return a module with one class, which stands for that of the module itself."""

    class Later(type):
        def __call__(cls, *arguments: Any, **options: Any) -> Any:
            return getattr(import_module(module), name)(*arguments, **options)

        def __getattr__(cls, attribute: str) -> Any:
            return getattr(getattr(import_module(module), name), attribute)

    found = ModuleType(module)
    setattr(found, name, Later(name, (), {}))
    return found
