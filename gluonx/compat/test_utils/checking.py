"""Checks of symbols, blocks, optimizers and generators: forward, gradients, and whether different ways agree."""

from __future__ import annotations

import functools
import itertools
import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as onp

from gluonx import autograd, engine
from gluonx import np as gnp
from gluonx import random as grandom
from gluonx.compat.symbol import Symbol
from gluonx.compat.symbol.executor import Executor
from gluonx.compat.test_utils.comparing import (
    assert_almost_equal,
    compare_ndarray_tuple,
    default_atols,
    default_numeric_eps,
    default_rtols,
)
from gluonx.compat.test_utils.making import rand_ndarray

if TYPE_CHECKING:
    from gluonx.device import DeviceLike
    from gluonx.dtype import DTypeLike


__all__ = [
    "check_consistency",
    "check_gluon_hybridize_consistency",
    "check_numeric_gradient",
    "check_speed",
    "check_symbolic_backward",
    "check_symbolic_forward",
    "chi_square_check",
    "compare_optimizer",
    "compare_optimizer_noise_seeded",
    "gen_buckets_probs_with_ppf",
    "mean_check",
    "numeric_grad",
    "retry",
    "same_symbol_structure",
    "simple_forward",
    "var_check",
    "verify_generator",
]


def _named(values: Any, names: Sequence[str], what: str) -> dict[str, onp.ndarray]:
    """Values by name as NumPy arrays, from a dict or a list in the order of the names.

    Raises
    ------
    ValueError
        If the names or the number do not fit.
    """
    if isinstance(values, Mapping):
        if set(values) != set(names):
            raise ValueError(f"{what}: values for {sorted(names)} were expected, got {sorted(values)}")
        return {name: _host(values[name]) for name in names}
    if len(values) != len(names):
        raise ValueError(f"{what}: {len(names)} values were expected, for {list(names)}, got {len(values)}")
    return {name: _host(value) for name, value in zip(names, values, strict=True)}


def _host(x: Any) -> onp.ndarray:
    return x.asnumpy() if hasattr(x, "asnumpy") else onp.asarray(x)


def _array(value: onp.ndarray, dtype: DTypeLike) -> Any:
    """Return an array of its own, floats in `dtype`."""
    return gnp.array(value, dtype=dtype if value.dtype.kind == "f" else value.dtype)


class _Bound:
    """A symbol bound to copies of given values."""

    def __init__(
        self,
        sym: Any,
        location: Any,
        aux_states: Any,
        dtype: DTypeLike,
        grad_req: str | Sequence[str] | Mapping[str, str] = "null",
        grads: Any = None,
    ) -> None:
        dtype = onp.dtype(dtype or onp.float32)
        self.names = sym.list_arguments()
        self.location = _named(location, self.names, "location")
        self.aux = _named(aux_states or {}, sym.list_auxiliary_states(), "aux_states")
        args = {name: _array(value, dtype) for name, value in self.location.items()}
        aux = {name: _array(value, dtype) for name, value in self.aux.items()}
        self.executor = Executor(sym, args, grads, grad_req, aux)

    def outputs(self, is_train: bool) -> list[Any]:
        return list(self.executor.forward(is_train=is_train))


def check_symbolic_forward(
    sym: Any,
    location: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    aux_states: Any = None,
    ctx: DeviceLike = None,
    equal_nan: bool = False,
    dtype: DTypeLike = onp.float32,
) -> list[Any]:
    """Compare a symbol's outputs with what is expected.

    Parameters
    ----------
    sym : Symbol
    location : list or dict of arrays
        Values of its arguments.
    expected : list or dict of arrays
        By the order or the names of the outputs.
    rtol, atol : optional
        By default those of the dtypes.
    aux_states : list or dict of arrays, optional
    ctx
        Taken for ported code.
    equal_nan : bool
        Whether NaN equals NaN.
    dtype : dtype-like
        Floats among the values are given in it.

    Returns
    -------
    list of arrays
        The outputs.

    Raises
    ------
    AssertionError
        If they differ.
    """
    outputs = _Bound(sym, location, aux_states, dtype).outputs(False)
    names = sym.list_outputs()
    for (name, value), output in zip(_named(expected, names, "expected").items(), outputs, strict=True):
        assert_almost_equal(value, output, rtol, atol, (f"EXPECTED_{name}", f"FORWARD_{name}"), equal_nan)
    return outputs


