"""
Five sites, one model
=====================

Each site adds up its own rows and sends a Summary: counts, sums and extremes. The centre adds the Summaries
and has the model that all rows in one place would have given, to the bit. No row leaves its site.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from sefr import SEFRClassifier, Summary

X, y = load_digits(return_X_y=True)
test = np.arange(len(y)) % 4 == 0
site = np.arange(len(y)) % 5
sites = [(X[(site == k) & ~test], y[(site == k) & ~test]) for k in range(5)]

# %%
# What leaves a site is a message of fixed size, however many rows it has:

messages = [Summary.of(rows, labels).to_bytes() for rows, labels in sites]
for k, (message, (rows, _)) in enumerate(zip(messages, sites)):
    print(f"site {k}: {len(rows)} rows of {rows.nbytes:,} bytes, sends {len(message):,} bytes")

# %%
# The centre adds them up.

together = SEFRClassifier.from_summary(sum(map(Summary.from_bytes, messages)))
one_place = SEFRClassifier().fit(X[~test], y[~test])
print("the same weights as in one place:", np.array_equal(together.coef_, one_place.coef_))

# %%
alone = [SEFRClassifier().fit(*rows).score(X[test], y[test]) for rows in sites]
figure, axis = plt.subplots(figsize=(5.6, 3.2))
axis.bar(
    [*(f"site {k}" for k in range(5)), "together"],
    [*alone, together.score(X[test], y[test])],
    color=["0.7"] * 5 + ["C0"],
)
axis.set(ylim=(0.7, 0.9), ylabel="accuracy on other rows", title="Alone and together")
plt.show()
