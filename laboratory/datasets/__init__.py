"""The eight datasets of the paper: found in a folder, or fetched once from their public source.

``load`` looks for ``NAME.npz`` and for the original files in the folder that ``SEFR_DATA`` names, then in the
user's cache, and then downloads. Whatever its way, a dataset is handed out only after its shape, its classes
and its values were compared with the catalogue.
"""

from __future__ import annotations

from laboratory.datasets.catalogue import NAMES, entry
from laboratory.datasets.store import Dataset, DatasetError, at_hand, available, folders, load

__all__ = ["NAMES", "Dataset", "DatasetError", "at_hand", "available", "entry", "folders", "load"]
