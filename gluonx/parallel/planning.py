"""The answer before the machines are rented: a training step compiled for TPUs or GPUs that are not there.

What is compiled is the step that the engine would run: the same net, recorded by the same loop, with the Trainer's
update and its donations. Only the arrays are missing. In their place stand :class:`Absent`, which know their shape and
where they would lie, and the recording ends where the program would be run. XLA's compilers for TPUs and GPUs, which
need none, say then what memory a device needs, and the program what is computed and sent.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from gluonx import autograd, sharding
from gluonx.block.abstract import abstract
from gluonx.block.block import Block
from gluonx.common import policy
from gluonx.deferred.run import flushing, host
from gluonx.deferred.values.core import Handle, aval_of, intern_aval, new_handle
from gluonx.device import current_device, device_of, planned
from gluonx.dtype import canonical, keeping_64_bits
from gluonx.errors import DeviceError, ShapeError
from gluonx.optimizer.numbers import StepVector
from gluonx.parallel import hlo
from gluonx.parallel.gpus import Chip
from gluonx.parallel.topologies import abstract_mesh, quietly
from gluonx.trainer import Trainer
from gluonx.trainer.held import Held

if TYPE_CHECKING:
    from gluonx.block.parameter import Parameter


class Absent(jax.ShapeDtypeStruct):
    """An array that is not there: a shape, a dtype, and where it would lie. It has what the engine asks of one."""

    committed = True
    is_fully_addressable = False
    is_fully_replicated = False

    def devices(self) -> object:
        """Return the devices that it would be on."""
        sharding: Any = self.sharding
        return sharding.device_set


def _absent(shape: Sequence[int], dtype: Any, place: Any) -> Absent:
    return Absent(tuple(shape), np.dtype(dtype), sharding=place)


def _bytes(value: Any) -> int:
    """Bytes of an absent array on one device."""
    shape = value.sharding.shard_shape(value.shape) if value.sharding is not None else value.shape
    return int(np.prod(shape, dtype=np.int64)) * np.dtype(value.dtype).itemsize


class _NumbersOfStep(StepVector):
    """The numbers of a step, which are not sent anywhere."""

    def renewed(self, numbers: Any) -> Any:
        vector = numbers.vector()
        if isinstance(self.place, jax.sharding.NamedSharding):
            value = _absent(vector.shape, vector.dtype, self.place)
            self.handle.value, self.handle.aval, self.handle.tape = value, aval_of(value), None
        else:
            aval = intern_aval(vector.shape, vector.dtype)
            self.handle.value, self.handle.aval, self.handle.tape = vector, aval, None
        self.coming = numbers
        return self.handle


class _AbsentStates(Held):
    """States that have shapes only."""

    def _found(self, units: Any, rule: Any, keys: list[Any], weights: list[Any]) -> tuple[list[Any], dict[str, Any]]:
        structs = [jax.ShapeDtypeStruct(w.shape, w.dtype) for w in weights]
        return list(jax.eval_shape(lambda *given: tuple(units.init(rule, list(given))), *structs)), {}

    def _laid(self, together: Any, leaves: list[Any], homes: list[Any]) -> list[Any]:
        found = jax.eval_shape(lambda *given: tuple(together.join(given)), *leaves)
        return [
            new_handle(
                _absent(
                    a.shape, a.dtype, h.value.sharding if h.shape == a.shape else sharding.replicated(h.value.sharding)
                )
            )
            for a, h in zip(found, homes, strict=True)
        ]


class _PlannedTrainer(Trainer):
    """A Trainer whose states have shapes only."""

    def _begin(self, states: dict[str, Any]) -> None:
        super()._begin(states)
        self._held, self._vector = _AbsentStates(), _NumbersOfStep()


class _Lowered(BaseException):
    """Ends the recording where the program would be compiled; no handler of errors is to take it for one."""

    def __init__(self, lowered: Any, args: list[Any], wide: bool, is_step: bool) -> None:
        super().__init__("a plan ends here")
        self.lowered, self.arguments, self.wide, self.is_step = lowered, args, wide, is_step


@contextlib.contextmanager
def _ending_before_the_compiler() -> Generator[list[bool]]:
    def end(lowered: Any, args: list[Any]) -> None:
        if any(type(a) is Absent for a in args):
            raise _Lowered(lowered, args, False, stepping[0])

    stepping = [False]  # set once the step is to be computed: what is computed before is not all of it
    # Nothing is there, so nothing is too large to be pending, and nothing can be run operator by operator.
    before = policy.limits.copy()
    flushing.agreements.insert(0, end)
    policy.limits.update(pending=sys.maxsize, long=sys.maxsize, many=sys.maxsize)
    try:
        with host.switched(False):
            yield stepping
    finally:
        policy.limits.update(before)
        flushing.agreements.remove(end)


@contextlib.contextmanager
def _in_place_of_devices(mesh: Any) -> Generator[None]:
    """Within, the names of the mesh's devices stand for them, though this machine has none or others."""
    token = planned.set({device_of(d): d for d in mesh.devices.flat})
    try:
        yield
    finally:
        planned.reset(token)


