# ruff: noqa
"""Ten short programs on symbols, as tutorials of MXNet 1 write them."""

import os, tempfile
import mxnet as mx, numpy as np

rs = np.random.RandomState(0)


def show(name, *values):
    print(
        name,
        *[
            np.round(np.asarray(v.asnumpy() if hasattr(v, "asnumpy") else v, "float64"), 5).ravel()[:6].tolist()
            for v in values
        ],
    )


# 1: compose, list, infer
net = mx.sym.Variable("data")
net = mx.sym.FullyConnected(data=net, name="fc1", num_hidden=8)
net = mx.sym.Activation(data=net, name="relu1", act_type="relu")
net = mx.sym.FullyConnected(data=net, name="fc2", num_hidden=3)
net = mx.sym.SoftmaxOutput(data=net, name="out")
print(net.list_arguments(), net.list_outputs())
print(net.infer_shape(data=(4, 5)))
# 2: bind, forward, backward, by hand
ex = net.simple_bind(ctx=mx.cpu(), data=(4, 5), grad_req="write")
for name, arr in sorted(ex.arg_dict.items()):
    arr[:] = rs.uniform(-1, 1, arr.shape)
ex.arg_dict["out_label"][:] = [0, 1, 2, 1]
for step in range(3):
    out = ex.forward(is_train=True)[0]
    ex.backward()
    show("step", out, ex.grad_dict["fc1_weight"], ex.grad_dict["fc2_bias"])
    for name, grad in ex.grad_dict.items():
        if name not in ("data", "out_label"):
            ex.arg_dict[name][:] -= 0.5 * grad
# 3: internals as features
inner = net.get_internals()
feat = inner["relu1_output"]
fe = feat.bind(mx.cpu(), {k: ex.arg_dict[k] for k in feat.list_arguments()})
show("feature", fe.forward()[0])
print(inner.list_outputs()[:6])
# 4: groups and several outputs
a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
group = mx.sym.Group([a + b, a * b, mx.sym.BlockGrad(a - b)])
ge = group.bind(
    mx.cpu(), {"a": mx.nd.array([1, 2]), "b": mx.nd.array([3, 5])}, args_grad={"a": mx.nd.zeros(2), "b": mx.nd.zeros(2)}
)
outs = ge.forward(is_train=True)
ge.backward([mx.nd.ones(2), mx.nd.ones(2) * 2])
show("group", *outs, *[ge.grad_dict[k] for k in "ab"])
print(len(group), len(group[1].list_outputs()))
# 5: save and load
folder = tempfile.mkdtemp()
net.save(os.path.join(folder, "net-symbol.json"))
again = mx.sym.load(os.path.join(folder, "net-symbol.json"))
print(again.tojson() == net.tojson(), again.list_arguments() == net.list_arguments())
# 6: attributes, multipliers and scopes
with mx.AttrScope(ctx_group="dev1"), mx.name.Prefix("stage_"):
    w = mx.sym.Variable("w", lr_mult=0.1, shape=(2, 3))
    f = mx.sym.FullyConnected(mx.sym.Variable("x"), weight=w, num_hidden=2, wd_mult=2.0)
print(f.name, f.attr("ctx_group"), f.list_arguments(), sorted(f.attr_dict().get("w", {}).items()))
print(f.attr("wd_mult"))
# 7: slices, arithmetic, reductions by eval
x = mx.sym.Variable("x")
for s in (
    x**2 + 1,
    2 / (x + 1),
    mx.sym.sum(x, axis=1),
    mx.sym.slice_axis(x, axis=1, begin=0, end=2),
    mx.sym.transpose(x),
    x > 1,
    mx.sym.max(x, axis=0),
    mx.sym.dot(x, x, transpose_b=True),
):
    show("eval", s.eval(x=mx.nd.array([[0, 1, 2], [3, 4, 5]]), ctx=mx.cpu())[0])
# 8: share weights, compose a net with another
shared = mx.sym.Variable("shared_weight")
top = mx.sym.FullyConnected(mx.sym.Variable("data"), weight=shared, num_hidden=4, no_bias=True, name="t1")
top = mx.sym.FullyConnected(top, weight=shared, num_hidden=4, no_bias=True, name="t2")
both = net(data=top, name="both")
print(top.list_arguments(), both.list_arguments())
show("shared", top.eval(data=mx.nd.ones((2, 4)), shared_weight=mx.nd.array(rs.uniform(size=(4, 4))))[0])
# 9: convolution with states, reshape of an executor
c = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=2, pad=(1, 1), name="conv")
c = mx.sym.BatchNorm(c, name="bn", fix_gamma=False, momentum=0.5)
c = mx.sym.Pooling(mx.sym.LeakyReLU(c, act_type="leaky", slope=0.1), global_pool=True, kernel=(1, 1), pool_type="avg")
ce = c.simple_bind(mx.cpu(), data=(2, 1, 4, 4))
for name, arr in sorted(ce.arg_dict.items()):
    arr[:] = rs.uniform(-1, 1, arr.shape)
ce.aux_dict["bn_moving_var"][:] = 1
ce.forward(is_train=True), ce.backward(mx.nd.ones((2, 2, 1, 1))), ce.forward(is_train=False)
show("bn", ce.outputs[0], ce.aux_dict["bn_moving_mean"], ce.aux_dict["bn_moving_var"])
small = ce.reshape(data=(1, 1, 4, 4))
show("reshaped", small.forward(is_train=False, data=mx.nd.ones((1, 1, 4, 4)))[0])
# 10: Module on it, with checkpoint and multipliers
it = mx.io.NDArrayIter(rs.uniform(size=(24, 5)), rs.randint(0, 3, 24), 8, label_name="out_label")
mod = mx.mod.Module(net, label_names=["out_label"])
mod.bind(it.provide_data, it.provide_label)
mod.init_params(mx.init.Constant(0.1))
mod.init_optimizer(optimizer="sgd", optimizer_params={"learning_rate": 0.5, "momentum": 0.9})
metric = mx.metric.CrossEntropy()
for epoch in range(2):
    it.reset(), metric.reset()
    for batch in it:
        mod.forward(batch, is_train=True)
        mod.update_metric(metric, batch.label)
        mod.backward()
        mod.update()
    print(metric.get()[0], round(metric.get()[1], 5))
mod.save_checkpoint(os.path.join(folder, "m"), 2)
sym2, arg2, aux2 = mx.model.load_checkpoint(os.path.join(folder, "m"), 2)
show("params", *[arg2[k] for k in sorted(arg2)])
