"""``python -m benchmarks.ops``: operators over shapes of real networks, against their plain jax.lax form and others.

Each row is one operator on one set of shapes, forward and with the gradients of all its inputs. The sides are gluonx's
operator, the form that one would write in jax.lax, and, where they are there, PyTorch (if it imports) and MXNet 2.0
(``--mxnet PYTHON``, the oracle's interpreter, in a process of its own). All sides of a row are timed in turns. What
this sweep found is told in `gluonx.ops.lowering` and `gluonx.ops.pool`, which chose their forms by it.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks.harness import Result, Side, compare
from gluonx.ops import get

__all__ = ["CASES", "OpCase", "main", "measure", "page"]

WORKER = pathlib.Path(__file__).with_name("ops_mxnet.py")


@dataclass(frozen=True)
class OpCase:
    """An operator, its attributes, its inputs' shapes, and how jax.lax alone would say it."""

    name: str
    op: str
    shapes: tuple[tuple[int, ...], ...]
    plain: Callable[..., Any]
    attrs: dict[str, Any] = field(default_factory=dict)
    rows: int = 0  # the first input holds row numbers below this

    def arrays(self) -> list[np.ndarray]:
        """The inputs, the same in every process."""
        rng = np.random.default_rng(0)
        found = [rng.standard_normal(shape, np.float32) for shape in self.shapes]
        if self.rows:
            found[0] = rng.integers(0, self.rows, self.shapes[0]).astype(np.float32)
        return found


def _conv_plain(attrs: dict[str, Any]) -> Callable[..., Any]:
    def plain(x: Any, w: Any) -> Any:
        pads = [(p, p) for p in attrs["pad"]]
        names = ("NCHW", "OIHW", "NCHW")
        groups = attrs.get("num_group", 1)
        return lax.conv_general_dilated(
            x, w, attrs["stride"], pads, dimension_numbers=names, feature_group_count=groups
        )

    return plain


