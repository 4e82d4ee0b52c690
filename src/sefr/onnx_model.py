"""A model as an ONNX graph in float64: what any ONNX runtime answers with."""

from __future__ import annotations

import json
from copy import copy
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ._answers.additive import CellTable, TableModel
from ._answers.probabilities import TemperatureScaling
from ._rows.cells.coder import MOST_CELLS
from ._rows.cells.ferns import Ferns
from ._system.types import Array, Floats
from ._weights.hyperplanes import Hyperplanes
from .base import Learner

OPSET = 17


def to_onnx(clf: Learner) -> bytes:
    """Return a trained model as the content of an ``.onnx`` file.

    The graph takes ``X``, float64 of shape (n, m), and returns ``label``, shape (n,), and ``scores``, shape
    (n,) for two classes (above 0 is the second) and (n, K) for more (the highest wins), as
    ``decision_function`` does; and ``probabilities``, shape (n, K), as ``predict_proba`` does, if the model
    has them and has seen every class. NaN is left out if the model was made with ``missing="ignore"``. The
    names of the features and the labels are in the metadata; with bins, so are the categories, by the number
    of the feature: X has the number of a value among these, and their count for any other. Of a regressor the
    graph returns ``prediction``, shape (n,), or (n, K) for K outputs.

    Parameters
    ----------
    clf : SEFRClassifier or SEFRRegressor
        A trained model.
    """
    from onnx import TensorProto, checker, helper  # an extra: only who exports needs it

    check_is_fitted(clf)
    clf = copy(clf)  # as it is now: another thread may go on learning
    graph = _Graph(helper, TensorProto.INT64)
    scores = _scores(graph, clf)
    props: dict[str, str] = {}
    if clf.task.predicts_numbers:
        outputs = [_prediction(graph, scores, clf, TensorProto.DOUBLE)]
    else:
        outputs, props = _label_and_scores(graph, scores, clf, TensorProto)
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "sefr",
            [helper.make_tensor_value_info("X", TensorProto.DOUBLE, ["n", clf.n_features_in_])],
            outputs,
            graph.initializers,
        ),
        producer_name="sefr",
        producer_version=version("sefr-learn"),
        ir_version=8,
        opset_imports=[helper.make_opsetid("", OPSET)],
    )
    props["feature_names"] = json.dumps(clf.summary_.feature_names)
    if categories := clf.summary_.categories:
        props["categories"] = json.dumps({j: list(own) for j, own in categories.items()})
    helper.set_model_props(model, props)
    checker.check_model(model)
    return bytes(model.SerializeToString())


def _prediction(graph: _Graph, scores: str, reg: Learner, double: int) -> object:
    """Name the predictions, and return what they are."""
    n_outputs = len(reg.fitted_.constant)
    if n_outputs == 1:
        graph.node("Squeeze", [scores, graph.constant("axis", np.array([1]))], "prediction")
        return graph.helper.make_tensor_value_info("prediction", double, ["n"])
    graph.node("Identity", [scores], "prediction")
    return graph.helper.make_tensor_value_info("prediction", double, ["n", n_outputs])


def _label_and_scores(
    graph: _Graph, scores: str, clf: Learner, types: Any
) -> tuple[list[object], dict[str, str]]:
    """Add what a classifier answers; return what its outputs are, and its labels for the metadata."""
    helper, classes, fitted = graph.helper, clf.summary_.classes, clf.fitted_
    kind, labels = _labels(classes, types)
    two = len(classes) == 2
    shape = ["n"] if two else ["n", len(classes)]
    if two:
        graph.node("Greater", [scores, graph.constant("zero", np.zeros(1))], "above")
        graph.node("Cast", ["above"], "place", to=types.INT64)
        graph.node("Squeeze", ["place", graph.constant("axis", np.array([1]))], "at")
        graph.node("Squeeze", [scores, "axis"], "scores")
    else:
        graph.node("ArgMax", [scores], "at", axis=1, keepdims=0)
        graph.node("Identity", [scores], "scores")
    graph.initializers.append(helper.make_tensor("classes", kind, [len(labels)], labels))
    graph.node("Gather", ["classes", "at"], "label", axis=0)
    outputs = [
        helper.make_tensor_value_info("label", kind, ["n"]),
        helper.make_tensor_value_info("scores", types.DOUBLE, shape),
    ]
    scaling = fitted.probability_scaling
    if scaling is not None and np.isfinite(fitted.model.constant).all():
        _probabilities(graph, scores, scaling)
        outputs.append(helper.make_tensor_value_info("probabilities", types.DOUBLE, ["n", len(classes)]))
    shown = [label.decode("latin-1") if isinstance(label, bytes) else label for label in classes.tolist()]
    return outputs, {"classes": json.dumps(shown)}


