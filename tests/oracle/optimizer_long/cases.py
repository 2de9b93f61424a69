"""Fifty steps of every optimizer from the same weights and gradients: the table that MXNet and the tests are driven by.

Each optimizer comes as it is, then with weight decay, clipping and rescaling of gradients, and, where it has one, with
float16 weights under a float32 copy.
"""

import numpy as onp

STEPS = 50
KEPT = (1, 10, 25, 50)  # the steps whose weights are kept
SHAPES = ((3, 4), (5,))
HARD = {"wd": 0.03, "clip_gradient": 0.8, "rescale_grad": 0.5}
_RNG = onp.random.RandomState(11)
WEIGHTS = [_RNG.uniform(0.2, 1, s).astype("float32") * _RNG.choice([-1, 1], s).astype("float32") for s in SHAPES]
GRADS = [[_RNG.uniform(-2, 2, s).astype("float32") for s in SHAPES] for _ in range(STEPS)]

_PLAIN = {
    "sgd": {"learning_rate": 0.01},
    "sgd/momentum": {"learning_rate": 0.01, "momentum": 0.9},
    "nag": {"learning_rate": 0.01, "momentum": 0.9},
    "signum": {"learning_rate": 0.001, "momentum": 0.9, "wd_lh": 0.01},
    "dcasgd": {"learning_rate": 0.01, "momentum": 0.9},
    "adam": {"learning_rate": 0.002},
    "adamw": {"learning_rate": 0.002},
    "adamax": {"learning_rate": 0.002},
    "nadam": {"learning_rate": 0.002},
    "adabelief": {"learning_rate": 0.002},
    "adagrad": {"learning_rate": 0.01},
    "adadelta": {"learning_rate": 1.0},
    "rmsprop": {"learning_rate": 0.002},
    "rmsprop/centered": {"learning_rate": 0.002, "centered": True},
    "ftml": {"learning_rate": 0.002},
    "ftrl": {"learning_rate": 0.05},
    "lamb": {"learning_rate": 0.002},
    "lans": {"learning_rate": 0.002},
    "lars": {"learning_rate": 1.0, "eta": 0.01, "momentum": 0.9},
    "groupadagrad": {"learning_rate": 0.01},
    "test": {"learning_rate": 0.01},
}
_MASTERED = ("sgd", "sgd/momentum", "nag", "adam", "adamw", "lamb", "lars")


def _hard(name):
    return {k: v for k, v in HARD.items() if name != "groupadagrad" or k != "wd"}  # which knows no weight decay


CASES = {}
for _case, _kwargs in _PLAIN.items():
    _name = _case.split("/")[0]
    CASES[_case] = (_name, _kwargs, "float32")
    CASES[f"{_case}/hard"] = (_name, {**_kwargs, **_hard(_name)}, "float32")
    CASES[f"{_case}/unfused"] = (_name, {**_kwargs, **_hard(_name), "use_fused_step": False}, "float32")
    if _case in _MASTERED:
        CASES[f"{_case}/half"] = (_name, {**_kwargs, **_hard(_name), "multi_precision": True}, "float16")


def parameters(name):
    """Return the places of the weights that an optimizer is given: GroupAdaGrad takes matrices only."""
    return (0,) if name == "groupadagrad" else range(len(SHAPES))
