"""Lines of text: escapes that nobody writes."""

import pytest

from penstock.api.file_format import FileUnreadable
from penstock.datapath.formats.text.text_lines import unescaped


@pytest.mark.parametrize("line", [b"\\", b"a\\x", b"\\\\\\", b"\\N"])
def test_an_escape_that_is_never_written_is_told(line: bytes) -> None:
    with pytest.raises(FileUnreadable, match="never written"):
        unescaped(line)
