"""
Text with TF-IDF
================

Which library is this docstring from? Values of TF-IDF are already between 0 and 1 and mostly zero, so
``scale=None`` takes them as they are. The rows stay sparse.
"""

import inspect

import matplotlib.pyplot as plt
import numpy as np
import scipy.linalg
import scipy.signal
import scipy.stats
import sklearn.ensemble
import sklearn.linear_model
import sklearn.metrics
import sklearn.preprocessing
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from sefr import SEFRClassifier

modules = {
    "numpy": [np, np.linalg, np.fft, np.random],
    "scipy": [scipy.stats, scipy.signal, scipy.linalg],
    "scikit-learn": [sklearn.linear_model, sklearn.metrics, sklearn.preprocessing, sklearn.ensemble],
}
texts, labels = [], []
for library, parts in modules.items():
    for part in parts:
        for name in dir(part):
            text = inspect.getdoc(getattr(part, name)) if not name.startswith("_") else None
            if text and len(text) > 200:
                texts.append(text.splitlines()[0] + " " + text[200:800])
                labels.append(library)
print(len(texts), "docstrings")

# %%
for name, model in {
    "SEFR, one pass": SEFRClassifier(scale=None),
    "SEFR, ten passes": SEFRClassifier(scale=None, passes=10),
    "LogisticRegression": LogisticRegression(max_iter=1000),
}.items():
    pipeline = make_pipeline(TfidfVectorizer(min_df=2), model)
    print(f"{name}: accuracy {cross_val_score(pipeline, texts, labels, cv=5).mean():.3f}")

# %%
# The words that favour each library:

pipeline = make_pipeline(
    TfidfVectorizer(min_df=2, stop_words="english"), SEFRClassifier(scale=None, passes=10)
)
pipeline.fit(texts, labels)
words = pipeline[0].get_feature_names_out()
clf = pipeline[-1]
mean = np.asarray(pipeline[0].transform(texts).mean(axis=0)).ravel()  # a word counts as often as it occurs
figure, axes = plt.subplots(1, 3, figsize=(7, 3))
for axis, label, weights in zip(axes, clf.classes_, clf.coef_):
    best = np.argsort(weights * mean)[-8:]
    axis.barh(words[best], (weights * mean)[best])
    axis.set_title(label)
    axis.set_xticks([])
plt.show()
