"""The report says what the rows say: cells, differences, ratios, findings."""

from dataclasses import replace

import pytest

from laboratory import figures, findings, uno
from laboratory.journal import Row
from laboratory.omissions import omissions
from laboratory.report import printed, ratio, significant
from laboratory.run import Outcome
from laboratory.settings import PARTS, Settings
from laboratory.tables import Cell, busy, byte_cells, fold_cells, protocol_spreads, ranks, signed

PEERS = ("lightgbm", "xgboost", "catboost", "decision_tree", "random_forest", "naive_bayes", "svm")
CLAIM = "“63 times faster than the average of the other classifiers”"
ORDER = "The order of the methods by accuracy"


def row(dataset, method, fold=0, accuracy=80.0, cpu=0.01, **more):
    base = Row(
        "folds", dataset, method, "", 10, 0, fold, train_records=9, test_records=1, features=3,
        accuracy=accuracy, f1=accuracy - 1, fit_seconds=cpu, predict_seconds=cpu, cpu_seconds=cpu,
        energy="not measured",
    )  # fmt: skip
    return replace(base, **more)


def ten(dataset, method, accuracy=80.0, cpu=0.01, **more):
    return [row(dataset, method, fold, accuracy, cpu, **more) for fold in range(10)]


def test_a_cell_is_the_mean_of_its_folds_and_the_sum_of_their_times():
    rows = [row("sonar", "sefr", fold, 70.0 + fold, 0.01) for fold in range(10)]
    found = fold_cells(rows, 10)["sonar", "sefr"]
    assert found["accuracy"].ours == pytest.approx(74.5)
    assert found["f1"].ours == pytest.approx(73.5)
    assert found["seconds"].ours == pytest.approx(0.1)
    assert found["accuracy"].published == 70.17
    assert found["accuracy"].difference == pytest.approx(4.33)
    assert found["accuracy"].mark == "above"


def test_seeds_are_averaged_not_added():
    rows = ten("sonar", "sefr", 70, 0.01) + ten("sonar", "sefr", 72, 0.03, seed=1)
    found = fold_cells(rows, 10)["sonar", "sefr"]
    assert found["accuracy"].ours == pytest.approx(71)
    assert found["seconds"].ours == pytest.approx(0.2)
    assert (found["seconds"].folds, found["seconds"].seeds) == (10, 2)


def test_a_cell_of_too_few_folds_is_extrapolated_and_not_compared():
    found = fold_cells([row("sonar", "svm", 0, 50.0, 0.5)], 10)["sonar", "svm"]
    assert found["seconds"].ours == pytest.approx(5)
    assert found["accuracy"].difference is None
    assert found["accuracy"].mark == "none"
    assert not found["seconds"].complete


@pytest.mark.parametrize(
    ("ours", "mark"), [(71.67, "close"), (71.68, "above"), (68.67, "close"), (68.66, "below")]
)
def test_more_than_a_point_and_a_half_is_marked(ours, mark):
    assert Cell(ours, 70.17, folds=10, of=10).mark == mark


def test_ratios_are_to_sefr_and_of_cpu_time():
    rows = ten("cnae_9", "sefr", cpu=0.01) + ten("cnae_9", "naive_bayes", cpu=0.04, fit_seconds=9.0)
    found = fold_cells(rows, 10)
    assert found["cnae_9", "naive_bayes"]["seconds"].ours_ratio == pytest.approx(4)
    assert found["cnae_9", "naive_bayes"]["seconds"].published_ratio == pytest.approx(0.30 / 20.61)
    assert busy(rows) > 5


def test_energy_is_estimated_only_where_asked_and_not_measured():
    rows = ten("sonar", "sefr", cpu=0.02) + ten("sonar", "svm", joules=3.0, energy="measured")
    plain, asked = (fold_cells(rows, 10, watts) for watts in (None, 15.0))
    assert plain["sonar", "sefr"]["joules"].ours is None
    assert plain["sonar", "sefr"]["joules"].kind == "not measured"
    assert asked["sonar", "sefr"]["joules"].ours == pytest.approx(15 * 0.2)
    assert asked["sonar", "sefr"]["joules"].kind == "estimated"
    assert asked["sonar", "svm"]["joules"].ours == pytest.approx(30)
    assert asked["sonar", "svm"]["joules"].kind == "measured"


