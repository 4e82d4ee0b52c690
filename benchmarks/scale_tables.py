"""The figures of scale as the documents show them: of scale/cells.csv, and the plan that follows."""

from __future__ import annotations

import csv
import json
from functools import cache
from pathlib import Path

import numpy as np

from sefr.engines.cluster.jobs import group_width

from .tables import markdown

HERE = Path(__file__).parent
# The plan: rows and features, bytes of a value, cores and bytes per second of a node and of a single machine.
PLAN_CELLS = 1e12
BYTES = 4
CORES = 16
NODE_BYTES, DISK_BYTES = 1.25e9, 3e9
PARTITION = 128 * 2**20
TRILLION_BYTES = 1e12 * 1000 * BYTES


@cache
def _figures() -> list[dict[str, str]]:
    with (HERE / "scale" / "cells.csv").open() as file:
        return list(csv.DictReader(file))


@cache
def _rates() -> dict[str, float]:
    return json.loads((HERE / "scale" / "rates.json").read_text())


def _seconds(step: str, what: str, features: int) -> float | None:
    """Return what was measured; None where that was not."""
    for row in _figures():
        if (row["step"], row["what"], int(row["features"])) == (step, what, features):
            return float(row["seconds"])
    return None


def cells() -> str:
    """Parquet beside the engine's own aggregates, and a billion cells."""
    rows = []
    for engine, name in (("duckdb", "DuckDB"), ("polars", "Polars"), ("spark", "Spark")):
        plain, ours = (_seconds(engine, what, 20) for what in ("plain aggregates", "of_frame"))
        whole = _seconds(engine, "of_frame", 50)
        if whole is not None:
            beside = ["", "", ""]
            if plain is not None and ours is not None:
                beside = [f"{plain:.1f}", f"{ours:.1f}", f"{ours / plain:.2f}"]
            rows.append([name, *beside, f"{whole:.1f}"])
    head = [
        "CPU s",
        "20,000,000 × 20, plain aggregates",
        "`of_frame`",
        "ratio",
        "20,000,000 × 50, `of_frame`",
    ]
    return markdown(head, rows)


def spark_beside() -> str:
    """SEFR on Spark beside Spark's own classifiers."""
    rows = []
    pairs = {"SEFR": "NaiveBayes", "SEFR(passes=10)": "LogisticRegression(maxIter=10)"}
    for row in _figures():
        if row["step"] not in ("vectors", "wide"):
            continue
        shape = f"{int(row['rows']):,} × {int(row['features']):,}"
        other = pairs.get(row["what"], "")
        theirs = _seconds(row["step"], other, int(row["features"]))
        ratio = "" if theirs is None else f"{float(row['seconds']) / theirs:.2f} of `{other}`"
        time, accuracy = f"{float(row['seconds']):.1f}", f"{100 * float(row['accuracy']):.1f} %"
        rows.append([shape, f"`{row['what']}`", time, accuracy, ratio])
    return (
        markdown(["vectors from Parquet", "", "CPU s", "accuracy", "time"], rows) if rows else "Not run yet."
    )


def scale_source() -> str:
    """Where and what was measured."""
    machines = dict.fromkeys(row["machine"] for row in _figures())
    commits = dict.fromkeys(row["commit"] for row in _figures())
    return f"{' and '.join(machines)}; commit {', '.join(commits)}."


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def scale_plan() -> str:
    """Work out a billion rows of a thousand features by the rates measured."""
    arrays = _rates()["spark, array column, cells/s"]
    plans = [
        ("Spark, an array column, 10 nodes", arrays, 10),
        ("Spark, an array column, 100 nodes", arrays, 100),
    ]
    for step, name in (("polars", "Polars, one machine"), ("duckdb", "DuckDB, one machine")):
        if (seconds := _seconds(step, "of_frame", 50)) is not None:
            plans.insert(0, (name, 1e9 / seconds, 1))
    rows = []
    for name, rate, nodes in plans:
        cpu, bandwidth = PLAN_CELLS / rate, DISK_BYTES if nodes == 1 else NODE_BYTES
        computing, reading = cpu / (nodes * CORES), PLAN_CELLS * BYTES / (nodes * bandwidth)
        about = _time(max(computing, reading))
        rows.append([name, f"{rate:.1e}", _time(cpu), _time(computing), _time(reading), f"**{about}**"])
    head = ["", "cells per CPU s, measured", "CPU time", "over the cores", "reading 4 TB", "about"]
    return markdown(head, rows)


