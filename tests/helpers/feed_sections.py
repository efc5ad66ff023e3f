"""Short configurations, loaded: the feed they give, or their only mistake."""

from pathlib import Path

import msgspec
import pytest

from penstock.config.errors import ConfigInvalid
from penstock.config.load import load
from penstock.config.mistakes import Mistake
from penstock.model.spec import (
    FeedSpec,
    LakeSpec,
)

HEAD = "version: 1\nlake: ./lake\nkafka: {bootstrap.servers: 'localhost:9092'}\n"


def spec_of(folder: Path, content: str) -> LakeSpec:
    """Load a whole text; what comes out survives its own strict JSON form."""
    (folder / "penstock.yaml").write_text(content)
    spec = load(folder / "penstock.yaml", {})
    assert msgspec.json.decode(msgspec.json.encode(spec), type=LakeSpec) == spec
    return spec


def feed_of(folder: Path, keys: str, topics: str = "topics: [events]") -> FeedSpec:
    """Load one feed from keys on one line."""
    (feed,) = spec_of(folder, f"{HEAD}feeds:\n  events:\n    {topics}\n    {keys}\n").feeds
    return feed


def mistake_of(folder: Path, keys: str, topics: str = "topics: [events]") -> Mistake:
    """The only mistake of a feed whose keys stand on line 7."""
    with pytest.raises(ConfigInvalid) as caught:
        feed_of(folder, keys, topics)
    (mistake,) = caught.value.mistakes
    return mistake
