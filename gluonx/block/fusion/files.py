"""Fused arrays in files, in dicts that are loaded, and between blocks that share: always turned into pieces.

Files of gluonx use the names of pieces, so that they do not depend on what is fused. Fused arrays come in three ways:
in a dict made of ``collect_params()`` of a fused net, in a file of another library that stores several of our
parameters as one array (``declare_file_form``), and as fused parameters that are to be shared. All of them are taken
apart here, by the declarations of the blocks, before names are compared.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gluonx.block.fusion.layout import Fused, Layout
from gluonx.block.fusion.pieces import FusedParameter
from gluonx.block.parameter import Parameter
from gluonx.block.structure import is_complete
from gluonx.errors import FormatError, FusionError

if TYPE_CHECKING:
    from gluonx.block.block import Block


__all__ = [
    "FileForm",
    "apart",
    "check_dtypes",
    "check_sharing",
    "in_form",
    "joined",
    "planned_apart",
    "pieces_of",
    "taken_apart",
    "tell_pieces",
]

_MISFIT = "'{name}' has shape {shape}, but the parameters it is made of ({pieces}) together {wanted}"
_DTYPES = (
    "Cannot load {source}: it would give '{piece}' the dtype {new} and '{first}' {old}, but they are pieces of one "
    "fused array, which has one dtype. Give dtype_source='current', or unfuse the block first."
)
_SHARED_IN_PART = (
    "Cannot share '{name}': it is a piece of '{home}', and '{fused}' of {cls} is fused as well, of other parameters. "
    "Share all pieces, or unfuse one of the blocks."
)


class FileForm(NamedTuple):
    """A declaration that a file format stores some parameters as one array, `fused`.

    See ``Block.declare_file_form``.
    """

    format: str
    fused: Fused
    complete: Callable[[int], dict[str, tuple[int, ...]]] | None


def in_form(block: Block, arrays: dict[str, np.ndarray], format: str) -> dict[str, np.ndarray]:
    """Return the arrays of a block, by structured name, as a file of this format holds them."""
    arrays = dict(arrays)
    for prefix, owner in block._walk():
        for form in owner._fusions.forms if owner._fusions is not None else ():
            names = [prefix + piece for piece in form.fused.pieces]
            if form.format == format and all(name in arrays for name in names):
                pieces = [arrays.pop(name) for name in names]
                arrays[prefix + form.fused.name] = form.fused.layout([a.shape for a in pieces]).join(pieces)
    return arrays


def taken_apart(
    block: Block, arrays: dict[str, Any], params: Mapping[str, Parameter]
) -> tuple[dict[str, Any], list[str]]:
    """Return arrays by structured name with pieces instead of fused arrays, and the errors found in the latter."""
    problems: list[str] = []
    for prefix, owner in block._walk():
        for fused, complete in _ways(owner):
            name = prefix + fused.name
            if name in params or name not in arrays:
                continue
            array = arrays[name]
            array = array.asnumpy() if hasattr(array, "asnumpy") else np.asarray(array)
            shapes = [params[prefix + piece].shape if prefix + piece in params else None for piece in fused.pieces]
            if complete is not None and not all(map(is_complete, shapes)):
                found = complete(array.size)
                shapes = [found.get(piece, shape) for piece, shape in zip(fused.pieces, shapes, strict=True)]
            if not all(map(is_complete, shapes)):
                with contextlib.suppress(ValueError):
                    shapes = fused.shapes_within(tuple(array.shape), shapes)
            if not all(map(is_complete, shapes)):
                continue  # reported as an unexpected name, beside the missing ones
            layout = fused.layout(shapes)  # type: ignore[arg-type]
            if tuple(array.shape) != tuple(layout.shape):
                pieces = ", ".join(map(repr, fused.pieces[:4])) + (", ..." if len(fused.pieces) > 4 else "")
                problems.append(_MISFIT.format(name=name, shape=array.shape, pieces=pieces, wanted=layout.shape))
                continue
            del arrays[name]
            arrays.update((prefix + p, part) for p, part in zip(fused.pieces, layout.split(array), strict=True))
    return arrays, problems


def _ways(owner: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the declarations by which a fused array may be taken apart."""
    part = owner._fusions
    if part is None:
        return
    yield from ((form.fused, form.complete) for form in part.forms)
    if not part.by_functions:
        yield from ((fused, None) for fused in part.declared)
    else:
        yield from ((_Whole(home), None) for home in part.current().values())


