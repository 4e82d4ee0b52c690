"""
A stream that drifts
====================

The border between the classes moves at row 4,000. A model that remembers everything adapts slowly; one
whose rows lose half of their weight every 500 rows adapts quickly. Each row is first predicted and then
learned.
"""

import matplotlib.pyplot as plt
import numpy as np

from sefr.engines.river import SEFRStream

rng = np.random.default_rng(0)
X = rng.uniform(0, 10, (8000, 3))
border = np.where(np.arange(8000) < 4000, 7.0, 12.0)
y = X[:, 0] + X[:, 1] > border
noise = rng.random(8000) < 0.05
y ^= noise


def accuracy(model, window=400):
    """Return the share of right answers over the last rows, at every row."""
    right = []
    for values, label in zip(X, y):
        row = dict(zip("abc", values))
        right.append(model.predict_one(row) == label)
        model.learn_one(row, label)
    return np.convolve(right, np.ones(window) / window, mode="valid")


# %%
figure, axis = plt.subplots(figsize=(5.6, 3.4))
for name, model in {
    "remembers everything": SEFRStream(),
    "half-life of 500 rows": SEFRStream(half_life=500),
}.items():
    course = accuracy(model)
    axis.plot(np.arange(len(course)) + 400, course, label=f"{name}: {course.mean():.3f}")
axis.axvline(4000, color="0.6", linestyle=":")
axis.set(xlabel="row", ylabel="accuracy of the last 400 rows", title="The border moves at row 4,000")
axis.legend(loc="lower left")
plt.show()
