"""The records of those functions of ``gluonx.np`` that ``jax.numpy`` computes, and how to read parameters.

Functions that are core operators (``np.exp``, ``np.take``) are described by the operator's record. The records of the
others are here, each with the keywords of `gluonx.ops.registry.register`.

Nothing is computed here. `gluonx.np.functions` makes an operator and a function of every record. The computation is the
entry of the same name in `gluonx.np.differing` (where MXNet and JAX differ), or else ``jax.numpy``'s own; its signature
gives the parameters. A parameter is an *array* (a leaf of the graph: another value does not recompile) or a *sequence
of arrays* if it is annotated as one, and otherwise *static* (part of the program: a shape, an axis, a flag).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from gluonx.ops.checks import Attrs, Bounds, Index, Operands
from gluonx.ops.registry import BROADCAST, HINTS, OPS, REDUCED, SAME, Front, Op, Record

DROPPED = frozenset([
    "out", "device", "out_sharding", "overwrite_input", "promote_integers", "copy", "kind", "order_of_sort",
    "unique_indices", "numpy_resid", "indices_are_sorted", "symmetrize_input", "subset_by_index",
    "total_repeat_length", "assume_unique_indices", "_dot_general", "batch_size",
])  # fmt: skip
"""Parameters of ``jax.numpy`` that have no effect here; ``out`` and ``device`` are handled by the front."""

TAKEN = frozenset({"copy", "cudnn_off", "cudnn_tune", "ctx", "forward_stype", "kind", "max_calib_range",
    "min_calib_range", "overwrite_input", "sparse_grad", "workspace"})  # fmt: skip
"""Parameters that MXNet's callers may give although they have no effect here; signatures show them."""

IGNORED = (HINTS - {"num_args"}) | {"ctx", "device", "key", "layout_", "name", "ndev"}
"""Parameters of MXNet's ``npx`` functions that have no effect with XLA: they are accepted and ignored."""

SYNONYMS = frozenset({"a", "x", "array", "m", "arr", "ary", "v", "data", "object", "A"})
"""Names that callers may give to the first parameter: NumPy, JAX and MXNet do not agree."""


def _ufuncs(inputs: int) -> dict[str, Record]:
    """Return the core operators that are functions of ``np`` unchanged, by each of their names."""
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
    "bitwise_count": Record(
        doc="The number of bits set in the absolute value of each integer.",
        example=('np.bitwise_count(np.array([3, 8], dtype="int32")).tolist()', "[2, 1]"),
    ),
    "conj": Record(
        gives="input",
        doc="The complex conjugate.",
        example=("np.conj(np.array([1.0, 2.0, 4.0])).tolist()", "[1.0, 2.0, 4.0]"),
    ),
    "conjugate": Record(
        gives="input",
        doc="The complex conjugate.",
        example=("np.conjugate(np.array([1.0, 2.0, 4.0])).tolist()", "[1.0, 2.0, 4.0]"),
    ),
    "frexp": Record(
        doc="Mantissa and exponent of two of each element.\n\n"
        "Returns\n-------\n"
        "mantissa : ndarray\n"
        "    As the input; float32 for integers.\n"
        "exponent : ndarray\n"
        "    As the input, int32.",
        example=("[part.tolist() for part in np.frexp(np.array([1.0, 2.0, 4.0]))]", "[[0.5, 0.5, 0.5], [1, 2, 3]]"),
    ),
    "i0": Record(
        gives="float",
        doc="The modified Bessel function of the first kind, order zero.",
        amp="float32",
        example=("np.i0(np.array([1.0, 2.0, 4.0])).tolist()", "[1.266, 2.28, 11.3]"),
    ),
    "imag": Record(
        gives="input",
        doc="The imaginary part.",
        example=("np.imag(np.array([1.0, 2.0, 4.0])).tolist()", "[0.0, 0.0, 0.0]"),
    ),
    "iscomplex": Record(
        gives="bool",
        doc="True where the imaginary part is not zero.",
        example=("np.iscomplex(np.array([1.0, 2.0, 4.0])).tolist()", "[False, False, False]"),
    ),
    "isreal": Record(
        gives="bool",
        doc="True where the imaginary part is zero.",
        example=("np.isreal(np.array([1.0, 2.0, 4.0])).tolist()", "[True, True, True]"),
    ),
    "modf": Record(
        gives="float",
        doc="Fractional and whole part of each element.\n\n"
        "Returns\n-------\n"
        "fractional : ndarray\n"
        "    As the input; float32 for integers.\n"
        "whole : ndarray\n"
        "    The same.",
        example=(
            "[part.tolist() for part in np.modf(np.array([1.0, 2.0, 4.0]))]",
            "[[0.0, 0.0, 0.0], [1.0, 2.0, 4.0]]",
        ),
    ),
    "positive": Record(
        gives="input",
        doc="Each element as it is.",
        example=("np.positive(np.array([1.0, 2.0, 4.0])).tolist()", "[1.0, 2.0, 4.0]"),
    ),
    "real": Record(
        gives="input",
        doc="The real part.",
        np=Front(shown={"x": "val"}),
        example=("np.real(np.array([1.0, 2.0, 4.0])).tolist()", "[1.0, 2.0, 4.0]"),
    ),
    "signbit": Record(
        gives="bool",
        doc="True where the sign bit is set.",
        example=("np.signbit(np.array([1.0, 2.0, 4.0])).tolist()", "[False, False, False]"),
    ),
    "sinc": Record(
        gives="float",
        doc="sin(pi x) / (pi x), and 1 at zero.",
        example=("np.sinc(np.array([0.0, 0.5])).tolist()", "[1.0, 0.63662]"),
    ),
    "spacing": Record(
        gives="float",
        doc="The distance from each element to the next number away from zero.",
        example=("np.spacing(np.array([1.0, 2.0, 4.0])).tolist()", "[1.192e-07, 2.384e-07, 4.768e-07]"),
    ),
}

