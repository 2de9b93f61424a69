"""VGG (K. Simonyan and A. Zisserman, arXiv:1409.1556), with and without batch normalization."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gluonx import nn
from gluonx.initializer import Xavier
from gluonx.model_zoo.model_store import getter, named, one_of
from gluonx.model_zoo.parts import Classifier, Parts, chain

__all__ = [
    "VGG",
    "get_vgg",
    "vgg11",
    "vgg11_bn",
    "vgg13",
    "vgg13_bn",
    "vgg16",
    "vgg16_bn",
    "vgg19",
    "vgg19_bn",
]

_FILTERS = (64, 128, 256, 512, 512)
_LAYERS = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}


class VGG(Classifier):
    """Stages of 3x3 convolutions, each stage ended by a pooling, and two wide dense layers.

    Parameters
    ----------
    layers : sequence of int
        How many convolutions each stage has.
    filters : sequence of int
        How many channels.
    classes : int
    batch_norm : bool
        Whether each convolution is normalized.
    layout : {'NCHW', 'NHWC'}

    Raises
    ------
    ValueError
        If `layers` and `filters` are not of one length.

    Examples
    --------
    >>> len(VGG([1, 2], [4, 8], classes=3).features)
    12
    """

    def __init__(
        self,
        layers: Sequence[int],
        filters: Sequence[int],
        classes: int = 1000,
        batch_norm: bool = False,
        *,
        layout: str = "NCHW",
    ) -> None:
        if len(layers) != len(filters):
            raise ValueError(f"VGG: layers has {len(layers)} stages and filters {len(filters)}; they must agree.")
        parts = Parts(layout)
        body: list[Any] = []
        for count, channels in zip(layers, filters):
            for _ in range(count):
                init = Xavier(rnd_type="gaussian", factor_type="out", magnitude=2)
                body.append(parts.conv(channels, 3, pad=1, weight_initializer=init))
                body += [parts.norm()] if batch_norm else []
                body.append(nn.Activation("relu"))
            body.append(parts.max_pool(2, 2))
        for _ in range(2):
            body += [parts.dense(4096, "relu", weight_initializer="normal"), nn.Dropout(0.5)]
        super().__init__(chain(*body), nn.Dense(classes, weight_initializer="normal"), layout)


@getter(lambda num_layers, batch_norm=False, **_: f"vgg{num_layers}" + "_bn" * bool(batch_norm))
def get_vgg(num_layers: int, **kwargs: Any) -> VGG:
    """VGG of a number of layers.

    Parameters
    ----------
    num_layers : {11, 13, 16, 19}
    **kwargs
        Of `VGG`: `classes`, `batch_norm`, `layout`.

    Raises
    ------
    ValueError
        If there is none of so many layers.

    Examples
    --------
    >>> from gluonx.model_zoo import vision
    >>> net = vision.get_vgg(11, classes=10, batch_norm=True)
    >>> net.hybridize()
    """
    return VGG(one_of(_LAYERS, num_layers, "get_vgg", "num_layers"), _FILTERS, **kwargs)


vgg11, vgg13, vgg16, vgg19 = (named(get_vgg, f"vgg{n}", f"VGG of {n} layers", num_layers=n) for n in _LAYERS)
vgg11_bn, vgg13_bn, vgg16_bn, vgg19_bn = (
    named(get_vgg, f"vgg{n}_bn", f"VGG of {n} layers with batch normalization", num_layers=n, batch_norm=True)
    for n in _LAYERS
)
