"""``npx`` functions that are more than one operator: they write to their arguments, read values, or ask the machine."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as onp
from numpy.typing import ArrayLike

from gluonx import files as serialize
from gluonx import np
from gluonx.common.arguments import refuse, written
from gluonx.deferred import invoke
from gluonx.deferred.values.core import current_state
from gluonx.device import Device as Device
from gluonx.device import cpu as cpu
from gluonx.device import cpu_pinned as cpu_pinned
from gluonx.device import current_context as current_context
from gluonx.device import current_device as current_device
from gluonx.device import gpu as gpu
from gluonx.device import gpu_memory_info as gpu_memory_info
from gluonx.device import num_gpus as num_gpus
from gluonx.device import tpu as tpu
from gluonx.np.handle import host_value, lend, ndarray
from gluonx.np.table import IGNORED
from gluonx.np.wrapping import as_leaf, write_out
from gluonx.npx.synchronized import is_one_array, over_devices
from gluonx.ops.prng import seed as seed
from gluonx.ops.registry import get

if TYPE_CHECKING:
    pass


_NORM = ("eps", "momentum", "fix_gamma", "use_global_stats", "output_mean_var", "axis")


def _ignore(name: str, given: Mapping[str, Any], known: Iterable[str]) -> None:
    """Refuse all further keywords but those of MXNet that mean nothing here."""
    refuse(f"npx.{name}", given, known, IGNORED)


# -- batch normalization ----------------------------------------------------------------------------------------------


def batch_norm(
    x: ndarray,
    gamma: ndarray,
    beta: ndarray,
    running_mean: ndarray,
    running_var: ndarray,
    eps: float = 1e-3,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    axis: int = 1,
    cudnn_off: bool = False,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    **ignored: object,
) -> Any:
    """Normalize over all axes but that of the channels; in train mode the moving statistics are renewed in place.

    Parameters
    ----------
    x : ndarray
    gamma, beta : ndarray, shape (channels,)
        Scale (taken as one with `fix_gamma`) and shift.
    running_mean, running_var : ndarray, shape (channels,)
        The moving statistics, of which `momentum` stays: used in predict mode (and with `use_global_stats`), written
        to in train mode.
    eps : float
        Added to the variance.
    output_mean_var : bool
        Also return the mean and the inverse standard deviation.
    axis : int
        The axis of the channels.

    Returns
    -------
    ndarray, or a list of three with `output_mean_var`

    Examples
    --------
    >>> from gluonx import np, npx
    >>> x = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> one, zero = np.ones(2), np.zeros(2)
    >>> npx.batch_norm(x, one, zero, zero, one, eps=0.0).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    _ignore("batch_norm", ignored, _NORM)
    training = current_state().training
    bound = get("batch_norm").bind(
        eps=eps,
        momentum=momentum,
        fix_gamma=bool(fix_gamma),
        use_global_stats=bool(use_global_stats),
        output_mean_var=bool(output_mean_var),
        axis=axis,
        training=training,
    )
    result = invoke(bound, (x, gamma, beta, running_mean, running_var))
    if not isinstance(result, tuple):
        return result
    if training and not use_global_stats:
        return _moving(result, running_mean, running_var, output_mean_var)
    out, _, _, *moments = result
    return [out, *moments] if output_mean_var else out


def _moving(
    result: tuple[Any, ...], running_mean: ndarray, running_var: ndarray, output_mean_var: bool
) -> ndarray | list[ndarray]:
    """Write the new moving statistics of a batch normalization in training, and return the rest of its result."""
    out, running_mean[...], running_var[...], *moments = result
    return [out, *moments] if output_mean_var else out


def batch_norm_with_relu(*args: Any, **kwargs: object) -> Any:
    """`batch_norm`, and of its result what is above zero.

    Returns
    -------
    ndarray, or list of ndarray where `output_mean_var`
        As :func:`batch_norm`.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> x = np.array([[1.0, -2.0]])
    >>> one, zero = np.ones(2), np.zeros(2)
    >>> npx.batch_norm_with_relu(x, one, zero, zero, one, eps=0.0).tolist()
    [[1.0, 0.0]]
    """
    result = batch_norm(*args, **kwargs)
    relu = get("relu").bind()
    if isinstance(result, list):
        return [invoke(relu, (result[0],)), *result[1:]]
    return invoke(relu, (result,))


