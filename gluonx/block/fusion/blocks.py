"""Fusion in a block: :class:`Fusions`, an object that a block gets when it first declares or asks for a fusion.

A block declares which of its own parameters, or its children's, are stored as one (``Block.declare_fusion``, or a pair
of functions that override ``Block.fuse_parameters`` and ``Block.unfuse_parameters``). Nothing is fused until somebody
asks: the user with ``net.fuse()``, or a layer in its ``__init__`` with ``self.fuse()``. A request that comes before the
values are there is carried out as soon as they are, before anything compiles.

The methods of Block only call this module: the block's own Fusions (declarations, and what is fused), and functions
that walk over a block and all below it (:func:`fuse`, :func:`unfuse`). A block that neither declares nor asks has no
Fusions and pays nothing.

What is fused is stored twice, and the second follows from the first. A piece refers to its fused parameter
(``Parameter._home``); a block's Fusions refers to the fused parameters of its declarations. The latter is checked
whenever the block's structure has changed (``block.structure``), because a parameter may have been replaced or shared
meanwhile.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import ref

from gluonx.block.fusion import layout as transforms
from gluonx.block.fusion.files import FileForm
from gluonx.block.fusion.layout import Fused, joiner
from gluonx.block.fusion.pieces import FusedParameter, check_alike, dissolve, is_in_use
from gluonx.block.parameter import Parameter
from gluonx.block.structure import is_complete
from gluonx.deferred.record.engine import invoke
from gluonx.deferred.values.core import current_state, finds_shapes
from gluonx.errors import FusionError

if TYPE_CHECKING:
    from gluonx.block.block import Block
    from gluonx.np.handle import ndarray


__all__ = ["FusionReport", "Fusions", "fuse", "fuse_waiting", "fused_view", "is_fused", "unfuse"]

_OVERLAP = (
    "Fused '{new}' of {cls} wants '{piece}', which is a piece of '{old}' already; a parameter is a piece of one array "
    "only."
)
_TAKEN = "{path}: the {what} '{name}' exists already; give the fused parameter another name."
_NO_PIECE = "{path}: there is no parameter '{piece}' below this block; it has {there}."
_TWO_HOMES = (
    "{path}: '{piece}' (parameter '{param}') is a piece of '{home}' already. A parameter that is shared can be fused "
    "in one way only: unfuse the other block first, or share all pieces."
)
_NOT_DECLARED = "{cls} declares no fused parameter '{name}'; declared: {there}."
_SHARED = (
    "Parameter '{piece}' would be a piece of two fused parameters: '{name}' of '{path}' and '{other_name}' of "
    "'{other_path}'. A parameter that is shared can be fused in one way only."
)

Tree = dict[str, Any]


class _Group(NamedTuple):
    """A fused parameter that is still to be made."""

    part: Fusions
    name: str
    names: tuple[str, ...]
    pieces: tuple[Parameter, ...]
    layout: Any

    @property
    def path(self) -> str:
        return f"{_path_of(self.pieces[0], self.names[0], self.part.block)}{self.name}"


def _path_of(piece: Parameter, name: str, block: Block) -> str:
    """Return the prefix of a block's parameter names in messages: ``'Net.encoder.'``."""
    path = piece._path
    return path[: -len(name)] if path.endswith("." + name) else f"{type(block).__name__}."


class FusionReport:
    """A report of ``fuse``: the fused parameters, those that wait, and the number of arrays.

    Attributes
    ----------
    fused : list of (str, tuple of int, tuple of str)
        Name, shape and pieces of each fused parameter.
    waiting : list of str
        Fusions that wait for the shape or the initialization of their pieces.
    before, after : int
        The number of the parameters' arrays, unfused and now.
    """

    def __init__(
        self, fused: list[tuple[str, tuple[int, ...], tuple[str, ...]]], waiting: list[str], before: int, after: int
    ) -> None:
        self.fused, self.waiting, self.before, self.after = fused, waiting, before, after

    def __repr__(self) -> str:
        lines = [f"FusionReport: {self.before} arrays before, {self.after} after"]
        width = max((len(name) for name, _, _ in self.fused), default=0)
        lines += [f"  {name:<{width}} {shape} <- {', '.join(pieces)}" for name, shape, pieces in self.fused]
        lines += [f"  {name}: waits until its pieces have values" for name in self.waiting]
        return "\n".join(lines)


