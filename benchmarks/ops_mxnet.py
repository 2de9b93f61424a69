"""The MXNet side of `benchmarks.ops`: reads a case, then counts, as lines of JSON; runs with the oracle's Python."""

import json
import os
import sys

os.environ["MXNET_STORAGE_FALLBACK_LOG_VERBOSE"] = "0"

import numpy as onp
from mxnet import autograd, np, npx

__all__ = ["prepare"]

npx.set_np()


def prepare(request):
    """What runs the case once."""
    op, attrs = request["op"], {k: tuple(v) if isinstance(v, list) else v for k, v in request["attrs"].items()}
    rng = onp.random.default_rng(0)
    arrays = [rng.standard_normal(tuple(shape), onp.float32) for shape in request["shapes"]]
    if request["rows"]:
        arrays[0] = rng.integers(0, request["rows"], tuple(request["shapes"][0])).astype("float32")
    inputs = [np.array(x) for x in arrays]
    for i, x in enumerate(inputs):
        if request["gradient"] and not (request["rows"] and i == 0):
            x.attach_grad()

    def once():
        if not request["gradient"]:
            with autograd.train_mode():
                return getattr(npx, op)(*inputs, **attrs)
        with autograd.record():
            y = getattr(npx, op)(*inputs, **attrs)
            y = y[0] if isinstance(y, (tuple, list)) else y
        y.backward(y)
        return y

    return once


def main():
    """Serve until the input ends. The answers go to the real standard output; what MXNet says goes elsewhere."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    once = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "count" in request:
                for _ in range(request["count"]):
                    once()
            else:
                once = prepare(request)
                once()
            npx.waitall()
            answers.write("done\n")
        except Exception as error:
            answers.write(repr(error).replace("\n", " ")[:500] + "\n")


if __name__ == "__main__":
    main()
