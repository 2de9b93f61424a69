"""Images: reading, resizing, cutting, augmenting; and the iterators over images of ``mx.io``'s kind.

The module is also called ``mx.img``, and ``mx.image`` where ``gluonx`` is imported as ``mx``. It works on the host;
operators for the device are in ``gluonx.npx.image``, and transforms that do both in ``gluonx.data.vision.transforms``.
"""

import numbers
from typing import TYPE_CHECKING, Any

from gluonx.data.vision.functional import opencv
from gluonx.extensions import NAMES
from gluonx.image.augmenters import Augmenter as Augmenter
from gluonx.image.augmenters import BrightnessJitterAug as BrightnessJitterAug
from gluonx.image.augmenters import CastAug as CastAug
from gluonx.image.augmenters import CenterCropAug as CenterCropAug
from gluonx.image.augmenters import ColorJitterAug as ColorJitterAug
from gluonx.image.augmenters import ColorNormalizeAug as ColorNormalizeAug
from gluonx.image.augmenters import ContrastJitterAug as ContrastJitterAug
from gluonx.image.augmenters import CreateAugmenter as CreateAugmenter
from gluonx.image.augmenters import ForceResizeAug as ForceResizeAug
from gluonx.image.augmenters import HorizontalFlipAug as HorizontalFlipAug
from gluonx.image.augmenters import HueJitterAug as HueJitterAug
from gluonx.image.augmenters import LightingAug as LightingAug
from gluonx.image.augmenters import RandomCropAug as RandomCropAug
from gluonx.image.augmenters import RandomGrayAug as RandomGrayAug
from gluonx.image.augmenters import RandomOrderAug as RandomOrderAug
from gluonx.image.augmenters import RandomSizedCropAug as RandomSizedCropAug
from gluonx.image.augmenters import ResizeAug as ResizeAug
from gluonx.image.augmenters import SaturationJitterAug as SaturationJitterAug
from gluonx.image.augmenters import SequentialAug as SequentialAug
from gluonx.image.detection import CreateDetAugmenter as CreateDetAugmenter
from gluonx.image.detection import CreateMultiRandCropAugmenter as CreateMultiRandCropAugmenter
from gluonx.image.detection import DetAugmenter as DetAugmenter
from gluonx.image.detection import DetBorrowAug as DetBorrowAug
from gluonx.image.detection import DetHorizontalFlipAug as DetHorizontalFlipAug
from gluonx.image.detection import DetRandomCropAug as DetRandomCropAug
from gluonx.image.detection import DetRandomPadAug as DetRandomPadAug
from gluonx.image.detection import DetRandomSelectAug as DetRandomSelectAug
from gluonx.image.functions import center_crop as center_crop
from gluonx.image.functions import color_normalize as color_normalize
from gluonx.image.functions import copyMakeBorder as copyMakeBorder
from gluonx.image.functions import fixed_crop as fixed_crop
from gluonx.image.functions import imdecode as imdecode
from gluonx.image.functions import imread as imread
from gluonx.image.functions import imresize as imresize
from gluonx.image.functions import imrotate as imrotate
from gluonx.image.functions import random_crop as random_crop
from gluonx.image.functions import random_rotate as random_rotate
from gluonx.image.functions import random_size_crop as random_size_crop
from gluonx.image.functions import resize_short as resize_short
from gluonx.image.functions import scale_down as scale_down

__all__ = [
    "Augmenter",
    "BrightnessJitterAug",
    "CastAug",
    "CenterCropAug",
    "ColorJitterAug",
    "ColorNormalizeAug",
    "ContrastJitterAug",
    "CreateAugmenter",
    "CreateDetAugmenter",
    "CreateMultiRandCropAugmenter",
    "DetAugmenter",
    "DetBorrowAug",
    "DetHorizontalFlipAug",
    "DetRandomCropAug",
    "DetRandomPadAug",
    "DetRandomSelectAug",
    "ForceResizeAug",
    "HorizontalFlipAug",
    "HueJitterAug",
    "ImageDetIter",
    "ImageIter",
    "LightingAug",
    "RandomCropAug",
    "RandomGrayAug",
    "RandomOrderAug",
    "RandomSizedCropAug",
    "ResizeAug",
    "SaturationJitterAug",
    "SequentialAug",
    "center_crop",
    "color_normalize",
    "copyMakeBorder",
    "fixed_crop",
    "imdecode",
    "imread",
    "imresize",
    "imrotate",
    "random_crop",
    "random_rotate",
    "random_size_crop",
    "resize_short",
    "scale_down",
]

if TYPE_CHECKING:
    ImageIter: Any  # of `gluonx.compat`, as the next
    ImageDetIter: Any
    Number: Any
    cv2: Any
else:

    def __getattr__(name: str) -> Any:
        if f"gluonx.image.{name}" in NAMES:  # iterators, which are of MXNet's kind
            return NAMES[f"gluonx.image.{name}"]
        if name == "Number":  # what MXNet's module happens to hold
            return numbers.Number
        if name == "cv2":
            return opencv()
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