class Fusions:
    """Declarations and fused parameters of one block.

    Attributes
    ----------
    declared : tuple of Fused
    forms : tuple of FileForm
        How files of other libraries store some of its parameters.
    waiting : bool
        Whether ``fuse()`` was asked for before all values were there.
    homes : dict of str to FusedParameter
        The fused parameters at `version` of the structure; :meth:`current` returns those of now.
    plans : dict of str to FusedParameter
        The parameters that wait to be fused, at the same version.
    """

    __slots__ = (
        "__weakref__",
        "_block",
        "checked",
        "declared",
        "forms",
        "functions",
        "homes",
        "plans",
        "version",
        "waiting",
    )

    def __init__(self, block: Block) -> None:
        self._block = ref(block)  # weak: without a reference cycle its arrays are freed together with the block
        self.declared: tuple[Fused, ...] = ()
        self.forms: tuple[FileForm, ...] = ()
        self.waiting = False
        self.checked = False  # whether fusing and unfusing was checked with values
        self.functions: Any = None  # the result of the block's own functions for parameters of some shapes
        self.homes: dict[str, FusedParameter] = {}
        self.plans: dict[str, FusedParameter] = {}
        self.version = -1

    @property
    def block(self) -> Any:
        """The block to which it belongs."""
        return self._block()

    # ---------------------------------------------------------------- declarations

    def declare(self, declarations: tuple[Fused, ...]) -> None:
        """Add declarations; see ``Block.declare_fusion``."""
        known, cls = list(self.declared), type(self.block).__name__
        for new in declarations:
            if not isinstance(new, Fused):
                raise TypeError(f"declare_fusion takes Fused(...), got {new!r}.")
            for old in known:
                shared = next((p for p in new.pieces if p in old.pieces), None)
                if shared is not None:
                    raise FusionError(_OVERLAP.format(new=new.name, cls=cls, piece=shared, old=old.name))
            if new.name in [old.name for old in known] or new.name in self.block._reg_params:
                raise FusionError(_TAKEN.format(path=cls, what="parameter", name=new.name))
            known.append(new)
        self.declared = tuple(known)
        self._unsettle()

    def declare_form(
        self, format: str, fused: Fused, complete: Callable[[int], dict[str, tuple[int, ...]]] | None
    ) -> None:
        """Add the arrangement of a file; see ``Block.declare_file_form``."""
        self.forms = (*self.forms, FileForm(format, fused, complete))

    @property
    def by_functions(self) -> bool:
        """Return whether the block overrides the functions instead of using declarations."""
        return self.block._fuses_by_functions

    def fuse_tree(self, tree: Tree) -> Tree:
        """Replace pieces by their fused arrays, as declared."""
        return transforms.fuse(tree, self.declared)

    def unfuse_tree(self, tree: Tree) -> Tree:
        """Undo :meth:`fuse_tree`."""
        shapes: dict[str, Any] = {name: param.shape for name, param in self.tree().items()}
        return transforms.unfuse(tree, self.declared, shapes)

    def tree(self) -> dict[str, Parameter]:
        """Return the parameters of the block and of all below it by structured name, unfused."""
        return {prefix + n: p for prefix, block in self.block._walk() for n, p in block._reg_params.items()}

    def pieces(self) -> list[Parameter]:
        """Return those of the declared pieces that exist."""
        if not self.declared:
            return []
        tree = self.tree()
        return [tree[piece] for fused in self.declared for piece in fused.pieces if piece in tree]

    # ---------------------------------------------------------------- what is fused now

    def current(self) -> dict[str, FusedParameter]:
        """Return the fused parameters of this block by name, up to date."""
        if self.version != self.block._structure.version:
            self._review()
        return self.homes

    def shown(self) -> dict[str, FusedParameter]:
        """Return the fused parameters that ``collect_params`` lists: existing ones, and those that wait."""
        return {**self.current(), **self.plans}

    def weights_of(self, name: str) -> ndarray:
        """Return the array of a fused parameter, or its joined pieces; see ``Block.weights_of``."""
        home = self.current().get(name)
        return home._handle if home is not None else self._joined(name)

    def _review(self) -> None:
        """Drop fusions whose pieces were replaced; adopt those that another block has made of the same pieces."""
        if self.declared or self.homes:
            tree = self.tree()
            for name, home in list(self.homes.items()):
                if home._handle is None or _replaced(home, tree):
                    self._leave(name, home)
                    self.wait()
            for name, plan in list(self.plans.items()):
                if not plan._waits or not self.waiting or _replaced(plan, tree):
                    self._drop(name, plan)
            for fused in self.declared:
                pieces: list[Any] = [tree.get(p) for p in fused.pieces]
                if fused.name not in self.homes and all(p is not None for p in pieces):
                    home = pieces[0]._home
                    if home is not None and list(home.pieces) == pieces and home.layout == _layout_of(fused, pieces):
                        self.take(fused.name, home)
                    elif self.waiting and not self.by_functions:
                        self._plan(fused, pieces, tree)
        self.version = self.block._version()

    def _plan(self, fused: Fused, pieces: list[Any], tree: dict[str, Parameter]) -> None:
        """Make a fused parameter that waits, for lists of parameters that are made before there are values."""
        plan = pieces[0]._plan
        if plan is None or not plan.is_plan(fused, pieces):
            if fused.name in tree or any(p._home is not None or p._plan is not None for p in pieces):
                return  # the error will be raised when it is to be fused
            path = _path_of(pieces[0], fused.pieces[0], self.block) + fused.name
            complete = next((form.complete for form in self.forms if form.fused == fused), None)
            plan = FusedParameter(fused.name, fused.pieces, pieces, fused, path, complete)
        self.plans[fused.name] = plan
        plan.owners.add(self)

    def _drop(self, name: str, plan: FusedParameter) -> None:
        del self.plans[name]
        if plan._waits:
            plan.owners.discard(self)
            if not plan.owners:
                plan.give_up()

    def take(self, name: str, home: FusedParameter) -> None:
        """Adopt a fused parameter."""
        self.homes[name] = home
        self.plans.pop(name, None)
        home.owners.add(self)
        self._changed()  # lists of parameters are out of date

    def _leave(self, name: str, home: FusedParameter) -> None:
        del self.homes[name]
        home.owners.discard(self)
        self._changed()
        if not home.owners and home._handle is not None:
            dissolve(home)

    def _joined(self, name: str) -> ndarray:
        tree = self.tree()
        found = next((fused for fused in self.declared if fused.name == name), None)
        if found is not None and not self.by_functions:
            pieces = found.pieces
            _require_shapes([tree[p] for p in pieces])
            layout = found.layout([tree[p].shape for p in pieces])  # type: ignore[misc]
        else:
            _require_shapes(list(tree.values()))
            wanted = {n: (pieces, layout) for n, pieces, layout in self._wanted_by_functions(tree)}
            if name not in wanted:
                there = ", ".join(map(repr, [*wanted, *[f.name for f in self.declared]])) or "none"
                raise FusionError(_NOT_DECLARED.format(cls=type(self.block).__name__, name=name, there=there))
            pieces, layout = wanted[name]
        return invoke(joiner(layout), [tree[p].data() for p in pieces])

    # ---------------------------------------------------------------- what can be fused

    def groups(self) -> list[_Group] | None:
        """Return the groups of parameters still to be fused; None while a piece has no value."""
        done = self.current()
        tree = self.tree()
        wanted = self._wanted(tree)
        if wanted is None:
            return None
        groups = []
        for name, pieces, layout in wanted:
            if name in done:
                continue
            if name in tree:
                raise FusionError(_TAKEN.format(path=type(self.block).__name__, what="parameter", name=name))
            group = _Group(self, name, pieces, tuple(tree[p] for p in pieces), layout)
            for piece, param in zip(pieces, group.pieces, strict=True):
                if param._home is not None:
                    raise FusionError(
                        _TWO_HOMES.format(path=group.path, piece=piece, param=param._path, home=param._home._path)
                    )
            groups.append(group)
        return groups

    def _wanted(self, tree: dict[str, Parameter]) -> list[tuple[str, tuple[str, ...], Any]] | None:
        """Return name, pieces and layout of all that this block declares; None while a piece has no value."""
        for fused in self.declared:
            for piece in fused.pieces:
                if piece not in tree:
                    there = ", ".join(map(repr, list(tree)[:8])) or "none"
                    raise FusionError(_NO_PIECE.format(path=type(self.block).__name__, piece=piece, there=there))
        if not self.by_functions:
            pieces = [tree[piece] for fused in self.declared for piece in fused.pieces]
            if not all(p._is_ready for p in pieces):
                return None
            return [
                (f.name, f.pieces, f.layout([tree[p].shape for p in f.pieces]))  # type: ignore[misc]
                for f in self.declared
            ]
        if not all(p._is_ready for p in tree.values()):
            return None
        return self._wanted_by_functions(tree)

    def _wanted_by_functions(self, tree: dict[str, Parameter]) -> list[tuple[str, tuple[str, ...], Any]]:
        shapes: dict[str, Any] = {name: p.shape for name, p in tree.items()}
        key, block = tuple(shapes.items()), self.block
        if self.functions is None or self.functions[0] != key:
            made = transforms.of_functions(block.fuse_parameters, block.unfuse_parameters, shapes, type(block).__name__)
            self.functions = (key, made)
        return self.functions[1]

    def check(self, groups: list[_Group]) -> None:
        """Check that unfusing undoes fusing, with the values, before the first fusion of this block."""
        if self.checked:
            return
        tree = {n: p._handle.asnumpy() for group in groups for n, p in zip(group.names, group.pieces, strict=True)}
        if self.by_functions:
            tree = {name: p._handle.asnumpy() for name, p in self.tree().items()}
        path = _path_of(groups[0].pieces[0], groups[0].names[0], self.block).rstrip(".")
        transforms.check_round_trip(self.block.fuse_parameters, self.block.unfuse_parameters, tree, path)

    # ---------------------------------------------------------------- fusing at first use

    def wait(self) -> None:
        """Fuse as soon as possible."""
        if not self.waiting:
            self._changed()  # lists of parameters include those that wait
        self.waiting = True
        self._unsettle()

    def _changed(self) -> None:
        self.block._structure.changed()

    def _unsettle(self) -> None:
        """Let the next call of the block check its parameters first."""
        self.block.__dict__["_ready"] = False
        self.block._refresh()

    def settle(self, plan: FusedParameter | None = None) -> None:
        """Fuse what was asked for before values were there, if they are there now.

        If only the values of `plan` are there, fuse that one alone.
        """
        trace = current_state().trace
        if not self.waiting or (trace is not None and not trace.transparent):
            return
        groups = self.groups()
        waiting = groups is None
        if groups is None:
            groups = [self._group(name) for name, other in self.plans.items() if other is plan]
        if any(is_in_use(piece) for group in groups for piece in group.pieces):
            return
        _fuse_all(groups)
        self.waiting = waiting
        self._review()  # drops what no longer waits

    def _group(self, name: str) -> _Group:
        """Return the group that waits under this name, whose pieces have values."""
        plan = self.plans[name]
        layout = plan._declared.layout([p.shape for p in plan.pieces])
        return _Group(self, name, plan.names, plan.pieces, layout)

    # ---------------------------------------------------------------- copies

    def kept(self) -> dict[str, Any]:
        """Return the state for copies and pickles of the block: unfused pieces, and the names of the fused ones."""
        return {
            "_fusion_declared": self.declared,
            "_file_forms": self.forms,
            "_fuse_waiting": self.waiting,
            "_fusion_checked": self.checked,
            "_fusions": list(self.current()),
        }

    def __reduce__(self) -> tuple[Any, ...]:
        """Support a block whose class copies all of its attributes by itself: what is fused is fused again later."""
        return Fusions, (self.block,), self.kept()

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self._take_over(kept)
        self.waiting = self.waiting or bool(kept["_fusions"])

    def _take_over(self, kept: dict[str, Any]) -> None:
        self.declared, self.forms = kept["_fusion_declared"] or (), kept["_file_forms"] or ()
        self.waiting, self.checked = bool(kept["_fuse_waiting"]), bool(kept["_fusion_checked"])

    @staticmethod
    def restore(block: Block) -> None:
        """Restore a block's Fusions from what :meth:`kept` has put into its attributes."""
        kept = {name: block.__dict__.pop(name, None) for name in (*_KEPT, "_fusions_at", "_fusion_functions")}
        if not any(kept[name] for name in _KEPT):
            return
        part = block._own_fusions()
        part._take_over(kept)
        names = kept["_fusions"]
        if names:
            part._review()  # a shallow copy has the same pieces, fused already
            _fuse_all([group for group in part.groups() or () if group.name in names])


