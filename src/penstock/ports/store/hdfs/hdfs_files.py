"""Writing and reading whole files of HDFS, and reading pieces of them."""

import io
from collections.abc import Callable, Iterable
from typing import BinaryIO

from hdfs_native import Client, FileReader, FileStatus, FileWriter, WriteOptions

from penstock.errors import StoreUnavailable
from penstock.ports.store.hdfs.hdfs_calls import Calls, aside, given_up
from penstock.ports.store.hdfs.hdfs_failures import (
    ERRORS,
    PASSING,
    HdfsAnswer,
    Kind,
    ShortRead,
)

PIECE_BYTES = 2**20
BLOCK_BYTES = 4 * 2**20  # of a read
BUFFER_BYTES = 2**16  # small reads, such as those of a footer, are put together
# Closing waits for reports of data nodes: up to 15 s, says the client. Syncing waits for disks.
CLOSING_PATIENCE = 4.0


class HdfsFiles:
    """Whole files by their paths. Safe to share between threads."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        settings = calls.settings
        self._directory_mode = 0o777 & ~settings.umask
        self._options = {
            "permission": 0o666 & ~settings.umask,
            "replication": settings.replication,
        }

    def status(self, act: str, key: str, path: str) -> FileStatus | None:
        """What has this path; None when nothing has."""
        return self._calls.unless_absent(act, key, lambda client: client.get_file_info(path))

    def make_directory(self, act: str, key: str, path: str) -> None:
        """Make a directory and those above it; nothing happens when it is there."""

        def make(client: Client) -> None:
            client.mkdirs(path, self._directory_mode, create_parent=True)

        try:
            self._calls.send(act, key, make)
        except HdfsAnswer as answer:
            raise self._calls.odd_answer(act, key, answer.kind) from answer

    def write_new(
        self, act: str, key: str, path_of: Callable[[int], str], content: Callable[[], BinaryIO]
    ) -> str:
        """Write a file that nobody looks at yet, sync and close it; its path.

        Each try has a path of its own, `path_of(number)`, and reads the content again: what an
        earlier one has left may be open still, and belong to a writer that is taken for dead.
        Raises `StoreUnavailable` only.
        """
        calls = self._calls
        until = calls.waiting.tick() + calls.policy.within_s
        pauses = list(calls.policy.pauses_s(calls.waiting.random))
        number = 0
        while True:
            path = path_of(number)
            try:
                with content() as opened:
                    self._write(path, opened)
            except ERRORS as error:
                failure = calls.judge(error)
                # Also a file without an answer, and one that was taken from under our hands, is
                # only left behind; another path makes it as if nothing had happened.
                may_pass = failure.kind in PASSING or failure.kind in (Kind.ABSENT, Kind.TAKEN)
                if not may_pass or not pauses or calls.waiting.tick() > until:
                    raise given_up(act, key, failure, None) from error
            else:
                return path
            calls.waiting.sleep(pauses.pop(0))
            number += 1

    def read(self, key: str, path: str) -> bytes | None:
        """The whole content; None when no file has this path."""

        def read(client: Client) -> bytes:
            wanted = client.get_file_info(path).length
            return _whole(client.read(path).readall(), wanted)

        status = self.status("read", key, path)
        if status is None or status.isdir:
            return None
        if status.length <= BLOCK_BYTES:
            return self._calls.unless_absent("read", key, read)
        file = self.open(key, path)
        if file is None:
            return None
        with file:
            return file.read()

    def open(self, key: str, path: str) -> BinaryIO | None:
        """The content as a file; None when no file has this path."""

        def begin(client: Client) -> tuple[FileReader, int]:
            status = client.get_file_info(path)
            if status.isdir:
                raise IsADirectoryError(path)
            return client.read(path), status.length

        found = self._calls.unless_absent("read", key, begin)
        if found is None:
            return None
        return io.BufferedReader(HdfsFile(self._calls, key, *found), BUFFER_BYTES)

    def delete(self, act: str, key: str, path: str) -> None:
        """Delete a file; nothing happens when nothing is there. Raises `OutcomeUnknown`."""
        self._calls.unless_absent(act, key, lambda client: client.delete(path), changes=True)

    def remove_if_empty(self, path: str) -> None:
        """Remove a directory, unless something is in it. Only to be tidy: nobody depends on it."""
        try:
            self._calls.once(lambda client: client.delete(path))
        except ERRORS:
            return  # mostly other attempts that lie there

    def _write(self, path: str, content: BinaryIO) -> None:
        options = WriteOptions(overwrite=False, create_parent=True, **self._options)
        first = content.read(PIECE_BYTES)

        def begin(client: Client) -> FileWriter:
            writer = client.create(path, options)
            if first:
                writer.write(first)
            return writer

        def end(_client: Client) -> None:
            if first:
                writer.hsync()
            writer.close()

        # One that comes too late, or fails, is closed all the same: data nodes keep a line open
        # for it. The file has no name yet, so it does not matter what it holds.
        writer = self._calls.once(begin, late=lambda found: found.close())
        try:
            if len(first) == PIECE_BYTES:
                for piece in _pieces(content):
                    self._calls.once(_writing(writer, piece))
            self._calls.once(end, CLOSING_PATIENCE)
        except ERRORS:
            aside(writer.close)
            raise


class HdfsFile(io.RawIOBase):
    """An open file of HDFS. Used by one thread; files never change once they have a name."""

    def __init__(self, calls: Calls, key: str, reader: FileReader, size_bytes: int) -> None:
        super().__init__()
        self._calls = calls
        self._key = key
        self._reader = reader
        self._size_bytes = size_bytes
        self._position = 0

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def tell(self) -> int:
        """Where the next byte is read."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place; asks nothing of the store."""
        origin = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size_bytes}
        if offset + origin[whence] < 0:
            raise ValueError(f"a negative position in {self._key!r}")
        self._position = offset + origin[whence]
        return self._position

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        """Fill a buffer, up to `BLOCK_BYTES` at a time; 0 at the end."""
        length = min(len(buffer), BLOCK_BYTES, self._size_bytes - self._position)
        if length <= 0:
            return 0
        start = self._position

        def read(_client: Client) -> bytes:
            return _whole(self._reader.read_range(start, length), length)

        try:
            data = self._calls.send("read", self._key, read)
        except HdfsAnswer as answer:
            why = "it was removed while it was read"
            raise StoreUnavailable("read", self._key, why) from answer
        buffer[:length] = data
        self._position += length
        return length


def _writing(writer: FileWriter, piece: bytes) -> Callable[[Client], int]:
    return lambda _client: writer.write(piece)


def _pieces(content: BinaryIO) -> Iterable[bytes]:
    while piece := content.read(PIECE_BYTES):
        yield piece


def _whole(data: bytes, wanted: int) -> bytes:
    """The data, if it is all of it.

    The client gives too little, without a word, while the block of a file that was just closed is
    not reported to the name node.
    """
    if len(data) != wanted:
        raise ShortRead(len(data), wanted)
    return data
