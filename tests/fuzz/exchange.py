"""A random net, and the ways that it can take out of gluonx and back: each gives what the net itself gives.

A way is a function of a case and of the numbers that choose its options. `test_exchange` runs them.
"""

from __future__ import annotations

import contextlib
import copy
import filecmp
import importlib.util
import io
import json
import pathlib
import pickle
import types
from typing import Any

import jax
import numpy as onp
import pytest

import gluonx
from gluonx import amp, autograd, engine, nn, np, npx, rnn
from gluonx.contrib.quantization import quantize_net
from gluonx.export.stablehlo import load_artifact
from gluonx.gluon import Constant, Parameter
from lib.random_nets import Plan, inputs_of, net_class, plan_of

__all__ = ["WAYS", "Case", "drawn"]

ROUNDING = {"float64": 1e-11, "float32": 3e-5, "float16": 2e-2, "bfloat16": 1.5e-1}

Net = net_class(types.SimpleNamespace(nn=nn, rnn=rnn, np=np, npx=npx, Parameter=Parameter, Constant=Constant))
Net.__module__, Net.__qualname__ = __name__, "Net"  # where pickles find it


def fresh(plan: Plan) -> Any:
    """Return the net of a plan, with initial parameters."""
    net = Net(plan)
    net.initialize()
    if plan["dtype"] != "float32":
        net.cast(plan["dtype"])
    return net


def _listed(out: Any) -> list[Any]:
    return list(out) if isinstance(out, (list, tuple)) else [out]


def _kind(out: Any) -> type | None:
    return type(out) if isinstance(out, (list, tuple)) else None


class Case:
    """A net with random parameters, its inputs for two and for three samples, and what it gives for them."""

    def __init__(self, plan: Plan, folder: pathlib.Path) -> None:
        self.plan, self.folder = plan, folder
        self.net = fresh(plan)
        self.xs, self.more = self.inputs(2), self.inputs(3)
        self.names = ["data"] if len(self.xs) == 1 else [f"data{i}" for i in range(len(self.xs))]
        with engine.mode("naive"):
            self.net(*self.xs)
            self._randomize()
            out = self.net(*self.xs)
            self.kind, self.wanted = _kind(out), [o.asnumpy() for o in _listed(out)]
            self.wanted_more = [o.asnumpy() for o in _listed(self.net(*self.more))]
        for o, i in zip(self.wanted, plan["outputs"], strict=True):
            assert list(o.shape[1:]) == plan["shapes"][i], "the plan says another shape"

    def inputs(self, batch: int) -> list[Any]:
        own = self.plan["dtype"]
        return [np.array(x, dtype="int32" if x.dtype == "int32" else own) for x in inputs_of(self.plan, batch)]

    def parameters(self) -> dict[str, Any]:
        return {name: p.data() for name, p in self.net.collect_params(fused=False).items()}

    def _randomize(self) -> None:
        numbers = onp.random.RandomState(self.plan["seed"] % 1000)
        for name, p in self.net.collect_params(fused=False).items():
            if not isinstance(p, Constant):
                low, high = (0.5, 1.5) if "gamma" in name or "running_var" in name else (-0.5, 0.5)
                p.set_data(np.array(numbers.uniform(low, high, p.shape), dtype=p.dtype))

    def check(self, out: Any, more: bool = False, dtype: bool = True, rounding: float | None = None) -> None:
        """Assert that `out` is what the net gives, for three samples if `more`."""
        wanted = self.wanted_more if more else self.wanted
        found = [o.asnumpy() if hasattr(o, "asnumpy") else onp.asarray(o) for o in _listed(out)]
        assert [f.shape for f in found] == [w.shape for w in wanted]
        if dtype:
            assert [f.dtype for f in found] == [w.dtype for w in wanted]
        for i, (f, w) in enumerate(zip(found, wanted, strict=True)):
            f, w = f.astype("float64"), w.astype("float64")
            scale = max(1.0, onp.abs(w).max(initial=0.0))
            off = onp.abs(f - w).max(initial=0.0) / scale
            assert off < (rounding or ROUNDING[self.plan["dtype"]]), f"output {i} differs by {off:.3g} of {scale:.3g}"


