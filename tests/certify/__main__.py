"""`python -m tests.certify`: the long fault matrix on real parts; see docs/certificate.md."""

import signal
import sys
from functools import partial

from tests.certify.all_cases import cases_of
from tests.certify.parts import Parts
from tests.certify.runner import certify, parsed

if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # and all that was started is ended
    chosen = parsed(sys.argv[1:])
    sys.exit(certify(cases_of(chosen), partial(Parts, chosen.lake, chosen.store), chosen))