@dataclass
class Plan:
    """Needs of a training step; bytes are of one device.

    ``repr`` is a table, :meth:`json` the same for programs.

    Examples
    --------
    >>> found = Plan("v5e:1x1", {"data": 1}, 1, True, 2**34, 2**20, 2**18, 2**19, 2**18, 0, 0, 65536, 1e9)
    >>> found.fits, found.needed / found.memory < 0.01
    (True, True)
    >>> found.json().splitlines()[1]
    ' "topology": "v5e:1x1",'
    """

    topology: str
    axes: dict[str, int]
    devices: int
    fits: bool
    memory: int
    """Bytes that a device has."""
    needed: int
    """Bytes that the step needs at its peak."""
    weights: int
    states: int
    gradients: int
    batch: int
    activations: int
    """All else that it needs at its peak, gradients included where they are alive then."""
    parameters: int
    """Numbers in the net, on all devices together."""
    flops: float
    """Of matrix products and convolutions in a step, by one device."""
    collectives: list[dict[str, Any]] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    advice: list[str] = field(default_factory=list)
    compile_error: str | None = None

    def json(self) -> str:
        """Return the plan as a text of JSON."""
        return json.dumps(asdict(self), indent=1)

    def __repr__(self) -> str:
        axes = ", ".join(f"{name}={size}" for name, size in self.axes.items())
        rows = [
            ("mesh", f"{self.topology}, {self.devices} devices: {axes}"),
            ("fits", f"{'yes' if self.fits else 'NO'}: {_size(self.needed)} of {_size(self.memory)} a device"),
            ("  weights", f"{_size(self.weights)}  ({self.parameters:,} parameters in all)"),
            ("  optimizer's states", _size(self.states)),
            ("  gradients", _size(self.gradients)),
            ("  batch", _size(self.batch)),
            ("  activations and the rest", _size(self.activations)),
        ]
        if self.compile_error is None:
            rows.append(("FLOPs a device and step", f"{self.flops:.3g}"))
            for entry in self.collectives:
                rows.append(
                    (f"{entry['kind']} over {entry['axes']}", f"{entry['count']} times, {_size(entry['bytes'])}")
                )
            rows += [(f"seconds: {name}", f"{value:.3g}") for name, value in self.seconds.items()]
        width = max(len(name) for name, _ in rows)
        lines = [f"{name:<{width}}  {value}" for name, value in rows]
        return "\n".join([*lines, *[f"* {line}" for line in self.advice]])


def _size(count: float) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.4g} {unit}"
        count /= 1024
    return f"{count:.4g} GiB"


