"""The records of ``gluonx.np``'s functions that ``jax.numpy`` computes, and how to read parameters.

Functions that are a core operator as it stands (``np.exp``, ``np.take``) are so by that operator's record; the records
of the others stand here, each the keywords of `gluonx.ops.registry.register`.

Nothing is computed here. `gluonx.np.functions` makes an operator and a function of every record: the computation is
the entry of the same name in `gluonx.np.rules` (where MXNet and JAX differ) or else ``jax.numpy``'s own; its signature
tells the parameters. A parameter is an *array* (a leaf of the graph: its value may change without a recompile) or a
*sequence of arrays* if it is annotated as one, and otherwise *static* (part of the program: a shape, an axis, a flag).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from gluonx.ops.checks import Attrs, Bounds, Index, Operands, along
from gluonx.ops.registry import HINTS, OPS, Front, Op, Record

DROPPED = frozenset([
    "out", "device", "out_sharding", "overwrite_input", "promote_integers", "copy", "kind", "order_of_sort",
    "unique_indices", "numpy_resid", "indices_are_sorted", "symmetrize_input", "subset_by_index",
    "total_repeat_length", "assume_unique_indices", "_dot_general",
])  # fmt: skip
"""Parameters of ``jax.numpy`` that mean nothing here (``out`` and ``device`` are dealt with by the wrapper)."""

TAKEN = frozenset({"copy", "cudnn_off", "cudnn_tune", "ctx", "forward_stype", "kind", "max_calib_range",
    "min_calib_range", "overwrite_input", "sparse_grad", "workspace"})  # fmt: skip
"""Parameters that mean nothing here, and which MXNet's callers give all the same; signatures show them."""

IGNORED = (HINTS - {"num_args"}) | {"ctx", "device", "key", "layout_", "name", "ndev"}
"""Parameters of MXNet's ``npx`` functions that mean nothing on XLA: they are taken, and ignored."""

SYNONYMS = frozenset({"a", "x", "array", "m", "arr", "ary", "v", "data", "object", "A"})
"""Names that callers may give to the first parameter: NumPy, JAX and MXNet do not agree."""


def _ufuncs(inputs: int) -> dict[str, Record]:
    """Return the core operators that are functions of ``np`` as they stand, by each of their names."""
    return {name: Record(doc=op.doc) for name, op in OPS.items() if op.ufunc and len(op.inputs) == inputs}


CORE: dict[str, Op] = {name: op for name, op in OPS.items() if op.np is not None and name.islower()}
"""The core operators that are functions of ``np`` by their record (`gluonx.ops.registry.Record`), by each name."""


def _coordinates(attrs: Attrs, operands: Operands) -> Sequence[Bounds]:
    """Return the bounds of `ravel_multi_index`, which has an operand for each axis."""
    dims = attrs["dims"]
    if attrs["mode"] != "raise" or not isinstance(dims, tuple) or len(dims) != len(operands):
        return ()
    return [Bounds(axis, size, axis) for axis, size in enumerate(dims)]


def _flat(attrs: Attrs, operands: Operands) -> Sequence[Bounds]:
    shape = attrs["shape"]
    return (Bounds(0, math.prod(shape) if isinstance(shape, tuple) else shape),)


UNARY: dict[str, Record] = {
    **_ufuncs(1),
    "bitwise_count": Record(doc="The number of bits set in the absolute value of each integer."),
    "conj": Record(doc="The complex conjugate."),
    "conjugate": Record(doc="The complex conjugate."),
    "frexp": Record(doc="Mantissa and exponent of two of each element."),
    "i0": Record(doc="The modified Bessel function of the first kind, order zero.", amp="float32"),
    "imag": Record(doc="The imaginary part."),
    "iscomplex": Record(doc="Where the imaginary part is not zero."),
    "isreal": Record(doc="Where the imaginary part is zero."),
    "modf": Record(doc="Fractional and whole part of each element."),
    "positive": Record(doc="Each element as it is."),
    "real": Record(doc="The real part.", np=Front(shown={"x": "val"})),
    "signbit": Record(doc="Where the sign bit is set."),
    "sinc": Record(doc="sin(pi x) / (pi x), and 1 at zero."),
    "spacing": Record(doc="The distance from each element to the next number away from zero."),
}

