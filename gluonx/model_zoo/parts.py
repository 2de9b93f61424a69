"""Building blocks of the zoo's networks: layers that know their layout, chains and branches.

A family says each thing once, as ``parts.conv(64, 3, pad=1)``; `Parts` puts the channels where the layout has them. So
NCHW and NHWC are one description. Parameter names are the same in both, and so are shapes, but for the kernels of
convolutions, whose channels lie where the data's do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gluonx import nn
from gluonx.block.block import HybridBlock
from gluonx.deferred import invoke
from gluonx.errors import ArgumentError
from gluonx.ops import get

if TYPE_CHECKING:
    from gluonx.device import DeviceLike
    from gluonx.np.handle import ndarray


Size = int | tuple[int, int]

_FIRST = get("transpose").bind(axes=(0, 3, 1, 2))


def _channels_first(x: Any) -> Any:
    return invoke(_FIRST, (x,)) if len(x.shape) == 4 else x


class ImageFlatten(nn.Flatten):
    """Flattens NHWC images in the order of NCHW, so that weights of dense layers behind it fit both layouts.

    Examples
    --------
    >>> from gluonx import np
    >>> ImageFlatten()(np.array([[[[0, 1], [2, 3]]]])).tolist()
    [[0.0, 2.0, 1.0, 3.0]]
    """

    def forward(self, x: Any) -> Any:
        """Flatten channels first."""
        return super().forward(_channels_first(x))


class ImageDense(nn.Dense):
    """A dense layer on NHWC images that takes the weights of one on NCHW images."""

    def forward(self, x: Any) -> Any:
        """Map an array of shape (batch, height, width, channels), or (batch, in_units)."""
        return super().forward(_channels_first(x))


class Classifier(HybridBlock):
    """``features`` and on them ``output``: what all networks of the zoo are.

    Parameters
    ----------
    features, output : HybridBlock
        From images to features, from features to one number a class.
    layout : {'NCHW', 'NHWC'}
        The order of the axes of the images.
    """

    def __init__(self, features: HybridBlock, output: HybridBlock, layout: str) -> None:
        super().__init__()
        self.layout = layout
        self.features = features
        self.output = output

    def forward(self, x: Any) -> ndarray:
        """Images in the net's layout to scores of shape (batch, classes)."""
        return self.output(self.features(x))

    def reset_output(self, classes: int, init: Any = None, device: DeviceLike = None) -> None:
        """Put a last layer for other classes in the place of ``output``, and initialize it; to tune the rest further.

        Parameters
        ----------
        classes : int
        init : Initializer or str, optional
            For what has no initializer of its own; ``Uniform(0.07)`` by default.
        device : Device, optional
            Where the new parameters go; where the old ones are, if they are anywhere.

        Raises
        ------
        ValueError
            If `classes` is not at least 1.

        Examples
        --------
        >>> from gluonx.model_zoo import vision
        >>> net = vision.resnet18_v1()
        >>> net.reset_output(10)
        >>> net.output
        Dense(512 -> 10, linear)
        """
        if classes < 1:
            raise ArgumentError(f"reset_output: classes must be at least 1, got {classes!r}.")
        old = [param for param in self.output.collect_params().values() if param._is_ready]
        output = _for_classes(self.output, classes)
        output.initialize(init, device if device is not None or not old else old[0].list_device()[0])
        output.hybridize(self.output._active)
        self.output = output


def _for_classes(block: Any, classes: int) -> Any:
    """Make the block again with as many outputs; what has no weights is the same one."""
    if isinstance(block, nn.HybridSequential):
        return chain(*[_for_classes(child, classes) for child in block])
    if isinstance(block, nn.Dense):
        bias, (_, in_units) = block.bias is not None, block.weight.shape or (0, 0)
        return type(block)(classes, use_bias=bias, weight_initializer=block.weight.init, in_units=max(0, in_units))
    if isinstance(block, nn.Conv2D):
        settings = block._kwargs
        return type(block)(
            classes,
            *(settings[name] for name in ("kernel", "stride", "pad", "dilate", "num_group", "layout")),
            use_bias=not settings["no_bias"],
            weight_initializer=block.weight.init,
            in_channels=block._in_channels,
        )
    return block


def chain(*blocks: HybridBlock) -> nn.HybridSequential:
    """Return the blocks one after the other."""
    made = nn.HybridSequential()
    made.add(*blocks)
    return made


@dataclass(frozen=True)
class Parts:
    """Makes layers for images of one layout.

    Parameters
    ----------
    layout : {'NCHW', 'NHWC'}

    Raises
    ------
    ValueError
        If the layout is another.

    Examples
    --------
    >>> Parts("NHWC").conv(8, 3, pad=1)
    Conv2D(-1 -> 8, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))
    """

    layout: str = "NCHW"

    def __post_init__(self) -> None:
        if self.layout not in ("NCHW", "NHWC"):
            raise ValueError(f"layout must be 'NCHW' or 'NHWC', got {self.layout!r}.")

    @property
    def axis(self) -> int:
        """The axis of the channels."""
        return self.layout.index("C")

    def conv(self, channels: int, kernel: Size, stride: Size = 1, pad: Size = 0, **more: Any) -> nn.Conv2D:
        """Return a convolution."""
        return nn.Conv2D(channels, kernel, stride, pad, layout=self.layout, **more)

    def norm(self, **more: Any) -> nn.BatchNorm:
        """Batch normalization of the channels."""
        return nn.BatchNorm(axis=self.axis, **more)

    def unit(
        self,
        channels: int,
        kernel: Size,
        stride: Size = 1,
        pad: Size = 0,
        act: HybridBlock | None = None,
        epsilon: float = 1e-5,
        **more: Any,
    ) -> list[HybridBlock]:
        """Convolution without bias, batch normalization, activation (relu by default)."""
        conv, norm = self.conv(channels, kernel, stride, pad, use_bias=False, **more), self.norm(epsilon=epsilon)
        return [conv, norm, nn.Activation("relu") if act is None else act]

    def max_pool(self, size: Size, stride: Size, pad: Size = 0, ceil_mode: bool = False) -> nn.MaxPool2D:
        """Max pooling."""
        return nn.MaxPool2D(size, stride, pad, layout=self.layout, ceil_mode=ceil_mode)

    def avg_pool(self, size: Size, stride: Size | None = None, pad: Size = 0) -> nn.AvgPool2D:
        """Average pooling."""
        return nn.AvgPool2D(size, stride, pad, layout=self.layout)

    def global_pool(self) -> nn.GlobalAvgPool2D:
        """Return the average over the image."""
        return nn.GlobalAvgPool2D(layout=self.layout)

    def flatten(self) -> nn.Flatten:
        """Images to rows, the channels slowest."""
        return nn.Flatten() if self.layout == "NCHW" else ImageFlatten()

    def dense(self, units: int, activation: str | None = None, **more: Any) -> nn.Dense:
        """Return a dense layer, on rows or on images."""
        return (nn.Dense if self.layout == "NCHW" else ImageDense)(units, activation, **more)

    def branches(self, blocks: Sequence[HybridBlock]) -> nn.HybridConcatenate:
        """Return the blocks side by side on one input, their channels concatenated."""
        made = nn.HybridConcatenate(axis=self.axis)
        made.add(*blocks)
        return made
