"""The words of store errors name the file that a person has to look at."""

import errno

from penstock.ports.store.os_errors import reason


def test_of_a_link_the_name_that_was_refused_is_told() -> None:
    """The file that is linked was written a moment ago, so its directory is not the cause."""
    denied = OSError(errno.EACCES, "Permission denied", "/lake/_penstock/tmp/a", None, "/lake/x/b")
    assert reason(denied) == "Permission denied ('/lake/x/b')"
    assert reason(OSError(errno.EACCES, "Permission denied", "/lake/a")) == (
        "Permission denied ('/lake/a')"
    )
    assert reason(OSError(errno.ENOSPC, "No space left on device")) == "No space left on device"