def plan(
    net: Block,
    inputs: Any,
    loss: Any,
    optimizer: Any = "sgd",
    optimizer_params: Mapping[str, Any] | None = None,
    *,
    labels: Any = (),
    mesh: str = "v5e:2x4",
    axes: Mapping[str, int] | None = None,
    rules: Sequence[Any] = (),
    keep_grads: bool = False,
    loss_scale: float | None = None,
) -> Plan:
    """Compile a training step for TPUs or GPUs that are not there, and say what it needs.

    No array is made: a net that was not initialized takes no memory. The net is left as it was.

    Parameters
    ----------
    net : Block
        Hybridized as in the training: ``scan=True`` and ``remat=`` tell in what the plan says.
    inputs : array, struct or tuple of them
        What the net takes: the whole batch, of which only shapes and dtypes matter (``jax.ShapeDtypeStruct``).
    loss : callable
        ``loss(output, *labels)``, as in the training loop; its mean is what is made smaller.
    optimizer, optimizer_params
        As of :class:`~gluonx.Trainer`.
    labels : array, struct or tuple of them
    mesh : str
        The kind of devices and how they are arranged: ``"v5e:16x16"``, ``"v5p:4x4x4"`` of TPUs, and of GPUs
        ``"h100:8"`` for one host or ``"h100:2x8"`` for hosts and the GPUs of each.
    axes : mapping of str to int, optional
        The mesh's axes, ``{"data": -1, "model": 4}``; all devices along ``data`` by default.
    rules : sequence
        As for ``net.shard(*rules)``.
    keep_grads : bool
        As of the Trainer, but False by default: gradients that nobody reads are not kept.
    loss_scale : float, optional
        As of the Trainer, for a loop with ``amp.scale_loss``. What :func:`gluonx.amp.init` has switched on is in the
        plan in any case.

    Raises
    ------
    DeviceError
        If there is no such topology, the compiler is not installed, or the axes do not fit.
    ShapeError
        If the batch does not divide into the axes that it is split over.

    Notes
    -----
    Seconds are a roofline: what is computed, read and sent, each by the peak rate of the device's data sheet, as if the
    other two took no time. A step takes at least the longest of the three, and rarely more than their sum.

    Parameters that blocks fuse (query, key and value) are planned one by one, as they are kept where they are split.

    The compilers read environment variables when they are loaded. Those that they need on a machine without TPUs and
    GPUs are set around the call, and taken away after it.

    Examples
    --------
    >>> import jax
    >>> from gluonx import loss, nn, parallel
    >>> batch = jax.ShapeDtypeStruct((64, 16), "float32")
    >>> labels = jax.ShapeDtypeStruct((64,), "int32")
    >>> found = parallel.plan(  # needs the compiler of the devices, here libtpu
    ...     nn.Dense(4), batch, loss.SoftmaxCrossEntropyLoss(), "adam", labels=labels, mesh="v5e:2x4", axes={"data": 8}
    ... )  # doctest: +SKIP
    >>> found.fits, found.devices  # doctest: +SKIP
    (True, 8)
    """
    return _answer(
        _recorded(net, inputs, loss, optimizer, optimizer_params, labels, mesh, axes, rules, keep_grads, loss_scale)
    )


@dataclass
class _Recorded:
    """A step as far as a compiler takes it up: what it would be compiled from, and for which machine."""

    step: _Lowered
    base: dict[str, Any]
    """The fields of a :class:`Plan` that do not depend on the compiler."""
    mesh: Any
    chip: Chip
    near: int
    is_split: bool

    def compile(self) -> Any:
        """Return the program, as ``jax.stages.Compiled``."""
        try:
            with quietly(), keeping_64_bits(self.step.wide):
                return self.step.lowered.compile()
        except jax.errors.JaxRuntimeError as error:
            if "CustomSPMDPartitioning" not in str(error):
                raise
            raise DeviceError(
                "plan(): JAX had begun without its plugin for CUDA, which cannot be taught then how cuDNN's attention "
                "is split over GPUs; plan before anything is computed, or set JAX_SKIP_CUDA_CONSTRAINTS_CHECK=1 in the "
                "environment"
            ) from error


