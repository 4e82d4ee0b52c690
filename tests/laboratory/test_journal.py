"""Whatever cuts a run short, the rows measured before it are kept and no half row is believed."""

import math
from dataclasses import replace

import pytest

from laboratory.journal import Journal, JournalError, Key, Row

ROW = Row(
    "folds", "sonar", "sefr", "", 10, 0, 3, train_records=187, test_records=21, features=60,
    accuracy=100 / 3, f1=0.1 + 0.2, fit_seconds=1.5e-5, predict_seconds=2.25e-4, cpu_seconds=0.1, joules=None,
    energy="not measured", loops=7, note='a "quoted", note',
)  # fmt: skip


def test_rows_come_back_to_the_last_bit(tmp_path):
    path = tmp_path / "deep" / "results.csv"
    Journal(path).add(ROW)
    (back,) = Journal(path)
    assert back == ROW
    assert ROW.key in Journal(path)
    assert replace(ROW, seed=1).key not in Journal(path)


def test_a_nan_and_a_missing_time_come_back(tmp_path):
    row = replace(ROW, accuracy=math.nan, fit_seconds=None)
    Journal(tmp_path / "r.csv").add(row)
    (back,) = Journal(tmp_path / "r.csv")
    assert math.isnan(back.accuracy)
    assert back.seconds is None


@pytest.mark.slow
def test_a_file_cut_at_any_byte_goes_on(tmp_path):
    path = tmp_path / "r.csv"
    journal = Journal(path)
    for seed in range(3):
        journal.add(replace(ROW, seed=seed))
    whole = path.read_bytes()
    header = whole.index(b"\n") + 1
    for length in range(header, len(whole)):
        path.write_bytes(whole[:length])
        kept = Journal(path)
        assert len(kept) == whole[:length].count(b"\n") - 1
        kept.add(replace(ROW, seed=9))
        assert replace(ROW, seed=9) in list(Journal(path))


def test_measuring_again_replaces(tmp_path):
    journal = Journal(tmp_path / "r.csv")
    journal.add(ROW)
    journal.add(replace(ROW, accuracy=1.0))
    assert [row.accuracy for row in Journal(tmp_path / "r.csv")] == [1.0]


@pytest.mark.parametrize("content", ["a,b\n1,2\n", "\n"])
def test_another_kind_of_file_is_refused_and_kept(tmp_path, content):
    path = tmp_path / "r.csv"
    path.write_text(content)
    with pytest.raises(JournalError, match="not a results file"):
        Journal(path)
    assert path.read_text() == content


def test_a_damaged_row_is_named_by_its_line(tmp_path):
    path = tmp_path / "r.csv"
    journal = Journal(path)
    journal.add(ROW)
    journal.add(replace(ROW, seed=1))
    path.write_text(path.read_text().replace("187", "many", 1))
    with pytest.raises(JournalError, match="line 2"):
        Journal(path)


def test_key_is_what_was_measured():
    assert ROW.key == Key("folds", "sonar", "sefr", "", 10, 0, 3)
