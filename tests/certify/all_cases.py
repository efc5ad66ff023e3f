"""Every case of the certificate, in the order of the table."""

from tests.certify import crash_cases
from tests.certify.case import Case


def all_cases() -> list[Case]:
    """All of them."""
    return [*crash_cases.cases()]