def conv(name: str, n: int, inner: int, size: int, out: int, k: int, s: int = 1, groups: int = 1) -> OpCase:
    """A square convolution padded to keep its size, but for the stride."""
    attrs: dict[str, Any] = {"kernel": (k, k), "stride": (s, s), "pad": (k // 2, k // 2), "num_filter": out}
    attrs |= {"num_group": groups, "no_bias": True}
    shapes = ((n, inner, size, size), (out, inner // groups, k, k))
    title = f"{name}: {n}x{inner}x{size}x{size}, {k}x{k} to {out}, stride {s}" + f", {groups} groups" * (groups > 1)
    return OpCase(title, "convolution", shapes, _conv_plain(attrs), attrs)


def _deconv_plain(attrs: dict[str, Any]) -> Callable[..., Any]:
    def plain(x: Any, w: Any) -> Any:
        k, s, p = attrs["kernel"][0], attrs["stride"], attrs["pad"][0]
        pads = [(k - 1 - p, k - 1 - p)] * 2
        names = ("NCHW", "IOHW", "NCHW")
        return lax.conv_general_dilated(x, w[..., ::-1, ::-1], (1, 1), pads, s, dimension_numbers=names)

    return plain


def deconv(name: str, n: int, inner: int, size: int, out: int, k: int, s: int, p: int) -> OpCase:
    """A square transposed convolution."""
    attrs: dict[str, Any] = {"kernel": (k, k), "stride": (s, s), "pad": (p, p), "num_filter": out, "no_bias": True}
    title = f"{name}: {n}x{inner}x{size}x{size}, {k}x{k} to {out}, stride {s}"
    return OpCase(title, "deconvolution", ((n, inner, size, size), (inner, out, k, k)), _deconv_plain(attrs), attrs)


def pool(kind: str, n: int, channels: int, size: int, k: int, s: int, p: int) -> OpCase:
    """A square pooling."""

    def plain(x: Any) -> Any:
        init, combine = (-jnp.inf, lax.max) if kind == "max" else (0.0, lax.add)
        pads = ((0, 0), (0, 0), (p, p), (p, p))
        y = lax.reduce_window(x, init, combine, (1, 1, k, k), (1, 1, s, s), pads)
        return y if kind == "max" else y / (k * k)

    title = f"{kind} pooling: {n}x{channels}x{size}x{size}, {k}x{k}, stride {s}"
    attrs = {"kernel": (k, k), "stride": (s, s), "pad": (p, p), "pool_type": kind}
    return OpCase(title, "pooling", ((n, channels, size, size),), plain, attrs)


def _batch_norm(x: Any, gamma: Any, beta: Any, mean: Any, var: Any) -> Any:
    shape = (1, -1, 1, 1)
    found, spread = x.mean((0, 2, 3)).reshape(shape), x.var((0, 2, 3)).reshape(shape)
    return (x - found) * lax.rsqrt(spread + 1e-5) * gamma.reshape(shape) + beta.reshape(shape)


def _layer_norm(x: Any, gamma: Any, beta: Any) -> Any:
    centered = x - x.mean(-1, keepdims=True)
    return centered * lax.rsqrt((centered**2).mean(-1, keepdims=True) + 1e-5) * gamma + beta


def _several() -> Iterator[OpCase]:
    for n, c, size in ((16, 64, 32), (16, 512, 2), (4, 256, 28)):
        shapes = ((n, c, size, size), *[(c,)] * 4)
        attrs = {"eps": 1e-5, "fix_gamma": False}
        yield OpCase(f"batch norm: {n}x{c}x{size}x{size}", "batch_norm", shapes, _batch_norm, attrs)
    for shape in ((1024, 768), (64, 128, 64)):
        title = "x".join(map(str, shape))
        yield OpCase(f"layer norm: {title}", "layer_norm", (shape, shape[-1:], shape[-1:]), _layer_norm, {"axis": -1})
    for shape in ((64, 1000), (96, 128, 128), (700, 4000)):
        for op, plain in (("softmax", jax.nn.softmax), ("log_softmax", jax.nn.log_softmax)):
            yield OpCase(f"{op}: {'x'.join(map(str, shape))}", op, (shape,), plain, {"axis": -1})
    for count, rows, width in ((1024, 10000, 256), (4096, 1000, 64)):
        attrs = {"input_dim": rows, "output_dim": width}
        shapes = ((count,), (rows, width))
        title = f"embedding: {count} of {rows}x{width}"
        yield OpCase(title, "embedding", shapes, lambda i, w: w[i.astype(jnp.int32)], attrs, rows)
    for rows, inner, units in ((32, 784, 128), (256, 512, 512), (8, 4096, 4096)):
        attrs = {"num_hidden": units, "no_bias": True}
        shapes = ((rows, inner), (units, inner))
        yield OpCase(f"dense: {rows}x{inner} to {units}", "fully_connected", shapes, lambda x, w: x @ w.T, attrs)


CASES = [
    # ResNet-18 on 64x64
    conv("ResNet-18", 16, 3, 64, 64, 7, 2),
    conv("ResNet-18", 16, 64, 16, 64, 3),
    conv("ResNet-18", 16, 64, 16, 128, 3, 2),
    conv("ResNet-18", 16, 64, 16, 128, 1, 2),
    conv("ResNet-18", 16, 128, 8, 128, 3),
    conv("ResNet-18", 16, 128, 8, 256, 3, 2),
    conv("ResNet-18", 16, 256, 4, 256, 3),
    conv("ResNet-18", 16, 256, 4, 512, 3, 2),
    conv("ResNet-18", 16, 512, 2, 512, 3),
    # ResNet-50 on 224x224
    conv("ResNet-50", 2, 64, 56, 256, 1),
    conv("ResNet-50", 2, 256, 56, 64, 1),
    conv("ResNet-50", 2, 128, 28, 128, 3),
    conv("ResNet-50", 2, 512, 28, 128, 1),
    conv("ResNet-50", 2, 1024, 14, 256, 1),
    conv("ResNet-50", 2, 512, 7, 512, 3),
    conv("ResNet-50", 2, 512, 7, 2048, 1),
    conv("ResNeXt-50", 2, 128, 56, 128, 3, 1, 32),
    # VGG on 64x64
    conv("VGG", 4, 64, 64, 64, 3),
    conv("VGG", 4, 256, 16, 256, 3),
    conv("VGG", 4, 512, 4, 512, 3),
    # MobileNet on 64x64 and 224x224
    conv("MobileNet", 16, 96, 32, 96, 3, 2, 96),
    conv("MobileNet", 16, 144, 16, 144, 3, 1, 144),
    conv("MobileNet", 16, 144, 16, 144, 3, 2, 144),
    conv("MobileNet", 16, 192, 8, 192, 3, 1, 192),
    conv("MobileNet", 16, 576, 4, 576, 3, 1, 576),
    conv("MobileNet", 16, 960, 2, 960, 3, 1, 960),
    conv("MobileNet", 2, 32, 112, 32, 3, 1, 32),
    conv("MobileNet", 16, 96, 4, 576, 1),
    conv("ConvNeXt", 2, 96, 56, 96, 7, 1, 96),
    # Inception and dense prediction
    conv("7 on 6", 16, 64, 6, 64, 7),
    deconv("DCGAN", 32, 100, 1, 256, 4, 1, 0),
    deconv("DCGAN", 32, 256, 4, 128, 4, 2, 1),
    deconv("DCGAN", 32, 128, 8, 64, 4, 2, 1),
    deconv("U-Net", 4, 64, 32, 32, 2, 2, 0),
    pool("max", 16, 64, 32, 3, 2, 1),
    pool("max", 16, 64, 32, 2, 2, 0),
    pool("max", 4, 192, 28, 3, 1, 1),
    pool("avg", 16, 64, 32, 3, 2, 1),
    pool("avg", 16, 64, 32, 2, 2, 0),
    *_several(),
]


def _first(out: Any) -> Any:
    return out[0] if isinstance(out, (tuple, list)) else out


def _jax_side(name: str, fn: Callable[..., Any], case: OpCase, gradient: bool) -> Side:
    arrays = [jnp.asarray(x) for x in case.arrays()]
    wanted = tuple(i for i in range(len(arrays)) if not (case.rows and i == 0))

    def forward(*args: Any) -> Any:
        return _first(fn(*args))

    def both(*args: Any) -> Any:
        def of(*chosen: Any) -> Any:
            given = dict(zip(wanted, chosen, strict=True))
            return forward(*[given.get(i, a) for i, a in enumerate(args)])

        y, pull = jax.vjp(of, *[args[i] for i in wanted])
        return y, pull(y)

    jitted = jax.jit(both if gradient else forward)

    def run(count: int) -> None:
        for _ in range(count):
            out = jitted(*arrays)
        jax.block_until_ready(out)

    return Side(name, run)


def _torch_side(case: OpCase, gradient: bool) -> Side | None:
    try:
        import torch  # type: ignore[import-not-found]
        from torch.nn import functional as tf  # type: ignore[import-not-found]
    except ImportError:
        return None
    a = case.attrs
    calls: dict[str, Callable[..., Any]] = {
        "convolution": lambda x, w: tf.conv2d(x, w, None, a["stride"], a["pad"], 1, a["num_group"]),
        "deconvolution": lambda x, w: tf.conv_transpose2d(x, w, None, a["stride"], a["pad"]),
        "pooling": lambda x: getattr(tf, f"{a['pool_type']}_pool2d")(x, a["kernel"], a["stride"], a["pad"]),
        "batch_norm": lambda x, g, b, m, v: tf.batch_norm(x, None, None, g, b, True),
        "layer_norm": lambda x, g, b: tf.layer_norm(x, x.shape[-1:], g, b),
        "softmax": lambda x: tf.softmax(x, -1),
        "log_softmax": lambda x: tf.log_softmax(x, -1),
        "embedding": lambda i, w: tf.embedding(i.long(), w),
        "fully_connected": tf.linear,
    }
    call = calls[case.op]
    tensors = [torch.tensor(x) for x in case.arrays()]
    wanted = [t for i, t in enumerate(tensors) if not (case.rows and i == 0)]
    for tensor in wanted if gradient else ():
        tensor.requires_grad_()

    def run(count: int) -> None:
        for _ in range(count):
            y = call(*tensors)
            if gradient:
                torch.autograd.grad(y, wanted, y.detach(), allow_unused=True)

    return Side("PyTorch", run)


class _MXNet:
    """MXNet in a process of its own, told what to run by lines of JSON."""

    def __init__(self, python: str) -> None:
        self.process = subprocess.Popen(
            [python, str(WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def ask(self, **request: Any) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None, "both were asked for"
        self.process.stdin.write(json.dumps(request) + "\n")
        answer = self.process.stdout.readline().strip()
        if answer != "done":
            raise RuntimeError(f"MXNet's process answered {answer!r}")

    def side(self, case: OpCase, gradient: bool) -> Side:
        self.ask(op=case.op, attrs=case.attrs, shapes=case.shapes, rows=case.rows, gradient=gradient)
        return Side("MXNet", lambda count: self.ask(count=count))


def measure(case: OpCase, gradient: bool, rounds: int, block: float, mxnet: _MXNet | None = None) -> list[Result]:
    """All sides of one row, gluonx's first; the ratios are over it.

    Parameters
    ----------
    case : OpCase
    gradient : bool
        Whether the gradients of the inputs are computed as well.
    rounds, block
        As for `benchmarks.harness.compare`.
    mxnet : _MXNet, optional
    """
    op = get(case.op).bind(**case.attrs)
    ours = _jax_side("gluonx", op.in_mode(True).fn, case, gradient)
    others = [_jax_side("jax.lax", case.plain, case, gradient), _torch_side(case, gradient)]
    if mxnet is not None:
        others.append(mxnet.side(case, gradient))
    return compare(ours, [side for side in others if side is not None], rounds, block)


def agree(case: OpCase) -> None:
    """Raise unless both jax sides give the same numbers."""
    arrays = [jnp.asarray(x) for x in case.arrays()]
    op = get(case.op).bind(**case.attrs).in_mode(True)
    ours, plain = (np.asarray(_first(jax.jit(fn)(*arrays))) for fn in (op.fn, case.plain))
    np.testing.assert_allclose(ours, plain, rtol=1e-3, atol=1e-3 * float(abs(plain).max()), err_msg=case.name)


def table(found: list[tuple[str, str, list[Result]]]) -> str:
    """The rows as Markdown; a ratio above 1 says that gluonx is faster."""
    names = [r.name for r in found[0][2][1:]]
    lines = ["| operator | | gluonx, ms | " + " | ".join(f"{n} over gluonx" for n in names) + " |"]
    lines.append("| --- | --- | --- |" + " --- |" * len(names))
    for title, what, results in found:
        ratios = [f"{r.ratio[1]:.2f} ({r.ratio[0]:.2f} to {r.ratio[2]:.2f})" for r in results[1:]]
        lines.append(f"| {title} | {what} | {results[0].wall[1] * 1e3:.3g} | " + " | ".join(ratios) + " |")
    return "\n".join(lines)


def page(text: str) -> str:
    """The table with what it was measured on above it."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = f"Load of the machine at the end: {os.getloadavg()[0]:.1f}."
    head = f"{cores} cores, jax {jax.__version__}. Ratios are medians, in parentheses quartiles. {load}"
    return f"# Operators\n\n<!-- written by python -m benchmarks.ops -->\n{head}\n\n{text}\n"


def main(argv: list[str] | None = None) -> int:
    """Measure what is asked for and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ops", description=__doc__)
    parser.add_argument("--only", default="", help="rows whose name holds this")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--block", type=float, default=0.05, help="seconds of one block of calls")
    parser.add_argument("--mxnet", help="a Python that has MXNet 2.0")
    parser.add_argument("--write", type=pathlib.Path, help="a file for the table")
    args = parser.parse_args(argv)
    mxnet = _MXNet(args.mxnet) if args.mxnet else None
    found = []
    for case in CASES:
        if args.only.lower() in case.name.lower():
            agree(case)
            for what in ("forward", "with gradients"):
                results = measure(case, what != "forward", args.rounds, args.block, mxnet)
                found.append((case.name, what, results))
                told = ", ".join(f"{r.name} {r.wall[1] * 1e3:.3g} ms" for r in results)
                print(f"{case.name}, {what}: {told}", flush=True)
    text = table(found)
    print(f"\n{text}")
    if args.write:
        args.write.write_text(page(text))
    return 0


if __name__ == "__main__":
    sys.exit(main())
