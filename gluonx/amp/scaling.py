"""Dynamic loss scaling, inside the step's one program.

Gradients of float16 values vanish below 6e-8. So the loss is multiplied with a large scale before ``backward``, and the
update divides by it. Where a gradient overflows, the step is skipped and the scale halved; after 2000 steps without
that it is doubled. All of this happens on the device: the scale and its counters are arrays that the update takes
and gives like an optimizer's states, the check is part of the update, and a skipped step is a selection of the old
values. The host never has to wait for an answer.

What the host cannot know is how many steps were skipped. Bias corrections (Adam's ``t``) are put right on the device;
a learning-rate schedule counts every call of ``step``.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding

from gluonx import autograd
from gluonx.amp.state import State
from gluonx.deferred.operators.derived import DerivedOp
from gluonx.deferred.record.engine import invoke
from gluonx.deferred.record.rows import RowVariable
from gluonx.deferred.values.core import aval_of, new_handle
from gluonx.dtype import on_device
from gluonx.errors import GluonxError
from gluonx.optimizer import Optimizer
from gluonx.optimizer.numbers import moved_back
from gluonx.optimizer.rules import Update
from gluonx.sharding import replicated
from gluonx.trainer import Trainer

if TYPE_CHECKING:
    from gluonx.np.handle import ndarray


_NOT_ON = "AMP is not switched on: call amp.init() before amp.{name}()"
_NO_SCALER = "this Trainer has no loss scale: call amp.init_trainer(trainer) once, after it was made"


class LossScaler:
    """The scale of a loss, kept on the device.

    Parameters
    ----------
    init_scale : float
        The scale to begin with.
    growth_interval : int
        After so many steps without overflow the scale is doubled.
    max_scale : float
        It grows no further than this.

    Notes
    -----
    As in MXNet, a new scale is taken up one step late: the step after an overflow, or after the one that completes
    the interval, still uses the old one.

    Examples
    --------
    >>> LossScaler().loss_scale
    65536.0
    """

    def __init__(self, init_scale: float = 2.0**16, growth_interval: int = 2000, max_scale: float = 2.0**24) -> None:
        self.growth_interval, self.max_scale = int(growth_interval), float(max_scale)
        first = np.float32(init_scale)
        # In use, next, good steps in a row, skipped steps in all.
        self.arrays = [new_handle(jax.device_put(v)) for v in (first, first, np.int32(0), np.int32(0))]
        self.replicas: dict[Any, list[Any]] = {}  # the same by device, where parameters are on several
        self.scaled = False  # whether gradients are still multiplied with the scale

    def replicate(self, devices: Sequence[Any]) -> None:
        """Keep the numbers on each of these devices; each moves its own, by the same gradients."""
        if list(self.replicas) != list(devices):
            now = [np.asarray(array._read()) for array in self.arrays]
            self.replicas = {d: [new_handle(on_device(a, d.place)) for a in now] for d in devices}
            self.arrays = self.replicas[devices[0]]

    def lay_out(self, place: Any) -> None:
        """Keep the numbers where the weights are: on a mesh, or on one device, the default one if None.

        By way of the host: JAX would share the first device's buffer with the array that was there, which the scaled
        loss of the first step takes, while the update is to have it for its own.
        """
        self.replicas = {}
        for array in self.arrays:
            value = array._read()
            if aval_of(value).sharding != place:
                array.value, array.aval = on_device(np.array(value), place), None

    def beside(self, array: Any) -> ndarray:
        """Return the scale on the device of an array, or on its mesh."""
        if self.replicas:
            return self.replicas.get(array.device, self.arrays)[0]
        scale, place = self.arrays[0], array._placed()
        if _devices_of(scale._placed()) == _devices_of(place) or not scale._read().committed:
            return scale
        # The net has been moved since the last step, and the next one will bring the numbers along.
        return new_handle(on_device(np.array(scale._read()), replicated(place)))

    def _put(self, number: int, value: Any) -> None:
        for device, arrays in self.replicas.items() or [(None, self.arrays)]:
            arrays[number].value = jax.device_put(value) if device is None else on_device(value, device.place)
            arrays[number].aval = None

    @property
    def loss_scale(self) -> float:
        """The scale in use; reading it waits for the steps before."""
        return float(self.arrays[0].item())

    @property
    def skipped(self) -> int:
        """The number of skipped steps; reading it waits for the steps before."""
        return int(self.arrays[3].item())

    def state_dict(self) -> dict[str, Any]:
        """Return the scale and the counts, in types of JSON; this reads."""
        return {"numbers": [array.item() for array in self.arrays]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        kinds = (np.float32, np.float32, np.int32, np.int32)
        for i, (kind, number) in enumerate(zip(kinds, state["numbers"], strict=True)):
            self._put(i, kind(number))

    def operand(self) -> float:
        """Return the update's scalar argument: 1 where gradients are still multiplied by the scale, else 0."""
        return 1.0 if self.scaled else 0.0

    def around(self, update: Update) -> Update:
        """Return the update with the check before it."""
        return _Scaled(**vars(update), interval=self.growth_interval, most=self.max_scale)

    def passes(self, grads: Sequence[Any]) -> float | None:
        """For steps written by hand: the factor of the gradients, or None where one is not finite; moves the scale."""
        factor = 1.0 / self.loss_scale if self.scaled else 1.0
        finite = bool(_all_finite([g._read() for g in grads]))
        now, after, good, skipped = [a._read() for a in self.arrays]
        values = _moved(now, after, good, skipped, finite, self.growth_interval, self.max_scale)
        for i, value in enumerate(values):
            self._put(i, np.asarray(value))
        return factor if finite else None

    def settle(self, optimizer: Optimizer) -> None:
        """Take the skipped steps out of the optimizer's counts, as for a file."""
        skipped = self.skipped
        if skipped:
            counts = {i: max(n - skipped, 0) for i, n in optimizer._index_update_count.items()}
            optimizer._index_update_count = counts
            optimizer.num_update = max([*counts.values(), optimizer.begin_num_update])
            self._put(3, np.int32(0))


