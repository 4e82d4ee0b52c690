"""What the page takes from the Python package when it is built: templates, examples, version and settings.

Prints JSON. The templates of the exporter are compiled to JavaScript, so that the page needs no template
engine and no eval, and what it writes comes from the very files that ``sefr export`` uses.
"""

from __future__ import annotations

import json
import math
import random
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, nodes

from sefr import SEFRClassifier, SEFRRegressor, model_file
from sefr._answers import auto as answers
from sefr._rows.cells import Coder, grow, learn
from sefr._rows.cells.plain import plain_coder
from sefr._system import colours
from sefr._weights import auto as weights
from sefr.device.export import TEMPLATES
from sefr.device.export import library as library_folder
from sefr.device.names import OWNED, RESERVED
from sefr.device.windows import FEATURES, windows
from sefr.settings import AUTO_BINS, AUTO_CELLS, AUTO_INTERACTIONS
from sefr.signals import kernels

ROOT = Path(__file__).parents[1]
# The page writes no code with literals, and none of models with bins.
UNUSED = {"literals.j2", "cells.j2", "micropython.py.j2"}
COMPARISONS = {"eq": "===", "ne": "!==", "gt": ">", "gteq": ">=", "lt": "<", "lteq": "<="}
FILTERS = {"length": "{}.length", "abs": "Math.abs({})"}

HELPERS = """\
const s = (value) => String(value);
const t = (value) => Array.isArray(value) ? value.length > 0 : Boolean(value);
const get = (of, name) => {
  if (!(name in Object(of))) throw new Error(`a template asks for ${name}`);
  return of[name];
};
const each = (list, run) => {
  const all = [...list];
  all.forEach((item, i) => run(item, { index0: i, last: i + 1 === all.length }));
};
const range = (n) => [...Array(n).keys()];
"""
RENDER = """\
export const render = (name, context) => {
  const c = { range, ...context };
  return templates[name](c).render();
};
"""


