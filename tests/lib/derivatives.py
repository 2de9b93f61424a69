"""Functions with derivatives written by hand, which the text of a trace does not show."""

import jax

import gluonx

__all__ = ["doubling"]


def doubling(slope):
    """Return a function that gives twice its input, and `slope` as its derivative."""

    @jax.custom_vjp
    def double(x):
        return 2 * x

    double.defvjp(lambda x: (2 * x, None), lambda _, cotangent: (slope * cotangent,))
    return gluonx.from_jax(double)
