"""Operators as one writes them in JAX by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from jax.scipy import special

from benchmarks.sweep.cases import Case, arrays, trained

__all__ = ["FORMS", "Job", "made", "make", "versions"]

Form = Callable[..., Any]


def versions() -> dict[str, str]:
    """Of JAX."""
    return {"jax": jax.__version__}


class Job:
    """A jitted function with its arrays."""

    def __init__(self, fn: Form, inputs: list[Any], gradient: bool) -> None:
        self.fn: Callable[..., Any] = jax.jit(fn)
        self.inputs, self.gradient, self.out = inputs, gradient, None

    def step(self) -> None:
        """One call."""
        self.out = self.fn(*self.inputs)

    def wait(self) -> None:
        """Until the result is there."""
        jax.block_until_ready(self.out)

    def results(self) -> list[list[Any]]:
        """Return as NumPy arrays the result's parts, and the gradients."""
        groups: Any = self.out if self.gradient else (self.out,)
        return [[np.asarray(x) for x in jax.tree.leaves(group)] for group in groups]


def made(fn: Form, case: Case, gradient: bool, keyed: bool) -> Job:
    """Return a job of `fn`, which takes a key first if `keyed`."""
    inputs = [jnp.asarray(x) for x in arrays(case)]
    first = [jax.random.key(0)] if keyed else []
    wanted = [i + len(first) for i in trained(case)]

    def forward(*args: Any) -> Any:
        out = fn(*args)
        several = isinstance(out, (tuple, list)) and case.op not in ("split",)
        return out[0] if several else out

    def both(*args: Any) -> Any:
        def of(*chosen: Any) -> Any:
            given = dict(zip(wanted, chosen, strict=True))
            return forward(*[given.get(i, a) for i, a in enumerate(args)])

        y, pull = jax.vjp(of, *[args[i] for i in wanted])
        return y, pull(y)

    return Job(both if gradient else forward, [*first, *inputs], gradient)


def _conv(stride: Any, pad: Any, dilate: Any, num_group: int, **_: Any) -> Form:
    space = "DHW"[-len(stride) :]
    names = ("NC" + space, "OI" + space, "NC" + space)
    pads = [(p, p) for p in pad]
    return lambda x, w: lax.conv_general_dilated(
        x, w, stride, pads, rhs_dilation=dilate, dimension_numbers=names, feature_group_count=num_group
    )


def _deconv(kernel: Any, stride: Any, pad: Any, **_: Any) -> Form:
    pads = [(kernel[0] - 1 - pad[0],) * 2] * 2
    names = ("NCHW", "IOHW", "NCHW")
    return lambda x, w: lax.conv_general_dilated(x, w[..., ::-1, ::-1], (1, 1), pads, stride, dimension_numbers=names)


def _pool(pool_type: str, kernel: Any = (), stride: Any = (), pad: Any = (), global_pool: bool = False) -> Form:
    if global_pool:
        reduce = jnp.max if pool_type == "max" else jnp.mean
        return lambda x: reduce(x, tuple(range(2, x.ndim)), keepdims=True)
    init, combine = (-jnp.inf, lax.max) if pool_type == "max" else (0.0, lax.add)
    windows, strides, pads = (1, 1, *kernel), (1, 1, *stride), ((0, 0), (0, 0), *[(p, p) for p in pad])
    scale = 1 if pool_type == "max" else np.prod(kernel)
    return lambda x: lax.reduce_window(x, init, combine, windows, strides, pads) / scale


def _norm_over(x: Any, axes: Any) -> Any:
    centred = x - x.mean(axes, keepdims=True)
    return centred * lax.rsqrt((centred**2).mean(axes, keepdims=True) + 1e-5)


def _batch_norm(**_: Any) -> Form:
    shape = (1, -1, 1, 1)
    return lambda x, g, b, mean, var: _norm_over(x, (0, 2, 3)) * g.reshape(shape) + b.reshape(shape)


