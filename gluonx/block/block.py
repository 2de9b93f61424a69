"""Blocks: what layers and nets are made of.

A :class:`Block` owns parameters and other blocks, each under the name of the attribute it was assigned to, and computes
with them in ``forward``. The operations on it are few: call it, walk it (``collect_params``, ``apply``, ``hybridize``,
``cast``, ...), and move its parameters to and from a file or another block.

A :class:`HybridBlock` may be hybridized: its forward is then traced once for each kind of input and becomes one node of
the pending graph. What it computes is the same.

A layer is called some thousand times a second, so a call must do little: ``_plain`` says that only ``forward`` has to
run. It is False while the block has hooks, is hybridized, or has parameters of unknown shape.

Walks give structured names, such as ``'features.0.weight'``: the attribute names from the outermost block inwards.
Files use these names; messages put the class of the outermost block in front, ``'LeNet.features.0.weight'``.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from os import PathLike
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, Self, TypeVar

import jax
from numpy.typing import ArrayLike

from gluonx import initializer
from gluonx.block import checkpoint, naming, sharding
from gluonx.block.bulking import Calls
from gluonx.block.fusion import blocks as fusion
from gluonx.block.fusion.files import apart, planned_apart
from gluonx.block.fusion.layout import Fused
from gluonx.block.names import Names
from gluonx.block.parameter import Parameter
from gluonx.block.structure import Structure
from gluonx.block.summary import show, summarize
from gluonx.block.tools import (
    HookHandle,
    LineByLine,
    Registry,
    Snapshot,
    belonging,
    chosen,
    device_of_call,
    foreign_call,
    hooks_run,
    listed,
    locate,
    unfailing,
    warn_of_loose_items,
    watch_operators,
)
from gluonx.common.arguments import Checked
from gluonx.common.extensions import BLOCK_ATTRIBUTES, BLOCK_KEYWORDS, BLOCK_METHODS, NAMES
from gluonx.common.frames import door, shorten, warn
from gluonx.common.instances import with_own_dict
from gluonx.deferred.trace import tracing
from gluonx.deferred.trace.remat import policy_of
from gluonx.deferred.values.core import current_state, finds_shapes
from gluonx.device import DevicesLike, Replicas
from gluonx.dtype import DTypeLike
from gluonx.errors import ArgumentError, DynamicShapeError, GraphError
from gluonx.files import Place, load_arrays, name_of
from gluonx.sharding import Spec

if TYPE_CHECKING:
    from gluonx.deferred.values.contracts import Handle
    from gluonx.initializer import InitLike
    from gluonx.np.handle import ndarray


__all__ = ["Block", "HookHandle", "HybridBlock", "name_blocks_by", "wrap_calls"]

_NO_INIT = (
    "{cls} has no room for the {what} '{name}' yet. Call super().__init__() at the beginning of {cls}.__init__, before "
    "anything is assigned."
)
_OTHER_TYPE = (
    "Attribute '{name}' of {cls} is a {old} and cannot become a {new}. "
    "Delete it first, del block.{name}, if that is what you want."
)


_Given = ParamSpec("_Given")
_Gives = TypeVar("_Gives", covariant=True)


class _Forwards(Protocol[_Given, _Gives]):
    """An object with a `forward`, from which type checkers infer what a block takes and returns."""

    def forward(self, *args: _Given.args, **kwargs: _Given.kwargs) -> _Gives: ...


class _Asked:
    """An attribute of `BLOCK_ATTRIBUTES`, made when it is read; one of this name on the block or a mixin precedes it.

    A ``__getattr__`` in its place would keep Python's specialized bytecode from reading any attribute of a block.
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, block: Block | None, cls: type) -> Any:
        if block is None:
            return self
        if any(self.name in vars(kind) for kind in cls.__mro__[cls.__mro__.index(Block) + 1 :]):
            return getattr(super(Block, block), self.name)
        return BLOCK_ATTRIBUTES[self.name](block, self.name)


def _is_asked(cls: type, name: str) -> bool:
    return isinstance(next((vars(kind)[name] for kind in cls.__mro__ if name in vars(kind)), None), _Asked)


