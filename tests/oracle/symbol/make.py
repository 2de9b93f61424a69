"""Writes golden.json: operators of MXNet 2 as exported graphs with inputs and outputs, and what symbols of MXNet say.

Run with MXNet 2.0.0b1: ``python tests/oracle/symbol/make.py``.
"""

import json
import pathlib
import warnings

import numpy as onp
from mxnet import _deferred_compute as dc
from mxnet import nd, np, npx, sym

warnings.simplefilter("ignore")
HERE = pathlib.Path(__file__).parent

# name: (code on arrays x, y, ..., their shapes and dtypes). Written as users of mxnet.np write it.
CASES = {
    "add": ("x + y", [(2, 3), (3,)]),
    "subtract": ("x - y", [(2, 3), (2, 1)]),
    "multiply": ("x * y", [(2, 3), (3,)]),
    "true_divide": ("x / y", [(2, 3), (3,)]),
    "floor_divide": ("np.floor_divide(x, y)", [(2, 3), (3,)]),
    "mod": ("np.mod(x, y)", [(2, 3), (3,)]),
    "power": ("np.power(np.abs(x), y)", [(2, 3), (3,)]),
    "scalars": ("((2 - x) * 3 + 1) / 4 - 0.5", [(2, 3)]),
    "reversed": ("2 / (x * x + 1) + 2 ** x", [(2, 3)]),
    "power_scalar": ("x ** 2", [(2, 3)]),
    "mod_scalar": ("x % 2", [(2, 3)]),
    "compare": ("(x > y) * 1.0 + (x <= 0.5) + (x == y) + (x != y) + (x < y) + (x >= y)", [(2, 3), (3,)]),
    "logic": (
        "np.logical_and(x > 0, y > 0) + np.logical_or(x > 0, y > 0) + np.logical_xor(x > 0, y > 0) * 1.0",
        [(2, 3), (3,)],
    ),
    "maximum": ("np.maximum(x, y) + np.minimum(x, y) * 2 + np.maximum(x, 0.1) + np.minimum(x, 0.2)", [(2, 3), (3,)]),
    "arctan2": ("np.arctan2(x, y) + np.hypot(x, y) + np.copysign(x, y)", [(2, 3), (2, 3)]),
    "fmod": ("np.fmod(x, y) + np.fmax(x, y) + np.fmin(x, y)", [(2, 3), (2, 3)]),
    "ldexp": ("np.ldexp(x, y)", [(2, 3), (2, 3)]),
    "unary": (
        "np.exp(x) + np.log(np.abs(x) + 1) + np.sqrt(np.square(x)) + np.cbrt(x) + np.sin(x) + np.cos(x) + np.tan(x)"
        " + np.tanh(x) + np.sinh(x) + np.cosh(x) + np.arctan(x) + np.arcsinh(x) + np.expm1(x) + np.log1p(np.abs(x))",
        [(2, 3)],
    ),
    "rounding": (
        "np.floor(x) + 2 * np.ceil(x) + 3 * np.trunc(x) + 5 * np.rint(x) + 7 * np.sign(x) - np.negative(x)",
        [(2, 3)],
    ),
    "logs": ("np.log10(np.abs(x)) + np.log2(np.abs(x)) + np.degrees(x) + np.radians(x) + np.reciprocal(x)", [(2, 3)]),
    "inverse": ("np.arcsin(x / 4) + np.arccos(x / 4) + np.arctanh(x / 4) + np.arccosh(np.abs(x) + 1)", [(2, 3)]),
    "sum": ("np.sum(x, axis=1) + x.sum(axis=(1,), keepdims=False) + np.sum(x)", [(2, 3)]),
    "mean": ("np.mean(x, axis=(0, 2), keepdims=True)", [(2, 3, 4)]),
    "max": ("np.max(x, axis=-1) + np.min(x, axis=-1) + np.prod(x, axis=-1)", [(2, 3)]),
    "std": ("np.std(x, axis=1) + np.var(x, axis=1, ddof=1)", [(2, 3)]),
    "argmax": ("np.argmax(x, axis=1)", [(2, 3)]),
    "argmin": ("np.argmin(x, axis=0)", [(2, 3)]),
    "any": ("np.any(x > 0, axis=1)", [(2, 3)]),
    "cumsum": ("np.cumsum(x, axis=1)", [(2, 3)]),
    "transpose": ("np.transpose(x, (0, 2, 1)) + x.transpose(0, 2, 1)", [(2, 3, 4)]),
    "T": ("x.T", [(2, 3)]),
    "reshape": ("x.reshape(3, -1) + np.reshape(x, (-1, 2))", [(2, 3)]),
    "npx_reshape": ("npx.reshape(x, (-2, -5, -1))", [(2, 3, 4, 5)]),
    "npx_reshape_split": ("npx.reshape(x, (-2, -6, 2, -1, -4))", [(2, 6, 4)]),
    "squeeze": ("np.squeeze(x, axis=1)", [(2, 1, 3)]),
    "expand_dims": ("np.expand_dims(x, 1) + np.expand_dims(x, -2)", [(2, 3)]),
    "broadcast_to": ("np.broadcast_to(x, (4, 2, 3))", [(2, 3)]),
    "concatenate": ("np.concatenate([x, y], axis=1)", [(2, 3), (2, 2)]),
    "stack": ("np.stack([x, y], axis=1)", [(2, 3), (2, 3)]),
    "hstack": ("np.hstack([x, y])", [(2, 3), (2, 3)]),
    "split": ("np.split(x, 3, axis=1)[1] + np.split(x, 3, axis=-1)[0]", [(2, 6)]),
    "split_indices": ("np.split(x, (1, 4), axis=1)[1]", [(2, 6)]),
    "tile": ("np.tile(x, (2, 1)) + np.repeat(x, 2, axis=0)", [(2, 3)]),
    "pad": ("np.pad(x, ((1, 0), (0, 2)), mode='constant', constant_values=1.5)", [(2, 3)]),
    "pad_edge": ("np.pad(x, ((1, 1), (2, 2)), mode='edge')", [(2, 3)]),
    "roll": ("np.roll(x, 1, axis=1) + np.flip(x, axis=0)", [(2, 3)]),
    "swapaxes": ("np.swapaxes(x, 0, 2) + np.moveaxis(x, 0, 2).swapaxes(0, 1)", [(2, 3, 4)]),
    "rot90": ("np.rot90(x)", [(2, 3)]),
    "tril": ("np.tril(x, -1) + np.triu(x, 1)", [(3, 3)]),
    "diag": ("np.diag(x, k=0) + np.diagonal(x)", [(3, 3)]),
    "trace": ("np.trace(x)", [(3, 3)]),
    "matmul": ("np.matmul(x, y)", [(2, 3, 4), (2, 4, 5)]),
    "dot": ("np.dot(x, y)", [(2, 3), (3, 4)]),
    "einsum": ("np.einsum('bij,bjk->bik', x, y)", [(2, 3, 4), (2, 4, 5)]),
    "tensordot": ("np.tensordot(x, y, axes=1) + np.tensordot(x, y, axes=([2], [0]))", [(2, 3, 4), (4, 5)]),
    "kron": ("np.kron(x, y)", [(2, 2), (2, 2)]),
    "where": (
        "np.where(x > 0, x, y) + np.where(x > 0, x, 1.5) + np.where(x > 0, 2.0, y) + np.where(x > 0, 1.0, 0.0)",
        [(2, 3), (2, 3)],
    ),
    "zeros": (
        "x + np.zeros((2, 3)) + np.ones((3,)) + np.full((2, 1), 2.5) + np.zeros_like(x) + np.ones_like(x)",
        [(2, 3)],
    ),
    "full_like": ("np.full_like(x, 3.5) + x", [(2, 3)]),
    "arange": ("x + np.arange(3) + np.arange(1, 4, 1) + np.linspace(0, 1, 3)", [(2, 3)]),
    "eye": ("x + np.eye(3) + np.identity(3) + np.tri(3)", [(3, 3)]),
    "take": ("np.take(x, y.astype('int32'), axis=0, mode='clip')", [(4, 3), (2,)]),
    "index": ("x[0] + x[1, :] + x[:, 1][0] + x[-1, 1:3].sum()", [(2, 3)]),
    "slice_step": ("x[::2, ::-1]", [(4, 3)]),
    "clip": ("np.clip(x, -0.5, 0.5)", [(2, 3)]),
    "nan_to_num": ("np.nan_to_num(x)", [(2, 3)]),
    "around": ("np.around(x, 1)", [(2, 3)]),
    "sort": ("np.sort(x, axis=1) + np.argsort(x, axis=1)", [(2, 5)]),
    "average": ("np.average(x, axis=0, weights=np.abs(y))", [(4, 3), (4,)]),
    "cross": ("np.cross(x, y)", [(2, 3), (2, 3)]),
    "diff": ("np.diff(x, axis=1)", [(2, 5)]),
    "atleast": ("np.atleast_2d(x)", [(3,)]),
    "astype": ("x.astype('int32') + 1", [(2, 3)]),
    "isnan": ("np.isnan(x) + np.isfinite(x) * 1.0", [(2, 3)]),
    "solve": ("np.linalg.solve(x + 4 * np.eye(3), y)", [(3, 3), (3, 2)]),
    "norm": ("np.linalg.norm(x) + np.linalg.norm(x, axis=1).sum() + np.linalg.norm(x, 1, axis=0).sum()", [(2, 3)]),
    "norms": ("np.linalg.norm(x, 'fro') + np.linalg.norm(x, 'nuc') + np.linalg.norm(x, 2, axis=1).sum()", [(2, 3)]),
    "full": ("x + np.full((2, 3), 2) + np.full((3,), 0.5) + np.linspace(0.5, 2, 3)", [(2, 3)]),
    "npx_relu": (
        "npx.relu(x) + npx.sigmoid(x) + npx.activation(x, 'tanh') + npx.leaky_relu(x, act_type='elu')",
        [(2, 3)],
    ),
    "softmax": ("npx.softmax(x, axis=-1) + npx.log_softmax(x, axis=0)", [(2, 3)]),
    "masked_softmax": ("npx.masked_softmax(x, y > 0, axis=-1)", [(2, 3), (2, 3)]),
    "one_hot": ("npx.one_hot(np.abs(x).astype('int32'), 4)", [(2, 3)]),
    "pick": ("npx.pick(x, np.abs(y).astype('int32'), axis=1)", [(2, 3), (2,)]),
    "topk": ("npx.topk(x, k=2, ret_typ='value', axis=1)", [(2, 5)]),
    "batch_dot": ("npx.batch_dot(x, y, transpose_b=True)", [(2, 3, 4), (2, 5, 4)]),
    "gamma": ("npx.erf(x) + npx.gamma(np.abs(x) + 1) + npx.gammaln(np.abs(x) + 1) + npx.smooth_l1(x)", [(2, 3)]),
    "sequence_mask": ("npx.sequence_mask(x, np.abs(y) + 1, use_sequence_length=True, value=-1.0)", [(4, 2, 3), (2,)]),
    "layer_norm": ("npx.layer_norm(x, y, y, axis=-1, eps=1e-5)", [(2, 3), (3,)]),
    "fully_connected": ("npx.fully_connected(x, y, num_hidden=4, no_bias=True, flatten=False)", [(2, 5, 3), (4, 3)]),
    "embedding": ("npx.embedding(np.abs(x).astype('int32'), y, 5, 3)", [(2, 3), (5, 3)]),
    "arange_like": ("npx.arange_like(x, axis=1) + x", [(2, 3)]),
    "gather_nd": ("npx.gather_nd(x, np.abs(y).astype('int32'))", [(4, 3), (1, 2)]),
    "index_update": ("npx.index_update(x, np.zeros((1, 1), dtype='int32'), y)", [(4, 3), (1, 3)]),
    "deconvolution": (
        "npx.deconvolution(x, y, kernel=(2, 2), stride=(2, 2), num_filter=2, no_bias=True)",
        [(1, 3, 2, 2), (3, 2, 2, 2)],
    ),
    "convolution": ("npx.convolution(x, y, kernel=(3,), pad=(1,), num_filter=2, no_bias=True)", [(1, 3, 5), (2, 3, 3)]),
    "pooling": (
        "npx.pooling(x, kernel=(2, 2), stride=(1, 1), pool_type='avg', count_include_pad=False, pad=(1, 1))",
        [(1, 2, 4, 4)],
    ),
    "slice": ("npx.slice(x, begin=(0, 1), end=(None, 3)) + npx.slice_like(x, np.ones((2, 2)), axes=(1,))", [(2, 3)]),
    "mish": ("npx.activation(x, 'mish') + npx.activation(x, 'log_sigmoid') + npx.activation(x, 'softrelu')", [(2, 3)]),
}


