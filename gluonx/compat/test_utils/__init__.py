"""``mx.test_utils``: comparisons by the tolerance of dtypes, checks of gradients, random arrays.

Parts that belong to MXNet's C library alone are absent: ``get_rtc_compile_opts``.
"""

from contextlib import contextmanager

from gluonx.compat.runtime import Features
from gluonx.compat.symbol import Symbol
from gluonx.compat.test_utils import checking, comparing, making, process
from gluonx.compat.test_utils.checking import *  # noqa: F403
from gluonx.compat.test_utils.comparing import *  # noqa: F403
from gluonx.compat.test_utils.making import *  # noqa: F403
from gluonx.compat.test_utils.process import *  # noqa: F403
from gluonx.compat.util import (
    get_cuda_compute_capability,
    get_max_supported_compute_capability,
    getenv,
    setenv,
    use_np_default_dtype,
)
from gluonx.device import current_device

np_symbol = Symbol  # symbols are of one kind here

__all__ = [
    "Features",
    "Symbol",
    "contextmanager",
    "current_device",
    "get_cuda_compute_capability",
    "get_max_supported_compute_capability",
    "getenv",
    "np_symbol",
    "setenv",
    "use_np_default_dtype",
]
__all__ += checking.__all__
__all__ += comparing.__all__
__all__ += making.__all__
__all__ += process.__all__
