"""
Why this answer?
================

The score of a row is exactly a sum of one contribution per feature. So each answer can be explained, and
the bars add up to the score. Here is one that the model gets wrong.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from sefr import ContributionsDisplay, SEFRClassifier

cancer = load_breast_cancer(as_frame=True)
labels = cancer.target_names[cancer.target]
clf = SEFRClassifier(passes=10).fit(cancer.data, labels)
row = cancer.data.iloc[[40]]
print("the answer:", clf.predict(row)[0], " true:", labels[40])

# %%
# A bar above zero favours the second class, here malignant.

display = ContributionsDisplay.from_estimator(clf, row, count=8)
plt.show()

# %%
# They add up, to the rounding of float64:

print(display.contributions.sum() - display.score)
