"""An ensemble: many nets of one kind trained at once, as one program over stacked parameters.

``python -m examples.ensemble`` trains sixteen small nets on a noisy curve. Gluon makes them, ``gluonx.functional``
gives their pure view, a pytree, and ``jax.vmap`` runs one training step of optax over all of them. Where the nets agree
there was data; the spread of their answers says where there was none.
"""

from __future__ import annotations

import argparse
from typing import Any

import jax
import jax.numpy as jnp
import numpy as onp
import optax

import gluonx as mx
from gluonx import gluon, init, np
from gluonx.gluon import nn

__all__ = ["curve", "main", "make", "predict", "stacked", "train"]


def make(units: int) -> gluon.HybridBlock:
    """One net of the ensemble, with random weights."""
    net = nn.HybridSequential()
    net.add(nn.Dense(units, activation="tanh", in_units=1), nn.Dense(units, activation="tanh", in_units=units))
    net.add(nn.Dense(1, in_units=units))
    net.initialize(init.Xavier(magnitude=6))
    return net


def stacked(nets: list[gluon.HybridBlock]) -> Any:
    """Give the pure view of the first net, with the parameters of all of them, each stacked along a new first axis."""
    views = [mx.functional(net) for net in nets]
    params = jax.tree.map(lambda *arrays: jnp.stack(arrays), *[view.params for view in views])
    return views[0].replace(params=params)


def curve(count: int, rng: onp.random.Generator) -> tuple[onp.ndarray, onp.ndarray]:
    """Noisy points of a sine, none of them between -1 and 1."""
    x = rng.uniform(1, 3, (count, 1)) * rng.choice([-1, 1], (count, 1))
    return x.astype("float32"), (onp.sin(2 * x) + 0.1 * rng.normal(size=x.shape)).astype("float32")


def train(nets: Any, x: onp.ndarray, y: onp.ndarray, steps: int, rate: float) -> tuple[Any, list[float]]:
    """Return the ensemble after training, and the mean loss of every step."""
    tx = optax.adam(rate)

    def loss_of(net: Any) -> Any:
        out, _ = net(x)
        return ((out - y) ** 2).mean()

    def one(net: Any, state: Any) -> tuple[Any, Any, Any]:
        loss, grads = jax.value_and_grad(loss_of)(net)
        updates, state = tx.update(grads, state, net)
        return optax.apply_updates(net, updates), state, loss

    step = jax.jit(jax.vmap(one))
    states, losses = jax.vmap(tx.init)(nets), []
    for _ in range(steps):
        nets, states, loss = step(nets, states)
        losses.append(loss.mean())
    return nets, [float(loss) for loss in losses]


def predict(nets: Any, x: onp.ndarray) -> tuple[jax.Array, jax.Array]:
    """Mean and standard deviation of what the nets say of `x`."""
    outs, _ = jax.vmap(lambda net, x: net(x), in_axes=(0, None))(nets, x)
    return outs.mean(axis=0), outs.std(axis=0)


def main(argv: list[str] | None = None) -> float:
    """Train, and print how sure the ensemble is where there was data and where there was none; return the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nets", type=int, default=16)
    parser.add_argument("--units", type=int, default=32)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--rate", type=float, default=0.01)
    args = parser.parse_args(argv)
    mx.random.seed(0)
    members = [make(args.units) for _ in range(args.nets)]
    x, y = curve(200, onp.random.default_rng(0))
    nets, losses = train(stacked(members), x, y, args.steps, args.rate)
    _, known = predict(nets, x)
    _, unknown = predict(nets, onp.linspace(-0.5, 0.5, 50, dtype="float32")[:, None])
    print(
        f"loss {losses[0]:.3f} -> {losses[-1]:.3f}; spread {known.mean():.3f} with data, {unknown.mean():.3f} without"
    )
    for i, net in enumerate(members):  # each is a Gluon net again
        mx.functional(net).update_from(jax.tree.map(lambda array, i=i: array[i], nets.params))
    print("the first net at 2:", float(members[0](np.array([[2.0]])).item()))
    return float(unknown.mean() / known.mean())


if __name__ == "__main__":
    main()
