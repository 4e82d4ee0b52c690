"""The SEFR classifier: exact in one pass, explainable, small enough for a microcontroller."""

import typing as _typing
import warnings
from importlib import import_module as _import_module

from ._system.interpreter import refuse_subinterpreters

refuse_subinterpreters()

from ._summary.readers import READERS  # noqa: E402 - nothing may load NumPy before
from ._system.namesake import namesake  # noqa: E402

if _typing.TYPE_CHECKING:
    from ._summary.summary import Summary
    from .classifier import SEFRClassifier
    from .comparison import compare
    from .displays import ContributionsDisplay, CurvesDisplay, ScoresDisplay
    from .model_file import load, save
    from .validation import cross_validate

    __version__: str
__all__ = [
    "ContributionsDisplay",
    "CurvesDisplay",
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
    "CurvesDisplay": "displays",
    "SEFRClassifier": "classifier",
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


def _summary_of_frame(*args: _typing.Any, **kwargs: _typing.Any) -> "Summary":
    from .engines.frames import summary_of_frame

    return summary_of_frame(*args, **kwargs)


def _summary_of_query(*args: _typing.Any, **kwargs: _typing.Any) -> "Summary":
    from .engines.sql import summary_of_result

    return summary_of_result(*args, **kwargs)


def _fit_in_passes(*args: _typing.Any, **kwargs: _typing.Any) -> "SEFRClassifier":
    from .engines.passes import fit_frame

    return fit_frame(*args, **kwargs)


def _expression(*args: _typing.Any, **kwargs: _typing.Any) -> _typing.Any:
    from .engines.expressions import expression

    return expression(*args, **kwargs)


# Rooms import downwards only; here, at the top of the house, the lower ones are told who reads for them.
READERS.update(frame=_summary_of_frame, query=_summary_of_query, passes=_fit_in_passes)
READERS.update(expression=_expression)

if (advice := namesake()) is not None:
    warnings.warn(advice, RuntimeWarning, stacklevel=2)
del advice, namesake, refuse_subinterpreters, warnings, READERS
