"""Running programs that were written for MXNet: ``import mxnet as mx`` gives gluonx.

``python -m gluonx.compat script.py args`` runs an unmodified script; `install_as_mxnet` does the same for the process
that calls it, until `uninstall`.
"""

from gluonx.compat.absent import Absent as Absent
from gluonx.compat.hook import VERSION as VERSION
from gluonx.compat.hook import install_as_mxnet as install_as_mxnet
from gluonx.compat.hook import installed as installed
from gluonx.compat.hook import uninstall as uninstall

__all__ = ["VERSION", "Absent", "install_as_mxnet", "installed", "uninstall"]