def check_symbolic_backward(
    sym: Any,
    location: Any,
    out_grads: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    aux_states: Any = None,
    grad_req: str | Sequence[str] | Mapping[str, str] = "write",
    ctx: DeviceLike = None,
    grad_stypes: Any = None,
    equal_nan: bool = False,
    dtype: DTypeLike = onp.float32,
) -> dict[str, Any]:
    """Compare a symbol's gradients with what is expected.

    Parameters
    ----------
    out_grads : list or dict of arrays, or None
        The gradients of the outputs; ones for None.
    expected : list or dict of arrays
        By the order of the arguments, or the names of some of them.
    grad_req : {'write', 'add', 'null'}, or list or dict of them
        With ``'add'`` the gradient is added to random numbers, and with ``'null'`` these must stay.
    **others
        As for `check_symbolic_forward`; `grad_stypes` is taken for ported code.

    Returns
    -------
    dict of str to array
        The gradients.

    Raises
    ------
    AssertionError
        If they differ.
    """
    names = sym.list_arguments()
    if isinstance(expected, Mapping):
        wanted = {name: _host(value) for name, value in expected.items()}
        if set(wanted) - set(names):
            raise ValueError(f"expected: the symbol has no argument {sorted(set(wanted) - set(names))[0]!r}")
    else:
        wanted = _named(expected, names, "expected")
    shapes = {name: value.shape for name, value in _named(location, names, "location").items()}
    before = {name: onp.random.normal(size=shapes[name]).astype(dtype) for name in wanted}
    reqs = dict.fromkeys(names, grad_req) if isinstance(grad_req, str) else grad_req
    reqs = dict(reqs) if isinstance(reqs, Mapping) else dict(zip(names, reqs, strict=True))
    grads = {name: gnp.array(value, dtype=value.dtype) for name, value in before.items()}
    bound = _Bound(
        sym, location, aux_states, dtype, {n: reqs.get(n, "null") if n in wanted else "null" for n in names}, grads
    )
    outputs = bound.outputs(True)
    if out_grads is not None:
        heads = _named(out_grads, sym.list_outputs(), "out_grads")
        out_grads = [gnp.array(heads[name], dtype=out.dtype) for name, out in zip(heads, outputs, strict=True)]
    bound.executor.backward(out_grads)
    found = {name: grads[name] for name in wanted}
    for name, value in wanted.items():
        labels = (f"EXPECTED_{name}", f"BACKWARD_{name}")
        req, mine = reqs.get(name, "null"), found[name]
        if req == "add":
            assert_almost_equal(value, mine.asnumpy() - before[name], rtol, atol, labels, equal_nan)
        else:
            assert_almost_equal(value if req == "write" else before[name], mine, rtol, atol, labels, equal_nan)
    return found


def numeric_grad(
    executor: Any,
    location: Mapping[str, Any],
    aux_states: Mapping[str, Any] | None = None,
    eps: float = 1e-4,
    use_forward_train: bool = True,
    dtype: DTypeLike = onp.float32,
) -> dict[str, onp.ndarray]:
    """Return the gradients of the sum of an executor's outputs by central differences.

    Parameters
    ----------
    executor : Executor
    location : dict of str to array
        Values of the arguments; those of floats are varied.
    aux_states : dict of str to array, optional
        Set before each forward.
    eps : float
        The step.
    use_forward_train : bool
        Whether layers behave as in training.
    dtype : dtype-like
        Of what is returned.
    """
    values = {name: _host(value) for name, value in location.items()}
    for name, value in values.items():
        executor.arg_dict[name][...] = value
    names = [name for name, value in values.items() if value.dtype.kind == "f"]
    found = _differences(executor, aux_states or {}, None, eps, use_forward_train, names)
    return {name: value.astype(dtype) for name, value in found.items()}


