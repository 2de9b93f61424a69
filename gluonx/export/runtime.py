"""The runtime of MLServer for gluonx's artifacts: the Open Inference Protocol, version 2, over REST and gRPC.

A ``model-settings.json`` names it as its ``implementation`` (``gluonx.export.runtime.Runtime``);
``python -m gluonx.export.serve_model`` does without the file. Needs the extra ``serve``.

MLServer's own batching is left out, for three reasons: it joins requests before anybody has looked at them, so one that
lies about its shape shifts the numbers of its neighbours; it joins them as Python lists; and a model loaded again
loses it. `gluonx.export.batching` takes MLServer's two settings, ``max_batch_size`` and ``max_batch_time``.
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import asyncio
import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
import prometheus_client
from mlserver import MLModel, ModelSettings
from mlserver.errors import InferenceError, MLServerError
from mlserver.metrics import REGISTRY
from mlserver.types import (
    Datatype,
    InferenceRequest,
    InferenceResponse,
    MetadataTensor,
    RequestInput,
    ResponseOutput,
    TensorData,
)
from mlserver.utils import get_model_uri
from prometheus_client import Histogram

from gluonx.errors import ShapeError
from gluonx.export.batching import Batcher, Overloaded
from gluonx.export.predictor import BUCKETS, Predictor
from gluonx.export.stablehlo import Artifact, InputSpec, Signature, check_inputs, load_artifact

# The protocol has no bfloat16: it travels as float32, which holds all of it.
_CODES = {
    "bool": "BOOL",
    "uint8": "UINT8",
    "uint16": "UINT16",
    "uint32": "UINT32",
    "uint64": "UINT64",
    "int8": "INT8",
    "int16": "INT16",
    "int32": "INT32",
    "int64": "INT64",
    "float16": "FP16",
    "bfloat16": "FP32",
    "float32": "FP32",
    "float64": "FP64",
}
_METRIC = "gluonx_batch_samples"


@dataclasses.dataclass
class Served:
    """The model that a runtime runs.

    Attributes
    ----------
    signature : Signature
    run : callable
        Takes one array for each input, gives one for each output.
    stacks : bool
        Whether it takes any number of samples.
    """

    signature: Signature
    run: Callable[[list[np.ndarray]], list[np.ndarray]]
    stacks: bool


class Runtime(MLModel):
    """An artifact behind MLServer.

    Parameters
    ----------
    settings : mlserver.ModelSettings
        ``parameters.uri`` is the artifact's folder. ``max_batch_size`` is the largest batch (32; 1 runs each request
        by itself), ``max_batch_time`` for how many seconds a batch waits for more (0: it takes what came while the one
        before it ran). In ``parameters.extra``: ``buckets``, the batch sizes that are compiled (those that the artifact
        was exported with, or 1, 2, 4 and so on up to the largest), and ``max_waiting``, how many samples may wait
        before requests are refused with status 503 (4096).
    """

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__(settings)
        extra = dict((settings.parameters and settings.parameters.extra) or {})
        unknown = sorted(set(extra) - {"buckets", "max_waiting"})
        if unknown:
            raise MLServerError(
                f"model {settings.name!r}: parameters.extra has {unknown[0]!r}; known: buckets, max_waiting"
            )
        self._largest = settings.max_batch_size or BUCKETS[-1]
        self._buckets: Sequence[int] | None = extra.get("buckets")
        self._wait, self._limit = settings.max_batch_time, extra.get("max_waiting", 4096)
        settings.max_batch_size = 0  # MLServer's batching stays out: see above

    async def load(self) -> bool:
        """Read and compile the artifact, in a thread: a server that runs goes on answering."""
        path = await get_model_uri(self._settings)
        self._served = await asyncio.get_running_loop().run_in_executor(None, self.prepared, path)
        signature = self._served.signature
        self._specs, self._outputs = signature.inputs, signature.outputs
        self.inputs, self.outputs = _metadata(self._specs), _metadata(self._outputs)
        self._settings.platform = self._settings.platform or "gluonx"
        seen: Any = _metric().labels(model_name=self.name, model_version=self.version or "")
        largest = self._largest if self._served.stacks else 1
        self._batcher = Batcher(self._served.run, largest, self._wait, self._limit, seen.observe)
        return True

    def prepared(self, path: str) -> Served:
        """Load and compile what is at a path; it is called in a thread.

        Raises
        ------
        FormatError
            If there is no artifact, or a damaged one.
        MLServerError
            If an input or output has a type that the protocol lacks.
        """
        artifact = load_artifact(path)
        for spec in (*artifact.signature.inputs, *artifact.signature.outputs):
            if spec.dtype not in _CODES:
                raise MLServerError(f"'{path}': {spec.name!r} is {spec}, a type that the protocol does not have")
        if not any(isinstance(size, str) for spec in artifact.signature.inputs for size in spec.shape):
            served = Served(artifact.signature, artifact.run, stacks=False)
            served.run([np.zeros(list(map(int, s.shape)), jnp.dtype(s.dtype)) for s in artifact.signature.inputs])
            return served
        predictor = Predictor(artifact, artifact.params, self._buckets or _buckets(artifact, self._largest))
        if all(isinstance(size, int) for spec in artifact.signature.inputs for size in spec.shape[1:]):
            predictor.warm_up()
        return Served(artifact.signature.unbound(predictor.name), predictor.run, stacks=True)

    async def unload(self) -> bool:
        """Answer what was asked before."""
        if hasattr(self, "_batcher"):
            await self._batcher.drain()
        return True

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        """Answer one request.

        Raises
        ------
        InferenceError
            If it does not fit the signature; the message names the input (status 400).
        MLServerError
            If too many wait (status 503).
        """
        arrays = self._arrays(payload)
        wanted = self._wanted(payload)
        try:
            outputs = await self._batcher(arrays)
        except Overloaded as error:
            raise MLServerError(str(error), 503) from None
        results = [_response(spec, array) for spec, array in zip(self._outputs, outputs) if spec.name in wanted]
        return InferenceResponse(model_name=self.name, model_version=self.version, outputs=results)

    def _arrays(self, payload: InferenceRequest) -> list[np.ndarray]:
        given = {tensor.name: tensor for tensor in payload.inputs}
        names = [spec.name for spec in self._specs]
        if len(given) != len(payload.inputs) or set(given) != set(names):
            got = ", ".join(tensor.name for tensor in payload.inputs)
            raise InferenceError(f"model {self.name!r} takes the inputs ({', '.join(names)}), each once; got ({got})")
        try:
            arrays = [array_of(given[spec.name], spec) for spec in self._specs]
            check_inputs(self._served.signature, arrays)
            if self._served.stacks and not len(arrays[0]):
                raise ShapeError("there is no sample: the first size of the inputs is 0")
        except ShapeError as error:
            raise InferenceError(f"model {self.name!r}: {error}") from None
        return arrays

    def _wanted(self, payload: InferenceRequest) -> set[str]:
        names = {spec.name for spec in self._outputs}
        wanted = {output.name for output in payload.outputs or ()} or names
        if not wanted <= names:
            raise InferenceError(
                f"model {self.name!r} has no output {sorted(wanted - names)[0]!r}, only {sorted(names)}"
            )
        return wanted


def _buckets(artifact: Artifact, largest: int) -> list[int]:
    """Batch sizes up to the largest, as far as the artifact takes them."""
    if artifact.model.get("buckets"):
        return [b for b in artifact.model["buckets"] if b <= largest] or artifact.model["buckets"][:1]
    low, high = artifact.signature.dimensions[str(artifact.signature.inputs[0].shape[0])]
    sizes = {*BUCKETS, largest} if high is None else {*BUCKETS, largest, high}
    return [b for b in sorted(sizes) if low <= b <= min(largest, high or largest)] or [low]


def _metric() -> Histogram:
    """Return the metric of how many samples each batch had; one for the process, with the model's name as a label."""
    if _METRIC not in REGISTRY:
        sizes = (1, 2, 4, 8, 16, 32, 64, 128, 256)
        made = Histogram(_METRIC, "Samples in a batch", ["model_name", "model_version"], registry=None, buckets=sizes)
        REGISTRY.register(made)
        prometheus_client.REGISTRY.register(made)  # the one that MLServer shows
    return REGISTRY[_METRIC]  # pyright: ignore[reportReturnType]


