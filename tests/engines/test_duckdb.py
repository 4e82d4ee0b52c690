"""Files that DuckDB reads, and what is wrong with them."""

import pandas as pd
import pytest

from sefr import Summary
from sefr.engines.duckdb import summary_of_files
from sefr.engines.error import EngineError


@pytest.fixture
def table(rng):
    return pd.DataFrame(
        {"a": rng.integers(0, 99, 300), "b": rng.random(300) > 0.5, "y": rng.choice(["up", "down"], 300)}
    )


def test_files_of_every_kind(table, tmp_path):
    expected = Summary.of_frame(table)
    table.to_parquet(tmp_path / "t.parquet")
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_csv(tmp_path / "t.csv.gz", index=False)
    table.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    for name in ("t.parquet", "t.csv", "t.csv.gz", "t.jsonl"):
        assert summary_of_files(tmp_path / name, "y", memory_limit="200MB", threads=1) == expected


def test_many_files_are_one_table(table, tmp_path):
    for i in range(5):
        table.iloc[i::5].to_parquet(tmp_path / f"part-{i}.parquet")
    expected = Summary.of_frame(table)
    assert summary_of_files(str(tmp_path / "*.parquet"), "y") == expected
    assert summary_of_files(sorted(tmp_path.iterdir()), "y", ["a", "b"]) == expected


def test_what_is_wrong_with_files(table, tmp_path):
    table.to_parquet(tmp_path / "a.parquet")
    table.rename(columns={"b": "c"}).to_parquet(tmp_path / "b.parquet")
    table.to_csv(tmp_path / "c.csv", index=False)
    (tmp_path / "d.parquet").write_bytes(b"not a Parquet file")
    both = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    cases = [
        ("nowhere/*.parquet", "there is no file nowhere"),
        (both, r"b\.parquet lacks column 'b', unlike .*a\.parquet"),
        ([tmp_path / "a.parquet", tmp_path / "c.csv"], "different kinds: csv, parquet"),
        (tmp_path / "d.parquet", "could not read"),
        ([], "no files"),
    ]
    for paths, words in cases:
        with pytest.raises(EngineError, match=f"^duckdb: .*{words}") as caught:
            summary_of_files(paths, "y")
        assert "\n" not in str(caught.value)
    (tmp_path / "x.txt").write_text("a")
    with pytest.raises(EngineError, match=r"none of \.parquet"):
        summary_of_files(tmp_path / "x.txt", "y")


@pytest.mark.slow
def test_memory_is_bounded(tmp_path):
    """A table of 640 MB, in a process that has 400 MB beyond what it starts with."""
    import subprocess
    import sys

    program = f"""
import resource, duckdb
from sefr.engines.duckdb import summary_of_files
path = {str(tmp_path / "big.parquet")!r}
columns = ", ".join(f"(i * {{j + 7919}}) % 1009 AS c{{j}}" for j in range(16))
maker = duckdb.connect(config=dict(memory_limit="300MB", threads=1))
maker.execute("SET enable_progress_bar = false")
maker.execute(
    f"COPY (SELECT {{columns}}, i % 2 AS y FROM range(5_000_000) t(i)) TO '{{path}}'"
)
s = summary_of_files(path, "y", memory_limit="300MB", threads=1)
assert s.n_rows == 5_000_000, s
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 700_000  # kB; numpy, scikit-learn and DuckDB themselves take 200 MB


def test_the_command_trains_with_duckdb(table, tmp_path):
    from typer.testing import CliRunner

    from sefr import load
    from sefr.cli import app

    table.to_parquet(tmp_path / "t.parquet")
    model = str(tmp_path / "m.sefr")
    words = ["train", str(tmp_path / "t.parquet"), "--label", "y", "--engine", "duckdb", "-o", model]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert load(model).summary_ == Summary.of_frame(table)
    assert CliRunner().invoke(app, [*words, "--delimiter", ";"]).exit_code != 0
