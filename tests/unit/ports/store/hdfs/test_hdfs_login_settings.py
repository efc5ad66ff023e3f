"""What `store:` says about logins to HDFS, and what the client is told because of it."""

import pytest

from penstock.api.doors import STORES
from penstock.api.errors import StoreSettingWrong
from penstock.api.find import offer
from penstock.model.store_spec import StoreSpec
from penstock.ports.store.hdfs.hdfs_settings import read_settings

AUTHENTICATION = "hadoop.security.authentication"
PROTECTION = "dfs.data.transfer.protection"


def told(**words: str) -> dict[str, str]:
    """What the client gets besides its waits."""
    spec = StoreSpec("hdfs", "lakes/shop", offer(STORES, "hdfs"), words)
    config = read_settings(spec).client_config
    return {key: config[key] for key in (AUTHENTICATION, PROTECTION) if key in config}


def test_without_a_word_about_logins_the_files_of_the_site_decide() -> None:
    assert told() == {}
    assert told(config_dir="/etc/hadoop/conf") == {}


def test_a_keytab_is_enough_where_the_site_has_no_files() -> None:
    """Data nodes that are not asked for their protection would end connections without a word."""
    assert told(keytab="/etc/penstock.keytab") == {
        AUTHENTICATION: "kerberos",
        PROTECTION: "authentication,integrity,privacy",
    }


def test_the_protection_of_data_is_what_the_site_says_if_it_can() -> None:
    words = {"keytab": "/etc/penstock.keytab", "config_dir": "/etc/hadoop/conf"}
    assert told(**words) == {AUTHENTICATION: "kerberos"}


def test_a_principal_alone_asks_for_the_ticket_of_the_process() -> None:
    assert told(principal="etl", data_protection="privacy") == {
        AUTHENTICATION: "kerberos",
        PROTECTION: "privacy",
    }


@pytest.mark.parametrize("word", ["", "none", "authentication,privacy"])
def test_only_a_protection_that_hadoop_has_is_taken(word: str) -> None:
    with pytest.raises(StoreSettingWrong, match="one of authentication, integrity, privacy"):
        told(data_protection=word)
