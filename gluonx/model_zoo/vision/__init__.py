"""Networks for images: AlexNet, DenseNet, Inception, MobileNet, ResNet, SqueezeNet and VGG."""

from gluonx.model_zoo.vision import alexnet as _alexnet
from gluonx.model_zoo.vision import densenet, inception, mobilenet, resnet, squeezenet, vgg
from gluonx.model_zoo.vision.alexnet import *  # noqa: F403
from gluonx.model_zoo.vision.catalog import get_model as get_model
from gluonx.model_zoo.vision.densenet import *  # noqa: F403
from gluonx.model_zoo.vision.inception import *  # noqa: F403
from gluonx.model_zoo.vision.mobilenet import *  # noqa: F403
from gluonx.model_zoo.vision.resnet import *  # noqa: F403
from gluonx.model_zoo.vision.squeezenet import *  # noqa: F403
from gluonx.model_zoo.vision.vgg import *  # noqa: F403

__all__ = ["get_model"]
__all__ += _alexnet.__all__
__all__ += densenet.__all__
__all__ += inception.__all__
__all__ += mobilenet.__all__
__all__ += resnet.__all__
__all__ += squeezenet.__all__
__all__ += vgg.__all__


def __dir__() -> list[str]:
    return sorted(__all__)
