"""LSTM layers and attention by cuDNN, through ``jax.experimental.rnn`` and ``jax.nn.dot_product_attention``.

The choice between cuDNN and XLA is made when a program is lowered, by `lax.platform_dependent`; a program for a CPU
uses XLA, whatever else the machine has. Tracing calls cuDNN, so a machine without CUDA never traces that branch.
``GLUONX_CUDNN=0`` leaves both operators to XLA.

An LSTM's flat vector of parameters has cuDNN's layout, with gates in cuDNN's order, so it is passed unchanged. JAX asks
a device for the size of cuDNN's workspace, so on a machine without one a plan uses the scan. XLA cannot split the call
over devices by itself and would give the whole batch to each, so it is told how: each device takes its part of the
batch and all weights, and their gradients are summed. JAX has no interface to cuDNN's GRU.

cuDNN computes attention if `attends` returns True. For both operators, XLA computes the gradient of the gradient.
``vmap`` makes one larger batch of an attention, and the scan of an LSTM. Forward-mode differentiation is not possible,
as for every `jax.custom_vjp`. The backward pass computes the forward again; if both are in one program, XLA computes it
only once. Scores are never kept.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.custom_batching import custom_vmap

from gluonx.ops.cpu.convolution import native_only


@functools.cache
def _devices() -> int:
    """Return how many devices this machine has that run cuDNN."""
    try:
        return len(jax.local_devices(backend="cuda"))
    except RuntimeError:  # JAX knows no such platform
        return 0


# What `jax.experimental.rnn` accepts as the precision of products.
_PRECISIONS = (None, "high", "highest", "bfloat16_3x", "tensorfloat32", "float32")


def fits(data: Array, flat: Array, states: list[Array], attrs: Mapping[str, Any]) -> bool:
    """Return whether cuDNN is available, allowed, and can compute `attrs` (those of `rnn`, and ``clip``).

    Artifacts use the scan, because cuDNN's call is bound to the version of the library that it was made with.
    """
    if native_only():
        return False
    why = _why_scan(data, flat, states, attrs)
    layers = f"{attrs['num_layers']} layer(s) of {attrs['state_size']}"
    return _told(f"{attrs['mode']} of {data.dtype} {data.shape}, {layers},", "a scan", why)


def _why_scan(data: Array, flat: Array, states: list[Array], attrs: Mapping[str, Any]) -> str | None:
    """Return why cuDNN cannot compute a recurrent layer; None if it can."""
    options: Any = jax.config
    arrays = (data, flat, *states)
    sizes = [n for a in arrays for n in a.shape]
    if attrs["mode"] != "lstm":
        return "JAX has a way to cuDNN for LSTMs only"
    if attrs["projection_size"]:
        return "its state is projected"
    if any(bound is not None for bound in attrs["clip"][:2]):
        return "its cell has bounds"
    if not all(isinstance(n, int) and n > 0 for n in sizes):
        return "its sizes are not known, or it is empty"
    if any(a.dtype not in (jnp.float32, jnp.bfloat16, jnp.float16) for a in arrays):
        return "cuDNN takes float32, bfloat16 and float16"
    if options.jax_default_matmul_precision not in _PRECISIONS:
        return f"cuDNN has no products of the precision {options.jax_default_matmul_precision}"
    if os.environ.get("GLUONX_CUDNN", "") == "0":
        return "GLUONX_CUDNN is 0"
    return None if _devices() else "there is no GPU here that runs cuDNN"


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
    """Return all outputs and the last states of a stack of LSTM layers, by cuDNN in programs for CUDA, else by `usual`.

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
        The same function of data, flat, h, c and lengths in JAX operations, used for derivatives of derivatives.

    Returns
    -------
    (array, array, array)
        In float32.
    """
    from jax.experimental import rnn

    time, _, features = data.shape

    def forward(data: Array, flat: Array, h: Array, c: Array, *beside: Array) -> Any:
        steps = jnp.clip(beside[0].astype(jnp.int32), 1, time) if beside else jnp.full(data.shape[1], time, jnp.int32)
        found: Any = rnn.lstm(data.swapaxes(0, 1), h, c, flat, steps, features, size, layers, 0.0, both)
        y, last_h, last_c = found[0].swapaxes(0, 1), found[1], found[2]
        if not beside:
            return y, last_h, last_c
        some = (beside[0] > 0)[:, None]  # cuDNN does not take empty sequences
        inside = jnp.arange(time)[:, None, None] < beside[0][None, :, None]
        return jnp.where(inside, y, 0), jnp.where(some, last_h, h), jnp.where(some, last_c, c)

    def plain(data: Array, flat: Array, h: Array, c: Array, *beside: Array) -> Any:
        return usual(data, flat, h, c, beside[0] if beside else None)

    beside = () if lengths is None else (lengths,)
    arrays = [a.astype(jnp.float32) for a in (data, flat, h, c)]
    given, found = (1, None, 1, 1, *[0] * len(beside)), (1, 1, 1)
    return _differentiable(forward, plain, _mapping, arrays, beside, (given, found))


_Axes = tuple[int | None, ...]


def _splitting(fn: Callable[..., tuple[Array, ...]], given: _Axes, found: _Axes) -> Callable[..., Any]:
    """Return `fn` for which XLA splits the batch over devices as that of its first array is split.

    Parameters
    ----------
    fn : callable
        Each of its results that has no batch is a sum over the batch.
    given, found : tuple of (int or None)
        The axis of the batch in each array and in each result; None where there is no batch. Arrays without one are
        whole on every device.
    """
    from jax.experimental.custom_partitioning import custom_partitioning

    part = custom_partitioning(fn)

    def names(mesh: jax.sharding.Mesh, arrays: Sequence[Any]) -> str | tuple[str, ...] | None:
        """Return the axes of the mesh over which the batch is split; None if it is whole."""
        first, axis = arrays[0], given[0]
        spec = getattr(first.sharding, "spec", ())
        held = spec[axis] if axis is not None and axis < len(spec) else None
        count = math.prod(mesh.shape[name] for name in ((held,) if isinstance(held, str) else held or ()))
        return None if held is None or axis is None or first.shape[axis] % count else held

    def places(mesh: jax.sharding.Mesh, axes: _Axes, held: Any) -> tuple[Any, ...]:
        return tuple(
            jax.sharding.NamedSharding(mesh, jax.P() if axis is None else jax.P(*[None] * axis, held)) for axis in axes
        )

    def partition(mesh: jax.sharding.Mesh, arrays: Sequence[Any], results: object) -> tuple[Any, ...]:
        held = names(mesh, arrays)

        def local(*arrays: Array) -> tuple[Array, ...]:
            outs = fn(*arrays)
            return tuple(
                lax.psum(out, held) if axis is None and held is not None else out
                for out, axis in zip(outs, found, strict=True)
            )

        return mesh, local, places(mesh, found, held), places(mesh, given, held)

    def infer(mesh: jax.sharding.Mesh, arrays: Sequence[Any], results: object) -> tuple[Any, ...]:
        return places(mesh, found, names(mesh, arrays))

    def rule(mesh: jax.sharding.Mesh, arrays: Sequence[Any], results: Sequence[Any]) -> tuple[str, Any]:
        """Return the same for Shardy: one name for the batch wherever it is, and one for each other axis."""
        others: list[str] = []

        def told(axis: int | None, rank: int) -> str:
            mine = ["batch" if k == axis else f"n{len(others) + k}" for k in range(rank)]
            others.extend(mine)
            return " ".join(mine)

        sides = [
            ", ".join(told(axis, len(a.shape)) for axis, a in zip(axes, side, strict=True))
            for axes, side in ((given, arrays), (found, results))
        ]
        return " -> ".join(sides), {"need_replication_factors": tuple(n for n in others if n != "batch")}

    part.def_partition(partition, infer_sharding_from_operands=infer, sharding_rule=rule)
    return part


_WIDEST_HEAD = 128
_LEAST_GPU = 8.0  # the compute capability of the first GPUs that have cuDNN's fused attention


@functools.cache
def _has_attention() -> bool:
    """Return whether JAX can trace cuDNN's attention, and all GPUs of this machine can run it."""
    array = jax.ShapeDtypeStruct((1, 2, 1, 8), jnp.bfloat16)
    try:
        jax.eval_shape(functools.partial(jax.nn.dot_product_attention, implementation="cudnn"), array, array, array)
    except (RuntimeError, NotImplementedError):  # cuDNN is not available
        return False
    try:
        found = jax.devices("cuda")
    except RuntimeError:  # programs for GPUs can be made, but there is none
        return True
    return all(float(device.compute_capability) >= _LEAST_GPU for device in found)


