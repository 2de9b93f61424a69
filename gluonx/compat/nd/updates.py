"""Functions of ``mx.nd.contrib`` that update one weight or many, over `gluonx.compat.operators.updates`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as onp

from gluonx import np
from gluonx.compat.nd.calling import front
from gluonx.compat.nd.ndarray import as_nd
from gluonx.compat.operators.table import TABLE
from gluonx.deferred.values.core import Handle

if TYPE_CHECKING:
    from gluonx.compat.nd.ndarray import NDArray


def _scale(value: float | Handle) -> Handle:
    """Return the scale of the gradient as the array that the operators take."""
    return value if isinstance(value, Handle) else as_nd(np.array(value, dtype="float32"))


def _one(name: str, half: bool) -> Callable[..., Any]:
    """``(weight, grad, mean, var[, weight32], rescale_grad, lr, eta, ...)``."""
    call, count = front(TABLE[f"_{name}"], name), 5 if half else 4
    words = ("lr", "eta", "beta1", "beta2", "epsilon", "wd", "clip_gradient")

    def update(*args: Any, **kwargs: Any) -> NDArray:
        arrays, numbers = args[:count], args[count:]
        if numbers:
            kwargs = {**dict(zip(("rescale_grad", *words), numbers, strict=False)), **kwargs}
        return call(*arrays, **{**kwargs, "rescale_grad": _scale(kwargs["rescale_grad"])})

    return update


def _many(name: str, half: bool, scaled: bool) -> Callable[..., Any]:
    """``(weights, grads, means, vars[, weights32], ...)``, each a list."""
    call, lists = TABLE[f"_{name}"], 5 if half else 4

    def update(
        *args: Any, out: Sequence[NDArray] | None = None, name: str | None = None, **kwargs: Any
    ) -> list[NDArray]:
        groups, rest = args[:lists], args[lists:]
        words = ("rescale_grad", "lrs", "wds", "etas") if scaled else ("step_count", "lrs", "wds")
        kwargs = {**dict(zip(words, rest, strict=False)), **kwargs}
        arrays = [array for group in zip(*groups, strict=True) for array in group]
        count = len(groups[0])
        if scaled:
            arrays.append(_scale(kwargs.pop("rescale_grad")))
            given = {"num_weights": count, **{w: _floats(kwargs.pop(w)) for w in ("lrs", "wds", "etas")}}
        else:
            given = {"num_tensors": count, "step_count": tuple([int(t) for t in kwargs.pop("step_count")])}
            given |= {"learning_rates": _floats(kwargs.pop("lrs")), "wds": _floats(kwargs.pop("wds"))}
        for word in ("size", "num_tensors", "num_weights"):
            kwargs.pop(word, None)
        return front(call, call.name)(*arrays, out=out, **given, **kwargs)

    return update


def _floats(values: Sequence[Any]) -> tuple[float, ...]:
    return tuple([float(v) for v in onp.asarray(values).reshape(-1)])


MADE: dict[str, Callable[..., Any]] = {}
"""The functions by name."""

for _half, _mp in ((False, ""), (True, "mp_")):
    for _name in ("adamw_update", "adabelief_update"):
        MADE[f"{_mp}{_name}"] = _one(f"{_mp}{_name}", _half)
        MADE[f"multi_{_mp}{_name}"] = _many(f"multi_{_mp}{_name}", _half, True)
    for _name in ("lamb_update", "lans_update"):
        MADE[f"multi_{_mp}{_name}"] = _many(f"multi_{_mp}{_name}", _half, False)
for _name, _made in MADE.items():
    _made.__name__ = _made.__qualname__ = _name
    _made.__doc__ = f"MXNet's ``{_name}``, on the operator ``_{_name}``."
