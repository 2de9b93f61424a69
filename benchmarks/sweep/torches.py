"""Operators in PyTorch, eager. What PyTorch gives as a view is copied, as the others' results are arrays."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

import torch  # pyright: ignore[reportMissingImports] - in its own environment
from torch.nn import functional as tf  # pyright: ignore[reportMissingImports]

from benchmarks.sweep.cases import Case, arrays, trained

__all__ = ["FORMS", "make", "versions"]

torch.set_num_threads(len(os.sched_getaffinity(0)))
Form = Callable[..., Any]


def versions() -> dict[str, str]:
    """Of PyTorch."""
    return {"torch": torch.__version__}


class Job:
    """A call with its tensors."""

    def __init__(self, fn: Form, inputs: list[Any], wanted: list[Any]) -> None:
        self.fn, self.inputs, self.wanted = fn, inputs, wanted
        for tensor in wanted:
            tensor.requires_grad_()
        self.y: Any = None
        self.grads: Any = ()

    def step(self) -> None:
        """One call."""
        y = self.fn(*self.inputs)
        if self.wanted:
            several = y if isinstance(y, tuple) else (y,)
            given = [part.detach() for part in several]
            self.grads = torch.autograd.grad(several, self.wanted, given, allow_unused=True)
        self.y = y

    def wait(self) -> None:
        """Nothing is left to wait for."""

    def results(self) -> list[list[Any]]:
        """Return as NumPy arrays the result's parts, and the gradients."""
        y = self.y if isinstance(self.y, (tuple, list)) else [self.y]
        found = [[part.detach().numpy() for part in y]]
        return [*found, [g.numpy() for g in self.grads if g is not None]] if self.wanted else found


def _conv(stride: Any, pad: Any, dilate: Any, num_group: int, **_: Any) -> Form:
    convolve = {1: tf.conv1d, 2: tf.conv2d, 3: tf.conv3d}[len(stride)]
    return lambda x, w: convolve(x, w, None, stride, pad, dilate, num_group)


def _deconv(stride: Any, pad: Any, **_: Any) -> Form:
    return lambda x, w: tf.conv_transpose2d(x, w, None, stride, pad)


def _pool(pool_type: str, kernel: Any = (), stride: Any = (), pad: Any = (), global_pool: bool = False) -> Form:
    if global_pool:

        def pool(x: Any) -> Any:
            fn = getattr(tf, f"adaptive_{pool_type}_pool{x.dim() - 2}d")
            return fn(x, (1,) * (x.dim() - 2))

        return pool
    fn = getattr(tf, f"{pool_type}_pool{len(kernel)}d")
    return lambda x: fn(x, kernel, stride, pad)


def _layer_norm(axis: int) -> Form:
    if axis == -1:
        return lambda x, g, b: tf.layer_norm(x, x.shape[-1:], g, b)
    return lambda x, g, b: tf.layer_norm(x.permute(0, 2, 3, 1), g.shape, g, b).permute(0, 3, 1, 2).contiguous()


def _group_norm(num_groups: int) -> Form:
    return lambda x, g, b: tf.group_norm(x, num_groups, g, b)


def _masked_softmax(axis: int) -> Form:
    return lambda x, mask: tf.softmax(x.masked_fill(~mask, -math.inf), axis)


def _cross_entropy(axis: int = -1, sparse_label: bool = True) -> Form:
    def loss(x: Any, y: Any) -> Any:
        each = tf.cross_entropy(x, y, reduction="none")
        return each.reshape(each.shape[0], -1).mean(1)

    return loss


def _mean(penalty: Form) -> Callable[..., Form]:
    """Return a loss: the penalty of each element, averaged over each sample."""

    def form(**_: Any) -> Form:
        return lambda x, y: penalty(x, y).flatten(1).mean(1)

    return form


def _ctc(**_: Any) -> Form:
    def loss(x: Any, y: Any) -> Any:
        batch, length, letters = x.shape
        lengths = torch.full((batch,), length), torch.full((batch,), y.shape[1])
        logs = tf.log_softmax(x, -1).transpose(0, 1)
        return tf.ctc_loss(logs, y, *lengths, blank=letters - 1, reduction="none")

    return loss


