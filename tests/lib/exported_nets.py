"""Nets that are exported to MXNet's files: a maker, and the inputs' shapes (the dtype after a colon, or float32)."""

import numpy as np

import gluonx
from gluonx import nn, npx, rnn
from gluonx import np as gnp
from gluonx.gluon import model_zoo

__all__ = ["CASES", "ZOO", "inputs_of", "make"]


class Net(nn.HybridBlock):
    """A block of layers and a function that uses them."""

    def __init__(self, run, **layers):
        super().__init__()
        for name, layer in layers.items():
            setattr(self, name, layer)
        self.__dict__["run"] = run

    def forward(self, *x):
        return self.run(self, *x)


def sequence(*layers):
    net = nn.HybridSequential()
    net.add(*layers)
    return net


def attention(net, x):
    width = x.shape[-1]
    q, k, v = (npx.reshape(part, (-2, -2, 2, -1)).transpose(0, 2, 1, 3) for part in np_split(net.qkv(x)))
    weights = npx.softmax(gnp.matmul(q, k.swapaxes(2, 3)) / float(width) ** 0.5, axis=-1)
    mixed = npx.reshape(gnp.matmul(weights, v).transpose(0, 2, 1, 3), (-2, -2, -1))
    y = net.norm1(x + net.drop(net.out(mixed)))
    return net.norm2(y + net.ffn2(npx.gelu(net.ffn1(y))))


def np_split(x):
    return gnp.split(x, 3, axis=-1)


CASES = {
    "mlp": (lambda: sequence(nn.Dense(8, activation="relu"), nn.Dropout(0.5), nn.Dense(3)), ["2,5"]),
    "no_bias": (lambda: sequence(nn.Dense(4, use_bias=False, flatten=False), nn.Dense(2)), ["2,3,5"]),
    "convnet": (
        lambda: sequence(
            nn.Conv2D(4, 3, padding=1, strides=2),
            nn.BatchNorm(),
            nn.Activation("relu"),
            nn.MaxPool2D(2, 2),
            nn.Conv2D(6, 1, use_bias=False, groups=2),
            nn.BatchNorm(scale=False, center=False),
            nn.GlobalAvgPool2D(),
            nn.Flatten(),
            nn.Dense(3),
        ),
        ["2,3,16,16"],
    ),
    "pools": (
        lambda: sequence(nn.AvgPool2D(3, 2, ceil_mode=True, count_include_pad=False, padding=1), nn.GlobalMaxPool2D()),
        ["1,2,9,9"],
    ),
    "one_dimension": (
        lambda: sequence(nn.Conv1D(4, 3), nn.AvgPool1D(2), nn.Conv1DTranspose(2, 4, strides=2)),
        ["2,3,12"],
    ),
    "deconvolution": (lambda: sequence(nn.Conv2DTranspose(3, 4, strides=2, padding=1), nn.InstanceNorm()), ["2,2,5,5"]),
    "norms": (
        lambda: sequence(nn.GroupNorm(2), nn.InstanceNorm(), nn.LayerNorm(axis=-1), nn.BatchNorm(axis=1)),
        ["2,4,3,5"],
    ),
    "activations": (
        lambda: Net(
            lambda n, x: n.a(x) + n.b(x) + n.c(x) + n.d(x) + n.e(x) + n.f(x) + n.g(x) + npx.activation(x, "softrelu"),
            a=nn.LeakyReLU(0.1),
            b=nn.PReLU(),
            c=nn.ELU(0.7),
            d=nn.SELU(),
            e=nn.GELU(),
            f=nn.Swish(1.5),
            g=nn.SiLU(),
        ),
        ["2,4"],
    ),
    "gelu_tanh": (lambda: Net(lambda n, x: npx.leaky_relu(x, act_type="gelu_tanh")), ["2,4"]),
    "embedding": (
        lambda: Net(lambda n, i: n.out(n.table(i).mean(axis=1)), table=nn.Embedding(11, 4), out=nn.Dense(2)),
        ["3,5:int32"],
    ),
    "residual": (
        lambda: Net(lambda n, x: npx.relu(x + n.b(npx.relu(n.a(x)))), a=nn.Conv2D(3, 3, padding=1), b=nn.Conv2D(3, 1)),
        ["1,3,6,6"],
    ),
    "two_inputs_two_outputs": (
        lambda: Net(lambda n, x, y: (n.a(x) * y, gnp.concatenate([x, y], axis=1).sum(axis=1)), a=nn.Dense(4)),
        ["2,3", "2,4"],
    ),
    "shared": (lambda: shared_layer(), ["2,4"]),
    "attention": (
        lambda: Net(
            attention,
            qkv=nn.Dense(24, flatten=False),
            out=nn.Dense(8, flatten=False),
            ffn1=nn.Dense(16, flatten=False),
            ffn2=nn.Dense(8, flatten=False),
            norm1=nn.LayerNorm(),
            norm2=nn.LayerNorm(),
            drop=nn.Dropout(0.1),
        ),
        ["2,5,8"],
    ),
    "lstm": (lambda: Net(lambda n, x: n.out(n.rnn(x)), rnn=rnn.LSTM(6, 2), out=nn.Dense(3, flatten=False)), ["4,2,5"]),
    "gru_both_ways": (lambda: Net(lambda n, x: n.rnn(x), rnn=rnn.GRU(4, bidirectional=True)), ["4,2,5"]),
    "rnn_batch_first": (lambda: Net(lambda n, x: n.rnn(x), rnn=rnn.RNN(4, layout="NTC")), ["2,4,5"]),
    "unrolled_cell": (
        lambda: Net(lambda n, x: n.cell.unroll(3, x, layout="NTC", merge_outputs=True)[0], cell=rnn.LSTMCell(4)),
        ["2,3,5"],
    ),
    "slices": (lambda: Net(lambda n, x: x[:, 1:3] * 2 + x[0, ::2][:2] - x[-1, 0] + x[:, None, 0]), ["2,4"]),
    "captured": (lambda: Net(lambda n, x: x * gnp.array([1.0, 2.0, 3.0]) + gnp.ones((2, 3)) * 0.5), ["2,3"]),
}

