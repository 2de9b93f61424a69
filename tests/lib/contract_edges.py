"""Edge cases of functions, layers and losses: the part of the contract table where rounding is not what matters.

A row is an expression in ``np``, ``npx``, ``nn`` or ``loss`` of up to three inputs ``x``, ``y`` and ``z``, which
`test_contract_edges.py` and the script that asks MXNet (`oracle/edges/make_golden.py`) both evaluate: empty batches,
axes of length one, negative axes, NaN and infinities, ties, indices out of range, several element types. ``KNOWN`` says
where MXNet does otherwise, and why that is left as it is.

This file must stay importable by the oracle's Python, which has NumPy 1.23 and no JAX.
"""

import zlib

import numpy as onp

__all__ = ["INPUTS", "KNOWN", "ROWS", "Edge", "helpers"]

_RNG = onp.random.RandomState(3)
_NAN, _INF = onp.nan, onp.inf

INPUTS = {
    "wild": onp.array([[1.0, _NAN, -2.0, _INF], [0.0, -0.0, -_INF, 3.0]], "float32"),
    "zeros": onp.array([0.0, -0.0, 1.0, -1.0, _INF, -_INF, _NAN, 2.0], "float32"),
    "ties": onp.array([[2.0, 1.0, 2.0, 2.0, 0.0], [3.0, 3.0, 3.0, 3.0, 3.0]], "float32"),
    "same": onp.full((2, 3), 4.0, "float32"),
    "huge": onp.array([[-1e4, 1e4, 0.0], [88.0, -104.0, 30.0]], "float32"),
    "empty": onp.zeros((0, 4), "float32"),
    "hollow": onp.zeros((2, 0, 3), "float32"),
    "one": onp.array([[[0.7]]], "float32"),
    "thin": _RNG.uniform(-1, 1, (2, 1, 3)).astype("float32"),
    "plain": _RNG.uniform(-1, 1, (2, 3, 4)).astype("float32"),
    "matrix": _RNG.uniform(-1, 1, (3, 4)).astype("float32"),
    "picture": onp.round(_RNG.uniform(0, 2, (1, 2, 4, 4))).astype("float32"),  # with many ties
    "no_pictures": onp.zeros((0, 2, 4, 4), "float32"),
    "vector4": _RNG.uniform(0.5, 1, (4,)).astype("float32"),
    "weight": _RNG.uniform(-1, 1, (5, 4)).astype("float32"),
    "kernel": _RNG.uniform(-1, 1, (3, 2, 3, 3)).astype("float32"),
    "stray": onp.array([-1, 0, 7, 2], "int32"),
    "mask": onp.array([[True, False, True, False], [False, False, False, False]]),
    "whole": onp.array([[7, -7, 3, 0], [-8, 8, -1, 5]], "int32"),
    "divisor": onp.array([[2, 2, -2, 3], [3, -3, 5, -5]], "int32"),
    "small": onp.array([[100, 27, -128], [1, -1, 5]], "int8"),
    "bytes": onp.array([[200, 100, 0]], "uint8"),
    "flags": onp.array([[True, False], [True, True]]),
    "half": _RNG.uniform(-2, 2, (2, 3, 4)).astype("float16"),
    "half_big": onp.array([[60000.0, 60000.0, 1e-7], [0.0, -60000.0, 3.0]], "float16"),
    "rows": onp.array([0, 1], "int32"),
    "labels": onp.array([1.0, 0.0], "float32"),
    "no_labels": onp.zeros((0,), "float32"),
}


class Edge:
    """A row: an expression, its inputs' names, and whether the gradient of the first input is compared."""

    def __init__(self, expression, *inputs, grad=True, tol=1e-5):
        self.expression, self.inputs, self.grad, self.tol = expression, inputs, grad, tol
        self.key = f"{expression} of {', '.join(inputs)}"
        self.mark = f"{zlib.crc32(self.key.encode()):08x}"  # its name in the golden file


def _each(expressions, *inputs, **more):
    return [Edge(expression, *inputs, **more) for expression in expressions]


