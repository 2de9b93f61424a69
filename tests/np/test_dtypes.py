"""Number types: what an operator gives for every pair of dtypes, half types in layers and training, 64-bit types.

tests/oracle/dtypes/make.py asked the real MXNet 2.0 for every result; where gluonx gives something else, the
difference is in `DIFFERS`, with its reason.
"""

import functools
import json
import operator
import os
import subprocess
import sys

import jax
import numpy as onp
import pytest

from gluonx import Trainer, autograd, engine, init, loss, nn, np, random
from gluonx.compat.util import is_x64, set_x64
from lib import TESTS
from lib.dtype_table import FLOATS, NUMBERS, OPERATORS, WHOLE

HERE = TESTS
PROMOTION = HERE / "oracle" / "dtypes" / "promotion.json"
SMALL_FLOATS = ("exp", "rint", "sin", "sqrt")
FLOATING = ("2.5", "numpy.float32", "numpy.float64")


def expected(name, key, mxnet):
    """Return gluonx's dtype where MXNet's is `mxnet`: the same, but for the rules in docs/dtypes.md."""
    kinds = key.split()
    if mxnet == "raises":
        return "any"  # mixtures that MXNet refuses are promoted
    if set(FLOATING) & set(kinds) and set(WHOLE) & set(kinds) and name in ("&", "lcm"):
        return "raises"  # MXNet cuts the number off
    if name == "arctan2" and not set(kinds) & set(FLOATS):
        return "any"  # an angle is a float, which MXNet cuts off
    if set(FLOATING) & set(kinds) and not set(kinds) & set(FLOATS) and mxnet == "float64":
        return "float32"  # the default dtype, where MXNet goes to float64 for a Python float beside integers
    if "bool" in kinds and (kinds == ["bool", "bool"] or set(kinds) & set(NUMBERS)):
        return "any"  # arithmetic of booleans among themselves is NumPy's, as far as jax.numpy has it
    if name in ("sum", "prod") and key in WHOLE:
        return "uint64" if key[0] == "u" else "int64"  # sums of integers widen
    if name in ("std", "var") and key in WHOLE:
        return "float64" if key == "int64" else "float32"  # MXNet cuts them off to integers
    if name == "mean" and key in FLOATS:
        return key  # MXNet: always float32
    if name in SMALL_FLOATS and key in ("int16", "uint16", "uint32", "uint64"):
        return "float32"  # MXNet: float16, which does not hold them
    return "any" if (name, key) == ("floor", "bool") else mxnet


@pytest.fixture(scope="module")
def with_x64():
    """The table as gluonx fills it in a process of its own, started with GLUONX_X64=1."""
    env = {**os.environ, "GLUONX_X64": "1"}
    command = [sys.executable, str(HERE / "lib/dtype_table.py"), str(PROMOTION)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=600)
    return json.loads(done.stdout)


MXNET = json.loads(PROMOTION.read_text())


@pytest.mark.dear
def test_promotion(with_x64):
    """All names at once: the process that fills the table takes thirteen seconds, for whichever row."""
    wrong = {}
    for name, table in MXNET.items():
        found = with_x64[name]
        assert found.keys() == table.keys()
        wanted = {key: expected(name, key, mxnet) for key, mxnet in table.items()}
        wrong |= {(name, key): (found[key], want) for key, want in wanted.items() if want not in ("any", found[key])}
    assert not wrong


NARROW = {"int64": "int32", "uint64": "uint32", "float64": "float32"}


@pytest.mark.dear
def test_what_has_no_64_bit_type_gets_none(with_x64):
    """The same results as with JAX's own switch on, where sums of integers would be int64."""
    functions = {"+": operator.add, "/": operator.truediv, "**": operator.pow}
    for name in ("+", "/", "**", "exp", "mean", "sum"):
        function = functions.get(name) or getattr(np, name)
        for key, wide in with_x64[name].items():
            kinds = set(key.split())
            if wide == "raises" or {"int64", "uint64", "float64"} & kinds:
                continue
            args = [NUMBERS[k] if k in NUMBERS else np.ones((2,), dtype=k) for k in key.split()]
            kept = "uint32" in kinds and kinds & {"int8", "int16", "int32"}  # which only 64 bits hold
            with engine.bulk(10):
                assert str(function(*args).dtype) == (wide if kept else NARROW.get(wide, wide)), (name, key)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int32", "int8", "bool"])
def test_round_trip(dtype):
    x = np.array([0, 1, 1, 0], dtype=dtype)
    assert str(x.dtype) == dtype and str(x.asnumpy().dtype) == dtype
    assert str(x.astype("float32").dtype) == "float32" and x.astype("float32").tolist() == [0, 1, 1, 0]
    assert str(np.zeros_like(x).dtype) == dtype and str(x[1:].dtype) == dtype


def test_bfloat16_mixes():
    half, brain, single = (np.ones((2,), dtype=d) for d in ("float16", "bfloat16", "float32"))
    assert str((brain + 1.5).dtype) == "bfloat16" and str((brain * brain).dtype) == "bfloat16"
    assert str((brain + single).dtype) == "float32" and str((half + brain).dtype) == "float32"
    assert str((brain + np.ones((2,), dtype="int32")).dtype) == "bfloat16"