def _metadata(specs: Sequence[InputSpec]) -> list[MetadataTensor]:
    """Names, types and sizes, with -1 for what is open."""
    return [
        MetadataTensor(
            name=spec.name,
            datatype=Datatype(_CODES[spec.dtype]),
            shape=[d if isinstance(d, int) else -1 for d in spec.shape],
        )
        for spec in specs
    ]


def array_of(tensor: RequestInput, spec: InputSpec) -> np.ndarray:
    """Return the array that a request's tensor holds.

    Sizes are compared with the data that came before memory is taken for them, and no number is changed: what does not
    fit the type is refused.

    Parameters
    ----------
    tensor : mlserver.types.RequestInput
    spec : InputSpec

    Returns
    -------
    numpy.ndarray
        Of the shape that the request says.

    Raises
    ------
    ShapeError
        If datatype, rank, number of elements or a number do not fit; the message names the input.
    """
    code, shape = getattr(tensor.datatype, "value", tensor.datatype), list(tensor.shape)
    if code != _CODES[spec.dtype]:
        raise ShapeError(f"input {spec.name!r} has the wrong datatype: expected {_CODES[spec.dtype]}, got {code}")
    if len(shape) != len(spec.shape) or any(n < 0 for n in shape):
        raise ShapeError(f"input {spec.name!r} has the wrong shape: expected {spec}, got {shape}")
    try:
        given = np.asarray(tensor.data.root)
    except ValueError as error:  # lists of different lengths
        raise ShapeError(f"input {spec.name!r}: its data are not an array ({error})") from None
    dtype = np.dtype("float32") if spec.dtype == "bfloat16" else np.dtype(spec.dtype)
    if dtype == np.uint64 and given.dtype.kind == "f":  # what NumPy makes of numbers on both sides of 2**63
        given = _whole(tensor.data.root, spec.name) if _are_whole(tensor.data.root) else given
    if given.size and given.dtype.kind not in {"b": "b", "i": "iu", "u": "iu", "f": "iuf"}[dtype.kind]:
        raise ShapeError(f"input {spec.name!r}: its data are not all {code} numbers")
    if given.size != math.prod(shape) or (given.ndim > 1 and list(given.shape) != shape):
        got = f"nested as {list(given.shape)}" if given.ndim > 1 else f"{given.size} elements"
        raise ShapeError(f"input {spec.name!r}: shape {shape} does not belong to the data, {got}")
    with np.errstate(over="ignore"):
        array = given.astype(dtype)
    changed = array != given if dtype.kind in "iu" else np.isinf(array) & ~np.isinf(given)
    if dtype.kind != "b" and changed.any():
        raise ShapeError(f"input {spec.name!r}: {given[changed][0]} is out of the range of {code}")
    return array.reshape(shape).astype(jnp.dtype(spec.dtype), copy=False)


def _are_whole(data: Any) -> bool:
    return type(data) is int or (isinstance(data, list) and all(map(_are_whole, data)))


def _whole(data: Any, name: str) -> np.ndarray:
    """Return Python's whole numbers as NumPy's largest ones, exactly."""
    try:
        return np.asarray(data, np.uint64)
    except OverflowError as error:
        raise ShapeError(f"input {name!r}: a number is out of the range of UINT64 ({error})") from None


def _response(spec: InputSpec, array: np.ndarray) -> ResponseOutput:
    if spec.dtype == "bfloat16":
        array = array.astype("float32")
    return ResponseOutput(
        name=spec.name,
        datatype=Datatype(_CODES[spec.dtype]),
        shape=list(array.shape),
        data=TensorData(array.ravel().tolist()),
    )
