"""``gluon.SymbolBlock``: a graph as a block, most often one that MXNet exported."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gluonx import np as gnp
from gluonx.block.block import HybridBlock
from gluonx.block.checkpoint import Options, load_dict, without_kind
from gluonx.block.parameter import Parameter
from gluonx.block.tools import chosen, listed, unfailing
from gluonx.compat import prefixes as naming
from gluonx.compat import symbol as sym
from gluonx.compat.symbol import infer
from gluonx.compat.symbol.exporting import NESTING
from gluonx.compat.symbol.graph import Node, aux_nodes, variables, walk
from gluonx.compat.symbol.run import plan, run
from gluonx.compat.symbol.symbol import Symbol
from gluonx.errors import FormatError, ShapeError
from gluonx.files import arriving
from gluonx.files.places import is_path
from gluonx.np.handle import ndarray

if TYPE_CHECKING:
    from gluonx.device import DeviceLike
    from gluonx.dtype import DTypeLike


__all__ = ["SymbolBlock", "free_labels"]

_INITS = {"zero": "zeros", "zeros": "zeros", "one": "ones", "ones": "ones"}


class _Taps:
    """Blocks of the same graph and parameters that give more of it, by what they give; they are no children."""

    def __init__(self) -> None:
        self.blocks: dict[Any, SymbolBlock] = {}


class SymbolBlock(HybridBlock):
    """A block whose forward is a graph of symbols.

    Parameters
    ----------
    outputs : Symbol or list of Symbol
        What the block gives: one array, or a list of them.
    inputs : Symbol or list of Symbol
        Its variables that are given at each call, in this order. All others become parameters under their names.
    params : dict of str to Parameter, optional
        Parameters to take for variables, by name; what is not in it is made new.
    prefix : str, optional
        As for every block in code for MXNet 1.

    Raises
    ------
    ValueError
        If an input is no variable of the graph.

    Examples
    --------
    A net cut at an inner layer:

    >>> from gluonx import np, symbol as sym
    >>> data = sym.var("data")
    >>> net = sym.FullyConnected(data, num_hidden=4, name="a")
    >>> net = sym.FullyConnected(sym.Activation(net, act_type="relu"), num_hidden=2)
    >>> features = SymbolBlock(net.get_internals()["a_output"], data)
    >>> features.initialize()
    >>> features(np.ones((3, 5))).shape
    (3, 4)
    >>> sorted(features.collect_params())
    ['a_bias', 'a_weight']
    """

    def __init__(
        self,
        outputs: Symbol | Sequence[Symbol],
        inputs: Symbol | Sequence[Symbol],
        params: Mapping[str, Parameter] | None = None,
        prefix: str | None = None,
    ) -> None:
        # Where blocks have prefixes, this one has none: its parameters are called what the graph calls them.
        if prefix is None and naming.wants_scope():
            with naming.outside_scopes():
                super().__init__(prefix="")
        else:
            super().__init__(prefix=prefix)
        graph = outputs if isinstance(outputs, Symbol) else sym.Group(list(outputs))
        given = [inputs] if isinstance(inputs, Symbol) else list(inputs)
        names = [name for s in given for name in s.list_outputs()]
        nodes = {node.name: node for node in variables(walk(graph._entries))}
        strange = [name for name in names if name not in nodes]
        if strange:
            raise ValueError(
                f"the symbol has no variable {listed(strange)}; its variables are {listed(list(nodes), 20)}"
            )
        own = self.__dict__
        own["_symbol"], own["_input_names"] = graph, names
        own["_input_nodes"] = [nodes[name] for name in names]
        own["_nesting"] = _nesting(own["_input_nodes"])
        own["_order"] = plan(graph._entries)
        own["_labels"] = free_labels(graph, names, params or {})
        aux = aux_nodes(walk(graph._entries))
        for name, node in nodes.items():
            if name not in names and name not in own["_labels"]:
                self._register_parameter(_parameter(node, id(node) in aux, params or {}), name)

    @classmethod
    def imports(
        cls,
        symbol_file: str | os.PathLike[str],
        input_names: str | Sequence[str],
        param_file: str | os.PathLike[str] | None = None,
        device: DeviceLike = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        ctx: DeviceLike = None,
    ) -> SymbolBlock:
        """Load what ``HybridBlock.export`` of MXNet 1 or 2, or a Module's checkpoint, wrote.

        Parameters
        ----------
        symbol_file : str or path
            The ``-symbol.json`` file.
        input_names : str or list of str
            The variables to give at each call, ``['data']``.
        param_file : str or path, optional
            The ``-0000.params`` file; what it is, its contents tell.
        device : Device, optional
            Where the parameters live. ``ctx`` is its older name.
        allow_missing : bool
            Whether the file may lack parameters; they are to be initialized then.
        ignore_extra : bool
            Whether the file may hold more than the graph has.

        Returns
        -------
        SymbolBlock

        Raises
        ------
        FormatError
            If a file is damaged or the two do not fit; the message lists all that is missing, unexpected or misshaped.
        ValueError
            If an input is no variable of the graph.

        Notes
        -----
        The label of a ``SoftmaxOutput`` or ``*RegressionOutput`` at the end plays no part in what comes out: it is
        neither an input nor a parameter unless it is named among the inputs.
        """
        graph = sym.load(symbol_file)
        names = [input_names] if isinstance(input_names, str) else list(input_names)
        inputs = [sym.var(name) for name in names]
        if param_file is None:
            return cls(graph, inputs)
        with arriving(param_file) as (arrays, _):
            try:
                block = cls(graph, inputs, _declared(arrays))
            except ShapeError as error:
                raise FormatError(f"'{os.fspath(symbol_file)}': {error}") from error
            block._take(
                arrays, f"'{os.fspath(param_file)}'", device if device is not None else ctx, allow_missing, ignore_extra
            )
        return block

    def _take(self, arrays: Mapping[str, np.ndarray], what: str, device: DeviceLike, allow: bool, ignore: bool) -> None:
        plain = {without_kind(name): array for name, array in arrays.items()}
        if len(plain) != len(arrays):
            raise FormatError(f"Cannot load {what}: it has an 'arg:' and an 'aux:' of one name")
        known = set(self.__dict__["_input_names"]) | set(self.__dict__["_labels"])
        # A file of all of a Module's arguments may hold values of the inputs, too.
        plain = {name: array for name, array in plain.items() if name not in known}
        load_dict(self, plain, what, Options(device, allow, ignore, True, "saved"), of_numpy=True)

    @property
    def symbol(self) -> Symbol:
        """The graph."""
        return self.__dict__["_symbol"]

    def forward(self, *args: Any) -> Any:
        """Run the graph.

        Parameters
        ----------
        *args : gluonx.np.ndarray
            One for each input. A graph that gluonx exported from a net that takes lists also takes what the net took.

        Returns
        -------
        gluonx.np.ndarray, or list of them where the graph has several outputs
            Flat, as MXNet gives them; nested as the net gave them where lists came in.
        """
        own = self.__dict__
        lists = any(isinstance(a, list | tuple | dict | type(None)) for a in args)
        nesting: tuple[Any, Any] | None = own["_nesting"] if lists else None
        if nesting is not None:
            args = tuple(_flattened(args, nesting[0], type(self).__name__))
        nodes: list[Node] = own["_input_nodes"]
        if len(args) != len(nodes):
            names = ", ".join(own["_input_names"])
            raise TypeError(f"{type(self).__name__} takes {len(nodes)} inputs ({names}), got {len(args)}")
        values: dict[int, Any] = {
            id(node): value if isinstance(value, ndarray) else gnp.array(value)
            for node, value in zip(nodes, args, strict=True)
        }
        for node in variables(walk(own["_symbol"]._entries)):
            param = self._reg_params.get(node.name)
            if param is not None:
                values[id(node)] = param.data()
            elif node.name in own["_labels"]:
                values[id(node)] = None
        out = run(own["_order"], own["_symbol"]._entries, values)
        if nesting is not None and nesting[1] is not None:
            return _regrouped(nesting[1], out)
        return out[0] if len(out) == 1 else out

    def intermediates(self, *inputs: Any, names: str | Iterable[str], **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        """Run the graph, and return also what nodes in the middle give; see :meth:`gluonx.Block.intermediates`.

        Parameters
        ----------
        *inputs
            As for a call.
        names : str or iterable of str
            Of outputs, as in ``block.symbol.get_internals().list_outputs()`` (``'relu1_output'``); one text is a
            regular expression that the whole name matches.

        Returns
        -------
        output
            As of a call.
        dict of str to ndarray

        Raises
        ------
        ArgumentError
            If the graph has no such output.

        Examples
        --------
        >>> from gluonx import np, symbol as sym
        >>> net = sym.FullyConnected(sym.var("data"), num_hidden=4, name="a")
        >>> net = sym.FullyConnected(sym.Activation(net, act_type="relu", name="r"), num_hidden=2, name="b")
        >>> block = SymbolBlock(net, sym.var("data"))
        >>> block.initialize()
        >>> out, middle = block.intermediates(np.ones((3, 5)), names=["r_output"])
        >>> out.shape, middle["r_output"].shape
        ((3, 2), (3, 4))
        """
        tapped = self._named_outputs(names)
        taps = self.features(list(tapped))
        found = taps(*inputs, **kwargs)
        found = found if isinstance(found, list) else [found]
        count = len(self.symbol._entries)
        out = found[:count]
        return out[0] if count == 1 else out, dict(zip(tapped, found[count:], strict=True))

    def features(self, names: str | Iterable[str]) -> SymbolBlock:
        """Return a block that gives also what nodes in the middle give, after its outputs; it shares the parameters.

        Parameters
        ----------
        names : str or iterable of str
            As of :meth:`intermediates`.
        """
        entries = [*self.symbol._entries, *self._named_outputs(names).values()]
        own = self.__dict__
        inputs = [sym.var(name) for name in own["_input_names"]]
        known = own.setdefault("_taps", _Taps()).blocks
        key = tuple([(id(node), i) for node, i in entries])
        if key not in known:
            known[key] = SymbolBlock(Symbol(entries), inputs, self._reg_params)
            known[key].hybridize(self._active)
        return known[key]

    def _named_outputs(self, names: str | Iterable[str]) -> dict[str, Any]:
        inner = self.symbol.get_internals()
        named = zip(inner.list_outputs(), inner._entries, strict=True)
        entries = {name: entry for name, entry in named if entry[0].op is not None}
        return chosen(entries, names, type(self).__name__, "output")

    @unfailing
    def __repr__(self) -> str:
        graph, params = self.symbol, self._reg_params
        labels = self.__dict__["_labels"]
        tree: dict[str, Any] = {}
        for node in walk(graph._entries):
            if node.op is None:
                continue
            *above, own = node.name.split("/")  # nets of gluonx and Keras name parts so
            place = tree
            for name in above:
                place = place.setdefault(name, {})
            takes = [
                source.name for source, _ in node.inputs if source.name not in params and source.name not in labels
            ]
            shapes = [f"{s.name} {params[s.name].shape}" for s, _ in node.inputs if s.name in params]
            place[own] = f"{node.op.name}({', '.join(takes)})" + (f"  # {', '.join(shapes)}" if shapes else "")
        names = ", ".join(self.__dict__["_input_names"])
        return "\n".join([f"{type(self).__name__}({names}) -> {', '.join(graph.list_outputs())}", *_shown(tree, 1)])

    def infer_shape(self, *args: Any) -> None:
        """Find the unknown shapes of the parameters from example inputs; see :meth:`HybridBlock.infer_shape`."""
        own = self.__dict__
        known = {name: tuple(x.shape) for name, x in zip(own["_input_names"], args, strict=False)}
        known |= {n: p.shape for n, p in self._reg_params.items() if p.shape is not None and -1 not in p.shape}
        types = {id(node): np.dtype(x.dtype) for node, x in zip(own["_input_nodes"], args, strict=False)}
        found = infer.shapes(own["_symbol"]._entries, known, types)
        for node in variables(walk(own["_symbol"]._entries)):
            param, shape = self._reg_params.get(node.name), found.get((id(node), 0))
            if param is not None and shape is not None and infer.complete(shape):
                param.shape = shape

    def cast(self, dtype: DTypeLike) -> None:
        """Change the dtype of all floating parameters."""
        super().cast(dtype)

    def export(self, path: Any, epoch: int = 0, *args: Any, format: str | None = None, **kwargs: Any) -> Any:
        """As :meth:`HybridBlock.export`; for MXNet, the graph is written as it is.

        Parameters
        ----------
        path, epoch, *args, format, **kwargs
            As there.
        """
        if (format or self._block_names.export_format()) == "mxnet" and is_path(path):
            return _export_symbol(self, path, epoch)
        return super().export(path, epoch, *args, format=format, **kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> SymbolBlock:
        """Return a block of the same graph, which never changes, with copies of the parameters."""
        own = self.__dict__
        memo.update({id(own[part]): own[part] for part in ("_symbol", "_input_nodes", "_order")})
        twin = object.__new__(type(self))
        memo[id(self)] = twin
        twin.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        return twin


def _shown(tree: Mapping[str, Any], depth: int) -> list[str]:
    lines: list[str] = []
    for name, value in tree.items():
        if isinstance(value, str):
            lines.append(f"{'  ' * depth}({name}): {value}")
        else:
            lines += [f"{'  ' * depth}({name}):", *_shown(value, depth + 1)]
    return lines


def _nesting(inputs: list[Node]) -> Any:
    """Return the nesting of the exported net's arguments and results; `inputs` are the graph's, in their order."""
    text = inputs[0].attrs.get(NESTING) if inputs else None
    if text is None or [node.name for node in inputs] not in (["data"], [f"data{i}" for i in range(len(inputs))]):
        return None
    try:
        takes, gives = json.loads(text)
    except (TypeError, ValueError):
        raise FormatError(f"variable '{inputs[0].name}': its {NESTING} is damaged: {text[:80]!r}") from None
    return None if takes is None else (takes, gives)


def _flattened(args: Any, nesting: Any, name: str) -> list[Any]:
    """Return the arrays in `args`, which must be nested as the exported net took them."""
    flat: list[Any] = []

    def visit(value: Any, shape: Any) -> bool:
        if isinstance(shape, dict):
            same = isinstance(value, dict) and value.keys() == shape.keys()
            return same and all(visit(value[key], shape[key]) for key in shape)
        if isinstance(shape, list):
            same = isinstance(value, list | tuple) and len(value) == len(shape)
            return same and all(visit(v, s) for v, s in zip(value, shape, strict=True))
        if shape is None:
            return value is None
        flat.append(value)
        return not isinstance(value, list | tuple | dict | type(None))

    if not visit(args, nesting):
        raise TypeError(f"{name} takes its inputs as {nesting} (the numbers are arrays), or as that many arrays")
    return flat


def _regrouped(nesting: Any, values: list[Any]) -> Any:
    """Return the values in place of their numbers."""
    if isinstance(nesting, dict):
        return {key: _regrouped(item, values) for key, item in nesting.items()}
    if isinstance(nesting, list):
        return [_regrouped(item, values) for item in nesting]
    return None if nesting is None else values[nesting]


def _declared(arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Stand-ins that say which variables a file has values for."""
    return {without_kind(name): array for name, array in arrays.items()}


