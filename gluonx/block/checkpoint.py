"""Moving parameters: from a block to a file, from a file or dict to a block, and between blocks.

Every way in has two halves. The first checks everything, changes nothing, and raises one error that lists all that does
not fit. The second only assigns. So a failure leaves the block unchanged.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gluonx import files as serialize
from gluonx.block.fusion.blocks import fuse_waiting
from gluonx.block.fusion.files import apart, check_dtypes, check_sharing, in_form, joined, taken_apart, tell_pieces
from gluonx.block.fusion.pieces import Piece
from gluonx.block.naming import host
from gluonx.block.parameter import Parameter
from gluonx.block.tools import listed
from gluonx.common.frames import cast, warn
from gluonx.deferred.record.graph import at_one_moment
from gluonx.deferred.values.core import new_handle, set_variable
from gluonx.dtype import canonical, on_device
from gluonx.errors import ArgumentError, FormatError, MismatchError, ShapeError

if TYPE_CHECKING:
    from gluonx.block.block import Block


_FORMAT = "gluonx-block-1"


def save_parameters(
    block: Block, filename: serialize.Place, deduplicate: bool | None = None, format: str | None = None
) -> None:
    """Write the parameters of `block` by structured name, in MXNet's order; see ``Block.save_parameters``."""
    params = block._params_apart()
    usual = block._block_names.file_format()
    if format is None:
        format = "safetensors" if serialize.name_of(filename).endswith(".safetensors") else usual
    if format != "mxnet" if deduplicate is None else deduplicate:
        params = {name: p for p, name in _first_names(params).items()}
    for param in params.values():
        param._require_ready()
    arrays = _at_one_moment(params)
    if format in ("npz", "mxnet") and usual == "npz":
        arrays = in_form(block, arrays, "mxnet")
    elif format == usual:
        arrays = block._block_names.saved(block, arrays)
    serialize.save_arrays(filename, arrays, format)


def _at_one_moment(params: Mapping[str, Parameter]) -> dict[str, np.ndarray]:
    """Return the values of all parameters between two steps, even while another thread trains them."""
    handles = [h for param in params.values() for h in param._every()]
    wholes = [h.whole() if isinstance(h, Piece) else h for h in handles]
    twins = dict(zip(map(id, wholes), at_one_moment(wholes), strict=True))
    read: dict[int, Any] = {
        id(h): h.part_of(twins[id(whole)]) if isinstance(h, Piece) else twins[id(whole)]
        for h, whole in zip(handles, wholes, strict=True)
    }

    def value(param: Parameter) -> np.ndarray:
        if param._overrides("_reduce") or param._pulling is not None:
            return param._reduce().asnumpy()
        return param._reduced(lambda h: read[id(h)].asnumpy())

    return {name: value(param) for name, param in params.items()}


@dataclass(frozen=True)
class Options:
    """Options of the loading methods of Block; see ``Block.load_parameters``.

    Raises
    ------
    ValueError
        If `dtype_source` is neither ``'current'`` nor ``'saved'``.
    """

    device: Any = None
    allow_missing: bool = False
    ignore_extra: bool = False
    cast_dtype: bool = False
    dtype_source: str = "current"
    ignore_mismatch: bool | str = False

    def __post_init__(self) -> None:
        if self.dtype_source not in ("current", "saved"):
            raise ArgumentError(f"dtype_source must be 'current' or 'saved', got {self.dtype_source!r}")

    def may_skip(self, name: str) -> bool:
        """Return whether a parameter whose shape differs from the file's keeps its value."""
        wanted = self.ignore_mismatch
        return wanted if isinstance(wanted, bool) else re.match(wanted, name) is not None


def load_parameters(block: Block, filename: serialize.Place, options: Options) -> None:
    """Read the parameters of `block` from a file; see ``Block.load_parameters``."""
    # The arrays are views of the file, and _staged copies them, so there is only one copy in memory.
    # Checksums are compared while they are copied.
    with serialize.arriving(filename) as (arrays, checks):
        load_dict(block, arrays, f"file '{serialize.name_of(filename)}'", options, checks.settle)


