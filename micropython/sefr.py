"""SEFR for MicroPython and CircuitPython: learn, solve, classify, forget, keep. One file, no floats.

The definition is that of sefr.h, to the bit: what this learns, a C board or sefr.device reads, and back.

    import sefr
    model = sefr.Model(features=6, classes=2)
    model.learn(record, label)          # record: bytes or a list of 0 .. 255
    model.solve()
    label = model.classify(record)
"""

import struct
from array import array

try:
    from binascii import crc32
except ImportError:  # some ports leave it out

    def crc32(data, value=0):
        value ^= 0xFFFFFFFF
        for byte in data:
            value ^= byte
            for _ in range(8):
                value = (value >> 1) ^ (0xEDB88320 if value & 1 else 0)
        return value ^ 0xFFFFFFFF


VERSION = 2
ONE = {8: 127, 16: 32767}
MAX_RECORDS = {16: 256, 32: 16777216}
WITH_BASE = 32  # a flag: what the model started from follows the sums
HEAD = "<4sBBBBIII"  # magic, version, bits of a sum, classes, flags, features, sequence number, id
# The two inner loops for interpreters that make machine code (ESP32, RP2040, STM32). Others refuse a file
# with such a decorator, so that this is text. What a pointer gives has no sign.
VIPER = """
@micropython.viper
def add(sums: ptr16, record: ptr8, n: int):
    for j in range(n):
        sums[j] = sums[j] + record[j]


@micropython.viper
def dot(weights: ptr16, record: ptr8, n: int) -> int:
    total = 0
    for j in range(n):
        weight = weights[j]
        if weight > 32767:
            weight -= 65536
        total += weight * record[j]
    return total
"""


def machine_code():
    """The two loops, if this interpreter compiles them and they compute what they should; else None."""
    scope = {}
    try:
        exec(VIPER, scope)  # noqa: S102 - the text above
        sums, weights, record = array("H", [65000, 7]), array("h", [-127, 32767]), bytes((255, 3))
        scope["add"](sums, record, 2)
        if list(sums) == [65255, 10] and scope["dot"](weights, record, 2) == 3 * 32767 - 127 * 255:
            return scope["add"], scope["dot"]
    except (SyntaxError, NameError, TypeError, NotImplementedError, MemoryError):
        pass
    return None


FAST = machine_code()


def byte_of(value, low, high):
    """The byte of a sensor's whole number: 0 at low, 255 at high, rounded."""
    if high <= low or value <= low:
        return 0
    if value >= high:
        return 255
    return (255 * (value - low) + ((high - low) >> 1)) // (high - low)


