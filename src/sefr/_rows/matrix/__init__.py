"""What the user passes as X, as one of three shapes that the kernels read in place.

``Dense`` is an array of any strides, ``Columnar`` a dataframe's columns, ``Sparse`` CSR or CSC. None of them
copies X; a type that the kernels do not know (float16, another byte order) is converted block by block.
"""

from .base import (
    KERNEL_TYPES,
    Gradient,
    Grouping,
    LinearModel,
    Matrix,
    Raw,
    Standardisation,
    WeightedRows,
    every_run,
)
from .columns import Columnar, Stacked
from .dense import Dense, Selected, blas_threads
from .sparse import Sparse

__all__ = [
    "KERNEL_TYPES",
    "Columnar",
    "Dense",
    "Gradient",
    "Grouping",
    "LinearModel",
    "Matrix",
    "Raw",
    "Selected",
    "Sparse",
    "Stacked",
    "Standardisation",
    "WeightedRows",
    "blas_threads",
    "every_run",
]
