"""Names in the lake: nothing collides, nothing escapes, and what can be read back is the same."""

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from penstock.model.names import (
    MAX_COMPONENT_BYTES,
    CompactedName,
    FileName,
    GatheredName,
    decode_component,
    encode_component,
    epoch_of,
    parse_name,
    window_id,
    window_in,
    window_order,
    windows_in,
)
from penstock.ports.store.keys import check_component

# All of Unicode without halves of surrogate pairs, and more often the characters that matter here.
CHARACTERS = st.characters(exclude_categories=["Cs"]) | st.sampled_from("/\\%~_.- \0\n=aA0é")
VALUES = st.text(CHARACTERS, min_size=1, max_size=60)
LONG_VALUES = st.text(CHARACTERS, min_size=100, max_size=300)
COUNTS = st.integers(0, 2**63 - 1)
SEQUENCES = st.integers(0, 10**9) | st.from_regex(r"x[0-9a-f]{12}", fullmatch=True)


@given(VALUES | LONG_VALUES)
@example(".")
@example("..")
@example("_quarantine")
@example("\0")
@example("~")
def test_any_value_becomes_one_visible_component(value: str) -> None:
    name = encode_component(value)
    assert check_component(name) == name
    assert "/" not in name
    assert "\0" not in name
    assert name[0] not in "_."
    assert name.isascii()
    assert 1 <= len(name) <= MAX_COMPONENT_BYTES


@given(VALUES | LONG_VALUES, VALUES | LONG_VALUES)
@example("_a", "%5Fa")
@example("a/b", "a%2Fb")
@example("a~0123456789abcdef", "a%7E0123456789abcdef")
def test_two_values_never_share_a_name(one: str, other: str) -> None:
    assert (encode_component(one) == encode_component(other)) == (one == other)


@given(VALUES | LONG_VALUES)
def test_a_name_can_be_read_back_unless_it_was_cut_and_then_it_says_so(value: str) -> None:
    name = encode_component(value)
    assert decode_component(name) == (None if "~" in name else value)


@given(st.text("abc_.-", min_size=1, max_size=MAX_COMPONENT_BYTES))
def test_plain_short_names_are_not_cut(value: str) -> None:
    assume(value[0] not in "_.")
    assert encode_component(value) == value


@given(LONG_VALUES, VALUES, VALUES)
def test_long_values_with_a_common_beginning_are_cut_distinctly(
    common: str, one: str, other: str
) -> None:
    assume(one != other)
    first, second = encode_component(common * 2 + one), encode_component(common * 2 + other)
    assert "~" in first
    assert "~" in second
    assert first != second


def test_a_cut_never_leaves_half_an_escape() -> None:
    for lead in range(6):
        head, _, digest = encode_component("a" * lead + "é" * 60).partition("~")
        assert len(digest) == 16
        assert head.removeprefix("a" * lead).replace("%C3", "").replace("%A9", "") == ""


def test_an_empty_value_is_no_name() -> None:
    with pytest.raises(ValueError, match="empty"):
        encode_component("")


@given(
    COUNTS,
    VALUES | LONG_VALUES | st.just("t_1_2-3_4-5.rows"),
    COUNTS,
    st.tuples(COUNTS, COUNTS),
    st.tuples(COUNTS, SEQUENCES),
    st.sampled_from(["parquet", "zstd.parquet", "rows", "jsonl.gz"]),
)
def test_a_file_name_says_what_the_file_covers_whatever_the_topic_is_called(
    generation: int,
    topic: str,
    partition: int,
    covered: tuple[int, int],
    window: tuple[int, int | str],
    suffix: str,
) -> None:
    name = FileName(
        generation, encode_component(topic), partition, *covered, window_id(*window), suffix
    )
    assert FileName.parse(str(name)) == name
    assert check_component(str(name)) == str(name)


@given(
    COUNTS,
    VALUES
    | LONG_VALUES
    | st.sampled_from(["t_1_2-3_4-5.rows", "t_0..3_g1_4-5.rows", "t_0..3_g1", "t_7_0-9"]),
    st.tuples(COUNTS, COUNTS),
    COUNTS,
    st.tuples(COUNTS, SEQUENCES),
    st.sampled_from(["parquet", "zstd.parquet", "rows", "jsonl.gz"]),
)
def test_the_name_of_a_file_over_several_partitions_says_which_whatever_the_topic_is_called(
    generation: int,
    topic: str,
    partitions: tuple[int, int],
    group: int,
    window: tuple[int, int | str],
    suffix: str,
) -> None:
    word = encode_component(topic)
    name = GatheredName(generation, word, *partitions, group, window_id(*window), suffix)
    assert parse_name(f"feed/some dataset/day=2026-11-15/{name}") == name
    assert FileName.parse(str(name)) is None, "a name has one meaning"
    assert check_component(str(name)) == str(name)
    alone = FileName(generation, word, partitions[0], 0, group, window_id(*window), suffix)
    assert parse_name(f"feed/some dataset/{alone}") == alone
    assert GatheredName.parse(str(alone)) is None


