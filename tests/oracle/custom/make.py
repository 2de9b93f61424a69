"""Write the results of users' operators, for tests/compat/test_custom.py; run with mxnet 1.9.1 (numpy 1.23.5)."""

import json
import pathlib

from cases import CASES

HERE = pathlib.Path(__file__).parent

if __name__ == "__main__":
    golden = {key: [a.asnumpy().tolist() for a in case()] for key, case in CASES.items()}
    (HERE / "golden.json").write_text(json.dumps(golden, indent=0) + "\n", encoding="utf-8")
