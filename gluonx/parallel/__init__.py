"""Many devices: where parameters and batches lie.

The loop stays as it is. Say which devices there are and how they are arranged (:func:`mesh`, :func:`use`), how the
parameters lie on them (``net.shard`` with a strategy, or ``Parameter.sharding``), and split each batch (:func:`split`;
a ``DataLoader`` does it by itself). The one program of a step is then partitioned by XLA, which adds what has to be
sent: gradients are summed, shards gathered and scattered. The numbers are those of one device.

Examples
--------
>>> from gluonx import Trainer, autograd, nn, np, parallel
>>> net = nn.Dense(8, in_units=4)
>>> with parallel.use(parallel.mesh(data=-1)):
...     net.initialize()
...     report = net.shard(parallel.fsdp())
...     trainer = Trainer(net.collect_params(), "adam")
...     x = parallel.split(np.ones((16, 4)))
...     with autograd.record():
...         loss = (net(x) ** 2).mean()
...     loss.backward()
...     trainer.step(1)
"""

from gluonx.parallel import placing, strategies
from gluonx.parallel.batches import from_local, gather
from gluonx.parallel.placing import *  # noqa: F403
from gluonx.parallel.planning import Plan, plan
from gluonx.parallel.processes import initialize
from gluonx.parallel.strategies import *  # noqa: F403
from gluonx.sharding import current_mesh

__all__ = ["Plan", "current_mesh", "from_local", "gather", "initialize", "plan"]
__all__ += placing.__all__
__all__ += strategies.__all__


def __dir__() -> list[str]:
    return sorted(__all__)
