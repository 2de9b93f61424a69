"""Plans: what is read of a compiled program, what is refused, and (with the extra tpu-plan) what theory says."""

import importlib.util
import json

import jax
import jax.numpy as jnp
import numpy as onp
import pytest

from gluonx import loss, nn, parallel
from gluonx.errors import DeviceError, ShapeError
from gluonx.parallel import hlo, topologies
from lib.meshes import on

needs_compiler = pytest.mark.skipif(importlib.util.find_spec("libtpu") is None, reason="no TPU compiler")
struct = jax.ShapeDtypeStruct


def test_what_a_program_computes_and_sends():
    mesh = on(4, data=2, model=2)

    def place(*spec):
        return jax.NamedSharding(mesh, jax.P(*spec))

    def step(w, x):
        def layer(x, _):
            return jnp.tanh(x @ w), None

        x, _ = jax.lax.scan(layer, x, length=5)
        return x.sum()

    args = struct((16, 16), "float32", sharding=place()), struct((8, 16), "float32", sharding=place("data"))
    found = hlo.read(jax.jit(step, out_shardings=place()).lower(*args).compile().as_text(), mesh)
    assert found.flops == 5 * 2 * 4 * 16 * 16  # each device has four of the rows, five times
    assert found.flops_once * 5 == found.flops and found.loops == 1
    (entry,) = found.collectives
    assert (entry["kind"], entry["axes"], entry["count"], entry["bytes"]) == ("all-reduce", "data", 1, 4)
    assert entry["rounds"] == 1.0  # 2 (n - 1) / n of two


def test_groups_of_devices():
    mesh = on(4, data=2, model=2)
    assert hlo._axes(hlo._groups("replica_groups={{0,1},{2,3}}, x"), mesh) == "model"
    assert hlo._axes(hlo._groups("replica_groups=[2,2]<=[2,2]T(1,0), x"), mesh) == "data"
    assert hlo._groups("replica_groups=mesh['a'=2,'b'=1,'c'=4] {'a'}, x") == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert hlo._groups("replica_groups=mesh['a'=2,'c'=4] {'c':(2)2}") == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert hlo._axes(hlo._groups("replica_groups=[1,4]<=[4]"), mesh) == "data,model"


@pytest.mark.parametrize("name", ["v5e", "v5e:2by4", "h100:8", "v5e:0x4"])
def test_no_topology(name):
    with pytest.raises(DeviceError, match="is no topology of TPUs"):
        topologies.abstract_mesh(name)


def net_of(units=1024):
    net = nn.HybridSequential()
    net.add(nn.Dense(units, activation="relu"), nn.Dense(8))
    net.hybridize()
    return net


def planned(net, rows=64, **more):
    labels = struct((rows,), onp.int32)
    return parallel.plan(
        net, struct((rows, 256), "float32"), loss.SoftmaxCrossEntropyLoss(), "adam", labels=labels, **more
    )


@pytest.mark.slow
@needs_compiler
def test_a_plan():
    net = net_of()
    made = planned(net, mesh="v5e:2x4")
    weights = 4 * (256 * 1024 + 1024 + 1024 * 8 + 8)
    assert made.fits and made.devices == 8 and made.axes == {"data": 8}
    assert (made.weights, made.gradients) == (weights, weights)
    assert made.parameters * 4 == weights and weights * 2 <= made.states < weights * 2 + 100
    assert made.batch == 8 * (256 * 4 + 4)
    products = 2 * 64 * (256 * 1024 * 2 + 1024 * 8 * 3)  # the first layer's input has no gradient
    assert made.flops == products / 8
    (sent,) = made.collectives
    assert sent["kind"] == "all-reduce" and weights <= sent["bytes"] < weights * 1.1  # gradients, once
    assert json.loads(made.json())["weights"] == weights and "fits" in repr(made)
    split = planned(net, mesh="v5e:2x4", rules=[parallel.fsdp(min_size=1)])
    assert split.weights * 7 < weights < split.weights * 9
    assert all(p._handle is None for p in net.collect_params().values())  # the net is as it was


@pytest.mark.slow
@needs_compiler
def test_what_does_not_fit_is_told():
    made = planned(net_of(1 << 22), mesh="v5e:2x4")
    assert not made.fits and made.needed > made.memory
    assert any("parallel.fsdp" in line for line in made.advice)


@pytest.mark.slow
@needs_compiler
def test_refusals():
    with pytest.raises(DeviceError, match="which the axes data=3 do not divide into"):
        planned(net_of(), mesh="v5e:2x4", axes={"data": 3})
    with pytest.raises(ShapeError, match="cannot be split evenly"):
        planned(net_of(), rows=60, mesh="v5e:2x4")