def _recorded(
    net: Block,
    inputs: Any,
    loss: Any,
    optimizer: Any,
    optimizer_params: Mapping[str, Any] | None,
    labels: Any,
    mesh: str,
    axes: Mapping[str, int] | None,
    rules: Sequence[Any],
    keep_grads: bool,
    loss_scale: float | None = None,
) -> _Recorded:
    made, chip, near = abstract_mesh(mesh, axes)
    given, asked = _tuple(inputs), _tuple(labels)
    mine = abstract(net, *[jax.ShapeDtypeStruct(tuple(x.shape), canonical(x.dtype)) for x in given])
    trainer: Any = None
    with sharding.Use(made), _in_place_of_devices(made), _ending_before_the_compiler() as stepping:
        mine.unfuse()  # to join arrays that are not there takes more than their shapes
        for param in mine.collect_params().values():
            param._handle = None  # nothing is to be put onto devices that are not there
        report = mine.shard(*rules)
        params = {id(p): p for p in mine.collect_params().values()}
        for param in params.values():
            _empty(param)
        given = tuple(_input(x) for x in given)
        asked = tuple(_input(x) for x in asked)
        trainer = _PlannedTrainer(
            mine.collect_params(), optimizer, optimizer_params, keep_grads=keep_grads, loss_scale=loss_scale
        )
        scale = _scale(trainer._scaler, made)
        try:
            with autograd.record():
                value = loss(mine(*given), *asked).mean()
                value = value if scale is None else value * scale
            value.backward()
            stepping[0] = True
            trainer.step(1)
        except _Lowered as reached:
            found = reached
        else:
            found = None
        if found is None or not found.is_step:
            raise DeviceError("plan(): the step computed something before its end, on arrays that are not there")
    weights = [p._handle.value for p in params.values()]
    states = [h.value for h in trainer._held.arrays]
    base = {
        "topology": mesh,
        "axes": dict(made.shape),
        "devices": made.devices.size,
        "memory": chip.memory,
        "parameters": sum(int(np.prod(w.shape, dtype=np.int64)) for w in weights),
        "weights": sum(map(_bytes, weights)),
        "states": sum(map(_bytes, states)),
        "gradients": sum(_bytes(p._handle.value) for p in params.values() if p.grad_req != "null"),
        "batch": sum(_bytes(h.value) for h in (*given, *asked)),
    }
    return _Recorded(found, base, made, chip, near, any(report.shardings[n].spec for n in report.shardings))


def _scale(scaler: Any, mesh: Any) -> Any:
    """Return the scale of the loss, as ``amp.scale_loss`` has it; its numbers and counts are not there."""
    if scaler is None:
        return None
    for handle in scaler.arrays:
        value = handle.value
        handle.value = _absent(value.shape, value.dtype, sharding.replicated(mesh))
        handle.aval = aval_of(handle.value)
    scaler.scaled = True
    return scaler.arrays[0]


def _tuple(values: object) -> tuple[Any, ...]:
    return tuple(values) if isinstance(values, (tuple, list)) else (values,)


def _empty(param: Parameter) -> None:
    """Give a parameter an array that is not there, laid out as it is told."""
    if param.shape is None or -1 in param.shape:
        raise ShapeError(f"plan(): parameter '{param._path}' has the shape {param.shape}, which the inputs do not tell")
    param._handle = None
    handle = param._make_handle()
    param._device, param._awaiting = current_device(), None
    handle.value = _absent(param.shape, param.dtype, param._sharding(param._device, param.shape))
    handle.aval = aval_of(handle.value)
    param._attach()


def _input(x: Any) -> Handle:
    shape = tuple(x.shape)
    place = sharding.batch_sharding(shape)
    mesh = sharding.needed_mesh("plan()")
    assert place is not None, "a mesh is in use"
    if not any(place.spec) and sharding.batch_axes() and np.prod([mesh.shape[a] for a in sharding.batch_axes()]) > 1:
        raise ShapeError(
            f"plan(): a batch of shape {shape} cannot be split evenly over {dict(mesh.shape)} along "
            f"{sharding.batch_axes()}; every device would compute all of it"
        )
    value = _absent(shape, canonical(x.dtype), place)
    return new_handle(value, aval_of(value))


