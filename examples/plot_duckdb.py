"""
Training inside DuckDB
======================

A Summary is counts, sums and extremes per class, which every database can compute. DuckDB reads Parquet
files that are larger than memory, and only the sums come back.
"""

import tempfile
from pathlib import Path

import duckdb
import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sefr import SEFRClassifier, Summary

rng = np.random.default_rng(0)
folder = Path(tempfile.mkdtemp())
for day in range(4):
    fault = rng.random(50_000) < 0.2
    table = {
        "temperature": rng.normal(60, 8, 50_000) + 9 * fault,
        "current": rng.normal(3, 0.5, 50_000) + 0.4 * fault,
        "noise": rng.normal(0, 1, 50_000),
        "fault": np.where(fault, "yes", "no"),
    }
    pq.write_table(pa.table(table), folder / f"day-{day}.parquet")

# %%
# The rows stay where they are: DuckDB is asked for the sums.

rows = duckdb.read_parquet(f"{folder}/*.parquet")
summary = Summary.of_frame(rows, "fault")
print(summary)
clf = SEFRClassifier.from_summary(summary)

# %%
# ``sefr sql --predict`` prints the model as a SELECT, for scoring where the rows are. Here a frame is
# scored in Python:

sample = rows.limit(5).df()
print(clf.predict(sample[list(summary.feature_names)]), sample["fault"].tolist())

# %%
figure, axis = plt.subplots(figsize=(5.2, 2.4))
axis.barh(list(summary.feature_names), clf.feature_scores_[0])
axis.invert_yaxis()
axis.axvline(0, color="0.6", linewidth=0.8)
axis.set(xlabel="score for fault = yes", title="Learned from 200,000 rows in Parquet")
plt.show()
