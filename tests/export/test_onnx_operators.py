"""Every operator with a mapping to ONNX: the rows of the contract tables, and those of `onnx_rows.py`.

gluonx writes, onnx finds valid, and onnxruntime computes the same numbers from.
"""

import json

import numpy as np
import onnx
import pytest

from gluonx import nn, npx
from gluonx import np as gnp
from gluonx.contrib.quantization import quantize_net
from gluonx.deferred.record.engine import invoke
from gluonx.errors import GraphError
from gluonx.export import InputSpec
from gluonx.export.onnx import emit
from gluonx.export.onnx.export import program_of
from gluonx.onnx import import_model
from gluonx.ops.registry import OPS, get
from lib import TESTS, sweep
from lib.contract import LAYERS
from lib.contract_edges import INPUTS
from lib.contract_edges import ROWS as EDGES
from lib.exported_nets import CASES, make
from lib.onnx_rows import BRACKETS
from lib.onnx_rows import ROWS as OPERATORS
from lib.onnx_served import Code, handles, sent, served
from lib.sweep import churn  # noqa: F401 - a fixture

GOLDEN = json.loads((TESTS / "oracle" / "symbol" / "golden.json").read_text())["operators"]


# ---------------------------------------------------------------------------------------------------- the contract rows


@pytest.mark.parametrize("row", LAYERS, ids=lambda row: row.key)
@pytest.mark.filterwarnings("ignore:All children of this Sequential")
def test_layers(tmp_path, row):
    net = sweep.build(row, nn)
    if isinstance(net, nn.HybridBlock):
        sent(net, row.inputs(), tmp_path)
    else:
        assert not hasattr(net, "export")


REFUSED = {
    "solve": "'linalg_solve'",
    "norms": "'linalg_norm' .no norm of order 'nuc'",
    "gamma": "'gamma' .*\n.*'gammaln'",
}


@pytest.mark.parametrize("name", GOLDEN)
def test_operators_of_the_symbols_give_mxnets_numbers(tmp_path, name):
    given = GOLDEN[name]
    arrays = [np.array(v, "float32") for v in given["inputs"]]
    code = compile(given["code"], "<case>", "eval")
    net = Code(lambda *xs: eval(code, {"np": gnp, "npx": npx, **dict(zip("xyzw", xs))}))
    if name in REFUSED:
        with pytest.raises(GraphError, match=REFUSED[name]):
            sent(net, arrays, tmp_path, sizes=False)
        return
    sent(net, arrays, tmp_path, sizes=False)
    (found,) = served(tmp_path / "net.onnx", arrays)
    np.testing.assert_allclose(found, np.array(given["output"]), rtol=1e-5, atol=1e-5)


UNMAPPED = frozenset(["median", "searchsorted", "percentile", "partition", "gcd", "lcm", "cond", "solve"])
_VALUES = ("unique", "histogram2d", "histogramdd")  # functions that look at values, which an export has not
DIFFERENT = {
    **dict.fromkeys(
        ["np.max(x) of wild", "np.min(x) of wild", "np.max(x, axis=-1) of wild"], "onnxruntime passes over a NaN"
    ),
    **dict.fromkeys(["np.argmax(x, axis=1) of wild", "np.argmin(x, axis=1) of wild"], "onnxruntime passes over a NaN"),
    "np.mean(x, axis=0) of empty": "onnxruntime's mean of nothing is 0",
    "np.arctan2(x, x) of zeros": "an infinity divided by an infinity",
}
PLAIN = [row for row in EDGES if not any(word in row.expression for word in ("layer(", "measured(", "loss.", *_VALUES))]


def edge(row):
    return Code(lambda *xs: eval(row.expression, {"np": gnp, "npx": npx, "nn": nn, **dict(zip("xyz", xs))}))


@pytest.mark.parametrize(
    "row",
    [pytest.param(r, id=r.key, marks=[pytest.mark.slow] * (int(r.mark, 16) % 4 > 0)) for r in PLAIN],
)
def test_edges(tmp_path, row):
    arrays = [INPUTS[name] for name in row.inputs]
    half = any(a.dtype == np.float16 for a in arrays)
    if any(f".{name}(" in row.expression for name in UNMAPPED):
        with pytest.raises(GraphError, match="cannot be written in ONNX"):
            sent(edge(row), arrays, tmp_path, sizes=False)
    elif row.key in DIFFERENT:
        with pytest.raises(AssertionError):
            sent(edge(row), arrays, tmp_path, sizes=False)
    else:
        sent(edge(row), arrays, tmp_path, tol=2e-3 if half else max(row.tol, 1e-5), sizes=False)


