"""Fully connected nets: dense layers, embeddings, dropout, and functions from scores to probabilities and choices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from gluonx.dtype import canonical
from gluonx.errors import ShapeError
from gluonx.ops.checks import Attrs, Bounds, Index, Operands, along, shape_of
from gluonx.ops.common import (
    aligned,
    axis_of,
    channels,
    choose,
    filled,
    float_dtype,
    flops_by_output,
    narrow,
    same_dtype,
    size_of,
    wide,
)
from gluonx.ops.cpu.convolution import on_one_cpu
from gluonx.ops.cpu.reductions import softmax as softmax_along
from gluonx.ops.cpu.reductions import spread
from gluonx.ops.registry import NONE, SAME, Front, Shape, register

if TYPE_CHECKING:
    from gluonx.dtype import DTypeLike


def _dense_shapes(shapes: list[Shape | None], attrs: Mapping[str, Any]) -> list[Shape | None]:
    data, weight, *bias = shapes
    units = attrs["num_hidden"] or (weight[0] if weight else 0)
    features = 0
    if data is not None and len(data):
        features = size_of(data[1:]) if attrs["flatten"] else data[-1]
    reason = f"data of shape {data}" + (f" with num_hidden={attrs['num_hidden']}" if attrs["num_hidden"] else "")
    weight = filled(weight, (units, features), "fully_connected: weight", reason)
    units = weight[0]
    if attrs["no_bias"]:
        return [data, weight, *bias]
    return [data, weight, *(filled(b, (units,), "fully_connected: bias", f"a layer of {units} units") for b in bias)]


@register(
    aliases=("FullyConnected",),
    infer=_dense_shapes,
    amp="low",
    npx=Front(order="x weight bias num_hidden no_bias=True flatten", shown={"x": "x"}),
    shape="(x.shape[0], num_hidden); x.shape[:-1] + (num_hidden,) without `flatten`",
    stands_for="`stablehlo.dot_general`",
    flops=flops_by_output,
)
def fully_connected(
    x: Array,
    weight: Array,
    bias: Array | None = None,
    *,
    num_hidden: int | None = None,
    no_bias: bool = False,
    flatten: bool = True,
) -> Array:
    """Return a dense layer: ``x @ weight.T + bias``.

    Parameters
    ----------
    x : array, shape (batch, ...)
        With `flatten` every axis but the first is one axis of features, else only the last axis is.
    weight : array, shape (num_hidden, features)
    bias : array, shape (num_hidden,), optional
        Left out with `no_bias`.
    num_hidden
        The number of units.
    flatten
        Whether all axes but the first are one axis of features.

    Returns
    -------
    array, shape (batch, num_hidden), or (..., num_hidden) if not `flatten`

    Raises
    ------
    ShapeError
        If the features of `x` are not those of `weight`.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.fully_connected(np.ones((2, 3)), np.ones((4, 3)), num_hidden=4).shape
    (2, 4)
    """
    if flatten and x.ndim != 2:
        x = x.reshape(x.shape[0], -1) if x.ndim > 1 else x.reshape(-1, 1)
    if weight.ndim != 2 or x.shape[-1] != weight.shape[1] or num_hidden not in (None, weight.shape[0]):
        wanted = f"({num_hidden or 'num_hidden'}, {x.shape[-1]})"
        raise ShapeError(
            f"fully_connected: weight has shape {weight.shape}, but data of shape {x.shape} "
            f"({'flattened' if flatten else 'not flattened'}) needs {wanted}."
        )
    x, weight = same_dtype(x, weight)
    y = on_one_cpu(_by_rows, _product, x, weight) if x.ndim > 2 else _product(x, weight)
    if bias is None or no_bias:
        return y
    if bias.shape != weight.shape[:1]:
        raise ShapeError(
            f"fully_connected: bias has shape {bias.shape}, but {weight.shape[0]} units need {weight.shape[:1]}."
        )
    return y + spread(channels(narrow(bias, y.dtype), y.ndim, y.ndim - 1), y.shape)


def _product(x: Array, weight: Array) -> Array:
    return lax.dot_general(x, weight, (((x.ndim - 1,), (1,)), ((), ())))


def _by_rows(x: Array, weight: Array) -> Array:
    """Compute the product with all axes but the last as one.

    With several, XLA on a CPU turns the whole gradient of the result round in memory before it has that of the weight:
    a layer of 2000 words over 16 x 128 tokens took 43 ms with its loss and its gradients, and takes 33.
    """
    return _product(x.reshape(-1, x.shape[-1]), weight).reshape(*x.shape[:-1], weight.shape[0])


def _embedding_shapes(shapes: list[Shape | None], attrs: Mapping[str, Any]) -> list[Shape | None]:
    data, weight = shapes
    wanted = (attrs["input_dim"] or 0, attrs["output_dim"] or 0)
    if weight is not None and len(weight) == 2:
        wanted = tuple(w or g for w, g in zip(wanted, weight, strict=True))
    reason = f"input_dim={attrs['input_dim']}, output_dim={attrs['output_dim']}"
    return [data, filled(weight, wanted, "embedding: weight", reason)]


def _rows_of_weight(attrs: Attrs, operands: Operands) -> Sequence[Bounds]:
    rows = attrs["input_dim"] or (shape_of(operands[1]) or (0,))[0]
    return (Bounds(0, rows, 0),)


@register(
    aliases=("Embedding",),
    infer=_embedding_shapes,
    npx=Front(order="x weight input_dim output_dim dtype sparse_grad=False", unset="dtype"),
    index=Index(0, _rows_of_weight, strict=False),
    shape="x.shape + weight.shape[1:]",
    stands_for="`stablehlo.gather`",
)
def embedding(
    x: Array, weight: Array, *, input_dim: int | None = None, output_dim: int | None = None, dtype: DTypeLike = None
) -> Array:
    """Return the rows of `weight` numbered `x`; indices out of range take the first or the last row.

    Parameters
    ----------
    x : array of integers (or of floats with integer values)
    weight : array, shape (input_dim, output_dim)
    dtype : dtype, optional
        Of the result; that of `weight` by default.
    input_dim
        The number of rows of `weight`.
    output_dim
        The length of its rows.

    Returns
    -------
    array, shape x.shape + (output_dim,)

    Raises
    ------
    ShapeError
        If `weight` is not of shape (input_dim, output_dim).

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.embedding(
    ...     np.array([1, 0]), np.array([[1.0, 2.0], [3.0, 4.0]]), input_dim=2, output_dim=2
    ... ).tolist()
    [[3.0, 4.0], [1.0, 2.0]]
    """
    expected = (input_dim or weight.shape[0], output_dim or weight.shape[-1])
    if weight.shape != expected:
        raise ShapeError(f"embedding: weight has shape {weight.shape}, but input_dim and output_dim need {expected}.")
    rows = jnp.take(weight, x.astype(jnp.int32), axis=0, mode="clip")
    return rows if dtype is None else narrow(rows, canonical(dtype))


def _drops(attrs: Mapping[str, Any]) -> bool:
    if not 0 <= attrs["p"] <= 1:
        raise ValueError(f"dropout: p is {attrs['p']!r}, but must be a probability, from 0 to 1.")
    return attrs["p"] > 0 and (attrs["mode"] == "always" or attrs["training"] is not False)


def _heeds_mode(attrs: Mapping[str, Any]) -> bool:
    return attrs["p"] > 0 and attrs["mode"] != "always"


@register(
    aliases=("Dropout",),
    random=_drops,
    mode=_heeds_mode,
    moving=("p",),
    channels_last="each",
    npx=Front(order="x p mode axes cudnn_off=False", unset="axes"),
    shape=SAME,
    gives="input",
)
def dropout(
    key: Array | None,
    x: Array,
    *,
    p: float = 0.5,
    mode: str = "training",
    axes: Sequence[int] = (),
    training: bool | None = None,
) -> Array:
    """Set elements to zero with probability `p` and scale the others by ``1 / (1 - p)``.

    Parameters
    ----------
    p : float
        Between 0 (the identity) and 1 (all zeros).
    mode : {'training', 'always'}
        Whether to drop only when training.
    axes : tuple of int
        Axes along which elements are dropped together.

    Raises
    ------
    ValueError
        If `p` is not a probability or `mode` is unknown.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.dropout(np.array([1.0, 2.0]), p=0.5).tolist()
    [1.0, 2.0]
    """
    always = choose({"training": False, "always": True}, mode, "dropout", "mode")
    constant = isinstance(p, (int, float))
    if (constant and p == 0) or not (training or always) or key is None:
        return x
    if constant and p == 1:
        return jnp.zeros_like(x)
    shared = {axis_of(a, x.ndim, "dropout") for a in axes}
    shape = [1 if i in shared else d for i, d in enumerate(x.shape)]
    keep = jax.random.bernoulli(key, 1 - p, shape)
    return jnp.where(keep, x * (1 / (1 - p)), jnp.zeros((), x.dtype))


def _tempered(x: Array, temperature: Array | None) -> Array:
    return x if temperature is None else x / jnp.asarray(temperature).astype(x.dtype)


def _length_mask(x: Array, length: Array, axis: int, name: str) -> Array:
    rest = x.shape[:axis] + x.shape[axis + 1 :]
    if length.shape != rest:
        raise ShapeError(
            f"{name}: length has shape {length.shape}, but data of shape {x.shape} along axis {axis} needs {rest}."
        )
    position = lax.broadcasted_iota(jnp.int32, x.shape, axis)
    return position < jnp.expand_dims(length.astype(jnp.int32), axis)


def _shifted(x: Array, mask: Array, axis: int) -> tuple[Array, Array]:
    """Return the scores shifted so that the largest is 0, and the sum of their exponentials.

    Masked scores become low, but stay finite.
    """
    low = jnp.where(mask, x, jnp.finfo(x.dtype).min)
    z = low - lax.stop_gradient(jnp.max(low, axis, keepdims=True))
    # The inner selection keeps the gradient finite: exp is never computed of a masked score.
    e = jnp.where(mask, jnp.exp(jnp.where(mask, z, 0)), 0)
    return jnp.where(mask, z, 0), e


def _masked_softmax(x: Array, mask: Array, axis: int) -> Array:
    _, e = _shifted(x, mask, axis)
    total = jnp.sum(e, axis, keepdims=True)
    return e / jnp.where(total == 0, 1, total)


def _masked_log_softmax(x: Array, mask: Array, axis: int) -> Array:
    z, e = _shifted(x, mask, axis)
    total = jnp.sum(e, axis, keepdims=True)
    return jnp.where(mask, z - jnp.log(jnp.where(total == 0, 1, total)), -jnp.inf)


def _probabilities(
    x: Array,
    length: Array | None,
    temperature: Array | None,
    axis: int,
    dtype: DTypeLike,
    name: str,
    plain: Callable[..., Any],
    masked: Callable[..., Any],
) -> Array:
    if x.ndim == 0:  # the one element of a vector, as in MXNet
        return _probabilities(x[None], length, temperature, axis, dtype, name, plain, masked)[0]
    axis = axis_of(axis, x.ndim, name)
    out = float_dtype(x) if dtype is None else canonical(dtype)
    scores = _tempered(wide(x), temperature)
    if length is None:
        return narrow(plain(scores, axis=axis), out)
    return narrow(masked(scores, _length_mask(x, length, axis, name), axis), out)


@register(
    amp="float32",
    methods=("softmax",),
    npx=Front(order="x length axis temperature use_length dtype"),
    shape=SAME,
    gives="float",
)
def softmax(
    x: Array,
    length: Array | None = None,
    temperature: Array | None = None,
    *,
    axis: int = -1,
    use_length: bool = False,
    dtype: DTypeLike = None,
) -> Array:
    """``exp(x / temperature)``, normalized along `axis`.

    Parameters
    ----------
    x : array
        Half precision is widened inside.
    length : array of int, shape of x without `axis`, optional
        With `use_length`, how many elements of each vector count; the others get probability 0.
    temperature : scalar, optional
        An operand: another value recompiles nothing.
    dtype : dtype, optional
        Of the result; that of `x` by default.
    use_length
        Whether `length` is used.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.softmax(np.array([0.0, 1.0, 2.0])).tolist()
    [0.09003, 0.2447, 0.6652]
    """
    _need_length(length, use_length, "softmax")
    length = length if use_length else None
    return _probabilities(x, length, temperature, axis, dtype, "softmax", softmax_along, _masked_softmax)


@register(
    amp="float32",
    methods=("log_softmax",),
    npx=Front(order="x axis length temperature use_length dtype"),
    shape=SAME,
    gives="float",
)
def log_softmax(
    x: Array,
    length: Array | None = None,
    temperature: Array | None = None,
    *,
    axis: int = -1,
    use_length: bool = False,
    dtype: DTypeLike = None,
) -> Array:
    """Return the logarithm of `softmax`, without computing the softmax itself; ``-inf`` beyond `length`.

    Parameters
    ----------
    use_length
        Whether `length` is used.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.log_softmax(np.array([0.0, 1.0, 2.0])).tolist()
    [-2.408, -1.408, -0.4076]
    """
    _need_length(length, use_length, "log_softmax")
    length = length if use_length else None
    return _probabilities(x, length, temperature, axis, dtype, "log_softmax", jax.nn.log_softmax, _masked_log_softmax)


@register(amp="float32", methods=("softmin",), shape=SAME, gives="float")
def softmin(x: Array, temperature: Array | None = None, *, axis: int = -1, dtype: DTypeLike = None) -> Array:
    """Return the softmax of ``-x``.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.softmin(np.array([0.0, 1.0, 2.0])).tolist()
    [0.6652, 0.2447, 0.09003]
    """
    return _probabilities(-x, None, temperature, axis, dtype, "softmin", jax.nn.softmax, _masked_softmax)


def _need_length(length: Array | None, use_length: bool, name: str) -> None:
    if use_length and length is None:
        raise ValueError(f"{name}: use_length=True needs the lengths as a second array.")


def _masked(
    x: Array, mask: Array, temperature: Array | None, axis: int, name: str, compute: Callable[..., Any]
) -> Array:
    mask = mask.astype(bool)
    if mask.ndim > x.ndim or any(m not in (1, d) for m, d in zip(mask.shape[::-1], x.shape[::-1], strict=False)):
        raise ShapeError(f"{name}: mask has shape {mask.shape} and does not broadcast to the data's, {x.shape}.")
    axis = axis_of(axis, x.ndim, name)
    if x.size == 0:
        return narrow(x, float_dtype(x))
    return narrow(compute(*aligned(_tempered(wide(x), temperature), mask), axis), float_dtype(x))


@register(amp="float32", npx=Front(order="x mask axis temperature normalize"), shape=SAME)
def masked_softmax(
    x: Array, mask: Array, temperature: Array | None = None, *, axis: int = -1, normalize: bool = True
) -> Array:
    """Return the softmax over the elements where `mask` is True; 0 elsewhere, and in rows without such an element.

    `normalize` is accepted for MXNet's sake and ignored: the largest score is always subtracted first.

    Parameters
    ----------
    normalize
        Ignored.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.masked_softmax(np.array([0.0, 1.0, 2.0]), np.array([True, True, False])).tolist()
    [0.2689, 0.7311, 0.0]
    """
    return _masked(x, mask, temperature, axis, "masked_softmax", _masked_softmax)


@register(amp="float32", npx=Front(order="x mask axis temperature normalize"), shape=SAME)
def masked_log_softmax(
    x: Array, mask: Array, temperature: Array | None = None, *, axis: int = -1, normalize: bool = True
) -> Array:
    """Return the logarithm of `masked_softmax`: ``-inf`` where `mask` is False.

    Parameters
    ----------
    normalize
        Ignored.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.masked_log_softmax(np.array([0.0, 1.0]), np.array([True, True])).tolist()
    [-1.313, -0.3133]
    """
    return _masked(x, mask, temperature, axis, "masked_log_softmax", _masked_log_softmax)


@register(aliases=("L2Normalization",), moving=("eps",), amp="float32", shape=SAME, gives="float")
def l2_normalization(x: Array, *, eps: float = 1e-10, mode: str = "instance") -> Array:
    """``x / sqrt(sum(x**2) + eps)``.

    Parameters
    ----------
    x : array, shape (batch, channel, ...)
    mode : {'instance', 'channel', 'spatial'}
        Sum over each sample, over the channels at each position, or over the positions of each channel.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.l2_normalization(np.array([[3.0, 4.0]])).tolist()
    [[0.6, 0.8]]
    """
    table = {"instance": range(1, x.ndim), "channel": (1,), "spatial": range(2, x.ndim)}
    axes = tuple(choose(table, mode, "l2_normalization", "mode"))
    y = wide(x)
    return narrow(y * lax.rsqrt(jnp.sum(y * y, axes, keepdims=True) + eps), float_dtype(x))


@register(
    moving=("on_value", "off_value"),
    methods=("one_hot",),
    npx=Front(
        order="indices depth on_value off_value dtype", shown={"indices": "data"}, unset="dtype off_value on_value"
    ),
    shape="indices.shape + (depth,)",
    gradient=NONE,
)
def one_hot(
    indices: Array, *, depth: int, on_value: float = 1.0, off_value: float = 0.0, dtype: DTypeLike = "float32"
) -> Array:
    """Return `on_value` at each index along a new last axis of length `depth`, and `off_value` elsewhere.

    An index out of range gives `off_value` everywhere.

    Parameters
    ----------
    depth
        The length of the new axis.
    on_value
        The number at the index.
    off_value
        The number elsewhere.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.one_hot(np.array([0, 2]), depth=3).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    dtype = canonical(dtype)
    positions = lax.broadcasted_iota(jnp.int32, (*indices.shape, depth), indices.ndim)
    hit = indices.astype(jnp.int32)[..., None] == positions
    return jnp.where(hit, jnp.asarray(on_value, dtype), jnp.asarray(off_value, dtype))


