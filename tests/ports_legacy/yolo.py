# ruff: noqa
"""A YOLOv3-like detector as GluonCV code is written: constants, slice_like, detections, four losses."""

import mxnet as mx, numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn


def _conv2d(channel, kernel, padding, stride, norm_layer=nn.BatchNorm, norm_kwargs=None):
    cell = nn.HybridSequential(prefix="")
    cell.add(nn.Conv2D(channel, kernel_size=kernel, strides=stride, padding=padding, use_bias=False))
    cell.add(norm_layer(epsilon=1e-05, momentum=0.9, **{} if norm_kwargs is None else norm_kwargs))
    cell.add(nn.LeakyReLU(0.1))
    return cell


class DarknetBasicBlockV3(gluon.HybridBlock):
    def __init__(self, channel, **kwargs):
        super(DarknetBasicBlockV3, self).__init__(**kwargs)
        self.body = nn.HybridSequential(prefix="")
        self.body.add(_conv2d(channel, 1, 0, 1))
        self.body.add(_conv2d(channel * 2, 3, 1, 1))

    def hybrid_forward(self, F, x, *args):
        residual = x
        x = self.body(x)
        return x + residual


def _upsample(x, stride=2):
    return x.repeat(axis=-1, repeats=stride).repeat(axis=-2, repeats=stride)


class YOLOOutputV3(gluon.HybridBlock):
    def __init__(self, index, num_class, anchors, stride, alloc_size=(16, 16), **kwargs):
        super(YOLOOutputV3, self).__init__(**kwargs)
        anchors = np.array(anchors).astype("float32")
        self._classes = num_class
        self._num_pred = 1 + 4 + num_class
        self._num_anchors = anchors.size // 2
        self._stride = stride
        with self.name_scope():
            all_pred = self._num_pred * self._num_anchors
            self.prediction = nn.Conv2D(all_pred, kernel_size=1, padding=0, strides=1)
            anchors = anchors.reshape(1, 1, -1, 2)
            self.anchors = self.params.get_constant("anchor_%d" % index, anchors)
            grid_x = np.arange(alloc_size[1])
            grid_y = np.arange(alloc_size[0])
            grid_x, grid_y = np.meshgrid(grid_x, grid_y)
            offsets = np.concatenate((grid_x[:, :, np.newaxis], grid_y[:, :, np.newaxis]), axis=-1)
            offsets = np.expand_dims(np.expand_dims(offsets, axis=0), axis=0)
            self.offsets = self.params.get_constant("offset_%d" % index, offsets)

    def reset_class(self, classes):
        self._clear_cached_op()

    def hybrid_forward(self, F, x, anchors, offsets):
        pred = self.prediction(x).reshape((0, self._num_anchors * self._num_pred, -1))
        pred = pred.transpose(axes=(0, 2, 1)).reshape((0, -1, self._num_anchors, self._num_pred))
        raw_box_centers = pred.slice_axis(axis=-1, begin=0, end=2)
        raw_box_scales = pred.slice_axis(axis=-1, begin=2, end=4)
        objness = pred.slice_axis(axis=-1, begin=4, end=5)
        class_pred = pred.slice_axis(axis=-1, begin=5, end=None)
        offsets = F.slice_like(offsets, x * 0, axes=(2, 3))
        offsets = offsets.reshape((1, -1, 1, 2))
        box_centers = F.broadcast_add(F.sigmoid(raw_box_centers), offsets) * self._stride
        box_scales = F.broadcast_mul(F.exp(raw_box_scales), anchors)
        confidence = F.sigmoid(objness)
        class_score = F.broadcast_mul(F.sigmoid(class_pred), confidence)
        wh = box_scales / 2.0
        bbox = F.concat(box_centers - wh, box_centers + wh, dim=-1)
        if autograd.is_training():
            return (bbox.reshape((0, -1, 4)), raw_box_centers, raw_box_scales, objness, class_pred, anchors, offsets)
        bboxes = F.tile(bbox, reps=(self._classes, 1, 1, 1, 1))
        scores = F.transpose(class_score, axes=(3, 0, 1, 2)).expand_dims(axis=-1)
        ids = F.broadcast_add(scores * 0, F.arange(0, self._classes).reshape((0, 1, 1, 1, 1)))
        detections = F.concat(ids, scores, bboxes, dim=-1)
        detections = F.reshape(detections.transpose(axes=(1, 0, 2, 3, 4)), (0, -1, 6))
        return detections


