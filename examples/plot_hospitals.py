"""
Add a hospital, remove a hospital, without the rows
===================================================

Four hospitals hold rows that may not leave them. Each sends a Summary of second moments: counts, sums, and
sums of products of features. The sum of the four gives the model of all rows in one place, in one round. When
a hospital withdraws, its Summary is taken away again, and nobody has to train anew.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from sefr import SEFRClassifier, Summary

X, y = load_breast_cancer(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
hospital = np.arange(len(y)) % 4
low, high = np.zeros(30), 2 * X.max(axis=0)  # ranges that everyone knows

# %%
# What leaves a hospital is a few kilobytes, whatever the number of its rows.

sent = [Summary.of(X[hospital == h], y[hospital == h], moments=2).to_bytes() for h in range(4)]
print("bytes sent by each hospital:", [len(data) for data in sent])

received = [Summary.from_bytes(data) for data in sent]
together = SEFRClassifier.from_summary(sum(received[1:], received[0]), moments=2, scale=(low, high))
in_one_place = SEFRClassifier(moments=2, scale=(low, high)).fit(X, y)
difference = np.abs(together.coef_ - in_one_place.coef_).max() / np.abs(in_one_place.coef_).max()
print(f"largest difference from the model of all rows in one place: {difference:.0e} of the largest weight")

# %%
# Hospitals join one after the other, and the second one leaves at the end.

steps, accuracy = [], []
model = SEFRClassifier.from_summary(received[0], moments=2, scale=(low, high))
for name, change in [
    ("first", None),
    ("second joins", lambda: model.merge(received[1])),
    ("third joins", lambda: model.merge(received[2])),
    ("fourth joins", lambda: model.merge(received[3])),
    ("second leaves", lambda: model.forget(received[1])),
]:
    if change is not None:
        change()
    steps.append(f"{name}\n{model.summary_.n_rows:.0f} rows")
    accuracy.append(model.score(X_test, y_test))

without = hospital != 1
never = SEFRClassifier(moments=2, scale=(low, high)).fit(X[without], y[without])
print(
    "answers as if the second had never been there:",
    np.array_equal(model.predict(X_test), never.predict(X_test)),
)

figure, axis = plt.subplots(figsize=(6.4, 3.2))
axis.plot(steps, accuracy, marker="o")
paper = SEFRClassifier().fit(X, y).score(X_test, y_test)
axis.axhline(paper, linestyle=":", color="gray", label="first moments (the paper), all rows")
axis.set(ylabel="accuracy on other patients", title="One round, exact, and it can be undone")
axis.legend(loc="lower right")
figure.tight_layout()
plt.show()