@pytest.mark.dear
def test_promotion_needs_no_switch(with_x64):
    """64-bit types come out as they do with JAX's switch on, and as in MXNet."""
    wrong = {}
    for name, table in MXNET.items():
        function = OPERATORS.get(name) or getattr(np, name)
        for key in table:
            if not {"int64", "uint64", "float64"} & set(key.split()) or with_x64[name][key] == "raises":
                continue
            with engine.bulk(10):
                args = [NUMBERS[k] if k in NUMBERS else np.ones((2,), dtype=k) for k in key.split()]
                found = str(function(*args).dtype)
            if found != with_x64[name][key]:
                wrong[name, key] = (found, with_x64[name][key])
    assert not wrong and not is_x64()


@pytest.mark.dear
def test_the_switch_of_the_process():
    assert not is_x64() and str(np.ones((2,), dtype="float64").dtype) == "float64"
    set_x64(False)
    code = (
        "from gluonx import autograd, errors, np, util\n"
        "util.set_x64()\n"
        "x = np.array([3.0], dtype='float64')\n"
        "x.attach_grad()\n"
        "with autograd.record():\n"
        "    y = (x / 3) ** 2 + 1e-12\n"
        "y.backward()\n"
        "assert str(y.dtype) == str(x.grad.dtype) == 'float64' and y.item() == 1 + 1e-12\n"
        "assert str(np.ones(2).dtype) == 'float32' and np.array([2**40], dtype='int64').item() == 2**40\n"
        "try: util.set_x64(False)\n"
        "except errors.GluonxError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "too late" in done.stdout


# -- half types in layers ----------------------------------------------------------------------------------------------


def conv_net():
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(6, 3, padding=1, in_channels=2),
        nn.BatchNorm(in_channels=6),
        nn.Activation("relu"),
        nn.MaxPool2D(2),
        nn.Conv2DTranspose(4, 2, strides=2, in_channels=6),
        nn.GroupNorm(2, in_channels=4),
        nn.GlobalAvgPool2D(),
        nn.Dense(8, in_units=4),
        nn.LayerNorm(in_channels=8),
        nn.GELU(),
        nn.Dropout(0.1),
        nn.Dense(3, in_units=8),
    )
    return net


def embedding_net():
    net = nn.HybridSequential()
    net.add(nn.Embedding(11, 6), nn.LayerNorm(in_channels=6), nn.Dense(8, in_units=30), nn.SELU(), nn.Dense(3))
    return net


CASES = {
    "conv": (conv_net, lambda r, d: np.array(r.normal(size=(8, 2, 6, 6)), dtype=d)),
    "embedding": (embedding_net, lambda r, d: np.array(r.integers(0, 11, (8, 5)), dtype="int32")),
}


def losses(case, dtype, hybrid, steps=6):
    make, draw = CASES[case]
    r = onp.random.default_rng(3)
    random.seed(5)
    net = make()
    net.initialize(init.Xavier())
    net.cast(dtype)
    if hybrid:
        net.hybridize()
    x, y = draw(r, dtype), np.array(r.integers(0, 3, (8,)), dtype="int32")
    loss_fn = loss.SoftmaxCrossEntropyLoss()
    settings = {"learning_rate": 0.1, "multi_precision": True, "momentum": 0.9}
    trainer = Trainer(net.collect_params(), "sgd", settings)
    found = []
    for _ in range(steps):
        with autograd.record():
            out = net(x)
            value = loss_fn(out, y)
        value.backward()
        trainer.step(8)
        assert str(out.dtype) == dtype
        found.append(value.astype("float32").mean().item())
    grads = {name: p.grad() for name, p in net.collect_params().items() if p.grad_req != "null"}
    return net, found, grads


@functools.cache
def in_float32(case):
    return losses(case, "float32", True)[1]


@pytest.mark.dear
@pytest.mark.parametrize(("dtype", "hybrid"), [("float16", False), ("bfloat16", True), ("float16", True)])
@pytest.mark.parametrize("case", sorted(CASES))
def test_half_types_train(case, dtype, hybrid):
    """Finite, and near what float32 does; gradients are of the weights' dtype."""
    net, found, grads = losses(case, dtype, hybrid)
    wanted = in_float32(case)
    assert onp.isfinite(found).all()
    assert found == pytest.approx(wanted, abs=0.15 if dtype == "bfloat16" else 0.03)
    for name, param in net.collect_params().items():
        assert onp.isfinite(param.data().astype("float32").asnumpy()).all(), name
        if name in grads:
            assert grads[name].dtype == param.data().dtype


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_running_statistics_stay_float32(dtype):
    layer = nn.BatchNorm(in_channels=3)
    layer.initialize()
    layer.cast(dtype)
    x = np.array(onp.random.default_rng(0).normal(2, 3, (64, 3)), dtype=dtype)
    with autograd.record():
        y = layer(x)
    assert str(y.dtype) == dtype
    assert str(layer.running_mean.data().dtype) == str(layer.running_var.data().dtype) == "float32"
    wide = x.astype("float32").asnumpy()
    onp.testing.assert_allclose(layer.running_mean.data().asnumpy(), 0.1 * wide.mean(0), rtol=1e-5)
    onp.testing.assert_allclose(layer.running_var.data().asnumpy(), 0.9 + 0.1 * wide.var(0), rtol=1e-5)


def test_unknown_dtype():
    with pytest.raises(TypeError, match="float17"):
        np.ones((2,), dtype="float17")
    assert jax.numpy.ones(2).dtype == "float32"
