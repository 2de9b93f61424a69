"""The ``.pyi`` files: they are true, and with them a type checker sees what is made from tables."""

import ast
import inspect
import json
import re
import subprocess
import sys

import numpy as onp
import pytest

from gluonx import autograd, np, npx
from lib import ROOT
from tools import stubs

PROGRAM = """\
import gluonx as mx
from gluonx import autograd, gluon, nd, np, npx, sym
from gluonx.gluon import nn

x = np.ones((2, 3))
reveal_type(np.exp(x))  # ndarray
reveal_type(np.sum(x, axis=1, keepdims=True))  # ndarray
reveal_type(np.concatenate([x, x], axis=1))  # ndarray
reveal_type(np.random.uniform(size=3))  # ndarray
reveal_type(np.pi)  # float
reveal_type(np.float32)  # dtype[Any]
reveal_type(np.linalg.norm(x))  # ndarray
reveal_type(np.fft.rfft(x))  # ndarray
reveal_type(npx.relu(x))  # ndarray
reveal_type(npx.FullyConnected(x, x, num_hidden=2, no_bias=True))  # ndarray
reveal_type(nd.softmax(nd.ones((2, 3)), axis=1))  # NDArray
reveal_type(nd.contrib.box_iou(nd.ones((1, 4)), nd.ones((1, 4))))  # NDArray
reveal_type(x.sum(axis=0))  # ndarray
reveal_type(x.mT)  # ndarray
reveal_type(2 * x - x @ x.T)  # ndarray
reveal_type(nd.ones(2) + 1)  # NDArray
reveal_type(mx.np.exp(x))  # ndarray
reveal_type(mx.init.Xavier())  # Xavier
reveal_type(gluon.nn.Dense(3))  # Dense
reveal_type(nn.Conv2D(3, 3, strides=2))  # Conv2D
reveal_type(gluon.Trainer)  # type[Trainer]
reveal_type(npx.choose(x, x, x))  # ndarray
data = sym.var("data")
reveal_type(sym.FullyConnected(data, num_hidden=2))  # Symbol
reveal_type(sym.full((2,), 1.0))  # Symbol
reveal_type(2 * data.reshape(2, 3).softmax(axis=1) - data)  # Symbol
reveal_type(sym.Group([data, data])[0])  # Symbol


class Net(nn.HybridBlock):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.dense = nn.Dense(3)

    def forward(self, x):
        return self.dense(x) * self.scael  # misspelt: scael


net = Net()
reveal_type(net.dense.weight)  # Parameter
right = [net.prefix, nn.Sequential()[0].weight, nn.SymbolBlock.imports, gluon.data.vision.MNIST, gluon.data.Bucketed]
right += [mx.image.ImageIter, mx.contrib.text, mx.contrib.nn.PixelShuffle2D]
right += [mx.contrib.nn.Dense, mx.contrib.rnn.LSTMCell]

np.exq(x)  # misspelt: exq
np.sum(x, axes=0)  # misspelt: axes
np.linalg.svb(x)  # misspelt: svb
npx.relv(x)  # misspelt: relv
npx.softmax(x, axs=0)  # misspelt: axs
nd.Concot(x)  # misspelt: Concot
nd.contrib.box_iuo(x)  # misspelt: box_iuo
x.summ()  # misspelt: summ
sym.Concot(data)  # misspelt: Concot
sym.softmax(data, axs=0)  # misspelt: axs
data.sofmax()  # misspelt: sofmax
data.argmax(axs=0)  # misspelt: axs
x.mean(axes=0)  # misspelt: axes
mx.optimiser  # misspelt: optimiser
nn.Conv2D(3, 3, stride=2)  # misspelt: stride
nn.Desne(3)  # misspelt: Desne
gluon.rnn.LTSM(3)  # misspelt: LTSM
gluon.data.DataLaoder([1])  # misspelt: DataLaoder
mx.contrib.nn.PixelShufle2D(2)  # misspelt: PixelShufle2D
mx.image.imraed("x")  # misspelt: imraed
mx.random.sead(1)  # misspelt: sead
mx.autograd.recrod()  # misspelt: recrod
net.dense.wieght  # misspelt: wieght
net.initialise()  # misspelt: initialise
"""


FILE = ROOT / "gluonx" / "np" / "__init__.pyi"
MADE_WITH = re.match(r"# Made .* with JAX (\S+);", FILE.read_text(encoding="utf-8"))[1] if FILE.exists() else None
of_this_jax = pytest.mark.skipif(
    MADE_WITH not in (None, stubs.made_with()),
    reason=f"the stubs were made with JAX {MADE_WITH}, whose signatures are others",
)


@of_this_jax
def test_the_files_are_those_of_the_live_modules():
    """In a process of its own: other tests enter operators."""
    done = subprocess.run([sys.executable, "-m", "tools.stubs"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"stale: {done.stdout}{done.stderr}run: make generated"
    assert {str(p.relative_to(ROOT)) for p in (ROOT / "gluonx").rglob("*.pyi")} == set(stubs.STUBS)


def functions_of(path):
    tree = ast.parse(stubs.text(path))
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


@of_this_jax
@pytest.mark.parametrize(("path", "module"), [("gluonx/np/__init__.pyi", np), ("gluonx/npx/__init__.pyi", npx)])
def test_parameters_are_those_that_a_call_takes(path, module):
    for name, node in functions_of(path).items():
        given = node.args
        names = [a.arg for a in (*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg) if a]
        live = inspect.signature(getattr(module, name)).parameters
        assert names == list(live), name


@pytest.mark.slow
def test_what_is_said_to_give_one_array_does():
    from np.test_np import CASES  # type: ignore[import-not-found]

    told = functions_of("gluonx/np/__init__.pyi")
    one = {name for name, node in told.items() if ast.unparse(node.returns) == "ndarray"}
    wrong = []
    for name in sorted(one & set(CASES)):
        for args, kwargs in CASES[name]:
            made = [np.array(a, dtype=a.dtype) if isinstance(a, onp.ndarray) else a for a in args]
            with autograd.record():
                found = getattr(np, name)(*made, **kwargs)
            if not isinstance(found, np.ndarray):
                wrong.append(f"{name} gives {type(found).__name__}")
    assert not wrong
    assert len(one & set(CASES)) > 100


@pytest.mark.slow
def test_a_type_checker_sees_the_types_and_finds_the_misspelt_names(tmp_path):
    pytest.importorskip("pyright", reason="pyright is in the extra 'lint'")
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(ROOT)]}), encoding="utf-8")
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    told = json.loads(done.stdout)["generalDiagnostics"]
    lines = [line.strip() for line in PROGRAM.splitlines()]
    types, errors = {}, {}
    for row in told:
        line = lines[row["range"]["start"]["line"]]
        if row["severity"] == "information":
            types[line] = re.search(r'Type of ".*" is "(.*)"$', row["message"], re.DOTALL)[1]
        else:
            errors.setdefault(line, []).append(row["message"])
    assert types == {line: line.partition("  # ")[2] for line in lines if line.startswith("reveal_type")}
    misspelt = {line: line.partition("# misspelt: ")[2] for line in lines if "# misspelt" in line}
    assert set(errors) == set(misspelt), errors
    for line, name in misspelt.items():
        assert [message for message in errors[line] if f'"{name}"' in message], errors[line]
