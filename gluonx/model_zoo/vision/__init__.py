"""Networks for images: AlexNet, DenseNet, Inception, MobileNet, ResNet, SqueezeNet and VGG."""

from gluonx.model_zoo.vision import alexnet as _alexnet
from gluonx.model_zoo.vision import densenet, inception, resnet, squeezenet, vgg
from gluonx.model_zoo.vision.alexnet import *  # noqa: F403
from gluonx.model_zoo.vision.catalog import get_model as get_model
from gluonx.model_zoo.vision.densenet import *  # noqa: F403
from gluonx.model_zoo.vision.inception import *  # noqa: F403
from gluonx.model_zoo.vision.mobilenet import MobileNet as MobileNet
from gluonx.model_zoo.vision.mobilenet import MobileNetV2 as MobileNetV2
from gluonx.model_zoo.vision.mobilenet import get_mobilenet as get_mobilenet
from gluonx.model_zoo.vision.mobilenet import get_mobilenet_v2 as get_mobilenet_v2
from gluonx.model_zoo.vision.mobilenet import mobilenet0_5 as mobilenet0_5
from gluonx.model_zoo.vision.mobilenet import mobilenet0_25 as mobilenet0_25
from gluonx.model_zoo.vision.mobilenet import mobilenet0_75 as mobilenet0_75
from gluonx.model_zoo.vision.mobilenet import mobilenet1_0 as mobilenet1_0
from gluonx.model_zoo.vision.mobilenet import mobilenet_v2_0_5 as mobilenet_v2_0_5
from gluonx.model_zoo.vision.mobilenet import mobilenet_v2_0_25 as mobilenet_v2_0_25
from gluonx.model_zoo.vision.mobilenet import mobilenet_v2_0_75 as mobilenet_v2_0_75
from gluonx.model_zoo.vision.mobilenet import mobilenet_v2_1_0 as mobilenet_v2_1_0
from gluonx.model_zoo.vision.resnet import *  # noqa: F403
from gluonx.model_zoo.vision.squeezenet import *  # noqa: F403
from gluonx.model_zoo.vision.vgg import *  # noqa: F403

__all__ = [
    "MobileNet",
    "MobileNetV2",
    "get_mobilenet",
    "get_mobilenet_v2",
    "get_model",
    "mobilenet0_25",
    "mobilenet0_5",
    "mobilenet0_75",
    "mobilenet1_0",
    "mobilenet_v2_0_25",
    "mobilenet_v2_0_5",
    "mobilenet_v2_0_75",
    "mobilenet_v2_1_0",
]
__all__ += _alexnet.__all__
__all__ += densenet.__all__
__all__ += inception.__all__
__all__ += resnet.__all__
__all__ += squeezenet.__all__
__all__ += vgg.__all__
