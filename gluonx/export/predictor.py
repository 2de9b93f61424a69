"""A loaded artifact as a function of NumPy arrays, for servers.

A :class:`Predictor` takes any number of samples and runs them in batches of a few fixed sizes: each size is compiled
once, so no request waits for a compiler.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from gluonx.dtype import keeping_64_bits
from gluonx.errors import ShapeError
from gluonx.export import serve
from gluonx.export.stablehlo import Artifact

BUCKETS = (1, 2, 4, 8, 16, 32)
"""The batch sizes of a predictor that is not told any."""


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

    def __init__(self, artifact: Artifact, params: dict[str, Any], buckets: Sequence[int] = BUCKETS) -> None:
        self.artifact, self.signature = artifact, artifact.signature
        self.name = _batch_name(artifact)
        low, high = self.signature.dimensions[self.name]
        self.buckets = tuple(sorted({int(b) for b in buckets}))
        bad = [b for b in self.buckets if b < low or (high is not None and b > high)]
        if bad or not self.buckets:
            bounds = f"{low} to {'any size' if high is None else high}"
            raise ShapeError(f"buckets must be sizes from {bounds}, the bounds of '{self.name}'; got {list(buckets)}")
        self._params = params
        self._compiled: dict[tuple[Any, ...], Any] = {}
        self._lock = threading.RLock()  # reentrant: a signal handler that comes in may predict

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
        self.artifact._check(structure, arrays, batch=self.name)
        return serve.tree(self.artifact.model["output_tree"], self.run(arrays))

    def run(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Predict on arrays that fit the signature, which is not checked again, without their nesting.

        Parameters
        ----------
        arrays : sequence of numpy.ndarray
            One for each input of the signature.

        Returns
        -------
        list of numpy.ndarray
            One for each output of the signature.

        Raises
        ------
        ShapeError
            If there is no sample.
        """
        size = len(arrays[0]) if arrays and arrays[0].ndim else 0
        largest = self.buckets[-1]
        parts = [self._batch([a[at : at + largest] for a in arrays]) for at in range(0, size, largest)]
        if not parts:
            raise ShapeError("a predictor needs at least one sample")
        columns = [list(column) for column in zip(*parts, strict=True)]
        return [np.concatenate(column) if len(column) > 1 else column[0] for column in columns]

    def _batch(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        size = len(arrays[0])
        bucket = next(b for b in self.buckets if b >= size)
        if bucket > size:
            arrays = [np.concatenate([a, np.repeat(a[-1:], bucket - size, axis=0)]) for a in arrays]
        with keeping_64_bits(self.artifact.model["x64"]):
            return [np.asarray(out)[:size] for out in self._executable(arrays)(*arrays)]

    def _executable(self, arrays: Sequence[Any]) -> Any:
        """Return the compiled program for these shapes; two threads that want a new one compile it once."""
        key = tuple([(a.shape, a.dtype.name) for a in arrays])
        found = self._compiled.get(key)
        if found is None:
            with self._lock:
                found = self._compiled.get(key)
                if found is None:
                    structs = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arrays]
                    program = self.artifact.program(arrays[0].shape[0])
                    with keeping_64_bits(self.artifact.model["x64"]):
                        # As constants the weights are prepared once, at compile time; as arguments, at each call.
                        run = jax.jit(lambda *leaves: program.call(self._params, *leaves))
                        found = self._compiled[key] = run.lower(*structs).compile()
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


def _batch_name(artifact: Artifact) -> str:
    signature = artifact.signature
    firsts = {(list(spec.shape) or [None])[0] for spec in (*signature.inputs, *signature.outputs)}
    name = firsts.pop() if len(firsts) == 1 else None
    if not isinstance(name, str) or name not in signature.dimensions:
        raise ShapeError(
            "a predictor needs a symbolic batch as the first dimension of every input and output, but the artifact "
            f"{artifact.path} is {signature}; export with dynamic_batch=True"
        )
    return name
