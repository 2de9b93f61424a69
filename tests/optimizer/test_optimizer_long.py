"""Fifty steps of every optimizer from the same weights and gradients follow MXNet's (tests/oracle/optimizer_long)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from gluonx import optimizer
from lib import TESTS
from lib.golden import load_cases

cases = load_cases("optimizer_long")
GOLDEN = dict(np.load(TESTS / "oracle" / "optimizer_long" / "long.npz"))
MXNETS = {
    "adabelief", "adadelta", "adagrad", "adam", "adamax", "adamw", "dcasgd", "ftml", "ftrl", "groupadagrad", "lamb",
    "lans", "lars", "nadam", "nag", "rmsprop", "sgd", "sgld", "signum", "test",
}  # fmt: skip


def run(name, kwargs, dtype):
    """The kept weights of all parameters, from one jitted program a step, as the Trainer runs it."""
    chosen = list(cases.parameters(name))
    opt = optimizer.create(name, **kwargs)
    weights = tuple(jnp.asarray(cases.WEIGHTS[i], dtype) for i in chosen)
    rule = opt.flat_rule(weights, chosen)
    state, step, kept = rule.init(weights), jax.jit(rule.apply), []
    for k in range(cases.STEPS):
        opt._update_count(chosen)
        grads = tuple(jnp.asarray(cases.GRADS[k][i], dtype) for i in chosen)
        weights, state = step(weights, grads, state, opt.hyper(chosen))
        if k + 1 in cases.KEPT:
            kept.append([np.asarray(w, np.float32) for w in weights])
    assert step._cache_size() <= 2
    return {i: np.stack(trail) for i, trail in zip(chosen, zip(*kept, strict=True), strict=True)}


def test_every_optimizer_of_mxnet_is_driven():
    driven = {name for name, _, _ in cases.CASES.values()}
    assert driven == MXNETS - {"sgld"}  # whose noise is another generator's: see test_optimizer.py
    assert set(optimizer.Optimizer.opt_registry) >= MXNETS


@pytest.mark.parametrize("case", cases.CASES)
def test_fifty_steps(case):
    name, kwargs, dtype = cases.CASES[case]
    # Half types: the rounding of the weights, two units in the last place; the copies are float32 as the others are.
    rtol, atol = (2e-3, 1e-4) if dtype == "float16" else (1e-5, 1e-7)
    for i, ours in run(name, kwargs, dtype).items():
        np.testing.assert_allclose(ours, GOLDEN[f"{case}/{i}"], rtol=rtol, atol=atol, err_msg=f"{case}/{i}")
