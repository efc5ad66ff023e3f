"""Contents and the groups made of them: nothing is left out, and nothing counts twice."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.entries import Counts, Window
from penstock.model.evidence import Evidence
from penstock.model.manifest import Content, Input, ManifestFile, ManifestRef, RecordSet, groups_of
from penstock.model.ranges import OffsetRange, OffsetSet
from penstock.model.staged import StagedHandle
from penstock.model.steps import DELIVER
from penstock.protocol.publish.groups import with_replaced

DATASETS = st.sampled_from(["a", "b", "page%20view", "_quarantine"])
OFFSETS = st.frozensets(st.integers(0, 100), max_size=10)


@st.composite
def files(draw: st.DrawFn) -> ManifestFile:
    """A file of any dataset; its name is its own."""
    dataset = draw(DATASETS)
    offsets = draw(OFFSETS)
    covered = OffsetRange("t", "i", draw(st.integers(0, 3)), 0, 101)
    name = f"feed/{dataset}/{draw(st.uuids())}"
    proof = draw(st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=2))
    size = draw(st.integers(0, 2**50))
    handle = StagedHandle("memory", f"staged/{name}", name, size, "sha256:x", proof)
    seen = Evidence.of_positions(covered.topic, covered.partition, offsets)
    return ManifestFile(dataset, handle, seen, (covered,), draw(st.integers(0, 5)))


RECORDS = st.builds(
    RecordSet,
    st.just("t"),
    st.just("i"),
    st.integers(0, 3),
    DATASETS,
    st.builds(OffsetSet.of, OFFSETS),
)
CONTENTS = st.builds(
    Content,
    files=st.lists(files(), max_size=8).map(tuple),
    quarantined=st.lists(RECORDS, max_size=3).map(tuple),
    inputs=st.lists(st.builds(Input, DATASETS, st.text(max_size=5)), max_size=3).map(tuple),
    records=st.lists(RECORDS, max_size=3).map(tuple),
)


@given(CONTENTS)
def test_groups_are_one_per_dataset_in_order_and_add_up_to_the_content(content: Content) -> None:
    groups = groups_of(content, DELIVER)
    names = [group.dataset for group in groups]
    assert names == sorted({file.dataset for file in content.files})
    assert sum(group.files for group in groups) == len(content.files)
    assert sum(group.rows for group in groups) == sum(f.evidence.count for f in content.files)
    assert sum(g.size_bytes for g in groups) == sum(f.handle.size_bytes for f in content.files)


@given(CONTENTS)
def test_a_content_survives_being_written_and_read(content: Content) -> None:
    assert msgspec.json.decode(msgspec.json.encode(content), type=Content) == content


@given(CONTENTS, st.data())
def test_replacing_exchanges_files_of_the_same_final_name_and_nothing_else(
    content: Content, data: st.DataObject
) -> None:
    chosen = [file for file in content.files if data.draw(st.booleans())]
    anew = {
        file.handle.final: msgspec.structs.replace(
            file, handle=msgspec.structs.replace(file.handle, staged="again", checksum="sha256:y")
        )
        for file in chosen
    }
    found = with_replaced(content, Content(files=tuple(anew.values())))
    assert found.files == tuple(anew.get(file.handle.final, file) for file in content.files)
    assert msgspec.structs.replace(found, files=content.files) == content


@given(CONTENTS)
def test_a_body_has_its_content_inline_or_elsewhere_and_never_both(content: Content) -> None:
    ref = ManifestRef("key", "0" * 64)
    for inside, elsewhere in ((content, ref), (None, None)):
        with pytest.raises(ValueError, match="exactly one"):
            Window(
                window="1-1",
                groups=(),
                content=inside,
                manifest=elsewhere,
                ranges=(),
                counts=Counts(),
            )
