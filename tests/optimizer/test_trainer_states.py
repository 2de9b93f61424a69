"""Trainer states of MXNet, its pickles, are read and gone on with as MXNet does (tests/oracle/states)."""

import pickle
import struct
import sys
import types

import numpy as onp
import pytest

from gluonx import autograd, gluon, lr_scheduler, np
from gluonx.block.parameter import Parameter
from gluonx.errors import FormatError
from gluonx.files import load_trainer_states
from lib import TESTS
from lib.golden import load_cases

cases = load_cases("states")
GOLDEN = dict(onp.load(TESTS / "oracle" / "states" / "states.npz"))


def trainer_of(case, settings):
    params = {}
    for key in cases.parameters(case):
        before = GOLDEN[f"{case}/{key}/before"]
        params[key] = p = Parameter(key, shape=before.shape, dtype=before.dtype)
        p.initialize()
        p.set_data(np.array(before, dtype=before.dtype))
    return params, gluon.Trainer(params, cases.CASES[case][0], settings)


def go_on(case, params, trainer):
    dtype = cases.CASES[case][2]
    for step in range(cases.BEFORE, cases.BEFORE + cases.AFTER):
        with autograd.record():
            loss = sum((p.data() * np.array(cases.GRADS[step][k], dtype=dtype)).sum() for k, p in params.items())
        loss.backward()
        trainer.step(2)


def assert_as_mxnet(case, params):
    half = cases.CASES[case][2] == "float16"
    for key, p in params.items():
        wanted = GOLDEN[f"{case}/{key}/after"].astype("float64")
        found = p.data().asnumpy().astype("float64")
        onp.testing.assert_allclose(found, wanted, 2e-3 if half else 2e-5, 1e-4 if half else 1e-6, err_msg=key)


def write_file(case, folder):
    path = folder / "trainer.states"
    path.write_bytes(GOLDEN[f"{case}/file"].tobytes())
    return path


@pytest.mark.parametrize("case", cases.CASES)
def test_goes_on_as_mxnet_does(case, tmp_path):
    settings = dict(cases.CASES[case][1])
    if case in cases.SCHEDULERS:
        kind, words = cases.SCHEDULERS[case]
        settings["lr_scheduler"] = getattr(lr_scheduler, kind)(**words)
    params, trainer = trainer_of(case, settings)
    trainer.load_states(write_file(case, tmp_path))
    go_on(case, params, trainer)
    assert_as_mxnet(case, params)


@pytest.mark.parametrize("case", ["adam", "sgd", "rmsprop-centered", "sgd-poly", "sgd-factor", "ftml"])
def test_the_settings_come_from_the_file(case, tmp_path):
    params, trainer = trainer_of(case, {"learning_rate": 3.0})
    trainer.load_states(write_file(case, tmp_path))
    go_on(case, params, trainer)
    assert_as_mxnet(case, params)
    if case in cases.SCHEDULERS:
        assert type(trainer.optimizer.lr_scheduler).__name__ == cases.SCHEDULERS[case][0]


def test_what_does_not_fit_changes_nothing(tmp_path):
    _, trainer = trainer_of("adam", {"learning_rate": 0.3})
    found = older("Adam", (ONE,) * 2, lr=0.5, wd=0.25, beta1=0.5)  # of another shape than the weights
    for data, message in (
        (found, "do not fit this Trainer"),
        (GOLDEN["ftrl/file"].tobytes(), "states of optimizer Ftrl, but this Trainer uses Adam"),
    ):
        (tmp_path / "bad").write_bytes(data)
        with pytest.raises(FormatError, match=message):
            trainer.load_states(tmp_path / "bad")
        optimizer = trainer.optimizer
        assert (optimizer.lr, optimizer.wd, optimizer.beta1, optimizer.num_update) == (0.3, 0.0, 0.9, 0)


def older(optimizer, state, **settings):
    """A file as MXNet 1 wrote it."""
    module = types.ModuleType("mxnet.optimizer.optimizer")
    arrays = types.ModuleType("mxnet.ndarray.ndarray")

    class NDArray:
        def __init__(self, value):
            record = struct.pack("<Iii", 0xF993FAC9, 0, value.ndim) + struct.pack(f"<{value.ndim}q", *value.shape)
            self.handle = bytearray(record + struct.pack("<iii", 1, 0, 0) + value.astype("<f4").tobytes())

    def wrapped(value):
        if isinstance(value, tuple):
            return tuple(wrapped(v) for v in value)
        return None if value is None else NDArray(value)

    NDArray.__module__, NDArray.__qualname__ = arrays.__name__, "NDArray"
    saved = type(optimizer, (), {"__module__": module.__name__})
    saved.__qualname__ = optimizer
    arrays.NDArray = NDArray
    setattr(module, optimizer, saved)
    names = ["mxnet", "mxnet.optimizer", "mxnet.ndarray"]
    with pytest.MonkeyPatch.context() as patch:
        for name in names:
            patch.setitem(sys.modules, name, types.ModuleType(name))
        patch.setitem(sys.modules, module.__name__, module)
        patch.setitem(sys.modules, arrays.__name__, arrays)
        made = saved()
        vars(made).update(settings)
        return pickle.dumps(({0: wrapped(state)}, made), 4)