def _differences(
    executor: Any, aux: Mapping[str, Any], heads: Any, eps: float, train: bool, names: Sequence[str]
) -> dict[str, onp.ndarray]:
    """Central differences by each element of the named arguments, of the outputs times `heads`, summed in double."""

    def total() -> float:
        for name, value in aux.items():
            executor.aux_dict[name][...] = _host(value)
        outputs = executor.forward(is_train=train)
        pairs = zip(outputs, heads or [1.0] * len(outputs), strict=True)
        return float(sum((_host(out).astype(onp.float64) * head).sum() for out, head in pairs))

    grads: dict[str, onp.ndarray] = {}
    for name in names:
        target = executor.arg_dict[name]
        value = onp.array(target.asnumpy())
        grad = grads[name] = onp.zeros(value.shape)
        for place in onp.ndindex(value.shape):
            kept, sums = value[place], []
            for side in (1, -1):
                value[place] = kept + side * eps / 2
                target[...] = value
                sums.append(total())
            value[place] = kept
            grad[place] = (sums[0] - sums[1]) / eps
        target[...] = value
    return grads


def check_numeric_gradient(
    sym: Any,
    location: Any,
    aux_states: Any = None,
    numeric_eps: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    grad_nodes: Any = None,
    use_forward_train: bool = True,
    ctx: DeviceLike = None,
    grad_stype_dict: Any = None,
    dtype: DTypeLike = onp.float32,
) -> None:
    """Compare a symbol's gradients with central differences, along a random direction of its outputs.

    Parameters
    ----------
    sym : Symbol
    location, aux_states : list or dict of arrays
        Values of arguments and auxiliary states.
    numeric_eps : float, optional
        The step; the default for the dtype is a power of two.
    rtol, atol : optional
        By default those of the dtype.
    grad_nodes : list of str, or dict of str to {'write', 'add', 'null'}, optional
        The arguments to look at; by default all that are floats.
    use_forward_train : bool
        Whether the differences are of a forward as in training.
    ctx, grad_stype_dict
        Taken for ported code.
    dtype : {float16, float32, float64}

    Raises
    ------
    AssertionError
        If they differ, or a gradient that is not asked for is written.
    ValueError
        If `location` or `grad_nodes` do not fit the arguments of the symbol.

    Examples
    --------
    >>> from gluonx import symbol as sym
    >>> x = sym.var("x")
    >>> check_numeric_gradient(x * x, {"x": onp.float32([0.5, -1])})
    >>> check_numeric_gradient(sym.BlockGrad(x) * x, [onp.float32([0.5, -1])])
    Traceback (most recent call last):
        ...
    AssertionError: NUMERICAL_x and BACKWARD_x differ in 2 of 2 elements ...
    """
    dtype = onp.dtype(dtype)
    if dtype not in default_numeric_eps():
        raise ValueError(f"check_numeric_gradient: dtype must be float16, float32 or float64, got {dtype}")
    eps = default_numeric_eps()[dtype] if numeric_eps is None else numeric_eps
    rtol = default_rtols()[dtype] if rtol is None else rtol
    atol = default_atols()[dtype] if atol is None else atol
    names = sym.list_arguments()
    values = _named(location, names, "location")
    if grad_nodes is None:
        grad_nodes = [name for name in names if values[name].dtype.kind == "f"]
    reqs = dict(grad_nodes) if isinstance(grad_nodes, Mapping) else dict.fromkeys(grad_nodes, "write")
    unknown = sorted(set(reqs) - set(names))
    if unknown:
        raise ValueError(f"grad_nodes: the symbol has no arguments {unknown}, it has {names}")
    before = {name: onp.random.normal(0, 0.01, values[name].shape).astype(dtype) for name in reqs}
    grads = {name: gnp.array(value, dtype=value.dtype) for name, value in before.items()}
    bound = _Bound(sym, location, aux_states, dtype, {n: reqs.get(n, "null") for n in names}, grads)
    outputs = bound.outputs(True)
    heads = [onp.asarray(onp.random.uniform(0.1, 1.1, out.shape), out.dtype) for out in outputs]
    bound.executor.backward([gnp.array(head, dtype=head.dtype) for head in heads])
    found = {name: grad.asnumpy() for name, grad in grads.items()}
    asked = [name for name, req in reqs.items() if req != "null"]
    differences = _differences(bound.executor, bound.aux, heads, eps, use_forward_train, asked)
    for name, req in reqs.items():
        labels = (f"NUMERICAL_{name}", f"BACKWARD_{name}")
        if req == "null":
            assert_almost_equal(before[name], found[name], rtol, atol, labels)
        else:
            mine = found[name] - before[name] if req == "add" else found[name]
            assert_almost_equal(differences[name].astype(dtype), mine, rtol, atol, labels)


