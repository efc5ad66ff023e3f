"""What can fail around the compiler of Protobuf schemas, through no fault of a schema."""

from penstock.errors import PenstockError


class CompilerFailed(PenstockError):
    """The compiler did not come to a verdict. No record was judged by it, and nothing was written.

    It is not the schema's fault, so records of the schema are not bad: they are read again.
    """

    code = "PROTO_COMPILER_FAILED"
    exit_code = 75

    def __init__(self, why: str) -> None:
        super().__init__(
            f"The compiler of Protobuf schemas gave no verdict: {why}.",
            "Look at the memory and the temporary folder of this machine; then run again.",
        )
        self.why = why
