"""The SEFR classifier: exact in one pass, explainable, small enough for a microcontroller."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._summary.summary import Summary
    from .classifier import SEFRClassifier
    from .comparison import compare
    from .displays import ContributionsDisplay, ScoresDisplay
    from .model_file import load, save
    from .validation import cross_validate

    __version__: str
__all__ = [
    "ContributionsDisplay",
    "SEFRClassifier",
    "ScoresDisplay",
    "Summary",
    "__version__",
    "compare",
    "cross_validate",
    "load",
    "save",
]

# Imported when they are first asked for: scikit-learn takes a second, and the shell asks the command for
# completions at every press of the tab key.
_ROOMS = {
    "ContributionsDisplay": "displays",
    "SEFRClassifier": "classifier",
    "ScoresDisplay": "displays",
    "Summary": "_summary.summary",
    "compare": "comparison",
    "cross_validate": "validation",
    "load": "model_file",
    "save": "model_file",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("sefr-learn")
    elif name in _ROOMS:
        value = getattr(import_module(f".{_ROOMS[name]}", __name__), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
