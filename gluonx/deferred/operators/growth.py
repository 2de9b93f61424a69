"""The slow half of recording: making a new node when a program first reaches an operator at a point of the trie.

Shapes are inferred with ``jax.eval_shape``, so a wrong shape raises here, at the line that wrote it, with the block's
path and all shapes. Placeholders are filled, scalars get their dtype, and the inputs through which gradients flow are
determined.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from gluonx.common import policy
from gluonx.common.arguments import from_elsewhere
from gluonx.common.frames import cast, telling
from gluonx.deferred.operators.derived import cuts_tape, needs_64_bits, out_avals
from gluonx.deferred.values import program_cache, source_location
from gluonx.deferred.values.contracts import BAD_CALLS, Args, Number, Recorded, ScalarRef, Shaped, grows, is_operator
from gluonx.deferred.values.core import Aval, Handle, Index, Node, Pending, ScalarSlot, TapedAval, Tracer, aval_of
from gluonx.device import device_of, place_device
from gluonx.dtype import is_inexact, operand_dtype, standard
from gluonx.errors import DeviceError, GluonxError, ShapeError
from gluonx.ops.registry import Factor

if TYPE_CHECKING:
    from gluonx.deferred.record.graph import Graph

__all__ = [
    "BAD_CALLS",
    "attach",
    "fill",
    "grow",
    "input_avals",
    "number",
    "scalar_dtype",
    "typed",
    "widen_floats",
]

_INT32, _INT64, _UINT64 = np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.uint64)
_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


def typed(scalar: Number, args: Args, op: Recorded) -> Any:
    """Return a Python or NumPy scalar in the dtype that it takes beside the arrays of `args`, as an input of `op`."""
    dtype = scalar_dtype(scalar, args, op)
    if isinstance(scalar, float) and not -6e4 < scalar < 6e4:  # it may be too large for the dtype
        with telling():
            return dtype.type(scalar)
    return dtype.type(scalar)


def scalar_dtype(scalar: Number, args: Args, op: Recorded) -> np.dtype:
    """Return the dtype that a Python or NumPy scalar takes beside the arrays of `args`, as inputs of `op`.

    Beside a floating-point array it takes that array's dtype. Beside an integer array an integer takes the array's
    dtype, and a float takes float32, the default dtype (in MXNet 2 it takes float64, and so it does after
    `widen_floats`). The inputs of an operator for which a 64-bit type was asked are not rounded to a smaller type
    first.
    """
    if type(scalar) is Index:
        return _INT32 if -(2**31) <= scalar < 2**31 else _INT64
    kind = "b" if isinstance(scalar, (bool, np.bool_)) else "i" if isinstance(scalar, (int, np.integer)) else "f"
    if kind == "f" and not isinstance(scalar, (float, np.floating)):
        raise TypeError(
            f"an array or a number was expected as an operator's input, got {type(scalar).__name__}: "
            f"{str(scalar)[:80]!r}{from_elsewhere(scalar)}"
        )
    if len(args) > 2 and (type(args[1]) is Index or isinstance(args[1], Tracer)) and _is_key(args[0]):
        args = args[2:]
    dtypes = [dtype_of(a) for a in args if a is not None and not isinstance(a, (bool, int, float, np.generic))]
    inexact = [d for d in dtypes if is_inexact(d)]
    if type(scalar) is Factor:
        return max([_SINGLE, *[d for d in inexact if d.kind == "f"]], key=lambda d: d.itemsize)
    if op.exact and kind != "b":
        return _DOUBLE if kind == "f" else _INT64 if scalar < 2**63 else _UINT64
    if inexact:
        return max(inexact, key=lambda d: d.itemsize)
    if kind == "f":
        return _DOUBLE if _Floats.wide and dtypes and _is_arithmetic(op) else standard(None)
    if kind == "b":
        return np.dtype(bool)
    whole = [d for d in dtypes if d.kind in "iu"]
    if not whole:
        fits = -(2**31) <= scalar < 2**31 and not jax.config.jax_enable_x64  # type: ignore[attr-defined]
        return _INT32 if fits else _INT64 if scalar < 2**63 else _UINT64
    if not 0 <= scalar < 128:
        _check_room(int(scalar), whole[0])
    return whole[0]


class _Floats:
    """The switch that makes float64 the type of a Python float beside integers."""

    wide = False


def widen_floats(on: bool) -> None:
    """Choose whether arithmetic of integers and Python floats is in float64, as in MXNet 2, but for ``/``."""
    _Floats.wide = on


def _is_arithmetic(op: Recorded) -> bool:
    return op.name == "power" or (op.name != "true_divide" and bool(getattr(getattr(op, "op", None), "ufunc", False)))


def _check_room(number: int, dtype: np.dtype) -> None:
    """Raise for integers that do not fit into an array's dtype; a compiled program would wrap them round."""
    limits = np.iinfo(dtype)
    if not limits.min <= number <= limits.max:
        raise OverflowError(
            f"the integer {number} is out of bounds for {dtype}, the dtype of the array beside it, which goes from "
            f"{limits.min} to {limits.max}; cast the array first."
        )


