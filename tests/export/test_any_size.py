"""What was exported after a call with one batch size and length computes the net's numbers for others.

All three formats. MXNet's files are read back by gluonx here, and were read by MXNet 2.0.0b1 and 1.9.1: the slow test
does that where these are, at $GLUONX_ORACLE and $GLUONX_ORACLE_1, and with GLUONX_WRITE_EVIDENCE set notes in
tests/oracle/symbol/any_size.json which graphs they were (tests/oracle/symbol/load_any_size.py is its other half).
"""

import hashlib
import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

import gluonx
from gluonx import engine
from gluonx import np as gnp
from gluonx.compat import prefixes
from gluonx.export import InputSpec, load_artifact
from gluonx.gluon import SymbolBlock
from lib import TESTS
from lib.any_size import BATCH_ONLY, FORWARDS, FORWARDS_1, INPUTS, made
from lib.onnx_served import served

FOLDER = TESTS / "oracle" / "symbol"
EVIDENCE = json.loads((FOLDER / "any_size.json").read_text())
ORACLES = {
    "2": pathlib.Path(os.environ.get("GLUONX_ORACLE", "/tmp/oracle")) / "bin" / "python",
    "1": pathlib.Path(os.environ.get("GLUONX_ORACLE_1", "/tmp/oracle1")) / "bin" / "python",
}
# Forwards that JAX refuses for a length that may be any: it is compared or an index.
NO_LENGTH = BATCH_ONLY - {"x / x.shape[1]"} | {'npx.topk(x, k=2, axis=1, ret_typ="value")'}
NO_LENGTH_IN_ONNX = NO_LENGTH | {"x / x.shape[1]", "x[:, np.array([0, 2])]"}


def same(found, expected):
    assert [a.shape for a in found] == [b.shape for b in expected]
    for a, b in zip(found, expected):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def specs(line, without):
    return [InputSpec("data", ("b", 5 if line in without else "t", 8), "float32")]


def sizes(line, without):
    return [i for i, array in enumerate(INPUTS) if line not in without or array.shape[1] == 5]


@pytest.mark.dear
@pytest.mark.parametrize("line", FORWARDS)
def test_stablehlo(tmp_path, line):
    net, expected = made(line)
    artifact = load_artifact(net.export(tmp_path / "net", inputs=specs(line, NO_LENGTH)))
    for i in sizes(line, NO_LENGTH):
        out = artifact(INPUTS[i])
        same([np.asarray(o) for o in (out if isinstance(out, (list, tuple)) else [out])], expected[i])


@pytest.mark.parametrize("line", FORWARDS)
def test_onnx(tmp_path, line):
    net, expected = made(line)
    path = net.export(tmp_path / "net", format="onnx", inputs=specs(line, NO_LENGTH_IN_ONNX))
    for i in sizes(line, NO_LENGTH_IN_ONNX):
        same(served(path, [INPUTS[i]]), expected[i])


def graph_of(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()[:12]


def read_back(files):
    block = SymbolBlock.imports(files[0], ["data"], files[1])
    outs = [block(gnp.array(array)) for array in INPUTS]
    return [[o.asnumpy() for o in (out if isinstance(out, (list, tuple)) else [out])] for out in outs]


@pytest.mark.parametrize("line", FORWARDS)
def test_mxnet(tmp_path, line):
    net, expected = made(line)
    files = net.export(tmp_path / "net", format="mxnet")
    found = read_back(files)
    for i in sizes(line, BATCH_ONLY):
        same(found[i], expected[i])
    assert EVIDENCE["2"]["graphs"][line] == graph_of(files[0])


@pytest.mark.parametrize("line", FORWARDS_1)
def test_mxnet_1(tmp_path, monkeypatch, line):
    monkeypatch.setattr(prefixes.Naming, "active", True)
    net, expected = made(line)
    files = net.export(tmp_path / "net", format="mxnet")
    for found, wanted in zip(read_back(files), expected):
        same(found, wanted)
    assert EVIDENCE["1"]["graphs"][line] == graph_of(files[0])


@pytest.mark.slow
@pytest.mark.parametrize("version", "21")
def test_the_real_mxnet_computes_the_same(tmp_path, monkeypatch, version):
    if not ORACLES[version].exists():
        pytest.skip("the real MXNet is not here")
    monkeypatch.setattr(prefixes.Naming, "active", version == "1")
    np.savez(tmp_path / "inputs.npz", *INPUTS)
    nets = {}
    for number, line in enumerate(FORWARDS if version == "2" else FORWARDS_1):
        net, expected = made(line)
        files = net.export(tmp_path / f"{number:03}", format="mxnet")
        nets[line] = f"{number:03}", expected, graph_of(files[0])
        engine.clear()
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    command = [ORACLES[version], FOLDER / "load_any_size.py", tmp_path]
    subprocess.run(command, check=True, env=environment, capture_output=True)
    told = json.loads((tmp_path / "failed.json").read_text())
    assert told["failed"] == {}
    for line, (name, expected, _) in nets.items():
        with np.load(tmp_path / f"{name}-out.npz") as found:
            for i in sizes(line, BATCH_ONLY):
                same([found[f"{i}_{j}"] for j in range(len(expected[i]))], expected[i])
    if "GLUONX_WRITE_EVIDENCE" in os.environ:
        graphs = {line: graph for line, (_, _, graph) in nets.items()}
        EVIDENCE[version] = {"mxnet": told["mxnet"], "graphs": graphs}
        (FOLDER / "any_size.json").write_text(json.dumps(EVIDENCE, indent=1) + "\n")


def test_shapes_are_those_of_the_last_call(tmp_path):
    """Not of the newest kind of input: a call with shapes that were seen before counts as well."""
    net, _ = made("x[:, 0]")
    for array in (INPUTS[2], INPUTS[1]):
        net(gnp.array(array))
    assert load_artifact(net.export(tmp_path / "net")).signature.inputs[0].shape == ("b", 5, 8)
    net(gnp.array(INPUTS[2]))
    assert load_artifact(net.export(tmp_path / "net")).signature.inputs[0].shape == ("b", 7, 8)


def test_begin_states_have_the_batch_that_comes(tmp_path):
    net = gluonx.rnn.LSTM(3, input_size=8)
    net.initialize("xavier")
    net.hybridize()
    small, large = (gnp.array(a) for a in INPUTS[:2])
    net(small)
    block = SymbolBlock.imports(*_files(net, tmp_path))
    for x in (small.transpose(1, 0, 2), large.transpose(1, 0, 2)):
        same([block(x).asnumpy()], [net(x).asnumpy()])


def _files(net, folder):
    symbol, params = net.export(folder / "net", format="mxnet")
    return symbol, ["data"], params
