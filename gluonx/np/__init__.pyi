# Made by `python -m tools.stubs --write` with JAX 0.10; do not edit.
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

from numpy import dtype as _dtype
from numpy.typing import ArrayLike

from gluonx.np.handle import ndarray as ndarray
from gluonx.np.composed import allclose as allclose
from gluonx.np.composed import apply_along_axis as apply_along_axis
from gluonx.np.composed import apply_over_axes as apply_over_axes
from gluonx.np.creation import arange as arange
from gluonx.np.hosted import argwhere as argwhere
from gluonx.np.creation import array as array
from gluonx.np.composed import array_equal as array_equal
from gluonx.np.composed import array_equiv as array_equiv
from gluonx.np.info import array_repr as array_repr
from gluonx.np.info import array_str as array_str
from gluonx.np.creation import asarray as _asanyarray
asanyarray = _asanyarray
from gluonx.np.creation import asarray as asarray
from gluonx.np.creation import ascontiguousarray as ascontiguousarray
from gluonx.np.info import astype as astype
from gluonx.np.creation import bartlett as bartlett
from gluonx.np.hosted import bincount as bincount
from gluonx.np.creation import blackman as blackman
from gluonx.np.composed import block as block
from gluonx.np.info import broadcast_shapes as broadcast_shapes
from gluonx.np.info import can_cast as can_cast
from numpy import character as character
from gluonx.np.composed import choose as choose
from numpy import complexfloating as complexfloating
from gluonx.np.hosted import compress as compress
from gluonx.np.composed import delete as delete
from gluonx.np.creation import diag_indices as diag_indices
from gluonx.np.creation import diag_indices_from as diag_indices_from
from numpy import dtype as dtype
from gluonx.np.composed import einsum as einsum
from gluonx.np.composed import einsum_path as einsum_path
from gluonx.np.creation import empty as empty
from gluonx.np.creation import empty_like as empty_like
from gluonx.np.hosted import extract as extract
from gluonx.np.creation import eye as eye
from gluonx.np import fft as fft
from gluonx.np.composed import fill_diagonal as fill_diagonal
from gluonx.np.info import finfo as finfo
from gluonx.np.hosted import flatnonzero as flatnonzero
from numpy import flexible as flexible
from numpy import floating as floating
from gluonx.np.creation import from_dlpack as from_dlpack
from gluonx.np.creation import frombuffer as frombuffer
from gluonx.np.creation import fromfile as fromfile
from gluonx.np.creation import fromfunction as fromfunction
from gluonx.np.creation import fromiter as fromiter
from gluonx.np.composed import frompyfunc as frompyfunc
from gluonx.np.creation import fromstring as fromstring
from gluonx.np.creation import full as full
from gluonx.np.creation import full_like as full_like
from numpy import generic as generic
from gluonx.np.creation import genfromtxt as genfromtxt
from gluonx.np.creation import geomspace as geomspace
from numpy import get_printoptions as get_printoptions
from gluonx.np.creation import hamming as hamming
from gluonx.np.creation import hanning as hanning
from gluonx.np.composed import histogram as histogram
from gluonx.np.hosted import histogram2d as histogram2d
from gluonx.np.composed import histogram_bin_edges as histogram_bin_edges
from gluonx.np.hosted import histogramdd as histogramdd
from gluonx.np.creation import identity as identity
from gluonx.np.info import iinfo as iinfo
from gluonx.np.creation import indices as indices
from numpy import inexact as inexact
from gluonx.np.composed import insert as insert
from numpy import integer as integer
from gluonx.np.hosted import intersect1d as intersect1d
from gluonx.np.info import iscomplexobj as iscomplexobj
from jax.numpy import isdtype as isdtype
from gluonx.np.info import isrealobj as isrealobj
from gluonx.np.info import isscalar as isscalar
from jax.numpy import issubdtype as issubdtype
from numpy import iterable as iterable
from gluonx.np.creation import kaiser as kaiser
from gluonx.np import linalg as linalg
from gluonx.np.creation import linspace as linspace
from gluonx.np.info import load as load
from gluonx.np.creation import logspace as logspace
from gluonx.np.creation import mask_indices as mask_indices
from gluonx.np.info import may_share_memory as may_share_memory
from gluonx.np.handle import ndarray as ndarray
from gluonx.np.info import ndim as ndim
from gluonx.np.hosted import nonzero as nonzero
from numpy import number as number
from numpy import object_ as object_
from gluonx.np.creation import ones as ones
from gluonx.np.creation import ones_like as ones_like
from gluonx.np.composed import piecewise as piecewise
from gluonx.np.composed import place as place
from gluonx.np.hosted import polydiv as polydiv
from gluonx.np.hosted import polyfit as polyfit
from gluonx.np.composed import power as _pow
pow = _pow
from gluonx.np.composed import power as power
from numpy import printoptions as printoptions
from gluonx.np.info import promote_types as promote_types
from gluonx.np.composed import put as put
from gluonx.np.composed import put_along_axis as put_along_axis
from gluonx.np import random as random
from gluonx.np.info import result_type as result_type
from gluonx.np.hosted import roots as roots
from gluonx.np.info import save as save
from gluonx.np.info import savez as savez
from gluonx.np.composed import select as select
from numpy import set_printoptions as set_printoptions
from gluonx.np.hosted import setdiff1d as setdiff1d
from gluonx.np.hosted import setxor1d as setxor1d
from gluonx.np.info import shape as shape
from gluonx.np.info import shares_memory as shares_memory
from numpy import signedinteger as signedinteger
from gluonx.np.info import size as size
from gluonx.np.creation import tri as tri
from gluonx.np.creation import tril_indices as tril_indices
from gluonx.np.creation import tril_indices_from as tril_indices_from
from gluonx.np.hosted import trim_zeros as trim_zeros
from gluonx.np.creation import triu_indices as triu_indices
from gluonx.np.creation import triu_indices_from as triu_indices_from
from gluonx.np.hosted import union1d as union1d
from gluonx.np.hosted import unique as unique
from gluonx.np.hosted import unique_all as unique_all
from gluonx.np.hosted import unique_counts as unique_counts
from gluonx.np.hosted import unique_inverse as unique_inverse
from gluonx.np.hosted import unique_values as unique_values
from numpy import unsignedinteger as unsignedinteger
from gluonx.np.composed import vectorize as vectorize
from gluonx.np.composed import where as where
from gluonx.np.composed import where as where
from gluonx.np.creation import zeros as zeros
from gluonx.np.creation import zeros_like as zeros_like

