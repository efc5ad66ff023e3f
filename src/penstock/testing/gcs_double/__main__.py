"""The double as a process: `python -m penstock.testing.gcs_double PORT`."""

import sys

from penstock.testing.gcs_double.gcs_listener import GcsListener

if __name__ == "__main__":
    GcsListener(int(sys.argv[1])).serve_forever()