def check_consistency(
    sym: Any,
    ctx_list: Sequence[Mapping[str, Any]],
    scale: float = 1.0,
    grad_req: str | Sequence[str] | Mapping[str, str] = "write",
    arg_params: Any = None,
    aux_params: Any = None,
    rtol: Any = None,
    atol: Any = None,
    raise_on_err: bool = True,
    ground_truth: Mapping[str, Any] | None = None,
    equal_nan: bool = False,
    use_uniform: bool = False,
    rand_type: Any = onp.float64,
) -> dict[str, Any]:
    """Compare a symbol's outputs and gradients between devices, shapes and dtypes.

    Parameters
    ----------
    sym : Symbol, or list of Symbol
        One, or one for each entry of `ctx_list`.
    ctx_list : list of dict
        Each has ``ctx``, shapes by argument, and maybe ``type_dict``. What has the finest dtype is the ground truth.
    scale : float
        Of random values.
    grad_req : str or dict
    arg_params, aux_params : dict of str to array, optional
        Values; random ones, and zeros, where there is none.
    rtol, atol : optional
        By default those of the coarser dtype of the two.
    raise_on_err : bool
        Whether to raise; else a difference is logged.
    ground_truth : dict of str to array, optional
        To compare with.
    equal_nan, use_uniform, rand_type
        Whether NaN equals NaN; whether values are uniform and not normal; their dtype.

    Returns
    -------
    dict of str to array
        The ground truth: outputs and gradients.

    Raises
    ------
    AssertionError
        If they differ.
    """
    bound = _bind_all(sym, ctx_list, grad_req)
    _fill(bound, arg_params or {}, aux_params or {}, scale, use_uniform, rand_type)
    for executor in bound:
        executor.forward(is_train=False)
    finest = max(range(len(bound)), key=lambda i: _precision(bound[i].outputs[0].dtype))

    def compare(of: Callable[[Any], dict[str, Any]], truth: Mapping[str, Any]) -> None:
        for i, executor in enumerate(bound):
            values = {} if i == finest and ground_truth is None else of(executor)
            for name in [name for name, value in values.items() if value is not None and name in truth]:
                try:
                    labels = (f"{name} of setting {i}", f"of setting {finest}")
                    assert_almost_equal(values[name], truth[name], rtol, atol, labels, equal_nan)
                except AssertionError as error:
                    if raise_on_err:
                        raise
                    logging.error("%s", error)

    truth = dict(ground_truth) if ground_truth is not None else _copies(bound[finest].output_dict)
    compare(lambda executor: executor.output_dict, truth)
    if grad_req != "null":
        _backward_all(bound, finest)
        if ground_truth is None:
            truth.update(_copies(bound[finest].output_dict), **_copies(bound[finest].grad_dict))
        compare(lambda executor: {**executor.output_dict, **executor.grad_dict}, truth)
    return truth


def _bind_all(sym: Any, ctx_list: Sequence[Mapping[str, Any]], grad_req: Any) -> list[Any]:
    if len(ctx_list) < 2:
        raise AssertionError(f"check_consistency compares two or more settings, got {len(ctx_list)}")
    symbols = [sym] * len(ctx_list) if isinstance(sym, Symbol) else list(sym)
    if len(symbols) != len(ctx_list):
        raise AssertionError(f"{len(symbols)} symbols for {len(ctx_list)} settings")
    if len({(tuple(one.list_arguments()), tuple(one.list_outputs())) for one in symbols}) > 1:
        raise AssertionError("the symbols have other arguments or outputs")
    pairs = zip(symbols, ctx_list, strict=True)
    return [one.simple_bind(grad_req=grad_req, **{"ctx": None, **given}) for one, given in pairs]


