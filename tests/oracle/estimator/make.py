"""Writes golden.json: what an estimator of MXNet 2.0 does. ``MXNET_PYTHON make.py``"""

import json
import pathlib
import types

from cases import CASES
from mxnet import gluon, np, npx
from mxnet.gluon.contrib import estimator

npx.set_np()
ns = types.SimpleNamespace(
    E=estimator,
    nn=gluon.nn,
    loss=gluon.loss,
    metric=gluon.metric,
    data=gluon.data,
    Trainer=gluon.Trainer,
    array=np.array,
)
found = {name: case(ns) for name, case in CASES.items()}
pathlib.Path(__file__).with_name("golden.json").write_text(json.dumps(found, indent=1) + "\n")
