"""Exported artifacts as blocks.

:func:`load` (``gluonx.load``) returns an exported net as a :class:`LoadedBlock`, which can be called, hybridized,
recorded, used in other blocks and, if it was exported with ``vjp_order=1``, fine-tuned like any block.
:meth:`LoadedBlock.predictor` makes a :class:`gluonx.export.predictor.Predictor`, the function for servers.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import jax

from gluonx import np as gnp
from gluonx.block.block import HybridBlock
from gluonx.block.functional import from_jax
from gluonx.block.parameter import Parameter
from gluonx.common.frames import door
from gluonx.export import serve
from gluonx.export.predictor import BUCKETS, Predictor
from gluonx.export.stablehlo import Artifact, Signature, load_artifact
from gluonx.files.places import Place, folder_elsewhere, is_path
from gluonx.np.handle import ndarray

__all__ = ["LoadedBlock", "load"]


class LoadedBlock(HybridBlock):
    """A net from an artifact. Made by :func:`load`.

    Attributes
    ----------
    artifact : Artifact
        The artifact that it was loaded from.
    signature : Signature
        Its inputs and outputs.
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

    def forward(self, *inputs: object) -> Any:
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

    def predictor(self, buckets: Sequence[int] | None = None, warm_up: bool = False) -> Predictor:
        """Return a function of NumPy arrays for servers, with the current parameters; see :class:`Predictor`.

        The default of `buckets` is those of the export, or 1, 2, 4 and so on up to 32.
        """
        own: Sequence[int] = self.artifact.model.get("buckets") or BUCKETS
        params = {name: self._reg_params[name].data()._read() for name in self.__dict__["_names"]}
        made = Predictor(self.artifact, params, own if buckets is None else buckets)
        if warm_up:
            made.warm_up()
        return made

    def __repr__(self) -> str:
        return f"LoadedBlock('{self.artifact.path}', {self.signature})"

    def __deepcopy__(self, memo: dict[int, object]) -> LoadedBlock:
        return LoadedBlock(self.artifact)


class _Call:
    """The program as a function of the parameters' values and the inputs."""

    def __init__(self, artifact: Artifact, names: Sequence[str]) -> None:
        self.exported, self.names = artifact.exported, names
        self.wide: bool = artifact.model[
            "x64"
        ]  # `from_jax` reads it: whether the function makes 64-bit types of others
        self.__name__ = str(artifact.model["metadata"].get("block", "artifact"))

    def __call__(self, values: Sequence[Any], leaves: Sequence[Any]) -> list[jax.Array]:
        return list(self.exported.call(dict(zip(self.names, values, strict=True)), *leaves))


@door
def load(path: Place) -> LoadedBlock:
    """Load a net that was exported to StableHLO.

    Parameters
    ----------
    path : str, path or file object
        The folder that ``HybridBlock.export`` or ``save_artifact`` wrote; an address that fsspec knows
        (``'s3://bucket/net'``), or an open file with what was exported to one.

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
    if is_path(path):
        return LoadedBlock(load_artifact(os.fspath(path)))
    with folder_elsewhere(path) as folder:
        return LoadedBlock(load_artifact(folder))