_ELEMENTWISE = _each(
    [
     "npx.relu(x)", "npx.sigmoid(x)", "np.tanh(x)", "np.exp(x)", "np.log(x)", "np.sqrt(x)", "np.abs(x)",
     "np.square(x)", "npx.softsign(x)", "np.expm1(x)", "np.log1p(x)", "np.cbrt(x)", "np.arctan(x)", "np.sinh(x)",
     "npx.erf(x)", "npx.activation(x, 'softrelu')", "npx.leaky_relu(x, act_type='elu')",
     "npx.leaky_relu(x, act_type='gelu')", "npx.smooth_l1(x, scalar=1.0)", "np.clip(x, -0.5, 0.5)",
     "np.maximum(x, 0)", "np.minimum(x, 0)"
    ],
    "zeros",
) + _each(
    [
     "np.sign(x)", "np.floor(x)", "np.ceil(x)", "np.trunc(x)", "np.isnan(x)", "np.isinf(x)", "np.isfinite(x)",
     "np.logical_not(x)", "np.nan_to_num(x)", "np.reciprocal(x)", "np.power(x, 0)", "np.power(x, 0.5)",
     "np.arctan2(x, x)", "np.hypot(x, x)", "np.copysign(1.0, x)", "np.fmax(x, 0)", "np.fmin(x, 0)", "np.mod(x, 2)",
     "np.true_divide(x, 0)", "np.equal(x, x)", "np.greater(x, 0)"
    ],
    "zeros", grad=False,
)  # fmt: skip
_HUGE = _each(
    [
     "npx.softmax(x)", "npx.log_softmax(x)", "npx.sigmoid(x)", "npx.activation(x, 'log_sigmoid')",
     "npx.activation(x, 'softrelu')", "npx.activation(x, 'mish')", "np.tanh(x)", "npx.softmax(x, temperature=0.5)",
     "npx.softmax(x, axis=0)", "np.logaddexp(x, 0)"
    ],
    "huge", tol=1e-4,
)  # fmt: skip
_REDUCED = _each(
    [
     "np.sum(x)", "np.mean(x)", "np.max(x)", "np.min(x)", "np.prod(x)", "np.sum(x, axis=-1)", "np.max(x, axis=-1)",
     "np.min(x, axis=0)", "np.cumsum(x, axis=-1)", "np.nansum(x)", "np.argmax(x, axis=1)", "np.argmin(x, axis=1)",
     "np.any(x, axis=1)", "np.all(x)", "np.count_nonzero(x)"
    ],
    "wild", grad=False,
) + _each(
    [
     "np.sum(x)", "np.mean(x, axis=0)", "np.prod(x)", "np.sum(x, axis=0)", "np.max(x, axis=1)",
     "np.var(x, axis=1)", "np.cumsum(x)", "np.sort(x, axis=1)", "npx.softmax(x)", "npx.log_softmax(x)",
     "np.argmax(x, axis=1)", "np.concatenate([x, x], axis=0)", "np.stack([x, x], axis=-1)",
     "np.expand_dims(x, -1)", "np.transpose(x)", "np.reshape(x, (0, 2, 2))", "np.tile(x, (2, 2))",
     "np.repeat(x, 3, axis=0)", "np.flip(x, axis=0)", "x + 1", "x * x"
    ],
    "empty", grad=False,
) + _each([
     "np.sum(x, axis=1)", "np.prod(x, axis=1)", "np.mean(x, axis=2)", "np.sum(x, axis=(0, 2))"
    ], "hollow",
          grad=False)  # fmt: skip