def _devices_of(place: Any) -> Any:
    """Return the devices of a sharding in their order; None for the default device."""
    if isinstance(place, NamedSharding) and isinstance(place.mesh, Mesh):
        return tuple(place.mesh.devices.flat)
    return place and tuple(place.device_set)


def _all_finite(grads: Sequence[Any]) -> jax.Array:
    return jnp.stack([jnp.isfinite(g).all() for g in grads]).all()


def _moved(
    now: jax.Array, after: jax.Array, good: jax.Array, skipped: jax.Array, finite: Any, interval: int, most: float
) -> tuple[Any, ...]:
    """Return the scaler's four numbers after a step."""
    good = jnp.where(finite, good + 1, 0)
    full = good == interval
    grown = jnp.where(full, jnp.minimum(after * 2, most), after)
    return after, jnp.where(finite, grown, after / 2), jnp.where(full, 0, good), skipped + jnp.where(finite, 0, 1)


@dataclass(frozen=True)
class _Scaled(Update):
    """An update on unscaled gradients that leaves all as it is where one of them is not finite.

    (weights, gradients, states, the scaler's four, step vector, whether to unscale) -> (weights, states, the four)
    """

    interval: int = 0
    most: float = 0.0

    name: ClassVar[str] = "scaled_update"

    @property
    def common(self) -> int:
        return super().common + 1

    def apply(
        self, weights: Sequence[Any], given: Sequence[Any], packed: Sequence[Any], vector: jax.Array, **extra: Any
    ) -> tuple[Any, ...]:
        """Return the new arrays, packed states and numbers of the scaler."""
        *states, now, after, good, skipped, hyper = packed
        finite = _all_finite(given)  # row numbers too, which are
        hyper = moved_back(hyper, self.units.count, skipped)
        hyper = hyper.at[0].multiply(jnp.where(vector > 0, 1 / now, 1.0))
        new = super().apply(weights, given, states, hyper, **extra)
        kept = [jnp.where(finite, a, b) for a, b in zip(new, (*weights, *states), strict=True)]
        return (*kept, *_moved(now, after, good, skipped, finite, self.interval, self.most))


def _trainer(trainer: Trainer, name: str) -> Trainer:
    if isinstance(trainer, Trainer):
        return trainer
    raise TypeError(f"amp.{name}() works with a gluonx.Trainer, got {type(trainer).__name__}")


