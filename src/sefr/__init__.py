"""The SEFR classifier: exact in one pass, explainable, small enough for a microcontroller."""

import warnings
from importlib.metadata import version

from ._summary.summary import Summary
from ._system.namesake import namesake
from .classifier import SEFRClassifier
from .displays import ContributionsDisplay, ScoresDisplay
from .model_file import load, save
from .validation import cross_validate

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

if (advice := namesake()) is not None:
    warnings.warn(advice, RuntimeWarning, stacklevel=2)
del advice, namesake, version, warnings
