"""Weights files of the zoo: in a local folder first, then at an address that the user names; checked by SHA-1.

A weights file is ``ROOT/NAME-HASH.params``, the hash being the first eight digits of the file's SHA-1, as MXNet has
it; a folder that MXNet has filled serves as it is. ``ROOT`` is the argument ``root``, else ``$MXNET_HOME/models``, else
``~/.mxnet/models``. Nothing is fetched unless an address is given, as the argument ``url`` or in
``MXNET_GLUON_REPO``: a server laid out as MXNet's is (``URL/gluon/models/NAME-HASH.zip``), or one ``.params`` or
``.zip`` file. What came is put in its place only if its hash is right.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import inspect
import os
import shutil
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from gluonx import files as serialize
from gluonx.block import checkpoint, naming
from gluonx.common.frames import door
from gluonx.errors import FormatError, GluonxError
from gluonx.model_zoo import torchvision
from gluonx.utils import check_sha1, download

if TYPE_CHECKING:
    from gluonx.device import DeviceLike


__all__ = ["finished", "get_model_file", "getter", "load_weights", "named", "one_of", "purge", "short_hash"]

# The SHA-1 of each file that MXNet published.
_SHA1 = {
    "alexnet": "44335d1f0046b328243b32a26a4fbd62d9057b45",
    "densenet121": "f27dbf2dbd5ce9a80b102d89c7483342cd33cb31",
    "densenet161": "b6c8a95717e3e761bd88d145f4d0a214aaa515dc",
    "densenet169": "2603f878403c6aa5a71a124c4a3307143d6820e9",
    "densenet201": "1cdbc116bc3a1b65832b18cf53e1cb8e7da017eb",
    "inceptionv3": "ed47ec45a937b656fcc94dabde85495bbef5ba1f",
    "mobilenet0.25": "9f83e440996887baf91a6aff1cccc1c903a64274",
    "mobilenet0.5": "8e9d539cc66aa5efa71c4b6af983b936ab8701c3",
    "mobilenet0.75": "529b2c7f4934e6cb851155b22c96c9ab0a7c4dc2",
    "mobilenet1.0": "6b8c5106c730e8750bcd82ceb75220a3351157cd",
    "mobilenetv2_1.0": "36da4ff1867abccd32b29592d79fc753bca5a215",
    "mobilenetv2_0.75": "e2be7b72a79fe4a750d1dd415afedf01c3ea818d",
    "mobilenetv2_0.5": "aabd26cd335379fcb72ae6c8fac45a70eab11785",
    "mobilenetv2_0.25": "ae8f9392789b04822cbb1d98c27283fc5f8aa0a7",
    "resnet18_v1": "a0666292f0a30ff61f857b0b66efc0228eb6a54b",
    "resnet34_v1": "48216ba99a8b1005d75c0f3a0c422301a0473233",
    "resnet50_v1": "0aee57f96768c0a2d5b23a6ec91eb08dfb0a45ce",
    "resnet101_v1": "d988c13d6159779e907140a638c56f229634cb02",
    "resnet152_v1": "671c637a14387ab9e2654eafd0d493d86b1c8579",
    "resnet18_v2": "a81db45fd7b7a2d12ab97cd88ef0a5ac48b8f657",
    "resnet34_v2": "9d6b80bbc35169de6b6edecffdd6047c56fdd322",
    "resnet50_v2": "ecdde35339c1aadbec4f547857078e734a76fb49",
    "resnet101_v2": "18e93e4f48947e002547f50eabbcc9c83e516aa6",
    "resnet152_v2": "f2695542de38cf7e71ed58f02893d82bb409415e",
    "squeezenet1.0": "264ba4970a0cc87a4f15c96e25246a1307caf523",
    "squeezenet1.1": "33ba0f93753c83d86e1eb397f38a667eaf2e9376",
    "vgg11": "dd221b160977f36a53f464cb54648d227c707a05",
    "vgg11_bn": "ee79a8098a91fbe05b7a973fed2017a6117723a8",
    "vgg13": "6bc5de58a05a5e2e7f493e2d75a580d83efde38c",
    "vgg13_bn": "7d97a06c3c7a1aecc88b6e7385c2b373a249e95e",
    "vgg16": "e660d4569ccb679ec68f1fd3cce07a387252a90a",
    "vgg16_bn": "7f01cf050d357127a73826045c245041b0df7363",
    "vgg19": "ad2f660d101905472b83590b59708b71ea22b2e5",
    "vgg19_bn": "f360b758e856f1074a85abd5fd873ed1d98297c3",
}

_PUT = (
    "Put the file {file} (SHA-1 {sha1}) into {folder}, or give url= (or MXNET_GLUON_REPO), the address of a server "
    "that has it as URL/gluon/models/{stem}.zip, or of the file itself. A file that you have, torchvision's "
    "too, is given as pretrained='PATH'."
)

Choice = TypeVar("Choice")
Net = TypeVar("Net")


def one_of(table: Mapping[Any, Choice], key: Any, name: str, argument: str) -> Choice:
    """Return the entry of a table, or a ValueError that names what there is, the nearest first.

    Examples
    --------
    >>> one_of({18: "small", 50: "large"}, 19, "get_resnet", "num_layers")
    Traceback (most recent call last):
    ...
    ValueError: get_resnet: num_layers=19 is not known; there are 18, 50.
    """
    with contextlib.suppress(KeyError, TypeError):
        return table[key]
    near = difflib.get_close_matches(str(key), [k for k in table if isinstance(k, str)], 3, 0.5)
    hint = f" Did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
    known = ", ".join(repr(k) for k in table)
    raise ValueError(f"{name}: {argument}={key!r} is not known; there are {known}.{hint}")


def _sha1(name: str) -> str:
    if name in _SHA1:
        return _SHA1[name]
    near = difflib.get_close_matches(name, _SHA1, 3)
    hint = f" There are some for {', '.join(near)}." if near else ""
    raise ValueError(f"There are no pretrained weights for {name}.{hint}")


def short_hash(name: str) -> str:
    """Return the first eight digits of the SHA-1 of a model's weights file.

    Raises
    ------
    ValueError
        If there is none for that model.

    Examples
    --------
    >>> short_hash("resnet18_v1")
    'a0666292'
    """
    return _sha1(name)[:8]


def _folder(root: str | os.PathLike[str] | None) -> Path:
    if root is None:
        root = Path(os.environ.get("MXNET_HOME") or Path("~", ".mxnet")) / "models"
    return Path(root).expanduser()


def get_model_file(name: str, root: str | os.PathLike[str] | None = None, url: str | None = None) -> str:
    """Return the path of a model's weights file, which is fetched first if it is not there and an address is known.

    Parameters
    ----------
    name : str
        As for `get_model`: ``'resnet18_v1'``.
    root : path, optional
        The folder; ``$MXNET_HOME/models`` or ``~/.mxnet/models`` by default.
    url : str, optional
        Where to fetch it from; ``MXNET_GLUON_REPO`` by default. See the module's text.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If there are no weights for a model of that name.
    GluonxError
        If the file is not there and cannot be fetched; the message says which file to put where.
    FormatError
        If what is there or came has another hash, and no right one can be had.
    """
    sha1 = _sha1(name)
    folder, stem = _folder(root), f"{name}-{sha1[:8]}"
    path = folder / f"{stem}.params"
    there = path.exists()
    if there and check_sha1(path, sha1):
        return str(path)
    put = _PUT.format(file=path.name, sha1=sha1, folder=folder, stem=stem)
    url = url or os.environ.get("MXNET_GLUON_REPO")
    if not url:
        if there:
            raise FormatError(f"{path} is not the weights of {name}: its SHA-1 is another. {put}")
        raise GluonxError(f"The weights of {name} are not in {folder}. {put}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _fetch(url, path, sha1)
    except (FormatError, zipfile.BadZipFile) as error:
        raise FormatError(f"The weights of {name} cannot be had: {error}. {put}") from error
    except (GluonxError, OSError) as error:
        raise GluonxError(f"The weights of {name} cannot be had: {error}. {put}") from error
    return str(path)


def _fetch(url: str, path: Path, sha1: str) -> None:
    if url.endswith(".params"):
        download(url, path, overwrite=True, sha1_hash=sha1, retries=2)
        return
    source = url if url.endswith(".zip") else f"{url.rstrip('/')}/gluon/models/{path.stem}.zip"
    packed = path.with_name(f".{path.stem}.{os.getpid()}.zip")
    try:
        download(source, packed, overwrite=True, retries=2)
        with zipfile.ZipFile(packed) as archive, serialize.atomic_write(path) as file:
            if path.name not in archive.namelist():
                raise FormatError(f"what came from {source} does not hold {path.name}")
            with archive.open(path.name) as member:
                shutil.copyfileobj(member, file, 1 << 20)
            file.flush()
            if not check_sha1(file.name, sha1):
                raise FormatError(f"{path.name} in what came from {source} does not have the SHA-1 hash {sha1}")
    finally:
        packed.unlink(missing_ok=True)


def purge(root: str | os.PathLike[str] | None = None) -> None:
    """Remove all weights files from the folder."""
    for path in _folder(root).glob("*.params"):
        path.unlink()


def load_weights(
    net: Any, filename: str | os.PathLike[str], device: DeviceLike = None, ignore_mismatch: bool | str = False
) -> None:
    """Read a weights file of MXNet into a net of the zoo, of whichever layout.

    Parameters
    ----------
    net : Block
        Initialized or not. If its ``layout`` has the channels last, the kernels of convolutions are transposed.
    filename : path
        By structured names (``features.0.weight``), by torchvision's (a safetensors or ``.pth`` file), or, as older
        files are, in the order of the net's parameters under names such as ``squeezenet0_conv0_weight``.
    device : Device, optional
        Where parameters go that are not initialized yet.
    ignore_mismatch : bool or str
        As for :meth:`~gluonx.gluon.Block.load_parameters`.

    Raises
    ------
    FormatError
        If the file does not fit the net; the message lists all that is missing, unexpected or of another shape.
    """
    arrays = _by_position(net, _of_torchvision(net, serialize.load_arrays(filename)))
    if getattr(net, "layout", "NCHW") == "NHWC":
        hosts = {k: v.asnumpy() if hasattr(v, "asnumpy") else np.asarray(v) for k, v in arrays.items()}
        arrays = {k: v.transpose(0, 2, 3, 1) if v.ndim == 4 else v for k, v in hosts.items()}
    options = checkpoint.Options(device, ignore_mismatch=ignore_mismatch)
    checkpoint.load_dict(net, arrays, f"file '{os.fspath(filename)}'", options)


def _of_torchvision(net: Any, arrays: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arrays under the net's names, if theirs are torchvision's: those with its word for the last layer."""
    arrays = {name.removeprefix("module."): value for name, value in arrays.items()}
    if not any(name.startswith(("fc.", "classifier.")) for name in arrays):
        return arrays
    return naming.arranged(torchvision.renewed(arrays), net.collect_params(), torchvision.names_of(net))


