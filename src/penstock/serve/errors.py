"""Errors of the server itself."""

from penstock.errors import PenstockError


class AddressRefused(PenstockError):
    """The server cannot listen where it was told to. Nothing was started."""

    code = "ADDRESS_REFUSED"
    exit_code = 2

    def __init__(self, host: str, port: int, why: str) -> None:
        super().__init__(
            f"Nothing can listen on {host} port {port}: {why}.",
            "Nothing was started. Choose another address with --host and --port.",
        )


class TokenMissing(PenstockError):
    """The server would be reachable from other machines, and nobody would have to show a token."""

    code = "TOKEN_MISSING"
    exit_code = 2

    def __init__(self, host: str) -> None:
        super().__init__(
            f"{host} can be reached from other machines, and there is no token.",
            "Nothing was started. Give a token with --token-file, or listen on 127.0.0.1.",
        )


class TokenRefused(PenstockError):
    """The token cannot be read, is too short, or stands on the command line itself."""

    code = "TOKEN_REFUSED"
    exit_code = 2

    def __init__(self, why: str) -> None:
        super().__init__(
            f"The token cannot be used: {why}.",
            "Nothing was started. Put at least 16 printable characters without spaces into a file "
            "for --token-file, or name an environment variable: --token '${env:NAME}'.",
        )
