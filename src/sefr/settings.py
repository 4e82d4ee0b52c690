"""Settings: every parameter of an estimator, declared once.

``Settings`` are those of a classifier, ``NumberSettings`` those of a regressor. The estimator, the command,
spark.ml, the model file and comparisons read here what a setting is called, what it may be, how it is written
down and what it means. ``tests/test_settings.py`` takes each setting through all of them, and fails if one of
them forgets it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np

from ._rows.cells.coder import check_bins
from ._rows.cells.ferns import check_interactions
from ._rows.cells.learn import AnyCut, Cut
from ._rows.cells.plain import parts_of, plain_interactions, plain_parts
from ._system import declarations as declared
from ._system.members import ModelFileError, numbers_of
from ._system.threads import check_n_jobs
from ._system.types import Bins, ClassWeight, Fields, Interactions, Scale
from ._system.value import Value

# auto=True: the most bins of a feature. A regressor solves for a column per cell, so that it also limits the
# cells of all features together (about so many) and the interactions.
AUTO_BINS = 32
AUTO_CELLS, AUTO_INTERACTIONS = 2048, 40
# What auto=True chooses.
CHOSEN = ("bins", "interactions", "passes", "moments")


def _same(value: Any) -> Any:
    return value


def _is_whole(value: Any) -> bool:
    return type(value) is int or isinstance(value, Integral)  # isinstance against an ABC costs 1 us


@dataclass(frozen=True)
class Kind:
    """What is known of a setting beside its name, its type and its default.

    ``meaning`` is its sentence in help texts; ``check`` raises a ValueError for a value without a meaning;
    ``to_json`` and ``from_json`` (which is given the number of features) are its form in a model file;
    ``to_text`` and ``from_text`` its form as an option of the command and as a parameter of spark.ml, None if
    it has none there. ``trained`` says whether what is learned depends on it.
    """

    meaning: str
    check: Callable[[Any], None]
    to_json: Callable[[Any], Any] = _same
    from_json: Callable[[Any, int], Any] = lambda value, n_features: value
    to_text: Callable[[Any], str] | None = None
    from_text: Callable[[str], Any] | None = None
    trained: bool = True


def _check_scale(scale: Any) -> None:
    if isinstance(scale, str) and scale != "minmax":
        raise ValueError(f"scale must be 'minmax', None or a pair (low, high), not {scale!r}")


def _scale_to_json(scale: Any) -> Any:
    if scale is None or isinstance(scale, str):
        return scale
    return [side if isinstance(side, int) else np.asarray(side, float).tolist() for side in scale]


def _scale_from_json(scale: Any, n_features: int) -> Any:
    if not isinstance(scale, list):
        return scale
    for side in scale:
        each = isinstance(side, list)
        numbers_of(side if each else [side], "scale", (n_features if each else 1,))
    return tuple(scale)


def _scale_to_text(scale: Any) -> str:
    if scale is None or isinstance(scale, str):
        return scale or "none"
    return ":".join(repr(float(side)) for side in scale)


def _scale_from_text(text: str) -> Any:
    if text in ("minmax", "none"):
        return None if text == "none" else text
    try:
        low, high = (float(side) for side in text.replace(",", ":").split(":"))
    except ValueError:
        raise ValueError(f"scale must be minmax, none or LOW:HIGH, not {text!r}") from None
    return low, high


def _check_epsilon(epsilon: Any) -> None:
    if not (type(epsilon) is float or isinstance(epsilon, Real)) or not 0 <= float(epsilon) < np.inf:
        raise ValueError(f"epsilon must be a number from 0 up, not {epsilon!r}")


def _epsilon_from_json(epsilon: Any, n_features: int) -> Any:
    if type(epsilon) not in (int, float):
        raise ModelFileError("settings: epsilon must be a number")
    return epsilon


def _check_missing(missing: Any) -> None:
    if missing not in ("error", "ignore"):
        raise ValueError(f"missing must be 'error' or 'ignore', not {missing!r}")


def _class_weight_to_json(weights: Any) -> Any:
    if not isinstance(weights, Mapping):
        return weights
    return [
        [label.item() if isinstance(label, np.generic) else label, float(weight)]
        for label, weight in weights.items()
    ]


def _check_class_weight(weights: Any) -> None:
    """Accept anything: which labels there are is known when the Summary is solved."""


def _class_weight_from_text(text: str) -> Any:
    if text in ("none", "balanced"):
        return None if text == "none" else text
    raise ValueError(f"class_weight must be none or balanced, not {text!r}")


def _number_or(plain: Callable[[Sequence[Any]], Any]) -> Callable[[Any], Any]:
    """Return what writes None, a whole number, or else what ``plain`` makes of it."""

    def to_json(value: Any) -> Any:
        if value is None:
            return None
        return int(value) if isinstance(value, int | np.integer) else plain(value)

    return to_json


def _whole_from_text(text: str) -> int | None:
    if text in ("none", "0", ""):
        return None
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"a whole number or none, not {text!r}") from None


def _none_or_text(value: Any) -> str:
    return "none" if value is None else str(value)


def _check_nothing(value: Any) -> None:
    """Accept anything here: ``Settings.check`` compares it with another setting."""


def _check_passes(passes: Any) -> None:
    if not _is_whole(passes) or isinstance(passes, bool) or passes < 1:
        raise ValueError(f"passes must be a whole number from 1 up, not {passes!r}")


def _check_number_scale(scale: Any) -> None:
    if scale is None or (isinstance(scale, str) and scale != "minmax"):
        raise ValueError(f"scale must be 'minmax' or a pair (low, high), not {scale!r}")


def _check_moments(moments: Any) -> None:
    if not _is_whole(moments) or isinstance(moments, bool) or moments not in (1, 2):
        raise ValueError(f"moments must be 1 or 2, not {moments!r}")


def _jobs_from_json(n_jobs: Any, n_features: int) -> Any:
    if n_jobs is not None and type(n_jobs) is not int:
        raise ModelFileError("settings: n_jobs must be a whole number")
    return n_jobs


def _check_auto(auto: Any) -> None:
    if not isinstance(auto, bool | np.bool_):
        raise ValueError(f"auto must be True or False, not {auto!r}")


def _auto_from_text(text: str) -> bool:
    if text not in {"True", "False"}:
        raise ValueError(f"auto must be True or False, not {text!r}")
    return text == "True"


def _check_verbose(verbose: Any) -> None:
    if not _is_whole(verbose):
        raise ValueError(f"verbose must be a whole number, not {verbose!r}")


_SCALE = Kind(
    declared.SCALE.meaning, _check_scale, _scale_to_json, _scale_from_json, _scale_to_text, _scale_from_text
)
_EPSILON = Kind(declared.EPSILON.meaning, _check_epsilon, float, _epsilon_from_json, repr, float)
_MISSING = Kind(declared.MISSING.meaning, _check_missing, to_text=str, from_text=str)
_CLASS_WEIGHT = Kind(
    declared.CLASS_WEIGHT.meaning,
    _check_class_weight,
    _class_weight_to_json,
    lambda value, n_features: dict(value) if isinstance(value, list) else value,
    _none_or_text,
    _class_weight_from_text,
)
_BINS = Kind(
    declared.BINS.meaning,
    check_bins,
    _number_or(plain_parts),
    lambda value, n_features: parts_of(value) if isinstance(value, list) else value,
    _none_or_text,
    _whole_from_text,
)
_INTERACTIONS = Kind(
    declared.INTERACTIONS.meaning,
    _check_nothing,
    _number_or(plain_interactions),
    to_text=_none_or_text,
    from_text=_whole_from_text,
)
_N_JOBS = Kind(
    declared.N_JOBS.meaning,
    check_n_jobs,
    lambda value: None if value is None else int(value),
    _jobs_from_json,
    trained=False,
)
_PASSES = Kind(declared.PASSES.meaning, _check_passes, int, to_text=str, from_text=int)
_MOMENTS = Kind(declared.MOMENTS.meaning, _check_moments, int, to_text=str, from_text=int)
_NUMBER_MOMENTS = replace(
    _MOMENTS,
    meaning="What is added up in the one pass: 2 the products of any two features, 1 each feature by itself: "
    "for very many features, less accurate.",
)
_NUMBER_PASSES = replace(
    _PASSES, meaning="With moments=1: how often training may read the rows; 20 or so are near moments=2."
)
_NUMBER_SCALE = replace(
    _SCALE,
    meaning="Ranges of features: minmax learns them, LOW:HIGH is a known one, of which bins are equal parts.",
    check=_check_number_scale,
)
_AUTO = Kind(declared.AUTO.meaning, _check_auto, bool)
_NUMBER_AUTO = replace(
    _AUTO,
    meaning="Nothing to choose: a sum of lines, curves and interactions, solved from one pass.",
    to_text=str,
    from_text=_auto_from_text,
)
_VERBOSE = Kind(declared.VERBOSE.meaning, _check_verbose, int, trained=False)


class AnySettings(Value):
    """The parameters of an estimator as one value that never changes; each has a field with its ``Kind``."""

    scale: Scale
    missing: str
    bins: Bins
    n_jobs: int | None
    moments: int
    # those that not every estimator has
    interactions: Interactions = None
    passes: int = 1
    verbose: int = 0
    epsilon: float = 0.0
    class_weight: ClassWeight = None
    auto: bool = False

    @classmethod
    def of(cls, estimator: object) -> Self:
        """Return the settings of an estimator; the first one that has no meaning is an error."""
        self = object.__new__(cls)
        given = vars(estimator)
        self.__dict__.update({name: given[name] for name in _declared(cls).kinds})
        self.check()
        return self

    def check(self) -> None:
        """Raise an error that names the first setting that has no meaning."""
        own, declared = self.__dict__, _declared(type(self))
        for name, default in declared.defaults:
            if own[name] is not default:  # a default needs no check
                declared.kinds[name].check(own[name])
        if self.interactions is not None:
            check_interactions(self.interactions, self.bins)
        if self.moments == 2 and self.passes > 1:
            raise ValueError(
                f"moments=2 is solved from the sums of one pass, passes={self.passes} reads the rows again: "
                "set one of them to 1"
            )
        if self.auto:
            self._check_choices()

    def _check_choices(self) -> None:
        defaults = dict(_declared(type(self)).defaults)
        names = [name for name in CHOSEN if name in defaults]
        if chosen := [name for name in names if getattr(self, name) != defaults[name]]:
            raise ValueError(
                f"auto=True chooses {', '.join(names[:-1])} and {names[-1]} itself: leave out "
                f"{' and '.join(chosen)}, or auto"
            )

    def refuse_sums(self) -> None:
        """Raise an error for settings that need rows, where there is a Summary."""
        if self.passes > 1:
            raise ValueError(
                f"passes={self.passes}: a Summary has no rows for further passes; use passes=1, or fit"
            )

    def params(self) -> Fields:
        """Return the settings as keyword arguments of the estimator."""
        return {name: getattr(self, name) for name in _declared(type(self)).kinds}

    def changed(self, changes: Fields) -> Self:
        """Return the same settings but for some."""
        return type(self)(**{**self.params(), **changes})

    @property
    def cut(self) -> AnyCut:
        """How features are cut into bins. With auto, ferns are grown later."""
        if self.auto:
            return Cut(AUTO_BINS, self.scale, self.missing, auto=True)
        return Cut.of(self.bins, self.scale, self.missing, self.interactions, self.moments)

    @property
    def readings(self) -> int:
        """How often rows are read: to learn where features are cut, for their sums, and in further passes."""
        return self.cut.readings + self.passes

    def shown(self) -> dict[str, str]:
        """Return what the model depends on, for people to read; "given" stands for lists.

        What ``auto`` chooses is not there.
        """
        kinds = _declared(type(self)).kinds
        own = {name: getattr(self, name) for name, kind in kinds.items() if kind.trained}
        if self.auto:
            own = {name: value for name, value in own.items() if name not in CHOSEN}
        return {
            name.replace("_", " "): "none" if value is None else str(value) if np.isscalar(value) else "given"
            for name, value in own.items()
        }

    def to_json(self) -> Fields:
        """Return the settings as a model file has them."""
        kinds = _declared(type(self)).kinds
        return {name: kinds[name].to_json(getattr(self, name)) for name in sorted(kinds)}

    @classmethod
    def from_json(cls, members: Fields, n_features: int) -> Self:
        """Return the settings of a model file, all of which are there, checked."""
        kinds = _declared(cls).kinds
        self = cls(**{name: kind.from_json(members[name], n_features) for name, kind in kinds.items()})
        self.check()
        return self


@dataclass(frozen=True, eq=False)
class Settings(AnySettings):
    """The parameters of a classifier."""

    scale: Scale = field(default=declared.SCALE.default, metadata={"kind": _SCALE})
    epsilon: float = field(default=declared.EPSILON.default, metadata={"kind": _EPSILON})
    missing: str = field(default=declared.MISSING.default, metadata={"kind": _MISSING})
    class_weight: ClassWeight = field(default=declared.CLASS_WEIGHT.default, metadata={"kind": _CLASS_WEIGHT})
    bins: Bins = field(default=declared.BINS.default, metadata={"kind": _BINS})
    interactions: Interactions = field(
        default=declared.INTERACTIONS.default, metadata={"kind": _INTERACTIONS}
    )
    n_jobs: int | None = field(default=declared.N_JOBS.default, metadata={"kind": _N_JOBS})
    passes: int = field(default=declared.PASSES.default, metadata={"kind": _PASSES})
    verbose: int = field(default=declared.VERBOSE.default, metadata={"kind": _VERBOSE})
    moments: int = field(default=declared.MOMENTS.default, metadata={"kind": _MOMENTS})
    auto: bool = field(default=declared.AUTO.default, metadata={"kind": _AUTO})

    def refuse_sums(self) -> None:
        """Raise an error for settings that need rows, where there is a Summary."""
        if self.auto:
            raise ValueError("auto=True: a Summary has no rows to weigh parts on; leave out auto, or use fit")
        super().refuse_sums()


@dataclass(frozen=True, eq=False)
class NumberSettings(AnySettings):
    """The parameters of a regressor."""

    moments: int = field(default=2, metadata={"kind": _NUMBER_MOMENTS})
    bins: Bins = field(default=None, metadata={"kind": _BINS})
    interactions: Interactions = field(default=None, metadata={"kind": _INTERACTIONS})
    scale: Scale = field(default="minmax", metadata={"kind": _NUMBER_SCALE})
    missing: str = field(default="error", metadata={"kind": _MISSING})
    n_jobs: int | None = field(default=None, metadata={"kind": _N_JOBS})
    passes: int = field(default=1, metadata={"kind": _NUMBER_PASSES})
    verbose: int = field(default=0, metadata={"kind": _VERBOSE})
    auto: bool = field(default=False, metadata={"kind": _NUMBER_AUTO})

    @property
    def cut(self) -> AnyCut:
        """How features are cut into bins."""
        if not self.auto:
            return super().cut
        return Cut(AUTO_BINS, self.scale, self.missing, AUTO_INTERACTIONS, 2, True, AUTO_CELLS)


def kinds(settings: type[AnySettings] = Settings) -> Iterator[tuple[str, Any, Kind]]:
    """Yield every setting: its name, its default and what is known of it."""
    for each in fields(settings):  # type: ignore[arg-type]
        yield each.name, each.default, each.metadata["kind"]


class _Declared(NamedTuple):
    kinds: dict[str, Kind]
    defaults: list[tuple[str, Any]]


_KNOWN: dict[type[AnySettings], _Declared] = {}


def _declared(settings: type[AnySettings]) -> _Declared:
    """Return what is known of settings, found out once."""
    if settings not in _KNOWN:
        own = list(kinds(settings))
        _KNOWN[settings] = _Declared(
            {name: kind for name, _, kind in own}, [(name, default) for name, default, _ in own]
        )
    return _KNOWN[settings]
