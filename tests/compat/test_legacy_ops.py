"""The table of legacy operators against golden numbers of MXNet (tests/oracle/legacy), values and gradients."""

import contextlib

import numpy as onp
import pytest

from gluonx import autograd, engine, np
from gluonx.compat.operators.table import get_legacy
from gluonx.errors import GraphError
from gluonx.gluon import HybridBlock
from lib import TESTS
from lib.golden import load_cases

cases = load_cases("legacy")
GOLDEN = dict(onp.load(TESTS / "oracle" / "legacy" / "ops.npz"))
WITH_NUMBERS = [i for i in range(len(cases.CASES)) if f"{i}/out0" in GOLDEN]
WITH_GRADIENTS = [
    i for i in WITH_NUMBERS if GOLDEN[f"{i}/out0"].dtype.kind == "f" and any(f"{i}/grad{k}" in GOLDEN for k in range(4))
]
NEEDS_VALUES = [i for i in WITH_NUMBERS if cases.CASES[i][0] == "_contrib_boolean_mask"]  # its shape is a value
# Where the two libraries mean to differ; docs/porting.md says why.
OTHER_GRADIENT = {
    "LeakyReLU-selu",  # MXNet's is not the derivative of its value
    "SequenceLast-",  # nor is this one, without lengths
    "Pooling-full",  # MXNet gives zeros
    "_linalg_syevd-",  # of eigenvectors, whose sign is free
    "_contrib_BatchNormWithReLU-",  # MXNet's CPU build leaves the relu out
    "scatter_nd-",  # of places that are named twice, MXNet says in its documentation that any may win
}


def call(index, recorded=False):
    name, _, attrs = cases.CASES[index]
    arrays = [np.array(a, dtype=a.dtype) for a in cases.inputs_of(index, cases.CASES[index])]
    for i in cases.differentiable(cases.CASES[index]):
        arrays[i].attach_grad()
    with autograd.record(train_mode=False) if recorded else contextlib.nullcontext():
        outs = get_legacy(name)(*arrays, **attrs)
    outs = list(outs) if isinstance(outs, tuple) else [outs]
    return arrays, outs


def ident(index):
    name, _, attrs = cases.CASES[index]
    return f"{index}-{name}-{'-'.join(map(str, attrs.values()))}"


def close(found, wanted, what, tolerance=2e-5):
    if wanted.shape == ():  # an array without axes, which MXNet 1 did not have
        wanted = wanted.reshape(1)
    assert found.shape == wanted.shape, what
    assert (found.dtype.kind in "iub") == (wanted.dtype.kind in "iub"), (what, found.dtype, wanted.dtype)
    onp.testing.assert_allclose(found.astype("float64"), wanted.astype("float64"), tolerance, tolerance, err_msg=what)


def tolerance_of(arrays):
    return 2e-3 if any(a.dtype == onp.float16 for a in arrays) else 2e-5


@pytest.mark.parametrize("index", WITH_NUMBERS, ids=ident)
def test_numbers_of_mxnet(index):
    _, outs = call(index)
    assert f"{index}/out{len(outs)}" not in GOLDEN, "MXNet gives more outputs"
    for i, out in enumerate(outs):
        if cases.CASES[index][0] == "_linalg_syevd" and i == 0:
            close(abs(out.asnumpy()), abs(GOLDEN[f"{index}/out0"]), "eigenvectors but for their sign", 1e-4)
            continue
        close(out.asnumpy(), GOLDEN[f"{index}/out{i}"], f"output {i}", tolerance_of(outs))


class _Called(HybridBlock):
    """One legacy operator as a forward."""

    def __init__(self, index):
        super().__init__()
        self.case = cases.CASES[index]

    def forward(self, *inputs):
        return get_legacy(self.case[0])(*inputs, **self.case[2])


@pytest.mark.slow
@pytest.mark.parametrize("index", [i for i in WITH_NUMBERS if cases.CASES[i][1] and i not in NEEDS_VALUES], ids=ident)
def test_hybridized_is_the_same(index):
    arrays, outs = call(index)
    net = _Called(index)
    net.hybridize()
    found = net(*arrays)
    for out, other in zip(outs, found if isinstance(found, (tuple, list)) else [found], strict=True):
        close(other.asnumpy(), out.asnumpy(), "hybridized")


@pytest.mark.slow
@pytest.mark.parametrize("index", WITH_GRADIENTS, ids=ident)
def test_gradients_of_mxnet(index):
    case = cases.CASES[index]
    kind = case[2].get("act_type") or case[2].get("pooling_convention", "")
    if f"{case[0]}-{kind}" in OTHER_GRADIENT:
        return
    with engine.mode("naive"):
        check_gradients(index, case)


def check_gradients(index, case):
    arrays, outs = call(index, recorded=True)
    golden = {i: GOLDEN[f"{index}/grad{i}"] for i in cases.differentiable(case) if f"{index}/grad{i}" in GOLDEN}
    heads = cases.heads_of(index, [GOLDEN[f"{index}/out{i}"] for i in range(len(outs))])
    pairs = [(o, np.array(h.reshape(o.shape), dtype=o.dtype)) for o, h in zip(outs, heads) if o.dtype.kind == "f"]
    try:
        autograd.backward([o for o, _ in pairs], [h for _, h in pairs])
    except GraphError:  # no gradient flows at all
        assert not any(g.any() for g in golden.values())
        return
    for i, wanted in golden.items():
        close(arrays[i].grad.asnumpy(), wanted, f"gradient of input {i}", tolerance_of(outs))
