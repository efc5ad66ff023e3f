"""Topic ids as Java's client spells them."""

import base64

from penstock.ports.source.kafka.admin import known_id


def test_the_id_of_a_broker_without_ids_is_none_at_all() -> None:
    zero = base64.urlsafe_b64encode(bytes(16)).decode().rstrip("=")
    assert known_id(zero) == ""
    assert known_id("0m8V1sX3QyWnL2cT4bRk5A") == "0m8V1sX3QyWnL2cT4bRk5A"