class Model:
    """weight_bits 8 or 16; sum_bits 16: 256 records of a class before they count half; 32: many more."""

    def __init__(self, features, classes=2, weight_bits=8, sum_bits=16, id=0, balanced=False):
        if features < 1 or not 2 <= classes <= (43 if sum_bits == 16 else 254):
            raise ValueError("features or classes beyond the limits")
        self.features, self.classes = features, classes
        self.one, self.sum_bits, self.id, self.balanced = ONE[weight_bits], sum_bits, id, balanced
        self.base = 0
        self.lowest = -(1 << (31 if weight_bits == 8 else 63))
        self.half_life = MAX_RECORDS[sum_bits] // 2
        self.sequence = 0
        self.counts = [0] * classes
        self.sums = [self._zeros() for _ in range(classes)]
        self.weights = None
        self.bias = None

    def _zeros(self):
        # "L" is 32 bits on microcontrollers; "H" is 16 everywhere
        return array("H" if self.sum_bits == 16 else "L", [0] * self.features)

    def _check(self, record, label=0):
        if not 0 <= label < self.classes:
            raise ValueError("no such class")
        if len(record) != self.features:
            raise ValueError("the record has another length")
        if isinstance(record, (bytes, bytearray)):
            return record
        for value in record:
            if not 0 <= value <= 255:
                raise ValueError("a value is not a byte")
        return bytes(record)

    def learn(self, record, label):
        """Add one record. When its class is full, what that class learned before counts half from then on."""
        record = self._check(record, label)
        if self.counts[label] >= 2 * self.half_life:
            self._halve(label)
        if self.sum_bits == 32 and sum(self.counts) == MAX_RECORDS[32]:
            self._halve(self.counts.index(max(self.counts)))
        sums = self.sums[label]
        if FAST and self.sum_bits == 16:
            FAST[0](sums, record, self.features)
        else:
            for j in range(self.features):
                sums[j] += record[j]
        self.counts[label] += 1

    def forget(self, record, label):
        """Take one record back, exactly."""
        record = self._check(record, label)
        sums, n = self.sums[label], self.counts[label]
        for j in range(self.features):
            left = sums[j] - record[j]
            if n < 1 or left < 0 or left > 255 * (n - 1):
                raise ValueError("the sums cannot contain this record")
        for j in range(self.features):
            sums[j] -= record[j]
        self.counts[label] -= 1

    def decay(self):
        """Make all that was learned count half."""
        for label in range(self.classes):
            self._halve(label)

    def _halve(self, label):
        n = self.counts[label]
        if n > 1:
            sums, kept = self.sums[label], (n + 1) // 2
            for j in range(self.features):
                sums[j] = sums[j] * kept // n
            self.counts[label] = kept

    def solve(self):
        """Make the answers follow what was learned."""
        seen = sum(1 for n in self.counts if n)
        if seen < 2:
            raise ValueError("two classes need records first")
        rows = (1,) if self.classes == 2 else range(self.classes)
        solved = [self._solve_row(row, seen) for row in rows]
        self.weights, self.bias = [w for w, _ in solved], [b for _, b in solved]

    def _solve_row(self, row, seen):
        p = self.counts[row]
        weights = array("h", [0] * self.features)
        if not p:
            return weights, self.lowest
        q, own, t_p, t_q = sum(self.counts) - p, self.sums[row], 0, 0
        for j in range(self.features):
            s_p = own[j]
            s_q = sum(sums[j] for sums in self.sums) - s_p
            u, v = s_p * q, s_q * p
            if u + v:
                w = (2 * self.one * abs(u - v) + u + v) // (2 * (u + v))
                w = w if u >= v else -w
                weights[j] = w
                t_p += w * s_p
                t_q += w * s_q
        n_p, n_q = (1, seen - 1) if self.balanced else (p, q)
        # theta = (tau_p n_q + tau_q n_p) / (n_p + n_q), tau_p = t_p / p, tau_q = t_q / q
        above, below = t_p * q * n_q + t_q * p * n_p, p * q * (n_p + n_q)
        return weights, -(above // below) if self.classes == 2 else (-above) // below

    def scores(self, record):
        """One score (two classes; above 0 means class 1), or one per class (the highest wins)."""
        record = self._check(record)
        if self.weights is None:
            raise ValueError("solve first")
        # machine code adds up 32 bits: 127 * 255 * 65534 and 32767 * 255 * 257 are below 2^31
        fast = FAST and self.features <= (65534 if self.one == 127 else 257)
        result = []
        for weights, score in zip(self.weights, self.bias):
            if fast:
                score += FAST[1](weights, record, self.features)
            else:
                for weight, value in zip(weights, record):
                    score += weight * value
            result.append(score)
        return result

    def classify(self, record):
        """The class of a record."""
        scores = self.scores(record)
        if self.classes == 2:
            return 1 if scores[0] > 0 else 0
        return scores.index(max(scores))

    def state(self):
        """All that was learned, as bytes: for a file, a C board, or sefr.device.read_state."""
        head = struct.pack(
            HEAD,
            b"SEFR",
            VERSION,
            self.sum_bits,
            self.classes,
            WITH_BASE if self.base else 0,
            self.features,
            self.sequence,
            self.id,
        )
        parts = [head] + [struct.pack("<I", n) for n in self.counts]
        form = "<H" if self.sum_bits == 16 else "<I"
        parts += [struct.pack(form, value) for sums in self.sums for value in sums]
        if self.base:
            parts.append(struct.pack("<I", self.base))
        body = b"".join(parts)
        return body + struct.pack("<I", crc32(body) & 0xFFFFFFFF)

    def restore(self, data):
        """Take a state of the same shape and id; solve afterwards. Nothing changes if it is refused."""
        width = self.sum_bits // 8
        size = 24 + 4 * self.classes + width * self.classes * self.features
        with_base = len(data) > 7 and data[7] == WITH_BASE
        if (
            len(data) != size + 4 * with_base
            or struct.unpack("<I", data[-4:])[0] != crc32(data[:-4]) & 0xFFFFFFFF
        ):
            raise ValueError("no state, or a damaged one")
        magic, version, bits, classes, flags, features, sequence, id = struct.unpack(HEAD, data[:20])
        if (magic, version, bits, classes, flags, features) != (
            b"SEFR",
            VERSION,
            self.sum_bits,
            self.classes,
            WITH_BASE if with_base else 0,
            self.features,
        ):
            raise ValueError("a state of another shape")
        if id != self.id:
            raise ValueError("the state belongs to another model")
        at, counts, sums = 20, [], []
        for _ in range(classes):
            counts.append(struct.unpack("<I", data[at : at + 4])[0])
            at += 4
        for label in range(classes):
            row = self._zeros()
            for j in range(features):
                row[j] = struct.unpack("<H" if width == 2 else "<I", data[at : at + width])[0]
                if row[j] > 255 * counts[label]:
                    raise ValueError("a sum exceeds 255 per record")
                at += width
            sums.append(row)
        self.base = struct.unpack("<I", data[at : at + 4])[0] if with_base else 0
        self.sequence, self.counts, self.sums = sequence, counts, sums


class Regression:
    """Numbers learned by least squares: records of bytes, and y of 16 bits in a unit of your choice.

    The definition is that of sefr_regress.h, to the bit. half_life: with twice as many records everything is
    halved, so that older ones count less.
    """

    HEAD = "<4sBBHIIIIi"

    def __init__(self, inputs, half_life=32767, id=0):
        if not 1 <= inputs <= 120 or not 1 <= half_life <= 32767:
            raise ValueError("inputs or half_life beyond the limits")
        self.inputs, self.half_life, self.id = inputs, half_life, id
        self.count = self.total = self.sequence = 0
        self.sums, self.products = [0] * inputs, [0] * inputs
        self.squares = [[0] * (i + 1) for i in range(inputs)]
        self.weights = None

    def learn(self, record, y):
        """Add one record with its number."""
        self._check(record, y)
        if self.count >= 2 * self.half_life:
            self.decay()
        self._add(record, y, 1)

    def forget(self, record, y):
        """Take one record back that was learned."""
        self._check(record, y)
        if not self.count:
            raise ValueError("the sums cannot contain this record")
        self._add(record, y, -1)

    def _check(self, record, y=0):
        if len(record) != self.inputs or not -32768 <= y <= 32767:
            raise ValueError("the record has another length, or y more than 16 bits")
        for value in record:
            if not 0 <= value <= 255:
                raise ValueError("a value is not a byte")

    def _add(self, record, y, sign):
        self.count += sign
        self.total += sign * y
        for i in range(self.inputs):
            value = sign * record[i]
            if value:
                self.sums[i] += value
                self.products[i] += value * y
                row = self.squares[i]
                for j in range(i + 1):
                    row[j] += value * record[j]

    def decay(self):
        """Make all that was learned count half."""
        n, kept = self.count, (self.count + 1) // 2
        if n > 1:
            self.sums = [value * kept // n for value in self.sums]
            self.products = [value * kept // n for value in self.products]
            self.squares = [[value * kept // n for value in row] for row in self.squares]
            self.total, self.count = self.total * kept // n, kept

    def solve(self):
        """Make the answers follow what was learned."""
        n, m, S = self.count, self.inputs, self.sums
        if n < 2:
            raise ValueError("two records are needed")
        t = 0
        while max(n * self.squares[j][j] - S[j] * S[j] for j in range(m)) >> t >= 1 << 31:
            t += 1
        w, changed, rounds = [0] * m, True, 30
        while changed and rounds:
            changed, rounds = False, rounds - 1
            for j in range(m):
                d = (n * self.squares[j][j] - S[j] * S[j]) >> t
                if d <= 0:
                    continue
                left = ((n * self.products[j] - S[j] * self.total) >> t) << 10
                for k in range(m):
                    if k != j and w[k]:
                        q = self.squares[j][k] if k < j else self.squares[k][j]
                        left -= ((n * q - S[j] * S[k]) >> t) * w[k]
                d += (d >> 10) + 1
                new = min(max((2 * left + d) // (2 * d), -(1 << 25)), 1 << 25)
                changed = changed or new != w[j]
                w[j] = new
        k = 0
        while any(not -32768 <= (v + (1 << k >> 1)) >> k <= 32767 for v in w):
            k += 1
        self.weights = [(v + (1 << k >> 1)) >> k for v in w]
        self.bias = ((self.total << 10 >> k) - sum(v * s for v, s in zip(self.weights, S))) // n
        self.shift = 10 - k

    def answer(self, record):
        """The number for a record, in the unit that was learned."""
        self._check(record)
        if self.weights is None:
            raise ValueError("solve first")
        y = self.bias
        for weight, value in zip(self.weights, record):
            y += weight * value
        y = (y + (1 << self.shift >> 1)) >> self.shift if self.shift >= 0 else y << -self.shift
        return min(max(y, -32768), 32767)

    def state(self):
        """All that was learned, as bytes: for a file, a C board, or sefr.device.Regression.from_state."""
        solved = 1 if self.weights else 0
        numbers = (solved, self.half_life, self.inputs, self.sequence, self.id, self.count, self.total)
        parts = [struct.pack(self.HEAD, b"SEFL", 1, *numbers)]
        parts += [struct.pack("<I", value) for value in self.sums]
        parts += [struct.pack("<I", value) for row in self.squares for value in row]
        parts += [struct.pack("<Ib", value & 0xFFFFFFFF, value >> 32) for value in self.products]
        body = b"".join(parts)
        return body + struct.pack("<I", crc32(body) & 0xFFFFFFFF)

    def restore(self, data):
        """Take a state of as many inputs and the same id. Nothing changes if it is refused."""
        m = self.inputs
        if len(data) != 32 + 9 * m + 2 * m * (m + 1):
            raise ValueError("no state, or one of other inputs")
        if struct.unpack("<I", data[-4:])[0] != crc32(data[:-4]) & 0xFFFFFFFF:
            raise ValueError("a damaged state")
        magic, version, solved, _, inputs, sequence, id, n, total = struct.unpack(self.HEAD, data[:28])
        if (magic, version, inputs) != (b"SEFL", 1, m):
            raise ValueError("a state of another shape")
        if id != self.id:
            raise ValueError("the state belongs to another model")
        words = struct.unpack("<%dI" % (m + m * (m + 1) // 2), data[28 : 28 + 4 * m + 2 * m * (m + 1)])
        products, at = [], 28 + 4 * m + 2 * m * (m + 1)
        for _ in range(m):
            low, high = struct.unpack("<Ib", data[at : at + 5])
            products.append((high << 32) + low)
            at += 5
        if max(words[:m]) > 255 * n or max(words) > 65025 * n or n > 65535:
            raise ValueError("no records could have left this state")
        self.sums, squares, at = list(words[:m]), [], m
        for i in range(m):
            squares.append(list(words[at : at + i + 1]))
            at += i + 1
        self.squares, self.products, self.sequence = squares, products, sequence
        self.count, self.total, self.weights = n, total, None
        if solved:
            self.solve()