def read(filename: serialize.Place) -> dict[str, Any]:
    """Return the arrays of a file as ndarrays, for a user's own ``load_dict``."""
    return {name: new_handle(on_device(value)) for name, value in serialize.load_arrays(filename).items()}


def load_dict(
    block: Block,
    arrays: Mapping[str, Any],
    source: str,
    options: Options,
    settle: Callable[[], None] = lambda: None,
    of_numpy: bool = False,
) -> None:
    """Set the parameters of `block` from arrays by structured name, all or none; see ``Block.load_parameters``.

    `settle` is called after copies have been made and before any of them is used; an error that it raises ends the
    loading. If the arrays are `of_numpy`, a float64 array that has this dtype only by NumPy's default fits a float32
    parameter.

    Raises
    ------
    FormatError
        If anything does not fit; the message begins with `source` and lists it all.
    """
    params = block._params_apart()
    arrays = {without_kind(name): value for name, value in arrays.items()}
    cells = serialize.recurrent_names(arrays, params)
    named = block._block_names.structured(
        block, {cells.get(name, name): value for name, value in arrays.items()}, params
    )
    arrays, problems = taken_apart(block, named, params)
    if of_numpy:
        arrays = {name: _unasked(value, params.get(name)) for name, value in arrays.items()}
    extra = [name for name in arrays if name not in params]
    present = {params[name]: name for name in arrays if name in params}
    missing = [name for param, name in _first_names(params).items() if param not in present]
    if missing and not options.allow_missing:
        problems.append(f"it lacks {listed(missing)} (allow_missing=True leaves them as they are)")
    if extra and not options.ignore_extra:
        problems.append(f"it holds {listed(extra)}, which the block does not have (ignore_extra=True skips them)")
    hosts = {param: host(arrays[name]) for param, name in present.items()}
    shapes = {p: _other_shape(p, name, hosts[p]) for p, name in present.items() if not p._admits(hosts[p].shape)}
    skipped = {p: told for p, told in shapes.items() if options.may_skip(present[p])}
    for param in skipped:
        del present[param], hosts[param]
    for param, name in present.items():
        hint = " (ignore_mismatch=True keeps the block's)"
        problems += (
            [shapes[param] + hint] if param in shapes else _misfit(param, name, hosts[param], options.cast_dtype)
        )
    if problems:
        hint = " For a file of another library gluonx.weights.suggest(net, file) proposes a map of its names."
        told = f"Cannot load {source} into {type(block).__name__}: " + ";\n  ".join(problems) + "."
        raise MismatchError(told + (hint if missing and extra and not present else ""))
    if skipped:
        kept = "; ".join(skipped.values())
        warn(f"Not loaded from {source} into {type(block).__name__}, which keeps its own: {kept}.")
    _warn_of_torn_ties(params, arrays)
    saved = options.cast_dtype and options.dtype_source == "saved"
    dtypes = {param: canonical(host.dtype) if saved else param.dtype for param, host in hosts.items()}
    check_dtypes(params, dtypes, source)
    hosts, dtypes = joined(hosts, dtypes)
    devices = {param: param._devices_for(options.device) for param in hosts}
    staged = {param: param._staged(host, dtypes[param], devices[param]) for param, host in hosts.items()}
    settle()
    before = [_remembered(param) for param in dict.fromkeys(param._whole for param in staged)]
    try:
        for param, fresh in staged.items():
            param._load_as(fresh, devices[param], options)
    except BaseException:  # an interrupt
        for param, own, handle, inner in before:
            param.__dict__.update(own)
            if handle is not None:
                handle.value, handle.aval, handle.tape, variable = inner
                set_variable(handle, variable)
            tell_pieces(param)
        raise
    fuse_waiting(block)


def _remembered(param: Parameter) -> tuple[Parameter, dict[str, Any], Any, Any]:
    """Return all that loading changes of a parameter."""
    handle = param._handle
    inner = None if handle is None else (handle.value, handle.aval, handle.tape, handle.variable)
    return param, dict(param.__dict__), handle, inner


def without_kind(name: str) -> str:
    """Strip the ``arg:`` or ``aux:`` that files of exported MXNet symbols write in front of each name."""
    return name[4:] if name.startswith(("arg:", "aux:")) else name


