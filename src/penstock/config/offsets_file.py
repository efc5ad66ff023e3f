"""A file with offsets, as Kafka's own tool exports them: `topic,partition,offset` per line.

The offset is the next one to read. A first line with these words is a header, and is skipped.
"""

from pathlib import Path

from penstock.config import units
from penstock.config.mistakes import Refused, shown

MOST_BYTES = 16_000_000
HEADER = ["topic", "partition", "offset"]
FORM = "lines with topic,partition,offset, such as events,0,1200, each partition once"
MOST_SHOWN = 5
PARTITION, OFFSET = units.whole(most=2**31 - 1), units.whole()


def offsets_of_file(name: str) -> dict[str, dict[int, int]]:
    """The offsets by topic and partition; raises `Refused` that names all wrong lines."""
    found: dict[str, dict[int, int]] = {}
    wrong: list[str] = []
    for number, line in enumerate(_lines(name), start=1):
        cells = [cell.strip() for cell in line.split(",")]
        if not line.strip() or (number == 1 and [cell.lower() for cell in cells] == HEADER):
            continue
        place = _place_and_offset(cells)
        if place is None:
            wrong.append(f"line {number} is {shown(line)}")
        elif place[1] in found.setdefault(place[0], {}):
            wrong.append(f"line {number} names {place[0]}/{place[1]} a second time")
        else:
            found[place[0]][place[1]] = place[2]
    if wrong:
        more = f"; and {len(wrong) - MOST_SHOWN} more" if wrong[MOST_SHOWN:] else ""
        raise Refused(f"{shown(name)}: {'; '.join(wrong[:MOST_SHOWN])}{more}", FORM)
    if not found:
        raise Refused(f"{shown(name)} has no offset", FORM)
    return found


def _place_and_offset(cells: list[str]) -> tuple[str, int, int] | None:
    """What a line says; None if it is not such a line."""
    if len(cells) != len(HEADER) or not cells[0]:
        return None
    partition, offset = PARTITION(cells[1]), OFFSET(cells[2])
    return None if partition is None or offset is None else (cells[0], partition, offset)


def _lines(name: str) -> list[str]:
    try:
        with Path(name).open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
        if len(raw) > MOST_BYTES:
            raise Refused(f"{shown(name)} is too large", f"at most {MOST_BYTES} bytes")
        return raw.decode("utf-8-sig").splitlines()
    except OSError as error:
        found = f"{shown(name)} cannot be read: {error.strerror}"
        raise Refused(found, "a file that can be read") from error
    except UnicodeDecodeError as error:
        raise Refused(f"{shown(name)} cannot be read as UTF-8", "a text file") from error
