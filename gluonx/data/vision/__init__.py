"""Data sets of images, and transforms of images."""

from gluonx.data.vision import datasets as datasets
from gluonx.data.vision import transforms as transforms
from gluonx.data.vision.datasets import CIFAR10 as CIFAR10
from gluonx.data.vision.datasets import CIFAR100 as CIFAR100
from gluonx.data.vision.datasets import MNIST as MNIST
from gluonx.data.vision.datasets import FashionMNIST as FashionMNIST
from gluonx.data.vision.datasets import ImageFolderDataset as ImageFolderDataset
from gluonx.data.vision.datasets import ImageListDataset as ImageListDataset
from gluonx.data.vision.datasets import ImageRecordDataset as ImageRecordDataset

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "MNIST",
    "FashionMNIST",
    "ImageFolderDataset",
    "ImageListDataset",
    "ImageRecordDataset",
    "transforms",
]
