"""
Bicycles per hour: curves, intervals and a week that is taken back
==================================================================

How many bicycles are rented depends on the hour, on the weather, and on the two together. Plain sums answer:
``SEFRRegressor(auto=True)`` adds up products of columns in one pass and solves a model with a curve per
feature. The rows are drawn here, so that the true curves are known.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from sefr import SEFRRegressor
from sefr.displays import CurvesDisplay

rng = np.random.default_rng(0)
n = 6000
hour, warmth = rng.integers(0, 24, n), rng.normal(14, 8, n)
day = rng.choice(["working day", "weekend"], n, p=[5 / 7, 2 / 7])
work = 160 * (np.exp(-((hour - 8) ** 2) / 3) + np.exp(-((hour - 18) ** 2) / 4))
leisure = 120 * np.exp(-((hour - 14) ** 2) / 18)
weather = 90 - ((warmth - 24) / 3) ** 2
mean = 120 + np.where(day == "weekend", leisure, work) + weather
rented = np.maximum(mean + rng.normal(0, 25, n), 0)
rows = pd.DataFrame({"hour": hour, "temperature": warmth, "day": day})

# %%
# Nothing is chosen: the column of text becomes categories, and ``auto_`` says how much of the variance lines
# explain, curves, and interactions beside them (rush hours are those of working days).

train, test = slice(0, 5000), slice(5000, None)
model = SEFRRegressor(auto=True).fit(rows[train], rented[train])
print("R2 of other hours:", round(model.score(rows[test], rented[test]), 3))
print({part: round(r2, 2) for part, r2 in model.auto_.r2.items()})

CurvesDisplay.from_estimator(model)
plt.show()

# %%
# Nine of ten numbers should lie in an interval of 90 %: a prediction for every hour of a warm working day.

hours = pd.DataFrame({"hour": np.arange(24), "temperature": 20.0, "day": "working day"})
expected, low, high = model.predict(hours, interval=0.9)
_, least, most = model.predict(rows[test], interval=0.9)
inside = np.mean((least <= rented[test]) & (rented[test] <= most))

figure, axis = plt.subplots(figsize=(6.4, 3.4))
axis.fill_between(hours["hour"], low, high, alpha=0.25, label="interval of 90 %")
axis.plot(hours["hour"], expected, label="prediction")
like = (day[test] == "working day") & (np.abs(warmth[test] - 20) < 2)
axis.plot(hour[test][like], rented[test][like], ".", color="black", markersize=3, label="hours like these")
axis.set(
    xlabel="hour",
    ylabel="bicycles",
    title=f"A working day of 20 degrees ({100 * inside:.0f} % of other hours inside)",
)
axis.legend()
figure.tight_layout()
plt.show()

# %%
# A counter was broken for the last 500 hours that were learned. They are subtracted, without the other rows:
# the predictions are those of a model that has never seen them.

model.forget(rows[4500:5000], rented[4500:5000])
never = SEFRRegressor(bins=model.edges_, interactions=model.interactions_).fit(rows[:4500], rented[:4500])
difference = np.abs(model.predict(rows[test]) - never.predict(rows[test])).max()
print(f"largest difference from never having seen them: {difference:.0e} bicycles")
