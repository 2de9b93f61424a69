"""Optimizer update operators, each run twice: what they give, and what they leave in their states.

A case is (name in mx.nd, words for its arrays, attributes). Arrays: ``w`` a weight, ``g`` a gradient, ``s`` a state
around zero, ``p`` a positive one, ``h`` and ``H`` a weight and a gradient of half precision, ``W`` the float32 copy of
the last ``h``, ``r`` one number, ``z`` a zero, ``v`` three positive numbers.
"""

import numpy as np

_ALL = {"wd": 0.1, "rescale_grad": 0.5, "clip_gradient": 0.4}
_MULTI = {"lrs": (0.1, 0.2), "wds": (0.1, 0.0), "num_weights": 2}
_ADAMW = {"eta": 0.5, "beta1": 0.8, "beta2": 0.95, "epsilon": 1e-6}
_LAMB = {"learning_rates": (0.1, 0.2), "wds": (0.1, 0.0), "step_count": (2, 3), "num_tensors": 2}
CASES = [
    ("sgd_update", "w g", {"lr": 0.1}),
    ("sgd_update", "w g", {"lr": 0.1, **_ALL, "lazy_update": False}),
    ("sgd_mom_update", "w g s", {"lr": 0.1, "momentum": 0.9}),
    ("sgd_mom_update", "w g s", {"lr": 0.1, "momentum": 0.9, **_ALL}),
    ("mp_sgd_update", "h H W", {"lr": 0.1, **_ALL}),
    ("mp_sgd_mom_update", "h H s W", {"lr": 0.1, "momentum": 0.9, **_ALL}),
    ("nag_mom_update", "w g s", {"lr": 0.1, "momentum": 0.9}),
    ("nag_mom_update", "w g s", {"lr": 0.1, "momentum": 0.9, **_ALL}),
    ("mp_nag_mom_update", "h H s W", {"lr": 0.1, "momentum": 0.9, **_ALL}),
    ("signsgd_update", "w g", {"lr": 0.1, **_ALL}),
    ("signum_update", "w g s", {"lr": 0.1, "momentum": 0.9, "wd_lh": 0.2, **_ALL}),
    ("ftml_update", "w g p p s", {"lr": 0.1, "t": 2}),
    ("ftml_update", "w g p p s", {"lr": 0.1, "t": 2, "beta1": 0.5, "wd": 0.1, "rescale_grad": 0.5, "clip_grad": 0.3}),
    ("adam_update", "w g s p", {"lr": 0.1}),
    ("adam_update", "w g s p", {"lr": 0.1, "beta1": 0.8, "beta2": 0.9, "epsilon": 1e-3, **_ALL}),
    ("rmsprop_update", "w g p", {"lr": 0.1}),
    ("rmsprop_update", "w g p", {"lr": 0.1, "rho": 0.8, "epsilon": 1e-3, "clip_weights": 0.5, **_ALL}),
    ("rmspropalex_update", "w g z p s", {"lr": 0.1, "rho": 0.95}),
    ("rmspropalex_update", "w g z p s", {"lr": 0.1, "rho": 0.8, "momentum": 0.5, "clip_weights": 0.5, **_ALL}),
    ("ftrl_update", "w g s p", {"lr": 0.1}),
    ("ftrl_update", "w g s p", {"lr": 0.1, "lamda1": 0.3, "beta": 0.5, **_ALL}),
    ("lamb_update_phase1", "w g s p", {"t": 3, "wd": 0.1}),
    ("lamb_update_phase1", "w g s p", {"t": 3, "bias_correction": False, "beta1": 0.8, **_ALL}),
    ("lamb_update_phase2", "w g r r", {"lr": 0.1}),
    ("lamb_update_phase2", "w g r z1", {"lr": 0.1}),
    ("lamb_update_phase2", "w g r r", {"lr": 0.1, "lower_bound": 0.9, "upper_bound": 1.0}),
    ("mp_lamb_update_phase1", "h H s p W", {"t": 3, **_ALL}),
    ("mp_lamb_update_phase2", "h g r r W", {"lr": 0.1, "lower_bound": 0.2, "upper_bound": 0.4}),
    ("contrib.adamw_update", "w g s p r", {"lr": 0.1, **_ADAMW}),
    ("contrib.adamw_update", "w g s p r", {"lr": 0.1, "wd": 0.1, "clip_gradient": 0.2, **_ADAMW}),
    ("contrib.adamw_update", "w g s p z1", {"lr": 0.1, "wd": 0.1, **_ADAMW}),
    ("contrib.mp_adamw_update", "h H s p W r", {"lr": 0.1, "wd": 0.1, **_ADAMW}),
    ("contrib.adabelief_update", "w g s p r", {"lr": 0.1, "wd": 0.1, "clip_gradient": 0.2, **_ADAMW}),
    ("contrib.mp_adabelief_update", "h H s p W r", {"lr": 0.1, "wd": 0.1, **_ADAMW}),
    ("multi_sgd_update", "w g w g", {**_MULTI, "rescale_grad": 0.5, "clip_gradient": 0.4}),
    ("multi_sgd_mom_update", "w g s w g s", {**_MULTI, "momentum": 0.9, "rescale_grad": 0.5}),
    ("multi_mp_sgd_update", "h H W h H W", {**_MULTI, "clip_gradient": 0.4}),
    ("multi_mp_sgd_mom_update", "h H s W h H s W", {**_MULTI, "momentum": 0.9}),
    ("preloaded_multi_sgd_update", "w g w g v2 v2", {"num_weights": 2, "rescale_grad": 0.5}),
    ("preloaded_multi_sgd_mom_update", "w g s w g s v2 v2", {"num_weights": 2, "momentum": 0.9}),
    ("preloaded_multi_mp_sgd_update", "h H W h H W v2 v2", {"num_weights": 2}),
    ("preloaded_multi_mp_sgd_mom_update", "h H s W h H s W v2 v2", {"num_weights": 2, "momentum": 0.9}),
    ("multi_sum_sq", "w g v", {"num_arrays": 3}),
    ("multi_lars", "v v v v", {"eta": 0.1, "eps": 1e-3, "rescale_grad": 0.5}),
    ("multi_lars", "v z3 v v", {"eta": 0.1, "eps": 1e-3}),
]
# Those of the two last families take lists of arrays, under another front.
LISTED = {
    "_multi_adamw_update": ("w g s p w g s p r", {**_MULTI, "etas": (0.5, 1.0), "beta1": 0.8, "clip_gradient": 0.4}),
    "_multi_mp_adamw_update": ("h H s p W h H s p W r", {**_MULTI, "etas": (0.5, 1.0)}),
    "_multi_adabelief_update": ("w g s p w g s p r", {**_MULTI, "etas": (0.5, 1.0), "clip_gradient": 0.4}),
    "_multi_mp_adabelief_update": ("h H s p W h H s p W r", {**_MULTI, "etas": (0.5, 1.0)}),
    "_multi_lamb_update": ("w g s p w g s p", {**_LAMB, "rescale_grad": 0.5, "clip_gradient": 0.4}),
    "_multi_mp_lamb_update": ("h H s p W h H s p W", {**_LAMB, "lower_bound": 0.5, "upper_bound": 0.9}),
    "_multi_lans_update": ("w g s p w g s p", {**_LAMB, "rescale_grad": 0.5, "clip_gradient": 0.4}),
    "_multi_mp_lans_update": ("h H s p W h H s p W", {**_LAMB, "lower_bound": 0.5, "upper_bound": 0.9}),
}
CASES += [(name, words, attrs) for name, (words, attrs) in LISTED.items()]


def arrays_of(index):
    rng = np.random.RandomState(100 + index)
    found: list = []
    last = np.zeros(())
    for word in CASES[index][1].split():
        kind, count = word[0], word[1:]
        if kind in "wgs":
            found.append(rng.uniform(-1, 1, (3, 4)).astype("float32"))
        elif kind in "hH":
            found.append(rng.uniform(-1, 1, (3, 4)).astype("float16"))
            last = found[-1] if kind == "h" else last
        elif kind == "W":
            found.append(last.astype("float32"))
        elif kind == "p":
            found.append(rng.uniform(0.5, 2, (3, 4)).astype("float32"))
        elif kind == "z":
            found.append(np.zeros((int(count),) if count else (3, 4), "float32"))
        elif kind == "r":
            found.append(rng.uniform(0.5, 2, (1,)).astype("float32"))
        elif kind == "v":
            found.append(rng.uniform(0.5, 2, (int(count or 3),)).astype("float32"))
    return found
