"""Counts and sizes in sentences."""

from penstock.model.plural import number_of, size_in_words


def test_one_is_singular_and_all_else_plural() -> None:
    assert [number_of(n, "window") for n in (0, 1, 2)] == ["0 windows", "1 window", "2 windows"]
    assert number_of(1_234_567, "record") == "1,234,567 records"
    assert (number_of(1, "entry", "entries"), number_of(2, "entry", "entries")) == (
        "1 entry",
        "2 entries",
    )


def test_a_size_has_the_unit_that_leaves_few_digits() -> None:
    sizes = {
        0: "0 bytes",
        1: "1 byte",
        999: "999 bytes",
        1_000: "1.0 KB",
        999_949: "999.9 KB",
        999_950: "1.0 MB",
        41_200_000: "41.2 MB",
        999_950_000: "1.0 GB",
        1_400_000_000_000: "1,400.0 GB",
    }
    assert {size: size_in_words(size) for size in sizes} == sizes
