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

from gluonx.parallel.batches import from_local as from_local
from gluonx.parallel.batches import gather as gather
from gluonx.parallel.placing import constrain as constrain
from gluonx.parallel.placing import mesh as mesh
from gluonx.parallel.placing import replicate as replicate
from gluonx.parallel.placing import split as split
from gluonx.parallel.placing import use as use
from gluonx.parallel.planning import Plan as Plan
from gluonx.parallel.planning import plan as plan
from gluonx.parallel.processes import initialize as initialize
from gluonx.parallel.strategies import data_parallel as data_parallel
from gluonx.parallel.strategies import expert as expert
from gluonx.parallel.strategies import fsdp as fsdp
from gluonx.parallel.strategies import tensor as tensor
from gluonx.sharding import current_mesh as current_mesh

__all__ = [
    "Plan",
    "constrain",
    "current_mesh",
    "data_parallel",
    "expert",
    "from_local",
    "fsdp",
    "gather",
    "initialize",
    "mesh",
    "plan",
    "replicate",
    "split",
    "tensor",
    "use",
]
