"""Models of other libraries: ONNX files as blocks (`gluonx.importing.onnx`)."""

__all__: list[str] = []
