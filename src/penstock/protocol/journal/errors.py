"""Errors of objects beside the journal that are not about delivery."""

from penstock.errors import ObjectDamaged


class AcceptanceDamaged(ObjectDamaged):
    """What should be a person's word about a window cannot be read, and is not taken for one."""

    code = "ACCEPTANCE_DAMAGED"
    says = "The acceptance {key!r} is damaged"
    remedy = "Move it away, and say it again with `penstock errors accept`."
