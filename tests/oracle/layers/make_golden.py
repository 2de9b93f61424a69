"""Ask MXNet 2.0 for the golden numbers of every layer, loss and metric in the contract table.

Run with the oracle's Python (``shared/tools/oracle.sh`` makes it)::

    /tmp/oracle/bin/python tests/oracle/layers/make_golden.py

It writes ``layers.npz``, ``losses.npz`` (outputs, gradients, moving averages), ``facts.json`` (reprs, parameter names
and shapes, results of metrics) and ``signatures.json`` beside itself. Inputs and weights are functions of the row's
key, so they are not stored.
"""

import inspect
import json
import os
import pathlib
import sys
import warnings

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))
os.environ["MXNET_ONEDNN_ENABLED"] = "0"  # whose convolutions refuse three dimensions
os.environ["MXNET_STORAGE_FALLBACK_LOG_VERBOSE"] = "0"

import numpy as onp  # noqa: E402
from contract import LAYERS, LOSSES, METRICS, head, weight  # noqa: E402
from mxnet import autograd, gluon, np, npx  # noqa: E402

npx.set_np()
SKIPPED = {"Block", "HybridBlock", "SymbolBlock"}
warnings.simplefilter("ignore")


def array(x):
    return np.array(x, dtype=x.dtype)


def load(block, key):
    """Give every parameter its value; the moving ones too."""
    for name, param in block.collect_params().items():
        param.set_data(np.array(weight(key, name, param.shape)))


def run(row, namespace):
    """The golden arrays of one row, and the facts."""
    block = row.make(namespace)
    facts = {"repr": repr(block)}
    block.initialize()
    inputs = [array(x) for x in row.inputs()]
    block(*inputs)
    load(block, row.key)
    params = block.collect_params()
    facts["params"] = {name: list(p.shape) for name, p in params.items()}
    facts["grad_req"] = {name: p.grad_req for name, p in params.items()}
    facts["repr_after"] = repr(block)
    found = {"predict": block(*inputs).asnumpy()}
    if row.random:
        return found, facts
    for x, feed in zip(inputs, row.feeds):
        if feed.differentiable:
            x.attach_grad()
    with autograd.record():
        y = block(*inputs)
    y.backward(array(head(row.key, y.shape)))
    found["train"] = y.asnumpy()
    for i, (x, feed) in enumerate(zip(inputs, row.feeds)):
        if feed.differentiable:
            found[f"grad/{i}"] = x.grad.asnumpy()
    for name, p in params.items():
        if p.grad_req != "null":
            found[f"grad/{name}"] = p.grad().asnumpy()
        else:
            found[f"state/{name}"] = p.data().asnumpy()
    return found, facts


def sweep(rows, namespace, file):
    arrays, facts = {}, {}
    for row in rows:
        if not row.golden:
            continue
        try:
            found, facts[row.key] = run(row, namespace)
        except Exception as error:
            print("NOT", row.key, str(error)[:400])
            continue
        arrays.update({f"{row.key}/{name}": x for name, x in found.items()})
    onp.savez_compressed(HERE / file, **arrays)
    return facts


def measure(row):
    """Return a metric's name, text, and values after each batch."""
    metric, trail = row.make(gluon.metric), []
    for label, pred in row.epoch():
        metric.update([array(label)], [array(pred)])
        name, value = metric.get()
        trail.append(value if isinstance(value, float) else float(value))
    return {"name": name, "values": trail, "str": str(metric)}


def signatures(prefix, namespace):
    """The constructors' parameters and defaults of what both libraries have."""
    found = {}
    for name, thing in vars(namespace).items():
        ours = inspect.isclass(thing) and thing.__module__.startswith("mxnet.gluon")
        if ours and name not in SKIPPED and name[0] != "_":
            params = [p for p in inspect.signature(thing.__init__).parameters.values() if p.kind is not p.VAR_KEYWORD]
            found[f"{prefix}.{name}"] = {p.name: repr(p.default) for p in params[1:]}
    return found


def main():
    found = {**signatures("nn", gluon.nn), **signatures("loss", gluon.loss), **signatures("metric", gluon.metric)}
    (HERE / "signatures.json").write_text(json.dumps(found, indent=1) + "\n")
    facts = {"layers": sweep(LAYERS, gluon.nn, "layers.npz"), "losses": sweep(LOSSES, gluon.loss, "losses.npz")}
    facts["metrics"] = {}
    for row in METRICS:
        try:
            facts["metrics"][row.key] = measure(row)
        except Exception as error:
            print("NOT", row.key, type(error), str(error)[:300])
    (HERE / "facts.json").write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
