"""Parameter files of every kind into blocks, out of blocks, and into each other; trainer states of MXNet."""

import os
import pickle
import subprocess
import sys
import tracemalloc

import ml_dtypes
import numpy as np
import pytest

from gluonx import autograd, gluon, nn, rnn
from gluonx import np as np_
from gluonx.errors import FormatError
from gluonx.files import __main__ as convert
from gluonx.files import (
    arriving,
    load_arrays,
    load_ndarrays,
    load_trainer_states,
    recurrent_names,
    save_arrays,
    save_ndarrays,
)
from lib.params_samples import HERE, all_files

ARRAYS = {
    "weight": np.arange(6, dtype=np.float32).reshape(2, 3),
    "half": np.ones(3, np.float16),
    "brain": np.ones((1, 2), ml_dtypes.bfloat16),
    "flag": np.array([True, False]),
    "long": np.array([2**40], np.int64),
}


def same(a, b):
    assert list(a) == list(b)
    for name in b:
        assert a[name].dtype == b[name].dtype and a[name].shape == b[name].shape, name
        np.testing.assert_array_equal(a[name], b[name])


# ------------------------------------------------------------------------------------------------------------ reading


@pytest.mark.parametrize("name", sorted(all_files(".params", ".nd", ".npy", ".npz", ".v0")))
def test_every_sample_reads_the_same_in_every_way(name):
    path = all_files(".params", ".nd", ".npy", ".npz", ".v0")[name]
    arrays = load_arrays(path)
    assert arrays
    same(load_arrays(path.read_bytes()), arrays)
    same(load_arrays(path, mapped=True), arrays)


def test_mapped_arrays_are_views_that_outlive_the_name(tmp_path):
    for kind in ("npz", "safetensors", "mxnet"):
        path = tmp_path / kind
        save_arrays(path, ARRAYS, kind)
        mapped = load_arrays(path, mapped=True)
        assert not mapped["weight"].flags.owndata and not mapped["weight"].flags.writeable
        save_arrays(path, {"other": np.zeros(10_000)}, kind)  # replaces the name, not the file behind the map
        same(mapped, ARRAYS)


def test_mapping_an_empty_file_or_one_that_is_cut_short(tmp_path):
    path = tmp_path / "a.params"
    path.write_bytes(b"")
    with pytest.raises(FormatError, match="the file is empty"):
        load_arrays(path, mapped=True)
    for kind in ("npz", "safetensors", "mxnet"):
        save_arrays(path, ARRAYS, kind)
        data = path.read_bytes()
        for size in range(1, len(data), 37):
            path.write_bytes(data[:size])
            with pytest.raises(FormatError):
                load_arrays(path, mapped=True)


def large_npz(path, members=5, numbers=1 << 16):
    arrays = {f"{i}": np.arange(numbers, dtype=np.float32) + i for i in range(members)}
    save_arrays(path, arrays, "npz")
    return arrays


def flip_a_bit(path, place):
    with open(path, "r+b") as file:
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ 16]))


