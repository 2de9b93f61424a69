"""Tracebacks show the user's lines: in a script, in IPython and in pytest, and all of it with GLUONX_TRACEBACK=full."""

import functools
import json
import os
import re
import subprocess
import sys
import textwrap

import pytest

import gluonx
from gluonx import np
from gluonx.common import frames
from lib import ROOT

ROOT = ROOT

PROGRAM = """\
import sys, traceback
import gluonx as mx
from gluonx import np, autograd, gluon
from gluonx.gluon import nn

class Net(nn.HybridBlock):
    def __init__(self):
        super().__init__()
        self.body = nn.HybridSequential()
        self.body.add(nn.Dense(4), nn.Dense(3, in_units=7))
    def forward(self, x):
        return helper(self.body, x)

def helper(body, x):
    return body(x)

class Sum(nn.HybridBlock):
    def forward(self, x):
        with autograd.pause():
            return x + np.ones((7,))

class Own(nn.HybridBlock):
    def forward(self, x):
        return deeper(x)

def deeper(x):
    raise KeyError("mine")

def made(cls, hybridize):
    net = cls()
    net.initialize()
    if hybridize:
        net.hybridize()
    return net

x = np.ones((2, 3))

def operator():
    x + np.ones((4,))

def function():
    np.concatenate([x, np.ones((4,))])

def layer():
    net(x)

def backward():
    a = np.ones((2,))
    a.attach_grad()
    with autograd.record():
        b = a * 2
    b.backward(np.ones((5,)))

def stale():
    dense = nn.Dense(2, in_units=2)
    dense.initialize()
    gluon.Trainer(dense.collect_params(), "sgd").step(1)

class Bare(nn.HybridBlock):
    def __init__(self):
        self.dense = nn.Dense(2)

def forgotten():
    Bare()

def weights():
    gluon.model_zoo.vision.resnet18_v1(pretrained=True, root="nowhere")

def weights_by_name():
    gluon.model_zoo.vision.get_model("alexnet", pretrained=True, root="nowhere")

def handled():
    try:
        {}["key of mine"]
    except KeyError:
        np.ones((4,)) + x
"""

ADD = (
    "gluonx.errors.ShapeError: add(){where} cannot take inputs (float32[2,3], float32[{n}]): add got incompatible "
    "shapes for broadcasting: (2, 3), (1, {n})."
)
WEIGHTS = (
    "gluonx.errors.GluonxError: The weights of {name} are not in nowhere. Put the file {name}-{short}.params (SHA-1 "
    "{sha1}) into nowhere, or give url= (or MXNET_GLUON_REPO), the address of a server that has it as "
    "URL/gluon/models/{name}-{short}.zip, or of the file itself. A file that you have, torchvision's too, is given as "
    "pretrained='PATH'."
)
CASES = {
    "operator": ("operator", None, False, [("operator", "x + np.ones((4,))")], ADD.format(where="", n=4)),
    "function": (
        "function", None, False, [("function", "np.concatenate([x, np.ones((4,))])")],
        "gluonx.errors.ShapeError: concatenate: the arrays have shapes (2, 3), (4,), which may differ along axis 0 "
        "only.",
    ),
    **{
        f"layer, hybridized: {hybridize}": (
            "layer", "Net", hybridize,
            [("layer", "net(x)"), ("forward", "return helper(self.body, x)"), ("helper", "return body(x)")],
            "gluonx.errors.ShapeError: fully_connected: weight has shape (3, 7), but data of shape (2, 4) (flattened) "
            "needs (3, 4).\nIn block Net.body.1 (a Dense).",
        )
        for hybridize in (False, True)
    },
    **{
        f"forward, hybridized: {hybridize}": (
            "layer", "Sum", hybridize,
            [("layer", "net(x)"), ("forward", "return x + np.ones((7,))")],
            ADD.format(where=" in Sum", n=7),
        )
        for hybridize in (False, True)
    },
    **{
        f"own error, hybridized: {hybridize}": (
            "layer", "Own", hybridize,
            [("layer", "net(x)"), ("forward", "return deeper(x)"), ("deeper", 'raise KeyError("mine")')],
            "KeyError: 'mine'\nIn block Own.",
        )
        for hybridize in (False, True)
    },
    "backward": (
        "backward", None, False, [("backward", "b.backward(np.ones((5,)))")],
        "gluonx.errors.ShapeError: a head gradient must have the shape of its head: (2,) expected, (5,) came",
    ),
    "step": (
        "stale", None, False, [("stale", 'gluon.Trainer(dense.collect_params(), "sgd").step(1)')],
        "gluonx.errors.StaleGradientError: The gradient of parameter 'Dense.bias' has not been renewed",
    ),
    "no super().__init__()": (
        "forgotten", None, False, [("forgotten", "Bare()"), ("__init__", "self.dense = nn.Dense(2)")],
        "AttributeError: Bare has no room for the block 'dense' yet. Call super().__init__() at the beginning "
        "of Bare.__init__, before anything is assigned.",
    ),
    "weights": (
        "weights", None, False,
        [("weights", 'gluon.model_zoo.vision.resnet18_v1(pretrained=True, root="nowhere")')],
        WEIGHTS.format(name="resnet18_v1", sha1="a0666292f0a30ff61f857b0b66efc0228eb6a54b", short="a0666292"),
    ),
    "weights by name": (
        "weights_by_name", None, False,
        [("weights_by_name", 'gluon.model_zoo.vision.get_model("alexnet", pretrained=True, root="nowhere")')],
        WEIGHTS.format(name="alexnet", sha1="44335d1f0046b328243b32a26a4fbd62d9057b45", short="44335d1f"),
    ),
}  # fmt: skip


