"""How a sensor is sampled for a model: the plan of its features, the rate, and samples between windows."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .._system.members import ModelFileError, members_of
from .._system.types import Fields
from .plan import SignalPlan


@dataclass(frozen=True)
class Sampling:
    """A plan, the samples from one window to the next, and the samples per second."""

    plan: SignalPlan
    hop: int
    rate: float

    def __post_init__(self) -> None:
        if type(self.hop) is not int or not 1 <= self.hop <= 65535:
            raise ValueError(f"hop must be 1 to 65535 samples, not {self.hop!r}")
        if self.plan.wide:
            raise ValueError(
                f"samples have 16 bits, and with a resolution of {min(self.plan.resolution):g} "
                "these have more"
            )
        if not (isinstance(self.rate, int | float) and 0 < self.rate < math.inf):
            raise ValueError(f"rate must be above 0 samples per second, not {self.rate!r}")

    def plain(self) -> Fields:
        """Return it as JSON holds it."""
        return {"plan": self.plan.plain(), "hop": self.hop, "rate": self.rate}

    @classmethod
    def from_plain(cls, member: object) -> Sampling:
        """Return it from what ``plain`` gave, or say what is wrong with it."""
        found = members_of(member, ("plan", "hop", "rate"), "signal")
        try:
            return cls(SignalPlan.from_plain(found["plan"]), found["hop"], found["rate"])
        except ValueError as error:
            raise ModelFileError(str(error)) from None
