"""How a model of another library comes in: ONNX files as blocks (`gluonx.importing.onnx`)."""

__all__: list[str] = []