def _fill(bound: list[Any], args: Any, aux: Any, scale: float, use_uniform: bool, dtype: DTypeLike) -> None:
    """Give all executors the same values: those given, else random ones, and zeros for states and gradients."""
    values = {name: _host(value) for name, value in args.items()}
    for name, array in sorted(bound[0].arg_dict.items()):
        if name not in values:
            draw = onp.random.uniform(-0.92 * scale, 0.92 * scale, array.shape)
            values[name] = (draw if use_uniform else onp.random.normal(0, scale, array.shape)).astype(dtype)
    for executor in bound:
        for name, array in executor.arg_dict.items():
            array[...] = values[name].astype(array.dtype)
        for name, array in executor.aux_dict.items():
            array[...] = _host(aux[name]) if name in aux else 0
        for grad in executor.grad_arrays:
            if grad is not None:
                grad[...] = 0


def _backward_all(bound: list[Any], finest: int) -> None:
    """Go back from the outputs of the finest executor, rounded to the coarsest dtype so that all have the same."""
    for executor in bound:
        executor.forward(is_train=True)
    coarsest = min((out.dtype for executor in bound for out in executor.outputs), key=_precision)
    heads = [out.asnumpy().astype(coarsest) for out in bound[finest].outputs]
    for executor in bound:
        pairs = zip(heads, executor.outputs, strict=True)
        executor.backward([gnp.array(head.astype(out.dtype), dtype=out.dtype) for head, out in pairs])


def _precision(dtype: DTypeLike) -> float:
    """Return the precision of a dtype: bits of the fraction; all bits for integers."""
    dtype = onp.dtype(dtype)
    return {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}.get(dtype.name) or 8 * dtype.itemsize


def _copies(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value.asnumpy() for name, value in values.items() if value is not None}


def check_speed(
    sym: Any,
    location: Any = None,
    ctx: DeviceLike = None,
    N: int = 20,
    grad_req: Any = None,
    typ: str = "whole",
    **kwargs: Any,
) -> float:
    """Return the seconds that a forward, or with ``typ='whole'`` a forward and a backward, takes on average.

    Parameters
    ----------
    location : dict of str to array, optional
        Values; random ones of the shapes in `kwargs` by default.
    N : int
        How often; after one run that compiles.
    grad_req : optional
        ``'write'`` by default.
    typ : {'whole', 'forward'}
    """
    if typ not in ("whole", "forward"):
        raise ValueError(f"typ must be 'whole' or 'forward', got {typ!r}")
    shapes = kwargs if location is None else {name: _host(value).shape for name, value in location.items()}
    executor = sym.simple_bind(ctx, grad_req or "write", **shapes)
    for name, array in executor.arg_dict.items():
        array[...] = onp.random.normal(size=array.shape) if location is None else _host(location[name])

    def run() -> None:
        outputs = executor.forward(is_train=typ == "whole")
        if typ == "whole":
            executor.backward(list(outputs))

    run()
    engine.waitall()
    begin = time.perf_counter()
    for _ in range(N):
        run()
    engine.waitall()
    return (time.perf_counter() - begin) / N


def simple_forward(sym: Any, ctx: DeviceLike = None, is_train: bool = False, **inputs: Any) -> Any:
    """Return what a symbol gives for NumPy arrays by the names of its arguments, as NumPy: one array, or a list."""
    bound = _Bound(sym, {name: onp.asarray(value) for name, value in inputs.items()}, {}, onp.float32)
    outputs = [out.asnumpy() for out in bound.outputs(is_train)]
    return outputs[0] if len(outputs) == 1 else outputs


def same_symbol_structure(sym1: Any, sym2: Any) -> bool:
    """Return whether two symbols are the same graph of operators, whatever the nodes are called."""

    def graph(sym: Any) -> Any:
        found = json.loads(sym.tojson())
        nodes = [(node["op"], [tuple(entry[:2]) for entry in node["inputs"]]) for node in found["nodes"]]
        return nodes, [tuple(head[:2]) for head in found["heads"]]

    return graph(sym1) == graph(sym2)


