"""Parsers for the arguments of `penstock offsets`: topics, times, durations, numbers."""

import argparse
import re
import time
from datetime import UTC, datetime

from penstock.care.reset_targets import Target, TopicChoice, parse_choice
from penstock.config.units import duration_s

MOST_OFFSET = 2**63 - 1
_ISO_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")
_ISO_SECONDS = (86_400, 3_600, 60, 1)
_WHOLE = re.compile(r"[+-]?\d{1,19}", re.ASCII)


def topic_choice(text: str) -> TopicChoice:
    """`events`, or `events:0,1`."""
    choice = parse_choice(text)
    if choice is None:
        raise argparse.ArgumentTypeError(f"{text!r} is neither TOPIC nor TOPIC:0,1")
    return choice


def at_time(text: str) -> Target:
    """A time. Without a zone it is UTC, as in Kafka's own tool."""
    try:
        found = datetime.fromisoformat(text)
        known = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
        return Target("time", max(int(known.timestamp() * 1000), 0))
    except (ValueError, OverflowError) as error:
        wanted = "2026-11-01T00:00:00Z"
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as {wanted}") from error


def ago(text: str) -> Target:
    """A duration back from now: Penstock's form, or that of Kafka's own tool."""
    seconds = duration_s(text)
    match = _ISO_DURATION.fullmatch(text)
    if seconds is None and match is not None and any(match.groups()):
        parts = zip(match.groups(), _ISO_SECONDS, strict=True)
        seconds = sum(float(number or 0) * unit for number, unit in parts)
    if seconds is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration such as 30s, 5m, 1h or PT1H")
    return Target("time", max(int((time.time() - seconds) * 1000), 0))


def to_offset(text: str) -> Target:
    """An offset."""
    return Target("offset", _whole(text, least=0))


def shift_by(text: str) -> Target:
    """A difference of offsets, which may be negative."""
    return Target("shift", _whole(text, least=-MOST_OFFSET))


def to_group(text: str) -> Target:
    """Where a consumer group stopped."""
    if not text.strip():
        raise argparse.ArgumentTypeError("the name of the group is empty")
    return Target("group", word=text)


def from_file(text: str) -> Target:
    """A file with offsets."""
    return Target("file", word=text)


def _whole(text: str, least: int) -> int:
    if not _WHOLE.fullmatch(text) or not least <= int(text) <= MOST_OFFSET:
        raise argparse.ArgumentTypeError(f"{text!r} is not an offset")
    return int(text)
