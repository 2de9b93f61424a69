"""Inception v3 (C. Szegedy et al., arXiv:1512.00567).

The network is a table. A branch is a row of convolutions, each written as (channels, kernel, stride, padding); a
pooling stands where its kind does, and a list within a row forks it.
"""

from __future__ import annotations

from typing import Any

from gluonx import nn
from gluonx.model_zoo.model_store import getter
from gluonx.model_zoo.parts import Classifier, Parts, chain

__all__ = ["Inception3", "inception_v3"]

_ACROSS, _DOWN = ((1, 7), 1, (0, 3)), ((7, 1), 1, (3, 0))
_STEM = ((32, 3, 2), (32, 3), (64, 3, 1, 1), "max", (80, 1), (192, 3), "max")
_FORK = [((384, (1, 3), 1, (0, 1)),), ((384, (3, 1), 1, (1, 0)),)]


def _mixed_35(pooled: int) -> tuple[Any, ...]:
    """35x35 places."""
    threes = ((64, 1), (96, 3, 1, 1), (96, 3, 1, 1))
    return ((64, 1),), ((48, 1), (64, 5, 1, 2)), threes, ("avg", (pooled, 1))


def _mixed_17(inner: int) -> tuple[Any, ...]:
    """17x17 places, 7x7 convolutions factorized."""
    once = ((inner, 1), (inner, *_ACROSS), (192, *_DOWN))
    twice = ((inner, 1), (inner, *_DOWN), (inner, *_ACROSS), (inner, *_DOWN), (192, *_ACROSS))
    return ((192, 1),), once, twice, ("avg", (192, 1))


_TO_17 = (((384, 3, 2),), ((64, 1), (96, 3, 1, 1), (96, 3, 2)), ("max",))
_TO_8 = (((192, 1), (320, 3, 2)), ((192, 1), (192, *_ACROSS), (192, *_DOWN), (192, 3, 2)), ("max",))
_MIXED_8 = (((320, 1),), ((384, 1), _FORK), ((448, 1), (384, 3, 1, 1), _FORK), ("avg", (192, 1)))
_MIXED = (
    *map(_mixed_35, (32, 64, 64)), _TO_17, *map(_mixed_17, (128, 160, 160, 192)), _TO_8, _MIXED_8, _MIXED_8,
)  # fmt: skip


def _piece(parts: Parts, piece: Any) -> Any:
    if piece == "max":
        return parts.max_pool(3, 2)
    if piece == "avg":
        return parts.avg_pool(3, 1, 1)
    return chain(*parts.unit(*piece, epsilon=1e-3))


def _branch(parts: Parts, pieces: Any) -> Any:
    if isinstance(pieces[-1], list):
        *before, fork = pieces
        return chain(_branch(parts, before), parts.branches([_branch(parts, tine) for tine in fork]))
    return chain(*[_piece(parts, piece) for piece in pieces])


class Inception3(Classifier):
    """Inception v3, for images of 299x299 or somewhat larger.

    Parameters
    ----------
    classes : int
    layout : {'NCHW', 'NHWC'}

    Examples
    --------
    >>> len(Inception3(classes=10).collect_params())
    472
    """

    def __init__(self, classes: int = 1000, *, layout: str = "NCHW") -> None:
        parts = Parts(layout)
        stem = [_piece(parts, piece) for piece in _STEM]
        mixed = [parts.branches([_branch(parts, pieces) for pieces in row]) for row in _MIXED]
        features = chain(*stem, *mixed, parts.avg_pool(8), nn.Dropout(0.5))
        super().__init__(features, parts.dense(classes), layout)


@getter(lambda **_: "inceptionv3")
def inception_v3(**kwargs: Any) -> Inception3:
    """Inception v3, on request with weights.

    Parameters
    ----------
    **kwargs
        Of `Inception3`: `classes`, `layout`.

    Examples
    --------
    >>> from gluonx.model_zoo import vision
    >>> net = vision.inception_v3(classes=10)
    >>> net.hybridize()
    """
    return Inception3(**kwargs)