@register(
    aliases=("choose_element_0index",),
    methods=("pick",),
    index=Index(1, along(negative=False, mode="clip"), strict=False),
    shape="`x` without `axis`, or with length 1 there",
    stands_for="`stablehlo.gather`",
)
def pick(x: Array, index: Array, *, axis: int | None = -1, mode: str = "clip", keepdims: bool = False) -> Array:
    """Return one element of each vector of `x` along `axis`.

    Parameters
    ----------
    index : array
        Of the shape of `x` without `axis`, or with length 1 there. Floats are cut to integers.
    axis : int or None
        None picks from the flattened array.
    mode : {'clip', 'wrap'}
        How indices out of range are treated: they take the nearest element, or count on from the other end.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.pick(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1, 0])).tolist()
    [2.0, 3.0]
    """
    if axis is None:
        x, axis = x.reshape(-1), 0
    axis = axis_of(axis, x.ndim, "pick")
    kept = x.shape[:axis] + (1,) + x.shape[axis + 1 :]
    if index.shape not in (kept, kept[:axis] + kept[axis + 1 :]):
        raise ShapeError(
            f"pick: index has shape {index.shape}, but data of shape {x.shape} along axis {axis} needs {kept}."
        )
    n = x.shape[axis]
    position = index.astype(jnp.int32).reshape(kept)
    wrap = choose({"clip": False, "wrap": True}, mode, "pick", "mode")
    position = position % n if wrap else jnp.clip(position, 0, n - 1)
    found = jnp.take_along_axis(x, position, axis)
    return found if keepdims else found.squeeze(axis)


