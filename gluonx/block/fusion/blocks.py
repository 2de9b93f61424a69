"""What a block can do about fusion: declare it, ask for it, take it back, and use the fused array.

A block declares how parameters of its own, or of its children, are kept as one (:meth:`Fusible.declare_fusion`, or a
pair of functions that override :meth:`Fusible.fuse_parameters` and :meth:`Fusible.unfuse_parameters`). Nothing is fused
until somebody asks: the user with ``net.fuse()``, or a layer in its ``__init__`` with ``self.fuse()``. What is asked
for before the values are there is done as soon as they are, before anything compiles.

The forward of a layer is written once, with :meth:`Fusible.weights_of`: the fused parameter's array where there is one,
else the pieces put together by a recorded operator.

What is fused is known twice, and the second follows from the first. A piece knows its home (``Parameter._home``); a
block knows the homes of its declarations. The block's knowledge is checked whenever any block's structure has changed
(``declared.structure``), for a parameter may have been replaced or shared meanwhile.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from gluonx.block.fusion import layout as fusion
from gluonx.block.fusion.files import FileForm
from gluonx.block.fusion.layout import Fused
from gluonx.block.fusion.pieces import FusedParameter, check_alike, dissolve, is_in_use
from gluonx.block.parameter import Parameter
from gluonx.block.structure import is_complete, structure
from gluonx.block.tools import Registry
from gluonx.deferred.core import current_state
from gluonx.deferred.engine import invoke
from gluonx.errors import FusionError

__all__ = ["Fused", "Fusible", "FusionReport", "fused_view"]

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

Tree = dict[str, Any]


class _Group(NamedTuple):
    """A fused parameter that is to be."""

    block: Any
    name: str
    names: tuple[str, ...]
    pieces: tuple[Parameter, ...]
    layout: Any

    @property
    def path(self) -> str:
        return f"{_path_of(self.pieces[0], self.names[0], self.block)}{self.name}"


def _path_of(piece: Parameter, name: str, block: Any) -> str:
    """What stands before a block's parameter names in messages: ``'Net.encoder.'``."""
    path = piece._path
    return path[: -len(name)] if path.endswith("." + name) else f"{type(block).__name__}."


