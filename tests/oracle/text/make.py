"""Writes golden.json: ``mx.contrib.text`` of MXNet 1.9.1; run with mxnet 1.9.1 (numpy 1.23.5)."""

import json
import pathlib

from cases import run
from mxnet.contrib import text

pathlib.Path(__file__).with_name("golden.json").write_text(json.dumps(run(text), indent=0) + "\n")