class _Whole:
    """A fused parameter, as a declaration."""

    def __init__(self, home: FusedParameter) -> None:
        self.name, self.pieces, self._layout = home._name, home.names, home.layout

    def layout(self, shapes: Any) -> Layout:
        return self._layout


def joined(
    hosts: Mapping[Parameter, np.ndarray], dtypes: Mapping[Parameter, Any]
) -> tuple[dict[Parameter, np.ndarray], dict[Parameter, Any]]:
    """Replace complete sets of pieces by their fused parameters; return arrays and dtypes by parameter."""
    hosts, dtypes = dict(hosts), dict(dtypes)
    for home in dict.fromkeys(p._home for p in hosts if p._home is not None):
        if all(piece in hosts for piece in home.pieces):
            dtypes[home] = dtypes[home.pieces[0]]
            arrays = [hosts.pop(piece).astype(dtypes[home], copy=False) for piece in home.pieces]
            hosts[home] = np.asarray(home.layout.join(arrays))
            for piece in home.pieces:
                del dtypes[piece]
    return hosts, dtypes


def tell_pieces(param: Parameter) -> None:
    """If the parameter is a fused one that was changed from outside, update its pieces."""
    if isinstance(param, FusedParameter):
        param._tell_pieces()


def check_dtypes(params: Mapping[str, Parameter], dtypes: Mapping[Parameter, Any], source: str) -> None:
    """Raise if loading would give the pieces of one fused array different dtypes."""
    for home in dict.fromkeys(p._home for p in params.values() if p._home is not None):
        new = [dtypes.get(piece, piece.dtype) for piece in home.pieces]
        other = next((i for i, dtype in enumerate(new) if dtype != new[0]), None)
        if other is not None:
            piece, first = home.names[other], home.names[0]
            raise FormatError(_DTYPES.format(source=source, piece=piece, new=new[other], first=first, old=new[0]))


def apart(params: Mapping[str, Parameter]) -> dict[str, Parameter]:
    """Return parameters by structured name, with pieces instead of fused parameters."""
    found: dict[str, Parameter] = {}
    for name, param in params.items():
        if isinstance(param, FusedParameter) and name.endswith(param._name):
            prefix = name[: len(name) - len(param._name)]
            found.update((prefix + piece, p) for piece, p in zip(param.names, param.pieces, strict=True))
        else:
            found[name] = param
    return found


def planned_apart(params: Mapping[str, Parameter]) -> dict[str, Parameter]:
    """Return parameters by structured name, with pieces instead of fused parameters that wait."""
    waiting = {name: p for name, p in params.items() if isinstance(p, FusedParameter) and p._waits}
    if not waiting:
        return params  # type: ignore[return-value]
    found: dict[str, Parameter] = {}
    for name, param in params.items():
        found.update(apart({name: param}) if name in waiting else {name: param})
    return found


def pieces_of(param: Parameter) -> tuple[Any, ...]:
    """Return the pieces of a fused parameter; for any other parameter, itself."""
    return param.pieces if isinstance(param, FusedParameter) else (param,)


def check_sharing(block: Block, given: Mapping[str, Parameter]) -> None:
    """Raise if a fused parameter of `block` would get pieces some of which belong to another one."""
    for prefix, owner in block._walk():
        for home in owner._fusions.current().values() if owner._fusions is not None else ():
            pieces = [given.get(prefix + n, p) for n, p in zip(home.names, home.pieces, strict=True)]
            if pieces == list(home.pieces):
                continue
            others = {id(p._home) for p in pieces if p._home is not home}
            mixed = len(others) > 1 or (len(others) == 1 and any(p._home is home for p in pieces))
            for name, piece in zip(home.names, pieces, strict=True):
                if mixed and piece._home is not None and piece._home is not home:
                    raise FusionError(
                        _SHARED_IN_PART.format(
                            name=prefix + name, home=piece._home._path, fused=home._name, cls=type(owner).__name__
                        )
                    )