def _by_position(net: Any, arrays: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arrays under the net's names, if theirs have no dots and their kinds come in the net's order."""
    names = list(net.collect_params())
    if any("." in name for name in arrays) or len(names) != len(arrays):
        return arrays
    fits = all(old.replace("moving_", "running_").endswith(new.rpartition(".")[2]) for old, new in zip(arrays, names))
    return dict(zip(names, arrays.values())) if fits else arrays


_ENDINGS = (".params", ".safetensors", ".pth", ".pt", ".bin")


def _in_folder(folder: Path, name: str) -> Path:
    """Return the weights file of a user's folder: the one that is called as the model is, or the only one."""
    found = sorted(path for path in folder.iterdir() if path.suffix in _ENDINGS)
    found = [path for path in found if path.stem == name or path.name.startswith(f"{name}-")] or found
    if len(found) != 1:
        told = ", ".join(path.name for path in found[:10]) or "none"
        raise FormatError(
            f"the folder '{folder}' should hold one file of weights for {name} ({', '.join(_ENDINGS)}); it holds "
            f"{told}. Give the path of the file: pretrained='{folder / 'FILE'}'."
        )
    return found[0]


def finished(
    net: Any,
    name: str,
    pretrained: bool | str | os.PathLike[str],
    device: DeviceLike = None,
    root: str | os.PathLike[str] | None = None,
    url: str | None = None,
) -> Any:
    """Return the net, with the weights of `name` in it if `pretrained`; its output stays as it is for other classes."""
    if isinstance(pretrained, str | os.PathLike):
        place = _in_folder(Path(pretrained), name) if os.path.isdir(pretrained) else pretrained
        load_weights(net, place, device, r"output\.")
    elif pretrained:
        load_weights(net, get_model_file(name, root, url), device, r"output\.")
    return net


_WEIGHTS = """\
    pretrained : bool or path
        Whether to load MXNet's weights for ImageNet. Or a file of weights, MXNet's, gluonx's or
        torchvision's, or a folder with one such file.
    device : Device, optional
        Where they go. ``ctx`` is its older name.
    root, url : optional
        Where they are found; see `gluonx.model_zoo.model_store.get_model_file`.
"""


def getter(weights: Callable[..., str]) -> Callable[[Callable[..., Net]], Callable[..., Net]]:
    """Let a function that makes a net load its weights too, the file of the name `weights`; a decorator.

    Behind its own parameters the function takes ``pretrained``, ``device`` and ``root``, as keywords ``ctx`` and
    ``url``, and its page tells of them. `weights` is called as the function is.
    """

    def decorate(make: Callable[..., Net]) -> Callable[..., Net]:
        makes = [p for p in inspect.signature(make).parameters.values() if p.kind is not p.VAR_KEYWORD]
        own = [p for p in makes if p.kind is not p.KEYWORD_ONLY]
        added = inspect.signature(_taken).parameters.values()
        everything = sorted([*own, *added, *makes[len(own) :]], key=lambda p: p.kind)
        signature = inspect.Signature(everything, return_annotation=make.__annotations__["return"])

        @door
        @functools.wraps(make)
        def get(*args: Any, **kwargs: Any) -> Net:
            place, more = _taken(*args[len(own) :], **kwargs)
            net = make(*args[: len(own)], **more)
            return finished(net, weights(*args[: len(own)], **more), *place)

        get.__signature__ = signature  # type: ignore[attr-defined]
        before, mark, after = (make.__doc__ or "").partition("    **kwargs\n")
        get.__doc__ = before + _WEIGHTS + mark + after if mark else make.__doc__
        return get

    return decorate


def _taken(
    pretrained: bool = False,
    device: DeviceLike = None,
    root: Any = None,
    *,
    ctx: DeviceLike = None,
    url: str | None = None,
    **kwargs: Any,
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Part what says where weights are from what a net is made with; `getter` adds these parameters."""
    return (pretrained, ctx if device is None else device, root, url), kwargs


def named(getter: Callable[..., Any], name: str, what: str, **fixed: Any) -> Callable[..., Any]:
    """Return the function `name`, which calls `getter` with `fixed` arguments and the caller's keywords."""

    def make(**kwargs: Any) -> Any:
        return getter(**fixed, **kwargs)

    make.__name__ = make.__qualname__ = name
    make.__module__ = getter.__module__
    make.__doc__ = (
        f"{what}; the keywords are those of `{getter.__name__}`.\n\nExamples\n--------\n"
        f">>> from gluonx.model_zoo import vision\n>>> net = vision.{name}(classes=10)\n>>> net.hybridize()\n"
    )
    return door(make)