def test_known_differences_are_of_rows():
    assert set(DIFFERENT) <= {row.key for row in PLAIN}


# -------------------------------------------------------------------------------------------------- every core operator


def given_to(row):
    return [a for a in row.arrays if a is not None] or [np.ones(2, "float32")]


def block_of(row):
    def run(*given):
        if not row.arrays:
            return given[0] * 2, invoke(get(row.op).bind(**row.attrs), ())
        left = iter(given)
        return invoke(get(row.op).bind(**row.attrs), tuple(None if a is None else next(left) for a in row.arrays))

    return Code(run)


@pytest.mark.parametrize("row", OPERATORS, ids=lambda row: row.key)
def test_operators(tmp_path, row):
    sent(block_of(row), given_to(row), tmp_path, row.tol, sizes=False)


ANOTHER_WAY_BACK = {
    **dict.fromkeys(["take", "take_along_axis"], "indices from the end are made ones from the front first"),
    "slice": "a slice for each axis, of which ONNX has one",
    **dict.fromkeys(["pooling", "deconvolution"], "ONNX pads in more ways than one; the other powers of a norm"),
    "bilinear_resize": "the general resize, as two products",
    "sequence_reverse": "time is the first axis here",
}
"""Operators that are one of ONNX's, and come back as several."""


@pytest.mark.parametrize("row", [r for r in OPERATORS if r.op not in ANOTHER_WAY_BACK], ids=lambda row: row.key)
def test_an_operator_that_onnx_has_comes_back_as_itself(tmp_path, row):
    """Out, in and out again: the same nodes, where the first time it is one node (and casts)."""
    net, arrays = block_of(row), given_to(row)

    def nodes(net, name):
        path = net.export(tmp_path / name, format="onnx", inputs=handles(arrays), dynamic_batch=False)
        return [node.op_type for node in onnx.load(path).graph.node if node.op_type not in ("Cast", "Identity")]

    first = nodes(net, "first")
    if len(first) == 1:
        assert nodes(import_model(str(tmp_path / "first.onnx")), "second") == first


@pytest.mark.parametrize("code", BRACKETS)
def test_brackets(tmp_path, code):
    def put(x, key, value):
        x = x.copy()
        x[key] = value
        return x

    def run(x, *more):
        return eval(code, {"x": x, "put": put, "i": more[0] if more else None})

    arrays = [np.random.RandomState(0).uniform(0.5, 2, (3, 3, 4)).astype("float32"), np.array([2, 0, 1], "int32")]
    sent(Code(run), arrays[: BRACKETS[code]], tmp_path, sizes=False)


def recorded(net, arrays):
    specs = [InputSpec(f"data{i}", a.shape, a.dtype.name) for i, a in enumerate(arrays)]
    return program_of(net, specs)[0].steps


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:All children of this Sequential")
def test_every_mapped_operator_is_in_a_table():
    nets = [(sweep.build(row, nn), row.inputs()) for row in LAYERS]
    nets += [(edge(row), [INPUTS[n] for n in row.inputs]) for row in PLAIN]
    nets += [(block_of(row), given_to(row)) for row in OPERATORS]
    met = {"derived gather", "derived scatter", "derived write", "derived mask_write", "derived power", "derived cast"}
    for net, arrays in nets:
        if isinstance(net, nn.HybridBlock):
            for step in recorded(net, arrays):
                extra = getattr(step.op, "extra", None)
                met.add(f"derived {extra[0]}" if isinstance(extra, tuple) else step.op.name)
                met.add(step.op.attrs.get("act_type"))
    for given in GOLDEN.values():
        code = compile(given["code"], "<case>", "eval")
        net = Code(lambda *xs, code=code: eval(code, {"np": gnp, "npx": npx, **dict(zip("xyzw", xs))}))
        met.update(step.op.name for step in recorded(net, [np.array(v, "float32") for v in given["inputs"]]))
    for name in CASES:
        net, arrays, _ = make(name)
        met.update(step.op.name for step in recorded(net, arrays))
    images, layers = np.ones((1, 2, 4, 4), "float32"), nn.HybridSequential()
    layers.add(nn.Conv2D(2, 3), nn.Dense(2))  # whose numbers in int8 tests/test_quantization.py compares
    layers.initialize()
    small = quantize_net(layers, calib_data=[images], calib_mode="naive")
    met.update(step.op.name for step in recorded(small, [images]))
    emit.supported()
    assert {name for name in emit.RULES if name not in met} == set()


def test_the_table_names_core_operators_only():
    assert set(emit.supported()) <= set(OPS)
