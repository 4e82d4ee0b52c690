"""The report in docs/paper is that of the measurements beside it."""

import csv
import re
from collections import Counter
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "paper"


def test_the_report_has_the_rows_that_lie_beside_it():
    with (FOLDER / "results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    markdown = (FOLDER / "report.md").read_text()
    assert f"{len(rows)} rows in results.csv" in markdown
    for link in re.findall(r"\]\((figures/[^)]+)\)", markdown):
        assert (FOLDER / link).is_file(), link


def test_what_ran_all_folds_is_not_among_the_omissions_and_the_rest_is():
    with (FOLDER / "results.csv").open(newline="") as file:
        folds = Counter(
            (row["dataset"], row["method"]) for row in csv.DictReader(file) if row["experiment"] == "folds"
        )
    omitted = (FOLDER / "report.md").read_text().split("## What does")[0]
    titles = {"basehock": "BASEHOCK", "sonar": "Sonar", "cnae_9": "CNAE-9", "waveform_5000": "Waveform 5000"}
    for dataset, title in titles.items():
        whole = all(count == 10 for (name, _), count in folds.items() if name == dataset)
        assert (f"{title} (" in omitted) != whole, title