def scale_rates() -> str:
    """Show the rates of single steps."""
    found = _rates()
    steps = {
        "the kernel, float32 in memory": "kernel, float32, cells/s",
        "the kernel, float64 in memory": "kernel, float64, cells/s",
        "DuckDB, Parquet of 50 columns, its own aggregates": "duckdb, parquet of 50 columns, cells/s",
        "DuckDB, Parquet of 1,000 columns, through Arrow": "duckdb, parquet of 1000 columns, cells/s",
        "Spark, Parquet with one array column of 1,000, through Arrow": "spark, array column, cells/s",
        "Spark, the same file, reading one value per row": "spark, reading one value a row, cells/s",
    }
    rows = [[name, f"{found[key] / 1e6:,.0f} million cells"] for name, key in steps.items()]
    rows += [
        ["Summaries of 1,000 features, read and added", f"{found['Summaries read and added/s']:,.0f}"],
        ["models solved from such a Summary", f"{1 / found['seconds to solve']:,.0f}"],
    ]
    return markdown(["step", "per CPU second"], rows)


def scale_rates_source() -> str:
    """Where the rates were measured, and what else was measured with them."""
    found = _rates()
    return (
        f"{found['machine']}; commit {found['commit']}. A Summary of 1,000 features and two classes has "
        f"{found['bytes of a Summary']:,.0f} bytes. The start of a Spark session takes "
        f"{found['spark, session start, CPU s']:.0f} CPU s."
    )


def scale_where() -> str:
    """Say what part of the plan is SEFR's own."""
    found = _rates()
    kernel = PLAN_CELLS / found["kernel, float32, cells/s"]
    spark = found["spark, array column, cells/s"] / found["spark, reading one value a row, cells/s"]
    return (
        f"The kernel would need {kernel:,.0f} CPU seconds for all 10¹² float32 cells; decoding Parquet and "
        f"carrying it into the kernel takes many times as long. On Spark {100 * spark:.0f} % of the time go "
        "into decoding the column alone."
    )


def scale_network() -> str:
    """Work out what the network carries and what the driver adds."""
    found = _rates()
    partitions = PLAN_CELLS * BYTES / PARTITION
    size = found["bytes of a Summary"]
    return (
        f"With partitions of 128 MiB there are {partitions:,.0f}. Each sends home one Summary of "
        f"{size / 1e3:.0f} kB: {partitions * size / 1e9:.1f} GB in all, a "
        f"{PLAN_CELLS * BYTES / (partitions * size):,.0f}th of the data, whatever the number of rows in a "
        f"partition. The driver adds them in {partitions / found['Summaries read and added/s']:.0f} CPU s."
    )


