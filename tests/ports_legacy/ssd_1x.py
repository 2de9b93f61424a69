# ruff: noqa: UP031
"""A small single-shot detector as MXNet 1 code wrote them: trained on coloured squares, then asked for boxes."""

import argparse
import zlib

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

SIZES = [[0.2, 0.272], [0.37, 0.447], [0.54, 0.619]]
RATIOS = [[1, 2, 0.5]] * 3
NUM_ANCHORS = len(SIZES[0]) + len(RATIOS[0]) - 1


def down_sample(num_filters, **kwargs):
    block = nn.HybridSequential(**kwargs)
    with block.name_scope():
        for _ in range(2):
            block.add(nn.Conv2D(num_filters, 3, strides=1, padding=1))
            block.add(nn.BatchNorm(in_channels=num_filters))
            block.add(nn.Activation("relu"))
        block.add(nn.MaxPool2D(2))
    return block


def flatten_prediction(F, pred):
    return F.flatten(F.transpose(pred, axes=(0, 2, 3, 1)))


class ToySSD(gluon.HybridBlock):
    def __init__(self, num_classes, **kwargs):
        super().__init__(**kwargs)
        self.num_classes = num_classes
        with self.name_scope():
            self.stages = nn.HybridSequential(prefix="stages_")
            self.class_heads = nn.HybridSequential(prefix="cls_")
            self.box_heads = nn.HybridSequential(prefix="box_")
            with self.stages.name_scope():
                self.stages.add(down_sample(8), down_sample(16), nn.MaxPool2D(2))
            for _ in range(3):
                self.class_heads.add(nn.Conv2D(NUM_ANCHORS * (num_classes + 1), 3, padding=1))
                self.box_heads.add(nn.Conv2D(NUM_ANCHORS * 4, 3, padding=1))
            self.scale = self.params.get("scale", shape=(1, 16, 1, 1), init=mx.init.Constant(5))

    def hybrid_forward(self, F, x, scale):
        anchors, classes, boxes = [], [], []
        for i in range(3):
            x = self.stages[i](x)
            y = F.broadcast_mul(F.L2Normalization(x, mode="channel"), scale) if i == 1 else x
            anchors.append(F.contrib.MultiBoxPrior(y, sizes=SIZES[i], ratios=RATIOS[i]))
            classes.append(flatten_prediction(F, self.class_heads[i](y)))
            boxes.append(flatten_prediction(F, self.box_heads[i](y)))
        anchors = F.concat(*anchors, dim=1)
        classes = F.concat(*classes, dim=1).reshape((0, -1, self.num_classes + 1))
        return anchors, classes, F.concat(*boxes, dim=1)


class FocalLoss(gluon.loss.Loss):
    def __init__(self, axis=-1, alpha=0.25, gamma=2, weight=None, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._axis, self._alpha, self._gamma = axis, alpha, gamma

    def hybrid_forward(self, F, output, label):
        output = F.softmax(output)
        pj = output.pick(label, axis=self._axis, keepdims=True)
        loss = -self._alpha * ((1 - pj) ** self._gamma) * pj.log()
        return loss.mean(axis=self._batch_axis, exclude=True)


class SmoothL1Loss(gluon.loss.Loss):
    def __init__(self, batch_axis=0, **kwargs):
        super().__init__(None, batch_axis, **kwargs)

    def hybrid_forward(self, F, output, label, mask):
        loss = F.smooth_l1((output - label) * mask, scalar=1.0)
        return F.mean(loss, self._batch_axis, exclude=True)


def squares(batch_size, size, ctx):
    """Images of noise with one bright square each, of class 0 (red) or 1 (blue)."""
    images = np.random.uniform(0, 0.2, (batch_size, 3, size, size)).astype("float32")
    labels = np.zeros((batch_size, 1, 5), "float32")
    for image, label in zip(images, labels):
        side = np.random.randint(size // 4, size // 2)
        top, left = np.random.randint(0, size - side, 2)
        kind = np.random.randint(2)
        image[0 if kind == 0 else 2, top : top + side, left : left + side] += 0.8
        label[0] = [kind, left / size, top / size, (left + side) / size, (top + side) / size]
    return nd.array(images, ctx=ctx), nd.array(labels, ctx=ctx)


def set_weights(params):
    """The same first weights everywhere, by the end of their names."""
    for name, param in params.items():
        if name.endswith("weight"):
            seed = zlib.crc32(name.encode())
            scale = (2 / np.prod(param.shape[1:])) ** 0.5
            param.set_data(nd.array(np.random.RandomState(seed).normal(0, scale, param.shape)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--params", default="")
    args = parser.parse_args()
    np.random.seed(7)
    mx.random.seed(7)
    ctx = mx.gpu() if mx.context.num_gpus() > 0 else mx.cpu()
    net = ToySSD(2, prefix="toyssd_")
    net.initialize(mx.init.Xavier(magnitude=2), ctx=ctx)
    net(nd.zeros((1, 3, 32, 32), ctx=ctx))
    set_weights(net.collect_params())
    net.hybridize(static_alloc=True, static_shape=True)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.2, "wd": 5e-4})
    class_loss, box_loss = FocalLoss(), SmoothL1Loss()
    class_metric, box_metric = mx.metric.Accuracy(), mx.metric.MAE()
    first = None
    for step in range(args.steps):
        x, y = squares(8, 32, ctx)
        with autograd.record():
            anchors, class_preds, box_preds = net(x)
            with autograd.pause():
                targets = nd.contrib.MultiBoxTarget(anchors, y, class_preds.transpose((0, 2, 1)), overlap_threshold=0.5)
                box_target, box_mask, class_target = targets
            loss = class_loss(class_preds, class_target) + box_loss(box_preds, box_target, box_mask)
        loss.backward()
        trainer.step(8)
        class_metric.update([class_target], [class_preds.argmax(axis=-1)])
        box_metric.update([box_target], [box_preds * box_mask])
        value = loss.mean().asscalar()
        first = value if first is None else first
        if step < 10:
            print("step %d: %.5f" % (step, value))
    print("%s, %s" % (class_metric.get()[0], box_metric.get()[0]))
    x, y = squares(2, 32, ctx)
    anchors, class_preds, box_preds = net(x)
    probs = nd.SoftmaxActivation(class_preds.transpose((0, 2, 1)), mode="channel")
    found = nd.contrib.MultiBoxDetection(probs, box_preds, anchors, force_suppress=True, nms_threshold=0.45)
    kept = nd.contrib.box_nms(found, overlap_thresh=0.3, coord_start=2, score_index=1, id_index=0, topk=10)
    print("detections", found.shape, "kept", (kept[:, :, 0] >= 0).sum().asscalar() > 0)
    assert value < first, "no progress"
    assert sorted(net.collect_params(".*scale")) == ["toyssd_scale"]
    assert net.collect_params()["toyssd_scale"].shape == (1, 16, 1, 1)
    if args.params:
        net.save_parameters(args.params)
        again = ToySSD(2)
        again.load_parameters(args.params, ctx=ctx)
        difference = nd.abs(again(x)[1] - class_preds).max().asscalar()
        print("reloaded")
        assert difference < 1e-4


if __name__ == "__main__":
    main()
