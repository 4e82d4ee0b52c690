"""A setting cannot get lost: each is taken through everything that makes, keeps or moves a model."""

import inspect
import pickle
from copy import deepcopy

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.model_selection import cross_validate as sklearn_cross_validate

from sefr import SEFRClassifier, SEFRRegressor, Summary, cross_validate, load, save
from sefr.model_file import dump, parse
from sefr.settings import NumberSettings, Settings, kinds

NAMES = [name for name, _, _ in kinds()]
KINDS = {name: kind for name, _, kind in kinds()}
TRAINED = [name for name, _, kind in kinds() if kind.trained]
# Another value of each setting than its default, and what must be set beside it. A setting that is not here
# fails the first test: give it a value, and see what forgets it.
OTHER = {
    "scale": ((-20.0, 40.0), {}),
    "epsilon": (0.5, {}),
    "missing": ("ignore", {}),
    "class_weight": ("balanced", {}),
    "bins": (6, {}),
    "interactions": (4, {"bins": 6}),
    "n_jobs": (2, {}),
    "passes": (3, {}),
    "verbose": (1, {}),
    "moments": (2, {}),
    "auto": (True, {}),
}
COLUMNS = ["a", "b", "c", "d"]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    y = (rng.random(500) < 0.25).astype(int)
    X = rng.normal(size=(500, 4)) * [1, 2, 3, 0.5] + np.outer(y, [1, 0.5, -2, 0.2])
    X[:, 1] *= np.sign(X[:, 0]) ** y
    return X, y


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


def params_of(name):
    value, beside = OTHER[name]
    return {**beside, name: value}


def with_missing(X, name):
    if name == "missing":
        X = X.copy()
        X[::7, 2] = np.nan
    return X


def same(mine, theirs):
    return mine is theirs or np.array_equal(np.asarray(mine, dtype=object), np.asarray(theirs, dtype=object))


def assert_carried(clf, params):
    for name, value in params.items():
        assert same(getattr(clf, name), value), name
        assert same(getattr(clf.fitted_.settings, name), value), name


def test_every_setting_has_another_value_here_and_stands_in_the_constructor():
    assert list(OTHER) == NAMES
    signature = inspect.signature(SEFRClassifier.__init__).parameters
    assert {n: p.default for n, p in signature.items() if n != "self"} == {n: d for n, d, _ in kinds()}
    assert list(SEFRClassifier().get_params()) == sorted(NAMES)


def test_what_is_said_to_be_trained_changes_what_is_learned(rows, name):
    """Else the tests below could not notice a setting that was lost."""
    params = params_of(name)
    X, y = with_missing(rows[0], name), rows[1]
    plain = {key: value for key, value in params.items() if key != name}
    if name == "missing":
        with pytest.raises(ValueError, match="NaN"):
            SEFRClassifier(**plain).fit(X, y)
        return
    before, after = (SEFRClassifier(**each).fit(X, y).decision_function(X) for each in (plain, params))
    assert (name in TRAINED) == (not np.allclose(before, after))


def test_clones_copies_and_pickles(rows, name):
    X, y = with_missing(rows[0], name), rows[1]
    params = params_of(name)
    clf = SEFRClassifier(**params)
    for other in (clone(clf), SEFRClassifier().set_params(**params), SEFRClassifier(**clf.get_params())):
        assert_carried(other.fit(X, y), params)
        np.testing.assert_array_equal(other.decision_function(X), clf.fit(X, y).decision_function(X))
    pickled = pickle.loads(pickle.dumps(clf))  # noqa: S301
    for other in (pickled, deepcopy(clf), SEFRClassifier.from_fitted(clf.fitted_)):
        assert_carried(other, params)
        np.testing.assert_array_equal(other.decision_function(X), clf.decision_function(X))


def test_model_files(rows, name, tmp_path):
    X, y = with_missing(rows[0], name), rows[1]
    clf = SEFRClassifier(**params_of(name)).fit(X, y)
    save(clf, tmp_path / "m.sefr")
    for other in (load(tmp_path / "m.sefr"), parse(dump(clf))):
        assert_carried(other, params_of(name))
        np.testing.assert_array_equal(other.decision_function(X), clf.decision_function(X))
        np.testing.assert_array_equal(other.predict_proba(X), clf.predict_proba(X))


