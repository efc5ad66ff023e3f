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


class ConfigDamaged(ObjectDamaged):
    """The recorded configuration of windows cannot be read. No delivered row depends on it."""

    code = "CONFIG_DAMAGED"
    says = "The recorded configuration {key!r} is damaged"
    remedy = (
        "Restore the file from a backup; or move it away: the next window that is made with this "
        "configuration writes it again."
    )
