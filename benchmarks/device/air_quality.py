"""A sensor that calibrates itself: the hours of UCI Air Quality through a simulated Uno with sefr_regress.

Eight cheap sensors (five metal oxides, temperature, humidity) as bytes of fixed ranges, against a reference
analyser. The board learns the first four weeks, then one reference day per week, each week on the next
weekday; what it learned before counts less and less. Every other hour of the eleven months is answered before
anything of that day is learned. The same days for a board that stays as it was after four weeks ("static").

Writes benchmarks/device/air_quality.csv (R2 by pollutant and way) and regression.csv (what it takes).
"""

import csv
import os
import struct
import tempfile
from pathlib import Path

import numpy as np
from sklearn.metrics import r2_score

from sefr.device import BOARDS, Regression, library

HERE = Path(__file__).parent
PROGRAM = HERE.parents[1] / "tests" / "device" / "regress.c"
UNO = BOARDS["uno"]
# Name of a sensor, and the values that become 0 and 255: wider than what the first weeks show.
SENSORS = {
    "PT08.S1(CO)": (500, 2200),
    "PT08.S2(NMHC)": (300, 2300),
    "PT08.S3(NOx)": (300, 2700),
    "PT08.S4(NO2)": (500, 2900),
    "PT08.S5(O3)": (200, 2600),
    "T": (-10, 50),
    "RH": (0, 100),
    "AH": (0, 2.5),
}
# Pollutant, and its unit on the board: CO in micrograms per cubic metre, the others in tenths.
POLLUTANTS = {"CO(GT)": 1000, "NO2(GT)": 10, "NOx(GT)": 10}
WEEK, LEARNED = 168, 4 * 168
HALF_LIFE = 48  # records: two reference days; from 96 on, four of them, everything is halved


def hours(pollutant):
    """Return records of bytes, numbers, and the hour of each; hours with a missing value are left out."""
    folder = Path(os.environ.get("SEFR_DATA", HERE.parents[2] / "shared" / "datasets"))
    data = np.load(folder / "signals" / "air_quality.npz")
    columns = dict(zip(data["names"].tolist(), data["values"].T, strict=True))
    low, high = np.array(list(SENSORS.values())).T
    X = 255 * (np.column_stack([columns[name] for name in SENSORS]) - low) / (high - low)
    y = columns[pollutant] * POLLUTANTS[pollutant]
    there = ~np.isnan(X).any(axis=1) & ~np.isnan(y)
    X = np.clip(np.floor(X[there] + 0.5), 0, 255).astype(np.uint8)
    return X, np.clip(np.rint(y[there]), -32768, 32767).astype(np.int16), data["hour"][there]


