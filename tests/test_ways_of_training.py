"""All ways of training give the same model with the same abilities: a new way or setting is one line."""

from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from test_configurations import ALL, SUMS, answers

from sefr import load, save
from sefr.files import open_dataset
from sefr.files.learning import FileRows
from sefr.files.numbers import NumberRows

FEATURES = [*"abcd"]


def by_batches(model, frame, folder):
    parts = [frame[start : start + 90] for start in range(0, len(frame), 90)]
    return model.fit_batches(lambda: ((part[FEATURES], part["y"]) for part in parts))


def by_files(model, frame, folder):
    for number, part in enumerate((frame[:100], frame[100:])):
        part.to_csv(folder / f"{number}.csv", index=False)
    table = open_dataset([str(folder)])
    recipe = table.recipe("y", FEATURES)
    if model.predicts_numbers:
        return model.fit_from(NumberRows(table, recipe, model.missing))
    return model.fit_from(FileRows(table, recipe))


def by_dask(model, frame, folder):
    import dask.dataframe as dd

    return model.fit_frame(dd.from_pandas(frame, npartitions=2, sort=False), "y")


def by_duckdb(model, frame, folder):
    import duckdb

    with duckdb.connect() as connection:
        return model.fit_frame(connection.from_arrow(pa.Table.from_pandas(frame)), "y")


def by_file_and_back(model, frame, folder):
    save(model.fit(frame[FEATURES], frame["y"]), folder / "model.sefr")
    return load(folder / "model.sefr")


WAYS = {
    "batches": by_batches,
    "files": by_files,
    "pandas": lambda model, frame, folder: model.fit_frame(frame, "y"),
    "polars": lambda model, frame, folder: model.fit_frame(pl.from_pandas(frame), "y"),
    "polars lazy": lambda model, frame, folder: model.fit_frame(pl.from_pandas(frame).lazy(), "y"),
    "arrow": lambda model, frame, folder: model.fit_frame(pa.Table.from_pandas(frame), "y"),
    "duckdb": by_duckdb,
    "dask": by_dask,
    "model file": by_file_and_back,
}


def _twin(model, X):
    from sefr.device import Twin

    return Twin(model).predict(X)


def _onnx(model, X):
    from sefr.onnx_model import to_onnx

    return to_onnx(model)


def _report(model, X):
    from sefr.report import report

    return report(model, title="t")


ABILITIES = {
    "contributions": lambda model, X: model.contributions(X),
    "decay": lambda model, X: model.decay(0.5),
    "drift": lambda model, X: model.drift(X),
    "expression": lambda model, X: model.expression("polars"),
    "interval": lambda model, X: model.predict(X, interval=0.9),
    "merge": lambda model, X: model.merge(model.summary_),
    "onnx": _onnx,
    "predict": lambda model, X: model.predict(X),
    "predict_log_proba": lambda model, X: model.predict_log_proba(X),
    "predict_proba": lambda model, X: model.predict_proba(X),
    "report": _report,
    "twin": _twin,
}


def told(ask):
    """Return "yes", or why a model cannot do something."""
    try:
        ask()
    except (AttributeError, TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return "yes"


def abilities(model, X):
    """Return all that a model can do, and has: learned attributes end in an underscore."""
    learned = [name for name in dir(model) if name.endswith("_") and not name.startswith("_")]
    has = {name: told(lambda name=name: getattr(model, name)) for name in learned}
    return has | {name: told(lambda do=do: do(model, X)) for name, do in ABILITIES.items()}


def said(model, X):
    """Return a model's scores or numbers; and its probabilities, or intervals where it knows its noise."""
    if not model.predicts_numbers:
        return answers(model, X), model.predict_proba(X)
    return answers(model, X), model.predict(X, **({"interval": 0.6} if hasattr(model, "noise_") else {}))


@cache
def expected(name):
    """Return what a model of all rows at once answers, and all that it can do."""
    X, y = ALL[name].rows(1)
    frame = pd.DataFrame(X, columns=FEATURES)
    model = ALL[name].make().fit(frame, pd.Series(y))
    return said(model, frame), abilities(model, frame)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ALL)
def test_all_ways_give_the_same_model_with_the_same_abilities(name, way, tmp_path):
    made = ALL[name]
    X, y = made.rows(1)
    frame = pd.DataFrame(X, columns=FEATURES).assign(y=y)
    if way == "dask" and made.params.get("auto") and not made.numbers:
        with pytest.raises(ValueError, match="auto=True looks at all rows at once"):
            WAYS[way](made.make(), frame, tmp_path)
        return
    model = WAYS[way](made.make(), frame, tmp_path)
    (scores, more), able = expected(name)
    mine, mine_more = said(model, frame[FEATURES])
    rounding = 1e-7 if name in SUMS else 1e-5  # further passes work in float32, part by part
    near = rounding * np.abs(scores).max()
    np.testing.assert_allclose(mine, scores, atol=near)
    np.testing.assert_allclose(mine_more, more, atol=near if made.numbers else 1e-5)
    assert abilities(model, frame[FEATURES]) == able