def _ranked(x: Array, k: int, is_ascend: bool) -> tuple[Array, Array]:
    """Return the first `k` of the sorted last axis, with their positions; equal elements keep their order."""
    if not is_ascend:
        return lax.top_k(x, k)
    if jnp.issubdtype(x.dtype, jnp.floating):
        values, positions = lax.top_k(-x, k)
        return -values, positions
    positions = jnp.argsort(x, axis=-1, stable=True)[..., :k]
    return jnp.take_along_axis(x, positions, -1), positions


@register(
    nout=lambda attrs: 2 if attrs["ret_typ"] == "both" else 1,
    amp="float32",
    methods=("topk",),
    npx=Front(order="x axis k ret_typ is_ascend dtype", unset="dtype"),
    shape="`x` with length k along `axis`; a mask as `x`; two of them for 'both'",
    gradient="through the values, none through indices and masks",
    stands_for="`chlo.top_k`",
)
def topk(
    x: Array,
    *,
    axis: int | None = -1,
    k: int = 1,
    ret_typ: str = "indices",
    is_ascend: bool = False,
    dtype: DTypeLike = "float32",
) -> Array | tuple[Array, Array]:
    """Return the `k` largest elements along `axis` (the smallest if `is_ascend`), in order.

    Parameters
    ----------
    axis : int or None
        None means the flattened array.
    k : int
        0 means all of them.
    ret_typ : {'indices', 'value', 'mask', 'both'}
        Positions, values, an array like `x` with 1 at those positions, or values and positions.
    dtype : dtype
        Of the positions; float32 as in MXNet.
    is_ascend
        Whether the smallest elements are meant, in ascending order.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> [part.tolist() for part in npx.topk(np.array([[3.0, 1.0, 2.0]]), k=2, ret_typ="both")]
    [[[3.0, 2.0]], [[0.0, 2.0]]]
    """
    kind = choose({n: n for n in ("indices", "value", "mask", "both")}, ret_typ, "topk", "ret_typ")
    shape = x.shape
    if axis is None:
        x, axis = x.reshape(-1), 0
    axis = axis_of(axis, x.ndim, "topk")
    n = x.shape[axis]
    if not 0 <= k <= n:
        raise ShapeError(f"topk: k is {k}, but axis {axis} of data of shape {shape} has {n} elements.")
    values, positions = _ranked(jnp.moveaxis(x, axis, -1), k or n, is_ascend)
    if kind == "mask":
        hits = jnp.any(
            positions[..., None] == lax.broadcasted_iota(positions.dtype, (1,) * positions.ndim + (n,), positions.ndim),
            axis=-2,
        )
        return jnp.moveaxis(hits, -1, axis).astype(x.dtype).reshape(shape)
    values, positions = (jnp.moveaxis(a, -1, axis) for a in (values, positions))
    positions = positions.astype(canonical(dtype))
    return {"value": values, "indices": positions, "both": (values, positions)}[kind]
