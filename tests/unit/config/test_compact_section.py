"""`compact:` of a feed: its words, and what a run that compacts asks of the other keys."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from penstock.config import compact_section
from penstock.model.spec import CompactSpec
from tests.helpers.feed_sections import feed_of, mistake_of


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("{}", CompactSpec()),
        ("{when: off}", CompactSpec("off")),
        ("{when: hour_closed}", CompactSpec("hour_closed")),
        ("{when: day_closed, min_files: 20}", CompactSpec("day_closed", min_files=20)),
        ("{when: 90m}", CompactSpec("every", every_s=5400.0)),
        ("{target: 1GB, keep: 0s}", CompactSpec(target_bytes=10**9, keep_s=0.0)),
    ],
)
def test_the_words_are_read(tmp_path: Path, text: str, wanted: CompactSpec) -> None:
    assert feed_of(tmp_path, f"compact: {text}").compact == wanted


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("{when: always}", "when"),
        ("{when: 0s}", "when"),
        ("{target: 0}", "target"),
        ("{target: much}", "target"),
        ("{min_files: 1}", "min_files"),
        ("{keep: -1s}", "keep"),
        ("{every: 1h}", "every"),
    ],
)
def test_other_words_are_mistakes(tmp_path: Path, text: str, key: str) -> None:
    assert mistake_of(tmp_path, f"compact: {text}").path == f"feeds.events.compact.{key}"


def test_what_waits_for_the_end_of_a_day_has_directories_of_days(tmp_path: Path) -> None:
    by_kind = "partition: ['field:kind']"
    mistake = mistake_of(tmp_path, f"compact: {{when: hour_closed}}\n    {by_kind}")
    assert mistake.path == "feeds.events.compact"
    assert "`hour_closed` where the `partition` of the feed has no `day`" in mistake.found
    feed = feed_of(tmp_path, f"compact: {{when: 2h}}\n    {by_kind}")
    assert feed.compact == CompactSpec("every", every_s=7200.0)
    one = f"datasets: {{a: {{{by_kind}}}}}"
    mistake = mistake_of(tmp_path, f"compact: {{when: day_closed}}\n    {one}")
    assert "the `partition` of dataset 'a' has no `day`" in mistake.found


def test_files_without_positions_cannot_be_compacted_by_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class TextFormat:
        traits = SimpleNamespace(has_positions=False)

    monkeypatch.setattr(compact_section, "find", lambda *_: TextFormat())
    mistake = mistake_of(tmp_path, "compact: {when: 1h}")
    assert mistake.found == (
        "`compact` of parquet files, which do not say where their rows come from"
    )
    assert feed_of(tmp_path, "compact: {when: off}").compact == CompactSpec()
