"""Files that DuckDB reads, and what is wrong with them."""

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from threading import Thread

import duckdb
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
        assert (
            summary_of_files(tmp_path / name, "y", settings={"memory_limit": "200MB", "threads": 1})
            == expected
        )


def test_products_of_files(table, tmp_path):
    for i in range(3):
        table.iloc[i::3].to_parquet(tmp_path / f"part-{i}.parquet")
    found = summary_of_files(tmp_path, "y", moments=2)
    assert found.moments == 2
    assert found == Summary.of_frame(table, moments=2)


def test_many_files_are_one_table(table, tmp_path):
    for i in range(5):
        table.iloc[i::5].to_parquet(tmp_path / f"part-{i}.parquet")
    expected = Summary.of_frame(table)
    assert summary_of_files(str(tmp_path / "*.parquet"), "y") == expected
    assert summary_of_files(sorted(tmp_path.iterdir()), "y", ["a", "b"]) == expected


def test_columns_are_found_by_name_in_every_file(table, tmp_path):
    table.iloc[:100].to_parquet(tmp_path / "a.parquet")
    table.iloc[100:200][["y", "b", "a"]].to_parquet(tmp_path / "b.parquet")
    table.iloc[200:].assign(more=1.5).to_parquet(tmp_path / "c.parquet")
    (tmp_path / "_SUCCESS").write_text("")
    assert summary_of_files(tmp_path, "y") == Summary.of_frame(table)


def test_folders_named_key_value_are_columns(table, tmp_path):
    table["year"] = [2020 + i % 3 for i in range(300)]
    for (year, label), rows in table.groupby(["year", "y"]):
        folder = tmp_path / f"year={year}" / f"y={label}"
        folder.mkdir(parents=True)
        rows.drop(columns=["year", "y"]).to_parquet(folder / "part.parquet")
    expected = Summary.of_frame(table[["a", "b", "year", "y"]])
    assert summary_of_files(tmp_path, "y", ["a", "b", "year"]) == expected


@pytest.mark.needs("remote")
def test_addresses_are_read_by_fsspec(table, tmp_path):
    import fsspec

    memory = fsspec.filesystem("memory")
    table.to_parquet(tmp_path / "t.parquet")
    memory.pipe("/shop/t.parquet", (tmp_path / "t.parquet").read_bytes())
    assert summary_of_files("memory://shop/t.parquet", "y") == Summary.of_frame(table)
    assert summary_of_files("memory://shop/*.parquet", "y") == Summary.of_frame(table)
    memory.pipe("/shop/_SUCCESS", b"")
    assert summary_of_files("memory://shop", "y") == Summary.of_frame(table)
    with pytest.raises(EngineError, match=r"^duckdb: there is no file memory://shop/\*\.csv"):
        summary_of_files("memory://shop/*.csv", "y")
    for mark, kind in (("_delta_log/0.json", "delta"), ("metadata/1.metadata.json", "iceberg")):
        memory.pipe(f"/{kind}/lake/{mark}", b"{}")
        memory.pipe(f"/{kind}/lake/data/t.parquet", (tmp_path / "t.parquet").read_bytes())
        for part in ("", "/*/*.parquet", "/data/t.parquet"):
            path = f"memory://{kind}/lake{part}"
            with pytest.raises(EngineError, match=rf"^{kind}: /?{kind}/lake is a {kind.capitalize()} table"):
                summary_of_files(path, "y")
    with pytest.raises(EngineError, match=r"^duckdb: nowhere://x.parquet: pip install '?aiohttp"):
        summary_of_files("nowhere://x.parquet", "y")