ONE, TWO, THREE = (onp.full((2, 2), n, "float32") for n in (1, 2, 3))


@pytest.mark.parametrize(
    ("optimizer", "settings", "state", "wanted"),
    [
        ("RMSProp", {"gamma1": 0.5, "gamma2": 0.25, "centered": True}, (ONE, TWO, THREE), {"var": 1, "mean": 2}),
        ("SGD", {"momentum": 0.5, "multi_precision": True}, (ONE, TWO), {"inner/momentum": 1, "master": 2}),
        ("SGD", {"momentum": 0.0, "multi_precision": True}, (None, TWO), {"master": 2}),
        ("NAG", {"momentum": 0.5, "multi_precision": True}, (ONE, TWO), {"inner/momentum": 1, "master": 2}),
        ("Signum", {"momentum": 0.5, "multi_precision": True}, (ONE, TWO), {"inner/momentum": 2, "master": 1}),
        ("Adam", {"multi_precision": True}, (ONE, (TWO, THREE)), {"inner/var": 3, "master": 1}),
        ("DCASGD", {"momentum": 0.0}, (None, TWO), {"previous_weight": 2}),
    ],
)
def test_states_of_mxnet_1(optimizer, settings, state, wanted):
    data = older(optimizer, state, lr=0.1, num_update=4, _index_update_count={0: 4}, **settings)
    found = load_trainer_states(data)
    assert found.older and found.optimizer == optimizer
    half = bool(settings.get("multi_precision"))
    param = Parameter("w", shape=(2, 2), dtype="float16" if half else "float32")
    param.initialize()
    trainer = gluon.Trainer({"w": param}, optimizer.lower(), {"learning_rate": 9.0})
    trainer.load_states(data)
    kept = trainer._states()
    for word, value in wanted.items():
        assert (onp.asarray(kept[f"w/{word}"]) == value).all(), word
    assert trainer.learning_rate == 0.1 and trainer.optimizer.num_update == 4
    if optimizer == "RMSProp":
        assert (trainer.optimizer.rho, trainer.optimizer.momentum) == (0.5, 0.25)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"wd": "0"}, "wd is '0'"),
        ({"beta1": None}, "beta1 is None"),
        ({"beta1": float("nan")}, "beta1 is nan"),
        ({"multi_precision": 0.5}, "multi_precision is 0.5"),
        ({"clip_gradient": [1]}, r"clip_gradient is \[1\]"),
    ],
)
def test_settings_of_another_kind_are_refused(settings, message):
    param = Parameter("w", shape=(2, 2))
    param.initialize()
    trainer = gluon.Trainer({"w": param}, "adam")
    with pytest.raises(FormatError, match=message):
        trainer.load_states(older("Adam", (ONE, TWO), lr=0.5, **settings))
    assert trainer.learning_rate == 0.001


@pytest.mark.parametrize("name", ["nadam", "groupadagrad"])
def test_states_of_other_shapes_than_the_weight_stay_with_their_parameter(name, tmp_path):
    params = {key: Parameter(key, shape=(2, 3)) for key in "abc"}
    for p in params.values():
        p.initialize()
    trainer = gluon.Trainer(params, name)
    for step in range(3):
        with autograd.record():
            loss = sum((i + 1) * (p.data() ** 2).sum() for i, p in enumerate(params.values()) if p.grad_req != "null")
        loss.backward()
        trainer.step(1)
        if step == 1:
            before = {k: onp.asarray(v) for k, v in trainer._states().items()}
            params["a"].grad_req = "null"
            trainer.save_states(tmp_path / "all")
    word = {"nadam": "schedule", "groupadagrad": "history"}[name]
    after = trainer._states()
    assert (onp.asarray(after[f"a/{word}"]) == before[f"a/{word}"]).all()
    other = gluon.Trainer(params, name)
    other.load_states(tmp_path / "all")
    found = other._states()
    assert all((onp.asarray(found[k]) == v).all() for k, v in before.items())