BINARY: dict[str, Record] = {
    **_ufuncs(2),
    "divmod": Record(doc="Floor quotient and remainder, elementwise."),
    "float_power": Record(doc="x1 to the power x2, computed in floats.", amp="float32"),
    "heaviside": Record(doc="0 for x1 < 0, x2 at zero, 1 above."),
    "logaddexp2": Record(doc="log2(2**x1 + 2**x2) without overflow.", amp="float32"),
    "nextafter": Record(doc="The next number after x1 in the direction of x2."),
}

GENERAL: dict[str, Record] = {
    # reductions
    "all": Record(doc="Whether all elements along an axis are true.", methods=("all",)),
    "alltrue": Record(
        doc="Whether all elements along an axis are true (an old name of `all`).", stands_for="`numpy.all`"
    ),
    "amax": Record(doc="The largest element along an axis."),
    "amin": Record(doc="The smallest element along an axis."),
    "any": Record(doc="Whether any element along an axis is true.", methods=("any",)),
    "average": Record(doc="The weighted mean along an axis.", amp="float32", np=Front(also={"keep_dims": "keepdims"})),
    "count_nonzero": Record(doc="How many elements along an axis are not zero.", wide=True),
    "max": Record(doc="The largest element along an axis.", methods=("max",)),
    "mean": Record(doc="The mean along an axis; of integers, as float32.", methods=("mean",)),
    "median": Record(doc="The middle value along an axis."),
    "min": Record(doc="The smallest element along an axis.", methods=("min",)),
    "nanargmax": Record(doc="The index of the largest element that is not NaN.", wide=True),
    "nanargmin": Record(doc="The index of the smallest element that is not NaN.", wide=True),
    "nancumprod": Record(doc="The running product, NaN taken as one.", amp="float32", wide=True),
    "nancumsum": Record(doc="The running sum, NaN taken as zero.", amp="float32", wide=True),
    "nanmax": Record(doc="The largest element that is not NaN."),
    "nanmean": Record(doc="The mean of the elements that are not NaN.", amp="float32"),
    "nanmedian": Record(doc="The middle value of the elements that are not NaN."),
    "nanmin": Record(doc="The smallest element that is not NaN."),
    "nanpercentile": Record(
        doc="A percentile of the elements that are not NaN.", np=Front(also={"interpolation": "method"})
    ),
    "nanprod": Record(doc="The product of the elements that are not NaN.", amp="float32", wide=True),
    "nanquantile": Record(
        doc="A quantile of the elements that are not NaN.", np=Front(also={"interpolation": "method"})
    ),
    "nanstd": Record(doc="The standard deviation of the elements that are not NaN.", amp="float32"),
    "nansum": Record(doc="The sum of the elements that are not NaN.", amp="float32", wide=True),
    "nanvar": Record(doc="The variance of the elements that are not NaN.", amp="float32"),
    "percentile": Record(doc="The q-th percentile along an axis.", np=Front(shown={"method": "interpolation"})),
    "prod": Record(doc="The product along an axis.", methods=("prod",)),
    "product": Record(
        doc="The product along an axis (an old name of `prod`).", amp="float32", stands_for="`numpy.prod`"
    ),
    "ptp": Record(doc="The largest minus the smallest element along an axis."),
    "quantile": Record(doc="The q-quantile along an axis.", np=Front(shown={"method": "interpolation"})),
    "sometrue": Record(
        doc="Whether any element along an axis is true (an old name of `any`).", stands_for="`numpy.any`"
    ),
    "std": Record(doc="The standard deviation along an axis.", methods=("std",), np=Front(also={"ddof": "correction"})),
    "sum": Record(doc="The sum along an axis.", methods=("sum",)),
    "trapezoid": Record(doc="The integral along an axis by the trapezoidal rule.", amp="float32"),
    "trapz": Record(
        doc="The integral along an axis by the trapezoidal rule (an old name of `trapezoid`).",
        amp="float32",
        stands_for="`numpy.trapezoid`",
    ),
    "var": Record(doc="The variance along an axis.", methods=("var",), np=Front(also={"ddof": "correction"})),
    # running and differences
    "cumulative_prod": Record(doc="The running product along an axis (array API).", amp="float32"),
    "cumulative_sum": Record(doc="The running sum along an axis (array API).", amp="float32"),
    "diff": Record(doc="The n-th difference along an axis."),
    "ediff1d": Record(doc="The differences of neighbours in the flattened array.", amp="widest"),
    "gradient": Record(doc="Central differences along each axis.", np=Front(listed=True)),
    "unwrap": Record(doc="Angles freed from jumps larger than half a period."),
    # elementwise with further parameters
    "angle": Record(doc="The angle of complex numbers."),
    "interp": Record(doc="Linear interpolation between the points (xp, fp)."),
    "isclose": Record(doc="Where two arrays agree within a tolerance."),
    "nan_to_num": Record(doc="NaN and infinities replaced by numbers."),
    "round_": Record(
        doc="Rounded to a number of decimals (an old name of `round`).",
        np=Front(shown={"a": "x"}),
        stands_for="`numpy.round`",
    ),
    # shape
    "append": Record(doc="Values put behind an array.", amp="widest"),
    "array_split": Record(doc="Parts of nearly equal length along an axis.", np=Front(listed=True)),
    "atleast_1d": Record(doc="Arrays with at least one axis.", np=Front(listed=True)),
    "atleast_2d": Record(doc="Arrays with at least two axes.", np=Front(listed=True)),
    "atleast_3d": Record(doc="Arrays with at least three axes.", np=Front(listed=True)),
    "broadcast_arrays": Record(doc="Arrays repeated to their common shape.", np=Front(listed=True)),
    "column_stack": Record(doc="1-d arrays as the columns of a matrix.", amp="widest"),
    "concat": Record(doc="Arrays joined along an axis.", np=Front(shown={"arrays": "seq"})),
    "concatenate": Record(doc="Arrays joined along an axis.", np=Front(shown={"arrays": "seq"})),
    "copy": Record(doc="A copy.", np=Front(own=True)),
    "diag": Record(
        doc="The diagonal of a matrix, or the matrix with a given diagonal.",
        methods=("diag",),
        np=Front(shown={"v": "array"}),
    ),
    "diagflat": Record(doc="The matrix with the flattened input on its diagonal.", np=Front(shown={"v": "array"})),
    "diagonal": Record(doc="The diagonals of the last or given two axes.", methods=("diagonal",)),
    "dsplit": Record(doc="Parts along the third axis.", np=Front(listed=True)),
    "dstack": Record(doc="Arrays stacked along a third axis.", amp="widest", np=Front(shown={"tup": "arrays"})),
    "fliplr": Record(doc="The order of columns reversed."),
    "flipud": Record(doc="The order of rows reversed."),
    "hsplit": Record(doc="Parts along the second axis (the first of a 1-d array).", np=Front(listed=True)),
    "hstack": Record(
        doc="Arrays joined along the second axis (the first of 1-d arrays).",
        amp="widest",
        np=Front(shown={"tup": "arrays"}),
    ),
    "matrix_transpose": Record(doc="The last two axes exchanged."),
    "meshgrid": Record(doc="Coordinate matrices from coordinate vectors.", np=Front(listed=True)),
    "pad": Record(doc="An array with a margin.", methods=("pad",), np=Front(own=True)),
    "permute_dims": Record(doc="The axes in another order."),
    "ravel": Record(doc="All elements in one axis.", methods=("ravel",)),
    "resize": Record(doc="Another shape, filled by repeating the elements."),
    "roll": Record(doc="Elements moved round along an axis."),
    "rollaxis": Record(doc="One axis moved to another place."),
    "rot90": Record(doc="A quarter turn in the plane of two axes."),
    "row_stack": Record(
        doc="Arrays joined along the first axis (an old name of `vstack`).",
        np=Front(shown={"tup": "arrays"}),
        stands_for="`numpy.vstack`",
    ),
    "stack": Record(doc="Arrays joined along a new axis."),
    "unstack": Record(doc="The slices along an axis as a tuple."),
    "vsplit": Record(doc="Parts along the first axis.", np=Front(listed=True)),
    "vstack": Record(doc="Arrays joined along the first axis.", amp="widest", np=Front(shown={"tup": "arrays"})),
    # sorting and searching
    "argpartition": Record(doc="The indices that put the kth smallest element in its place.", wide=True),
    "argsort": Record(doc="The indices that sort along an axis.", methods=("argsort",)),
    "digitize": Record(doc="The number of the bin that each element falls into.", wide=True),
    "isin": Record(doc="Where elements occur in another array."),
    "in1d": Record(
        doc="Where elements of a flattened array occur in another (an old name of `isin`).", stands_for="`numpy.isin`"
    ),
    "lexsort": Record(doc="The indices that sort by several keys, the last one first.", wide=True),
    "msort": Record(doc="Sorted along the first axis.", stands_for="`numpy.sort`"),
    "partition": Record(doc="The kth smallest element in its place, smaller ones before it."),
    "searchsorted": Record(doc="Where values go into a sorted array.", wide=True),
    "sort": Record(doc="Sorted along an axis.", methods=("sort",)),
    "sort_complex": Record(doc="Sorted by real, then imaginary part."),
    # indexing
    "ix_": Record(doc="Open mesh of indices."),
    "packbits": Record(doc="Eight booleans in each byte."),
    "ravel_multi_index": Record(doc="Flat indices from index tuples.", wide=True, index=Index(0, _coordinates)),
    "take_along_axis": Record(doc="Elements at indices along an axis.", index=Index(1, along(mode=None))),
    "unpackbits": Record(doc="The bits of each byte."),
    "unravel_index": Record(
        doc="Index tuples from flat indices.", wide=True, index=Index(0, _flat), np=Front(also={"dims": "shape"})
    ),
    # linear algebra
    "convolve": Record(doc="The discrete convolution of two vectors."),
    "corrcoef": Record(doc="Correlation coefficients."),
    "correlate": Record(doc="The cross-correlation of two vectors."),
    "cov": Record(doc="The covariance matrix."),
    "cross": Record(doc="The vector product.", amp="widest"),
    "dot": Record(doc="The dot product: inner for vectors, matrix product for matrices.", methods=("dot",)),
    "inner": Record(doc="The sum of products over the last axes."),
    "kron": Record(doc="The Kronecker product.", amp="widest"),
    "matmul": Record(doc="The matrix product, leading axes broadcast."),
    "matvec": Record(doc="The product of matrices and vectors."),
    "outer": Record(doc="The product of all pairs."),
    "tensordot": Record(doc="The sum of products over given axes."),
    "trace": Record(doc="The sum of a diagonal.", amp="float32", methods=("trace",)),
    "vander": Record(doc="The Vandermonde matrix.", wide=True),
    "vdot": Record(doc="The inner product of two flattened arrays, the first one conjugated."),
    "vecdot": Record(doc="The inner product of vectors along an axis."),
    "vecmat": Record(doc="The product of vectors and matrices."),
    # polynomials
    "poly": Record(doc="The coefficients of the polynomial with given roots."),
    "polyadd": Record(doc="The sum of two polynomials."),
    "polyder": Record(doc="The derivative of a polynomial.", np=Front(shown={"order": "m"})),
    "polyint": Record(doc="The antiderivative of a polynomial.", np=Front(shown={"order": "m", "k_values": "k"})),
    "polymul": Record(doc="The product of two polynomials."),
    "polysub": Record(doc="The difference of two polynomials."),
    "polyval": Record(doc="A polynomial's value at points.", amp="float32"),
}