BINARY: dict[str, Record] = {
    **_ufuncs(2),
    "divmod": Record(
        doc="Floor quotient and remainder, elementwise.\n\n"
        "Returns\n-------\n"
        "quotient : ndarray\n"
        "    Broadcast of both inputs, with their promoted dtype.\n"
        "remainder : ndarray\n"
        "    The same, with the sign of `x2`.",
        example=(
            "[part.tolist() for part in np.divmod(np.array([7.0, -7.0]), np.array([2.0, 2.0]))]",
            "[[3.0, -4.0], [1.0, 1.0]]",
        ),
    ),
    "float_power": Record(
        gives="float",
        doc="x1 to the power x2, computed in floats.",
        amp="float32",
        example=("np.float_power(np.array([1.0, 2.0]), np.array([2.0, 2.0])).tolist()", "[1.0, 4.0]"),
    ),
    "heaviside": Record(
        gives="float",
        doc="0 for x1 < 0, x2 at zero, 1 above.",
        example=("np.heaviside(np.array([1.0, 2.0]), np.array([2.0, 2.0])).tolist()", "[1.0, 1.0]"),
    ),
    "logaddexp2": Record(
        gives="float",
        doc="log2(2**x1 + 2**x2) without overflow.",
        amp="float32",
        example=("np.logaddexp2(np.array([1.0, 2.0]), np.array([2.0, 2.0])).tolist()", "[2.585, 3.0]"),
    ),
    "nextafter": Record(
        gives="float",
        doc="The next number after x1 in the direction of x2.",
        example=("np.nextafter(np.array([1.0, 2.0]), np.array([2.0, 2.0])).tolist()", "[1.0, 2.0]"),
    ),
}

