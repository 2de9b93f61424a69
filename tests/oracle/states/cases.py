"""Trainers that MXNet stops in the middle: three steps, a file of states, three steps more.

A case is (optimizer, its settings, element type of the weights, learning rate that the loading Trainer is given).
"""

import numpy as onp

BEFORE, AFTER = 3, 3
SHAPES = {"a": (3, 4), "b": (5,), "c": (2, 3)}
_RNG = onp.random.RandomState(5)
WEIGHTS = {k: _RNG.uniform(-1, 1, s).astype("float32") for k, s in SHAPES.items()}
GRADS = [{k: _RNG.uniform(-2, 2, s).astype("float32") for k, s in SHAPES.items()} for _ in range(BEFORE + AFTER)]

_HALF = {"multi_precision": True}
CASES = {
    "adabelief": ("adabelief", {"learning_rate": 0.01}, "float32"),
    "adadelta": ("adadelta", {"rho": 0.8}, "float32"),
    "adagrad": ("adagrad", {"learning_rate": 0.05, "wd": 0.1}, "float32"),
    "adam": ("adam", {"learning_rate": 0.01, "beta1": 0.8, "wd": 0.1}, "float32"),
    "adam-half": ("adam", {"learning_rate": 0.01, **_HALF}, "float16"),
    "adamax": ("adamax", {"learning_rate": 0.01}, "float32"),
    "adamw": ("adamw", {"learning_rate": 0.01, "wd": 0.1, "correct_bias": False}, "float32"),
    "adamw-half": ("adamw", {"learning_rate": 0.01, **_HALF}, "float16"),
    "dcasgd": ("dcasgd", {"learning_rate": 0.05, "momentum": 0.8}, "float32"),
    "dcasgd-plain": ("dcasgd", {"learning_rate": 0.05}, "float32"),
    "ftml": ("ftml", {"learning_rate": 0.01, "clip_gradient": 0.5}, "float32"),
    "ftrl": ("ftrl", {"learning_rate": 0.1, "lamda1": 0.02, "wd": 0.01}, "float32"),
    "groupadagrad": ("groupadagrad", {"learning_rate": 0.05}, "float32"),
    "lamb": ("lamb", {"learning_rate": 0.01, "wd": 0.1}, "float32"),
    "lamb-half": ("lamb", {"learning_rate": 0.01, **_HALF}, "float16"),
    "lans": ("lans", {"learning_rate": 0.01}, "float32"),
    "lars": ("lars", {"learning_rate": 0.5, "momentum": 0.8}, "float32"),
    "lars-half": ("lars", {"learning_rate": 0.5, "momentum": 0.8, **_HALF}, "float16"),
    "nadam": ("nadam", {"learning_rate": 0.01}, "float32"),
    "nag": ("nag", {"learning_rate": 0.05, "momentum": 0.8}, "float32"),
    "nag-half": ("nag", {"learning_rate": 0.05, "momentum": 0.8, **_HALF}, "float16"),
    "nag-plain": ("nag", {"learning_rate": 0.05, "momentum": 0.0}, "float32"),
    "rmsprop": ("rmsprop", {"learning_rate": 0.01, "rho": 0.8}, "float32"),
    "rmsprop-centered": ("rmsprop", {"learning_rate": 0.01, "centered": True, "momentum": 0.7}, "float32"),
    "sgd": ("sgd", {"learning_rate": 0.05, "momentum": 0.8, "wd": 0.1, "clip_gradient": 0.7}, "float32"),
    "sgd-half": ("sgd", {"learning_rate": 0.05, "momentum": 0.8, **_HALF}, "float16"),
    "sgd-half-plain": ("sgd", {"learning_rate": 0.05, **_HALF}, "float16"),
    "sgd-plain": ("sgd", {"learning_rate": 0.05}, "float32"),
    "sgd-factor": ("sgd", {"learning_rate": 0.05, "momentum": 0.8}, "float32"),
    "sgd-poly": ("sgd", {"learning_rate": 0.05}, "float32"),
    "signum": ("signum", {"learning_rate": 0.01, "momentum": 0.8, "wd_lh": 0.01}, "float32"),
    "test": ("test", {"learning_rate": 0.05}, "float32"),
}
SCHEDULERS = {
    "sgd-factor": ("FactorScheduler", {"step": 2, "factor": 0.5, "base_lr": 0.05}),
    "sgd-poly": ("PolyScheduler", {"max_update": 10, "base_lr": 0.05, "pwr": 1}),
}


def parameters(case):
    """Return the weights that a case trains: GroupAdaGrad takes matrices only, and MXNet's Nadam mixes several up."""
    return {"groupadagrad": "ac", "nadam": "a"}.get(case, "abc")
