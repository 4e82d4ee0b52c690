"""A dataset is handed out whole and right, or not at all."""

import functools
import http.server
import io
import threading
import zipfile

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from laboratory import datasets as datasets
from laboratory.datasets import catalogue, readers, store

RNG = np.random.default_rng(5)


def small_matrix(n, m, high=9):
    X = RNG.integers(0, high + 1, (n, m))
    X[0, 0], X[-1, -1] = 0, high
    return X


def as_mat(X, y, sparse=False):
    file = io.BytesIO()
    scipy.io.savemat(file, {"X": scipy.sparse.csc_matrix(X, dtype=float) if sparse else X, "Y": y[:, None]})
    return file.getvalue()


def as_lines(rows, separator):
    return "".join(separator.join(map(str, row)) + "\n" for row in rows).encode()


def gisette_files(X, y, cut):
    def labels(part):
        return as_lines(part[:, None], " ")

    # The challenge's lines end in a blank.
    def data(part):
        return as_lines(part, " ").replace(b"\n", b" \n")

    return {
        "gisette_train.data": data(X[:cut]),
        "gisette_train.labels": labels(y[:cut]),
        "gisette_valid.data": data(X[cut:]),
        "gisette_valid.labels": labels(y[cut:]),
    }


def original(name):
    """Return (X, y, {file: bytes}) of a small dataset in the original format of ``name``."""
    if name in ("gli_85", "smk_can_187", "basehock"):
        X, y = small_matrix(12, 7), np.repeat([1, 2], 6)
        return X, y, {datasets.entry(name).files[0]: as_mat(X, y, sparse=name == "basehock")}
    if name == "gisette":
        X, y = small_matrix(10, 6, 999), np.tile([-1, 1], 5)
        return X, y, gisette_files(X, y, 7)
    if name == "sonar":
        X, y = np.round(RNG.random((8, 5)), 4), np.array([0, 1] * 4)
        rows = [[f"{v:.4f}" for v in row] + ["RM"[label]] for row, label in zip(X, y, strict=True)]
        return X, y, {"sonar.all-data": as_lines(rows, ",")}
    if name == "cnae_9":
        X, y = small_matrix(9, 6, 4), np.arange(1, 10)
        return X, y, {"CNAE-9.data": as_lines(np.column_stack([y, X]), ",")}
    if name == "waveform_5000":
        X, y = np.round(RNG.normal(size=(9, 4)), 2), np.arange(9) % 3
        head = "@relation waveform\n" + "".join(f"@attribute x{j} REAL\n" for j in range(4))
        head += "@attribute class {0,1,2}\n@data\n"
        return X, y, {datasets.entry(name).files[0]: head.encode() + as_lines(
            [[*row, label] for row, label in zip(X, y, strict=True)], ","
        )}  # fmt: skip
    X, y = small_matrix(20, 9, 1), np.tile(np.arange(10), 2)
    hot = np.eye(10, dtype=int)
    rows = [[f"{v:.4f}" for v in row] + list(hot[label]) for row, label in zip(X, y, strict=True)]
    return X, y, {"semeion.data": as_lines(rows, " ")}


def pack(files, folder="DEEP/"):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(folder + name, content)
    return file.getvalue()


@pytest.fixture
def server(tmp_path):
    """A web server on this machine that sends half of what is under ``short`` and ``mute``."""
    root = tmp_path / "www"
    root.mkdir()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def do_GET(self):
            self.server.requests.append(self.path)
            _, kind, *rest = self.path.split("/")
            if kind not in ("short", "mute"):
                return super().do_GET()
            content = (root / rest[0]).read_bytes()
            self.send_response(200)
            if kind == "short":
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) // 2])
            self.close_connection = True
            return None

        def log_message(self, *_):
            pass

    handler = functools.partial(Handler, directory=str(root))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as web:
        web.requests = []
        web.root = root
        web.url = f"http://127.0.0.1:{web.server_port}"
        thread = threading.Thread(target=web.serve_forever, args=(0.01,))
        thread.start()
        yield web
        web.shutdown()
        thread.join()


@pytest.fixture
def published(server, monkeypatch, tmp_path):
    """Put a small dataset of ``name`` on the server and in the catalogue; returns its content."""
    monkeypatch.setenv("SEFR_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def publish(name, path="", digest=True, content=None):
        X, y, files = original(name)
        real = datasets.entry(name)
        zipped = real.urls[0].endswith(".zip")
        file = "set.zip" if zipped else real.files[0]
        whole = pack(files) if zipped else files[file]
        (server.root / file).write_bytes(whole if content is None else content(whole))
        changed = {
            "shape": X.shape,
            "counts": tuple(sorted(np.unique(y, return_counts=True)[1].tolist())),
            "urls": (f"{server.url}/{path}{file}",),
            "digest": store.digest(X, y) if digest else None,
        }
        entry = catalogue.Entry(**(vars(real) | changed))
        monkeypatch.setitem(catalogue._BY_NAME, name, entry)
        return X, y, files

    return publish


def same(loaded, X, y):
    values = loaded.X.toarray() if scipy.sparse.issparse(loaded.X) else loaded.X
    np.testing.assert_array_equal(values, X)
    np.testing.assert_array_equal(loaded.y, y)


@pytest.mark.parametrize("name", datasets.NAMES)
def test_download_then_store_then_no_second_download(name, published, server, tmp_path):
    X, y, _ = published(name)
    first = datasets.load(name)
    same(first, X, y)
    assert first.path == tmp_path / "data" / f"{name}.npz"
    again = datasets.load(name)
    same(again, X, y)
    assert again.X.dtype == first.X.dtype
    assert len(server.requests) == 1
    assert [p.name for p in (tmp_path / "data").iterdir()] == [f"{name}.npz"]


@pytest.mark.parametrize("name", datasets.NAMES)
def test_original_files_in_the_folder_are_read(name, published, server, tmp_path):
    X, y, files = published(name)
    (tmp_path / "data").mkdir()
    for file, content in files.items():
        (tmp_path / "data" / file).write_bytes(content)
    assert name in datasets.available()
    same(datasets.load(name), X, y)
    assert server.requests == []


def test_a_zip_put_into_the_folder_is_read(published, server, tmp_path):
    X, y, files = published("sonar")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "set.zip").write_bytes(pack(files))
    same(datasets.load("sonar"), X, y)
    assert server.requests == []


