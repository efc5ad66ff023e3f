"""Preconditions of requests: what the query says, and whether it holds for what is there."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from penstock.testing.gcs_double.gcs_answers import CONDITION_NOT_MET, GcsRefusal


class HasGenerations(Protocol):
    """What is compared: an object as it is now."""

    @property
    def generation(self) -> int: ...

    @property
    def metageneration(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Conditions:
    """What must hold, each None where nothing is asked."""

    generation: int | None = None
    generation_not: int | None = None
    metageneration: int | None = None
    metageneration_not: int | None = None

    @classmethod
    def of(cls, query: Mapping[str, str], source: str = "") -> "Conditions":
        """Those of a query; with `Source`, those about the source of a copy."""

        def number(word: str) -> int | None:
            found = query.get(f"if{source}{word}")
            if found is not None and not found.isdecimal():
                raise GcsRefusal(400, "invalidParameter", f"Invalid value for: if{source}{word}")
            return None if found is None else int(found)

        return cls(
            number("GenerationMatch"),
            number("GenerationNotMatch"),
            number("MetagenerationMatch"),
            number("MetagenerationNotMatch"),
        )

    def check(self, found: HasGenerations | None) -> None:
        """Raise 412 for a match that fails, 304 for a difference that is asked for and missing.

        Zero stands for: nothing is there.
        """
        generation = 0 if found is None else found.generation
        metageneration = None if found is None else found.metageneration
        if self.generation not in (None, generation):
            raise _not_met(412)
        if self.metageneration not in (None, metageneration):
            raise _not_met(412)
        if self.generation_not is not None and self.generation_not == generation:
            raise _not_met(304)
        if self.metageneration_not is not None and self.metageneration_not == metageneration:
            raise _not_met(304)


def _not_met(status: int) -> GcsRefusal:
    return GcsRefusal(status, "conditionNotMet", CONDITION_NOT_MET)
