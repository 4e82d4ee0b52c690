"""MLflow: a model is logged as its .sefr file, and loaded without pickle or a list of trusted types."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import model_file
from .._system.types import Array, Rows
from ..base import Learner

if TYPE_CHECKING:
    from mlflow.models.model import ModelInfo


def log_model(clf: Learner, name: str, **options: Any) -> ModelInfo:
    """Log a trained model in the active run of MLflow; return what MLflow says of it.

    Parameters
    ----------
    clf : SEFRClassifier or SEFRRegressor
        The model.
    name : str
        Its name in the run.
    **options
        For :func:`mlflow.pyfunc.log_model`, such as ``registered_model_name``, ``signature``,
        ``input_example``. ``pip_requirements`` is the name sefr-learn unless it is given;
        that is not on PyPI, so give the path or address of a wheel if an environment is to be made from it.
    """
    import mlflow

    clf.fitted_  # noqa: B018  an error here, before anything is written
    settings = {"pip_requirements": ["sefr-learn"], **options}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.sefr"
        model_file.save(clf, path)
        return mlflow.pyfunc.log_model(name=name, loader_module=__name__, data_path=str(path), **settings)


def load_model(uri: str) -> Learner:
    """Return the model that ``log_model`` logged; anything else is refused before any of it is loaded.

    What MLflow's own loaders do, which unpickle models and import modules that come with them, is left out.
    """
    import mlflow
    from mlflow.models import Model

    folder = Path(mlflow.artifacts.download_artifacts(artifact_uri=uri)).resolve()
    flavour = Model.load(str(folder)).flavors.get("python_function", {})
    loader, data = flavour.get("loader_module"), flavour.get("data")
    if loader != __name__ or not isinstance(data, str):
        raise ValueError(f"{uri} is a model of {loader or 'no loader'!r}, not one of sefr")
    path = (folder / data).resolve()
    if folder not in path.parents:
        raise ValueError(f"{uri}: its data, {data!r}, are outside of it")
    clf: Learner = model_file.load(path)
    return clf


class Served:
    """A model as MLflow serves it: labels or numbers, or what ``params={"method": ...}`` names."""

    def __init__(self, clf: Learner) -> None:
        self.clf = clf
        scores = () if clf.predicts_numbers else ("predict_proba", "decision_function")
        self.methods = ("predict", *scores)

    def predict(self, rows: Rows, params: dict[str, Any] | None = None) -> Array:
        """Return the label or number of every row, or its probabilities or scores."""
        method = (params or {}).get("method", "predict")
        if method not in self.methods:
            raise ValueError(f"method must be one of {', '.join(self.methods)}, not {method!r}")
        found: Array = getattr(self.clf, method)(rows)
        return found

    def get_raw_model(self) -> Learner:
        """Return the model itself."""
        return self.clf


def _load_pyfunc(data_path: str) -> Served:
    """Do what MLflow asks of a loader module."""
    return Served(model_file.load(data_path))
