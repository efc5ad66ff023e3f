"""Errors about objects of the journal that do not decide about delivery."""

from penstock.errors import ObjectDamaged


class AcceptanceDamaged(ObjectDamaged):
    """The recorded acceptance of a window cannot be read, so it is not used."""

    code = "ACCEPTANCE_DAMAGED"
    says = "The acceptance {key!r} is damaged"
    remedy = "Move the file away, and accept the window again with `penstock errors accept`."