class FusionReport:
    """What ``fuse`` did.

    Attributes
    ----------
    fused : list of (str, tuple of int, tuple of str)
        Name, shape and pieces of each fused parameter that there is now.
    waiting : list of str
        Fusions that wait for the shape or the initialization of their pieces.
    before, after : int
        How many arrays the parameters are, unfused and now.
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


class Fusible:
    """The part of Block that is about fused parameters."""

    _fusion_declared: tuple[Fused, ...] = ()
    _file_forms: tuple[FileForm, ...] = ()
    _fuse_waiting = False
    _fusions: Registry
    _fusions_at: int

    # ---------------------------------------------------------------- declarations

    def declare_fusion(self, *declarations: Fused) -> None:
        """Say how parameters of this block, or of its children, are kept when fused. Fuses nothing yet.

        Parameters
        ----------
        *declarations : Fused

        Raises
        ------
        FusionError
            If a piece is in another declaration of this block, or a name is taken.

        Examples
        --------
        >>> from gluonx import Parameter, nn
        >>> class Attention(nn.HybridBlock):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.query, self.key = nn.Dense(2, in_units=3), nn.Dense(2, in_units=3)
        ...         self.declare_fusion(Fused("weight", ("query.weight", "key.weight")))
        >>> net = Attention()
        >>> net.initialize()
        >>> net.fuse()
        FusionReport: 4 arrays before, 3 after
          weight (4, 3) <- query.weight, key.weight
        >>> list(net.collect_params())
        ['weight', 'query.bias', 'key.bias']
        """
        known = list(self._fusion_declared)
        for new in declarations:
            if not isinstance(new, Fused):
                raise TypeError(f"declare_fusion takes Fused(...), got {new!r}.")
            for old in known:
                shared = next((p for p in new.pieces if p in old.pieces), None)
                if shared is not None:
                    raise FusionError(
                        _OVERLAP.format(new=new.name, cls=type(self).__name__, piece=shared, old=old.name)
                    )
            if new.name in [old.name for old in known] or new.name in self.__dict__["_reg_params"]:
                raise FusionError(_TAKEN.format(path=type(self).__name__, what="parameter", name=new.name))
            known.append(new)
        self.__dict__.update(_fusion_declared=tuple(known), _ready=False)
        self._refresh()  # type: ignore[attr-defined]

    def declare_file_form(
        self, format: str, fused: Fused, complete: Callable[[int], dict[str, tuple[int, ...]]] | None = None
    ) -> None:
        """Say that files of another library keep some parameters of this block as one array.

        Parameters
        ----------
        format : str
            The format's name in ``save_parameters``.
        fused : Fused
            How the array in the file is made of the parameters.
        complete : callable, optional
            ``complete(size)`` gives the shapes by name of parameters whose shape is not known when a file is loaded
            whose array has `size` elements.
        """
        self.__dict__["_file_forms"] = (*self._file_forms, FileForm(format, fused, complete))

    def fuse_parameters(self, tree: Tree) -> Tree:
        """Put fused arrays in the place of their pieces; pure. By default as declared. Override both or none.

        Parameters
        ----------
        tree : dict of str to array
            The parameters below this block by structured name, unfused.

        Returns
        -------
        dict of str to array
            Every element of every piece stands in one place of one fused array, and nothing else does.
        """
        return fusion.fuse(tree, self._fusion_declared)

    def unfuse_parameters(self, tree: Tree) -> Tree:
        """Undo :meth:`fuse_parameters`, bit for bit; pure."""
        shapes = {name: param.shape for name, param in self._fusion_tree().items()}
        return fusion.unfuse(tree, self._fusion_declared, shapes)  # type: ignore[arg-type]

    def _overrides_fusion(self) -> bool:
        return type(self).fuse_parameters is not Fusible.fuse_parameters

    def _fusion_tree(self) -> dict[str, Parameter]:
        return {prefix + n: p for prefix, block in self._walk() for n, p in block._reg_params.items()}  # type: ignore[attr-defined]

    def _fusion_pieces(self) -> list[Parameter]:
        """Those of the declared pieces that there are."""
        if not self._fusion_declared:
            return []
        tree = self._fusion_tree()
        return [tree[piece] for fused in self._fusion_declared for piece in fused.pieces if piece in tree]

    # ---------------------------------------------------------------- fusing and unfusing

    @property
    def is_fused(self) -> bool:
        """Whether this block or one below it has a fused parameter now."""
        return any(block._fusion_homes() for _, block in self._walk())  # type: ignore[attr-defined]

    def fuse(self) -> FusionReport:
        """Fuse all that this block and those below it declare.

        Before ``initialize``, and while shapes are unknown, that is remembered and done later, before the first
        program is compiled. Files, and ``collect_params(fused=False)``, keep the names of the pieces; each piece can be
        read and written as before.

        Returns
        -------
        FusionReport
            Its text tells what was fused.

        Raises
        ------
        FusionError
            If a declaration is wrong; nothing has changed then.
        """
        blocks = self._fusing_blocks()
        known = [(block, block._fusion_groups()) for _, block in blocks]
        ready = [group for _, groups in known for group in groups or ()]
        _check_distinct(ready)
        _fuse_all(ready)
        for block, groups in known:
            if groups is None:
                block.__dict__["_fuse_waiting"] = True
                block.__dict__["_ready"] = False
                block._refresh()
        return self._fusion_report(blocks)

    def unfuse(self) -> FusionReport:
        """Give every piece an array of its own again, and forget fusions that wait."""
        blocks = self._fusing_blocks()
        for home in {home for _, block in blocks for home in block._fusion_homes().values()}:
            dissolve(home)
        for _, block in blocks:
            block._fusion_homes()
            block.__dict__["_fuse_waiting"] = False
        return self._fusion_report(blocks)

    def _fusing_blocks(self) -> list[tuple[str, Any]]:
        """The blocks from this one down that declare something, each once, with their prefixes."""
        found: dict[int, tuple[str, Any]] = {}
        for prefix, block in self._walk():  # type: ignore[attr-defined]
            if block._fusion_declared or block._overrides_fusion():
                found.setdefault(id(block), (prefix, block))
        return list(found.values())

    def _fusion_report(self, blocks: list[tuple[str, Any]]) -> FusionReport:
        fused = [
            (prefix + name, home._shape, tuple(prefix + n for n in home.names))
            for prefix, block in blocks
            for name, home in block._fusion_homes().items()
        ]
        waiting = [prefix + d.name for prefix, block in blocks if block._fuse_waiting for d in block._fusion_declared]
        before = set(self.collect_params(fused=False).values())  # type: ignore[attr-defined]
        after = set(self.collect_params().values())  # type: ignore[attr-defined]
        return FusionReport(fused, waiting, len(before), len(after))

    def _fusion_groups(self) -> list[_Group] | None:
        """What this block can fuse beyond what is fused; None while a piece has no value."""
        done = self._fusion_homes()
        tree = self._fusion_tree()
        wanted = self._fusion_wanted(tree)
        if wanted is None:
            return None
        groups = []
        for name, pieces, layout in wanted:
            if name in done:
                continue
            if name in tree:
                raise FusionError(_TAKEN.format(path=type(self).__name__, what="parameter", name=name))
            group = _Group(self, name, pieces, tuple(tree[p] for p in pieces), layout)
            for piece, param in zip(pieces, group.pieces, strict=True):
                if param._home is not None:
                    raise FusionError(
                        _TWO_HOMES.format(path=group.path, piece=piece, param=param._path, home=param._home._path)
                    )
            groups.append(group)
        return groups

    def _fusion_wanted(self, tree: dict[str, Parameter]) -> list[tuple[str, tuple[str, ...], Any]] | None:
        """Name, pieces and layout of all that this block declares; None while a piece has no value."""
        path = type(self).__name__
        for fused in self._fusion_declared:
            for piece in fused.pieces:
                if piece not in tree:
                    there = ", ".join(map(repr, list(tree)[:8])) or "none"
                    raise FusionError(_NO_PIECE.format(path=path, piece=piece, there=there))
        if not self._overrides_fusion():
            pieces = [tree[piece] for fused in self._fusion_declared for piece in fused.pieces]
            if not all(p._is_ready for p in pieces):
                return None
            return [
                (f.name, f.pieces, f.layout([tree[p].shape for p in f.pieces]))  # type: ignore[misc]
                for f in self._fusion_declared
            ]
        if not all(p._is_ready for p in tree.values()):
            return None
        return self._fusion_by_functions(tree)

    def _fusion_by_functions(self, tree: dict[str, Parameter]) -> list[tuple[str, tuple[str, ...], Any]]:
        shapes: dict[str, Any] = {name: p.shape for name, p in tree.items()}
        key = tuple(shapes.items())
        known = self.__dict__.get("_fusion_functions")
        if known is None or known[0] != key:
            made = fusion.of_functions(self.fuse_parameters, self.unfuse_parameters, shapes, type(self).__name__)
            known = self.__dict__["_fusion_functions"] = (key, made)
        return known[1]

    def _fusion_check(self, groups: list[_Group]) -> None:
        """The round trip, before the first fusion of this block."""
        tree = {n: p._handle.asnumpy() for group in groups for n, p in zip(group.names, group.pieces, strict=True)}
        if self._overrides_fusion():
            tree = {name: p._handle.asnumpy() for name, p in self._fusion_tree().items()}
        path = _path_of(groups[0].pieces[0], groups[0].names[0], self).rstrip(".")
        fusion.check_round_trip(self.fuse_parameters, self.unfuse_parameters, tree, path)

    # ---------------------------------------------------------------- what is fused now

    def _fusion_homes(self) -> Registry:
        """The fused parameters of this block by name, as they are now."""
        if self._fusions_at != structure.version:
            self._fusion_review()
        return self._fusions

    def _fusion_review(self) -> None:
        """Drop fusions whose pieces were replaced, and take up those that other blocks have made of all our pieces."""
        own = self.__dict__
        if self._fusion_declared or own["_fusions"]:
            tree = self._fusion_tree()
            for name, home in list(self._fusions.items()):
                if home._handle is None or any(
                    tree.get(n) is not p for n, p in zip(home.names, home.pieces, strict=True)
                ):
                    self._fusion_leave(name, home)
                    own["_fuse_waiting"], own["_ready"] = True, False
                    self._refresh()  # type: ignore[attr-defined]
            for fused in self._fusion_declared:
                if fused.name not in self._fusions:
                    pieces = [tree.get(p) for p in fused.pieces]
                    home = pieces[0]._home if pieces[0] is not None else None
                    if home is not None and list(home.pieces) == pieces and home.layout == _layout_of(fused, pieces):
                        self._fusions[fused.name] = home
                        home.owners.add(self)
        own["_fusions_at"] = structure.version

    def _fusion_leave(self, name: str, home: FusedParameter) -> None:
        self._fusions.pop(name)
        home.owners.discard(self)
        if not home.owners and home._handle is not None:
            dissolve(home)

    def weights_of(self, name: str) -> Any:
        """The array of a fused parameter, for use in ``forward``.

        Parameters
        ----------
        name : str
            Of a declaration, or an array that ``fuse_parameters`` makes.

        Returns
        -------
        gluonx.np.ndarray
            The fused parameter's own array where it is fused, else its pieces put together by a recorded operator.
        """
        if self._fusions_at != structure.version:
            self._fusion_review()
        home = self._fusions.get(name)
        return home._handle if home is not None else self._fusion_joined(name)

    def _fusion_joined(self, name: str) -> Any:
        tree = self._fusion_tree()
        found = next((fused for fused in self._fusion_declared if fused.name == name), None)
        if found is not None and not self._overrides_fusion():
            pieces = found.pieces
            _require_shapes([tree[p] for p in pieces])
            layout = found.layout([tree[p].shape for p in pieces])  # type: ignore[misc]
        else:
            _require_shapes(list(tree.values()))
            wanted = {n: (pieces, layout) for n, pieces, layout in self._fusion_by_functions(tree)}
            if name not in wanted:
                there = ", ".join(map(repr, [*wanted, *[f.name for f in self._fusion_declared]])) or "none"
                raise FusionError(_NOT_DECLARED.format(cls=type(self).__name__, name=name, there=there))
            pieces, layout = wanted[name]
        return invoke(layout.joiner, [tree[p].data() for p in pieces])

    # ---------------------------------------------------------------- fusing at first use

    def _fuse_now(self) -> None:
        """Fuse what was asked for before values were there, if they are there by now."""
        trace = current_state().trace
        if not self._fuse_waiting or (trace is not None and not trace.transparent):
            return
        groups = self._fusion_groups()
        if groups is None or any(is_in_use(piece) for group in groups for piece in group.pieces):
            return
        _fuse_all(groups)
        self.__dict__["_fuse_waiting"] = False

    def _fuse_known(self) -> None:
        """Fuse what waits, here and below, and has its values. The first call reports what cannot be fused."""
        for block in list(self._fusions_waiting()):
            with contextlib.suppress(FusionError):
                block._fuse_now()

    def _fusions_waiting(self) -> Iterator[Any]:
        return (block for _, block in self._walk() if block._fuse_waiting)  # type: ignore[attr-defined]

    def __getstate__(self) -> dict[str, Any]:
        """Everything, with the pieces apart; which of them are fused is remembered."""
        return {**self.__dict__, "_fusions": list(self._fusion_homes()), "_fusion_functions": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over everything, and fuse again what was fused."""
        names = state.get("_fusions", ())
        self.__dict__.update(state, _fusions=Registry(), _fusions_at=-1)
        if names:
            self._fusion_review()  # a shallow copy has the same pieces, fused already
            _fuse_all([group for group in self._fusion_groups() or () if group.name in names])


