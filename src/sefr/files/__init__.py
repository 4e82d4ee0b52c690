"""Rows from files: CSV, Parquet, Feather, Arrow, npy, npz, ARFF and libsvm, in bounded memory."""

from .dataset import Batch, Dataset
from .formats import FORMATS, open_dataset
from .reader import Reader, SourceError
from .recipe import ColumnRecipe

__all__ = ["FORMATS", "Batch", "ColumnRecipe", "Dataset", "Reader", "SourceError", "open_dataset"]
