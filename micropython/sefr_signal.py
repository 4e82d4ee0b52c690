"""Signals for MicroPython and CircuitPython: windows of samples as bytes. One file, no floats.

The definition is that of sefr_signal.h, to the bit: the same bytes as sefr.signals.SignalFeatures has.

    from sefr_signal import Signal
    signal = Signal(length=64, hop=32, ranges=((0, 1023),), dilations=(1, 7))
    if signal.add((sensor.read(),)):
        label = model.classify(signal.record)       # a sefr.Model of signal.features features

The work is spread over the samples: each call of add does a share of it.
"""

from array import array

GOLDEN = 40503
HIGH = (1, 3, 5, 8, 11, 13, 17, 20, 24, 29, 34, 41, 49, 59, 76, 111)
LAPLACE = tuple(-t for t in reversed(HIGH)) + HIGH
TAPS = bytes(i for a in range(7) for b in range(a + 1, 8) for c in range(b + 1, 9) for i in (a, b, c))
# The inner loop for interpreters that make machine code; see sefr.py. What a pointer of 16 bits gives has no
# sign, so that both sides of the comparison are moved up by 32768.
VIPER = """
@micropython.viper
def count(taps: ptr8, values: ptr16, whole: int, bounds: ptr16, counts: ptr16, n: int, each: int):
    at = 0
    for k in range(n):
        c = int(values[taps[3 * k]]) + int(values[taps[3 * k + 1]]) + int(values[taps[3 * k + 2]])
        c = 3 * c - whole + 32768
        for _ in range(each):
            if c > int(bounds[at]):
                counts[at] = counts[at] + 1
            at += 1
"""


def plain_count(taps, values, whole, bounds, counts, n, each):
    at = 0
    for k in range(0, 3 * n, 3):
        c = 3 * (values[taps[k]] + values[taps[k + 1]] + values[taps[k + 2]]) - whole + 32768
        for _ in range(each):
            if c > bounds[at]:
                counts[at] += 1
            at += 1


def machine_code():
    """The loop as machine code, if this interpreter compiles it and it counts right; else the plain one."""
    scope = {}
    try:
        exec(VIPER, scope)  # noqa: S102 - the text above
        found = []
        for count in (plain_count, scope["count"]):
            counts = array("H", [0, 5, 0])
            bounds = array("H", [32768 - 30, 32768 + 2048, 65535])
            count(TAPS[-3:], array("H", range(9)), 36, bounds, counts, 1, 3)
            found.append(list(counts))
        if found[0] == found[1]:
            return scope["count"]
    except (SyntaxError, NameError, TypeError, NotImplementedError, MemoryError):
        pass
    return plain_count


COUNT = machine_code()


