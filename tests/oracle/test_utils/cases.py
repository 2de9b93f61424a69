"""Decisions of ``mx.test_utils``, written once for both libraries; nothing here imports either."""

import itertools

import numpy as onp

DTYPES = ("float16", "float32", "float64", "int32", "uint8", "int64", "bool")
DIFFERENCES = (0, 1e-7, 2e-5, 9e-4, 2e-3, 9e-2, 0.3)
NUMBERS = ((1.0, 1.0), (0.0, 1e-21), (1000.0, 1000.05), (float("nan"),) * 2, (float("inf"),) * 2, (1.0, float("nan")))


def decided(call, *args, **kwargs):
    """Return the truth value that a function gives, None for no truth value, or the class of its error."""
    try:
        found = call(*args, **kwargs)
    except Exception as error:
        return type(error).__name__
    return bool(found) if isinstance(found, (bool, onp.bool_)) else None


def comparisons(t, array):
    found = {}
    for one, other in itertools.combinations_with_replacement(DTYPES, 2):
        base = onp.array([1, 1, 1])
        for difference in DIFFERENCES:
            b = base.astype("float64").copy()
            b[1] += difference
            pair = base.astype(one), b.astype(other)
            found[f"{one} {other} {difference}"] = [
                decided(t.almost_equal, *pair),
                decided(t.assert_almost_equal, *pair),
                decided(t.assert_almost_equal, array(pair[0]), array(pair[1]))
                if not {"float64", "bool"} & {one, other}
                else None,
            ]
    for i, (a, b) in enumerate(NUMBERS):
        for dtype in ("float32", "float64"):
            pair = onp.array([a], dtype), onp.array([b], dtype)
            found[f"numbers {i} {dtype}"] = [
                decided(t.almost_equal, *pair),
                decided(t.almost_equal, *pair, equal_nan=True),
                decided(t.assert_almost_equal, *pair),
                decided(t.assert_allclose, *pair),
                decided(t.assert_almost_equal_ignore_nan, *pair),
                decided(t.same, *pair),
            ]
    ones, tens = onp.ones((2, 5), "float32"), onp.ones((2, 5), "float32")
    tens[1, 3] = 10
    for etol in (0, 0.05, 0.1, 0.2, None):
        found[f"etol {etol}"] = decided(t.assert_almost_equal_with_err, ones, tens, etol=etol)
    found["given"] = [
        decided(t.almost_equal, ones, tens, rtol=r, atol=a) for r, a in ((0.9, 0), (0.89, 0), (0, 9), (0, 8.9))
    ]
    found["by dtype"] = [
        decided(t.assert_almost_equal, ones, tens, rtol={onp.dtype("float32"): 0.95}, atol=0),
        decided(t.assert_almost_equal, ones, tens, rtol={onp.dtype("float64"): 0.95}, atol=0),
    ]
    found["shapes"] = [
        decided(t.almost_equal, ones, ones[:1]),
        decided(t.almost_equal, ones, ones[:1], use_broadcast=False),
        decided(t.assert_almost_equal, ones, ones[:, :2]),
        decided(t.same, ones, ones[:1]),
    ]
    found["raises"] = [
        decided(t.assert_exception, int, ValueError, "x"),
        decided(t.assert_exception, int, KeyError, "x"),
        decided(t.assert_exception, int, ValueError, "3"),
    ]
    return found


def tolerances(t):
    found = {
        name: {str(onp.dtype(key)): value for key, value in getattr(t, name)().items()}
        for name in ("default_rtols", "default_atols", "default_numeric_eps")
    }
    found["got"] = [t.get_rtol(), t.get_atol(), t.get_etol(), t.get_rtol(0.5), t.get_etol(0.5)]
    pairs = list(itertools.combinations_with_replacement(DTYPES, 2))
    found["tols"] = [[float(v) for v in t.get_tols(onp.ones(1, a), onp.ones(1, b), None, None)] for a, b in pairs]
    found["numbers"] = [[float(v) for v in t.get_tols(x, onp.ones(1, "float32"), None, None)] for x in (1, 1.0, True)]
    return found


def helpers(t):
    a = onp.arange(24.0).reshape(2, 3, 4)
    return {
        "np_reduce": [t.np_reduce(a, axis, keep, onp.sum).tolist() for axis in (None, 1, (0, 2)) for keep in (0, 1)],
        "collapse": [t.collapse_sum_like(a, shape).tolist() for shape in ((2, 3, 4), (1, 3, 4), (3, 1), (2, 1, 1))],
        "buckets": [list(map(list, t.gen_buckets_probs_with_ppf(lambda p: 2 * p, 4)[0]))],
        "dtype": onp.dtype(t.default_dtype()).name,
    }


def symbols(t, sym):
    """Checks of symbols that have to pass, and such that have to fail."""
    x, y = sym.Variable("x"), sym.Variable("y")
    a, b = onp.array([[0.5, -1.0, 2.0]], "float32"), onp.array([[2.0, 3.0, 0.25]], "float32")
    net = sym.broadcast_mul(x, y)
    wrong = sym.BlockGrad(x) * y
    values = {"x": a, "y": b}
    return {
        "gradient": decided(t.check_numeric_gradient, net, values),
        "gradient list": decided(t.check_numeric_gradient, net, [a, b]),
        "wrong gradient": decided(t.check_numeric_gradient, wrong, values),
        "one node": decided(t.check_numeric_gradient, wrong, values, grad_nodes=["y"]),
        "half": decided(t.check_numeric_gradient, net, values, dtype=onp.float16, numeric_eps=0.25),
        "forward": decided(t.check_symbolic_forward, net, values, [a * b]),
        "forward dict": decided(t.check_symbolic_forward, net, values, {net.list_outputs()[0]: a * b}),
        "wrong forward": decided(t.check_symbolic_forward, net, values, [a * b + 0.01]),
        "wrong names": decided(t.check_symbolic_forward, net, {"x": a}, [a * b]),
        "backward": decided(t.check_symbolic_backward, net, values, [onp.ones_like(a)], {"x": b, "y": a}),
        "wrong backward": decided(t.check_symbolic_backward, net, values, [onp.ones_like(a)], {"x": b, "y": b}),
        "backward add": decided(
            t.check_symbolic_backward, net, values, [2 * onp.ones_like(a)], [2 * b, 2 * a], grad_req="add"
        ),
    }


SYMBOLS_PASS = {
    "gradient": True,
    "gradient list": True,
    "wrong gradient": False,
    "one node": True,
    "half": True,
    "forward": True,
    "forward dict": True,
    "wrong forward": False,
    "wrong names": False,
    "backward": True,
    "wrong backward": False,
    "backward add": True,
}
