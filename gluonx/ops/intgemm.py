"""Dense layers whose products are int8: MXNet's ``intgemm_*``, for which a backend may have its own kernels.

MXNet stores a prepared weight in an order that its CPU library needs. Here it keeps its own order; only these functions
read it, so programs see no difference.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax

from gluonx.errors import ShapeError
from gluonx.ops.common import choose
from gluonx.ops.nn import fully_connected
from gluonx.ops.registry import NONE, SAME, register

_STEPS = 127.0


def _bytes(x: Array, reach: Array) -> Array:
    """Return real numbers as int8 from -127 to 127, where 127 stands for `reach`."""
    scaled = lax.stop_gradient(x.astype(jnp.float32) * (_STEPS / reach.reshape((1,) * x.ndim)))
    return jnp.clip(jnp.round(scaled), -_STEPS, _STEPS).astype(jnp.int8)


@register(shape="(1,)", gradient=NONE, gives="input")
def intgemm_maxabsolute(data: Array) -> Array:
    """Return the largest magnitude of an array, shape (1,).

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.intgemm_maxabsolute(np.array([-3.0, 2.0])).tolist()
    [3.0]
    """
    return lax.stop_gradient(jnp.max(jnp.abs(data)).reshape(1))


@register(shape=SAME, gradient=NONE)
def intgemm_prepare_data(data: Array, maxabs: Array) -> Array:
    """Return an array as int8, in which 127 stands for `maxabs`.

    Parameters
    ----------
    maxabs
        The number that 127 stands for.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.intgemm_prepare_data(np.array([-1.0, 0.5]), np.array([1.0])).tolist()
    [-127, 64]
    """
    return _bytes(data, maxabs)


@register(shape=SAME, gradient=NONE)
def intgemm_prepare_weight(weight: Array, maxabs: Array | None = None, *, already_quantized: bool = False) -> Array:
    """Return a weight as int8 for `intgemm_fully_connected`.

    Parameters
    ----------
    weight : array, shape (units, features)
        Of floats, or with `already_quantized` of int8.
    maxabs : array, shape (1,)
        The real value of 127; not needed with `already_quantized`.
    already_quantized
        Whether `weight` is int8 already.

    Raises
    ------
    ValueError
        If `maxabs` is needed and missing.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.intgemm_prepare_weight(np.ones((8, 64)), np.array([1.0])).dtype
    dtype('int8')
    """
    if already_quantized:
        if weight.dtype != jnp.int8:
            raise ShapeError(f"intgemm_prepare_weight: a quantized weight is of int8, but {weight.dtype} came.")
        return weight
    if maxabs is None:
        raise ValueError("intgemm_prepare_weight: maxabs is needed, unless already_quantized=True.")
    return _bytes(weight, maxabs)


@register(shape="(indices, weight.shape[1])", gradient=NONE)
def intgemm_take_weight(weight: Array, indices: Array) -> Array:
    """Return some rows of a prepared weight, such as those of the words that may come next.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.intgemm_take_weight(
    ...     np.ones((8, 64), dtype="int8"), np.array([0, 2, 4, 6, 1, 3, 5, 7], dtype="int32")
    ... ).shape
    (8, 64)
    """
    return jnp.take(weight, indices.astype(jnp.int32), 0, mode="clip")


@register(shape="that of `fully_connected`", gradient="through `data`, if of floats, `scaling`, `bias`")
def intgemm_fully_connected(
    data: Array,
    weight: Array,
    scaling: Array | None = None,
    bias: Array | None = None,
    *,
    num_hidden: int,
    no_bias: bool = False,
    flatten: bool = True,
    out_type: str = "float32",
) -> Array:
    """Return a dense layer on int8: ``scaling * (data @ weight.T) + bias``.

    Parameters
    ----------
    data : int8 array, or floats, which are brought to int8 by their largest magnitude
    weight : int8 array, shape (num_hidden, features)
        From `intgemm_prepare_weight`.
    scaling : array, shape (1,)
        The real value of one step of the data times one of the weight (of the weight alone, if data are floats). Not
        used with ``out_type='int32'``.
    bias : array, shape (num_hidden,), optional
    num_hidden : int
        The number of units.
    no_bias, flatten : bool
        As for `fully_connected`.
    out_type : {'float32', 'int32'}
        The type of the result; 'int32' is neither scaled nor shifted.

    Raises
    ------
    ValueError
        If `scaling` is missing.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.intgemm_fully_connected(
    ...     np.ones((2, 64), dtype="int8"),
    ...     np.ones((8, 64), dtype="int8"),
    ...     scaling=np.array([0.5]),
    ...     num_hidden=8,
    ...     no_bias=True,
    ... )[0, :2].tolist()
    [32.0, 32.0]
    """
    name = "intgemm_fully_connected"
    choose({"float32": None, "int32": None}, out_type, name, "out_type")
    if weight.dtype != jnp.int8:
        raise ShapeError(f"{name}: weight must be of int8 (see intgemm_prepare_weight), not {weight.dtype}.")
    unit = jnp.ones(1)
    if jnp.issubdtype(data.dtype, jnp.floating):
        reach = jnp.max(jnp.abs(data)).reshape(1)
        data, unit = _bytes(data, reach), reach / _STEPS
    out = fully_connected(data.astype(jnp.int32), weight.astype(jnp.int32), num_hidden=num_hidden, flatten=flatten)
    shape = (1,) * (out.ndim - 1) + (-1,)
    if out_type == "float32":
        if scaling is None:
            raise ValueError(f"{name}: scaling is needed for out_type='float32'.")
        out = out * (unit * scaling).reshape(shape)
    return out if bias is None or no_bias else out + bias.astype(out.dtype).reshape(shape)