def _probabilities(graph: _Graph, scores: str, scaling: TemperatureScaling) -> None:
    """Add the softmax of scores over the temperature, plus an offset per class."""
    n_classes = len(scaling.offsets)
    if n_classes == 2:  # the score is the difference of theirs
        halves = np.array([[-scaling.inverse / 2, scaling.inverse / 2]])
        graph.node("MatMul", [scores, graph.constant("halves", halves)], "tempered")
    else:
        inverse = np.full(n_classes, scaling.inverse)
        graph.node("Mul", [scores, graph.constant("inverse", inverse)], "tempered")
    graph.node("Add", ["tempered", graph.constant("offsets", scaling.offsets)], "logits")
    graph.node("Softmax", ["logits"], "probabilities", axis=1)


class _Graph:
    """Nodes and constants in the making."""

    def __init__(self, helper: Any, int64: int) -> None:
        self.helper = helper
        self.int64 = int64
        self.nodes: list[object] = []
        self.initializers: list[object] = []

    def node(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(self.helper.make_node(operator, inputs, [output], **attributes))
        return output

    def constant(self, name: str, values: Array) -> str:
        from onnx import numpy_helper

        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name


def _scores(graph: _Graph, clf: Learner) -> str:
    """Add the scores of the lines, of the cells, or of both."""
    model = clf.fitted_.model
    if not isinstance(model, TableModel):
        planes = model.planes("coef_")
        if clf.missing != "ignore":
            return _scores_of_lines(graph, planes, "raw")
        graph.node("IsNaN", ["X"], "missing")
        graph.constant("nothing", np.zeros(1))
        balance = _scores_of_known_lines(graph, planes, model.midpoints())
        return graph.node("Add", [balance, graph.constant("unseen", model.constant)], "raw")
    scores = _scores_of_cells(
        graph, model.cells, model.constant, "raw" if model.lines is None else "of_cells"
    )
    if model.lines is None:
        return scores
    if clf.missing != "ignore":
        lines = _scores_of_lines(graph, model.lines, "of_lines")
    else:
        lines = _scores_of_known_lines(graph, model.lines, model.midpoints())
    return graph.node("Add", [scores, lines], "raw")


def _scores_of_lines(graph: _Graph, planes: Hyperplanes, output: str) -> str:
    """Add (X - low) @ coef + bias: without the lowest value, so that a large offset does not cancel.

    No node scales by a single number: onnxruntime would fuse it with the product, and in float32.
    """
    graph.node("Sub", ["X", graph.constant("low", planes.scaling.low)], "moved")
    graph.node("MatMul", ["moved", graph.constant("coef", planes.coef.T)], "weighed")
    return graph.node("Add", ["weighed", graph.constant("bias", planes.bias)], output)


def _scores_of_known_lines(graph: _Graph, planes: Hyperplanes, midpoints: Floats) -> str:
    """Add the parts of the values that are there: ``missing`` says which are not."""
    graph.node("Sub", ["X", graph.constant("low", planes.scaling.low)], "moved")
    graph.node("Where", ["missing", "nothing", "moved"], "moved_known")
    graph.node("Where", ["missing", "nothing", graph.constant("unit", np.ones(1))], "present")
    graph.node("MatMul", ["moved_known", graph.constant("coef", planes.coef.T)], "weighed")
    graph.node("MatMul", ["present", graph.constant("middle", (planes.weights * midpoints).T)], "threshold")
    return graph.node("Sub", ["weighed", "threshold"], "balance")


def _scores_of_cells(graph: _Graph, cells_of: CellTable, unseen: Floats, output: str) -> str:
    """Add the sum over features and ferns of the table's entry of the cell that a row lies in.

    The cell is the number of edges at or below the value. What is not a number makes the scores so, unless it
    has a cell.
    """
    coder, table = cells_of.coder, cells_of.entries
    lengths = np.diff(coder.starts)
    edges = np.full((coder.n_features, max(1, int(lengths.max(initial=0)))), np.inf)
    edges[np.arange(edges.shape[1]) < lengths[:, None]] = coder.edges
    values = "X"
    if coder.missing:
        graph.node("IsNaN", ["X"], "missing")
        values = graph.node("Where", ["missing", graph.constant("nothing", np.zeros(1)), "X"], "known")
    graph.node("Unsqueeze", [values, graph.constant("last", np.array([2]))], "one")
    graph.node("GreaterOrEqual", ["one", graph.constant("edges", edges)], "reached")
    graph.node("Cast", ["reached"], "ones", to=graph.int64)
    own = graph.node("ReduceSum", ["ones", "last"], "within", keepdims=0)
    if coder.missing:
        own = graph.node("Where", ["missing", graph.constant("gone", lengths + 1), "within"], "all")
    if coder.ferns is not None:
        own = graph.node(
            "Concat", [own, _cells_of_ferns(graph, coder.ferns, coder.unordered, own)], "both", axis=1
        )
    cells = graph.node("Add", [own, graph.constant("first", coder.offsets[:-1])], "cells")
    graph.node("Gather", [graph.constant("table", table.T), cells], "entries", axis=0)
    graph.node("ReduceSum", ["entries", graph.constant("features", np.array([1]))], "sums", keepdims=0)
    graph.node("Sub", [values, values], "none")  # or NaN
    graph.node("ReduceSum", ["none", "features"], "odd", keepdims=1)
    graph.node("Add", ["sums", graph.constant("unseen", unseen)], "summed")
    return graph.node("Add", ["summed", "odd"], output)


def _cells_of_ferns(graph: _Graph, ferns: Ferns, unordered: NDArray[np.bool_], cells: str) -> str:
    """Add the cell of every fern, from those of the features; a fern with fewer comparisons has idle ones."""
    lengths = np.diff(ferns.starts)
    there = np.arange(int(lengths.max())) < lengths[:, None]
    features, bounds, bits = np.zeros((3, *there.shape), dtype=np.int64)
    features[there], bounds[there] = ferns.features, ferns.bounds
    bits[there] = 1 << (lengths[:, None] - 1 - np.arange(there.shape[1]))[there]
    graph.node("Gather", [cells, graph.constant("asked", features)], "answering", axis=1)
    graph.node("GreaterOrEqual", ["answering", graph.constant("bounds", bounds)], "low_enough")
    highest = np.where(unordered[features], bounds, MOST_CELLS)
    graph.node("LessOrEqual", ["answering", graph.constant("highest", highest)], "high_enough")
    graph.node("And", ["low_enough", "high_enough"], "yes")
    nothing = graph.constant("no", np.zeros(1, dtype=np.int64))
    graph.node("Where", ["yes", graph.constant("bits", bits), nothing], "digits")
    return graph.node("ReduceSum", ["digits", "last"], "places", keepdims=0)


def _labels(classes: Array, types: Any) -> tuple[int, list[object]]:
    """Return the labels and their ONNX type."""
    kind = classes.dtype.kind
    if kind in "iu":
        return types.INT64, [int(label) for label in classes]
    if kind == "b":
        return types.BOOL, classes.tolist()
    if kind == "f":
        return types.DOUBLE, classes.tolist()
    texts = classes.tolist()
    return types.STRING, [label if isinstance(label, bytes) else label.encode() for label in texts]
