"""The demo, to be run from a checkout: the program itself is gluonx/examples/digits.py."""

import sys

from gluonx.examples.digits import main

if __name__ == "__main__":
    sys.exit(main())
