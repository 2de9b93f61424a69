"""What the first years of MXNet wrote: contrib.autograd, the executor manager, embeddings from files."""

import os
import tempfile
import types

import mxnet as mx
import numpy as np
from mxnet import nd
from mxnet.contrib import autograd as ag
from mxnet.contrib import text
from mxnet.executor_manager import DataParallelExecutorManager


def show(label, *arrays):
    print(label, [np.asarray(a.asnumpy(), "float64").round(5).tolist() for a in arrays])


# -- gradients before there was mx.autograd
def weighted(x, y):
    return nd.sum(x * x * y)


a, b = nd.array([1.0, 2, 3]), nd.array([2.0, 3, 4])
gradients, loss = ag.grad_and_loss(weighted)(a, b)
show("both", loss, *gradients)
show("first", *ag.grad_and_loss(weighted, argnum=0)(a, b)[0])
show("second", *ag.grad(weighted, argnum=[1])(a, b))
x, kept = nd.array([1.0, 2]), nd.zeros(2)
ag.mark_variables([x], [kept])
with ag.train_section():
    y = x * x
    with ag.test_section():
        z = nd.Dropout(nd.ones((50,)), p=0.5).sum()
show("untouched", z)
ag.backward([y])
show("kept", kept)
with ag.train_section():
    y = x * 3
ag.compute_gradient([y])
show("kept", kept)
with ag.train_section():
    y = x * 3
ag.backward([y], [nd.array([2.0, 3])])
show("weighted", kept)
before = ag.set_is_training(True)
print(before, mx.autograd.is_training(), mx.autograd.is_recording())
print(ag.set_is_training(before), mx.autograd.is_recording())
with ag.TrainingStateScope(True):
    print(mx.autograd.is_training(), mx.autograd.is_recording())

# -- a loop below FeedForward
rs = np.random.RandomState(3)
data, labels = rs.rand(12, 4).astype("float32"), (np.arange(12) % 3).astype("float32")


def network(key=None):
    hidden = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=5, name="fc1")
    hidden = mx.sym.BatchNorm(mx.sym.Activation(hidden, act_type="relu"), name="bn", fix_gamma=False)
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(hidden, num_hidden=3, name="fc2"), name="softmax")


symbol = network()
batches = mx.io.NDArrayIter(data, labels, batch_size=4)
shapes, _, aux_shapes = symbol.infer_shape(data=(4, 4), softmax_label=(4,))
arguments = symbol.list_arguments()
names = [name for name in arguments if name not in ("data", "softmax_label")]
start = {n: nd.array(rs.rand(*s) - 0.5) for n, s in zip(arguments, shapes) if n in names}
states = {n: nd.ones(s) * 0.5 for n, s in zip(symbol.list_auxiliary_states(), aux_shapes)}
manager = DataParallelExecutorManager(
    symbol=symbol,
    ctx=[mx.cpu()],
    train_data=batches,
    param_names=names,
    arg_names=arguments,
    aux_names=symbol.list_auxiliary_states(),
)
manager.set_params(start, states)
updater = mx.optimizer.get_updater(mx.optimizer.create("sgd", learning_rate=0.2, momentum=0.9, rescale_grad=1 / 4))
metric = mx.metric.create("ce")
for epoch in range(3):
    batches.reset()
    metric.reset()
    for batch in batches:
        manager.load_data_batch(batch)
        manager.forward(is_train=True)
        manager.backward()
        mx.model._update_params(manager.param_arrays, manager.grad_arrays, updater=updater, num_device=1)
        manager.update_metric(metric, batch.label)
    print(epoch, metric.get())
manager.copy_to(start, states)
show("fc2", start["fc2_bias"], states["bn_moving_mean"])
print(len(manager.param_arrays), len(manager.grad_arrays[0]), len(manager.aux_arrays))

# -- vectors of tokens, from a file
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "vectors.txt")
    with open(path, "w") as file:
        file.write("the 0.5 1.5\ncat 1 2\nsat -1 0.25\n")
    vocabulary = text.vocab.Vocabulary(text.utils.count_tokens_from_str("the cat sat on the mat"))
    one = text.embedding.CustomEmbedding(path)
    for vectors in (one, text.embedding.CompositeEmbedding(vocabulary, [one, one])):
        print(len(vectors), vectors.vec_len)
        show("vectors", vectors.get_vecs_by_tokens(["cat", "dog", "the"]), vectors.get_vecs_by_tokens("sat"))
names = text.embedding.get_pretrained_file_names()
print(len(names["glove"]), len(names["fasttext"]))
print(text.embedding.get_pretrained_file_names("glove"))
print(sorted(names["fasttext"]))


# -- files by names, before save_parameters
class Scaled(mx.gluon.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.dense = mx.gluon.nn.Dense(2, in_units=3)
            self.w = self.params.get("own_weights", shape=(2,))

    def hybrid_forward(self, F, x, w):
        return self.dense(x) * w


stack = mx.gluon.nn.Sequential(prefix="top_")
with stack.name_scope():
    stack.add(mx.gluon.nn.Dense(2, in_units=3), mx.gluon.nn.BatchNorm(in_channels=2))
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "net.params")
    for net, twin in ((Scaled(), Scaled()), (stack, stack), (mx.gluon.nn.Dense(2, in_units=3),) * 2):
        net.initialize(mx.init.One())
        net.save_params(path)
        print(sorted(nd.load(path)))
        twin.load_params(path)
        show("again", twin(nd.ones((1, 3))))
        net.save_parameters(path)
        print(sorted(nd.load(path)))


# -- a layer of the library that is given another hybrid_forward, as tools for quantization do
def coarse(self, F, x, weight, bias=None, reach=None):
    self.seen = F.max(F.abs(x)).asscalar()
    return self.before(F, F.round(x * 4) / 4, F.round(weight * 8) / 8, bias) + reach


def patch(layer):
    layer.reach = layer.params.get("reach", shape=(1,), init="ones", differentiable=False)
    layer.before, layer.hybrid_forward = layer.hybrid_forward, types.MethodType(coarse, layer)


net = mx.gluon.nn.HybridSequential(prefix="n_")
with net.name_scope():
    net.add(mx.gluon.nn.Dense(2, in_units=3, activation="relu"), mx.gluon.nn.Dense(1, in_units=2))
net.initialize()
for i, (_, parameter) in enumerate(sorted(net.collect_params().items())):
    parameter.set_data(nd.array(np.linspace(-0.3, 0.9, parameter.data().size).reshape(parameter.shape) + i / 7))
inputs = nd.array([[0.3, 0.7, 1.1], [1.4, 0.1, 0.6]])
show("plain", net(inputs))
for layer in net:
    patch(layer)
for parameter in net.collect_params(".*reach").values():
    parameter.initialize()
print(sorted(net.collect_params()))
show("patched", net(inputs))
print([round(float(layer.seen), 4) for layer in net])