@pytest.mark.parametrize("member", [0, 3, 4])
def test_members_that_threads_read_are_compared_with_their_checksums(tmp_path, member):
    path = tmp_path / "a.params"
    arrays = large_npz(path)
    size = path.stat().st_size
    same(load_arrays(path), arrays)
    flip_a_bit(path, size // 5 * member + 5000)
    told = rf"member '{member}\.npy' has another checksum"
    for load in (load_arrays, lambda p: load_arrays(p.read_bytes()), lambda p: load_arrays(p, mapped=True)):
        with pytest.raises(FormatError, match=told):
            load(path)
    with pytest.raises(FormatError, match=told), arriving(path) as (found, checks):
        assert list(found) == list(arrays)
        checks.settle()


def test_damage_that_is_found_late_leaves_the_block_as_it_was(tmp_path):
    net = nn.Dense(256, in_units=256, use_bias=False)
    net.initialize()
    before = net.weight.data().asnumpy()
    save_arrays(tmp_path / "a.params", {"weight": np.ones((256, 256), np.float32)})
    flip_a_bit(tmp_path / "a.params", 100_000)
    with pytest.raises(FormatError, match="another checksum"):
        net.load_parameters(tmp_path / "a.params")
    np.testing.assert_array_equal(net.weight.data().asnumpy(), before)


def test_a_member_named_otherwise_in_its_own_header_is_refused(tmp_path):
    path = tmp_path / "a.params"
    save_arrays(path, ARRAYS)
    path.write_bytes(path.read_bytes().replace(b"half.npy", b"hale.npy", 1))
    for mapped in (False, True):
        with pytest.raises(FormatError, match="its own header"):
            load_arrays(path, mapped=mapped)


@pytest.mark.parametrize("kind", ["npz", "safetensors", "mxnet"])
def test_loading_takes_memory_for_one_copy(tmp_path, kind):
    arrays = {str(i): np.full(1 << 18, i, np.float32) for i in range(8)}
    save_arrays(tmp_path / "a", arrays, kind)
    size = sum(a.nbytes for a in arrays.values())
    tracemalloc.start()
    try:
        found = load_arrays(tmp_path / "a")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    same(found, arrays)
    assert peak < 1.1 * size


def test_lists_and_dicts():
    assert [a.shape for a in load_ndarrays(HERE / "mxnet-2.0.0b1" / "legacy_list.nd")] == [(2,), (3,)]
    assert list(load_ndarrays(HERE / "mxnet-1.9.1" / "named.nd")) == ["arg:w", "aux:m"]


def test_names_that_look_like_none_are_names(tmp_path):
    save_arrays(tmp_path / "a", {"arr_0": np.ones(1, np.float32)}, "mxnet")
    assert list(load_arrays(tmp_path / "a")) == ["arr_0"]


# ------------------------------------------------------------------------------------------------------------ writing


@pytest.mark.parametrize("kind", ["npz", "safetensors", "mxnet"])
def test_round_trip_of_each_format(tmp_path, kind):
    save_arrays(tmp_path / "a.params", ARRAYS, kind)
    same(load_arrays(tmp_path / "a.params"), ARRAYS)


def test_the_list_is_of_version_2_unless_that_cannot_hold_it(tmp_path):
    save_ndarrays(tmp_path / "a", [np.ones(2, np.float32)])
    assert (tmp_path / "a").read_bytes()[24:28] == bytes.fromhex("c9fa93f9")
    assert [a.tolist() for a in load_ndarrays(tmp_path / "a")] == [[1, 1]]
    edge = {"scalar": np.float32(2.5).reshape(()), "empty": np.zeros((0, 3), np.int8), "w": np.ones(2, np.float32)}
    save_ndarrays(tmp_path / "a", edge)
    assert (tmp_path / "a").read_bytes()[24:28] == bytes.fromhex("cafa93f9")
    same(load_ndarrays(tmp_path / "a"), edge)
    save_ndarrays(tmp_path / "a", np.ones(3))
    assert len(load_ndarrays(tmp_path / "a")) == 1


def test_the_list_refuses_what_it_cannot_hold(tmp_path):
    with pytest.raises(FormatError, match="cannot hold the array 'z' of type complex64"):
        save_arrays(tmp_path / "a", {"z": np.ones(1, np.complex64)}, "mxnet")
    with pytest.raises(ValueError, match="holds no metadata"):
        save_arrays(tmp_path / "a", {}, "mxnet", {"epoch": "1"})
    assert not os.listdir(tmp_path)


# ------------------------------------------------------------------------------------------------------------- blocks


def mlp():
    net = nn.HybridSequential()
    net.add(nn.Dense(8, in_units=5), nn.BatchNorm(in_channels=8), nn.Dense(2, in_units=8))
    return net


@pytest.mark.parametrize("kind", [None, "npz", "safetensors", "mxnet"])
@pytest.mark.parametrize("prefixed", [False, True])
def test_a_block_reads_every_format_by_content(tmp_path, kind, prefixed):
    net, other = mlp(), mlp()
    net.initialize()
    path = tmp_path / "anything.bin"
    net.save_parameters(path, format=kind)
    if prefixed:
        arrays = {("aux:" if "running" in k else "arg:") + k: v for k, v in load_arrays(path).items()}
        save_arrays(path, arrays, kind)
    other.load_parameters(path)
    for name, param in net.collect_params().items():
        np.testing.assert_array_equal(other.collect_params()[name].data().asnumpy(), param.data().asnumpy())


def test_parameters_do_not_change_with_the_file_that_they_came_from(tmp_path):
    net = nn.Dense(64, in_units=64, use_bias=False)
    net.initialize()
    path = tmp_path / "a.params"
    save_arrays(path, {"weight": np.ones((64, 64), np.float32)}, "mxnet")
    net.load_parameters(path)
    with open(path, "r+b") as file:
        file.write(bytes(path.stat().st_size))
    assert net.weight.data().asnumpy().min() == 1


@pytest.mark.parametrize(("version", "names"), [("mxnet-1.9.1", "01"), ("mxnet-2.0.0b1", "ab")])
def test_a_block_reads_what_gluon_of_mxnet_saved(version, names):
    net = nn.HybridSequential()
    for name, layer in zip(names, (nn.Dense(8, activation="relu"), nn.Dense(2))):
        net.register_child(layer, name)
    net.load_parameters(HERE / version / "mlp.gluon.params")
    io = load_arrays(HERE / version / "mlp-io.npz")
    np.testing.assert_allclose(net(np_.array(io["in0"])).asnumpy(), io["out0"], rtol=1e-5, atol=1e-6)


class LanguageModel(nn.HybridBlock):
    """The source of the sample lstm_lm, as a user would port it."""

    def __init__(self):
        super().__init__()
        self.emb, self.lstm, self.dense = nn.Embedding(50, 16), rnn.LSTM(24, 2), nn.Dense(50, flatten=False)

    def forward(self, x):
        return self.dense(self.lstm(self.emb(x)))


class Unrolled(nn.HybridBlock):
    """The source of the sample lstmcell_unroll."""

    def __init__(self):
        super().__init__()
        self.cell = rnn.LSTMCell(12)

    def forward(self, x):
        return self.cell.unroll(x.shape[1], x, layout="NTC", merge_outputs=True)[0]


@pytest.mark.parametrize("version", ["mxnet-1.9.1", "mxnet-2.0.0b1"])
@pytest.mark.parametrize(
    ("name", "make"), [("gru", lambda: rnn.GRU(12)), ("lstm_lm", LanguageModel), ("lstmcell_unroll", Unrolled)]
)
def test_ported_recurrent_nets_read_both_versions_and_give_their_numbers(version, name, make):
    net, io = make(), load_arrays(HERE / version / f"{name}-io.npz")
    net.load_parameters(HERE / version / f"{name}.gluon.params")
    net.hybridize()
    x = np_.array(io["in0"], dtype="int32" if name == "lstm_lm" else "float32")
    np.testing.assert_allclose(net(x).asnumpy(), io["out0"], rtol=1e-5, atol=1e-6)


def test_names_of_cells_in_both_directions_with_dropout_between():
    old = [f"a._unfused.{i}.{side}_cell.i2h_weight" for i in (0, 2) for side in "lr"]
    new = ["a.l0_i2h_weight", "a.r0_i2h_weight", "a.l1_i2h_weight", "a.r1_i2h_weight"]
    assert recurrent_names(old, set(new)) == dict(zip(old, new, strict=True))
    assert recurrent_names(old, set()) == {}


# ------------------------------------------------------------------------------------------------------------ convert


def test_convert_reports_every_array(tmp_path, capsys):
    source, target = HERE / "mxnet-1.9.1" / "mlp-0000.params", tmp_path / "out.safetensors"
    assert convert.main([str(source), str(target), "--strip"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["name", "shape", "dtype", "bytes"]
    assert lines[1].split() == ["dense0_weight", "(8,", "5)", "float32", "160"]
    assert lines[-1] == "4 arrays, 66 values, 264 bytes"
    stripped = {name.removeprefix("arg:"): value for name, value in load_arrays(source).items()}
    same(load_arrays(target), stripped)


@pytest.mark.dear
def test_convert_to_bfloat16_as_a_module(tmp_path):
    source, target = HERE / "mxnet-2.0.0b1" / "mlp-0000.params", tmp_path / "out.params"
    command = [sys.executable, "-m", "gluonx.files", source, target, "--format", "mxnet", "--dtype", "bfloat16"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "bfloat16" in done.stdout
    assert {a.dtype.name for a in load_arrays(target).values()} == {"bfloat16"}


def test_convert_says_what_is_wrong(tmp_path, capsys):
    assert convert.main([str(HERE / "mxnet-1.9.1" / "mlp-symbol.json"), str(tmp_path / "out")]) == 1
    assert "JSON text" in capsys.readouterr().err
    assert convert.main([str(HERE / "mxnet-1.9.1" / "mlp-0000.params"), str(tmp_path / "out"), "--dtype", "int8"]) == 1
    assert "--dtype must be" in capsys.readouterr().err
    save_arrays(tmp_path / "two", {"arg:w": np.ones(1), "aux:w": np.ones(1)}, "mxnet")
    assert convert.main([str(tmp_path / "two"), str(tmp_path / "out"), "--strip"]) == 1
    assert "two arrays are called 'w'" in capsys.readouterr().err
    assert os.listdir(tmp_path) == ["two"]


# ----------------------------------------------------------------------------------------------------- trainer states


@pytest.mark.parametrize(
    ("name", "optimizer", "parts"),
    [
        ("mxnet-1.9.1/trainer_adam.states", "Adam", 2),
        ("mxnet-1.9.1/trainer_sgd.states", "SGD", 1),
        ("mxnet-2.0.0b1/trainer_adam.states", "Adam", 2),
        ("mxnet-2.0.0b1/trainer_lamb.states", "LAMB", 2),
        ("mxnet-2.0.0b1/trainer_sgd.states", "SGD", 1),
    ],
)
def test_trainer_states_of_mxnet(name, optimizer, parts):
    found = load_trainer_states(HERE / name)
    assert found.optimizer == optimizer
    assert found.settings["lr"] > 0 and found.settings["num_update"] >= 1
    for state in found.states.values():
        arrays = state if isinstance(state, tuple) else (state,)
        assert len(arrays) == parts
        assert all(a.dtype == np.float32 and np.isfinite(a).all() for a in arrays)


@pytest.mark.parametrize("name", ["sgd", "adam", "lamb"])
def test_a_trainer_goes_on_where_mxnet_stopped(name, tmp_path):
    path = HERE / "mxnet-2.0.0b1" / f"trainer_{name}.states"
    net = nn.HybridSequential()
    for letter, layer in zip("ab", (nn.Dense(8, in_units=5), nn.Dense(2, in_units=8))):
        net.register_child(layer, letter)
    net.initialize()
    found = load_trainer_states(path)
    momentum = {"momentum": 0.9} if name == "sgd" else {}
    trainer = gluon.Trainer(net.collect_params(), name, {"learning_rate": 7.0, **momentum})
    trainer.load_states(path)
    assert trainer.learning_rate == found.settings["lr"]
    assert trainer.optimizer.num_update == found.settings["num_update"]
    kept = trainer._states()
    for number, key in enumerate(["a.bias", "a.weight", "b.bias", "b.weight"]):
        state = found.states[number]
        words = ("momentum",) if name == "sgd" else ("mean", "var")
        for word, part in zip(words, state if isinstance(state, tuple) else (state,), strict=True):
            np.testing.assert_array_equal(kept[f"{key}/{word}"], part)
    with autograd.record():
        net(np_.ones((1, 5))).sum().backward()
    trainer.step(1)
    other = gluon.Trainer(net.collect_params(), "ftml")
    with pytest.raises(FormatError, match="but this Trainer uses FTML"):
        other.load_states(path)
    few = gluon.Trainer(nn_params(net), name, momentum)
    with pytest.raises(FormatError, match="parameter number 2, but there are 2"):
        few.load_states(path)


def nn_params(net):
    return {k: v for k, v in net.collect_params().items() if k.startswith("a.")}


class Evil:
    def __init__(self, made):
        self.made = made

    def __reduce__(self):
        return self.made


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (({0: Evil((os.system, ("touch /tmp/never",)))}, None), "asks for posix.system"),
        (({0: Evil((eval, ("1",)))}, None), "asks for builtins.eval"),
        (({0: Evil((getattr, (int, "real")))}, None), "asks for builtins.getattr"),
        (({0: np.ones(2)}, None), r"asks for numpy\."),
        (({(): None}, None), "a key is a tuple"),
        (({"a": None}, None), "by the parameter's number"),
        (([1, 2], None), "by the parameter's number"),
        (({0: 3}, None), "neither None nor an array"),
        (({0: None}, 3), "no optimizer"),
        ("text", "by the parameter's number"),
    ],
    ids=range(10),
)
def test_other_pickles_are_refused(content, message):
    for protocol in (2, 3, 4, 5):
        with pytest.raises(FormatError, match=message):
            load_trainer_states(pickle.dumps(content, protocol))


def test_states_without_an_optimizer():
    found = load_trainer_states(pickle.dumps({0: None, 1: (None, None)}))
    assert (found.states, found.optimizer, found.settings) == ({0: None, 1: (None, None)}, "", {})


def test_what_is_no_pickle():
    with pytest.raises(FormatError, match="it is no pickle"):
        load_trainer_states(b"PK\x03\x04")
    with pytest.raises(FormatError, match=r"it ends too early|damaged"):
        load_trainer_states(b"\x80\x04")
