"""The cases that the golden numbers and the tests share: which optimizers and schedulers, driven how."""

import numpy as onp

SHAPES = ((3, 4), (5,), (2, 2, 2))
STEPS = 6
LR_MULT = {1: 0.5}
WD_MULT = {2: 0.0}
_RNG = onp.random.RandomState(7)
WEIGHTS = [_RNG.uniform(-1, 1, s).astype("float32") for s in SHAPES]
GRADS = [[_RNG.uniform(-2, 2, s).astype("float32") for s in SHAPES] for _ in range(STEPS)]


def plan(opt, step):
    """Change learning rate and gradient scale on the way, as a training loop does."""
    if step == 3:
        opt.set_learning_rate(opt.learning_rate * 0.3)
    opt.rescale_grad = 0.5 if step < 4 else 0.25


def _variants(name, base, **extra):
    """Cases of one optimizer: as it comes, with weight decay and clipping, without fused kernels."""
    hard = {"wd": 0.1, "clip_gradient": 0.4}
    cases = {
        name: (name, base, "float32"),
        f"{name}-hard": (name, {**base, **hard}, "float32"),
        f"{name}-unfused": (name, {**base, **hard, "use_fused_step": False}, "float32"),
    }
    cases.update({f"{name}-{key}": (name, {**base, **hard, **kw}, "float32") for key, kw in extra.items()})
    return cases


def _half(name, plain):
    """Cases of float16 weights with a float32 master copy."""
    kwargs = {**plain, "wd": 0.1, "clip_gradient": 0.4, "multi_precision": True}
    return {f"{name}-half": (name, kwargs, "float16")}


OPTIMIZERS = {
    **_variants("sgd", {"learning_rate": 0.1}, momentum={"momentum": 0.9}),
    **_variants("nag", {"learning_rate": 0.1}, plain={"momentum": 0.0}),
    **_variants("adam", {"learning_rate": 0.1}, betas={"beta1": 0.5, "beta2": 0.8, "epsilon": 1e-3}),
    **_variants("adamw", {"learning_rate": 0.1}, raw={"correct_bias": False}),
    **_variants("rmsprop", {"learning_rate": 0.05, "epsilon": 1e-3}, clipped={"clip_weights": 0.5}),
    **{
        k.replace("rmsprop", "rmsprop-centered"): v
        for k, v in _variants("rmsprop", {"learning_rate": 0.05, "centered": True, "epsilon": 1e-3}).items()
    },
    **_variants("adagrad", {"learning_rate": 0.1}),
    **_variants("adadelta", {"learning_rate": 1.0}),
    **_variants("adamax", {"learning_rate": 0.1}),
    **_variants("adabelief", {"learning_rate": 0.1}),
    **_variants("nadam", {"learning_rate": 0.1}),
    **_variants("ftml", {"learning_rate": 0.1}),
    **_variants("ftrl", {"learning_rate": 0.1}),
    **_variants("signum", {"learning_rate": 0.1}, plain={"momentum": 0.0}, decay={"wd_lh": 0.2}),
    **_variants("dcasgd", {"learning_rate": 0.1}, momentum={"momentum": 0.9}),
    **_variants(
        "lamb", {"learning_rate": 0.1}, bound={"lower_bound": 1.5, "upper_bound": 1.8, "bias_correction": False}
    ),
    **_variants("lans", {"learning_rate": 0.1}, bound={"lower_bound": 1.5, "upper_bound": 1.8}),
    "groupadagrad": ("groupadagrad", {"learning_rate": 0.1, "clip_gradient": 0.4}, "float32"),
    **_variants("lars", {"learning_rate": 1.0, "eta": 0.1}, momentum={"momentum": 0.9}),
    **_half("sgd", {"learning_rate": 0.1, "momentum": 0.9}),
    **_half("nag", {"learning_rate": 0.1}),
    **_half("adam", {"learning_rate": 0.1}),
    **_half("adamw", {"learning_rate": 0.1}),
    **_half("lamb", {"learning_rate": 0.1}),
}

_WARM = {"warmup_steps": 5, "warmup_begin_lr": 0.01}
SCHEDULERS = {
    "factor": ("FactorScheduler", {"step": 4, "factor": 0.5, "base_lr": 0.4}, 20),
    "factor-stop": ("FactorScheduler", {"step": 2, "factor": 0.1, "stop_factor_lr": 1e-3, "base_lr": 1.0}, 20),
    "factor-warm": ("FactorScheduler", {"step": 4, "factor": 0.5, "base_lr": 0.4, **_WARM}, 20),
    "multifactor": ("MultiFactorScheduler", {"step": [3, 7, 8], "factor": 0.1, "base_lr": 0.4}, 20),
    "multifactor-warm": ("MultiFactorScheduler", {"step": [3, 9], "factor": 0.1, "base_lr": 0.4, **_WARM}, 20),
    "poly": ("PolyScheduler", {"max_update": 12, "base_lr": 0.4, "pwr": 2}, 20),
    "poly-warm": ("PolyScheduler", {"max_update": 12, "base_lr": 0.4, "pwr": 3, "final_lr": 0.1, **_WARM}, 20),
    "cosine": ("CosineScheduler", {"max_update": 12, "base_lr": 0.4}, 20),
    "cosine-warm": (
        "CosineScheduler",
        {"max_update": 12, "base_lr": 0.4, "final_lr": 0.1, "warmup_mode": "constant", **_WARM},
        20,
    ),
}

_CONV = (64, 32, 3, 3)
INITIALIZERS = {
    "zeros": ("zeros", {}, (2, 3)),
    "ones": ("ones", {}, (2, 3)),
    "constant": ("constant", {"value": 2.5}, (2, 3)),
    "bilinear": ("bilinear", {}, (2, 2, 4, 4)),
    "bilinear-odd": ("bilinear", {}, (1, 2, 3, 3)),
    "bilinear-oblong": ("bilinear", {}, (1, 1, 3, 5)),
    "lstmbias": ("lstmbias", {"forget_bias": 0.5}, (12,)),
    "uniform": ("uniform", {"scale": 0.3}, (200, 100)),
    "normal": ("normal", {"sigma": 0.3}, (200, 100)),
    "xavier": ("xavier", {}, _CONV),
    "xavier-in": ("xavier", {"factor_type": "in", "magnitude": 2.34}, _CONV),
    "xavier-out": ("xavier", {"factor_type": "out", "rnd_type": "gaussian", "magnitude": 2}, _CONV),
    "xavier-dense": ("xavier", {"rnd_type": "gaussian"}, (300, 80)),
    "msraprelu": ("msraprelu", {}, _CONV),
    "msraprelu-in": ("msraprelu", {"factor_type": "in", "slope": 0.0}, _CONV),
    "orthogonal": ("orthogonal", {}, _CONV),
    "orthogonal-wide": ("orthogonal", {"scale": 2.0, "rand_type": "normal"}, (30, 80)),
}
