# Made by `python -m tools.stubs --write` with JAX 0.10; do not edit.
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

from numpy import dtype as _dtype
from numpy.typing import ArrayLike

class Methods:
    """The operators on symbols."""

    def __add__(self, other: Any) -> Self: ...
    def __radd__(self, other: Any) -> Self: ...
    def __sub__(self, other: Any) -> Self: ...
    def __rsub__(self, other: Any) -> Self: ...
    def __mul__(self, other: Any) -> Self: ...
    def __rmul__(self, other: Any) -> Self: ...
    def __truediv__(self, other: Any) -> Self: ...
    def __rtruediv__(self, other: Any) -> Self: ...
    def __mod__(self, other: Any) -> Self: ...
    def __rmod__(self, other: Any) -> Self: ...
    def __pow__(self, other: Any) -> Self: ...
    def __rpow__(self, other: Any) -> Self: ...
    def __eq__(self, other: Any) -> Self: ...  # type: ignore[override]
    def __ne__(self, other: Any) -> Self: ...  # type: ignore[override]
    def __gt__(self, other: Any) -> Self: ...
    def __ge__(self, other: Any) -> Self: ...
    def __lt__(self, other: Any) -> Self: ...
    def __le__(self, other: Any) -> Self: ...
    def __hash__(self) -> int: ...
    def abs(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `abs` of the symbol."""
    def arccos(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `arccos` of the symbol."""
    def arccosh(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `arccosh` of the symbol."""
    def arcsin(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `arcsin` of the symbol."""
    def arcsinh(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `arcsinh` of the symbol."""
    def arctan(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `arctan` of the symbol."""
    def arctanh(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `arctanh` of the symbol."""
    def argmax(self: Self, axis: Any = None, keepdims: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `argmax` of the symbol."""
    def argmax_channel(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `argmax_channel` of the symbol."""
    def argmin(self: Self, axis: Any = None, keepdims: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `argmin` of the symbol."""
    def argsort(self: Self, axis: Any = -1, is_ascend: Any = True, dtype: Any = 'float32', *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `argsort` of the symbol."""
    def as_in_context(self: Self) -> Any:
        """Refuse: it is of arrays."""
    def asnumpy(self: Self) -> Any:
        """Refuse: it is of arrays."""
    def asscalar(self: Self) -> Any:
        """Refuse: it is of arrays."""
    def astype(self: Self, dtype: Any, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `astype` of the symbol."""
    def backward(self: Self) -> Any:
        """Refuse: it is of arrays."""
    def broadcast_axes(self: Self, axis: Any = (), size: Any = (), *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `broadcast_axes` of the symbol."""
    def broadcast_like(self: Self, rhs: Any = None, lhs_axes: Any = None, rhs_axes: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `broadcast_like` of the symbol."""
    def broadcast_to(self: Self, *shape: Any, **kwargs: Any) -> Self:
        """The operator `broadcast_to` of the symbol."""
    def cbrt(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `cbrt` of the symbol."""
    def ceil(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `ceil` of the symbol."""
    def clip(self: Self, a_min: Any, a_max: Any, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `clip` of the symbol."""
    def copy(self: Self) -> Any:
        """Refuse: it is of arrays."""
    def cos(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `cos` of the symbol."""
    def cosh(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `cosh` of the symbol."""
    def degrees(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `degrees` of the symbol."""
    def depth_to_space(self: Self, block_size: Any, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `depth_to_space` of the symbol."""
    def detach(self: Self) -> Any:
        """Refuse: it is of arrays."""
    def diag(self: Self, k: Any = 0, axis1: Any = 0, axis2: Any = 1, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `diag` of the symbol."""
    def exp(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `exp` of the symbol."""
    def expand_dims(self: Self, axis: Any, inplace: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `expand_dims` of the symbol."""
    def expm1(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `expm1` of the symbol."""
    def fix(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `fix` of the symbol."""
    def flatten(self: Self, inplace: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `flatten` of the symbol."""
    def flip(self: Self, axis: Any, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `flip` of the symbol."""
    def floor(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `floor` of the symbol."""
    def log(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `log` of the symbol."""
    def log10(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `log10` of the symbol."""
    def log1p(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `log1p` of the symbol."""
    def log2(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `log2` of the symbol."""
    def log_sigmoid(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `log_sigmoid` of the symbol."""
    def log_softmax(self: Self, length: Any = None, axis: Any = -1, temperature: Any = None, dtype: Any = None, use_length: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `log_softmax` of the symbol."""
    def max(self: Self, axis: Any = None, keepdims: Any = False, exclude: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `max` of the symbol."""
    def mean(self: Self, axis: Any = None, keepdims: Any = False, exclude: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `mean` of the symbol."""
    def min(self: Self, axis: Any = None, keepdims: Any = False, exclude: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `min` of the symbol."""
    def mish(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `mish` of the symbol."""
    def nanprod(self: Self, axis: Any = None, keepdims: Any = False, exclude: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `nanprod` of the symbol."""
    def nansum(self: Self, axis: Any = None, keepdims: Any = False, exclude: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `nansum` of the symbol."""
    def norm(self: Self, ord: Any = 2, axis: Any = None, out_dtype: Any = None, keepdims: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `norm` of the symbol."""
    def one_hot(self: Self, depth: Any, on_value: Any = 1.0, off_value: Any = 0.0, dtype: Any = 'float32', *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `one_hot` of the symbol."""
    def ones_like(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `ones_like` of the symbol."""
    def pad(self: Self, mode: Any, pad_width: Any, constant_value: Any = 0.0, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `pad` of the symbol."""
    def pick(self: Self, index: Any = None, axis: Any = -1, keepdims: Any = False, mode: Any = 'clip', *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `pick` of the symbol."""
    def prod(self: Self, axis: Any = None, keepdims: Any = False, exclude: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `prod` of the symbol."""
    def radians(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `radians` of the symbol."""
    def rcbrt(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `rcbrt` of the symbol."""
    def reciprocal(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `reciprocal` of the symbol."""
    def relu(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `relu` of the symbol."""
    def repeat(self: Self, repeats: Any, axis: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `repeat` of the symbol."""
    def reshape(self: Self, *shape: Any, **kwargs: Any) -> Self:
        """The operator `reshape` of the symbol."""
    def reshape_like(self: Self, rhs: Any = None, lhs_begin: Any = None, lhs_end: Any = None, rhs_begin: Any = None, rhs_end: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `reshape_like` of the symbol."""
    def rint(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `rint` of the symbol."""
    def round(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `round` of the symbol."""
    def rsqrt(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `rsqrt` of the symbol."""
    def shape_array(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `shape_array` of the symbol."""
    def sigmoid(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `sigmoid` of the symbol."""
    def sign(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `sign` of the symbol."""
    def sin(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `sin` of the symbol."""
    def sinh(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `sinh` of the symbol."""
    def size_array(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `size_array` of the symbol."""
    def slice(self: Self, begin: Any, end: Any, step: Any = (), *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `slice` of the symbol."""
    def slice_axis(self: Self, axis: Any, begin: Any, end: Any, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `slice_axis` of the symbol."""
    def slice_like(self: Self, shape_like: Any = None, axes: Any = (), *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `slice_like` of the symbol."""
    def softmax(self: Self, length: Any = None, axis: Any = -1, temperature: Any = None, dtype: Any = None, use_length: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `softmax` of the symbol."""
    def softmin(self: Self, axis: Any = -1, temperature: Any = None, dtype: Any = None, use_length: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `softmin` of the symbol."""
    def sort(self: Self, axis: Any = -1, is_ascend: Any = True, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `sort` of the symbol."""
    def space_to_depth(self: Self, block_size: Any, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `space_to_depth` of the symbol."""
    def split(self: Self, num_outputs: Any, axis: Any = 1, squeeze_axis: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `split` of the symbol."""
    def split_v2(self: Self, indices: Any, axis: Any = 1, squeeze_axis: Any = False, sections: Any = 0, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `split_v2` of the symbol."""
    def sqrt(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `sqrt` of the symbol."""
    def square(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `square` of the symbol."""
    def squeeze(self: Self, axis: Any = None, inplace: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `squeeze` of the symbol."""
    def sum(self: Self, axis: Any = None, keepdims: Any = False, exclude: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `sum` of the symbol."""
    def swapaxes(self: Self, dim1: Any = 0, dim2: Any = 0, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `swapaxes` of the symbol."""
    def take(self: Self, indices: Any = None, axis: Any = 0, mode: Any = 'clip', *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `take` of the symbol."""
    def tan(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `tan` of the symbol."""
    def tanh(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `tanh` of the symbol."""
    def tile(self: Self, *reps: Any, **kwargs: Any) -> Self:
        """The operator `tile` of the symbol."""
    def topk(self: Self, axis: Any = -1, k: Any = 1, ret_typ: Any = 'indices', is_ascend: Any = False, dtype: Any = 'float32', *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `topk` of the symbol."""
    def transpose(self: Self, *axes: Any, **kwargs: Any) -> Self:
        """The operator `transpose` of the symbol."""
    def trunc(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `trunc` of the symbol."""
    def wait_to_read(self: Self) -> Any:
        """Refuse: it is of arrays."""
    def zeros_like(self: Self, *, name: Any = None, attr: Any = None, out: Any = None) -> Self:
        """The operator `zeros_like` of the symbol."""