def _first_names(params: Mapping[str, Parameter]) -> dict[Parameter, str]:
    names: dict[Parameter, str] = {}
    for name, param in params.items():
        names.setdefault(param, name)
    return names


def _unasked(value: Any, param: Parameter | None) -> Any:
    """Return an array for a parameter; float64 by NumPy's default becomes float32 if the parameter is that."""
    is_double = isinstance(value, np.ndarray) and value.dtype == np.float64
    return cast(value, np.float32) if is_double and param is not None and param.dtype == np.float32 else value


def _other_shape(param: Parameter, name: str, array: np.ndarray) -> str:
    return f"'{name}' has shape {array.shape}, the block's parameter {param.shape}"


def _misfit(param: Parameter, name: str, array: np.ndarray, cast_dtype: bool) -> list[str]:
    if array.dtype.kind in "OSUM":
        return [f"'{name}' holds {array.dtype}, not numbers"]
    if canonical(array.dtype) != param.dtype and not cast_dtype:
        return [f"'{name}' is {array.dtype}, the block's parameter {param.dtype} (cast_dtype=True converts)"]
    return []


def _warn_of_torn_ties(params: Mapping[str, Parameter], arrays: Mapping[str, Any]) -> None:
    """Warn if names that share one parameter have different values in the file: the last one is taken."""
    seen: dict[Parameter, str] = {}
    for name in arrays:
        param = params.get(name)
        first = seen.setdefault(param, name) if param is not None else name
        if first != name and host(arrays[first]).tobytes() != host(arrays[name]).tobytes():
            warn(f"'{first}' and '{name}' share one parameter, but come with different values; '{name}' is taken.")


def share(block: Block, shared: Mapping[str, Parameter]) -> None:
    """Replace parameters of `block` by the given ones; see ``Block.share_parameters``."""
    if not isinstance(shared, Mapping) or not all(isinstance(p, Parameter) for p in shared.values()):
        raise ValueError(f"share_parameters takes a dict of parameters, as from collect_params(), got {shared!r}")
    homes: dict[str, tuple[Any, str]] = {}
    for prefix, owner in block._walk():
        for name in owner._reg_params:
            homes[prefix + name] = (owner, name)
    shared = apart(shared)
    unknown = [name for name in shared if name not in homes]
    if unknown:
        warn(f"{type(block).__name__} has no parameter {listed(unknown)}: not shared.")
    given = {name: param for name, param in shared.items() if name in homes}
    for name, param in given.items():
        owner, attribute = homes[name]
        old = owner._reg_params[attribute]
        if param.shape is not None and not old._admits(param.shape):
            shapes = f"the block's parameter has shape {old.shape}, the given one {param.shape}"
            raise ShapeError(f"Cannot share '{name}': {shapes}.")
        if not isinstance(param, type(old)):
            raise ValueError(f"Cannot share '{name}': a {type(old).__name__} was expected, got {param!r}.")
    check_sharing(block, given)
    for name, param in given.items():
        owner, attribute = homes[name]
        setattr(owner, attribute, param)


def save_model(block: Block, prefix: str | PathLike[str]) -> None:
    """Write the structure and the parameters of `block`; see ``Block.save``."""
    prefix = os.fspath(prefix)
    names = _first_names(block._params_apart())
    block.save_parameters(f"{prefix}-model.params")
    with serialize.atomic_write(f"{prefix}-model.json", "w") as file:
        json.dump({"format": _FORMAT, "block": _describe(block, names)}, file, indent=1)


def _describe(block: Block, names: Mapping[Parameter, str]) -> dict[str, Any]:
    return {
        "class": type(block).__name__,
        "hybridized": bool(getattr(block, "_active", False)),
        "parameters": {name: names[param] for name, param in block._reg_params.items()},
        "children": {name: _describe(child, names) for name, child in block._children.items()},
    }


