"""The table behind ``gluonx.np``: which functions there are, in one line each, and how to read their parameters.

Functions that are a core operator as it stands (``np.exp``) come from the operator's record; the rest stands here.

Nothing is computed here. `gluonx.np.functions` turns every row into a function: the computation is the entry of the
same name in `gluonx.np.rules` (where MXNet and JAX differ) or else ``jax.numpy``'s own; its signature tells the
parameters. A parameter is an *array* (a leaf of the graph: its value may change without a recompile) or a *sequence of
arrays* if it is annotated as one, and otherwise *static* (part of the program: a shape, an axis, a flag).
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple

from gluonx.ops.registry import OPS, Precision

DROPPED = frozenset([
    "out", "device", "out_sharding", "overwrite_input", "promote_integers", "copy", "kind", "order_of_sort",
    "unique_indices", "numpy_resid", "indices_are_sorted", "symmetrize_input", "subset_by_index",
    "total_repeat_length", "assume_unique_indices", "_dot_general",
])  # fmt: skip
"""Parameters of ``jax.numpy`` that mean nothing here (``out`` and ``device`` are dealt with by the wrapper)."""

TAKEN = frozenset({"copy", "cudnn_off", "cudnn_tune", "ctx", "forward_stype", "kind", "max_calib_range",
    "min_calib_range", "overwrite_input", "sparse_grad", "workspace"})  # fmt: skip
"""Parameters that mean nothing here, and which MXNet's callers give all the same; signatures show them."""

SYNONYMS = frozenset({"a", "x", "array", "m", "arr", "ary", "v", "data", "object", "A"})
"""Names that callers may give to the first parameter: NumPy, JAX and MXNet do not agree."""

_NEEDED: Any = inspect.Parameter.empty


class Row(NamedTuple):
    """What is said of one function: its summary, and what cannot be read off its signature.

    Attributes
    ----------
    summary : str
        One line that says what it computes.
    amp : str
        As of a core operator (`gluonx.ops.registry.Record`).
    method : bool
        Whether arrays have it as a method.
    wide : bool
        Whether it computes in 64-bit types whatever its inputs are: it gives positions or counts, which are int64.
    listed : bool
        Whether several results come as a list, as in NumPy; else they are a tuple.
    own : bool
        Whether the core operator of this name means something else.
    params : dict of str to Any
        Parameters and defaults, where a core operator computes and MXNet calls it otherwise than ``jax.numpy``. The
        operator's arrays come first.
    also : dict of str to str
        Further names of parameters.
    shown : dict of str to str
        MXNet's name of a parameter: the one that signatures show, and one more that callers may use.
    stands_for : str
        The function of NumPy that it is, where that has another name.
    """

    summary: str
    amp: Precision = ""
    method: bool = False
    wide: bool = False
    listed: bool = False
    own: bool = False
    params: Mapping[str, Any] = {}
    also: Mapping[str, str] = {}
    shown: Mapping[str, str] = {}
    stands_for: str = ""


def _ufuncs(inputs: int) -> dict[str, Row]:
    """Return the rows of the core operators that are functions of ``np`` as they stand, by each of their names."""
    return {name: Row(op.doc) for name, op in OPS.items() if op.ufunc and len(op.inputs) == inputs}


UNARY: dict[str, Row] = {
    **_ufuncs(1),
    "bitwise_count": Row("The number of bits set in the absolute value of each integer."),
    "conj": Row("The complex conjugate."),
    "conjugate": Row("The complex conjugate."),
    "frexp": Row("Mantissa and exponent of two of each element."),
    "i0": Row("The modified Bessel function of the first kind, order zero.", amp="float32"),
    "imag": Row("The imaginary part."),
    "iscomplex": Row("Where the imaginary part is not zero."),
    "isreal": Row("Where the imaginary part is zero."),
    "modf": Row("Fractional and whole part of each element."),
    "positive": Row("Each element as it is."),
    "real": Row("The real part.", shown={"x": "val"}),
    "signbit": Row("Where the sign bit is set."),
    "sinc": Row("sin(pi x) / (pi x), and 1 at zero."),
    "spacing": Row("The distance from each element to the next number away from zero."),
}

BINARY: dict[str, Row] = {
    **_ufuncs(2),
    "divmod": Row("Floor quotient and remainder, elementwise."),
    "float_power": Row("x1 to the power x2, computed in floats.", amp="float32"),
    "heaviside": Row("0 for x1 < 0, x2 at zero, 1 above."),
    "logaddexp2": Row("log2(2**x1 + 2**x2) without overflow.", amp="float32"),
    "nextafter": Row("The next number after x1 in the direction of x2."),
}