def drawn(way: str, numbers: Any) -> Plan:
    """Draw a plan of a net that may take a way."""
    one = way in ("amp", "onnx", "quantized", "symbol")  # which know one dtype, or hardly another
    dtype = "float32" if one else ["float32", "float32", "float16", "bfloat16", "float64"][numbers.randint(5)]
    without = {"symbol": {"rearranged", "loop"}, "onnx": {"loop"}}.get(way, set())
    steps = int(numbers.randint(3, 10))
    return plan_of(numbers, steps=steps, dtype=dtype, without=frozenset(without), mxnet=way == "symbol")


# ---------------------------------------------------------------------------------------------------------------- ways


def stablehlo(case: Case, numbers: Any) -> None:
    """Export an artifact; load it as a block, without gluonx's blocks, and in a process that has no gluonx."""
    options: dict[str, Any] = [
        {"dynamic_batch": False}, {"debug_info": True}, {"buckets": [2]}, {"constraints": ["b <= 16"]}, {}, {},
    ][numbers.randint(6)]  # fmt: skip
    options = {"dynamic_batch": True, **options}
    folder, dynamic = case.folder / "a", options["dynamic_batch"]
    if numbers.randint(2):
        case.net.hybridize()
        case.check(case.net(*case.xs))
        case.net.export(folder, **options)
        case.net.hybridize(False)
    else:
        case.net.export(folder, inputs=case.xs, **options)
    block = gluonx.load(folder)
    out = block(*case.xs)
    case.check(out)
    assert _kind(out) is case.kind
    if dynamic:
        more = [x.asnumpy() for x in case.more]
        case.check(block(*case.more), more=True)
        case.check(load_artifact(folder)(*more), more=True)
        case.check(block.predictor(buckets=[2, 4])(*more), more=True)
    block.hybridize()
    case.check(block(*case.xs))
    written = {file.name for file in folder.iterdir()}  # Python adds bytecode when it imports serve.py
    _serve_alone(case, dynamic)
    if "debug_info" not in options:  # which tells lines of code
        case.net.save_parameters(case.folder / "x.params")
        other = fresh(case.plan)
        other.load_parameters(case.folder / "x.params")
        other(*case.xs)
        other.export(case.folder / "b", inputs=case.xs, **options)
        assert {file.name for file in (case.folder / "b").iterdir()} == written
        for name in written:
            assert filecmp.cmp(folder / name, case.folder / "b" / name, shallow=False), f"other bytes: {name}"