def test_a_file_holds_what_the_model_was_trained_with(rows):
    """Parameters that were set since do not change its answers."""
    X, y = rows
    clf = SEFRClassifier(epsilon=0.3).fit(X, y)
    before = clf.decision_function(X)
    other = parse(dump(clf.set_params(epsilon=0.7, n_jobs=2)))
    np.testing.assert_array_equal(other.decision_function(X), before)
    assert (other.epsilon, other.n_jobs) == (0.3, 2)


def test_settings_go_through_json_and_text(name):
    params = params_of(name)
    settings = Settings(**params)
    again = Settings.from_json(settings.to_json(), 4)
    assert all(same(getattr(again, key), getattr(settings, key)) for key in NAMES)
    for key, default, kind in kinds():
        if kind.to_text is not None:
            for value in (default, getattr(settings, key)):
                assert same(kind.from_text(kind.to_text(value)), value), key


def test_all_ways_of_training_carry_them(rows, name):
    """Batches and frames give the model of ``fit``; with further passes, but for the sample they step by."""
    X, y = with_missing(rows[0], name), rows[1]
    params = params_of(name)
    frame = pd.DataFrame(X, columns=COLUMNS).assign(y=y)
    clf = SEFRClassifier(**params).fit(frame[COLUMNS], y)
    ways = {
        "fit_batches": SEFRClassifier(**params).fit_batches([(frame[COLUMNS], y)]),
        "pandas": SEFRClassifier(**params).fit_frame(frame, "y"),
        "polars": SEFRClassifier(**params).fit_frame(pl.from_pandas(frame).lazy(), "y"),
    }
    if name not in ("passes", "auto"):  # which need rows
        again = Summary.from_bytes(clf.summary_.to_bytes())
        ways["from_summary"] = SEFRClassifier.from_summary(again, **params)
    for way, other in ways.items():
        assert_carried(other, params)
        tolerance = 1e-9 if name != "passes" else 1e-3
        scores = clf.decision_function(frame[COLUMNS])
        np.testing.assert_allclose(
            other.decision_function(frame[COLUMNS]),
            scores,
            atol=tolerance * np.abs(scores).max(),
            err_msg=way,
        )
        if way != "from_summary":
            assert other.predict_proba(frame[COLUMNS]).shape == (500, 2)


def test_verbs_carry_them(rows, name):
    X, y = with_missing(rows[0], name), rows[1]
    params = params_of(name)
    clf = SEFRClassifier(**params).fit(X[:400], y[:400])
    if name == "auto":
        with pytest.raises(AttributeError, match="a model of auto=True cannot learn more rows"):
            clf.partial_fit(X, y)
        for verb in (clf.merge, clf.forget):
            with pytest.raises(ValueError, match=r"a model of auto=True cannot .* Fit again with all rows"):
                verb(X[400:], y[400:])
        with pytest.raises(ValueError, match="a model of auto=True cannot decay"):
            clf.decay(0.5)
        assert_carried(clf.calibrate(X, y), params)
        return
    assert_carried(clf.partial_fit(X[400:], y[400:]), params)
    assert_carried(clf.decay(0.5), params)
    assert_carried(clf.calibrate(X, y), params)
    if name != "passes":
        assert_carried(clf.merge(X[:50], y[:50]), params)
        assert_carried(clf.forget(X[:50], y[:50], sample_weight=np.full(50, 0.5)), params)
        assert_carried(clf.merge(deepcopy(clf)), params)


def test_cross_validation(rows, name):
    X, y = with_missing(rows[0], name), rows[1]
    if name == "verbose":
        pytest.skip("it prints, and has no say in scores")
    clf, folds = SEFRClassifier(**params_of(name)), StratifiedKFold(4)
    for scoring in ("accuracy", "neg_log_loss"):
        ours = cross_validate(clf, X, y, cv=folds, scoring=scoring)["test_score"]
        theirs = sklearn_cross_validate(clf, X, y, cv=folds, scoring=scoring)["test_score"]
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def trained_by_command(X, y, params, of, tmp_path, monkeypatch, *more):
    """Return what ``sefr train`` makes of a table, told by options."""
    from typer.testing import CliRunner

    from sefr.cli import app

    pd.DataFrame(X, columns=COLUMNS).assign(y=y).to_csv(tmp_path / "d.csv", index=False)
    given = []
    for key, value in params.items():
        option = f"--{key.replace('_', '-')}"
        given += [option] if value is True else [option, of[key].to_text(value)]
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["train", "d.csv", "-l", "y", "-q", "-o", "m.sefr", *given, *more])
    assert done.exit_code == 0, done.output
    return load("m.sefr")