GENERAL: dict[str, Row] = {
    # reductions
    "all": Row("Whether all elements along an axis are true.", method=True),
    "alltrue": Row("Whether all elements along an axis are true (an old name of `all`).", stands_for="`numpy.all`"),
    "amax": Row("The largest element along an axis."),
    "amin": Row("The smallest element along an axis."),
    "any": Row("Whether any element along an axis is true.", method=True),
    "argmax": Row(
        "The index of the largest element along an axis.",
        params={"a": _NEEDED, "axis": None, "out": None, "keepdims": False},
        method=True,
    ),
    "argmin": Row(
        "The index of the smallest element along an axis.",
        params={"a": _NEEDED, "axis": None, "out": None, "keepdims": False},
        method=True,
    ),
    "average": Row("The weighted mean along an axis.", amp="float32", also={"keep_dims": "keepdims"}),
    "count_nonzero": Row("How many elements along an axis are not zero.", wide=True),
    "max": Row("The largest element along an axis.", method=True),
    "mean": Row("The mean along an axis; of integers, as float32.", method=True),
    "median": Row("The middle value along an axis."),
    "min": Row("The smallest element along an axis.", method=True),
    "nanargmax": Row("The index of the largest element that is not NaN.", wide=True),
    "nanargmin": Row("The index of the smallest element that is not NaN.", wide=True),
    "nancumprod": Row("The running product, NaN taken as one.", amp="float32", wide=True),
    "nancumsum": Row("The running sum, NaN taken as zero.", amp="float32", wide=True),
    "nanmax": Row("The largest element that is not NaN."),
    "nanmean": Row("The mean of the elements that are not NaN.", amp="float32"),
    "nanmedian": Row("The middle value of the elements that are not NaN."),
    "nanmin": Row("The smallest element that is not NaN."),
    "nanpercentile": Row("A percentile of the elements that are not NaN.", also={"interpolation": "method"}),
    "nanprod": Row("The product of the elements that are not NaN.", amp="float32", wide=True),
    "nanquantile": Row("A quantile of the elements that are not NaN.", also={"interpolation": "method"}),
    "nanstd": Row("The standard deviation of the elements that are not NaN.", amp="float32"),
    "nansum": Row("The sum of the elements that are not NaN.", amp="float32", wide=True),
    "nanvar": Row("The variance of the elements that are not NaN.", amp="float32"),
    "percentile": Row("The q-th percentile along an axis.", shown={"method": "interpolation"}),
    "prod": Row("The product along an axis.", method=True),
    "product": Row("The product along an axis (an old name of `prod`).", amp="float32", stands_for="`numpy.prod`"),
    "ptp": Row("The largest minus the smallest element along an axis."),
    "quantile": Row("The q-quantile along an axis.", shown={"method": "interpolation"}),
    "sometrue": Row("Whether any element along an axis is true (an old name of `any`).", stands_for="`numpy.any`"),
    "std": Row("The standard deviation along an axis.", also={"ddof": "correction"}, method=True),
    "sum": Row("The sum along an axis.", method=True),
    "trapezoid": Row("The integral along an axis by the trapezoidal rule.", amp="float32"),
    "trapz": Row(
        "The integral along an axis by the trapezoidal rule (an old name of `trapezoid`).",
        amp="float32",
        stands_for="`numpy.trapezoid`",
    ),
    "var": Row("The variance along an axis.", also={"ddof": "correction"}, method=True),
    # running and differences
    "cumprod": Row("The running product along an axis."),
    "cumsum": Row("The running sum along an axis.", method=True),
    "cumulative_prod": Row("The running product along an axis (array API).", amp="float32"),
    "cumulative_sum": Row("The running sum along an axis (array API).", amp="float32"),
    "diff": Row("The n-th difference along an axis."),
    "ediff1d": Row("The differences of neighbours in the flattened array.", amp="widest"),
    "gradient": Row("Central differences along each axis.", listed=True),
    "unwrap": Row("Angles freed from jumps larger than half a period."),
    # elementwise with further parameters
    "angle": Row("The angle of complex numbers."),
    "around": Row("Rounded to a number of decimals.", shown={"a": "x"}),
    "clip": Row(
        "Each element kept between two limits, either of which may be None.",
        params={"a": _NEEDED, "a_min": None, "a_max": None, "out": None},
        also={"min": "a_min", "max": "a_max"},
    ),
    "interp": Row("Linear interpolation between the points (xp, fp)."),
    "isclose": Row("Where two arrays agree within a tolerance."),
    "nan_to_num": Row("NaN and infinities replaced by numbers."),
    "round": Row("Rounded to a number of decimals.", shown={"a": "x"}, method=True),
    "round_": Row(
        "Rounded to a number of decimals (an old name of `round`).", shown={"a": "x"}, stands_for="`numpy.round`"
    ),
    "where": Row(
        "Elements of x where the condition holds, of y elsewhere.",
        params={"condition": _NEEDED, "x": _NEEDED, "y": _NEEDED},
        also={"cond": "condition"},
    ),
    # shape
    "append": Row("Values put behind an array.", amp="widest"),
    "array_split": Row("Parts of nearly equal length along an axis.", listed=True),
    "atleast_1d": Row("Arrays with at least one axis.", listed=True),
    "atleast_2d": Row("Arrays with at least two axes.", listed=True),
    "atleast_3d": Row("Arrays with at least three axes.", listed=True),
    "broadcast_arrays": Row("Arrays repeated to their common shape.", listed=True),
    "broadcast_to": Row("An array repeated to a shape.", method=True),
    "column_stack": Row("1-d arrays as the columns of a matrix.", amp="widest"),
    "concat": Row("Arrays joined along an axis.", shown={"arrays": "seq"}),
    "concatenate": Row("Arrays joined along an axis.", shown={"arrays": "seq"}),
    "copy": Row("A copy.", own=True),
    "diag": Row("The diagonal of a matrix, or the matrix with a given diagonal.", shown={"v": "array"}, method=True),
    "diagflat": Row("The matrix with the flattened input on its diagonal.", shown={"v": "array"}),
    "diagonal": Row("The diagonals of the last or given two axes.", method=True),
    "dsplit": Row("Parts along the third axis.", listed=True),
    "dstack": Row("Arrays stacked along a third axis.", amp="widest", shown={"tup": "arrays"}),
    "expand_dims": Row("An axis of length one put in.", method=True),
    "flip": Row(
        "The order of elements reversed along axes.", params={"m": _NEEDED, "axis": None, "out": None}, method=True
    ),
    "fliplr": Row("The order of columns reversed."),
    "flipud": Row("The order of rows reversed."),
    "hsplit": Row("Parts along the second axis (the first of a 1-d array).", listed=True),
    "hstack": Row(
        "Arrays joined along the second axis (the first of 1-d arrays).", amp="widest", shown={"tup": "arrays"}
    ),
    "matrix_transpose": Row("The last two axes exchanged."),
    "meshgrid": Row("Coordinate matrices from coordinate vectors.", listed=True),
    "moveaxis": Row("Axes moved to other places."),
    "pad": Row("An array with a margin.", own=True, method=True),
    "permute_dims": Row("The axes in another order."),
    "ravel": Row("All elements in one axis.", method=True),
    "repeat": Row("Each element repeated.", params={"a": _NEEDED, "repeats": _NEEDED, "axis": None}, method=True),
    "reshape": Row(
        "The same elements in another shape; one length may be -1.",
        params={"a": _NEEDED, "newshape": _NEEDED, "order": "C", "out": None},
        also={"shape": "newshape"},
    ),
    "resize": Row("Another shape, filled by repeating the elements."),
    "roll": Row("Elements moved round along an axis."),
    "rollaxis": Row("One axis moved to another place."),
    "rot90": Row("A quarter turn in the plane of two axes."),
    "row_stack": Row(
        "Arrays joined along the first axis (an old name of `vstack`).",
        shown={"tup": "arrays"},
        stands_for="`numpy.vstack`",
    ),
    "split": Row(
        "Equal parts along an axis, or parts between indices.",
        params={"ary": _NEEDED, "indices_or_sections": _NEEDED, "axis": 0},
        listed=True,
        method=True,
    ),
    "squeeze": Row("Axes of length one taken out.", params={"a": _NEEDED, "axis": None, "out": None}, method=True),
    "stack": Row("Arrays joined along a new axis."),
    "swapaxes": Row("Two axes exchanged.", method=True),
    "tile": Row("An array repeated as a tile.", method=True),
    "transpose": Row("The axes in another order; reversed by default."),
    "tril": Row("The lower triangle; zeros elsewhere."),
    "triu": Row("The upper triangle; zeros elsewhere."),
    "unstack": Row("The slices along an axis as a tuple."),
    "vsplit": Row("Parts along the first axis.", listed=True),
    "vstack": Row("Arrays joined along the first axis.", amp="widest", shown={"tup": "arrays"}),
    # sorting and searching
    "argpartition": Row("The indices that put the kth smallest element in its place.", wide=True),
    "argsort": Row("The indices that sort along an axis.", method=True),
    "digitize": Row("The number of the bin that each element falls into.", wide=True),
    "isin": Row("Where elements occur in another array."),
    "in1d": Row(
        "Where elements of a flattened array occur in another (an old name of `isin`).", stands_for="`numpy.isin`"
    ),
    "lexsort": Row("The indices that sort by several keys, the last one first.", wide=True),
    "msort": Row("Sorted along the first axis.", stands_for="`numpy.sort`"),
    "partition": Row("The kth smallest element in its place, smaller ones before it."),
    "searchsorted": Row("Where values go into a sorted array.", wide=True),
    "sort": Row("Sorted along an axis.", method=True),
    "sort_complex": Row("Sorted by real, then imaginary part."),
    # indexing
    "ix_": Row("Open mesh of indices."),
    "packbits": Row("Eight booleans in each byte."),
    "ravel_multi_index": Row("Flat indices from index tuples.", wide=True),
    "take": Row(
        "Elements or slices at indices; indices out of range give NaN (integers: the least value).",
        params={"a": _NEEDED, "indices": _NEEDED, "axis": None, "mode": "raise", "out": None},
        method=True,
    ),
    "take_along_axis": Row("Elements at indices along an axis."),
    "unpackbits": Row("The bits of each byte."),
    "unravel_index": Row("Index tuples from flat indices.", wide=True, also={"dims": "shape"}),
    # linear algebra
    "convolve": Row("The discrete convolution of two vectors."),
    "corrcoef": Row("Correlation coefficients."),
    "correlate": Row("The cross-correlation of two vectors."),
    "cov": Row("The covariance matrix."),
    "cross": Row("The vector product.", amp="widest"),
    "dot": Row("The dot product: inner for vectors, matrix product for matrices.", method=True),
    "inner": Row("The sum of products over the last axes."),
    "kron": Row("The Kronecker product.", amp="widest"),
    "matmul": Row("The matrix product, leading axes broadcast."),
    "matvec": Row("The product of matrices and vectors."),
    "outer": Row("The product of all pairs."),
    "tensordot": Row("The sum of products over given axes."),
    "trace": Row("The sum of a diagonal.", amp="float32", method=True),
    "vander": Row("The Vandermonde matrix.", wide=True),
    "vdot": Row("The inner product of two flattened arrays, the first one conjugated."),
    "vecdot": Row("The inner product of vectors along an axis."),
    "vecmat": Row("The product of vectors and matrices."),
    # polynomials
    "poly": Row("The coefficients of the polynomial with given roots."),
    "polyadd": Row("The sum of two polynomials."),
    "polyder": Row("The derivative of a polynomial.", shown={"order": "m"}),
    "polyint": Row("The antiderivative of a polynomial.", shown={"order": "m", "k_values": "k"}),
    "polymul": Row("The product of two polynomials."),
    "polysub": Row("The difference of two polynomials."),
    "polyval": Row("A polynomial's value at points.", amp="float32"),
}

