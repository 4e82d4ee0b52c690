"""Values: frozen dataclasses whose cached properties follow from their fields and are not kept."""

from __future__ import annotations

from dataclasses import fields

from .types import Fields


class Value:
    """Base of such dataclasses: copies and pickles hold the fields alone."""

    def __getstate__(self) -> Fields:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def __setstate__(self, state: Fields) -> None:
        self.__dict__.update(state)
