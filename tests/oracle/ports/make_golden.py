"""Run every port of tests/ports on the real MXNet and record what it prints in tests/ports/expected.json.

Run it with the oracle's Python, from anywhere; names of ports as arguments redo only these:

    /tmp/oracle/bin/python tests/oracle/ports/make_golden.py [NAME ...]
"""

import json
import os
import pathlib
import subprocess
import sys

PORTS = pathlib.Path(__file__).resolve().parents[2] / "ports"
EXPECTED = PORTS / "expected.json"


def output(path):
    """Return the lines that a port prints, without those of MXNet itself, which go to stderr but for one."""
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, path], env=env, stdout=subprocess.PIPE, text=True, check=True, timeout=300)
    return [line for line in done.stdout.splitlines() if "has been overwritten by" not in line]


def main(names):
    found = json.loads(EXPECTED.read_text()) if EXPECTED.exists() and names else {}
    for path in sorted(PORTS.glob("*.py")):
        if not names or path.stem in names:
            found[path.stem] = output(path)
    EXPECTED.write_text(json.dumps(dict(sorted(found.items())), indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
