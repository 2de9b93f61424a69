"""SqueezeNet (F. N. Iandola et al., arXiv:1602.07360)."""

from __future__ import annotations

from typing import Any

from gluonx import nn
from gluonx.model_zoo.model_store import getter, named, one_of
from gluonx.model_zoo.parts import Classifier, Parts, chain

__all__ = ["SqueezeNet", "squeezenet1_0", "squeezenet1_1"]

# Channels and kernel of the first layer; then for each fire module how far it squeezes, or 0 for a pooling.
_VERSIONS = {
    "1.0": ((96, 7), (0, 16, 16, 32, 0, 32, 48, 48, 64, 0, 64)),
    "1.1": ((64, 3), (0, 16, 16, 0, 32, 32, 0, 48, 48, 64, 64)),
}


def _relu(parts: Parts, channels: int, kernel: int, stride: int = 1, pad: int = 0) -> list[nn.HybridBlock]:
    return [parts.conv(channels, kernel, stride, pad), nn.Activation("relu")]


def _fire(parts: Parts, squeeze: int) -> nn.HybridBlock:
    """To few channels by 1x1, then to four times as many by 1x1 and by 3x3, side by side."""
    wide = [chain(*_relu(parts, 4 * squeeze, 1)), chain(*_relu(parts, 4 * squeeze, 3, pad=1))]
    return chain(chain(*_relu(parts, squeeze, 1)), parts.branches(wide))


class SqueezeNet(Classifier):
    """SqueezeNet, for images of 224x224 or somewhat larger.

    Parameters
    ----------
    version : {'1.0', '1.1'}
        '1.1' does the work of '1.0' in less than half the operations.
    classes : int
    layout : {'NCHW', 'NHWC'}

    Raises
    ------
    ValueError
        If the version is another.

    Examples
    --------
    >>> len(SqueezeNet("1.1", classes=10).collect_params())
    52
    """

    def __init__(self, version: str, classes: int = 1000, *, layout: str = "NCHW") -> None:
        (channels, kernel), fires = one_of(_VERSIONS, version, "SqueezeNet", "version")
        parts = Parts(layout)
        body = [_fire(parts, n) if n else parts.max_pool(3, 2, ceil_mode=True) for n in fires]
        features = chain(*_relu(parts, channels, kernel, stride=2), *body, nn.Dropout(0.5))
        output = chain(*_relu(parts, classes, 1), parts.avg_pool(13), parts.flatten())
        super().__init__(features, output, layout)


@getter(lambda version, **_: f"squeezenet{version}")
def _get_squeezenet(version: str, **kwargs: Any) -> SqueezeNet:
    return SqueezeNet(version, **kwargs)


squeezenet1_0, squeezenet1_1 = (
    named(_get_squeezenet, f"squeezenet1_{i}", f"SqueezeNet 1.{i}", version=f"1.{i}") for i in (0, 1)
)
