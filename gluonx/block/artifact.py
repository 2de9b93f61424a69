"""An artifact as a block, and as a predictor for servers.

:func:`load` (``gluonx.load``) gives an exported net back as a :class:`LoadedBlock`: called, hybridized, recorded, put
into other blocks and, where it was exported with ``vjp_order=1``, fine-tuned like any block.
:meth:`LoadedBlock.predictor` makes a :class:`Predictor`, which takes NumPy arrays of any number of samples and runs
them in batches of a few fixed sizes: each size is compiled once, so no request waits for a compiler.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from gluonx import np as gnp
from gluonx._frames import door
from gluonx.block.block import HybridBlock
from gluonx.block.functional import from_jax
from gluonx.block.parameter import Parameter
from gluonx.dtype import keeping_64_bits
from gluonx.errors import ShapeError
from gluonx.export import serve
from gluonx.export.stablehlo import Artifact, Signature, load_artifact
from gluonx.np.handle import ndarray

__all__ = ["LoadedBlock", "Predictor", "load"]

_BUCKETS = (1, 2, 4, 8, 16, 32)


class LoadedBlock(HybridBlock):
    """A net from an artifact. Made by :func:`load`.

    Attributes
    ----------
    artifact : Artifact
        What it came from.
    signature : Signature
        What it takes and gives.
    """

    def __init__(self, artifact: Artifact) -> None:
        super().__init__()
        own = self.__dict__
        own["artifact"] = artifact
        trainable = artifact.model["vjp_order"] > 0
        state = set(artifact.model.get("state", ()))
        for entry in artifact.model["parameters"]:
            name, array = entry["name"], artifact.params[entry["name"]]
            learns = trainable and name not in state and jax.numpy.issubdtype(array.dtype, jax.numpy.floating)
            req = "write" if learns else "null"
            param = Parameter(name, req, shape=array.shape, dtype=array.dtype, differentiable=learns)
            self._register_parameter(param, name)
            param.initialize(init="zeros")
            param.set_data(array)
        own["_names"] = [entry["name"] for entry in artifact.model["parameters"]]
        own["_program"] = from_jax(_Call(artifact, own["_names"]))

    @property
    def artifact(self) -> Artifact:
        """The artifact that the block came from."""
        return self.__dict__["artifact"]

    @property
    def signature(self) -> Signature:
        """The signature of the artifact: its inputs and outputs."""
        return self.artifact.signature

    def forward(self, *inputs: Any) -> Any:
        """Run the program.

        Parameters
        ----------
        *inputs : gluonx.np.ndarray, or nested tuples, lists and dicts of them
            As exported.

        Returns
        -------
        gluonx.np.ndarray, or nested tuples, lists and dicts of them

        Raises
        ------
        ShapeError
            If number, nesting, dtype, rank or sizes do not fit; the message names the input and the dimension.
        """
        leaves, structure = jax.tree.flatten(inputs, is_leaf=lambda x: isinstance(x, ndarray))
        self.artifact._check(structure, leaves)
        own = self.__dict__
        values = [self._reg_params[name].data() for name in own["_names"]]
        handles = [leaf if isinstance(leaf, ndarray) else gnp.array(leaf) for leaf in leaves]
        return serve.tree(self.artifact.model["output_tree"], own["_program"](values, handles))

    def predictor(self, buckets: Sequence[int] = _BUCKETS, warm_up: bool = False) -> Predictor:
        """A function of NumPy arrays for servers, with the parameters as they are now; see :class:`Predictor`."""
        params = {name: self._reg_params[name].data()._read() for name in self.__dict__["_names"]}
        made = Predictor(self.artifact, params, buckets)
        if warm_up:
            made.warm_up()
        return made

    def __repr__(self) -> str:
        return f"LoadedBlock('{self.artifact.path}', {self.signature})"

    def __deepcopy__(self, memo: Any) -> LoadedBlock:
        return LoadedBlock(self.artifact)


class _Call:
    """The program as a function of the parameters' values and the inputs."""

    def __init__(self, artifact: Artifact, names: Sequence[str]) -> None:
        self.exported, self.names = artifact.exported, names
        self.wide: bool = artifact.model["x64"]  # what `from_jax` asks of functions that make 64-bit types of others
        self.__name__ = str(artifact.model["metadata"].get("block", "artifact"))

    def __call__(self, values: Sequence[Any], leaves: Sequence[Any]) -> Any:
        return list(self.exported.call(dict(zip(self.names, values, strict=True)), *leaves))


