"""The language model, to be run from a checkout: the program is gluonx/examples/word_language_model.py."""

import sys

from gluonx.examples.word_language_model import main

if __name__ == "__main__":
    sys.exit(main())
