"""Write the results of ``FeedForward``, for tests/compat/test_feedforward.py; run with mxnet 1.9.1 (numpy 1.23.5)."""

import json
import pathlib

from cases import run

if __name__ == "__main__":
    golden = json.dumps(run(), indent=0, default=float) + "\n"
    (pathlib.Path(__file__).parent / "golden.json").write_text(golden, encoding="utf-8")
