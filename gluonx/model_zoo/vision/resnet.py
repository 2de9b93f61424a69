"""ResNet v1 (K. He et al., arXiv:1512.03385) and v2 (arXiv:1603.05027), of 18 to 152 layers.

Four blocks: each version has a basic and a bottleneck one. They differ by a row of convolutions and by where
normalization and activation stand: behind each convolution in version 1, before it in version 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gluonx import nn
from gluonx.block.block import HybridBlock
from gluonx.deferred import invoke
from gluonx.errors import ArgumentError
from gluonx.model_zoo.model_store import getter, named, one_of
from gluonx.model_zoo.parts import Classifier, Parts, chain
from gluonx.ops import get

if TYPE_CHECKING:
    from gluonx.np.handle import ndarray


__all__ = [
    "BasicBlockV1",
    "BasicBlockV2",
    "BottleneckV1",
    "BottleneckV2",
    "ResNetV1",
    "ResNetV2",
    "get_resnet",
    "resnet18_v1",
    "resnet34_v1",
    "resnet50_v1",
    "resnet101_v1",
    "resnet152_v1",
    "resnet18_v2",
    "resnet34_v2",
    "resnet50_v2",
    "resnet101_v2",
    "resnet152_v2",
]

_RELU = get("activation").bind(act_type="relu")
_BASIC, _BOTTLENECK = (64, 64, 128, 256, 512), (64, 256, 512, 1024, 2048)
_SPECS = {
    18: ("Basic", (2, 2, 2, 2), _BASIC),
    34: ("Basic", (3, 4, 6, 3), _BASIC),
    50: ("Bottleneck", (3, 4, 6, 3), _BOTTLENECK),
    101: ("Bottleneck", (3, 4, 23, 3), _BOTTLENECK),
    152: ("Bottleneck", (3, 8, 36, 3), _BOTTLENECK),
}


class _BlockV1(HybridBlock):
    """Convolutions with normalization around a shortcut, the last activation behind the sum.

    Parameters
    ----------
    channels : int
        Of the output.
    stride : int
    downsample : bool
        Whether the shortcut is a convolution, because stride or channels change.
    in_channels : int
        Of the input; 0 leaves it to the first batch.
    layout : {'NCHW', 'NHWC'}
    """

    def __init__(
        self, channels: int, stride: int, downsample: bool = False, in_channels: int = 0, *, layout: str = "NCHW"
    ) -> None:
        super().__init__()
        parts = Parts(layout)
        layers: list[Any] = []
        for i, (width, kernel, step, bias) in enumerate(self._convolutions(channels, stride)):
            inner = 0 if i else in_channels
            conv = parts.conv(width, kernel, step, kernel // 2, use_bias=bias, in_channels=inner)
            layers += [conv, parts.norm(), nn.Activation("relu")]
        self.body = chain(*layers[:-1])
        self.downsample = None
        if downsample:
            conv = parts.conv(channels, 1, stride, use_bias=False, in_channels=in_channels)
            self.downsample = chain(conv, parts.norm())

    def _convolutions(self, channels: int, stride: int) -> Sequence[tuple[int, int, int, bool]]:
        """(channels, kernel, stride, whether there is a bias) of each convolution."""
        raise NotImplementedError

    def forward(self, x: ndarray) -> ndarray:
        """Images to images."""
        shortcut = x if self.downsample is None else self.downsample(x)
        return invoke(_RELU, (self.body(x) + shortcut,))


class BasicBlockV1(_BlockV1):
    """Two 3x3 convolutions; of ResNet v1 with 18 and 34 layers.

    Parameters
    ----------
    channels, stride, downsample, in_channels, layout
        Channels of the output, stride, whether the shortcut is a convolution, channels of the input, 'NCHW' or 'NHWC'.

    Examples
    --------
    >>> from gluonx import np
    >>> block = BasicBlockV1(8, 2, downsample=True)
    >>> block.initialize()
    >>> block(np.ones((1, 4, 6, 6))).shape
    (1, 8, 3, 3)
    """

    def _convolutions(self, channels: int, stride: int) -> Sequence[tuple[int, int, int, bool]]:
        return (channels, 3, stride, False), (channels, 3, 1, False)


class BottleneckV1(_BlockV1):
    """1x1 to a quarter of the channels, 3x3, 1x1; of ResNet v1 with 50 and more layers.

    The stride is in the first convolution, and the 1x1 convolutions have a bias, as in MXNet. The parameters are those
    of `BasicBlockV1`.

    Examples
    --------
    >>> from gluonx import np
    >>> block = BottleneckV1(8, 2, downsample=True, in_channels=4)
    >>> block.initialize()
    >>> block(np.ones((1, 4, 6, 6))).shape
    (1, 8, 3, 3)
    """

    def _convolutions(self, channels: int, stride: int) -> Sequence[tuple[int, int, int, bool]]:
        inner = channels // 4
        return (inner, 1, stride, True), (inner, 3, 1, False), (channels, 1, 1, True)


class _BottleneckOfTorchvision(BottleneckV1):
    """A bottleneck as torchvision has it: the stride is in the 3x3 convolution, and nothing has a bias."""

    def _convolutions(self, channels: int, stride: int) -> Sequence[tuple[int, int, int, bool]]:
        inner = channels // 4
        return (inner, 1, 1, False), (inner, 3, stride, False), (channels, 1, 1, False)


class _BlockV2(HybridBlock):
    """Normalization, activation and convolution in turn, around a shortcut; the parameters are those of `_BlockV1`."""

    def __init__(
        self, channels: int, stride: int, downsample: bool = False, in_channels: int = 0, *, layout: str = "NCHW"
    ) -> None:
        super().__init__()
        parts = Parts(layout)
        rows = self._convolutions(channels, stride)
        self._count = len(rows)
        for i, (width, kernel, step) in enumerate(rows, 1):
            conv = parts.conv(
                width, kernel, step, kernel // 2, use_bias=False, in_channels=in_channels if i == 1 else 0
            )
            setattr(self, f"bn{i}", parts.norm())
            setattr(self, f"conv{i}", conv)
        self.downsample = None
        if downsample:
            self.downsample = parts.conv(channels, 1, stride, use_bias=False, in_channels=in_channels)

    def _convolutions(self, channels: int, stride: int) -> Sequence[tuple[int, int, int]]:
        """(channels, kernel, stride) of each convolution."""
        raise NotImplementedError

    def forward(self, x: Any) -> Any:
        """Images to images."""
        shortcut = x
        for i in range(1, self._count + 1):
            x = invoke(_RELU, (self._children[f"bn{i}"](x),))
            if i == 1 and self.downsample is not None:
                shortcut = self.downsample(x)
            x = self._children[f"conv{i}"](x)
        return x + shortcut


class BasicBlockV2(_BlockV2):
    """Two 3x3 convolutions; of ResNet v2 with 18 and 34 layers. The parameters are those of `BasicBlockV1`.

    Examples
    --------
    >>> from gluonx import np
    >>> block = BasicBlockV2(8, 2, downsample=True, in_channels=4)
    >>> block.initialize()
    >>> block(np.ones((1, 4, 6, 6))).shape
    (1, 8, 3, 3)
    """

    def _convolutions(self, channels: int, stride: int) -> Sequence[tuple[int, int, int]]:
        return (channels, 3, stride), (channels, 3, 1)


class BottleneckV2(_BlockV2):
    """1x1, 3x3, 1x1; of ResNet v2 with 50 and more layers. The parameters are those of `BasicBlockV1`.

    Examples
    --------
    >>> from gluonx import np
    >>> block = BottleneckV2(8, 2, downsample=True, in_channels=4)
    >>> block.initialize()
    >>> block(np.ones((1, 4, 6, 6))).shape
    (1, 8, 3, 3)
    """

    def _convolutions(self, channels: int, stride: int) -> Sequence[tuple[int, int, int]]:
        inner = channels // 4
        return (inner, 1, 1), (inner, 3, stride), (channels, 1, 1)


def _stages(block: type, layers: Sequence[int], channels: Sequence[int], layout: str) -> list[Any]:
    """Return the stages; all but the first halve the image."""
    if len(layers) != len(channels) - 1:
        raise ValueError(
            f"ResNet: {len(layers)} stages (layers={list(layers)}) need {len(layers) + 1} numbers of channels, "
            f"the stem's first, but channels={list(channels)}."
        )
    stages = []
    for i, count in enumerate(layers):
        width = channels[i + 1]
        first = block(width, 2 if i else 1, width != channels[i], in_channels=channels[i], layout=layout)
        rest = [block(width, 1, False, in_channels=width, layout=layout) for _ in range(count - 1)]
        stages.append(chain(first, *rest))
    return stages


def _stem(parts: Parts, width: int, thumbnail: bool) -> list[Any]:
    if thumbnail:
        return [parts.conv(width, 3, 1, 1, use_bias=False)]
    return [*parts.unit(width, 7, 2, 3), parts.max_pool(3, 2, 1)]


class _ResNet(Classifier):
    """Stem, stages and a last layer; a version says what stands around stem and stages."""

    def __init__(
        self,
        block: type,
        layers: Sequence[int],
        channels: Sequence[int],
        classes: int = 1000,
        thumbnail: bool = False,
        *,
        layout: str = "NCHW",
    ) -> None:
        parts = Parts(layout)
        body = [*_stem(parts, channels[0], thumbnail), *_stages(block, layers, channels, layout)]
        features = chain(*self._framed(parts, body))
        super().__init__(features, nn.Dense(classes, in_units=channels[-1]), layout)

    def _framed(self, parts: Parts, body: list[Any]) -> list[Any]:
        """Return the layers up to the features, of which `body` is stem and stages."""
        raise NotImplementedError


class ResNetV1(_ResNet):
    """ResNet, version 1.

    Parameters
    ----------
    block : type
        `BasicBlockV1` or `BottleneckV1`.
    layers : sequence of int
        How many blocks each stage has.
    channels : sequence of int
        Channels of the stem and of each stage.
    classes : int
    thumbnail : bool
        For small images: the stem is one 3x3 convolution.
    layout : {'NCHW', 'NHWC'}

    Raises
    ------
    ValueError
        If `channels` is not one longer than `layers`.

    Examples
    --------
    >>> len(ResNetV1(BasicBlockV1, [1, 1], [8, 8, 16], classes=3, thumbnail=True).features)
    4
    """

    def _framed(self, parts: Parts, body: list[Any]) -> list[Any]:
        return [*body, parts.global_pool()]


class ResNetV2(_ResNet):
    """ResNet, version 2. The parameters are those of `ResNetV1`, the blocks `BasicBlockV2` and `BottleneckV2`.

    Examples
    --------
    >>> len(ResNetV2(BasicBlockV2, [1, 1], [8, 8, 16], classes=3, thumbnail=True).features)
    8
    """

    def _framed(self, parts: Parts, body: list[Any]) -> list[Any]:
        tail = [parts.norm(), nn.Activation("relu"), parts.global_pool(), parts.flatten()]
        return [parts.norm(scale=False, center=False), *body, *tail]


_VERSIONS = {
    1: (ResNetV1, {"Basic": BasicBlockV1, "Bottleneck": BottleneckV1}),
    2: (ResNetV2, {"Basic": BasicBlockV2, "Bottleneck": BottleneckV2}),
}


def _weights(version: int, num_layers: int, torchvision: bool = False, **_: object) -> str:
    return f"resnet{num_layers}_v{version}" + (" as torchvision has it" if torchvision else "")


@getter(_weights)
def get_resnet(version: int, num_layers: int, *, torchvision: bool = False, **kwargs: Any) -> ResNetV1 | ResNetV2:
    """ResNet of a version and a number of layers.

    Parameters
    ----------
    version : {1, 2}
    num_layers : {18, 34, 50, 101, 152}
    torchvision : bool
        Whether bottlenecks of version 1 are torchvision's, whose stride is in the 3x3 convolution; see
        `gluonx.weights.torchvision`.
    **kwargs
        Of `ResNetV1`: `classes`, `thumbnail`, `layout`.

    Raises
    ------
    ValueError
        If there is no such version, or none of so many layers, or torchvision has no such net.

    Examples
    --------
    >>> get_resnet(2, 18, classes=10).output
    Dense(512 -> 10, linear)
    """
    kind, layers, channels = one_of(_SPECS, num_layers, "get_resnet", "num_layers")
    cls, blocks = one_of(_VERSIONS, version, "get_resnet", "version")
    if torchvision and version != 1:
        raise ArgumentError("get_resnet: torchvision has ResNets of version 1 alone; leave torchvision=True out.")
    block = _BottleneckOfTorchvision if torchvision and kind == "Bottleneck" else blocks[kind]
    return cls(block, layers, channels, **kwargs)


def _depths(version: int) -> list[Callable[..., Any]]:
    title = "ResNet v{} of {} layers".format
    return [
        named(get_resnet, f"resnet{n}_v{version}", title(version, n), version=version, num_layers=n) for n in _SPECS
    ]


resnet18_v1, resnet34_v1, resnet50_v1, resnet101_v1, resnet152_v1 = _depths(1)
resnet18_v2, resnet34_v2, resnet50_v2, resnet101_v2, resnet152_v2 = _depths(2)
