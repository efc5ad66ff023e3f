"""What an error of the operating system says about an act: refused, or nobody knows."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.errors import OutcomeUnknown, StoreUnavailable

# With these the kernel has looked and declined, so a name was neither made nor taken away. Any
# other error, EIO above all, or ESTALE and a timeout of a network, may follow the act itself.
_REFUSALS = frozenset(
    {
        errno.EACCES,
        errno.EDQUOT,
        errno.EINVAL,
        errno.EISDIR,
        errno.ELOOP,
        errno.EMLINK,
        errno.ENAMETOOLONG,
        errno.ENOENT,
        errno.ENOSPC,
        errno.ENOTDIR,
        errno.ENOTEMPTY,
        errno.ENOTSUP,
        errno.EPERM,
        errno.EROFS,
    }
)


def is_refusal(error: OSError) -> bool:
    """True when the error proves that a link or an unlink did not happen."""
    return error.errno in _REFUSALS


def reason(error: OSError) -> str:
    """The words for an error, with the file it is about; of two, the one that was to be made.

    A link is made from a file that was just written: what is refused is its new name.
    """
    if error.errno == errno.ELOOP:
        return f"{error.filename!r} is a symbolic link, and links are never followed"
    words = error.strerror or str(error)
    about = error.filename2 or error.filename
    return f"{words} ({about!r})" if about else words


@contextmanager
def before_it_begins(act: str, key: str) -> Iterator[None]:
    """Around reads, and around work that nobody can see yet: an error means nothing changed."""
    try:
        yield
    except OSError as error:
        raise StoreUnavailable(act, key, reason(error)) from error


@contextmanager
def after_it_began(act: str, key: str) -> Iterator[None]:
    """Around work after the visible act: an error leaves the outcome unknown."""
    try:
        yield
    except OSError as error:
        raise OutcomeUnknown(act, key, reason(error)) from error


@contextmanager
def while_it_happens(act: str, key: str) -> Iterator[None]:
    """Around the visible act itself: the kind of error tells."""
    try:
        yield
    except OSError as error:
        if is_refusal(error):
            raise StoreUnavailable(act, key, reason(error)) from error
        raise OutcomeUnknown(act, key, reason(error)) from error
