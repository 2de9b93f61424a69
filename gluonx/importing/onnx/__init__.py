"""ONNX files as blocks: what :func:`gluonx.onnx.import_model` is made of.

:mod:`~gluonx.importing.onnx.read` turns a file into nodes and arrays, and trusts nothing in it;
:mod:`~gluonx.importing.onnx.onnx_block` makes the block that runs them. The table `gluonx.importing.onnx.rules.RULES`
says what each operator of ONNX becomes.
"""

__all__: list[str] = []
