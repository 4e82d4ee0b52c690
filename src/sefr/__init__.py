"""The SEFR classifier: exact in one pass, explainable, small enough for a microcontroller."""

from importlib.metadata import version

from .classifier import SEFRClassifier
from .explain import ContributionsDisplay, ScoresDisplay
from .model_file import load, save
from .summary import Summary
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
