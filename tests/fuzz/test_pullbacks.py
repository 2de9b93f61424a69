"""NumPy's kernels and pull-backs against the ones that JAX derives, for random calls with kinks, ties and empty arrays.

`tests/ops/host/test_pullbacks.py` compares them with XLA's programs, for calls that somebody chose. Here calls are
drawn, and JAX's trace is interpreted by NumPy, since XLA would take a second for each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as onp
import pytest

from fuzz.harness import counts, sweep
from gluonx import ops
from gluonx.deferred.operators.derived import pullback_of, strong
from gluonx.ops.host import kernels, pullbacks
from gluonx.ops.host.jaxprs import HostProgram

_KINKS = [0.0, -0.0, 1.0, -1.0, 0.5]


class _Draw:
    """Shapes, arrays and attributes of one call."""

    def __init__(self, numbers: Any) -> None:
        self.numbers = numbers
        self.shape = tuple([self.length() for _ in range(numbers.randint(1, 4))])

    def length(self) -> int:
        return int(self.numbers.choice([0, 1, 2, 3, 4], p=[0.04, 0.16, 0.3, 0.25, 0.25]))

    def one(self, *values: Any) -> Any:
        return values[self.numbers.randint(len(values))]

    def number(self, low: int, high: int) -> int:
        return int(self.numbers.randint(low, high))

    def axis(self) -> int:
        return self.number(-len(self.shape), len(self.shape))

    def real(self, *shape: int) -> onp.ndarray:
        x = self.numbers.uniform(-2, 2, shape)
        return onp.where(self.numbers.uniform(size=shape) < 0.3, self.numbers.choice(_KINKS, shape), x).astype("f")

    def ints(self, *shape: int) -> onp.ndarray:
        return self.numbers.randint(-3, 6, shape).astype(self.one("int32", "uint8", "float32"))

    def thinner(self) -> tuple[int, ...]:
        """A shape that broadcasts to the other one."""
        thin = tuple([1 if self.number(0, 3) == 0 else n for n in self.shape])
        return thin[self.number(0, len(thin) + 1) :]


_Call = tuple[str, list[Any], dict[str, Any]]


def _two(d: _Draw) -> _Call:
    pair = [d.real(*d.shape), d.real(*d.thinner())]
    names = ("add", "subtract", "multiply", "true_divide", "maximum", "minimum")
    return d.one(*names), pair[:: d.one(1, -1)], {}


def _sum(d: _Draw) -> _Call:
    several = tuple(range(0, len(d.shape), 2))
    attrs = {"axis": d.one(None, d.axis(), several), "keepdims": d.one(True, False)}
    return d.one("sum", "mean", "max", "min", "var", "std"), [d.real(*d.shape)], attrs


def _where(d: _Draw) -> _Call:
    return "where", [d.ints(*d.shape), d.real(*d.thinner()), d.real(*d.shape)], {}


def _slice(d: _Draw) -> _Call:
    attrs = {"axis": d.axis(), "begin": d.number(-3, 3), "end": d.one(None, 1, 2, -1, 9)}
    return "slice_axis", [d.real(*d.shape)], attrs


def _taken(d: _Draw) -> _Call:
    where = d.ints(*[d.length() for _ in range(d.number(0, 3))])
    return "take", [d.real(*d.shape), where], {"axis": d.one(None, d.axis()), "mode": d.one("clip", "wrap")}


def _picked(d: _Draw) -> _Call:
    axis = d.axis()
    rest = [n for i, n in enumerate(d.shape) if i != axis % len(d.shape)]
    attrs = {"axis": axis, "mode": d.one("clip", "wrap"), "keepdims": d.one(True, False)}
    return "pick", [d.real(*d.shape), d.ints(*rest)], attrs


def _products(d: _Draw) -> _Call:
    m, k, n, b = [d.length() for _ in range(4)]
    one, two = d.one(True, False), d.one(True, False)
    given = [d.real(*((b, k, m) if one else (b, m, k))), d.real(*((b, n, k) if two else (b, k, n)))]
    return "batch_dot", given, {"transpose_a": one, "transpose_b": two}


def _normed(d: _Draw) -> _Call:
    axis = d.axis()
    vector = (d.shape[axis],)
    if d.one(True, False):
        return "layer_norm", [d.real(*d.shape), d.real(*vector), d.real(*vector)], {"axis": axis, "eps": 1e-3}
    attrs: dict[str, Any] = {"axis": axis, "eps": 1e-3, "momentum": d.one(0.9, 0.0)}
    attrs |= {name: d.one(True, False) for name in ("fix_gamma", "training", "use_global_stats")}
    vectors = [d.real(*vector) for _ in range(3)]
    return "batch_norm", [d.real(*d.shape), *vectors, abs(d.real(*vector)) + onp.float32(0.1)], attrs


def _image(d: _Draw) -> _Call:
    space = d.number(1, 3)
    size, kernel, stride, pad, dilate = [
        tuple([d.number(*bounds) for _ in range(space)]) for bounds in ((1, 8), (1, 4), (1, 4), (0, 3), (1, 3))
    ]
    b, c, f = [d.number(1, 4) for _ in range(3)]
    which = d.number(0, 3)
    if which == 0:
        attrs: dict[str, Any] = {"pool_type": d.one("max", "avg", "sum"), "global_pool": d.number(0, 5) == 0}
        attrs |= {"pooling_convention": d.one("valid", "full", "same"), "count_include_pad": d.one(None, True, False)}
        return "pooling", [d.real(b, c, *size)], {"kernel": kernel, "stride": stride, "pad": pad, **attrs}
    attrs = {"kernel": kernel, "stride": stride, "pad": pad, "dilate": dilate, "num_filter": f}
    attrs["no_bias"] = d.one(True, False)
    if which == 1:
        return "convolution", [d.real(b, c, *size), d.real(f, c, *kernel), d.real(f)], attrs
    attrs["adj"] = tuple([d.number(0, s) for s in stride])
    return "deconvolution", [d.real(b, c, *size), d.real(c, f, *kernel), d.real(f)], attrs


def _loss(d: _Draw) -> _Call:
    if d.one(True, False):
        return d.one("l2_loss", "l1_loss", "sigmoid_bce_loss"), [d.real(*d.shape), d.real(*d.shape)], {"weight": None}
    shape = (*d.shape, 3)
    return "softmax_cross_entropy_loss", [d.real(*shape), d.ints(*d.shape), None], {"axis": -1}


_CALLS: list[Callable[[_Draw], _Call]] = [
    _two, _sum, _where, _slice, _taken, _picked, _products, _normed, _image, _image, _loss
]  # fmt: skip


# Of calls whose conditions, numbers of places or statistics may be floats.
_DIFFERENTIABLE = {
    "where": (1, 2), "take": (0,), "pick": (0,), "softmax_cross_entropy_loss": (0,), "batch_norm": (0, 1, 2)
}  # fmt: skip


def _by_jax(op: Any, inputs: list[Any]) -> tuple[Any, ...]:
    """The results of an operator's trace, interpreted."""
    there = [a is not None for a in inputs]
    given = [a for a in inputs if a is not None]
    fn = strong(op)

    def run(*values: Any) -> Any:
        left = iter(values)
        return fn(*[next(left) if present else None for present in there])

    return tuple(HostProgram(jax.make_jaxpr(run)(*given))(*given))


