"""
Are the probabilities right?
============================

Of all answers that are given with a probability of 0.8, eight in ten should be right. The curves show it on
rows that the model has not seen.
"""

import matplotlib.pyplot as plt
from sklearn.calibration import calibration_curve
from sklearn.datasets import make_classification
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB

from sefr import SEFRClassifier

X, y = make_classification(6000, n_features=20, n_informative=6, n_redundant=8, flip_y=0.1, random_state=3)

figure, axis = plt.subplots(figsize=(4.6, 4.4))
axis.plot([0, 1], [0, 1], color="0.7", linewidth=1)
for name, model in {
    "SEFR, one pass": SEFRClassifier(),
    "SEFR, ten passes": SEFRClassifier(passes=10),
    "GaussianNB": GaussianNB(),
}.items():
    probability = cross_val_predict(model, X, y, cv=5, method="predict_proba")[:, 1]
    right, said = calibration_curve(y, probability, n_bins=10)
    axis.plot(said, right, marker="o", label=f"{name}: Brier {brier_score_loss(y, probability):.3f}")
axis.set(
    xlabel="probability given", ylabel="share that is right", title="Reliability", xlim=(0, 1), ylim=(0, 1)
)
axis.legend(loc="upper left")
plt.show()
