"""The tree of errors in the documentation is the one in the code."""

import pytest

from tests.docs.error_tree import PAGE, error_tree, with_tree


def test_the_page_has_the_tree_of_today() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_tree(page), "run `python -m tests.docs.error_tree`"


def test_errors_of_every_room_are_in_the_tree() -> None:
    lines = error_tree().splitlines()
    rooms = {line.split()[-1] for line in lines}
    assert {"errors.py", "config/errors.py", "protocol/loop/errors.py", "spark/errors.py"} <= rooms
    assert any(line.split() == ["FormatChanged", "FORMAT_CHANGED", "protocol/loop/errors.py"]
               for line in lines)  # fmt: skip


def test_a_page_with_another_tree_is_noticed() -> None:
    page = PAGE.read_text(encoding="utf-8")
    doctored = page.replace(
        "FORMAT_CHANGED             protocol", "FORMAT_OTHER             protocol"
    )
    assert doctored != page
    assert with_tree(doctored) == page
    with pytest.raises(ValueError, match="0 places"):
        with_tree("# Errors\n")
