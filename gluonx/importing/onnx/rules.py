"""The table of ONNX's operators, and what a rule sees of the node that it computes.

A rule is a function ``rule(call)`` that computes a node with functions of `gluonx.np` and `gluonx.npx`, and returns its
output, or a tuple of them. Values are of two kinds. A NumPy array is *known*: a constant, or what was computed of
constants and of sizes; an ndarray depends on inputs or parameters. What must be known (axes, sizes, the shape of a
Reshape) is declared with the rule, and asked for by :meth:`Call.known`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from gluonx import np as gnp
from gluonx.errors import GraphError
from gluonx.np.handle import host_value, ndarray

_TOPICS = ["elementwise", "shape", "index", "reduce", "layers", "pool", "recurrent", "resize", "quantized", "vision"]
_TYPES: Mapping[int, Any] = {
    1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64, 9: np.bool_,
    10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64, 14: np.complex64, 15: np.complex128,
    16: ml_dtypes.bfloat16, 17: ml_dtypes.float8_e4m3fn, 18: ml_dtypes.float8_e4m3fnuz, 19: ml_dtypes.float8_e5m2,
    20: ml_dtypes.float8_e5m2fnuz,
}  # fmt: skip


def element_type(code: int) -> np.dtype:
    """Return the dtype of a number of ``TensorProto.DataType``.

    Raises
    ------
    GraphError
        If gluonx has no such type: strings, and numbers of less than 8 bits.

    Examples
    --------
    >>> element_type(7)
    dtype('int64')
    """
    if code not in _TYPES:
        raise GraphError(f"element type {code} of ONNX has no counterpart (strings, numbers of less than 8 bits)")
    return np.dtype(_TYPES[code])


class Node:
    """A node of the file.

    Attributes
    ----------
    op : str
    name : str
        Its name in the file, or one made of the operator and its place.
    opset : int
        The file's.
    inputs, outputs : tuple of str
        Names of values; an empty one where an optional one is left out.
    attrs : dict
    proto : bytes
        The node itself, for what computes on known values.
    """

    __slots__ = ("attrs", "inputs", "name", "op", "opset", "outputs", "proto")

    def __init__(
        self,
        op: str,
        name: str,
        opset: int,
        inputs: Sequence[str],
        outputs: Sequence[str],
        attrs: dict[str, Any],
        proto: bytes = b"",
    ) -> None:
        self.op, self.name, self.opset, self.attrs, self.proto = op, name, opset, attrs, proto
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)

    def __repr__(self) -> str:
        return f"node '{self.name}' ({self.op}, opset {self.opset})"


class Rule:
    """A row of the table of operators: the function, the inputs that must be known, and what refuses a node.

    Attributes
    ----------
    fn : callable
    known : tuple of int
        Inputs whose elements must be known when the block is traced.
    fixed : tuple of int
        Inputs that may be anything, but are not trained where they are arrays of the file: scales of bytes.
    check : callable, optional
        ``check(node)`` says why a node cannot be computed, or returns None.
    lazy : bool
        Whether the rule is to run also where all inputs are known: it draws random numbers, or its result is large.
    """

    __slots__ = ("check", "fixed", "fn", "known", "lazy")

    def __init__(
        self,
        fn: Callable[[Call], Any],
        known: Sequence[int],
        fixed: Sequence[int],
        check: Callable[[Node], str | None] | None,
        lazy: bool,
    ) -> None:
        self.fn, self.known, self.fixed, self.check, self.lazy = fn, tuple(known), tuple(fixed), check, lazy


RULES: dict[str, Rule] = {}
"""The rule of each operator of the domain ``ai.onnx``, by its name."""


def rule(
    *names: str,
    known: Sequence[int] = (),
    fixed: Sequence[int] = (),
    check: Callable[[Node], str | None] | None = None,
    lazy: bool = False,
) -> Callable[[Callable[[Call], Any]], Callable[[Call], Any]]:
    """Make the decorated function the rule of these operators; the others are fields of :class:`Rule`."""

    def enter(fn: Callable[[Call], Any]) -> Callable[[Call], Any]:
        for name in names:
            assert name not in RULES, name
            RULES[name] = Rule(fn, known, fixed, check, lazy)
        return fn

    return enter


Check = Callable[[Node], str | None]


def type_in(*names: str) -> Check:
    """Return the check that refuses a node whose element type, the first of these attributes, is unknown here."""

    def check(node: Node) -> str | None:
        try:
            element_type(next((node.attrs[name] for name in names if node.attrs.get(name)), 1))
        except GraphError as error:
            return str(error)
        return None

    return check


def one_of(name: str, *known: str) -> Check:
    """Return the check that refuses a node whose attribute is none of these texts; the first is the default."""

    def check(node: Node) -> str | None:
        found = node.attrs.get(name, known[0])
        return None if found in known else f"{name} '{found}'"

    return check


def supported() -> list[str]:
    """Return the names of ONNX's operators that can be read.

    Examples
    --------
    >>> "Conv" in supported(), "Loop" in supported()
    (True, False)
    """
    for topic in _TOPICS:
        importlib.import_module(f"gluonx.importing.onnx.rules_{topic}")
    return sorted(RULES)


class Call:
    """A node with its values: what a rule is given."""

    __slots__ = ("_given", "is_state", "node")

    def __init__(self, node: Node, given: Sequence[Any], is_state: Callable[[str], bool]) -> None:
        self.node, self._given, self.is_state = node, given, is_state

    @property
    def opset(self) -> int:
        """The opset of the file."""
        return self.node.opset

    @property
    def count(self) -> int:
        """The number of inputs."""
        return len(self._given)

    def __getitem__(self, index: int) -> Any:
        """Return an input as an ndarray; None if it is left out."""
        given = self.raw(index)
        return handle(given) if isinstance(given, np.ndarray) else given

    def raw(self, index: int) -> Any:
        """Return an input as it is: a NumPy array if it is known, else an ndarray, or None."""
        return self._given[index] if index < len(self._given) else None

    def all(self) -> list[Any]:
        """Return all inputs, as ndarrays."""
        return [self[i] for i in range(len(self._given))]

    def known(self, index: int) -> Any:
        """Return the elements of an input that must be known, as a NumPy array; None if it is left out.

        Raises
        ------
        DynamicShapeError
            In a traced forward, if it depends on the block's inputs.
        """
        given = self.raw(index)
        if given is None or isinstance(given, np.ndarray):
            return given
        return np.asarray(host_value(given, f"{self.node}, input {index} ('{self.node.inputs[index]}')"))

    def sizes(self, index: int) -> tuple[Any, ...] | None:
        """Return a known vector as a tuple of int, or of sizes that are open; None if it is left out."""
        found = self.known(index)
        return None if found is None else tuple([integer(n) for n in found.reshape(-1)])

    def attr(self, name: str, default: Any = None) -> Any:
        """Return an attribute."""
        return self.node.attrs.get(name, default)

    def wants(self, index: int) -> bool:
        """Return whether an output is asked for."""
        return index < len(self.node.outputs) and bool(self.node.outputs[index])


def handle(value: Any) -> ndarray:
    """Return an ndarray of a known value, of its very dtype."""
    if isinstance(value, ndarray):
        return value
    if value.dtype == object:
        raise GraphError("a size that is open here is used as a number; export with fixed sizes (dynamic_batch=False)")
    return gnp.array(value, dtype=value.dtype)


def integer(size: Any) -> Any:
    """Return a size as an int, or as it is where it is open."""
    return int(size) if isinstance(size, int | float | np.number | np.bool_) else size
