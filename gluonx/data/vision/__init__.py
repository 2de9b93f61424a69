"""Data sets of images, and transforms of images."""

from gluonx.data.vision import transforms as transforms

__all__ = ["transforms"]