def check_gluon_hybridize_consistency(
    net_builder: Callable[[], Any],
    data_l: Sequence[Any],
    numpy_func: Callable[..., Any] | None = None,
    test_grad: bool = True,
    rtol: float = 1e-4,
    atol: float = 1e-4,
) -> None:
    """Compare a net with its hybridized self: outputs, and gradients of inputs and parameters.

    Parameters
    ----------
    net_builder : callable
        Makes the net.
    data_l : list of arrays
        Its inputs.
    numpy_func : callable, optional
        Gives the output for NumPy arrays, to compare with.
    test_grad : bool
        Whether gradients are compared.

    Raises
    ------
    AssertionError
        If they differ.
    """
    params: dict[str, onp.ndarray] | None = None
    kept: tuple[Any, ...] | None = None
    for hybridize in (False, True):
        net = net_builder()
        net.initialize()
        inputs = [x.copy() for x in data_l]
        for x in inputs:
            if test_grad:
                x.attach_grad()
        if hybridize:
            net.hybridize()
        net(*inputs)
        if params is None:
            params = {name: p.data().asnumpy() for name, p in net.collect_params().items()}
        for (_, param), value in zip(net.collect_params().items(), params.values(), strict=True):
            param.set_data(gnp.array(value, dtype=value.dtype))
        with autograd.record(train_mode=test_grad):
            out = net(*inputs)
        grads: list[onp.ndarray] = []
        if test_grad:
            out.backward(out)
            grads = [x.grad.asnumpy() for x in inputs]
            grads += [p.grad().asnumpy() for p in net.collect_params().values() if p.grad_req != "null"]
        if kept is None:
            kept = out.asnumpy(), grads
            if numpy_func is not None:
                assert_almost_equal(kept[0], numpy_func(*[x.asnumpy() for x in inputs]), rtol, atol)
            continue
        assert_almost_equal(out.asnumpy(), kept[0], rtol, atol)
        for mine, theirs in zip(grads, kept[1], strict=True):
            assert_almost_equal(mine, theirs, rtol, atol)


# -- optimizers --------------------------------------------------------------------------------------------------------


def compare_optimizer(
    opt1: Any,
    opt2: Any,
    shapes: Any,
    dtype: DTypeLike,
    w_stype: str = "default",
    g_stype: str = "default",
    rtol: float = 1e-4,
    atol: float = 1e-5,
    compare_states: bool = True,
) -> None:
    """Compare what one update of two optimizers makes of the same weights and gradients, and their states.

    Parameters
    ----------
    opt1, opt2 : Optimizer
    shapes : tuple, or list of tuples
    dtype : dtype-like
    w_stype, g_stype : str
        Storage of weights and gradients.

    Raises
    ------
    AssertionError
        If they differ.
    """
    compare_optimizer_noise_seeded(opt1, opt2, shapes, dtype, None, w_stype, g_stype, rtol, atol, compare_states)


def compare_optimizer_noise_seeded(
    opt1: Any,
    opt2: Any,
    shapes: Any,
    dtype: DTypeLike,
    noise_seed: int | None,
    w_stype: str = "default",
    g_stype: str = "default",
    rtol: float = 1e-4,
    atol: float = 1e-5,
    compare_states: bool = True,
) -> None:
    """`compare_optimizer` for optimizers that draw: the same seed before each; None for the random state as it is."""
    listed = list(shapes) if isinstance(shapes, list) else [shapes]
    numbers = list(range(len(listed)))
    weights = [rand_ndarray(shape, w_stype, density=1, dtype=dtype) for shape in listed]
    grads = [rand_ndarray(shape, g_stype, density=0.5, dtype=dtype) for shape in listed]
    found: list[Any] = []
    for optimizer in (opt1, opt2):
        mine = [w.copy() for w in weights]
        states = [optimizer.create_state_multi_precision(i, w) for i, w in zip(numbers, mine, strict=True)]
        if noise_seed is not None:
            grandom.seed(noise_seed)
        optimizer.update_multi_precision(numbers, mine, [g.copy() for g in grads], states)
        found.append((states, mine))
    if compare_states:
        compare_ndarray_tuple(found[0][0], found[1][0], rtol, atol)
    compare_ndarray_tuple(found[0][1], found[1][1], rtol, atol)


# -- generators --------------------------------------------------------------------------------------------------------


def _stats() -> Any:
    try:
        from scipy import stats
    except ImportError as error:
        raise ImportError("this check needs scipy: pip install scipy") from error
    return stats