def _serve_alone(case: Case, more: bool) -> None:
    """Run the ``serve.py`` of an artifact, imported as a file: it is written for processes without gluonx."""
    spec = importlib.util.spec_from_file_location("served", case.folder / "a" / "serve.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    out = module.load(case.folder / "a")(*[x.asnumpy() for x in (case.more if more else case.xs)])
    case.check(out, more=more)


def parameters(case: Case, numbers: Any) -> None:
    """Save parameters in one of the forms, load them into a net that is initialized, cast or neither."""
    forms = [(None, "params"), (None, "npz"), ("safetensors", "safetensors"), ("mxnet", "params"), ("npz", "x")]
    form, ending = forms[numbers.randint(len(forms))]
    options = {"deduplicate": [None, True, False][numbers.randint(3)], "format": form}
    file = case.folder / f"p.{ending}"
    case.net.save_parameters(file, **options)
    other = Net(case.plan)
    way = numbers.randint(3)
    if way == 0:
        other.initialize()
    if way < 2:
        other.cast(case.plan["dtype"])
    other.load_parameters(file, cast_dtype=way == 2, dtype_source="saved", ctx=None if way == 0 else gluonx.cpu())
    with engine.mode("naive"):
        case.check(other(*case.xs))
    found = {name: p.data() for name, p in other.collect_params(fused=False).items()}
    assert found.keys() == case.parameters().keys()
    for name, value in case.parameters().items():
        a, b = value.asnumpy(), found[name].asnumpy()
        assert a.dtype == b.dtype and a.tobytes() == b.tobytes(), name
    other.save_parameters(case.folder / f"again.{ending}", **options)
    assert filecmp.cmp(file, case.folder / f"again.{ending}", shallow=False)
    third = fresh(case.plan)
    third.load_dict(case.parameters())
    case.check(third(*case.xs))


def symbol(case: Case, numbers: Any) -> None:
    """Write MXNet's files; gluonx reads them back, and writes them once more."""
    files = case.net.export(case.folder / "m", format="mxnet", inputs=case.xs)
    back = gluonx.SymbolBlock.imports(files[0], case.names, files[1])
    case.check(back(*case.xs))
    back.hybridize()
    case.check(back(*case.xs))
    graph = gluonx.symbol.load(files[0])
    assert json.loads(gluonx.symbol.load_json(graph.tojson()).tojson()) == json.loads(graph.tojson())
    files = back.export(case.folder / "again", format="mxnet", inputs=case.xs)
    case.check(gluonx.SymbolBlock.imports(files[0], case.names, files[1])(*case.xs))
    back.export(case.folder / "artifact", inputs=case.xs)
    case.check(gluonx.load(case.folder / "artifact")(*case.xs))


def onnx(case: Case, numbers: Any) -> None:
    """Write ONNX; onnxruntime and gluonx read it, and gluonx writes what it read."""
    runtime = pytest.importorskip("onnxruntime")
    dynamic = bool(numbers.randint(3))
    path = case.net.export(case.folder / "o", format="onnx", inputs=case.xs, dynamic_batch=dynamic)
    if case.plan["dtype"] != "bfloat16":  # which onnxruntime computes hardly anything in
        options = runtime.SessionOptions()
        options.log_severity_level, options.intra_op_num_threads = 4, 1
        session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        for xs, more in [(case.xs, False), (case.more, True)][: 1 + dynamic]:
            given = dict(zip(case.names, [x.asnumpy() for x in xs], strict=True))
            case.check(session.run(None, {i.name: given[i.name] for i in session.get_inputs()}), more=more)
    block = gluonx.onnx.import_model(str(path))
    case.check(block(*case.xs))
    block.hybridize()
    case.check(block(*case.xs))
    if dynamic:
        case.check(block(*case.more), more=True)
    block.export(case.folder / "again", format="onnx", inputs=case.xs, dynamic_batch=False)
    case.check(gluonx.onnx.import_model(str(case.folder / "again.onnx"))(*case.xs))


def functional(case: Case, numbers: Any) -> None:
    """Take the pure function of the net: called, jitted, as a tree, pickled, trained, and as a block again."""
    f = gluonx.functional(case.net)
    xs = [x._read() for x in case.xs]
    case.check(f.apply(f.params, f.state, None, *xs)[0])
    case.check(jax.jit(lambda f, *xs: f(*xs))(f, *xs)[0])
    leaves, tree = jax.tree.flatten(f)
    case.check(jax.tree.unflatten(tree, leaves)(*xs)[0])
    case.check(pickle.loads(pickle.dumps(f))(*xs)[0])
    key = jax.random.key(3)
    found = f.apply(f.params, f.state, key, *xs, train=True)
    jitted = jax.jit(lambda f, key, *xs: f(*xs, key=key, train=True))(f, key, *xs)
    off = 10 * ROUNDING[case.plan["dtype"]]
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(jitted), strict=True):
        onp.testing.assert_allclose(onp.asarray(a, "float64"), onp.asarray(b, "float64"), rtol=off, atol=off)
    case.check(case.net(*case.xs))
    f.update_from(f.params, f.state)
    case.check(case.net(*case.xs))
    case.check(gluonx.from_jax(lambda *xs: f.apply(f.params, f.state, None, *xs)[0])(*case.xs))


def flax(case: Case, numbers: Any) -> None:
    """Make modules of Flax's two kinds of the net, and nets of those."""
    nnx = pytest.importorskip("flax.nnx")
    import gluonx.flax

    xs = [x._read() for x in case.xs]
    module = gluonx.flax.to_nnx(case.net, rngs=nnx.Rngs(0))
    module.eval()
    case.check(module(*xs))
    back = gluonx.flax.from_nnx(module)
    case.check(back(*case.xs))
    back.hybridize()
    case.check(back(*case.xs))
    linen, variables = gluonx.flax.to_linen(case.net)
    case.check(linen.apply(variables, *xs))
    case.check(gluonx.flax.from_linen(linen, variables)(*case.xs))
    gluonx.flax.load_state(case.net, gluonx.flax.state_of(case.net))
    case.check(case.net(*case.xs))


def changes(case: Case, numbers: Any) -> None:
    """Do four things to the net that may not change what it computes."""
    names = list(_CHANGES)
    done = []
    for _ in range(4):
        name = names[numbers.randint(len(names))]
        done.append(name)
        case.net = _CHANGES[name](case) or case.net
        try:
            case.check(case.net(*case.xs))
            case.check(case.net(*case.more), more=True)
        except AssertionError as error:
            raise AssertionError(f"after {done}: {error}") from error