class Block(Checked):
    """Base of all layers and nets. Assign parameters and blocks to attributes in ``__init__``; compute in ``forward``.

    Examples
    --------
    >>> class Scale(Block):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = Parameter("factor", shape=(1,), init="ones")
    ...
    ...     def forward(self, x):
    ...         return x * self.factor.data()
    >>> net = Scale()
    >>> list(net.collect_params())
    ['factor']
    """

    _block_names = Names()
    _plain = False
    _direct = False  # whether a call only runs the traced forward
    _whole = False  # as `_plain`, for a block with children
    _fusions: fusion.Fusions | None = None  # its fused parameters, if any
    _fuses_by_functions = False  # whether its class overrides fuse_parameters
    _names_by_itself = False  # whether it overrides _collect_params_with_prefix
    _ready: bool
    _structure: Structure
    _children: Registry
    _reg_params: Registry
    _collection: Snapshot
    _calls: Calls
    _pre_hooks: dict[HookHandle, Any]
    _post_hooks: dict[HookHandle, Any]
    _op_hooks: dict[HookHandle, Any]
    _back_hooks: Mapping[HookHandle, tuple[Any, bool]] = MappingProxyType({})  # hook, whether it is a pre-hook

    def __init__(self, prefix: str | None = None, params: Any = None) -> None:
        own = vars(with_own_dict(self))
        own["_structure"] = structure = Structure()
        own["_children"] = Registry(structure=structure)
        own["_reg_params"] = Registry(structure=structure)
        own["_pre_hooks"] = {}
        own["_post_hooks"] = {}
        own["_op_hooks"] = {}
        own["_collection"] = Snapshot(({}, {}))
        own["_calls"] = Calls()
        own["_ready"] = own["_plain"] = not self._infers_shape()
        self._block_names.begin(self, prefix, params)

    def __new__(cls, *args: object, **kwargs: object) -> Self:
        """Make a bare instance, after checking the keywords."""
        for key in kwargs:
            if key in BLOCK_KEYWORDS:
                BLOCK_KEYWORDS[key](cls)
        return super().__new__(cls, *args, **kwargs)

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        cls._fuses_by_functions = cls.fuse_parameters is not Block.fuse_parameters
        own = cls.__mro__[: cls.__mro__.index(Block)]
        cls._names_by_itself = any("_collect_params_with_prefix" in vars(kind) for kind in own)
        cls._block_names.defined(cls)

    # ---------------------------------------------------------------- attributes and children

    def __setattr__(self, name: str, value: object) -> None:
        existing = self.__dict__.get(name)
        if isinstance(existing, (Block, Parameter)) and not isinstance(value, type(existing)):
            raise TypeError(
                _OTHER_TYPE.format(
                    name=name, cls=type(self).__name__, old=type(existing).__name__, new=type(value).__name__
                )
            )
        trace = current_state().trace
        if trace is not None:
            trace.store(self, name)
        try:
            if isinstance(value, Block):
                self.register_child(value, name)
            elif isinstance(value, Parameter):
                value = self._register_parameter(value, name)
        except Exception as error:
            shorten(error)
            raise
        object.__setattr__(self, name, value)
        if name in BLOCK_METHODS and name != "forward":  # replaces the method for this one block
            object.__setattr__(self, "forward", partial(BLOCK_METHODS["forward"], self))

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        self._children.pop(name, None)
        self._reg_params.pop(name, None)

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Make `block` a child.

        Parameters
        ----------
        block : Block
        name : str, optional
            Its name in structured parameter names; its number by default.

        Raises
        ------
        TypeError
            If `block` is not a Block.
        """
        if not isinstance(block, Block):
            raise ArgumentError(f"A child of {type(self).__name__} must be a Block, got {block!r}.")
        if "_children" not in self.__dict__:
            raise AttributeError(_NO_INIT.format(cls=type(self).__name__, what="block", name=name))
        self._children[str(len(self._children)) if name is None else name] = block
        self._refresh()

    def _register_parameter(self, param: Parameter, name: str) -> Parameter:
        if "_reg_params" not in self.__dict__:
            raise AttributeError(_NO_INIT.format(cls=type(self).__name__, what="parameter", name=name))
        param = self._block_names.adopt(self, param, name)
        self._reg_params[name] = param
        if param._path == param.name:
            param._path = f"{type(self).__name__}.{name}"
        self.__dict__["_ready"] = False
        self._refresh()
        return param

    @unfailing
    def __repr__(self) -> str:
        children = self.__dict__.get("_children") or {}
        lines = [f"  ({name}): " + repr(child).replace("\n", "\n  ") for name, child in children.items()]
        return "\n".join([f"{type(self).__name__}(", *lines, ")"]) if lines else f"{type(self).__name__}()"

    def _repr_html_(self) -> str:
        """Show the blocks and parameters in a notebook as a tree that folds, without computing anything."""
        from gluonx.block.display import block_html  # when a notebook asks

        return block_html(self)

    def __treescope_repr__(self, path: str | None, subtree_renderer: Callable[..., Any]) -> object:
        """Return the block for treescope, which calls this method to render it."""
        from gluonx.block.display import block_part

        return block_part(self, path, subtree_renderer)

    if TYPE_CHECKING:
        name: Any  # in BLOCK_ATTRIBUTES
        prefix: Any
        name_scope: Any

    def __dir__(self) -> list[str]:
        """Leave `BLOCK_ATTRIBUTES` out: a tool that reads each listed attribute would give the block a prefix."""
        return [name for name in super().__dir__() if name in self.__dict__ or not _is_asked(type(self), name)]

    # ---------------------------------------------------------------- the call

    if TYPE_CHECKING:  # a call has the parameters and the result of `forward`

        def __call__(self: _Forwards[_Given, _Gives], *args: _Given.args, **kwargs: _Given.kwargs) -> _Gives: ...  # noqa: D102

    else:

        def __call__(self, *args: object, **kwargs: object) -> Any:
            """Run ``forward``, between the hooks if there are any."""
            if Replicas.on and (device := device_of_call(args)) is not None:
                with device:
                    return self(*args, **kwargs)
            try:
                if self._plain:
                    return self.forward(*args, **kwargs)
                if self._direct:
                    return self._call_active(args, kwargs)  # type: ignore[attr-defined]
                if self._whole:
                    state = current_state()
                    if state.deferring or state.trace is not None or state.naive:
                        return self.forward(*args, **kwargs)
                    return self._calls.run(self.forward, args, kwargs, state)  # may become one program
                return self._call_guarded(args, kwargs)
            except Exception as error:
                call = foreign_call(args, kwargs)
                if call is not None:
                    return call(self, args)
                if not (args or kwargs) and NAMES["gluonx.Block.itself"](self):
                    return self
                locate(error, self)
                shorten(error)
                raise

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the block's output. Every subclass defines it."""
        raise NotImplementedError(f"{type(self).__name__} does not define forward().")

    def _call_guarded(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a block that has hooks, is hybridized, or was never called before."""
        hooked = (self._pre_hooks or self._post_hooks or self._back_hooks) and hooks_run(self)
        for hook in tuple(self._pre_hooks.values()) if hooked else ():
            hook(self, args)
        if not self._ready:
            self._settle(args, kwargs)
        watched = self._watched() if hooked and self._back_hooks and current_state().recording else None
        out = self._run(args if watched is None else watched.enter(args), kwargs)
        for hook in tuple(self._post_hooks.values()) if hooked else ():
            hook(self, args, out)
        return out if watched is None else watched.leave(out)

    def _watched(self) -> Any:
        """Return the object that passes one call's gradients through the backward hooks."""
        from gluonx.block.hooks import Watched  # imported here because few programs have such hooks

        hooks = self._back_hooks.values()
        return Watched(self, [hook for hook, before in hooks if before], [hook for hook, before in hooks if not before])

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not self._op_hooks or not hooks_run(self):
            return self.forward(*args, **kwargs)
        with watch_operators(self._op_hooks.values()):
            return self.forward(*args, **kwargs)

    def _run_forward(self, *args: object, **kwargs: object) -> Any:
        """Run the forward without the hooks; a trace runs only this part."""
        return self.forward(*args, **kwargs)

    def _settle(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Let the block infer the unknown shapes of its own parameters; operators infer the rest."""
        fusions = self._fusions
        own = [*self._reg_params.values(), *(fusions.pieces() if fusions is not None else ())]
        of_shapes = finds_shapes()
        if self._infers_shape() and any(
            p._awaiting is not None or (of_shapes and p._handle is None)
            for p in own or self._unique_params()  # a container's are those of its children
        ):
            self._deferred_infer_shape(*args, **kwargs)
        if fusions is not None:
            fusions.settle()
        self.__dict__["_ready"] = all(p._is_ready for p in own) and not (fusions is not None and fusions.waiting)
        self._refresh()

    def _deferred_infer_shape(self, *args: object, **kwargs: object) -> None:
        """Infer the shapes of the block's parameters from its inputs; MXNet's name."""
        self.infer_shape(*args, **kwargs)  # type: ignore[attr-defined]

    def _finish_deferred_init(self) -> None:
        """Make the arrays of parameters whose shapes are known by now."""
        for param in self._unique_params():
            param._finish_deferred_init()

    def _infers_shape(self) -> bool:
        return hasattr(self, "infer_shape")

    @property
    def _is_hooked(self) -> bool:
        return bool(self._pre_hooks or self._post_hooks or self._op_hooks or self._back_hooks)

    def _refresh(self) -> None:
        """Compute again whether a call only runs the forward."""
        own = self.__dict__
        simple = self._ready and not self._is_hooked
        own["_plain"], own["_whole"] = simple and not self._children, simple and bool(self._children)

    # ---------------------------------------------------------------- hooks

    def register_forward_pre_hook(self, hook: Callable[[Block, tuple[Any, ...]], None]) -> HookHandle:
        """Call ``hook(block, inputs)`` before each forward; its result is ignored.

        It runs at each call, also inside hybridized blocks: while it is registered, the outer blocks run as if they
        were not hybridized, and say so once. In ``npx.foreach``, ``while_loop`` and ``cond`` no hook runs.
        """
        return HookHandle(self, self._pre_hooks, hook)

    def register_forward_hook(self, hook: Callable[[Block, tuple[Any, ...], Any], None]) -> HookHandle:
        """Call ``hook(block, inputs, outputs)`` after each forward; its result is ignored.

        It runs at each call, also inside hybridized blocks; see :meth:`register_forward_pre_hook`.
        """
        return HookHandle(self, self._post_hooks, hook)

    def register_full_backward_hook(self, hook: Callable[[Block, tuple[Any, ...], tuple[Any, ...]], Any]) -> HookHandle:
        """Call ``hook(block, grad_inputs, grad_outputs)`` in each backward that passes this block.

        Parameters
        ----------
        hook : callable
            Takes the gradients with respect to the positional inputs (None for an input that is not an array, or has no
            gradient) and those with respect to the outputs. Its result, if not None, replaces the inputs' gradients.

        Returns
        -------
        HookHandle
            Its ``detach()`` removes the hook.

        Notes
        -----
        The gradients are arrays whose values may be read at any time. If a hook reads none, the recorded step remains
        one program. The outer blocks run as if they were not hybridized, and say so once. Name and rules are
        PyTorch's; MXNet has no such hooks.

        Examples
        --------
        >>> from gluonx import autograd, nn, np
        >>> net = nn.Dense(2, in_units=3, use_bias=False)
        >>> net.initialize("ones")
        >>> handle = net.register_full_backward_hook(lambda block, ins, outs: (np.clip(ins[0], 0, 1),))
        >>> x = np.ones((1, 3))
        >>> x.attach_grad()
        >>> with autograd.record():
        ...     y = net(x).sum()
        >>> y.backward()
        >>> x.grad.tolist()
        [[1.0, 1.0, 1.0]]
        >>> handle.detach()
        """
        return HookHandle(self, self.__dict__.setdefault("_back_hooks", {}), (hook, False))

    register_backward_hook = register_full_backward_hook

    def register_full_backward_pre_hook(self, hook: Callable[[Block, tuple[Any, ...]], Any]) -> HookHandle:
        """Call ``hook(block, grad_outputs)`` before each backward through this block.

        Its result, if not None, replaces the outputs' gradients; see :meth:`register_full_backward_hook`.
        """
        return HookHandle(self, self.__dict__.setdefault("_back_hooks", {}), (hook, True))

    def intermediates(
        self, *inputs: object, names: str | Iterable[str], **kwargs: object
    ) -> tuple[Any, dict[str, Any]]:
        """Run the block, and return also the outputs of blocks below it; they are recorded like the output.

        Parameters
        ----------
        *inputs, **kwargs
            As for a call.
        names : str or iterable of str
            The structured names of blocks, as in ``'features.3'`` or ``'encoder.layers.0'``; one text is a regular
            expression that the whole name matches.

        Returns
        -------
        output
            As for a call.
        dict of str to output
            By name, in the order of the blocks; if a block was called several times, a list in the order of the calls.

        Raises
        ------
        ArgumentError
            If there is no such block, or it was not called.

        Examples
        --------
        >>> from gluonx import nn, np
        >>> net = nn.HybridSequential()
        >>> net.add(nn.Dense(4), nn.Dense(2))
        >>> net.initialize()
        >>> out, middle = net.intermediates(np.ones((1, 3)), names=["0"])
        >>> out.shape, middle["0"].shape
        ((1, 2), (1, 4))
        """
        wanted = self._named_blocks(names)
        found: dict[str, list[Any]] = {name: [] for name in wanted}
        hooks, told = [], [(block, block.__dict__.get("_told_of_hooks", False)) for block in wanted.values()]
        try:
            for name, block in wanted.items():
                block.__dict__["_told_of_hooks"] = True  # no warning: the caller has asked for it
                hooks.append(block.register_forward_hook(lambda _, __, out, name=name: found[name].append(out)))
            output = self(*inputs, **kwargs)
        finally:
            for hook in hooks:
                hook.detach()
            for block, before in told:
                block.__dict__["_told_of_hooks"] = before
        silent = [name for name, outs in found.items() if not outs]
        if silent:
            raise ArgumentError(f"{type(self).__name__} did not call {listed(silent)} in its forward.")
        return output, {name: outs[0] if len(outs) == 1 else outs for name, outs in found.items()}

    def _named_blocks(self, names: str | Iterable[str]) -> dict[str, Block]:
        """Return the blocks below this one by structured name: the named ones, or those that a pattern matches."""
        blocks = {prefix[:-1]: block for prefix, block in self._walk() if prefix}
        return chosen(blocks, names, type(self).__name__, "block")

    def register_op_hook(self, callback: Callable[[str, str, Any], None], monitor_all: bool = False) -> HookHandle:
        """Call ``callback(name, operator, array)`` for the output of every operator that the forward runs.

        Parameters
        ----------
        callback : callable
            ``name`` is ``'node_3_output'`` for the third operator of this forward. While a block has such a hook,
            the blocks around it and below it run as if they were not hybridized.
        monitor_all : bool
            Whether to pass the inputs too (``'node_3_input0'``).
        """
        return HookHandle(self, self._op_hooks, (callback, monitor_all))

    # ---------------------------------------------------------------- walks

    @property
    def params(self) -> Any:
        """The block's own parameters, without those of its children. Most code wants :meth:`collect_params`."""
        return self._block_names.own(self)

    def collect_params(self, select: str | None = None, fused: bool = True) -> dict[str, Parameter]:
        """Return all parameters by structured name.

        Parameters
        ----------
        select : str, optional
            A regular expression that must match from the beginning of a name, as in
            ``net.collect_params('.*weight|.*bias')``. If it matches names of pieces but not the name of their fused
            parameter, the result has the pieces.
        fused : bool
            Whether fused parameters are returned instead of their pieces; see :meth:`fuse`.

        Returns
        -------
        dict of str to Parameter
            A shared parameter appears under each of its names.

        Examples
        --------
        >>> list(Block().collect_params())
        []
        """
        found = self._block_names.collected(self, select) if fused else None
        return self._structured_params(select, fused) if found is None else found

    def _params_apart(self) -> dict[str, Parameter]:
        """Return ``collect_params(fused=False)``, also for a class with MXNet's signature of `collect_params`.

        A class that overrides ``_collect_params_with_prefix`` is asked that in its place, as by MXNet for files.
        """
        if any(block._names_by_itself for _, block in self._walk()):
            return apart(self._named_apart(""))
        if type(self).collect_params is Block.collect_params:
            return self._structured_params(None, fused=False)
        return apart(self.collect_params())

    def _named_apart(self, prefix: str) -> dict[str, Parameter]:
        """Return the parameters by names that begin with `prefix`, those below a block with its own by its own."""
        if self._names_by_itself:
            by_itself: Any = self
            return by_itself._collect_params_with_prefix(prefix[:-1])
        found = {prefix + name: param for name, param in self._reg_params.items()}
        for name, child in self._children.items():
            found |= child._named_apart(f"{prefix}{name}.")
        return found

    def _structured_params(self, select: str | None, fused: bool) -> dict[str, Parameter]:
        """Return the dict of :meth:`collect_params`, always by structured names."""
        snapshot = self._collection
        apart, found = snapshot.content if snapshot.version == self._structure.version else self._collected()
        if not fused:
            found = apart
        if select is None:
            return dict(found)
        wanted = re.compile(select)
        chosen = {name: param for name, param in found.items() if wanted.match(name)}
        if found is not apart:
            homes = set(chosen.values())
            pieces = {name: param for name, param in apart.items() if name not in found and wanted.match(name)}
            chosen.update({name: param for name, param in pieces.items() if not homes & {param._home, param._plan}})
        return chosen

    def _collected(self) -> tuple[dict[str, Parameter], dict[str, Parameter]]:
        """All parameters by structured name, with pieces and fused; also tells each parameter its path for messages."""
        walk = list(self._walk())
        self._check_container_with_block()
        found: dict[str, Parameter] = {}
        for prefix, block in walk:
            for name, param in block._reg_params.items():
                found[prefix + name] = param
                path = f"{type(self).__name__}.{prefix}{name}"
                if param._path.count(".") <= path.count(
                    "."
                ):  # the walk from the outermost block gives the longest path
                    param._path = path
        both = found, fusion.fused_view(type(self).__name__, walk, found)
        self.__dict__["_collection"] = Snapshot(both, self._version())
        return both

    def _check_container_with_block(self) -> None:
        """Warn of blocks in lists and dicts; a class may override it."""
        warn_of_loose_items([block for _, block in self._walk()])

    def _version(self) -> int:
        """Return the version of the parts, which values derived from them remember."""
        self.__dict__["_structure"] = whole = self._structure.whole()
        return whole.version

    def _walk(self, prefix: str = "") -> Iterator[tuple[str, Block]]:
        """Yield this block and all below it with the prefixes of their names, parents first."""
        yield prefix, self
        for name, child in self._children.items():
            yield from child._walk(f"{prefix}{name}.")

    def _unique_params(self) -> list[Parameter]:
        """Return the parameters that have, or will have, arrays: a fused one instead of its pieces."""
        return list(dict.fromkeys(self._array_params().values()))

    def _array_params(self) -> dict[str, Parameter]:
        """Return the parameters of `_unique_params` by structured name."""
        return planned_apart(self.collect_params())

    def apply(self, fn: Callable[[Block], Any], select: str | None = None) -> Block:
        """Call `fn` with every block below this one, children first, then with this one; return this block.

        Parameters
        ----------
        fn : callable
        select : str, optional
            A regular expression that must match the whole path of a block (``'layers.0.ffn'``; ``''`` is this block).
        """
        if select is not None:
            wanted = re.compile(select)
            for prefix, block in reversed(list(self._walk())):
                if wanted.fullmatch(prefix[:-1]):
                    fn(block)
            return self
        for child in self._children.values():
            child.apply(fn)
        fn(self)
        return self

    def freeze(self, select: str | None = None) -> list[str]:
        """Stop training parameters (``grad_req = 'null'``), and return their names.

        The moving averages of a batch normalization still change in training. ``param.grad_req = "write"`` trains one
        again.

        Parameters
        ----------
        select : str, optional
            A regular expression, as for :meth:`collect_params`; all parameters by default.

        Raises
        ------
        ArgumentError
            If no parameter has such a name.

        Examples
        --------
        >>> from gluonx import nn
        >>> net = nn.HybridSequential()
        >>> net.add(nn.Dense(4), nn.Dense(2))
        >>> net.freeze("0[.].*")
        ['0.weight', '0.bias']
        """
        found = self.collect_params(select)
        if select is not None and not found:
            raise ArgumentError(f"{type(self).__name__} has no parameter whose name matches {select!r}.")
        for param in dict.fromkeys(found.values()):
            param.grad_req = "null"
        return list(found)

    @door
    def initialize(
        self,
        init: InitLike = None,
        device: DevicesLike = None,
        verbose: bool = False,
        force_reinit: bool = False,
        ctx: DevicesLike = None,
        override: bool = False,
    ) -> None:
        """Initialize all parameters; one whose shape is unknown is initialized when the shape is known.

        Parameters
        ----------
        init : Initializer or str, optional
            For the parameters that have no initializer of their own; ``Uniform(0.07)`` by default.
        device : Device or list of Device, optional
            Where the parameters live, or a replica of each; the current device by default. ``ctx`` is its older name.
        verbose : bool
            Whether to print what is initialized, and how.
        force_reinit : bool
            Whether to initialize parameters again that have a value. They keep it, with a warning, otherwise.
        override : bool
            Whether `init` takes precedence over the parameters' own initializers, which biases and the scales of
            normalizations have. An initializer for weights of at least two axes (``Xavier``) does not touch vectors.
            By default parameters keep their own, with one warning if `init` mentions them: by a pattern of ``Mixed``,
            or by a method such as ``_init_bias`` of your own class.

        Notes
        -----
        Parameters that are to be fused (see :meth:`fuse`) and whose shapes are known are fused here, so that later
        results of ``collect_params()`` hold the arrays that are trained.

        Raises
        ------
        ShapeError
            If a parameter's shape is unknown and must not be. Whatever the error, no parameter is half initialized.
        """
        self._collection.version = -1  # warns of loose blocks once more, since it matters here
        default = initializer.create(initializer.Uniform() if init is None else init)
        if verbose:
            default.set_verbosity(verbose=verbose)
        params = list(dict.fromkeys(self._params_apart().values()))
        todo = [p for p in params if force_reinit or not p._is_ready]
        for param in todo:
            param._check_initializable()
        if len(todo) < len(params):
            kept = [p._path for p in params if p._is_ready]
            warn(f"Already initialized, and kept: parameters {listed(kept)}. Set force_reinit=True to initialize anew.")
        new = [param for param in todo if param._handle is None]
        said = {param: initializer.told(default, param, not override) for param in todo if init is not None}
        ignored = [param._path for param in said if said[param] is not None] if not override else []
        if ignored:
            warn(
                f"initialize({default!r}) says how {listed(ignored)} begin, but these have initializers of their own, "
                "which are heeded. Give override=True to have yours."
            )
        place = ctx if device is None else device
        self._unfuse_for(place)
        try:
            for param in todo:
                param.initialize(said.get(param) if override else None, place, default, force_reinit)
                if verbose:
                    print(f"{param._path}: {param.init or default!r}, shape {param.shape}")
        except BaseException:
            for param in new:
                param._forget()
            raise
        fusion.fuse_waiting(self)

    def setattr(self, name: str, value: object) -> None:
        """Set an attribute of all parameters: ``net.setattr('grad_req', 'null')``."""
        # The pieces of a fused parameter change their grad_req together, or their shared gradient would have two.
        for param in dict.fromkeys((self.collect_params() if name == "grad_req" else self._params_apart()).values()):
            setattr(param, name, value)

    def zero_grad(self) -> None:
        """Set all gradients to zero."""
        for param in self._unique_params():
            param.zero_grad()

    def reset_device(self, device: DevicesLike) -> None:
        """Move all parameters to another device, or make a replica of each on several."""
        self._unfuse_for(device)
        for param in self._unique_params():
            param.reset_device(device)

    def reset_ctx(self, ctx: DevicesLike) -> None:
        """Call :meth:`reset_device`; this is its older name."""
        self.reset_device(ctx)

    def _unfuse_for(self, device: DevicesLike) -> None:
        """Undo fusion, also future fusion, if the parameters get several devices."""
        if isinstance(device, (list, tuple)) and len(set(device)) > 1:
            for _, block in self._walk():
                if any(fusion.pieces_of_block(block)):
                    block.unfuse()

    @door
    def shard(self, *rules: sharding.Strategy | Mapping[str, Spec]) -> sharding.Report:
        """Lay out the parameters on the mesh in use; see :mod:`gluonx.parallel`.

        Parameters
        ----------
        *rules : Strategy or dict of str to spec
            One or several strategies, such as ``parallel.fsdp()``; each splits parameters that the ones before it left
            whole. A dict maps regular expressions, which must match a whole structured name, to specs; it takes
            precedence over strategies. The name of a fused parameter means its pieces, which are unfused if they are
            split. Without rules every device holds every parameter.

        Returns
        -------
        Report
            Its text shows the sharding of each parameter.

        Raises
        ------
        DeviceError
            If no mesh is in use, if a pattern matches nothing, if two patterns differ for one parameter, or if the mesh
            has no such axis. Then nothing has changed.
        ShapeError
            If an axis of a parameter cannot be split as a dict says. If the shape is not known yet, this is raised when
            it is.

        Examples
        --------
        >>> from gluonx import nn, parallel
        >>> net = nn.Dense(4, in_units=3)
        >>> with parallel.use(parallel.mesh(data=-1)):
        ...     net.initialize()
        ...     print(net.shard({".*": ()}))
        2 parameters on the mesh {'data': ...}
          weight  (4, 3)  whole on every device
          bias    (4,)  whole on every device
        """
        return sharding.shard(self, rules)

    def cast(self, dtype: DTypeLike) -> None:
        """Change the dtype of all parameters. A block that keeps another dtype (BatchNorm) overrides this method."""
        for child in self._children.values():
            child.cast(dtype)
        for param in self._reg_params.values():
            param.cast(dtype)

    def hybridize(self, active: bool = True, **kwargs: object) -> None:
        """Hybridize every :class:`HybridBlock` below this one; see there for the options."""
        for child in self._children.values():
            child.hybridize(active, **kwargs)

    def share_parameters(self, shared: Mapping[str, Parameter] | None) -> Block:
        """Use the given parameters in place of the block's own.

        Parameters
        ----------
        shared : dict of str to Parameter
            By structured name, as from ``other.collect_params()``. A name that this block lacks is ignored, with a
            warning.

        Returns
        -------
        Block
            The block itself.

        Raises
        ------
        ValueError
            If `shared` is not a dict of parameters, or if a shape contradicts the block's. Then the block is unchanged.

        Examples
        --------
        >>> a, b = Block(), Block()
        >>> a.w, b.w = Parameter(shape=(2,)), Parameter(shape=(2,))
        >>> b.share_parameters(a.collect_params()).w is a.w
        True
        """
        if shared is not None:
            checkpoint.share(self, self._block_names.shared(self, shared))
        return self

    # ---------------------------------------------------------------- fused parameters

    def _own_fusions(self) -> fusion.Fusions:
        """Return the block's fusions; make them when they are first needed."""
        if self._fusions is None:
            self.__dict__["_fusions"] = fusion.Fusions(self)
        return self._fusions  # type: ignore[return-value]

    def declare_fusion(self, *declarations: Fused) -> None:
        """Declare how parameters of this block, or of its children, are stored when fused. It fuses nothing yet.

        Parameters
        ----------
        *declarations : Fused

        Raises
        ------
        FusionError
            If a piece is in another declaration of this block, or a name is taken.

        Examples
        --------
        >>> from gluonx import nn
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
        self._own_fusions().declare(declarations)

    def declare_file_form(
        self, format: str, fused: Fused, complete: Callable[[int], dict[str, tuple[int, ...]]] | None = None
    ) -> None:
        """Declare that files of another library store some parameters of this block as one array.

        Parameters
        ----------
        format : str
            The format's name in ``save_parameters``.
        fused : Fused
            How the file's array is made of the parameters.
        complete : callable, optional
            ``complete(size)`` returns by name the shapes of parameters that are not known when a file is loaded whose
            array has `size` elements.
        """
        self._own_fusions().declare_form(format, fused, complete)

    def fuse_parameters(self, tree: dict[str, Any]) -> dict[str, Any]:
        """Replace pieces by their fused arrays, by default as declared; a pure function.

        Override both this method and :meth:`unfuse_parameters`, or neither.

        Parameters
        ----------
        tree : dict of str to array
            The parameters below this block by structured name, unfused.

        Returns
        -------
        dict of str to array
            Each element of each piece is at exactly one position of one fused array, and there are no other elements.
        """
        return self._own_fusions().fuse_tree(tree)

    def unfuse_parameters(self, tree: dict[str, Any]) -> dict[str, Any]:
        """Undo :meth:`fuse_parameters`, bit for bit; a pure function."""
        return self._own_fusions().unfuse_tree(tree)

    @property
    def is_fused(self) -> bool:
        """Return whether this block or one below it has a fused parameter now."""
        return fusion.is_fused(self)

    @door
    def fuse(self) -> fusion.FusionReport:
        """Fuse the parameters as this block and those below it declare.

        Before ``initialize``, and while shapes are unknown, this is remembered and done later, before the first program
        is compiled. Files, and ``collect_params(fused=False)``, keep the names of the pieces; each piece can be read
        and written as before.

        Returns
        -------
        FusionReport
            Its text shows what was fused.

        Raises
        ------
        FusionError
            If a declaration is wrong. Then nothing has changed.
        """
        return fusion.fuse(self)

    @door
    def unfuse(self) -> fusion.FusionReport:
        """Give every piece its own array again, and forget fusions that are still to be done."""
        return fusion.unfuse(self)

    def weights_of(self, name: str) -> ndarray:
        """Return the array of a fused parameter, for use in ``forward``.

        Parameters
        ----------
        name : str
            The name in a declaration, or of an array that ``fuse_parameters`` makes.

        Returns
        -------
        gluonx.np.ndarray
            The fused parameter's own array if it is fused, else its pieces joined by a recorded operator.
        """
        fusions = self._fusions
        if fusions is not None and fusions.version == self._structure.version and name in fusions.homes:
            return fusions.homes[name]._handle
        return self._own_fusions().weights_of(name)

    # ---------------------------------------------------------------- copies

    def __getstate__(self) -> dict[str, Any]:
        """Return everything, with the pieces of fused parameters apart, and which of them are fused."""
        state = dict(self.__dict__)
        state.pop("_structure", None)
        fusions = state.pop("_fusions", None)
        return state if fusions is None else {**state, **fusions.kept()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore everything, and fuse again what was fused."""
        structure = belonging(self)
        vars(with_own_dict(self)).update(state, _structure=structure)
        for registry in (self._children, self._reg_params):
            structure.join(registry.structure)
        fusion.Fusions.restore(self)

    # ---------------------------------------------------------------- files

    @door
    def save_parameters(self, filename: Place, deduplicate: bool | None = None, format: str | None = None) -> None:
        """Write all parameters to a file. The file is complete or absent, even if the process dies.

        Parameters
        ----------
        filename : str, path or file object
            A text may be an address that fsspec knows, such as ``'s3://bucket/net.params'``. To a file object, opened
            for bytes, the content is written in one piece when it is complete.
        deduplicate : bool, optional
            Whether to write a shared parameter only under one of its names. The default is True, except for
            ``'mxnet'``, because readers of MXNet 1 want every name. MXNet 2 writes every name by default, reads both.
        format : {'npz', 'safetensors', 'mxnet'}, optional
            By default safetensors if the name ends with that, else npz, which MXNet 2 reads. ``'mxnet'`` is the NDArray
            list, which MXNet 1 and 2 read, and the default in a program that runs as MXNet 1. Files for MXNet 2 store
            a recurrent layer as MXNet does, in one ``rnn_param``; the others store weight by weight.
        """
        checkpoint.save_parameters(self, filename, deduplicate, format)

    @door
    def load_parameters(
        self,
        filename: Place,
        device: DevicesLike = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        cast_dtype: bool = False,
        dtype_source: str = "current",
        ctx: DevicesLike = None,
        ignore_mismatch: bool | str = False,
        *,
        names: naming.Map | None = None,
    ) -> None:
        """Read the parameters from a file: all of them, or, if anything does not fit, none.

        Parameters
        ----------
        filename : str, path or file object
            Written by :meth:`save_parameters`, or by MXNet 1 or 2 (also an exported ``-0000.params``). The format is
            recognized by the contents: npz, safetensors, an NDArray list, or a state dict that ``torch.save`` wrote.
            Names may begin with ``arg:`` or ``aux:``.
        device : Device, optional
            Where to put parameters that are not initialized yet. ``ctx`` is its older name.
        allow_missing : bool
            Whether parameters that are not in the file may keep their values.
        ignore_extra : bool
            Whether the file may hold more than the block.
        cast_dtype : bool
            Whether dtypes may differ.
        dtype_source : {'current', 'saved'}
            Which dtype is used if they differ: the block's or the file's.
        ignore_mismatch : bool or str
            Whether a parameter whose shape in the file differs keeps its value, such as that of a last layer for other
            classes. One warning lists them with both shapes. A regular expression, which must match from the beginning
            of a name, allows it only for these names.
        names : mapping or list of rules, optional
            How to map the file's names to the block's, if another library wrote it; see :mod:`gluonx.weights`. ``()``
            maps PyTorch's words: ``weight`` for ``gamma``, ``bias`` for ``beta``.

        Raises
        ------
        FormatError
            If the file is damaged, is no parameter file, or does not fit this block. The message lists everything that
            is missing, unexpected, or of another shape or dtype; the block is unchanged.
        """
        device = ctx if device is None else device
        options = checkpoint.Options(device, allow_missing, ignore_extra, cast_dtype, dtype_source, ignore_mismatch)
        if names is not None:
            renamed = naming.arranged(load_arrays(filename), self.collect_params(), names)
            how = (device, allow_missing, ignore_extra, cast_dtype, dtype_source)
            return self.load_dict(renamed, *how, ignore_mismatch=ignore_mismatch)
        if type(self).load_dict is Block.load_dict:
            return checkpoint.load_parameters(self, filename, options)
        found = {"params": checkpoint.read(filename), "filename": name_of(filename)}  # as MXNet passes it on
        self.load_dict(found, device, allow_missing, ignore_extra, cast_dtype, dtype_source)

    def save_params(self, filename: str | PathLike[str]) -> None:
        """Call :meth:`save_parameters`, by its older name; names have no prefix if all begin with the block's."""
        named: Any = self.collect_params()
        if hasattr(named, "save") and all(name.startswith(self.prefix) for name in named):
            named.save(filename, strip_prefix=self.prefix)
        else:
            self.save_parameters(filename)

    def load_params(self, filename: str | PathLike[str], ctx: Any = None, **kwargs: Any) -> None:
        """Call :meth:`load_parameters`; this is its older name."""
        self.load_parameters(filename, ctx, **kwargs)

    def load_dict(
        self,
        param_dict: Mapping[str, Any],
        device: DevicesLike = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        cast_dtype: bool = False,
        dtype_source: str = "current",
        ctx: DevicesLike = None,
        ignore_mismatch: bool | str = False,
        *,
        names: naming.Map | None = None,
    ) -> None:
        """Set the parameters from a dict of arrays by structured name; otherwise as :meth:`load_parameters`."""
        device = ctx if device is None else device
        if names is not None:
            param_dict = dict[str, Any](naming.arranged(param_dict, self.collect_params(), names))
        options = checkpoint.Options(device, allow_missing, ignore_extra, cast_dtype, dtype_source, ignore_mismatch)
        source, of_file = "the given dict", names is None and isinstance(param_dict.get("filename"), str)
        if of_file:
            source, param_dict = f"file '{param_dict['filename']}'", param_dict["params"]
        checkpoint.load_dict(self, param_dict, source, options, of_numpy=not of_file)

    def save(self, prefix: str | PathLike[str]) -> None:
        """Write ``prefix-model.json`` (blocks, sharing, what is hybridized) and ``prefix-model.params``."""
        checkpoint.save_model(self, prefix)

    def load(self, prefix: str | PathLike[str]) -> None:
        """Read what :meth:`save` or MXNet 1 wrote, into a block of the same structure.

        Children may have other names in the files, if they are of the same classes in the same order.

        Raises
        ------
        FormatError
            If the files are damaged or belong to a block with another structure. Then the block is unchanged.
        """
        checkpoint.load_model(self, prefix)

    @door
    def summary(self, *inputs: object) -> None:
        """Run the block on `inputs`, without training anything, and print a table of its layers.

        The table shows for each layer the shape of its output, the number of parameters, their bytes, and the
        floating-point operations for these inputs.
        """
        table = summarize(self, *inputs)
        if not show(table):
            print(table)


for _name in BLOCK_ATTRIBUTES:
    setattr(Block, _name, _Asked(_name))
NAMES["gluonx.np.methods"]  # adds the methods to arrays before a net's first step: that module's last lines say why

_NOT_BUILT = (
    "{cls}._build_cache has built nothing: it must call super()._build_cache(*args). To run something else in place of "
    "the hybridized forward, override _call_cached_op."
)
_OWN_GRAPH = (
    "{cls} has a _get_graph of its own, but a hybridized block is traced with arrays, so that no graph of symbols is "
    "asked for and its result would be ignored. Change forward; or make gluon.SymbolBlock(outputs, inputs) of the "
    "changed symbol, and call that."
)
_OWN_VAR = (
    "var() of parameter '{path}', a {cls}, returns an expression, but a hybridized block is traced with arrays, so "
    "that it would be ignored. Override data() to return the same of super().data()."
)
_NOT_HYBRID = (
    "{cls} is a HybridBlock, whose children must be HybridBlocks too, but '{name}' is a {child}. Derive {child} from "
    "HybridBlock (nn.HybridSequential instead of nn.Sequential, nn.HybridBlockList of nn.BlockList), or {cls} from "
    "Block."
)


class HybridBlock(Block):
    """A :class:`Block` whose forward can be compiled as one node of the program; its children are HybridBlocks too.

    Examples
    --------
    >>> class Twice(HybridBlock):
    ...     def forward(self, x):
    ...         return x * 2
    >>> net = Twice()
    >>> net.hybridize()
    """

    _active: bool
    _scan = False
    _remat: str | None = None
    _traced: Any
    _traced_of: Snapshot

    _calls_by_itself = False  # whether its class overrides _call_cached_op
    _builds_by_itself = False  # whether it overrides _build_cache

    def __init__(self, prefix: str | None = None, params: Iterable[Parameter] | None = None) -> None:
        super().__init__(prefix, params)
        own = self.__dict__
        own["_active"] = False
        own["_traced"] = None
        own["_traced_of"] = Snapshot(None)  # valid as long as the block has the parts with which it was traced

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Make `block` a child; see :meth:`Block.register_child`. Raises ValueError if it is not a HybridBlock."""
        if isinstance(block, Block) and not isinstance(block, HybridBlock):
            shown = name if name is not None else str(len(self._children))
            raise ValueError(_NOT_HYBRID.format(cls=type(self).__name__, name=shown, child=type(block).__name__))
        super().register_child(block, name)
        self._clear_cached_op()

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        cls._calls_by_itself = cls._call_cached_op is not HybridBlock._call_cached_op
        cls._builds_by_itself = cls._build_cache is not HybridBlock._build_cache

    def _refresh(self) -> None:
        super()._refresh()
        own = self.__dict__
        own["_direct"] = (own["_plain"] or own["_whole"]) and self._active and not self._calls_by_itself
        own["_plain"] = own["_plain"] and not self._active
        own["_whole"] = own["_whole"] and not self._active

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._active and not self._op_hooks:
            if self._calls_by_itself and current_state().trace is None:
                return self._call_cached_op(*args, **kwargs)
            return self._call_active(args, kwargs)
        return super()._run(args, kwargs)

    def _call_cached_op(self, *args: object, **kwargs: object) -> Any:
        """Run the traced forward; a user's class may override it, as in MXNet."""
        return self._call_active(args, kwargs)

    def _call_active(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if current_state().trace is not None:
            return super()._run(args, kwargs)
        traced = self._traced
        if traced is None or self._traced_of.version != self._structure.version:
            with contextlib.suppress(DynamicShapeError):  # blocks with open shapes fuse in their own calls
                self._fuse_below(args, kwargs)
            if traced is None and self._builds_by_itself:
                self._build_cache(*args)
                if self._traced is None:
                    raise GraphError(_NOT_BUILT.format(cls=type(self).__name__))
            traced = self._renewed_trace()
        try:
            return traced(args, kwargs)
        except tracing.NotTraced as error:
            why = error.why
        tracing.run_plainly(why)
        return super()._run(args, kwargs)

    def _build_cache(self, *args: object, update_graph: bool = True) -> None:
        """Begin a trace, which the call then makes; a user's class may override it, as in MXNet."""
        self._renewed_trace()

    def _check_traced(self, params: list[Parameter]) -> None:
        """Raise GraphError if a class says by symbols what MXNet would run, where a trace is of arrays."""
        if hasattr(self, "_get_graph"):
            raise GraphError(_OWN_GRAPH.format(cls=type(self).__name__))
        for param in params:
            if param._overrides("var") and not param._overrides("data"):
                if NAMES["gluonx.gluon.Parameter.var"](param) is not None:
                    symbol = param.var()
                    if symbol.list_arguments() != [symbol.name]:
                        raise GraphError(_OWN_VAR.format(cls=type(param).__name__, path=param._path))

    def _fuse_below(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Fuse what waits for shapes in this block or below it, before anything is traced."""
        if not fusion.is_waiting(self):
            return
        if not kwargs and any(p._awaiting is not None for p in self._unique_params()):
            HybridBlock.infer_shape(self, *args)
        fusion.fuse_waiting(self, report=True)

    def _renewed_trace(self) -> Any:
        """Keep the trace if the change was outside of this block; else begin a new one."""
        blocks = [block for _, block in self._walk()]
        params = [p for block in blocks for p in block._reg_params.values()]
        homes = [p._home for p in params]
        parts, dtypes = [*blocks[1:], *params, *homes], [p.dtype for p in params]
        traced = self._traced
        if traced is not None:
            old, old_dtypes = self._traced_of.content or ([], None)  # None if another thread has just made the trace
            same = dtypes == old_dtypes and len(parts) == len(old) and all(a is b for a, b in zip(parts, old))
            traced = (traced.traced if isinstance(traced, LineByLine) else traced) if same else None
        hooked = [b for b in blocks[1:] if b._is_hooked]
        if hooked:
            self._tell_of_hooks(hooked)
            traced = LineByLine(self, traced)
        if traced is None:
            self._check_traced(params)
        self.__dict__["_traced"] = traced if traced is not None else tracing.TracedCall(self)
        self.__dict__["_traced_of"] = Snapshot((parts, dtypes), self._version())
        return self._traced

    def _tell_of_hooks(self, hooked: list[Block]) -> None:
        """Say once that this block runs line by line while `hooked` blocks below it have hooks."""
        told = [block.__dict__.get("_told_of_hooks", False) for block in hooked]
        if all(told):
            return
        for block in hooked:
            block.__dict__["_told_of_hooks"] = True
        warn(
            f"{type(self).__name__} is hybridized, but has a {type(hooked[0]).__name__} with hooks, which see values "
            "in the middle: until they are detached it runs as if it were not hybridized, only slower."
        )

    def _clear_cached_op(self) -> None:
        """Drop the trace. The next call traces again."""
        self.__dict__["_traced"] = None

    @door
    def hybridize(
        self,
        active: bool = True,
        partition_if_dynamic: bool = True,
        static_alloc: bool = False,
        static_shape: bool = False,
        inline_limit: int = 2,
        forward_bulk_size: int | None = None,
        backward_bulk_size: int | None = None,
        scan: bool = False,
        remat: str | None = None,
    ) -> None:
        """Trace the forward of this block, and of all blocks below it, instead of running it line by line.

        A block whose forward has an operator that cannot be traced (``x[mask]``, ``np.unique``: the result's shape
        depends on values, or the host computes it) runs line by line anyway, with one warning; blocks below it without
        such an operator stay traced.

        Parameters
        ----------
        active : bool
            False undoes it.
        partition_if_dynamic, static_alloc, static_shape, inline_limit, forward_bulk_size, backward_bulk_size
            Accepted for ported code and ignored: XLA plans memory and joins operators by itself.
        scan : bool
            Whether successive equal layers of a :class:`~gluonx.nn.HybridSequential` (or of another block that uses
            :meth:`chained`) become one loop over their stacked parameters. A deep net then compiles about as fast as a
            shallow one; a step makes one more copy of those parameters.
        remat : str, optional
            What a backward recomputes instead of keeping it. ``'layer'``: everything in each such layer except its
            inputs, so that a step needs the memory of these and of one layer, and about a third more time. The name of
            a policy of ``jax.checkpoint_policies``, such as ``'dots_saveable'``: everything except what that policy
            saves. If such layers contain others, the outer ones count; hybridize only inner ones for smaller parts.

        Raises
        ------
        ArgumentError
            If `remat` is not a policy.
        """
        remat = None if remat == "none" else remat
        policy_of(remat)
        self._set_active(bool(active), bool(active and scan), remat if active else None)
        super().hybridize(active, **({"scan": True} if scan else {}), **({"remat": remat} if remat else {}))

    def chained(self, blocks: Iterable[Block], x: ArrayLike, *args: object) -> Any:
        """Call the first block with `x`, the next with its output, and so on; every block gets `args` too.

        It is meant for the forward of a net of many equal layers: ``hybridize(scan=True)`` makes them one loop, and
        ``hybridize(remat=...)`` recomputes each in the backward.

        Parameters
        ----------
        blocks : iterable of Block
        x : ndarray
        *args
            Arrays, None, or whatever else the blocks take.
        """
        trace = current_state().trace
        again = self._scan or self._remat
        if again and trace is not None and not trace.of_shapes:
            from gluonx.npx.control_flow import chain  # imports all of npx

            layers = [(block, [p._handle for p in block._unique_params() if p._is_ready]) for block in blocks]
            return chain(layers, x, args, self._scan, self._remat)
        for block in blocks:
            x = block(*x, *args) if isinstance(x, (tuple, list)) else block(x, *args)
        return x

    def _set_active(self, active: bool, scan: bool = False, remat: str | None = None) -> None:
        self.__dict__["_active"], self.__dict__["_scan"], self.__dict__["_remat"] = active, scan, remat
        self._clear_cached_op()
        self._refresh()

    @door
    def optimize_for(
        self, x: ArrayLike, *args: object, backend: str | None = None, clear: bool = False, **kwargs: Any
    ) -> None:
        """Hybridize, and run the block once so that it is traced for these inputs.

        Parameters
        ----------
        x, *args
            Inputs of the forward.
        backend : str, optional
            Accepted for ported code, with a note: XLA is the only compiler.
        clear : bool
            Accepted for ported code.
        **kwargs
            Options of :meth:`hybridize`.
        """
        if backend is not None:
            warn(f"optimize_for(backend={backend!r}): XLA compiles everything here, the backend is ignored.")
        self.hybridize(True, **kwargs)
        self(x, *args)

    @door
    def export(
        self,
        path: Place,
        epoch: int = 0,
        remove_amp_cast: bool = True,
        *,
        inputs: Sequence[Any] | None = None,
        dynamic_batch: bool = True,
        platforms: Sequence[str] | None = None,
        vjp_order: int = 0,
        format: str | None = None,
        constraints: Sequence[str] = (),
        layout: str | None = None,
        debug_info: bool = False,
        buckets: Sequence[int] = (),
    ) -> Any:
        """Write the net as a StableHLO artifact, a folder that serves without gluonx, or for ONNX or MXNet.

        Parameters
        ----------
        path : str, path or file object
            The folder; docs/export.md describes its contents. For ONNX the file, ``PATH.onnx``. For MXNet the beginning
            of the files' names: ``PATH-symbol.json`` and ``PATH-0000.params``.
            With a file object, opened for bytes, or an address that fsspec knows, such as ``'s3://bucket/net'``, ONNX
            is one file, and the others are a zip archive, which ``gluonx.load`` reads.
        epoch : int
            The number in the name of MXNet's file of parameters.
        remove_amp_cast
            Accepted for ported code.
        inputs : list of arrays or InputSpec, optional
            The net's inputs; by default the inputs of the hybridized net's last call.
        dynamic_batch : bool
            Whether the first dimension of the inputs may have any size when served.
        platforms : sequence of {'cpu', 'cuda', 'rocm', 'tpu'}, optional
            What to compile for; this machine's platform and the CPU by default.
        vjp_order : int
            How many times the loaded net can be differentiated.
        format : {'stablehlo', 'onnx', 'mxnet'}, optional
            ``'stablehlo'`` by default, and ``'mxnet'`` in a program that runs on `gluonx.compat`. ``'onnx'`` writes one
            file for ONNX runtimes, and uses `inputs`, `dynamic_batch` and `constraints`. ``'mxnet'`` writes files for
            ``SymbolBlock.imports`` of MXNet 2 (or MXNet 1, in a program that runs as MXNet 1), and uses `inputs`.
            Lists among the inputs are flattened to ``data0``, ``data1`` ...
        constraints : sequence of str
            Bounds of symbolic dimensions, such as ``'b <= 64'`` (the batch is called ``b``), checked before each call.
        layout : {'NHWC'}, optional
            Let a net written for images with the channels first take, compute and return images with the channels last.
        debug_info : bool
            Keep the source locations in a StableHLO program, which are absolute paths of this machine, and the time of
            the export. By default the same net gives the same bytes.
        buckets : sequence of int
            Batch sizes for which the artifact has separate StableHLO programs, besides the one for any size. A CPU
            serves them fastest, and compilers for fixed sizes need them.

        Returns
        -------
        pathlib.Path or tuple of str
            The folder; for ONNX the file; for MXNet the names of the two files. If `path` is not a path, `path` itself.

        Raises
        ------
        UninitializedError
            If parameters have no value yet, or if the inputs are not known.
        GraphError
            If ONNX or MXNet lacks an operator that the net uses; the message names it.
        """
        from gluonx.block.exporting import export_block  # exporting imports this module

        return export_block(
            self,
            path,
            inputs,
            dynamic_batch,
            platforms,
            vjp_order,
            format,
            epoch,
            constraints,
            layout,
            debug_info,
            buckets,
        )

    def cast(self, dtype: DTypeLike) -> None:
        """Change the dtype of all parameters; a hybridized block stays hybridized and is traced again."""
        super().cast(dtype)
        self._clear_cached_op()

    if TYPE_CHECKING:  # a subclass names the inputs that it looks at, which checkers allow where there may be any
        infer_shape: Callable[..., None]
    else:

        @door
        def infer_shape(self, *args: Any) -> None:
            """Infer the unknown shapes of all parameters below from example inputs, without computing anything.

            A layer that knows its parameters' shapes overrides this method and assigns them, as in
            ``self.weight.shape = (self.units, x.shape[1])``.

            Parameters
            ----------
            *args
                Inputs of the forward; only shapes and dtypes are used.
            """
            leaves, tree = jax.tree.flatten(args, is_leaf=tracing.is_handle)
            arrays = [i for i, leaf in enumerate(leaves) if hasattr(leaf, "shape") and hasattr(leaf, "dtype")]
            structs = [jax.ShapeDtypeStruct(tuple(leaves[i].shape), leaves[i].dtype) for i in arrays]

            def forward(*handles: Handle) -> None:
                for i, handle in zip(arrays, handles):
                    leaves[i] = handle
                self.forward(*jax.tree.unflatten(tree, leaves))

            tracing.infer(forward, structs)

    def infer_type(self, *args: Any) -> None:
        """Give all parameters that have no value yet the floating dtype of the first input that has one."""
        dtypes = [a.dtype for a in args if hasattr(a, "dtype") and a.dtype.kind not in "iub"]
        for param in self._unique_params() if dtypes else ():
            if not param._is_ready and param._differentiable:
                param.cast(dtypes[0])

    def _infers_shape(self) -> bool:
        cls = type(self)
        own = cls._deferred_infer_shape is not Block._deferred_infer_shape
        return own or cls.infer_shape is not HybridBlock.infer_shape

    def __getstate__(self) -> dict[str, Any]:
        """Return everything except the trace, which belongs to this object alone."""
        return {**super().__getstate__(), "_traced": None}


# -- what `gluonx.common.extensions` lists -----------------------------------------------------------------------------


def name_blocks_by(names: Names) -> None:
    """Let all blocks ask `names` from now on."""
    Block._block_names = names


_CALL = Block.__call__


class _Wrapped:
    """The current wrapper around the calls of all blocks."""

    by: Callable[[Any], Any] | None = None


def wrap_calls(wrap: Callable[[Any], Any] | None) -> None:
    """Replace ``Block.__call__`` by ``wrap(call)``, or with None restore it.

    It is replaced, instead of checked at each call, which would cost every call of every block.
    """
    if wrap is not _Wrapped.by:
        _Wrapped.by = wrap
        Block.__call__ = _CALL if wrap is None else wrap(_CALL)  # type: ignore[method-assign]


def _offered(name: str) -> Callable[..., Any]:
    def method(self: HybridBlock, *args: object, **kwargs: object) -> Any:
        return BLOCK_METHODS[name](self, *args, **kwargs)

    method.__name__, method.__qualname__ = name, f"HybridBlock.{name}"
    own = getattr(Block, name, None)
    method.__doc__ = own.__doc__ if own else "Answer ``super()`` of a block in MXNet 1's style."
    return method


for _name in BLOCK_METHODS:
    setattr(HybridBlock, _name, _offered(_name))
