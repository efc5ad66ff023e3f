"""Ways to break a payload, and a comparison of what was decoded."""

from hypothesis import strategies as st

from penstock.api.codec import DecodedBatch


def same_values(one: DecodedBatch, other: DecodedBatch) -> bool:
    """Equal but for NaN, which is not equal to itself."""
    return repr(one.batch.to_pylist()) == repr(other.batch.to_pylist())


def breaking(payload: bytes) -> st.SearchStrategy[bytes]:
    """Ways in which a record may be broken."""
    ways = [
        st.binary(min_size=1, max_size=5).map(lambda more: payload + more),
        st.binary(max_size=40),
        st.just(b"\xff" * 12 + payload),
    ]
    if payload:
        ways.append(st.integers(0, len(payload) - 1).map(lambda at: payload[:at]))
        ways.append(
            st.tuples(st.integers(0, len(payload) - 1), st.integers(0, 7)).map(
                lambda spot: flipped(payload, *spot)
            )
        )
    return st.one_of(*ways)


def flipped(payload: bytes, at: int, bit: int) -> bytes:
    """A payload with one bit that is another."""
    return payload[:at] + bytes([payload[at] ^ (1 << bit)]) + payload[at + 1 :]
