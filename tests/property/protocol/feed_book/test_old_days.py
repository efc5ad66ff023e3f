"""Which files are of days before a day, by their names alone."""

from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from penstock.model.day_directories import day_in, down_to_day
from penstock.protocol.feed_book.shard_names import file_shard, of_days_before

days = st.dates(min_value=date(1, 1, 1)).map(date.isoformat)
odd = st.sampled_from(["__HIVE_DEFAULT_PARTITION__", "2026-13-01", "2026-2-1", "", "20261115"])
levels = st.one_of(
    days.map("day={}".format),
    odd.map("day={}".format),
    st.integers(0, 23).map("hour={:02}".format),
    st.sampled_from(["by_day=2020-01-01", "by_country=de"]),
)


def finals(dataset: str) -> st.SearchStrategy[str]:
    parts = st.lists(levels, max_size=3)
    return parts.map(lambda each: "/".join(["feed", dataset, *each, "0_t_0_0-1_1-1.parquet"]))


@given(st.sampled_from(["orders", "order"]).flatmap(finals), days, st.sampled_from(["", "orders"]))
def test_a_file_is_old_if_the_first_day_of_its_directories_lies_before_the_day(
    final: str, before: str, dataset: str
) -> None:
    """Method: compare the choice of shards with dates of the calendar, level by level."""
    told = [part[4:] for part in final.split("/")[:-1] if part.startswith("day=")][:1]
    try:
        day = date.fromisoformat(told[0]) if told and len(told[0]) == 10 else None
    except ValueError:
        day = None
    is_old = day is not None and day < date.fromisoformat(before)
    is_meant = dataset in ("", final.split("/")[1])
    assert of_days_before(before, dataset)(file_shard(final)) == (is_old and is_meant)
    assert day_in(final) == ("" if day is None else day.isoformat())
    assert final.startswith(f"{down_to_day(final)}/")
