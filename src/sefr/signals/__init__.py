"""Signals: windows of a waveform as bytes, the same on a computer and on a board."""

from .display import SignalDisplay
from .features import SignalFeatures
from .stream import SignalStream, cut

__all__ = ["SignalDisplay", "SignalFeatures", "SignalStream", "cut"]
