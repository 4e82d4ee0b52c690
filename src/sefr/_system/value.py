"""Values: frozen dataclasses whose cached properties follow from their fields and are not kept."""

from __future__ import annotations

from dataclasses import fields
from typing import Any


class Value:
    """Base of such dataclasses: copies and pickles hold the fields alone."""

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
