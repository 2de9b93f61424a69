"""The example examples/ensemble.py: an ensemble trains as its nets do alone, and knows what it has not seen."""

import jax
import numpy as onp
import pytest

import gluonx
from examples import ensemble as example
from gluonx import Trainer, autograd, np


@pytest.mark.dear
def test_each_net_trains_as_alone():
    nets = [example.make(8) for _ in range(3)]
    x, y = example.curve(20, onp.random.default_rng(1))
    trained, losses = example.train(example.stacked(nets), x, y, 10, 0.01)
    alone = []
    for net in nets:
        trainer, trail = Trainer(net.collect_params(), "adam", {"learning_rate": 0.01}), []
        for _ in range(10):
            with autograd.record():
                loss = ((net(np.array(x)) - np.array(y)) ** 2).mean()
            loss.backward()
            trainer.step(1)
            trail.append(loss.item())
        alone.append(trail)
    onp.testing.assert_allclose(losses, onp.mean(alone, axis=0), rtol=1e-4)
    for i, net in enumerate(nets):
        for name, array in gluonx.functional(net).params.items():
            onp.testing.assert_allclose(trained.params[name][i], array, rtol=1e-3, atol=1e-5)
    assert jax.tree.leaves(trained)[0].shape[0] == 3


@pytest.mark.dear
def test_it_is_unsure_where_there_was_no_data(capsys):
    ratio = example.main(["--nets", "6", "--units", "16", "--steps", "200"])
    assert ratio > 2
    assert "with data" in capsys.readouterr().out


@pytest.mark.dear
@pytest.mark.parametrize("jit", [False, True])
def test_the_pure_view_is_a_pytree(jit):
    net = example.make(4)
    net.add(gluonx.nn.BatchNorm(in_channels=1))
    net[3].initialize()
    pure = gluonx.functional(net)
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(pure)]
    assert ".params['0.weight']" in paths and ".state['3.running_mean']" in paths
    x = onp.ones((2, 1), "float32")

    def loss(pure):
        out, _ = pure(x)
        return (out**2).sum()

    grads = (jax.jit if jit else lambda f: f)(jax.grad(loss))(pure)
    assert type(grads) is type(pure) and grads.params["0.weight"].shape == (4, 1)
    onp.testing.assert_allclose(pure(x)[0], net(np.array(x)).asnumpy(), rtol=1e-5, atol=1e-6)
    zero = jax.tree.map(lambda v: v * 0, pure)
    assert not zero(x)[0].any() and repr(zero) == "Functional(HybridSequential, 8 params, 2 state)"
    assert jax.tree.structure(zero) == jax.tree.structure(pure) != jax.tree.structure(gluonx.functional(net))
    assert jax.tree.leaves(net) == [net]  # a Block can change, and is a leaf
    with pytest.raises(TypeError, match="HybridSequential"):
        jax.jit(lambda net: 1)(net)