_KEPT = ("_fusion_declared", "_file_forms", "_fuse_waiting", "_fusion_checked", "_fusions")

# ----------------------------------------------------------------- a block and all below it


def _parts(block: Block) -> dict[Fusions, str]:
    """Return the Fusions of a block and all below it, each once, with the first prefix of its block's names."""
    found: dict[Fusions, str] = {}
    for prefix, owner in block._walk():
        if owner._fusions is not None or owner._fuses_by_functions:
            found.setdefault(owner._own_fusions(), prefix)
    return found


def is_fused(block: Block) -> bool:
    """Return whether the block or one below it has a fused parameter now."""
    return any(part.current() for part in _parts(block))


def fuse(block: Block) -> FusionReport:
    """Fuse what a block and those below it declare; see ``Block.fuse``."""
    parts = _parts(block)
    known = [(part, part.groups()) for part in parts]
    ready = [group for _, groups in known for group in groups or ()]
    _check_distinct(ready)
    _fuse_all(ready)
    for part, groups in known:
        if groups is None:
            part.wait()
    return _report(block, parts)


def unfuse(block: Block) -> FusionReport:
    """Give every piece its own array again; see ``Block.unfuse``."""
    parts = _parts(block)
    for home in {home for part in parts for home in part.current().values()}:
        dissolve(home)
    for part in parts:
        part.current()
        part.waiting = False
        part._review()
    block._structure.changed()  # lists of parameters include those that waited
    return _report(block, parts)


