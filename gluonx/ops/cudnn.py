"""LSTM layers and attention by cuDNN, through ``jax.experimental.rnn`` and ``jax.nn.dot_product_attention``.

Which of two forms computes is decided when a program is lowered, by `lax.platform_dependent`; the program of a CPU has
XLA's whatever else the machine has. Tracing asks cuDNN itself, so a machine without CUDA never sees the other branch.
``GLUONX_CUDNN=0`` leaves both to XLA.

An LSTM's flat vector of parameters is laid out as cuDNN's, gates in cuDNN's order, so it goes in as it is: nothing is
packed. JAX asks a device how large cuDNN's workspace is, so a machine without one plans the scan. Its call is not split
over devices, which XLA would do by giving all of the batch to each: where a machine has several GPUs, or a mesh is in
use, it is asked for by ``GLUONX_CUDNN=1``. JAX has no door to cuDNN's GRU.

Attention is the default where `attends` says so. Of both, the gradient of the gradient is XLA's; ``vmap`` makes one
larger batch of an attention and the scan of an LSTM; only forward-mode differentiation of the value itself is not to be
had, as of all that has a gradient of its own (`jax.custom_vjp`). The backward pass asks for the forward again, which
XLA takes from the forward pass where both are in one program; the scores are never kept.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.custom_batching import custom_vmap

from gluonx.ops.cpu.convolution import native_only
from gluonx.sharding import current_mesh


@functools.cache
def _devices() -> int:
    """Return how many devices this machine has that run cuDNN."""
    try:
        return len(jax.local_devices(backend="cuda"))
    except RuntimeError:  # JAX knows no such platform
        return 0


# What `jax.experimental.rnn` takes for the precision of products.
_PRECISIONS = (None, "high", "highest", "bfloat16_3x", "tensorfloat32", "float32")


def fits(data: Array, flat: Array, states: list[Array], drops: bool, attrs: Mapping[str, Any]) -> bool:
    """Return whether cuDNN is there, not forbidden, and computes what `attrs` (those of `rnn`, and ``clip``) say.

    Artifacts keep the scan: cuDNN's call is bound to the version of the library that it was made with.
    """
    asked = os.environ.get("GLUONX_CUDNN", "")
    if asked == "0" or native_only():
        return False
    low, high, _ = attrs["clip"]
    plain = attrs["mode"] == "lstm" and not attrs["projection_size"] and low is None and high is None and not drops
    arrays = (data, flat, *states)
    sizes = [n for a in arrays for n in a.shape]
    if not plain or not all(isinstance(n, int) and n > 0 for n in sizes):
        return False
    if any(a.dtype not in (jnp.float32, jnp.bfloat16, jnp.float16) for a in arrays):
        return False
    options: Any = jax.config
    if options.jax_default_matmul_precision not in _PRECISIONS:
        return False
    count = _devices()
    return count > 0 and (asked == "1" or (count == 1 and current_mesh() is None))


def lstm(
    data: Array,
    flat: Array,
    h: Array,
    c: Array,
    lengths: Array | None,
    *,
    size: int,
    layers: int,
    both: bool,
    usual: Callable[[Array, Array, Array, Array, Array | None], tuple[Array, Array, Array]],
) -> tuple[Array, Array, Array]:
    """All outputs and the last states of a stack of LSTM layers: by cuDNN in programs for CUDA, by `usual` elsewhere.

    Parameters
    ----------
    data : array, shape (time, batch, features)
    flat : array
        See `gluonx.ops.rnn.packing`.
    h, c : array, shape (layers * directions, batch, size)
    lengths : integer array, shape (batch,), or None
    size, layers : int
    both : bool
        Whether there are two directions.
    usual : callable
        The same of data, flat, h, c and lengths in operations of JAX, of which derivatives of derivatives are taken.

    Returns
    -------
    (array, array, array)
        In float32.
    """
    from jax.experimental import rnn

    time, batch, features = data.shape

    def forward(data: Array, flat: Array, h: Array, c: Array, *beside: Array) -> Any:
        steps = jnp.clip(beside[0].astype(jnp.int32), 1, time) if beside else jnp.full((batch,), time, jnp.int32)
        found: Any = rnn.lstm(data.swapaxes(0, 1), h, c, flat, steps, features, size, layers, 0.0, both)
        y, last_h, last_c = found[0].swapaxes(0, 1), found[1], found[2]
        if not beside:
            return y, last_h, last_c
        some = (beside[0] > 0)[:, None]  # cuDNN has no empty sequences
        inside = jnp.arange(time)[:, None, None] < beside[0][None, :, None]
        return jnp.where(inside, y, 0), jnp.where(some, last_h, h), jnp.where(some, last_c, c)

    def plain(data: Array, flat: Array, h: Array, c: Array, *beside: Array) -> Any:
        return usual(data, flat, h, c, beside[0] if beside else None)

    beside = () if lengths is None else (lengths,)
    arrays = [a.astype(jnp.float32) for a in (data, flat, h, c)]
    return _differentiable(forward, plain, _mapping, arrays, beside)


_WIDEST_HEAD = 128
_LEAST_GPU = 8.0  # the compute capability of the first GPUs that have cuDNN's fused attention


@functools.cache
def _has_attention() -> bool:
    """Return whether JAX can trace cuDNN's attention, and all GPUs that are here can run it."""
    array = jax.ShapeDtypeStruct((1, 2, 1, 8), jnp.bfloat16)
    try:
        jax.eval_shape(functools.partial(jax.nn.dot_product_attention, implementation="cudnn"), array, array, array)
    except (RuntimeError, NotImplementedError):  # there is no cuDNN
        return False
    try:
        found = jax.devices("cuda")
    except RuntimeError:  # programs can be made for GPUs, but none is here
        return True
    return all(float(device.compute_capability) >= _LEAST_GPU for device in found)


