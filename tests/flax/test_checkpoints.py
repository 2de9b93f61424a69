"""Checkpoints of Orbax that Gluon and Flax write and read."""

import jax
import numpy as onp
import orbax.checkpoint as ocp
import pytest
from flax import linen, nnx

from gluonx import nn, np
from gluonx.errors import FormatError
from gluonx.flax import from_linen, from_nnx, load_checkpoint, load_state, save_checkpoint, state_of, to_linen, to_nnx

pytestmark = pytest.mark.usefixtures("collected")

X = onp.random.RandomState(0).rand(6, 3).astype("float32")


def make():
    net = nn.HybridSequential()
    net.add(nn.Dense(4, in_units=3), nn.BatchNorm(in_channels=4), nn.Dropout(0.5), nn.Dense(2, in_units=4))
    net.initialize()
    return net


def run(target):
    if isinstance(target, nnx.Module):
        target.eval()
        return onp.asarray(target(X))
    return target(np.array(X)).asnumpy()


def write(tree, path):
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(path, tree)


FORMS = {
    "gluon": lambda net, path: save_checkpoint(net, path),
    "a module by us": lambda net, path: save_checkpoint(to_nnx(net), path),
    "nnx.State": lambda net, path: write(nnx.state(to_nnx(net)), path),
    "with streams": lambda net, path: write(nnx.state(to_nnx(net, nnx.Rngs(0)), nnx.Not(nnx.RngKey)), path),
    "a pure dict": lambda net, path: write(nnx.to_pure_dict(nnx.state(to_nnx(net))), path),
    "linen": lambda net, path: write(to_linen(net)[1], path),
    "state_of": lambda net, path: write(state_of(net), path),
}


@pytest.mark.dear
@pytest.mark.parametrize("form", FORMS)
def test_each_side_reads_what_the_other_writes(form, tmp_path):
    net = make()
    FORMS[form](net, tmp_path / "saved")
    for target in (make(), to_nnx(make()), to_nnx(make(), nnx.Rngs(3))):
        assert (run(target) != run(net)).any()
        load_checkpoint(target, tmp_path / "saved")
        onp.testing.assert_allclose(run(target), run(net), rtol=1e-6, atol=1e-7)


@pytest.mark.dear
@pytest.mark.parametrize("way", [state_of, to_nnx, to_linen], ids=["state_of", "to_nnx", "to_linen"])
def test_a_net_with_fused_parameters_loads_after_its_arrays_were_given(way):
    net, other = (nn.MultiHeadAttention(4, 2, in_units=4) for _ in range(2))
    for attention in (net, other):
        attention.initialize()
    x = np.array(X[None, :, [0, 1, 2, 0]])
    assert (net(x).asnumpy() != other(x).asnumpy()).any() and net.is_fused
    way(net)
    load_state(net, state_of(other))
    onp.testing.assert_array_equal(net(x).asnumpy(), other(x).asnumpy())


def test_flax_reads_gluons_by_itself(tmp_path):
    net = make()
    save_checkpoint(net, tmp_path / "saved")
    module = to_nnx(make())
    graph, state = nnx.split(module)
    with ocp.StandardCheckpointer() as checkpointer:
        pure = checkpointer.restore(tmp_path / "saved", nnx.to_pure_dict(state))
    nnx.replace_by_pure_dict(state, pure)
    onp.testing.assert_allclose(run(nnx.merge(graph, state)), run(net), rtol=1e-6, atol=1e-7)


@pytest.mark.dear
def test_modules_of_flax_and_their_blocks(tmp_path):
    class Net(nnx.Module):
        def __init__(self, seed):
            rngs = nnx.Rngs(seed)
            self.layers = nnx.List([nnx.Linear(3, 4, rngs=rngs), nnx.BatchNorm(4, rngs=rngs)])
            self.dropout = nnx.Dropout(0.5, rngs=rngs)

        def __call__(self, x):
            for layer in self.layers:
                x = layer(x)
            return self.dropout(x)

    module = Net(0)
    write(nnx.state(module, nnx.Not(nnx.RngState)), tmp_path / "nnx")
    block = from_nnx(Net(1))
    load_checkpoint(block, tmp_path / "nnx")
    onp.testing.assert_allclose(run(block), run(module), rtol=1e-6)
    save_checkpoint(block, tmp_path / "block")
    other = Net(2)
    load_checkpoint(other, tmp_path / "block")
    onp.testing.assert_allclose(run(other), run(module), rtol=1e-6)

    dense = linen.Dense(2)
    variables = dense.init(jax.random.key(0), X)
    write(variables, tmp_path / "linen")
    block = from_linen(linen.Dense(2))
    block.initialize()
    block(np.array(X))
    load_checkpoint(block, tmp_path / "linen")
    onp.testing.assert_allclose(run(block), dense.apply(variables, X), rtol=1e-6)


def test_what_does_not_fit_changes_nothing(tmp_path):
    net, module = make(), to_nnx(make())
    before = run(net), run(module)
    tree = state_of(make())
    for wrong, told in (
        ({**tree, "9": {"weight": X}}, "9.weight"),
        ({"0": tree["0"]}, "1.gamma|1.beta"),
        ({**tree, "3": {**tree["3"], "bias": X}}, "3.bias"),
        ({**tree, "params": {"0": tree["0"]}}, "two arrays"),
    ):
        for target in (net, module):
            with pytest.raises(FormatError, match=told):
                load_state(target, wrong)
    onp.testing.assert_array_equal(run(net), before[0])
    onp.testing.assert_array_equal(run(module), before[1])
    save_checkpoint(net, tmp_path / "saved")
    with pytest.raises(ValueError, match="exist"):
        save_checkpoint(net, tmp_path / "saved")
    with pytest.raises(FileNotFoundError):
        load_checkpoint(net, tmp_path / "nothing")
