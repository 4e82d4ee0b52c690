"""Recordings and the command: what it takes, what it answers, and what it says of those that do not fit."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

from sefr import load
from sefr._system.members import ModelFileError
from sefr.cli import signal_training
from sefr.device import export
from sefr.files.learning import without_feature_names
from sefr.model_file import columns_of
from sefr.signals import SignalFeatures, cut
from sefr.signals.sampling import Sampling

WINDOW = ("--signal", "--rate", "50", "--window", "32:16")


@pytest.fixture
def refused(sefr, tmp_path):
    """Return what the command says when it refuses; no file is left behind."""

    def run(*arguments):
        code, out, err = sefr(*arguments)
        assert code != 0
        assert out == ""
        assert not (tmp_path / "model.sefr").exists()
        return " ".join(err.replace("│", " ").split())

    return run


def wave(speed, n, rng):
    return np.rint(512 + 200 * np.sin(speed * np.arange(n)) + rng.normal(0, 10, n)).astype(int)


def write(path, rows, header):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")


@pytest.fixture
def recordings(tmp_path, rng):
    for label, speed in (("slow", 0.2), ("fast", 1.2)):
        for i in range(4):
            rows = zip(wave(speed, 100, rng), wave(speed / 2, 100, rng), strict=True)
            write(tmp_path / "recordings" / label / f"{i}.csv", rows, "x,y")
    return tmp_path


def test_a_folder_per_label(recordings, sefr):
    code, out, err = sefr("train", "recordings", *WINDOW, "--json")
    assert code == 0, err
    told = json.loads(out)
    assert (told["recordings"], told["windows"], told["classes"]) == (8, 40, ["fast", "slow"])
    assert told["accuracy"] == 1
    clf = load(recordings / "model.sefr")
    sampling = Sampling.from_plain(columns_of(clf)["signal"])
    assert (sampling.plan.length, sampling.plan.axis_names, sampling.rate) == (32, ("x", "y"), 50)
    assert clf.feature_names_in_[0] == sampling.plan.names()[0]
    # the model is one of bytes, which every other command takes as columns
    assert sefr("explain", "model.sefr", "-o", "report.html")[0] == 0


def test_rows_of_samples_with_a_column_of_labels(tmp_path, rng, sefr):
    rows = [
        (code, label)
        for label, speed in (("slow", 0.2), ("fast", 1.2), ("slow", 0.2), ("fast", 1.2))
        for code in wave(speed, 120, rng)
    ]
    write(tmp_path / "all.csv", rows, "z,what")
    code, out, err = sefr("train", "all.csv", "--label", "what", *WINDOW, "--json")
    assert code == 0, err
    assert json.loads(out)["recordings"] == 4


def test_the_plan_is_the_library_s(recordings, sefr):
    assert sefr("train", "recordings", *WINDOW, "--range", "0:1023")[0] == 0
    plan = Sampling.from_plain(columns_of(load(recordings / "model.sefr"))["signal"]).plan
    own = SignalFeatures(32, 2, range=(0, 1023)).fit().plan_
    assert plan == own


def test_recordings_that_do_not_fit_are_named(recordings, refused, sefr):
    folder = recordings / "recordings" / "slow"
    write(folder / "9.csv", [(1, 2, 3)] * 40, "x,y,z")
    said = refused("train", "recordings", *WINDOW)
    assert "slow/9.csv has the axes x, y, z; the recordings before have x, y" in said
    write(folder / "9.csv", [(1, 2)] * 7 + [(1, "")] + [(1, 2)] * 50, "x,y")
    said = refused("train", "recordings", *WINDOW)
    assert "slow/9.csv: row 8 has no number in column 'y': cut the recording at the gap" in said
    times = np.arange(60) * 0.01
    write(folder / "9.csv", zip(times, [1] * 60, [2] * 60, strict=True), "time,x,y")
    said = refused("train", "recordings", *WINDOW)
    assert "column 'time': samples come every 0.01, 100 per second if that is seconds, not 50" in said
    write(folder / "9.csv", zip(range(0, 600, 10), [1] * 60, [2] * 60, strict=True), "ms,x,y")
    assert "column 'ms': samples come every 10, 100 per second, not 50" in refused(
        "train", "recordings", *WINDOW
    )
    write(folder / "9.csv", zip(range(0, 1200, 20), [1] * 60, [2] * 60, strict=True), "s,x,y")
    assert "column 's': samples come every 20, 0.05 per second, not 50" in refused(
        "train", "recordings", *WINDOW
    )
    write(folder / "9.csv", zip(range(60, 0, -1), [1] * 60, [2] * 60, strict=True), "ms,x,y")
    assert "samples come every -1, backwards, not 50" in refused("train", "recordings", *WINDOW)
    times = np.arange(60) * 20
    times[30:] += 100
    write(folder / "9.csv", zip(times, [1] * 60, [2] * 60, strict=True), "ms,x,y")
    said = refused("train", "recordings", *WINDOW)
    assert "rows 30 and 31 are 120 apart, not 20: cut the recording at the gap" in said
    write(folder / "9.csv", [("a", 2)] * 60, "x,y")
    assert "column 'x' is not of numbers" in refused("train", "recordings", *WINDOW)
    write(folder / "9.csv", [(1, 2)] * 20, "x,y")
    err = sefr("train", "recordings", *WINDOW)[2]
    assert "1 of 9 recordings are shorter than a window and left out" in " ".join(err.split())


def test_recordings_without_a_label_are_refused(tmp_path, rng, refused):
    rows = [
        (code, "" if i == 70 else "slow" if i < 100 else "fast") for i, code in enumerate(wave(1, 200, rng))
    ]
    write(tmp_path / "all.csv", rows, "z,what")
    said = refused("train", "all.csv", "--label", "what", *WINDOW)
    assert "all.csv: row 71 has no label in column 'what'" in said
    write(tmp_path / "all.csv", [(1, "fast")] * 20 + [(2, "slow")] * 90, "z,what")
    said = refused("train", "all.csv", "--label", "what", *WINDOW)
    assert "all recordings that are as long as a window of 32 samples have the label 'slow'" in said


@pytest.fixture
def trained(recordings, sefr):
    """Recordings, and a model of them with the range of a 10-bit converter."""
    assert sefr("train", "recordings", *WINDOW, "--range", "0:1023")[0] == 0
    return recordings


def expected_answers(path, values):
    """Return the answers of a model about the windows of a recording, and the features."""
    clf = load(path)
    sampling = Sampling.from_plain(columns_of(clf)["signal"])
    X = sampling.plan.features_of(sampling.plan.samples_of(cut(values, 32, 16)))
    return without_feature_names(clf).predict(X).tolist(), X


def test_recordings_are_predicted_window_by_window(trained, sefr, rng):
    new = np.column_stack([wave(0.2, 100, rng), wave(0.1, 100, rng)])
    write(trained / "new.csv", [(20 * i, "a", *row[::-1]) for i, row in enumerate(new)], "ms,who,y,x")
    code, out, err = sefr("predict", "model.sefr", "new.csv", "--probabilities")
    assert code == 0, err
    header, *lines = csv.reader(out.splitlines())
    assert header == ["recording", "sample", "prediction", "probability_fast", "probability_slow"]
    assert [line[:2] for line in lines] == [["new.csv", str(1 + 16 * i)] for i in range(5)]
    answers, X = expected_answers(trained / "model.sefr", new)
    assert [line[2] for line in lines] == answers == ["slow"] * 5
    # the same windows as a table of features, which the model is one of
    names = load(trained / "model.sefr").feature_names_in_
    write(trained / "features.csv", X.tolist(), ",".join(f'"{name}"' for name in names))
    code, out, err = sefr("predict", "model.sefr", "features.csv", "--probabilities")
    assert list(csv.reader(out.splitlines())) == [header[2:], *(line[2:] for line in lines)]


def test_a_folder_is_predicted_and_tells_what_has_no_answer(trained, sefr, rng):
    write(trained / "new" / "a.csv", [(1, 2)] * 20, "x,y")
    write(trained / "new" / "b.csv", [(1023, 500)] * 32 + [(600, 400), (500, 600)] * 16, "x,y")
    code, out, err = sefr("predict", "model.sefr", "new", "--check")
    assert code == 0, err
    lines = list(csv.reader(out.splitlines()))[1:]
    assert [line[0] for line in lines] == ["new/b.csv"] * 3
    assert lines[0][1:] == ["1", ""]
    assert lines[2][2] in ("fast", "slow")
    said = " ".join(err.split())
    assert "1 of 2 recordings are shorter than a window and left out" in said
    assert "2 windows have no answer: too many of their samples lie at the ends of the range" in said
    assert "warning: " in said


def test_a_model_is_evaluated_on_recordings(trained, sefr, rng):
    code, out, err = sefr("evaluate", "recordings", "--model", "model.sefr", "--json")
    assert code == 0, err
    report = json.loads(out)
    assert (report["rows"], report["accuracy"]) == (40, 1.0)
    assert [line["label"] for line in report["classes"]] == ["fast", "slow"]
    rows = [(*pair, "slow") for pair in zip(wave(1.2, 64, rng), wave(0.6, 64, rng), strict=True)]
    write(trained / "wrong.csv", rows, "x,y,what")
    code, out, _ = sefr("evaluate", "wrong.csv", "--label", "what", "--model", "model.sefr")
    assert code == 0
    assert "accuracy 0.0000" in out
    assert "3 windows" in out


@pytest.mark.parametrize(
    ("verb", "rows", "header", "message"),
    [
        ("predict", [(1, 2)] * 60, "x,z", "new.csv has no axis 'y'; the model was trained on x, y"),
        (
            "predict",
            [(1, 2)] * 20,
            "x,y",
            "no recording is as long as a window of 32 samples; the longest has 20",
        ),
        (
            "predict",
            [(1, 2)] * 9 + [("", 2)] + [(1, 2)] * 60,
            "x,y",
            "new.csv: row 10 has no number in column 'x'",
        ),
        (
            "predict",
            [(10 * i, 1, 2) for i in range(60)],
            "ms,x,y",
            "samples come every 10, 100 per second, not 50",
        ),
        ("predict", [("a", 2)] * 60, "x,y", "new.csv: column 'x' is not of numbers"),
        ("evaluate", [(1, 2)] * 60, "x,y", "which column is the label? (--label)"),
        ("evaluate", [(1, 2, "odd")] * 60, "x,y,what", "the model does not know the label 'odd'"),
        (
            "evaluate",
            [(0, 2, "slow")] * 60,
            "x,y,what",
            "no window has an answer: too many samples lie at the ends",
        ),
    ],
)
def test_recordings_that_a_model_cannot_answer_are_named(trained, sefr, verb, rows, header, message):
    write(trained / "new.csv", rows, header)
    asked = ["predict", "model.sefr", "new.csv"]
    if verb == "evaluate":
        asked = ["evaluate", "new.csv", "--model", "model.sefr"]
        asked += ["--label", "what"] if "what" in header else []
    code, out, err = sefr(*asked)
    assert code != 0
    assert out == ""
    assert message in " ".join(err.replace("│", " ").split())


def test_columns_of_recordings_cannot_be_kept(trained, sefr):
    code, _, err = sefr("predict", "model.sefr", "recordings", "--keep", "x")
    assert code != 0
    assert "--keep copies columns of rows" in " ".join(err.split())


@pytest.mark.needs("avr")
def test_recordings_are_simulated(trained, sefr):
    code, out, err = sefr("simulate", "model.sefr", "recordings", "--rows", "12", "--json")
    assert code == 0, err
    told = json.loads(out)
    assert (told["records"], told["agreement"]) == (12, 1.0)
    _code, out, err = sefr("simulate", "model.sefr", "recordings", "--rows", "2")
    assert "the figures are of the answer alone" in err


def test_recordings_that_are_not_held_in_memory_give_the_same_model(recordings, sefr, monkeypatch):
    """Beyond a size, features are made anew from the files for every pass; the model is the same."""
    arguments = ("train", "recordings", *WINDOW, "--passes", "3", "--json")
    held = json.loads(sefr(*arguments, "-o", "held.sefr")[1])
    monkeypatch.setattr(signal_training, "MOST_HELD", 0)
    monkeypatch.setattr(signal_training, "BATCH_BYTES", 1)
    again = json.loads(sefr(*arguments, "-o", "again.sefr")[1])
    assert again["accuracy"] == held["accuracy"]
    assert (recordings / "again.sefr").read_bytes() == (recordings / "held.sefr").read_bytes()


def test_the_survey_tells_what_all_windows_tell(rng):
    """Resolution and ranges from extremes, recording by recording, are those of all windows at once."""
    for whole in (True, False):
        values = [1000 + rng.normal(0, 40, (n, 2)) * (1, 10) for n in (40, 90, 35)]
        values = [np.rint(part) if whole else part for part in values]
        values[1][70, 0] = 1e6  # in no window of 64 samples from 0
        survey = signal_training.RecordingSurvey(32, 64)
        for part in values:
            survey.add(["x", "y"], "a", part)
        windows = np.concatenate([cut(part, 32, 64) for part in values])
        assert survey.features(None).plan_ == SignalFeatures().fit(windows).plan_
        assert survey.windows == [1, 1, 1]


def test_a_saturated_recording_is_named(recordings, sefr):
    write(recordings / "recordings" / "slow" / "9.csv", [(1023, 500)] * 40, "x,y")
    code, _, err = sefr("train", "recordings", *WINDOW, "--range", "0:1023")
    assert code == 0
    said = " ".join(err.split())
    assert (
        "slow/9.csv: 32 of 64 samples of a window lie at an end of the range: is the sensor saturated?"
        in said
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("recordings", "--signal", "--window", "32:16"), "needs --rate"),
        (("recordings", "--signal", "--rate", "50", "--window", "a:b"), "--window takes LENGTH:HOP"),
        (("recordings", *WINDOW, "--range", "1023"), "--range takes LOW:HIGH"),
        (("recordings", *WINDOW, "--range", "9:1"), "range must go up"),
        (("recordings", *WINDOW, "--drop", "x"), "without options about columns"),
        (("recordings", "--rate", "50", "--label", "x"), "go with --signal"),
        (("recordings/slow/0.csv", *WINDOW), "which column is the label?"),
        (("recordings/slow", *WINDOW), "there are no recordings"),
        (("recordings", "--signal", "--rate", "50", "--window", "500:16"), "the longest has 100"),
        (("recordings", "--signal", "--rate", "50", "--window", "32:0"), "hop must be 1 or more"),
    ],
)
def test_wrong_usage_is_told_in_a_sentence(recordings, refused, arguments, message):
    assert message in refused("train", *arguments)


def test_what_a_board_cannot_hold_is_refused(recordings, sefr):
    assert sefr("train", "recordings", *WINDOW)[0] == 0
    clf = load(recordings / "model.sefr")
    sampling = Sampling.from_plain(columns_of(clf)["signal"])
    with pytest.raises(ValueError, match="goes with the target 'arduino'"):
        export(clf, "c", recordings, signal=sampling)
    other = SignalFeatures(32, 1, range=(0, 9)).fit().plan_
    with pytest.raises(ValueError, match="the signal has 282 features, and the model 312"):
        export(clf, "arduino", recordings, signal=Sampling(other, 16, 50))
    assert sefr("train", "recordings", "--signal", "--rate", "50", "--window", "90:45")[0] == 0
    far = replace(Sampling.from_plain(columns_of(load("model.sefr"))["signal"]).plan, length=256)
    with pytest.raises(ValueError, match="boards take windows of up to 255 samples"):
        export(load("model.sefr"), "arduino", recordings, signal=Sampling(far, 16, 50))
    for wrong in ({"hop": 0}, {"rate": 0}, {"rate": "50"}, {"hop": 1.5}):
        with pytest.raises(ModelFileError, match="must be"):
            Sampling.from_plain(sampling.plain() | wrong)
