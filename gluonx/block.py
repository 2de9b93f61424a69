"""Blocks: what layers and nets are made of.

A :class:`Block` owns parameters and other blocks, each under the name of the attribute it was assigned to, and computes
with them in ``forward``. The operations on it are few: call it, walk it (``collect_params``, ``apply``, ``hybridize``,
``cast``, ...), and move its parameters to and from a file or another block.

A :class:`HybridBlock` may be hybridized: its forward is then traced once for each kind of input and becomes one node of
the pending graph. What it computes is the same.

A layer is called some thousand times a second, so a call is nearly nothing: ``_plain`` says that there is nothing to
do but to run ``forward``. It is False while the block has hooks, is hybridized, or has parameters of unknown shape.

The walk is by structured names, ``'features.0.weight'``: the attribute names from the outermost block inwards. They
name parameters in files, and in messages with the class of the outermost block in front, ``'LeNet.features.0.weight'``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from os import PathLike
from typing import Any

import jax

from gluonx.blockbase import Block as Block
from gluonx.blocktools import HookHandle as HookHandle
from gluonx.blocktools import Snapshot
from gluonx.declared import structure
from gluonx.deferred import tracing
from gluonx.deferred.core import current_state

__all__ = ["Block", "HookHandle", "HybridBlock"]

_NOT_HYBRID = (
    "{cls} is a HybridBlock, whose children must be HybridBlocks too, but '{name}' is a {child}. Derive {child} from "
    "HybridBlock (nn.HybridSequential instead of nn.Sequential), or {cls} from Block."
)


class HybridBlock(Block):
    """A :class:`Block` whose forward can become one compiled node of the program; all children are HybridBlocks too.

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
    _traced: Any
    _traced_of: Snapshot

    def __init__(self, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix, params)
        own = self.__dict__
        own["_active"] = False
        own["_traced"] = None
        own["_traced_of"] = Snapshot(None)  # the parts that the trace was made of

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Make `block` a child; see :meth:`Block.register_child`. ValueError if it is no HybridBlock."""
        if isinstance(block, Block) and not isinstance(block, HybridBlock):
            shown = name if name is not None else str(len(self._children))
            raise ValueError(_NOT_HYBRID.format(cls=type(self).__name__, name=shown, child=type(block).__name__))
        super().register_child(block, name)

    def _refresh(self) -> None:
        super()._refresh()
        own = self.__dict__
        own["_direct"] = (own["_plain"] or own["_whole"]) and self._active
        own["_plain"] = own["_plain"] and not self._active
        own["_whole"] = own["_whole"] and not self._active

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._active and not self._op_hooks:
            return self._call_active(args, kwargs)
        return super()._run(args, kwargs)

    def _call_active(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if current_state().trace is not None:
            return super()._run(args, kwargs)
        traced = self._traced
        if traced is None or self._traced_of.version != structure.version:
            self._fuse_below(args, kwargs)
            traced = self._renewed_trace()
        return traced(args, kwargs)

    def _fuse_below(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Fuse what waits for values in this block or below it, before anything is traced."""
        waiting = list(self._fusions_waiting())
        if not waiting:
            return
        if not kwargs and any(p._awaiting is not None for p in self._unique_params()):
            HybridBlock.infer_shape(self, *args)
        for block in waiting:
            block._fuse_now()

    def _renewed_trace(self) -> Any:
        """Keep the trace if what changed somewhere was not in this block; begin a new one otherwise."""
        blocks = [block for _, block in self._walk()]
        params = [p for block in blocks for p in block._reg_params.values()]
        homes = [p._home for p in params]
        parts, dtypes = [*blocks[1:], *params, *homes], [p.dtype for p in params]
        same = False
        if self._traced is not None:
            old, old_dtypes = self._traced_of.content
            same = dtypes == old_dtypes and len(parts) == len(old) and all(a is b for a, b in zip(parts, old))
        if not same:
            self.__dict__["_traced"] = tracing.TracedCall(self)
        self.__dict__["_traced_of"] = Snapshot((parts, dtypes), structure.version)
        return self._traced

    def _clear_cached_op(self) -> None:
        """Forget the trace. The next call traces anew."""
        self.__dict__["_traced"] = None

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
    ) -> None:
        """Trace the forward of this block, and of all blocks below it, instead of running it line by line.

        Parameters
        ----------
        active : bool
            False takes it back.
        partition_if_dynamic, static_alloc, static_shape, inline_limit, forward_bulk_size, backward_bulk_size
            Accepted for ported code. XLA plans memory and bulks operators by itself.
        scan : bool
            Whether layers of a :class:`~gluonx.nn.HybridSequential` (or of another block that uses :meth:`chained`)
            which follow one another and do the same become one loop over their stacked parameters. A deep net then
            compiles about as fast as a shallow one; a step costs one copy of those parameters more.
        """
        self._set_active(bool(active), bool(active and scan))
        super().hybridize(active, **({"scan": True} if scan else {}))

    def chained(self, blocks: Iterable[Block], x: Any, *args: Any) -> Any:
        """Give `x` to the first block, its output to the next, and so on; every block gets `args` too.

        For the forward of a net of many equal layers: under ``hybridize(scan=True)`` those are one loop.

        Parameters
        ----------
        blocks : iterable of Block
        x : ndarray
        *args
            Arrays, None, or what else the blocks take.
        """
        if self._scan and current_state().trace is not None:
            from gluonx.npx.control_flow import chain  # brings all of npx

            layers = [(block, [h for p in block._unique_params() if (h := p._handle) is not None]) for block in blocks]
            return chain(layers, x, args)
        for block in blocks:
            x = block(*x, *args) if isinstance(x, (tuple, list)) else block(x, *args)
        return x

    def _set_active(self, active: bool, scan: bool = False) -> None:
        self.__dict__["_active"], self.__dict__["_scan"] = active, scan
        self._clear_cached_op()
        self._refresh()

    def optimize_for(self, x: Any, *args: Any, backend: str | None = None, clear: bool = False, **kwargs: Any) -> None:
        """Hybridize, and run the block once so that it is traced for these inputs.

        Parameters
        ----------
        x, *args
            Inputs of the forward.
        backend : str, optional
            Accepted for ported code, with a note: XLA is the one compiler there is.
        clear : bool
            Accepted for ported code.
        **kwargs
            Options of :meth:`hybridize`.
        """
        if backend is not None:
            warnings.warn(
                f"optimize_for(backend={backend!r}): XLA compiles everything here, the backend is ignored.",
                UserWarning,
                stacklevel=2,
            )
        self.hybridize(True, **kwargs)
        self(x, *args)

    def export(
        self,
        path: str | PathLike[str],
        epoch: int = 0,
        remove_amp_cast: bool = True,
        *,
        inputs: Any = None,
        dynamic_batch: bool = True,
        platforms: Any = None,
        vjp_order: int = 0,
        format: str | None = None,
        constraints: Any = (),
        layout: str | None = None,
    ) -> Any:
        """Write the net as a StableHLO artifact, a folder that serves without gluonx, or for ONNX or MXNet.

        Parameters
        ----------
        path : str or path
            The folder; see docs/export.md for what it holds. For ONNX the file, ``PATH.onnx``. For MXNet the beginning
            of the files' names: ``PATH-symbol.json`` and ``PATH-0000.params``.
        epoch : int
            The number in the name of MXNet's file of parameters.
        remove_amp_cast
            Accepted for ported code.
        inputs : list of arrays or InputSpec, optional
            What goes in; by default what the hybridized net was last called with.
        dynamic_batch : bool
            Whether the first dimension of the inputs may have any size when served.
        platforms : sequence of {'cpu', 'cuda', 'rocm', 'tpu'}, optional
            What to compile for; this machine's platform and the CPU by default.
        vjp_order : int
            How often the loaded net can be differentiated.
        format : {'stablehlo', 'onnx', 'mxnet'}, optional
            ``'stablehlo'`` by default, and ``'mxnet'`` in a program that runs on `gluonx.compat`. ``'onnx'`` writes one
            file for ONNX runtimes, and heeds `inputs`, `dynamic_batch` and `constraints`. ``'mxnet'`` writes what
            ``SymbolBlock.imports`` of MXNet 2 reads, and heeds `inputs`.
        constraints : sequence of str
            Bounds of symbolic dimensions, such as ``'b <= 64'`` (the batch is called ``b``), checked before each call.
        layout : {'NHWC'}, optional
            Have a net of images, written with the channels first, take, compute and give images with the channels last.

        Returns
        -------
        pathlib.Path
            The folder; for ONNX the file, for MXNet the two files.

        Raises
        ------
        UninitializedError
            If parameters have no value yet, or nothing tells what goes in.
        GraphError
            If ONNX or MXNet has no operator for something that the net does; the message names it.
        """
        from gluonx.export import export_block  # export.py builds on this module

        return export_block(self, path, inputs, dynamic_batch, platforms, vjp_order, format, epoch, constraints, layout)

    def cast(self, dtype: Any) -> None:
        """Change the dtype of all parameters; a hybridized block stays so and is traced anew."""
        super().cast(dtype)
        self._clear_cached_op()

    def infer_shape(self, *args: Any) -> None:
        """Find the unknown shapes of all parameters below from example inputs, without computing anything.

        A layer that knows its parameters' shapes overrides this method and assigns them, as in
        ``self.weight.shape = (self.units, x.shape[1])``.

        Parameters
        ----------
        *args
            What the forward takes; only shapes and dtypes are looked at.
        """
        leaves, tree = jax.tree.flatten(args, is_leaf=tracing.is_handle)
        arrays = [i for i, leaf in enumerate(leaves) if hasattr(leaf, "shape") and hasattr(leaf, "dtype")]
        structs = [jax.ShapeDtypeStruct(tuple(leaves[i].shape), leaves[i].dtype) for i in arrays]

        def forward(*handles: Any) -> None:
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
        return type(self).infer_shape is not HybridBlock.infer_shape

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the trace, which belongs to this very object."""
        return {**super().__getstate__(), "_traced": None}
