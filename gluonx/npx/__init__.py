"""``gluonx.npx``: what neural networks need beyond NumPy, as ``mxnet.npx`` has it.

Every core operator (`gluonx.ops`) is a function here, under its name and its older names: ``npx.fully_connected`` and
``npx.FullyConnected``. They are made when first used; the few that are more than an operator are written out in
`gluonx.npx.composed`.
"""
# ruff: noqa: E402, PLE0604

from typing import Any as _Any

from gluonx.ops import OPS as _OPS


# This stands before the imports: gluonx.np, which they lead to, gives ndarray its methods, and takes some from here.
def __getattr__(name: str) -> _Any:
    if name not in _OPS:
        raise AttributeError(f"gluonx.npx has no function '{name}'")
    from gluonx.npx.functions import make_function

    made = globals()[name] = make_function(name)
    return made


def __dir__() -> list[str]:
    return sorted({*__all__, *[name for name in _OPS if "." not in name]})


from gluonx.common.arguments import named as _named
from gluonx.npx import composed, image, random
from gluonx.npx.calibration import contrib_calibrate_entropy as contrib_calibrate_entropy
from gluonx.npx.composed import *  # noqa: F403
from gluonx.npx.composed import batch_norm as BatchNorm
from gluonx.npx.control_flow import cond as cond
from gluonx.npx.control_flow import foreach as foreach
from gluonx.npx.control_flow import while_loop as while_loop
from gluonx.npx.modes import is_np_array as is_np_array
from gluonx.npx.modes import is_np_default_dtype as is_np_default_dtype
from gluonx.npx.modes import is_np_shape as is_np_shape
from gluonx.npx.modes import reset_np as reset_np
from gluonx.npx.modes import set_np as set_np
from gluonx.npx.modes import set_np_default_dtype as set_np_default_dtype
from gluonx.npx.modes import set_np_shape as set_np_shape
from gluonx.npx.random import scalar_poisson as scalar_poisson
from gluonx.npx.random import tensor_poisson as tensor_poisson

_OWN = ("contrib_calibrate_entropy", "cond", "foreach", "while_loop", "set_np", "set_np_shape", "set_np_default_dtype")
_named(globals(), [*_OWN, *[name for name in composed.__all__ if name != "Device"]], "npx")

__all__ = [
    "BatchNorm",
    "cond",
    "contrib_calibrate_entropy",
    "foreach",
    "image",
    "is_np_array",
    "is_np_default_dtype",
    "is_np_shape",
    "random",
    "reset_np",
    "set_np",
    "set_np_default_dtype",
    "set_np_shape",
    "scalar_poisson",
    "tensor_poisson",
    "while_loop",
    *composed.__all__,
]
