"""The base class of blocks; :mod:`gluonx.block` tells what blocks are."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from typing import Any

from gluonx import checkpoint, initializer, late, naming
from gluonx.arguments import Checked
from gluonx.blocktools import (
    HookHandle,
    Registry,
    Snapshot,
    listed,
    locate,
    warn_of_loose_items,
    watch_operators,
)
from gluonx.calls import Calls
from gluonx.declared import structure
from gluonx.deferred.core import current_state
from gluonx.fused import Fusible, fused_view
from gluonx.parameter import Parameter
from gluonx.summary import summarize

__all__ = ["Block"]

_NO_INIT = (
    "{cls} has no room for the {what} '{name}' yet. Call super().__init__() at the beginning of {cls}.__init__, before "
    "anything is assigned."
)
_OTHER_TYPE = (
    "Attribute '{name}' of {cls} is a {old} and cannot become a {new}. "
    "Delete it first, del block.{name}, if that is what you want."
)


def _hybrid_forward(self: Block, *args: Any, **kwargs: Any) -> Any:
    """Run ``hybrid_forward(F, ...)`` with the parameters as keywords, as MXNet 1 did."""
    return late.wanted("legacy").run_hybrid_forward(self, args, kwargs)


class Block(Checked, Fusible):
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

    _also_takes = frozenset({"prefix", "params"})
    _runs_hybrid_forward = False
    _plain = False
    _direct = False  # whether a call is nothing but its traced forward
    _whole = False  # the same as `_plain`, of a block with children
    _ready: bool
    _children: Registry
    _reg_params: Registry
    _collection: Snapshot
    _calls: Calls
    _pre_hooks: dict[HookHandle, Any]
    _post_hooks: dict[HookHandle, Any]
    _op_hooks: dict[HookHandle, Any]

    def __init__(self, prefix: str | None = None, params: Any = None) -> None:
        own = self.__dict__
        own["_children"] = Registry()
        own["_reg_params"] = Registry()
        own["_pre_hooks"] = {}
        own["_post_hooks"] = {}
        own["_op_hooks"] = {}
        own["_collection"] = Snapshot(({}, {}))
        own["_calls"] = Calls()
        own["_fusions"] = Registry()
        own["_fusions_at"] = -1
        own["_ready"] = True
        own["_plain"] = True
        if "_asked" in own:
            prefix, params = own.pop("_asked")
        if prefix is not None or params is not None or self._runs_hybrid_forward or naming.wants_scope():
            naming.enter(self, prefix, params)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        naming.prepare_class(cls, _hybrid_forward)

    # ---------------------------------------------------------------- attributes and children

    def __setattr__(self, name: str, value: Any) -> None:
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
        if isinstance(value, Block):
            self.register_child(value, name)
        elif isinstance(value, Parameter):
            value = self._register_parameter(value, name)
        object.__setattr__(self, name, value)

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
            If `block` is no Block.
        """
        if not isinstance(block, Block):
            raise TypeError(f"A child of {type(self).__name__} must be a Block, got {block!r}.")
        if "_children" not in self.__dict__:
            raise AttributeError(_NO_INIT.format(cls=type(self).__name__, what="block", name=name))
        self._children[str(len(self._children)) if name is None else name] = block
        self._refresh()

    def _register_parameter(self, param: Parameter, name: str) -> Parameter:
        if "_reg_params" not in self.__dict__:
            raise AttributeError(_NO_INIT.format(cls=type(self).__name__, what="parameter", name=name))
        if "_scope" in self.__dict__:
            param = naming.adopt(self, param, name)
        self._reg_params[name] = param
        if param._path == param.name:
            param._path = f"{type(self).__name__}.{name}"
        self.__dict__["_ready"] = False
        self._refresh()
        return param

    def __repr__(self) -> str:
        children = self.__dict__.get("_children") or {}
        lines = [f"  ({name}): " + repr(child).replace("\n", "\n  ") for name, child in children.items()]
        return "\n".join([f"{type(self).__name__}(", *lines, ")"]) if lines else f"{type(self).__name__}()"

    # ---------------------------------------------------------------- the call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run ``forward``, between the hooks if there are any."""
        try:
            if self._plain:
                return self.forward(*args, **kwargs)
            if self._direct:
                return self._call_active(args, kwargs)  # type: ignore[attr-defined]
            if self._whole:
                state = current_state()
                if state.deferring or state.trace is not None or state.naive:
                    return self.forward(*args, **kwargs)
                return self._calls.run(self.forward, args, kwargs, state)  # it may become one program
            return self._call_guarded(args, kwargs)
        except Exception as error:
            locate(error, self)
            raise

    def forward(self, *args: Any) -> Any:
        """What the block computes. Every subclass defines it."""
        raise NotImplementedError(f"{type(self).__name__} does not define forward().")

    def _call_guarded(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call of a block that has hooks, is hybridized, or was never called before."""
        for hook in tuple(self._pre_hooks.values()):
            hook(self, args)
        if not self._ready:
            self._settle(args, kwargs)
        out = self._run(args, kwargs)
        for hook in tuple(self._post_hooks.values()):
            hook(self, args, out)
        return out

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not self._op_hooks:
            return self.forward(*args, **kwargs)
        with watch_operators(self._op_hooks.values()):
            return self.forward(*args, **kwargs)

    def _run_forward(self, *args: Any, **kwargs: Any) -> Any:
        """What a trace runs: the forward without the hooks, which run around it."""
        return self.forward(*args, **kwargs)

    def _settle(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Have the block tell the unknown shapes of its own parameters; what it cannot tell, its operators will."""
        own = [*self._reg_params.values(), *self._fusion_pieces()]
        if any(p._awaiting is not None for p in own) and self._infers_shape():
            self.infer_shape(*args, **kwargs)  # type: ignore[attr-defined]
        if self._fuse_waiting:
            self._fuse_now()
        self.__dict__["_ready"] = all(p._is_ready for p in own) and not self._fuse_waiting
        self._refresh()

    def _infers_shape(self) -> bool:
        return hasattr(self, "infer_shape")

    def _refresh(self) -> None:
        """Find out anew whether a call is nothing but its forward."""
        own = self.__dict__
        simple = self._ready and not (self._pre_hooks or self._post_hooks or self._op_hooks)
        own["_plain"], own["_whole"] = simple and not self._children, simple and bool(self._children)

    # ---------------------------------------------------------------- hooks

    def register_forward_pre_hook(self, hook: Callable[[Block, tuple[Any, ...]], None]) -> HookHandle:
        """Have ``hook(block, inputs)`` called before each forward; what it returns is ignored.

        Inside a hybridized parent a hook runs when the parent is traced, not at each call.
        """
        return HookHandle(self, self._pre_hooks, hook)

    def register_forward_hook(self, hook: Callable[[Block, tuple[Any, ...], Any], None]) -> HookHandle:
        """Have ``hook(block, inputs, outputs)`` called after each forward; what it returns is ignored.

        Inside a hybridized parent a hook runs when the parent is traced, not at each call.
        """
        return HookHandle(self, self._post_hooks, hook)

    def register_op_hook(self, callback: Callable[[str, str, Any], None], monitor_all: bool = False) -> HookHandle:
        """Have ``callback(name, operator, array)`` called for the output of every operator that the forward runs.

        Parameters
        ----------
        callback : callable
            ``name`` is ``'node_3_output'`` for the third operator of this forward.
        monitor_all : bool
            Whether the inputs are to be shown too (``'node_3_input0'``).
        """
        return HookHandle(self, self._op_hooks, (callback, monitor_all))

    # ---------------------------------------------------------------- walks

    @property
    def params(self) -> Any:
        """The block's own parameters, those of its children left out. Most code wants :meth:`collect_params`.

        In a block that has a ``hybrid_forward``, where parameters are made: ``self.params.get('weight', shape=...)``.
        """
        return self.__dict__["_scope"].params if naming.is_named(self) else self._reg_params

    @naming.Default
    def prefix(self) -> str:
        """What the names of its parameters begin with in MXNet 1."""
        return self._named_scope().prefix

    @naming.Default
    def name(self) -> str:
        """The prefix without the underscore at its end."""
        return self._named_scope().prefix.removesuffix("_")

    def name_scope(self) -> naming.Scope:
        """For ``with self.name_scope():``, in which new blocks have names that begin with this block's prefix."""
        return self._named_scope()

    def _named_scope(self) -> naming.Scope:
        return self.__dict__.get("_scope") or naming.enter(self)

    def collect_params(self, select: str | None = None, fused: bool = True) -> dict[str, Parameter]:
        """All parameters by structured name.

        Parameters
        ----------
        select : str, optional
            A regular expression. Names are kept that it matches from their beginning on, as in
            ``net.collect_params('.*weight|.*bias')``. A pattern that matches names of pieces but not of the fused
            parameter they are in gives the pieces.
        fused : bool
            Whether fused parameters stand for their pieces; see :meth:`fuse`.

        Returns
        -------
        dict of str to Parameter
            A shared parameter stands there once under each of its names.

        Examples
        --------
        >>> list(Block().collect_params())
        []
        """
        if fused and naming.is_named(self) and not self._fusions:
            return naming.collect(self, select)
        snapshot = self._collection
        apart, found = snapshot.content if snapshot.version == structure.version else self._collected()
        if not fused:
            found = apart
        if select is None:
            return dict(found)
        wanted = re.compile(select)
        chosen = {name: param for name, param in found.items() if wanted.match(name)}
        if found is not apart:
            homes = set(chosen.values())
            pieces = {name: param for name, param in apart.items() if name not in found and wanted.match(name)}
            chosen.update({name: param for name, param in pieces.items() if param._home not in homes})
        return chosen

    def _collected(self) -> tuple[dict[str, Parameter], dict[str, Parameter]]:
        """All parameters by structured name, apart and fused; also tells each one where it is, for messages."""
        walk = list(self._walk())
        warn_of_loose_items([block for _, block in walk], stacklevel=3)
        found: dict[str, Parameter] = {}
        for prefix, block in walk:
            for name, param in block._reg_params.items():
                found[prefix + name] = param
                path = f"{type(self).__name__}.{prefix}{name}"
                if param._path.count(".") <= path.count("."):  # the outermost walk gives the most telling path
                    param._path = path
        both = found, fused_view(type(self).__name__, walk, found)
        self.__dict__["_collection"] = Snapshot(both, structure.version)
        return both

    def _walk(self, prefix: str = "") -> Iterator[tuple[str, Block]]:
        """Yield this block and all below with the prefix of their names, parents first."""
        yield prefix, self
        for name, child in self._children.items():
            yield from child._walk(f"{prefix}{name}.")

    def _unique_params(self) -> list[Parameter]:
        return list(dict.fromkeys(self.collect_params().values()))

    def apply(self, fn: Callable[[Block], Any]) -> Block:
        """Call `fn` with every block below this one, children first, and with this one; returns the block itself."""
        for child in self._children.values():
            child.apply(fn)
        fn(self)
        return self

    def initialize(
        self,
        init: Any = None,
        device: Any = None,
        verbose: bool = False,
        force_reinit: bool = False,
        ctx: Any = None,
    ) -> None:
        """Initialize all parameters, or prepare it where a shape is not known yet.

        Parameters
        ----------
        init : Initializer or str, optional
            For the parameters that have no initializer of their own; ``Uniform(0.07)`` by default.
        device : Device, optional
            Where the parameters live; the current device by default. ``ctx`` is its older name.
        verbose : bool
            Whether to print what is initialized, and how.
        force_reinit : bool
            Whether to begin anew with parameters that have a value. They keep it, with a warning, otherwise.

        Notes
        -----
        What waits to be fused (see :meth:`fuse`) and has all its shapes is fused here, so that lists made of
        ``collect_params()`` afterwards hold the arrays that are trained.

        Raises
        ------
        ShapeError
            If a parameter's shape is unknown and must not be. Whatever the error, no parameter is half initialized.
        """
        self._collection.version = -1  # to warn of loose blocks once more, where it matters
        default = initializer.create(initializer.Uniform() if init is None else init)
        params = list(dict.fromkeys(self.collect_params(fused=False).values()))
        todo = [p for p in params if force_reinit or not p._is_ready]
        for param in todo:
            param._check_initializable()
        if len(todo) < len(params):
            kept = [p._path for p in params if p._is_ready]
            warnings.warn(
                f"Already initialized, and kept: parameters {listed(kept)}. Set force_reinit=True to initialize anew.",
                UserWarning,
                stacklevel=2,
            )
        new = [param for param in todo if param._handle is None]
        try:
            for param in todo:
                param.initialize(None, ctx if device is None else device, default, force_reinit)
                if verbose:
                    print(f"{param._path}: {param.init or default!r}, shape {param.shape}")
        except BaseException:
            for param in new:
                param._forget()
            raise
        self._fuse_known()

    def setattr(self, name: str, value: Any) -> None:
        """Set an attribute of all parameters: ``net.setattr('grad_req', 'null')``."""
        # The pieces of a fused parameter change their grad_req together, or their shared gradient would have two.
        for param in dict.fromkeys(self.collect_params(fused=name == "grad_req").values()):
            setattr(param, name, value)

    def zero_grad(self) -> None:
        """Set all gradients to zero."""
        for param in self._unique_params():
            param.zero_grad()

    def reset_device(self, device: Any) -> None:
        """Move all parameters to another device."""
        for param in self._unique_params():
            param.reset_device(device)

    def reset_ctx(self, ctx: Any) -> None:
        """The older name of :meth:`reset_device`."""
        self.reset_device(ctx)

    def cast(self, dtype: Any) -> None:
        """Change the dtype of all parameters. A block that wants otherwise (BatchNorm) overrides this method."""
        for child in self._children.values():
            child.cast(dtype)
        for param in self._reg_params.values():
            param.cast(dtype)

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Hybridize all :class:`HybridBlock` below this one; see there for the options."""
        for child in self._children.values():
            child.hybridize(active, **kwargs)

    def share_parameters(self, shared: Mapping[str, Parameter] | None) -> Block:
        """Use the given parameters in place of the block's own.

        Parameters
        ----------
        shared : dict of str to Parameter
            By structured name, as from ``other.collect_params()``. A name that this block does not have is left out,
            with a warning.

        Returns
        -------
        Block
            The block itself.

        Raises
        ------
        ValueError
            If `shared` is no dict of parameters, or a shape contradicts the block's. The block has not changed then.

        Examples
        --------
        >>> a, b = Block(), Block()
        >>> a.w, b.w = Parameter(shape=(2,)), Parameter(shape=(2,))
        >>> b.share_parameters(a.collect_params()).w is a.w
        True
        """
        if shared is not None:
            checkpoint.share(self, shared)
        return self

    # ---------------------------------------------------------------- files

    def save_parameters(
        self, filename: str | PathLike[str], deduplicate: bool = False, format: str | None = None
    ) -> None:
        """Write all parameters to a file. The file is whole or not there, also if the process dies.

        Parameters
        ----------
        filename : str or path
        deduplicate : bool
            Whether to write a shared parameter under one of its names only.
        format : {'npz', 'safetensors', 'mxnet'}, optional
            By default safetensors where the name ends so, and else npz, which MXNet 2 reads; ``'mxnet'`` is the
            NDArray list, which MXNet 1 reads too, with recurrent layers as MXNet 2 keeps them, in one ``rnn_param``.
        """
        checkpoint.save_parameters(self, filename, deduplicate, format)

    def load_parameters(
        self,
        filename: str | PathLike[str],
        device: Any = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        cast_dtype: bool = False,
        dtype_source: str = "current",
        ctx: Any = None,
    ) -> None:
        """Read the parameters from a file: all of them, or, if anything does not fit, none.

        Parameters
        ----------
        filename : str or path
            Written by :meth:`save_parameters`, or by MXNet 1 or 2 (also an exported ``-0000.params``). What it is, the
            contents tell: npz, safetensors, or an NDArray list. Names may begin with ``arg:`` or ``aux:``.
        device : Device, optional
            Where to put parameters that are not initialized yet. ``ctx`` is its older name.
        allow_missing : bool
            Whether parameters may keep their values that are not in the file.
        ignore_extra : bool
            Whether the file may hold more than the block.
        cast_dtype : bool
            Whether dtypes may differ.
        dtype_source : {'current', 'saved'}
            Which dtype holds if they differ: the block's or the file's.

        Raises
        ------
        FormatError
            If the file is damaged or no parameter file, or does not fit this block. The message lists all that is
            missing, unexpected, or of another shape or dtype, and the block has not changed.
        """
        device = ctx if device is None else device
        options = checkpoint.Options(device, allow_missing, ignore_extra, cast_dtype, dtype_source)
        checkpoint.load_parameters(self, filename, options)

    def save_params(self, filename: str | PathLike[str]) -> None:
        """The older name of :meth:`save_parameters`."""
        self.save_parameters(filename)

    def load_params(self, filename: str | PathLike[str], ctx: Any = None, **kwargs: Any) -> None:
        """The older name of :meth:`load_parameters`."""
        self.load_parameters(filename, ctx, **kwargs)

    def load_dict(
        self,
        param_dict: Mapping[str, Any],
        device: Any = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        cast_dtype: bool = False,
        dtype_source: str = "current",
        ctx: Any = None,
    ) -> None:
        """Set the parameters from a dict of arrays by structured name; the rest is as in :meth:`load_parameters`."""
        device = ctx if device is None else device
        options = checkpoint.Options(device, allow_missing, ignore_extra, cast_dtype, dtype_source)
        checkpoint.load_dict(self, param_dict, "the given dict", options)

    def save(self, prefix: str | PathLike[str]) -> None:
        """Write ``prefix-model.json`` (blocks, sharing, what is hybridized) and ``prefix-model.params``."""
        checkpoint.save_model(self, prefix)

    def load(self, prefix: str | PathLike[str]) -> None:
        """Read what :meth:`save` wrote into a block of the same structure.

        Raises
        ------
        FormatError
            If the files are damaged or of a block with another structure. The block has not changed then.
        """
        checkpoint.load_model(self, prefix)

    def summary(self, *inputs: Any) -> None:
        """Run the block on `inputs`, without training anything, and print a table of its layers.

        For each layer: the shape of what comes out, the number of parameters, the bytes these take, and the
        floating-point operations on these inputs.
        """
        print(summarize(self, *inputs))
