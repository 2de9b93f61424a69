"""An ONNX model as a block of core operators."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from gluonx import np as gnp
from gluonx.block.block import HybridBlock
from gluonx.block.parameter import Parameter
from gluonx.common.frames import door
from gluonx.dtype import is_inexact
from gluonx.errors import ArgumentError, ShapeError
from gluonx.importing.onnx.fold import fold
from gluonx.importing.onnx.read import Input, Model, read_model
from gluonx.importing.onnx.rules import RULES, Call, Node, element_type, handle
from gluonx.np.handle import ndarray

_STATISTICS = {"BatchNormalization": (3, 4)}
_BYTES = (np.dtype(np.int8), np.dtype(np.uint8))
_LARGEST_WEIGHT = 1e4  # no trained weight is as large; -65504 and -1e9 are in masks
_WITHOUT_GRADIENT = frozenset([
    "And", "ArgMax", "ArgMin", "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Ceil",
    "ConstantOfShape", "Equal", "Floor", "Greater", "GreaterOrEqual", "IsInf", "IsNaN", "Less", "LessOrEqual",
    "NonMaxSuppression", "NonZero", "Not", "OneHot", "Or", "QuantizeLinear", "RandomNormalLike", "RandomUniformLike",
    "Round", "Shape", "Sign", "Size", "Unique", "Xor",
])  # fmt: skip
_ENDS = ("Shape", "Size")  # what is known of these does not depend on the elements of their inputs


class OnnxBlock(HybridBlock):
    """A model of an ONNX file as a block. Made by :func:`import_model`.

    Attributes
    ----------
    inputs, outputs : list of Input
        Name, dtype and shape (None for a size that is open) of what the model takes and gives.
    opset : int
        The model's.
    initializers : dict of str to str
        The names that the file has for the parameters, by the names that they have here.
    """

    def __init__(self, model: Model, trainable: Any = True, dynamic_batch: bool = False) -> None:
        super().__init__()
        own = self.__dict__
        own["_model"] = dataclasses.replace(model, arrays={})
        own["_dynamic_batch"] = dynamic_batch
        params, own["_constants"] = _sorted(model, trainable)
        own["_constants"].update(model.constants)
        own["initializers"] = initializers = {}
        for initializer, (array, learns) in params.items():
            name = _name_of(initializer, initializers)
            initializers[name] = initializer
            param = Parameter(
                name,
                grad_req="write" if learns else "null",
                shape=array.shape,
                dtype=array.dtype,
                differentiable=bool(is_inexact(array.dtype)) and initializer not in _statistics(model),
            )
            self._register_parameter(param, name)
            param.initialize(init="zeros")
            param.set_data(gnp.array(array, dtype=array.dtype))
        own["_named"] = {initializer: name for name, initializer in initializers.items()}
        own["_dead"] = _last_uses(model)

    @property
    def path(self) -> str:
        """The file, as messages call it."""
        return self.__dict__["_model"].path

    @property
    def inputs(self) -> list[Input]:
        """The inputs of the model."""
        return self.__dict__["_model"].inputs

    @property
    def outputs(self) -> list[Input]:
        """The outputs of the model."""
        return self.__dict__["_model"].outputs

    @property
    def opset(self) -> int:
        """The opset of the model."""
        return self.__dict__["_model"].opset

    def forward(self, *inputs: Any) -> Any:
        """Run the model.

        Parameters
        ----------
        *inputs : gluonx.np.ndarray
            In the order of the file, see `inputs`. Integers are converted to the integers that the file declares.

        Returns
        -------
        gluonx.np.ndarray, or list of them where the model has several outputs

        Raises
        ------
        ShapeError
            If rank or sizes are not as declared in the file.
        DynamicShapeError
            In a hybridized block, if a shape depends on the values of an input.
        """
        own = self.__dict__
        model: Model = own["_model"]
        values: dict[str, Any] = dict(own["_constants"])
        values.update(zip([put.name for put in model.inputs], self._checked_inputs(inputs), strict=True))
        for initializer, name in own["_named"].items():
            values[initializer] = self._reg_params[name].data()
        for node, dead in zip(model.nodes, own["_dead"], strict=True):
            try:
                self._compute_node(node, values)
            except Exception as error:
                error.add_note(f"in {node} of {model.path}")
                raise
            for name in dead:
                del values[name]
        found = [handle(values[out.name]) for out in model.outputs]
        return found[0] if len(found) == 1 else found

    def _compute_node(self, node: Node, values: dict[str, Any]) -> None:
        given = [values[name] if name else None for name in node.inputs]
        row, found = RULES[node.op], None
        if not row.lazy and all(value is None or isinstance(value, np.ndarray) for value in given):
            found = fold(node, given)
        if found is None:
            found = row.fn(Call(node, given, self._is_own_parameter))
        outs = found if isinstance(found, tuple | list) else (found,)
        values.update(zip(node.outputs, outs, strict=False))

    def _is_own_parameter(self, name: str) -> bool:
        """Return whether a value is a running statistic of this block, which training writes to."""
        return name in self.__dict__["_named"]

    def _checked_inputs(self, inputs: Sequence[Any]) -> list[Any]:
        model: Model = self.__dict__["_model"]
        if len(inputs) != len(model.inputs):
            names = ", ".join(put.name for put in model.inputs)
            raise TypeError(f"{model.path} takes {len(model.inputs)} inputs ({names}), got {len(inputs)}")
        return [self._checked_input(put, value) for put, value in zip(model.inputs, inputs, strict=True)]

    def _checked_input(self, declared: Input, value: ndarray) -> ndarray:
        found = value if isinstance(value, ndarray) else gnp.array(value)
        shape, wanted = tuple(found.shape), declared.shape
        if wanted is not None:
            first = 1 if self.__dict__["_dynamic_batch"] else 0
            pairs = list(zip(shape, wanted, strict=False))[first:]
            if len(shape) != len(wanted) or any(b is not None and isinstance(a, int) and a != b for a, b in pairs):
                sizes = ", ".join("any" if n is None else str(n) for n in wanted)
                hint = (
                    "; import_model(file, dynamic_batch=True) leaves the first one open" if pairs and not first else ""
                )
                raise ShapeError(f"input '{declared.name}' has shape {shape}, but the model takes ({sizes}){hint}")
        whole = found.dtype.kind in "iub" and declared.dtype.kind in "iub"
        return found.astype(declared.dtype) if whole and found.dtype != declared.dtype else found

    def __repr__(self) -> str:
        def shown(infos: Iterable[Input]) -> str:
            sizes = [
                (i, "?" if i.shape is None else ", ".join("?" if n is None else str(n) for n in i.shape)) for i in infos
            ]
            return ", ".join(f"{i.name}: {i.dtype}({text})" for i, text in sizes)

        model: Model = self.__dict__["_model"]
        return (
            f"{type(self).__name__}({shown(model.inputs)} -> {shown(model.outputs)}; {len(model.nodes)} nodes of opset "
            f"{model.opset}, {len(self._reg_params)} parameters)"
        )


# -- which arrays are parameters --------------------------------------------------------------------------------------


def _sorted(model: Model, trainable: Any) -> tuple[dict[str, tuple[np.ndarray, bool]], dict[str, np.ndarray]]:
    """Return the initializers that become parameters, each with whether it learns, and those that stay constants."""
    needed, statistics, reached = _needed(model), _statistics(model), _reached(model)
    chosen = _chosen(model, trainable, needed)
    params: dict[str, tuple[np.ndarray, bool]] = {}
    constants: dict[str, np.ndarray] = {}
    for name, array in model.arrays.items():
        real = bool(is_inexact(array.dtype))
        large = array.ndim > 0 and (real or (array.dtype in _BYTES and array.size > 1))
        if name in needed or not (large or (chosen is not None and name in chosen)):
            constants[name] = array
            continue
        learns = real and name not in statistics and (trainable is True if chosen is None else name in chosen)
        if learns and chosen is None and (name not in reached or _is_mask(array)):
            learns = False
        params[name] = (array, learns)
    return params, constants


def _is_mask(array: np.ndarray) -> bool:
    """Return whether an array is one to add to scores: with -inf, or what stands for it."""
    return bool(array.size) and not float(np.abs(np.asarray(array, np.float64)).max()) < _LARGEST_WEIGHT


def _reached(model: Model) -> set[str]:
    """Return the values that gradients of the outputs reach."""
    found = {out.name for out in model.outputs}
    for node in reversed(model.nodes):
        if node.op in _WITHOUT_GRADIENT or not any(name in found for name in node.outputs):
            continue
        if node.op == "Cast" and element_type(node.attrs.get("to", 1)).kind in "iub":
            continue
        found.update(node.inputs[1:] if node.op == "Where" else node.inputs)
    return found


def _chosen(model: Model, trainable: Any, needed: Collection[str]) -> set[str] | None:
    """Return the initializers that the user names; None for a plain yes or no."""
    if isinstance(trainable, bool):
        return None
    if isinstance(trainable, str):
        found = {name for name in model.arrays if re.fullmatch(trainable, name)}
        wrong = [] if found else [trainable]
    else:
        found = set(trainable)
        wrong = sorted(found - set(model.arrays))
    if wrong:
        raise ArgumentError(f"trainable: {model.path} has no initializer '{wrong[0]}'")
    barred = sorted(name for name in found if name in needed or not is_inexact(model.arrays[name].dtype))
    if barred and not isinstance(trainable, str):
        raise ArgumentError(f"trainable: '{barred[0]}' cannot be: shapes depend on it, or it is not of floats")
    return found - set(barred)


def _needed(model: Model) -> set[str]:
    """Return the names of arrays that stay constants, because shapes and the like are computed from them."""
    knowable = {*model.arrays, *model.constants}
    for node in model.nodes:
        if node.op in _ENDS or all(name in knowable for name in node.inputs if name):
            knowable.update(node.outputs)
    wanted: set[str] = set()
    for node in reversed(model.nodes):
        row = RULES[node.op]
        wanted.update(node.inputs[i] for i in (*row.known, *row.fixed) if i < len(node.inputs))
        if node.op not in _ENDS and any(name in wanted and name in knowable for name in node.outputs):
            wanted.update(node.inputs)
    return wanted - {""}


def _statistics(model: Model) -> set[str]:
    return {node.inputs[i] for node in model.nodes for i in _STATISTICS.get(node.op, ()) if i < len(node.inputs)}


def _name_of(initializer: str, taken: Mapping[str, str]) -> str:
    """Return the name of a parameter: what is no letter, digit, dot or underscore becomes an underscore."""
    plain = re.sub(r"[^A-Za-z0-9_.]", "_", initializer).strip(".") or "param"
    name, count = plain, 0
    while name in taken:
        count += 1
        name = f"{plain}_{count}"
    return name


def _last_uses(model: Model) -> list[list[str]]:
    """Return, for each node, the values that nothing after it takes."""
    kept = {out.name for out in model.outputs}
    found: list[list[str]] = []
    for node in reversed(model.nodes):
        names = [name for name in dict.fromkeys((*node.inputs, *node.outputs)) if name and name not in kept]
        kept.update(names)
        found.append(names)
    return found[::-1]


@door
def import_model(file: Any, *, trainable: Any = True, dynamic_batch: bool = False) -> OnnxBlock:
    """Read an ONNX model as a block of core operators.

    Parameters
    ----------
    file : str, path, open binary file, bytes or onnx.ModelProto
        A model of opset 6 to 28. Arrays in files beside it are read if a path is given, from its folder only.
    trainable : bool, str or iterable of str
        Which of the file's arrays of floats are trained: all with an axis or more (but statistics of batch
        normalization, masks, what no gradient reaches, and what shapes are computed from), none, those whose name a
        regular expression matches, or those named. The others are parameters with ``grad_req='null'``.
    dynamic_batch : bool
        Take any size of the first axis of the inputs, whatever the file says. Nodes that have the file's size in them
        (a Reshape) still raise.

    Returns
    -------
    OnnxBlock
        Its parameters are called as the file's initializers, with an underscore for what is no letter, digit, dot or
        underscore.

    Raises
    ------
    FormatError
        If the file is damaged or no ONNX model, or names arrays outside of its folder.
    GraphError
        If it needs what gluonx has not: control flow, sequences, strings, and what docs/onnx.md lists. All that is
        missing is in the message.
    ArgumentError
        If `trainable` names what is not there.

    Examples
    --------
    >>> import tempfile
    >>> from gluonx import nn, np, onnx
    >>> net = nn.Dense(2, in_units=3)
    >>> net.initialize()
    >>> path = net.export(tempfile.mkdtemp() + "/net", format="onnx", inputs=[np.ones((1, 3))])
    >>> again = onnx.import_model(path)
    >>> again
    OnnxBlock(data: float32(?, 3) -> output: float32(?, 2); 1 nodes of opset 20, 2 parameters)
    >>> bool((again(np.ones((4, 3))) == net(np.ones((4, 3)))).all())
    True
    """
    return OnnxBlock(read_model(file), trainable, dynamic_batch)
