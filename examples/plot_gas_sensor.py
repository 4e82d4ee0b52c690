"""
A gas sensor that ages: calibrated on one day per week
======================================================

Cheap gas sensors answer to warmth and damp as well, and age. Beside a reference analyser, which is borrowed
for one day per week, they can be calibrated again and again: what was learned counts half after four weeks
(``decay``), and the new day is added (``partial_fit``). The readings are drawn here, in steps of eight bits,
so that the example needs no file: three sensors whose gain falls by half within a year.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import r2_score

from sefr import SEFRRegressor

rng = np.random.default_rng(0)
hours = np.arange(24 * 7 * 48)
day = hours // 24
carbon_monoxide = np.exp(0.6 * np.sin(hours * 2 * np.pi / 12) + 0.5 * rng.normal(size=len(hours)))
warmth = 15 - 12 * np.cos(day * 2 * np.pi / 336) + 5 * np.sin(hours * 2 * np.pi / 24)
damp = 60 - warmth + rng.normal(0, 6, len(hours))
gain = 1 - 0.5 * hours / hours[-1]
sensors = [
    gain * 18 * carbon_monoxide + 1.5 * warmth + rng.normal(0, 4, len(hours)) + 40,
    gain**2 * 12 * carbon_monoxide - 0.8 * damp + rng.normal(0, 4, len(hours)) + 110,
    gain * 8 * np.sqrt(carbon_monoxide) + 0.5 * damp + rng.normal(0, 2, len(hours)) + 20,
]
readings = np.clip(np.round(np.column_stack([*sensors, 3 * warmth + 20, damp])), 0, 255).astype(np.uint8)

# %%
# Four weeks beside the analyser, and never again; and the same with one day of each later week.
first = day < 28
static = SEFRRegressor().fit(readings[first], carbon_monoxide[first])
weekly = SEFRRegressor().fit(readings[first], carbon_monoxide[first])
said = []
for week in range(4, 48):
    now = day // 7 == week
    fixed, mean = static.predict(readings[now]), weekly.predict(readings[now])
    said.append((week, r2_score(carbon_monoxide[now], fixed), r2_score(carbon_monoxide[now], mean)))
    beside = now & (day % 7 == 6)  # the analyser is there on the last day
    weekly.decay(0.5 ** (1 / 4)).partial_fit(readings[beside], carbon_monoxide[beside])
weeks, without, calibrated = np.array(said).T
print(f"R2, mean of 44 weeks: {without.mean():.2f} without the analyser, {calibrated.mean():.2f} with it")

# %%
# Every prediction was made before its week was learned.
figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
axes.plot(weeks, calibrated, label="one day per week, half-life of four weeks")
axes.plot(weeks, without, label="four weeks, then never again")
axes.set(xlabel="week", ylabel="R2 of the week", ylim=(min(0, without.min()) - 0.05, 1))
axes.legend()

# %%
# The state is a Summary: a few hundred bytes, that a board can keep and send.
print(len(weekly.summary_.to_bytes()), "bytes")
