"""A file with offsets, as Kafka's own tool exports them: `topic,partition,offset` per line.

The offset is the next one to read. A first line with these words is a header, and is skipped.
"""

from pathlib import Path

from penstock.config import units
from penstock.config.mistakes import Refused, shown

MOST_BYTES = 16_000_000
HEADER = ["topic", "partition", "offset"]
FORM = "lines with topic,partition,offset, such as events,0,1200"


def offsets_of_file(name: str) -> dict[str, dict[int, int]]:
    """The offsets by topic and partition; raises `Refused` with the number of a wrong line."""
    found: dict[str, dict[int, int]] = {}
    partition_of, offset_of = units.whole(most=2**31 - 1), units.whole()
    for number, line in enumerate(_lines(name), start=1):
        cells = [cell.strip() for cell in line.split(",")]
        if not line.strip() or (number == 1 and [cell.lower() for cell in cells] == HEADER):
            continue
        if len(cells) != len(HEADER) or not cells[0]:
            raise Refused(f"line {number} of {shown(name)} is {shown(line)}", FORM)
        partition, offset = partition_of(cells[1]), offset_of(cells[2])
        if partition is None or offset is None:
            raise Refused(f"line {number} of {shown(name)} is {shown(line)}", FORM)
        if partition in found.setdefault(cells[0], {}):
            raise Refused(f"line {number} of {shown(name)} has a partition that is there", "once")
        found[cells[0]][partition] = offset
    if not found:
        raise Refused(f"{shown(name)} has no offset", FORM)
    return found


def _lines(name: str) -> list[str]:
    try:
        with Path(name).open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
        if len(raw) > MOST_BYTES:
            raise Refused(f"{shown(name)} is too large", f"at most {MOST_BYTES} bytes")
        return raw.decode("utf-8-sig").splitlines()
    except OSError as error:
        raise Refused(f"{shown(name)} cannot be read: {error.strerror}", "a file") from error
    except UnicodeDecodeError as error:
        raise Refused(f"{shown(name)} cannot be read as UTF-8", "a text file") from error