def test_the_command(rows, name, tmp_path, monkeypatch):
    """Every setting that has a text is an option of ``sefr train``, and reaches the model."""
    if KINDS[name].to_text is None:
        pytest.skip("not a setting of the command")
    X, y = with_missing(rows[0], name), rows[1]
    params = params_of(name)
    assert_carried(trained_by_command(X, y, params, KINDS, tmp_path, monkeypatch), params)


def test_the_options_of_the_command_are_those_that_are_declared():
    """Their sentences, defaults and limits are those of ``_system/declarations.py``, without a library."""
    from typer.main import get_command

    from sefr.cli import app, options

    declared = {name for name in NAMES if KINDS[name].to_text is not None} | {"auto"}
    for command in ("train", "evaluate"):
        given = {parameter.name: parameter for parameter in get_command(app).commands[command].params}
        assert declared <= set(given)
    params = options.TrainingOptions().params()
    assert set(params) == {name for name in NAMES if KINDS[name].trained}
    assert {**params, "auto": False} == {name: default for name, default, kind in kinds() if kind.trained}
    numbers = options.TrainingOptions().number_params()
    assert set(numbers) == {name for name, kind in NUMBERS.items() if kind.trained}


def scores_by_their_size(scores):
    """Return scores such that those of a board, in units of its own, are comparable with the host's."""
    return np.ravel(scores) / np.abs(scores).mean()


def test_the_twin_of_a_board(rows, name):
    """A board scores as the host does, whatever the settings: on bytes of known ranges, but for rounding.

    Answers alone would not do: a setting that is lost may change few of them.
    """
    from sefr.device import Twin

    if name in ("scale", "missing"):
        pytest.skip("the values of a board are bytes: its ranges are known, and no value is missing")
    X, y = rows
    low, high = X.min(axis=0), X.max(axis=0)
    bytes_ = np.round((X - low) / (high - low) * 255).astype(np.uint8)
    clf = SEFRClassifier(**{"scale": (0, 255), **params_of(name)}).fit(bytes_, y)
    if name == "epsilon":
        with pytest.raises(ValueError, match="a board has no epsilon"):
            Twin(clf)
        return
    twin = Twin(clf, weights="int16")
    apart = scores_by_their_size(twin.scores(bytes_)) - scores_by_their_size(clf.decision_function(bytes_))
    assert np.abs(apart).max() < (0.1 if name == "auto" else 1e-3)  # the lines of auto are steps on a board
    assert np.mean(twin.predict(bytes_) == clf.predict(bytes_)) > 0.99


def test_the_report_shows_what_a_model_depends_on(rows, name):
    from sefr.report import report

    X, y = with_missing(rows[0], name), rows[1]
    page = report(SEFRClassifier(**params_of(name)).fit(X, y), title="t")
    value = OTHER[name][0]
    shown = f"<dt>{name.replace('_', ' ')}</dt><dd>{value if np.isscalar(value) else 'given'}</dd>"
    assert (shown in page) == (name in TRAINED)


# What a stream that learns a row at a time does not have: it cuts and multiplies no features and reads no row
# again; a missing value is a feature that is not in the row; rows are weighed as they are learned.
NOT_OF_A_STREAM = {"missing", "class_weight", "bins", "interactions", "n_jobs", "passes", "verbose", "auto"}


def test_a_stream_of_river_takes_what_a_row_at_a_time_can_follow(rows):
    """Every setting is one of the stream's, and does what it does to the classifier, or is named above."""
    from sefr.engines.river import SEFRStream

    X, y = rows
    own = set(inspect.signature(SEFRStream).parameters) & set(NAMES)
    assert own | NOT_OF_A_STREAM | {"moments"} == set(NAMES)
    for name in [None, *sorted(own)]:
        params = {} if name is None else params_of(name)
        stream, clf = SEFRStream(**params), SEFRClassifier(**params).fit(X, y)
        for row, label in zip(X, y, strict=True):
            stream.learn_one(dict(zip(COLUMNS, row.tolist(), strict=True)), int(label))
        found = stream.predict_many(pd.DataFrame(X, columns=COLUMNS))
        np.testing.assert_array_equal(found.to_numpy(), clf.predict(X))


