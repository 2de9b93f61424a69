"""Programs compiled before the first step is done: counted, in fresh processes and with a cache between them."""

import functools
import json
import os
import pathlib
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as onp
import pytest

import gluonx as mx
from gluonx import autograd, gluon, init
from gluonx.common import process
from gluonx.gluon import nn
from gluonx.ops.registry import OPS

FIRST = """
import collections, json, sys
import jax
from jax import monitoring
compiled, events = [], collections.Counter()
def note(name, seconds, **more):
    if name.endswith("backend_compile_duration"):
        compiled.append(more["fun_name"])

monitoring.register_event_duration_secs_listener(note)
monitoring.register_event_listener(lambda name, **more: events.update([name.rpartition("/")[2]]))
import numpy, gluonx as mx
from gluonx import autograd, gluon, init
from gluonx.common import policy
from gluonx.gluon import nn

policy.limits["runs"] = 0  # the step is compiled at once: it is about the cache

def dense():
    net = nn.HybridSequential()
    net.add(nn.Dense(600, activation="relu"), nn.Dropout(0.5), nn.LayerNorm(), nn.Dense(3))
    return net, (4, 8)

def conv():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3), nn.BatchNorm(), nn.Activation("relu"), nn.MaxPool2D(), nn.Flatten(), nn.Dense(3))
    return net, (4, 2, 8, 8)

def encoder():
    return nn.TransformerEncoder(1, 8, 16, 2, 0.1, 0.1), (4, 5, 8)

net, shape = {"dense": dense, "conv": conv, "encoder": encoder}[sys.argv[1]]()
mx.random.seed(1)
net.initialize(init.Xavier(magnitude=2) if sys.argv[1] == "dense" else init.Normal(0.1))
if sys.argv[2] == "hybridized":
    net.hybridize()
x = mx.np.array(numpy.random.default_rng(0).standard_normal(shape, numpy.float32))
net.infer_shape(x)
ready = len(compiled)
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1})
with autograd.record():
    loss = (net(x) ** 2).mean()
loss.backward()
trainer.step(1)
value = float(loss)
stepped = len(compiled)
prediction = net(x).asnumpy()
parts = compiled[:ready], compiled[ready:stepped], compiled[stepped:]
print(json.dumps([*parts, events, value, float(prediction.sum())]))
"""


OPERATORS = {"dense": 5, "conv": 6, "encoder": 20}


