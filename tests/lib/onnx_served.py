"""Helpers of the ONNX tests: blocks of functions; export, run by onnxruntime, compare."""

import pathlib
import platform

import numpy as np
import onnx
import onnxruntime

from gluonx import nn
from gluonx import np as gnp

__all__ = ["Code", "handles", "kinds", "numbers", "same", "saturates", "sent", "served"]


class Code(nn.HybridBlock):
    """A block of a function."""

    def __init__(self, function):
        super().__init__()
        self.__dict__["function"] = function

    def forward(self, *x):
        return self.function(*x)


def handles(arrays):
    return [gnp.array(a, dtype=a.dtype) for a in arrays]


def served(path, arrays, exact=False):
    """Run a file by onnxruntime on inputs in order; return the outputs.

    With `exact` it computes quantized layers from real numbers, as the file says, and not by its kernels of bytes.
    """
    options = onnxruntime.SessionOptions()
    if exact:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    assert len(session.get_inputs()) == len(arrays)
    return session.run(None, {put.name: a for put, a in zip(session.get_inputs(), arrays)})


def saturates():
    """Tell whether onnxruntime's kernels of bytes add pairs of products in 16 bits: on x86 processors without VNNI.

    Where data and weights use their whole ranges, results are then off by a quarter of the largest.
    """
    processor = pathlib.Path("/proc/cpuinfo")
    is_x86 = platform.machine().lower() in ("x86_64", "amd64")
    return is_x86 and not (processor.exists() and "vnni" in processor.read_text())


def numbers(out):
    return [o.asnumpy() for o in (out if isinstance(out, (list, tuple)) else [out])]


def same(found, expected, tol=1e-5):
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        a, b = (np.asarray(v, "float64") for v in (a, b))
        finite = np.abs(b[np.isfinite(b)])
        np.testing.assert_allclose(a, b, rtol=tol, atol=tol * max(1e-9, finite.max(initial=0)))


def sent(net, arrays, folder, tol=1e-5, sizes=True, **options):
    """Export and compare; with `sizes` also at another batch size than the one exported with."""
    path = net.export(folder / "net", format="onnx", inputs=handles(arrays), dynamic_batch=sizes, **options)
    onnx.checker.check_model(path)
    same(served(path, arrays), numbers(net(*handles(arrays))), tol)
    if sizes and arrays:
        more = [np.concatenate([a, a[::-1], a]) for a in arrays]
        same(served(path, more), numbers(net(*handles(more))), tol)
    return onnx.load(path)


def kinds(model):
    return [node.op_type for node in model.graph.node]