ZOO = {
    "resnet18_v1": (lambda: model_zoo.vision.resnet18_v1(classes=10), ["1,3,32,32"]),
    "resnet18_v2": (lambda: model_zoo.vision.resnet18_v2(classes=10), ["1,3,32,32"]),
    "mobilenet0.25": (lambda: model_zoo.vision.mobilenet0_25(classes=10), ["1,3,32,32"]),
    "mobilenetv2_0.25": (lambda: model_zoo.vision.mobilenet_v2_0_25(classes=10), ["1,3,32,32"]),
    "squeezenet1.1": (lambda: model_zoo.vision.squeezenet1_1(classes=10), ["1,3,224,224"]),
    "densenet121": (lambda: model_zoo.vision.densenet121(classes=10), ["1,3,224,224"]),
    "vgg11_bn": (lambda: model_zoo.vision.vgg11_bn(classes=10), ["1,3,32,32"]),
    "alexnet": (lambda: model_zoo.vision.alexnet(classes=10), ["1,3,224,224"]),
    "inceptionv3": (lambda: model_zoo.vision.inception_v3(classes=10), ["1,3,299,299"]),
}


def shared_layer():
    layer = nn.Dense(4, activation="tanh")
    return Net(lambda n, x: n.one(n.two(x)), one=layer, two=layer)


def inputs_of(shapes, seed=0):
    """NumPy arrays of these shapes."""
    rng = np.random.default_rng(seed)
    found = []
    for text in shapes:
        shape, _, dtype = text.partition(":")
        size = [int(n) for n in shape.split(",")]
        found.append(rng.integers(0, 10, size).astype(dtype) if dtype else rng.normal(size=size).astype("float32"))
    return found


def make(name):
    """The net, initialized and hybridized, its inputs, and what it gives for them."""
    factory, shapes = CASES.get(name) or ZOO[name]
    gluonx.random.seed(7)
    net = factory()
    net.initialize(gluonx.init.Xavier())
    arrays = inputs_of(shapes)
    inputs = [gnp.array(a, dtype=a.dtype) for a in arrays]
    net(*inputs)
    rng = np.random.default_rng(1)
    for key, param in net.collect_params().items():  # no batch norm that does nothing
        if any(word in key for word in ("running_var", "gamma")):
            param.set_data(rng.uniform(0.5, 1.5, param.shape).astype("float32"))
        elif any(word in key for word in ("running_mean", "beta")):
            param.set_data(rng.normal(size=param.shape).astype("float32") * 0.3)
    net.hybridize()
    out = net(*inputs)
    return net, arrays, [o.asnumpy() for o in (out if isinstance(out, (list, tuple)) else [out])]
