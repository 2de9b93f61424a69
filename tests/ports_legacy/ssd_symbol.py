"""Features of several scales for a detector: a net is called with a symbol, cut, and put together as a SymbolBlock."""

import os
import tempfile

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn


def body():
    net = nn.HybridSequential(prefix="body_")
    with net.name_scope():
        for k, channels in enumerate((4, 6, 8)):
            net.add(nn.Conv2D(channels, 3, padding=1, in_channels=(3, 4, 6)[k]), nn.BatchNorm(in_channels=channels))
            net.add(nn.Activation("relu"), nn.MaxPool2D())
    return net


def fill(params):
    for number, name in enumerate(sorted(params.keys())):
        param = params[name]
        draw = np.random.RandomState(number).uniform(-0.4, 0.4, param.shape)
        param.set_data(nd.array(abs(draw) + 0.5 if "var" in name or "gamma" in name else draw))


net = body()
net.initialize()
fill(net.collect_params())
data = mx.sym.var("data")
out = net(data)
print(out.list_arguments())
print(out.list_auxiliary_states())
internals = out.get_internals()
print([name for name in internals.list_outputs() if name.endswith("_fwd_output")])
print(out.infer_shape(data=(2, 3, 32, 32))[1])

scales = [internals[name] for name in ("body_pool1_fwd_output", "body_pool2_fwd_output")]
features = gluon.SymbolBlock(scales, data, params=net.collect_params())
x = nd.array(np.random.RandomState(7).uniform(-1, 1, (2, 3, 32, 32)))
maps = features(x)
print([m.shape for m in maps], [f"{float(m.mean().asscalar()):.4f}" for m in maps])
print(bool(abs(maps[1] - net(x)).max().asscalar() < 1e-5))


class SSD(gluon.HybridBlock):
    def __init__(self, features, classes=2, anchors=3, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = features
            self.cls = nn.HybridSequential()
            self.box = nn.HybridSequential()
            for channels in (6, 8):
                self.cls.add(nn.Conv2D(anchors * (classes + 1), 3, padding=1, in_channels=channels))
                self.box.add(nn.Conv2D(anchors * 4, 3, padding=1, in_channels=channels))

    def hybrid_forward(self, F, x):
        maps = self.features(x)
        cls = [F.flatten(F.transpose(layer(m), (0, 2, 3, 1))) for layer, m in zip(self.cls, maps)]
        box = [F.flatten(F.transpose(layer(m), (0, 2, 3, 1))) for layer, m in zip(self.box, maps)]
        return F.reshape(F.concat(*cls, dim=1), (0, -1, 3)), F.concat(*box, dim=1)


ssd = SSD(features, prefix="ssd_")
ssd.cls.initialize()
ssd.box.initialize()
fill(ssd.collect_params())
ssd.hybridize()
trainer = gluon.Trainer(ssd.collect_params(), "sgd", {"learning_rate": 0.05})
celoss, l1 = gluon.loss.SoftmaxCrossEntropyLoss(), gluon.loss.HuberLoss()
for step in range(3):
    with autograd.record():
        scores, boxes = ssd(x)
        labels = nd.array(np.arange(scores.shape[1]) % 3).tile((2, 1))
        loss = celoss(scores, labels) + l1(boxes, nd.zeros_like(boxes))
    loss.backward()
    trainer.step(2)
    print(f"step {step}: {float(loss.mean().asscalar()):.4f}")

folder = tempfile.mkdtemp()
path = os.path.join(folder, "ssd")
ssd.export(path)
print(sorted(os.listdir(folder)))
block = gluon.SymbolBlock.imports(path + "-symbol.json", ["data"], path + "-0000.params")
again, expected = block(x), ssd(x)
print([a.shape for a in again], [bool(abs(a - b).max().asscalar() < 1e-4) for a, b in zip(again, expected)])

lstm = gluon.rnn.LSTM(3, input_size=4, prefix="lstm_")
lstm.initialize()
fill({name: getattr(lstm, name) for name in ("l0_i2h_weight", "l0_h2h_weight", "l0_i2h_bias", "l0_h2h_bias")})
x = nd.array(np.random.RandomState(8).uniform(-1, 1, (5, 2, 4)))
expected = lstm(x)
lstm.save_parameters(os.path.join(folder, "lstm.params"))
other = gluon.rnn.LSTM(3, input_size=4)
other.load_parameters(os.path.join(folder, "lstm.params"))
print(abs(other(x) - expected).max().asscalar(), [f"{v:.4f}" for v in expected[-1, 0].asnumpy()])
