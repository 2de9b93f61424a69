"""Bad arguments raise at the line that gives them, and say which: a sweep over everything that takes some.

Keywords that nobody has are refused with the nearest right one. Each operator of the registry is given axes, ranks,
element types and attributes that it cannot take; the error names it. Sizes that do not exist raise as in NumPy.
"""

import inspect

import numpy as onp
import pytest

from gluonx import autograd, engine, initializer, loss, lr_scheduler, metric, nn, np, npx, ops, optimizer
from gluonx.deferred import invoke
from gluonx.errors import GluonxError
from lib.golden import load_cases

cases = load_cases("ops")
FIRST = {}  # one good call of each operator
for _row in cases.rows():
    FIRST.setdefault(ops.get(_row["op"]).name, _row)

# -- keywords ---------------------------------------------------------------------------------------------------------

OTHERS = {  # take any, are made by functions, or hand on to the layers that they are made of
    "EvalMetric", "FlatRule", "InitDesc", "OptaxOptimizer", "TransformerDecoder", "TransformerDecoderLayer",
    "TransformerEncoder", "Updater",
}  # fmt: skip
CLASSES = {
    f"{module.__name__}.{name}": thing
    for module in (nn, loss, metric, initializer, optimizer, lr_scheduler)
    for name, thing in vars(module).items()
    if inspect.isclass(thing) and name in module.__all__ and name not in OTHERS
}


def keywords(thing):
    rows = inspect.signature(thing).parameters.values()
    return [p.name for p in rows if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]


def misspelt(thing):
    """A keyword of a function or class, with a letter too few; None if it has none long enough."""
    long = max((name for name in keywords(thing) if name.isidentifier()), key=len, default="")
    wrong = long[:2] + long[3:]
    return (wrong, long) if len(long) > 4 and wrong not in keywords(thing) else None


@pytest.mark.parametrize("name", [name for name, cls in CLASSES.items() if misspelt(cls)])
def test_classes_refuse_unknown_keywords(name):
    wrong, right = misspelt(CLASSES[name])
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{wrong}'; did you mean '{right}'"):
        CLASSES[name](**{wrong: 1})


def functions(module):
    names = sorted(set(module.__all__)) if hasattr(module, "__all__") else []
    return {f"{module.__name__}.{n}": getattr(module, n) for n in names if inspect.isfunction(getattr(module, n, None))}


FUNCTIONS = {**functions(np), **functions(np.linalg), **functions(np.random), **functions(npx), **functions(npx.random)}
FUNCTIONS |= {f"gluonx.npx.{n}": getattr(npx, n) for n in sorted(FIRST) if hasattr(npx, n)}
PASSING_ON = {  # what they do not know they hand to a function of the user's, to NumPy or to another of these
    "apply_along_axis", "apply_over_axes", "piecewise", "savez", "frombuffer", "fromfile", "fromiter", "fromstring",
    "genfromtxt", "fromfunction", "set_printoptions", "printoptions", "vectorize", "batch_norm_with_relu", "frompyfunc",
    "isdtype",
}  # fmt: skip


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n.rpartition(".")[2] not in PASSING_ON])
def test_functions_refuse_unknown_keywords(name):
    function = FUNCTIONS[name]
    arrays = [np.ones((2, 2))] * sum(
        p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        for p in inspect.signature(function).parameters.values()
    )
    with pytest.raises(TypeError, match="unexpected keyword argument 'no_such_keyword'"):
        function(*arrays, no_such_keyword=1)
    near = misspelt(function)
    if near:
        with pytest.raises(TypeError, match=f"argument '{near[0]}'.*[dD]id you mean '{near[1]}'"):
            function(*arrays, **{near[0]: 1})


# -- operators --------------------------------------------------------------------------------------------------------


def call(name, attrs, arrays):
    op = ops.get(name)
    if "training" in op.attr_names:
        attrs = {"training": False, **attrs}
    given = tuple(None if a is None else np.array(a, dtype=a.dtype) for a in arrays)
    return invoke(op.bind(**attrs), given)


def refused(name, attrs, arrays):
    """Both at once and while recording: the operator is named, and it is no error from within."""
    for scope in (autograd.record, autograd.predict_mode):
        with scope(), pytest.raises((GluonxError, TypeError, ValueError)) as caught:
            call(name, attrs, arrays)
        assert name in str(caught.value)


def either(name, attrs, arrays):
    """A result, or an error that names the operator."""
    with autograd.record():
        try:
            call(name, attrs, arrays)
        except (GluonxError, TypeError, ValueError) as error:
            assert name in str(error)


