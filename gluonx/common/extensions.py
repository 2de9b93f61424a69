"""The points at which an upper room adds to a lower one; this page is the list of all of them.

A room imports only what lies below it. Where a lower room has to hand on something that an upper one knows (a format of
files, a way of calling a block, a name), it asks one of the points below by a key. Which module answers is said by the
table in ``gluonx/__init__.py``, and that module is imported at the first question. Without `gluonx.compat` the tables
would be empty.

============== ============================================ ======================================================
point          key                                          the answer
============== ============================================ ======================================================
`EXPORTERS`    a value of ``HybridBlock.export(format=)``   ``export(block, path, inputs, epoch)``, which writes
`NAMES`        a public name, ``"gluonx.nn.SymbolBlock"``   the object of that name
============== ============================================ ======================================================

Five more tell that a block is written in another way, and who reads it (see `gluonx.block.names`):

==================== ====================================== ======================================================
point                key                                    the answer
==================== ====================================== ======================================================
`BLOCK_MEMBERS`      what a class of blocks defines         ``f(cls)``, called when the class is made
`BLOCK_KEYWORDS`     a keyword that its constructor has not ``f(cls)``, called before the constructor
`BLOCK_ATTRIBUTES`   an attribute that a block has not      ``f(block, name)``, which gives it
`BLOCK_METHODS`      a method in which blocks compute       ``f(block, *args, **kwargs)``: what HybridBlock's own
                                                            does, which a class reaches by ``super()``
`LAMBDAS`            ``"name"``, or a first parameter's     ``f(function)``: a function of arrays for a Lambda layer;
                     name                                   None where the name is not known
==================== ====================================== ======================================================

What is no question, but holds from some moment on, is set by a function of the lower room, and can be set back:

============================================== =======================================================================
function                                       what it sets
============================================== =======================================================================
`gluonx.block.block.name_blocks_by`            how parameters of blocks are called, and which formats of files are the
                                               default: a `gluonx.block.names.Names`
`gluonx.block.block.wrap_calls`                what goes on around each call of a block
`gluonx.block.structure.repeat_devices`        whether a list of devices may name one twice
`gluonx.deferred.values.core.set_handle_class`        the class of the arrays that operators give
`gluonx.np.handle.cut_when_attached`           whether ``attach_grad`` cuts recorded values off
`gluonx.deferred.operators.growth.widen_floats`          whether integers and Python floats give float64
`gluonx.ops.prng.draw_by_numpy`                whether NumPy's global generator shuffles samples
`gluonx.np.handle.move_integers`               whether integers with ``attach_grad`` have gradients
``register`` of optimizers and metrics         what ``create`` makes of a name
`gluonx.optimizer.optimizer.as_in_mxnet_1`     whether names of parameters say which of them decay, and how a user's
                                               ``update`` is called whose parameters do not tell
`gluonx.optimizer.optimizer.show_bases`        the ``__base__`` of optimizers' classes
============================================== =======================================================================

And an input of a block that is no array brings its way along, as NumPy's ``__array_function__`` does: its class defines
``__call_block__(block, args)``, and a call that such an input made fail is what that gives.

Worker processes of a DataLoader call what `set_up_workers` was given before they import the user's program.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

__all__ = [
    "BLOCK_ATTRIBUTES",
    "BLOCK_KEYWORDS",
    "BLOCK_MEMBERS",
    "BLOCK_METHODS",
    "EXPORTERS",
    "LAMBDAS",
    "NAMES",
    "Point",
    "forget_in_workers",
    "set_up_workers",
    "worker_setup",
]


class Point:
    """A table of answers that are imported when they are first asked for.

    Examples
    --------
    >>> point = Point()
    >>> point.offer("root", "math:sqrt")
    >>> "root" in point, point["root"](9.0)
    (True, 3.0)
    """

    __slots__ = ("_targets",)

    def __init__(self) -> None:
        self._targets: dict[str, str] = {}

    def offer(self, key: str, target: str) -> None:
        """Answer `key` with the object that `target` names, as ``"module:name"``."""
        self._targets[key] = target

    def __contains__(self, key: str) -> bool:
        return key in self._targets

    def __iter__(self) -> Iterator[str]:
        return iter(self._targets)

    def __getitem__(self, key: str) -> Any:
        module, _, name = self._targets[key].partition(":")
        return getattr(importlib.import_module(module), name)


EXPORTERS = Point()
NAMES = Point()
BLOCK_MEMBERS = Point()
BLOCK_KEYWORDS = Point()
BLOCK_ATTRIBUTES = Point()
BLOCK_METHODS = Point()
LAMBDAS = Point()
_worker_setup: dict[str, tuple[Any, ...]] = {}


def set_up_workers(function: str, *args: Any) -> None:
    """Have worker processes that start from now on call ``"module:function"`` with `args`, which are pickled."""
    _worker_setup[function] = args


def forget_in_workers(function: str) -> None:
    """Undo `set_up_workers` for the workers to come."""
    _worker_setup.pop(function, None)


def worker_setup() -> list[tuple[str, tuple[Any, ...]]]:
    """Return the functions that new workers call, with their arguments."""
    return list(_worker_setup.items())