def sync_batch_norm(
    data: ndarray,
    gamma: ndarray,
    beta: ndarray,
    moving_mean: ndarray,
    moving_var: ndarray,
    eps: float = 1e-3,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    ndev: int = 1,
    key: str = "",
    axis: int = 1,
    **ignored: object,
) -> Any:
    """`batch_norm` by the statistics of the parts of a batch that `ndev` devices have.

    On a mesh of devices the batch is one array, and this is `batch_norm`. In a loop over a list of devices the calls
    of all of them, on parts of one size, are one program when ``trainer.step()`` runs it; `key` plays no part.

    Returns
    -------
    ndarray, or list of ndarray where `output_mean_var`
        Of the shape and dtype of `data`; then the mean and the variance of each channel.

    Raises
    ------
    DeviceError
        In training, where not each of `ndev` devices calls it on a part of the same size, or something is read before
        the step.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> x = np.array([[1.0, -2.0]])
    >>> one, zero = np.ones(2), np.zeros(2)
    >>> npx.sync_batch_norm(x, one, zero, zero, one, eps=0.0).tolist()
    [[1.0, -2.0]]
    """
    _ignore("sync_batch_norm", ignored, _NORM)
    if ndev > 1 and current_state().training and not use_global_stats and not is_one_array(data):
        settings = {"eps": eps, "momentum": momentum, "fix_gamma": bool(fix_gamma), "axis": axis}
        op = over_devices("npx.sync_batch_norm", ndev, **settings, output_mean_var=bool(output_mean_var))
        return _moving(
            invoke(op, (data, gamma, beta, moving_mean, moving_var)), moving_mean, moving_var, output_mean_var
        )
    return batch_norm(
        data, gamma, beta, moving_mean, moving_var, eps, momentum, fix_gamma, use_global_stats, output_mean_var, axis
    )


# -- sequences -------------------------------------------------------------------------------------------------------


def ctc_loss(
    data: Any,
    label: Any,
    data_lengths: Any = None,
    label_lengths: Any = None,
    use_data_lengths: bool = False,
    use_label_lengths: bool = False,
    blank_label: str = "first",
    **ignored: object,
) -> ndarray:
    """Connectionist temporal classification: one loss a sample.

    Parameters
    ----------
    data : ndarray, shape (time, batch, classes)
        Scores, before the softmax.
    label : ndarray, shape (batch, length)
        Padded with 0 if the blank is the first class, else with -1.
    data_lengths, label_lengths : ndarray, shape (batch,), optional
        Looked at with `use_data_lengths` and `use_label_lengths` only.
    blank_label : {'first', 'last'}
        Which class is the blank.

    Returns
    -------
    ndarray
        Of shape ``(batch,)``: the loss of each sequence.

    Raises
    ------
    ValueError
        If `blank_label` is neither.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> data, label = np.zeros((2, 1, 2)), np.array([[1, 0]])
    >>> round(npx.ctc_loss(data, label).item(), 4)
    0.2877
    """
    lengths_and_blank = ("data_lengths", "label_lengths", "use_data_lengths", "use_label_lengths", "blank_label")
    _ignore("ctc_loss", ignored, lengths_and_blank)
    if blank_label not in ("first", "last"):
        raise ValueError(f"npx.ctc_loss: blank_label must be 'first' or 'last', got {blank_label!r}.")
    if blank_label == "first":
        data, label = np.roll(data, -1, axis=2), np.subtract(label, 1)
    bound = get("ctc_batch_loss").bind(layout="TNC", label_layout="NT")
    lengths = (data_lengths if use_data_lengths else None, label_lengths if use_label_lengths else None)
    return invoke(bound, (data, label, *lengths))


# -- values -----------------------------------------------------------------------------------------------------------


