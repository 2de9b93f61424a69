"""A module of Equinox as a block, by the class that docs/jax_stack.md shows."""

import re

import jax
import numpy as onp
import optax
import pytest

from gluonx import Trainer, autograd, engine, np
from lib import ROOT

equinox = pytest.importorskip("equinox")
X = onp.random.RandomState(0).rand(6, 3).astype("float32")


@pytest.mark.dear
def test_it_trains_as_alone_in_one_program():
    page = (ROOT / "docs" / "jax_stack.md").read_text(encoding="utf-8")
    names = {}
    exec("\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL)), names)
    mlp = equinox.nn.MLP(3, 1, 8, 2, key=jax.random.key(0))
    params, static = equinox.partition(mlp, equinox.is_inexact_array)
    net = names["Tree"](params, lambda params, x: jax.vmap(equinox.combine(params, static))(x))
    assert "layers_0_weight" in net.collect_params()
    onp.testing.assert_allclose(net(np.array(X)).asnumpy(), jax.vmap(mlp)(X), rtol=1e-5)
    net.hybridize()
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    tx = optax.sgd(0.1)
    state = tx.init(params)
    for k in range(5):
        engine.reset_stats()
        with autograd.record():
            loss = ((net(np.array(X)) - 1) ** 2).mean()
        loss.backward()
        trainer.step(1)
        assert k < 2 or (engine.stats()["dispatches"], engine.stats()["programs_compiled"]) == (1, 0)
        grads = jax.grad(lambda p: ((jax.vmap(equinox.combine(p, static))(X) - 1) ** 2).mean())(params)
        updates, state = tx.update(grads, state)
        params = optax.apply_updates(params, updates)
    for mine, theirs in zip(net.collect_params().values(), jax.tree.leaves(params), strict=True):
        onp.testing.assert_allclose(mine.data().asnumpy(), theirs, rtol=1e-4, atol=1e-6)
