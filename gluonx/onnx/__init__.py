"""ONNX: what :meth:`gluonx.HybridBlock.export` writes with ``format='onnx'``, and MXNet's functions for it.

The table `gluonx.onnx.emit.RULES` says what each core operator becomes; its rules build with :mod:`gluonx.onnx.graph`,
and :mod:`gluonx.onnx.write` makes the file.
"""

from gluonx.onnx.legacy import export_model as export_model
from gluonx.onnx.legacy import get_operator_support as get_operator_support

__all__ = ["export_model", "get_operator_support"]