def nonzero(a: ArrayLike) -> ndarray:
    """Return the indices of elements that are not zero, one row an element (``np.nonzero`` gives one array an axis).

    Returns
    -------
    ndarray
        Of shape ``(found, axes)``, int64.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.nonzero(np.array([[0, 2], [3, 0]])).tolist()
    [[0, 1], [1, 0]]
    """
    return np.argwhere(a)


def broadcast_greater(lhs: ArrayLike, rhs: ArrayLike, out: ndarray | None = None) -> ndarray:
    """Compare elements: 1 where ``lhs > rhs``, else 0, in their dtype (that of ``np.greater`` is bool).

    Returns
    -------
    ndarray
        The shape of both inputs broadcast; of the promoted dtype of the arrays among them.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.broadcast_greater(np.array([[1.0, 3.0]]), np.array([2.0])).tolist()
    [[0.0, 1.0]]
    """
    arrays = [as_leaf(x) for x in (lhs, rhs) if not isinstance(x, (bool, int, float))]
    found = np.greater(lhs, rhs)
    if arrays:
        found = found.astype(np.result_type(*arrays))
    return found if out is None else write_out("npx.broadcast_greater", out, found)


def constraint_check(x: ArrayLike, msg: str = "Constraint violated.") -> ndarray:
    """Raise if an element of the boolean `x` is False; else return True.

    Inside a hybridized block, where there are no values, it is raised as soon as what the block gave is computed: by
    the call itself, or while recording when a value is read or at ``trainer.step``, whose update is made. In an
    exported program nothing is checked.

    Returns
    -------
    ndarray
        True, of shape ().

    Raises
    ------
    ValueError
        With `msg`.
    DynamicShapeError
        In the body of a loop or branch (``npx.foreach``), from which nothing can be told.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.constraint_check(np.array([1.0, 2.0]) > 0).item()
    True
    """
    held = np.all(x)
    trace = current_state().trace
    if trace is not None and not trace.transparent and trace.required is not None:
        trace.required.append((held, msg))
    elif not bool(host_value(held, "npx.constraint_check")):
        raise ValueError(msg)
    return held


# -- other libraries and files ----------------------------------------------------------------------------------------


def from_numpy(ndarray: onp.ndarray, zero_copy: bool = True) -> np.ndarray:
    """Return an ndarray of the values of a NumPy array, of its dtype; always a copy.

    Returns
    -------
    ndarray
        Of the shape and dtype of the NumPy array.

    Examples
    --------
    >>> import numpy
    >>> from gluonx import npx
    >>> npx.from_numpy(numpy.ones(2)).tolist()
    [1.0, 1.0]
    """
    return np.array(ndarray, dtype=ndarray.dtype)