class Ranges(SimpleHTTPRequestHandler):
    """Files of a folder, a part of a file where that is asked for, as web servers do."""

    def send_head(self):
        path = Path(self.translate_path(self.path))
        if "Range" not in self.headers or not path.exists():
            return super().send_head()
        first, _, last = self.headers["Range"].removeprefix("bytes=").partition("-")
        data = path.read_bytes()
        part = data[int(first) : int(last) + 1 if last else None]
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{int(first) + len(part) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        return BytesIO(part)

    def log_message(self, *words):
        pass


def test_files_on_a_web_server(table, tmp_path):
    pytest.importorskip("aiohttp")
    table.to_parquet(tmp_path / "t.parquet")
    table.to_csv(tmp_path / "t.csv", index=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Ranges, directory=tmp_path)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        place = f"http://127.0.0.1:{server.server_port}"
        for name in ("t.parquet", "t.csv"):
            assert summary_of_files(f"{place}/{name}", "y") == Summary.of_frame(table)
        with pytest.raises(
            EngineError, match=r"^duckdb: could not read http://.*/gone\.csv: .*o files found"
        ):
            summary_of_files(f"{place}/gone.csv", "y")
        server.shutdown()


def test_a_delta_table_has_no_deleted_rows(table, tmp_path):
    deltalake = pytest.importorskip("deltalake")
    import pyarrow as pa

    folder = tmp_path / "delta"
    deltalake.write_deltalake(str(folder), pa.Table.from_pandas(table, preserve_index=False))
    deltalake.DeltaTable(str(folder)).delete("a > 50")
    expected = Summary.of_frame(table[table["a"] <= 50])
    assert summary_of_files(folder, "y") == expected
    with pytest.raises(EngineError, match=r"^delta: .* is a part of the Delta table .*: name the folder"):
        summary_of_files(str(folder / "*.parquet"), "y")
    with pytest.raises(EngineError, match="is a Delta table: read it by itself"):
        summary_of_files([folder, folder], "y")


def test_an_iceberg_table_has_no_deleted_rows(table, tmp_path):
    catalogues = pytest.importorskip("pyiceberg.catalog")
    pytest.importorskip("sqlalchemy")
    import pyarrow as pa

    catalogue = catalogues.load_catalog(
        "test", type="sql", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/warehouse"
    )
    catalogue.create_namespace("shop")
    rows = pa.Table.from_pandas(table, preserve_index=False)
    stored = catalogue.create_table("shop.t", schema=rows.schema)
    stored.append(rows)
    stored.delete("a > 50")
    folder = next(tmp_path.glob("warehouse/**/metadata")).parent
    assert summary_of_files(folder, "y") == Summary.of_frame(table[table["a"] <= 50])
    with pytest.raises(EngineError, match=r"^iceberg: .* is a part of the Iceberg table"):
        summary_of_files(str(next(folder.glob("data/**/*.parquet"))), "y")


def test_what_is_wrong_with_files(table, tmp_path):
    table.to_parquet(tmp_path / "a.parquet")
    table.rename(columns={"b": "c"}).to_parquet(tmp_path / "b.parquet")
    table.to_csv(tmp_path / "c.csv", index=False)
    (tmp_path / "d.parquet").write_bytes(b"not a Parquet file")
    both = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    cases = [
        ("nowhere/*.parquet", "there is no file nowhere"),
        (both, r"b\.parquet: there is no feature column 'b'.*, unlike .*a\.parquet"),
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
import duckdb
from sefr.engines.duckdb import summary_of_files
path = {str(tmp_path / "big.parquet")!r}
columns = ", ".join(f"(i * {{j + 7919}}) % 1009 AS c{{j}}" for j in range(16))
maker = duckdb.connect(config=dict(memory_limit="300MB", threads=1))
maker.execute("SET enable_progress_bar = false")
maker.execute(
    f"COPY (SELECT {{columns}}, i % 2 AS y FROM range(5_000_000) t(i)) TO '{{path}}'"
)
s = summary_of_files(path, "y", settings={{"memory_limit": "300MB", "threads": 1}})
assert s.n_rows == 5_000_000, s
print(int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]))
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


AWKWARD_FILES = {
    "a[1]": "a1",
    "a*b": "axb",
    "q?": "qx",
    "[!z]": "y",
    "**": "deep",
    "]x[": "]xx",
    "~x": "x",
    "it's": "its",
    "back\\slash": "backslash",
    "100%20 {a}": "100",
}


@pytest.mark.parametrize("name", AWKWARD_FILES)
def test_the_name_of_a_file_is_no_pattern(name, tmp_path, monkeypatch):
    """Beside each file lies one that its name would match as a pattern."""
    from sefr.cli.sql import TableOptions

    monkeypatch.chdir(tmp_path)
    rows = {"x": [1.0, 2.0, 3.0], "y": [0, 1, 1]}
    for place in (name, AWKWARD_FILES[name]):
        (tmp_path / f"in {place}").mkdir()
        for file in (f"{place}.csv", f"in {place}/{place}.csv"):
            pd.DataFrame(rows if place == name else rows | {"x": [7.0, 8.0, 9.0]}).to_csv(file, index=False)
    expected = Summary.of([[1.0], [2.0], [3.0]], [0, 1, 1])
    for given in (f"{name}.csv", tmp_path / f"{name}.csv", f"in {name}", f"in {name}/{name}.csv"):
        found = summary_of_files(given, "y")
        assert found.n_rows == 3
        assert found.sums.tolist() == expected.sums.tolist()
    _, table, _ = TableOptions(f"{name}.csv").looked_up()
    assert duckdb.sql(f"SELECT sum(x) FROM {table}").fetchall() == [(6.0,)]
    found = summary_of_files("*.csv", "y")
    assert found.n_rows == 6


def test_the_name_of_a_file_at_an_address_is_no_pattern():
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    for name, high in (("a[1]", 3), ("a1", 9), ("a*b", 3), ("axb", 9), ("q?", 3), ("qx", 9)):
        system.pipe(f"/awkward/{name}.csv", f"x,y\n1,0\n{high},1\n".encode())
    for name in ("a[1]", "a*b", "q?"):
        found = summary_of_files(f"memory://awkward/{name}.csv", "y")
        assert found.sums.tolist() == [[1.0], [3.0]]
    assert summary_of_files("memory://awkward", "y").n_rows == 12
    assert summary_of_files("memory://awkward/a*.csv", "y").n_rows == 8


def test_a_name_that_duckdb_cannot_be_asked_for_is_refused(tmp_path):
    (tmp_path / "a\\b*.csv").write_text("x,y\n1,0\n2,1\n")
    with pytest.raises(EngineError, match="cannot be told from a pattern: rename it"):
        summary_of_files(tmp_path / "a\\b*.csv", "y")
