"""``mx.contrib.onnx``: MXNet 1's functions that read and write ONNX.

A program of Gluon's reads a model by :func:`gluonx.onnx.import_model`, which gives a block and leaves sizes open. MXNet
1's function of that name, the one here, gives a symbol with its parameters, for ``mx.mod.Module``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jax

from gluonx import np
from gluonx.compat.onnx import export_model
from gluonx.compat.symbol.exporting import symbol_of_block
from gluonx.errors import ArgumentError, ShapeError
from gluonx.importing.onnx.onnx_block import OnnxBlock
from gluonx.importing.onnx.onnx_block import import_model as block_of
from gluonx.importing.onnx.read import Input, read_model

if TYPE_CHECKING:
    from gluonx.device import DeviceLike


__all__ = ["export_model", "get_model_metadata", "import_model", "import_to_gluon"]

_OPEN = (
    "a symbol is traced for sizes, but input '{name}' of {path} has the shape {shape}; say which by "
    "input_shapes={{'{name}': (1, ...)}}, or take import_to_gluon, which leaves them open"
)


def import_model(
    model_file: Any, *, input_shapes: Mapping[str, tuple[int, ...]] | None = None
) -> tuple[Any, dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Read an ONNX model as a symbol and its parameters.

    Parameters
    ----------
    model_file : str, path or file object
    input_shapes : dict of str to tuple of int, optional
        Sizes of inputs that are open in the file.

    Returns
    -------
    sym : Symbol
        Of the sizes of the inputs that the file names, or `input_shapes`.
    arg_params, aux_params : dict of str to ndarray
        Under the names of the file, with an underscore for what is no letter, digit, dot or underscore.

    Raises
    ------
    FormatError, GraphError
        As by :func:`gluonx.onnx.import_model`; GraphError also if MXNet has no operator for something.
    ShapeError
        If a size of an input is open.

    Examples
    --------
    >>> import tempfile
    >>> from gluonx import nn, np
    >>> net = nn.Dense(2, in_units=3)
    >>> net.initialize()
    >>> path = net.export(tempfile.mkdtemp() + "/net", format="onnx", inputs=[np.ones((1, 3))])
    >>> sym, arg_params, aux_params = import_model(path, input_shapes={"data": (4, 3)})
    >>> sym.list_arguments(), sorted(arg_params), aux_params
    (['data', 'weight', 'bias'], ['bias', 'weight'], {})
    """
    net = block_of(model_file, dynamic_batch=True)
    given = dict(input_shapes or {})
    structs = {put.name: _struct(net, put, given.pop(put.name, None)) for put in net.inputs}
    if given:
        raise ArgumentError(f"input_shapes names '{next(iter(given))}', but the inputs are {', '.join(structs)}")
    symbol, arrays = symbol_of_block(net, structs)
    aux = set(symbol.list_auxiliary_states())
    params = {name: np.array(array, dtype=array.dtype) for name, array in arrays.items()}
    return symbol, {n: a for n, a in params.items() if n not in aux}, {n: a for n, a in params.items() if n in aux}


def _struct(net: OnnxBlock, put: Input, given: tuple[int, ...] | None) -> jax.ShapeDtypeStruct:
    shape = given if given is not None else put.shape
    if shape is None or None in shape:
        raise ShapeError(_OPEN.format(name=put.name, path=net.path, shape=shape))
    return jax.ShapeDtypeStruct(tuple(shape), put.dtype)


def import_to_gluon(model_file: Any, ctx: DeviceLike = None) -> OnnxBlock:
    """Read an ONNX model as a block; :func:`gluonx.onnx.import_model` with a device.

    Parameters
    ----------
    model_file : str, path or file object
    ctx : Device or list of Device, optional
        Where the parameters go.
    """
    net = block_of(model_file)
    if ctx is not None:
        net.reset_device(ctx)
    return net


def get_model_metadata(model_file: Any) -> dict[str, list[tuple[str, tuple[int, ...]]]]:
    """Return names and shapes of what a model takes and gives; 0 for a size that is open.

    Parameters
    ----------
    model_file : str, path or file object

    Returns
    -------
    dict
        ``'input_tensor_data'`` and ``'output_tensor_data'``, each a list of name and shape.
    """
    model = read_model(model_file)
    rows = {"input_tensor_data": model.inputs, "output_tensor_data": model.outputs}
    return {key: [(i.name, tuple([n or 0 for n in i.shape or ()])) for i in infos] for key, infos in rows.items()}
