"""Checkpoints of a training: written by Orbax as they lie, beside the training, whole or not at all.

What a checkpoint holds is all that the next step depends on: the parameters, the optimizer's states and counts, its
schedule, the loss scale, the random streams, and how far the loader has come in its epoch. So a training that is
killed and goes on from it gives the same bits as one that was not. Each process writes its shards; they are read back
as the net lies then, on another mesh or by another number of processes. Needs the extra ``checkpoint``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gluonx.block.block import Block
from gluonx.common.frames import warn
from gluonx.deferred.record.graph import at_one_moment
from gluonx.deferred.values.core import new_handle
from gluonx.dtype import WIDE, keeping_64_bits
from gluonx.errors import ArgumentError, FormatError, MismatchError, UninitializedError
from gluonx.ops import prng
from gluonx.parallel import roll
from gluonx.trainer import Trainer

__all__ = ["Checkpoints"]

_FORMAT = "gluonx-checkpoint-1"
_SOME = 5


class Checkpoints:
    """The checkpoints of one training, in a folder that all processes see.

    Parameters
    ----------
    folder : str or path
    net : Block
        Whose parameters are kept. They may still wait for their shapes when a checkpoint is restored.
    trainer : Trainer, optional
        Whose states, counts, rate, schedule and loss scale are kept.
    loader : DataLoader, optional
        Whose place in its epoch is kept: after :meth:`restore` its next epoch is the one that was interrupted,
        without the batches that were handed out.
    keep : int, optional
        How many checkpoints stay, the latest ones; all if None.

    Examples
    --------
    >>> import tempfile
    >>> from gluonx import nn, Trainer
    >>> net = nn.Dense(1, in_units=2)
    >>> net.initialize()
    >>> trainer = Trainer(net.collect_params(), "adam")
    >>> with tempfile.TemporaryDirectory() as folder, Checkpoints(folder, net, trainer) as kept:
    ...     first = kept.restore()  # nothing is there yet
    ...     kept.save(100)
    ...     kept.wait()
    ...     (first, kept.restore())
    (None, 100)
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        net: Block,
        trainer: Trainer | None = None,
        loader: Any = None,
        *,
        keep: int | None = 3,
    ) -> None:
        try:
            import orbax.checkpoint as ocp
        except ImportError as error:
            raise ImportError("gluonx.checkpoint needs Orbax: pip install 'gluonx[checkpoint]'") from error
        if keep is not None and keep < 1:
            raise ArgumentError(f"keep must be at least 1, or None for all, got {keep}")
        self.folder = Path(os.fspath(folder)).absolute()
        self.net, self.trainer, self.loader = net, trainer, loader
        self._ocp = ocp
        try:
            self._manager = ocp.CheckpointManager(
                self.folder,
                item_handlers={"arrays": ocp.StandardCheckpointHandler(), "rest": ocp.JsonCheckpointHandler()},
                options=ocp.CheckpointManagerOptions(max_to_keep=keep, cleanup_tmp_directories=True),
            )
        except (ValueError, TypeError, LookupError) as error:  # of what it reads in the checkpoints that are there
            raise FormatError(f"{self.folder}: the checkpoints there cannot be read: {error}") from error

    def __enter__(self) -> Checkpoints:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def steps(self) -> list[int]:
        """The steps of which there are whole checkpoints, in order."""
        return sorted(self._manager.all_steps())

    def save(self, step: int) -> None:
        """Begin to write a checkpoint; the training goes on meanwhile, and may change everything.

        Every process calls it. What went wrong with the one before is raised here.

        Parameters
        ----------
        step : int
            The number that it is known by; larger than those before.

        Raises
        ------
        ArgumentError
            If there is a checkpoint of this or a later step.
        UninitializedError, DeferredInitializationError
            If a parameter has no value.
        """
        latest = self._manager.latest_step()
        if latest is not None and step <= latest:
            raise ArgumentError(f"save({step}): there is a checkpoint of step {latest} in {self.folder} already")
        roll.agree(("save", step), f"the checkpoint of step {step}")
        handles = {name: param.data() for name, param in _parameters(self.net, computed=True).items()}
        moment: list[Any] = at_one_moment(list(handles.values()))  # another thread may be training them
        params = {name: handle._read() for name, handle in zip(handles, moment, strict=True)}
        arrays = {"params": params}
        if self.trainer is not None:
            states, described = self.trainer._kept_for_checkpoint()
            arrays["states"] = states
        rest = {
            "format": _FORMAT,
            "step": step,
            "trainer": None if self.trainer is None else described,
            "random": prng.get_state(),
            "loader": None if self.loader is None else self.loader.state_dict(),
        }
        with keeping_64_bits(any(a.dtype in WIDE for part in arrays.values() for a in part.values())):
            own = {kind: {_key(name): _settled(array) for name, array in part.items()} for kind, part in arrays.items()}
            args = self._ocp.args
            self._manager.save(
                step, args=args.Composite(arrays=args.StandardSave(own), rest=args.JsonSave(rest)), force=True
            )

    def restore(self, step: int | None = None) -> int | None:
        """Go back to a checkpoint: the latest, or one of a certain step.

        Arrays are read as parameters lie now: lay out the net (``net.shard``) before. A latest checkpoint that cannot
        be read, because the machine stopped while it was written, is passed over for the one before, with a warning.

        Returns
        -------
        int or None
            The step of the checkpoint; None if there is none.

        Raises
        ------
        MismatchError
            If it is of another net or optimizer. Nothing has changed then.
        FormatError
            If there are checkpoints, and none can be read, or not the one asked for.
        UninitializedError
            If ``net.initialize()`` was not called.
        """
        self.wait()
        found = self.steps if step is None else [step]
        for number in reversed(found):
            try:
                rest = self._rest(number)
                values = self._arrays(number, rest)
            except (MismatchError, UninitializedError):
                raise
            except Exception as error:  # of whichever library reads: Orbax, TensorStore, json
                if step is not None or number == found[0]:
                    raise FormatError(
                        f"{self.folder}: the checkpoint of step {number} cannot be read: {error}"
                    ) from error
                told = str(error).strip().partition("\n")[0]
                warn(f"{self.folder}: the checkpoint of step {number} cannot be read, the one before is taken: {told}")
                continue
            self._take(values, rest)
            return number
        return None

    def wait(self) -> None:
        """Wait until what was saved is on the disk; raise what went wrong."""
        self._manager.wait_until_finished()

    def close(self) -> None:
        """Wait, and let go of the folder."""
        self.wait()
        self._manager.close()

    # ------------------------------------------------------------------------------------------------- reading

    def _rest(self, step: int) -> dict[str, Any]:
        args = self._ocp.args
        rest = self._manager.restore(step, args=args.Composite(rest=args.JsonRestore()))["rest"]
        if not isinstance(rest, dict) or rest.get("format") != _FORMAT:
            raise FormatError(f"{self.folder}: not a checkpoint of format {_FORMAT}")
        return rest

    def _arrays(self, step: int, rest: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return the arrays of a checkpoint, laid out as the net is; everything is compared before anything is read."""
        there = self._manager.item_metadata(step)["arrays"]
        if there is None:
            raise FormatError("it has no arrays")
        params = _by_name(there["params"])
        own = _parameters(self.net, computed=False)
        problems = _differences(
            "parameter",
            {n: (p.shape, p.dtype, p._admits(params[n].shape) if n in params else False) for n, p in own.items()},
            params,
        )
        if problems:
            raise MismatchError(
                f"{self.folder}: the checkpoint of step {step} does not fit this {type(self.net).__name__}: {problems}"
            )
        if self.trainer is not None:
            self.trainer._fits_checkpoint(rest["trainer"], f"{self.folder}: the checkpoint of step {step}")
        wanted = {
            "params": {
                _key(name): _struct(params[name], own[name]._sharding(own[name]._device, tuple(params[name].shape)))
                for name in own
            },
            "states": {
                key: _struct(meta, self._place_of_state(_name(key), meta, own, params))
                for key, meta in there.get("states", {}).items()
            },
        }
        if "states" not in there:
            del wanted["states"]
        wide = any(s.dtype in WIDE for part in wanted.values() for s in part.values())
        with keeping_64_bits(wide):
            args = self._ocp.args
            read = self._manager.restore(step, args=args.Composite(arrays=args.StandardRestore(wanted)))["arrays"]
        return {kind: _by_name(part) for kind, part in read.items()}

    def _place_of_state(self, name: str, meta: Any, own: Mapping[str, Any], params: Mapping[str, Any]) -> Any:
        """Return the placement of a state: that of its weight, if it has the same shape."""
        param = own.get(name.rpartition("/")[0])
        if param is None and self.trainer is not None:
            param = self.trainer._param_of_state(name)
        if param is None:
            return None
        shape = tuple(meta.shape)
        known = param.shape if -1 not in (param.shape or (-1,)) else None
        weight = tuple(params[name.rpartition("/")[0]].shape) if known is None else known
        return param._sharding(param._device, shape) if shape == weight else None

    def _take(self, values: dict[str, dict[str, Any]], rest: Mapping[str, Any]) -> None:
        own = _parameters(self.net, computed=False)
        for name, value in values["params"].items():
            own[name].set_data(new_handle(value))
        if self.trainer is not None:
            self.trainer._take_checkpoint(values.get("states", {}), rest["trainer"])
        if self.loader is not None and rest["loader"] is not None:
            self.loader.load_state_dict(rest["loader"])
        prng.set_state(rest["random"])


def _parameters(net: Block, computed: bool) -> dict[str, Any]:
    """Return the parameters by name, each once; an error unless they are initialized, or even `computed`."""
    found: dict[int, tuple[str, Any]] = {}
    for name, param in net._params_apart().items():
        if computed:
            param._require_ready()
        elif param._handle is None:
            raise UninitializedError(f"Parameter '{param._path}' has not been initialized; call net.initialize() first")
        found.setdefault(id(param), (name, param))
    return dict(found.values())


def _differences(what: str, own: Mapping[str, Any], there: Mapping[str, Any]) -> str:
    """Tell the differences in one text; empty if there are none."""
    missing, extra = sorted(set(own) - set(there)), sorted(set(there) - set(own))
    found = [f"it lacks the {what}s {missing[:_SOME]}"] if missing else []
    found += [f"it has {what}s {extra[:_SOME]} that are not here"] if extra else []
    for name, (shape, dtype, admits) in own.items():
        if name in there and (not admits or np.dtype(there[name].dtype) != dtype):
            found.append(
                f"'{name}' is {there[name].dtype}{list(there[name].shape)} there and {dtype}{list(shape or ())} here"
            )
    return "; ".join(found[: 2 * _SOME])


def _struct(meta: Any, place: Any) -> jax.ShapeDtypeStruct:
    if not isinstance(place, jax.sharding.Sharding):
        device = place if place is not None else jax.local_devices()[0]
        place = jax.sharding.SingleDeviceSharding(device)
    return jax.ShapeDtypeStruct(tuple(meta.shape), meta.dtype, sharding=place)


def _settled(array: Any) -> Any:
    """Return an array that the training does not write to while it is written to disk.

    Orbax has brought it to the host when `save` returns; on a CPU that is the very memory that the next step donates.
    """
    if isinstance(array, np.ndarray):
        return np.array(array)
    return jnp.copy(array) if next(iter(array.devices())).platform == "cpu" else array


def _key(name: str) -> str:
    """Return a name as a key of a tree: a slash would be a folder."""
    return name.replace("%", "%25").replace("/", "%2F")


def _name(key: str) -> str:
    return key.replace("%2F", "/").replace("%25", "%")


def _by_name(tree: Mapping[str, Any]) -> dict[str, Any]:
    return {_name(key): value for key, value in tree.items()}


def __dir__() -> list[str]:
    return sorted(__all__)
