"""Layers of BERT-base: a training step with fused projections, without, and by hand; and what depth costs to compile.

``python -m benchmarks.bert`` prints both tables. The step is that of a stack of encoder layers (sequence 128, batch 8,
dropout off on all sides) under SGD. By hand it is one jit, donated, with query, key and value as one matrix.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import gluonx as mx
from benchmarks.harness import Side, compare, offer_tuning, quartiles, tune
from gluonx import autograd, gluon
from gluonx.gluon import nn

__all__ = ["main"]

UNITS, HIDDEN, HEADS, LENGTH, BATCH, RATE = 768, 3072, 12, 128, 8, 1e-4

FIRST_STEP = """
import time, numpy, gluonx as mx
from gluonx import autograd, gluon, nn
net = nn.TransformerEncoder({layers}, 64, 128, 4, 0.1, 0.1, activation="gelu")
net.initialize()
net.hybridize(scan={scan})
trainer = gluon.Trainer(net.collect_params(), "sgd", {{"learning_rate": 0.1}})
x = mx.np.array(numpy.ones((2, 16, 64), "float32"))
x.wait_to_read()
start = time.perf_counter()
with autograd.record():
    loss = (net(x) ** 2).mean()
loss.backward()
trainer.step(1)
loss.wait_to_read()
print(time.perf_counter() - start)
"""


def data() -> Any:
    """Return a batch of what comes into the first layer."""
    return np.random.default_rng(0).standard_normal((BATCH, LENGTH, UNITS), np.float32)


def gluon_side(name: str, layers: int, fuse: bool) -> tuple[Side, Any]:
    """Return the Gluon loop, and its first parameters by unfused name."""
    mx.random.seed(0)
    net = nn.TransformerEncoder(layers, UNITS, HIDDEN, HEADS, 0.0, 0.0, activation="gelu", fuse=fuse)
    net.initialize(mx.init.Normal(0.02))
    net.hybridize()
    x = mx.np.array(data())
    net(x)
    start = {name: p.data().asnumpy() for name, p in net.collect_params(fused=False).items()}
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": RATE})

    def run(count: int) -> None:
        for _ in range(count):
            with autograd.record():
                loss = (net(x) ** 2).mean()
            loss.backward()
            trainer.step(1)
        loss.wait_to_read()

    return Side(name, run), start


def hand_side(layers: int, start: dict[str, Any]) -> Side:
    """Return the same in plain JAX, from the same numbers."""
    params = []
    for index in range(layers):
        own = {k.removeprefix(f"layers.{index}."): v for k, v in start.items() if k.startswith(f"layers.{index}.")}
        for kind in ("weight", "bias"):
            own[f"qkv.{kind}"] = np.concatenate([own.pop(f"self_attention.{part}.{kind}") for part in _PARTS])
        params.append({k: jnp.array(v) for k, v in own.items()})

    def layer(p: Any, x: Any) -> Any:
        q, k, v = jnp.split((x @ p["qkv.weight"].T + p["qkv.bias"]).reshape(BATCH, LENGTH, 3 * HEADS, -1), 3, 2)
        out = jax.nn.dot_product_attention(q, k, v).reshape(x.shape)
        out = out @ p["self_attention.proj.weight"].T + p["self_attention.proj.bias"]
        x = normalized(x + out, p["layer_norm.gamma"], p["layer_norm.beta"])
        y = jax.nn.gelu(x @ p["ffn.ffn_1.weight"].T + p["ffn.ffn_1.bias"], approximate=False)
        y = y @ p["ffn.ffn_2.weight"].T + p["ffn.ffn_2.bias"]
        return normalized(x + y, p["ffn.layer_norm.gamma"], p["ffn.layer_norm.beta"])

    def loss_of(params: Any, x: Any) -> Any:
        for p in params:
            x = layer(p, x)
        return jnp.square(x).mean()

    def step(params: Any, x: Any) -> Any:
        loss, grads = jax.value_and_grad(loss_of)(params, x)
        return jax.tree.map(lambda p, g: p - RATE * g, params, grads), loss

    held, jitted, x = [params], jax.jit(step, donate_argnums=0), jnp.asarray(data())

    def run(count: int) -> None:
        for _ in range(count):
            held[0], loss = jitted(held[0], x)
        loss.block_until_ready()

    return Side("by hand", run)


_PARTS = ("query", "key", "value")


def normalized(x: Any, gamma: Any, beta: Any) -> Any:
    """Layer normalization."""
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-12) * gamma + beta


def first_step(layers: int, scan: bool, repeats: int = 3) -> tuple[float, float, float]:
    """Seconds of the first step in fresh processes without a compilation cache."""
    command = [sys.executable, "-c", FIRST_STEP.format(layers=layers, scan=scan)]
    env = {**os.environ, "GLUONX_CACHE_DIR": ""}
    runs = [subprocess.run(command, env=env, capture_output=True, check=True) for _ in range(repeats)]
    return quartiles([float(done.stdout) for done in runs])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--layers", type=int, default=2, help="of the stack that is timed")
    parser.add_argument("--rounds", type=int, default=7)
    offer_tuning(parser)
    args = parser.parse_args()
    print(tune(args), flush=True)
    fused, start = gluon_side("fused", args.layers, True)
    apart, _ = gluon_side("not fused", args.layers, False)
    for result in compare(hand_side(args.layers, start), [fused, apart], args.rounds, 1.0)[1:]:
        low, middle, high = result.ratio
        print(f"{args.layers} layers, {result.name}: {middle:.3f} ({low:.3f} to {high:.3f}) of the step by hand")
    for scan in (True, False):
        shallow, deep = first_step(2, scan)[1], first_step(12, scan)[1]
        print(f"first step, 12 layers over 2, scan={scan}: {deep / shallow:.2f} ({deep:.1f} s over {shallow:.1f} s)")


if __name__ == "__main__":
    main()