def load_model(block: Block, prefix: str | PathLike[str]) -> None:
    """Read what :func:`save_model` or MXNet wrote; see ``Block.load``."""
    prefix = os.fspath(prefix)
    described = _read_description(f"{prefix}-model.json")
    places = _Places({}, {}, [])
    _compare(block, described, "", "", places)
    before = block._params_apart()
    unknown = [
        f"{name} is that of {first!r}, which is not there"
        for name, first in places.first.items()
        if first not in places.own
    ]
    if problems := places.problems or unknown:
        told = ";\n  ".join(problems)
        raise FormatError(f"'{prefix}-model.json' describes another block than {type(block).__name__}: {told}.")
    try:
        try:
            share(block, {name: before[places.own[first]] for name, first in places.first.items()})
        except ShapeError as error:
            raise FormatError(f"'{prefix}-model.json' describes another block: {error}") from error
        file = f"{prefix}-model.params"
        if all(name == own for name, own in places.own.items()):
            block.load_parameters(file)
        else:
            arrays = {places.own.get(n, n): value for n, value in serialize.load_arrays(file).items()}
            load_dict(block, arrays, f"file '{file}'", Options())
    except BaseException:
        share(block, before)
        raise
    _restore_hybridized(block, described)


def _read_description(path: str) -> dict[str, Any]:
    with open(path, encoding="utf-8") as file:
        try:
            content = json.load(file)
        except (ValueError, RecursionError) as error:
            raise FormatError(f"'{path}' is no model description: {error}.") from None
    if isinstance(content, dict) and content.get("format") == _FORMAT and isinstance(content.get("block"), dict):
        return content["block"]
    for name, of in content.items() if isinstance(content, dict) and len(content) == 1 else ():
        if isinstance(of, dict) and "orig_name" in of:
            return _of_mxnet(name, of)
    raise FormatError(f'\'{path}\' is no model description: it lacks "format": "{_FORMAT}".')


def _of_mxnet(name: str, of: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a block of MXNet 1's file, which names it by its class and a number and lists no parameters."""
    blocks = {key: value for key, value in of.items() if isinstance(value, dict) and "orig_name" in value}
    names = map(str, (of.get("children") or {}).values())
    return {
        "class": name.rstrip("0123456789"),
        "hybridized": bool(of.get("hybridized")),
        "parameters": None,
        "children": {own: _of_mxnet(*block) for own, block in zip(names, blocks.items(), strict=False)},
    }


class _Places(NamedTuple):
    """The parameters of a description and of a block that belong together."""

    own: dict[str, str]  # names of the block's parameters by those of the description
    first: dict[str, str]  # by the block's names: under which the description names the parameter first
    problems: list[str]  # differences, as text


def _compare(block: Block, described: object, prefix: str, theirs: str, found: _Places) -> None:
    """Fill `found` for a block of the name `prefix` and a description of the name `theirs`.

    Children whose names are others are those at the same places, if their classes have the same names.
    """
    here = prefix[:-1] or "the block itself"
    described = described if isinstance(described, dict) else {}
    params, children = described.get("parameters", ()), described.get("children")
    if params is None:  # MXNet 1 lists none
        params = {name: theirs + name for name in block._reg_params}
    if not isinstance(params, dict) or not isinstance(children, dict):
        found.problems.append(f"{here} is not described")
        return
    if list(params) != list(block._reg_params):
        found.problems.append(f"{here} has the parameters {list(block._reg_params)}, the file {list(params)}")
    own = list(block._children.items())
    if list(children) != list(block._children) and [_kind(c) for c in children.values()] != [
        type(child).__name__.lower() for _, child in own
    ]:
        found.problems.append(f"{here} has the children {list(block._children)}, the file {list(children)}")
        return
    for name, first in params.items():
        found.own[theirs + name] = prefix + name
        found.first[prefix + name] = str(first)
    for (name, child), (their, of) in zip(own, children.items(), strict=True):
        _compare(child, of, f"{prefix}{name}.", f"{theirs}{their}.", found)


def _kind(described: object) -> str:
    return str(described.get("class", "")).lower() if isinstance(described, dict) else ""


def _restore_hybridized(block: Any, described: Mapping[str, Any]) -> None:
    for child, of in zip(block._children.values(), described["children"].values(), strict=True):
        _restore_hybridized(child, of)
    if hasattr(block, "_active") and block._active != bool(described.get("hybridized")):
        block._set_active(bool(described.get("hybridized")))
