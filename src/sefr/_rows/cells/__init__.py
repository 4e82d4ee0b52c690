"""Cells: what a row is counted into if features are cut into bins. A cell is a feature and a bin of it.

``Cut`` says how features are to be cut, ``Coder`` knows where they are, and ``Cells`` and ``SparseCells`` are
the rows seen through a coder: a matrix with a column of 0 and 1 per cell, which is never written out.
"""

from .categories import Categories
from .coder import Coder, code_matrix
from .learn import NO_CUT, AnyCut, Cut, Cutter
from .matrix import Cells, cells_of
from .sparse import SparseCells

__all__ = [
    "NO_CUT",
    "AnyCut",
    "Categories",
    "Cells",
    "Coder",
    "Cut",
    "Cutter",
    "SparseCells",
    "cells_of",
    "code_matrix",
]