def pieces_of_block(block: Block) -> list[Parameter]:
    """Return the parameters that this block itself fuses, or is to fuse."""
    own = block._fusions
    return [] if own is None else [p for home in own.shown().values() for p in home.pieces]


def fuse_waiting(block: Block, report: bool = False) -> None:
    """Fuse what waits in the block and below it, and has its values.

    With `report`, an impossible fusion raises; otherwise the first call reports it.
    """
    for part in _parts(block):
        with contextlib.nullcontext() if report else contextlib.suppress(FusionError):
            part.settle()


def is_waiting(block: Block) -> bool:
    """Return whether something waits to be fused in the block or below it."""
    return any(part.waiting for part in _parts(block))


def _report(block: Block, parts: dict[Fusions, str]) -> FusionReport:
    fused = [
        (prefix + name, home._shape or (), tuple(prefix + n for n in home.names))
        for part, prefix in parts.items()
        for name, home in part.current().items()
    ]
    waiting = [prefix + d.name for part, prefix in parts.items() if part.waiting for d in part.declared]
    before = {param for _, owner in block._walk() for param in owner._reg_params.values()}
    return FusionReport(fused, waiting, len(before), len({param._whole for param in before}))


def fused_view(outer: str, walk: list[tuple[str, Any]], found: dict[str, Parameter]) -> dict[str, Parameter]:
    """Replace pieces by their fused parameters in `found`, the result of a `walk`.

    Each takes its first piece's position.
    """
    names: dict[int, list[str]] = {}
    for prefix, block in walk:
        if block._fusions is not None:
            for name, home in block._fusions.shown().items():
                names.setdefault(id(home), []).append(prefix + name)
                home._path = f"{outer}.{prefix}{name}"
    if not names:
        return found
    out: dict[str, Parameter] = {}
    for name, param in found.items():
        home = param._home or param._plan
        if home is None or id(home) not in names:
            out[name] = param
        else:
            for fused_name in names[id(home)]:
                out[fused_name] = home
    return out


