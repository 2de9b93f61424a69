"""DenseNet (G. Huang et al., arXiv:1608.06993)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gluonx import nn
from gluonx.model_zoo.model_store import getter, named
from gluonx.model_zoo.parts import Classifier, Parts, chain

__all__ = ["DenseNet", "densenet121", "densenet161", "densenet169", "densenet201"]

# Channels at the beginning, channels that each layer adds, layers of each block.
_SPECS = {
    121: (64, 32, (6, 12, 24, 16)),
    161: (96, 48, (6, 12, 36, 24)),
    169: (64, 32, (6, 12, 32, 32)),
    201: (64, 32, (6, 12, 48, 32)),
}


class DenseNet(Classifier):
    """Blocks in which each layer sees the outputs of all layers before it.

    Parameters
    ----------
    num_init_features : int
        Channels of the first convolution.
    growth_rate : int
        Channels that each layer adds.
    block_config : sequence of int
        How many layers each block has.
    bn_size : int
        The 1x1 convolution of a layer has ``bn_size * growth_rate`` channels.
    dropout : float
        The share dropped after each layer; 0 for none.
    classes : int
    layout : {'NCHW', 'NHWC'}

    Examples
    --------
    >>> len(DenseNet(8, 4, [2, 2], classes=3).features)
    11
    """

    def __init__(
        self,
        num_init_features: int,
        growth_rate: int,
        block_config: Sequence[int],
        bn_size: int = 4,
        dropout: float = 0,
        classes: int = 1000,
        *,
        layout: str = "NCHW",
    ) -> None:
        parts = Parts(layout)

        def first(channels: int, kernel: int, pad: int = 0) -> list[Any]:
            """Normalize and activate before the convolution."""
            return [parts.norm(), nn.Activation("relu"), parts.conv(channels, kernel, 1, pad, use_bias=False)]

        def layer() -> Any:
            new = [*first(bn_size * growth_rate, 1), *first(growth_rate, 3, 1)]
            return parts.branches([nn.Identity(), chain(*new, *([nn.Dropout(dropout)] if dropout else []))])

        width = num_init_features
        body: list[Any] = [*parts.unit(width, 7, 2, 3), parts.max_pool(3, 2, 1)]
        for i, count in enumerate(block_config):
            if i:
                width //= 2
                body.append(chain(*first(width, 1), parts.avg_pool(2, 2)))
            body.append(chain(*[layer() for _ in range(count)]))
            width += count * growth_rate
        body += [parts.norm(), nn.Activation("relu"), parts.avg_pool(7), parts.flatten()]
        super().__init__(chain(*body), nn.Dense(classes), layout)


@getter(lambda num_layers, **_: f"densenet{num_layers}")
def _get_densenet(num_layers: int, **kwargs: Any) -> DenseNet:
    return DenseNet(*_SPECS[num_layers], **kwargs)


densenet121, densenet161, densenet169, densenet201 = (
    named(_get_densenet, f"densenet{n}", f"DenseNet of {n} layers", num_layers=n) for n in _SPECS
)
