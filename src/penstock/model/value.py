"""The base of every value that can lie in the journal."""

import msgspec


class Value(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A frozen value with a strict JSON form.

    One class serves the code and the wire: a field that the class does not know makes the
    decoder refuse the text, so there is no second schema that could drift from the first.
    """
