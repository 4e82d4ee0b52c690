"""
Forgetting a user's rows
========================

Somebody asks to be forgotten. ``forget`` takes the rows back: with known ranges the model is, to the bit,
the one that never saw them. No other row is needed for it, and it takes milliseconds.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from sefr import SEFRClassifier

X, y = load_digits(return_X_y=True)
user = np.arange(len(y)) % 40  # forty people wrote the digits
theirs = user == 7

clf = SEFRClassifier(scale=(0, 16)).fit(X, y)
clf.forget(X[theirs], y[theirs])
never_seen = SEFRClassifier(scale=(0, 16)).fit(X[~theirs], y[~theirs])
print("equal to never having seen them:", np.array_equal(clf.coef_, never_seen.coef_))

# %%
# Forty people leave, one after the other. The model stays exact at every step.

clf = SEFRClassifier(scale=(0, 16)).fit(X, y)
accuracy, rows = [clf.score(X, y)], [len(y)]
for person in range(38):
    clf.forget(X[user == person], y[user == person])
    accuracy.append(clf.score(X, y))
    rows.append(clf.summary_.n_rows)

figure, axis = plt.subplots(figsize=(5.6, 3.2))
axis.plot(rows, accuracy, marker=".")
axis.invert_xaxis()
axis.set(
    xlabel="rows that the model remembers",
    ylabel="accuracy on all rows",
    title="Forgetting, person by person",
)
plt.show()