class Predictor:
    """Runs any number of samples in batches of fixed sizes. Thread-safe.

    Parameters
    ----------
    artifact : Artifact
        Exported with a symbolic batch: the first dimension of every input and output is the same name.
    params : dict of str to jax.Array
    buckets : sequence of int
        The sizes. A request is padded up to the next one with its own last sample; one that is bigger than all is run
        in pieces. A net that lets samples of a batch know of each other gives other numbers in other batches.

    Raises
    ------
    ShapeError
        If the batch is not symbolic, or a size is outside of its bounds.

    Examples
    --------
    >>> import gluonx, numpy, tempfile
    >>> from gluonx import nn
    >>> net = nn.Dense(2, in_units=3)
    >>> net.initialize()
    >>> folder = net.export(tempfile.mkdtemp() + "/net", inputs=[gluonx.np.ones((1, 3))])
    >>> predict = gluonx.load(folder).predictor(buckets=[4])
    >>> predict(numpy.ones((7, 3), "float32")).shape
    (7, 2)
    """

    def __init__(self, artifact: Artifact, params: dict[str, Any], buckets: Sequence[int] = _BUCKETS) -> None:
        self.artifact, self.signature = artifact, artifact.signature
        self.name = _batch_name(self.signature)
        low, high = self.signature.dimensions[self.name]
        self.buckets = tuple(sorted({int(b) for b in buckets}))
        bad = [b for b in self.buckets if b < low or (high is not None and b > high)]
        if bad or not self.buckets:
            bounds = f"{low} to {'any size' if high is None else high}"
            raise ShapeError(f"buckets must be sizes from {bounds}, the bounds of '{self.name}'; got {list(buckets)}")
        self._run = jax.jit(lambda *leaves: artifact.exported.call(params, *leaves))
        self._compiled: dict[tuple[Any, ...], Any] = {}
        self._lock = threading.Lock()

    def __call__(self, *inputs: Any) -> Any:
        """Predict.

        Parameters
        ----------
        *inputs : array-like, or nested tuples, lists and dicts of them
            As exported, with any number of samples, the same in all.

        Returns
        -------
        numpy.ndarray, or nested tuples, lists and dicts of them

        Raises
        ------
        ShapeError
            If number, nesting, dtype, rank or sizes do not fit.
        """
        leaves, structure = jax.tree.flatten(inputs)
        arrays = [np.asarray(leaf) for leaf in leaves]
        size = len(arrays[0]) if arrays and arrays[0].ndim else 0
        self.artifact._check(structure, arrays, batch=self.name)
        largest = self.buckets[-1]
        parts = [self._batch([a[at : at + largest] for a in arrays]) for at in range(0, size, largest)]
        if not parts:
            raise ShapeError("a predictor needs at least one sample")
        columns = [list(column) for column in zip(*parts, strict=True)]
        outputs = [np.concatenate(column) if len(column) > 1 else column[0] for column in columns]
        return serve.tree(self.artifact.model["output_tree"], outputs)

    def _batch(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        size = len(arrays[0])
        bucket = next(b for b in self.buckets if b >= size)
        if bucket > size:
            arrays = [np.concatenate([a, np.repeat(a[-1:], bucket - size, axis=0)]) for a in arrays]
        with keeping_64_bits(self.artifact.model["x64"]):
            return [np.asarray(out)[:size] for out in self._executable(arrays)(*arrays)]

    def _executable(self, arrays: Sequence[Any]) -> Any:
        """The compiled program for these shapes; two threads that want a new one compile it once."""
        key = tuple([(a.shape, a.dtype.name) for a in arrays])
        found = self._compiled.get(key)
        if found is None:
            with self._lock:
                found = self._compiled.get(key)
                if found is None:
                    structs = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arrays]
                    with keeping_64_bits(self.artifact.model["x64"]):
                        found = self._compiled[key] = self._run.lower(*structs).compile()
        return found

    def warm_up(self) -> None:
        """Compile the program for every bucket now, instead of when a request first needs it.

        Raises
        ------
        ShapeError
            If sizes beside the batch are symbolic too, so that there is no knowing them.
        """
        for bucket in self.buckets:
            samples: list[np.ndarray] = []
            for spec in self.signature.inputs:
                shape: list[Any] = [bucket, *list(spec.shape)[1:]]
                if any(isinstance(d, str) for d in shape):
                    raise ShapeError(
                        f"warm_up: sizes of '{spec.name}' beside the batch are symbolic; predict something"
                    )
                samples.append(np.zeros(shape, spec.dtype))
            self._executable(samples)

    def __repr__(self) -> str:
        return f"Predictor({self.signature}, buckets={list(self.buckets)})"


def _batch_name(signature: Signature) -> str:
    firsts = {(list(spec.shape) or [None])[0] for spec in (*signature.inputs, *signature.outputs)}
    name = firsts.pop() if len(firsts) == 1 else None
    if not isinstance(name, str) or name not in signature.dimensions:
        raise ShapeError(
            f"a predictor needs a symbolic batch as the first dimension of every input and output, but the artifact is "
            f"{signature}; export with dynamic_batch=True"
        )
    return name


@door
def load(path: str | os.PathLike[str]) -> LoadedBlock:
    """Load a net that was exported to StableHLO.

    Parameters
    ----------
    path : str or path
        The folder that ``HybridBlock.export`` or ``save_artifact`` wrote.

    Returns
    -------
    LoadedBlock
        Its parameters are trainable if it was exported with ``vjp_order=1`` or more.

    Raises
    ------
    FormatError
        If the folder is no artifact, is incomplete, was changed, or is for other platforms. Checksums and signature are
        checked before anything runs.

    Examples
    --------
    >>> import gluonx, tempfile
    >>> from gluonx import nn, np
    >>> net = nn.Dense(2, in_units=3)
    >>> net.initialize()
    >>> folder = net.export(tempfile.mkdtemp() + "/net", inputs=[np.ones((1, 3))])
    >>> gluonx.load(folder)(np.ones((4, 3))).shape
    (4, 2)
    """
    return LoadedBlock(load_artifact(path))