def _bare(fn: Form) -> Callable[..., Form]:
    """Return a function that needs none of the attributes."""
    return lambda **_: fn


def _along(fn: Form, first: bool = False) -> Callable[..., Form]:
    """Return a function over an axis, or over all; of a pair of results the first is wanted."""

    def form(axis: Any, **_: Any) -> Form:
        if axis is None:
            return lambda x: fn(x)
        return (lambda x: fn(x, axis)[0]) if first else (lambda x: fn(x, axis))

    return form


def _dense(num_hidden: int, no_bias: bool = False, flatten: bool = True) -> Form:
    return tf.linear


def _batch_dot(transpose_a: bool = False, transpose_b: bool = False) -> Form:
    def product(a: Any, b: Any) -> Any:
        return torch.bmm(a.transpose(1, 2) if transpose_a else a, b.transpose(1, 2) if transpose_b else b)

    return product


def _attention(causal: bool = False) -> Form:
    def attend(*parts: Any) -> Any:
        y = tf.scaled_dot_product_attention(*[x.transpose(1, 2) for x in parts], is_causal=causal)
        return y.transpose(1, 2).contiguous()

    return attend


def _heads_of(x: Any, heads: int) -> Any:
    length, batch, _ = x.shape
    return x.reshape(length, batch * heads, 3, -1).permute(2, 1, 0, 3)


def _scores(heads: int) -> Form:
    def scores(x: Any) -> Any:
        q, k, _ = _heads_of(x, heads)
        return torch.bmm(q / math.sqrt(q.shape[-1]), k.transpose(1, 2))

    return scores


def _context(heads: int) -> Form:
    def context(x: Any, weights: Any) -> Any:
        y = torch.bmm(weights, _heads_of(x, heads)[2])
        return y.transpose(0, 1).reshape(x.shape[0], x.shape[1], -1)

    return context


def _rnn(mode: str, **_: Any) -> Form:
    run = {"lstm": torch._VF.lstm, "gru": torch._VF.gru, "rnn_tanh": torch._VF.rnn_tanh}[mode]

    def layer(x: Any, wx: Any, wh: Any, bx: Any, bh: Any, *states: Any) -> Any:
        given = states if len(states) > 1 else states[0]
        return run(x, given, [wx, wh, bx, bh], True, 1, 0.0, True, False, False)[0]

    return layer


def _split_rnn(case: Case, inputs: list[Any]) -> list[Any]:
    """Return the weights and biases that gluonx and MXNet keep in one flat array."""
    x, flat, *states = inputs
    size = case.attrs["state_size"]
    rows = {"lstm": 4, "gru": 3, "rnn_tanh": 1}[case.attrs["mode"]] * size
    wx, wh, bx, bh = (part.clone() for part in flat.split([rows * x.shape[-1], rows * size, rows, rows]))
    return [x, wx.reshape(rows, -1), wh.reshape(rows, -1), bx, bh, *states]


def _sequence_mask(**_: Any) -> Form:
    return lambda x, n: x * (torch.arange(x.shape[0])[:, None] < n)[..., None]


def _sequence_last(**_: Any) -> Form:
    return lambda x, n: x[n - 1, torch.arange(x.shape[1])]


def _top(k: int, ret_typ: str) -> Form:
    return lambda x: torch.topk(x, k)[0 if ret_typ == "value" else 1]


def _pad(pad_width: Any, mode: str = "constant") -> Form:
    turned = [n for pair in zip(pad_width[-2::-2], pad_width[::-2]) for n in pair]
    return lambda x: tf.pad(x, turned if mode == "constant" else turned[:4], mode)


def _slice(begin: Any, end: Any, step: Any = ()) -> Form:
    places = tuple(slice(*each) for each in zip(begin, end, step or (1,) * len(begin)))
    return lambda x: x[places].contiguous()


def _split(indices_or_sections: int, axis: int) -> Form:
    return lambda x: tuple(part.contiguous() for part in x.chunk(indices_or_sections, axis))


def _resize(height: int, width: int, **_: Any) -> Form:
    return lambda x: tf.interpolate(x, (height, width), mode="bilinear")