def _layer_norm(axis: int) -> Form:
    shape = (-1,) if axis == -1 else (-1, 1, 1)
    return lambda x, g, b: _norm_over(x, axis) * g.reshape(shape) + b.reshape(shape)


def _group_norm(num_groups: int = 0) -> Form:
    def normalize(x: Any, g: Any, b: Any) -> Any:
        groups = num_groups or x.shape[1]
        y = _norm_over(x.reshape(x.shape[0], groups, -1), 2).reshape(x.shape)
        return y * g.reshape(1, -1, 1, 1) + b.reshape(1, -1, 1, 1)

    return normalize


def _rms_norm(**_: Any) -> Form:
    return lambda x, g: x * lax.rsqrt((x**2).mean(-1, keepdims=True) + 1e-6) * g


def _lrn(nsize: int) -> Form:
    window, pads = (1, nsize, 1, 1), ((0, 0), (nsize // 2, nsize // 2), (0, 0), (0, 0))
    return lambda x: x * (2 + 1e-4 / nsize * lax.reduce_window(x * x, 0.0, lax.add, window, (1,) * 4, pads)) ** -0.75


def _masked_softmax(axis: int) -> Form:
    return lambda x, mask: jnp.where(mask, jax.nn.softmax(jnp.where(mask, x, -1e30), axis), 0)


def _cross_entropy(axis: int = -1, sparse_label: bool = True) -> Form:
    def loss(x: Any, y: Any) -> Any:
        x = jnp.moveaxis(x, axis, -1)
        if sparse_label:
            each = optax.softmax_cross_entropy_with_integer_labels(x, y)
        else:
            each = optax.softmax_cross_entropy(x, y)
        return each.reshape(each.shape[0], -1).mean(1)

    return loss


def _mean(penalty: Form) -> Callable[..., Form]:
    """Return a loss: the penalty of each element, averaged over each sample."""

    def form(**_: Any) -> Form:
        def loss(x: Any, y: Any) -> Any:
            found = penalty(x, y)
            return found.reshape(found.shape[0], -1).mean(1)

        return loss

    return form


def _ctc(**_: Any) -> Form:
    def loss(x: Any, y: Any) -> Any:
        return optax.ctc_loss(x, jnp.zeros(x.shape[:2]), y, jnp.zeros(y.shape), blank_id=x.shape[-1] - 1)

    return loss


def _over(fn: Form, **more: Any) -> Callable[..., Form]:
    """Return a function of an array that takes the attributes as they are."""
    return lambda **attrs: lambda *args: fn(*args, **more, **attrs)


def _bare(fn: Form) -> Callable[..., Form]:
    """Return a function that needs none of the attributes."""
    return lambda **_: fn


def _dense(num_hidden: int, no_bias: bool = False, flatten: bool = True) -> Form:
    return lambda x, w, b=0: x @ w.T + b


def _batch_dot(transpose_a: bool = False, transpose_b: bool = False) -> Form:
    def product(a: Any, b: Any) -> Any:
        return (a.swapaxes(1, 2) if transpose_a else a) @ (b.swapaxes(1, 2) if transpose_b else b)

    return product


def _cell(mode: str) -> Form:
    def lstm(state: Any, x: Any, w: Any, b: Any) -> Any:
        h, c = state
        i, f, g, o = jnp.split(x + h @ w.T + b, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    def gru(state: Any, x: Any, w: Any, b: Any) -> Any:
        (h,) = state
        (xr, xz, xn), (hr, hz, hn) = jnp.split(x, 3, -1), jnp.split(h @ w.T + b, 3, -1)
        z = jax.nn.sigmoid(xz + hz)
        h = (1 - z) * jnp.tanh(xn + jax.nn.sigmoid(xr + hr) * hn) + z * h
        return (h,), h

    def tanh(state: Any, x: Any, w: Any, b: Any) -> Any:
        h = jnp.tanh(x + state[0] @ w.T + b)
        return (h,), h

    return {"lstm": lstm, "gru": gru, "rnn_tanh": tanh}[mode]


def _rnn(mode: str, state_size: int, **_: Any) -> Form:
    gates, cell = {"lstm": 4, "gru": 3, "rnn_tanh": 1}[mode], _cell(mode)

    def run(x: Any, flat: Any, *states: Any) -> Any:
        inputs, rows = x.shape[-1], gates * state_size
        wx, wh, b, bh = jnp.split(flat, np.cumsum([rows * inputs, rows * state_size, rows]))
        known, w = x @ wx.reshape(rows, inputs).T + b, wh.reshape(rows, state_size)
        return lax.scan(lambda s, t: cell(s, t, w, bh), tuple(s[0] for s in states), known)[1]

    return run


def _attention(causal: bool = False) -> Form:
    return lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=causal)


def _heads_of(x: Any, heads: int) -> Any:
    """Get queries, keys and values, each (batch times heads, length, width), of MXNet's interleaved array."""
    length, batch, _ = x.shape
    parts = x.reshape(length, batch, heads, 3, -1).transpose(3, 1, 2, 0, 4)
    return parts.reshape(3, batch * heads, length, -1)


def _scores(heads: int) -> Form:
    def scores(x: Any) -> Any:
        q, k, _ = _heads_of(x, heads)
        return q @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1]).astype(np.float32)

    return scores


