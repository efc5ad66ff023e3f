"""How records were read, as `status` prints it."""

from penstock.cli.status_rows import fitted
from penstock.model.read_ways import MOST_CONFLICTS, NO_COLUMN, Conflict, ReadWays, WayReason
from penstock.status.ways_text import rest_lines, ways_rows

ORDER = ReadWays(
    "order",
    fast=9_000,
    reference=1_000,
    reasons=(WayReason(NO_COLUMN, 700, "user.new"), WayReason("NOT_JSON", 300)),
    empty=12_345,
    rest=1_700,
    rows=9_700,
    conflicts=tuple(
        Conflict(f"f{number}", "int64", "string", 10 - number, "t", 0, number)
        for number in range(7)
    ),
)


def test_a_dataset_has_its_ways_with_the_main_reason_and_a_field() -> None:
    [row, plain] = ways_rows("events", [ORDER, ReadWays("view", fast=5)])
    assert list(row.values()) == [
        "events", "order", "9,000", "1,000", "90.0 %", "NO_COLUMN 700", "user.new",
        "12,345", "1,700",
    ]  # fmt: skip
    assert (plain["share"], plain["main reason"], plain["field"]) == ("100.0 %", None, None)


def test_more_fields_may_be_in_conflict_than_are_recorded() -> None:
    many = tuple(
        Conflict(f"f{number:02}", "int64", "string", 3, "t", 0, 0)
        for number in range(MOST_CONFLICTS)
    )
    [line] = rest_lines([ReadWays("order", 3, rest=3, conflicts=many)])
    assert line.endswith("f03, f04 and at least 15 more")


def test_rows_with_a_rest_are_told_with_the_fields_in_conflict() -> None:
    new = ReadWays("view", 5, rest=2, conflicts=(Conflict("n", "", "string", 2, "t", 0, 0),))
    assert list(rest_lines([ORDER, new])) == [
        "rows with `_rest`: 1,700 of 9,700 in order: f0, f1, f2, f3, f4 and 2 more"
    ]


def test_the_table_fits_a_hundred_columns() -> None:
    reason = WayReason("OTHER_TYPE", 1_234_567, "customer.addresses[].lines[].street_and_number")
    many = ReadWays(
        "purchase_orders_of_customers",
        fast=98_765_432,
        reference=1_234_567,
        empty=98_765_432,
        rest=1_234_567,
        reasons=(reason,),
    )
    [row] = fitted(list(ways_rows("a_feed_with_a_long_name", [many])), "field", "dataset", "feed")
    width = sum(max(len(name), len(str(row[name]))) + 2 for name in row) - 2
    assert width <= 100
    assert row["reference"] == "1,234,567", "only names are cut"
