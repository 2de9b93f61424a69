"""Run the programs of tests/ports_legacy on MXNet 1.9.1 and record what they print, in expected.json beside them.

python tests/oracle/ports_legacy/make_golden.py    # with mxnet 1.9.1 (pip install mxnet==1.9.1 numpy==1.23.5)
"""

import json
import os
import pathlib
import subprocess
import sys

PORTS = pathlib.Path(__file__).resolve().parents[2] / "ports_legacy"
expected = {}
for path in sorted(PORTS.glob("*.py")):
    if path.stem == "conftest":
        continue
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": ""},
    )
    if done.returncode:
        sys.exit(f"{path.name}: {done.stderr[-2000:]}")
    expected[path.stem] = done.stdout.splitlines()
(PORTS / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")
