"""
Missing values
==============

``missing="ignore"`` leaves a missing value out of the sums, and out of the score: its contribution is 0, so
that it favours no class. Nothing is filled in.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score

from sefr import SEFRClassifier

X, y = load_breast_cancer(return_X_y=True)
rng = np.random.default_rng(0)
shares = [0, 0.1, 0.2, 0.4, 0.6, 0.8]
accuracy = {"one pass": [], "ten passes": []}
for share in shares:
    holes = np.where(rng.random(X.shape) < share, np.nan, X)
    for name, passes in {"one pass": 1, "ten passes": 10}.items():
        clf = SEFRClassifier(missing="ignore", passes=passes)
        accuracy[name].append(cross_val_score(clf, holes, y, cv=5).mean())

figure, axis = plt.subplots(figsize=(5.6, 3.2))
for name, values in accuracy.items():
    axis.plot(shares, values, marker="o", label=name)
axis.set(
    xlabel="share of values that are missing", ylabel="accuracy, 5 folds", title="Breast cancer with holes"
)
axis.legend()
plt.show()
