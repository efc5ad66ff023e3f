"""Where the programs of a Kerberos realm lie: the system's packages; `make test` unpacks them."""

import ctypes
import sys
from pathlib import Path

from penstock.testing.kerberos_realm import KerberosRealm

UNPACKED = Path(sys.prefix) / "kerberos"
GSSAPI = "libgssapi_krb5.so.2"
# In the order in which one needs the other.
_LIBRARIES = (
    "libkeyutils.so.1",
    "libcom_err.so.2",
    "libkrb5support.so.0",
    "libk5crypto.so.3",
    "libkrb5.so.3",
    GSSAPI,
)


def new_realm(directory: Path) -> KerberosRealm:
    """A realm of its own, which does not run yet, and the library that its clients load."""
    load_gssapi()
    return KerberosRealm(directory, UNPACKED if UNPACKED.is_dir() else None)


def load_gssapi() -> None:
    """Load Kerberos into this process where the machine has none: clients find it by its name."""
    try:
        ctypes.CDLL(GSSAPI)
    except OSError:
        for name in _LIBRARIES:
            [found, *_] = UNPACKED.glob(f"**/{name}")
            ctypes.CDLL(str(found), mode=ctypes.RTLD_GLOBAL)
