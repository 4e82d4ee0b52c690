"""What differs in the command between models of classes and of numbers: what is said, shown and written.

A command asks :func:`words_of` a model, and does not ask which of both it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from .._answers.contributions import names_of_features
from .._weights.auto import IN_WORDS, AutoChoice
from ..classifier import SEFRClassifier
from ..displays import effects, strongest_features
from ..files import ColumnRecipe, Dataset, SourceError
from ..files.label_column import coded, like_the_model
from ..files.learning import evaluate_model, learn
from ..files.numbers import NumberRows, predicted_numbers
from ..files.reader import NUMBER, TEXT
from ..regressor import SEFRRegressor
from .picture import gallery
from .screen import MOST_PATH, Screen, bar, grid, shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._rows.matrix import Matrix
    from .._summary.summary import Summary
    from .._system.types import Array, Fields
    from ..base import Learner
    from ..comparison import Errors
    from ..files.dataset import Batch
    from ..files.learning import Confusion, Tick
    from .predict import AnswerColumns

MOST_CLASSES_SHOWN = 20
# More different numbers than the first, with fewer rows each than the second, look like a quantity.
MOST_WHOLE_LABELS, FEW_PER_LABEL = 20, 20


class ClassWords:
    """A model of classes."""

    has_pictures = True
    sides, digits = "against │ for", ".3f"  # of the parts of an answer

    def __init__(self, clf: SEFRClassifier) -> None:
        self.clf = clf

    @property
    def counted(self) -> str:
        """How many classes there are."""
        return f"{len(self.clf.classes_)} classes"

    def rows_of_classes(self) -> Fields:
        """Return how many rows it knows of each class, for JSON."""
        counts = zip(self.clf.classes_.tolist(), self.clf.summary_.counts.tolist(), strict=True)
        return {"classes": [{"label": label, "rows": whole(rows)} for label, rows in counts]}

    def told(self, count: int) -> Fields:
        """Return what it has learned, for JSON."""
        return {"strongest": strongest_features(self.clf, count)}

    def show_strongest(self, screen: Screen, count: int = 5) -> None:
        """Show the strongest features: a bar each for two classes, a line per class for more."""
        classes = self.clf.classes_.tolist()
        if len(classes) == 2:
            sides = f"{shown(classes[0], 20)} │ {shown(classes[1], 20)}"
            screen.print(_effects(strongest_features(self.clf, count)[0]["features"], sides))
            return
        table = grid("class", "rows", "strongest features (+ for, - against)", right=["rows"])
        lines = zip(strongest_features(self.clf, 4), self.clf.summary_.counts, strict=True)
        for line, rows in list(lines)[:MOST_CLASSES_SHOWN]:
            best = "  ".join(
                f"{shown(item['feature'], 30)} {item['effect']:+.2f}" for item in line["features"]
            )
            table.add_row(shown(line["label"], 30), f"{rows:,.0f}", shown(best, 300))
        if len(classes) > MOST_CLASSES_SHOWN:
            table.add_row(f"and {len(classes) - MOST_CLASSES_SHOWN} more; --json has all")
        screen.print(table)

    def show_training(self, screen: Screen, label: str) -> Fields:
        """Show what it has learned, and what to doubt; return it for JSON."""
        clf = self.clf
        many, rows = len(clf.classes_), clf.summary_.n_rows
        if clf.classes_.dtype.kind in "iuf" and many > MOST_WHOLE_LABELS and rows / many < FEW_PER_LABEL:
            screen.note(
                f"warning: {label!r} has {many:,} different numbers in {rows:,.0f} rows. If it is a "
                "quantity, a class for each of them predicts it badly: --task regress predicts numbers"
            )
        choice = None
        if clf.auto:
            found = clf.auto_
            screen.line(_chosen(found))
            choice = {
                "weights": dict(found.weights),
                "log_loss": dict(found.log_loss),
                "interactions": found.n_ferns,
                "held_out_rows": found.n_held_out,
            }
        self.show_strongest(screen)
        return self.rows_of_classes() | {"passes": clf.n_passes_, "auto": choice} | self.told(10)

    def explain(self, screen: Screen, count: int) -> None:
        """Show the strongest features of every class."""
        for line in strongest_features(self.clf, count):
            screen.print(_effects(line["features"], self.sides, title=shown(line["label"])))
            screen.print()

    def show_picture(self, screen: Screen, image: tuple[int, int]) -> None:
        """Show effects as pixels."""
        screen.pixels(gallery(effects(self.clf), self.clf.fitted_.subjects, image, screen.out))

    def title(self, record: Fields) -> str:
        """Return an answer, what is true, and the score."""
        truth = "" if record["truth"] in (None, record["answer"]) else f" but truly {shown(record['truth'])}"
        score = f"score for {shown(record['speaks_for'])} {record['score']:+.3f}"
        return f"{record['place']}: {shown(record['answer'])}{truth}, {score}"

    def label_type(self, table: Dataset, label: str | None) -> str:
        """Return how the column of labels is read."""
        return table.columns.get(label or "", TEXT) if table.typed else TEXT

    def truths(self, batch: Batch, column: pa.ChunkedArray, table: Dataset, label: str) -> list[Any] | None:
        """Return the labels of a column; None if some are missing."""
        if column.null_count:
            return None
        classes, codes = coded(column, label, batch.place, typed=table.typed)
        known: list[Any] = like_the_model(classes, self.clf.classes_, label, typed=table.typed)[
            codes
        ].tolist()
        return known

    def refuse_columns(self, path: str, wanted: AnswerColumns) -> None:
        """Raise an error for what only a model of numbers has."""
        if wanted.interval is not None:
            raise SourceError(f"{path}: a model of classes has no --interval; it has --probabilities")

    def answers(self, X: Matrix, wanted: AnswerColumns) -> dict[str, pa.Array]:
        """Return the columns of the answers, by name."""
        clf, classes = self.clf, self.clf.classes_
        kinds = {"i": pa.int64(), "u": pa.uint64(), "b": pa.bool_(), "f": pa.float64()}
        kind = kinds.get(classes.dtype.kind, pa.string())
        found = {"prediction": pa.array(clf.predict(X).tolist(), type=kind)}
        if wanted.scores:
            scores = clf.decision_function(X)
            found |= {"score": pa.array(scores)} if scores.ndim == 1 else _by_label("score", classes, scores)
        if wanted.probabilities:
            found |= _by_label("probability", classes, clf.predict_proba(X))
        return found

    def agreement(self, host: Array, board: Array, unit: float | None) -> tuple[Fields, str]:
        """Return how the answers of a board agree with those of this computer, for JSON and in words."""
        share = float(np.mean(host == board))
        said = f"{share:.1%} of {len(host)} records get the same label as on this computer"
        return {"agreement": share}, said

    def summarise(self, table: Dataset, recipe: ColumnRecipe, tick: Tick) -> Summary:
        """Return the Summary of further rows."""
        clf, moments = self.clf, self.clf.fitted_.settings.moments
        return learn(table, recipe, missing=clf.missing, moments=moments, known=clf.classes_, tick=tick)

    def test(self, table: Dataset, recipe: ColumnRecipe, tick: Tick) -> Confusion:
        """Compare answers with the labels of a table."""
        return evaluate_model(table, recipe, self.clf, tick=tick)


class NumberWords:
    """A model of numbers: the methods are those of ``ClassWords``."""

    has_pictures = False
    sides, digits = "less │ more", ".4g"

    def __init__(self, reg: SEFRRegressor) -> None:
        self.reg = reg

    @property
    def counted(self) -> str:
        """What the numbers are about."""
        return f"numbers of mean {self.reg.base_:.5g}"

    def rows_of_classes(self) -> Fields:
        """Return nothing: there are no classes."""
        return {}

    def told(self, count: int) -> Fields:
        """Return what moves predictions, for JSON: all features."""
        noise = float(self.reg.noise_) if hasattr(self.reg, "noise_") else None
        return {"mean": float(self.reg.base_), "noise": noise, "importances": self._importances()}

    def _importances(self) -> list[Fields]:
        """Return the share of each feature, the greatest first; of a line with weights."""
        reg = self.reg
        names, shares = names_of_features(reg.fitted_), reg.feature_importances_
        # a model with bins has no weights; first moments and passes do not know their errors
        learned = {"weight": "coef_", "standard_error": "coef_std_"}
        weights = {name: getattr(reg, learned[name]) for name in learned if hasattr(reg, learned[name])}
        found: list[Fields] = []
        for j in np.argsort(-shares, kind="stable"):
            one: Fields = {"feature": names[j], "share": float(shares[j])}
            found.append(one | {name: float(values[j]) for name, values in weights.items()})
        return found

    def show_strongest(self, screen: Screen, count: int = 5) -> None:
        """Show how much of what moves predictions is of each feature; of a line with its weights."""
        found = self._importances()
        line = [name.replace("_", " ") for name in found[0] if name not in ("feature", "share")]
        table = grid("feature", "share", *line, right=["share", *line])
        for one in found[:count]:
            numbers = [f"{one['share']:.1%}"] + [f"{one[name.replace(' ', '_')]:+.4g}" for name in line]
            table.add_row(shown(one["feature"]), *numbers)
        if len(found) > count:
            table.add_row(f"and {len(found) - count} more; --json has all")
        screen.print(table)

    def show_training(self, screen: Screen, label: str) -> Fields:
        """Show what it has learned; return it for JSON."""
        told = self.told(5)
        if told["noise"] is not None:
            screen.line(f"{label} scatters about its predictions by {told['noise']:.4g}")
        self.show_strongest(screen)
        return {"task": "regress", **told}

    def explain(self, screen: Screen, count: int) -> None:
        """Show the mean, how far y scatters about predictions, and what moves these."""
        scatter = f", scatter about predictions {self.reg.noise_:.4g}" if hasattr(self.reg, "noise_") else ""
        screen.line(f"mean {self.reg.base_:.5g}{scatter}")
        self.show_strongest(screen, count)

    def title(self, record: Fields) -> str:
        """Return an answer, what is true, and the mean."""
        truth = "" if record["truth"] is None else f", truly {record['truth']:.5g}"
        return f"{record['place']}: {record['answer']:.5g}{truth}, from a mean of {self.reg.base_:.5g}"

    def label_type(self, table: Dataset, label: str | None) -> str:
        """Return how the column of numbers is read."""
        return table.columns.get(label or "", TEXT)

    def truths(self, batch: Batch, column: pa.ChunkedArray, table: Dataset, label: str) -> list[Any] | None:
        """Return the numbers of a column; None if it has others."""
        return column.to_pylist() if table.columns[label] == NUMBER else None

    def refuse_columns(self, path: str, wanted: AnswerColumns) -> None:
        """Raise an error for what only a model of classes has."""
        if wanted.scores or wanted.probabilities:
            raise SourceError(
                f"{path}: a model that predicts numbers has no --scores or --probabilities; it has --interval"
            )
        if wanted.check:
            raise SourceError(f"{path}: --check compares rows with those of classes, and this model has none")

    def answers(self, X: Matrix, wanted: AnswerColumns) -> dict[str, pa.Array]:
        """Return the predictions, and the ends of intervals if they are wanted."""
        share = wanted.interval
        found = (self.reg.predict(X),) if share is None else self.reg.predict(X, interval=share)
        return {name: pa.array(own) for name, own in zip(("prediction", "low", "high"), found, strict=False)}

    def agreement(self, host: Array, board: Array, unit: float | None) -> tuple[Fields, str]:
        """Return how far the answers of a board are from those of this computer."""
        most = float(np.abs(host - board).max())
        said = f"{len(host)} answers in units of {unit:g}, at most {most:.3g} from those of this computer"
        return {"unit": unit, "largest_difference": most}, said

    def summarise(self, table: Dataset, recipe: ColumnRecipe, tick: Tick) -> Summary:
        """Return the Summary of further rows."""
        rows = NumberRows(table, recipe, self.reg.missing, tick, self.reg.summary_.coder)
        return rows.summarise(self.reg.fitted_.settings)

    def test(self, table: Dataset, recipe: ColumnRecipe, tick: Tick) -> Errors:
        """Compare predictions with the numbers of a table."""
        from ..comparison import Errors  # takes 0.1 s to import

        return Errors.of(*predicted_numbers(table, recipe, self.reg, tick=tick))


def words_of(model: Learner) -> Any:
    """Return the words for a model: ``ClassWords`` or ``NumberWords``."""
    return NumberWords(model) if isinstance(model, SEFRRegressor) else ClassWords(model)


def show_parts(screen: Screen, words: Any, record: Fields) -> None:
    """Show the parts of one answer: a feature, its value, and what it adds."""
    title = shown(words.title(record), MOST_PATH)
    table = grid("feature", "value", "part", words.sides, title=title, right=["value", "part"])
    for part in record["parts"]:
        size = f"{part['part']:+{words.digits}}"
        table.add_row(shown(part["name"]), part["value"], size, bar(part["share"]))
    screen.print(table)
    screen.print()


def whole(rows: float) -> int | float:
    """Return a number of rows for JSON: an integer, unless rows count in part, as after ``decay``."""
    return int(rows) if float(rows).is_integer() else float(rows)


def _chosen(found: AutoChoice) -> str:
    """Say what ``--auto`` chose: how much each part counts, and how well their sum does."""
    words = {**IN_WORDS, "ferns": f"{IN_WORDS['ferns']} ({found.n_ferns})"}
    parts = " + ".join(
        f"{weight:.2f} x {words[name]}" for name, weight in found.weights.items() if weight >= 0.005
    )
    loss = found.log_loss.get("sum")
    held = "" if loss is None else f"; log loss {loss:.3f} of {found.n_held_out:,} rows that were held out"
    return f"auto: {parts or 'the base rate'}{held}"


def _effects(features: list[Fields], sides: str, **title: Any) -> Any:
    """Return a table of effects and scores."""
    table = grid("feature", "effect", "score", sides, right=["effect", "score"], **title)
    for item in features:
        numbers = f"{item['effect']:+.3f}", f"{item['score']:+.3f}"
        table.add_row(shown(item["feature"]), *numbers, bar(item["share"]))
    return table


def _by_label(what: str, labels: Array, values: NDArray[np.float64]) -> dict[str, pa.Array]:
    """Return a column per label."""
    return {f"{what}_{label}": pa.array(np.ascontiguousarray(values[:, k])) for k, label in enumerate(labels)}
