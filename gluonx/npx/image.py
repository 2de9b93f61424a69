"""``gluonx.npx.image``: operators on images of (height, width, channels), as ``mxnet.npx.image`` has them.

Every core operator whose name begins with ``image.`` is a function here. What can be wrong
with a number that only the program sees, such as the place of a crop, is checked here, where it still is a number.
"""

from __future__ import annotations

import contextlib
import functools
import numbers
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from gluonx.npx.functions import make_function
from gluonx.ops.registry import OPS

if TYPE_CHECKING:
    from gluonx.np.handle import ndarray


_PREFIX = "image."

__all__: list[str] = []


def _said(name: str, value: object, low: float, high: float, why: str) -> None:
    """Check a plain number; what is an array is left to the operator."""
    if isinstance(value, numbers.Real) and not low <= float(value) <= high:
        raise ValueError(f"npx.image.{name}: {why}, but {value} came.")


def _check_crop(data: ndarray, x: ArrayLike, y: ArrayLike, width: int, height: int, **_: object) -> None:
    if getattr(data, "ndim", 0) in (3, 4):
        rows, columns = data.shape[-3:-1]
        _said("crop", x, 0, columns - width, f"x must leave room for {width} of the image's {columns} columns")
        _said("crop", y, 0, rows - height, f"y must leave room for {height} of the image's {rows} rows")


def _check_factors(name: str, data: ArrayLike, min_factor: float, max_factor: float, **_: object) -> None:
    _said(name, min_factor, 0, float("inf"), "min_factor must not be negative")
    _said(name, max_factor, 0, float("inf"), "max_factor must not be negative")


def _check_p(name: str, data: ArrayLike, p: ArrayLike | None = None, **_: object) -> None:
    _said(name, p, 0, 1, "p must be a probability")


_CHECKS: dict[str, Callable[..., None]] = {
    "crop": _check_crop,
    **{
        name: functools.partial(_check_factors, name)
        for name in ("random_brightness", "random_contrast", "random_saturation")
    },
    **{name: functools.partial(_check_p, name) for name in ("random_flip_left_right", "random_flip_top_bottom")},
}


def _made(name: str) -> Callable[..., Any]:
    plain = make_function(_PREFIX + name)
    plain.__name__ = plain.__qualname__ = name
    plain.__module__ = __name__
    check = _CHECKS.get(name)
    if check is None:
        return plain

    @functools.wraps(plain)
    def checked(*args: object, **kwargs: object) -> ndarray:
        with contextlib.suppress(TypeError):  # a wrong call: the function itself says what is wrong
            check(*args, **kwargs)
        return plain(*args, **kwargs)

    return checked


for _operator in [op for op in OPS if op.startswith(_PREFIX)]:
    _name = _operator.removeprefix(_PREFIX)
    globals()[_name] = _made(_name)
    __all__ += [_name]  # noqa: PLE0604

del _name, _operator


def __dir__() -> list[str]:
    return sorted(__all__)
