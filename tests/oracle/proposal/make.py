"""Writes golden.npz: what MXNet proposes and pools. In the oracle's venv."""

import pathlib
import sys

import mxnet as mx
import numpy as np

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
from cases import CASES, arrays_of  # noqa: E402

found = {}
for index, (name, _, attrs) in enumerate(CASES):
    arrays = [mx.nd.array(a) for a in arrays_of(index)]
    pooled = name.endswith("PSROIPooling")
    if pooled:
        for array in arrays:
            array.attach_grad()
    with mx.autograd.record():
        outs = getattr(mx.nd.contrib, name)(*arrays, **attrs)
        outs = outs if isinstance(outs, (list, tuple)) else [outs]
    for i, out in enumerate(outs):
        found[f"{index}/out{i}"] = out.asnumpy()
    if pooled:
        outs[0].backward()
        found[f"{index}/grad"] = arrays[0].grad.asnumpy()
        if len(arrays) > 2:
            found[f"{index}/grad2"] = arrays[2].grad.asnumpy()
np.savez_compressed(HERE / "golden.npz", **found)