_AXES = _each(
    [
     "np.sum(x, axis=-2)", "np.mean(x, axis=(-1, 0))", "np.max(x, axis=-3)", "np.var(x, axis=-1)",
     "np.std(x, axis=-2)", "np.cumsum(x, axis=-1)", "np.transpose(x, (-1, 0, 1))", "np.swapaxes(x, -1, 0)",
     "np.moveaxis(x, -1, 0)", "np.roll(x, 1, axis=-2)", "np.flip(x, axis=-1)", "np.concatenate([x, x], axis=-2)",
     "np.stack([x, x], axis=-2)", "np.split(x, 2, axis=-1)[1]", "np.expand_dims(x, -2)",
     "np.take(x, np.array([1, 0]), axis=-1)", "npx.softmax(x, axis=-2)", "npx.log_softmax(x, axis=0)",
     "npx.pick(x, np.array([[0, 1, 2], [3, 0, 1]]), axis=-1)", "np.diagonal(x, axis1=-2, axis2=-1)",
     "np.trace(x, axis1=-2, axis2=-1)", "np.rot90(x, axes=(-2, -1))", "np.squeeze(np.expand_dims(x, 0), 0)",
     "np.linalg.norm(x, axis=-1)", "npx.layer_norm(x, y, y, axis=-1)", "npx.l2_normalization(x)",
     "np.sort(x, axis=-2)", "np.rollaxis(x, -1)", "np.array_split(x, 3, axis=-1)[0]"
    ],
    "plain", "vector4", tol=1e-4,
)  # fmt: skip
_ONES = _each(
    [
     "np.sum(x, axis=1)", "np.var(x, axis=1)", "np.std(x, axis=1)", "npx.softmax(x, axis=1)",
     "npx.log_softmax(x, axis=1)", "np.squeeze(x)", "np.squeeze(x, axis=1)", "np.max(x, axis=1)",
     "np.broadcast_to(x, (2, 4, 3))", "np.cumsum(x, axis=1)", "npx.layer_norm(x, np.ones(1), np.zeros(1), axis=1)",
     "npx.instance_norm(x, np.ones(1), np.zeros(1))", "npx.group_norm(x, np.ones(1), np.zeros(1), num_groups=1)"
    ],
    "thin", tol=1e-4,
) + _each([
     "np.sum(x)", "np.var(x)", "npx.softmax(x)", "np.squeeze(x)", "np.sort(x)", "np.argmax(x)"
    ], "one", grad=False)  # fmt: skip
