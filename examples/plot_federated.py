"""
Five sites, one model
=====================

Each site adds up its own rows and sends a Summary of second moments: counts, sums, sums of products and
extremes. The centre adds the Summaries and has the Summary that all rows in one place would have given, to
the bit, and so their accuracy, in one round. No row leaves its site.
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

messages = [Summary.of(rows, labels, moments=2).to_bytes() for rows, labels in sites]
for k, (message, (rows, _)) in enumerate(zip(messages, sites)):
    print(f"site {k}: {len(rows)} rows of {rows.nbytes:,} bytes, sends {len(message):,} bytes")

# %%
# The centre adds them up.

together = SEFRClassifier.from_summary(sum(map(Summary.from_bytes, messages)), moments=2)
one_place = SEFRClassifier(moments=2).fit(X[~test], y[~test])
print("the same Summary as in one place:", together.summary_ == one_place.summary_)
print("the same answers:", np.array_equal(together.predict(X[test]), one_place.predict(X[test])))

# %%
alone = [SEFRClassifier(moments=2).fit(*rows).score(X[test], y[test]) for rows in sites]
figure, axis = plt.subplots(figsize=(5.6, 3.2))
axis.bar(
    [*(f"site {k}" for k in range(5)), "together"],
    [*alone, together.score(X[test], y[test])],
    color=["0.7"] * 5 + ["C0"],
)
axis.set(ylim=(0.8, 1.0), ylabel="accuracy on other rows", title="Alone and together")
plt.show()
