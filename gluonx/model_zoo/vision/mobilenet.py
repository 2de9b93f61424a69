"""MobileNet (A. G. Howard et al., arXiv:1704.04861) and MobileNetV2 (M. Sandler et al., arXiv:1801.04381)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gluonx import nn
from gluonx.block.block import HybridBlock
from gluonx.deferred import invoke
from gluonx.model_zoo.model_store import getter, named
from gluonx.model_zoo.parts import Classifier, Parts, chain
from gluonx.ops import get

__all__ = [
    "MobileNet",
    "MobileNetV2",
    "get_mobilenet",
    "get_mobilenet_v2",
    "mobilenet0_25",
    "mobilenet0_5",
    "mobilenet0_75",
    "mobilenet1_0",
    "mobilenet_v2_0_25",
    "mobilenet_v2_0_5",
    "mobilenet_v2_0_75",
    "mobilenet_v2_1_0",
]

# Channels and stride of each pair of a depthwise and a 1x1 convolution.
_V1 = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1))
# How far each group of bottlenecks expands, its channels, how many they are, the stride of the first.
_V2 = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


class RELU6(HybridBlock):
    """``min(max(x, 0), 6)``.

    Examples
    --------
    >>> from gluonx import np
    >>> RELU6()(np.array([-1, 3, 9])).tolist()
    [0.0, 3.0, 6.0]
    """

    def __init__(self) -> None:
        super().__init__()
        self._op = get("clip").bind()

    def forward(self, x: Any) -> Any:
        """Clip to [0, 6]."""
        return invoke(self._op, (x, 0.0, 6.0))


class LinearBottleneck(HybridBlock):
    """1x1 to `t` times the channels, depthwise 3x3, 1x1 to `channels` without activation; a shortcut where it fits.

    Parameters
    ----------
    in_channels, channels : int
    t : int
        The expansion.
    stride : int
        Of the depthwise convolution.
    layout : {'NCHW', 'NHWC'}
    torchvision : bool
        Whether the first convolution is left out where it does not expand.
    """

    def __init__(
        self,
        in_channels: int,
        channels: int,
        t: int,
        stride: int,
        *,
        layout: str = "NCHW",
        torchvision: bool = False,
    ) -> None:
        super().__init__()
        parts, wide = Parts(layout), t * in_channels
        self.use_shortcut = stride == 1 and in_channels == channels
        expansion = [] if torchvision and t == 1 else parts.unit(wide, 1, act=RELU6())
        self.out = chain(
            *expansion,
            *parts.unit(wide, 3, stride, 1, act=RELU6(), groups=wide),
            *parts.unit(channels, 1)[:2],
        )

    def forward(self, x: Any) -> Any:
        """Images to images."""
        y = self.out(x)
        return y + x if self.use_shortcut else y


class MobileNet(Classifier):
    """Depthwise 3x3 and 1x1 convolutions in turn.

    Parameters
    ----------
    multiplier : float
        All numbers of channels are multiplied by it.
    classes : int
    layout : {'NCHW', 'NHWC'}

    Examples
    --------
    >>> len(MobileNet(0.25, classes=10).collect_params())
    137
    """

    def __init__(self, multiplier: float = 1.0, classes: int = 1000, *, layout: str = "NCHW") -> None:
        parts = Parts(layout)
        width = int(32 * multiplier)
        body = parts.unit(width, 3, 2, 1)
        for channels, stride in _V1:
            body += parts.unit(width, 3, stride, 1, groups=width)
            width = int(channels * multiplier)
            body += parts.unit(width, 1)
        super().__init__(chain(*body, parts.global_pool(), parts.flatten()), nn.Dense(classes), layout)


class MobileNetV2(Classifier):
    """Bottlenecks that are wide inside and thin between.

    Parameters
    ----------
    multiplier : float
        All numbers of channels are multiplied by it; the last one, 1280, only if it is above 1.
    classes : int
    layout : {'NCHW', 'NHWC'}
    torchvision : bool
        Whether it is the network of torchvision, whose weights it takes then: the first bottleneck has no expansion,
        and the last layer is a dense one behind a dropout of 0.2. MXNet's has an expansion there, and a last
        convolution without bias.

    Examples
    --------
    >>> len(MobileNetV2(0.25, classes=10).collect_params())
    266
    """

    def __init__(
        self, multiplier: float = 1.0, classes: int = 1000, *, layout: str = "NCHW", torchvision: bool = False
    ) -> None:
        parts = Parts(layout)
        width = int(32 * multiplier)
        body: list[Any] = parts.unit(width, 3, 2, 1, act=RELU6())
        for expansion, channels, count, stride in _V2:
            made = int(channels * multiplier)
            for i in range(count):
                step = 1 if i else stride
                body.append(LinearBottleneck(width, made, expansion, step, layout=layout, torchvision=torchvision))
                width = made
        last = int(1280 * multiplier) if multiplier > 1 else 1280
        body += [*parts.unit(last, 1, act=RELU6()), parts.global_pool()]
        if torchvision:
            output = chain(nn.Dropout(0.2), parts.dense(classes))
        else:
            output = chain(parts.conv(classes, 1, use_bias=False), parts.flatten())
        super().__init__(chain(*body), output, layout)


def _shown(multiplier: float) -> str:
    """With two digits, the second left out where it is 0, as the names of weight files have it."""
    return f"{multiplier:.2f}".removesuffix("0")


@getter(lambda multiplier, **_: f"mobilenet{_shown(multiplier)}")
def get_mobilenet(multiplier: float, **kwargs: Any) -> MobileNet:
    """MobileNet of a width.

    Parameters
    ----------
    multiplier : float
        Weights are published for 1, 0.75, 0.5 and 0.25.
    **kwargs
        Of `MobileNet`: `classes`, `layout`.

    Examples
    --------
    >>> from gluonx.model_zoo import vision
    >>> net = vision.get_mobilenet(0.25, classes=10)
    >>> net.hybridize()
    """
    return MobileNet(multiplier, **kwargs)


def _weights(multiplier: float, torchvision: bool = False, **_: object) -> str:
    return f"mobilenetv2_{_shown(multiplier)}" + (" as torchvision has it" if torchvision else "")


@getter(_weights)
def get_mobilenet_v2(multiplier: float, **kwargs: Any) -> MobileNetV2:
    """MobileNetV2 of a width.

    Parameters
    ----------
    multiplier : float
        Weights are published for 1, 0.75, 0.5 and 0.25.
    **kwargs
        Of `MobileNetV2`: `classes`, `layout`, `torchvision`.

    Examples
    --------
    >>> from gluonx.model_zoo import vision
    >>> net = vision.get_mobilenet_v2(0.25, classes=10)
    >>> net.hybridize()
    """
    return MobileNetV2(multiplier, **kwargs)


def _widths(getter: Callable[..., Any], prefix: str, title: str) -> list[Callable[..., Any]]:
    attributes = [(_shown(w).replace(".", "_"), w) for w in (1.0, 0.75, 0.5, 0.25)]
    return [named(getter, prefix + a, f"{title} of width {w}", multiplier=w) for a, w in attributes]


mobilenet1_0, mobilenet0_75, mobilenet0_5, mobilenet0_25 = _widths(get_mobilenet, "mobilenet", "MobileNet")
mobilenet_v2_1_0, mobilenet_v2_0_75, mobilenet_v2_0_5, mobilenet_v2_0_25 = _widths(
    get_mobilenet_v2, "mobilenet_v2_", "MobileNetV2"
)