_choices: dict[str, str] = {}  # what computes attention of which shapes, for `engine.explain`
_MOST_CHOICES = 16


def choices() -> list[str]:
    """Return sentences that tell what computes the attention that was traced last, and why it is not cuDNN."""
    return [f"attention of {what} is {how}" for what, how in list(_choices.items())]


def attends(query: Array, key: Array, mask: Array | None, causal: bool, drops: bool) -> bool:
    """Return whether cuDNN's fused attention is there and computes this, forward and backward.

    Artifacts keep XLA's form: cuDNN's call is bound to the version of the library that it was made with.

    Parameters
    ----------
    query : array, shape (batch, queries, heads, width)
    key : array, shape (batch, keys, key_heads, width)
    mask : array or None
    causal : bool
    drops : bool
        Whether weights are dropped.
    """
    if native_only():
        return False
    why = _why_not(query, key, mask, causal, drops)
    what = f"{query.dtype} {query.shape} to {key.shape}{', causal' * causal}{', masked' * (mask is not None)}"
    _choices.pop(what, None)
    _choices[what] = "cuDNN's in programs for CUDA" if why is None else f"XLA's: {why}"
    while len(_choices) > _MOST_CHOICES:
        _choices.pop(next(iter(_choices), what), None)
    return why is None


def _why_not(query: Array, key: Array, mask: Array | None, causal: bool, drops: bool) -> str | None:
    """Return what keeps cuDNN from an attention; None where nothing does."""
    queries, keys, width = query.shape[1], key.shape[1], query.shape[3]
    if not all(isinstance(n, int) for n in (*query.shape, *key.shape)):
        return "its lengths are not known"
    if 0 in (*query.shape, *key.shape):
        return "it is empty"
    if query.dtype not in (jnp.bfloat16, jnp.float16) or key.dtype != query.dtype:
        return "cuDNN takes bfloat16 and float16"
    if width > _WIDEST_HEAD or width % 8:
        return f"cuDNN takes heads of up to {_WIDEST_HEAD} and a multiple of 8, not {width}"
    if mask is not None and (queries % 2 or keys % 2):
        return f"cuDNN takes masks of even lengths, not {queries} and {keys}"
    if causal and queries != keys:
        return f"cuDNN counts from the first key and gluonx from the last, of {queries} queries and {keys} keys"
    if drops:
        return "weights are dropped"
    if os.environ.get("GLUONX_CUDNN", "") == "0":
        return "GLUONX_CUDNN is 0"
    return None if _has_attention() else "there is no cuDNN here, or a GPU that is too old for it"