def _answer(recorded: _Recorded) -> Plan:
    base, chip, is_split = recorded.base, recorded.chip, recorded.is_split
    arguments = sum(base[kind] for kind in ("weights", "states", "batch"))
    try:
        compiled = recorded.compile()
    except jax.errors.JaxRuntimeError as error:
        told = str(error)
        used = re.search(r"Used ([\d.]+)([KMG]) of ([\d.]+)([KMG]) hbm", told)
        temporary = re.search(r"temporaries \(([\d.]+)([KMG])\) exceeds available HBM \(([\d.]+)([KMG])\)", told)
        found_in = used or temporary
        if found_in is None:
            raise
        scale = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
        needed = int(float(found_in[1]) * scale[found_in[2]]) + (0 if used else arguments)
        rest = max(0, needed - arguments)
        made = Plan(
            **base, fits=False, needed=needed, activations=rest, flops=0.0, compile_error=told.partition("\n")[0]
        )
        made.memory = int(float(found_in[3]) * scale[found_in[4]])
        made.advice = _advice(made, is_split)
        return made
    stats = compiled.memory_analysis()
    needed = (
        stats.argument_size_in_bytes
        + stats.output_size_in_bytes
        - stats.alias_size_in_bytes
        + stats.temp_size_in_bytes
        + stats.generated_code_size_in_bytes
    )
    seen = hlo.read(compiled.as_text(), recorded.mesh, recorded.near)
    costs = compiled.cost_analysis() or {}
    costs = costs[0] if isinstance(costs, list) else costs
    # XLA counts the body of a loop once; what it read and wrote is taken to grow as the products do.
    factor = seen.flops / seen.flops_once if seen.flops_once else 1.0
    seconds = {
        "computing": seen.flops / chip.flops,
        "memory": (costs["bytes accessed"] * factor if "bytes accessed" in costs else seen.bytes) / chip.bandwidth,
        "sending": sum(e["bytes"] * e["rounds"] / _rate(chip, e) for e in seen.collectives),
    }
    made = Plan(
        **base,
        fits=needed <= chip.memory,
        needed=int(needed),
        activations=max(0, int(needed) - arguments),
        flops=seen.flops,
        collectives=seen.collectives,
        seconds=seconds,
    )
    made.advice = _advice(made, is_split)
    if seen.unknown:
        made.advice.append(_LOOPS.format(count=seen.unknown))
    return made


def _rate(chip: Chip, entry: Mapping[str, Any]) -> float:
    """Bytes in a second of a collective: where it leaves a host, all devices there that take part send at once."""
    if chip.network is None or entry["hosts"] == 1:
        return chip.links
    return min(chip.links, chip.network * entry["devices"] / entry["hosts"])


_LOOPS = (
    "the program has {count} loops of which it does not tell how often they run; their bodies are counted once: FLOPs, "
    "collectives and seconds are lower bounds, memory is the compiler's own"
)


def _advice(made: Plan, is_split: bool) -> list[str]:
    """Advice for a step that does not fit."""
    if made.fits:
        return []
    found = []
    own = made.weights + made.states + made.gradients
    if not is_split and own > made.memory // 4:
        more = "take more, and " if made.devices == 1 else ""
        told = f"{more}rules=[parallel.fsdp()] splits them over the devices"
        found.append(f"every device has all weights and states: {told}")
    elif is_split and own > made.memory // 2:
        found.append(
            "weights, gradients and states alone fill a device: take more devices, or rules that split more of them"
        )
    if made.activations > made.memory // 4:
        found.append('net.hybridize(remat="layer") keeps the inputs of layers only; a smaller batch needs less as well')
        found.append("net.hybridize(scan=True) has one layer's buffers in place of all layers', where layers are alike")
    return found or ["a smaller batch, or more devices"]