def run(args, tmp_path, **environment):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("GLUONX_", "IPYTHON"))}
    env |= {"PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "JAX_PLATFORMS": "cpu", **environment}
    return subprocess.run([sys.executable, *args], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=300)


def without_marks(text):
    """The text of a traceback but the lines that underline a part of the line above."""
    return "\n".join(line for line in text.splitlines() if not re.fullmatch(r"\s+[~^]+", line))


def blocks(text):
    """Split the output of the runs by case."""
    parts = re.split(r"^===== (.*)$\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """The tracebacks of all cases in a plain script, by case; the file and its lines."""
    folder = tmp_path_factory.mktemp("script")
    path = folder / "program.py"
    main = ["\ndef main():"]
    for name, (what, cls, hybridize, *_) in CASES.items():
        main.append(f"    print('=====', {name!r})")
        main.append(f"    globals()['net'] = made({cls}, {hybridize})" if cls else "    pass")
        main.append("    try:")
        main.append(f"        {what}()")
        main.append("    except Exception:")
        main.append("        traceback.print_exc(file=sys.stdout)")
    path.write_text(PROGRAM + "\n".join(main) + "\n\nmain()\n")
    done = run([str(path)], folder)
    assert done.returncode == 0, done.stderr
    return path, blocks(done.stdout)


@pytest.mark.dear
@pytest.mark.parametrize("name", CASES)
def test_a_script(script, name):
    path, told = script
    what, _, _, frames, message = CASES[name]
    lines = path.read_text().splitlines()
    # main() calls `what` once a case: the one of this case stands below its heading.
    at = lines.index(f"    print('=====', {name!r})") + 4
    wanted = [f'  File "{path}", line {at}, in main', f"    {what}()"]
    for function, line in frames:
        numbers = [i for i, text in enumerate(lines, 1) if text.strip() == line]
        assert len(numbers) == 1, (line, numbers)
        wanted += [f'  File "{path}", line {numbers[0]}, in {function}', f"    {line}"]
    text = without_marks(told[name]).rstrip("\n")
    head = "\n".join(["Traceback (most recent call last):", *wanted])
    assert text.startswith(f"{head}\n{message}"), text
    if name != "step":
        assert text == f"{head}\n{message}"


@pytest.mark.dear
def test_a_script_that_ends_by_it(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM + "\nnet = made(Net, True)\nlayer()\n")
    done = run([str(path)], tmp_path)
    assert done.returncode == 1
    found = re.findall(r'File "(.*)", line \d+, in (\S+)', done.stderr)
    assert found == [(str(path), f) for f in ("<module>", "layer", "forward", "helper")], done.stderr


@pytest.mark.dear
def test_all_of_it_is_there_when_asked_for(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM + "\noperator()\n")
    for value, shown in (("full", True), ("", False), ("short", False)):
        told = run([str(path)], tmp_path, GLUONX_TRACEBACK=value).stderr
        assert ("deferred/record/engine.py" in told) == shown
        assert ("The above exception was the direct cause" in told) == shown


@pytest.mark.dear
def test_an_error_that_the_user_handles_stays_in_view(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM + "\nhandled()\n")
    told = run([str(path)], tmp_path).stderr
    assert told.count("Traceback") == 2 and "KeyError: 'key of mine'" in told
    assert "During handling of the above exception, another exception occurred" in told
    assert "gluonx/" not in told.replace(str(tmp_path), "")


NOTEBOOK = """
import sys, json
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
shell = InteractiveShell.instance()
shell.run_line_magic("colors", "NoColor")
shell.run_cell(open("program.py").read())
for name, cls, hybridize, what in json.load(open("cases.json")):
    if cls:
        shell.run_cell(f"net = made({cls}, {hybridize})")
    with capture_output() as told:
        shell.run_cell(f"{what}()")
    print("=====", name)
    print(told.stdout + told.stderr)
"""


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    pytest.importorskip("IPython")
    folder = tmp_path_factory.mktemp("notebook")
    (folder / "program.py").write_text(PROGRAM)
    (folder / "cases.json").write_text(json.dumps([(n, c[1], c[2], c[0]) for n, c in CASES.items()]))
    done = run(["-c", NOTEBOOK], folder, IPYTHONDIR=str(folder))
    assert done.returncode == 0, done.stderr
    return blocks(done.stdout)


@pytest.mark.dear
@pytest.mark.parametrize("name", CASES)
def test_a_notebook(notebook, name):
    told = re.sub("\x1b\\[[0-9;]*m", "", notebook[name])
    what, _, _, frames, message = CASES[name]
    # Each frame begins with its cell; an arrow marks its line. Nothing else is shown.
    assert all(place.startswith("In[") for place in re.findall(r"^(?:Cell|File) (\S+)", told, re.MULTILINE)), told
    marked = [line.strip() for line in re.findall(r"^-+> *\d+ (.*)$", told, re.MULTILINE)]
    assert marked == [f"{what}()", *[line for _, line in frames]], told
    assert message.removeprefix("gluonx.errors.").splitlines()[0] in told
    assert "gluonx/" not in told and "jax/" not in told


@pytest.mark.dear
def test_pytest(tmp_path):
    calls = "".join(
        f"\n\ndef test_{i}(monkeypatch):\n"
        + (f"    monkeypatch.setitem(globals(), 'net', made({cls}, {hybridize}))\n" if cls else "")
        + f"    {what}()\n"
        for i, (what, cls, hybridize, *_) in enumerate(CASES.values())
    )
    (tmp_path / "test_program.py").write_text(PROGRAM + calls)
    done = run(["-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", "test_program.py"], tmp_path)
    told = done.stdout
    assert f"{len(CASES)} failed" in told, told + done.stderr
    places = re.findall(r"^(\S+\.py):\d+: in (\S+)", told, re.MULTILINE)
    assert {file for file, _ in places} == {"test_program.py"}, told
    assert [f for _, f in places] == [
        function
        for i, (*_, frames, _) in enumerate(CASES.values())
        for function in (f"test_{i}", *[function for function, _ in frames])
    ]


def test_the_cause_is_kept_where_it_says_more():
    def raises(error, cause):
        try:
            raise error from cause
        except Exception as met:
            frames.shorten(met)
            return met

    assert raises(gluonx.GluonxError("no"), OSError("disk full")).__cause__ is not None
    assert raises(gluonx.GluonxError("no: disk full"), OSError("disk full")).__cause__ is None


def test_shortening_twice_and_loops_of_errors():
    try:
        try:
            np.ones((2, 3)) + np.ones((4,))
        except ValueError as first:
            second = RuntimeError("second")
            second.__context__, first.__context__ = first, second  # as some libraries make them
            raise second from first
    except RuntimeError as met:
        frames.shorten(met)
        before = met.__traceback__
        frames.shorten(met)
        assert met.__traceback__ is before and before.tb_next is None
        assert met.__cause__ is not None  # it has a line of ours, of this test


def test_what_is_the_users():
    code = textwrap.dedent(
        """
        def call(fn):
            return fn()
        """
    )
    spaces = {name: {"__name__": name} for name in ("gluonx.inner", "json.decoder", "mine", "jax.numpy", "gluonx_more")}
    for space in spaces.values():
        exec(code, space)

    def through(*names):
        def fail():
            raise LookupError

        fn = fail
        for name in reversed(names):
            fn = functools.partial(spaces[name]["call"], fn)
        try:
            fn()
        except LookupError as error:
            frames.shorten(error)
            trace, found = error.__traceback__, []
            while trace is not None:
                found.append(trace.tb_frame.f_globals["__name__"])
                trace = trace.tb_next
            return [name for name in found if name != __name__]

    assert through("mine", "gluonx.inner", "json.decoder", "jax.numpy") == ["mine"]
    assert through("mine", "json.decoder", "gluonx_more") == ["mine", "json.decoder", "gluonx_more"]
    assert through("gluonx.inner", "mine", "json.decoder") == ["mine", "json.decoder"]
