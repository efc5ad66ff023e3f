"""Errors of objects beside the journal that are not about delivery."""

from penstock.errors import ObjectDamaged


class AcceptanceDamaged(ObjectDamaged):
    """The recorded acceptance of a window cannot be read, so it is not taken as one."""

    code = "ACCEPTANCE_DAMAGED"
    says = "The acceptance {key!r} is damaged"
    remedy = "Move it away, and say it again with `penstock errors accept`."