_TIES = _each(
    ["np.max(x, axis=1)", "np.min(x, axis=1)", "np.sort(x, axis=1)"], "ties", grad=False
) + _each(
    [
     "np.argmax(x, axis=1)", "np.argmin(x, axis=1)", "npx.topk(x, k=1)", "npx.topk(x, k=5, ret_typ='value')",
     "npx.topk(x, k=5, ret_typ='mask')", "npx.topk(x, k=2, ret_typ='mask', is_ascend=True)",
     "np.median(x, axis=1)", "np.unique(x)", "np.searchsorted(np.array([0.0, 1, 2, 2, 3]), x)",
     "np.percentile(x, 50, axis=1)"
    ],
    "ties", grad=False,
) + _each(
    ["npx.layer_norm(x, np.ones(3), np.zeros(3))", "np.var(x, axis=1)"], "same",
) + _each(
    [
     "npx.pooling(x, kernel=(2, 2), stride=(2, 2), pool_type='max')",
     "npx.pooling(x, kernel=(3, 3), stride=(1, 1), pad=(1, 1), pool_type='max')",
     "npx.pooling(x, global_pool=True, pool_type='max', kernel=(1, 1))",
     "npx.pooling(x, kernel=(2, 2), stride=(2, 2), pool_type='avg')"
    ],
    "picture",
)  # fmt: skip
_KINKS = _each(
    [  # where a gradient jumps, and where both sides are equal
     "npx.relu(x)", "npx.softsign(x)", "npx.smooth_l1(x, scalar=1.0)", "npx.activation(x, 'softrelu')",
     "npx.leaky_relu(x, act_type='leaky')", "npx.leaky_relu(x, act_type='elu')", "npx.round_ste(x)", "npx.sign_ste(x)",
     "np.abs(x)", "np.fabs(x)", "np.sign(x)", "np.square(x)", "np.maximum(x, 0)", "np.maximum(0, x)",
     "np.minimum(x, 0.5)", "np.minimum(0.5, x)", "np.fmax(x, 0)", "np.fmin(0.5, x)", "np.maximum(x, y)",
     "np.minimum(x, y)", "np.fmax(x, y)", "np.fmin(x, y)", "np.clip(x, -0.5, 1.0)", "np.clip(x, 0, 2)",
     "np.where(x > y, x, y)", "x % y", "x ** 2", "np.linalg.norm(x, ord=1, axis=1)", "npx.norm(x, ord=1, axis=1)",
     "np.max(x, axis=1)", "np.min(x, axis=0)", "np.max(x)", "np.amin(x)", "x.max(axis=-1)", "np.sum(x, axis=0)",
     "loss.L1Loss()(x, y)", "loss.HuberLoss()(x, y)", "loss.HuberLoss(rho=0.5)(x, y)", "loss.HingeLoss()(x, y)",
     "loss.SquaredHingeLoss()(x, y)", "loss.SigmoidBCELoss()(x, y)", "loss.LogisticLoss()(x, y)",
     "loss.TripletLoss()(x, y, y)", "nn.LeakyReLU(0.1)(x)", "nn.ELU()(x)"
    ],
    "kinks", "level",
)  # fmt: skip
INPUTS |= {
    "kinks": onp.array([[0.0, -0.0, 1.0, -1.0], [0.5, -0.5, 2.0, 2.0], [1.0, 1.0, 1.0, -2.0]], "float32"),
    "level": onp.array([[0.0, 1.0, 1.0, -1.0], [0.5, 1.0, 3.0, -1.0], [-1.0, 2.0, 1.0, 1.0]], "float32"),
}
_NUMBERS = [  # as NumPy before version 2, or as MXNet alone has it
    *_each(["np.power(x, -1)", "x ** -1", "x ** -3", "np.power(x, abs(y))"], "divisor", "whole", grad=False),
    *_each(["x // 2", "x == 300", "x < -300", "np.greater(300, x)", "x != -1",
            "np.roll(x, -1)", "np.roll(x, 300, axis=1)", "np.where(x > 0, 1, 2)", "np.where(x > 0, True, False)"],
           "small", grad=False),
    *_each(["x == -1", "x < 300", "x != 300", "np.less(-1, x)", "np.roll(x, -1)"], "bytes", grad=False),
    *_each(["np.split(x, [3])[1]", "np.array_split(x, [1, 5])[1]", "np.hsplit(x, [9])[1]", "np.vsplit(x, [1])[0]",
            "np.tril(x[0])", "np.triu(x[0], 1)", "np.reshape(x, (2, 2, 3), order='A')",
            "np.unique(np.array([[3.0, 1.0], [2.0, 1.0]]), return_inverse=True)[1]",
            "np.partition(x, 2, axis=None)[2]"],
           "matrix", grad=False),
    Edge("np.linalg.solve(x @ x.swapaxes(1, 2) + 4 * np.eye(3), x[:, :, 0])", "plain", tol=1e-4),
]  # fmt: skip
_BATCHLESS = [
    Edge("npx.fully_connected(x, y, num_hidden=5, no_bias=True)", "empty", "weight", grad=False),
    Edge("npx.layer_norm(x, y, y)", "empty", "vector4", grad=False),
    Edge("npx.convolution(x, y, kernel=(3, 3), num_filter=3, no_bias=True)", "no_pictures", "kernel", grad=False),
    Edge("npx.pooling(x, kernel=(2, 2), stride=(2, 2))", "no_pictures", grad=False),
    Edge("npx.batch_flatten(x)", "no_pictures", grad=False),
    Edge("loss.L2Loss()(x, x)", "empty", grad=False),
    Edge("loss.SoftmaxCrossEntropyLoss()(x, y)", "empty", "no_labels", grad=False),
    Edge("npx.embedding(x, y, input_dim=5, output_dim=4)", "no_labels", "weight", grad=False),
    Edge("npx.one_hot(x, 3)", "no_labels", grad=False),
    Edge("np.dot(x, y.T)", "empty", "weight", grad=False),
]
_INDICES = [
    Edge("np.take(x, y, axis=0, mode='clip')", "weight", "stray"),
    Edge("np.take(x, y, axis=0, mode='wrap')", "weight", "stray"),
    Edge("npx.pick(x, y, axis=1)", "matrix", "labels3", grad=False),
    Edge("npx.one_hot(x, 3)", "stray", grad=False),
    Edge("npx.embedding(y, x, input_dim=5, output_dim=4)", "weight", "rows"),
    Edge("npx.gather_nd(x, np.array([[0, 1], [2, 0]]))", "matrix"),
    Edge("npx.sequence_mask(x, np.array([0, 2, 1]), True, 9.0, 0)", "plain3"),
    Edge("npx.sequence_last(x, np.array([1, 2, 1]), True)", "plain3"),
    Edge("npx.sequence_reverse(x, np.array([1, 2, 1]), True)", "plain3"),
    Edge("npx.masked_softmax(x, y)", "wildless", "mask"),
    Edge("npx.masked_log_softmax(x, y)", "wildless", "mask", grad=False),
    Edge("np.where(y, x, 0)", "wildless", "mask"),
    Edge("loss.SoftmaxCrossEntropyLoss()(x, y)", "wildless", "labels"),
]
INPUTS["labels3"] = onp.array([-1.0, 9.0, 1.0], "float32")
INPUTS["plain3"] = _RNG.uniform(-1, 1, (2, 3, 2)).astype("float32")
INPUTS["wildless"] = _RNG.uniform(-1, 1, (2, 4)).astype("float32")
_TYPES = _each(
    [
     "x + y", "x - y", "x * y", "x / y", "x // y", "x % y", "np.maximum(x, y)", "x == y", "x > y", "np.abs(x)",
     "-x", "np.sum(x)", "np.mean(x)", "np.max(x, axis=1)", "np.prod(x, axis=0)", "np.sort(x)",
     "np.sqrt(np.abs(x))", "x + 1", "x * 2", "np.square(x)", "np.sign(x)", "np.cumsum(x)", "np.argmax(x)",
     "np.bitwise_and(x, y)", "np.bitwise_xor(x, y)", "np.invert(x)", "np.gcd(x, y)", "np.lcm(x, y)",
     "np.clip(x, -2, 2)", "np.where(x > 0, x, y)", "np.exp(x)"
    ],
    "whole", "divisor", grad=False,
) + _each([
     "np.sum(x)", "x + x", "np.abs(x)", "-x", "np.max(x)", "x.astype('float32')", "np.square(x)"
    ], "small", grad=False) + _each(
    [
     "x + x", "x - x", "np.max(x)", "x.astype('int32')", "x.astype('int8')"
    ], "bytes", grad=False,
) + _each([
     "np.sum(x)", "x == x", "np.logical_and(x, x)", "np.any(x)", "np.all(x)", "x.astype('float32')"
    ], "flags",
          grad=False) + _each(
    [
     "x + x", "x * x", "np.sum(x)", "np.max(x, axis=-1)", "np.exp(x)", "npx.softmax(x)", "npx.log_softmax(x)",
     "npx.relu(x)", "np.tanh(x)", "npx.sigmoid(x)", "npx.leaky_relu(x, act_type='gelu')",
     "np.dot(x, np.ones((4, 2), dtype='float16'))", "np.sqrt(np.abs(x))", "x.astype('float32')",
     "np.cumsum(x, axis=-1)", "loss.L2Loss()(x, x * 2)"
    ],
    "half", tol=4e-3,
) + _each([
     "x + x", "npx.softmax(x)", "np.max(x)", "x.astype('int32')"
    ], "half_big", grad=False, tol=2e-3)  # fmt: skip
