"""ONNX: what :meth:`gluonx.HybridBlock.export` writes with ``format='onnx'``.

The table `gluonx.export.onnx.emit.RULES` says what each core operator becomes; its rules build with
:mod:`gluonx.export.onnx.graph`, and :mod:`gluonx.export.onnx.write` makes the file.
"""

__all__: list[str] = []
