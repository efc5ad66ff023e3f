"""S7 to S10, S14, S15: what a store on HDFS makes of calls that fail, are lost or are sent twice.

Goal: three outcomes, and whatever happened, doing it again ends as it would have ended without the
fault. Method: a client that fails by a script between the store and a real name node; a second
store without faults looks at the result.
"""

import secrets
from collections.abc import Callable

import pytest

from penstock.errors import ForeignFile, OutcomeUnknown, StagedGone, StoreUnavailable
from penstock.model.staged import StagedRef, StagingSpot
from penstock.ports.store.create_once import create_once
from penstock.ports.store.hdfs import hdfs_files
from penstock.ports.store.hdfs.hdfs_store import HdfsStore
from penstock.ports.store.list_keys import list_keys
from penstock.testing.contracts.store_staged import FINAL, file_name, stage, staged
from penstock.testing.hdfs_server import EmbeddedHdfs
from tests.helpers.scripted_hdfs import DENIED, SAFE_MODE, Loss, Rule, scripted

pytestmark = pytest.mark.xdist_group("hdfs")

LASTING = 1_000
WRITES = ("create", "write", "hsync", "close")
READS = ("get_file_info", "read", "readall")
Scripted = Callable[..., HdfsStore]


@pytest.fixture
def root() -> str:
    return f"faults/{secrets.token_hex(8)}"


@pytest.fixture
def direct(hdfs: EmbeddedHdfs, root: str) -> HdfsStore:
    """A store that meets no faults."""
    return HdfsStore(hdfs.spec(root))


@pytest.fixture
def failing(hdfs: EmbeddedHdfs, root: str) -> Scripted:
    return lambda *rules: scripted(hdfs.spec(root), *rules)


@pytest.mark.parametrize("loss", Loss)
@pytest.mark.parametrize("times", [1, 3])
def test_a_create_is_recognised_whatever_is_lost_of_its_rename(
    failing: Scripted, direct: HdfsStore, loss: Loss, times: int
) -> None:
    rule = Rule("rename", loss, times=times)
    assert failing(rule).create("journal/1", b"mine") is True
    assert rule.hits
    assert direct.read("journal/1") == b"mine"
    assert list_keys(direct, "") == ["journal/1"]


@pytest.mark.parametrize("loss", Loss)
def test_anothers_object_is_not_taken_for_ours(
    failing: Scripted, direct: HdfsStore, loss: Loss
) -> None:
    """Another creates it between our look and our rename; one reply to that is lost."""
    rule = Rule("rename", loss, hook=lambda: direct.create("journal/1", b"theirs"))
    assert failing(rule).create("journal/1", b"mine") is False
    assert direct.read("journal/1") == b"theirs"


def test_a_create_that_is_never_answered_is_unknown_and_leaves_its_file_for_the_sweep(
    failing: Scripted, direct: HdfsStore
) -> None:
    with pytest.raises(OutcomeUnknown, match="Connection reset"):
        failing(Rule("rename", Loss.REQUEST, times=LASTING)).create("journal/1", b"mine")
    assert direct.read("journal/1") is None
    assert create_once(direct, "journal/1", b"mine") is None
    assert direct.sweep() == 0, "what is young may be somebody's work"
    assert list_keys(direct, "") == ["journal/1"]


@pytest.mark.parametrize("method", WRITES)
@pytest.mark.parametrize("loss", [Loss.REQUEST, Loss.REPLY])
def test_a_write_that_fails_once_is_done_again_under_another_name(
    failing: Scripted, direct: HdfsStore, method: str, loss: Loss
) -> None:
    rule = Rule(method, loss)
    assert failing(rule).create("journal/1", b"mine") is True
    assert rule.hits == 1
    assert direct.read("journal/1") == b"mine"
    handle = stage(failing(Rule(method, loss)), FINAL, b"rows")
    assert len(staged(direct)) in (1, 2), "a try that failed may be left, for the cleaner"
    direct.publish(handle)
    assert direct.read(FINAL) == b"rows"


@pytest.mark.parametrize("method", WRITES)
def test_a_write_that_always_fails_has_changed_nothing(
    failing: Scripted, direct: HdfsStore, method: str
) -> None:
    broken = failing(Rule(method, Loss.REQUEST, times=LASTING))
    with pytest.raises(StoreUnavailable):
        broken.create("journal/1", b"mine")
    with pytest.raises(StoreUnavailable):
        stage(broken, FINAL, b"rows")
    assert list_keys(direct, "") == [key for key in list_keys(direct, "") if "staging" in key]
    assert create_once(direct, "journal/1", b"mine") is None


def test_a_file_whose_close_failed_is_never_renamed(failing: Scripted, direct: HdfsStore) -> None:
    """Its length is that of what data nodes have confirmed: often nothing."""
    broken = failing(Rule("close", Loss.REQUEST, times=LASTING))
    writer = broken.open_staged(FINAL, StagingSpot("staging/feed", "0-1", "t9"))
    writer.write(b"rows")
    with pytest.raises(StoreUnavailable):
        writer.finish()
    with pytest.raises(StoreUnavailable, match="an earlier try"):
        writer.finish()
    assert direct.read(FINAL) is None


@pytest.mark.parametrize("loss", Loss)
@pytest.mark.parametrize("times", [1, 3])
def test_a_publish_is_recognised_whatever_is_lost_of_its_rename(
    failing: Scripted, direct: HdfsStore, loss: Loss, times: int
) -> None:
    handle = stage(direct, FINAL, b"rows")
    rule = Rule("rename", loss, times=times)
    failing(rule).publish(handle)
    assert rule.hits
    assert direct.look(handle).is_done
    assert staged(direct) == []


