"""What `store:` may say of a lake on HDFS."""

import pickle

import pytest

from penstock.api.doors import STORES
from penstock.api.errors import StoreSettingUnknown, StoreSettingWrong
from penstock.api.find import offer
from penstock.model.store_spec import StoreSpec
from penstock.ports.store.hdfs.hdfs_settings import HdfsSettings, read_settings
from penstock.ports.store.hdfs.hdfs_store import HdfsStore


def settings(address: str = "nn:8020/lakes/shop", **words: str) -> HdfsSettings:
    return read_settings(StoreSpec("hdfs", address, offer(STORES, "hdfs"), words))


def test_without_settings_the_clients_three_minutes_become_seconds() -> None:
    found = settings()
    assert (found.url, found.root, found.uri) == (
        "hdfs://nn:8020",
        "/lakes/shop",
        "hdfs://nn:8020/lakes/shop",
    )
    assert found.client_config == {
        "dfs.client.socket-timeout": "3333",
        "dfs.client.failover.max.attempts": "4",
        "dfs.client.failover.sleep.base.millis": "200",
        "dfs.client.failover.sleep.max.millis": "2000",
    }
    assert (found.request_timeout_s, found.umask, found.replication) == (10.0, 0o022, None)


def test_every_setting_arrives() -> None:
    found = settings(
        "lakes//shop/",
        config_dir="/etc/hadoop/conf",
        failover_attempts="0",
        failover_longest_pause="5s",
        failover_pause="1s",
        replication="2",
        request_timeout="1m",
        umask="027",
    )
    assert found == HdfsSettings("lakes", "/shop", "/etc/hadoop/conf", 60.0, 0, 1.0, 5.0, 2, 0o027)
    assert settings("lakes").uri == "hdfs://lakes"


@pytest.mark.parametrize(
    ("key", "word"),
    [
        ("failover_attempts", "-1"),
        ("failover_attempts", "many"),
        ("failover_longest_pause", "0s"),
        ("failover_pause", "soon"),
        ("replication", "0"),
        ("request_timeout", "10"),
        ("umask", "9"),
        ("umask", "0o22"),
    ],
)
def test_a_wrong_word_is_named_with_its_key(key: str, word: str) -> None:
    with pytest.raises(StoreSettingWrong, match=key):
        settings(**{key: word})


def test_an_unknown_key_is_named_with_what_is_known() -> None:
    with pytest.raises(StoreSettingUnknown, match="config_dir"):
        settings(confdir="/etc/hadoop/conf")


def test_a_store_is_opened_without_asking_anybody_and_travels() -> None:
    spec = StoreSpec("hdfs", "nowhere.invalid:8020/lake", offer(STORES, "hdfs"), {})
    store = HdfsStore(spec)
    assert store.uri("a/b:c") == "hdfs://nowhere.invalid:8020/lake/a/b\u2426003ac"
    assert repr(pickle.loads(pickle.dumps(store))) == repr(store)