def test_a_stream_of_numbers_takes_what_a_row_at_a_time_can_follow():
    from sefr.engines.river import SEFRStreamRegressor

    own = set(inspect.signature(SEFRStreamRegressor).parameters) & set(NUMBERS)
    assert own | NOT_OF_A_STREAM | {"scale", "moments"} == set(NUMBERS) | {"class_weight"}


@pytest.mark.needs("spark")
@pytest.mark.parametrize("of", [Settings, NumberSettings])
def test_the_estimators_of_spark(of):
    """Every setting that has a text is a parameter, and comes out as it went in; no cluster is needed."""
    from sefr.engines.spark import SEFR
    from sefr.engines.spark_ml import parameter_name
    from sefr.engines.spark_regression import SEFRRegression

    estimator, others = (SEFR, OTHER) if of is Settings else (SEFRRegression, OTHER_NUMBERS)
    for name, _, kind in kinds(of):
        if kind.to_text is None:
            continue
        value = others[name][0]
        text = value if isinstance(value, int | float) else kind.to_text(value)
        given = estimator(**{parameter_name(name): text})
        assert same(given.settings()[name], value), name
        assert same(given.copy().settings()[name], value), name
        own = parameter_name(name)
        assert same(getattr(estimator(), f"set{own[0].upper()}{own[1:]}")(text).settings()[name], value), name


# The second estimator: the same walk.
NUMBERS = {name: kind for name, _, kind in kinds(NumberSettings)}
OTHER_NUMBERS = {
    "moments": (1, {}),
    "bins": (6, {}),
    "interactions": (4, {"bins": 6}),
    "scale": ((-20.0, 40.0), {"bins": 6}),  # a line does not depend on it
    "missing": ("ignore", {}),
    "n_jobs": (2, {}),
    "passes": (3, {"moments": 1}),
    "verbose": (1, {"moments": 1, "passes": 3}),
    "auto": (True, {}),
}
# Whose models are more than their Summary.
OF_ROWS = ("passes", "verbose")


@pytest.fixture(params=list(NUMBERS))
def number_name(request):
    return request.param


@pytest.fixture
def numbers(rows, number_name):
    """Return the parameters of a setting, rows and y."""
    value, beside = OTHER_NUMBERS[number_name]
    X = with_missing(rows[0], number_name)
    y = rows[0][:, 0] ** 2 + rows[0][:, 1] + np.random.default_rng(0).normal(size=len(X))
    return {**beside, number_name: value}, X, y


def test_every_setting_of_a_regressor_stands_in_its_constructor():
    assert list(OTHER_NUMBERS) == list(NUMBERS)
    signature = inspect.signature(SEFRRegressor.__init__).parameters
    declared = {n: d for n, d, _ in kinds(NumberSettings)}
    assert {n: p.default for n, p in signature.items() if n != "self"} == declared
    assert list(SEFRRegressor().get_params()) == sorted(NUMBERS)


def test_what_is_said_to_be_trained_changes_what_a_regressor_learns(numbers, number_name):
    params, X, y = numbers
    plain = {key: value for key, value in params.items() if key != number_name}
    if number_name == "missing":
        with pytest.raises(ValueError, match="NaN"):
            SEFRRegressor(**plain).fit(X, y)
        return
    before, after = (SEFRRegressor(**each).fit(X, y).predict(X) for each in (plain, params))
    assert NUMBERS[number_name].trained == (not np.allclose(before, after))


def test_a_regressor_carries_its_settings_everywhere(numbers, number_name, tmp_path):
    params, X, y = numbers
    reg = SEFRRegressor(**params).fit(X, y)
    expected = reg.predict(X)
    save(reg, tmp_path / "m.sefr")
    again = [
        clone(reg).fit(X, y),
        SEFRRegressor().set_params(**params).fit(X, y),
        pickle.loads(pickle.dumps(reg)),  # noqa: S301
        deepcopy(reg),
        SEFRRegressor.from_fitted(reg.fitted_),
        load(tmp_path / "m.sefr"),
        parse(dump(reg)),
    ]
    if number_name not in OF_ROWS:
        again.append(SEFRRegressor.from_summary(Summary.from_bytes(reg.summary_.to_bytes()), **params))
    for other in again:
        assert_carried(other, params)
        np.testing.assert_array_equal(other.predict(X), expected)