class YOLODetectionBlockV3(gluon.HybridBlock):
    def __init__(self, channel, **kwargs):
        super(YOLODetectionBlockV3, self).__init__(**kwargs)
        with self.name_scope():
            self.body = nn.HybridSequential(prefix="")
            for _ in range(1):
                self.body.add(_conv2d(channel, 1, 0, 1))
                self.body.add(_conv2d(channel * 2, 3, 1, 1))
            self.tip = _conv2d(channel * 2, 3, 1, 1)

    def hybrid_forward(self, F, x):
        route = self.body(x)
        tip = self.tip(route)
        return (route, tip)


class YOLOV3(gluon.HybridBlock):
    def __init__(self, channels, anchors, strides, classes, nms_thresh=0.45, nms_topk=40, post_nms=10, **kwargs):
        super(YOLOV3, self).__init__(**kwargs)
        self._classes, self.nms_thresh, self.nms_topk, self.post_nms = (classes, nms_thresh, nms_topk, post_nms)
        with self.name_scope():
            self.stages = nn.HybridSequential()
            self.transitions = nn.HybridSequential()
            self.yolo_blocks = nn.HybridSequential()
            self.yolo_outputs = nn.HybridSequential()
            s = nn.HybridSequential(prefix="")
            s.add(_conv2d(4, 3, 1, 1), _conv2d(8, 3, 1, 2), DarknetBasicBlockV3(4), _conv2d(8, 3, 1, 2))
            self.stages.add(s)
            s = nn.HybridSequential(prefix="")
            s.add(_conv2d(8, 3, 1, 2), DarknetBasicBlockV3(4))
            self.stages.add(s)
            for i, channel, anchor, stride in zip(range(2), channels, anchors[::-1], strides[::-1]):
                self.yolo_outputs.add(YOLOOutputV3(i, len(classes), anchor, stride))
                self.yolo_blocks.add(YOLODetectionBlockV3(channel))
                if i > 0:
                    self.transitions.add(_conv2d(channel, 1, 0, 1))

    @property
    def num_class(self):
        return len(self._classes)

    def hybrid_forward(self, F, x, *args):
        (
            all_box_centers,
            all_box_scales,
            all_objectness,
            all_class_pred,
            all_anchors,
            all_offsets,
            all_feat_maps,
            all_detections,
            routes,
        ) = ([], [], [], [], [], [], [], [], [])
        for stage, block, output in zip(self.stages, self.yolo_blocks, self.yolo_outputs):
            x = stage(x)
            routes.append(x)
        for i, block, output in zip(range(len(routes)), self.yolo_blocks, self.yolo_outputs):
            x, tip = block(x)
            if autograd.is_training():
                dets, box_centers, box_scales, objness, class_pred, anchors, offsets = output(tip)
                all_box_centers.append(box_centers.reshape((0, -3, -1)))
                all_box_scales.append(box_scales.reshape((0, -3, -1)))
                all_objectness.append(objness.reshape((0, -3, -1)))
                all_class_pred.append(class_pred.reshape((0, -3, -1)))
                all_anchors.append(anchors)
                all_offsets.append(offsets)
                fake_featmap = F.zeros_like(tip.slice_axis(axis=0, begin=0, end=1).slice_axis(axis=1, begin=0, end=1))
                all_feat_maps.append(fake_featmap)
            else:
                dets = output(tip)
            all_detections.append(dets)
            if i >= len(routes) - 1:
                break
            x = self.transitions[i](x)
            upsample = _upsample(x, stride=2)
            route_now = routes[::-1][i + 1]
            x = F.concat(F.slice_like(upsample, route_now * 0, axes=(2, 3)), route_now, dim=1)
        if autograd.is_training():
            return (
                F.concat(*all_detections, dim=1),
                all_anchors,
                all_offsets,
                all_feat_maps,
                F.concat(*all_box_centers, dim=1),
                F.concat(*all_box_scales, dim=1),
                F.concat(*all_objectness, dim=1),
                F.concat(*all_class_pred, dim=1),
            )
        result = F.concat(*all_detections, dim=1)
        if self.nms_thresh > 0 and self.nms_thresh < 1:
            result = F.contrib.box_nms(
                result,
                overlap_thresh=self.nms_thresh,
                valid_thresh=0.01,
                topk=self.nms_topk,
                id_index=0,
                score_index=1,
                coord_start=2,
                force_suppress=False,
            )
            if self.post_nms > 0:
                result = result.slice_axis(axis=1, begin=0, end=self.post_nms)
        ids = result.slice_axis(axis=-1, begin=0, end=1)
        scores = result.slice_axis(axis=-1, begin=1, end=2)
        bboxes = result.slice_axis(axis=-1, begin=2, end=None)
        return (ids, scores, bboxes)


