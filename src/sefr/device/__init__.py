"""SEFR on microcontrollers: see what a board will answer, write its code, run it on a simulated board."""

from .board import BOARDS, Board, BuildError, ToolMissingError
from .drift import Drift
from .export import export, library
from .moments import Moments
from .normal import Normal
from .quantise import Quantised, quantise
from .regression import Regression, hats
from .simulate import Simulation, simulate
from .state import StateError, merge_states, read_state, write_state
from .tables import QuantisedTable
from .twin import Loss, NumberLoss, Twin
from .windows import window_names, windows

__all__ = [
    "BOARDS",
    "Board",
    "BuildError",
    "Drift",
    "Loss",
    "Moments",
    "Normal",
    "NumberLoss",
    "Quantised",
    "QuantisedTable",
    "Regression",
    "Simulation",
    "StateError",
    "ToolMissingError",
    "Twin",
    "export",
    "hats",
    "library",
    "merge_states",
    "quantise",
    "read_state",
    "simulate",
    "window_names",
    "windows",
    "write_state",
]
