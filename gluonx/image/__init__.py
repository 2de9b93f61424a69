"""Images: reading, resizing, cutting, augmenting; and the iterators over images of ``mx.io``'s kind.

The module is also called ``mx.img``, and ``mx.image`` where ``gluonx`` is imported as ``mx``. It works on the host;
operators for the device are in ``gluonx.npx.image``, and transforms that do both in ``gluonx.data.vision.transforms``.
"""

import numbers
from typing import TYPE_CHECKING, Any

from gluonx.common.extensions import NAMES
from gluonx.data.vision.functional import opencv
from gluonx.image import augmenters, detection, functions
from gluonx.image.augmenters import *  # noqa: F403
from gluonx.image.detection import *  # noqa: F403
from gluonx.image.functions import *  # noqa: F403

__all__ = ["ImageDetIter", "ImageIter"]
__all__ += augmenters.__all__
__all__ += detection.__all__
__all__ += functions.__all__

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


def __dir__() -> list[str]:
    return sorted(__all__)