GENERAL: dict[str, Record] = {
    # reductions
    "alltrue": Record(
        shape=REDUCED,
        gives="bool",
        doc="True if all elements along an axis are true (an old name of `all`).",
        stands_for="`numpy.all`",
        example=("float(np.alltrue(np.array([True, False])))", "0.0"),
    ),
    "average": Record(
        meaning={"returned": "Whether to return also the sum of the weights."},
        shape=REDUCED,
        gives="float",
        doc="The weighted mean along an axis.",
        amp="float32",
        np=Front(also={"keep_dims": "keepdims"}),
        example=("float(np.average(np.array([1.0, 2.0, 4.0])))", "2.333"),
    ),
    "count_nonzero": Record(
        shape=REDUCED,
        gives="int64",
        doc="The number of elements along an axis that are not zero.",
        wide=True,
        example=("float(np.count_nonzero(np.array([1.0, 2.0, 4.0])))", "3.0"),
    ),
    "median": Record(
        shape=REDUCED,
        gives="float",
        doc="The middle value along an axis.",
        example=("float(np.median(np.array([1.0, 2.0, 4.0])))", "2.0"),
    ),
    "nanargmax": Record(
        shape=REDUCED,
        gives="int64",
        doc="The index of the largest element that is not NaN.",
        wide=True,
        example=("float(np.nanargmax(np.array([1.0, float('nan'), 3.0])))", "2.0"),
    ),
    "nanargmin": Record(
        shape=REDUCED,
        gives="int64",
        doc="The index of the smallest element that is not NaN.",
        wide=True,
        example=("float(np.nanargmin(np.array([1.0, float('nan'), 3.0])))", "0.0"),
    ),
    "nancumprod": Record(
        shape="as the input; without `axis` that of the flattened input",
        doc="The running product, NaN taken as one.",
        amp="float32",
        wide=True,
        example=("np.nancumprod(np.array([1.0, float('nan'), 3.0])).tolist()", "[1.0, 1.0, 3.0]"),
    ),
    "nancumsum": Record(
        shape="as the input; without `axis` that of the flattened input",
        doc="The running sum, NaN taken as zero.",
        amp="float32",
        wide=True,
        example=("np.nancumsum(np.array([1.0, float('nan'), 3.0])).tolist()", "[1.0, 1.0, 4.0]"),
    ),
    "nanmax": Record(
        shape=REDUCED,
        gives="input",
        doc="The largest element that is not NaN.",
        example=("float(np.nanmax(np.array([1.0, float('nan'), 3.0])))", "3.0"),
    ),
    "nanmean": Record(
        shape=REDUCED,
        gives="float",
        doc="The mean of the elements that are not NaN.",
        amp="float32",
        example=("float(np.nanmean(np.array([1.0, float('nan'), 3.0])))", "2.0"),
    ),
    "nanmedian": Record(
        shape=REDUCED,
        gives="float",
        doc="The middle value of the elements that are not NaN.",
        example=("float(np.nanmedian(np.array([1.0, float('nan'), 3.0])))", "2.0"),
    ),
    "nanmin": Record(
        shape=REDUCED,
        gives="input",
        doc="The smallest element that is not NaN.",
        example=("float(np.nanmin(np.array([1.0, float('nan'), 3.0])))", "1.0"),
    ),
    "nanpercentile": Record(
        shape="`q`'s, then as the input without `axis` (1 with `keepdims`)",
        gives="float",
        doc="A percentile of the elements that are not NaN.",
        np=Front(also={"interpolation": "method"}),
        example=("float(np.nanpercentile(np.array([1.0, float('nan'), 3.0]), 50))", "2.0"),
    ),
    "nanprod": Record(
        shape=REDUCED,
        doc="The product of the elements that are not NaN.",
        amp="float32",
        wide=True,
        example=("float(np.nanprod(np.array([1.0, float('nan'), 3.0])))", "3.0"),
    ),
    "nanquantile": Record(
        shape="`q`'s, then as the input without `axis` (1 with `keepdims`)",
        gives="float",
        doc="A quantile of the elements that are not NaN.",
        np=Front(also={"interpolation": "method"}),
        example=("float(np.nanquantile(np.array([1.0, float('nan'), 3.0]), 0.5))", "2.0"),
    ),
    "nanstd": Record(
        meaning={"mean": "The mean, if it is known."},
        shape=REDUCED,
        gives="float",
        doc="The standard deviation of the elements that are not NaN.",
        amp="float32",
        example=("float(np.nanstd(np.array([1.0, float('nan'), 3.0])))", "1.0"),
    ),
    "nansum": Record(
        shape=REDUCED,
        doc="The sum of the elements that are not NaN.",
        amp="float32",
        wide=True,
        example=("float(np.nansum(np.array([1.0, float('nan'), 3.0])))", "4.0"),
    ),
    "nanvar": Record(
        meaning={"mean": "The mean, if it is known."},
        shape=REDUCED,
        gives="float",
        doc="The variance of the elements that are not NaN.",
        amp="float32",
        example=("float(np.nanvar(np.array([1.0, float('nan'), 3.0])))", "1.0"),
    ),
    "percentile": Record(
        shape="`q`'s, then as the input without `axis` (1 with `keepdims`)",
        gives="float",
        doc="The q-th percentile along an axis.",
        np=Front(shown={"method": "interpolation"}),
        example=("float(np.percentile(np.array([1.0, 2.0, 4.0]), 50))", "2.0"),
    ),
    "product": Record(
        shape=REDUCED,
        doc="The product along an axis (an old name of `prod`).",
        amp="float32",
        stands_for="`numpy.prod`",
        example=("float(np.product(np.array([1.0, 2.0, 4.0])))", "8.0"),
    ),
    "ptp": Record(
        shape=REDUCED,
        gives="input",
        doc="The largest minus the smallest element along an axis.",
        example=("float(np.ptp(np.array([1.0, 2.0, 4.0])))", "3.0"),
    ),
    "quantile": Record(
        shape="`q`'s, then as the input without `axis` (1 with `keepdims`)",
        gives="float",
        doc="The q-quantile along an axis.",
        np=Front(shown={"method": "interpolation"}),
        example=("float(np.quantile(np.array([1.0, 2.0, 4.0]), 0.5))", "2.0"),
    ),
    "sometrue": Record(
        shape=REDUCED,
        gives="bool",
        doc="True if any element along an axis is true (an old name of `any`).",
        stands_for="`numpy.any`",
        example=("float(np.sometrue(np.array([True, False])))", "1.0"),
    ),
    "trapezoid": Record(
        meaning={"y": "The values at the points.", "dx": "The distance of the points, if they are not given."},
        shape="as the input without `axis`",
        gives="float",
        doc="The integral along an axis by the trapezoidal rule.",
        amp="float32",
        example=("float(np.trapezoid(np.array([1.0, 2.0, 4.0])))", "4.5"),
    ),
    "trapz": Record(
        meaning={"y": "The values at the points.", "dx": "The distance of the points, if they are not given."},
        shape="as the input without `axis`",
        gives="float",
        doc="The integral along an axis by the trapezoidal rule (an old name of `trapezoid`).",
        amp="float32",
        stands_for="`numpy.trapezoid`",
        example=("float(np.trapz(np.array([1.0, 2.0, 4.0])))", "4.5"),
    ),
    # running and differences
    "cumulative_prod": Record(
        gives="input",
        meaning={"include_initial": "Whether the result begins with a 1, before the first element."},
        shape="as the input, one longer along `axis` with `include_initial`",
        doc="The running product along an axis (array API).",
        amp="float32",
        example=("np.cumulative_prod(np.array([1.0, 2.0, 4.0])).tolist()", "[1.0, 2.0, 8.0]"),
    ),
    "cumulative_sum": Record(
        meaning={"include_initial": "Whether the result begins with a 0, before the first element."},
        shape="as the input, one longer along `axis` with `include_initial`",
        doc="The running sum along an axis (array API).",
        amp="float32",
        example=("np.cumulative_sum(np.array([1.0, 2.0, 4.0])).tolist()", "[1.0, 3.0, 7.0]"),
    ),
    "diff": Record(
        meaning={
            "n": "How many times differences are taken.",
            "append": "The values that are put behind before the differences are taken.",
        },
        shape="as the input, shorter by `n` along `axis`",
        gives="input",
        doc="The n-th difference along an axis.",
        example=("np.diff(np.array([1.0, 2.0, 4.0])).tolist()", "[1.0, 2.0]"),
    ),
    "ediff1d": Record(
        meaning={
            "to_end": "Numbers to put behind the differences.",
            "to_begin": "Numbers to put in front of the differences.",
        },
        shape="(size - 1,), longer by what is put in front and behind",
        gives="input",
        doc="The differences of neighbours in the flattened array.",
        amp="widest",
        example=("np.ediff1d(np.array([1.0, 2.0, 4.0])).tolist()", "[1.0, 2.0]"),
    ),
    "gradient": Record(
        meaning={"edge_order": "Only None: other formulas at the ends are not computed."},
        shape="as the input, an array for each axis; alone, in no list, for a single axis",
        gives="float",
        doc="Central differences along each axis.",
        np=Front(listed=True),
        example=("np.gradient(np.array([1.0, 2.0, 4.0])).tolist()", "[1.0, 1.5, 2.0]"),
    ),
    "unwrap": Record(
        meaning={
            "p": "Angles, or other periodic numbers.",
            "discont": "The least jump that is corrected; half of the period by default.",
            "period": "The period.",
        },
        shape=SAME,
        gives="float",
        doc="Angles freed from jumps larger than half a period.",
        example=("np.unwrap(np.array([1.0, 2.0, 4.0])).tolist()", "[1.0, 2.0, 4.0]"),
    ),
    # elementwise with further parameters
    "angle": Record(
        meaning={"z": "Complex or real numbers.", "deg": "Whether the result is in degrees, not in radians."},
        shape=SAME,
        gives="float",
        doc="The angle of complex numbers.",
        example=("np.angle(np.array([1.0, -1.0])).tolist()", "[0.0, 3.142]"),
    ),
    "interp": Record(
        meaning={
            "xp": "The positions of the known values, ascending.",
            "fp": "The known values.",
            "left": "The result before the first position; the first value by default.",
            "right": "The result beyond the last position; the last value by default.",
            "period": "The period of the positions; None: they are not periodic.",
        },
        shape="that of the points",
        doc="Linear interpolation between the points (xp, fp).",
        example=("np.interp(np.array([1.5]), np.array([1.0, 2.0]), np.array([10.0, 20.0])).tolist()", "[15.0]"),
    ),
    "isclose": Record(
        meaning={"b": "The array to compare with."},
        shape=BROADCAST,
        gives="bool",
        doc="True where two arrays agree within a tolerance.",
        example=("np.isclose(np.array([1.0, 2.0]), np.array([1.0, 2.1])).tolist()", "[True, False]"),
    ),
    "nan_to_num": Record(
        meaning={
            "nan": "The number in place of NaN.",
            "posinf": "The number in place of inf; the largest of the dtype by default.",
            "neginf": "The number in place of -inf; the least of the dtype by default.",
        },
        shape=SAME,
        gives="input",
        doc="NaN and infinities replaced by numbers.",
        example=("np.nan_to_num(np.array([1.0, float('nan'), 3.0])).tolist()", "[1.0, 0.0, 3.0]"),
    ),
    "round_": Record(
        shape=SAME,
        gives="input",
        doc="Rounded to a number of decimals (an old name of `round`).",
        np=Front(shown={"a": "x"}),
        stands_for="`numpy.round`",
        example=("np.round_(np.array([1.26]), 1).tolist()", "[1.3]"),
    ),
    # shape
    "append": Record(
        meaning={"arr": "The array to append to."},
        shape="as the input but longer along `axis`; flattened without `axis`",
        gives="input",
        doc="Values put behind an array.",
        amp="widest",
        example=("np.append(np.array([1.0, 2.0]), np.array([3.0])).tolist()", "[1.0, 2.0, 3.0]"),
    ),
    "array_split": Record(
        shape="parts that are as the input but along the axis that is cut",
        gives="input",
        doc="Parts of nearly equal length along an axis.",
        np=Front(listed=True),
        example=("[part.tolist() for part in np.array_split(np.array([1.0, 2.0, 4.0]), 2)]", "[[1.0, 2.0], [4.0]]"),
    ),
    "atleast_1d": Record(
        shape="that of the input, filled up with axes of length 1; in no list for a single input",
        gives="input",
        doc="Arrays with at least one axis.",
        np=Front(listed=True),
        example=("np.atleast_1d(np.array(2.0)).tolist()", "[2.0]"),
    ),
    "atleast_2d": Record(
        shape="that of the input, filled up with axes of length 1; in no list for a single input",
        gives="input",
        doc="Arrays with at least two axes.",
        np=Front(listed=True),
        example=("np.atleast_2d(np.array([1.0, 2.0])).tolist()", "[[1.0, 2.0]]"),
    ),
    "atleast_3d": Record(
        shape="that of the input, filled up with axes of length 1; in no list for a single input",
        gives="input",
        doc="Arrays with at least three axes.",
        np=Front(listed=True),
        example=("np.atleast_3d(np.array([1.0, 2.0])).shape", "(1, 2, 1)"),
    ),
    "broadcast_arrays": Record(
        shape="the common shape, for each input",
        gives="input",
        doc="Arrays repeated to their common shape.",
        np=Front(listed=True),
        example=("[part.shape for part in np.broadcast_arrays(np.ones((2, 1)), np.ones((3,)))]", "[(2, 3), (2, 3)]"),
    ),
    "column_stack": Record(
        shape="(rows, columns), a column for each 1-d input",
        gives="input",
        doc="1-d arrays as the columns of a matrix.",
        amp="widest",
        example=("np.column_stack([np.array([1.0, 2.0]), np.array([3.0, 4.0])]).tolist()", "[[1.0, 3.0], [2.0, 4.0]]"),
    ),
    "copy": Record(
        shape=SAME,
        gives="input",
        doc="A copy.",
        np=Front(operator="numpy.copy"),
        example=("np.copy(np.array([1.0, 2.0])).tolist()", "[1.0, 2.0]"),
    ),
    "diag": Record(
        meaning={"v": "A vector, or a matrix whose diagonal is wanted."},
        shape="(n,) of a matrix; (n + abs(k), n + abs(k)) of n elements",
        gives="input",
        doc="The diagonal of a matrix, or the matrix with a given diagonal.",
        methods=("diag",),
        np=Front(shown={"v": "array"}),
        example=("np.diag(np.array([1.0, 2.0])).tolist()", "[[1.0, 0.0], [0.0, 2.0]]"),
    ),
    "diagflat": Record(
        meaning={"v": "The elements of the diagonal."},
        shape="(n + abs(k), n + abs(k)) for n elements",
        gives="input",
        doc="The matrix with the flattened input on its diagonal.",
        np=Front(shown={"v": "array"}),
        example=("np.diagflat(np.array([1.0, 2.0])).tolist()", "[[1.0, 0.0], [0.0, 2.0]]"),
    ),
    "diagonal": Record(
        shape="as the input without the two axes, then the length of the diagonal",
        gives="input",
        doc="The diagonals of the last or given two axes.",
        methods=("diagonal",),
        example=("np.diagonal(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()", "[1.0, 4.0]"),
    ),
    "dsplit": Record(
        shape="parts that are as the input but along the axis that is cut",
        gives="input",
        doc="Parts along the third axis.",
        np=Front(listed=True),
        example=("[part.shape for part in np.dsplit(np.ones((2, 3, 4)), 2)]", "[(2, 3, 2), (2, 3, 2)]"),
    ),
    "dstack": Record(
        shape="as the inputs, joined along the axis",
        gives="input",
        doc="Arrays stacked along a third axis.",
        amp="widest",
        np=Front(shown={"tup": "arrays"}),
        example=("np.dstack([np.array([1.0, 2.0]), np.array([3.0, 4.0])]).tolist()", "[[[1.0, 3.0], [2.0, 4.0]]]"),
    ),
    "fliplr": Record(
        shape=SAME,
        gives="input",
        doc="The order of columns reversed.",
        example=("np.fliplr(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()", "[[2.0, 1.0], [4.0, 3.0]]"),
    ),
    "flipud": Record(
        shape=SAME,
        gives="input",
        doc="The order of rows reversed.",
        example=("np.flipud(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()", "[[3.0, 4.0], [1.0, 2.0]]"),
    ),
    "hsplit": Record(
        shape="parts that are as the input but along the axis that is cut",
        gives="input",
        doc="Parts along the second axis (the first of a 1-d array).",
        np=Front(listed=True),
        example=("[part.shape for part in np.hsplit(np.ones((2, 4)), 2)]", "[(2, 2), (2, 2)]"),
    ),
    "hstack": Record(
        shape="as the inputs, joined along the axis",
        gives="input",
        doc="Arrays joined along the second axis (the first of 1-d arrays).",
        amp="widest",
        np=Front(shown={"tup": "arrays"}),
        example=("np.hstack([np.array([1.0, 2.0]), np.array([3.0, 4.0])]).tolist()", "[1.0, 2.0, 3.0, 4.0]"),
    ),
    "matrix_transpose": Record(
        shape="as the input, its last two axes exchanged",
        gives="input",
        doc="The last two axes exchanged.",
        example=("np.matrix_transpose(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()", "[[1.0, 3.0], [2.0, 4.0]]"),
    ),
    "meshgrid": Record(
        meaning={
            "indexing": "'xy' or 'ij': whether the first input goes along the second axis, or along the first.",
            "sparse": "Whether each result has length 1 along the axes of the others.",
        },
        shape="a length for each input, the first two exchanged with `indexing` 'xy'",
        gives="input",
        doc="Coordinate matrices from coordinate vectors.",
        np=Front(listed=True),
        example=("[part.shape for part in np.meshgrid(np.arange(3), np.arange(2))]", "[(2, 3), (2, 3)]"),
    ),
    "pad": Record(
        meaning={
            "pad_width": "How many elements are added before and after: a number, a pair, or a pair for each axis.",
            "mode": "'constant', 'edge', 'linear_ramp', 'reflect', 'symmetric', 'wrap', 'mean', 'median' and others.",
            "constant_values": "The numbers of mode 'constant'.",
            "end_values": "The last numbers of mode 'linear_ramp'.",
            "stat_length": "How many elements at each end modes like 'mean' look at; None: all.",
            "reflect_type": "'even' or 'odd', for the modes 'reflect' and 'symmetric'.",
        },
        shape="as the input, longer by the margins",
        gives="input",
        doc="An array with a margin.",
        methods=("pad",),
        np=Front(operator="numpy.pad"),
        example=("np.pad(np.array([1.0, 2.0]), 1).tolist()", "[0.0, 1.0, 2.0, 0.0]"),
    ),
    "permute_dims": Record(
        meaning={"axes": "The old axes in their new order; reversed by default."},
        shape="the lengths of the input in the order of `axes`",
        gives="input",
        doc="The axes in another order.",
        example=("np.permute_dims(np.ones((2, 3, 4)), (1, 0, 2)).shape", "(3, 2, 4)"),
    ),
    "ravel": Record(
        shape="(size,)",
        gives="input",
        doc="All elements in one axis.",
        methods=("ravel",),
        example=("np.ravel(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()", "[1.0, 2.0, 3.0, 4.0]"),
    ),
    "resize": Record(
        meaning={"new_shape": "The new shape."},
        shape="`new_shape`",
        gives="input",
        doc="Another shape, filled by repeating the elements.",
        example=("np.resize(np.array([1.0, 2.0]), (3,)).tolist()", "[1.0, 2.0, 1.0]"),
    ),
    "roll": Record(
        meaning={"shift": "How many positions the elements move; one number, or one for each axis."},
        shape=SAME,
        gives="input",
        doc="Elements moved round along an axis.",
        np=Front(operator="numpy.roll"),
        example=("np.roll(np.array([1.0, 2.0, 4.0]), 1).tolist()", "[4.0, 1.0, 2.0]"),
    ),
    "rollaxis": Record(
        meaning={"start": "The axis before which the other one is put."},
        shape="as the input, one axis moved",
        gives="input",
        doc="One axis moved to another position.",
        example=("np.rollaxis(np.ones((2, 3, 4)), 2).shape", "(4, 2, 3)"),
    ),
    "rot90": Record(
        meaning={"k": "How many quarter turns.", "axes": "The two axes of the plane."},
        shape="as the input, the two axes exchanged after an odd number of turns",
        gives="input",
        doc="A quarter turn in the plane of two axes.",
        example=("np.rot90(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()", "[[2.0, 4.0], [1.0, 3.0]]"),
    ),
    "row_stack": Record(
        shape="as the inputs, joined along the axis",
        gives="input",
        doc="Arrays joined along the first axis (an old name of `vstack`).",
        np=Front(shown={"tup": "arrays"}),
        stands_for="`numpy.vstack`",
        example=("np.row_stack([np.array([1.0, 2.0]), np.array([3.0, 4.0])]).tolist()", "[[1.0, 2.0], [3.0, 4.0]]"),
    ),
    "unstack": Record(
        gives="input",
        doc="The slices along an axis as a tuple.\n\n"
        "Returns\n-------\n"
        "tuple of ndarray\n"
        "    As the input without `axis`, one for each position along it.",
        example=(
            "[part.tolist() for part in np.unstack(np.array([[1.0, 2.0], [3.0, 4.0]]))]",
            "[[1.0, 2.0], [3.0, 4.0]]",
        ),
    ),
    "vsplit": Record(
        shape="parts that are as the input but along the axis that is cut",
        gives="input",
        doc="Parts along the first axis.",
        np=Front(listed=True),
        example=("[part.shape for part in np.vsplit(np.ones((4, 2)), 2)]", "[(2, 2), (2, 2)]"),
    ),
    "vstack": Record(
        shape="as the inputs, joined along the axis",
        gives="input",
        doc="Arrays joined along the first axis.",
        amp="widest",
        np=Front(shown={"tup": "arrays"}),
        example=("np.vstack([np.array([1.0, 2.0]), np.array([3.0, 4.0])]).tolist()", "[[1.0, 2.0], [3.0, 4.0]]"),
    ),
    # sorting and searching
    "argpartition": Record(
        meaning={"order": "Only None: arrays have no fields."},
        shape="as the input; flattened with `axis` None",
        gives="int64",
        doc="The indices that put the kth smallest element in its position.",
        wide=True,
        example=("float(np.argpartition(np.array([3.0, 1.0, 2.0]), 1)[1])", "2.0"),
    ),
    "digitize": Record(
        meaning={"right": "Whether a bin includes its right edge, and not its left one."},
        shape=SAME,
        gives="int64",
        doc="The number of the bin that each element falls into.",
        wide=True,
        example=("np.digitize(np.array([0.5, 2.5]), np.array([0.0, 1.0, 2.0])).tolist()", "[1, 3]"),
    ),
    "isin": Record(
        meaning={
            "element": "The elements to look for.",
            "test_elements": "The elements among which they are looked for.",
            "assume_unique": "Whether neither input has equal elements; it changes no result.",
            "invert": "Whether the result is True for elements that are not found.",
        },
        shape=SAME,
        gives="bool",
        doc="True where elements occur in another array.",
        example=("np.isin(np.array([1.0, 5.0]), np.array([5.0])).tolist()", "[False, True]"),
    ),
    "in1d": Record(
        meaning={
            "ar1": "The elements to look for.",
            "ar2": "The elements among which they are looked for.",
            "assume_unique": "Whether neither input has equal elements; it changes no result.",
            "invert": "Whether the result is True for elements that are not found.",
        },
        shape="(size of `ar1`,)",
        gives="bool",
        doc="True where elements of a flattened array occur in another (an old name of `isin`).",
        stands_for="`numpy.isin`",
        example=("np.in1d(np.array([1.0, 5.0]), np.array([5.0])).tolist()", "[False, True]"),
    ),
    "lexsort": Record(
        shape="that of one key",
        gives="int64",
        doc="The indices that sort by several keys, the last one first.",
        wide=True,
        example=("np.lexsort([np.array([2.0, 1.0]), np.array([1.0, 1.0])]).tolist()", "[1, 0]"),
    ),
    "msort": Record(
        shape=SAME,
        gives="input",
        doc="Sorted along the first axis.",
        stands_for="`numpy.sort`",
        example=("np.msort(np.array([1.0, 2.0, 4.0])).tolist()", "[1.0, 2.0, 4.0]"),
    ),
    "partition": Record(
        meaning={"order": "Only None: arrays have no fields."},
        shape="as the input; flattened with `axis` None",
        gives="input",
        doc="The kth smallest element in its position, smaller ones before it.",
        example=("float(np.partition(np.array([3.0, 1.0, 2.0]), 1)[1])", "2.0"),
    ),
    "searchsorted": Record(
        meaning={
            "v": "The values whose positions are wanted.",
            "sorter": "The positions that sort `a`; None: it is sorted.",
        },
        shape="that of the values",
        gives="int64",
        doc="The positions at which values go into a sorted array.",
        wide=True,
        example=("np.searchsorted(np.array([1.0, 2.0, 4.0]), np.array([3.0])).tolist()", "[2]"),
    ),
    "sort_complex": Record(
        shape=SAME,
        doc="Sorted by real, then imaginary part.",
        example=("np.sort_complex(np.array([1.0, 2.0, 4.0])).tolist()", "[(1+0j), (2+0j), (4+0j)]"),
    ),
    # indexing
    "ix_": Record(
        gives="input",
        doc="Open mesh of indices.\n\n"
        "Returns\n-------\n"
        "tuple of ndarray\n"
        "    For each input its values along the axis of its number; the other axes have length 1.",
        example=("[part.shape for part in np.ix_(np.array([0, 1]), np.array([2, 0, 1]))]", "[(2, 1), (1, 3)]"),
    ),
    "packbits": Record(
        meaning={"bitorder": "'big' or 'little': whether the first bit of a byte is its highest or its lowest."},
        shape="as the input, an eighth as long along `axis`, rounded up; flattened without `axis`",
        doc="Eight booleans in each byte.",
        example=('np.packbits(np.array([1, 0, 0, 0, 0, 0, 0, 1], dtype="uint8")).tolist()', "[129]"),
    ),
    "ravel_multi_index": Record(
        meaning={
            "dims": "The shape of the array that is indexed.",
            "mode": "'raise', 'clip' or 'wrap': how an index out of range is treated.",
        },
        shape="that of one array of indices",
        gives="int64",
        doc="Flat indices from index tuples.",
        wide=True,
        index=Index(0, _coordinates),
        example=("np.ravel_multi_index([np.array([1]), np.array([2])], (2, 3)).tolist()", "[5]"),
    ),
    "unpackbits": Record(
        meaning={
            "bitorder": "'big' or 'little': whether the first bit of a byte is its highest or its lowest.",
            "count": "How many bits are returned; None: all.",
        },
        shape="as the input, eight times as long along `axis`; flattened without `axis`",
        doc="The bits of each byte.",
        example=('np.unpackbits(np.array([129], dtype="uint8")).tolist()', "[1, 0, 0, 0, 0, 0, 0, 1]"),
    ),
    "unravel_index": Record(
        gives="int64",
        meaning={"shape": "The shape of the array that is indexed."},
        doc="Index tuples from flat indices.\n\n"
        "Returns\n-------\n"
        "tuple of ndarray\n"
        "    An array for each axis of `shape`, of the shape of the indices and int64.",
        wide=True,
        index=Index(0, _flat),
        np=Front(also={"dims": "shape"}),
        example=("[part.tolist() for part in np.unravel_index(np.array([5]), (2, 3))]", "[[1], [2]]"),
    ),
    # linear algebra
    "convolve": Record(
        meaning={
            "v": "The second vector.",
            "mode": "'full', 'same' or 'valid': all overlaps, the middle ones, or the complete ones.",
        },
        shape="(n + m - 1,) with `mode` 'full', (max(n, m),) with 'same', (abs(n - m) + 1,) with 'valid'",
        gives="input",
        doc="The discrete convolution of two vectors.",
        example=("np.convolve(np.array([1.0, 2.0]), np.array([3.0, 4.0])).tolist()", "[3.0, 10.0, 8.0]"),
    ),
    "corrcoef": Record(
        meaning={
            "y": "Further variables, of the form of `x`.",
            "rowvar": "Whether each row is a variable, and each column an observation; otherwise the reverse.",
            "bias": "Not used, as in NumPy.",
            "ddof": "Not used, as in NumPy.",
        },
        shape="(variables, variables); () for one variable",
        gives="float",
        doc="Correlation coefficients.",
        example=("np.corrcoef(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()", "[[1.0, 1.0], [1.0, 1.0]]"),
    ),
    "correlate": Record(
        meaning={
            "v": "The second vector.",
            "mode": "'full', 'same' or 'valid': all overlaps, the middle ones, or the complete ones.",
        },
        shape="(n + m - 1,) with `mode` 'full', (max(n, m),) with 'same', (abs(n - m) + 1,) with 'valid'",
        gives="input",
        doc="The cross-correlation of two vectors.",
        example=("np.correlate(np.array([1.0, 2.0]), np.array([3.0, 4.0])).tolist()", "[11.0]"),
    ),
    "cov": Record(
        meaning={
            "y": "Further variables, of the form of `m`.",
            "rowvar": "Whether each row is a variable, and each column an observation; otherwise the reverse.",
            "bias": "Whether to divide by the number of observations, and not by one less.",
            "fweights": "How often each observation counts, an integer.",
            "aweights": "The weight of each observation.",
        },
        shape="(variables, variables); () for one variable",
        gives="float",
        doc="The covariance matrix.",
        example=("np.cov(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()", "[[0.5, 0.5], [0.5, 0.5]]"),
    ),
    "cross": Record(
        meaning={
            "b": "The second vectors.",
            "axisa": "The axis of `a` with the vectors.",
            "axisb": "The axis of `b` with the vectors.",
            "axisc": "The axis of the result with the vectors.",
        },
        shape="broadcast of both inputs; without the last axis where both hold 2-vectors",
        gives="input",
        doc="The vector product.",
        amp="widest",
        example=("np.cross(np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])).tolist()", "[0.0, 0.0, 1.0]"),
    ),
    "inner": Record(
        meaning={"b": "The second input."},
        shape="the first input's without its last axis, then the second's without its last axis",
        gives="input",
        doc="The sum of products over the last axes.",
        example=("float(np.inner(np.array([1.0, 2.0]), np.array([3.0, 4.0])))", "11.0"),
    ),
    "kron": Record(
        meaning={"b": "The second input."},
        shape="the products of the lengths along each axis",
        gives="input",
        doc="The Kronecker product.",
        amp="widest",
        example=("np.kron(np.array([1.0, 2.0]), np.array([3.0, 4.0])).tolist()", "[3.0, 4.0, 6.0, 8.0]"),
    ),
    "matvec": Record(
        shape="the batch's, then the matrix's rows",
        gives="input",
        doc="The product of matrices and vectors.",
        example=("np.matvec(np.ones((2, 3)), np.ones(3)).tolist()", "[3.0, 3.0]"),
    ),
    "outer": Record(
        meaning={"b": "The second input."},
        shape="(size of the first, size of the second)",
        gives="input",
        doc="The product of all pairs.",
        example=("np.outer(np.array([1.0, 2.0]), np.array([3.0, 4.0])).tolist()", "[[3.0, 4.0], [6.0, 8.0]]"),
    ),
    "trace": Record(
        shape="as the input without the two axes",
        doc="The sum of a diagonal.",
        amp="float32",
        methods=("trace",),
        example=("float(np.trace(np.array([[1.0, 2.0], [3.0, 4.0]])))", "5.0"),
    ),
    "vander": Record(
        meaning={
            "N": "The number of columns; that of rows by default.",
            "increasing": "Whether the powers grow from left to right.",
        },
        shape="(n, `N`); `N` is n if None",
        doc="The Vandermonde matrix.",
        wide=True,
        example=("np.vander(np.array([2.0, 3.0]), 2).tolist()", "[[2.0, 1.0], [3.0, 1.0]]"),
    ),
    "vdot": Record(
        meaning={"b": "The second input."},
        shape="()",
        gives="input",
        doc="The inner product of two flattened arrays, the first one conjugated.",
        example=("float(np.vdot(np.array([1.0, 2.0]), np.array([3.0, 4.0])))", "11.0"),
    ),
    "vecdot": Record(
        shape="the batch's: the inputs' without the axis",
        gives="input",
        doc="The inner product of vectors along an axis.",
        example=("float(np.vecdot(np.array([1.0, 2.0]), np.array([3.0, 4.0])))", "11.0"),
    ),
    "vecmat": Record(
        shape="the batch's, then the matrix's columns",
        gives="input",
        doc="The product of vectors and matrices.",
        example=("np.vecmat(np.ones(2), np.ones((2, 3))).tolist()", "[2.0, 2.0, 2.0]"),
    ),
    # polynomials
    "poly": Record(
        meaning={"seq_of_zeros": "The roots, or a square matrix."},
        shape="(n + 1,) for n roots",
        gives="float",
        doc="The coefficients of the polynomial with given roots.",
        example=("np.poly(np.array([1.0, 2.0])).tolist()", "[1.0, -3.0, 2.0]"),
    ),
    "polyadd": Record(
        meaning={
            "a1": "The coefficients of the first polynomial, highest power first.",
            "a2": "The coefficients of the second polynomial.",
        },
        shape="that of the longer one",
        gives="input",
        doc="The sum of two polynomials.",
        example=("np.polyadd(np.array([1.0, 2.0]), np.array([3.0, 4.0])).tolist()", "[4.0, 6.0]"),
    ),
    "polyder": Record(
        meaning={"p": "The coefficients, highest power first.", "order": "How many times to differentiate."},
        shape="shorter by the order",
        gives="float",
        doc="The derivative of a polynomial.",
        np=Front(shown={"order": "m"}),
        example=("np.polyder(np.array([1.0, 2.0, 4.0])).tolist()", "[2.0, 2.0]"),
    ),
    "polyint": Record(
        meaning={
            "p": "The coefficients, highest power first.",
            "order": "How many times to integrate.",
            "k_values": "The constants of integration, 0 by default.",
        },
        shape="longer by the order",
        gives="float",
        doc="The antiderivative of a polynomial.",
        np=Front(shown={"order": "m", "k_values": "k"}),
        example=("np.polyint(np.array([2.0, 2.0])).tolist()", "[1.0, 2.0, 0.0]"),
    ),
    "polymul": Record(
        meaning={
            "a1": "The coefficients of the first polynomial, highest power first.",
            "a2": "The coefficients of the second polynomial.",
            "trim_leading_zeros": "Whether zeros in front of the coefficients are dropped first.",
        },
        shape="(n + m - 1,)",
        gives="input",
        doc="The product of two polynomials.",
        example=("np.polymul(np.array([1.0, 2.0]), np.array([3.0, 4.0])).tolist()", "[3.0, 10.0, 8.0]"),
    ),
    "polysub": Record(
        meaning={
            "a1": "The coefficients of the first polynomial, highest power first.",
            "a2": "The coefficients of the second polynomial.",
        },
        shape="that of the longer one",
        gives="input",
        doc="The difference of two polynomials.",
        example=("np.polysub(np.array([1.0, 2.0]), np.array([3.0, 4.0])).tolist()", "[-2.0, -2.0]"),
    ),
    "polyval": Record(
        meaning={"p": "The coefficients, highest power first."},
        shape="that of the points",
        gives="input",
        doc="A polynomial's value at points.",
        amp="float32",
        example=("np.polyval(np.array([1.0, 2.0, 4.0]), np.array([2.0])).tolist()", "[12.0]"),
    ),
}