_choices: dict[str, str] = {}  # by shapes: what computes attention and recurrent layers, for `engine.explain`
_MOST_CHOICES = 16


def choices() -> list[str]:
    """Return sentences: what computes the attention and recurrent layers traced last, and why it is not cuDNN."""
    return [f"{what} is {how}" for what, how in list(_choices.items())]


def _told(what: str, otherwise: str, why: str | None) -> bool:
    """Note for `choices` what computes an operator; return whether it is cuDNN: `why` says why not, None if it is."""
    _choices.pop(what, None)
    _choices[what] = "cuDNN's in programs for CUDA" if why is None else f"{otherwise}: {why}"
    while len(_choices) > _MOST_CHOICES:
        _choices.pop(next(iter(_choices), what), None)
    return why is None


def attends(query: Array, key: Array, mask: Array | None, causal: bool, drops: bool) -> bool:
    """Return whether cuDNN's fused attention is available and computes this, forward and backward.

    Artifacts use XLA, because cuDNN's call is bound to the version of the library that it was made with.

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
    how = f"{', causal' * causal}{', masked' * (mask is not None)}"
    return _told(f"attention of {query.dtype} {query.shape} to {key.shape}{how}", "XLA's", why)


def _why_not(query: Array, key: Array, mask: Array | None, causal: bool, drops: bool) -> str | None:
    """Return why cuDNN cannot compute an attention; None if it can."""
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
    """Return attention, by cuDNN in programs for CUDA, else by `usual`, for shapes for which `attends` is True.

    Parameters
    ----------
    query, key, value : array
    mask : bool array, shape (batch or 1, heads or 1, queries or 1, keys or 1), or None
    lengths : integer array, shape (batch,), or None
    causal : bool
    scale : float or None
    usual : callable
        The same function of query, key, value, mask and lengths in JAX operations, used for derivatives of derivatives.

    Returns
    -------
    array of the shape of `query`
        Without meaning for a query that may look at nothing.
    """
    # The result for a query that may look at nothing must be finite, since its gradient is multiplied by zero.
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
            return_residual=True,  # forward and backward make the same call, so that XLA computes it once
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
    axes: tuple[_Axes, _Axes] | None = None,
) -> Any:
    """Return ``forward(*arrays, *beside)`` on CUDA, else `usual`; gradients likewise, second derivatives by `usual`.

    Parameters
    ----------
    forward, usual : callable
    batching : callable
        ``batching(fn, usual)`` returns `fn` with a rule for ``vmap``.
    arrays, beside : sequence of array
        The arrays that are differentiated, and those that are not.
    axes : tuple, optional
        The axes of the batch of all arrays and of all results, if `forward` is to be split along them by `_splitting`.
    """
    count, end = len(arrays), len(arrays) + len(beside)

    def backward(fn: Callable[..., Any]) -> Callable[..., Any]:
        def slopes(*given: Array) -> Any:
            out, pull = jax.vjp(lambda *arrays: fn(*arrays, *given[count:end]), *given[:count])
            return pull(jax.tree.unflatten(jax.tree.structure(out), given[end:]))

        return slopes

    ahead, behind = forward, backward(forward)
    if axes is not None:
        given, results = axes
        ahead, behind = _splitting(ahead, given, results), _splitting(behind, given + results, given[:count])
    found = _either(ahead, usual, batching)
    slopes = _either(behind, backward(usual), batching)

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
    """Return `by_cudnn` on CUDA and `usual` elsewhere; derivatives are always those of `usual`."""

    @jax.custom_jvp
    def found(*arrays: Array) -> Any:
        return lax.platform_dependent(*arrays, cuda=batching(by_cudnn, usual), default=usual)

    @found.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        return jax.jvp(usual, primals, tangents)

    return found


def _mapping(fn: Callable[..., Any], usual: Callable[..., Any]) -> Callable[..., Any]:
    """Return `fn` with the rule that ``vmap`` of it is ``vmap`` of `usual`."""
    mapping = custom_vmap(fn)

    @mapping.def_vmap
    def _(size: int, batched: list[bool], *arrays: Array) -> Any:
        out = jax.vmap(usual, [0 if has else None for has in batched], axis_size=size)(*arrays)
        return out, jax.tree.map(lambda _: True, out)

    return mapping


def _folding(fn: Callable[..., Any], usual: Callable[..., Any]) -> Callable[..., Any]:
    """Return `fn`, whose arrays have the batch first, with the rule that ``vmap`` makes a larger batch."""
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