def traced(code, shapes):
    """The graph of a piece of code, what went in and what came out."""
    letters = "xyzw"[: len(shapes)]
    random = onp.random.RandomState(len(code))
    values = [random.uniform(-2, 2, s).astype("float32") for s in shapes]
    arrays = [np.array(v) for v in values]
    variables = [sym.var(c).as_np_ndarray() for c in letters]
    with dc.context():
        dc.set_variable(arrays, variables)
        out = eval(code, {"np": np, "npx": npx, **dict(zip(letters, arrays))})
    graph = dc.get_symbol(out)
    return json.loads(graph.tojson()), values, out.asnumpy()


def operators():
    found = {}
    for name, (code, shapes) in CASES.items():
        graph, values, out = traced(code, shapes)
        for node in graph["nodes"]:
            node.get("attrs", {}).pop("__profiler_scope__", None)
        found[name] = {
            "code": code,
            "graph": graph,
            "inputs": [v.tolist() for v in values],
            "output": out.tolist(),
            "dtype": out.dtype.name,
        }
    return found


def inspected():
    """Inspect symbols of MXNet 1's kind, in the mode without NumPy's shapes."""
    npx.reset_np()
    a, b = sym.var("a"), sym.var("b")
    fc = sym.FullyConnected(a, num_hidden=3, name="fc")
    bn = sym.BatchNorm(fc, name="bn", fix_gamma=False, output_mean_var=True)
    conv = sym.Convolution(a, kernel=(3, 3), num_filter=4, name="conv")
    net = sym.SoftmaxOutput(
        sym.FullyConnected(sym.Activation(conv, act_type="relu"), num_hidden=2, name="out"), name="softmax"
    )
    made = {
        "plus": (a + b, {"a": (2, 3)}),
        "scalar": ((1 - a) * 2 / 3**a, {"a": (2, 3)}),
        "fc": (fc, {"a": (2, 5)}),
        "fc_unknown": (fc, {}),
        "bn": (bn, {"a": (2, 5)}),
        "bn_internals": (bn.get_internals(), {"a": (2, 5)}),
        "split": (sym.SliceChannel(a, num_outputs=2, name="s"), {"a": (2, 4)}),
        "group": (sym.Group([fc, sym.Concat(a, b, dim=1, name="c")]), {"a": (2, 5), "b": (2, 1)}),
        "net": (net, {"a": (2, 3, 8, 8)}),
        "embedding": (sym.Embedding(a, input_dim=7, output_dim=3, name="e"), {"a": (2, 5)}),
        "lstm": (
            sym.LeakyReLU(sym.Deconvolution(a, kernel=(2, 2), num_filter=3, name="d"), act_type="prelu", name="p"),
            {"a": (1, 2, 4, 4)},
        ),
    }
    found = {}
    for name, (s, shapes) in made.items():
        found[name] = {
            "json": s.tojson(),
            "given": shapes,
            "arguments": s.list_arguments(),
            "outputs": s.list_outputs(),
            "states": s.list_auxiliary_states(),
            "shapes": s.infer_shape_partial(**shapes),
        }
    return found


