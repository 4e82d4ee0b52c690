"""
Which settings?
===============

``compare`` tries the settings on the same folds, says what each costs, and recommends the cheapest that is
near the best. ``sefr evaluate data.csv --label COLUMN`` does the same for a file.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from sefr import compare

table = compare(*load_breast_cancer(return_X_y=True))
print(table)
print(table.recommendation)

# %%
table.plot()
plt.show()