def level(value, low, high):
    if value <= low:
        return 0
    return 255 if value >= high else (255 * (value - low) + (high - low) // 2) // (high - low)


def logarithm(v):
    e = 0
    while (v + 1) >> (e + 1):
        e += 1
    return 8 * e + ((v + 1) * 8 >> e) - 8


def roughness(x, start, end):
    steps = 0
    for p in range(start + 1, end):
        steps += abs(x[p] - x[p - 1])
    return logarithm(16 * steps // (end - start - 1))


class Signal:
    """ranges: the ends of the sensor, per axis; kernels: a divisor of 84, per axis and dilation."""

    def __init__(self, length, hop, ranges, dilations, kernels=84, thresholds=1, segments=8):
        if not 2 <= length <= 4096 or hop < 1 or 84 % kernels or not 0 <= segments <= length // 2:
            raise ValueError("length, hop, kernels or segments beyond the limits")
        if not dilations or min(dilations) < 1 or max(dilations) >= length:
            raise ValueError("a dilation must be below the length")
        for low, high in ranges:
            if not -32768 <= low < high <= 32767:
                raise ValueError("a range must go up, within 16 bits")
        self.length, self.hop, self.ranges, self.dilations = length, hop, ranges, dilations
        self.kernels, self.thresholds, self.segments = kernels, thresholds, segments
        self.axes = len(ranges)
        self.counts = self.axes * len(dilations) * kernels * thresholds
        self.features = self.counts + self.axes * (6 + 3 * segments if segments else 0)
        self.record = bytearray(self.features)
        self.samples = [array("h", [0] * length) for _ in ranges]
        self.quota = -(-self.axes * (1 + len(dilations) * length) // hop)
        self.reset()

    def reset(self):
        """Forget all samples: after a gap, which a window must not reach over."""
        self.at, self.missing, self.work, self.clipped = 0, self.length, None, 0

    def add(self, sample):
        """Take a sample, a value of each axis. True: the record of the last window is complete."""
        if len(sample) != self.axes:
            raise ValueError("the sample has another number of axes")
        for ring, value in zip(self.samples, sample):
            ring[self.at] = value
        self.at = (self.at + 1) % self.length
        self.missing -= 1
        if self.missing == 0:
            self.missing = self.hop
            at = self.at
            self.work = self._work([ring[at:] + ring[:at] for ring in self.samples])
        return self._go_on(self.quota)

    def finish(self):
        """Do all that is left at once. True: the record is complete."""
        return self._go_on(self.axes * (1 + len(self.dilations) * self.length))

    def _go_on(self, units):
        if self.work is None:
            return False
        for _ in range(units):
            if next(self.work):
                self.work = None
                return True
        return False

    def _work(self, window):
        """Yield after every unit of work, True after the last."""
        self.clipped = 0
        for x, (low, high) in zip(window, self.ranges):
            for value in x:
                if value <= low or value >= high:
                    self.clipped += 1
        groups = self.axes * len(self.dilations)
        for axis in range(self.axes):
            u = self._begin_axis(axis, window[axis])
            yield False
            for i, d in enumerate(self.dilations):
                group = axis * len(self.dilations) + i
                for done in self._count(u, d, group):
                    yield done and group == groups - 1

    def _begin_axis(self, axis, x):
        low, high, shift = min(x), max(x), 0
        while (high - low) >> shift > 2047:
            shift += 1
        u = array("H", [(value - low) >> shift for value in x])
        if self.segments:
            self._statistics(axis, x, u, low, high)
        return u

    def _statistics(self, axis, x, u, low, high):
        n, record = self.length, self.record
        ends = self.ranges[axis]
        at = self.counts + axis * (6 + 3 * self.segments)
        mean = sum(x) // n
        for value in (mean, low, high):
            record[at] = level(value, *ends)
            at += 1
        record[at] = logarithm(16 * (high - low))
        record[at + 1] = roughness(x, 0, n)
        deviation = 0
        for value in x:
            deviation += abs(value - mean)
        record[at + 2] = logarithm(16 * deviation // n)
        at += 3
        for k in range(self.segments):
            start, end = k * n // self.segments, (k + 1) * n // self.segments
            record[at] = level(sum(x[start:end]) // (end - start), *ends)
            record[at + 1] = sum(u[start:end]) // (end - start) >> 3
            record[at + 2] = roughness(x, start, end)
            at += 3

    def _count(self, u, d, group):
        """Count the kernels of a group, a position per step; yield True after the last."""
        n, each, stride = self.length, self.thresholds, 84 // self.kernels
        spread = 0
        for p in range(d, n):
            spread += abs(u[p] - u[p - d])
        spread = max(1, spread // (n - d))
        size = self.kernels * each
        first = group * size
        bounds = array(
            "H",
            [(spread * LAPLACE[((first + i + 1) * GOLDEN & 0xFFFF) >> 11] >> 3) + 32768 for i in range(size)],
        )
        taps = b"".join(TAPS[3 * k : 3 * k + 3] for k in range(group % stride, 84, stride))
        counts, values = array("H", [0] * size), array("H", [0] * 9)
        for p in range(n):
            at = p - 4 * d
            for i in range(9):
                values[i] = u[0 if at < 0 else n - 1 if at >= n else at]
                at += d
            COUNT(taps, values, sum(values), bounds, counts, self.kernels, each)
            if p == n - 1:
                scale = (255 << 16) // n
                for i in range(size):
                    self.record[first + i] = counts[i] * scale + 32768 >> 16
            yield p == n - 1
