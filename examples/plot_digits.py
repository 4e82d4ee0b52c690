"""
Digits as the model sees them
=============================

A linear model has one number per pixel and class, so what it has learned is a picture. Blue: ink here
favours the digit. Orange: ink here counts against it. The depth is the effect: what the pixel does to
the score on average.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from sefr import ScoresDisplay, SEFRClassifier

X, y = load_digits(return_X_y=True)
clf = SEFRClassifier().fit(X, y)
ScoresDisplay.from_estimator(clf, image=(8, 8))
plt.show()

# %%
# The scores of the paper answer another question: how clear a pixel is, not how often it matters. A pixel
# at the border that was lit twice, both times in a 7, has a score of 1. It decides almost nothing.

ScoresDisplay.from_estimator(clf, image=(8, 8), kind="scores")
plt.show()
