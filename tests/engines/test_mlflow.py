"""MLflow keeps a model in the format of skops, with the types that it is told to trust."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from sefr import SEFRClassifier

mlflow = pytest.importorskip("mlflow")
sio = pytest.importorskip("skops.io")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of MLflow's own
def test_a_model_goes_through_log_model_and_back(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    X, y = load_iris(return_X_y=True)
    model = SEFRClassifier().fit(X, y)
    trusted = [name for name in sio.get_untrusted_types(data=sio.dumps(model)) if name.startswith("sefr.")]
    with mlflow.start_run():
        info = mlflow.sklearn.log_model(model, name="iris", skops_trusted_types=trusted)
    again = mlflow.sklearn.load_model(info.model_uri)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    served = mlflow.pyfunc.load_model(info.model_uri)
    np.testing.assert_array_equal(served.predict(X), model.predict(X))
