"""Errors of the Protobuf compiler that are not caused by a schema."""

from penstock.errors import PenstockError


class CompilerFailed(PenstockError):
    """The compiler did not finish. No record was refused, and nothing was written.

    The schema is not the cause, so its records are not quarantined: they are read again.
    """

    code = "PROTO_COMPILER_FAILED"
    exit_code = 75

    def __init__(self, why: str) -> None:
        super().__init__(
            f"The compiler of Protobuf schemas did not finish: {why}.",
            "Nothing was written. Check the memory and the temporary directory of this machine, "
            "then run again.",
        )
        self.why = why
