"""Errors about objects of the journal that do not decide about delivery."""

from penstock.errors import ObjectDamaged


class AcceptanceDamaged(ObjectDamaged):
    """The recorded acceptance of a window cannot be read, so it is not used."""

    code = "ACCEPTANCE_DAMAGED"
    says = "The acceptance {key!r} is damaged"
    remedy = "Move the file away, and accept the window again with `penstock errors accept`."


class HaltedDamaged(ObjectDamaged):
    """What was left when the feed halted cannot be read. It decides nothing."""

    code = "HALTED_DAMAGED"
    says = "The feed has halted, and {key!r}, which says why, is damaged"
    remedy = "Run `penstock run` again: if the cause is still there, it is written down again."
