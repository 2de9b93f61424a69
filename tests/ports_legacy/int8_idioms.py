# ruff: noqa
"""Ten short programs in int8, as tutorials of MXNet 1 write them."""

import mxnet as mx, numpy as np
from mxnet import gluon, nd
from mxnet.gluon import nn

rs = np.random.RandomState(0)


def show(name, *values):
    print(
        name,
        *[
            np.round(np.asarray(v.asnumpy() if hasattr(v, "asnumpy") else v, "float64"), 4).ravel()[:8].tolist()
            for v in values
        ],
    )


x = nd.array(rs.uniform(-1, 1, (4, 6)))
low, high = nd.array([-1.0]), nd.array([1.0])
# 1: quantize and back
q, ql, qh = nd.contrib.quantize(x, low, high, out_type="int8")
show("int8", q, ql, qh, nd.contrib.dequantize(q, ql, qh, out_type="float32"))
# 2: to uint8
u, ul, uh = nd.contrib.quantize((x + 1) / 2, nd.array([0.0]), nd.array([1.0]), out_type="uint8")
show("uint8", u, ul, uh, nd.contrib.dequantize(u, ul, uh))
# 3: quantize_v2, with and without a calibrated range
show("v2", *nd.contrib.quantize_v2(x, out_type="int8"))
show("v2 range", *nd.contrib.quantize_v2(x, out_type="int8", min_calib_range=-0.5, max_calib_range=0.5))
# 4: requantize from int32
big = nd.array(rs.randint(-100000, 100000, (2, 4)), dtype="int32")
show(
    "requantize",
    *nd.contrib.requantize(big, nd.array([-300.0]), nd.array([300.0]), min_calib_range=-0.01, max_calib_range=0.01),
)
# 5: a quantized dense layer
w = nd.array(rs.uniform(-1, 1, (3, 6)))
qw, wl, wh = nd.contrib.quantize(w, low, high, out_type="int8")
out = nd.contrib.quantized_fully_connected(
    data=q, weight=qw, min_data=ql, max_data=qh, min_weight=wl, max_weight=wh, num_hidden=3, no_bias=True
)
show("dense", *out, nd.dot(x, w, transpose_b=True))
# 6: pooling and flattening of int8 images
im = nd.array(rs.uniform(-1, 1, (1, 2, 4, 4)))
qi, il, ih = nd.contrib.quantize(im, low, high, out_type="int8")
show("pool", *nd.contrib.quantized_pooling(qi, il, ih, kernel=(2, 2), stride=(2, 2), pool_type="max"))
show("flatten", *nd.contrib.quantized_flatten(qi, il, ih))
# 7: a quantized activation
show("act", *nd.contrib.quantized_act(qi, il, ih, act_type="relu"))
# 8: the threshold of calibration by entropy
hist, edges = np.histogram(rs.normal(size=2000), bins=401, range=(-4, 4))
t, d = nd.contrib.calibrate_entropy(nd.array(hist), nd.array(edges), num_quantized_bins=255)
show("entropy", t)
# 9: symbols of it
s = mx.sym.contrib.quantize_v2(mx.sym.var("x"), out_type="int8", min_calib_range=-1.0, max_calib_range=1.0)
s = mx.sym.contrib.dequantize(s[0], s[1], s[2])
show("symbol", s.eval(x=x, ctx=mx.cpu())[0])
print(s.list_arguments(), s.infer_shape(x=(4, 6))[1])
# 10: a dense layer of symbols in int8, against floats
sx, sw = mx.sym.var("x"), mx.sym.var("w")
qx = mx.sym.contrib.quantize_v2(sx, out_type="int8", min_calib_range=-1.0, max_calib_range=1.0)
qw = mx.sym.contrib.quantize_v2(sw, out_type="int8", min_calib_range=-1.0, max_calib_range=1.0)
f = mx.sym.contrib.quantized_fully_connected(
    data=qx[0],
    weight=qw[0],
    min_data=qx[1],
    max_data=qx[2],
    min_weight=qw[1],
    max_weight=qw[2],
    num_hidden=3,
    no_bias=True,
)
f = mx.sym.contrib.requantize(f[0], f[1], f[2], min_calib_range=-4.0, max_calib_range=4.0)
f = mx.sym.contrib.dequantize(f[0], f[1], f[2])
found = f.eval(x=x, w=w, ctx=mx.cpu())[0].asnumpy()
show("net", found)
print(np.abs(found - nd.dot(x, w, transpose_b=True).asnumpy()).max() < 0.05)