def _context(heads: int) -> Form:
    def context(x: Any, weights: Any) -> Any:
        y = (weights @ _heads_of(x, heads)[2]).reshape(x.shape[1], heads, x.shape[0], -1)
        return y.transpose(2, 0, 1, 3).reshape(x.shape[0], x.shape[1], -1)

    return context


def _sequence_mask(**_: Any) -> Form:
    return lambda x, n: jnp.where((jnp.arange(x.shape[0])[:, None] < n)[..., None], x, 0)


def _sequence_last(**_: Any) -> Form:
    return lambda x, n: x[n - 1, jnp.arange(x.shape[1])]


def _top(k: int, ret_typ: str) -> Form:
    if ret_typ == "value":
        return lambda x: lax.top_k(x, k)[0]
    return lambda x: lax.top_k(x, k)[1].astype(jnp.float32)


def _pad(pad_width: Any, mode: str = "constant") -> Form:
    pairs = list(zip(pad_width[::2], pad_width[1::2], strict=True))
    return lambda x: jnp.pad(x, pairs, mode)


def _slice(begin: Any, end: Any, step: Any = ()) -> Form:
    return lambda x: lax.slice(x, begin, end, step or None)


def _resize(height: int, width: int, **_: Any) -> Form:
    return lambda x: jax.image.resize(x, (*x.shape[:2], height, width), "bilinear")


def _leaky(act_type: str = "leaky", slope: float = 0.25) -> Form:
    if act_type == "prelu":
        return lambda x, a: jnp.where(x > 0, x, a.reshape(1, -1, 1, 1) * x)
    return lambda x: jax.nn.leaky_relu(x, slope)


def _iou(**_: Any) -> Form:
    def iou(a: Any, b: Any) -> Any:
        a, b = a[:, None], b[None]
        sides = jnp.clip(jnp.minimum(a[..., 2:], b[..., 2:]) - jnp.maximum(a[..., :2], b[..., :2]), 0)
        both = sides.prod(-1)
        return both / ((a[..., 2:] - a[..., :2]).prod(-1) + (b[..., 2:] - b[..., :2]).prod(-1) - both)

    return iou


