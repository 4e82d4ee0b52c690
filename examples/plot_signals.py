"""
Which shape favours the class?
==============================

Three kinds of waves with the same level and spread, at random phases: they differ only in shape.
``SignalFeatures`` counts shapes in integers, as a board does, and the display shows where in the window which
of them favours the class.
"""

import matplotlib.pyplot as plt
import numpy as np

from sefr import SEFRClassifier
from sefr.signals import SignalDisplay, SignalFeatures

rng = np.random.default_rng(0)
time = np.arange(128) / 6 + rng.uniform(0, 7, (300, 1))
kind = np.arange(300) % 3
waves = [np.sin(time), np.sign(np.sin(time)) / 2**0.5, (time / np.pi % 2 - 1) * 1.5**0.5]
X = np.rint(512 + 250 * np.choose(kind[:, None], waves) + rng.normal(0, 15, time.shape))
y = np.array(["sine", "square", "sawtooth"])[kind]

features = SignalFeatures(length=128, range=(0, 1023)).fit()
F = features.transform(X)
clf = SEFRClassifier(passes=10).fit(F[:150], y[:150])
print(f"{F.shape[1]} bytes per window; accuracy on the other half: {clf.score(F[150:], y[150:]):.3f}")

# %%
# The sudden falls of a sawtooth, and the slow rises between them:

SignalDisplay.from_estimator(features, clf, X, row=152)
plt.show()

# %%
# The edges of a square wave:

SignalDisplay.from_estimator(features, clf, X, row=151)
plt.show()
