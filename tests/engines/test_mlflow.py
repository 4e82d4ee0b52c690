"""MLflow: a model is logged as it comes, as its own file, or with the types that skops is told to trust."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from sefr import SEFRClassifier, SEFRRegressor

pytestmark = pytest.mark.needs("mlflow")

mlflow = pytest.importorskip("mlflow")


@pytest.fixture
def iris(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # a database needs more than mlflow-skinny
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"file://{tmp_path}/runs")
    yield load_iris(return_X_y=True)
    mlflow.set_tracking_uri(before)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of MLflow's own
@pytest.mark.parametrize("settings", [{}, {"passes": 4, "bins": 6}])
def test_a_model_is_logged_as_it_comes(iris, settings):
    from sefr.engines.mlflow import load_model, log_model

    X, y = iris
    model = SEFRClassifier(**settings).fit(X, y)
    with mlflow.start_run():
        info = log_model(model, "iris")
        with pytest.raises(NotFittedError):
            log_model(SEFRClassifier(), "nothing")
    again = load_model(info.model_uri)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    served = mlflow.pyfunc.load_model(info.model_uri)
    np.testing.assert_array_equal(served.predict(X), model.predict(X))
    raw = served._model_impl
    np.testing.assert_array_equal(raw.predict(X, {"method": "predict_proba"}), model.predict_proba(X))
    with pytest.raises(ValueError, match="method must be one of predict, predict_proba, decision_function"):
        raw.predict(X, {"method": "__init__"})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of MLflow's own
def test_a_regressor_is_logged_and_served_as_numbers(iris):
    from sefr.engines.mlflow import load_model, log_model

    X, y = iris[0][:, :3], iris[0][:, 3]
    model = SEFRRegressor(bins=6).fit(X, y)
    with mlflow.start_run():
        info = log_model(model, "petals")
    np.testing.assert_array_equal(load_model(info.model_uri).predict(X), model.predict(X))
    served = mlflow.pyfunc.load_model(info.model_uri)
    np.testing.assert_array_equal(served.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="method must be one of predict, not 'predict_proba'"):
        served._model_impl.predict(X, {"method": "predict_proba"})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of MLflow's own
def test_a_model_goes_through_the_flavour_of_scikit_learn_and_back(iris):
    sio = pytest.importorskip("skops.io")
    X, y = iris
    model = SEFRClassifier().fit(X, y)
    trusted = [name for name in sio.get_untrusted_types(data=sio.dumps(model)) if name.startswith("sefr.")]
    with mlflow.start_run():
        info = mlflow.sklearn.log_model(
            model, name="iris", skops_trusted_types=trusted, pip_requirements=["sefr-learn"]
        )
    again = mlflow.sklearn.load_model(info.model_uri)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


class Trap:
    """Writes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of MLflow's own
def test_what_is_no_model_of_sefr_is_refused_before_it_is_loaded(iris, tmp_path):
    import pickle

    from sefr.engines.mlflow import load_model, log_model

    data, sprung = tmp_path / "model.pkl", tmp_path / "sprung"
    data.write_bytes(pickle.dumps(Trap(str(sprung))))
    (tmp_path / "trap.py").write_text("import pickle\n_load_pyfunc = lambda p: pickle.load(open(p, 'rb'))\n")
    with mlflow.start_run():
        info = mlflow.pyfunc.log_model(
            name="trap", loader_module="trap", data_path=str(data), code_paths=[str(tmp_path / "trap.py")]
        )
        own = log_model(SEFRClassifier().fit(*iris), "iris")
    with pytest.raises(ValueError, match="is a model of 'trap', not one of sefr"):
        load_model(info.model_uri)
    assert not sprung.exists()
    folder = mlflow.artifacts.download_artifacts(artifact_uri=own.model_uri)
    file = Path(folder, "MLmodel")
    text, changed = re.subn(r"(?m)^(\s+data: ).*$", r"\1../../model.pkl", file.read_text())
    assert changed == 1
    file.write_text(text)
    with pytest.raises(ValueError, match="outside of it"):
        load_model(f"file://{folder}")
