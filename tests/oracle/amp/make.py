"""Record how MXNet's loss scaler moves: the scale that is used in each step, for a pattern of overflows.

Run it with the oracle's Python:

    /tmp/oracle/bin/python tests/oracle/amp/make.py

No operator is cast, since MXNet has no half-precision matrix products on a CPU; the scaler does not care.
"""

import json
import pathlib

import numpy as onp
from mxnet import amp, autograd, gluon, np, npx
from mxnet.gluon import nn

npx.set_np()
PATTERN = "ggggbggbbgggggggggggbgggggg"  # good and bad steps
INTERVAL = 4


def main():
    amp.init(target_precision_ops=["dot"])
    net = nn.Dense(1, in_units=1, use_bias=False)
    net.initialize()
    net.weight.set_data(np.ones((1, 1)))
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.125})
    amp.init_trainer(trainer)
    trainer._amp_loss_scaler._scale_seq_len = INTERVAL
    trainer._amp_loss_scaler._max_loss_scale = 2.0**18
    steps = []
    for kind in PATTERN:
        with autograd.record():
            loss = net(np.ones((1, 1))) ** 2
            if kind == "b":
                loss = loss * onp.inf
            with amp.scale_loss(loss, trainer) as scaled:
                scaled.backward()
        used = trainer.amp_loss_scale
        trainer.step(1)
        steps.append([used, net.weight.data().item()])
    found = {"pattern": PATTERN, "interval": INTERVAL, "max_scale": 2.0**18, "steps": steps}
    found["updates"] = trainer._optimizer.num_update
    pathlib.Path(__file__).with_name("scaler.json").write_text(json.dumps(found) + "\n")


main()