def _replaced(fused: FusedParameter, tree: dict[str, Parameter]) -> bool:
    """Return whether pieces are no longer the block's."""
    return any(tree.get(name) is not piece for name, piece in zip(fused.names, fused.pieces, strict=True))


def _layout_of(fused: Fused, pieces: list[Any]) -> transforms.Layout | None:
    shapes = [p.shape for p in pieces if p is not None]
    return fused.layout(shapes) if all(map(is_complete, shapes)) else None


def _require_shapes(params: list[Parameter]) -> None:
    for param in params:
        if param._handle is None and not finds_shapes():
            raise param._uninitialized_error()
        if not is_complete(param.shape):
            raise param._deferred_error()


def _check_distinct(groups: list[_Group]) -> None:
    """Raise if a parameter is in two fusions; the same fusion in two blocks that share all pieces counts as one."""
    seen: dict[int, tuple[_Group, str]] = {}
    for group in groups:
        for name, piece in zip(group.names, group.pieces, strict=True):
            other, other_name = seen.setdefault(id(piece), (group, name))
            if (other is group and other_name != name) or (other is not group and not _same(other, group)):
                raise FusionError(
                    _SHARED.format(
                        piece=piece._path, name=other_name, path=other.path, other_name=name, other_path=group.path
                    )
                )


