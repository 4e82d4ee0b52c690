"""
A rare class
============

Two rows in a hundred are faults. By default one pass puts the border between the means of the classes,
drawn towards the rare one. ``class_weight="balanced"`` makes each class count the same, and can be changed
after training, since it is applied where the Summary is solved. Probabilities say how rare the class is,
whichever is chosen.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import ConfusionMatrixDisplay, recall_score
from sklearn.model_selection import train_test_split

from sefr import SEFRClassifier

X, y = make_classification(
    20_000, n_features=12, n_informative=5, weights=[0.98], class_sep=1.5, flip_y=0.002, random_state=1
)
y = np.where(y == 1, "fault", "good")
X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=0)

models = {
    "one pass": SEFRClassifier().fit(X, y),
    "balanced": SEFRClassifier(class_weight="balanced").fit(X, y),
    "ten passes": SEFRClassifier(passes=10).fit(X, y),
}
for name, clf in models.items():
    found = recall_score(y_test, clf.predict(X_test), pos_label="fault")
    share = clf.predict_proba(X_test)[:, 0].mean()
    print(f"{name}: {found:.0%} of the faults are found; mean probability of a fault {share:.3f}")
print(f"faults among the test rows: {np.mean(y_test == 'fault'):.3f}")

# %%
figure, axes = plt.subplots(1, 3, figsize=(7, 2.7), sharey=True)
for axis, (name, clf) in zip(axes, models.items()):
    ConfusionMatrixDisplay.from_estimator(clf, X_test, y_test, ax=axis, colorbar=False, cmap="Blues")
    axis.set_title(name)
plt.show()
