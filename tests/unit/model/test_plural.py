"""Counts in sentences."""

from penstock.model.plural import number_of


def test_one_is_singular_and_all_else_plural() -> None:
    assert [number_of(n, "window") for n in (0, 1, 2)] == ["0 windows", "1 window", "2 windows"]
    assert number_of(1_234_567, "record") == "1,234,567 records"
    assert (number_of(1, "entry", "entries"), number_of(2, "entry", "entries")) == (
        "1 entry",
        "2 entries",
    )
