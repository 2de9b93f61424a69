"""NumPy arrays that are overwritten right after the call that was given them: nothing may read them then."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as onp
import pytest

import gluonx
from fuzz.harness import counts, sweep
from gluonx import Trainer, autograd, engine, loss, nd, nn, np, npx

_MODES = {
    "at once": contextlib.nullcontext,
    "naive": lambda: engine.mode("naive"),
    "bulk": lambda: engine.bulk(50),
    "recorded": autograd.record,
}
_L2 = loss.L2Loss()
_SUM = gluonx.from_jax(lambda a, b: a + b)
_NETS: dict[Any, Any] = {}


def _net(units: int, hybrid: bool) -> Any:
    net = _NETS.get((units, hybrid))
    if net is None:
        net = _NETS[units, hybrid] = nn.Dense(1, in_units=units)
        net.initialize(init="ones")
        net.hybridize(hybrid)
    return net


def _written(key: Any) -> Any:
    def write(x: Any, buf: Any) -> Any:
        out = x.copy()
        out[key] = buf[key]
        return out

    return write


def _scattered(x: Any, buf: Any) -> Any:
    out = x.copy()
    out[onp.arange(buf.size)] = buf
    return out


def _iadd(x: Any, buf: Any) -> Any:
    out = x.copy()
    out += buf
    return out


def _through_view(x: Any, buf: Any) -> Any:
    out = x.copy()
    view = out[1:]
    view[:] = buf[1:]
    return out


def _out(x: Any, buf: Any) -> Any:
    out = np.zeros(x.shape)
    np.add(x, buf, out=out)
    return out


def _head_gradient(x: Any, buf: Any) -> Any:
    leaf = x.copy()
    leaf.attach_grad()
    with autograd.record():
        y = leaf * 2
    y.backward(buf)
    return leaf.grad


def _positions(x: Any, buf: Any) -> Any:
    at = onp.arange(buf.size).astype("int32")
    y = np.array(buf)[at]
    at[:] = 0
    return y


def _parameter(x: Any, buf: Any) -> Any:
    p = gluonx.Parameter("w", shape=buf.shape)
    p.initialize(init="zeros")
    with autograd.pause():  # inside record() a leaf is not written to
        p.set_data(buf)
    return p.data()


class _Sum(autograd.Function):
    def forward(self, x: Any, y: Any) -> Any:
        return x + y

    def backward(self, dy: Any) -> Any:
        return dy, dy


def _two_rows(buf: Any) -> Any:
    return buf.reshape(2, -1)


_CALLS = {
    "+": lambda x, buf: x + buf,
    "reflected *": lambda x, buf: buf * (x + 1),
    "+=": _iadd,
    "numpy's ufunc": lambda x, buf: onp.add(buf, x),
    "maximum": np.maximum,
    "dot": lambda x, buf: np.dot(x + 1, buf),
    "sum": lambda x, buf: np.sum(buf),
    "where": lambda x, buf: np.where(buf > 0, buf, x),
    "where, recorded condition": lambda x, buf: np.where(x < buf, x, buf),
    "concatenate": lambda x, buf: np.concatenate([buf, x, buf]),
    "reshape": lambda x, buf: np.reshape(buf, (1, -1)),
    "relu": lambda x, buf: npx.relu(buf),
    "trim_zeros": lambda x, buf: np.trim_zeros(buf),
    "foreach": lambda x, buf: npx.foreach(lambda row, s: (row + 0, s), np.array(_two_rows(buf)), [])[0],
    "out=": _out,
    "x[:] =": _written(slice(None)),
    "x[1:] =": _written(slice(1, None)),
    "x[positions] =": _scattered,
    "through a view": _through_view,
    "index": _positions,
    "np.array": lambda x, buf: np.array(buf),
    "np.asarray": lambda x, buf: np.asarray(buf, dtype="float32"),
    "nd.array": lambda x, buf: nd.array(buf),
    "nd +": lambda x, buf: nd.array(onp.zeros(buf.shape)) + buf,
    "from_numpy": lambda x, buf: npx.from_numpy(buf),
    "from_jax": _SUM,
    "loss": lambda x, buf: _L2(x.reshape(1, -1), buf.reshape(1, -1)),
    "layer": lambda x, buf: _net(buf.size // 2, False)(_two_rows(buf)),
    "hybridized layer": lambda x, buf: _net(buf.size // 2, True)(_two_rows(buf)),
    "Function": lambda x, buf: _Sum()(x, buf),
    "set_data": _parameter,
}
_OWN_SCOPE = {"backward(buf)": _head_gradient}
_SIZES = (2, 10, 1000, 100_000)


def _check(numbers: Any, name: str, mode: str, size: int) -> None:
    call = {**_CALLS, **_OWN_SCOPE}[name]
    kept = numbers.uniform(1, 2, size).astype("float32")
    x = np.zeros(size)
    x.wait_to_read()
    with _MODES[mode]():
        wanted = call(x, kept.copy())
    wanted = wanted.asnumpy()
    buf = kept.copy()
    with _MODES[mode]():
        found = call(x, buf)
        buf[:] = 7
    onp.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-5, err_msg=f"{name}, {mode}, {size} elements")


def _draw(numbers: Any) -> None:
    name = list(_CALLS)[numbers.randint(len(_CALLS))]
    mode = list(_MODES)[numbers.randint(len(_MODES))]
    _check(numbers, name, mode, _SIZES[numbers.randint(len(_SIZES))])


@pytest.mark.dear
@counts(few=60)
def test_programs(count: int) -> None:
    sweep(_draw, count)


@pytest.mark.parametrize("mode", _MODES)
@pytest.mark.parametrize("name", _CALLS)
def test_large_operands_are_not_read_after_the_call(name: str, mode: str) -> None:
    numbers = onp.random.RandomState(0)
    for _ in range(10):
        _check(numbers, name, mode, 100_000)


def test_the_head_gradient_is_not_read_after_the_call() -> None:
    for _ in range(10):
        _check(onp.random.RandomState(0), "backward(buf)", "at once", 100_000)


@pytest.mark.dear
@pytest.mark.parametrize("mode", _MODES)
def test_ten_million_elements(mode: str) -> None:
    numbers = onp.random.RandomState(0)
    for name in ("+", "x[:] ="):
        _check(numbers, name, mode, 10_000_000)


def test_what_is_written_does_not_show_the_numpy_array_later() -> None:
    """An operator that has nothing to do must not give NumPy's memory back as its result."""
    buf = onp.zeros(4096, "float32")
    x = np.ones(4096)
    x[:] = buf
    x.wait_to_read()
    buf[:] = 7
    assert x.asnumpy().max() == 0


