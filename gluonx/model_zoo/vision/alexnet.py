"""AlexNet (A. Krizhevsky, "One weird trick for parallelizing convolutional neural networks", arXiv:1404.5997)."""

from __future__ import annotations

from typing import Any

from gluonx import nn
from gluonx.model_zoo.model_store import getter
from gluonx.model_zoo.parts import Classifier, Parts, chain

__all__ = ["AlexNet", "alexnet"]

# Channels, kernel, stride, padding, and whether a pooling follows.
_STAGES = (
    (64, 11, 4, 2, True),
    (192, 5, 1, 2, True),
    (384, 3, 1, 1, False),
    (256, 3, 1, 1, False),
    (256, 3, 1, 1, True),
)


class AlexNet(Classifier):
    """AlexNet, for images of at least 63x63 (224x224 as published).

    Parameters
    ----------
    classes : int
    layout : {'NCHW', 'NHWC'}

    Examples
    --------
    >>> len(AlexNet(classes=10).collect_params())
    16
    """

    def __init__(self, classes: int = 1000, *, layout: str = "NCHW") -> None:
        parts = Parts(layout)
        body = []
        for channels, kernel, stride, pad, pooled in _STAGES:
            body.append(parts.conv(channels, kernel, stride, pad, activation="relu"))
            body += [parts.max_pool(3, 2)] if pooled else []
        head = [layer for _ in range(2) for layer in (nn.Dense(4096, "relu"), nn.Dropout(0.5))]
        super().__init__(chain(*body, parts.flatten(), *head), nn.Dense(classes), layout)


@getter(lambda **_: "alexnet")
def alexnet(**kwargs: Any) -> AlexNet:
    """AlexNet, on request with weights.

    Parameters
    ----------
    **kwargs
        Of `AlexNet`: `classes`, `layout`.

    Examples
    --------
    >>> from gluonx.model_zoo import vision
    >>> net = vision.alexnet(classes=10)
    >>> net.hybridize()
    """
    return AlexNet(**kwargs)