def _is_key(value: Any) -> bool:
    """Return whether this looks like the words of a random key; numbers are not cast to its dtype."""
    return getattr(value, "shape", None) == (2,) and dtype_of(value) == np.uint32


def check_numeric(array: np.ndarray) -> None:
    """Raise for NumPy arrays of objects or strings."""
    if array.dtype.kind in "OSUMm":
        raise TypeError(f"an array or a number was expected as an operator's input, got a NumPy array of {array.dtype}")


def operand(array: np.ndarray, args: Args, op: Recorded | None = None, dtypes: Sequence[np.dtype] = ()) -> np.ndarray:
    """Return the NumPy array `array`, an element of `args`, in the dtype that `op` takes it in.

    It is the same object if it has that dtype already.

    Raises
    ------
    TypeError
        For objects and strings.
    """
    check_numeric(array)
    if array.dtype.kind not in "fc" or array.dtype.itemsize < 8 or (op is not None and op.exact):
        return array
    beside = [*dtypes, *[dtype_of(a) for a in args if isinstance(a, (Handle, jax.Array))]]
    dtype = operand_dtype(array, beside)
    return array if array.dtype == dtype else cast(array, dtype)


def dtype_of(value: Handle | Shaped) -> np.dtype:
    """Return the dtype of a handle or raw array, without computing anything."""
    if isinstance(value, Handle):
        if value.aval is not None:
            return value.aval.dtype
        value = value.value
    return np.dtype(value.dtype)


