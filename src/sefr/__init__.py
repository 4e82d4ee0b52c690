"""The SEFR classifier: exact in one pass, explainable, small enough for a microcontroller."""

import typing as _typing
import warnings
from importlib import import_module as _import_module

from ._system.interpreter import refuse_subinterpreters

refuse_subinterpreters()

from ._system.namesake import namesake  # noqa: E402 - nothing may load NumPy before

if _typing.TYPE_CHECKING:
    from ._summary.summary import Summary
    from .classifier import SEFRClassifier
    from .comparison import compare
    from .displays import AutoDisplay, ContributionsDisplay, CurvesDisplay, ScoresDisplay
    from .model_file import load, save
    from .regressor import SEFRRegressor
    from .validation import cross_validate

    __version__: str
__all__ = [
    "AutoDisplay",
    "ContributionsDisplay",
    "CurvesDisplay",
    "SEFRClassifier",
    "SEFRRegressor",
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
    "AutoDisplay": "displays",
    "ContributionsDisplay": "displays",
    "CurvesDisplay": "displays",
    "SEFRClassifier": "classifier",
    "SEFRRegressor": "regressor",
    "ScoresDisplay": "displays",
    "Summary": "_summary.summary",
    "compare": "comparison",
    "cross_validate": "validation",
    "load": "model_file",
    "save": "model_file",
}


def __getattr__(name: str) -> _typing.Any:
    if name == "__version__":
        from importlib.metadata import version

        value: _typing.Any = version("sefr-learn")
    elif name in _ROOMS:
        value = getattr(_import_module(f".{_ROOMS[name]}", __name__), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if (advice := namesake()) is not None:
    warnings.warn(advice, RuntimeWarning, stacklevel=2)
del advice, namesake, refuse_subinterpreters, warnings
