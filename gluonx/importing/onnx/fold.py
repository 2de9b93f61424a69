"""Nodes whose inputs are all known: computed by NumPy while the block is traced.

Models that PyTorch writes compute shapes by nodes: the size of an axis is gathered from a ``Shape``, multiplied, and
concatenated into what a ``Reshape`` takes. Sizes are known when a block is traced, so all of that is. ONNX's own
reference implementation computes it; where a size is open (an export with an open batch), an array of objects holds it,
and the few operators that shapes are made with compute on those.
"""

from __future__ import annotations

import importlib
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gluonx.common.recent import recall
from gluonx.deferred.values import program_cache
from gluonx.errors import GraphError
from gluonx.export.onnx.write import need_onnx
from gluonx.importing.onnx.rules import Node, integer

LARGEST = 1 << 20  # elements: what is larger is computed as an array of the program
_MAKERS: Mapping[str, Callable[[Sequence[np.ndarray]], int]] = {
    "ConstantOfShape": lambda given: math.prod(map(int, given[0])),
    "Expand": lambda given: math.prod(map(int, given[1])) * max(given[0].size, 1),
    "Tile": lambda given: given[0].size * math.prod(map(int, given[1])),
    "Range": lambda given: math.ceil((float(given[1]) - float(given[0])) / float(given[2])) if given[2] else 0,
    "OneHot": lambda given: given[0].size * int(np.ravel(given[1])[0]),
    "Pad": lambda given: math.prod(
        s + LARGEST * int(np.abs(given[1]).max(initial=0) > LARGEST) for s in given[0].shape
    ),
    "Resize": lambda given: LARGEST + 1,
    "Upsample": lambda given: LARGEST + 1,
}
"""Sizes of the results of operators that can make many of few; what makes more than LARGEST is not folded."""

_MOST_PAIRS = 1 << 28  # what broadcasting or a product can make of the inputs at most

_evaluators: dict[bytes, Any] = program_cache.memo()
_MOST_EVALUATORS = 4096


def shape_array(shape: Sequence[Any]) -> np.ndarray:
    """Return a shape as a vector: of int64, or of objects where a size is open.

    Examples
    --------
    >>> shape_array((2, 3))
    array([2, 3])
    """
    if all(isinstance(n, int | np.integer) for n in shape):
        return np.array([int(n) for n in shape], np.int64)
    found = np.empty(len(shape), object)
    found[:] = [integer(n) for n in shape]
    return found


def fold(node: Node, given: Sequence[Any]) -> tuple[np.ndarray, ...] | None:
    """Return the outputs of a node of known inputs; None if they are to be computed as arrays.

    Parameters
    ----------
    node : Node
    given : sequence of numpy.ndarray or None

    Raises
    ------
    GraphError
        If a size that is open is cast to a float.
    """
    there = [value for value in given if value is not None]
    if any(value.dtype == object for value in there):
        return (_of_open_sizes(node, given),) if node.op in _OPEN else None
    if any(value.size > LARGEST for value in there) or math.prod(max(v.size, 1) for v in there) > _MOST_PAIRS:
        return None
    maker = _MAKERS.get(node.op)
    try:
        if maker is not None and maker(there) > LARGEST:
            return None
        found = _evaluator(node).run(None, {n: v for n, v in zip(node.inputs, given, strict=True) if n})
    except Exception:  # what the reference cannot do is left to the rule, whose message is the better one
        return None
    return tuple(np.asarray(value) for value in found) if all(hasattr(v, "dtype") for v in found) else None


def _evaluator(node: Node) -> Any:
    """Return ONNX's reference implementation of one node, as a model of its own."""

    def make() -> Any:
        onnx = need_onnx("reading")
        helper, reference = onnx.helper, importlib.import_module("onnx.reference")
        proto = onnx.NodeProto.FromString(node.proto)
        names = list(dict.fromkeys(filter(None, node.inputs)))
        ends = [onnx.ValueInfoProto(name=name) for name in names]
        graph = helper.make_graph([proto], "fold", ends, [onnx.ValueInfoProto(name=n) for n in node.outputs if n])
        return reference.ReferenceEvaluator(
            helper.make_model(graph, opset_imports=[helper.make_opsetid("", node.opset)])
        )

    return recall(_evaluators, node.proto, _MOST_EVALUATORS, make)


# -- sizes that are open ----------------------------------------------------------------------------------------------


def _gather(node: Node, values: Sequence[Any]) -> Any:
    return np.take(values[0], np.asarray(values[1], np.int64), axis=node.attrs.get("axis", 0))


def _slice(node: Node, values: Sequence[Any]) -> Any:
    starts: Any = node.attrs.get("starts") if len(values) == 1 else values[1]
    ends: Any = node.attrs.get("ends") if len(values) == 1 else values[2]
    steps = values[4] if len(values) > 4 and values[4] is not None else [1]
    return values[0][slice(int(starts[0]), int(ends[0]), int(steps[0]))]  # a shape has one axis


def _axes(node: Node, values: Sequence[Any]) -> tuple[int, ...]:
    axes = values[1] if len(values) > 1 and values[1] is not None else node.attrs.get("axes", ())
    return tuple(map(int, axes))


def _cast(node: Node, values: Sequence[Any]) -> Any:
    if node.attrs["to"] not in (6, 7):
        raise GraphError(f"{node}: a size that is open here becomes a number; export with fixed sizes")
    return values[0]


def _elementwise(function: Callable[..., Any]) -> Callable[[Node, Sequence[Any]], Any]:
    def compute(node: Node, values: Sequence[Any]) -> Any:
        return np.frompyfunc(function, len(values), 1)(*values)

    return compute


def _divided(one: Any, other: Any) -> Any:
    return one // other  # sizes are not negative, so rounding down is rounding to zero


_OPEN: Mapping[str, Callable[[Node, Sequence[Any]], Any]] = {
    "Identity": lambda node, values: values[0],
    "Cast": _cast,
    "Gather": _gather,
    "Slice": _slice,
    "Concat": lambda node, values: np.concatenate([np.asarray(v, object) for v in values], node.attrs["axis"]),
    "Squeeze": lambda node, values: np.squeeze(values[0], _axes(node, values) or None),
    "Unsqueeze": lambda node, values: np.expand_dims(values[0], _axes(node, values)),
    "Reshape": lambda node, values: np.reshape(values[0], [int(n) for n in values[1]]),
    "Add": _elementwise(operator.add),
    "Sub": _elementwise(operator.sub),
    "Mul": _elementwise(operator.mul),
    "Div": _elementwise(_divided),
    "Equal": _elementwise(operator.eq),
    "Where": _elementwise(lambda which, one, other: one if which else other),
    "ReduceProd": lambda node, values: np.reshape(
        np.array([math.prod(values[0].tolist()), None], object)[:1], (1,) if node.attrs.get("keepdims", 1) else ()
    ),
}


def _of_open_sizes(node: Node, given: Sequence[Any]) -> np.ndarray:
    found = _OPEN[node.op](node, given)
    if not isinstance(found, np.ndarray):
        made = np.empty((), object)
        made[()] = found
        found = made
    flat = found.reshape(-1).tolist()
    if all(isinstance(n, bool | np.bool_) for n in flat):
        return found.astype(bool)
    return found.astype(np.int64) if all(isinstance(n, int | np.integer) for n in flat) else found
