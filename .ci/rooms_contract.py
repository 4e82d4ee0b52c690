"""The contract of rooms for import-linter: layers, and methods that import from above when they are called.

A method of a lower room may need an engine, which lies above. It then imports the engine where it uses it,
and is named as a late import: ``importer -> imported``. Each is checked to stand inside a function: to
import the lower room is never to import the upper one.
"""

import ast
from pathlib import Path
from typing import Any

from importlinter import fields, output
from importlinter.contracts.layers import LayersContract
from importlinter.domain.contract import ContractCheck


class RoomsContract(LayersContract):
    """Layers, with ``late_imports``."""

    type_name = "rooms"

    late_imports = fields.ListField(subfield=fields.StringField())

    def check(self, graph: Any, verbose: bool) -> ContractCheck:
        """Check the late imports one by one, then the layers without them."""
        wrong = []
        for each in self.late_imports:
            importer, imported = each.split(" -> ")
            lines = [
                found["line_number"]
                for found in graph.get_import_details(importer=importer, imported=imported)
            ]
            if not lines:
                wrong.append(f"{each}: there is no such import")
                continue
            late = lines_within_functions(importer)
            wrong += [f"{each}: line {line} stands outside a function" for line in lines if line not in late]
            graph.remove_import(importer=importer, imported=imported)
        found = super().check(graph, verbose)
        found.metadata["late_imports"] = wrong
        return ContractCheck(kept=found.kept and not wrong, warnings=found.warnings, metadata=found.metadata)

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Say which late imports are none, and what the layers' contract says."""
        for line in check.metadata["late_imports"]:
            output.print_error(line)
        super().render_broken_contract(check)


def lines_within_functions(module: str) -> set[int]:
    """Return the lines of a module's import statements that run only when a function is called."""
    source = Path(__file__).parents[1] / "src" / module.replace(".", "/")
    path = source / "__init__.py" if source.is_dir() else source.with_suffix(".py")
    functions = [
        node
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return {
        node.lineno
        for function in functions
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
