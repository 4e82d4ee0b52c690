"""What each engine can do: the one list of the guide's table and of ``tests/engines/test_capabilities.py``.

A cell is True, and then a test runs it, or a sentence that says why not and what to do instead.
"""

from __future__ import annotations

ENGINES = ("pandas", "polars lazy", "duckdb", "ibis", "dask", "pyspark", "sql")
SHOWN = {
    "pandas": "pandas, Polars, pyarrow",
    "polars lazy": "Polars lazy",
    "duckdb": "DuckDB",
    "ibis": "Ibis",
    "dask": "Dask",
    "pyspark": "Spark",
    "sql": "SQL query",
}
FRAMES = ENGINES[:-1]

ONCE = "a query reads the rows once, and only sums leave the database: use `fit_frame`"
EDGES = "edges of bins are quantiles of rows, which stay in the database: use `fit_frame`"
NUMBERS = "a query adds up numbers: encode text first"
CALIBRATE = "no rows come with the sums: `calibrate(X, y)` afterwards"
FOLDS = "takes rows in this process; a Summary per fold adds up to those of the others: `sefr sql --group-by`"
CLUSTER = (
    "it needs all rows in this process: `bins=32, interactions=100, passes=20` reads them where they are"
)
CHOOSES = "it is chosen on rows, which stay in the database: use `fit_frame`"
PARTS = "the model is an ordinary one: `contributions(X)` of rows in this process; in SQL `--explain`"

# Capability: True for every engine, or what differs.
CAPABILITIES: dict[str, dict[str, bool | str]] = {
    "one pass": dict.fromkeys(ENGINES, True),
    "passes": {**dict.fromkeys(FRAMES, True), "sql": ONCE},
    "bins": {**dict.fromkeys(FRAMES, True), "sql": EDGES},
    "interactions": {**dict.fromkeys(FRAMES, True), "sql": EDGES},
    "moments": dict.fromkeys(ENGINES, True),
    "categories": {**dict.fromkeys(FRAMES, True), "sql": NUMBERS},
    "missing": dict.fromkeys(ENGINES, True),
    "weights": dict.fromkeys(ENGINES, True),
    "class_weight": dict.fromkeys(ENGINES, True),
    "probabilities": {**dict.fromkeys(FRAMES, True), "sql": CALIBRATE},
    "auto": {**dict.fromkeys(FRAMES, True), "dask": CLUSTER, "pyspark": CLUSTER, "sql": CHOOSES},
    "cross_validate": {**dict.fromkeys(FRAMES, FOLDS), "pandas": True, "sql": True},
    "contributions": {**dict.fromkeys(FRAMES, PARTS), "pandas": True, "duckdb": True, "sql": True},
    "scoring": dict.fromkeys(ENGINES, True),
    "drift": dict.fromkeys(ENGINES, True),
    "private": dict.fromkeys(ENGINES, True),
    "regression": dict.fromkeys(ENGINES, True),
    "scoring of numbers": dict.fromkeys(ENGINES, True),
    "several outputs": dict.fromkeys(ENGINES, True),
    "regression with bins": {**dict.fromkeys(FRAMES, True), "sql": EDGES},
    "regression in passes": {**dict.fromkeys(FRAMES, True), "sql": ONCE},
}


def cells() -> list[tuple[str, str]]:
    """Return the capabilities and engines that go together."""
    return [(name, engine) for name, row in CAPABILITIES.items() for engine in ENGINES if row[engine] is True]


def engine_capabilities() -> str:
    """Return the table of the guide: yes, or the number of the sentence below it."""
    every = [cell for row in CAPABILITIES.values() for cell in row.values()]
    sentences = list(dict.fromkeys(cell for cell in every if cell is not True))

    def shown(cell: bool | str) -> str:
        return "yes" if cell is True else f"({sentences.index(cell) + 1})"

    lines = [["", *(SHOWN[engine] for engine in ENGINES)], ["---"] * (len(ENGINES) + 1)]
    lines += [[name, *(shown(row[engine]) for engine in ENGINES)] for name, row in CAPABILITIES.items()]
    notes = (f"- ({i}) {sentence}." for i, sentence in enumerate(sentences, 1))
    return "\n".join(["| " + " | ".join(line) + " |" for line in lines] + ["", *notes])
