"""The message for a file that differs from the journal. Pure."""

from penstock.audit.check_file import FileFinding, FileOrder
from penstock.audit.lake_files import not_a_file
from penstock.audit.receipt import Difference, DifferenceKind, Offsets
from penstock.model.plural import number_of


def file_difference(
    order: FileOrder, seen: FileFinding, offsets: tuple[Offsets, ...], twin: str, why_not: str
) -> Difference:
    """The difference for a changed file; `twin` is the file whose contents it has, if any.

    `why_not` says why its offsets were not worked out; empty if they were.
    """
    kind, words = _kind(order, seen)
    if twin and twin != order.final:
        words += f"; it has the contents of {twin}"
    if seen.footer:
        words += f"; its footer says {seen.footer}"
    if why_not:
        words += f"; its offsets were not worked out: {why_not}"
    return Difference(kind, words, order.final, order.ranges, order.number, offsets)


def _kind(order: FileOrder, seen: FileFinding) -> tuple[DifferenceKind, str]:
    sizes = f"it has {seen.size_bytes} bytes, and {order.size_bytes} were written"
    rows = f"it has {seen.rows.count} rows, and {order.evidence.count} were written"
    if order.instead:
        return "file_missing", not_a_file(order.instead, order.evidence.count)
    if seen.is_gone:
        return "file_missing", f"it is gone, with {number_of(order.evidence.count, 'row')}"
    if seen.unreadable:
        kind: DifferenceKind = (
            "file_contents" if seen.size_bytes == order.size_bytes else "file_size"
        )
        said = "its checksum is wrong" if kind == "file_contents" else sizes
        return kind, f"{said}; it cannot be read: {seen.unreadable}"
    if not seen.has_rows_of(order):
        same = seen.rows.count == order.evidence.count
        outside = f"; {seen.outside} rows are outside its ranges" if seen.outside else ""
        return "file_rows", f"{rows}{', but not these' if same else ''}{outside}"
    if seen.checksum != order.checksum:
        return "file_contents", (
            f"contents changed: all {seen.rows.count} rows are at their positions, "
            "and the checksum is wrong"
        )
    if seen.size_bytes != order.size_bytes:
        return "file_size", sizes
    return "file_contents", "its rows and bytes are right"
