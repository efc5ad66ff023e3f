"""Fields that a schema has no column for, when they keep coming.

A field that is always null, or whose type is in conflict, is part of every record and never
becomes a column. Sending each such record to the reference would be exact and slow. So the parser
is given those fields too, as mere text: a few names per schema, the first that were met often.
"""

from operator import attrgetter

import numpy as np
import numpy.typing as npt

from penstock.datapath.codec.json.decode_plan import DecodePlan, may_be_renamed, widened
from penstock.datapath.codec.json.payload import Screen
from penstock.datapath.codec.json.reference import ReferenceDecoder
from penstock.datapath.codec.json.value_text import found_kind, name_text, says_nothing
from penstock.datapath.codec.shared.value_types import ParsedRecord

_OFTEN = 16
_MOST_NAMES = 32


def frequent_unknown(plan: DecodePlan) -> tuple[str, ...]:
    """The fields without a column that keep coming, as far as a parser can be told their names."""
    unknown_counts = plan.unknown_counts.items()
    often = [name for name, times in unknown_counts if times >= _OFTEN and may_be_renamed(name)]
    return tuple(sorted(often[:_MOST_NAMES]))


class UnknownFields:
    """Reads such fields along for one batch.

    The parser skips over them, so payloads whose skipped parts could be wrong are kept from it:
    the batch is screened once, the first time that anything is read along.
    """

    def __init__(self, screen: Screen, reference: ReferenceDecoder) -> None:
        self._screen = screen
        self._reference = reference
        self._suspects: set[int] | None = None

    def widen(self, plan: DecodePlan) -> DecodePlan:
        """The plan for the next chunk, with the fields that were met often."""
        if plan.decode is None or not plan.unknown_counts:
            return plan
        names = frequent_unknown(plan)
        if names == tuple(name for _, name in plan.extra_fields):
            return plan
        return widened(plan, names)

    def without_suspects(self, plan: DecodePlan, start: int, payloads: list[bytes]) -> list[bytes]:
        """The payloads of a chunk for the parser; a suspect is blanked, so it will refuse it."""
        if not plan.extra_fields:
            return payloads
        if self._suspects is None:
            self._suspects = self._screen.suspects()
        if not self._suspects:
            return payloads
        return [
            b"" if index in self._suspects else payload
            for index, payload in enumerate(payloads, start)
        ]

    def gather(
        self,
        plan: DecodePlan,
        objects: list[ParsedRecord],
        good: npt.NDArray[np.int64],
        left: dict[int, str],
    ) -> None:
        """Put the text of what was read along into `left`, by the number of its record."""
        numbers = good.tolist()
        found: dict[int, str] = {}
        for attribute, name in plan.extra_fields:
            label = name_text(name)
            for index, raw in zip(numbers, map(attrgetter(attribute), objects), strict=True):
                part = b"null" if raw is None else bytes(raw)
                if raw is not None and says_nothing(part):
                    self._reference.counts.empty += 1
                elif raw is not None:
                    text = part.decode()
                    path = plan.root.path_of(name)
                    self._reference.remember(path, index, part)
                    self._reference.counts.add_misfit((path, "", found_kind(part)), index)
                    before = found.get(index)
                    found[index] = f"{label}{text}" if before is None else f"{before},{label}{text}"
        for index, members in found.items():
            left[index] = f"{{{members}}}"
