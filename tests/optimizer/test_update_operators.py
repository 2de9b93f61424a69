"""An optimizer and the update operator of its name: the same formula, and the same bits where nothing rounds otherwise.

Both are run operation by operation (no jit): XLA may fuse products and sums of two programs differently. All numbers
are sums of powers of two, so that none is rounded on its way in.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as onp
import pytest

from gluonx import optimizer
from gluonx.ops import updates
from gluonx.optimizer.numbers import pack

LR, WD, SCALE, CLIP, T = 0.125, 0.0625, 0.5, 0.75, 3
BETAS = {"beta1": 0.75, "beta2": 0.875}


class Pair(NamedTuple):
    """What of an optimizer is what of an operator; `exact` tells whether the new weight has the same bits too."""

    operator: str
    made: str
    settings: dict[str, Any]
    numbers: dict[str, Any]
    states: tuple[str, ...] = ()  # the optimizer's, in the order of the operator
    exact: bool = True
    same_states: bool = True


def rate():
    """Adam's rate: the operators leave the corrections to their caller."""
    first, second = (updates.bias_correction(b, jnp.float32(T)) for b in BETAS.values())
    return jnp.float32(LR) * (jnp.sqrt(second) / first)


MOMENTS, MOMENTUM = ("mean", "var"), {"momentum": 0.75}
RMS = {"gamma1": 0.875, "epsilon": 2**-10}
PAIRS = {
    # The operators round as MXNet 1 did: the decay of the weight first.
    "sgd": Pair("sgd_update", "SGD", {}, {"lr": LR}, exact=False),
    "sgd_mom": Pair("sgd_mom_update", "SGD", MOMENTUM, {"lr": LR, **MOMENTUM}, ("momentum",), False, False),
    "nag": Pair("nag_mom_update", "NAG", MOMENTUM, {"lr": LR, **MOMENTUM}, ("momentum",), False, False),
    "signum": Pair("signum_update", "Signum", {**MOMENTUM, "wd_lh": 0.5}, {"lr": LR, **MOMENTUM, "wd_lh": 0.5},
                   ("momentum",), exact=False),
    "adam": Pair("adam_update", "Adam", BETAS, {"lr": rate, **BETAS}, MOMENTS),
    "adamw": Pair("adamw_update", "AdamW", {**BETAS, "correct_bias": False, "epsilon": 1e-8},
                  {"lr": LR, "eta": 1.0, "wd": LR * WD, **BETAS}, MOMENTS),
    "adabelief": Pair("adabelief_update", "AdaBelief", {**BETAS, "epsilon": 1e-8},
                      {"lr": rate, "eta": 1.0, **BETAS}, MOMENTS),
    "rmsprop": Pair("rmsprop_update", "RMSProp", {"rho": 0.875, "epsilon": 2**-10}, {"lr": LR, **RMS}, ("var",)),
    "rmsprop_centered": Pair(
        "rmspropalex_update", "RMSProp", {"rho": 0.875, "epsilon": 2**-10, "centered": True, "momentum": 0.75},
        {"lr": LR, **RMS, "gamma2": 0.75}, ("var", "mean", "momentum"),
    ),
    # The optimizer adds the difference to the weight, the operator gives the new one.
    "ftml": Pair("ftml_update", "FTML", BETAS, {"lr": LR, "t": float(T), **BETAS}, ("d", "v", "z"), exact=False),
    "ftrl": Pair("ftrl_update", "Ftrl", {"lamda1": 0.125}, {"lr": LR, "lamda1": 0.125}, ("z", "n"), False, False),
    "lamb": Pair("lamb_update_phase1", "LAMB", {**BETAS, "epsilon": 1e-6}, {"t": float(T), **BETAS}, MOMENTS),
    "lans": Pair("lans_update", "LANS", {**BETAS, "epsilon": 1e-6}, {"lr": LR, "t": float(T), **BETAS}, MOMENTS, False),
}  # fmt: skip