_LENGTH = "The length of the transformed axis; a longer input is cut, a shorter one padded with zeros."
FFT: dict[str, Record] = {
    "fft": Record(
        meaning={"n": _LENGTH},
        shape="as the input, but `n` along `axis`",
        doc="The discrete Fourier transform along an axis.",
        amp="float32",
        example=("np.fft.fft(np.array([1.0, 0.0, 0.0, 0.0])).shape", "(4,)"),
    ),
    "fft2": Record(
        shape="as the input, but `s` along the axes",
        doc="The discrete Fourier transform over two axes.",
        amp="float32",
        example=("np.fft.fft2(np.ones((4, 4))).shape", "(4, 4)"),
    ),
    "fftn": Record(
        shape="as the input, but `s` along the axes",
        doc="The discrete Fourier transform over several axes.",
        amp="float32",
        example=("np.fft.fftn(np.ones((4, 4))).shape", "(4, 4)"),
    ),
    "fftshift": Record(
        gives="input",
        shape=SAME,
        doc="The zero frequency moved to the middle.",
        example=("np.fft.fftshift(np.array([0.0, 1.0, -1.0])).tolist()", "[-1.0, 0.0, 1.0]"),
    ),
    "hfft": Record(
        meaning={"n": _LENGTH},
        shape="as the input, but `n` along `axis`; n is 2 (length - 1) if None",
        doc="The transform of a signal whose spectrum is real.",
        amp="float32",
        example=("np.fft.hfft(np.array([1.0, 0.0, 0.0, 0.0])).shape", "(6,)"),
    ),
    "ifft": Record(
        meaning={"n": _LENGTH},
        shape="as the input, but `n` along `axis`",
        doc="The inverse of `fft`.",
        amp="float32",
        example=("np.fft.ifft(np.array([1.0, 0.0, 0.0, 0.0])).shape", "(4,)"),
    ),
    "ifft2": Record(
        shape="as the input, but `s` along the axes",
        doc="The inverse of `fft2`.",
        amp="float32",
        example=("np.fft.ifft2(np.ones((4, 4))).shape", "(4, 4)"),
    ),
    "ifftn": Record(
        shape="as the input, but `s` along the axes",
        doc="The inverse of `fftn`.",
        amp="float32",
        example=("np.fft.ifftn(np.ones((4, 4))).shape", "(4, 4)"),
    ),
    "ifftshift": Record(
        gives="input",
        shape=SAME,
        doc="The inverse of `fftshift`.",
        example=("np.fft.ifftshift(np.array([0.0, 1.0, -1.0])).tolist()", "[1.0, -1.0, 0.0]"),
    ),
    "ihfft": Record(
        meaning={"n": _LENGTH},
        shape="as the input, but n // 2 + 1 along `axis`",
        doc="The inverse of `hfft`.",
        amp="float32",
        example=("np.fft.ihfft(np.array([1.0, 0.0, 0.0, 0.0])).shape", "(3,)"),
    ),
    "irfft": Record(
        meaning={"n": _LENGTH},
        shape="as the input, but `n` along `axis`; n is 2 (length - 1) if None",
        doc="The inverse of `rfft`.",
        amp="float32",
        example=("np.fft.irfft(np.array([1.0, 0.0, 0.0, 0.0])).shape", "(6,)"),
    ),
    "irfft2": Record(
        shape="as the input, but `s` along the axes; the last length of `s` is 2 (length - 1) if None",
        doc="The inverse of `rfft2`.",
        amp="float32",
        example=("np.fft.irfft2(np.ones((4, 4))).shape", "(4, 6)"),
    ),
    "irfftn": Record(
        shape="as the input, but `s` along the axes; the last length of `s` is 2 (length - 1) if None",
        doc="The inverse of `rfftn`.",
        amp="float32",
        example=("np.fft.irfftn(np.ones((4, 4))).shape", "(4, 6)"),
    ),
    "rfft": Record(
        meaning={"n": _LENGTH},
        shape="as the input, but n // 2 + 1 along `axis`",
        doc="The discrete Fourier transform of real input.",
        amp="float32",
        example=("np.fft.rfft(np.array([1.0, 0.0, 0.0, 0.0])).shape", "(3,)"),
    ),
    "rfft2": Record(
        shape="as the input, but `s` along the axes, of which the last one has s // 2 + 1",
        doc="The discrete Fourier transform of real input over two axes.",
        amp="float32",
        example=("np.fft.rfft2(np.ones((4, 4))).shape", "(4, 3)"),
    ),
    "rfftn": Record(
        shape="as the input, but `s` along the axes, of which the last one has s // 2 + 1",
        doc="The discrete Fourier transform of real input over several axes.",
        amp="float32",
        example=("np.fft.rfftn(np.ones((4, 4))).shape", "(4, 3)"),
    ),
}