def loops():
    """Graphs with bodies, what went in and what came out; without NumPy's shapes."""
    w, zero = onp.array([2.0, 3.0], "float32"), onp.array([0.0], "float32")
    start, data = onp.array([1.0, 2.0], "float32"), onp.arange(6, dtype="float32").reshape(3, 2)
    weight, state = sym.var("w"), sym.var("s")

    def body(x, states):
        out = sym.broadcast_mul(x, weight) + states[0]
        return out, [out * 0.5]

    outs, last = sym.contrib.foreach(body, sym.var("data"), [state])
    more, ends = sym.contrib.while_loop(
        lambda i, s: i < 4, lambda i, s: (s * 1.0, [i + 1, s * weight]), [sym.var("i"), state], max_iterations=6
    )
    branch = sym.contrib.cond(sym.var("i") < 1, lambda: state * weight, lambda: state + weight)
    made = {
        "foreach": (sym.Group([outs, last[0]]), {"data": data, "s": start, "w": w}),
        "while_loop": (sym.Group([more, *ends]), {"i": zero, "s": start, "w": w}),
        "then": (branch, {"i": zero, "s": start, "w": w}),
        "else": (branch, {"i": zero + 1, "s": start, "w": w}),
    }
    found = {}
    for name, (s, values) in made.items():
        out = s.eval(**{k: nd.array(v) for k, v in values.items()})
        found[name] = {
            "json": s.tojson(),
            "inputs": {k: v.tolist() for k, v in values.items()},
            "outputs": [o.asnumpy().tolist() for o in out],
        }
    return found


if __name__ == "__main__":
    npx.set_np()
    content = {"operators": operators(), "symbols": inspected(), "loops": loops()}
    (HERE / "golden.json").write_text(json.dumps(content, separators=(",", ":")) + "\n")
    print({k: len(v) for k, v in content.items()}, (HERE / "golden.json").stat().st_size)
