"""Task: what a model is to answer, and all that depends on it.

Rows, Summaries and solutions are the same for every task. What differs is asked of the task, or of its
``Fitted``: how y is read, what follows from the sums, what scores stand for.
"""

from __future__ import annotations

from dataclasses import dataclass

from .._rows.labels import ReadTarget, Target
from ..settings import AnySettings, NumberSettings, Settings
from .fitted import Fitted
from .fitted_numbers import FittedNumbers


@dataclass(frozen=True, eq=False)
class Task:
    """What differs between classes to name and numbers to predict.

    ``name`` is what the command calls it; ``nouns`` what y are, for errors; ``read`` how y becomes a target;
    ``settings`` and ``fitted`` the parameters of its models, and what these know; ``metric`` what ``score``
    returns, as scikit-learn names it.
    """

    name: str
    nouns: str
    predicts_numbers: bool
    read: ReadTarget
    settings: type[AnySettings]
    fitted: type[Fitted]
    metric: str


CLASSIFY = Task("classify", "labels", False, Target.of_labels, Settings, Fitted, "accuracy")
REGRESS = Task("regress", "numbers", True, Target.of_numbers, NumberSettings, FittedNumbers, "r2")
