"""Record which parameters of MXNet's random draws gradients reach, and what comes of sizes and dtypes.

Run it with the oracle's Python:

    /tmp/oracle/bin/python tests/oracle/random/make.py

A gradient is a function of the draw: for `normal`, the gradient of the scale is the draw minus loc, over scale. So the
file holds the pairs (draw, gradient) of one seed, and the test looks at the relation.
"""

import json
import pathlib

import numpy as onp
from mxnet import autograd, np, npx

npx.set_np()
DRAWS = {
    "uniform": (0.5, 2.0),
    "normal": (0.5, 2.0),
    "lognormal": (0.5, 0.75),
    "laplace": (0.5, 2.0),
    "logistic": (0.5, 2.0),
    "gumbel": (0.5, 2.0),
    "exponential": (2.0,),
    "gamma": (3.0, 2.0),
    "beta": (2.0, 3.0),
    "chisquare": (3.0,),
    "pareto": (3.0,),
    "power": (3.0,),
    "rayleigh": (2.0,),
    "weibull": (3.0,),
    "multivariate_normal": None,
}
SIZES = {"none": None, "int": 3, "tuple": (2, 3), "one": (1,), "zero": (0, 2)}


def gradients(name, values):
    """One gradient a parameter: nothing where none arrives, else the draws and the gradients."""
    draw, found = getattr(np.random, name), []
    for i in range(len(values)):
        params = [np.full((4,), v) for v in values]
        params[i].attach_grad()
        params[i].grad[:] = 0
        try:
            with autograd.record():
                x = draw(*params)
            x.backward()
            found.append(
                [[round(float(v), 6) for v in x.asnumpy()], [round(float(v), 6) for v in params[i].grad.asnumpy()]]
            )
        except Exception:
            found.append("raises")
    return found


def shapes(name, values):
    draw, found = getattr(np.random, name), {}
    for label, size in SIZES.items():
        try:
            x = draw(*values, size=size)
            found[label] = [list(x.shape), str(onp.dtype(x.dtype))]
        except Exception:
            found[label] = "raises"
    try:
        x = draw(*[np.full((2, 1), v) for v in values[:1]], *[np.full((3,), v) for v in values[1:]])
        found["broadcast"] = list(x.shape)
    except Exception:
        found["broadcast"] = "raises"
    return found


def main():
    np.random.seed(7)
    named = {k: v for k, v in DRAWS.items() if v is not None}
    found = {"gradients": {k: gradients(k, v) for k, v in named.items()}}
    found["shapes"] = {k: shapes(k, v) for k, v in named.items()}
    pathlib.Path(__file__).with_name("draws.json").write_text(json.dumps(found, sort_keys=True) + "\n")


main()
