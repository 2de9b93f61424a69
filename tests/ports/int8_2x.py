# ruff: noqa
"""Ten short programs on int8, as they are written for MXNet 2."""

import mxnet as mx, numpy as onp
from mxnet import gluon, nd, np, npx
from mxnet.gluon import nn

rs = onp.random.RandomState(3)
npx.reset_np()


def show(name, *values):
    print(
        name,
        *[
            onp.round(onp.asarray(v.asnumpy() if hasattr(v, "asnumpy") else v, "float64"), 3).ravel()[:8].tolist()
            for v in values
        ],
    )


x = nd.array(rs.uniform(-2, 3, (2, 6)))
# 1: quantize with a given range, and back
q, lo, hi = nd.contrib.quantize(x, nd.array([-3]), nd.array([3]), out_type="int8")
show("quantize", q, lo, hi)
print(q.dtype)
show("dequantize", nd.contrib.dequantize(q, lo, hi, out_type="float32"))
# 2: uint8
q, lo, hi = nd.contrib.quantize(nd.relu(x), nd.array([0]), nd.array([3]), out_type="uint8")
show("uint8", q, lo, hi)
# 3: the range of the data itself
q, lo, hi = nd.contrib.quantize_v2(x, out_type="int8")
show("v2", q, lo, hi)
q, lo, hi = nd.contrib.quantize_v2(x, out_type="auto", min_calib_range=-1.0, max_calib_range=1.0)
show("calibrated", q, lo, hi)
# 4: a dense layer in int8
w = nd.array(rs.uniform(-1, 1, (3, 6)))
qx, xlo, xhi = nd.contrib.quantize_v2(x, out_type="int8")
qw, wlo, whi = nd.contrib.quantize_v2(w, out_type="int8")
out, olo, ohi = nd.contrib.quantized_fully_connected(
    qx, qw, None, xlo, xhi, wlo, whi, None, None, num_hidden=3, no_bias=True
)
show("dense", out, olo, ohi)
print(out.dtype)
# 5: back to float
show("float", out.astype("float32") * ohi / (2**31 - 1), nd.dot(x, w.T))
# 6: requantize
r, rlo, rhi = nd.contrib.requantize(out, olo, ohi)
show("requantize", r, rlo, rhi)
print(r.dtype)
# 7: pooling and flatten keep the range
image = nd.array(rs.uniform(-1, 1, (1, 2, 4, 4)))
qi, ilo, ihi = nd.contrib.quantize_v2(image, out_type="int8")
p, plo, phi = nd.contrib.quantized_pooling(qi, ilo, ihi, kernel=(2, 2), stride=(2, 2), pool_type="max")
show("pool", p, plo, phi)
f, flo, fhi = nd.contrib.quantized_flatten(qi, ilo, ihi)
show("flatten", f, flo, fhi)
print(f.shape)
# 8: concat of two ranges
c, clo, chi = nd.contrib.quantized_concat(qx, qx, xlo, xlo, xhi, xhi, num_args=2, dim=1)
show("concat", c, clo, chi)
# 9: elementwise
s, slo, shi = nd.contrib.quantized_elemwise_mul(qx, qx, xlo, xhi, xlo, xhi)
show("mul", s, slo, shi)
# 10: activation
a, alo, ahi = nd.contrib.quantized_act(qx, xlo, xhi, act_type="relu")
show("act", a, alo, ahi)
# 11: batch normalization, and joins of other ranges
left, right = nd.array([[-127, 64, 10]], dtype="int8"), nd.array([[127, -30, 4]], dtype="int8")
for ends in ((-1.0, 1.0, -2.0, 2.0), (-1.0, 0.5, -2.0, 3.0), (-1.0, 0.5, -0.2, 0.3)):
    show("joined", *nd.contrib.quantized_concat(left, right, *[nd.array([end]) for end in ends], num_args=2, dim=1))
bytes_ = nd.array([[255, 3, 100]], dtype="uint8")
show(
    "mixed", *nd.contrib.quantized_concat(left, bytes_, *[nd.array([end]) for end in (-1, 1, 0, 2)], num_args=2, dim=0)
)
picture = nd.array([[[[-127, 64], [3, 100]], [[20, 30], [-40, 50]]]], dtype="int8")
states = [nd.array(v) for v in ([1.0, 2.0], [0.5, -0.5], [0.1, 0.2], [1.0, 4.0], [-3], [2])]
show("bn", *nd.contrib.quantized_batch_norm(picture, *states, min_calib_range=-4.0, max_calib_range=3.0))