def first(net, kind, folder):
    """A process with its compilation cache in `folder`: what it compiled, JAX's events, the loss, the prediction."""
    env = {**os.environ, "GLUONX_CACHE_DIR": str(folder)}
    env.pop("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", None)  # which the other tests are run with
    done = subprocess.run([sys.executable, "-c", FIRST, net, kind], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.dear
@pytest.mark.parametrize("kind", ["hybridized", "not hybridized"])
@pytest.mark.parametrize("net", ["dense", "conv", pytest.param("encoder", marks=pytest.mark.slow)])
def test_first_step_and_second_process(net, kind, tmp_path):
    initialized, stepped, predicted, events, loss, prediction = first(net, kind, tmp_path)
    assert initialized == []  # values are drawn on the host, shapes are found without computing
    assert len(stepped) == 1 and "update" in stepped[0]
    # A hybridized net predicts by one program; one that is not, by one for each kind of operator and shapes.
    assert len(predicted) <= (1 if kind == "hybridized" else OPERATORS[net]), predicted
    assert events["compile_requests_use_cache"] == 1 + len(predicted) and "cache_hits" not in events
    *_, again, same_loss, same_prediction = first(net, kind, tmp_path)
    assert "cache_misses" not in again and again["cache_hits"] == events["compile_requests_use_cache"]
    assert (same_loss, same_prediction) == (loss, prediction)


def dense_net(inputs):
    net = nn.HybridSequential()
    net.add(*[nn.Dense(8, in_units=n, activation="tanh") for n in inputs], nn.BatchNorm(in_channels=inputs[-1]))
    return net


def values_of(inputs, law=None, hybridize=False, seed=3, between=None):
    mx.random.seed(seed)
    net = dense_net(inputs)
    net.initialize(law or init.Xavier())
    if hybridize:
        net.hybridize()
    if between:
        between()
    net(mx.np.ones((2, 8)))
    return {name: p.data().asnumpy() for name, p in net.collect_params().items()}


def same(ours, theirs):
    assert ours.keys() == theirs.keys()
    return all((ours[name] == theirs[name]).all() for name in ours)


@pytest.mark.parametrize("law", ["Uniform", "Normal", "Xavier", "MSRAPrelu", "Orthogonal", "TruncNorm"])
def test_values_do_not_depend_on_when_the_shape_is_known(law):
    make = getattr(init, law)
    at_once = values_of((8, 8, 8), make())
    for inputs in ((0, 0, 0), (8, 0, 8), (0, 8, 0)):
        for hybridize in (False, True):
            assert same(values_of((*inputs[:2], 8), make(), hybridize), at_once), (inputs, hybridize)
    assert not same(values_of((8, 8, 8), make(), seed=4), at_once)
    assert not (at_once["0.weight"] == at_once["1.weight"]).all()


def test_other_draws_on_the_host_do_not_shift_them():
    expected = values_of((8, 8, 8))
    assert same(values_of((0, 0, 8), between=lambda: mx.random.host_rng().random(7)), expected)


def test_a_seed_between_initialize_and_the_first_batch_counts():
    first_time = values_of((0, 0, 0), seed=1, between=lambda: mx.random.seed(9))
    assert same(values_of((0, 0, 0), seed=2, between=lambda: mx.random.seed(9)), first_time)
    weights = [first_time[f"{i}.weight"] for i in range(2)]
    assert not (weights[0] == weights[1]).all()


def test_an_array_that_a_users_initializer_keeps_is_not_taken():
    class Kept(init.Initializer):
        array = onp.ones((512, 8), "float32")

        def make(self, desc, shape, dtype=None):
            return self.array

    weight = gluon.Parameter("weight", shape=(512, 8))
    weight.initialize(Kept())
    trainer = gluon.Trainer([weight], "sgd", {"learning_rate": 1.0})
    for _ in range(3):
        with autograd.record():
            loss = weight.data().sum()
        loss.backward()
        trainer.step(1)
    assert (Kept.array == 1).all() and (weight.data().asnumpy() == -2).all()


@pytest.mark.parametrize("hybridize", [False, True])
def test_equal_layers_are_traced_once(hybridize, monkeypatch):
    calls, units = [], 37
    net = nn.HybridSequential()
    net.add(*[nn.Dense(units, in_units=units) for _ in range(6)])
    net.initialize()
    net(mx.np.ones((2, units)))  # the operator is bound by now
    for bound in OPS["fully_connected"].bound():
        counted = functools.partial(lambda fn, *args: calls.append(args[0].shape) or fn(*args), bound.fn)
        for name, value in (("fn", counted), ("traced", None), ("shapes", None)):
            monkeypatch.setattr(bound, name, value)
    if hybridize:
        net.hybridize()
    x = mx.np.ones((3, units))
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    for _ in range(2):
        with autograd.record():
            loss = net(x).sum()
        loss.backward()
        trainer.step(1)
    assert calls == [(3, units)]


def test_the_cache_can_be_moved_and_switched_off(tmp_path):
    before = jax.config.jax_compilation_cache_dir
    numbers = iter(range(2, 9))

    def compiles(folder):
        n = next(numbers)
        known = set(folder.iterdir())
        jax.jit(lambda x: x * n + 1 / n)(jnp.ones(3)).block_until_ready()
        return len(set(folder.iterdir()) - known)

    one, two = tmp_path / "one", tmp_path / "two"
    seconds = jax.config.jax_persistent_cache_min_compile_time_secs
    try:
        one.mkdir(), two.mkdir()
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        process.compilation_cache(one)
        assert compiles(one) >= 1
        process.compilation_cache(two)
        assert compiles(two) >= 1 and compiles(one) == 0
        process.compilation_cache(None)
        assert compiles(two) == 0
    finally:
        process.compilation_cache(before)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", seconds)


def test_prune_lets_go_of_what_was_not_used_for_longest(tmp_path):
    for age, name in enumerate(["new-cache", "middle-cache", "old-cache", "other"]):
        path = tmp_path / name
        path.write_bytes(bytes(100))
        os.utime(path, (1e9 - age, 1e9 - age))
    assert process.prune(tmp_path, 300) == 0
    assert process.prune(tmp_path, 280) == 1  # 210 bytes may stay
    assert sorted(p.name for p in tmp_path.iterdir()) == ["middle-cache", "new-cache", "other"]


def test_nothing_is_pruned_twice_a_day_or_where_it_cannot(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(process, "prune", calls.append)
    for _ in range(2):
        process._prune_daily(tmp_path)
    process._prune_daily(pathlib.Path("/nonexistent/folder"))
    assert calls == [tmp_path]