_PLAIN = _each(
    [
        "np.array([np.NINF, np.PINF, np.PZERO, np.NZERO, np.e, np.pi, np.inf])",
        "np.array([np.iinfo(np.int16).max, np.iinfo(np.uint16).max, np.iinfo('int8').min])",
        "np.array([np.can_cast('int8', 'int32'), np.can_cast('float32', 'int8')])",
        "np.array([np.promote_types('int8', 'float32') == np.float32, np.bool_ == np.bool_])",
        "np.array([np.min_scalar_type(3) == np.uint8])",
        "np.array([len(np.boolean_dtypes), len(np.integer_dtypes), len(np.floating_dtypes)])",
        "np.array([len(np.numeric_dtypes)])",
        "np.hamming(5)", "np.blackman(5)", "np.hanning(1)", "np.pow(x, 2)", "np.empty_like(x) * 0",
        "np.stack(np.tril_indices_from(x[:, :3]))", "np.stack(np.triu_indices_from(x[:, :3]))",
        "np.stack(np.triu_indices(3, 1))", "np.stack(np.diag_indices_from(x[:, :3]))",
        "np.unique_values(np.array([2.0, 1, 2]))", "np.unique_all(np.array([2.0, 1, 2]))[1]",
        "np.unique_inverse(np.array([2.0, 1, 2]))[1]", "np.histogram2d(x[0], x[1], bins=2)[1]", "x.mT",
        "np.histogramdd(x, bins=2)[1][0]", "x.reshape_view((4, 3))", "x.as_in_ctx(x.ctx)",
        "x.as_in_context(x.context)", "x.to_device(x.device)", "x.as_np_ndarray()",
        "np.array(npx.random.normal_n(x[0], 1.0, batch_shape=(2, 3)).shape)",
        "np.array(npx.random.uniform_n(0.0, x[0] + 2, batch_shape=2).shape)",
        "npx.foreach(lambda row, total: (row * 2, total + row), x, x[0])[0]",
        "npx.while_loop(lambda i: i < 3, lambda i: (i, i + 1), np.array([0.0]), max_iterations=5)[1]",
        "npx.cond(lambda a: a.sum() > 99, lambda a: a, lambda a: -a, x)",
    ],
    "matrix", grad=False,
)  # fmt: skip
_LAYERS = [
    "nn.Dense(3)", "nn.Dense(3, flatten=False)", "nn.Conv1D(3, 2)", "nn.Conv2D(3, 2)", "nn.Conv2DTranspose(3, 2)",
    "nn.MaxPool1D(2)", "nn.MaxPool2D(2)", "nn.AvgPool2D(2)", "nn.GlobalAvgPool2D()", "nn.GlobalMaxPool1D()",
    "nn.GlobalMaxPool2D()", "nn.GlobalMaxPool3D()", "nn.GlobalAvgPool1D()", "nn.GlobalAvgPool3D()", "nn.BatchNorm()",
    "nn.LayerNorm()", "nn.GroupNorm()", "nn.InstanceNorm()", "nn.Flatten()", "nn.Activation('relu')",
    "nn.LeakyReLU(0.1)", "nn.PReLU()", "nn.ELU()", "nn.SELU()", "nn.GELU()", "nn.SiLU()", "nn.Swish()", "nn.Identity()",
    "nn.ReflectionPad2D(1)", "nn.PixelShuffle1D(2)", "nn.PixelShuffle2D(2)", "nn.HybridLambda('tanh')",
]  # fmt: skip
_SINGLE = ("nn.Dense", "nn.Conv", "nn.InstanceNorm")  # MXNet knows no half types of them on the CPU
_FLAT = ("nn.Conv1D(3, 2)", "nn.MaxPool1D(2)", "nn.GlobalMaxPool1D()", "nn.GlobalAvgPool1D()", "nn.PixelShuffle1D(2)")
INPUTS |= {
    "image64": _RNG.uniform(-1, 1, (2, 4, 3, 3)).astype("float64"),
    "image16": _RNG.uniform(-1, 1, (2, 4, 3, 3)).astype("float16"),
    "image0": onp.zeros((0, 4, 3, 3), "float32"),
    "line64": _RNG.uniform(-1, 1, (2, 4, 5)).astype("float64"),
    "line16": _RNG.uniform(-1, 1, (2, 4, 5)).astype("float16"),
    "line0": onp.zeros((0, 4, 5), "float32"),
    "cube64": _RNG.uniform(-1, 1, (2, 4, 2, 2, 2)).astype("float64"),
    "cube16": _RNG.uniform(-1, 1, (2, 4, 2, 2, 2)).astype("float16"),
    "cube0": onp.zeros((0, 4, 2, 2, 2), "float32"),
    "scores64": _RNG.uniform(-2, 2, (4, 3)).astype("float64"),
    "targets64": _RNG.uniform(0.1, 0.9, (4, 3)).astype("float64"),
    "scores16": _RNG.uniform(-2, 2, (4, 3)).astype("float16"),
    "targets16": _RNG.uniform(0.1, 0.9, (4, 3)).astype("float16"),
    "scores0": onp.zeros((0, 3), "float32"),
    "wild_scores": onp.array([[_NAN, 1, 2], [_INF, 0, 1], [1, 1, 1], [-_INF, 2, 3]], "float32"),
    "classes": onp.array([0, 2, 1, 1], "int32"),
    "classes8": onp.array([0, 2, 1, 1], "uint8"),
    "classes64": onp.array([0, 2, 1, 1], "int64"),
    "classes0": onp.zeros((0,), "float32"),
    "chances": onp.array([[0.2, 0.3, 0.5], [0.4, 0.4, 0.2], [0.1, 0.8, 0.1], [1.0, 0.0, 0.0]], "float32"),
    "bits": onp.array([0, 1, 1, 0], "int32"),
    "bit_scores": onp.array([0.5, 0.9, 0.4, 0.5], "float32"),
}