@pytest.mark.parametrize(
    "stranger",
    [
        "",
        "0_t_0..3_0_1-1.rows",
        "0_t_0.3_g0_1-1.rows",
        "0_t_0..3_g_1-1.rows",
        "0_t_..3_g0_1-1.rows",
        "0_t_0..3_g0_11.rows",
        "0__0..3_g0_1-1.rows",
        "0_t_0..3_g0_1-1",
        "0_t_0..3_g0_1-1.rows\n",
    ],
)
def test_a_strange_name_of_several_partitions_is_not_guessed_at(stranger: str) -> None:
    assert parse_name(stranger) is None


@pytest.mark.parametrize(
    "stranger",
    [
        "",
        "_SUCCESS",
        "part-00000.parquet",
        "0_t_0_0-1_1-1",
        "0_t_0_0-1_11.rows",
        "0_t_0_01_1-1.rows",
        "0__0_0-1_1-1.rows",
        "x_t_0_0-1_1-1.rows",
        "-1_t_0_0-1_1-1.rows",
        "0_t_0_0-1_1-1.ROWS",
        "0_t_0_0-1_1-1.rows.staged_",
        "0_c12-14_1-1.rows",
        "0_t_0_0-1_1-1.rows\n",
    ],
)
def test_a_strange_file_name_is_not_guessed_at(stranger: str) -> None:
    assert FileName.parse(stranger) is None


@given(st.text(max_size=40))
def test_any_text_can_be_asked_for_its_meaning(text: str) -> None:
    found = FileName.parse(text)
    assert found is None or FileName.parse(str(found)) == found


@given(COUNTS, SEQUENCES)
def test_a_window_id_tells_its_epoch(epoch: int, sequence: int | str) -> None:
    assert epoch_of(window_id(epoch, sequence)) == epoch


@given(st.tuples(COUNTS, SEQUENCES), st.tuples(COUNTS, SEQUENCES))
def test_window_ids_are_distinct(one: tuple[int, int | str], other: tuple[int, int | str]) -> None:
    assert (window_id(*one) == window_id(*other)) == (one == other)


@pytest.mark.parametrize("text", ["", "1", "1-", "-1", "a-1", "1.0-1", " 1-1"])
def test_what_is_no_window_id_has_no_epoch(text: str) -> None:
    with pytest.raises(ValueError, match="not a window id"):
        epoch_of(text)


WINDOWS = st.tuples(st.integers(0, 10**6), SEQUENCES)


@given(
    COUNTS,
    VALUES
    | LONG_VALUES
    | st.sampled_from(["t_c1-1-1-2_4-5.rows", "t_c1-1-1-2", "t_0..3_g1", "t_c1-1-1-2_g1", "c1-2"]),
    st.tuples(WINDOWS, WINDOWS, WINDOWS),
    st.integers(0, 10**6),
    st.sampled_from(["parquet", "zstd.parquet", "rows", "jsonl.gz"]),
)
def test_the_name_of_a_compacted_file_says_which_windows_whatever_the_topic_is_called(
    generation: int,
    topic: str,
    windows: tuple[tuple[int, int | str], tuple[int, int | str], tuple[int, int | str]],
    group: int,
    suffix: str,
) -> None:
    first, last, own = (window_id(*each) for each in windows)
    word = encode_component(topic)
    name = CompactedName(generation, word, first, last, group, own, suffix)
    assert parse_name(f"feed/some dataset/day=2026-11-15/{name}") == name
    assert window_in(f"feed/some dataset/{name}") == own
    assert windows_in(name) == (first, last)
    assert check_component(str(name)) == str(name)
    gathered = GatheredName(generation, word, 0, 3, group, own, suffix)
    assert windows_in(gathered) == (own, own)
    assert CompactedName.parse(str(gathered)) is None, "a name has one meaning"


@pytest.mark.parametrize(
    "stranger",
    [
        "0_c1_1-x1.rows",
        "c1-x1.zstd.parquet",
        "0_t_c1-1_1-x1.rows",
        "0_t_c1-1-1-_1-x1.rows",
        "0_t_c1-1-1-2_g0_1-x1.rows",
        "0_t_c1-1-1-2_g01_1-x1.rows",
        "0__c1-1-1-2_1-x1.rows",
        "0_t_c1-1-1-2_1-x1",
        "0_t_c1-1-1-2_1-x1.rows\n",
    ],
)
def test_a_strange_name_of_a_compacted_file_is_not_guessed_at(stranger: str) -> None:
    assert parse_name(stranger) is None


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 99)), min_size=1))
def test_windows_are_in_order_of_their_epochs_and_numbers(
    windows: list[tuple[int, int]],
) -> None:
    ids = [window_id(*each) for each in windows]
    assert sorted(ids, key=window_order) == [window_id(*each) for each in sorted(windows)]


def test_commands_come_after_the_windows_of_their_epoch() -> None:
    ids = ["2-1", "1-x9", "1-10", "1-9", "1-x10"]
    assert sorted(ids, key=window_order) == ["1-9", "1-10", "1-x10", "1-x9", "2-1"]
