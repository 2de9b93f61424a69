"""Writes golden.json: what ``mx.test_utils`` of MXNet 2.0 decides. ``MXNET_PYTHON make.py``"""

import json
import pathlib

import mxnet as mx
from cases import comparisons, helpers, symbols, tolerances

found = {
    "comparisons": comparisons(mx.test_utils, lambda x: mx.nd.array(x, dtype=x.dtype)),
    "tolerances": tolerances(mx.test_utils),
    "helpers": helpers(mx.test_utils),
    "symbols": symbols(mx.test_utils, mx.sym),
}
pathlib.Path(__file__).with_name("golden.json").write_text(json.dumps(found, indent=0) + "\n")
