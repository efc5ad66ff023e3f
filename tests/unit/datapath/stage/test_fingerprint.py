"""Fingerprints: equal for records that are broken in the same way, and for no others."""

import uuid

import pytest

from penstock.datapath.stage.quarantine_writer import fingerprint


def alike(*details: str) -> bool:
    """True when these details are those of one group."""
    return len({fingerprint("A_REASON", detail, "json") for detail in details}) == 1


def test_ids_that_writers_choose_make_no_groups() -> None:
    """A header may name any schema; what it names must not flood the list."""
    guids = [str(uuid.UUID(int=7919 * n << 64 | n)) for n in range(100)]
    assert alike(*(f"no schema is called guid:{guid}" for guid in guids))
    assert alike(*(f"guid:{guid}: of an unknown type" for guid in guids))
    assert alike("no schema is called 17", "no schema is called 4294967295")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("$.line1: missing or null", "$.line2: missing or null"),
        ("$.items.v2.x: wanted int64, found text", "$.items.v3.x: wanted int64, found text"),
        ("$.n: out of range for int32", "$.n: out of range for int64"),
        ("address_1: absent or null", "address_2: absent or null"),
    ],
)
def test_a_digit_in_a_name_tells_fields_apart(one: str, other: str) -> None:
    assert not alike(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("invalid start byte (byte 4)", "invalid start byte (byte 1234)"),
        ("16777217 bytes, at most 16777216 are read", "99 bytes, at most 16 are read"),
        ("does not fit decimal(10, 2)", "does not fit decimal(5, 1)"),
        ("at: a time before 2000-01-01", "at: a time before 1999-12-31"),
        ("p: ValueError: 1e400 is too much", "p: ValueError: 7E5 is too much"),
        ("p: ValueError: 'a' is no name", "p: ValueError: 'b7 c' is no name"),
        ('p: KeyError: "it\'s"', 'p: KeyError: "x"'),
        ("expected ',' (byte 1)", "expected ',' (byte 2)"),
    ],
)
def test_values_do_not(one: str, other: str) -> None:
    assert alike(one, other)


def test_the_reason_and_the_format_count() -> None:
    assert fingerprint("A", "x", "json") != fingerprint("B", "x", "json")
    assert fingerprint("A", "x", "json") != fingerprint("A", "x", "avro")


def test_fingerprints_that_are_known_stay_as_they_are() -> None:
    """People write them into tickets; only details with names and digits have changed once."""
    assert fingerprint("NOT_JSON", "Input data was truncated", "json") == "11701593078a"
    assert fingerprint("TIME_MISSING", "at: absent or null", "json") == "bc02619bafb2"