def arrays(count, dtype):
    rng = onp.random.default_rng(7)
    return [jnp.asarray(rng.uniform(0.25, 1.0, (3, 5)).astype(dtype)) for _ in range(count)]


def by_operator(pair, weight, grad, states):
    numbers = {name: value() if callable(value) else value for name, value in pair.numbers.items()}
    clip = "clip_grad" if pair.operator == "ftml_update" else "clip_gradient"
    found = getattr(updates, pair.operator).fn(
        weight, grad, *states, **{"wd": WD, "rescale_grad": SCALE, clip: CLIP, **numbers}
    )
    new, *after = found if isinstance(found, tuple) else (found,)
    if pair.operator == "lamb_update_phase1":
        norms = [jnp.sqrt(jnp.sum(jnp.square(x))) for x in (weight, new)]
        new = updates.lamb_update_phase2.fn(weight, new, *norms, jnp.float32(LR))
    return new, after


@pytest.mark.parametrize("kind", ["float32", "float16", "multi_precision"])
@pytest.mark.parametrize("name", PAIRS)
def test_an_operator_and_its_optimizer_agree(name, kind):
    pair = PAIRS[name]
    made = getattr(optimizer, pair.made)(
        wd=WD, clip_gradient=CLIP, multi_precision=kind == "multi_precision", **pair.settings
    )
    dtype = "float32" if kind == "float32" else "float16"
    weight, grad = arrays(2, dtype)
    rule = optimizer.FlatRule(made.rule(), (weight,))
    names = [leaf.rpartition("/")[2] for leaf in rule.leaf_names]
    leaves = list(rule.init((weight,)))
    wide = kind == "multi_precision"
    states = [s * 0.25 + (1.0 if n == "var" else 0.0) for n, s in zip(pair.states, arrays(len(pair.states), "float32"))]
    for state, of in zip(states, pair.states, strict=True):
        leaves[names.index(of)] = jnp.asarray(state, leaves[names.index(of)].dtype)
    given = [leaves[names.index(of)] for of in pair.states]
    with jax.disable_jit():
        (new,), after = rule.apply((weight,), (grad,), tuple(leaves), pack([LR], [WD], [T], SCALE, True))
        first = weight.astype(jnp.float32) if wide else weight
        theirs, their_states = by_operator(pair, first, grad.astype(first.dtype), given)
    theirs = theirs.astype(weight.dtype)
    bound = {"rtol": 1e-5, "atol": 1e-6} if kind == "float32" else {"rtol": 4e-3, "atol": 2e-3}
    onp.testing.assert_allclose(onp.float32(new), onp.float32(theirs), **bound)
    assert not onp.array_equal(onp.asarray(new), onp.asarray(weight))
    if kind == "float16":
        return  # the operators compute in the weight's type, the optimizers in float32
    if pair.exact:
        onp.testing.assert_array_equal(onp.asarray(new), onp.asarray(theirs))
    for of, their in zip(pair.states, their_states, strict=True):
        ours = onp.asarray(after[names.index(of)])
        if pair.same_states:
            onp.testing.assert_array_equal(ours, onp.asarray(their), err_msg=of)
        else:
            onp.testing.assert_allclose(ours, onp.asarray(their), rtol=1e-5, atol=1e-6, err_msg=of)


def test_fields_of_a_declared_base_come_first_as_in_dataclasses():
    @optimizer.declared
    class Damped(optimizer.AdaBelief):
        epsilon: float = 0.5
        damping: float = 2.0

    made = Damped(0.25, 0.5, damping=3.0)
    assert repr(made) == (
        "Damped(learning_rate=0.25, beta1=0.5, beta2=0.999, epsilon=0.5, correct_bias=True, damping=3.0, wd=0.0)"
    )
    assert "damping" in made.setting_names
    assert "beta1" in made.setting_names