def _compare(found: Any, wanted: tuple[Any, ...], call: _Call, what: str) -> None:
    found = found if type(found) in (tuple, list) else (found,)
    assert len(found) == len(wanted), (what, call)
    for a, b in zip(found, wanted, strict=True):
        assert (onp.shape(a), onp.asarray(a).dtype) == (b.shape, b.dtype), (what, call)
        onp.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5, err_msg=f"{what} of {call}")


def _check(numbers: Any) -> None:
    for draws in _CALLS:
        call = draws(_Draw(numbers))
        name, inputs, attrs = call
        op = ops.get(name).bind(**attrs)
        diff = tuple([i for i, x in enumerate(inputs) if x is not None and x.dtype == onp.float32])
        diff = _DIFFERENTIABLE.get(name, diff)
        try:
            wanted = _by_jax(op, inputs)
        except Exception:  # a call that is not allowed
            continue
        with onp.errstate(all="ignore"):
            forward = kernels.kernel_of(op)
            found = NotImplemented if forward is None else forward[0](*inputs)
            if found is not NotImplemented:
                _compare(found, wanted, call, "the forward")
            passed = (True, *[False] * (len(wanted) - 1))
            back = pullbacks.pullback_kernel(op, diff, len(inputs), passed)
            if back is None:
                continue
            cotangent = numbers.uniform(-1, 1, wanted[0].shape).astype("f")
            found = back[0](*inputs, cotangent)
            if found is not NotImplemented:
                wanted = _by_jax(pullback_of(op, diff, len(inputs), passed), [*inputs, cotangent])
                _compare(found, wanted, call, "the pull-back")


@pytest.mark.dear
@counts(few=6, many=1000)
def test_they_agree(count: int) -> None:
    sweep(_check, count)
