"""Which datasets go no further because of records in a window, and why. Pure."""

from collections.abc import Callable, Mapping

from penstock.model.plural import number_of


def stops_of(
    window: str, misfits: Mapping[str, int], stops: Callable[[str], bool]
) -> dict[str, str]:
    """The datasets that shall go no further because of records in this window, and why.

    It stands in the window's own entry: no crash and no operator can come in between.
    """
    return {
        dataset: f"{number_of(count, 'record')} came in window {window} whose schema "
        "cannot be merged with that of the dataset; they are in the quarantine, and "
        "`incompatible` is `stop`"
        for dataset, count in sorted(misfits.items())
        if count and stops(dataset)
    }