def _shaped(layer):
    return "cube" if "3D" in layer else "line" if layer in _FLAT else "image"


_LOSSES = [
    "L2Loss()", "L1Loss()", "SigmoidBCELoss()", "KLDivLoss()", "HuberLoss()", "HingeLoss()", "SquaredHingeLoss()",
    "LogisticLoss()", "PoissonNLLLoss()", "SoftmaxCELoss(sparse_label=False)",
]  # fmt: skip
_METRICS = ["Accuracy()", "TopKAccuracy(2)", "PCC()", "F1(class_type='multiclass', average='macro')"]
_MEASURED = ["MAE()", "MSE()", "RMSE()", "Loss()", "Torch()", "MeanPairwiseDistance()", "MeanCosineSimilarity()",
             "CustomMetric(lambda label, pred: float(abs(label - pred).sum()))",
             "PearsonCorrelation()"]  # fmt: skip
_OBJECTS = [
    *[Edge(f"layer({layer}, x)", f"{_shaped(layer)}{kind}", tol=tol, grad=kind != "0")
      for layer in _LAYERS for kind, tol in (("64", 1e-4), ("16", 1e-2), ("0", 1e-5))
      if kind == "64" or not layer.startswith(_SINGLE)],
    *[Edge(f"loss.{name}(x, y)", f"scores{kind}", f"{target}{kind}", tol=tol, grad=kind != "0")
      for name in _LOSSES
      for kind, target, tol in (("64", "targets", 1e-5), ("16", "targets", 1e-2), ("0", "scores", 1e-5))],
    *[Edge("loss.SoftmaxCELoss()(x, y)", "wild_scores", labels, grad=False)
      for labels in ("classes", "classes8", "classes64")],
    *[Edge(f"measured(metric.{name}, y, x)", scores, labels, grad=False, tol=1e-4)
      for name in _METRICS
      for scores, labels in (("chances", "classes"), ("chances", "classes8"), ("chances", "classes64"))],
    *[Edge(f"measured(metric.{name}, y, x)", "bit_scores", "bits", grad=False)
      for name in ("BinaryAccuracy()", "F1()", "Fbeta(beta=2)", "MCC()")],
    *[Edge(f"measured(metric.{name}, y, x)", f"scores{kind}", f"targets{kind}", grad=False, tol=tol)
      for name in _MEASURED for kind, tol in (("64", 1e-4), ("16", 2e-2))],
    *[Edge(f"measured(metric.{name}, y, x)", "chances", "classes", grad=False)
      for name in ("CrossEntropy()", "Perplexity()", "CrossEntropy(ignore_label=1)")],
    *[Edge(f"measured(metric.{name}, y, x)", "scores0", "scores0", grad=False) for name in ("MAE()", "Loss()")],
    Edge("measured(metric.Accuracy(), y, x)", "scores0", "classes0", grad=False),
    Edge("measured(metric.CompositeEvalMetric(['mae', 'mse']), y, x)", "scores64", "targets64", grad=False),
]  # fmt: skip


