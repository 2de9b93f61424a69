"""ONNX: what :meth:`gluonx.HybridBlock.export` writes with ``format='onnx'``, and MXNet's names for it."""
