"""ONNX rules of products of matrices: dense layers, dot, einsum, attention. See `gluonx.export.onnx.emit`."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from gluonx.errors import GraphError
from gluonx.export.onnx.emit import Emit, rule
from gluonx.export.onnx.graph import Value, is_float, is_static, same_size
from gluonx.export.onnx.rules_activation import masked
from gluonx.export.onnx.rules_elementwise import scaled, wider
from gluonx.export.record import Step

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@rule("fully_connected")
def _fully_connected(emit: Emit, step: Step) -> Any:
    attrs, dtype = step.op.attrs, wider(step.outs[0].dtype)
    data, weights, bias = (*step.args, None)[:3]
    x, weight = emit.value(data, dtype), emit.value(weights, dtype)
    offset = None if bias is None or attrs["no_bias"] else emit.value(bias, dtype)
    if attrs["flatten"] and x.ndim != 2:
        x = emit.reshape(x, (x.shape[0], weight.shape[1])) if x.ndim > 1 else emit.unsqueeze(x, 1)
    if x.ndim == 2 and is_float(dtype):
        return emit.node("Gemm", x, weight, offset, transB=1)
    turned = emit.transpose(weight, (1, 0)) if emit.alone(weights) else _turned(emit, weight)
    out = emit.node("MatMul", x, turned)
    return out if offset is None else emit.node("Add", out, offset)


def _turned(emit: Emit, weight: Value) -> Value:
    """Return the transpose as a node: a weight that others use too is kept in one form."""
    return emit.node("Transpose", weight, perm=[1, 0])


@rule("matmul", "linalg_matmul", "matvec", "vecmat")
def _matmul(emit: Emit, step: Step) -> Any:
    x, y = emit.args(step, wider(step.outs[0].dtype))
    if step.op.name == "matvec":
        return emit.squeeze(
            _shaped(emit.node("MatMul", x, emit.unsqueeze(y, y.ndim)), step, -1), len(step.outs[0].shape)
        )
    if step.op.name == "vecmat":
        y_ndim = len(step.outs[0].shape) - 1
        return emit.squeeze(_shaped(emit.node("MatMul", emit.unsqueeze(x, x.ndim - 1), y), step, -2), y_ndim)
    return emit.node("MatMul", x, y)


def _shaped(value: Value, step: Step, axis: int) -> Value:
    shape = list(step.outs[0].shape)
    shape.insert(len(shape) + 1 + axis, 1)
    value.shape = tuple(shape)
    return value


@rule("dot", "inner")
def _dot(emit: Emit, step: Step) -> Any:
    x, y = emit.args(step, wider(step.outs[0].dtype))
    if 0 in (x.ndim, y.ndim):
        return emit.node("Mul", x, y)
    if step.op.name == "inner":
        return emit.node("Einsum", x, y, equation=_contracted(x.ndim, y.ndim, [(x.ndim - 1, y.ndim - 1)]))
    if y.ndim <= 2:
        return emit.node("MatMul", x, y)
    return emit.node("Einsum", x, y, equation=_contracted(x.ndim, y.ndim, [(x.ndim - 1, y.ndim - 2)]))


def _contracted(left: int, right: int, pairs: list[tuple[int, int]]) -> str:
    """Return the equation of a sum of products over pairs of axes; the others follow in order."""
    one, two = list(_LETTERS[:left]), list(_LETTERS[left : left + right])
    for i, j in pairs:
        two[j] = one[i]
    kept = [c for c in one if c not in two] + [c for c in two if c not in one]
    return f"{''.join(one)},{''.join(two)}->{''.join(kept)}"


@rule("tensordot", "linalg_tensordot")
def _tensordot(emit: Emit, step: Step) -> Any:
    x, y = emit.args(step, wider(step.outs[0].dtype))
    axes = step.op.attrs["axes"]
    if isinstance(axes, int):
        left, right = range(x.ndim - axes, x.ndim), range(axes)
    else:
        left, right = ((a,) if isinstance(a, int) else a for a in axes)
    pairs = [(i % x.ndim, j % y.ndim) for i, j in zip(left, right, strict=True)]
    return emit.node("Einsum", x, y, equation=_contracted(x.ndim, y.ndim, pairs))


@rule("outer", "linalg_outer")
def _outer(emit: Emit, step: Step) -> Any:
    x, y = emit.args(step, wider(step.outs[0].dtype))
    column = emit.reshape(x, (math.prod(x.shape), 1))
    return emit.node("Mul", column, emit.reshape(y, (1, math.prod(y.shape))))


@rule("vdot", "vecdot", "linalg_vecdot")
def _vecdot(emit: Emit, step: Step) -> Any:
    x, y = emit.args(step, wider(step.outs[0].dtype))
    product = emit.node("Mul", x, y)
    if step.op.name == "vdot":
        return emit.node("ReduceSum", product, keepdims=0)
    axis = step.op.attrs["axis"]
    return emit.node("ReduceSum", product, emit.ints(-1 if axis is None else axis), keepdims=0)


@rule("batch_dot")
def _batch_dot(emit: Emit, step: Step) -> Any:
    x, y = emit.args(step, wider(step.outs[0].dtype))
    if step.op.attrs["transpose_a"]:
        x = _swapped(emit, x)
    if step.op.attrs["transpose_b"]:
        y = _swapped(emit, y)
    return emit.node("MatMul", x, y)


def _swapped(emit: Emit, x: Value) -> Value:
    axes = list(range(x.ndim))
    return emit.transpose(x, [*axes[:-2], axes[-1], axes[-2]])


@rule("einsum")
def _einsum(emit: Emit, step: Step) -> Any:
    equation = step.op.attrs["subscripts"]
    if not isinstance(equation, str):
        raise GraphError("its subscripts must be text")
    return emit.node("Einsum", *emit.args(step, wider(step.outs[0].dtype)), equation=equation.replace(" ", ""))


@rule("kron")
def _kron(emit: Emit, step: Step) -> Any:
    x, y = emit.args(step, wider(step.outs[0].dtype))
    ndim = len(step.outs[0].shape)
    wide = [emit.unsqueeze(v, *range(ndim - v.ndim)) for v in (x, y)]
    spread = [emit.unsqueeze(v, *range(first, 2 * ndim, 2)) for v, first in zip(wide, (1, 0), strict=True)]
    product = emit.node("Mul", *spread)
    return emit.node("Reshape", product, emit.sizes(step.outs[0].shape))


# -- attention --------------------------------------------------------------------------------------------------------


@rule("split_heads")
def _split_heads(emit: Emit, step: Step) -> Any:
    x, parts = emit.value(step.args[0]), step.op.attrs["parts"]
    shape = step.outs[0].shape
    if parts == 1:
        return emit.reshape(x, shape)
    pieces = emit.node("Split", x, axis=x.ndim - 1, num_outputs=parts, nout=parts)
    for piece in pieces:
        piece.shape = (*x.shape[:-1], shape[-2] * shape[-1])
    return [emit.reshape(piece, shape) for piece in pieces]


rule("merge_heads")(lambda emit, step: emit.reshape(emit.value(step.args[0]), step.outs[0].shape))


def _allowed(emit: Emit, step: Step, shared: int) -> Value | None:
    """Combine masks: where queries may look, broadcasts to (batch, heads, queries, keys), heads in groups if shared."""
    mask, valid = (*step.args, None, None)[3:5]
    queries, keys = step.shapes[0].shape[1], step.shapes[1].shape[1]
    found: list[Value] = []
    if mask is not None:
        given = emit.cast(emit.value(mask), bool)
        given = emit.unsqueeze(given, *{3: (1,), 2: (0, 1)}.get(given.ndim, ()))
        batch, heads, *rest = given.shape
        if shared > 1:
            given = emit.reshape(given, (batch, *((1, 1) if heads == 1 else (heads // shared, shared)), *rest))
        found.append(given)
    if valid is not None:
        counts = emit.unsqueeze(emit.value(valid, np.int64), *range(1, 5 if shared > 1 else 4))
        found.append(emit.node("Less", emit.positions(keys), counts, dtype=bool))
    if step.op.attrs["causal"]:
        rows = emit.positions(queries, 1)
        if not same_size(queries, keys):
            ahead = keys - queries
            rows = emit.constant(rows.array + ahead) if rows.known and is_static([ahead]) else _ahead(emit, rows, ahead)
        if rows.known and is_static([keys]):
            found.append(emit.constant(np.arange(keys) <= rows.array))
        else:
            found.append(emit.node("LessOrEqual", emit.positions(keys), rows, dtype=bool))
    return None if not found else functools.reduce(lambda a, b: emit.node("And", a, b), found)


def _ahead(emit: Emit, rows: Value, by: Any) -> Value:
    return emit.node("Add", rows, emit.squeeze(emit.dimension(by), 0))


@rule("dot_product_attention")
def _attention(emit: Emit, step: Step) -> Any:
    attrs, dtype = step.op.attrs, step.outs[0].dtype
    query, key, value = (emit.value(arg, dtype) for arg in step.args[:3])
    batch, length, heads, width = query.shape
    shared = heads // key.shape[2]
    scale = width**-0.5 if attrs["scale"] is None else float(attrs["scale"])
    if shared > 1:  # (batch, key heads, queries of one key head, length, width)
        query = emit.reshape(query, (batch, length, heads // shared, shared, width))
        query = emit.transpose(query, (0, 2, 3, 1, 4))
        key, value = (emit.unsqueeze(v, 3) for v in (key, value))
        key, value = emit.transpose(key, (0, 2, 3, 4, 1)), emit.transpose(value, (0, 2, 3, 1, 4))
    else:
        query = emit.transpose(query, (0, 2, 1, 3))
        key, value = emit.transpose(key, (0, 2, 3, 1)), emit.transpose(value, (0, 2, 1, 3))
    scores = scaled(emit, emit.node("MatMul", query, key), scale)
    allowed = _allowed(emit, step, shared)
    weights = emit.node("Softmax", scores, axis=-1) if allowed is None else masked(emit, scores, allowed, -1)
    out = emit.node("MatMul", weights, value)
    if shared > 1:
        out.shape = (batch, heads // shared, shared, length, width)
        return emit.reshape(emit.transpose(out, (0, 3, 1, 2, 4)), step.outs[0].shape)
    out.shape = (batch, heads, length, width)
    return emit.transpose(out, (0, 2, 1, 3))


def _heads(emit: Emit, x: Value, heads: int, parts: int) -> list[Value]:
    """Return the parts of an interleaved projection, each (length, batch * heads, width of a head)."""
    length, batch, size = x.shape
    width = size // (heads * parts)
    split = emit.reshape(x, (length, batch * heads, parts, width))
    if parts == 1:
        return [emit.reshape(split, (length, batch * heads, width))]
    pieces = emit.node("Split", split, axis=2, num_outputs=parts, nout=parts)
    for piece in pieces:
        piece.shape = (length, batch * heads, 1, width)
    return [emit.squeeze(piece, 2) for piece in pieces]


def _interleaved_scores(emit: Emit, query: Value, key: Value) -> Value:
    scale = emit.constant(query.shape[-1] ** -0.5, query.dtype)
    query, key = emit.transpose(query, (1, 0, 2)), emit.transpose(key, (1, 2, 0))
    return emit.node("MatMul", emit.node("Mul", query, scale), key)


def _interleaved_sum(emit: Emit, step: Step, value: Value, attention: Value) -> Value:
    out = emit.node("MatMul", attention, emit.transpose(value, (1, 0, 2)))
    out.shape = attention.shape[:2] + (value.shape[-1],)
    return emit.reshape(emit.transpose(out, (1, 0, 2)), step.outs[0].shape)


@rule("interleaved_matmul_selfatt_qk")
def _selfatt_qk(emit: Emit, step: Step) -> Any:
    query, key, _ = _heads(emit, emit.value(step.args[0]), step.op.attrs["heads"], 3)
    return _interleaved_scores(emit, query, key)


@rule("interleaved_matmul_selfatt_valatt")
def _selfatt_valatt(emit: Emit, step: Step) -> Any:
    *_, value = _heads(emit, emit.value(step.args[0]), step.op.attrs["heads"], 3)
    return _interleaved_sum(emit, step, value, emit.value(step.args[1]))


@rule("interleaved_matmul_encdec_qk")
def _encdec_qk(emit: Emit, step: Step) -> Any:
    (query,) = _heads(emit, emit.value(step.args[0]), step.op.attrs["heads"], 1)
    key, _ = _heads(emit, emit.value(step.args[1]), step.op.attrs["heads"], 2)
    return _interleaved_scores(emit, query, key)


@rule("interleaved_matmul_encdec_valatt")
def _encdec_valatt(emit: Emit, step: Step) -> Any:
    _, value = _heads(emit, emit.value(step.args[0]), step.op.attrs["heads"], 2)
    return _interleaved_sum(emit, step, value, emit.value(step.args[1]))


@rule("linalg_multi_dot")
def _chain(emit: Emit, step: Step) -> Any:
    return functools.reduce(lambda a, b: emit.node("MatMul", a, b), emit.args(step, wider(step.outs[0].dtype)))


@rule("cross", "linalg_cross")
def _cross(emit: Emit, step: Step) -> Any:
    x, y = emit.args(step, wider(step.outs[0].dtype))
    attrs = step.op.attrs
    axes = {attrs[n] for n in ("axisa", "axisb", "axisc") if n in attrs and attrs["axis"] is None} or {attrs["axis"]}
    if x.ndim != y.ndim or len({a % x.ndim for a in axes}) > 1 or step.outs[0].shape[next(iter(axes))] != 3:
        raise GraphError("a cross product along different axes, or in the plane")
    axis = next(iter(axes)) % x.ndim
    turns = [emit.constant(v, np.int64) for v in ([1, 2, 0], [2, 0, 1])]
    parts = [[emit.node("Gather", v, turn, axis=axis) for turn in turns] for v in (x, y)]
    products = [emit.node("Mul", parts[0][i], parts[1][1 - i]) for i in (0, 1)]
    return emit.node("Sub", *products)


@rule("diff")
def _diff(emit: Emit, step: Step) -> Any:
    if any(arg is not None for arg in step.args[1:]):
        raise GraphError("no prepend= or append= here")
    x = emit.value(step.args[0], wider(step.outs[0].dtype))
    axis = step.op.attrs["axis"] % x.ndim
    for _ in range(step.op.attrs["n"]):
        ends = [emit.slice(x, axis, start, stop) for start, stop in ((1, np.iinfo(np.int64).max), (0, -1))]
        x = emit.node("Sub", *ends)
    return x
