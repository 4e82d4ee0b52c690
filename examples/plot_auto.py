"""
What auto=True chose
====================

``auto=True`` adds up lines, curves and interactions. How much each counts is chosen on rows that they were
not fitted to; ``AutoDisplay`` draws it.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from sefr import AutoDisplay, CurvesDisplay, SEFRClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
clf = SEFRClassifier(auto=True).fit(X, y)

# %%
# The weight of each part, and its log loss on the rows held out, beside that of the sum.

AutoDisplay.from_estimator(clf)
plt.show()

# %%
# It is one model: a curve per feature, with the lines in it, and interactions beside them.

CurvesDisplay.from_estimator(clf, count=6)
plt.show()
