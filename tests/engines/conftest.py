"""The engines: each starts once for all tests, and only when a test asks for it."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

LAZY = ["polars lazy", "duckdb", "ibis"]
EVERY = ["pandas", "polars", "pyarrow", *LAZY, "dask", pytest.param("pyspark", marks=pytest.mark.slow)]

# Warnings of the engines' own making, on the newest pandas and numpy.
QUIET = [
    "ignore:PySpark does not yet fully support pandas:FutureWarning",
    "ignore::ResourceWarning",
    "ignore::DeprecationWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
]


def pytest_generate_tests(metafunc):
    if "engine" in metafunc.fixturenames:
        metafunc.parametrize("engine", EVERY)


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            for rule in QUIET:
                item.add_marker(pytest.mark.filterwarnings(rule))


def absent(what):
    """Skip a test for want of a program; in CI that is a failure."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what} is not installed: make engine-tools installs it")
    pytest.skip(f"{what} is not installed: make engine-tools installs it")


@pytest.fixture(scope="session")
def spark():
    """Return a Spark session with two executors of their own, each a process."""
    if shutil.which("java") is None:
        absent("Java")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.default.parallelism", "2")
        .config("spark.executor.memory", "768m")
        # Small tables: compiling each query, and the JVM's second compiler, would cost more than they save.
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1")
        .config("spark.executor.extraJavaOptions", "-XX:TieredStopAtLevel=1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
    shutil.rmtree("spark-warehouse", ignore_errors=True)


@pytest.fixture
def one_killed():
    """Return what kills, while its block runs, the process whose number stands in a file, once it does."""

    @contextmanager
    def killing(note):
        killed = []

        def killer():
            for _ in range(2400):
                if os.path.exists(note):
                    killed.append(int(Path(note).read_text()))
                    os.kill(killed[0], signal.SIGKILL)
                    return
                time.sleep(0.1)

        thread = threading.Thread(target=killer)
        thread.start()
        yield
        thread.join()
        assert len(killed) == 1

    return killing


@pytest.fixture(params=["polars", "ibis", pytest.param("pyspark", marks=pytest.mark.slow)])
def where(request):
    """An engine that takes expressions; those of Spark need a session."""
    if request.param == "pyspark":
        request.getfixturevalue("spark")
    return request.param


@pytest.fixture(scope="session")
def postgres():
    """Return a connection to a PostgreSQL server of our own, on a socket in a folder of our own."""
    psycopg = pytest.importorskip("psycopg")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb")) or [Path(shutil.which("initdb") or "")]
    programs = found[-1].parent
    if not (programs / "initdb").exists():
        absent("PostgreSQL")
    folder = Path(tempfile.mkdtemp(prefix="sefr-pg-"))
    user = {}
    if os.getuid() == 0:  # the server refuses to run as root
        shutil.chown(folder, "postgres")
        user = {"user": "postgres", "group": "postgres", "extra_groups": []}
    run = {"check": True, "cwd": folder, "stdout": subprocess.DEVNULL, **user}
    subprocess.run([programs / "initdb", "-D", folder / "data", "-U", "sefr", "-A", "trust", "-N"], **run)
    options = f"-c listen_addresses='' -c fsync=off -k {folder}"
    control = [programs / "pg_ctl", "-D", folder / "data", "-w"]
    subprocess.run([*control, "-l", folder / "log", "-o", options, "start"], **run)
    try:
        with psycopg.connect(host=str(folder), user="sefr", dbname="postgres", autocommit=True) as connection:
            yield connection
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], **run)
        shutil.rmtree(folder)


@pytest.fixture
def as_frame(request):
    """Return a function: an Arrow table as a frame of some engine, in partitions where it has those."""

    def make(engine, table):
        if engine == "pandas":
            return table.to_pandas()
        if engine.startswith("polars"):
            import polars as pl

            frame = pl.from_arrow(table)
            return frame.lazy() if engine == "polars lazy" else frame
        if engine == "duckdb":
            import duckdb

            return duckdb.connect().from_arrow(table)
        if engine == "ibis":
            import ibis

            return ibis.memtable(table)
        if engine == "dask":
            import dask.dataframe as dd

            # Dask would make strings of a column of booleans and None; Arrow's own types it leaves alone.
            return dd.from_pandas(table.to_pandas(types_mapper=pd.ArrowDtype), npartitions=3, sort=False)
        if engine == "pyspark":
            signed = [
                f.with_type(pa.int16()) if f.type == pa.uint8() else f for f in table.schema
            ]  # it has no other
            return request.getfixturevalue("spark").createDataFrame(table.cast(pa.schema(signed)))
        return table

    return make


@pytest.fixture
def mixed(rng):
    """Return an Arrow table of every kind of column, with NaN and null, of halves of whole numbers."""
    n = 240
    halves = rng.integers(-40, 40, n) / 2
    halves[::19] = np.nan
    counts = rng.integers(0, 1000, n)
    return pa.table(
        {
            "species": pa.array(rng.choice(["ant", "bee", "wasp"], n)),
            "weight": pa.array(rng.integers(0, 3, n), pa.int8()),
            "count": pa.array(counts, pa.int64()),
            "gaps": pa.array([None if i % 13 == 0 else int(v) for i, v in enumerate(counts)], pa.int32()),
            "winged": pa.array(rng.random(n) > 0.4),
            "maybe": pa.array([None if i % 7 == 0 else bool(v % 2) for i, v in enumerate(counts)]),
            "halves": pa.array(halves, pa.float64()),
            "single": pa.array(halves.astype(np.float32), pa.float32()),
            "bytes": pa.array(counts % 256, pa.uint8()),
        }
    )


@pytest.fixture
def numbers():
    """Return a function: some columns of an Arrow table as a float64 array, null as NaN."""

    def convert(table, names):
        return np.stack([np.asarray(table[name].to_pylist(), dtype=np.float64) for name in names], axis=1)

    return convert