class Compiler:
    """Turns the syntax tree of a template into a function (context) -> {macros, render}."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: list[set[str]] = [set()]

    def template(self, tree: nodes.Template) -> str:
        """Return the source of the function."""
        macros = [node for node in tree.body if isinstance(node, nodes.Macro)]
        body = [node for node in tree.body if not isinstance(node, nodes.Macro)]
        self.lines = ["(c) => {", "const macros = {};"]
        self.names[-1] |= {macro.name for macro in macros}
        for macro in macros:
            arguments = [argument.name for argument in macro.args]
            self.lines.append(
                f"const {macro.name} = macros.{macro.name} = ({', '.join(arguments)}) => {{ let o = '';"
            )
            self.block(macro.body, set(arguments))
            self.lines.append("return o; };")
        self.lines.append("const render = () => { let o = '';")
        self.block(body, set())
        self.lines.append("return o; };\nreturn { macros, render }; }")
        return "\n".join(self.lines)

    def block(self, body: list[nodes.Node], known: set[str]) -> None:
        """Write statements that know some names of their own; what branches set is known after them."""
        set_here = {
            found.target.name
            for node in body
            for found in _assigned(node)
            if isinstance(found.target, nodes.Name)
        }
        if set_here - known:
            self.lines.append(f"let {', '.join(sorted(set_here - known))};")
        self.names.append(known | set_here)
        for node in body:
            self.statement(node)
        self.names.pop()

    def branch(self, body: list[nodes.Node]) -> None:
        """Write the statements of a branch, which has no names of its own."""
        for node in body:
            self.statement(node)

    def statement(self, node: nodes.Node) -> None:
        """Write one statement."""
        if isinstance(node, nodes.Output):
            for part in node.nodes:
                text = (
                    json.dumps(part.data)
                    if isinstance(part, nodes.TemplateData)
                    else f"s({self.value(part)})"
                )
                self.lines.append(f"o += {text};")
        elif isinstance(node, nodes.If):
            self.lines.append(f"if (t({self.value(node.test)})) {{")
            self.branch(node.body)
            for other in node.elif_:
                self.lines.append(f"}} else if (t({self.value(other.test)})) {{")
                self.branch(other.body)
            if node.else_:
                self.lines.append("} else {")
                self.branch(node.else_)
            self.lines.append("}")
        elif isinstance(node, nodes.For):
            target = node.target
            items = [item.name for item in target.items] if isinstance(target, nodes.Tuple) else [target.name]
            pattern = f"[{', '.join(items)}]" if isinstance(target, nodes.Tuple) else items[0]
            self.lines.append(f"each({self.value(node.iter)}, ({pattern}, loop) => {{")
            self.block(node.body, {*items, "loop"})
            self.lines.append("});")
        elif isinstance(node, nodes.Assign):
            self.lines.append(f"{node.target.name} = {self.value(node.node)};")
        elif isinstance(node, nodes.Import) and node.with_context:
            self.lines.append(f"c.{node.target} = templates[{self.value(node.template)}](c).macros;")
        else:
            raise NotImplementedError(f"{type(node).__name__} in a template of the exporter")

    def value(self, node: nodes.Node) -> str:
        """Return an expression."""
        if isinstance(node, nodes.Const):
            return json.dumps(node.value)
        if isinstance(node, nodes.Name):
            local = any(node.name in known for known in self.names)
            return node.name if local else f"get(c, {json.dumps(node.name)})"
        if isinstance(node, nodes.Getattr):
            return f"get({self.value(node.node)}, {json.dumps(node.attr)})"
        if isinstance(node, nodes.Getitem):
            return f"get({self.value(node.node)}, {self.value(node.arg)})"
        if isinstance(node, nodes.Call) and not node.kwargs:
            return f"{self.value(node.node)}({', '.join(map(self.value, node.args))})"
        if isinstance(node, nodes.CondExpr):
            other = "''" if node.expr2 is None else self.value(node.expr2)
            return f"(t({self.value(node.test)}) ? {self.value(node.expr1)} : {other})"
        if isinstance(node, nodes.Compare) and len(node.ops) == 1 and node.ops[0].op in COMPARISONS:
            sign = COMPARISONS[node.ops[0].op]
            return f"({self.value(node.expr)} {sign} {self.value(node.ops[0].expr)})"
        if isinstance(node, nodes.Test) and node.name == "none":
            return f"({self.value(node.node)} === null)"
        if isinstance(node, nodes.Not):
            return f"!t({self.value(node.node)})"
        if isinstance(node, nodes.And | nodes.Or):
            sign = "&&" if isinstance(node, nodes.And) else "||"
            return f"(t({self.value(node.left)}) {sign} t({self.value(node.right)}))"
        if isinstance(node, nodes.Concat):
            return f"({' + '.join(f's({self.value(part)})' for part in node.nodes)})"
        if isinstance(node, nodes.Mod) and isinstance(node.left, nodes.Const):
            return f"{self.value(node.left)}.replace('%d', {self.value(node.right)})"
        if isinstance(node, nodes.Add | nodes.Sub | nodes.Mul | nodes.Mod | nodes.Pow):
            return f"({self.value(node.left)} {node.operator} {self.value(node.right)})"
        if isinstance(node, nodes.Neg):
            return f"(-{self.value(node.node)})"
        if isinstance(node, nodes.FloorDiv):
            return f"Math.floor({self.value(node.left)} / {self.value(node.right)})"
        if isinstance(node, nodes.Filter) and node.name in FILTERS and not node.args:
            return FILTERS[node.name].format(self.value(node.node))
        raise NotImplementedError(f"{type(node).__name__} in a template of the exporter: {node}")


def _assigned(node: nodes.Node) -> list[nodes.Assign]:
    """Return the assignments of a statement and of its branches, which are of the block that it stands in."""
    if isinstance(node, nodes.Assign):
        return [node]
    if not isinstance(node, nodes.If):
        return []
    inner = [*node.body, *(part for other in node.elif_ for part in other.body), *node.else_]
    return [found for part in inner for found in _assigned(part)]


def templates() -> str:
    """Return the templates that the page uses as the source of a JavaScript module."""
    environment = Environment(keep_trailing_newline=True)  # noqa: S701 - the output is C
    compiled = []
    for path in sorted(TEMPLATES.glob("*.j2")):
        if path.name not in UNUSED:
            source = Compiler().template(environment.parse(path.read_text()))
            compiled.append(f"{json.dumps(path.name)}: {source}")
    return f"{HELPERS}const templates = {{\n{(',' + chr(10)).join(compiled)}\n}};\n{RENDER}"


def library() -> dict[str, str]:
    """Return the files of the device library that a sketch takes along, as the exporter copies them."""
    source = library_folder()
    files = [file for file in source.glob("sefr*") if file.suffix in {".h", ".c", ".S"}]
    files += (source / "body").glob("*.h")
    return {str(file.relative_to(source)): file.read_text() for file in sorted(files)}


def rows_of(head: list[str], rows: Iterable[list[object]]) -> str:
    """Return rows as CSV."""
    return "\n".join([",".join(head), *(",".join(map(str, row)) for row in rows)]) + "\n"


def digits() -> str:
    """Return scikit-learn's digits."""
    from sklearn.datasets import load_digits

    data = load_digits()
    head = [*(f"pixel_{i}_{j}" for i in range(8) for j in range(8)), "digit"]
    return rows_of(head, ([*map(int, x), int(y)] for x, y in zip(data.data, data.target, strict=True)))


