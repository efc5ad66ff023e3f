"""Lines of text: split as the reference and as Python split them, whatever the bytes."""

import csv

from hypothesis import given
from hypothesis import strategies as st

from penstock.datapath.codec.text.text_reader import TextLayout, split_quoted
from tests.helpers.decoded_payloads import LOG, read


@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), min_size=1), max_size=20
    )
)
def test_texts_are_split_as_the_reference_splits_them(texts: list[str]) -> None:
    layout = TextLayout(delimiter=";", columns=("a", "b"))
    found = read(layout, *(text.encode() for text in texts))
    wanted = [split_quoted(text, ";") for text in texts]
    kept = [row for row, parts in enumerate(wanted) if parts is not None and len(parts) == 2]
    assert found.good.tolist() == kept
    assert [list(row.values()) for row in found.batch.to_pylist()] == [wanted[row] for row in kept]
    assert len(found.bad) == len(texts) - len(kept)


@given(st.lists(st.binary(max_size=60), max_size=20))
def test_no_bytes_do_harm_to_texts_around_them(payloads: list[bytes]) -> None:
    """Method: bytes that may be anything, each between two good records."""
    for layout, good in ((TextLayout(LOG), b"INFO /a"), (TextLayout("", ",", ("a", "b")), b"1,2")):
        values = [good, *(each for payload in payloads for each in (payload, good))]
        found = read(layout, *values)
        assert set(range(0, len(values), 2)) <= set(found.good.tolist())
        together = [*found.good.tolist(), *(bad.index for bad in found.bad)]
        assert sorted(together) == list(range(len(values)))
        assert found.batch.num_rows == len(found.good)
        found.batch.validate(full=True)


@given(st.text(alphabet='a ,"é\0', max_size=12))
def test_lines_are_split_as_python_splits_them(text: str) -> None:
    """As far as Python does: it takes line ends for the end of a record, and nothing for none."""
    try:
        [wanted] = list(csv.reader([text], strict=True))
    except csv.Error:
        assert split_quoted(text, ",") is None
        return
    assert split_quoted(text, ",") == (wanted or [""])
