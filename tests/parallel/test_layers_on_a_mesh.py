"""Every layer of the contract table on meshes, its weights split: the numbers of one device."""

import jax
import numpy as onp
import pytest

import gluonx
from gluonx import Trainer, autograd, nn, np, parallel
from lib.contract import LAYERS
from lib.meshes import STRATEGIES, on
from lib.sweep import arrays, build

RULES = {
    "data": [],
    "fsdp": [parallel.fsdp(min_size=1)],
    "tensor": [parallel.tensor()],
    "both": [parallel.tensor(), parallel.fsdp(min_size=1)],
}
# At 0.01 the loss of this one falls from 78 to 8 in five steps: on one device as on eight, float32 is then 1.5e-5 away
# from float64, which every mesh agrees with to 1e-10 (tested). A step that is small enough not to blow rounding up.
STEEP = ["decoder-layer"]
RATES = dict.fromkeys(STEEP, 0.001)
every_layer = pytest.mark.parametrize("row", LAYERS, ids=lambda row: row.key)


@pytest.mark.dear
@every_layer
def test_two_by_two(row):
    """A few steps on a mesh of two by two, its weights split both ways."""
    check(row, on(4, data=2, model=2), [parallel.tensor(), parallel.fsdp(min_size=1)], 3)


@pytest.mark.slow
@every_layer
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_mesh(row, strategy):
    """Twenty steps on 1, 2, 4 and 8 devices."""
    axes, _ = STRATEGIES[strategy]
    wanted = trained(row, None, (), 20)
    for count in (1, 2, 4, 8):
        agree(trained(row, on(count, **axes(count)), RULES[strategy], 20), wanted)


@pytest.mark.slow
@pytest.mark.parametrize("key", STEEP)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_in_float64_every_mesh_has_the_numbers_of_one_device(key, strategy):
    """What parts them in float32 is rounding: at the full rate too, nothing else is left here."""
    row = next(row for row in LAYERS if row.key == key)
    axes, _ = STRATEGIES[strategy]
    wanted = trained(row, None, (), 20, "float64", 0.01)
    for count in (2, 4, 8):
        found = trained(row, on(count, **axes(count)), RULES[strategy], 20, "float64", 0.01)
        for one, other in zip(wanted, found, strict=True):
            onp.testing.assert_allclose(other, one, rtol=1e-10, atol=1e-10)


def check(row, mesh, rules, steps):
    agree(trained(row, mesh, rules, steps), trained(row, None, (), steps))


def agree(found, wanted):
    for one, other in zip(wanted, found, strict=True):
        onp.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-5)


def trained(row, mesh, rules, steps, dtype="float32", rate=None):
    """The losses of some steps, and the parameters after them."""
    gluonx.random.seed(3)
    with parallel.use(mesh):
        block = build(row, nn)
        inputs = arrays(row)
        if dtype != "float32":
            block.cast(dtype)
            inputs = [x.astype(dtype) if x.dtype == onp.float32 else x for x in inputs]
        if mesh is not None:
            block.shard(*rules)
        inputs = parallel.split(inputs)
        params = [p for p in block.collect_params().values() if p.grad_req != "null"]
        trainer = Trainer(params, "sgd", {"learning_rate": rate or RATES.get(row.key, 0.01)}) if params else None
        found = []
        for _ in range(steps):
            with autograd.record():
                outs = jax.tree.leaves(block(*inputs), is_leaf=lambda x: isinstance(x, np.ndarray))
                value = sum((out.astype(dtype) ** 2).mean() for out in outs)
            if trainer is not None:
                value.backward()
                trainer.step(1, ignore_stale_grad=True)
            found.append(value.item())
        return [onp.array(found), *[p.data().asnumpy() for p in block.collect_params(fused=False).values()]]