def days(hour, first=0):
    """Yield, day by day after the first weeks, the places of its hours, and whether it has a reference."""
    for day in np.unique(hour[hour >= LEARNED] // 24):
        week, weekday = divmod(int(day), 7)
        yield np.flatnonzero(hour // 24 == day), weekday == (week + first) % 7


def script(X, y, hour, learning):
    """Return the commands for a board, and the places of the hours that it answers."""
    start = np.flatnonzero(hour < LEARNED)
    lines = [b"h" + struct.pack("<H", HALF_LIFE if learning else 32767), b"r"]
    lines += [b"l" + X[i].tobytes() + struct.pack("<h", y[i]) for i in start] + [b"s"]
    answered = []
    for places, has_reference in days(hour):
        lines += [b"c" + X[i].tobytes() for i in places]
        answered += places.tolist()
        if has_reference and learning:
            lines += [b"l" + X[i].tobytes() + struct.pack("<h", y[i]) for i in places] + [b"s"]
    return b"".join(lines) + b"x" + b"q", np.array(answered)


def on_an_uno(X, y, hour, learning, folder):
    """Return the answers of a board, the hours they are of, and its state at the end."""
    image = build(X.shape[1], folder)
    commands, answered = script(X, y, hour, learning)
    output = UNO.run(image, commands).output
    answers, at = [], 1
    solved = 1 + 2 * X.shape[1] + 5
    at += np.count_nonzero(hour < LEARNED) + solved
    for places, has_reference in days(hour):
        part = np.frombuffer(output, np.dtype([("status", "u1"), ("y", "<i2")]), len(places), at)
        answers += part["y"].tolist()
        at += 3 * len(places)
        if has_reference and learning:
            at += len(places) + solved
    return np.array(answers), answered, output[at:-1]


def by_the_twin(X, y, hour, first=0):
    """Return the answers of the Python twin, with the reference days on other weekdays."""
    start = hour < LEARNED
    model = Regression(HALF_LIFE).learn(X[start], y[start]).solve()
    answers, answered = [], []
    for places, has_reference in days(hour, first):
        answers += model.predict(X[places]).tolist()
        answered += places.tolist()
        if has_reference:
            model.learn(X[places], y[places]).solve()
    return np.array(answers), np.array(answered), model


def build(inputs, folder, kernels=True):
    """Build the program of the tests for an Uno."""
    sources = [PROGRAM, library() / "sefr.c", library() / "sefr_avr.S"]
    defines = [f"INPUTS={inputs}", *(["ALONE"] if inputs > 8 else [])]
    return UNO.build(sources, Path(folder), defines=defines, includes=[library()], kernels=kernels)


def calibrated(pollutant, folder):
    """Return R2 of the static board and of the one that goes on learning, and over all seven weekdays."""
    X, y, hour = hours(pollutant)
    rows = {}
    for learning in (False, True):
        answers, answered, state = on_an_uno(X, y, hour, learning, folder)
        rows["recalibrated" if learning else "static"] = r2_score(y[answered], answers)
    each = []
    for first in range(7):
        answers, answered, model = by_the_twin(X, y, hour, first)
        each.append(r2_score(y[answered], answers))
        if first == 0 and model.state() != state:
            raise SystemExit("the board's state differs from the twin's")
    return {
        "pollutant": pollutant.removesuffix("(GT)"),
        "hours": len(answered),
        **{name: round(value, 4) for name, value in rows.items()},
        "mean of seven weekdays": round(float(np.mean(each)), 4),
        "worst of seven weekdays": round(min(each), 4),
        "state bytes": len(state),
    }


def cost(inputs, kernels, folder):
    """Return cycles to learn, solve and answer, dense records; flash beyond and RAM of the model."""
    rng = np.random.default_rng(0)
    X = rng.integers(1, 256, (60, inputs))
    y = (X @ rng.integers(-20, 20, inputs) + rng.integers(-50, 50, 60)).clip(-32768, 32767)
    commands = b"".join(
        b"T" + bytes(x) + struct.pack("<h", v) for x, v in zip(X.tolist(), y.tolist(), strict=True)
    )
    run = UNO.run(build(inputs, folder, kernels), b"r" + commands + b"q")
    spent = np.diff(run.marks)
    spent = spent[: len(spent) // 4 * 4 + 3]
    size = 4 * inputs * (inputs + 1) // 2 + 15 * inputs + 29
    return {
        "inputs": inputs,
        "kernels": int(kernels),
        "learn": round(float(spent[0::4].mean())),
        "solve": int(spent[1::4].max()),
        "answer": int(spent[2::4].max()),
        "model bytes": size,
        "state bytes": 32 + 9 * inputs + 2 * inputs * (inputs + 1),
    }


def write(name, rows):
    with (HERE / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    for row in rows:
        print(row)


def main():
    with tempfile.TemporaryDirectory(prefix="sefr-air-") as folder:
        write("air_quality", [calibrated(pollutant, folder) for pollutant in POLLUTANTS])
        write("regression", [cost(m, kernels, folder) for m in (6, 8, 16) for kernels in (True, False)])


if __name__ == "__main__":
    main()
