"""The definition in device/src/sefr.h with Python's unbounded integers, one line per equation: what every
board must equal."""

import struct
import zlib
from fractions import Fraction
from math import ceil, floor

OK, BAD_LABEL, NOT_READY, FULL, NEVER_LEARNED, BAD_SHAPE, BAD_VERSION, BAD_STATE = range(8)
NO_ROOM, IO, OTHER_MODEL, UNKNOWN, BAD_SETTINGS, DRIFTED, BUSY, CHANGED = range(8, 16)
SPARSE, BALANCED, KEEP_WEIGHTS, CHECK_RANGES = 1, 2, 4, 8
MOST = {8: 254, 16: 256, 32: 1 << 24}
ONE = {8: 127, 16: 32767}
LOWEST = {8: -(1 << 31), 16: -(1 << 63)}


def divide(a, b):
    """Round to the nearest, halves up."""
    return floor(Fraction(a, b) + Fraction(1, 2))


class Reference:
    """A model of the device library."""

    def __init__(self, features, classes, weight_bits=8, sum_bits=16, ranged=False):
        self.m, self.k, self.weight_bits, self.sum_bits, self.ranged = (
            features,
            classes,
            weight_bits,
            sum_bits,
            ranged,
        )
        self.options, self.half_life, self.margin, self.id = 0, MOST[sum_bits] // 2, 0, 0
        self.reset()

    def reset(self):
        self.n = [0] * self.k
        self.s = [[0] * self.m for _ in range(self.k)]
        self.low, self.high = [255] * self.m, [0] * self.m
        self.weights = self.bias = None
        self.fresh = False
        return OK

    def learn(self, record, label):
        if label >= self.k:
            return BAD_LABEL
        if self.n[label] >= 2 * self.half_life:
            self.halve(label)
        if self.sum_bits == 32 and sum(self.n) == MOST[32]:
            self.halve(self.n.index(max(self.n)))
        self.n[label] += 1
        self.s[label] = [s + x for s, x in zip(self.s[label], record, strict=True)]
        self.low = [min(a, x) for a, x in zip(self.low, record, strict=True)]
        self.high = [max(a, x) for a, x in zip(self.high, record, strict=True)]
        self.fresh = False
        return OK

    def halve(self, c):
        half = ceil(self.n[c] / 2)
        if self.n[c] >= 2:
            self.s[c] = [s * half // self.n[c] for s in self.s[c]]
            self.n[c] = half

    def decay(self):
        for c in range(self.k):
            self.halve(c)
        self.fresh = False
        return OK

    def forget(self, record, label):
        if label >= self.k:
            return BAD_LABEL
        left = [s - x for s, x in zip(self.s[label], record, strict=True)]
        if self.n[label] == 0 or any(not 0 <= s <= 255 * (self.n[label] - 1) for s in left):
            return NEVER_LEARNED
        self.s[label], self.n[label], self.fresh = left, self.n[label] - 1, False
        return OK

    def merge(self, other):
        if self.id != other.id:
            return OTHER_MODEL
        sums = [a + b for a, b in zip(self.n, other.n, strict=True)]
        if (max(sums) if self.sum_bits <= 16 else sum(sums)) > MOST[self.sum_bits]:
            return FULL
        self.n = sums
        self.s = [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(self.s, other.s, strict=True)]
        self.low = list(map(min, self.low, other.low))
        self.high = list(map(max, self.high, other.high))
        self.fresh = False
        return OK

    def weigh(self, s_p, n_p, s_q, n_q, j):
        u, v = s_p * n_q, s_q * n_p
        r, d, sign = abs(u - v), u + v, 1 if u >= v else -1
        if self.ranged:
            gaps = [h - a for h, a in zip(self.high, self.low, strict=True)]
            gap = min((g for g in gaps if g > 0), default=255)
            d -= 2 * self.low[j] * n_p * n_q
            if gaps[j] <= 0 or d <= 0:
                return 0
            return sign * divide(ONE[self.weight_bits] * gap * min(r, d), gaps[j] * d)
        return sign * divide(ONE[self.weight_bits] * r, d) if d else 0

    def solve(self):
        if sum(n > 0 for n in self.n) < 2:
            return NOT_READY
        self.weights, self.bias = [], []
        for row in range(1 if self.k == 2 else self.k):
            p = 1 if self.k == 2 else row
            s_p, n_p = self.s[p], self.n[p]
            s_q = [sum(self.s[c][j] for c in range(self.k)) - s_p[j] for j in range(self.m)]
            n_q = sum(self.n) - n_p
            if n_p == 0:
                self.weights.append([0] * self.m)
                self.bias.append(LOWEST[self.weight_bits])
                continue
            w = [self.weigh(s_p[j], n_p, s_q[j], n_q, j) for j in range(self.m)]
            t_p, t_q = (sum(a * b for a, b in zip(w, s, strict=True)) for s in (s_p, s_q))
            a, b = (1, sum(n > 0 for n in self.n) - 1) if self.options & BALANCED else (n_p, n_q)
            theta = (Fraction(t_p, n_p) * b + Fraction(t_q, n_q) * a) / (a + b)
            self.weights.append(w)
            self.bias.append(-floor(theta) if self.k == 2 else -ceil(theta))
        self.fresh = True
        return OK

    def scores(self, record):
        dots = (sum(a * b for a, b in zip(w, record, strict=True)) for w in self.weights)
        return [d + b for d, b in zip(dots, self.bias, strict=True)]

    def classify(self, record):
        scores = self.scores(record)
        return int(scores[0] > 0) if self.k == 2 else scores.index(max(scores))

    def is_known(self, record):
        inside = (a <= x <= b for a, x, b in zip(self.low, record, self.high, strict=True))
        if self.ranged and self.options & CHECK_RANGES and not all(inside):
            return UNKNOWN
        scores = sorted(self.scores(record))
        margin = abs(scores[0]) if self.k == 2 else scores[-1] - scores[-2]
        return UNKNOWN if margin < self.margin else OK

    def correct(self, record, label):
        if label >= self.k:
            return BAD_LABEL
        if self.weights is None:
            return NOT_READY
        if self.k > 2 and self.bias[label] == LOWEST[self.weight_bits]:
            return NOT_READY
        answer = self.classify(record)
        if answer != label:
            steps = [(x + 16) >> 5 if self.weight_bits == 8 else 8 * x for x in record]
            bias = 255 * (8 if self.weight_bits == 8 else 8 * 255)
            rows = [(0, 1 if label else -1)] if self.k == 2 else [(label, 1), (answer, -1)]
            for row, sign in rows:
                one = ONE[self.weight_bits]
                moved = (w + sign * d for w, d in zip(self.weights[row], steps, strict=True))
                self.weights[row] = [max(-one, min(one, w)) for w in moved]
                most = -LOWEST[self.weight_bits] // 2
                self.bias[row] = max(-most, min(most, self.bias[row] + sign * bias))
        return OK

    def state(self, sequence=0):
        kept = self.options & KEEP_WEIGHTS and self.weights is not None
        flags = int(self.ranged) | (self.weight_bits // 4 if kept else 0)
        head = (b"SEFR", 2, self.sum_bits, self.k, flags, self.m, sequence, self.id)
        body = struct.pack("<4sBBBBIII", *head)
        body += struct.pack(f"<{self.k}I", *self.n)
        body += struct.pack(
            f"<{self.k * self.m}{'H' if self.sum_bits == 16 else 'I'}",
            *(value for row in self.s for value in row),
        )
        body += bytes(self.low + self.high) if self.ranged else b""
        if kept:
            for row in self.weights:
                body += struct.pack(f"<{self.m}{'b' if self.weight_bits == 8 else 'h'}", *row)
            body += struct.pack(f"<{len(self.bias)}{'i' if self.weight_bits == 8 else 'q'}", *self.bias)
        return body + struct.pack("<I", zlib.crc32(body))