def helpers(np):
    """Return functions for the expressions: a layer with known weights, and a metric's value after two updates."""

    def layer(block, x):
        block.initialize("ones")
        block.cast(x.dtype.name if hasattr(x.dtype, "name") else onp.dtype(x.dtype).name)
        return block(x)

    def measured(metric, label, pred):
        metric.update([label], [pred])
        metric.update([label[:2]], [pred[:2]])
        value = metric.get()[1]
        return np.array(value if isinstance(value, list) else [value])

    return {"layer": layer, "measured": measured}


ROWS = [
    *_OBJECTS,
    *_PLAIN,
    *_ELEMENTWISE,
    *_HUGE,
    *_REDUCED,
    *_AXES,
    *_ONES,
    *_TIES,
    *_KINKS,
    *_NUMBERS,
    *_BATCHLESS,
    *_INDICES,
    *_TYPES,
]

_AS_NUMPY = {"out": "NaN stays NaN, and -0.0 keeps its sign, as in NumPy"}
_AT_NAN = {"grad": "at NaN and infinity JAX's gradient, not MXNet's"}

_ABOUT_MEANS = {"dtype": "means of float16 stay float16"}
_WILD_SCORES = {"out": "the loss of a class of infinite distance is infinite, MXNet's is NaN"}

_SIGMOID_AT_0 = {"grad": "MXNet takes the sigmoid of 0 to be 0"}