def test_rows_of_other_folds_do_not_mix():
    rows = [*ten("sonar", "sefr", 70), row("sonar", "sefr", 0, 10.0, folds=3)]
    assert fold_cells(rows, 10)["sonar", "sefr"]["accuracy"].ours == pytest.approx(70)


def test_ranks_compare_the_same_methods():
    rows = ten("sonar", "sefr", 90) + ten("sonar", "svm", 80) + ten("sonar", "lightgbm", 70)
    rows += [*ten("sonar", "sefr_two_pass", 99), row("sonar", "catboost", 0, 99)]
    assert ranks(fold_cells(rows, 10), "sonar") == [("sefr", 3, 1), ("svm", 2, 2), ("lightgbm", 1, 3)]


def verdicts(rows, spreads=(), byte_rows=()):
    cells = fold_cells(rows, 10)
    made = findings.findings(cells, protocol_spreads(spreads, 10), byte_cells(byte_rows, 10))
    return {finding.title.split(" (")[0]: finding for finding in made}


def test_findings_follow_the_rows():
    good = ten("sonar", "sefr", 70.5) + ten("cnae_9", "sefr", 91) + ten("cnae_9", "naive_bayes", 87, 0.05)
    good += ten("cnae_9", "sefr_two_pass", 91, 0.9) + ten("sonar", "svm", 76, 0.2)
    good += ten("waveform_5000", "sefr", 80.7)
    gap = [row("waveform_5000", "sefr", -1, 84.5, experiment="protocol", variant="gap")]
    made = verdicts(good, gap)
    assert made["SEFR's accuracy"].verdict == "differs"
    assert "2 of the 3 rows that were run" in made["SEFR's accuracy"].text
    assert verdicts(good[:20])["SEFR's accuracy"].verdict == "reproduces"
    assert "Sonar 70.50 (+0.33)" in made["SEFR's accuracy"].text
    assert made["SEFR on Waveform 5000"].verdict == "does not reproduce"
    assert "84.50" in made["SEFR on Waveform 5000"].text
    slower = made["SEFR slower than naive Bayes on the multiclass datasets"]
    assert slower.verdict == "does not reproduce"
    assert "CNAE-9 5.0 times faster" in slower.text
    assert "takes 90 times as long." in slower.text
    bad = verdicts(ten("sonar", "sefr", 60) + ten("cnae_9", "sefr", cpu=1.0) + ten("cnae_9", "naive_bayes"))
    assert bad["SEFR's accuracy"].verdict == "differs"
    assert bad["SEFR slower than naive Bayes on the multiclass datasets"].verdict == "differs"


def test_the_63_times_are_the_papers_arithmetic():
    binary = ("gli_85", "smk_can_187", "basehock", "gisette", "sonar")
    rows = [r for d in binary for m in (*PEERS, "sefr") for r in ten(d, m, cpu=0.01 if m == "sefr" else 0.05)]
    made = verdicts(rows)[CLAIM]
    assert "give 63 in the printed table and 5 here" in made.text
    assert "(5 of its 5 binary datasets)" in made.text
    assert made.verdict == "differs"


@pytest.mark.parametrize("folds", [0, 1, 9])
def test_a_comparison_of_all_methods_is_open_until_all_ran(folds):
    """As a quick run leaves it: naive Bayes and SEFR in full, one of the others in part or not at all."""
    rows = [r for m in (*PEERS, "sefr") for r in ten("sonar", m, cpu=0.01 if m == "sefr" else 9.0)]
    assert {verdicts(rows)[title].verdict for title in (CLAIM, ORDER)} == {"reproduces", "differs"}
    short = [r for r in rows if r.method != "svm" or r.fold < folds]
    for title in (CLAIM, ORDER):
        assert verdicts(short)[title].verdict == "open"
        assert "Sonar without SVM." in verdicts(short)[title].text
    alone = [r for r in rows if r.method in ("sefr", "naive_bayes")]
    assert verdicts(alone)[CLAIM].verdict == "open"
    assert "times faster" not in verdicts(alone)[CLAIM].text


def test_findings_without_rows_are_open():
    assert {finding.verdict for finding in verdicts([]).values()} == {"open", "does not reproduce"}


