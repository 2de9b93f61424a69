"""The class of symbols."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gluonx import np as gnp
from gluonx.common import html
from gluonx.common.extensions import NAMES
from gluonx.common.frames import warn
from gluonx.compat.mode import Mode
from gluonx.compat.symbol import files, infer
from gluonx.compat.symbol.compose import function
from gluonx.compat.symbol.executor import Executor
from gluonx.compat.symbol.graph import Entry, Node, Outputs, aux_nodes, entry_name, is_hidden, variables, walk
from gluonx.compat.symbol.methods import Methods
from gluonx.compat.symbol.run import GraphBlock
from gluonx.errors import GluonxError, ShapeError
from gluonx.np.handle import ndarray
from gluonx.sparse import zeros as sparse_zeros

if TYPE_CHECKING:
    from gluonx.block.block import Block
    from gluonx.device import DeviceLike
    from gluonx.dtype import DTypeLike


_DYNAMIC = frozenset(["_contrib_boolean_mask", "_npi_unique", "_npx_nonzero", "_npi_bincount", "_npi_delete"])


class Symbol(Methods, Outputs):
    """One or several outputs of a graph; :mod:`gluonx.symbol` tells what symbols are.

    Examples
    --------
    >>> from gluonx import symbol as sym
    >>> data = sym.var("data")
    >>> net = sym.FullyConnected(data, num_hidden=3, name="fc")
    >>> net.list_arguments()
    ['data', 'fc_weight', 'fc_bias']
    >>> net.infer_shape(data=(2, 5))
    ([(2, 5), (3, 5), (3,)], [(2, 3)], [])
    """

    __slots__ = ("__weakref__", "_entries", "_modern", "_runner")
    __hash__ = object.__hash__

    def __init__(self, entries: Sequence[Entry], modern: bool = False) -> None:
        self._entries = list(entries)
        self._modern = modern
        self._runner: Any = None

    # ---------------------------------------------------------------- what it is made of

    def _walk(self) -> list[Node]:
        return walk(self._entries)

    def _variables(self) -> list[Node]:
        return variables(self._walk())

    def _of_each(self, what: Callable[[Entry], Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """Return what a function says of each argument, each output and each auxiliary state."""
        order = self._walk()
        aux = aux_nodes(order)
        nodes = variables(order)
        return (
            [what((node, 0)) for node in nodes if id(node) not in aux],
            [what(entry) for entry in self._entries],
            [what((node, 0)) for node in nodes if id(node) in aux],
        )

    @property
    def name(self) -> str | None:
        """The name of the node; None for a group of several."""
        nodes = {id(node): node for node, _ in self._entries}
        return next(iter(nodes.values())).name if len(nodes) == 1 else None

    def list_inputs(self) -> list[str]:
        """Return the names of all variables, in the order in which they are met."""
        return [node.name for node in self._variables()]

    def list_arguments(self) -> list[str]:
        """Return the names of the variables that are no auxiliary states."""
        return self._of_each(entry_name)[0]

    def list_auxiliary_states(self) -> list[str]:
        """Return the names of the variables that operators write to, such as moving averages."""
        return self._of_each(entry_name)[2]

    def list_outputs(self) -> list[str]:
        """Return the names of the outputs."""
        return [entry_name(entry) for entry in self._entries]

    @property
    def num_outputs(self) -> int:
        """The number of outputs."""
        return len(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Symbol]:
        return (self[i] for i in range(len(self._entries)))

    def __getitem__(self, index: int | str | slice) -> Symbol:
        """One output, by number or name, or several by a slice.

        Raises
        ------
        ValueError, IndexError
            If there is no such output, or several of that name.
        """
        if isinstance(index, str):
            found = [i for i, name in enumerate(self.list_outputs()) if name == index]
            if len(found) != 1:
                what = "has no output" if not found else f"has {len(found)} outputs"
                raise ValueError(f"the symbol {what} called '{index}'; list_outputs() names them all")
            index = found[0]
        if isinstance(index, slice):
            return Symbol(self._entries[index], self._modern)
        if not -len(self._entries) <= index < len(self._entries):
            raise IndexError(f"the symbol has {len(self._entries)} outputs; there is no number {index}")
        return Symbol([self._entries[index]], self._modern)

    def get_internals(self) -> Symbol:
        """All outputs of all nodes below, as one symbol: ``net.get_internals()['fc1_output']`` cuts a net there."""
        return Symbol([(node, i) for node in self._walk() for i in range(node.nout)], self._modern)

    def get_children(self) -> Symbol | None:
        """Return the inputs of the node, as one symbol; None for a variable."""
        entries = [entry for node in dict.fromkeys(n for n, _ in self._entries) for entry in node.inputs]
        return Symbol(entries, self._modern) if entries else None

    def __repr__(self) -> str:
        if self.name is not None:
            return f"<Symbol {self.name}>"
        return f"<Symbol group [{', '.join(node.name for node, _ in self._entries)}]>"

    def _repr_html_(self) -> str:
        """Show the nodes of the graph, each with its operator, inputs and attributes; for notebooks."""
        rows = []
        for node in self._walk():
            attrs = ", ".join(f"{name}={value}" for name, value in node.attrs.items())
            inputs = ", ".join(entry_name(entry) for entry in node.inputs)
            rows.append((node.name, node.op.name if node.op else "variable", inputs, attrs))
        counts = f"{len(rows)} nodes · {len(self._variables())} variables · {len(self)} outputs"
        return html.folding(
            f"{self!r} · {counts}", [html.table(("node", "operator", "inputs", "attributes"), rows)], True
        )

    def __bool__(self) -> bool:
        raise TypeError("a symbol has no value to test; compare names, or evaluate it")

    def __copy__(self) -> Symbol:
        return Symbol(self._entries, self._modern)

    def __reduce__(self) -> Any:
        return _unpickled, (self.tojson(), self._modern)

    def __deepcopy__(self, memo: object) -> Symbol:
        return Symbol(_copied(self._entries, {}), self._modern)

    # ---------------------------------------------------------------- attributes

    def attr(self, key: str) -> str | None:
        """Return the attribute `key` of the node as text; None where there is none."""
        return self.list_attr().get(key)

    def list_attr(self, recursive: bool = False) -> dict[str, str]:
        """All attributes of the node, hidden ones (``__lr_mult__``) under both spellings.

        Raises
        ------
        DeprecationWarning
            With `recursive`, as in MXNet, which took it away: :meth:`attr_dict` has the attributes of all nodes.
        """
        if recursive:
            raise DeprecationWarning("list_attr: recursive=True is gone, as in MXNet; attr_dict() has all nodes")
        if self.name is None:
            return {}
        return _both(self._entries[0][0].attrs)

    def attr_dict(self) -> dict[str, dict[str, str]]:
        """Return the attributes of every node that has some, by its name."""
        return {node.name: _both(node.attrs) for node in self._walk() if node.attrs}

    def _set_attr(self, **kwargs: str) -> None:
        for key, value in kwargs.items():
            if not isinstance(value, str):
                raise ValueError(f"attributes must be strings, but '{key}' is {value!r}")
            self._entries[0][0].attrs[key] = value

    # ---------------------------------------------------------------- composing

    def __call__(self, *args: Symbol, **kwargs: Any) -> Symbol:
        """Compose: the graph with symbols in the place of variables: by position of the arguments, or by name.

        Raises
        ------
        TypeError
            If both are given, or something else than symbols.
        ValueError
            If there is no variable of a name.
        """
        kwargs.pop("name", None)
        if args and kwargs:
            raise TypeError("compose a symbol by position or by name, not by both")
        names = self.list_arguments()
        if len(args) > len(names):
            raise TypeError(f"the symbol has {len(names)} arguments, got {len(args)}")
        given = dict(zip(names, args, strict=False)) or kwargs
        for key, value in given.items():
            if not isinstance(value, Symbol) or len(value) != 1:
                raise TypeError(f"a symbol of one output was expected for '{key}', got {value!r}")
            if key not in self.list_inputs():
                raise ValueError(f"the symbol has no variable '{key}' (it has: {', '.join(self.list_inputs())})")
        new = {id(node): given[node.name]._entries[0] for node in self._variables() if node.name in given}
        return Symbol(_copied(self._entries, new), self._modern)

    def __neg__(self) -> Symbol:
        return self * -1.0

    def __abs__(self) -> Symbol:
        return function("abs")(self)

    @property
    def T(self) -> Symbol:
        """The symbol with its axes in the reverse order."""
        return function("_npi_transpose", "transpose")(self)

    def cumsum(self, axis: Any = None, dtype: DTypeLike = None, out: Any = None) -> Symbol:
        """Sum up to each element, along an axis or of all; `out` means nothing here and below, as in MXNet."""
        return function("_npi_cumsum", "cumsum")(self, axis=axis, dtype=dtype)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Symbol:
        """Return the diagonals of two axes."""
        return function("_npi_diagonal", "diagonal")(self, offset=offset, axis1=axis1, axis2=axis2)

    def dot(self, b: Symbol, out: Any = None) -> Symbol:
        """Return the product of matrices, as :func:`gluonx.np.dot`."""
        return function("_npi_dot", "dot")(self, b)

    def std(
        self, axis: Any = None, dtype: DTypeLike = None, out: Any = None, ddof: int = 0, keepdims: bool = False
    ) -> Symbol:
        """Return the standard deviation along axes."""
        return function("_npi_std", "std")(self, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims)

    def var(
        self, axis: Any = None, dtype: DTypeLike = None, out: Any = None, ddof: int = 0, keepdims: bool = False
    ) -> Symbol:
        """Return the variance along axes."""
        return function("_npi_var", "var")(self, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims)

    def get_inputs(self) -> Symbol:
        """Return the variables of the graph, as one symbol.

        Examples
        --------
        >>> from gluonx import symbol as sym
        >>> (sym.var("a") + sym.var("b")).get_inputs().list_outputs()
        ['a', 'b']
        """
        return Symbol([(node, 0) for node in self._variables()], self._modern)

    def has_dynamic_shape_op(self) -> bool:
        """Return whether the shape that some operator gives depends on values."""
        return any(node.op is not None and node.op.name in _DYNAMIC for node in self._walk())

    def optimize_for(
        self,
        backend: str,
        args: Any = None,
        aux: Any = None,
        ctx: DeviceLike = None,
        shape_dict: Any = None,
        type_dict: Any = None,
        stype_dict: Any = None,
        skip_infer: bool = False,
        **kwargs: Any,
    ) -> Symbol:
        """Itself: XLA compiles what is bound, and there are no other backends to cut the graph for."""
        return self

    def gradient(self, wrt: Sequence[str]) -> Symbol:
        """Raise GluonxError, as MXNet does: gradients are those of what is bound, by :meth:`Executor.backward`."""
        raise GluonxError("Symbol.gradient does not exist, as in MXNet: bind the symbol, and call backward()")

    def get_backend_symbol(self, backend: str) -> Symbol:
        """Itself, as :meth:`optimize_for`."""
        return self

    def as_np_ndarray(self) -> Symbol:
        """Itself: symbols are of one kind here."""
        return self

    as_nd_ndarray = as_np_ndarray

    # ---------------------------------------------------------------- shapes and types

    def infer_shape(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """Return the shapes of arguments, outputs and auxiliary states, from those of some arguments.

        Parameters
        ----------
        *args : tuple or None
            Shapes by position of the arguments.
        **kwargs : tuple
            Shapes by name; 0 in one is an unknown dimension.

        Returns
        -------
        arg_shapes, out_shapes, aux_shapes : lists of tuple
            All None, with a warning, where not all of them can be told.

        Raises
        ------
        ShapeError
            If shapes contradict each other; the message names the node.
        """
        found = self._shapes(args, kwargs)
        unknown = [n for n, s in zip(self.list_inputs(), found[3], strict=True) if not infer.complete(s) and s != ()]
        outs_known = all(s is not None and all(n > 0 for n in s) for s in found[1])
        if unknown or not outs_known:
            told = "\n\t".join(unknown[:10]) or "the outputs"
            warn(f"Cannot decide the shapes of:\n\t{told}\nGive the shapes of more inputs.")
            return None, None, None
        return found[0], found[1], found[2]

    def infer_shape_partial(self, *args: Any, **kwargs: Any) -> tuple[list[Any], list[Any], list[Any]]:
        """As :meth:`infer_shape`, with what is unknown in it.

        A shape is ``()`` and a single dimension 0 then; after ``set_np_shape()``, where these are shapes that there
        are, None and -1.
        """
        arguments, outputs, aux, _ = self._shapes(args, kwargs)

        def plain(shapes: list[Any]) -> list[Any]:
            if Mode.shape:
                return [shape and tuple([n or -1 for n in shape]) for shape in shapes]
            return [() if shape is None else shape for shape in shapes]

        return plain(arguments), plain(outputs), plain(aux)

    def _known(self, args: Sequence[Any], kwargs: Mapping[str, Any], what: str) -> dict[str, Any]:
        names = self.list_arguments()
        if len(args) > len(names):
            raise TypeError(f"{what}: the symbol has {len(names)} arguments, got {len(args)}")
        known = {n: v for n, v in zip(names, args, strict=False) if v is not None}
        strange = [n for n in kwargs if n not in self.list_inputs()]
        if strange:
            raise ValueError(f"{what}: the symbol has no variable '{strange[0]}' (it has: {', '.join(names)})")
        return {**known, **{n: v for n, v in kwargs.items() if v is not None}}

    def _shapes(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[list[Any], ...]:
        known = {n: tuple(max(int(d), 0) for d in s) for n, s in self._known(args, kwargs, "infer_shape").items()}
        types = {i: t for i, t in infer.dtypes(self._entries, {}).items() if t is not None}
        found = infer.shapes(self._entries, known, types)
        by_role = self._of_each(lambda entry: found.get((id(entry[0]), entry[1])))
        return (*by_role, [found[id(n), 0] for n in self._variables()])

    def infer_type(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """Return the dtypes of arguments, outputs and auxiliary states, from those of some arguments.

        Returns
        -------
        arg_types, out_types, aux_types : lists of NumPy scalar types
            All None where not all of them can be told.
        """
        found = self.infer_type_partial(*args, **kwargs)
        return (None, None, None) if any(t is None for part in found for t in part) else found

    def infer_type_partial(self, *args: Any, **kwargs: Any) -> tuple[list[Any], list[Any], list[Any]]:
        """As :meth:`infer_type`, with None for what is unknown."""
        found = infer.dtypes(self._entries, self._known(args, kwargs, "infer_type"))

        def kind(entry: Entry) -> Any:
            dtype = found.get(id(entry[0]))
            return None if dtype is None else dtype.type

        return self._of_each(kind)

    # ---------------------------------------------------------------- files

    def tojson(self, remove_amp_cast: bool = True, modern: bool | None = None) -> str:
        """Return the graph as the JSON of ``-symbol.json`` files.

        Parameters
        ----------
        remove_amp_cast : bool
            Accepted for ported code.
        modern : bool, optional
            Whether as MXNet 2 in NumPy mode writes it, or as MXNet 1; by default as the operators in it ask for.
        """
        return files.dump(self._entries, self._is_modern() if modern is None else modern)

    def save(self, fname: str | os.PathLike[str], remove_amp_cast: bool = True, modern: bool | None = None) -> None:
        """Write :meth:`tojson` to a file, atomically."""
        files.write(fname, self._entries, self._is_modern() if modern is None else modern)

    def _is_modern(self) -> bool:
        return self._modern or any(n.op is not None and n.op.name.startswith("_np") for n in self._walk())

    def debug_str(self) -> str:
        """Return a line for each node: what it is, and what goes in."""
        lines = []
        for node in self._walk():
            if node.op is None:
                lines.append(f"Variable:{node.name}")
            else:
                inputs = ", ".join(entry_name(entry) for entry in node.inputs)
                lines.append(f"{node.op.name}, Name={node.name}, Inputs: {inputs}")
        return "\n".join(lines)

    # ---------------------------------------------------------------- running

    def eval(self, ctx: DeviceLike = None, **kwargs: Any) -> list[ndarray]:
        """Compute the outputs for these values of the variables, as one program.

        Parameters
        ----------
        ctx : Device, optional
            Accepted for ported code.
        **kwargs : array
            By the variables' names.

        Raises
        ------
        ValueError
            If a variable has no value; all of them are named.
        """
        names = self.list_inputs()
        missing = [n for n in names if n not in kwargs]
        if missing:
            raise ValueError(f"eval: there is no value for {', '.join(map(repr, missing))}")
        if self._runner is None:
            self._runner = GraphBlock(self._entries, self._variables())
        return self._runner(*[v if isinstance(v, ndarray) else gnp.array(v) for v in (kwargs[n] for n in names)])

    def bind(
        self,
        ctx: DeviceLike = None,
        args: Any = None,
        args_grad: Any = None,
        grad_req: str | Sequence[str] | Mapping[str, str] = "write",
        aux_states: Any = None,
        group2ctx: Any = None,
        shared_exec: Any = None,
        static_alloc: bool = False,
    ) -> Executor:
        """Put arrays to the variables.

        Parameters
        ----------
        ctx, group2ctx, shared_exec, static_alloc
            Accepted for ported code.
        args, aux_states : list or dict of arrays
            Values of the arguments and auxiliary states; :meth:`Executor.forward` writes to the latter in training.
        args_grad : list or dict of arrays, optional
            Where gradients go.
        grad_req : {'write', 'add', 'null'}, or list or dict of them

        Returns
        -------
        Executor
        """
        return Executor(self, args, args_grad, grad_req, aux_states)

    def simple_bind(
        self,
        ctx: DeviceLike = None,
        grad_req: Any = "write",
        type_dict: Mapping[str, Any] | None = None,
        stype_dict: Any = None,
        group2ctx: Any = None,
        shared_arg_names: Any = None,
        shared_exec: Any = None,
        shared_buffer: Any = None,
        **kwargs: Any,
    ) -> Executor:
        """Put zeros to all variables, their shapes found from those that are given, and bind them.

        Parameters
        ----------
        ctx, group2ctx, shared_arg_names, shared_exec, shared_buffer
            Accepted for ported code.
        grad_req : {'write', 'add', 'null'}, or list or dict of them
        type_dict : dict of str to dtype, optional
            Dtypes by the variables' names.
        stype_dict : dict of str to str, optional
            Storage by the variables' names, else as they declare it: csr matrices stay so, and their products with
            `dot` look at what is stored only. Everything else is dense.
        **kwargs : tuple
            Shapes by the variables' names.

        Raises
        ------
        ShapeError
            If the given shapes do not tell all others.
        """
        inputs = self.list_inputs()
        strange = [n for n in kwargs if n not in inputs]
        if strange:
            raise ValueError(f"simple_bind: the symbol has no variable '{strange[0]}' (it has: {', '.join(inputs)})")
        arguments, _, aux = self.infer_shape(**kwargs)
        if arguments is None or aux is None:
            raise ShapeError("simple_bind: the given shapes do not tell those of all arguments")
        types = infer.dtypes(self._entries, type_dict or {})
        dtype = {node.name: types.get(id(node)) or np.dtype(np.float32) for node in self._variables()}

        def zeros(names: list[str], shapes: list[Any]) -> dict[str, Any]:
            return {n: gnp.zeros(s, dtype=dtype[n]) for n, s in zip(names, shapes, strict=True)}

        names = self.list_arguments()
        kinds = {node.name: node.attrs.get("__storage_type__") for node in self._variables()} | dict(stype_dict or {})
        sparse = {n for n, kind in kinds.items() if kind in ("2", "csr")}
        args, states = zeros(names, arguments), zeros(self.list_auxiliary_states(), aux)
        wide = dict(zip(names, arguments, strict=True))
        args.update({n: sparse_zeros("csr", wide[n], dtype=dtype[n]) for n in names if n in sparse})
        grads = {n: g for n, g in zeros(names, arguments).items() if dtype[n].kind not in "iub" and n not in sparse}
        reqs = grad_req if not isinstance(grad_req, str) else {n: grad_req if n in grads else "null" for n in names}
        return Executor(self, args, grads, reqs, states)

    _bind, _simple_bind = bind, simple_bind

    def __call_block__(self, block: Block, args: tuple[Any, ...]) -> Any:
        """Call a block with symbols; see `gluonx.common.extensions`."""
        return NAMES["gluonx.symbol.call"](block, args)


Outputs.kind = Symbol


def _unpickled(text: str, modern: bool) -> Symbol:
    return Symbol(files.parse(text)[0], modern)


def _both(attrs: Mapping[str, str]) -> dict[str, str]:
    """MXNet lists what is hidden under both of its names."""
    plain = {k.strip("_"): v for k, v in attrs.items() if k.startswith("__") and is_hidden(k.strip("_"))}
    marked = {f"__{k}__": v for k, v in attrs.items() if not k.startswith("__") and is_hidden(k)}
    return {**marked, **attrs, **plain}


def _copied(entries: Sequence[Entry], replaced: Mapping[int, Entry]) -> list[Entry]:
    """Copy the graph, with entries in the place of some nodes."""
    new: dict[int, Node] = {}

    def moved(entry: Entry) -> Entry:
        node, index = entry
        return replaced.get(id(node)) or (new[id(node)], index)

    for node in walk(entries):
        if id(node) not in replaced:
            new[id(node)] = Node(node.name, node.op, [moved(e) for e in node.inputs], node.attrs, node.subgraphs)
    return [moved(entry) for entry in entries]
