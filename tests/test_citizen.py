"""gluonx in somebody else's process: importing and using it changes nothing there; `engine.tune` does, when asked."""

import ast
import json
import os
import platform
import subprocess
import sys

import pytest

from gluonx.common import process
from lib import ROOT
from lib.sources import every_source, nodes_of

ROOT = ROOT

# What a process is made of, so far as Python can say; jax is there already, for what it changes is not ours.
LOOK = """
import gc, locale, logging, os, pathlib, random, signal, sys, threading, warnings
import jax, jax.numpy, numpy, optax

def look():
    here, home = pathlib.Path.cwd(), pathlib.Path(os.environ["HOME"])
    return {
        "environment": dict(os.environ),
        "jax.config": dict(jax.config.values),
        "gc": (gc.isenabled(), gc.get_threshold(), gc.get_freeze_count(), gc.get_debug(), list(gc.callbacks)),
        "meta_path": list(sys.meta_path),
        "path_hooks": list(sys.path_hooks),
        "sys.path": list(sys.path),
        "hooks": (sys.excepthook, sys.displayhook, sys.unraisablehook, threading.excepthook, sys.gettrace()),
        "limits": (sys.getrecursionlimit(), sys.getswitchinterval()),
        "warnings": list(warnings.filters),
        "showwarning": warnings.showwarning,
        "signals": {s: signal.getsignal(s) for s in signal.valid_signals()},
        "wakeup": signal.set_wakeup_fd(-1),
        "logging": (logging.root.level, list(logging.root.handlers)),
        "numpy errors": (numpy.geterr(), numpy.geterrcall()),
        "numpy printing": numpy.get_printoptions(),
        "random": random.getstate(),
        "numpy.random": str(numpy.random.get_state()),
        "locale": locale.setlocale(locale.LC_ALL),
        "files": sorted(map(str, [*here.rglob("*"), *home.rglob("*")])),
    }

before = look()

def compare(when):
    now = look()
    for name in before:
        assert now[name] == before[name], (when, name, before[name], now[name])
"""

USE = """
import gluonx
compare("after import gluonx")
from gluonx import autograd, engine, gluon, init, metric, np, npx, nd, sym
import gluonx.gluon.data, gluonx.gluon.rnn, gluonx.nn, gluonx.optimizer, gluonx.files, gluonx.amp, gluonx.profiler
from gluonx.gluon import nn, loss
compare("after the first use of its names")

def net(hybridize):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3), nn.BatchNorm(), nn.Activation("relu"), nn.Flatten(), nn.Dropout(0.5), nn.Dense(3))
    net.initialize(init.Xavier())
    if hybridize:
        net.hybridize()
    return net

x, y = np.ones((2, 1, 5, 5)), np.array([0, 2])
for hybridize in (False, True):
    model = net(hybridize)
    trainer = gluon.Trainer(model.collect_params(), "adam")
    for _ in range(2):
        with autograd.record():
            l = loss.SoftmaxCrossEntropyLoss()(model(x), y).mean()
        l.backward()
        trainer.step(2)
    assert float(l) > 0
    compare("after training steps" + " of a hybridized net" * hybridize)
list(gluon.data.DataLoader(gluon.data.ArrayDataset(x, y), batch_size=1))
compare("after a DataLoader")
import tempfile
with tempfile.TemporaryDirectory() as folder:
    model.export(folder + "/model")
    model.save_parameters(folder + "/model.params")
    model.load_parameters(folder + "/model.params")
    gluonx.load(folder + "/model")(x)
compare("after an export")
for wrong in (lambda: np.ones((2, 3)) @ np.ones((2, 3)), lambda: model(np.ones((2, 3)))):
    try:
        wrong()
    except ValueError:
        pass
compare("after errors")
print("nothing changed")
"""


