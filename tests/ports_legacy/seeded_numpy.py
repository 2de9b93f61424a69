"""The order that a seed of NumPy gives, what iterators, monitors and FeedForward tell, and settings of layers."""

import logging
import os
import random
import sys
import tempfile

import mxnet as mx
import numpy as np
from mxnet import gluon, nd

np.random.seed(3)
random.seed(3)
print(list(gluon.data.RandomSampler(6)), list(gluon.data.RandomSampler(6)))
dataset = gluon.data.ArrayDataset(np.arange(6))
for workers in (0, 1):
    loader = gluon.data.DataLoader(dataset, 2, shuffle=True, num_workers=workers, thread_pool=True)
    print([batch.asnumpy().tolist() for batch in loader])
for handle in ("pad", "roll_over", "discard"):
    batches = mx.io.NDArrayIter(np.zeros((6, 2)), np.arange(6), 4, shuffle=True, last_batch_handle=handle)
    for _ in range(3):
        print(handle, [b.label[0].asnumpy().tolist() for b in batches], batches.idx.tolist())
        batches.reset()
    batches.idx = np.arange(6)
    batches.reset()
    print([b.label[0].asnumpy().tolist() for b in batches], batches.idx.tolist())
batches = mx.io.NDArrayIter(np.zeros((5, 2)), np.arange(5), 2)
batches.idx = np.array([4, 3, 2, 1, 0])
batches.reset()
print([b.label[0].asnumpy().tolist() for b in batches], batches.idx.tolist())
half = gluon.data.vision.transforms.RandomApply(gluon.data.vision.transforms.CenterCrop(2), 0.5)
print([half(nd.zeros((4, 4, 3))).shape[0] for _ in range(12)])
print(np.random.rand(), random.random())
print(sorted(gluon.nn.Embedding(3, 4)._kwargs.items()))

# Biases before the normalization would have gradients of pure rounding.
body = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, no_bias=True, name="fc1")
body = mx.sym.Activation(body, act_type="tanh", name="act") * 2
twice = mx.sym.broadcast_add(body, mx.sym.BlockGrad(body), name="sum") + body
graph = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(twice, num_hidden=2, name="fc2"), name="softmax")
UNASKED = ("softmax_backward_output1", "fc1_backward_output0", "sum_backward_output1", "sum_grad_output")
rng = np.random.RandomState(0)
data, labels = rng.randn(8, 5).astype("float32"), np.array([0, 1, 1, 0, 1, 0, 0, 1], "float32")
weights = {
    "fc1_weight": rng.uniform(-0.5, 0.5, (3, 5)),
    "fc2_weight": rng.uniform(-0.5, 0.5, (2, 3)),
    "fc2_bias": np.array([0.1, -0.1]),
}
module = mx.mod.Module(graph)
module.bind([("data", (8, 5))], [("softmax_label", (8,))])
module.init_params(arg_params={k: nd.array(v) for k, v in weights.items()})
monitor = mx.mon.Monitor(2, pattern=".*")
module.install_monitor(monitor)
module.init_optimizer(optimizer_params={"learning_rate": 0.5})
for _ in range(3):
    monitor.tic()
    module.forward(mx.io.DataBatch([nd.array(data)], [nd.array(labels)]), is_train=True)
    module.backward()
    for step, name, value in monitor.toc():
        if name not in UNASKED and "plus" not in name:
            print(step, name, value)
    module.update()

logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s", force=True)
logging.getLogger().handlers[0].addFilter(lambda record: "Time cost" not in record.msg)
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    iterator = mx.io.NDArrayIter(data, labels, 4)
    params = {"arg_params": {k: nd.array(v) for k, v in weights.items()}, "aux_params": {}}
    model = mx.model.FeedForward(graph, num_epoch=2, learning_rate=0.5, **params)
    end = mx.callback.do_checkpoint("net")
    model.fit(iterator, epoch_end_callback=[end, lambda epoch, *_: logging.info("Epoch %d", epoch)])
    model.save("net", 9)
    module.save_checkpoint("module", 1, save_optimizer_states=True)
    print(sorted(os.listdir(".")))
    os.chdir("/")
for name in sorted(model.arg_params):
    print(name, model.arg_params[name].asnumpy().ravel())
