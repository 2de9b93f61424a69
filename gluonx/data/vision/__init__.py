"""Data sets of images, and transforms of images."""

from gluonx.data.vision import datasets as datasets
from gluonx.data.vision import transforms as transforms
from gluonx.data.vision.datasets import *  # noqa: F403

__all__ = ["transforms"]
__all__ += datasets.__all__


def __dir__() -> list[str]:
    return sorted(__all__)
