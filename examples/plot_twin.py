"""
What will the board answer?
===========================

A board computes with integers. Its twin gives the answers of the board on the computer, to the bit, before
anything is flashed. Here digits are classified with weights of 8 and of 16 bits.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from sefr import SEFRClassifier
from sefr.device import Twin

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, random_state=0)
clf = SEFRClassifier(scale=(0, 16)).fit(X, y)
for weights in ("int8", "int16"):
    print(f"{weights}: {Twin(clf, weights=weights).loss(X_test, y_test)}")

# %%
# The weights of the digit 3, as floats and as the bytes of the board:

twin = Twin(clf, weights="int8")
figure, axes = plt.subplots(1, 2, figsize=(5.4, 2.9))
for axis, values, title in zip(
    axes, (clf.coef_[3], twin.quantised.weights[3]), ("float64", "int8, on the board")
):
    limit = abs(values).max()
    axis.imshow(values.reshape(8, 8), cmap="PuOr", vmin=-limit, vmax=limit)
    axis.set_title(title)
    axis.set_xticks([])
    axis.set_yticks([])
plt.show()
