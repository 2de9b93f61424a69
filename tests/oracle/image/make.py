"""Writes golden.npz beside it: what MXNet answers to the cases.

Run by the oracle's Python: ``python tests/oracle/image/make.py``. OpenCV's encoder has
written the pictures beside it.
"""

import json
import os

import mxnet as mx
import numpy as np
from cases import CASES, HERE, answers, dumps

golden = {}
for name in CASES:
    numpy = name.startswith("transforms")  # which take nothing else, while much of mx.image takes nothing but nd arrays
    (mx.npx.set_np if numpy else mx.npx.reset_np)()
    module = mx.np if numpy else mx.nd
    for place, leaf in enumerate(answers(mx, lambda a, m=module: m.array(a, dtype=a.dtype), name)):
        golden[f"{name}|{place}"] = leaf
mx.npx.reset_np()
golden["dumps"] = np.frombuffer(json.dumps(dumps(mx)).encode(), np.uint8)
np.savez_compressed(os.path.join(HERE, "golden.npz"), **golden)
print(len(golden), "arrays of MXNet", mx.__version__)
