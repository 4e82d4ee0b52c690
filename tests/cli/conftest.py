import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

from sefr.cli import main


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    """Run in an empty folder, in a terminal of a known width."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def sefr(capfd, monkeypatch):
    """Return the command: its arguments to its exit code, output and errors."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["sefr", *map(str, arguments)])
        capfd.readouterr()
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        out, err = capfd.readouterr()
        return code, out, err

    return run


@pytest.fixture
def iris():
    X, y = load_iris(return_X_y=True)
    names = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
    species = np.array(["setosa", "versicolor", "virginica"])[y]
    frame = pd.DataFrame(X, columns=names).assign(species=species)
    frame.to_csv("iris.csv", index=False)
    return frame


@pytest.fixture
def cancer():
    frame = load_breast_cancer(as_frame=True).frame
    frame.to_csv("cancer.csv", index=False)
    return frame
