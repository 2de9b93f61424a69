"""Parameters on several devices: their devices, their gradients, and the sums of these.

A parameter with a single array is the simple case of this.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from gluonx.block.parameter import Parameter
from gluonx.block.structure import check_distinct
from gluonx.deferred.record import rows
from gluonx.deferred.record.rows import RowVariable
from gluonx.deferred.replicas import joining
from gluonx.deferred.values.program_cache import once
from gluonx.errors import (
    DeviceError,
    GluonxError,
)

if TYPE_CHECKING:
    from gluonx.deferred.values.core import Variable


def gradients_of(variable: Variable) -> tuple[Any, ...]:
    """Return the arrays of a gradient: row numbers and values if it is stored by rows."""
    return (variable.rows, variable.values) if type(variable) is RowVariable else (variable.grad,)


def new_gradients(weight: Any) -> tuple[Any, ...]:
    """Return the arrays of the gradient of `weight` for a sum over devices; zeros if there is no new one."""
    if not weight.variable.fresh and weight.variable.req != "add":
        weight.zero_grad()
    return gradients_of(weight.variable)


def leaves_of(weights: list[Any]) -> list[Any]:
    """Return weights as inputs of an update; for a gradient by rows, the table as the constant of its look-ups."""
    return [w.variable.bare if type(w.variable) is RowVariable else w for w in weights]


def row_counts(weights: Iterable[Any]) -> tuple[int | None, ...]:
    """Return the number of rows of each weight whose gradient is stored by rows, and None for the others."""
    return tuple([w.shape[0] if type(w.variable) is RowVariable else None for w in weights])


class Replicated:
    """The variables of a parameter on several devices, with the interface of one."""

    __slots__ = ("variables",)

    def __init__(self, variables: list[Any]) -> None:
        self.variables = variables

    @property
    def fresh(self) -> bool:
        """True if there is a new gradient on every device; setting it sets all."""
        return all(v.fresh for v in self.variables)

    @fresh.setter
    def fresh(self, fresh: bool) -> None:
        for v in self.variables:
            v.fresh = fresh


def any_fresh(variable: Variable) -> bool:
    """Return whether there is a new gradient, on any device where there are several."""
    return any(v.fresh for v in variable.variables) if type(variable) is Replicated else variable.fresh


def variable_of(param: Parameter) -> Any:
    """Return the variable of a parameter's gradient; for several devices an object with the same interface."""
    if param._repeated is not None:
        check_distinct(param._repeated, param._path)
    handles = param._whole._every()
    return handles[0].variable if len(handles) == 1 else Replicated([h.variable for h in handles])


def devices_of(params: list[Parameter]) -> list[Any]:
    """Return the devices of all parameters; raise DeviceError if these differ."""
    by_devices = {tuple(p.list_device()): p for p in params}
    several = [p for devices, p in by_devices.items() if len(devices) > 1]
    for p in several:
        check_distinct(p.list_device(), p._path)
    if len(by_devices) > 1:
        one, two = list(by_devices.values())[:2]
        raise DeviceError(
            f"a Trainer needs all parameters on the same devices, but '{one._path}' is on {one.list_device()} and "
            f"'{two._path}' on {two.list_device()}; "
            + (
                f"net.reset_device({several[0].list_device()}) moves all"
                if several
                else "make a Trainer for the parameters of each device, and let each step"
            )
        )
    return several[0].list_device() if several else [None]


def put_sums(replicas: list[list[Any]], counts: tuple[int | None, ...]) -> None:
    """Replace each gradient by the sum over devices; `replicas` are the weights of each device."""
    grads = [[g for w in replica for g in new_gradients(w)] for replica in replicas]
    if len(replicas) < 2 or not grads[0]:
        return
    for grad, total in zip([g for replica in grads for g in replica], summed(grads, counts), strict=True):
        grad._put(total)
    for weight in [w for replica in replicas for w in replica]:
        weight.variable.fresh = True


def summed(replicas: list[list[Any]], counts: tuple[int | None, ...]) -> list[Any]:
    """Return the sums of gradients over devices, on each of them: one flat list, device by device.

    `counts` has for each gradient by rows, which is two arrays, the number of rows of its table; else None.
    """
    replicas = [list(replica) for replica in replicas]
    rows.even(replicas, counts)
    return list(joining.invoke_joint(_sum_op(len(replicas), counts), [g for replica in replicas for g in replica]))


@once
def _sum_op(replicas: int, counts: tuple[int | None, ...]) -> Any:
    """Return the operator that sums gradients over so many devices; all gradients without rows share one."""
    if all(count is None for count in counts):
        return _sum_op(replicas, ()) if counts else joining.joint(replicas)
    return joining.joint(replicas, total=functools.partial(rows.sum_over_devices, counts))


def check_same(params: list[Parameter], every: list[Any]) -> None:
    """Raise if somebody wrote to one replica alone, so that the replicas differ."""
    n = len(params)
    for param, first, *rest in zip(params, *[every[k : k + n] for k in range(0, len(every), n)], strict=True):
        value = first.asnumpy()
        for device, other in zip(param.list_device()[1:], rest, strict=True):
            if not np.array_equal(value, other.asnumpy(), equal_nan=value.dtype.kind in "fc"):
                raise GluonxError(
                    f"Parameter '{param._path}' is not the same on {param.list_device()[0]} and {device}, so the "
                    "devices would train different nets: somebody wrote to one of list_data(). Write by "
                    "set_data(), which writes to all."
                )