FORMS: dict[str, Callable[..., Form]] = {
    "convolution": _conv,
    "deconvolution": _deconv,
    "pooling": _pool,
    "batch_norm": _batch_norm,
    "layer_norm": _layer_norm,
    "group_norm": _group_norm,
    "instance_norm": _group_norm,
    "rms_norm": _rms_norm,
    "lrn": _lrn,
    "l2_normalization": _bare(lambda x: x * lax.rsqrt((x * x).sum(1, keepdims=True) + 1e-10)),
    "softmax": _over(jax.nn.softmax),
    "log_softmax": _over(jax.nn.log_softmax),
    "masked_softmax": _masked_softmax,
    "softmax_cross_entropy_loss": _cross_entropy,
    "sigmoid_bce_loss": _mean(optax.sigmoid_binary_cross_entropy),
    "l2_loss": _mean(lambda x, y: (x - y) ** 2 / 2),
    "huber_loss": _mean(optax.huber_loss),
    "kl_div_loss": _mean(lambda x, y: y * (jnp.log(y + 1e-12) - x)),
    "ctc_batch_loss": _ctc,
    "softrelu": _bare(jax.nn.softplus),
    "softsign": _bare(jax.nn.soft_sign),
    "hard_sigmoid": _bare(lambda x: jnp.clip(0.2 * x + 0.5, 0, 1)),
    "erf": _bare(lax.erf),
    "gammaln": _bare(special.gammaln),
    "rsqrt": _bare(lax.rsqrt),
    "gelu": _over(lambda x, approximate=False: jax.nn.gelu(x, approximate)),
    "leaky_relu": _leaky,
    "cast": lambda dtype: lambda x: x.astype(dtype),
    "add_n": _bare(lambda *xs: sum(xs[1:], xs[0])),
    "logsumexp": _over(special.logsumexp),
    "norm": _over(jnp.linalg.norm),
    "embedding": _bare(lambda i, w: w[i]),
    "pick": _bare(lambda x, i: jnp.take_along_axis(x, i[:, None], 1)[:, 0]),
    "one_hot": lambda depth: lambda i: jax.nn.one_hot(i, depth),
    "gather_nd": _bare(lambda x, i: x[i[0], i[1]]),
    "scatter_nd": lambda shape: lambda x, i: jnp.zeros(shape).at[i[0], i[1]].set(x),
    "index_add": _bare(lambda x, i, v: x.at[i[0], i[1]].add(v)),
    "index_update": _bare(lambda x, i, v: x.at[i[0], i[1]].set(v)),
    "topk": _top,
    "concatenate": lambda axis: lambda *xs: jnp.concatenate(xs, axis),
    "stack": lambda axis: lambda *xs: jnp.stack(xs, axis),
    "slice": _slice,
    "slice_axis": lambda axis, begin, end: lambda x: lax.slice_in_dim(x, begin, end, axis=axis),
    "pad": _pad,
    "fully_connected": _dense,
    "batch_dot": _batch_dot,
    "einsum": lambda subscripts: lambda *xs: jnp.einsum(subscripts, *xs),
    "rnn": _rnn,
    "dot_product_attention": _attention,
    "interleaved_matmul_selfatt_qk": _scores,
    "interleaved_matmul_selfatt_valatt": _context,
    "sequence_mask": _sequence_mask,
    "sequence_last": _sequence_last,
    "bilinear_resize": _resize,
    "box_iou": _iou,
}
# What jax.numpy or jax.nn calls by the same name, with the same attributes.
FORMS.update(
    {name: _over(getattr(jax.nn, name)) for name in ("relu", "sigmoid", "silu", "mish", "elu", "selu")},
    **{
        name: _over(getattr(jnp, name))
        for name in (
            "tanh exp sin square log log1p sqrt reciprocal cbrt absolute sign floor clip add multiply true_divide "
            "maximum power arctan2 logaddexp mod greater equal where sum mean max var std prod cumsum cumprod argmax "
            "any take take_along_axis sort argsort transpose swapaxes split tile repeat flip roll broadcast_to tril "
            "dot matmul tensordot"
        ).split()
    },
)


def make(case: Case, gradient: bool) -> Job:
    """Return the case as a jitted function of its arrays.

    Raises
    ------
    ImportError
        If this side has no such operator.
    """
    if case.op not in FORMS:
        raise ImportError(f"no {case.op} by hand")
    return made(FORMS[case.op](**case.attrs), case, gradient, False)