@pytest.mark.parametrize("name", ["gisette", "basehock", "waveform_5000"])
@pytest.mark.parametrize("path", ["short/", "mute/"])
def test_truncated_download_never_counts(name, path, published, tmp_path):
    published(name, path=path)
    with pytest.raises(datasets.DatasetError, match="could not be downloaded"):
        datasets.load(name)
    assert list((tmp_path / "data").iterdir()) == []
    assert name not in datasets.available()


def flip_a_digit(content):
    at = content.rindex(b"0.")
    return content[: at + 2] + (b"1" if content[at + 2 : at + 3] != b"1" else b"2") + content[at + 3 :]


def test_one_changed_value_is_found_by_the_checksum(published, tmp_path):
    published("waveform_5000", content=flip_a_digit)
    with pytest.raises(datasets.DatasetError, match="checksum differs"):
        datasets.load("waveform_5000")
    assert list((tmp_path / "data").iterdir()) == []


@pytest.mark.parametrize("name", datasets.NAMES)
def test_garbage_is_an_error_that_names_the_file(name, published, tmp_path):
    published(name, content=lambda whole: bytes(reversed(whole)))
    with pytest.raises(datasets.DatasetError, match=datasets.entry(name).files[0]):
        datasets.load(name)
    assert list((tmp_path / "data").iterdir()) == []


def test_every_cut_of_a_stored_file_is_noticed(published, tmp_path):
    published("sonar")
    stored = datasets.load("sonar").path
    whole = stored.read_bytes()
    for length in range(0, len(whole), 7):
        stored.write_bytes(whole[:length])
        with pytest.raises(datasets.DatasetError, match=r"sonar\.npz"):
            datasets.load("sonar")


def test_without_a_known_checksum_the_first_download_is_the_measure(published):
    published("gli_85", digest=False)
    stored = datasets.load("gli_85").path
    with np.load(stored) as content:
        parts = dict(content)
    parts["X"][0, 0] += 1
    np.savez(stored, **parts)
    with pytest.raises(datasets.DatasetError, match="checksum differs"):
        datasets.load("gli_85")


def test_wrong_shape_and_wrong_classes_are_named(published, tmp_path):
    files = published("cnae_9")[2]
    (tmp_path / "data").mkdir()
    lines = files["CNAE-9.data"].splitlines(keepends=True)
    path = tmp_path / "data" / "CNAE-9.data"
    path.write_bytes(b"".join(lines[:-1]))
    with pytest.raises(datasets.DatasetError, match="8 records x 6 features"):
        datasets.load("cnae_9")
    path.write_bytes(b"".join([*lines[:-1], lines[0]]))
    with pytest.raises(datasets.DatasetError, match="classes of"):
        datasets.load("cnae_9")


def test_next_address_is_tried(published, server, monkeypatch):
    X, y, _ = published("sonar")
    entry = datasets.entry("sonar")
    urls = (f"{server.url}/gone.zip", *entry.urls)
    monkeypatch.setitem(catalogue._BY_NAME, "sonar", catalogue.Entry(**(vars(entry) | {"urls": urls})))
    same(datasets.load("sonar"), X, y)


def test_offline_message_says_which_file_to_put_where(monkeypatch, tmp_path):
    monkeypatch.setenv("SEFR_DATA", str(tmp_path / "mine"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(datasets.DatasetError) as caught:
        datasets.load("gisette", download=False)
    for word in (
        "gisette_train.data",
        "gisette_valid.labels",
        str(tmp_path / "mine"),
        "SEFR_DATA",
        "gisette.zip",
    ):
        assert word in str(caught.value)


def test_read_only_folder_is_left_alone(published, tmp_path):
    published("sonar")
    (tmp_path / "data").mkdir(mode=0o555)
    assert datasets.load("sonar").path == tmp_path / "cache" / "sefr" / "sonar.npz"
    assert list((tmp_path / "data").iterdir()) == []


def test_unknown_name_lists_the_known():
    with pytest.raises(KeyError, match="waveform_5000"):
        datasets.load("iris")


def test_semeion_row_without_a_class_is_an_error():
    row = b" ".join([b"1"] * 5 + [b"0"] * 10) + b"\n"
    with pytest.raises(ValueError, match="one class per row"):
        readers.one_hot_last([row])


@pytest.mark.parametrize("name", datasets.NAMES)
def test_real_data_is_the_papers(name, real_data):
    if name not in datasets.available():
        pytest.skip(f"{name} is not in {real_data}")
    loaded = datasets.load(name, download=False)
    entry = datasets.entry(name)
    assert loaded.X.shape == entry.shape
    assert len(np.unique(loaded.y)) == len(entry.counts)
    assert readers.compact(loaded.X).dtype == loaded.X.dtype
