"""Rows whose Summary and sample are given: what one process makes of those that an engine drew."""

from functools import reduce
from operator import add

import numpy as np

from sefr._summary.source import RowSource


class KnownRows(RowSource):
    def __init__(self, summary, batches, sample):
        self.summary, self.batches, self.drawn = summary, batches, sample
        if summary.feature_names is not None:
            self.names = np.array(summary.feature_names, dtype=object)

    def summarise(self, settings):
        return self.summary

    def sample(self, classes):
        return self.drawn

    def gradient(self, sweep, n_threads):
        return reduce(add, (sweep.over(rows.over(sweep.classes), n_threads) for rows in self.batches))
