# ruff: noqa
"""Ten short programs on symbols, as they are written for MXNet 2."""

import os, tempfile
import mxnet as mx, numpy as onp
from mxnet import autograd, gluon, np, npx
from mxnet.gluon import nn

npx.set_np()
rs = onp.random.RandomState(0)


def show(name, *values):
    print(
        name,
        *[
            onp.round(onp.asarray(v.asnumpy() if hasattr(v, "asnumpy") else v, "float64"), 4).ravel()[:6].tolist()
            for v in values
        ],
    )


def fill(net, x):
    net.initialize()
    net(x)
    for name, p in sorted(net.collect_params().items()):
        if p.grad_req != "null":
            p.set_data(np.array(onp.linspace(-0.5, 0.5, p.data().size).reshape(p.shape)))
    return net


x = np.array(rs.rand(4, 5).astype("float32"))
folder = tempfile.mkdtemp()
# 1: export a hybridized net, and import it
net = nn.HybridSequential()
net.add(nn.Dense(6, activation="relu"), nn.Dense(3))
fill(net, x)
net.hybridize()
first = net(x)
sym_file, params_file = net.export(os.path.join(folder, "mlp"))
print(os.path.basename(sym_file), os.path.basename(params_file))
again = gluon.SymbolBlock.imports(sym_file, ["data"], params_file)
show("imported", first, again(x))
# 2: what the exported symbol is
sym = mx.sym.load(sym_file)
print(len(sym.list_arguments()), sym.list_arguments()[0], len(sym.list_outputs()), sym.list_auxiliary_states())
shapes, outs, aux = sym.infer_shape(data=(4, 5))
print(shapes, outs, aux)
# 3: features of an inner layer
inner = sym.get_internals()
names = [n for n in inner.list_outputs() if n.endswith("_output") or "relu" in n]
print(len(names) > 0)
# 4: compose by hand with mx.sym.np
a, b = mx.sym.var("a").as_np_ndarray(), mx.sym.var("b").as_np_ndarray()
c = mx.sym.np.sum(a * b + 2 * a, axis=1)
print(c.list_arguments(), c.infer_shape(a=(2, 3), b=(2, 3))[1])
ex = c._bind(
    mx.cpu(),
    {"a": mx.nd.ones((2, 3)), "b": mx.nd.arange(6).reshape((2, 3))},
    args_grad={"a": mx.nd.zeros((2, 3)), "b": mx.nd.zeros((2, 3))},
)
out = ex.forward(is_train=True)
ex.backward([mx.nd.ones((2,))])
show("bound", *out, ex.grad_dict["a"], ex.grad_dict["b"])
# 5: a symbol as a block, with its own parameters
d = mx.sym.var("data").as_np_ndarray()
w = mx.sym.var("weight").as_np_ndarray()
block = gluon.SymbolBlock([mx.sym.npx.relu(mx.sym.np.dot(d, w))], [d])
block.initialize()
block.collect_params()["weight"].shape = (5, 2)
block.collect_params()["weight"].initialize(mx.init.One(), force_reinit=True)
show("block", block(x))
# 6: gradients through an imported block
again.setattr("grad_req", "write")
with autograd.record():
    loss = (again(x) ** 2).sum()
loss.backward()
show("grads", loss, *[p.grad() for _, p in sorted(again.collect_params().items())])
trainer = gluon.Trainer(again.collect_params(), "sgd", {"learning_rate": 0.1})
trainer.step(4)
show("stepped", again(x))
# 7: json there and back
text = sym.tojson()
twin = mx.sym.fromjson(text)
print(twin.list_arguments() == sym.list_arguments(), twin.list_outputs() == sym.list_outputs(), twin.tojson() == text)


# 8: two outputs, and a group
class Two(nn.HybridBlock):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(2)

    def forward(self, x, y):
        h = self.dense(x)
        return h + y, h * y


two = Two()
two.initialize(mx.init.One())
two.hybridize()
y = np.ones((4, 2)) * 2
show("two", *two(x, y))
s, p = two.export(os.path.join(folder, "two"), epoch=3)
back = gluon.SymbolBlock.imports(s, ["data0", "data1"], p)
show("back", *back(x, y))
print(os.path.basename(p), mx.sym.load(s).list_outputs().__len__())
# 9: normalization, with its states
conv = nn.HybridSequential()
conv.add(nn.Conv2D(2, 3, padding=1), nn.BatchNorm(), nn.Activation("relu"), nn.GlobalAvgPool2D(), nn.Flatten())
image = np.array(rs.rand(2, 3, 6, 6).astype("float32"))
fill(conv, image)
conv.hybridize()
with autograd.record():
    out = conv(image).sum()
out.backward()
show("moving", *[v.data() for k, v in sorted(conv.collect_params().items()) if "running" in k])
s, p = conv.export(os.path.join(folder, "conv"))
back = gluon.SymbolBlock.imports(s, ["data"], p)
show("conv", conv(image), back(image))
print(sorted(n.split("_")[-1] for n in mx.sym.load(s).list_auxiliary_states()))
# 10: params files by name
loaded = npx.load(p)
print(sorted({k.partition(":")[0] for k in loaded}), len(loaded))
e = (a**2 - 3).as_nd_ndarray()
print(e.list_arguments())
print(
    mx.sym.np.stack([a, b], axis=0).infer_shape(a=(2, 3), b=(2, 3))[1],
    mx.sym.np.dot(a, b).infer_shape(a=(2, 3), b=(3, 5))[1],
)
