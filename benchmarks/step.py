"""Time of a training step: the unchanged Gluon loop against the step written by hand with jax.jit and optax."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

import gluonx as mx
from benchmarks.harness import Result, Side, compare
from benchmarks.models import Case, by_hand_params
from examples.by_hand import make_step
from gluonx import autograd, gluon

__all__ = ["agree", "gluon_side", "hand_side", "measure"]


def gluon_side(case: Case, hybridize: bool, keep_grads: bool = True) -> Side:
    """Return the loop that a Gluon user writes."""
    net = case.make_net(hybridize)
    trainer = case.make_trainer(net, keep_grads=keep_grads)
    loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
    data = case.data()
    x, y = mx.np.array(data[0]), mx.np.array(data[1])
    batch = x.shape[0]
    weight = next(iter(net.collect_params().values()))

    def run(count: int) -> None:
        for _ in range(count):
            with autograd.record():
                loss = loss_fn(net(x), y)
            loss.backward()
            trainer.step(batch)
        # Waiting for one output of the last step's program is waiting for the program.
        weight.data().wait_to_read()

    name = "hybridized" if hybridize else "not hybridized"
    return Side(name if keep_grads else f"{name}, keep_grads=False", run)


def hand_side(case: Case) -> Side:
    """Return the step that a jax user writes: one jit, donated, the loss not read."""
    params, state = by_hand_params(case.make_net(False))
    optimizer = case.optax()
    held = [params, state, optimizer.init(params)]
    step = make_step(case.forward, optimizer)
    data = case.data()
    x, y = jnp.asarray(data[0]), jnp.asarray(data[1])

    def run(count: int) -> None:
        params, state, opt_state = held
        for index in range(count):
            params, state, opt_state, _loss = step(params, state, opt_state, index, x, y)
        held[:] = params, state, opt_state
        jax.block_until_ready(held)

    return Side("by hand", run)


def measure(case: Case, rounds: int, block: float) -> list[Result]:
    """Return the hand-written step, then the Gluon loop hybridized and not, and without kept gradients."""
    sides = [gluon_side(case, True), gluon_side(case, False), gluon_side(case, True, keep_grads=False)]
    return compare(hand_side(case), sides, rounds, block)


def agree(case: Case, steps: int = 3) -> float:
    """Return the distance of the two sides after `steps` over the way that they came: proof that both do the same work.

    It is no rounding error alone: optax adds Adam's epsilon after the bias correction and Gluon before it, which tells
    where gradients are below a millionth.
    """
    net = case.make_net(True)
    start = by_hand_params(net)
    params, state = by_hand_params(net)
    optimizer = case.optax()
    step = make_step(case.forward, optimizer)
    x, y = (jnp.asarray(part) for part in case.data())
    held: list[Any] = [params, state, optimizer.init(params)]
    for index in range(steps):
        *held[:], _loss = step(*held, index, x, y)
    trainer, loss_fn = case.make_trainer(net), gluon.loss.SoftmaxCrossEntropyLoss()
    inputs, labels = (mx.np.array(part) for part in case.data())
    for _ in range(steps):
        with autograd.record():
            loss = loss_fn(net(inputs), labels)
        loss.backward()
        trainer.step(len(labels))
    mine = by_hand_params(net)
    return distance(mine, (held[0], held[1])) / distance(mine, start)


def distance(one: Any, other: Any) -> float:
    """Return the Euclidean distance of two trees of arrays."""
    squares = jax.tree.map(lambda a, b: jnp.square(a - b).sum(), one, other)
    return float(sum(jax.tree.leaves(squares))) ** 0.5
