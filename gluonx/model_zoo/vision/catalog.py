"""The models by name."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from typing import Any

from gluonx.common.frames import door
from gluonx.model_zoo.vision import densenet, mobilenet, resnet, squeezenet, vgg
from gluonx.model_zoo.vision.alexnet import alexnet
from gluonx.model_zoo.vision.inception import inception_v3


def _spelled(function: str) -> str:
    """Return the name of a model whose function is `function`: ``mobilenet_v2_0_25`` makes mobilenetv2_0.25."""
    return re.sub(r"(\d)_(\d+)$", r"\1.\2", function).replace("mobilenet_v2", "mobilenetv2")


_MODELS: dict[str, Callable[..., Any]] = {
    "alexnet": alexnet,
    "inceptionv3": inception_v3,
    **{
        _spelled(name): getattr(family, name)
        for family in (densenet, mobilenet, resnet, squeezenet, vgg)
        for name in family.__all__
        if name.islower() and not name.startswith("get_")
    },
}


@door
def get_model(name: str, **kwargs: Any) -> Any:
    """Return a model by its name, such as ``'resnet50_v2'`` or ``'mobilenetv2_0.25'``, upper or lower case.

    Parameters
    ----------
    name : str
    pretrained : bool
        Whether to load MXNet's weights for ImageNet; False by default.
    device, ctx : Device, optional
        Where they go.
    root : path, optional
        The folder they are in, ``$MXNET_HOME/models`` or ``~/.mxnet/models`` by default.
    url : str, optional
        Where to fetch them from if they are not; ``MXNET_GLUON_REPO`` by default.
    classes : int
        1000 by default.
    layout : {'NCHW', 'NHWC'}
        Of the images. The same weights serve both.

    Returns
    -------
    HybridBlock
        Not initialized, unless `pretrained`.

    Raises
    ------
    ValueError
        If there is no model of that name; the message begins with those of a similar name.

    Examples
    --------
    >>> net = get_model("squeezenet1.1", classes=10)
    >>> type(net).__name__
    'SqueezeNet'
    """
    make = _MODELS.get(name.lower())
    if make is None:
        near = difflib.get_close_matches(name.lower(), _MODELS, 5, 0.6)
        hint = f"Did you mean {' or '.join(near)}? " if near else ""
        raise ValueError(f"There is no model {name!r}. {hint}There are {', '.join(sorted(_MODELS))}.")
    return make(**kwargs)
