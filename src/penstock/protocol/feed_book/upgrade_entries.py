"""Entries of older formats, brought to the present one when they are read. Pure.

Entries are never rewritten, so every format that was ever written stays readable. Each function
takes an entry as plain JSON from one format to the next; what lies in the lake is not touched.

    format 1   steps are names: `"steps": ["publish_files"]`
    format 2   steps are values: `"steps": [{"step": "publish_files"}]`
    format 3   windows and replays record `directories`, windows also `settings`; a replay says how
               many records it `consumed`, and may name corrections
    format 4   what consumes files names the groups that it `consumes`; `park` and `unpark` name a
               lane; deletions may have to wait; windows and replays name their configuration
               (`config`), and windows what records were read with (`reading`); long content is
               `packed`, in the entry or in its manifest; windows record their `cost`, values that
               plug-ins keep (`kept`), and why records are in the quarantine (`refused`);
               windows say which ranges share files (`file_plan`), and files to which `group` of
               ranges they belong: before, each range was one; ways of reading have the number of
               `rows`; `seal` is a new kind
    format 5   `finalize` is a new kind, `mark_complete` and `mark_late` are new steps; windows and
               replays say which `finalize` they know (`finalized_at`) and what of them is `late`;
               contents name directories that are `complete`; last records have the largest
               timestamp of their range;
               compactions name their `author`, and the sums of all values before and after
               (`input_sum`, `value_sum`)
"""

from collections.abc import Mapping

from penstock.protocol.journal.book import Json, JsonObject, Upgrade

STEPS_OF_FORMAT_1 = ("publish_files", "delete_inputs")


def from_1_to_2(entry: JsonObject) -> JsonObject:
    """Turn the names of steps into values."""
    body = entry.get("body")
    groups = body.get("groups") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(groups, list):
        return entry  # a kind without steps, or something that the decoder will refuse
    return {**entry, "body": {**body, "groups": [_with_step_values(group) for group in groups]}}


def _with_step_values(group: Json) -> Json:
    if not isinstance(group, dict):
        return group
    names = group.get("steps", ["publish_files"])  # what it was by default
    if not isinstance(names, list):
        return group
    return {**group, "steps": [_step_value(name) for name in names]}


def _step_value(name: Json) -> Json:
    if name not in STEPS_OF_FORMAT_1:
        raise ValueError(f"{name!r} is not a step of format 1")
    return {"step": name}


def from_2_to_3(entry: JsonObject) -> JsonObject:
    """Nothing was taken away, and nothing is recorded in older entries: see `known_directories`."""
    return entry


def from_3_to_4(entry: JsonObject) -> JsonObject:
    """Nothing was taken away. What is new has a default that says that it was not recorded.

    But for the rows of a dataset: where they were not counted, there is one for each record, as
    older versions told it.
    """
    body = entry.get("body")
    ways = body.get("ways") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(ways, list):
        return entry
    return {**entry, "body": {**body, "ways": [_with_rows(each) for each in ways]}}


def _with_rows(ways: Json) -> Json:
    """With a row for each record that was read; what is not in form is left to the decoder."""
    if not isinstance(ways, dict):
        return ways
    records = [count for way in ("fast", "reference") if isinstance(count := ways.get(way), int)]
    return {**ways, "rows": sum(records)}


def from_4_to_5(entry: JsonObject) -> JsonObject:
    """Nothing was taken away. What is new has a default that says that it was not recorded."""
    return entry


UPGRADES: Mapping[int, Upgrade] = {
    1: from_1_to_2,
    2: from_2_to_3,
    3: from_3_to_4,
    4: from_4_to_5,
}