def test_every_omission_is_said(tmp_path):
    settings = Settings(
        output=tmp_path,
        parts=("accuracy", "runtime"),
        datasets=("sonar", "gisette", "cnae_9"),
        methods=("sefr", "svm", "catboost"),
    )
    rows = [*ten("sonar", "sefr"), row("sonar", "svm"), *ten("cnae_9", "sefr"), *ten("cnae_9", "svm")]
    outcome = Outcome(settings, rows, ("sonar", "cnae_9"), {"gisette": "no way."}, ("catboost",), 9, {})
    said = omissions(outcome)
    assert said[0] == "Gisette: no way."
    assert "Datasets not asked for: GLI_85, SMK_CAN_187, BASEHOCK, Waveform 5000, Semeion." in said
    assert "Methods not installed: CatBoost." in said
    assert any(sentence.startswith("Methods not asked for: LightGBM, XGBoost") for sentence in said)
    assert any("Figure 1" in sentence and "Tables 4 and 5" in sentence for sentence in said)
    assert "Not all 10 folds, so not compared: Sonar (SVM 1)." in said
    assert "9 measurements were left out when the time was up; the same command goes on with them." in said
    full = replace(settings, parts=tuple(PARTS), datasets=("sonar", "cnae_9"), methods=("sefr",))
    assert len(omissions(Outcome(full, rows, ("sonar", "cnae_9"), {}, (), 0, {}))) == 2


def test_byte_finding_names_the_worst():
    rows = [
        row("sonar", "sefr", -1, accuracy, experiment="bytes", variant=variant)
        for variant, accuracy in (("float", 71.0), ("uint8", 70.5), ("int8", 69.0))
    ]
    text = verdicts([], byte_rows=rows)["Values reduced to bytes do not change accuracy"].text
    assert "at most 0.50 points (Sonar)" in text
    assert "at most 2.00 (Sonar)" in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.002943, "0.00294"),
        (12.44, "12.4"),
        (1519.6, "1,520"),
        (0, "0"),
        (None, "–"),
        (99.96, "100.0"),
        (1, "1.00"),
    ],
)
def test_numbers_keep_three_digits(value, text):
    assert significant(value) == text


def test_numbers_are_printed_as_in_the_paper():
    assert [printed(195), printed(0.5), printed(12764.45), printed(None)] == ["195", "0.50", "12,764.45", "–"]
    assert [signed(-0.5), signed(0.5), signed(-0.001)] == ["−0.50", "+0.50", "0.00"]
    assert ratio(None) == "–"


def test_uno_tables_read_the_device_benchmark(tmp_path):
    path = tmp_path / "uno.csv"
    path.write_text(
        "phase,records,features,milliseconds,cycles\ntrain,100,100,6.53,104435\ntest,25,50,1.31,9\n"
    )
    training, testing = uno.tables(path)
    assert training.ours[3][3] == 6.53
    assert testing.ours[0][1] == 1.31
    assert training.published[3][3] == 195
    assert training.measured
    assert not uno.tables(None)[0].measured


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("phase,records\n", "column 'features'"),
        ("phase,records,features,milliseconds\ntrain,x,1,2\n", "line 2"),
        ("phase,records,features,milliseconds\ntrain,1\n", "line 2"),
    ],
)
def test_uno_errors_name_the_place(tmp_path, content, message):
    path = tmp_path / "uno.csv"
    path.write_text(content)
    with pytest.raises(uno.UnoError, match=message):
        uno.tables(path)
    with pytest.raises(uno.UnoError, match="cannot be read"):
        uno.tables(tmp_path / "absent.csv")


def test_figure_1_says_that_its_data_is_made_up():
    rows = [
        row(
            "gisette_shape",
            m,
            experiment="scalability",
            variant=f"records={r},features={f}",
            note="made-up data",
        )
        for m in ("sefr", "svm")
        for r, f in ((1000, 500), (2000, 500), (2000, 250))
    ]
    drawn = figures.scalability(rows)
    assert "made-up data: the real one is not at hand" in drawn
    assert "made-up" not in figures.scalability([replace(r, note="") for r in rows])
    assert figures.scalability([]) == ""
    assert "#0b0c0d" not in drawn
    assert "currentColor" in drawn
