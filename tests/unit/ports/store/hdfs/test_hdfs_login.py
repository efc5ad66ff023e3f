"""What is said of a login that has failed. The texts were copied from the client, 0.14.7."""

import pytest

from penstock.ports.store.hdfs.hdfs_login import login_failure

FAILURE = (
    'GssMajorCodes { raw: "0x000d0000", calling_error: "none", routine_error: "GSS_S_FAILURE", '
    'supplementary_info: "0x0000" }, 2529638944, "Unspecified GSS failure.  Minor code may provide '
    "more information: "
)
NO_CRED = (
    'GssMajorCodes { raw: "0x00070000", calling_error: "none", routine_error: "GSS_S_NO_CRED", '
    'supplementary_info: "0x0000" }, 2529639053, "No credentials were supplied, or the credentials '
    "were unavailable or inaccessible: "
)
BAD_NAME = (
    'GssMajorCodes { raw: "0x00020000", calling_error: "none", routine_error: "GSS_S_BAD_NAME", '
    'supplementary_info: "0x0000" }, 2529639136, "An invalid name was supplied: '
)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (f'{FAILURE}Ticket expired"', "has expired; renew it"),
        (
            f'{NO_CRED}No Kerberos credentials available (default cache: FILE:/tmp/krb5cc_0)"',
            "there is no Kerberos ticket; log in",
        ),
        (f'{NO_CRED}No credentials cache found"', "there is no Kerberos ticket; log in"),
        (
            f'{NO_CRED}Principal in credential cache does not match desired name"',
            "there is no Kerberos ticket; log in",
        ),
        (
            f"{NO_CRED}Client 'gone@PENSTOCK.TEST' not found in Kerberos database\"",
            "has no such principal; correct `principal`",
        ),
        (f'{NO_CRED}Decrypt integrity check failed"', "not those of the realm any more"),
        (f"{NO_CRED}Client\\'s credentials have been revoked\"", "has locked this principal"),
        (
            f'{BAD_NAME}Configuration file does not specify default realm"',
            "does not know its Kerberos realm",
        ),
        (f'{FAILURE}Clock skew too great"', "the clocks of this host"),
        (
            f"{FAILURE}Server 'nn/shop@PENSTOCK.TEST' not found in Kerberos database\"",
            "does not know this name node",
        ),
    ],
)
def test_a_failed_login_names_its_cause_and_a_remedy(said: str, why: str) -> None:
    failure = login_failure(said)
    assert why in failure.why
    assert not failure.may_pass
    assert failure.why.endswith(")")  # the cause in the words of Kerberos, and no numbers
    assert "GSS" not in failure.why


def test_a_realm_that_does_not_answer_may_come_back() -> None:
    failure = login_failure(f"{NO_CRED}Cannot contact any KDC for realm 'PENSTOCK.TEST'\"")
    assert failure.may_pass
    assert failure.why == (
        "no key server of the Kerberos realm can be reached; check it, and the network "
        "(Cannot contact any KDC for realm 'PENSTOCK.TEST')"
    )


def test_a_ticket_that_ends_during_the_login_is_asked_for_again() -> None:
    codes = 'GssMajorCodes { raw: "0x000c0000" }, 0, '
    failure = login_failure(f'{codes}"The referenced context has expired: Success"')
    assert failure.may_pass
    assert "expired in this moment" in failure.why


def test_a_cause_that_nobody_knows_is_passed_on() -> None:
    said = f'{FAILURE}KDC has no support for encryption type"'
    assert "(KDC has no support for encryption type)" in login_failure(said).why
    assert "(as the client put it)" in login_failure("as the client put it").why
