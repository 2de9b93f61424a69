"""Whole small trainings against real MXNet 2.0: its weights to begin with, the same batches, its losses and weights."""

import numpy as onp
import pytest

from gluonx import Trainer, autograd, engine, loss, nn, np
from lib import TESTS
from lib.golden import load_cases

ORACLE = TESTS / "oracle" / "training"
training = load_cases("training")

RTOL = 1e-4
MODES = ("plain", "hybrid", "naive")


@pytest.fixture(scope="module")
def golden():
    with onp.load(ORACLE / "training.npz") as file:
        return dict(file)


def close(ours, theirs, what):
    onp.testing.assert_allclose(ours, theirs, rtol=RTOL, atol=RTOL * float(abs(theirs).max()), err_msg=what)


@pytest.mark.dear
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", training.CASES)
def test_a_training_equals_mxnet(name, mode, golden):
    make, _, optimizer, settings = training.CASES[name]
    with engine.mode("naive" if mode == "naive" else "deferred"):
        net = make(nn)
        net.load_parameters(str(ORACLE / f"{name}.params"))
        if mode == "hybrid":
            net.hybridize()
        trainer = Trainer(net.collect_params(), optimizer, settings)
        first = np.array(next(training.batches(name))[0])
        close(net(first).asnumpy(), golden[f"{name}/before"], "outputs before")
        losses = training.train(name, net, trainer, loss.SoftmaxCrossEntropyLoss(), autograd, np.array)
        close(losses, golden[f"{name}/losses"], "losses")
        params = net.collect_params()
        weights = {key.split("/")[-1] for key in golden if key.startswith(f"{name}/weights/")}
        assert params.keys() == weights
        for key, param in params.items():
            close(param.data().asnumpy(), golden[f"{name}/weights/{key}"], key)
        close(net(first).asnumpy(), golden[f"{name}/after"], "outputs after")


def test_parameters_go_back_to_mxnets_file(tmp_path):
    """Files that gluonx writes hold the names and numbers of those that MXNet wrote."""
    for name, (make, *_) in training.CASES.items():
        net = make(nn)
        net.load_parameters(str(ORACLE / f"{name}.params"))
        net.save_parameters(tmp_path / "ours.params")
        with onp.load(ORACLE / f"{name}.params") as theirs, onp.load(tmp_path / "ours.params") as ours:
            assert set(ours) == set(theirs)
            for key in theirs:
                onp.testing.assert_array_equal(ours[key], theirs[key])
