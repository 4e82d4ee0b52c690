"""Cells: what a row is counted into if features are cut into bins. A cell is a feature and a bin of it.

``Coder`` knows where features are cut, ``learn_coder`` finds it out, and ``Cells`` and ``SparseCells`` are
the rows seen through a coder: a matrix with a column of 0 and 1 per cell, which is never written out.
"""

from .categories import Categories
from .coder import Coder
from .learn import Cut, learn_coder
from .matrix import Cells, cells_of, code_matrix
from .sparse import SparseCells

__all__ = ["Categories", "Cells", "Coder", "Cut", "SparseCells", "cells_of", "code_matrix", "learn_coder"]
