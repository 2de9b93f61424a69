# Made by `python -m tools.stubs --write` with JAX 0.10; do not edit.
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

from numpy import dtype as _dtype
from numpy.typing import ArrayLike

class Methods:
    """The methods of ndarray that are functions."""

    def abs(self: Self, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> Self:
        """The absolute value of each element, with gradient 0 at 0."""
    def all(self: Self, axis: Any = None, out: Any = None, keepdims: Any = False, where: ArrayLike | None = None) -> Self:
        """Return whether every element over axes is non-zero."""
    def any(self: Self, axis: Any = None, out: Any = None, keepdims: Any = False, where: ArrayLike | None = None) -> Self:
        """Return whether some element over axes is non-zero."""
    def arccos(self: Self, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> Self:
        """The angle in [0, pi] whose cosine is x."""
    def arccosh(self: Self, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> Self:
        """The number whose hyperbolic cosine is x."""
    def arcsin(self: Self, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> Self:
        """The angle in [-pi/2, pi/2] whose sine is x."""
    def arcsinh(self: Self, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> Self:
        """The number whose hyperbolic sine is x."""
    def arctan(self: Self, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> Self:
        """The angle in [-pi/2, pi/2] whose tangent is x."""
    def arctanh(self: Self, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> Self:
        """The number whose hyperbolic tangent is x."""
    def argmax(self: Self, axis: Any = None, out: Any = None, keepdims: Any = False) -> Self:
        """Return the place of the largest element (the first of several) along an axis, or in the flattened array."""
    def argmin(self: Self, axis: Any = None, out: Any = None, keepdims: Any = False) -> Self:
        """Return the place of the smallest element (the first of several) along an axis, or in the flattened array."""
    def argsort(self: Self, axis: Any = -1, descending: Any = False, stable: Any = True, kind: Any = None, order: Any = None, *, out: Any = None) -> Self:
        """Return the places of the elements in order; equal elements keep theirs, unless `stable` is false."""
    def broadcast_like(self: Self, rhs: ArrayLike, lhs_axes: Any = None, rhs_axes: Any = None, *, out: Any = None) -> Self:
        """Return the array repeated to the shape of `rhs`; where axes are named, to the lengths of those only."""
    def broadcast_to(self: Self, shape: Any, *, out: Any = None) -> Self:
        """Repeat the array to `shape`, in which -2 keeps the length of the array's own axis, counted from the last."""
    def cbrt(self: Self, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> Self:
        """The cube root of each element."""
    def ceil(self: Self, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> Self:
        """The smallest whole number that is not below each element."""
    def clip(self: Self, min: Any = None, max: Any = None, out: Any = None, **bounds: Any) -> Self:
        """Return the array with its elements kept between `min` and `max`."""
    def cos(self: Self, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> Self:
        """The cosine of angles in radians."""
    def cosh(self: Self, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> Self:
        """The hyperbolic cosine."""
    def cumsum(self: Self, axis: Any = None, dtype: Any = None, out: Any = None) -> Self:
        """Return the running sum along an axis, or of the flattened array."""
    def degrees(self: Self, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> Self:
        """Radians to degrees."""
    def diag(self: Self, k: Any = 0, *, out: Any = None) -> Self:
        """The diagonal of a matrix, or the matrix with a given diagonal."""
    def diagonal(self: Self, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, *, out: Any = None) -> Self:
        """The diagonals of the last or given two axes."""
    def dot(self: Self, b: ArrayLike, out: Any = None, precision: Any = None, preferred_element_type: Any = None) -> Self:
        """Return the sum of products over the last axis of `a` and the last but one of `b`."""
    def exp(self: Self, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> Self:
        """e to the power of each element."""
    def expand_dims(self: Self, axis: Any, *, out: Any = None) -> Self:
        """Return the array with axes of length 1 put in."""
    def expm1(self: Self, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> Self:
        """exp(x) - 1, exact also for x near zero."""
    def fix(self: Self, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> Self:
        """Each element rounded towards zero."""
    def flatten(self: Self, order: str = 'C') -> Self:
        """Return a one-dimensional copy."""
    def flip(self: Self, axis: Any = None, out: Any = None) -> Self:
        """Return the elements in opposite order along axes."""
    def floor(self: Self, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> Self:
        """The largest whole number that is not above each element."""
    def log(self: Self, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> Self:
        """The natural logarithm."""
    def log10(self: Self, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> Self:
        """The logarithm to base ten."""
    def log1p(self: Self, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> Self:
        """log(1 + x), exact also for x near zero."""
    def log2(self: Self, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> Self:
        """The logarithm to base two."""
    def log_sigmoid(self: Self, *, out: Any = None) -> Self:
        """The logarithm of the sigmoid, without overflow."""
    def log_softmax(self: Self, axis: Any = -1, length: ArrayLike | None = None, temperature: ArrayLike | None = None, use_length: Any = False, dtype: Any = None, *, out: Any = None) -> Self:
        """Return the logarithm of `softmax`, without a detour through small numbers; ``-inf`` beyond `length`."""
    def max(self: Self, axis: Any = None, out: Any = None, keepdims: Any = False, initial: ArrayLike | None = None, where: ArrayLike | None = None) -> Self:
        """Return the largest element over axes; each of several equal ones has the whole gradient."""
    def mean(self: Self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, where: ArrayLike | None = None) -> Self:
        """Return the mean over axes; of integers, a float."""
    def min(self: Self, axis: Any = None, out: Any = None, keepdims: Any = False, initial: ArrayLike | None = None, where: ArrayLike | None = None) -> Self:
        """Return the smallest element over axes; each of several equal ones has the whole gradient."""
    def mish(self: Self, *, out: Any = None) -> Self:
        """``x tanh(log(1 + exp(x)))``."""
    def nonzero(self: Self, *, size: Any = None, fill_value: Any = None) -> Any:
        """The indices of elements that are not zero, one array an axis. A number counts as a vector of one."""
    def norm(self: Self, ord: Any = 2, axis: Any = None, out_dtype: Any = None, keepdims: Any = False, *, out: Any = None) -> Self:
        """Compute the length of vectors: root of the sum of squares (`ord` 2, gradient 0 at 0) or sum of magnitudes (1)."""
    def one_hot(self: Self, depth: Any, on_value: Any = 1.0, off_value: Any = 0.0, dtype: Any = ..., *, out: Any = None) -> Self:
        """`on_value` at the place that each index names along a new last axis of length `depth`, `off_value` elsewhere."""
    def ones_like(self: Self, dtype: Any = None, order: str = 'C', device: Any = None, out: Any = None, *, ctx: Any = None) -> Self:
        """Ones of the shape and dtype of `a`."""
    def pad(self: Self, pad_width: Any, mode: Any = 'constant', constant_values: ArrayLike | None = None, end_values: ArrayLike | None = None, stat_length: Any = None, reflect_type: Any = None, *, out: Any = None) -> Self:
        """An array with a margin."""
    def pick(self: Self, index: ArrayLike, axis: Any = -1, mode: Any = 'clip', keepdims: Any = False, *, out: Any = None) -> Self:
        """One element of each vector of `data` along `axis`."""
    def prod(self: Self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: ArrayLike | None = None, where: ArrayLike | None = None) -> Self:
        """Return the product over axes."""
    def radians(self: Self, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> Self:
        """Degrees to radians."""
    def ravel(self: Self, order: Any = 'C', *, out: Any = None) -> Self:
        """All elements in one axis."""
    def rcbrt(self: Self, *, out: Any = None) -> Self:
        """``1 / cbrt(x)``."""
    def reciprocal(self: Self, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> Self:
        """One divided by each element."""
    def relu(self: Self, *, out: Any = None) -> Self:
        """``max(x, 0)``, with gradient 0 at 0, and NaN at NaN."""
    def repeat(self: Self, repeats: Any, axis: Any = None, *, out: Any = None) -> Self:
        """Each element repeated, along an axis or of the flattened array."""
    def reshape(self: Self, *shape: Any, order: str = 'C', newshape: Any = None, **kwargs: Any) -> Self:
        """Return the same elements in another shape; one dimension may be -1."""
    def reshape_like(self: Self, rhs: ArrayLike, lhs_begin: Any = None, lhs_end: Any = None, rhs_begin: Any = None, rhs_end: Any = None, *, out: Any = None) -> Self:
        """Return the elements of `lhs` with its axes from `lhs_begin` to `lhs_end` replaced by those of `rhs`."""
    def reshape_view(self: Self, *shape: Any, order: str = 'C', newshape: Any = None, **kwargs: Any) -> Self:
        """Return the same elements in another shape; one dimension may be -1."""
    def rint(self: Self, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> Self:
        """The nearest whole number, halves to the even one (MXNet sends halves down)."""
    def round(self: Self, decimals: Any = 0, out: Any = None) -> Self:
        """Give the nearest number of so many decimals, halves to even; integers are rounded to tens, hundreds and so on."""
    def rsqrt(self: Self, *, out: Any = None) -> Self:
        """``1 / sqrt(x)``."""
    def sigmoid(self: Self, *, out: Any = None) -> Self:
        """``1 / (1 + exp(-x))``."""
    def sign(self: Self, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> Self:
        """-1, 0 or 1 by the sign of each element."""
    def sin(self: Self, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> Self:
        """The sine of angles in radians."""
    def sinh(self: Self, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> Self:
        """The hyperbolic sine."""
    def slice(self: Self, begin: Any, end: Any, step: Any = (), *, out: Any = None) -> Self:
        """Return the part from `begin` to `end` along the first axes, as Python slices it; None leaves an end open."""
    def slice_assign(self: Self, rhs: Any, begin: Any, end: Any, step: Any) -> Self:
        """Return the array, after the part from `begin` to `end` was overwritten with `rhs`."""
    def slice_assign_scalar(self: Self, value: Any, begin: Any, end: Any, step: Any) -> Self:
        """Return the array, after the part from `begin` to `end` was filled with a number."""
    def slice_axis(self: Self, axis: Any, begin: Any, end: Any, *, out: Any = None) -> Self:
        """Return the part from `begin` to `end` along one axis."""
    def slice_like(self: Self, shape_like: ArrayLike, axes: Any = (), *, out: Any = None) -> Self:
        """Return the front part of `data` that has the lengths of `shape_like`, along `axes` (all by default)."""
    def softmax(self: Self, length: ArrayLike | None = None, axis: Any = -1, temperature: ArrayLike | None = None, use_length: Any = False, dtype: Any = None, *, out: Any = None) -> Self:
        """``exp(x / temperature)``, normalized along `axis`."""
    def softmin(self: Self, temperature: ArrayLike | None = None, axis: Any = -1, dtype: Any = None, *, out: Any = None) -> Self:
        """Return the softmax of ``-x``."""
    def sort(self: Self, axis: Any = -1, descending: Any = False, stable: Any = True, kind: Any = None, order: Any = None, *, out: Any = None) -> Self:
        """Return the elements in order along an axis, or of the flattened array; `kind` plays no part."""
    def split(self: Self, indices_or_sections: Any, axis: Any = 0, *, out: Any = None) -> Any:
        """Return the array cut along an axis: into so many equal parts, or at the places named."""
    def sqrt(self: Self, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> Self:
        """The square root of each element."""
    def square(self: Self, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> Self:
        """Each element times itself."""
    def squeeze(self: Self, axis: Any = None, out: Any = None) -> Self:
        """Get the array without its axes of length 1, or without those named; one without axes has, as in NumPy, axis 0."""
    def std(self: Self, axis: Any = None, dtype: Any = None, out: Any = None, correction: Any = 0, keepdims: Any = False, where: ArrayLike | None = None) -> Self:
        """Return the standard deviation over axes, with gradient 0 where it is 0."""
    def sum(self: Self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: ArrayLike | None = None, where: ArrayLike | None = None) -> Self:
        """Return the sum over axes."""
    def swapaxes(self: Self, axis1: Any, axis2: Any, *, out: Any = None) -> Self:
        """Return the array with two axes exchanged."""
    def take(self: Self, indices: ArrayLike, axis: Any = None, mode: Any = 'raise', out: Any = None) -> Self:
        """Return the elements of `a` at `indices` along an axis (None: of the flattened array)."""
    def tan(self: Self, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> Self:
        """The tangent of angles in radians."""
    def tanh(self: Self, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> Self:
        """The hyperbolic tangent."""
    def tile(self: Self, reps: Any, *, out: Any = None) -> Self:
        """Return the array repeated as a tile."""
    def to_dlpack_for_read(self: Self) -> Any:
        """Return a DLPack capsule of the array, computed. Its memory is for others to read only, for it may be shared."""
    def to_dlpack_for_write(self: Self) -> Any:
        """Return a DLPack capsule of memory on the host that is the array's from now on, for others to write to."""
    def topk(self: Self, axis: Any = -1, k: Any = 1, ret_typ: Any = 'indices', is_ascend: Any = False, dtype: Any = ..., *, out: Any = None) -> Any:
        """Return the `k` largest elements along `axis` (the smallest if `is_ascend`), in order."""
    def trace(self: Self, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, out: Any = None, dtype: Any = None) -> Self:
        """The sum of a diagonal."""
    def transpose(self: Self, *axes: Any) -> Self:
        """Return the array with its axes permuted (reversed, if none are given)."""
    def trunc(self: Self, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> Self:
        """Each element rounded towards zero."""
    def var(self: Self, axis: Any = None, dtype: Any = None, out: Any = None, correction: Any = 0, keepdims: Any = False, where: ArrayLike | None = None) -> Self:
        """Return the variance over axes, with `correction` taken from the number of elements."""
    def zeros_like(self: Self, dtype: Any = None, order: str = 'C', device: Any = None, out: Any = None, *, ctx: Any = None) -> Self:
        """Zeros of the shape and dtype of `a`."""
    @property
    def mT(self) -> Self: ...
    def drop_grad(self) -> None: ...

def __getattr__(name: str) -> Any: ...  # what the module has besides, for ndarray alone
