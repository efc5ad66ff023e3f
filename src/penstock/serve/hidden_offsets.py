"""From which offset on the records of a dataset are decided and not visible. Pure."""

from collections.abc import Iterable, Mapping

from penstock.model.lanes import dataset_of
from penstock.model.window import Place
from penstock.protocol.feed_book.state import FeedState
from penstock.serve.brief_entries import BriefEntry

Hidden = dict[str, dict[Place, int]]  # the first hidden offset, by dataset and partition


def hidden_offsets(state: FeedState, undone: Iterable[BriefEntry]) -> Hidden:
    """Of every dataset with something undone: where that begins in each partition.

    A window counts for all of its partitions: which of them have records of a dataset is not
    known without its files.
    """
    found: Hidden = {}
    for entry in undone:
        for dataset in {dataset_of(part) for part in state.undone[entry.number].parts}:
            starts = found.setdefault(dataset, {})
            for covered in entry.body.ranges:
                if state.topics.get(covered.topic) != covered.topic_id:
                    continue  # of a topic that was deleted and created again since
                place = (covered.topic, covered.partition)
                starts[place] = min(covered.start, starts.get(place, covered.start))
    return {dataset: starts for dataset, starts in found.items() if starts}


def spreads(
    decided: Mapping[Place, int], hidden: Hidden, datasets: Iterable[str]
) -> dict[Place, int]:
    """How far datasets are apart in each partition.

    0 where all that is decided is visible; else the largest visible offset of a dataset minus the
    smallest.
    """
    names = {*datasets, *hidden}
    found = {}
    for place, end in decided.items():
        visible = [min(hidden.get(name, {}).get(place, end), end) for name in names]
        found[place] = max(visible) - min(visible) if visible else 0
    return found