def test_a_publish_without_answer_is_unknown_and_can_be_done_again(
    failing: Scripted, direct: HdfsStore
) -> None:
    handle = stage(direct, FINAL, b"rows")
    for loss in (Loss.REQUEST, Loss.REQUEST):
        with pytest.raises(OutcomeUnknown):
            failing(Rule("rename", loss, times=LASTING)).publish(handle)
    assert failing(Rule("rename", Loss.REQUEST, times=LASTING)).publish_all([handle]) == {FINAL}
    direct.publish(handle)
    assert direct.look(handle).is_done


def test_an_answer_that_the_name_is_taken_is_settled_by_identity(
    failing: Scripted, direct: HdfsStore
) -> None:
    """S15: once ours is there, once a stranger's of the same length."""
    handle = stage(direct, FINAL, b"rows")
    other = stage(direct, FINAL, b"rows", "t1")
    failing(Rule("rename", hook=lambda: direct.publish(other))).publish(handle)
    assert direct.look(handle).is_done, "another attempt wrote the same bytes"
    final = f"lake/{file_name('other')}"
    mine = stage(direct, final, b"rows")
    with pytest.raises(ForeignFile):
        failing(Rule("rename", hook=lambda: direct.create(final, b"ROWS"))).publish(mine)
    assert direct.read(final) == b"ROWS"
    assert direct.look(mine).staged


def test_a_staged_file_that_vanishes_under_the_rename_is_gone(
    failing: Scripted, direct: HdfsStore
) -> None:
    handle = stage(direct, FINAL, b"rows")

    def discard() -> None:
        direct.discard(StagedRef(handle.staged, "0-1"))

    with pytest.raises(StagedGone):
        failing(Rule("rename", hook=discard)).publish(handle)


@pytest.mark.parametrize("method", READS)
def test_a_read_that_fails_once_is_done_again_and_one_that_always_fails_is_no_absence(
    failing: Scripted, direct: HdfsStore, method: str
) -> None:
    direct.create("a", b"content")
    assert failing(Rule(method, Loss.REQUEST)).read("a") == b"content"
    with pytest.raises(StoreUnavailable):
        failing(Rule(method, Loss.REQUEST, times=LASTING)).read("a")
    with pytest.raises(StoreUnavailable):
        list_keys(failing(Rule("list_status", Loss.REQUEST, times=LASTING)), "")
    assert list_keys(failing(Rule("list_status", Loss.REQUEST)), "") == ["a"]


def test_a_file_that_comes_back_too_short_is_read_again(
    failing: Scripted, direct: HdfsStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client does that, without a word, when the last block is not reported yet."""
    direct.create("a", b"content")
    answers = [b"", b"cont"]
    whole = hdfs_files._whole
    monkeypatch.setattr(
        hdfs_files, "_whole", lambda data, n: whole(answers.pop() if answers else data, n)
    )
    assert failing().read("a") == b"content"
    assert answers == []
    answers += [b"", b"cont"]
    file = direct.open_read("a")
    assert file is not None
    with file:
        assert file.read() == b"content"


@pytest.mark.parametrize("loss", [Loss.REQUEST, Loss.REPLY])
def test_deletes_are_repeated_and_unknown_when_never_answered(
    failing: Scripted, direct: HdfsStore, loss: Loss
) -> None:
    direct.create("a", b"1")
    failing(Rule("delete", loss)).delete("a")
    assert direct.read("a") is None
    direct.create("a", b"1")
    lasting = failing(Rule("delete", loss, times=LASTING))
    with pytest.raises(OutcomeUnknown):
        lasting.delete("a")
    direct.create("b", b"2")
    assert lasting.delete_all(["a", "b"]) == {"a", "b"}


def test_safe_mode_is_waited_out_and_told_in_one_line_when_it_lasts(
    failing: Scripted, direct: HdfsStore
) -> None:
    """S14: it certainly has not happened."""
    assert failing(Rule("rename", error=SAFE_MODE, times=3)).create("a", b"1") is True
    with pytest.raises(StoreUnavailable) as caught:
        failing(Rule("rename", error=SAFE_MODE, times=LASTING)).create("b", b"1")
    assert "SafeModeException: Cannot rename /a. Name node is in safe mode." in str(caught.value)
    assert "\n" not in str(caught.value)
    assert direct.read("b") is None


def test_safe_mode_after_a_lost_reply_leaves_it_unknown(
    failing: Scripted, direct: HdfsStore
) -> None:
    lost = Rule("rename", Loss.REQUEST)
    safe = Rule("rename", error=SAFE_MODE, nth=1, times=LASTING)
    with pytest.raises(OutcomeUnknown):
        failing(lost, safe).create("b", b"1")
    assert direct.read("b") is None


@pytest.mark.parametrize("method", ["create", "rename"])
def test_a_refusal_is_not_repeated(failing: Scripted, direct: HdfsStore, method: str) -> None:
    rule = Rule(method, error=DENIED, times=LASTING)
    with pytest.raises(StoreUnavailable, match="Permission denied: user=etl"):
        failing(rule).create("a", b"1")
    assert rule.hits == 1
    assert direct.read("a") is None


def test_a_store_that_is_down_is_not_asked_once_per_file(
    failing: Scripted, direct: HdfsStore
) -> None:
    names = [f"lake/{file_name(f't{number}')}" for number in range(60)]
    handles = [stage(direct, names[0], b"rows")] * 60
    rule = Rule("get_file_info", Loss.REQUEST, times=LASTING)
    assert failing(rule).publish_all(handles) == {names[0]}
    assert rule.hits < 40 * 6, "those that were begun, at most, and each again"
    rule = Rule("delete", Loss.REQUEST, times=LASTING)
    assert failing(rule).delete_all(names) == set(names)
    assert rule.hits < 40 * 6
