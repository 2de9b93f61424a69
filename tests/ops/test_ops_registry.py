"""The registry: interning, canonical attributes, messages."""

import copy
import pickle
import threading

import numpy as onp
import pytest

from gluonx import np, npx, ops
from gluonx.np.table import IGNORED
from gluonx.ops import registry
from lib.rows import every

softmax, convolution, dropout = ops.get("softmax"), ops.get("convolution"), ops.get("dropout")


@pytest.mark.parametrize(
    "op, one, other",
    [
        ("convolution", {"kernel": [2, 2]}, {"kernel": (2, 2)}),
        ("convolution", {"kernel": onp.array([2, 2])}, {"kernel": (onp.int64(2), 2)}),
        ("softmax", {}, {"axis": -1}),
        ("softmax", {"axis": 1, "dtype": "float32"}, {"dtype": onp.float32, "axis": 1}),
        ("cast", {"dtype": "bfloat16"}, {"dtype": onp.dtype("bfloat16")}),
        ("smooth_l1", {"scalar": float("nan")}, {"scalar": float("nan")}),
        ("Convolution", {}, {}),
    ],
)
def test_equal_attributes_are_one_object(op, one, other):
    assert ops.get(op).bind(**one) is ops.get(op).bind(**other)


@pytest.mark.parametrize("one, other", [(1, 1.0), (1, True), ((1, 2), (1.0, 2)), (((0, 1),), ((False, 1),))])
def test_values_of_other_types_stay_apart(one, other):
    assert softmax.bind(axis=one) is not softmax.bind(axis=other)


def test_copies_are_the_same_object():
    bound = convolution.bind(kernel=(3, 3))
    assert copy.deepcopy(bound) is bound
    assert pickle.loads(pickle.dumps(bound)) is bound
    assert pickle.loads(pickle.dumps(convolution)) is convolution


def test_interning_from_many_threads():
    found, barrier = [], threading.Barrier(8)

    def bind():
        barrier.wait()
        found.extend(softmax.bind(axis=i) for i in range(-50, 50))

    threads = [threading.Thread(target=bind) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 100


def test_who_interrupts_the_binding_of_an_operator_may_bind_it_too(monkeypatch):
    """A signal handler or finalizer runs on the thread that it interrupts, which may hold the lock."""
    plain, found = registry.BoundOp, []

    def interrupted(op, attrs):
        monkeypatch.setattr(registry, "BoundOp", plain)
        found.append(softmax.bind(axis=77))
        return plain(op, attrs)

    monkeypatch.setattr(registry, "BoundOp", interrupted)
    thread = threading.Thread(target=lambda: found.append(softmax.bind(axis=77)), daemon=True)
    thread.start()
    thread.join(60)
    assert len(found) == 2
    assert found[0] is found[1] is softmax.bind(axis=77)


def test_nan_attributes_do_not_pile_up():
    op = ops.get("smooth_l1")
    op.bind(scalar=float("nan"))
    size = len(op._spellings)
    for _ in range(5):
        op.bind(scalar=float("nan"))
    assert len(op._spellings) == size


def test_engine_slots_are_free():
    bound = softmax.bind(axis=7)
    assert (bound.eager, bound.vjp, bound.shapes, bound.cache) == (None,) * 4
    bound.cache = 1
    assert softmax.bind(axis=7).cache == 1
    with pytest.raises(AttributeError):
        bound.other = 1


@pytest.mark.parametrize(
    "attrs, message",
    [
        ({"axes": 1}, "operator softmax has no attribute 'axes'; did you mean 'axis'?"),
        ({"bogus": 1}, "(its attributes: axis, dtype, use_length; its arrays: x, length, temperature)"),
        ({"axis": onp.ones}, "operator softmax: attribute 'axis' is static and cannot be"),
    ],
)
def test_messages(attrs, message):
    with pytest.raises(TypeError) as error:
        softmax.bind(**attrs)
    assert message in str(error.value)


def test_missing_attribute():
    with pytest.raises(TypeError, match="operator one_hot needs the attribute 'depth', which was not given"):
        ops.get("one_hot").bind()


def test_a_record_with_an_unknown_field_is_refused():
    with pytest.raises(TypeError, match="operator none_such: a record has no field 'ampp'"):
        ops.register("none_such", ampp="low")(lambda x: x)
    assert "none_such" not in ops.OPS


RECORDS = sorted({op for op in ops.OPS.values() if op.__module__.startswith("gluonx.ops")}, key=lambda op: op.name)


def names_what_there_is(op):
    parameters = {*op.inputs, *op.attr_names}
    assert op.amp in ("", "low", "float32", "widest") or (op.amp[0] in op.attr_names and op.amp[1])
    assert op.channels_last in ("", "each", "axis", "layout")
    assert op.channels_last in ("", "each") or op.channels_last in op.attr_names
    assert {*op.batched} <= {*op.inputs}
    assert {*op.moving} | {*op.npx.unset.split()} <= op.attr_names
    for front in (op.npx, op.np or op.npx):
        assert {*front.also.values()} | {*front.shown} <= parameters
        assert {word.partition("=")[0] for word in front.order.split()} <= parameters | IGNORED | {"out"}
    assert all(hasattr(np, name) or hasattr(npx, name) for name in op.methods)
    assert all(hasattr(np.ones(1), name) for name in op.methods)


def test_records_name_what_there_is():
    """Words of a record that nobody would miss: a mistyped one would mean nothing, without a message."""
    every(names_what_there_is, RECORDS)


def test_no_operator_stands_twice():
    """A function of `np` and the core operator of its name are one."""
    assert [name for name in ops.OPS if name.startswith("np.")] == []


def test_unknown_operator():
    with pytest.raises(KeyError, match="there is no core operator 'sofmax'; did you mean 'softmax'"):
        ops.get("sofmax")
    with pytest.raises(AttributeError, match="no attribute or operator 'sofmax'"):
        _ = ops.sofmax


def test_names_are_unique():
    with pytest.raises(ValueError, match="there already is a core operator 'softmax'"):
        ops.register("softmax")(lambda x: x)


def test_repr_shows_what_was_set():
    assert repr(softmax) == "<operator softmax>"
    assert repr(softmax.bind(axis=0, dtype="float16")) == "softmax(axis=0, dtype=float16)"
    assert repr(dropout.bind(p=0.1)) == "dropout(p=0.1)"
    assert repr(softmax.bind()) == "softmax()"


def test_modes_and_randomness():
    bound = dropout.bind(p=0.5)
    assert bound.needs_mode and bound.random
    assert bound.in_mode(True).random and not bound.in_mode(False).random
    assert bound.in_mode(False) is dropout.bind(p=0.5, training=False)
    assert bound.in_mode(True).in_mode(False) is bound.in_mode(True)
    always, never = dropout.bind(p=0.5, mode="always"), dropout.bind(p=0.0)
    assert always.random and not always.needs_mode
    assert not never.random and not never.needs_mode
    assert never(onp.ones(3)).tolist() == [1.0, 1.0, 1.0]


def test_every_operator_is_documented():
    for op in {op for op in ops.OPS.values() if op.__module__.startswith("gluonx.ops")}:
        assert op.doc, op


@pytest.mark.parametrize(
    "name",
    [
        "FullyConnected",
        "Convolution",
        "BatchNorm",
        "Activation",
        "Pooling",
        "Dropout",
        "Embedding",
        "LayerNorm",
        "LeakyReLU",
        "SequenceMask",
    ],
)
def test_camel_case_names(name):
    assert ops.get(name) is ops.OPS[name] and ops.get(name).name != name