def _same(a: _Group, b: _Group) -> bool:
    return a.layout == b.layout and len(a.pieces) == len(b.pieces) and all(x is y for x, y in zip(a.pieces, b.pieces))


def _made(group: _Group) -> FusedParameter:
    """Return the fused parameter of a group: the one that waits, or a new one."""
    plan = group.part.plans.get(group.name)
    if plan is None or not plan._waits or plan.pieces != group.pieces:
        return FusedParameter(group.name, group.names, group.pieces, group.layout, group.path)
    plan.join(group.layout)
    return plan


def _fuse_all(groups: list[_Group]) -> None:
    """Make the fused parameters: all of them, or none."""
    by_part: dict[Fusions, list[_Group]] = {}
    for group in groups:
        by_part.setdefault(group.part, []).append(group)
    for group in groups:
        check_alike(group.path, group.names, group.pieces)
    for part, own in by_part.items():
        part.check(own)
    made: list[tuple[_Group, FusedParameter]] = []
    try:
        for group in groups:
            twin = next((home for other, home in made if _same(other, group)), None)
            made.append((group, twin or _made(group)))
    except BaseException:
        for _, home in reversed(made):
            if home._handle is not None:
                dissolve(home)
        raise
    for group, home in made:
        group.part.checked = True
        group.part.take(group.name, home)
    for part in by_part:
        part.version = part.block._version()