class YOLOV3Loss(gluon.loss.Loss):
    def __init__(self, batch_axis=0, weight=None, **kwargs):
        super(YOLOV3Loss, self).__init__(weight, batch_axis, **kwargs)
        self._sigmoid_ce = gluon.loss.SigmoidBinaryCrossEntropyLoss(from_sigmoid=False)
        self._l1_loss = gluon.loss.L1Loss()

    def hybrid_forward(
        self,
        F,
        objness,
        box_centers,
        box_scales,
        cls_preds,
        objness_t,
        center_t,
        scale_t,
        weight_t,
        class_t,
        class_mask,
    ):
        denorm = F.cast(F.shape_array(objness_t).slice_axis(axis=0, begin=1, end=None).prod(), "float32")
        weight_t = F.broadcast_mul(weight_t, objness_t)
        hard_objness_t = F.where(objness_t > 0, F.ones_like(objness_t), objness_t)
        new_objness_mask = F.where(objness_t > 0, objness_t, objness_t >= 0)
        obj_loss = F.broadcast_mul(self._sigmoid_ce(objness, hard_objness_t, new_objness_mask), denorm)
        center_loss = F.broadcast_mul(self._sigmoid_ce(box_centers, center_t, weight_t), denorm * 2)
        scale_loss = F.broadcast_mul(self._l1_loss(box_scales, scale_t, weight_t), denorm * 2)
        denorm_class = F.cast(F.shape_array(class_t).slice_axis(axis=0, begin=1, end=None).prod(), "float32")
        class_mask = F.broadcast_mul(class_mask, objness_t)
        cls_loss = F.broadcast_mul(self._sigmoid_ce(cls_preds, class_t, class_mask), denorm_class)
        return (obj_loss, center_loss, scale_loss, cls_loss)


rs = np.random.RandomState(0)
net = YOLOV3([4, 4], [[10, 13, 16, 30], [30, 61, 62, 45]], [4, 8], ["a", "b", "c"], prefix="yolo_")
net.initialize(mx.init.Xavier())
X = nd.array(rs.uniform(size=(2, 3, 32, 32)))
with autograd.train_mode():
    net(X)
for i, (k, p) in enumerate(net.collect_params(".*weight|.*bias").items()):
    p.set_data(nd.array(np.random.RandomState(i).normal(0, 0.15, p.shape)))
print([k for k in net.collect_params().keys() if "offset" in k or "anchor" in k])
net.hybridize()
with autograd.record(train_mode=True):
    outs = net(X)
for b in net.collect_params(".*running_mean|.*running_var").values():
    b.set_data(nd.ones(b.shape) * ("var" in b.name))
n = outs[4].shape[1]
print(outs[0].shape, n, [a.shape for a in outs[1]], [a.shape for a in outs[2]], [f.shape for f in outs[3]])
obj_t = np.zeros((2, n, 1))
obj_t[:, ::17] = 1
obj_t[:, 1::19] = -1
T = [
    nd.array(v)
    for v in (
        obj_t,
        rs.uniform(size=(2, n, 2)),
        rs.normal(size=(2, n, 2)),
        np.ones((2, n, 2)),
        rs.randint(0, 2, (2, n, 3)),
        np.ones((2, n, 3)),
    )
]
loss = YOLOV3Loss()
loss.hybridize()
trainer = gluon.Trainer(
    net.collect_params(), "sgd", {"learning_rate": 0.002, "momentum": 0.9, "wd": 0.0005}, kvstore="local"
)
metrics = [mx.metric.Loss(n) for n in ("ObjLoss", "BoxCenterLoss", "BoxScaleLoss", "ClassLoss")]
for step in range(5):
    with autograd.record():
        det, anchors, offsets, fm, ctr, scl, obj, cls = net(X)
        losses = loss(obj, ctr, scl, cls, *T)
        total = sum(losses[1:], losses[0])
        autograd.backward([total])
    trainer.step(2)
    for m, l in zip(metrics, losses):
        m.update(0, l)
    print(", ".join(("%s=%.4f" % m.get() for m in metrics)))
net._clear_cached_op()
ids, scores, boxes = net(X)
keep = scores.asnumpy()[0, :, 0] > 0.01
print(
    ids.shape,
    scores.shape,
    boxes.shape,
    ids.asnumpy()[0][keep][:5, 0],
    scores.asnumpy()[0][keep][:5, 0],
    boxes.asnumpy()[0][keep][:2],
)
