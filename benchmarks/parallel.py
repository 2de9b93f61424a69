"""A training step on a mesh of fake devices: gluonx's over the same step by hand.

``make bench-parallel`` (``python -m benchmarks.parallel``). By hand it is ``jax.jit`` of value_and_grad and SGD with
momentum, donated, on arrays that lie on the same mesh in the same way. Both start from the same weights, and their
losses are compared before anything is timed. Each step is waited for: with hundreds of steps under way, collectives of
XLA for CPUs lock up, those of the step by hand too.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any

__all__ = ["main"]

DEVICES, RATE, MOMENTUM = 8, 0.01, 0.9


def mlp_inputs(width: int, depth: int) -> tuple[Any, Callable[[Any, Any], Any]]:
    """Return a net of dense layers by gluonx, and its forward by hand."""
    import jax.numpy as jnp

    from gluonx import nn

    net = nn.HybridSequential()
    for _ in range(depth):
        net.add(nn.Dense(width, activation="tanh", in_units=width))

    def forward(params: Any, x: Any) -> Any:
        for weight, bias in params:
            x = jnp.tanh(x @ weight.T + bias)
        return x

    return net, forward


def sides(width: int, depth: int, batch: int, axes: dict[str, Any], rules: list[Any]) -> list[Any]:
    """Return the step of gluonx and that by hand."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    import gluonx as mx
    from benchmarks.harness import Side
    from gluonx import autograd, gluon, parallel

    mesh = parallel.mesh(**axes)
    parallel.use(mesh)
    mx.random.seed(0)
    net, forward = mlp_inputs(width, depth)
    net.initialize(mx.init.Xavier())
    net.shard(*rules)
    net.hybridize()
    # Copies, since a step donates what it is given.
    raw = {name: jax.device_put(p.data().asnumpy(), p.sharding) for name, p in net.collect_params().items()}
    params = [(raw[f"{i}.weight"], raw[f"{i}.bias"]) for i in range(depth)]
    momenta = jax.tree.map(jnp.zeros_like, params)
    x = parallel.split(np.random.default_rng(0).standard_normal((batch, width), np.float32))
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": RATE, "momentum": MOMENTUM})
    places = jax.tree.map(lambda a: a.sharding, params)
    whole = jax.NamedSharding(mesh, jax.P())
    split_over_batch = any("data" in place.spec for place in jax.tree.leaves(places))

    def loss_of(params: Any, x: Any) -> Any:
        if split_over_batch:  # as FSDP is written by hand: gathered where it is used
            params = jax.tree.map(lambda a: jax.lax.with_sharding_constraint(a, whole), params)
        return (forward(params, x) ** 2).mean()

    def step(params: Any, momenta: Any, x: Any) -> Any:
        value, grads = jax.value_and_grad(loss_of)(params, x)
        grads = jax.tree.map(jax.lax.with_sharding_constraint, grads, places)
        momenta = jax.tree.map(lambda m, g: MOMENTUM * m - RATE * g, momenta, grads)
        return jax.tree.map(jnp.add, params, momenta), momenta, value, grads

    by_hand = jax.jit(step, donate_argnums=(0, 1), out_shardings=(places, places, None, places))
    state = [params, momenta]
    values: dict[str, Any] = {}

    def run_by_hand(count: int) -> None:
        for _ in range(count):
            state[0], state[1], value, _ = by_hand(*state, x._read())
            values["by hand"] = jax.block_until_ready(value)

    def run(count: int) -> None:
        for _ in range(count):
            with autograd.record():
                loss = (net(x) ** 2).mean()
            loss.backward()
            trainer.step(1)
            loss.wait_to_read()
            values["gluonx"] = loss

    for _ in range(3):
        run(1)
        run_by_hand(1)
        np.testing.assert_allclose(values["gluonx"].item(), float(values["by hand"]), rtol=1e-4)
    return [Side("by hand", run_by_hand), Side("gluonx", run)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args()
    flag = f"--xla_force_host_platform_device_count={DEVICES}"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flag}".strip()

    from benchmarks.harness import compare
    from gluonx import parallel

    rows = [
        ("data, 4 layers of 64", 64, 4, 64, {"data": 8}, []),
        ("data, 12 layers of 256", 256, 12, 256, {"data": 8}, []),
        ("fsdp, 12 layers of 256", 256, 12, 256, {"data": 8}, [parallel.fsdp(min_size=1)]),
        ("tensor, 12 layers of 256", 256, 12, 256, {"data": 2, "model": 4}, [parallel.tensor()]),
    ]
    print(f"A step on {DEVICES} fake devices, milliseconds; gluonx over by hand, median and quartiles of rounds\n")
    print(f"{'':28} {'by hand':>9} {'gluonx':>9}   ratio")
    for name, width, depth, batch, axes, rules in rows:
        base, other = sides(width, depth, batch, axes, rules)
        hand, ours = compare(base, [other], args.rounds)
        low, middle, high = ours.ratio
        print(f"{name:28} {hand.wall[1] * 1e3:9.2f} {ours.wall[1] * 1e3:9.2f}   {middle:.3f} ({low:.3f} to {high:.3f})")


if __name__ == "__main__":
    main()
