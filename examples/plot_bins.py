"""
Curves with bins
================

If a class lies in the middle of a feature, a line cannot separate it from the others. With ``bins`` the
effect of each feature is a curve. The score stays a sum of one part per feature.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score

from sefr import SEFRClassifier

rng = np.random.default_rng(0)
temperature = rng.uniform(0, 40, 3000)
humidity = rng.uniform(20, 90, 3000)
comfort = 1.5 - ((temperature - 22) / 8) ** 2 - 0.02 * (humidity - 50) + rng.normal(0, 0.4, 3000)
X = np.column_stack([temperature, humidity])
y = np.where(comfort > 0, "comfortable", "unpleasant")

for name, clf in {
    "lines": SEFRClassifier(passes=10),
    "bins, one pass": SEFRClassifier(bins=32),
    "bins, ten passes": SEFRClassifier(bins=32, passes=10),
}.items():
    print(f"{name}: accuracy {cross_val_score(clf, X, y, cv=5).mean():.3f}")

# %%
# The curves: what each temperature and each humidity adds to the score for "unpleasant".

clf = SEFRClassifier(bins=32, passes=10).fit(X, y)
figure, axes = plt.subplots(1, 2, figsize=(6, 3), sharey=True)
for axis, curve, name in zip(axes, clf.curves_, ("temperature, C", "humidity, %")):
    edges = np.concatenate([[X.min()], curve.edges, [curve.edges[-1] + np.diff(curve.edges)[-1]]])
    axis.stairs(curve.effects[0], edges, baseline=None, linewidth=2)
    axis.axhline(0, color="0.6", linewidth=0.8)
    axis.set(xlabel=name, xlim=(curve.edges[0], curve.edges[-1]))
axes[0].set_ylabel("for unpleasant")
plt.show()
