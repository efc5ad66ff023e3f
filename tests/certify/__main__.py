"""`python -m tests.certify`: the long fault matrix on real parts; see docs/certificate.md."""

import signal
import sys

from tests.certify.all_cases import all_cases
from tests.certify.parts import Parts
from tests.certify.runner import certify

if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # and all that was started is ended
    sys.exit(certify(all_cases(), Parts, sys.argv[1:]))
