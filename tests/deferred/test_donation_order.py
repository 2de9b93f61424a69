"""A donated buffer goes to what replaces it, whatever order the Trainer has its parameters in."""

import re

import pytest

import gluonx
from gluonx import Trainer, autograd, nn, np, parallel
from gluonx.deferred.run import flushing
from lib.meshes import on, ran

LAYERS = 12  # by name 10 and 11 come before 2


def copied():
    """The arguments of a step of equal layers that XLA copies before it uses them."""
    net = nn.HybridSequential()
    net.add(*[nn.Dense(80, activation="tanh", in_units=80) for _ in range(LAYERS)])
    net.initialize()
    net.hybridize()
    trainer = Trainer(net.collect_params(), "nag", {"learning_rate": 0.1})
    for _ in range(2):
        with ran() as texts:
            with autograd.record():
                loss = (net(parallel.split(np.ones((8, 80)))) ** 2).mean()
            loss.backward()
            trainer.step(1)
    entry = texts[0][texts[0].index("\nENTRY ") :]
    given = re.findall(r"%([\w.\-]+) = [^=\n]* parameter\(\d+\)", entry)
    return set(given) & set(re.findall(r" copy\(%?([\w.\-]+)\)", entry))


@pytest.mark.dear
def test_weights_take_each_their_own_buffer(monkeypatch):
    """On one device XLA's schedule may want copies, by hand too; where gradients are summed over devices none."""
    with parallel.use(on(2, data=-1)):
        assert not copied()
        # What it is about: outputs in the Trainer's order take each other's buffers, which XLA saves before.
        gluonx.engine.clear()
        commit = flushing.Commit
        monkeypatch.setattr(flushing, "Commit", lambda targets, owned: commit(targets, owned._replace(order=())))
        assert len(copied()) >= 8
