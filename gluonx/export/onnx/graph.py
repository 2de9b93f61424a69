"""An ONNX graph while it is being made: values, nodes, constants, and the arithmetic of sizes that are open.

:class:`Graph` knows nothing of gluonx's operators and does not import ``onnx``: it is what the rules build with
(`gluonx.export.onnx.emit`), and what `gluonx.export.onnx.write` turns into a file. A :class:`Value` is a tensor by
its name; one that is known already (a constant, a parameter, or what was computed of them) carries its array, and is
written to the file only if some node takes it.

Sizes may be symbolic, as jax.export writes them (``b``, ``2*h + 1``). A shape that holds some becomes a constant with 0
or -1 where ONNX can tell the size by itself, else a few nodes that compute it of the inputs' shapes.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from gluonx.dtype import WIDE, keeping_64_bits
from gluonx.errors import GraphError, ShapeError

if TYPE_CHECKING:
    from gluonx.dtype import DTypeLike


Shape = tuple[Any, ...]
_SMALL = 64  # constants of up to so many elements are shared between their users
_INT64 = np.dtype(np.int64)


def is_static(shape: Iterable[Any]) -> bool:
    """Return whether all sizes are numbers."""
    return all(isinstance(n, int | np.integer) for n in shape)


def is_float(dtype: Any) -> bool:
    """Return whether an element type is one of floats, bfloat16 among them."""
    return bool(jnp.issubdtype(dtype, jnp.floating))


def same_size(one: Any, other: Any) -> bool:
    """Return whether two sizes are equal for sure."""
    return str(one) == str(other)


class Value:
    """A tensor of the graph.

    Attributes
    ----------
    name : str
    dtype : numpy.dtype
    shape : tuple
        Sizes, symbolic ones among them. Between the nodes of one rule it may be left open (``sized`` is False), and
        must not be asked for then.
    maker : Node or None
        The node that it is an output of.
    """

    __slots__ = ("_array", "_shape", "dtype", "maker", "name")

    def __init__(self, name: str, dtype: DTypeLike, shape: Shape | None, array: Any = None) -> None:
        self.name, self.dtype, self._shape, self._array = name, np.dtype(dtype), shape, array
        self.maker: Node | None = None

    @property
    def sized(self) -> bool:
        """True if the shape is kept."""
        return self._shape is not None

    @property
    def shape(self) -> Shape:
        """The sizes."""
        assert self._shape is not None, "a rule asks for a shape that it has not given"
        return self._shape

    @shape.setter
    def shape(self, shape: Shape) -> None:
        self._shape = tuple(shape)

    @property
    def known(self) -> bool:
        """True if its elements are known."""
        return self._array is not None

    @property
    def array(self) -> np.ndarray:
        """Its elements, if they are known."""
        if callable(self._array):
            self._array = self._array()
        return np.asarray(self._array)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __repr__(self) -> str:
        return f"<{self.name}: {self.dtype}{self._shape}>"


class Node:
    """One ONNX operator: its type, its inputs (None where one is left out), outputs and attributes."""

    __slots__ = ("attrs", "inputs", "kind", "name", "outputs")

    def __init__(self, kind: str, name: str, inputs: Sequence[Value | None], attrs: dict[str, Any]) -> None:
        self.kind, self.name, self.inputs, self.attrs = kind, name, list(inputs), attrs
        self.outputs: list[Value] = []

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>"


class Graph:
    """Nodes in the order in which they run; see the module's docstring."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.inputs: list[Value] = []
        self.outputs: list[Value] = []
        self.path = ""  # where in the model the next nodes belong
        self._shared: dict[Any, Value] = {}
        self._sizes: dict[str, Value] = {}

    # -------------------------------------------------------------- the end

    def finish(self, names: Sequence[str]) -> list[Value]:
        """Drop what no output needs, and give everything its name.

        Parameters
        ----------
        names : sequence of str
            Of the outputs.

        Returns
        -------
        list of Value
            The known values that nodes take: the initializers.
        """
        self._merge()
        seen: set[int] = {id(v) for v in self.inputs}
        for index, value in enumerate(self.outputs):  # an output has a name and a node of its own
            if value.maker is None or id(value) in seen:
                self.path = ""
                self.outputs[index] = self.node("Identity", value, shape=value.shape)
            seen.add(id(self.outputs[index]))
        live = {id(v.maker) for v in self.outputs}
        for node in reversed(self.nodes):
            if id(node) in live:
                live.update([id(v.maker) for v in node.inputs if v is not None and v.maker is not None])
        self.nodes = [node for node in self.nodes if id(node) in live]
        taken = {value.name for value in self.inputs} | set(names)
        for value, name in zip(self.outputs, names, strict=True):
            value.name = name
        return self._named(taken, {id(v) for v in self.outputs})

    def _merge(self) -> None:
        """Compute the same thing once: masks that every layer makes, for example."""
        first: dict[Any, Node] = {}
        instead: dict[int, Value] = {}
        for node in self.nodes:
            node.inputs = [v if v is None else instead.get(id(v), v) for v in node.inputs]
            key = (node.kind, tuple(map(id, node.inputs)), repr(sorted(node.attrs.items())), len(node.outputs))
            other = first.setdefault(key, node)
            if other is not node:
                instead.update({id(a): b for a, b in zip(node.outputs, other.outputs, strict=True)})
        self.outputs = [instead.get(id(v), v) for v in self.outputs]

    def _named(self, taken: set[str], outputs: set[int]) -> list[Value]:
        """Names for nodes and for the values between them; the known values, each once."""
        used = {id(v): v for node in self.nodes for v in node.inputs if v is not None and v.known}
        labels: dict[str, int] = {}
        own: set[str] = set()
        for value in used.values():
            value.name = _free(value.name, taken, labels)
        for node in self.nodes:
            node.name = _free(node.name, own, labels)
            inner = [v for v in node.outputs if id(v) not in outputs]
            for value in inner:
                value.name = _free(f"{node.name}{value.name}", taken, labels)
        return list(used.values())

    # --------------------------------------------------------------- values

    def input(self, name: str, dtype: DTypeLike, shape: Shape) -> Value:
        """Add an input, which is given at each run."""
        value = Value(name, dtype, tuple(shape))
        self.inputs.append(value)
        return value

    def known(self, name: str, array: Any, dtype: DTypeLike, shape: Shape) -> Value:
        """Return a parameter, or what becomes of parameters: `array` is a NumPy array, or a function that gives one."""
        return Value(name, dtype, tuple(shape), array)

    def constant(self, value: Any, dtype: DTypeLike = None) -> Value:
        """Return a constant; small ones that are equal are one value."""
        array = np.asarray(value, dtype)
        if array.size > _SMALL:
            return self.known(f"{self.path}/constant".lstrip("/"), array, array.dtype, array.shape)
        key = (array.dtype.str, array.shape, array.tobytes())
        found = self._shared.get(key)
        if found is None:
            found = self._shared[key] = self.known("constant", array, array.dtype, array.shape)
        return found

    def ints(self, *values: int) -> Value:
        """Return a vector of int64, as axes, starts and sizes are given."""
        return self.constant(values, _INT64)

    # ---------------------------------------------------------------- nodes

    def node(
        self,
        kind: str,
        *inputs: Value | None,
        dtype: Any = None,
        shape: Shape | None = None,
        nout: int | None = None,
        **attrs: Any,
    ) -> Any:
        """Return a node; its output, or a list of outputs where `nout` is given.

        Parameters
        ----------
        kind : str
            ONNX's name of the operator.
        *inputs : Value or None
        dtype : dtype or list of dtype, optional
            Of the outputs; the first input's by default.
        shape : tuple, optional
            Of the output, where somebody is going to ask for it.
        **attrs
            Attributes; None is left away.
        """
        given = list(inputs)
        while given and given[-1] is None:
            given.pop()
        said = {name: value for name, value in attrs.items() if value is not None}
        node = Node(kind, f"{self.path}/{kind}" if self.path else kind, given, said)
        count = 1 if nout is None else nout
        default = given[0].dtype if given and given[0] is not None else np.dtype(np.float32)
        dtypes = dtype if isinstance(dtype, list) else [dtype if dtype is not None else default] * count
        for index, element in enumerate(dtypes):
            value = Value("" if count == 1 else f".{index}", element, shape)
            value.maker = node
            node.outputs.append(value)
        self.nodes.append(node)
        return node.outputs[0] if nout is None else node.outputs

    def computed(self, value: Value, name: str, compute: Callable[[np.ndarray], np.ndarray]) -> Value:
        """Apply `compute` to a known value; the result is known as well."""
        made = np.ascontiguousarray(compute(value.array))
        return self.known(f"{value.name}.{name}", made, made.dtype, made.shape)

    # ------------------------------------------------------- common little ones

    def cast(self, value: Value, dtype: DTypeLike) -> Value:
        """Return the value in another element type."""
        dtype = np.dtype(dtype)
        if value.dtype == dtype:
            return value
        if value.known:
            return self._cast_known(value, dtype)
        before = value.maker
        # There and back: places that ONNX gives as int64, that gluonx has as int32, and that ONNX takes as int64.
        if before is not None and before.kind == "Cast" and {dtype, value.dtype} <= {_INT64, np.dtype(np.int32)}:
            source = before.inputs[0]
            if source is not None and source.dtype == dtype:
                return source
        return self.node("Cast", value, dtype=dtype, shape=value._shape, to=dtype)

    def _cast_known(self, value: Value, dtype: np.dtype) -> Value:
        if value.array.size <= _SMALL:
            return self.constant(value.array.astype(dtype))
        return self.computed(value, dtype.name, lambda a: a.astype(dtype))

    def transpose(self, value: Value, perm: Sequence[int]) -> Value:
        """Return the axes in another order; two transposes become one."""
        perm = tuple(perm)
        before = value.maker
        if before is not None and before.kind == "Transpose":
            source, first = before.inputs[0], before.attrs["perm"]
            assert source is not None
            return self.transpose(source, [first[p] for p in perm])
        if perm == tuple(range(len(perm))):
            return value
        shape = tuple([value.shape[p] for p in perm]) if value.sized else None
        if value.known:
            return self.computed(value, "T", lambda a: a.transpose(perm))
        return self.node("Transpose", value, perm=list(perm), shape=shape)

    def reshape(self, value: Value, shape: Sequence[Any]) -> Value:
        """Return the elements in another shape, symbolic sizes included."""
        new, old = tuple(shape), value.shape
        if len(new) == len(old) and all(map(same_size, new, old)):
            return value
        if value.known:
            return self.computed(value, "reshaped", lambda a: a.reshape(new))
        before = value.maker
        if before is not None and before.kind == "Reshape" and before.inputs[0] is not None and before.inputs[0].sized:
            return self.reshape(before.inputs[0], new)
        rest = math.prod(old[1:])
        if len(new) == 2 and len(old) > 2 and same_size(old[0], new[0]) and same_size(rest, new[1]):
            return self.node("Flatten", value, axis=1, shape=new)
        target = _told(new, old)
        if target is not None:
            return self.node("Reshape", value, self.ints(*target), shape=new)
        zero = 1 if 0 in new else None
        return self.node("Reshape", value, self.sizes(new), allowzero=zero, shape=new)

    def unsqueeze(self, value: Value, *axes: int) -> Value:
        """Add axes of length 1 at these places of the result."""
        if not axes:
            return value
        shape = list(value.shape)
        for axis in sorted(axes):
            shape.insert(axis, 1)
        if value.known:
            return self.computed(value, "unsqueezed", lambda a: a.reshape([int(n) for n in shape]))
        return self.node("Unsqueeze", value, self.ints(*sorted(axes)), shape=tuple(shape))

    def squeeze(self, value: Value, *axes: int) -> Value:
        """Return the value without these axes, which have length 1."""
        if not axes:
            return value
        shape = tuple([n for i, n in enumerate(value.shape) if i not in axes])
        if value.known:
            return self.computed(value, "squeezed", lambda a: a.reshape(shape))
        return self.node("Squeeze", value, self.ints(*sorted(axes)), shape=shape)

    def expand(self, value: Value, shape: Sequence[Any]) -> Value:
        """Return the value repeated to a shape."""
        new = tuple(shape)
        if value.sized and len(value.shape) == len(new) and all(map(same_size, new, value.shape)):
            return value
        return self.node("Expand", value, self.sizes(new), shape=new)

    def slice(self, value: Value, axis: int, start: Any, stop: Any, step: int = 1, length: Any = None) -> Value:
        """Return a part along one axis; `length` is the new size there."""
        shape = (*value.shape[:axis], length, *value.shape[axis + 1 :]) if value.sized else None
        bounds = [self.dimension(v) for v in (start, stop)]
        more = (self.ints(axis), self.ints(step) if step != 1 else None)
        return self.node("Slice", value, *bounds, *more, shape=shape)

    def positions(self, count: Any, after: int = 0) -> Value:
        """0, 1, 2 and so on up to a size, as int64, with so many axes of length 1 behind."""
        shape = (count, *[1] * after)
        if is_static([count]):
            return self.constant(np.arange(count).reshape(shape), _INT64)
        zero, one = self.constant(0, _INT64), self.constant(1, _INT64)
        found = self.node("Range", zero, self.squeeze(self.dimension(count), 0), one, shape=(count,))
        return self.unsqueeze(found, *range(1, after + 1))

    # ------------------------------------------------------------ open sizes

    def sizes(self, shape: Sequence[Any]) -> Value:
        """Return a shape as a vector of int64."""
        if is_static(shape):
            return self.ints(*[int(n) for n in shape])
        path, self.path = self.path, "shapes"
        parts: list[Any] = []
        for size in shape:
            if is_static([size]) and parts and isinstance(parts[-1], list):
                parts[-1].append(int(size))
            else:
                parts.append([int(size)] if is_static([size]) else self.dimension(size))
        values = [self.ints(*p) if isinstance(p, list) else p for p in parts]
        key = ",".join(map(str, shape))
        if key not in self._sizes:
            self._sizes[key] = values[0] if len(values) == 1 else self.node("Concat", *values, axis=0, dtype=_INT64)
        self.path = path
        return self._sizes[key]

    def dimension(self, size: Any) -> Value:
        """One size, a vector of one int64."""
        if is_static([size]):
            return self.ints(int(size))
        text = str(size)
        if text not in self._sizes:
            path, self.path = self.path, "shapes"
            self._sizes[text] = self._compute(ast.parse(text.replace("^", "**"), mode="eval").body)
            self._sizes[text].shape = (1,)
            self.path = path
        return self._sizes[text]

    def _compute(self, tree: ast.expr) -> Value:
        """Return the value of an expression over names of sizes."""
        if isinstance(tree, ast.Constant):
            return self.constant([tree.value], _INT64)
        if isinstance(tree, ast.Name):
            return self._symbol(tree.id)
        if isinstance(tree, ast.UnaryOp):
            return self.node("Neg", self._compute(tree.operand))
        if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Pow):
            kind, operands = "Pow", [tree.left, tree.right]
        elif isinstance(tree, ast.BinOp):
            kinds = {ast.Add: "Add", ast.Sub: "Sub", ast.Mult: "Mul"}
            kind, operands = kinds[type(tree.op)], [tree.left, tree.right]
        else:
            assert isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name), "all that jax writes"
            kind, operands = {"floordiv": "", "mod": "Mod", "max": "Max", "min": "Min"}[tree.func.id], tree.args
        found = [self._compute(operand) for operand in operands]
        if kind:
            return self.node(kind, *found)
        rest = self.node("Mod", *found)  # ONNX divides towards zero
        return self.node("Div", self.node("Sub", found[0], rest), found[1])

    def _symbol(self, name: str) -> Value:
        """Return a named size, read from an input that has it, plainly or multiplied by a number."""
        found = self._sizes.get(name)
        if found is not None:
            return found
        times: list[tuple[int, Value, int]] = []
        for value in self.inputs:
            for axis, size in enumerate(value.shape):
                factor = _factor(str(size), name)
                if factor:
                    times.append((factor, value, axis))
        if not times:
            raise ShapeError(f"no input has a dimension from which the size '{name}' could be told")
        factor, value, axis = min(times, key=lambda t: t[0])
        out = self.node("Shape", value, dtype=_INT64, start=axis, end=axis + 1, shape=(1,))
        if factor > 1:
            out = self.node("Div", out, self.ints(factor))
        self._sizes[name] = out
        return out


