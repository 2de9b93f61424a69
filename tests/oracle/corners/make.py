"""Write what the cases give, for tests/compat/test_corners.py; run by each mxnet, ``make.py 1`` and ``make.py 2``."""

import json
import pathlib
import sys

from cases import CASES

if __name__ == "__main__":
    found = {name: case() for name, case in CASES.items()}
    target = pathlib.Path(__file__).parent / f"golden_{sys.argv[1]}.json"
    target.write_text(json.dumps(found, default=float) + "\n", encoding="utf-8")
