"""Laying a net out on a mesh: from rules about names to a sharding for each parameter.

A *rule* says how an array of some shape is split, given how it is split already; a *strategy* gives a rule for each
parameter of a net. Both are applied again whenever a shape becomes known, so a net can be laid out before it has
values, and each value is made on its final devices.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from jax.sharding import Mesh

from gluonx.block.fusion import blocks as fusion
from gluonx.errors import DeviceError
from gluonx.sharding import Layout, Spec, named, needed_mesh

if TYPE_CHECKING:
    from jax.sharding import NamedSharding

    from gluonx.block.block import Block


Entries: TypeAlias = tuple[Any, ...]  # the entries of a spec, one for each axis of the array
Rule: TypeAlias = Callable[[tuple[int, ...], Entries], Entries]

_NO_MATCH = "the rule {pattern!r} matches no parameter of this {net}, which has {names}"
_CLASH = "parameter '{name}' is matched by two rules that differ: {first!r} says {one}, {second!r} says {other}"
_NO_PATTERN = "the rule {pattern!r} is no regular expression: {why}"
_NO_STRATEGY = (
    "{net}.shard() takes strategies, such as parallel.fsdp('data'), and dicts from patterns of names to specs, such as "
    "{{'.*weight': ('data',)}}; got {got!r}"
)
_MOST = 12


class Strategy(Protocol):
    """An object that decides how the parameters of a net are split over a mesh."""

    def rules(self, net: Block, mesh: Mesh) -> Mapping[str, Rule]:
        """Return by structured name the rules of those parameters that it decides on."""
        ...


class Report:
    """The shardings of a net's parameters on a mesh; ``shardings`` by name, and a table as text."""

    def __init__(self, mesh: Mesh, params: Mapping[str, Any]) -> None:
        self.mesh = mesh
        self.params = dict(params)

    @property
    def shardings(self) -> dict[str, Any]:
        """The sharding of each parameter; None while its shape is unknown."""
        return {name: param.sharding for name, param in self.params.items()}

    def __repr__(self) -> str:
        lines = [f"{len(self.params)} parameters on the mesh {dict(self.mesh.shape)}"]
        width = max(map(len, self.params), default=0)
        for name, param in self.params.items():
            found = param.sharding
            split = "its shape is unknown" if found is None else tuple(found.spec) or "whole on every device"
            lines.append(f"  {name:{width}}  {param.shape}  {split}")
        return "\n".join(lines)


def shard(net: Block, given: Sequence[Strategy | Mapping[str, Spec]]) -> Report:
    """Lay out the parameters of `net` on the mesh in use; see ``Block.shard``."""
    name = type(net).__name__
    mesh = needed_mesh(f"{name}.shard()")
    for rules in given:
        if not isinstance(rules, Mapping) and (isinstance(rules, type) or not callable(getattr(rules, "rules", None))):
            raise DeviceError(_NO_STRATEGY.format(net=name, got=rules))
    params = net._params_apart()
    fixed = _by_pattern(net, mesh, [rules for rules in given if isinstance(rules, Mapping)], params)
    found: dict[str, list[Rule]] = {n: [] for n in params}
    for strategy in given:
        if not isinstance(strategy, Mapping):
            for n, rule in strategy.rules(net, mesh).items():
                if n not in fixed:
                    found[n].append(rule)
    layouts = {
        n: functools.partial(_sharding, mesh, n, fixed[n]) if n in fixed else functools.partial(_ruled, mesh, n, rules)
        for n, rules in found.items()
    }
    unique: dict[int, tuple[str, Any, Layout]] = {id(p): (n, p, layouts[n]) for n, p in reversed(params.items())}
    for _, param, layout in unique.values():
        if param.shape is not None and -1 not in param.shape:
            layout(param.shape)  # raises before anything has changed
    _unfuse(net, [param for n, param, _ in unique.values() if n in fixed or found[n]])
    for _, param, layout in unique.values():
        if param._home is None:
            param._set_layout(layout)
    for home in {param._home for _, param, _ in unique.values()} - {None}:
        home._set_layout(functools.partial(_sharding, mesh, home.name, ()))
    return Report(mesh, params)


def _unfuse(net: Block, split: list[Any]) -> None:
    """Take apart fusions, also future ones, with pieces that are split: each piece is split by itself."""
    pieces = set(map(id, split))
    for _, block in net._walk():
        if pieces & {id(piece) for piece in fusion.pieces_of_block(block)}:
            block.unfuse()


def _sharding(mesh: Mesh, name: str, spec: Spec, shape: tuple[int, ...]) -> NamedSharding:
    return named(mesh, spec, shape, f"parameter '{name}'")


def _ruled(mesh: Mesh, name: str, rules: list[Rule], shape: tuple[int, ...]) -> NamedSharding:
    spec: Entries = (None,) * len(shape)
    for rule in rules:
        spec = rule(shape, spec)
    return named(mesh, spec, shape, f"parameter '{name}'")


def _by_pattern(net: Any, mesh: Mesh, given: list[Mapping[str, Spec]], params: Mapping[str, Any]) -> dict[str, Spec]:
    """Return the specs that patterns give to names; the name of a fused parameter stands for all of its pieces."""
    fused = {n: p.names for n, p in net.collect_params().items() if n not in params}
    found: dict[str, tuple[str, Spec]] = {}
    for pattern, spec in [pair for rules in given for pair in rules.items()]:
        named(mesh, spec, None, f"the rule {pattern!r}")
        try:
            wanted = re.compile(pattern)
        except (re.error, TypeError) as error:
            raise DeviceError(_NO_PATTERN.format(pattern=pattern, why=error)) from None
        names = [n for n in params if wanted.fullmatch(n)]
        for n, pieces in fused.items():
            if wanted.fullmatch(n):
                before = n[: len(n) - len(n.rpartition(".")[2])]
                names += [before + piece for piece in pieces]
        if not names:
            some = ", ".join(list(params)[:_MOST]) + (", ..." if len(params) > _MOST else "")
            raise DeviceError(_NO_MATCH.format(pattern=pattern, net=type(net).__name__, names=some or "none"))
        for n in names:
            first, one = found.setdefault(n, (pattern, spec))
            if tuple(one) != tuple(spec):
                told = _CLASH.format(name=n, first=first, one=tuple(one), second=pattern, other=tuple(spec))
                raise DeviceError(told)
    return {n: spec for n, (_, spec) in found.items()}