def input_avals(args: Args, key: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the avals of the input references in a trie key; for a taped variant, the plain aval."""
    avals: list[Any] = []
    for a, part in zip(args, key, strict=True):
        if isinstance(a, Handle):
            aval = a.aval
            avals.append(a.value.aval if aval is None and type(a.value) is Pending else aval or aval_of(a.value))
        elif a is None or isinstance(part, ScalarSlot):
            avals.append(part)
        else:
            avals.append(part.aval if isinstance(part, TapedAval) else part)
    return tuple(avals)


def grow(graph: Graph, node: Node, key: tuple[Any, ...], op: Recorded, args: Args, taped: bool) -> Node:
    """Make the child of `node` for `key`."""
    if grows(op):
        return op.grow(graph, node, key, args)
    assert is_operator(op), "what does not make its own nodes is a function"
    avals = input_avals(args, key[2:])
    check_devices(op, args, avals)
    try:
        single, outs = out_avals(op, avals)
    except GluonxError:
        raise
    except BAD_CALLS as error:
        raise bad_call(op, avals, error) from error
    child = Node(node, op, (), outs)
    child.wide = child.wide or needs_64_bits(op, avals)
    child.parts, lives = number(graph, node, child, key[2:])
    child.single = single
    child.taped = taped
    if taped and not cuts_tape(op):
        child.diff = tuple([i for i, live in enumerate(lives) if live and avals[i].inexact])
    carries = bool(child.diff)
    n_live = len(outs) if op.n_live is None else op.n_live
    child.live = tuple([carries and o.inexact and i < n_live for i, o in enumerate(outs)])
    return attach(graph, node, key, child)


def attach(graph: Graph, node: Node, key: tuple[Any, ...], child: Node) -> Node:
    """Note the user's line and insert `child` into the trie."""
    child.used = program_cache.Cache.now
    child.line = source_location.user_line()
    child.where = source_location.block_path()
    program_cache.add(program_cache.NODE)
    child.full = child.depth >= policy.PENDING or child.nbytes >= policy.limits["pending"]
    return node.children.setdefault(key, child)


def number(graph: Graph, node: Node, child: Node, key: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[bool]]:
    """Resolve a trie key into numbered input references, and find which of them gradients flow into."""
    parts: list[Any] = []
    lives: list[bool] = []
    for part in key:
        live = False
        if part is None:
            parts.append(None)
        elif isinstance(part, int):
            parts.append(part)
            live = graph.is_live(part) if part >= 0 else graph.source_live(-1 - part)
        elif isinstance(part, ScalarSlot):
            parts.append(ScalarRef(part, child.n_ints if part.integral else child.n_floats))
            if part.integral:
                child.n_ints += 1
            else:
                child.n_floats += 1
        else:
            parts.append(-1 - child.n_leaves)
            live = isinstance(part, TapedAval)
            child.n_leaves += 1
        lives.append(live)
    return tuple(parts), lives


def _named(owner: str) -> str:
    return f"parameter '{owner}'" if owner else "an array"


def ids_of(sharding: Any) -> tuple[int, ...]:
    """Return the numbers of the devices of a sharding, in the order of its mesh."""
    mesh = getattr(sharding, "mesh", None)
    devices = sharding.device_set if mesh is None else mesh.devices.flat
    return tuple([d.id for d in devices])


def check_committed(op: Recorded, args: Args, values: Sequence[Any]) -> None:
    """Raise if arrays that were put on single devices explicitly meet on different devices, or meet one on a mesh."""
    found: dict[Any, str] = {}
    spread = False
    for a, value in zip(args, values, strict=True):
        if not isinstance(value, jax.Array) or not value.committed:
            continue
        owner = a.variable.owner if isinstance(a, Handle) and a.variable is not None else ""
        count = len(value.devices())
        spread = spread or count > 1
        device = place_device(value.sharding) if count == 1 else ids_of(value.sharding)
        found.setdefault(device, f"{_named(owner)} on {device if count == 1 else f'a mesh of {count} devices'}")
    _refuse_several(op, found, _TO_MESH if spread else _TO_DEVICE)


def check_devices(op: Recorded, args: Args, avals: tuple[Any, ...]) -> None:
    """Raise where the inputs of a recorded operator live on different devices.

    Arrays on the default device follow the others, as in JAX; a parameter does not.
    """
    if getattr(op, "crosses", False):
        return
    found: dict[Any, str] = {}
    for a, aval in zip(args, avals, strict=True):
        if not isinstance(aval, Aval):
            continue
        owner = a.variable.owner if isinstance(a, Handle) and a.variable is not None else ""
        if aval.sharding is None:
            if owner and not any(isinstance(b, Aval) and b.spread for b in avals):
                found.setdefault("default", f"parameter '{owner}' on {device_of(jax.local_devices()[0])}")
        elif aval.spread:
            ids = ids_of(aval.sharding)
            order = "" if list(ids) == sorted(ids) else f" in the order {', '.join(map(str, ids))}"
            found.setdefault(ids, f"{_named(owner)} on a mesh of {len(ids)} devices{order}")
        else:
            device = place_device(aval.sharding)
            found.setdefault(device, f"{_named(owner)} on {device}")
    _refuse_several(op, found, _TO_MESH if any(isinstance(a, Aval) and a.spread for a in avals) else _TO_DEVICE)


def _refuse_several(op: Recorded, found: dict[Any, str], advice: str) -> None:
    """Raise DeviceError for inputs on several devices; `found` says which inputs are on each."""
    if len(found) > 1:
        block = source_location.block_path()
        raise DeviceError(
            f"{op}{' in ' + block if block else ''} got inputs on different devices: {', '.join(found.values())}. "
            f"Bring them together with {advice}."
        )


_TO_DEVICE = "x.to_device(device) or net.reset_device(device)"
_TO_MESH = "parallel.split(x), parallel.replicate(x) or net.shard(), which put them on the mesh in use"


def bad_call(op: Recorded, avals: tuple[Any, ...], error: Exception) -> Exception:
    """Return the error for inputs that do not fit an operator."""
    block = source_location.block_path()
    at = f" in {block}" if block else ""
    if isinstance(error, AttributeError) and None in avals:
        return TypeError(f"{op}{at}: an array or a number was expected as an operator's input, got None")
    inputs = ", ".join("none" if a is None else repr(a) for a in avals)
    return ShapeError(f"{op}{at} cannot take inputs ({inputs}): {_plain(str(error)) or type(error).__name__}")


_PLAIN = [
    (r"broadcast_in_dim shape must have every element be nonnegative, got", "negative lengths are not allowed, got"),
    (r"dot_general requires contracting dimensions to have the same shape, got", "the axes to sum over differ:"),
    (r"Incompatible types for broadcasting: input type=\w+\[(.*?)\] and requested type=\w+\[(.*?)\]",
     r"shape (\1) cannot be broadcast to (\2)"),
    (r"Slice size at index \d+ in gather op is out of range.*", "an axis of length 0 has nothing to take"),
    (r"\w*Tracer\((.*?)\)", r"\1"),
    (r"\b(?:jax\.numpy|jnp)\.", "np."),
]  # fmt: skip


def _plain(told: str) -> str:
    """Translate JAX's words for an operator's inputs into words about arrays."""
    for pattern, words in _PLAIN:
        told = re.sub(pattern, words, told)
    return told.strip()


def fill(handle: Handle, op: Recorded, args: Args) -> None:
    """Give a handle that holds a placeholder its array; `op` and its other inputs determine an unknown shape."""
    placeholder = handle.value
    resolve = getattr(placeholder, "resolve", None)
    if resolve is not None:
        resolve(handle, op, args)
    else:
        handle.value = placeholder.make(handle)
        handle.aval = None
