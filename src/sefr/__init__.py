"""The SEFR classifier: exact in one pass, explainable, small enough for a microcontroller."""

from importlib.metadata import version
from typing import Any

from ._summary.summary import Summary
from .classifier import SEFRClassifier
from .displays import ContributionsDisplay, ScoresDisplay
from .model_file import load, save
from .validation import cross_validate


def _summary_of_frame(*args: Any, **kwargs: Any) -> Summary:
    from .engines.frames import summary_of_frame

    return summary_of_frame(*args, **kwargs)


def _summary_of_query(*args: Any, **kwargs: Any) -> Summary:
    from .engines.sql import summary_of_result

    return summary_of_result(*args, **kwargs)


# Rooms import downwards only; here, at the top of the house, the lower ones are told who reads for them.
Summary.readers.update(frame=_summary_of_frame, query=_summary_of_query)

__version__ = version("sefr-learn")
__all__ = [
    "ContributionsDisplay",
    "SEFRClassifier",
    "ScoresDisplay",
    "Summary",
    "__version__",
    "cross_validate",
    "load",
    "save",
]