def test_all_ways_of_training_a_regressor_carry_them(numbers, number_name):
    params, X, y = numbers
    frame = pd.DataFrame(X, columns=COLUMNS).assign(y=y)
    expected = SEFRRegressor(**params).fit(frame[COLUMNS], y).predict(frame[COLUMNS])
    for way, other in {
        "fit_batches": SEFRRegressor(**params).fit_batches([(frame[COLUMNS], y)]),
        "pandas": SEFRRegressor(**params).fit_frame(frame, "y"),
        "polars": SEFRRegressor(**params).fit_frame(pl.from_pandas(frame).lazy(), "y"),
    }.items():
        assert_carried(other, params)
        np.testing.assert_allclose(other.predict(frame[COLUMNS]), expected, rtol=1e-9, atol=1e-9, err_msg=way)


def test_the_command_carries_those_of_a_regressor(numbers, number_name, tmp_path, monkeypatch):
    params, X, y = numbers
    if NUMBERS[number_name].to_text is None:
        pytest.skip("not a setting of the command")
    assert_carried(trained_by_command(X, y, params, NUMBERS, tmp_path, monkeypatch, "--task=regress"), params)


def test_the_report_of_a_regressor_shows_them(numbers, number_name):
    from sefr.report import report

    params, X, y = numbers
    page = report(SEFRRegressor(**params).fit(X, y), title="t")
    value = OTHER_NUMBERS[number_name][0]
    shown = f"<dt>{number_name.replace('_', ' ')}</dt><dd>{value if np.isscalar(value) else 'given'}</dd>"
    assert (shown in page) == NUMBERS[number_name].trained


def test_the_twin_of_a_board_that_predicts_numbers(numbers, number_name):
    """Its numbers are those of the host, but for the unit that they are told in."""
    from sefr.device import Twin

    if number_name in ("scale", "missing"):
        pytest.skip("the values of a board are bytes: its ranges are known, and no value is missing")
    params, X, y = numbers
    low, high = X.min(axis=0), X.max(axis=0)
    bytes_ = np.round((X - low) / (high - low) * 255).astype(np.uint8)
    reg = SEFRRegressor(**{"scale": (0, 255), **params}).fit(bytes_, y)
    twin = Twin(reg, weights="int16")
    assert np.abs(twin.predict(bytes_) - reg.predict(bytes_)).max() < 0.01 * y.std()


def test_verbs_of_a_regressor_carry_them(numbers, number_name):
    params, X, y = numbers
    if number_name in OF_ROWS:
        pytest.skip("tests/test_regressor_passes.py: such a model refuses these verbs")
    reg = SEFRRegressor(**params).fit(X[:400], y[:400])
    for verb in (
        lambda: reg.partial_fit(X[400:], y[400:]),
        lambda: reg.decay(0.5),
        lambda: reg.merge(X[:50], y[:50]),
        lambda: reg.forget(X[:50], y[:50], sample_weight=np.full(50, 0.5)),
        lambda: reg.merge(deepcopy(reg)),
    ):
        assert_carried(verb(), params)


def test_cross_validation_of_a_regressor(numbers):
    params, X, y = numbers
    reg, folds = SEFRRegressor(**params), KFold(4)
    ours = cross_validate(reg, X, y, cv=folds)["test_score"]
    theirs = sklearn_cross_validate(reg, X, y, cv=folds)["test_score"]
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_settings_of_a_regressor_go_through_json_and_text(numbers):
    settings = NumberSettings(**numbers[0])
    again = NumberSettings.from_json(settings.to_json(), 4)
    assert all(same(getattr(again, key), getattr(settings, key)) for key in NUMBERS)
    for key, default, kind in kinds(NumberSettings):
        if kind.to_text is not None:
            for value in (default, getattr(settings, key)):
                assert same(kind.from_text(kind.to_text(value)), value), key


def test_settings_say_how_often_rows_are_read():
    asked = ({}, {"passes": 5}, {"bins": 8}, {"bins": 8, "passes": 5}, {"auto": True})
    assert [Settings(**own).readings for own in asked] == [1, 5, 2, 6, 2]
