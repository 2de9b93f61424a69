"""Attention operators: against MXNet 2.0 in every mode, against plain attention, and their edges."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as onp
import pytest

from gluonx import np, npx, ops
from gluonx.errors import ShapeError
from lib.called import MODES, agrees, answer, cases, sampled
from lib.sweep import churn  # noqa: F401 - a fixture

ROWS = list(cases.attention())
FIRST = list({row.op: row for row in reversed(ROWS)}.values())


@sampled(ROWS)
def test_golden(row):
    agrees(row, answer(row))


@pytest.mark.parametrize("row", FIRST, ids=lambda row: row.name)
@pytest.mark.parametrize("mode", MODES[1:])
def test_modes(row, mode):
    agrees(row, answer(row, mode))


@pytest.mark.parametrize("symmetric", [True, False])
def test_a_window_over_everything_is_plain_attention(symmetric):
    rng = onp.random.RandomState(0)
    query, key, value = (rng.standard_normal((2, 5, 3, 4)).astype("float32") for _ in range(3))
    full = onp.einsum("bqhd,bkhd->bhqk", query, key)
    full = full if symmetric else onp.tril(full)
    attrs = {"w": 4, "symmetric": symmetric}
    dilation = np.array([1, 1, 1], dtype="int32")
    score = npx.sldwin_atten_score(np.array(query), np.array(key), dilation, **attrs)
    found = npx.sldwin_atten_context(score, np.array(value), dilation, **attrs)
    onp.testing.assert_allclose(found.asnumpy(), onp.einsum("bhqk,bkhd->bqhd", full, value), rtol=1e-4, atol=1e-4)


def test_long_windows_keep_one_shifted_copy():
    """The memory of forward and backward grows with the scores, not with length * window * width."""
    length, w, width = 64, 16, 32
    shape = (1, length, 2, width)

    def loss(query, key):
        dilation = jnp.ones(2, jnp.int32)
        return jnp.sum(ops.get("sldwin_atten_score")(query, key, dilation, w=w, symmetric=True) ** 2)

    traced = jax.make_jaxpr(jax.grad(loss, (0, 1)))(*[jax.ShapeDtypeStruct(shape, "float32")] * 2)

    def sizes(jaxpr):
        for equation in jaxpr.eqns:
            yield from (v.aval.size for v in equation.outvars)
            for value in equation.params.values():
                for inner in jax.tree.leaves(value, is_leaf=lambda x: hasattr(x, "eqns") or hasattr(x, "jaxpr")):
                    inner = getattr(inner, "jaxpr", inner)
                    if hasattr(inner, "eqns"):
                        yield from sizes(inner)

    whole = length * (2 * w + 1) * 2 * width
    assert max(sizes(traced.jaxpr)) <= whole // 8


def test_empty_batches():
    assert npx.interleaved_matmul_selfatt_qk(np.zeros((3, 0, 12)), heads=2).shape == (0, 3, 3)
    x, dilation = np.zeros((0, 3, 2, 4)), np.array([1, 2], dtype="int32")
    assert npx.sldwin_atten_score(x, x, dilation, w=1, symmetric=True).shape == (0, 3, 2, 3)


def test_half_precision_stays():
    x = np.ones((3, 2, 12), dtype="float16")
    assert npx.interleaved_matmul_selfatt_qk(x, heads=2).dtype == onp.float16
    x, dilation = np.ones((1, 3, 2, 4), dtype="float16"), np.array([1, 2], dtype="int32")
    score = npx.sldwin_atten_score(x, x, dilation, w=1, symmetric=True)
    assert score.dtype == npx.sldwin_atten_context(score, x, dilation, w=1, symmetric=True).dtype == onp.float16


WINDOW = {"w": 1, "symmetric": True}
WRONG = [
    ("interleaved_matmul_selfatt_qk", [(3, 12)], {"heads": 2}, "three axes"),
    ("interleaved_matmul_selfatt_qk", [(3, 2, 12)], {"heads": 5}, r"3 \* heads \* width\), where heads=5"),
    ("interleaved_matmul_selfatt_valatt", [(3, 2, 12), (4, 3, 2)], {"heads": 2}, r"the values need \(4, queries, 3\)"),
    (
        "interleaved_matmul_encdec_qk",
        [(2, 2, 4), (3, 2, 12)],
        {"heads": 2},
        r"keys_values of shape \(keys, 2, 8\)",
    ),
    ("sldwin_atten_score", [(1, 5, 2), (1, 5, 2), "ii"], WINDOW, "query must have four axes"),
    ("sldwin_atten_score", [(1, 5, 2, 3), (1, 4, 2, 3), "ii"], WINDOW, "query and key must have one shape"),
    ("sldwin_atten_score", [(1, 5, 2, 3), (1, 5, 2, 3), (2,)], WINDOW, "dilation must be integers .* is float32"),
    ("sldwin_atten_score", [(1, 5, 2, 3), (1, 5, 2, 3), "i"], WINDOW, r"dilation must be integers of shape \(2,\)"),
    ("sldwin_atten_context", [(1, 5, 2, 4), (1, 5, 2, 3), "ii"], WINDOW, "symmetric=True has 3 positions"),
    ("sldwin_atten_mask_like", [(1, 5, 2, 3), "ii", (1,)], WINDOW, "valid_length must be integers"),
]


@pytest.mark.parametrize("op, shapes, attrs, message", WRONG, ids=lambda x: x if isinstance(x, str) else "")
def test_bad_input(op, shapes, attrs, message):
    arrays = [np.ones(len(s), dtype="int32") if isinstance(s, str) else np.zeros(s) for s in shapes]
    with pytest.raises(ShapeError, match=message):
        getattr(npx, op)(*arrays, **attrs)


def test_the_reach_is_not_negative():
    x = np.zeros((1, 5, 2, 3))
    with pytest.raises(ValueError, match="w is -1"):
        npx.sldwin_atten_score(x, x, np.ones(2, dtype="int32"), w=-1, symmetric=True)


@pytest.mark.parametrize("length, mask", [(7, None), (5, (5, 5)), (5, (2, 3, 5, 5)), (5, (2, 1, 1, 5))])
def test_pytorchs_order_of_axes_is_told_where_it_can_be(length, mask):
    """(batch, heads, length, width): what does not fit as it is, and would with axes 1 and 2 exchanged."""
    query, keys = np.ones((2, 3, 5, 4)), np.ones((2, 3, length, 4))
    given = None if mask is None else np.ones(mask)
    with pytest.raises(ShapeError, match=r"order of PyTorch's scaled_dot_product_attention: exchange axes 1 and 2"):
        npx.dot_product_attention(query, keys, keys, given)
    turned = [np.swapaxes(x, 1, 2) for x in (query, keys, keys)]
    assert npx.dot_product_attention(*turned, given).shape == (2, 5, 3, 4)


def test_shapes_that_fit_in_no_order_are_not_told_of_another():
    with pytest.raises(ShapeError) as error:
        npx.dot_product_attention(np.ones((2, 3, 5, 4)), np.ones((2, 3, 7, 6)), np.ones((2, 3, 7, 6)))
    assert "PyTorch" not in str(error.value)