KNOWN = {
    **{
        f"{compared} of {x}": {"out": "MXNet wraps the number round to fit"}
        for compared, x in (
            ("x == 300", "small"),
            ("x < -300", "small"),
            ("np.greater(300, x)", "small"),
            ("x < 300", "bytes"),
            ("np.less(-1, x)", "bytes"),
        )
    },
    "x % y of kinks, level": {"out": "NaN where it is divided by 0, as in NumPy", "grad": "that of the same"},
    "loss.SigmoidBCELoss()(x, y) of kinks, level": _SIGMOID_AT_0,
    "loss.LogisticLoss()(x, y) of kinks, level": _SIGMOID_AT_0,
    "layer(nn.LayerNorm(), x) of image16": {"grad": "that of a sum is 0: MXNet's is rounding in half precision"},
    **{f"layer(nn.SELU(), x) of {x}": {"grad": "MXNet's is wrong below zero"} for x in ("image64", "image16")},
    **{f"loss.{name}(x, y) of scores16, targets16": _ABOUT_MEANS for name in _LOSSES},
    "loss.L2Loss()(x, x * 2) of half": _ABOUT_MEANS,
    **{f"loss.SoftmaxCELoss()(x, y) of wild_scores, {y}": _WILD_SCORES for y in ("classes", "classes8", "classes64")},
    "np.sign(x) of zeros": _AS_NUMPY,
    "np.copysign(1.0, x) of zeros": _AS_NUMPY,
    "npx.relu(x) of zeros": _AT_NAN,
    "np.abs(x) of zeros": _AT_NAN,
    "npx.smooth_l1(x, scalar=1.0) of zeros": _AT_NAN,
    "npx.softsign(x) of zeros": _AT_NAN,
    "np.maximum(x, 0) of zeros": _AT_NAN,
    "np.minimum(x, 0) of zeros": _AT_NAN,
    "npx.activation(x, 'log_sigmoid') of huge": {"out": "MXNet's overflows", "grad": "MXNet's overflows"},
    "np.logaddexp(x, 0) of huge": {"out": "MXNet's overflows", "grad": "MXNet's overflows"},
    "np.sum(x, axis=-1) of wild": {"out": "MXNet's compensated sum makes NaN of an infinity"},
    "np.argmax(x, axis=1) of wild": {"out": "the place of a NaN, as in NumPy"},
    "np.argmin(x, axis=1) of wild": {"out": "the place of a NaN, as in NumPy"},
    "np.var(x, axis=-1) of plain, vector4": {"grad": "MXNet's is 0 everywhere"},
    "np.std(x, axis=-2) of plain, vector4": {"grad": "MXNet's is 0 everywhere"},
    "np.array([len(np.boolean_dtypes), len(np.integer_dtypes), len(np.floating_dtypes)]) of matrix": {
        "out": "bfloat16 is one of them here"
    },
    "np.array([len(np.numeric_dtypes)]) of matrix": {"out": "bfloat16 is one of them here"},
    "np.sum(x) of small": {"dtype": "sums of small integers widen", "out": "MXNet's wraps round"},
}
