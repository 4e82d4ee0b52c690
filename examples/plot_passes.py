"""
One pass against ten
====================

One pass is the classifier of the paper. Further passes cost more time and bring the accuracy of other
linear methods. The dashed lines are logistic regression and a linear SVM from scikit-learn on the same
folds.
"""

import time

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from sefr import SEFRClassifier

X, y = load_digits(return_X_y=True)


def measured(model):
    """Return macro F1 on five folds and the milliseconds of CPU time of one fit, in one thread."""
    with threadpool_limits(1):
        scores = cross_val_score(model, X, y, cv=5, scoring="f1_macro")
        started = time.process_time()
        model.fit(X, y)
        return scores.mean(), 1000 * (time.process_time() - started)


passes = [1, 2, 3, 5, 10, 20]
ours = [measured(SEFRClassifier(passes=n)) for n in passes]
for n, (f1, milliseconds) in zip(passes, ours):
    print(f"{n:2} passes: macro F1 {f1:.3f}, fit {milliseconds:6.1f} ms")

# %%
# Scikit-learn's linear methods on the same folds:

others = {
    "LogisticRegression": measured(make_pipeline(MinMaxScaler(), LogisticRegression(max_iter=1000))),
    "LinearSVC": measured(make_pipeline(MinMaxScaler(), LinearSVC())),
}
for name, (f1, milliseconds) in others.items():
    print(f"{name}: macro F1 {f1:.3f}, fit {milliseconds:6.1f} ms")

# %%
figure, axis = plt.subplots(figsize=(5.6, 3.6))
axis.plot(passes, [f1 for f1, _ in ours], marker="o", label="SEFR")
for number, (name, (f1, _)) in enumerate(others.items(), 1):
    axis.axhline(f1, color=f"C{number}", linestyle="--", label=name)
axis.set(xlabel="passes", ylabel="macro F1, 5 folds", title="Digits", xticks=passes)
axis.legend()
plt.show()
