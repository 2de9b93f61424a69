"""Train three small nets in MXNet 2.0 and keep what came out.

Run with the oracle's Python (see ``shared/tools/oracle.sh``)::

    /tmp/oracle/bin/python tests/oracle/training/make_golden.py

For each case of ``cases.py`` it writes ``NAME.params``, the initial weights as ``save_parameters`` of MXNet writes
them, and into ``training.npz`` the losses of all steps, the weights and moving averages at the end, and the net's
outputs for the first batch, in prediction mode, before and after.
"""

import pathlib

import numpy as onp
from cases import CASES, batches, train
from mxnet import autograd, gluon, init, np, npx
from mxnet import random as mx_random

npx.set_np()
HERE = pathlib.Path(__file__).parent


def main():
    """Write the golden files."""
    golden = {}
    for number, (name, (make, _, optimizer, settings)) in enumerate(CASES.items()):
        mx_random.seed(number)
        net = make(gluon.nn)
        net.initialize(init.Xavier(magnitude=2.5))
        first = np.array(next(batches(name))[0])
        golden[f"{name}/before"] = net(first).asnumpy()
        net.save_parameters(str(HERE / f"{name}.params"))
        trainer = gluon.Trainer(net.collect_params(), optimizer, settings)
        loss = gluon.loss.SoftmaxCrossEntropyLoss()
        golden[f"{name}/losses"] = onp.array(train(name, net, trainer, loss, autograd, np.array), "float32")
        golden[f"{name}/after"] = net(first).asnumpy()
        for key, param in net.collect_params().items():
            golden[f"{name}/weights/{key}"] = param.data().asnumpy()
    onp.savez_compressed(HERE / "training.npz", **golden)


if __name__ == "__main__":
    main()
