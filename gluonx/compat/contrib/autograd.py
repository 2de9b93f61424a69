"""``mx.contrib.autograd``: gradients as the first MXNet that had them wrote them, in terms of `gluonx.autograd`.

There training and recording are one: `train_section` is a ``record()``, `test_section` a ``pause()``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gluonx import autograd
from gluonx.autograd import mark_variables
from gluonx.compat import nd
from gluonx.deferred.values.core import Handle

if TYPE_CHECKING:
    from gluonx.np.handle import ndarray


__all__ = [
    "TrainingStateScope",
    "backward",
    "compute_gradient",
    "grad",
    "grad_and_loss",
    "mark_variables",
    "set_is_training",
    "test_section",
    "train_section",
]


def set_is_training(is_train: bool) -> bool:
    """Switch training and recording on or off; return whether it was training."""
    before = autograd.set_training(is_train)
    autograd.set_recording(is_train)
    return before


class TrainingStateScope:
    """A scope that trains and records, or does neither."""

    def __init__(self, enter_state: bool) -> None:
        self._scope: Any = autograd.record() if enter_state else autograd.pause()

    def __enter__(self) -> None:
        self._scope.__enter__()

    def __exit__(self, *error: object) -> None:
        self._scope.__exit__(*error)


def train_section() -> TrainingStateScope:
    """Return a scope that trains and records."""
    return TrainingStateScope(True)


def test_section() -> TrainingStateScope:
    """Return a scope that neither trains nor records."""
    return TrainingStateScope(False)


def backward(outputs: Any, out_grads: ndarray | Sequence[ndarray] | None = None, retain_graph: bool = False) -> None:
    """As `gluonx.autograd.backward`."""
    autograd.backward(outputs, out_grads, retain_graph)


def compute_gradient(outputs: Any) -> None:
    """Compute the gradients of `outputs`."""
    backward(outputs)


def grad_and_loss(func: Callable[..., Any], argnum: int | list[int] | None = None) -> Callable[..., Any]:
    """Return a function that gives the gradients of `func` with respect to its arguments, and what it gives itself.

    Parameters
    ----------
    func : callable
        Of arrays; it gives an array or a list of them.
    argnum : int or list of int, optional
        The numbers of the arguments that are looked at; all by default.

    Examples
    --------
    >>> from gluonx.compat import nd
    >>> from gluonx.compat.contrib.autograd import grad_and_loss
    >>> gradients, loss = grad_and_loss(lambda x: nd.sum(x * x))(nd.array([1.0, 2.0]))
    >>> gradients[0].asnumpy().tolist(), float(loss.asscalar())
    ([2.0, 4.0], 5.0)
    """

    @functools.wraps(func)
    def wrapped(*args: Any) -> Any:
        chosen = [argnum] if isinstance(argnum, int) else range(len(args)) if argnum is None else argnum
        variables = [args[i] for i in chosen]
        strange = next((x for x in variables if not isinstance(x, Handle)), None)
        if strange is not None:
            raise TypeError(f"grad_and_loss: the arguments must be arrays, got {type(strange).__name__}")
        gradients = [nd.zeros_like(x) for x in variables]
        mark_variables(variables, gradients)
        with train_section():
            outputs = func(*args)
        backward([outputs] if isinstance(outputs, Handle) else outputs)
        return gradients, outputs

    return wrapped


def grad(func: Callable[..., Any], argnum: int | list[int] | None = None) -> Callable[..., Any]:
    """Return a function that gives the gradients of `func` alone, see `grad_and_loss`."""
    both = grad_and_loss(func, argnum)

    @functools.wraps(func)
    def wrapped(*args: Any) -> Any:
        return both(*args)[0]

    return wrapped