FFT: dict[str, Row] = {
    "fft": Row("The discrete Fourier transform along an axis.", amp="float32"),
    "fft2": Row("The discrete Fourier transform over two axes.", amp="float32"),
    "fftn": Row("The discrete Fourier transform over several axes.", amp="float32"),
    "fftshift": Row("The zero frequency moved to the middle."),
    "hfft": Row("The transform of a signal whose spectrum is real.", amp="float32"),
    "ifft": Row("The inverse of `fft`.", amp="float32"),
    "ifft2": Row("The inverse of `fft2`.", amp="float32"),
    "ifftn": Row("The inverse of `fftn`.", amp="float32"),
    "ifftshift": Row("The inverse of `fftshift`."),
    "ihfft": Row("The inverse of `hfft`.", amp="float32"),
    "irfft": Row("The inverse of `rfft`.", amp="float32"),
    "irfft2": Row("The inverse of `rfft2`.", amp="float32"),
    "irfftn": Row("The inverse of `rfftn`.", amp="float32"),
    "rfft": Row("The discrete Fourier transform of real input.", amp="float32"),
    "rfft2": Row("The discrete Fourier transform of real input over two axes.", amp="float32"),
    "rfftn": Row("The discrete Fourier transform of real input over several axes.", amp="float32"),
}