AXES = [(name, a) for name in FIRST for a in ("axis", "axes", "axis1", "axis2", "batch_axis", "source")
        if a in ops.get(name).attr_names]  # fmt: skip


@pytest.mark.parametrize(("name", "attribute"), AXES)
def test_axes_that_do_not_exist(name, attribute):
    row = FIRST[name]
    arrays = cases.make(row)
    for bad in (99, -99, "x", 1.5, (0, 99)):
        if name == "tensordot" and bad == -99:
            continue  # the last -99 axes are none, in NumPy too
        refused(name, {**row["attrs"], attribute: bad}, arrays)


@pytest.mark.filterwarnings("ignore:Casting from complex")  # as NumPy says, and does
@pytest.mark.parametrize("name", FIRST)
def test_ranks_and_dtypes(name):
    row = FIRST[name]
    arrays = cases.make(row)
    for i, a in enumerate(arrays):
        if a is None:
            continue
        shapes = [onp.zeros(s, a.dtype) for s in ((), (7,), (1,) * 7, (0,) * max(a.ndim, 1))]
        types = [onp.zeros(a.shape, t) for t in ("bool", "complex64", "uint8")]
        for other in (*shapes, *types):
            either(name, row["attrs"], [other if j == i else b for j, b in enumerate(arrays)])


BAD = {
    "kernel": [(0, 0), (-1, -1), (99, 99)], "stride": [(0, 0), (-1, -1), (1,) * 5], "dilate": [(0, 0), (-1, -1)],
    "num_filter": [0, -1, 7], "num_group": [0, -1, 99], "pad": [(-99, -99)], "p": [-0.1, 1.5], "depth": [-1],
    "block_size": [0, -2, 7], "num_outputs": [0, -1, 7], "repeats": [-1], "nsize": [0, 2, -1], "output_size": [0, -1],
    "num_groups": [0, -1, 5], "act_type": ["bogus"], "layout": ["bogus", "NCQ"], "mode": ["bogus"],
    "ret_typ": ["bogus"], "pool_type": ["bogus"], "pooling_convention": ["bogus"], "newshape": [(-9,), (7, 7), (0, 0)],
    "shape": [(-2,)], "indices_or_sections": [0, -1, 7], "reps": [-1], "num_hidden": [0, -1, 7], "ord": [7, "x"],
    "dtype": ["bogus"], "subscripts": ["??"], "factors": [(0, 0), (7, 7)], "order": ["Q"], "classes": [0, -1],
    "top_k": [0, 99], "target_shape": [(1, 1)], "adj": [(9, 9), (-1, -1)], "begin": [(99,) * 9], "exponent": [1.5],
}  # fmt: skip


@pytest.mark.parametrize(("name", "attribute"), [(n, a) for n in FIRST for a in BAD if a in ops.get(n).attr_names])
def test_attributes_out_of_range(name, attribute):
    row = FIRST[name]
    arrays = cases.make(row)
    for bad in BAD[attribute]:
        refused(name, {**row["attrs"], attribute: bad}, arrays)


# -- sizes ------------------------------------------------------------------------------------------------------------

BIG = 2**31


@pytest.mark.parametrize("mode", ["deferred", "naive", "recorded"])
@pytest.mark.parametrize(
    "make",
    [
        lambda x: np.ones((BIG, BIG, BIG)),
        lambda x: np.broadcast_to(x, (BIG, BIG, BIG, 3)),
        lambda x: np.zeros((2, -1)),
        lambda x: np.full((-2,), 1.0),
        lambda x: np.tile(x, -1),
        lambda x: np.repeat(x, -1),
        lambda x: np.eye(-1),
        lambda x: np.tri(-1),
        lambda x: np.linspace(0, 1, -1),
        lambda x: np.random.uniform(size=(-1,)),
    ],
)
def test_sizes_that_do_not_exist(make, mode):
    x = np.ones((3,))
    scope = autograd.record() if mode == "recorded" else engine.mode("naive" if mode == "naive" else "deferred")
    with scope, pytest.raises(ValueError, match=r"negative|bytes"):
        make(x)