def in_a_process(code, tmp_path, **environment):
    """Run `code` in a fresh process whose home and working folder are empty; its last line."""
    home, here = tmp_path / "home", tmp_path / "here"
    home.mkdir(exist_ok=True), here.mkdir(exist_ok=True)
    ours = ("GLUONX_", "JAX_", "XDG_", "XLA_")
    env = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    env |= {"HOME": str(home), "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", **environment}
    done = subprocess.run([sys.executable, "-c", code], env=env, cwd=here, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()[-1], done.stderr


@pytest.mark.dear
def test_import_and_use_change_nothing(tmp_path):
    assert in_a_process(LOOK + USE, tmp_path)[0] == "nothing changed"


STATE = """
import gc, json, os, sys
import jax
{before}
import gluonx
from gluonx import engine, np
from gluonx.common.process import uncollected
{after}
with uncollected():
    paused = not gc.isenabled()
print(json.dumps([os.environ.get("XLA_FLAGS", ""), jax.config.jax_compilation_cache_dir,
                  jax.config.jax_persistent_cache_min_compile_time_secs, paused, gc.isenabled(),
                  jax.config.jax_enable_x64, jax.config.jax_num_cpu_devices]))
"""


def state(tmp_path, before="", after="", **environment):
    line, told = in_a_process(STATE.format(before=before, after=after), tmp_path, **environment)
    return json.loads(line), told


@pytest.mark.dear
@pytest.mark.parametrize("how", ["call", "variable"])
def test_tune_does_what_it_says(tmp_path, how):
    after = "engine.tune(); engine.tune()" if how == "call" else ""
    variables = {"GLUONX_TUNE": "1"} if how == "variable" else {}
    found, told = state(tmp_path, after=after, **variables)
    folder = str(tmp_path / "home" / ".cache" / "gluonx" / "xla")
    assert found == [process.OPTION, folder, 0.0, True, True, False, -1]
    assert told == ""


@pytest.mark.dear
def test_parts_of_it_can_be_left_out(tmp_path):
    found, _ = state(tmp_path, after="engine.tune(emitter=False, cache=False, collector=False, memory=False)")
    assert found == ["", None, 1.0, False, True, False, -1]
    found, _ = state(tmp_path, GLUONX_TUNE="1", GLUONX_CACHE_DIR="", XLA_FLAGS="--xla_backend_extra_options=mine")
    assert found == ["--xla_backend_extra_options=mine", None, 1.0, True, True, False, -1]


PAGES = """
import ctypes, resource, threading
from gluonx import engine
engine.tune(emitter=False, cache=False, collector=False, memory={memory})

libc = ctypes.CDLL(None)
libc.malloc.argtypes, libc.malloc.restype, libc.free.argtypes = [ctypes.c_size_t], ctypes.c_void_p, [ctypes.c_void_p]

def use():
    for _ in range(3):
        block = libc.malloc(64 << 20)
        ctypes.memset(block, 1, 64 << 20)
        libc.free(block)

def faults():
    thread = threading.Thread(target=use)  # as XLA's, which without the limit would have arenas of their own
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    thread.start()
    thread.join()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults()
print(faults())
"""


@pytest.mark.dear
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc's malloc can be told")
def test_tune_keeps_memory_that_was_given_back(tmp_path):
    faults = {}
    for name, memory, environment in [
        ("kept", True, {}), ("not asked", False, {}), ("chosen", True, {"MALLOC_ARENA_MAX": "2"})
    ]:  # fmt: skip
        faults[name] = int(in_a_process(PAGES.format(memory=memory), tmp_path, **environment)[0])
    assert faults["kept"] < 1000
    assert min(faults["not asked"], faults["chosen"]) > 40_000  # three blocks of 16,384 pages


@pytest.mark.dear
def test_each_variable_asks_for_one_thing(tmp_path):
    found, _ = state(tmp_path, GLUONX_CACHE_DIR=str(tmp_path / "mine"))
    assert found == ["", str(tmp_path / "mine"), 0.0, False, True, False, -1]
    found, _ = state(tmp_path, GLUONX_X64="1")
    assert found == ["", None, 1.0, False, True, True, -1]
    jaxs = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path / "jax's"), "GLUONX_CACHE_DIR": str(tmp_path / "mine")}
    assert state(tmp_path, GLUONX_TUNE="1", **jaxs)[0][1] == str(tmp_path / "jax's")