def free_labels(graph: Symbol, names: Sequence[str], params: Mapping[str, Any]) -> set[str]:
    """Variables that are nothing but labels of loss operators, and that nobody has a value for."""
    uses: dict[str, set[bool]] = {}
    for node in walk(graph._entries):
        for i, (source, _) in enumerate(node.inputs):
            if source.op is None and node.op is not None:
                uses.setdefault(source.name, set()).add(node.op.label == i)
    return {name for name, kinds in uses.items() if kinds == {True} and name not in names and name not in params}


def _parameter(node: Node, is_aux: bool, params: Mapping[str, Any]) -> Parameter:
    """Return the given parameter of this name, or one as the variable describes it."""
    given = params.get(node.name)
    if isinstance(given, Parameter):
        return given
    marks = node.attrs
    shape = infer._declared(node)
    if given is not None:
        found = tuple(given.shape)
        if shape and not _fits(shape, found):
            raise ShapeError(f"'{node.name}' has shape {found} in the file of parameters, but {shape} in the symbol")
        shape = found
    try:
        lr_mult, wd_mult = (float(marks.get(key, 1.0)) for key in ("__lr_mult__", "__wd_mult__"))
    except ValueError:
        raise FormatError(f"variable '{node.name}': its __lr_mult__ or __wd_mult__ is no number") from None
    text = marks.get("__init__", "").strip('[]" {},').split('"')[0].lower()
    made = Parameter(
        node.name,
        shape=shape,
        dtype=infer.number_dtype(marks.get("__dtype__")) or np.dtype(np.float32),
        lr_mult=lr_mult,
        wd_mult=wd_mult,
        init=_INITS.get(text, ("ones" if "var" in node.name else "zeros") if is_aux else None),
        grad_req="null" if is_aux else "write",
        differentiable=not is_aux,
        allow_deferred_init=True,
    )
    if not text:  # MXNet raises for a bias under Xavier
        made._vector_init = next((rule for ending, rule in _BY_ENDING.items() if node.name.endswith(ending)), None)
    return made


_BY_ENDING = {"bias": "zeros", "beta": "zeros", "gamma": "ones"}


def _fits(declared: tuple[int, ...], found: tuple[int, ...]) -> bool:
    return len(declared) == len(found) and all(a in (0, b) for a, b in zip(declared, found, strict=True))


def _export_symbol(block: SymbolBlock, path: str | os.PathLike[str], epoch: int) -> tuple[str, str]:
    """Write a SymbolBlock as the files it could have come from: the graph as it is, and the parameters."""
    from gluonx.files import save_arrays

    graph = block.symbol
    aux = set(graph.list_auxiliary_states())
    arrays = {f"{'aux' if n in aux else 'arg'}:{n}": p.data().asnumpy() for n, p in block.collect_params().items()}
    target = os.fspath(path)
    symbol_path, params_path = f"{target}-symbol.json", f"{target}-{epoch:04d}.params"
    save_arrays(params_path, arrays, "npz" if graph._is_modern() and not naming.wants_scope() else "mxnet")
    graph.save(symbol_path)
    return symbol_path, params_path