def _free(wanted: str, taken: set[str], counts: dict[str, int]) -> str:
    """`wanted`, with a number behind it if it is taken."""
    name = wanted
    while name in taken:
        counts[wanted] = counts.get(wanted, 0) + 1
        name = f"{wanted}_{counts[wanted]}"
    taken.add(name)
    return name


def _factor(size: str, name: str) -> int:
    """K where the size is ``k*name``; 0 otherwise."""
    if size == name:
        return 1
    number, star, rest = size.partition("*")
    return int(number) if star and rest == name and number.isdigit() else 0


def _told(new: Shape, old: Shape) -> list[int] | None:
    """Return the new shape as numbers, with 0 for a size kept in its place and one -1, where that says it."""
    target: list[int] = []
    for i, size in enumerate(new):
        if is_static([size]):
            if size == 0:
                return None
            target.append(int(size))
        elif i < len(old) and same_size(size, old[i]):
            target.append(0)
        else:
            target.append(-1)
    return target if target.count(-1) <= 1 else None


def common_dtype(*values: Any) -> np.dtype:
    """Return the element type in which values and numbers meet."""
    plain = [v.dtype if isinstance(v, Value) else v for v in values]
    wide = any(isinstance(v, np.dtype) and v in WIDE for v in plain)
    try:
        with keeping_64_bits(wide):
            return np.dtype(jnp.result_type(*plain))
    except TypeError as error:
        raise GraphError(f"no element type for {plain}") from error