def _scaler_of(trainer: Trainer, name: str) -> LossScaler:
    scaler = _trainer(trainer, name)._scaler
    if scaler is None:
        raise GluonxError(_NO_SCALER)
    return scaler


def init_trainer(optimizer_or_trainer: Trainer) -> None:
    """Give a Trainer a dynamic loss scale.

    Raises
    ------
    GluonxError
        If :func:`gluonx.amp.init` was not called before.
    TypeError
        If it is no Trainer.

    Examples
    --------
    >>> from gluonx import amp, nn, Trainer
    >>> amp.init("float16")
    >>> net = nn.Dense(1, in_units=2)
    >>> net.initialize()
    >>> trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    >>> amp.init_trainer(trainer)  # amp.scale_loss(loss, trainer) works now
    >>> amp.reset()
    """
    trainer = _trainer(optimizer_or_trainer, "init_trainer")
    if not State.ready:
        raise GluonxError(_NOT_ON.format(name="init_trainer"))
    trainer._attach_scaler(LossScaler())


@contextmanager
def scale_loss(loss: Any, optimizer_or_trainer: Trainer) -> Generator[Any]:
    """Yield the loss multiplied with the scale; call ``backward`` on that, inside ``record()``.

    Parameters
    ----------
    loss : ndarray or list of ndarray
    optimizer_or_trainer : Trainer
        One that :func:`init_trainer` has seen.

    Raises
    ------
    GluonxError
        If the Trainer has no loss scale.

    Examples
    --------
    >>> from gluonx import amp, autograd, nn, np, Trainer
    >>> amp.init("bfloat16")
    >>> net = nn.Dense(1, in_units=2, weight_initializer="ones")
    >>> net.initialize()
    >>> trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    >>> amp.init_trainer(trainer)
    >>> with autograd.record():
    ...     loss = net(np.ones((4, 2))) ** 2
    ...     with amp.scale_loss(loss, trainer) as scaled:
    ...         scaled.backward()
    >>> trainer.step(4)
    >>> net.weight.data().round(2).tolist()
    [[0.6, 0.6]]
    >>> amp.reset()
    """
    scaler = _scaler_of(optimizer_or_trainer, "scale_loss")
    scaler.scaled = True
    devices = optimizer_or_trainer._replica_devices()
    if len(devices) > 1:
        scaler.replicate(devices)
    else:
        scaler.replicas = {}
    several = isinstance(loss, (list, tuple))
    yield [part * scaler.beside(part) for part in loss] if several else loss * scaler.beside(loss)


def _divided(grad: Any, scale: Any) -> Any:
    return (grad.astype(jnp.promote_types(grad.dtype, scale.dtype)) / scale).astype(grad.dtype)


_DIVIDE = DerivedOp("unscale", _divided)


def unscale(optimizer_or_trainer: Trainer) -> None:
    """Divide the gradients by the scale now, where code between ``backward`` and ``step`` looks at them (clipping).

    Raises
    ------
    GluonxError
        If the Trainer has no loss scale.

    Examples
    --------
    >>> from gluonx import amp, autograd, nn, np, Trainer
    >>> amp.init("bfloat16")
    >>> net = nn.Dense(1, in_units=2, weight_initializer="ones")
    >>> net.initialize()
    >>> trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    >>> amp.init_trainer(trainer)
    >>> with autograd.record():
    ...     with amp.scale_loss(net(np.ones((1, 2))), trainer) as scaled:
    ...         scaled.backward()
    >>> amp.unscale(trainer)
    >>> net.weight.grad().tolist()
    [[1.0, 1.0]]
    >>> amp.reset()
    """
    scaler = _scaler_of(optimizer_or_trainer, "unscale")
    if not scaler.scaled:
        return
    with autograd.pause():
        for param in optimizer_or_trainer._params:
            if param.grad_req != "null" and param._is_ready:
                for handle in param._every():
                    variable = handle.variable
                    grad = variable.values if type(variable) is RowVariable else handle.grad
                    grad._assign(invoke(_DIVIDE, (grad, scaler.beside(grad))))
    scaler.scaled = False
