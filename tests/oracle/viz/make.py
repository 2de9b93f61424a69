"""Writes golden.json: how MXNet 2.0 prints and draws a symbol. ``MXNET_PYTHON make.py``"""

import contextlib
import io
import json
import pathlib

import mxnet as mx
from cases import net

text, shape = io.StringIO(), {"data": (2, 3, 16, 16)}
with contextlib.redirect_stdout(text):
    mx.viz.print_summary(net(mx.sym), shape=shape)
found = {
    "text": text.getvalue(),
    "shapes": mx.viz.plot_network(net(mx.sym), shape=shape).source,
    "weights": mx.viz.plot_network(net(mx.sym), hide_weights=False).source,
}
pathlib.Path(__file__).with_name("golden.json").write_text(json.dumps(found, indent=1) + "\n")
