"""Optimizers and metrics of MXNet 1.9.1, for tests/test_legacy_training.py; run with mxnet 1.9.1 (numpy 1.23.5)."""

import json
import pathlib

from cases import METRICS, OPTIMIZERS, measured, updated

HERE = pathlib.Path(__file__).parent

if __name__ == "__main__":
    golden = {
        "optimizers": {key: [round(w, 7) for w in updated(*case)] for key, case in OPTIMIZERS.items()},
        "metrics": {key: measured(*case) for key, case in METRICS.items()},
    }
    (HERE / "golden.json").write_text(json.dumps(golden, indent=0) + "\n", encoding="utf-8")
