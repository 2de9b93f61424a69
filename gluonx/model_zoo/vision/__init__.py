"""Networks for images: AlexNet, DenseNet, Inception, MobileNet, ResNet, SqueezeNet and VGG."""

from gluonx.model_zoo.vision.alexnet import AlexNet as AlexNet
from gluonx.model_zoo.vision.alexnet import alexnet as alexnet
from gluonx.model_zoo.vision.catalog import get_model as get_model
from gluonx.model_zoo.vision.densenet import DenseNet as DenseNet
from gluonx.model_zoo.vision.densenet import densenet121 as densenet121
from gluonx.model_zoo.vision.densenet import densenet161 as densenet161
from gluonx.model_zoo.vision.densenet import densenet169 as densenet169
from gluonx.model_zoo.vision.densenet import densenet201 as densenet201
from gluonx.model_zoo.vision.inception import Inception3 as Inception3
from gluonx.model_zoo.vision.inception import inception_v3 as inception_v3
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
from gluonx.model_zoo.vision.resnet import BasicBlockV1 as BasicBlockV1
from gluonx.model_zoo.vision.resnet import BasicBlockV2 as BasicBlockV2
from gluonx.model_zoo.vision.resnet import BottleneckV1 as BottleneckV1
from gluonx.model_zoo.vision.resnet import BottleneckV2 as BottleneckV2
from gluonx.model_zoo.vision.resnet import ResNetV1 as ResNetV1
from gluonx.model_zoo.vision.resnet import ResNetV2 as ResNetV2
from gluonx.model_zoo.vision.resnet import get_resnet as get_resnet
from gluonx.model_zoo.vision.resnet import resnet18_v1 as resnet18_v1
from gluonx.model_zoo.vision.resnet import resnet18_v2 as resnet18_v2
from gluonx.model_zoo.vision.resnet import resnet34_v1 as resnet34_v1
from gluonx.model_zoo.vision.resnet import resnet34_v2 as resnet34_v2
from gluonx.model_zoo.vision.resnet import resnet50_v1 as resnet50_v1
from gluonx.model_zoo.vision.resnet import resnet50_v2 as resnet50_v2
from gluonx.model_zoo.vision.resnet import resnet101_v1 as resnet101_v1
from gluonx.model_zoo.vision.resnet import resnet101_v2 as resnet101_v2
from gluonx.model_zoo.vision.resnet import resnet152_v1 as resnet152_v1
from gluonx.model_zoo.vision.resnet import resnet152_v2 as resnet152_v2
from gluonx.model_zoo.vision.squeezenet import SqueezeNet as SqueezeNet
from gluonx.model_zoo.vision.squeezenet import squeezenet1_0 as squeezenet1_0
from gluonx.model_zoo.vision.squeezenet import squeezenet1_1 as squeezenet1_1
from gluonx.model_zoo.vision.vgg import VGG as VGG
from gluonx.model_zoo.vision.vgg import get_vgg as get_vgg
from gluonx.model_zoo.vision.vgg import vgg11 as vgg11
from gluonx.model_zoo.vision.vgg import vgg11_bn as vgg11_bn
from gluonx.model_zoo.vision.vgg import vgg13 as vgg13
from gluonx.model_zoo.vision.vgg import vgg13_bn as vgg13_bn
from gluonx.model_zoo.vision.vgg import vgg16 as vgg16
from gluonx.model_zoo.vision.vgg import vgg16_bn as vgg16_bn
from gluonx.model_zoo.vision.vgg import vgg19 as vgg19
from gluonx.model_zoo.vision.vgg import vgg19_bn as vgg19_bn

__all__ = [
    "AlexNet",
    "BasicBlockV1",
    "BasicBlockV2",
    "BottleneckV1",
    "BottleneckV2",
    "DenseNet",
    "Inception3",
    "MobileNet",
    "MobileNetV2",
    "ResNetV1",
    "ResNetV2",
    "SqueezeNet",
    "VGG",
    "alexnet",
    "densenet121",
    "densenet161",
    "densenet169",
    "densenet201",
    "get_mobilenet",
    "get_mobilenet_v2",
    "get_model",
    "get_resnet",
    "get_vgg",
    "inception_v3",
    "mobilenet0_25",
    "mobilenet0_5",
    "mobilenet0_75",
    "mobilenet1_0",
    "mobilenet_v2_0_25",
    "mobilenet_v2_0_5",
    "mobilenet_v2_0_75",
    "mobilenet_v2_1_0",
    "resnet101_v1",
    "resnet101_v2",
    "resnet152_v1",
    "resnet152_v2",
    "resnet18_v1",
    "resnet18_v2",
    "resnet34_v1",
    "resnet34_v2",
    "resnet50_v1",
    "resnet50_v2",
    "squeezenet1_0",
    "squeezenet1_1",
    "vgg11",
    "vgg11_bn",
    "vgg13",
    "vgg13_bn",
    "vgg16",
    "vgg16_bn",
    "vgg19",
    "vgg19_bn",
]
