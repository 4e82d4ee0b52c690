"""Rows from files: CSV, Parquet, Feather, Arrow, npy, npz, ARFF and libsvm, in bounded memory."""

from .formats import FORMATS, open_table
from .part import Part, SourceError
from .recipe import Recipe
from .table import Batch, Table

__all__ = ["FORMATS", "Batch", "Part", "Recipe", "SourceError", "Table", "open_table"]