def _slope(engine: str, what: str) -> tuple[float, float, float]:
    """Return CPU seconds of starting and of one more, by least squares, and the worst error of that line."""
    with (HERE / "scale" / "slopes.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if (row["engine"], row["what"]) == (engine, what)]
    n, seconds = (np.array([float(row[key]) for row in rows]) for key in ("n", "seconds"))
    slope, start = np.polyfit(n, seconds, 1)
    return float(start), float(slope), float(np.abs((start + slope * n) / seconds - 1).max())


def scale_slopes() -> str:
    """Show what a row and a partition more cost."""
    with (HERE / "scale" / "slopes.csv").open() as file:
        found = list(csv.DictReader(file))
    names = {
        ("duckdb", "rows"): "DuckDB, rows of an array column",
        ("spark", "rows"): "Spark, rows of an array column",
        ("spark", "partitions"): "Spark, partitions of four rows",
    }
    rows = []
    for (engine, what), name in names.items():
        own = [row for row in found if (row["engine"], row["what"]) == (engine, what)]
        start, slope, error = _slope(engine, what)
        measured = ", ".join(f"{int(row['n']):,}: {float(row['seconds']):.1f}" for row in own)
        each = f"{1e6 * slope:,.0f} s per million" if what == "rows" else f"{1e3 * slope:,.0f} ms each"
        rows.append([name, measured, f"{start:.1f} s", each, f"{100 * error:.0f} %"])
    head = ["1,000 features", "CPU s", "start", "slope", "largest error of the line"]
    return markdown(head, rows) + f"\n\n{found[0]['machine']}; commit {found[0]['commit']}."


def scale_trillion() -> str:
    """Work out 10¹² rows of 1,000 features on Spark by the slopes measured."""
    _, per_row, _ = _slope("spark", "rows")
    _, per_partition, _ = _slope("spark", "partitions")
    size, added = _rates()["bytes of a Summary"], _rates()["Summaries read and added/s"]
    rows = []
    for partition_bytes in (128 * 2**20, 2**30, 8 * 2**30):
        partitions = TRILLION_BYTES / partition_bytes
        cpu = 1e12 * per_row + partitions * per_partition
        replies, sent = int(partitions), int(partitions * size)
        while (width := group_width(replies, sent)) > 1:
            replies, sent = -(-replies // width), sent // width
        rows.append(
            [
                f"{partition_bytes / 2**30:g} GiB",
                f"{partitions:,.0f}",
                f"{partitions * per_partition / cpu * 100:.1f} %",
                _time(cpu / (1000 * CORES)),
                _time(TRILLION_BYTES / (1000 * NODE_BYTES)),
                f"{partitions * size / 1e9:,.0f} GB",
                f"{sent / 1e6:,.1f} MB",
                f"{1000 * replies / added:.0f} ms",
            ]
        )
    head = [
        "partitions of",
        "number",
        "of the CPU time",
        "computing",
        "reading 4 PB",
        "joined on the cluster",
    ]
    return markdown([*head, "driver receives", "driver adds"], rows)


def one_pass() -> str:
    """One pass over vectors on Spark beside reading them, and beside Spark's Summarizer."""
    with (HERE / "scale" / "one_pass.csv").open() as file:
        found = {row["what"]: row for row in csv.DictReader(file)}
    names = {
        "dropped by Spark": "`vector_to_array`, rows dropped by Spark",
        "dropped by Python": "`vector_to_array`, rows carried to Python and dropped",
        "Summarizer": "`Summarizer`: count, sum, min, max per class",
        "SEFR": "`SEFR().fit`",
    }
    ours = float(found["SEFR"]["seconds"])
    rows = []
    for what, name in names.items():
        seconds, error = float(found[what]["seconds"]), found[what]["error"]
        lost = f"{float(error):.0e}" if error and float(error) else error and "0"
        rows.append([name, f"{seconds:.1f}", f"{ours / seconds:.2f}", lost])
    head = ["2,000,000 × 50 vectors from Parquet", "CPU s", "`SEFR` takes", "error of a mean, far from zero"]
    return markdown(head, rows) + f"\n\n{found['SEFR']['machine']}; commit {found['SEFR']['commit']}."


def scale_small_driver() -> str:
    """Many wide partitions whose Summaries are more than the driver takes, of scale/small_driver.json."""
    found = json.loads((HERE / "scale" / "small_driver.json").read_text())
    one_by_one = "refused" if found["refused_one_by_one"] else "taken"
    joined = "equal those of one process" if found["equal_when_joined"] else "differ"
    return (
        f"Measured: {found['partitions']} partitions of {found['features']:,} features, whose Summaries have "
        f"{found['bytes_of_all_summaries'] / 1e6:.1f} MB in all, and `spark.driver.maxResultSize` of "
        f"{found['max_result_size']}. One by one they are {one_by_one}; joined on the cluster, their sums "
        f"{joined}, "
        f"in {found['cpu_seconds_when_joined']:.0f} CPU s of all processes ({found['machine']}, commit "
        f"{found['commit']})."
    )


def scale_kept() -> str:
    """Show passes over bins whose cells fit in memory, nearly, and not: of scale/cells.csv."""
    shown = ["| rows | cells | CPU s | CPU s per million rows |", "|---|---|---|---|"]
    for line in _figures():
        if line["step"] == "kept":
            millions, seconds = int(line["rows"]) / 1e6, float(line["seconds"])
            size = int(line["rows"]) * int(line["features"]) / 2**20
            shown.append(
                f"| {millions:g} million | {size:,.0f} MB | {seconds:.1f} | {seconds / millions:.2f} |"
            )
    return "\n".join(shown)


def spark_moments() -> str:
    """Second moments on Spark beside LogisticRegression: of scale/cells.csv."""
    rows, other = [], "LogisticRegression()"
    for row in _figures():
        if row["step"] == "moments":
            seconds = float(row["seconds"])
            theirs = _seconds("moments", other, int(row["features"]))
            ratio = "" if theirs is None or row["what"] == other else f"{seconds / theirs:.2f} of `{other}`"
            accuracy = f"{100 * float(row['accuracy']):.1f} %"
            rows.append([f"`{row['what']}`", f"{seconds:.1f}", row["jobs"], accuracy, ratio])
    return markdown(["2,000,000 × 50 vectors", "CPU s", "jobs of Spark", "accuracy", "time"], rows)


def spark_scoring() -> str:
    """How Spark scores 500,000 rows, by its expressions and by our kernel: of scale/cells.csv."""
    pairs: dict[tuple[str, str], dict[str, tuple[float, bool]]] = {}
    for row in _figures():
        if row["step"] == "scoring":
            kind, way = row["what"].split(": ")
            name, _, chosen = way.partition(", ")
            own = pairs.setdefault((kind, row["features"]), {})
            own[name] = float(row["seconds"]), bool(chosen)
    rows = []
    for (kind, features), found in pairs.items():
        (ours, _), (theirs, by_them) = found["kernel"], found["expressions"]
        taken = "expressions" if by_them else "kernel"
        model = kind if kind == "a line" else f"`{kind}`"
        rows.append([features, model, f"{theirs:.1f}", f"{ours:.1f}", f"{theirs / ours:.1f}", taken])
    head = ["features", "model", "expressions, CPU s", "kernel, CPU s", "ratio", "`transform` takes"]
    return markdown(head, rows)


def scale_memory() -> str:
    """Show what a process holds while it reads an Arrow dataset: of scale/memory.csv."""
    with (HERE / "scale" / "memory.csv").open() as file:
        found = list(csv.DictReader(file))
    names = {
        "imports": "nothing but imports",
        "read and dropped, by pyarrow's settings": "`dataset.to_batches()`, batches dropped",
        "Summary.of_frame": "`Summary.of_frame(dataset)`",
        "fit_frame(bins=32, passes=10)": "`SEFRClassifier(bins=32, passes=10).fit_frame(dataset)`",
    }
    rows = [[names[row["what"]], f"{int(row['megabytes']) / 1000:.1f} GB", row["seconds"]] for row in found]
    head = ["2,000,000 × 300 float64, Parquet", "largest resident set", "CPU s"]
    return markdown(head, rows) + f"\n\n{found[0]['machine']}; commit {found[0]['commit']}."


SHOWN = (
    *(cells, spark_beside, spark_moments, spark_scoring, scale_source, scale_plan, one_pass),
    *(scale_rates, scale_rates_source, scale_where, scale_network, scale_slopes, scale_trillion),
    *(scale_small_driver, scale_kept, scale_memory),
)
