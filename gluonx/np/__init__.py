"""``gluonx.np``: NumPy's functions on gluonx arrays, as ``mxnet.np`` has them.

Arrays are float32 unless another dtype is asked for. Functions are made from the core operators and from
``jax.numpy`` (see `gluonx.np.table`); every one of them is recorded by autograd, deferred by the engine and traced by
a hybridized block.
"""

from gluonx.common.arguments import named as _named
from gluonx.np import composed, creation, fft, functions, hosted, info, linalg, random
from gluonx.np.composed import *  # noqa: F403
from gluonx.np.creation import *  # noqa: F403
from gluonx.np.functions import *  # noqa: F403
from gluonx.np.handle import ndarray as ndarray
from gluonx.np.hosted import *  # noqa: F403
from gluonx.np.info import *  # noqa: F403

from gluonx.np.composed import where as where  # isort: skip - after the table's plain `where`

_named(globals(), [*composed.__all__, *creation.__all__, *hosted.__all__, *info.__all__], "np")

__all__ = ["fft", "linalg", "ndarray", "random"]
for _module in (functions, composed, creation, hosted, info):
    __all__ += _module.__all__
del _module


def __dir__() -> list[str]:
    return sorted(__all__)