@pytest.mark.dear
def test_tune_says_that_it_comes_too_late(tmp_path):
    found, told = state(tmp_path, after="np.ones((2,)).wait_to_read()\nengine.tune()  # here")
    assert "<string>:9: RuntimeWarning: tune() comes too late for XLA's code generator" in told
    assert found[1] is not None and found[3]  # the rest of it acts all the same
    _, told = state(tmp_path, before="jax.devices()", GLUONX_TUNE="1")
    assert "<string>:5: RuntimeWarning: tune() comes too late" in told
    found, told = state(tmp_path, before="jax.devices()", GLUONX_TUNE="1", XLA_FLAGS="--xla_backend_extra_options=mine")
    assert told == ""  # there was nothing to change


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, process.OPTION),
        ({"XLA_FLAGS": "  "}, process.OPTION),
        ({"XLA_FLAGS": "--xla_cpu_max_isa=AVX2"}, f"--xla_cpu_max_isa=AVX2 {process.OPTION}"),
        ({"XLA_FLAGS": "--xla_backend_extra_options=mine"}, "--xla_backend_extra_options=mine"),
        ({"XLA_FLAGS": "/a/file/of/flags"}, "/a/file/of/flags"),
    ],
)
def test_flags_that_are_there_are_respected(before, after):
    changes = after != before.get("XLA_FLAGS")
    assert process.choose(before) == changes
    assert before.get("XLA_FLAGS") == after
    assert not process.choose(before)
    assert before.get("XLA_FLAGS") == after


LOOPS = """
import jax, jax.numpy as jnp
from gluonx import engine
{tune}
jax.jit(lambda a, b: a + b)(jnp.ones((64, 64, 3, 3)), jnp.ones((64, 64, 3, 3))).block_until_ready()
print("done")
"""


@pytest.mark.dear
@pytest.mark.parametrize("tuned", [False, True])
def test_the_flag_reaches_xla(tmp_path, tuned):
    """Read from the names of what XLA writes out, in a process of its own."""
    flags = f"--xla_dump_to={tmp_path / 'dump'}"
    in_a_process(LOOPS.format(tune="engine.tune(cache=False)" if tuned else ""), tmp_path, XLA_FLAGS=flags)
    sums = [path.name for path in (tmp_path / "dump").iterdir() if "wrapped_add" in path.name]
    sums = [name for name in sums if name.endswith((".ll", ".o"))]
    assert sums
    assert any("__compute_module_wrapped_add" in name for name in sums) != tuned


# Files whose code runs in processes of their own, or which do what their caller says in so many words.
ALLOWED = {
    "common/process.py": "the one place",
    "data/_nursery.py": "a process of its own, for workers",
    "data/_worker.py": "a worker's own process",
    "compat/alias/hook.py": "install_as_mxnet() is asked for, and taken back by uninstall()",
    "compat/__main__.py": "the process of `python -m gluonx.compat script.py` is the script's",
    "compat/util.py": "setenv(), of mxnet.util, is asked for",
    "parallel/launch.py": "the process of `python -m gluonx.parallel.launch script.py` is the script's",
    "parallel/plan.py": "the process of `python -m gluonx.parallel.plan module:function` is the command's",
    "parallel/processes.py": "initialize() is asked for; processes say farewell to each other",
    "parallel/topologies.py": "plan() is asked for; what compilers want is set around its calls, and taken away",
    "deferred/values/interrupts.py": "signals wait while JAX traces, compiles or takes buffers, and are delivered then",
}
CALLS = (
    "jax.config.update", "gc.disable", "gc.enable", "gc.freeze", "gc.set_threshold", "signal.signal", "atexit.register",
    "os.environ.pop", "os.environ.setdefault", "os.environ.update", "os.putenv", "os.unsetenv",
    "warnings.filterwarnings", "warnings.simplefilter", "warnings.resetwarnings", "np.seterr", "numpy.seterr",
    "np.seterrcall", "numpy.seterrcall", "sys.meta_path.insert", "sys.meta_path.append", "sys.path_hooks.append",
    "sys.path.insert", "sys.path.append", "sys.setrecursionlimit", "sys.settrace", "sys.setprofile",
)  # fmt: skip
TARGETS = ("os.environ", "sys.excepthook", "sys.displayhook", "warnings.showwarning", "sys.meta_path", "sys.path")


def dotted(node):
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


@every_source
def test_one_module_changes_the_process(path):
    found = []
    for node in nodes_of(path):
        if isinstance(node, ast.Call) and dotted(node.func) in CALLS:
            found.append((node.lineno, dotted(node.func)))
        for target in node.targets if isinstance(node, (ast.Assign, ast.Delete)) else ():
            place = target.value if isinstance(target, ast.Subscript) else target
            if dotted(place) in TARGETS:
                found.append((node.lineno, dotted(place)))
    name = str(path.relative_to(ROOT / "gluonx"))
    assert not found or name in ALLOWED, found