def from_dlpack(dlpack: Any) -> ndarray:
    """Return an ndarray of another library's array: anything with ``__dlpack__``, or a capsule of DLPack.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.from_dlpack(np.array([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    return np.from_dlpack(dlpack)


def to_dlpack_for_read(data: ndarray) -> object:
    """Return a DLPack capsule of the array, computed. Its memory is for others to read only, for it may be shared.

    What takes arrays and not capsules, such as ``torch.from_dlpack``, takes the array itself, which has ``__dlpack__``.

    Returns
    -------
    capsule
        For `from_dlpack` of another library.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.from_dlpack(npx.to_dlpack_for_read(np.array([1.0, 2.0]))).tolist()
    [1.0, 2.0]
    """
    return data._read().__dlpack__()


def to_dlpack_for_write(data: ndarray) -> object:
    """Return a DLPack capsule of memory on the host that is the array's from now on, for others to write to.

    The array is read from there each time it is used, which takes a copy.

    Returns
    -------
    capsule
        For `from_dlpack` of another library, which may write to the memory.

    Raises
    ------
    ArgumentError
        For a slice, and for what autograd has recorded.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.from_dlpack(npx.to_dlpack_for_write(np.array([1.0, 2.0]))).tolist()
    [1.0, 2.0]
    """
    return lend(data)


def save(file: str | os.PathLike[str], arr: ArrayLike) -> None:
    """Write an array (``.npy``), or a list or dict of arrays (``.npz``), to a file, which `load` gives back as it came.

    Raises
    ------
    TypeError
        If `arr` holds anything else.

    Examples
    --------
    >>> import tempfile
    >>> from gluonx import np, npx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     npx.save(f"{folder}/x.npz", {"weight": np.array([1.0, 2.0])})
    ...     npx.load(f"{folder}/x.npz")["weight"].tolist()
    [1.0, 2.0]
    """
    if isinstance(arr, Mapping):
        serialize.save_arrays(file, {str(k): onp.asarray(v) for k, v in arr.items()})
    elif isinstance(arr, (list, tuple)):
        serialize.save_arrays(file, _numbered(arr), metadata=serialize.LISTED)
    elif isinstance(arr, (ndarray, onp.ndarray, jax.Array)):
        serialize.save_arrays(file, {"arr_0": onp.asarray(arr)}, format="npy")
    else:
        raise TypeError(f"npx.save: an ndarray, or a list or dict of them, was expected, got {type(arr).__name__}.")


def _numbered(arrays: Sequence[Any]) -> dict[str, Any]:
    return {f"arr_{i}": onp.asarray(a) for i, a in enumerate(arrays)}


def savez(file: str | os.PathLike[str], *args: object, **kwds: object) -> None:
    """Write arrays to an ``.npz`` file: those without a name as ``arr_0``, ``arr_1`` and so on.

    Examples
    --------
    >>> import tempfile
    >>> from gluonx import np, npx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     npx.savez(f"{folder}/x.npz", np.ones(2), bias=np.zeros(3))
    ...     sorted(npx.load(f"{folder}/x.npz"))
    ['arr_0', 'bias']
    """
    named = _numbered(args)
    twice = sorted(set(named) & set(kwds))
    if twice:
        raise ValueError(f"npx.savez: the name {twice[0]!r} is that of an array given without a name.")
    serialize.save_arrays(file, {k: onp.asarray(v) for k, v in {**named, **kwds}.items()})


def load(file: str | os.PathLike[str]) -> Any:
    """Load a file of `save`, `savez` or MXNet: what was given to `save`, the dict of ``savez``.

    Of a file of ``nd.save``, a dict where the arrays have names, else the one array, or a list of several.

    Returns
    -------
    ndarray, list of ndarray, or dict of str to ndarray
        As it was saved.

    Raises
    ------
    FormatError
        If the file is none of these.

    Examples
    --------
    >>> import tempfile
    >>> from gluonx import np, npx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     npx.save(f"{folder}/x.npy", np.array([1, 2]))
    ...     npx.load(f"{folder}/x.npy").tolist()
    [1.0, 2.0]
    """
    found = serialize.load_ndarrays(file)
    if isinstance(found, dict):
        return {name: np.array(value, dtype=value.dtype) for name, value in found.items()}
    arrays = [np.array(value, dtype=value.dtype) for value in found]
    return arrays[0] if len(arrays) == 1 and serialize.load_metadata(file) != serialize.LISTED else arrays


# -- the machine -----------------------------------------------------------------------------------------


def waitall() -> None:
    """Compute what is pending and wait for all devices.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> x = np.ones(2) + 1
    >>> npx.waitall()
    >>> x.tolist()
    [2.0, 2.0]
    """
    from gluonx.engine import waitall as wait

    wait()


def get_cuda_compute_capability(device: Any) -> int:
    """Return the compute capability of a GPU as a whole number: 90 for 9.0.

    Returns
    -------
    int
        Such as 80 for 8.0.

    Examples
    --------
    >>> from gluonx import npx
    >>> npx.get_cuda_compute_capability(npx.gpu(0))  # of an H100  # doctest: +SKIP
    90
    """
    return int(str(Device(device).jax_device.compute_capability).replace(".", ""))


__all__ = [  # noqa: PLE0604
    "Device",
    "cpu",
    "cpu_pinned",
    "current_context",
    "current_device",
    "gpu",
    "gpu_memory_info",
    "num_gpus",
    "seed",
    "tpu",
    *written(globals()),
]