def fused_view(outer: str, walk: list[tuple[str, Any]], found: dict[str, Parameter]) -> dict[str, Parameter]:
    """The parameters `found` on a `walk` with fused ones in place of their pieces: each where its first piece stood."""
    names: dict[int, list[str]] = {}
    for prefix, block in walk:
        for name, home in block._fusion_homes().items():
            names.setdefault(id(home), []).append(prefix + name)
            home._path = f"{outer}.{prefix}{name}"
    if not names:
        return found
    out: dict[str, Parameter] = {}
    for name, param in found.items():
        home = param._home
        if home is None or id(home) not in names:
            out[name] = param
        else:
            for fused_name in names[id(home)]:
                out[fused_name] = home
    return out


def _layout_of(fused: Fused, pieces: list[Any]) -> Any:
    shapes = [p.shape for p in pieces if p is not None]
    return fused.layout(shapes) if all(map(is_complete, shapes)) else None


def _require_shapes(params: list[Parameter]) -> None:
    for param in params:
        if param._handle is None and not getattr(current_state().trace, "of_shapes", False):
            raise param._uninitialized_error()
        if not is_complete(param.shape):
            raise param._deferred_error()


def _check_distinct(groups: list[_Group]) -> None:
    """No parameter in two fusions; the same fusion in two blocks that share all pieces is one."""
    seen: dict[int, tuple[_Group, str]] = {}
    for group in groups:
        for name, piece in zip(group.names, group.pieces, strict=True):
            other, other_name = seen.setdefault(id(piece), (group, name))
            if (other is group and other_name != name) or (other is not group and not _same(other, group)):
                raise FusionError(
                    f"Parameter '{piece._path}' would be a piece of two fused parameters: '{other_name}' of "
                    f"'{other.path}' and '{name}' of '{group.path}'. A parameter that is shared can be fused in one "
                    "way only."
                )


def _same(a: _Group, b: _Group) -> bool:
    return a.layout == b.layout and len(a.pieces) == len(b.pieces) and all(x is y for x, y in zip(a.pieces, b.pieces))


def _fuse_all(groups: list[_Group]) -> None:
    """Make the fused parameters: all of them, or none."""
    by_block: dict[int, list[_Group]] = {}
    for group in groups:
        by_block.setdefault(id(group.block), []).append(group)
    for group in groups:
        check_alike(group.path, group.names, group.pieces)
    for own in by_block.values():
        if "_fusion_checked" not in own[0].block.__dict__:
            own[0].block._fusion_check(own)
    made: list[tuple[_Group, FusedParameter]] = []
    try:
        for group in groups:
            twin = next((home for other, home in made if _same(other, group)), None)
            made.append(
                (group, twin or FusedParameter(group.name, group.names, group.pieces, group.layout, group.path))
            )
    except BaseException:
        for _, home in reversed(made):
            if home._handle is not None:
                dissolve(home)
        raise
    for group, home in made:
        group.block.__dict__["_fusion_checked"] = True
        group.block._fusions[group.name] = home
        home.owners.add(group.block)
    for group, _ in made:
        group.block.__dict__["_fusions_at"] = structure.version
