"""The example examples/iree_compile.py: exported nets compiled by IREE give the same numbers."""

import os
import pathlib

import numpy as onp
import pytest

from examples import iree_compile as example
from gluonx import nn, np, rnn
from gluonx.model_zoo import vision

pytest.importorskip("iree.compiler")
pytest.importorskip("iree.runtime")

RNG = onp.random.default_rng(0)


def convnet():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, padding=1), nn.BatchNorm(), nn.Activation("relu"), nn.MaxPool2D(), nn.Dense(3))
    return net, (1, 2, 8, 8)


def lstm():
    return rnn.LSTM(8, layout="NTC"), (1, 5, 6)


def resnet():
    return vision.resnet18_v1(), (1, 3, 64, 64)


@pytest.mark.parametrize("made", [convnet, lstm, pytest.param(resnet, marks=pytest.mark.slow)])
def test_the_same_numbers(made, tmp_path):
    net, shape = made()
    net.initialize()
    net.hybridize()
    x = RNG.normal(size=shape).astype("float32")
    wanted = net(np.array(x)).asnumpy()
    images = len(shape) == 4
    net.export(tmp_path / "model", buckets=[1], layout="NHWC" if images else None)
    assert example.main([str(tmp_path / "model"), "1", str(tmp_path / "model.vmfb")]) == 0
    predict = example.predictor((tmp_path / "model.vmfb").read_bytes())
    found = predict(onp.ascontiguousarray(x.transpose(0, 2, 3, 1)) if images else x)
    assert abs(found - wanted).max() <= 1e-5 * abs(wanted).max()


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="what cores a thread may use is asked as on Linux")
def test_no_thread_is_pinned(tmp_path):
    """One that is waits for its core while others are free, and all wait for it."""
    net = nn.Dense(3, in_units=2)
    net.initialize()
    net.hybridize()
    net(np.ones((1, 2)))
    net.export(tmp_path / "model", buckets=[1])
    predict = example.predictor(example.compiled(tmp_path / "model", 1), threads=2)
    assert predict(onp.ones((1, 2), "float32")).shape == (1, 3)
    tasks = pathlib.Path("/proc/self/task")
    workers = [int(t.name) for t in tasks.iterdir() if (t / "comm").read_text().startswith("iree-worker")]
    assert workers
    assert all(os.sched_getaffinity(thread) == os.sched_getaffinity(0) for thread in workers)


def test_a_bucket_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="bucket-7"):
        example.module(tmp_path, 7)
