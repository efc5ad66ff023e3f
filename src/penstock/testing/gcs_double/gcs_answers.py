"""What the double answers: errors as the JSON API writes them, and resources in part."""

import json
import re
from collections.abc import Mapping

Json = dict[str, object]

CONDITION_NOT_MET = "At least one of the pre-conditions you specified did not hold."
BUCKET_ABSENT = "The specified bucket does not exist."


class GcsRefusal(Exception):
    """A request that is answered with an error: its status, its reason in one word, a sentence."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message


def absent(bucket: str, name: str) -> GcsRefusal:
    """The answer for an object that is not there."""
    return GcsRefusal(404, "notFound", f"No such object: {bucket}/{name}")


def error_body(status: int, reason: str, message: str) -> bytes:
    """The body of an error. A `304` has none."""
    detail = {"message": message, "domain": "global", "reason": reason}
    if reason == "conditionNotMet":
        detail |= {"locationType": "header", "location": "If-Match"}
    if status == 304:
        return b""
    return json.dumps({"error": {"code": status, "message": message, "errors": [detail]}}).encode()


def part_of(found: object, fields: str) -> object:
    """The part of an answer that `fields` asks for: `items(name,size),nextPageToken`."""
    if not fields or fields == "*":
        return found
    if isinstance(found, list):
        return [part_of(each, fields) for each in found]
    if not isinstance(found, Mapping):
        return found
    wanted = dict(_wishes(fields))
    return {key: part_of(value, wanted[key]) for key, value in found.items() if key in wanted}


def _wishes(fields: str) -> list[tuple[str, str]]:
    """Each field with what is wanted below it; `a/b` is another way to write `a(b)`."""
    found, depth, begin = [], 0, 0
    for place, sign in enumerate(f"{fields},"):
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            found.append(_wish(fields[begin:place].strip()))
            begin = place + 1
    return found


def _wish(field: str) -> tuple[str, str]:
    inner = re.fullmatch(r"([^(/]+)(?:\((.*)\)|/(.*))?", field)
    if inner is None:
        raise GcsRefusal(400, "invalidParameter", f"Invalid field selection {field}")
    return inner[1], inner[2] or inner[3] or ""