def _cast_and_back(case: Case) -> None:
    for dtype in ("float32", "float64", case.plan["dtype"]):
        case.net.cast(dtype)


def _trained(case: Case) -> None:
    """Run forward and backward, and put back what batch norms counted."""
    kept = {name: value.copy() for name, value in case.parameters().items()}
    with autograd.record():
        outs = [o for o in _listed(case.net(*case.xs)) if o.dtype.kind != "i"]
        total = sum(((o.astype("float32") ** 2).sum() for o in outs), np.zeros(()))
    if outs and kept:
        total.backward()
    case.net.load_dict(kept)


def _saved_whole(case: Case) -> Any:
    case.net.save(str(case.folder / "whole"))
    other = fresh(case.plan)
    other.load(str(case.folder / "whole"))
    return other


def _summarized(case: Case) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        case.net.summary(*case.xs)


def _there_and_back(case: Case) -> None:
    case.net.reset_ctx(gluonx.cpu(1))
    case.net.reset_ctx(gluonx.cpu(0))


_CHANGES: dict[str, Any] = {
    "deepcopy": lambda case: copy.deepcopy(case.net),
    "pickle": lambda case: pickle.loads(pickle.dumps(case.net)),
    "hybridize": lambda case: case.net.hybridize(),
    "unhybridize": lambda case: case.net.hybridize(False),
    "scan": lambda case: case.net.hybridize(scan=True),
    "remat": lambda case: case.net.hybridize(remat="layer"),
    "remat of dots": lambda case: case.net.hybridize(remat="dots_saveable"),
    "static": lambda case: case.net.hybridize(static_alloc=True, static_shape=True),
    "unfuse": lambda case: case.net.unfuse() and None,
    "fuse": lambda case: case.net.fuse() and None,
    "cast": _cast_and_back,
    "summary": _summarized,
    "save": _saved_whole,
    "optimize": lambda case: case.net.optimize_for(*case.xs),
    "train": _trained,
    "repr": lambda case: repr(case.net) and None,
    "device": _there_and_back,
}


def mixed_precision(case: Case, numbers: Any) -> None:
    """Convert the net to half precision, run and export it."""
    dtype = ["float16", "bfloat16"][numbers.randint(2)]
    near = {"dtype": False, "rounding": 2 * ROUNDING[dtype]}
    other = amp.convert_hybrid_block(case.net, dtype, cast_optional_params=bool(numbers.randint(2)))
    case.check(other(*case.xs), **near)
    other.hybridize()
    case.check(other(*case.xs), **near)
    other.export(case.folder / "amp", inputs=case.xs)
    case.check(gluonx.load(case.folder / "amp")(*case.xs), **near)
    case.check(case.net(*case.xs))


def quantized(case: Case, numbers: Any) -> None:
    """Quantize the net: it gives the same numbers hybridized, exported and loaded; the net itself is as it was."""
    if not any(step.get("name") == "Dense" or step["what"] == "chain" for step in case.plan["steps"]):
        return
    mode = ["none", "naive", "entropy"][numbers.randint(3)]
    by = ["tensor-wise", "channel-wise"][numbers.randint(2)]
    shapes = [x.shape for x in case.xs]  # a forward of *inputs does not tell which items of a batch it takes
    data = {"calib_data": [case.xs, case.xs], "data_shapes": shapes}
    small = quantize_net(case.net, calib_mode=mode, quantize_granularity=by, **data)
    first = [o.asnumpy() for o in _listed(small(*case.xs))]
    small.hybridize()
    small.export(case.folder / "q", inputs=case.xs)
    for other in (small, gluonx.load(case.folder / "q")):
        for a, b in zip(_listed(other(*case.xs)), first, strict=True):
            onp.testing.assert_allclose(a.asnumpy(), b, rtol=1e-3, atol=2e-2)
    case.check(case.net(*case.xs))


WAYS = {
    "stablehlo": stablehlo, "parameters": parameters, "symbol": symbol, "onnx": onnx, "functional": functional,
    "flax": flax, "changes": changes, "amp": mixed_precision, "quantized": quantized,
}  # fmt: skip