@pytest.mark.parametrize("mode", ["deferred", "naive", "recorded"])
@pytest.mark.parametrize("number", [-1, 256, 2**40])
def test_numbers_that_the_dtype_does_not_have(number, mode):
    """Arithmetic raises, whether it runs at once or in a program; a comparison knows the answer."""
    x = np.array([0, 255], dtype="uint8")
    scope = autograd.record() if mode == "recorded" else engine.mode("naive" if mode == "naive" else "deferred")
    with scope:
        for compute in (lambda: x + number, lambda: number * x, lambda: np.maximum(x, number)):
            with pytest.raises(OverflowError, match=rf"{number} is out of bounds for uint8"):
                compute()
        assert (x == number).tolist() == [False, False] and (number != x).tolist() == [True, True]
        assert (x < number).tolist() == [number > 0] * 2 and np.greater(number, x).tolist() == [number > 0] * 2


@pytest.mark.parametrize("name", ["percentile", "quantile", "nanpercentile", "nanquantile"])
def test_shares_out_of_range(name):
    for bad in (-1, 101, [0.5, -0.1]):
        with pytest.raises(ValueError, match=f"np.{name}: q must be between 0 and 1"):
            getattr(np, name)(np.ones((3,)), bad)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda x: np.repeat(x, -1), "negative lengths are not allowed"),
        (lambda x: np.inner(x, np.ones((2,))), r"the axes to sum over differ: \(3,\) and \(2,\)"),
        (lambda x: np.full((2, 2), np.ones((3,))), r"shape \(3\) cannot be broadcast to \(2,2\)"),
        (lambda x: np.diff(np.array(1.0)), r"at least one dimensional; got float32\[\]"),
        (lambda x: np.linalg.cond(x[0]), "np.linalg.cond: input array must be at least 2D"),
    ],
)
def test_errors_speak_of_arrays(call, said):
    """JAX's messages about primitives and tracers are put into the words of NumPy."""
    with autograd.record(), pytest.raises(ValueError, match=said) as caught:
        call(np.ones((2, 3)))
    assert not isinstance(caught.value, IndexError)
    for word in ("jnp", "jax", "Tracer", "broadcast_in_dim", "dot_general", "gather"):
        assert word not in str(caught.value)


def test_nothing_to_take():
    with autograd.record(), pytest.raises(IndexError, match="index 0 is out of bounds for axis 0 with size 0"):
        np.ones((2, 3))[:0][[0, 1]]


def test_reflections_longer_than_the_axis():
    for bad in (4, (0, 0, 0, 0, 0, 0, 5, 0)):
        layer = nn.ReflectionPad2D(bad)
        with pytest.raises(ValueError, match="further elements to reflect"):
            layer(np.ones((1, 2, 4, 5)))


@pytest.mark.parametrize(("name", "least"), [("hsplit", 1), ("vsplit", 2), ("dsplit", 3)])
def test_splits_of_too_few_axes(name, least):
    with pytest.raises(ValueError, match=f"{name}: an array of {least} or more axes"):
        getattr(np, name)(np.ones((2,) * (least - 1)), 2)


@pytest.mark.parametrize("name", ["max", "min", "amax", "amin", "argmax", "argmin", "nanmax", "nanmin", "ptp"])
def test_reductions_without_an_identity(name):
    reduce = getattr(np, name)
    for shape, axis in (((0,), None), ((0, 3), 0)):
        with pytest.raises(ValueError, match=r"zero-size array|empty sequence"):
            reduce(np.zeros(shape), axis=axis)
    assert reduce(np.zeros((0, 3)), axis=1).shape == (0,)


@pytest.mark.parametrize(
    ("name", "empty"), [("sum", 0.0), ("prod", 1.0), ("mean", onp.nan), ("all", True), ("any", False)]
)
def test_reductions_with_an_identity(name, empty):
    assert onp.array_equal(getattr(np, name)(np.zeros((0,))).asnumpy(), empty, equal_nan=True)


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_what_cannot_be_deleted(axis):
    x, named = np.ones((2, 3)), 0 if axis is None else axis
    size = x.size if axis is None else x.shape[axis]
    with pytest.raises(IndexError, match=f"index 7 is out of bounds for axis {named} with size {size}"):
        np.delete(x, [0, 7], axis)
    with pytest.raises(ValueError, match=rf"a mask for axis {named} has shape \({size},\), but one of shape \(1,\)"):
        np.delete(x, [True], axis)


def test_integrals_without_points():
    assert np.trapezoid(np.array([])).item() == np.trapz(np.array([])).item() == 0
    assert np.trapezoid(np.zeros((0, 3)), axis=0).tolist() == [0, 0, 0]
    assert np.trapezoid(np.zeros((2, 0), dtype="int32")).dtype == "float32"
