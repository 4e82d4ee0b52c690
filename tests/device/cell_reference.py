"""The definition for cells: a column of 0 and 1 for each bin of each feature, then the reference as it is."""

import struct
import zlib

from device_reference import BAD_LABEL, NEVER_LEARNED, OK, Reference


class CellReference(Reference):
    """A model of the device library with SEFR_BINS; records are bytes."""

    def __init__(self, features, classes, bins, weight_bits=8):
        super().__init__(features * bins, classes, weight_bits, 16)
        self.bins, self.sum_bits, self.half_life = bins, 8, 127

    def one_hot(self, record):
        return [int(value * self.bins // 256 == b) for value in record for b in range(self.bins)]

    def learn(self, record, label):
        return super().learn(self.one_hot(record), label)

    def forget(self, record, label):
        if label >= self.k:
            return BAD_LABEL
        left = [s - x for s, x in zip(self.s[label], self.one_hot(record), strict=True)]
        if self.n[label] == 0 or any(not 0 <= s <= self.n[label] - 1 for s in left):
            return NEVER_LEARNED
        self.s[label], self.n[label], self.fresh = left, self.n[label] - 1, False
        return OK

    def scores(self, record):
        return super().scores(self.one_hot(record))

    def is_known(self, record):
        scores = sorted(self.scores(record))
        margin = abs(scores[0]) if self.k == 2 else scores[-1] - scores[-2]
        return 11 if margin < self.margin else OK

    def state(self, sequence=0):
        body = struct.pack("<4sBBBBIII", b"SEFR", 2, 8, self.k, self.bins, self.m, sequence, self.id)
        body += struct.pack(f"<{self.k}I", *self.n)
        body += bytes(count for row in self.s for count in row)
        return body + struct.pack("<I", zlib.crc32(body))