def attention(
    query: Array,
    key: Array,
    value: Array,
    mask: Array | None,
    lengths: Array | None,
    *,
    causal: bool,
    scale: float | None,
    usual: Callable[[Array, Array, Array, Array | None, Array | None], Array],
) -> Array:
    """Attention by cuDNN in programs for CUDA, by `usual` elsewhere, in shapes of which `attends` is true.

    Parameters
    ----------
    query, key, value : array
    mask : bool array, shape (batch or 1, heads or 1, queries or 1, keys or 1), or None
    lengths : integer array, shape (batch,), or None
    causal : bool
    scale : float or None
    usual : callable
        The same of query, key, value, mask and lengths in operations of JAX, of which derivatives of derivatives are
        taken.

    Returns
    -------
    array of the shape of `query`
        Of no meaning where a query may look at nothing.
    """
    # What may look at nothing shall be finite, for its gradient to be zero times something finite.
    valid = None if lengths is None else jnp.clip(lengths.astype(jnp.int32), 1, key.shape[1])
    positions = (query.shape[1], key.shape[1])
    hidden = None if mask is None else jnp.broadcast_to(mask, (*mask.shape[:2], *positions))
    beside = [a for a in (hidden, valid) if a is not None]

    def split(beside: tuple[Array, ...]) -> tuple[Array | None, Array | None]:
        return (beside[0] if mask is not None else None, beside[-1] if lengths is not None else None)

    def forward(query: Array, key: Array, value: Array, *beside: Array) -> Array:
        hidden, valid = split(beside)
        out, _ = jax.nn.dot_product_attention(
            query,
            key,
            value,
            mask=hidden,
            key_value_seq_lengths=valid,
            scale=scale,
            is_causal=causal,
            implementation="cudnn",
            return_residual=True,  # so that forward and backward ask for the same, and XLA computes it once
        )
        return out

    def plain(query: Array, key: Array, value: Array, *beside: Array) -> Array:
        return usual(query, key, value, *split(beside))

    return _differentiable(forward, plain, _folding, (query, key, value), beside)


_Batching = Callable[[Callable[..., Any], Callable[..., Any]], Callable[..., Any]]


def _differentiable(
    forward: Callable[..., Any],
    usual: Callable[..., Any],
    batching: _Batching,
    arrays: Sequence[Array],
    beside: Sequence[Array],
) -> Any:
    """``forward(*arrays, *beside)`` on CUDA, `usual` elsewhere; gradients of `arrays` alike, and theirs as `usual` has.

    Parameters
    ----------
    forward, usual : callable
    batching : callable
        ``batching(fn, usual)`` gives `fn` with a meaning for ``vmap``.
    arrays, beside : sequence of array
        What is differentiated, and what is not.
    """
    count, end = len(arrays), len(arrays) + len(beside)

    def backward(fn: Callable[..., Any]) -> Callable[..., Any]:
        def slopes(*given: Array) -> Any:
            out, pull = jax.vjp(lambda *arrays: fn(*arrays, *given[count:end]), *given[:count])
            return pull(jax.tree.unflatten(jax.tree.structure(out), given[end:]))

        return slopes

    found = _either(forward, usual, batching)
    slopes = _either(backward(forward), backward(usual), batching)

    @jax.custom_vjp
    def differentiated(*given: Array) -> Any:
        return found(*given)

    def keep(*given: Array) -> tuple[Any, tuple[Array, ...]]:
        return found(*given), given

    def back(given: tuple[Array, ...], slope: Any) -> tuple[Any, ...]:
        return (*slopes(*given, *jax.tree.leaves(slope)), *[None] * len(beside))

    differentiated.defvjp(keep, back)
    return differentiated(*arrays, *beside)


def _either(by_cudnn: Callable[..., Any], usual: Callable[..., Any], batching: _Batching) -> Callable[..., Any]:
    """Give what `by_cudnn` does on CUDA and `usual` elsewhere; it is differentiated as `usual` everywhere."""

    @jax.custom_jvp
    def found(*arrays: Array) -> Any:
        return lax.platform_dependent(*arrays, cuda=batching(by_cudnn, usual), default=usual)

    @found.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        return jax.jvp(usual, primals, tangents)

    return found


def _mapping(fn: Callable[..., Any], usual: Callable[..., Any]) -> Callable[..., Any]:
    """Give `fn`, of which ``vmap`` makes that of `usual`."""
    mapping = custom_vmap(fn)

    @mapping.def_vmap
    def _(size: int, batched: list[bool], *arrays: Array) -> Any:
        out = jax.vmap(usual, [0 if has else None for has in batched], axis_size=size)(*arrays)
        return out, jax.tree.map(lambda _: True, out)

    return mapping


def _folding(fn: Callable[..., Any], usual: Callable[..., Any]) -> Callable[..., Any]:
    """Give `fn`, of arrays whose first axis is the batch, so that ``vmap`` makes a larger batch of it."""
    folding = custom_vmap(fn)

    @folding.def_vmap
    def _(size: int, batched: list[bool], *arrays: Array) -> Any:
        batch = arrays[0].shape[1] if batched[0] else arrays[0].shape[0]

        def folded(x: Array, has: bool) -> Array:
            x = x if has else x[None]
            whole = (size, batch, *x.shape[2:])
            return jnp.broadcast_to(x, whole).reshape(size * batch, *x.shape[2:])

        out = folding(*[folded(x, has) for x, has in zip(arrays, batched, strict=True)])
        apart = jax.tree.map(lambda x: x.reshape(size, x.shape[0] // size, *x.shape[1:]), out)
        return apart, jax.tree.map(lambda _: True, out)

    return folding