def test_parameters_of_a_pure_function() -> None:
    net = nn.Dense(1, in_units=50_000)
    net.initialize(init="zeros")
    pure = gluonx.functional(net)
    for _ in range(10):
        weight, x = onp.ones((1, 50_000), "float32"), onp.ones((1, 50_000), "float32")
        given = {name: weight if "weight" in name else value for name, value in pure.params.items()}
        out, _ = pure.apply(given, pure.state, None, x)
        pure.update_from(given)
        weight[:], x[:] = 7, 7
        assert float(out[0, 0]) == 50_000
        assert float(net.weight.data().asnumpy().max()) == 1


@pytest.mark.dear
def test_a_training_step_on_numpy_batches() -> None:
    """The data and labels of each step are overwritten by the next, as a loader that keeps its buffers does."""

    def train(reuse: bool) -> Any:
        net = nn.Dense(1, in_units=1000)
        net.initialize(init="zeros")
        trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        numbers = onp.random.RandomState(0)
        x, y = onp.empty((100, 1000), "float32"), onp.empty((100, 1), "float32")
        for _ in range(8):
            if not reuse:
                x, y = onp.empty_like(x), onp.empty_like(y)
            x[:], y[:] = numbers.randn(100, 1000), numbers.randn(100, 1)
            with autograd.record():
                value = _L2(net(x), y)
            value.backward()
            trainer.step(100)
        return net.weight.data().asnumpy()

    onp.testing.assert_array_equal(train(True), train(False))
