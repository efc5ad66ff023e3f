"""The base of every value that can be in the journal."""

import msgspec


class Value(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A frozen value with a strict JSON form.

    One class serves the code and the wire: the decoder refuses unknown fields, so there is no
    second schema that could differ from the first.
    """
