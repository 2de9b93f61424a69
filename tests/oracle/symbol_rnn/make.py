"""Writes golden.json: what the cells of MXNet 1.9.1's ``mx.rnn`` compute; run with mxnet 1.9.1 (numpy 1.23.5)."""

import json
import pathlib

import mxnet as mx
from cases import run

pathlib.Path(__file__).with_name("golden.json").write_text(json.dumps(run(mx, mx.rnn)) + "\n")
