"""Export of models: StableHLO artifacts of pure functions, what serves them, and ONNX.

`stablehlo` writes and loads artifacts, `serve` is the loader that an artifact brings along, `record` notes the
operators that a forward runs, `onnx` makes a file of them, and `channels_last` traces a net of images with its channels
last. What a Block is, nothing here knows: ``HybridBlock.export`` stands in `gluonx.block.exporting`, and an artifact as
a block in `gluonx.block.artifact`.
"""

from gluonx.export.stablehlo import Artifact, InputSpec, Signature, load_artifact, save_artifact

__all__ = ["Artifact", "InputSpec", "Signature", "load_artifact", "save_artifact"]
