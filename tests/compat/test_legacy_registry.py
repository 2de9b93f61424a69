"""Legacy operators have the inputs, attributes and defaults that MXNet registered (tests/oracle/registry)."""

import json
import re

from gluonx.compat.operators.row import _COUNTS, _IGNORED
from gluonx.compat.operators.table import TABLE
from lib import TESTS
from lib.rows import every

FACTS = json.loads((TESTS / "oracle" / "registry" / "registry.json").read_text())
REGISTERED = {**FACTS["2.0.0b1"], **FACTS["1.9.1"]}
NAMES = sorted(name for name, op in TABLE.items() if name == op.name and name in REGISTERED)

# Where a row differs from the registry on purpose, and why.
INPUTS = {
    "BatchNorm_v1": "the registry leaves out the auxiliary states of the older operators",
    "IdentityAttachKLSparseReg": "as BatchNorm_v1",
    "_CrossDeviceCopy": "the registry leaves out its input",
    "log_softmax": "takes lengths as softmax does",
}
LOOSER = {
    ("_contrib_SyncBatchNorm", "key"): "names an exchange between devices",
    ("Activation", "act_type"): "MXNet 2's words too",
    ("_contrib_quantized_act", "act_type"): "MXNet 2's words too",
    ("LeakyReLU", "act_type"): "the two forms of gelu by their own names",
    ("_contrib_AdaptiveAvgPooling2D", "output_size"): "MXNet 2 writes None",
    ("Pooling_v1", "pool_type"): "as Pooling",
    ("Pooling_v1", "pooling_convention"): "as Pooling",
    **dict.fromkeys(
        [(op, "dtype") for op in ("_zeros", "_ones", "_full", "_eye", "_arange", "_linspace")], "MXNet 2 writes None"
    ),
}
EXTRA = {
    **dict.fromkeys(["Pooling_v1"], "as Pooling"),
    **dict.fromkeys(["rmsprop_update", "rmspropalex_update"], "MXNet 2's names of gamma1 and gamma2"),
    **dict.fromkeys(["_image_random_flip_left_right", "_image_random_flip_top_bottom"], "MXNet 2's chance"),
    "_contrib_AdaptiveAvgPooling2D": "MXNet 2 writes the attributes of Pooling",
}
# The registry lists the arguments of _arange; MXNet's parser refuses step, and symbols are written with these.
PARSED = {
    "_linspace": {
        "start": "double, required",
        "stop": "double, required",
        "num": "int, required",
        "endpoint": "boolean, optional, default=1",
        "dtype": "{'float32', 'float64'},optional, default='float32'",
    }
}


def near(a, b):
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(near, a, b))
    if isinstance(a, float) or isinstance(b, float):
        return None not in (a, b) and abs(a - b) <= 1e-6 * max(1.0, abs(b))
    return a == b


def is_as_registered(name):
    op, (inputs, registered) = TABLE[name], REGISTERED[name]
    registered = PARSED.get(name, registered)
    if not op.variadic and name not in INPUTS:
        assert list(op.inputs) == inputs
    wanted = {n: kind for n, kind in registered.items() if n not in _IGNORED and n not in _COUNTS}
    assert [n for n in op.attrs if n in wanted] == list(wanted), "attributes missing, or in another order"
    assert name in EXTRA or set(op.attrs) - _IGNORED == set(wanted), "attributes that MXNet does not have"
    for attr, kind in wanted.items():
        ours = op.attrs[attr]
        default = re.search(r"default=(.*)$", kind)
        if (name, attr) not in LOOSER:
            assert ours.required == ("required" in kind), f"{attr}: {kind}"
        if default and (name, attr) not in LOOSER:
            read = ours.parse(default.group(1).strip().strip("'"), name)
            assert near(read, ours.default), f"{attr}: {kind}, but the row has {ours.default!r}"
        words = re.match(r"^\{(.*?)\}", kind)
        if words and ours.kind.startswith("{"):
            given = {word.strip().strip("'") for word in words.group(1).split(",")} - {"None"}
            mine = set(ours.kind.strip("?")[1:-1].split())
            assert mine >= given if (name, attr) in LOOSER else mine == given, f"{attr}: {kind}"


def test_as_registered():
    every(is_as_registered, NAMES)


def test_what_is_looser_is_there():
    for name in (*INPUTS, *EXTRA, *PARSED, *[name for name, _ in LOOSER]):
        assert name in NAMES, name
