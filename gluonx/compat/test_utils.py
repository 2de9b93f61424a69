"""``mx.test_utils``: the part of it that tests of user code call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as onp

from gluonx.compat import nd
from gluonx.device import current_device, num_gpus

__all__ = [
    "almost_equal",
    "assert_almost_equal",
    "default_context",
    "default_device",
    "list_gpus",
    "rand_ndarray",
    "rand_shape_2d",
    "rand_shape_3d",
    "rand_shape_nd",
    "same",
    "set_default_context",
    "simple_forward",
]

_TOLERANCE = {onp.dtype("float16"): (1e-2, 1e-1), onp.dtype("float64"): (1e-5, 1e-20)}


def default_device() -> Any:
    """Return the device of new arrays."""
    return current_device()


default_context = default_device


def set_default_context(ctx: Any) -> None:
    """Accepted for ported code if it names the device in use; ValueError else: use ``with ctx:``."""
    if ctx != current_device():
        raise ValueError(f"the default device is {current_device()}; put the code into `with {ctx}:`")


def list_gpus() -> range:
    """The numbers of the GPUs."""
    return range(num_gpus())


def same(a: Any, b: Any) -> bool:
    """Return whether two arrays are equal in every element."""
    return onp.array_equal(onp.asarray(a), onp.asarray(b))


def _bounds(a: onp.ndarray, b: onp.ndarray, rtol: float | None, atol: float | None) -> tuple[float, float]:
    found = [_TOLERANCE.get(x.dtype, (1e-4, 1e-3)) for x in (a, b)]
    return (
        max(f[0] for f in found) if rtol is None else rtol,
        max(f[1] for f in found) if atol is None else atol,
    )


def almost_equal(
    a: Any, b: Any, rtol: float | None = None, atol: float | None = None, equal_nan: bool = False, **kwargs: Any
) -> bool:
    """Return whether two arrays are equal but for small differences."""
    a, b = onp.asarray(a), onp.asarray(b)
    rtol, atol = _bounds(a, b, rtol, atol)
    return onp.allclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)


def assert_almost_equal(
    a: Any,
    b: Any,
    rtol: float | None = None,
    atol: float | None = None,
    names: Sequence[str] = ("a", "b"),
    equal_nan: bool = False,
    **kwargs: Any,
) -> None:
    """AssertionError if two arrays differ by more than small differences; it shows where."""
    a, b = onp.asarray(a), onp.asarray(b)
    rtol, atol = _bounds(a, b, rtol, atol)
    onp.testing.assert_allclose(a, b, rtol, atol, equal_nan=equal_nan, err_msg=f"{names[0]} and {names[1]}")


def rand_shape_nd(num_dim: int, dim: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """A shape of so many axes, of lengths from 1 (or 0) to `dim`."""
    return tuple(onp.random.randint(0 if allow_zero_size else 1, dim + 1, num_dim).tolist())


def rand_shape_2d(dim0: int = 10, dim1: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """The shape of a matrix."""
    low = 0 if allow_zero_size else 1
    return tuple([int(onp.random.randint(low, d + 1)) for d in (dim0, dim1)])


def rand_shape_3d(dim0: int = 10, dim1: int = 10, dim2: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """The shape of an array of three axes."""
    low = 0 if allow_zero_size else 1
    return tuple([int(onp.random.randint(low, d + 1)) for d in (dim0, dim1, dim2)])


def rand_ndarray(shape: Sequence[int], stype: str = "default", dtype: Any = None, **kwargs: Any) -> Any:
    """Numbers between -1 and 1."""
    if stype != "default":
        nd.sparse.refuse(f"rand_ndarray(stype={stype!r})")
    return nd.array(onp.random.uniform(-1, 1, shape), dtype=dtype or "float32")


def simple_forward(block: Any, *inputs: Any) -> Any:
    """Run a block on NumPy arrays, and return what it gives as NumPy arrays."""
    found = block(*[nd.array(x) for x in inputs])
    return [f.asnumpy() for f in found] if isinstance(found, (list, tuple)) else found.asnumpy()