def flowers() -> str:
    """Return scikit-learn's irises."""
    from sklearn.datasets import load_iris

    data = load_iris()
    head = ["sepal_length", "sepal_width", "petal_length", "petal_width", "species"]
    kinds = [str(name) for name in data.target_names]
    return rows_of(head, ([*map(float, x), kinds[y]] for x, y in zip(data.data, data.target, strict=True)))


def gestures() -> str:
    """Return windows of an accelerometer's signal, made up by formulas: no person moved."""
    chance = random.Random(1)  # noqa: S311 - the same on every machine
    head = [f"{axis}_{feature}" for axis in "xyz" for feature in FEATURES]
    kinds = ("still", "wave", "circle", "tap") * 80
    return rows_of([*head, "gesture"], ([*_window(gesture, chance), gesture] for gesture in kinds))


def _window(gesture: str, chance: random.Random) -> list[int]:
    """One window of 64 samples at 100 Hz, in counts of which 256 are the weight of the board."""
    rate, start = chance.uniform(1.2, 2.4), chance.uniform(0, 2 * math.pi)
    size, knock = chance.uniform(90, 260), chance.randrange(8, 50)
    tilt = [chance.gauss(0, 25), chance.gauss(0, 25), 256 + chance.gauss(0, 8)]
    signal = []
    for i in range(64):
        angle = 2 * math.pi * rate * i / 100 * (1.6 if gesture == "wave" else 1) + start
        moved = {
            "still": (0.0, 0.0, 0.0),
            "wave": (size * math.sin(angle), 0.2 * size * math.cos(angle), 0.1 * size * math.sin(2 * angle)),
            "circle": (size * math.sin(angle), size * math.cos(angle), 0.1 * size * math.sin(angle)),
            "tap": (0.0, 0.0, 1.5 * size * math.exp(-abs(i - knock) / 1.5)),
        }[gesture]
        signal.append([round(t + m + chance.gauss(0, 12)) for t, m in zip(tilt, moved, strict=True)])
    return [int(value) for value in windows(np.array(signal), 64)[0]]


def signals() -> dict[str, Any]:
    """Return what the features of a signal are called, and the thresholds of their counts."""
    return {
        "taps": kernels.TAPS,
        "shapes": [kernels.shape_of(taps) for taps in kernels.TAPS],
        "laplace": kernels.LAPLACE,
        "golden": kernels.GOLDEN,
        "eighths": kernels.EIGHTHS,
        "whole": kernels.WHOLE,
        "perSegment": kernels.PER_SEGMENT,
    }


def auto() -> dict[str, Any]:
    """Return what auto=True is made with."""
    return {
        "bins": AUTO_BINS,
        "smallRows": answers.SMALL_ROWS,
        "parts": answers.PARTS,
        "partRows": answers.PART_ROWS,
        "mostFerns": answers.MOST_FERNS,
        "fernRows": grow.FERN_ROWS,
        "subsetRows": answers.SUBSET_ROWS,
        "mostSubsets": grow.MOST_SUBSETS,
        "step": answers.STEP,
        "passes": answers.PASSES,
        "furtherPasses": answers.FURTHER_PASSES,
        "fernPassesOfMany": answers.FERN_PASSES_OF_MANY,
        "far": answers.FAR,
        "mostHeld": answers.MOST_HELD,
        "tooSmall": answers.TOO_SMALL,
        "weaker": answers.WEAKER,
        "leastLogit": weights.LEAST_LOGIT,
        "depth": grow.DEPTH,
        "tried": grow.TRIED,
        "bounds": grow.BOUNDS,
        "sampleRows": learn.EDGE_ROWS,
        "numberCells": AUTO_CELLS,
        "numberFerns": AUTO_INTERACTIONS,
        "numberFernRows": grow.MOMENTS_ROWS,
        "numberDepth": grow.NUMBER_DEPTH,
        "numberStep": grow.number_step(AUTO_INTERACTIONS),
        "sweeps": grow.SWEEPS,
        "shy": grow.SHY,
    }


def main() -> None:
    """Print everything."""
    version = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())
    if version is None:
        raise SystemExit("meson.build has no version")
    parts: dict[str, Any] = {
        "about": {
            "version": version[1],
            "schema": model_file.SCHEMA,
            "settings": dict(sorted(SEFRClassifier().get_params().items())),
            "numberSettings": dict(sorted(SEFRRegressor().get_params().items())),
            "coder": plain_coder(Coder.of([], missing=False)),
        },
        "reserved": sorted(RESERVED),
        "owned": list(OWNED),
        "colours": {name: value for name, value in vars(colours).items() if name.isupper()},
        "templates": templates(),
        "signals": signals(),
        "auto": auto(),
        "library": library(),
        "examples": {"digits.csv": digits(), "flowers.csv": flowers(), "gestures.csv": gestures()},
    }
    json.dump(parts, sys.stdout)


if __name__ == "__main__":
    main()
