"""`python -m tests.certify`: the long fault matrix on real parts; see docs/certificate.md."""

import signal
import sys
from functools import partial

from tests.certify.all_cases import cases_of
from tests.certify.parts import Parts
from tests.certify.runner import certify, parsed, stop

if __name__ == "__main__":
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, stop)
    chosen = parsed(sys.argv[1:])
    sys.exit(certify(cases_of(chosen), partial(Parts, chosen.lake, chosen.store), chosen))
