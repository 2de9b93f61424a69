"""Ask MXNet 2.0 for the outputs of every network of its zoo, and for the names and shapes of their parameters.

Run with the oracle's Python (``shared/tools/oracle.sh`` makes it)::

    /tmp/oracle/bin/python tests/oracle/model_zoo/make_golden.py

It writes ``outputs.npz`` (predict mode) and ``facts.json`` beside itself: of each network the number of parameters and
a digest of their names, shapes and grad_req.
"""

import hashlib
import json
import os
import pathlib
import sys
import warnings

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
os.environ["MXNET_ONEDNN_ENABLED"] = "0"
os.environ["MXNET_STORAGE_FALLBACK_LOG_VERBOSE"] = "0"

import numpy as onp  # noqa: E402
from cases import CASES, MODELS, image, make, weight  # noqa: E402
from mxnet import autograd, np, npx  # noqa: E402
from mxnet.gluon.model_zoo import vision  # noqa: E402

npx.set_np()
warnings.simplefilter("ignore")


def main():
    outputs, facts = {}, {}
    for key in [*CASES, *MODELS]:
        net, size = make(vision, key)
        net.initialize()
        x = np.array(image(size))
        net(x)
        params = net.collect_params()
        for name, param in params.items():
            param.set_data(np.array(weight(name, param.shape)))
        outputs[key] = net(x).asnumpy()
        described = [[name, list(p.shape), p.grad_req] for name, p in params.items()]
        total = int(sum(onp.prod(p.shape) for p in params.values()))
        facts[key] = {
            "count": len(params),
            "total": total,
            "digest": hashlib.sha1(json.dumps(described).encode()).hexdigest(),
        }
        if key.endswith("thumbnail"):
            x.attach_grad()
            with autograd.record():
                loss = (net(x) ** 2).sum()
            loss.backward()
            outputs[f"{key}/grad"] = x.grad.asnumpy()[:, :, ::5, ::5]
            outputs[f"{key}/loss"] = loss.asnumpy()
        print(key, total, outputs[key].std(), flush=True)
    onp.savez_compressed(HERE / "outputs.npz", **outputs)
    (HERE / "facts.json").write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