NAN: float
NINF: float
NZERO: float
NaN: float
PINF: float
PZERO: float
def abs(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The absolute value of each element, with gradient 0 at 0."""
def absolute(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The absolute value of each element, with gradient 0 at 0."""
def acos(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The angle in [0, pi] whose cosine is x."""
def acosh(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The number whose hyperbolic cosine is x."""
def add(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The sum, elementwise."""
def all(a: ArrayLike, axis: Any = None, out: Any = None, keepdims: Any = False, where: ArrayLike | None = None) -> ndarray:
    """Return whether every element over axes is non-zero."""
def alltrue(a: ArrayLike, axis: Any = None, out: Any = None, keepdims: Any = False, where: ArrayLike | None = None) -> ndarray:
    """Whether all elements along an axis are true (an old name of `all`)."""
def amax(a: ArrayLike, axis: Any = None, out: Any = None, keepdims: Any = False, initial: ArrayLike | None = None, where: ArrayLike | None = None) -> ndarray:
    """Return the largest element over axes; each of several equal ones has the whole gradient."""
def amin(a: ArrayLike, axis: Any = None, out: Any = None, keepdims: Any = False, initial: ArrayLike | None = None, where: ArrayLike | None = None) -> ndarray:
    """Return the smallest element over axes; each of several equal ones has the whole gradient."""
def angle(z: ArrayLike, deg: Any = False, *, out: Any = None) -> ndarray:
    """The angle of complex numbers."""
def any(a: ArrayLike, axis: Any = None, out: Any = None, keepdims: Any = False, where: ArrayLike | None = None) -> ndarray:
    """Return whether some element over axes is non-zero."""
def append(arr: ArrayLike, values: ArrayLike, axis: Any = None, *, out: Any = None) -> ndarray:
    """Values put behind an array."""
def arccos(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The angle in [0, pi] whose cosine is x."""
def arccosh(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The number whose hyperbolic cosine is x."""
def arcsin(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The angle in [-pi/2, pi/2] whose sine is x."""
def arcsinh(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The number whose hyperbolic sine is x."""
def arctan(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The angle in [-pi/2, pi/2] whose tangent is x."""
def arctan2(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The angle of the point (x2, x1) from the positive first axis."""
def arctanh(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The number whose hyperbolic tangent is x."""
def argmax(a: ArrayLike, axis: Any = None, out: Any = None, keepdims: Any = False) -> ndarray:
    """Return the place of the largest element (the first of several) along an axis, or in the flattened array."""
def argmin(a: ArrayLike, axis: Any = None, out: Any = None, keepdims: Any = False) -> ndarray:
    """Return the place of the smallest element (the first of several) along an axis, or in the flattened array."""
def argpartition(a: ArrayLike, kth: Any, axis: Any = -1, kind: Any = 'introselect', order: Any = None, *, out: Any = None) -> ndarray:
    """The indices that put the kth smallest element in its place."""
def argsort(a: ArrayLike, axis: Any = -1, descending: Any = False, stable: Any = True, kind: Any = None, order: Any = None, *, out: Any = None) -> ndarray:
    """Return the places of the elements in order; equal elements keep theirs, unless `stable` is false."""
def around(x: ArrayLike, decimals: Any = 0, out: Any = None) -> ndarray:
    """Give the nearest number of so many decimals, halves to even; integers are rounded to tens, hundreds and so on."""
def array_split(ary: ArrayLike, indices_or_sections: Any, axis: Any = 0, *, out: Any = None) -> Any:
    """Parts of nearly equal length along an axis."""
def asin(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The angle in [-pi/2, pi/2] whose sine is x."""
def asinh(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The number whose hyperbolic sine is x."""
def atan(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The angle in [-pi/2, pi/2] whose tangent is x."""
def atan2(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The angle of the point (x2, x1) from the positive first axis."""
def atanh(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The number whose hyperbolic tangent is x."""
def atleast_1d(*arys: ArrayLike, out: Any = None) -> Any:
    """Arrays with at least one axis."""
def atleast_2d(*arys: ArrayLike, out: Any = None) -> Any:
    """Arrays with at least two axes."""
def atleast_3d(*arys: ArrayLike, out: Any = None) -> Any:
    """Arrays with at least three axes."""
def average(a: ArrayLike, axis: Any = None, weights: ArrayLike | None = None, returned: Any = False, out: Any = None, keepdims: Any = False) -> Any:
    """The weighted mean along an axis."""
bfloat16: _dtype[Any]
def bitwise_and(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Bits set in both."""
def bitwise_count(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The number of bits set in the absolute value of each integer."""
def bitwise_invert(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Each bit inverted; logical not for booleans."""
def bitwise_left_shift(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The bits of x1, moved left by x2 places."""
def bitwise_not(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Each bit inverted; logical not for booleans."""
def bitwise_or(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Bits set in either."""
def bitwise_right_shift(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The bits of x1, moved right by x2 places."""
def bitwise_xor(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Bits set in one but not in both."""
bool: _dtype[Any]
bool_: _dtype[Any]
boolean_dtypes: Any
def broadcast_arrays(*args: ArrayLike, out: Any = None) -> Any:
    """Arrays repeated to their common shape."""
def broadcast_to(array: ArrayLike, shape: Any, *, out: Any = None) -> ndarray:
    """Repeat the array to `shape`, in which -2 keeps the length of the array's own axis, counted from the last."""
c_: Any
def cbrt(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The cube root of each element."""
cdouble: _dtype[Any]
def ceil(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The smallest whole number that is not below each element."""
def clip(a: ArrayLike, a_min: ArrayLike | None = None, a_max: ArrayLike | None = None, out: Any = None) -> ndarray:
    """Return the values kept within ``[a_min, a_max]``; the gradient is 1 inside and on the bounds, 0 outside."""
def column_stack(tup: ArrayLike, *, out: Any = None) -> ndarray:
    """1-d arrays as the columns of a matrix."""
complex128: _dtype[Any]
complex64: _dtype[Any]
complex_: _dtype[Any]
def concat(seq: ArrayLike, axis: Any = 0, out: Any = None, dtype: Any = None) -> ndarray:
    """Return the arrays one behind the other along an axis; flattened first if that is None."""
def concatenate(seq: ArrayLike, axis: Any = 0, out: Any = None, dtype: Any = None) -> ndarray:
    """Return the arrays one behind the other along an axis; flattened first if that is None."""
def conj(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The complex conjugate."""
def conjugate(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The complex conjugate."""
def convolve(a: ArrayLike, v: ArrayLike, mode: Any = 'full', precision: Any = None, preferred_element_type: Any = None, *, out: Any = None) -> ndarray:
    """The discrete convolution of two vectors."""
def copy(a: ArrayLike, out: Any = None, order: Any = None) -> ndarray:
    """A copy."""
def copysign(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """x1 with the sign of x2."""
def corrcoef(x: ArrayLike, y: ArrayLike | None = None, rowvar: Any = True, bias: Any = None, ddof: Any = None, dtype: Any = None, *, out: Any = None) -> ndarray:
    """Correlation coefficients."""
def correlate(a: ArrayLike, v: ArrayLike, mode: Any = 'valid', precision: Any = None, preferred_element_type: Any = None, *, out: Any = None) -> ndarray:
    """The cross-correlation of two vectors."""
def cos(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The cosine of angles in radians."""
def cosh(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The hyperbolic cosine."""
def count_nonzero(a: ArrayLike, axis: Any = None, keepdims: Any = False, *, out: Any = None) -> ndarray:
    """How many elements along an axis are not zero."""
def cov(m: ArrayLike, y: ArrayLike | None = None, rowvar: Any = True, bias: Any = False, ddof: Any = None, fweights: ArrayLike | None = None, aweights: ArrayLike | None = None, dtype: Any = None, *, out: Any = None) -> ndarray:
    """The covariance matrix."""
def cross(a: ArrayLike, b: ArrayLike, axisa: Any = -1, axisb: Any = -1, axisc: Any = -1, axis: Any = None, *, out: Any = None) -> ndarray:
    """The vector product."""
csingle: _dtype[Any]
def cumprod(a: ArrayLike, axis: Any = None, dtype: Any = None, out: Any = None) -> ndarray:
    """Return the running product along an axis, or of the flattened array; of integers in 64 bits."""
def cumsum(a: ArrayLike, axis: Any = None, dtype: Any = None, out: Any = None) -> ndarray:
    """Return the running sum along an axis, or of the flattened array."""
def cumulative_prod(x: ArrayLike, axis: Any = None, dtype: Any = None, include_initial: Any = False, *, out: Any = None) -> ndarray:
    """The running product along an axis (array API)."""
def cumulative_sum(x: ArrayLike, axis: Any = None, dtype: Any = None, include_initial: Any = False, *, out: Any = None) -> ndarray:
    """The running sum along an axis (array API)."""
def deg2rad(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Degrees to radians."""
def degrees(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Radians to degrees."""
def diag(array: ArrayLike, k: Any = 0, *, out: Any = None) -> ndarray:
    """The diagonal of a matrix, or the matrix with a given diagonal."""
def diagflat(array: ArrayLike, k: Any = 0, *, out: Any = None) -> ndarray:
    """The matrix with the flattened input on its diagonal."""
def diagonal(a: ArrayLike, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, *, out: Any = None) -> ndarray:
    """The diagonals of the last or given two axes."""
def diff(a: ArrayLike, n: Any = 1, axis: Any = -1, prepend: ArrayLike | None = None, append: ArrayLike | None = None, *, out: Any = None) -> ndarray:
    """The n-th difference along an axis."""
def digitize(x: ArrayLike, bins: ArrayLike, right: Any = False, *, out: Any = None) -> ndarray:
    """The number of the bin that each element falls into."""
def divide(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The quotient, as a float also for integers."""
def divmod(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Floor quotient and remainder, elementwise."""
def dot(a: ArrayLike, b: ArrayLike, out: Any = None, precision: Any = None, preferred_element_type: Any = None) -> ndarray:
    """Return the sum of products over the last axis of `a` and the last but one of `b`."""
double: _dtype[Any]
def dsplit(ary: ArrayLike, indices_or_sections: Any, *, out: Any = None) -> Any:
    """Parts along the third axis."""
def dstack(arrays: ArrayLike, dtype: Any = None, *, out: Any = None) -> ndarray:
    """Arrays stacked along a third axis."""
e: float
def ediff1d(ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None, *, out: Any = None) -> ndarray:
    """The differences of neighbours in the flattened array."""
def equal(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Where x1 == x2."""
euler_gamma: float
def exp(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """e to the power of each element."""
def exp2(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """2 to the power of each element."""
def expand_dims(a: ArrayLike, axis: Any, *, out: Any = None) -> ndarray:
    """Return the array with axes of length 1 put in."""
def expm1(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """exp(x) - 1, exact also for x near zero."""
def fabs(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The absolute value of each element, with gradient 0 at 0."""
def fix(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Each element rounded towards zero."""
def flip(m: ArrayLike, axis: Any = None, out: Any = None) -> ndarray:
    """Return the elements in opposite order along axes."""
def fliplr(m: ArrayLike, *, out: Any = None) -> ndarray:
    """The order of columns reversed."""
def flipud(m: ArrayLike, *, out: Any = None) -> ndarray:
    """The order of rows reversed."""
float16: _dtype[Any]
float32: _dtype[Any]
float4_e2m1fn: _dtype[Any]
float64: _dtype[Any]
float8_e3m4: _dtype[Any]
float8_e4m3: _dtype[Any]
float8_e4m3b11fnuz: _dtype[Any]
float8_e4m3fn: _dtype[Any]
float8_e4m3fnuz: _dtype[Any]
float8_e5m2: _dtype[Any]
float8_e5m2fnuz: _dtype[Any]
float8_e8m0fnu: _dtype[Any]
float_: _dtype[Any]
def float_power(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """x1 to the power x2, computed in floats."""
floating_dtypes: Any
def floor(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The largest whole number that is not above each element."""
def floor_divide(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The quotient rounded down; 0 where an integer is divided by 0."""
def fmax(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The larger element; NaN only where both are. The gradient of a tie goes to ``x1``."""
def fmin(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The smaller element; NaN only where both are. The gradient of a tie goes to ``x1``."""
def fmod(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The remainder with the sign of x1."""
def frexp(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Mantissa and exponent of two of each element."""
def gcd(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The greatest common divisor."""
def gradient(*args: ArrayLike, axis: Any = None, edge_order: Any = None, out: Any = None) -> Any:
    """Central differences along each axis."""
def greater(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Where x1 > x2."""
def greater_equal(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Where x1 >= x2."""
def heaviside(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """0 for x1 < 0, x2 at zero, 1 above."""
def hsplit(ary: ArrayLike, indices_or_sections: Any, *, out: Any = None) -> Any:
    """Parts along the second axis (the first of a 1-d array)."""
def hstack(arrays: ArrayLike, dtype: Any = None, *, out: Any = None) -> ndarray:
    """Arrays joined along the second axis (the first of 1-d arrays)."""
def hypot(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The length of the vector (x1, x2)."""
def i0(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The modified Bessel function of the first kind, order zero."""
def imag(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The imaginary part."""
def in1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: Any = False, invert: Any = False, *, out: Any = None) -> ndarray:
    """Where elements of a flattened array occur in another (an old name of `isin`)."""
index_exp: Any
inf: float
def inner(a: ArrayLike, b: ArrayLike, precision: Any = None, preferred_element_type: Any = None, *, out: Any = None) -> ndarray:
    """The sum of products over the last axes."""
int16: _dtype[Any]
int2: _dtype[Any]
int32: _dtype[Any]
int4: _dtype[Any]
int64: _dtype[Any]
int8: _dtype[Any]
int_: _dtype[Any]
integer_dtypes: Any
def interp(x: ArrayLike, xp: ArrayLike, fp: ArrayLike, left: ArrayLike | None = None, right: ArrayLike | None = None, period: ArrayLike | None = None, *, out: Any = None) -> ndarray:
    """Linear interpolation between the points (xp, fp)."""
def invert(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Each bit inverted; logical not for booleans."""
def isclose(a: ArrayLike, b: ArrayLike, rtol: ArrayLike = 1e-05, atol: ArrayLike = 1e-08, equal_nan: Any = False, *, out: Any = None) -> ndarray:
    """Where two arrays agree within a tolerance."""
def iscomplex(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Where the imaginary part is not zero."""
def isfinite(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Where an element is neither infinite nor NaN."""
def isin(element: ArrayLike, test_elements: ArrayLike, assume_unique: Any = False, invert: Any = False, *, out: Any = None) -> ndarray:
    """Where elements occur in another array."""
def isinf(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Where an element is infinite."""
def isnan(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Where an element is NaN."""
def isneginf(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Where an element is minus infinity."""
def isposinf(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Where an element is plus infinity."""
def isreal(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Where the imaginary part is zero."""
def ix_(*args: ArrayLike, out: Any = None) -> Any:
    """Open mesh of indices."""
def kron(a: ArrayLike, b: ArrayLike, *, out: Any = None) -> ndarray:
    """The Kronecker product."""
def lcm(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The least common multiple."""
def ldexp(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """x1 times two to the power x2."""
def left_shift(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The bits of x1, moved left by x2 places."""
def less(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Where x1 < x2."""
def less_equal(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Where x1 <= x2."""
def lexsort(keys: ArrayLike, axis: Any = -1, *, out: Any = None) -> ndarray:
    """The indices that sort by several keys, the last one first."""
def log(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The natural logarithm."""
def log10(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The logarithm to base ten."""
def log1p(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """log(1 + x), exact also for x near zero."""
def log2(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The logarithm to base two."""
def logaddexp(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """log(exp(x1) + exp(x2)) without overflow."""
def logaddexp2(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """log2(2**x1 + 2**x2) without overflow."""
def logical_and(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Where both are true."""
def logical_not(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Where an element is zero or False."""
def logical_or(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Where at least one is true."""
def logical_xor(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Where just one is true."""
def matmul(a: ArrayLike, b: ArrayLike, out: Any = None, precision: Any = None, preferred_element_type: Any = None) -> ndarray:
    """Return the matrix product, over stacks of matrices in the leading axes."""
def matrix_transpose(x: ArrayLike, *, out: Any = None) -> ndarray:
    """The last two axes exchanged."""
def matvec(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """The product of matrices and vectors."""
def max(a: ArrayLike, axis: Any = None, out: Any = None, keepdims: Any = False, initial: ArrayLike | None = None, where: ArrayLike | None = None) -> ndarray:
    """Return the largest element over axes; each of several equal ones has the whole gradient."""
def maximum(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The larger element; NaN where either is. The gradient of a tie goes to ``x1``."""
def mean(a: ArrayLike, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, where: ArrayLike | None = None) -> ndarray:
    """Return the mean over axes; of integers, a float."""
def median(a: ArrayLike, axis: Any = None, out: Any = None, overwrite_input: Any = False, keepdims: Any = False) -> ndarray:
    """The middle value along an axis."""
def meshgrid(*xi: ArrayLike, copy: Any = True, sparse: Any = False, indexing: Any = 'xy', out: Any = None) -> Any:
    """Coordinate matrices from coordinate vectors."""
mgrid: Any
def min(a: ArrayLike, axis: Any = None, out: Any = None, keepdims: Any = False, initial: ArrayLike | None = None, where: ArrayLike | None = None) -> ndarray:
    """Return the smallest element over axes; each of several equal ones has the whole gradient."""
def min_scalar_type(a: Any, /) -> Any:
    """min_scalar_type(a, /)"""
def minimum(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The smaller element; NaN where either is. The gradient of a tie goes to ``x1``."""
def mod(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The remainder with the sign of x2."""
def modf(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Fractional and whole part of each element."""
def moveaxis(a: ArrayLike, source: Any, destination: Any, *, out: Any = None) -> ndarray:
    """Return the array with some axes at other places."""
def msort(a: ArrayLike, *, out: Any = None) -> ndarray:
    """Sorted along the first axis."""
def multiply(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The product, elementwise."""
nan: float
def nan_to_num(x: ArrayLike, copy: Any = True, nan: ArrayLike = 0.0, posinf: ArrayLike | None = None, neginf: ArrayLike | None = None, *, out: Any = None) -> ndarray:
    """NaN and infinities replaced by numbers."""
def nanargmax(a: ArrayLike, axis: Any = None, out: Any = None, keepdims: Any = None) -> ndarray:
    """The index of the largest element that is not NaN."""
def nanargmin(a: ArrayLike, axis: Any = None, out: Any = None, keepdims: Any = None) -> ndarray:
    """The index of the smallest element that is not NaN."""
def nancumprod(a: ArrayLike, axis: Any = None, dtype: Any = None, out: Any = None) -> ndarray:
    """The running product, NaN taken as one."""
def nancumsum(a: ArrayLike, axis: Any = None, dtype: Any = None, out: Any = None) -> ndarray:
    """The running sum, NaN taken as zero."""
def nanmax(a: ArrayLike, axis: Any = None, out: Any = None, keepdims: Any = False, initial: ArrayLike | None = None, where: ArrayLike | None = None) -> ndarray:
    """The largest element that is not NaN."""
def nanmean(a: ArrayLike, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, where: ArrayLike | None = None) -> ndarray:
    """The mean of the elements that are not NaN."""
def nanmedian(a: ArrayLike, axis: Any = None, out: Any = None, overwrite_input: Any = False, keepdims: Any = False) -> ndarray:
    """The middle value of the elements that are not NaN."""
def nanmin(a: ArrayLike, axis: Any = None, out: Any = None, keepdims: Any = False, initial: ArrayLike | None = None, where: ArrayLike | None = None) -> ndarray:
    """The smallest element that is not NaN."""
def nanpercentile(a: ArrayLike, q: ArrayLike, axis: Any = None, out: Any = None, overwrite_input: Any = False, method: Any = 'linear', keepdims: Any = False) -> ndarray:
    """A percentile of the elements that are not NaN."""
def nanprod(a: ArrayLike, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: ArrayLike | None = None, where: ArrayLike | None = None) -> ndarray:
    """The product of the elements that are not NaN."""
def nanquantile(a: ArrayLike, q: ArrayLike, axis: Any = None, out: Any = None, overwrite_input: Any = False, method: Any = 'linear', keepdims: Any = False) -> ndarray:
    """A quantile of the elements that are not NaN."""
def nanstd(a: ArrayLike, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, where: ArrayLike | None = None, mean: ArrayLike | None = None) -> ndarray:
    """The standard deviation of the elements that are not NaN."""
def nansum(a: ArrayLike, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: ArrayLike | None = None, where: ArrayLike | None = None) -> ndarray:
    """The sum of the elements that are not NaN."""
def nanvar(a: ArrayLike, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, where: ArrayLike | None = None, mean: ArrayLike | None = None) -> ndarray:
    """The variance of the elements that are not NaN."""
def negative(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Each element with its sign changed."""
newaxis: Any
def nextafter(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The next number after x1 in the direction of x2."""
def not_equal(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Where x1 != x2."""
numeric_dtypes: Any
ogrid: Any
def outer(a: ArrayLike, b: ArrayLike, out: Any = None) -> ndarray:
    """The product of all pairs."""
def packbits(a: ArrayLike, axis: Any = None, bitorder: Any = 'big', *, out: Any = None) -> ndarray:
    """Eight booleans in each byte."""
def pad(x: ArrayLike, pad_width: Any, mode: Any = 'constant', constant_values: ArrayLike | None = None, end_values: ArrayLike | None = None, stat_length: Any = None, reflect_type: Any = None, *, out: Any = None) -> ndarray:
    """An array with a margin."""
def partition(a: ArrayLike, kth: Any, axis: Any = -1, kind: Any = 'introselect', order: Any = None, *, out: Any = None) -> ndarray:
    """The kth smallest element in its place, smaller ones before it."""
def percentile(a: ArrayLike, q: ArrayLike, axis: Any = None, out: Any = None, overwrite_input: Any = False, interpolation: Any = 'linear', keepdims: Any = False) -> ndarray:
    """The q-th percentile along an axis."""
def permute_dims(a: ArrayLike, axes: Any = None, *, out: Any = None) -> ndarray:
    """The axes in another order."""
pi: float
def poly(seq_of_zeros: ArrayLike, *, out: Any = None) -> ndarray:
    """The coefficients of the polynomial with given roots."""
def polyadd(a1: ArrayLike, a2: ArrayLike, *, out: Any = None) -> ndarray:
    """The sum of two polynomials."""
def polyder(p: ArrayLike, m: Any = 1, *, out: Any = None) -> ndarray:
    """The derivative of a polynomial."""
def polyint(p: ArrayLike, m: Any = 1, k: ArrayLike | None = None, *, out: Any = None) -> ndarray:
    """The antiderivative of a polynomial."""
def polymul(a1: ArrayLike, a2: ArrayLike, trim_leading_zeros: Any = False, *, out: Any = None) -> ndarray:
    """The product of two polynomials."""
def polysub(a1: ArrayLike, a2: ArrayLike, *, out: Any = None) -> ndarray:
    """The difference of two polynomials."""
def polyval(p: ArrayLike, x: ArrayLike, *, out: Any = None) -> ndarray:
    """A polynomial's value at points."""
def positive(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Each element as it is."""
def prod(a: ArrayLike, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: ArrayLike | None = None, where: ArrayLike | None = None) -> ndarray:
    """Return the product over axes."""
def product(a: ArrayLike, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: ArrayLike | None = None, where: ArrayLike | None = None) -> ndarray:
    """The product along an axis (an old name of `prod`)."""
def ptp(a: ArrayLike, axis: Any = None, out: Any = None, keepdims: Any = False) -> ndarray:
    """The largest minus the smallest element along an axis."""
def quantile(a: ArrayLike, q: ArrayLike, axis: Any = None, out: Any = None, overwrite_input: Any = False, interpolation: Any = 'linear', keepdims: Any = False) -> ndarray:
    """The q-quantile along an axis."""
r_: Any
def rad2deg(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Radians to degrees."""
def radians(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Degrees to radians."""
def ravel(x: ArrayLike, order: Any = 'C', *, out: Any = None) -> ndarray:
    """All elements in one axis."""
def ravel_multi_index(arrays: ArrayLike, dims: Any, mode: Any = 'raise', order: Any = 'C', *, out: Any = None) -> ndarray:
    """Flat indices from index tuples."""
def real(val: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The real part."""
def reciprocal(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """One divided by each element."""
def remainder(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The remainder with the sign of x2."""
def repeat(a: ArrayLike, repeats: Any, axis: Any = None, *, out: Any = None) -> ndarray:
    """Each element repeated, along an axis or of the flattened array."""
def reshape(a: ArrayLike, newshape: Any, order: Any = 'C', out: Any = None) -> ndarray:
    """Return the same elements in another shape."""
def resize(a: ArrayLike, new_shape: Any, *, out: Any = None) -> ndarray:
    """Another shape, filled by repeating the elements."""
def right_shift(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The bits of x1, moved right by x2 places."""
def rint(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The nearest whole number, halves to the even one (MXNet sends halves down)."""
def roll(a: ArrayLike, shift: ArrayLike, axis: Any = None, *, out: Any = None) -> ndarray:
    """Elements moved round along an axis."""
def rollaxis(a: ArrayLike, axis: Any, start: Any = 0, *, out: Any = None) -> ndarray:
    """One axis moved to another place."""
def rot90(m: ArrayLike, k: Any = 1, axes: Any = (0, 1), *, out: Any = None) -> ndarray:
    """A quarter turn in the plane of two axes."""
def round(x: ArrayLike, decimals: Any = 0, out: Any = None) -> ndarray:
    """Give the nearest number of so many decimals, halves to even; integers are rounded to tens, hundreds and so on."""
def round_(x: ArrayLike, decimals: Any = 0, out: Any = None) -> ndarray:
    """Rounded to a number of decimals (an old name of `round`)."""
def row_stack(arrays: ArrayLike, out: Any = None, dtype: Any = None) -> ndarray:
    """Arrays joined along the first axis (an old name of `vstack`)."""
s_: Any
def searchsorted(a: ArrayLike, v: ArrayLike, side: Any = 'left', sorter: ArrayLike | None = None, *, out: Any = None) -> ndarray:
    """Where values go into a sorted array."""
def sign(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """-1, 0 or 1 by the sign of each element."""
def signbit(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Where the sign bit is set."""
def sin(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The sine of angles in radians."""
def sinc(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """sin(pi x) / (pi x), and 1 at zero."""
single: _dtype[Any]
def sinh(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The hyperbolic sine."""
def sometrue(a: ArrayLike, axis: Any = None, keepdims: Any = False, out: Any = None) -> ndarray:
    """Whether any element along an axis is true (an old name of `any`)."""
def sort(a: ArrayLike, axis: Any = -1, descending: Any = False, stable: Any = True, kind: Any = None, order: Any = None, *, out: Any = None) -> ndarray:
    """Return the elements in order along an axis, or of the flattened array; `kind` plays no part."""
def sort_complex(a: ArrayLike, *, out: Any = None) -> ndarray:
    """Sorted by real, then imaginary part."""
def spacing(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The distance from each element to the next number away from zero."""
def split(ary: ArrayLike, indices_or_sections: Any, axis: Any = 0, *, out: Any = None) -> Any:
    """Return the array cut along an axis: into so many equal parts, or at the places named."""
def sqrt(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The square root of each element."""
def square(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Each element times itself."""
def squeeze(a: ArrayLike, axis: Any = None, out: Any = None) -> ndarray:
    """Get the array without its axes of length 1, or without those named; one without axes has, as in NumPy, axis 0."""
def stack(arrays: ArrayLike, axis: Any = 0, out: Any = None, dtype: Any = None) -> ndarray:
    """Return the arrays, all of one shape, side by side along a new axis."""
def std(a: ArrayLike, axis: Any = None, dtype: Any = None, out: Any = None, correction: Any = 0, keepdims: Any = False, where: ArrayLike | None = None) -> ndarray:
    """Return the standard deviation over axes, with gradient 0 where it is 0."""
def subtract(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The difference, elementwise."""
def sum(a: ArrayLike, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: ArrayLike | None = None, where: ArrayLike | None = None) -> ndarray:
    """Return the sum over axes."""
def swapaxes(a: ArrayLike, axis1: Any, axis2: Any, *, out: Any = None) -> ndarray:
    """Return the array with two axes exchanged."""
def take(a: ArrayLike, indices: ArrayLike, axis: Any = None, mode: Any = 'raise', out: Any = None) -> ndarray:
    """Return the elements of `a` at `indices` along an axis (None: of the flattened array)."""
def take_along_axis(arr: ArrayLike, indices: ArrayLike, axis: Any = -1, mode: Any = None, *, out: Any = None) -> ndarray:
    """For each vector along an axis its elements at `indices`."""
def tan(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The tangent of angles in radians."""
def tanh(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The hyperbolic tangent."""
def tensordot(a: ArrayLike, b: ArrayLike, axes: Any = 2, precision: Any = None, preferred_element_type: Any = None, *, out: Any = None) -> ndarray:
    """Return the sum of products over some axes of each array."""
def tile(A: ArrayLike, reps: Any, *, out: Any = None) -> ndarray:
    """Return the array repeated as a tile."""
def trace(a: ArrayLike, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, out: Any = None, dtype: Any = None) -> ndarray:
    """The sum of a diagonal."""
def transpose(a: ArrayLike, axes: Any = None, *, out: Any = None) -> ndarray:
    """Return the axes in another order; reversed by default."""
def trapezoid(y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: Any = -1, *, out: Any = None) -> ndarray:
    """The integral along an axis by the trapezoidal rule."""
def trapz(y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: Any = -1, *, out: Any = None) -> ndarray:
    """The integral along an axis by the trapezoidal rule (an old name of `trapezoid`)."""
def tril(m: ArrayLike, k: Any = 0, *, out: Any = None) -> ndarray:
    """Return the lower triangle of the last two axes; 0 above. A vector is every row."""
def triu(m: ArrayLike, k: Any = 0, *, out: Any = None) -> ndarray:
    """Return the upper triangle of the last two axes; 0 below. A vector is every row."""
def true_divide(x1: ArrayLike, x2: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """The quotient, as a float also for integers."""
def trunc(x: ArrayLike, out: Any = None, *, where: Any = True, casting: Any = 'same_kind', order: Any = 'K', dtype: Any = None, subok: Any = True) -> ndarray:
    """Each element rounded towards zero."""
uint: _dtype[Any]
uint16: _dtype[Any]
uint2: _dtype[Any]
uint32: _dtype[Any]
uint4: _dtype[Any]
uint64: _dtype[Any]
uint8: _dtype[Any]
def unpackbits(a: ArrayLike, axis: Any = None, count: Any = None, bitorder: Any = 'big', *, out: Any = None) -> ndarray:
    """The bits of each byte."""
def unravel_index(indices: ArrayLike, shape: Any, order: Any = 'C', *, out: Any = None) -> Any:
    """Index tuples from flat indices."""
def unstack(x: ArrayLike, axis: Any = 0, *, out: Any = None) -> Any:
    """The slices along an axis as a tuple."""
def unwrap(p: ArrayLike, discont: ArrayLike | None = None, axis: Any = -1, period: ArrayLike = 6.283185307179586, *, out: Any = None) -> ndarray:
    """Angles freed from jumps larger than half a period."""
def vander(x: ArrayLike, N: Any = None, increasing: Any = False, *, out: Any = None) -> ndarray:
    """The Vandermonde matrix."""
def var(a: ArrayLike, axis: Any = None, dtype: Any = None, out: Any = None, correction: Any = 0, keepdims: Any = False, where: ArrayLike | None = None) -> ndarray:
    """Return the variance over axes, with `correction` taken from the number of elements."""
def vdot(a: ArrayLike, b: ArrayLike, precision: Any = None, preferred_element_type: Any = None, *, out: Any = None) -> ndarray:
    """The inner product of two flattened arrays, the first one conjugated."""
def vecdot(x1: ArrayLike, x2: ArrayLike, axis: Any = -1, precision: Any = None, preferred_element_type: Any = None, *, out: Any = None) -> ndarray:
    """The inner product of vectors along an axis."""
def vecmat(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """The product of vectors and matrices."""
def vsplit(ary: ArrayLike, indices_or_sections: Any, *, out: Any = None) -> Any:
    """Parts along the first axis."""
def vstack(arrays: ArrayLike, out: Any = None, dtype: Any = None) -> ndarray:
    """Arrays joined along the first axis."""
