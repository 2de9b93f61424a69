"""Stores over processes, Horovod's and BytePS's names: with one process, and with two real ones."""

import os
import socket
import subprocess
import sys
import textwrap

import numpy as onp
import pytest

import gluonx as mx
from gluonx import Trainer, autograd, np
from gluonx.compat import horovod as hvd
from gluonx.compat.alias.hook import install_as_mxnet, uninstall
from gluonx.compat.kvstore import create
from gluonx.errors import GluonxError
from gluonx.gluon import nn
from lib import TESTS
from lib.launched import launched


def test_one_process():
    hvd.init()
    assert (hvd.rank(), hvd.size(), hvd.local_rank(), hvd.local_size()) == (0, 1, 0, 1)
    x = np.array([1.0, 2.0])
    assert hvd.allreduce(x).tolist() == hvd.allgather(x).tolist() == hvd.broadcast(x, 0).tolist() == [1, 2]
    assert hvd.allreduce_(x) is x is hvd.broadcast_(x, 0)
    with pytest.raises(ValueError, match="no process 3"):
        hvd.broadcast(x, 3)
    with pytest.raises(ValueError, match="takes a dict"):
        hvd.broadcast_parameters([x])


def test_the_names_are_found_beside_mxnet():
    install_as_mxnet(2)
    try:
        import byteps.mxnet as bps
        import horovod.mxnet as found

        assert found.DistributedTrainer is bps.DistributedTrainer is hvd.DistributedTrainer
    finally:
        uninstall()
    assert "horovod" not in sys.modules


def train(make):
    mx.random.seed(1)
    net = nn.Dense(2, in_units=3)
    net.initialize()
    hvd.broadcast_parameters(net.collect_params(), root_rank=0)
    trainer = make(net.collect_params())
    for k in range(3):
        with autograd.record():
            loss = (net(np.ones((4, 3)) * k) ** 2).sum()
        loss.backward()
        trainer.step(4)
    return net.weight.data().asnumpy()


def test_trainers_of_one_process_are_trainers():
    plain = train(lambda params: Trainer(params, "sgd", {"learning_rate": 0.1}))
    sgd = mx.optimizer.SGD(learning_rate=0.1)
    for make in (
        lambda params: hvd.DistributedTrainer(params, "sgd", {"learning_rate": 0.1}),
        lambda params: hvd.DistributedTrainer(params, "sgd", {"learning_rate": 0.1}, root_rank=0),
        lambda params: Trainer(params, hvd.DistributedOptimizer(sgd), kvstore=None),
        lambda params: Trainer(params, "sgd", {"learning_rate": 0.1}, kvstore="dist_device_sync"),
    ):
        assert onp.array_equal(train(make), plain)
    with pytest.raises(GluonxError, match="Use 'dist_sync'"):
        train(lambda params: Trainer(params, "sgd", kvstore="dist_async"))


def test_a_store_over_one_process():
    store = create("dist_sync")
    assert (store.rank, store.num_workers, store.type) == (0, 1, "dist_sync")
    store.init(3, np.ones(2))
    store.push(3, [np.ones(2), np.ones(2)])
    out = np.zeros(2)
    store.pull(3, out=out)
    store._barrier()
    assert out.tolist() == [2, 2]


WORKER = """
import sys
import jax
jax.config.update("jax_cpu_collectives_implementation", "gloo")
rank = int(sys.argv[1])
jax.distributed.initialize(f"localhost:{sys.argv[2]}", 2, rank)
import numpy as onp
import gluonx as mx
from gluonx import Trainer, autograd, np
from gluonx.compat import horovod as hvd
from gluonx.compat.kvstore import create
from gluonx.gluon import nn

assert (hvd.rank(), hvd.size()) == (rank, 2)
assert hvd.allreduce(np.array([1.0 + rank])).tolist() == [1.5]
assert hvd.allreduce(np.array([1.0 + rank]), average=False).tolist() == [3.0]
assert hvd.allgather(np.arange(rank + 1)).tolist() == [0, 0, 1]
assert hvd.broadcast(np.array([rank]), 1).tolist() == [1]
store = create("dist_sync")
store.init("w", np.array([5.0 + rank]))
out = np.zeros(1)
store.pull("w", out=out)
assert out.tolist() == [5.0] and (store.rank, store.num_workers) == (rank, 2)
store.push("w", [np.ones(1), np.ones(1)])
store.pull("w", out=out)
assert out.tolist() == [4.0]
data = onp.random.RandomState(0).randn(4, 8, 3).astype("float32")
for kind in ("horovod", "optimizer", "store"):
    mx.random.seed(1 + rank * (kind != "store"))  # begin apart: the values of process 0 are to count
    net = nn.Dense(2, in_units=3)
    net.initialize()
    hvd.broadcast_parameters(net.collect_params(), root_rank=0)
    settings = {"learning_rate": 0.1, "momentum": 0.9}
    if kind == "horovod":
        trainer, batch = hvd.DistributedTrainer(net.collect_params(), "sgd", settings), 4
    elif kind == "optimizer":
        sgd = hvd.DistributedOptimizer(mx.optimizer.SGD(**settings))
        trainer, batch = Trainer(net.collect_params(), sgd, kvstore=None), 4
    else:
        trainer, batch = Trainer(net.collect_params(), "sgd", settings, kvstore="dist_sync"), 8
    for part in data:
        with autograd.record():
            loss = (net(np.array(part[rank * 4 : rank * 4 + 4])) ** 2).sum()
        loss.backward()
        trainer.step(batch)
    mx.random.seed(1)
    one = nn.Dense(2, in_units=3)
    one.initialize()
    alone = Trainer(one.collect_params(), "sgd", settings)
    for part in data:
        with autograd.record():
            loss = (one(np.array(part)) ** 2).sum()
        loss.backward()
        alone.step(8)
    onp.testing.assert_allclose(net.weight.data().asnumpy(), one.weight.data().asnumpy(), rtol=1e-5, err_msg=kind)
print("done", rank)
"""


@pytest.mark.slow
def test_two_processes(tmp_path):
    with socket.socket() as found:
        found.bind(("localhost", 0))
        port = found.getsockname()[1]
    script = tmp_path / "worker.py"
    script.write_text(textwrap.dedent(WORKER))
    here = os.path.dirname(os.path.dirname(mx.__file__))
    env = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": "", "PYTHONPATH": here}
    workers = [
        subprocess.Popen(
            [sys.executable, str(script), str(k), str(port)], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for k in range(2)
    ]
    try:
        told = [worker.communicate(timeout=120) for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
    for k, (worker, (out, err)) in enumerate(zip(workers, told, strict=True)):
        assert worker.returncode == 0, err.decode()[-3000:]
        assert f"done {k}" in out.decode()


@pytest.mark.slow
def test_horovods_example_trains_as_one_process_does():
    """Its program as it is written, under ``import mxnet``; the mean of the processes' losses is that of one."""
    script, runs = str(TESTS / "parallel" / "scripts" / "horovod_digits.py"), []
    for count in (1, 2):
        run = launched(count, "--version", "2", script, script="gluonx.compat", options=["-m"])
        assert run.status == 0, run.err[-3000:]
        runs.append([float(loss) for loss in run.losses(count - 1).values()])
    assert len(runs[0]) == 20
    onp.testing.assert_allclose(runs[1], runs[0], rtol=0, atol=1e-5)
    assert runs[0][-1] < 0.7 * runs[0][0]