FFT: dict[str, Record] = {
    "fft": Record(doc="The discrete Fourier transform along an axis.", amp="float32"),
    "fft2": Record(doc="The discrete Fourier transform over two axes.", amp="float32"),
    "fftn": Record(doc="The discrete Fourier transform over several axes.", amp="float32"),
    "fftshift": Record(doc="The zero frequency moved to the middle."),
    "hfft": Record(doc="The transform of a signal whose spectrum is real.", amp="float32"),
    "ifft": Record(doc="The inverse of `fft`.", amp="float32"),
    "ifft2": Record(doc="The inverse of `fft2`.", amp="float32"),
    "ifftn": Record(doc="The inverse of `fftn`.", amp="float32"),
    "ifftshift": Record(doc="The inverse of `fftshift`."),
    "ihfft": Record(doc="The inverse of `hfft`.", amp="float32"),
    "irfft": Record(doc="The inverse of `rfft`.", amp="float32"),
    "irfft2": Record(doc="The inverse of `rfft2`.", amp="float32"),
    "irfftn": Record(doc="The inverse of `rfftn`.", amp="float32"),
    "rfft": Record(doc="The discrete Fourier transform of real input.", amp="float32"),
    "rfft2": Record(doc="The discrete Fourier transform of real input over two axes.", amp="float32"),
    "rfftn": Record(doc="The discrete Fourier transform of real input over several axes.", amp="float32"),
}
