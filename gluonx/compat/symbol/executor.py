"""A symbol with arrays bound to its variables: ``forward``, ``backward``, and the gradients in their places."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gluonx import autograd
from gluonx import np as gnp
from gluonx.compat.symbol.graph import Entry, Node
from gluonx.compat.symbol.run import CsrInput, GraphBlock, plan, run
from gluonx.errors import GraphError, ShapeError
from gluonx.np.handle import ndarray
from gluonx.sparse import BaseSparseNDArray, CSRNDArray, cast_storage, zeros

if TYPE_CHECKING:
    from gluonx.compat.symbol.symbol import Symbol

_REQS = ("write", "add", "null")
_RANDOM = re.compile(r"^_?(npi_)?(random|sample|shuffle|multinomial|uniform|normal|bernoulli|choice|image_random)")


def whole(value: Any) -> Any:
    """Return a value for a parameter with all of its rows: files and ``get_params`` may have it as row_sparse."""
    return value.tostype("default") if isinstance(value, BaseSparseNDArray) else value


class Executor:
    """The executor that ``Symbol.bind`` and ``Symbol.simple_bind`` return.

    Attributes
    ----------
    arg_dict, grad_dict, aux_dict : dict of str to gluonx.np.ndarray
        By the names of the arguments and auxiliary states; ``arg_arrays``, ``grad_arrays`` and ``aux_arrays`` are the
        lists in the symbol's order, with None for a gradient that nobody asked for.
    outputs : list of gluonx.np.ndarray
        Of the last :meth:`forward`, which writes into the arrays that are there; before the first, zeros.
    """

    def __init__(
        self,
        symbol: Symbol,
        args: Any,
        args_grad: Any = None,
        grad_req: str | Sequence[str] | Mapping[str, str] = "write",
        aux_states: Any = None,
        block: GraphBlock | None = None,
    ) -> None:
        self._symbol = symbol
        self._outputs: list[ndarray] = []  # what users hold
        self._results: list[ndarray] = []  # what the last forward gave
        self._trained = self._taped = False  # whether that was in training, and whether a backward can be had of it
        names, aux = symbol.list_arguments(), symbol.list_auxiliary_states()
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"bind: two variables are called '{twice}'; make one, and use it in both places")
        self.arg_dict = _by_name(args, names, "args", "argument")
        self.aux_dict = _by_name(aux_states, aux, "aux_states", "auxiliary state")
        reqs = _requests(grad_req, names)
        wanted = [n for n in names if reqs[n] != "null"]
        if args_grad is None:
            self.grad_dict: dict[str, Any] = {}
        elif isinstance(args_grad, Mapping):
            self.grad_dict = {n: args_grad[n] for n in wanted if args_grad.get(n) is not None}
        else:
            given = list(args_grad)
            if len(given) != len(names):
                raise ValueError(f"args_grad must have one array for each of {len(names)} arguments, got {len(given)}")
            self.grad_dict = {n: g for n, g in zip(names, given, strict=True) if g is not None and n in wanted}
        by_rows = self._looked_up()
        self._by_rows = False
        for name, grad in list(self.grad_dict.items()):
            array = self.arg_dict[name]
            if name in by_rows and array.ndim == 2 and reqs[name] == "write":
                array.attach_grad(reqs[name], stype="row_sparse")  # optimizers look at the rows that a batch has
                self.grad_dict[name], self._by_rows = array.grad, True
            else:
                autograd.mark_variables([array], [grad], [reqs[name]])
        self._reqs = reqs
        nodes = {node.name: node for node in symbol._variables()}
        # Executors of one symbol for inputs of other shapes share the block, and so what it has compiled.
        self._block = block or GraphBlock(symbol._entries, [nodes[n] for n in (*names, *aux)])
        self._monitor: Any = None

    def _looked_up(self) -> set[str]:
        """Return the arguments of which a batch has some rows.

        They are tables of embeddings with ``sparse_grad=True``, and row_sparse matrices that csr matrices are
        multiplied with, as far as they are used for nothing else.
        """
        found, whole = set[str](), set[str]()
        for node in self._symbol._walk():
            first = node.inputs[0][0].name if node.inputs else ""
            name = node.op.name if node.op is not None else ""
            of_csr = name == "dot" and isinstance(self.arg_dict.get(first), CSRNDArray) and not node.parsed.transpose_a
            table = name.endswith("SparseEmbedding") or (name.endswith("Embedding") and node.parsed.sparse_grad)
            for place, (source, _) in enumerate(node.inputs):
                marked = source.attrs.get("__storage_type__") == "1"
                rows = (table and place == 1) or (of_csr and marked)
                (found if rows else whole).add(source.name)
        return found - whole

    arg_arrays = property(lambda self: [self.arg_dict[n] for n in self._symbol.list_arguments()])
    grad_arrays = property(lambda self: [self.grad_dict.get(n) for n in self._symbol.list_arguments()])
    aux_arrays = property(lambda self: [self.aux_dict[n] for n in self._symbol.list_auxiliary_states()])

    @property
    def outputs(self) -> list[ndarray]:
        """The results of the last :meth:`forward`; before the first, zeros."""
        if not self._outputs:
            known = {name: array.shape for name, array in self.arg_dict.items()}
            _, shapes, _ = self._symbol.infer_shape_partial(**known)
            types = self._symbol.infer_type_partial(**{name: array.dtype for name, array in self.arg_dict.items()})[1]
            self._outputs = [gnp.zeros(s, dtype=t or np.float32) for s, t in zip(shapes, types, strict=True)]
        return list(self._outputs)

    @property
    def output_dict(self) -> dict[str, ndarray]:
        """The outputs by name."""
        return dict(zip(self._symbol.list_outputs(), self.outputs, strict=False))

    def forward(self, is_train: bool = False, **kwargs: Any) -> list[ndarray]:
        """Compute the outputs.

        Parameters
        ----------
        is_train : bool
            Whether a :meth:`backward` may follow, and whether layers behave as in training.
        **kwargs : array
            New values for arguments, written into the bound arrays.

        Returns
        -------
        list of gluonx.np.ndarray

        Raises
        ------
        ShapeError
            If a new value has another shape than the array that is bound.
        TypeError
            If there is no argument of that name.
        """
        for name, value in kwargs.items():
            target = self.arg_dict.get(name)
            if target is None:
                raise TypeError(f"forward: the symbol has no argument '{name}' (it has: {', '.join(self.arg_dict)})")
            if isinstance(target, CSRNDArray):
                value = value if isinstance(value, CSRNDArray) else cast_storage(gnp.array(value), "csr")
            value = value if isinstance(value, ndarray | CSRNDArray) else gnp.array(value)
            if value.shape != target.shape:
                raise ShapeError(f"forward: '{name}' is bound to shape {target.shape}, but {value.shape} came")
            if isinstance(value, CSRNDArray) and isinstance(target, CSRNDArray):
                self.arg_dict[name] = value
            else:
                target[...] = value
        monitor = None if self._monitor is None or not self._monitor.wanted() else self._monitor
        with autograd.record() if is_train else autograd.predict_mode():
            if monitor is not None and is_train and not self._by_rows:
                outputs = self._run(monitor)
            else:
                outputs = self._run(self._block if monitor is None else monitor.block)
        self._trained, self._taped = is_train, is_train
        count = len(self._symbol._entries)
        self._write(outputs[:count])
        if monitor is not None:
            monitor.show(outputs[count:])
        return self.outputs

    def _run(self, block: Any) -> list[ndarray]:
        """Return what a block of the graph gives for the bound arrays."""
        bound = [*self.arg_dict.values(), *self.aux_dict.values()]
        values = [(*v.padded(), *v.shape) if isinstance(v, CSRNDArray) else v for v in bound]
        run = block._run_forward if self._by_rows else block  # a traced call gives whole gradients of its inputs
        return run(*values)

    def _record_again(self) -> None:
        """Record the last forward for another backward, which leaves states as they are."""
        random = [node.name for node in self._symbol._walk() if _draws(node, self._trained)]
        if random:
            raise GraphError(
                f"backward: what {', '.join(random)} drew is not there any more; call forward(is_train=True) before "
                "each backward."
            )
        states = {name: array.copy() for name, array in self.aux_dict.items()}
        with autograd.record(train_mode=self._trained):
            self._results = self._run(self._block)[: len(self._symbol._entries)]
        for name, before in states.items():
            self.aux_dict[name][...] = before

    def _write(self, values: list[ndarray]) -> None:
        """Put what was computed into the arrays of outputs, which share it."""
        alike = [array.shape for array in self._outputs] == [value.shape for value in values]
        self._results = list(values)
        if not alike or any(value.aval is not None and value.aval.spread for value in values):
            self._outputs = list(values)
            return
        for array, value in zip(self._outputs, values, strict=True):
            array._assign(value)

    def set_monitor_callback(
        self, callback: Callable[[str, Any], None], monitor_all: bool = False, wanted: Callable[[], bool] | None = None
    ) -> None:
        """Have ``callback(name, array)`` called for every output within the symbol.

        After a forward it is shown what each operator gave, and before a backward what each gives to its inputs, under
        the names of MXNet's operators of a backward, ``fc1_backward_output0``. A forward for training runs operator by
        operator then. Where gradients are kept by rows, the backward is not shown.

        Parameters
        ----------
        callback : callable
        monitor_all : bool
            Whether arguments and auxiliary states are shown too.
        wanted : callable, optional
            Says whether the next forward is to be shown; another one costs no more than without a callback.
        """
        nodes = {node.name: node for node in self._symbol._variables()}
        variables = [nodes[n] for n in (*self.arg_dict, *self.aux_dict)]
        self._monitor = _Monitor(
            self._symbol, variables, set(self.grad_dict), callback, monitor_all, wanted or (lambda: True)
        )

    def backward(self, out_grads: ndarray | Sequence[ndarray] | None = None, is_train: bool = True) -> None:
        """Compute the gradients of what the last :meth:`forward` gave, as often as it is called.

        The first one after ``forward(is_train=True)`` has what was recorded then; another one, or one after
        ``forward()``, computes the outputs again from the arrays as they are.

        Parameters
        ----------
        out_grads : array or list of arrays, optional
            The gradients of the outputs; ones by default. Loss operators (SoftmaxOutput, ...) take no notice of them.
            Those at the end may be left away for losses, and for outputs that no gradient comes from.
        is_train : bool
            Accepted for ported code.

        Raises
        ------
        GraphError
            If there was no forward, or layers that draw numbers would draw other ones for a second backward.
        ValueError
            If there is no gradient for an output that needs one.
        """
        if not self._results:
            raise GraphError("backward: call forward(is_train=True) first")
        if not self._taped:
            self._record_again()
        heads, grads = self._results, None
        if out_grads is not None:
            grads = list(out_grads) if isinstance(out_grads, list | tuple) else [out_grads]
            grads = grads[: len(heads)]
            for number, entry in list(enumerate(self._symbol._entries))[len(grads) :]:
                if self._needs_gradient(entry):
                    told = self._symbol.list_outputs()[number]
                    raise ValueError(f"backward: the output '{told}' is no loss, so it needs a gradient too")
            heads = heads[: len(grads)] + [h for h, e in self._rest(len(grads)) if _is_loss(e[0])]
            grads += [gnp.ones_like(head) for head in heads[len(grads) :]]
        self._taped = False
        if self._monitor is not None:
            self._monitor.show_gradients(heads, grads)
        autograd.backward(heads, grads)

    def _rest(self, count: int) -> list[tuple[ndarray, Entry]]:
        """Return the outputs behind the first `count`."""
        return list(zip(self._results, self._symbol._entries, strict=True))[count:]

    def _needs_gradient(self, entry: Entry) -> bool:
        """Return whether a gradient of this output would come to an argument that wants one."""
        stack, seen = [entry[0]], set()
        while stack:
            node = stack.pop()
            if id(node) in seen or _is_loss(node) or (node.op is not None and node.op.name == "BlockGrad"):
                continue
            seen.add(id(node))
            if node.op is None and self._reqs.get(node.name, "null") != "null":
                return True
            stack += [source for source, _ in node.inputs]
        return False

    def copy_params_from(
        self,
        arg_params: Mapping[str, Any],
        aux_params: Mapping[str, Any] | None = None,
        allow_extra_params: bool = False,
    ) -> None:
        """Write values into the bound arrays.

        Raises
        ------
        ValueError
            If a name is none of the symbol's, unless `allow_extra_params`.
        """
        for values, bound, what in (
            (arg_params, self.arg_dict, "argument"),
            (aux_params or {}, self.aux_dict, "state"),
        ):
            for name, value in values.items():
                if name in bound:
                    bound[name][...] = whole(value)
                elif not allow_extra_params:
                    raise ValueError(f"copy_params_from: the symbol has no {what} '{name}'")

    def reshape(self, partial_shaping: bool = False, allow_up_sizing: bool = False, **kwargs: Any) -> Executor:
        """Return an executor for inputs of other shapes, with the same parameters.

        Parameters
        ----------
        partial_shaping : bool
            Whether arguments that are not named may get another shape, as new arrays of zeros.
        allow_up_sizing : bool
            Whether an argument may have more elements than before.
        **kwargs : tuple
            The new shapes by argument.

        Notes
        -----
        With fewer rows an input that wants no gradient is the first rows of this executor's, and so are the outputs: a
        write to one shows in the other. An input with a gradient begins with these values, and is an array of its own.

        Raises
        ------
        ShapeError
            If the shapes do not tell those of all arguments, change one that is not named, or give one more elements.
        """
        made = self.reshaped(kwargs, partial_shaping, shared=True, larger=allow_up_sizing)
        own, new = self.outputs, made.outputs
        if own and all(_are_first_rows(a, b.shape) for a, b in zip(own, new, strict=True)):
            self._outputs = own
            made._outputs = [a[: b.shape[0]] for a, b in zip(own, new, strict=True)]
        return made

    def reshaped(
        self, given: Mapping[str, Any], partial_shaping: bool, *, shared: bool, larger: bool = True
    ) -> Executor:
        """Return an executor for inputs of other shapes, which shares inputs (if it is `shared`) and no outputs."""
        shapes, _, aux = self._symbol.infer_shape(**given)
        names = self._symbol.list_arguments()
        if shapes is None or aux is None:
            raise ShapeError("reshape: the given shapes do not tell those of all arguments")
        args = {}
        for name, shape in zip(names, shapes, strict=True):
            old = self.arg_dict[name]
            if old.shape == shape:
                args[name] = old
            elif name not in given and not partial_shaping:
                raise ShapeError(
                    f"reshape: '{name}' would have shape {shape} instead of {old.shape}; with partial_shaping=True it "
                    "becomes a new array of zeros"
                )
            elif math.prod(shape) > old.size and not larger:
                raise ShapeError(
                    f"reshape: '{name}' would have shape {shape}, which has more elements than {old.shape}; "
                    "allow_up_sizing=True makes a new array"
                )
            elif _are_first_rows(old, shape) and not isinstance(old, CSRNDArray):
                rows = old[: shape[0]]
                args[name] = rows if shared and name not in self.grad_dict else rows.copy()
            elif isinstance(old, CSRNDArray):
                args[name] = zeros("csr", shape, dtype=old.dtype)
            else:
                args[name] = gnp.zeros(shape, dtype=old.dtype)
        grads = {
            n: grad if grad.shape == args[n].shape else gnp.zeros(args[n].shape, dtype=args[n].dtype)
            for n, grad in self.grad_dict.items()
        }
        made = Executor(self._symbol, args, grads, self._reqs, dict(self.aux_dict), self._block)
        made._monitor = self._monitor
        return made


def _are_first_rows(array: ndarray, shape: tuple[int, ...]) -> bool:
    """Return whether arrays of this shape are the first rows of `array`."""
    return bool(shape) and array.shape[1:] == shape[1:] and shape[0] <= array.shape[0]


class _Monitor:
    """A symbol's block that gives what is within it too, and what is told of that.

    It can be called as the block is. Operators run one by one then, on copies of their inputs: each has a place of its
    own in the recorded graph, whose gradient is what this operator gives back, also where several read one array.
    """

    def __init__(
        self,
        symbol: Symbol,
        variables: list[Any],
        trained: set[str],
        callback: Callable[[str, Any], None],
        all_too: bool,
        wanted: Any,
    ) -> None:
        inner = symbol.get_internals()
        pairs = list(zip(inner._entries, inner.list_outputs(), strict=True))
        self.callback, self.wanted = callback, wanted
        self.names = [name for (node, _), name in pairs if all_too or node.op is not None]
        entries = [entry for entry, _ in pairs if all_too or entry[0].op is not None]
        # One block gives both, so that what is shown is what was computed: dropout draws once.
        self.block = GraphBlock([*symbol._entries, *entries], variables)
        self._asked, self._states = [*symbol._entries, *entries], set(symbol.list_auxiliary_states())
        self._order, self._variables = plan(self._asked), variables
        self._read: list[tuple[Node, list[tuple[Any, bool]]]] = []
        self._reached = set[int]()  # nodes through which a gradient comes to an argument that wants one
        self._trained = trained

    def __call__(self, *values: Any) -> list[Any]:
        self._read, self._reached = [], set()
        taken = [CsrInput(*value) if isinstance(value, tuple) else value for value in values]
        known = {id(node): value for node, value in zip(self._variables, taken, strict=True)}
        return run(self._order, self._asked, known, self._copied)

    def _copied(self, node: Node, inputs: list[Any]) -> list[Any]:
        states = [source.op is None and source.name in self._states for source, _ in node.inputs]
        wanted = [source.name in self._trained or id(source) in self._reached for source, _ in node.inputs]
        if any(wanted) and node.op is not None and node.op.name != "BlockGrad":
            self._reached.add(id(node))
            inputs = [
                value.copy() if want and _has_gradient(value) else value
                for value, want in zip(inputs, wanted, strict=True)
            ]
            gradients = zip(inputs, wanted, states, strict=True)
            self._read.append((node, [(value, want) for value, want, state in gradients if not state]))
        return inputs

    def show_gradients(self, heads: Sequence[Any], grads: Any) -> None:
        """Show what the backward of these heads, which is still to come, gives to the inputs of each operator."""
        read, self._read = self._read, []
        if not self.wanted() or not read:
            return
        places = [value for _, copies in read for value, want in copies if want and _has_gradient(value)]
        found = dict(zip(map(id, places), autograd.grad(heads, places, grads, retain_graph=True), strict=True))
        for node, copies in reversed(read):
            for place, (value, _) in enumerate(copies):
                if isinstance(value, ndarray):
                    name = f"{node.name}_backward_output{place if len(copies) > 1 else ''}"
                    self.callback(name, found[id(value)] if id(value) in found else gnp.zeros_like(value))

    def show(self, arrays: Sequence[Any]) -> None:
        for name, array in zip(self.names, arrays, strict=True):
            self.callback(name, array)


def _has_gradient(value: Any) -> bool:
    """Return whether an input of an operator can have a gradient."""
    return isinstance(value, ndarray) and np.issubdtype(value.dtype, np.floating)


def _draws(node: Node, trained: bool) -> bool:
    """Return whether a node draws random numbers, in training or not."""
    if node.op is None:
        return False
    name, attrs = node.op.name, node.parsed
    if name in ("Dropout", "_npx_dropout"):
        return trained or attrs.get("mode") == "always"
    if name == "RNN":
        return trained and bool(attrs.get("p"))
    return _RANDOM.match(name) is not None or (trained and attrs.get("act_type") == "rrelu")


def _is_loss(node: Node) -> bool:
    """Return whether an operator makes its own gradient."""
    return node.op is not None and node.op.loss


def _by_name(
    values: list[ndarray] | dict[str, Any] | None, names: Sequence[str], argument: str, what: str
) -> dict[str, ndarray]:
    if values is None:
        values = []
    if isinstance(values, Mapping):
        missing = [n for n in names if n not in values]
        given = [values[n] for n in names if n in values]
    else:
        given = list(values)
        missing = list(names[len(given) :])
        if len(given) > len(names):
            raise ValueError(f"{argument}: {len(names)} arrays were expected, got {len(given)}")
    if missing:
        raise ValueError(f"{argument}: there is no array for the {what} {', '.join(map(repr, missing))}")
    return dict(zip(names, [v if isinstance(v, ndarray | CSRNDArray) else gnp.array(v) for v in given], strict=True))


def _requests(grad_req: Any, names: Sequence[str]) -> dict[str, str]:
    if isinstance(grad_req, str):
        reqs = dict.fromkeys(names, grad_req)
    elif isinstance(grad_req, Mapping):
        reqs = {n: grad_req.get(n, "null") for n in names}
    else:
        reqs = dict(zip(names, grad_req, strict=True))
    bad = [f"'{n}': {r!r}" for n, r in reqs.items() if r not in _REQS]
    if bad:
        raise ValueError(f"grad_req must be 'write', 'add' or 'null', got {bad[0]}")
    return reqs
