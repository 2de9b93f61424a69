r"""Weights from elsewhere: safetensors and PyTorch's files, under the names of another library.

Nothing in a file is executed, and PyTorch need not be installed. A *map* leads from their names to ours:

>>> from gluonx import nn, weights
>>> import numpy
>>> net = nn.HybridSequential()
>>> net.add(nn.Dense(3, in_units=2), nn.LayerNorm(in_channels=3))
>>> theirs = {
...     "proj.weight": numpy.ones((3, 2), "float32"),
...     "proj.bias": numpy.zeros(3, "float32"),
...     "norm.weight": numpy.ones(3, "float32"),
...     "norm.bias": numpy.zeros(3, "float32"),
... }
>>> print(weights.match(net, theirs))
0 arrays match by name
  proj.weight -> 0.weight: by shape only, not loaded
  proj.bias -> 0.bias: by shape only, not loaded
  norm.weight -> 1.gamma: by shape only, not loaded
  norm.bias -> 1.beta: by shape only, not loaded
>>> report = weights.load(net, theirs, [(r"proj\.(.*)", r"0.\1"), (r"norm\.(.*)", r"1.\1")])
>>> report.complete
True

`suggest` proposes such a map, `save` writes the parameters under their names again, and `torchvision` and
`transformers` have the maps of the model zoo. `from_pretrained` makes a net of a folder of the Hugging Face Hub.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gluonx import files
from gluonx.block import naming
from gluonx.block.naming import Map, Part, Report, Split, Target, Turned
from gluonx.common.frames import door
from gluonx.errors import FormatError
from gluonx.model_zoo.torchvision import names_of as torchvision
from gluonx.model_zoo.transformers import names_of as transformers
from gluonx.model_zoo.transformers import of_config

if TYPE_CHECKING:
    from gluonx.block.block import Block


__all__ = [
    "Part",
    "Report",
    "Split",
    "Turned",
    "from_pretrained",
    "load",
    "match",
    "read",
    "save",
    "suggest",
    "torchvision",
    "transformers",
]

_INDICES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
_SINGLE = ("model.safetensors", "pytorch_model.bin", "model.pt")


@door
def read(place: files.Place) -> dict[str, np.ndarray]:
    """Return the arrays of a file, or of a folder as the Hugging Face Hub has them.

    Parameters
    ----------
    place : str, path or file object
        A file: safetensors, a zip archive of ``torch.save``, or one of gluonx's. Or a folder with
        ``model.safetensors`` or ``pytorch_model.bin``, or with the index of several such files.

    Raises
    ------
    FormatError
        If it is damaged, or the folder has no such file.

    Examples
    --------
    >>> import tempfile
    >>> import numpy
    >>> from gluonx import files, weights
    >>> path = tempfile.mkdtemp() + "/model.safetensors"
    >>> files.save_arrays(path, {"fc.weight": numpy.ones((2, 3), "float32")})
    >>> weights.read(path)["fc.weight"].shape
    (2, 3)
    """
    if not isinstance(place, str | os.PathLike) or not os.path.isdir(place):
        return files.load_arrays(place)
    for index in _INDICES:
        path = os.path.join(place, index)
        if os.path.exists(path):
            return _of_index(path)
    for name in _SINGLE:
        path = os.path.join(place, name)
        if os.path.exists(path):
            return files.load_arrays(path)
    raise FormatError(f"the folder {os.fspath(place)!r} has none of {', '.join(_INDICES + _SINGLE)}")


def _of_index(path: str) -> dict[str, np.ndarray]:
    with open(path, encoding="utf-8") as file:
        try:
            where = json.load(file)["weight_map"]
            good = isinstance(where, dict) and all(
                isinstance(n, str) and n == os.path.basename(n) for n in where.values()
            )
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise FormatError(f"{path!r} is no index of weights: {error!r}") from error
    if not good:
        raise FormatError(f"{path!r} is no index of weights: its weight_map must have names of files beside it")
    found: dict[str, np.ndarray] = {}
    for name in dict.fromkeys(where.values()):
        found.update(files.load_arrays(os.path.join(os.path.dirname(path), name)))
    missing = [name for name in where if name not in found]
    if missing:
        raise FormatError(f"the files of {path!r} lack {', '.join(missing[:10])}")
    return {name: found[name] for name in where}


def _arrays(source: Mapping[str, Any] | files.Place) -> Mapping[str, Any]:
    return source if isinstance(source, Mapping) else read(source)


@door
def match(net: Block, source: Mapping[str, Any] | files.Place, map: Map = ()) -> Report:
    """Return what of a file belongs where, by a map; nothing is loaded.

    Parameters
    ----------
    net : Block
    source : file, folder, or mapping of str to array
    map : mapping or list of rules
        From their names to ours; see :mod:`gluonx.weights`.

    Returns
    -------
    Report

    Examples
    --------
    >>> import numpy
    >>> from gluonx import nn, weights
    >>> net = nn.Dense(2, in_units=3)
    >>> print(weights.match(net, {"weight": numpy.ones((2, 3)), "bias": numpy.ones(2), "steps": numpy.ones(1)}))
    2 arrays match by name
      steps: no place here
    """
    return naming.match(net.collect_params(), _arrays(source), map)


@door
def suggest(net: Block, source: Mapping[str, Any] | files.Place) -> dict[str, Target]:
    """Return a map that places what has a place by its name, and the rest by its order and shape: read it before use.

    Parameters
    ----------
    net : Block
    source : file, folder, or mapping of str to array

    Returns
    -------
    dict of str to target

    Examples
    --------
    >>> import numpy
    >>> from gluonx import nn, weights
    >>> net = nn.Dense(2, in_units=3)
    >>> weights.suggest(net, {"fc.weight": numpy.ones((2, 3)), "fc.bias": numpy.ones(2)})
    {'fc.weight': 'weight', 'fc.bias': 'bias'}
    """
    return naming.suggest(net.collect_params(), _arrays(source))


@door
def load(net: Block, source: Mapping[str, Any] | files.Place, map: Map = (), **options: Any) -> Report:
    """Set the parameters from a file under other names: all of them, or, if anything does not fit, none.

    Parameters
    ----------
    net : Block
    source : file, folder, or mapping of str to array
        Tensors of PyTorch are arrays too.
    map : mapping or list of rules
        From their names to ours; see :mod:`gluonx.weights`.
    **options
        As for :meth:`~gluonx.gluon.Block.load_dict`: ``allow_missing``, ``ignore_extra``, ``cast_dtype`` and so on.

    Raises
    ------
    FormatError
        If something does not fit. The message lists it all, and the block has not changed.

    Examples
    --------
    >>> import numpy
    >>> from gluonx import nn, weights
    >>> net = nn.Dense(2, in_units=3)
    >>> stored = {"fc.kernel": numpy.ones((3, 2), "float32"), "fc.bias": numpy.zeros(2, "float32")}
    >>> report = weights.load(net, stored, {"fc.kernel": weights.Turned("weight"), "fc.bias": "bias"})
    >>> net.weight.shape, len(report.by_name)
    ((2, 3), 2)
    """
    arrays = _arrays(source)
    map = map if isinstance(map, Mapping) else list(map)
    params = net.collect_params()
    made = naming.arranged(arrays, params, map)
    report = naming.match(params, arrays, map, made)
    net.load_dict(made, **options)
    return report


@door
def save(net: Block, place: files.Place, map: Mapping[str, Target] | Report, format: str | None = None) -> None:
    """Write the parameters under their names: the way back of `load`.

    Parameters
    ----------
    net : Block
    place : str, path or file object
    map : mapping of str to target, or Report
        What `load` returned, or a map from their names to ours.
    format : str, optional
        As for :func:`gluonx.files.save_arrays`: safetensors where the name ends so, which PyTorch's users read.

    Raises
    ------
    FormatError
        If a parameter has no name in the map.

    Examples
    --------
    >>> import tempfile
    >>> from gluonx import nn, weights
    >>> net = nn.Dense(2, in_units=3)
    >>> net.initialize()
    >>> path = tempfile.mkdtemp() + "/model.safetensors"
    >>> weights.save(net, path, {"fc.kernel": weights.Turned("weight"), "fc.bias": "bias"})
    >>> {name: array.shape for name, array in weights.read(path).items()}
    {'fc.kernel': (3, 2), 'fc.bias': (2,)}
    """
    map = map.by_name if isinstance(map, Report) else map
    params, named = net.collect_params(), {name for target in map.values() for name in naming.names_of(target)}
    known = {id(params[name]) for name in named if name in params}  # a parameter may stand here under two names
    arrays = {n: p.data().asnumpy() for n, p in params.items() if n in named or id(p) not in known}
    files.save_arrays(place, naming.returned(arrays, map), format)


_LEFT = re.compile(r"cls\..*|(vit\.|bert\.)?pooler\..*|.*\.(position_ids|attn\.(masked_)?bias|inv_freq)")
"""What files may hold that no forward here reads: heads of pretraining, and tables that are computed."""


@door
def from_pretrained(folder: str | os.PathLike[str], **options: Any) -> Any:
    """Return a net with its weights, of a folder as the Hugging Face Hub has them; nothing is downloaded.

    Parameters
    ----------
    folder : str or path
        With ``config.json``, and ``model.safetensors`` or another file that `read` knows.
    **options
        As for `load`. Heads of pretraining that the net lacks are left out in any case. Weights in half precision
        become float32; ``dtype_source="saved"`` leaves them, and the net computes so.

    Returns
    -------
    Block
        Of :mod:`gluonx.model_zoo.transformers`.

    Raises
    ------
    ArgumentError
        If the net is of a kind that there is none of here.
    FormatError
        If the files do not fit.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> from gluonx import files, weights
    >>> from gluonx.model_zoo import transformers
    >>> config = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 10, "n_embd": 8}
    >>> config |= {"n_layer": 1, "n_head": 2, "n_positions": 16}
    >>> net = transformers.of_config(config)
    >>> net.initialize()
    >>> folder = pathlib.Path(tempfile.mkdtemp())  # in place of one that the Hub's tools have fetched
    >>> _ = (folder / "config.json").write_text(json.dumps(config))
    >>> weights.save(net, folder / "model.safetensors", transformers.saved_names(net))
    >>> type(weights.from_pretrained(folder)).__name__
    'GPT2'
    """
    path = os.path.join(folder, "config.json")
    if not os.path.isdir(folder):
        raise FormatError(
            f"there is no folder {os.fspath(folder)!r}. Nothing is downloaded: fetch the model's config.json and "
            "model.safetensors from the Hub into a folder, and give that."
        )
    try:
        with open(path, encoding="utf-8") as file:
            config = json.load(file)
    except (OSError, ValueError) as error:
        raise FormatError(f"{path!r} cannot be read: {error}") from error
    net = of_config(config)
    arrays, rules = read(folder), transformers(net)
    extra = match(net, arrays, rules).extra
    left = {name for name in extra if _LEFT.fullmatch(name)}
    load(
        net,
        {name: array for name, array in arrays.items() if name not in left},
        rules,
        **{"cast_dtype": True, **options},
    )
    return net


def __dir__() -> list[str]:
    return sorted(__all__)