def gen_buckets_probs_with_ppf(ppf: Callable[[float], float], nbuckets: int) -> tuple[list[Any], list[float]]:
    """Return buckets (pairs of numbers) of equal probability, and these probabilities.

    Parameters
    ----------
    ppf : callable
        The quantile function of the distribution.
    """
    if nbuckets < 1:
        raise AssertionError(f"nbuckets must be positive, got {nbuckets}")
    ends = [ppf(i / nbuckets) for i in range(nbuckets + 1)]
    return list(itertools.pairwise(ends)), [1.0 / nbuckets] * nbuckets


def mean_check(generator: Callable[[int], Any], mu: float, sigma: float, nsamples: int = 1000000) -> bool:
    """Return whether the mean of samples lies within three standard errors of `mu`."""
    mean = onp.asarray(generator(nsamples), onp.float64).mean()
    return bool(abs(mean - mu) < 3 * sigma / onp.sqrt(nsamples))


def var_check(generator: Callable[[int], Any], sigma: float, nsamples: int = 1000000) -> bool:
    """Return whether the variance of samples of a normal distribution lies within three standard errors of its own."""
    variance = onp.asarray(generator(nsamples), onp.float64).var(ddof=1)
    return bool(abs(variance - sigma**2) < 3 * onp.sqrt(2 * sigma**4 / (nsamples - 1)))


def chi_square_check(
    generator: Callable[[int], Any], buckets: Any, probs: Sequence[float], nsamples: int = 1000000
) -> tuple[float, onp.ndarray, onp.ndarray]:
    """Return the p-value of a chi-square test, and the frequencies seen and expected.

    Parameters
    ----------
    generator : callable
        ``generator(n)`` gives n samples.
    buckets : list of pairs, or of values
        Neighbouring ranges of a continuous distribution; values of a discrete one.
    probs : list of float
        The probability of each.
    """
    samples = onp.asarray(generator(nsamples)).reshape(-1)
    expected = samples.size * onp.asarray(probs, onp.float64)
    if abs(float(onp.sum(probs)) - 1) > 1e-3:
        raise AssertionError(f"the probabilities sum to {onp.sum(probs)}, and not to 1")
    if isinstance(buckets[0], (list, tuple)):
        ends = onp.asarray([buckets[0][0], *[bucket[1] for bucket in buckets]], onp.float64)
        inside = samples[(samples >= ends[0]) & (samples < ends[-1])].astype(onp.float64)
        observed = onp.bincount(onp.searchsorted(ends, inside, side="right") - 1, minlength=len(buckets))
    else:
        observed = onp.asarray([onp.count_nonzero(samples == value) for value in buckets])
    # Samples outside of all buckets lower the sum; the statistic counts them.
    statistic = float(((observed - expected) ** 2 / expected).sum())
    outside = samples.size - int(observed.sum())
    p = 0.0 if outside > 0.01 * samples.size else float(_stats().chi2.sf(statistic, len(buckets) - 1))
    return p, observed, expected


def verify_generator(
    generator: Callable[[int], Any],
    buckets: Any,
    probs: Sequence[float],
    nsamples: int = 1000000,
    nrepeat: int = 5,
    success_rate: float = 0.2,
    alpha: float = 0.05,
) -> list[float]:
    """Return the p-values of repeated `chi_square_check`; AssertionError if too few are above `alpha`."""
    tests = [chi_square_check(generator, buckets, probs, nsamples) for _ in range(nrepeat)]
    values = [p for p, _, _ in tests]
    passed = sum(p > alpha for p in values)
    if passed < nrepeat * success_rate:
        raise AssertionError(
            f"the generator fails: {passed} of {nrepeat} chi-square tests have p > {alpha}; p={values}, "
            f"seen={tests[-1][1].tolist()}, expected={tests[-1][2].tolist()}"
        )
    return values


def retry(n: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that runs a test up to `n` times until it raises no AssertionError."""
    if n < 1:
        raise ValueError(f"retry takes a positive number, got {n}")

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def run(*args: Any, **kwargs: Any) -> Any:
            for turn in range(n):
                try:
                    return test(*args, **kwargs)
                except AssertionError:
                    if turn == n - 1:
                        raise
            return None

        return run

    return decorate