def _leaky(act_type: str = "leaky", slope: float = 0.25) -> Form:
    return tf.prelu if act_type == "prelu" else lambda x: tf.leaky_relu(x, slope)


def _iou(**_: Any) -> Form:
    def iou(a: Any, b: Any) -> Any:
        a, b = a[:, None], b[None]
        sides = (torch.minimum(a[..., 2:], b[..., 2:]) - torch.maximum(a[..., :2], b[..., :2])).clamp(min=0)
        both = sides.prod(-1)
        return both / ((a[..., 2:] - a[..., :2]).prod(-1) + (b[..., 2:] - b[..., :2]).prod(-1) - both)

    return iou


def _random(draw: Form) -> Callable[..., Form]:
    return lambda size=None, **_: lambda *numbers: draw(size)


def _normalize(mean: Any, std: Any) -> Form:
    centre, scale = (torch.tensor(x).reshape(-1, 1, 1) for x in (mean, std))
    return lambda x: (x - centre) / scale


FORMS: dict[str, Callable[..., Form]] = {
    "convolution": _conv,
    "deconvolution": _deconv,
    "pooling": _pool,
    "adaptive_avg_pooling": lambda output_size: lambda x: tf.adaptive_avg_pool2d(x, output_size),
    "pixel_shuffle": lambda factors: lambda x: tf.pixel_shuffle(x, factors[0]),
    "batch_norm": _bare(lambda x, g, b, mean, var: tf.batch_norm(x, None, None, g, b, True)),
    "layer_norm": _layer_norm,
    "rms_norm": _bare(lambda x, g: tf.rms_norm(x, g.shape, g, 1e-6)),
    "group_norm": _group_norm,
    "instance_norm": _bare(lambda x, g, b: tf.instance_norm(x, None, None, g, b)),
    "lrn": lambda nsize: lambda x: tf.local_response_norm(x, nsize, k=2.0),
    "l2_normalization": _bare(lambda x: tf.normalize(x, dim=1)),
    "softmax": _along(torch.softmax),
    "log_softmax": _along(torch.log_softmax),
    "masked_softmax": _masked_softmax,
    "softmax_cross_entropy_loss": _cross_entropy,
    "sigmoid_bce_loss": _mean(lambda x, y: tf.binary_cross_entropy_with_logits(x, y.float(), reduction="none")),
    "l2_loss": _mean(lambda x, y: tf.mse_loss(x, y, reduction="none") / 2),
    "huber_loss": _mean(lambda x, y: tf.huber_loss(x, y, reduction="none")),
    "kl_div_loss": _mean(lambda x, y: tf.kl_div(x, y, reduction="none")),
    "ctc_batch_loss": _ctc,
    "softrelu": _bare(tf.softplus),
    "gelu": lambda approximate=False: lambda x: tf.gelu(x, approximate="tanh" if approximate else "none"),
    "cbrt": _bare(lambda x: x.pow(1 / 3)),
    "gammaln": _bare(torch.lgamma),
    "leaky_relu": _leaky,
    "hard_sigmoid": _bare(lambda x: (0.2 * x + 0.5).clamp(0, 1)),
    "dropout": lambda p: lambda x: tf.dropout(x, p),
    "cast": lambda dtype: lambda x: x.to(getattr(torch, dtype)),
    "power": _bare(torch.pow),
    "mod": _bare(torch.remainder),
    "equal": _bare(torch.eq),
    "add_n": _bare(lambda *xs: xs[0] + xs[1] + xs[2] + xs[3]),
    "sum": _along(torch.sum),
    "mean": _along(torch.mean),
    "max": lambda axis: torch.max if axis is None else lambda x: torch.amax(x, axis),
    "var": lambda axis: lambda x: torch.var(x, axis, correction=0),
    "std": lambda axis: lambda x: torch.std(x, axis, correction=0),
    "logsumexp": _along(torch.logsumexp),
    "cumsum": _along(torch.cumsum),
    "cumprod": _along(torch.cumprod),
    "prod": _along(torch.prod),
    "argmax": _along(torch.argmax),
    "any": _along(torch.any),
    "norm": lambda axis: lambda x: torch.linalg.vector_norm(x, dim=axis),
    "embedding": _bare(tf.embedding),
    "take": lambda axis: lambda x, i: torch.index_select(x, axis, i),
    "take_along_axis": lambda axis: lambda x, i: torch.gather(x, axis, i),
    "gather_nd": _bare(lambda x, i: x[i[0], i[1]]),
    "scatter_nd": lambda shape: lambda x, i: torch.zeros(shape).index_put((i[0], i[1]), x),
    "index_add": _bare(lambda x, i, v: x.index_put((i[0], i[1]), v, accumulate=True)),
    "index_update": _bare(lambda x, i, v: x.index_put((i[0], i[1]), v)),
    "pick": lambda axis: lambda x, i: x.gather(axis, i[:, None])[:, 0],
    "one_hot": lambda depth: lambda i: tf.one_hot(i, depth).float(),
    "topk": _top,
    "sort": lambda axis=-1: lambda x: torch.sort(x, axis)[0],
    "argsort": _bare(torch.argsort),
    "transpose": lambda axes: lambda x: x.permute(axes).contiguous(),
    "swapaxes": lambda axis1, axis2: lambda x: x.transpose(axis1, axis2).contiguous(),
    "concatenate": lambda axis: lambda *xs: torch.cat(xs, axis),
    "stack": lambda axis: lambda *xs: torch.stack(xs, axis),
    "split": _split,
    "slice": _slice,
    "slice_axis": lambda axis, begin, end: lambda x: x.narrow(axis, begin, end - begin).contiguous(),
    "pad": _pad,
    "tile": lambda reps: lambda x: x.repeat(*reps),
    "repeat": lambda repeats, axis: lambda x: x.repeat_interleave(repeats, axis),
    "flip": lambda axis: lambda x: x.flip(axis),
    "roll": lambda shift, axis: lambda x: x.roll(shift, axis),
    "broadcast_to": lambda shape: lambda x: x.expand(shape).contiguous(),
    "fully_connected": _dense,
    "dot": _bare(torch.mm),
    "batch_dot": _batch_dot,
    "einsum": lambda subscripts: lambda *xs: torch.einsum(subscripts, *xs),
    "tensordot": lambda axes: lambda a, b: torch.tensordot(a, b, axes),
    "rnn": _rnn,
    "dot_product_attention": _attention,
    "interleaved_matmul_selfatt_qk": _scores,
    "interleaved_matmul_selfatt_valatt": _context,
    "sequence_mask": _sequence_mask,
    "sequence_last": _sequence_last,
    "bilinear_resize": _resize,
    "box_iou": _iou,
    "image.normalize": _normalize,
    "random_normal": _random(torch.randn),
    "random_uniform": _random(torch.rand),
    "random_exponential": _random(lambda size: torch.empty(size).exponential_()),
    "random_gamma": _random(lambda size: torch._standard_gamma(torch.full(size, 2.0))),
    "random_permutation": _bare(lambda x: x[torch.randperm(len(x))]),
}
# What PyTorch calls by the same name.
FORMS.update({name: _bare(getattr(tf, name)) for name in "relu silu mish elu selu softsign".split()})
FORMS.update(
    {
        name: _bare(getattr(torch, name))
        for name in (
            "sigmoid tanh exp erf sin square log log1p sqrt rsqrt reciprocal absolute sign floor clip add multiply "
            "true_divide maximum arctan2 logaddexp greater where tril matmul"
        ).split()
    }
)


def make(case: Case, gradient: bool) -> Job:
    """Return the case as a call.

    Raises
    ------
    ImportError
        If PyTorch has no such operator.
    """
    if case.op not in FORMS:
        raise ImportError(f"PyTorch has no {case.op}")
    inputs: list[Any] = [torch.from_numpy(x) if x.ndim else float(x) for x in arrays(case)]
    inputs = [x.long() if getattr(x, "dtype", None) == torch.int32 else x for x in inputs]  # what it wants of places
    if case.op == "rnn":
        inputs = _split_rnn(case, inputs)
        wanted = inputs
    else:
        wanted = [inputs[i] for i in trained(case)]
    return Job(FORMS[case.op](**case.attrs), inputs, wanted if gradient else [])
