"""Plans: what is read of a compiled program, what is refused, and (with the extra tpu-plan) what theory says."""

import importlib.util
import json
import os
import re
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as onp
import pytest

import gluonx
from gluonx import loss, nn, parallel
from gluonx.common import policy
from gluonx.errors import DeviceError, ShapeError
from gluonx.parallel import hlo, planning, topologies
from gluonx.parallel.gpus import GPUS, Chip
from lib.meshes import on

needs_compiler = pytest.mark.skipif(importlib.util.find_spec("libtpu") is None, reason="no TPU compiler")
struct = jax.ShapeDtypeStruct


def test_what_a_program_computes_and_sends():
    mesh = on(4, data=2, model=2)

    def place(*spec):
        return jax.NamedSharding(mesh, jax.P(*spec))

    def step(w, x):
        def layer(x, _):
            return jnp.tanh(x @ w), None

        x, _ = jax.lax.scan(layer, x, length=5)
        return x.sum()

    args = struct((16, 16), "float32", sharding=place()), struct((8, 16), "float32", sharding=place("data"))
    found = hlo.read(jax.jit(step, out_shardings=place()).lower(*args).compile().as_text(), mesh)
    assert found.flops == 5 * 2 * 4 * 16 * 16  # each device has four of the rows, five times
    assert found.flops_once * 5 == found.flops and (found.loops, found.unknown) == (1, 0)
    (entry,) = found.collectives
    assert (entry["kind"], entry["axes"], entry["count"], entry["bytes"]) == ("all-reduce", "data", 1, 4)
    assert entry["rounds"] == 1.0  # 2 (n - 1) / n of two


LOOPS = """
%step (numbers: (s32[], f32[8,8], s32[])) -> (s32[], f32[8,8], s32[]) {
  %numbers = (s32[], f32[8,8]{1,0}, s32[]) parameter(0)
  %i = s32[]{:T(128)} get-tuple-element(%numbers), index=0
  %x = f32[8,8]{1,0} get-tuple-element(%numbers), index=1
  %end = s32[]{:T(128)} get-tuple-element(%numbers), index=2
  %by = s32[] constant(STEP)
  %next = s32[] add(%i, %by)
  %product = f32[8,8]{1,0} dot(%x, %x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT %out = (s32[], f32[8,8]{1,0}, s32[]) tuple(%next, %product, %end)
}

%more (numbers.1: (s32[], f32[8,8], s32[])) -> pred[] {
  %numbers.1 = (s32[], f32[8,8]{1,0}, s32[]) parameter(0)
  %i.1 = s32[] get-tuple-element(%numbers.1), index=0
  %end.1 = s32[] get-tuple-element(%numbers.1), index=2
  ROOT %go = pred[] compare(%i.1, %end.1), direction=HOW
}

ENTRY %main (x.1: f32[8,8], n: s32[]) -> f32[8,8] {
  %x.1 = f32[8,8]{1,0} parameter(0)
  %n = s32[] parameter(1)
  %first = s32[] constant(FIRST)
  %last = s32[] constant(LAST)
  %start = (s32[], f32[8,8]{1,0}, s32[]) tuple(%first, %x.1, %BOUND)
  %loop = (s32[], f32[8,8]{1,0}, s32[]) while(%start), condition=%more, body=%step
  ROOT %found = f32[8,8]{1,0} get-tuple-element(%loop), index=1
}
"""


@pytest.mark.parametrize(
    ("first", "last", "step", "how", "rounds"),
    [(0, 12, 1, "LT", 12), (3, 12, 4, "LT", 3), (0, 12, 4, "LE", 4), (9, 0, -2, "GT", 5), (5, 5, 1, "LT", 0)],
)
def test_how_often_a_loop_runs_is_read_off_its_counter(first, last, step, how, rounds):
    """As TPU programs have it: nobody has written the number down."""
    text = LOOPS.replace("FIRST", str(first)).replace("LAST", str(last)).replace("STEP", str(step))
    found = hlo.read(text.replace("HOW", how).replace("BOUND", "last"), on(1, data=1))
    assert (found.flops, found.loops, found.unknown) == (rounds * 2 * 8**3, 1, 0)


def test_a_loop_that_does_not_tell_is_counted_once_and_said():
    text = LOOPS.replace("FIRST", "0").replace("STEP", "1").replace("HOW", "LT").replace("BOUND", "n")
    found = hlo.read(text, on(1, data=1))
    assert (found.flops, found.loops, found.unknown) == (2 * 8**3, 1, 1)


def test_products_with_holes_are_not_counted():
    """A TPU's program has a batch of products as one convolution, of whose taps one in each output is real."""
    line = (
        "ENTRY %main (q: f32[2,16,4,8], k: f32[2,16,4,8]) -> f32[2,4,16,16] {\n"
        "  %q = f32[2,16,4,8]{3,2,1,0} parameter(0)\n  %k = f32[2,16,4,8]{3,2,1,0} parameter(1)\n"
        "  ROOT %scores = f32[2,4,16,16]{3,2,1,0} convolution(%q, %k), "
        "window={size=2x4 stride=1x3 lhs_dilate=2x4}, dim_labels=0b1f_0o1i->01bf\n}\n"
    )
    assert hlo.read(line, on(1, data=1)).flops == 2 * (2 * 4) * 16 * 16 * 8
    image = (
        "ENTRY %main (x: f32[2,3,5,5], w: f32[4,3,3,3]) -> f32[2,4,5,5] {\n"
        "  %x = f32[2,3,5,5]{3,2,1,0} parameter(0)\n  %w = f32[4,3,3,3]{3,2,1,0} parameter(1)\n"
        "  ROOT %y = f32[2,4,5,5]{3,2,1,0} convolution(%x, %w), window={size=3x3 pad=1_1x1_1}, "
        "dim_labels=bf01_oi01->bf01\n}\n"
    )
    assert hlo.read(image, on(1, data=1)).flops == 2 * 2 * 4 * 3 * 13 * 13  # 3 taps at each place, 2 at either end


@pytest.mark.first_runs
@pytest.mark.parametrize("hybridize", [False, True])
def test_a_plan_runs_nothing_operator_by_operator(hybridize, monkeypatch):
    """NumPy would take the first runs of such a step; on arrays that are not there none can be run."""
    monkeypatch.setattr(planning, "abstract_mesh", lambda *_: (on(2, data=2), Chip(1e12, 1e9, 1 << 30, 1e9), 2))
    net = nn.HybridSequential()
    net.add(nn.Dense(256, in_units=128, activation="relu"), nn.Dense(16))
    if hybridize:
        net.hybridize()
    given = (net, struct((64, 128), "float32"), loss.SoftmaxCrossEntropyLoss(), "adam", None, struct((64,), "int32"))
    for _ in range(2):
        assert planning._recorded(*given, "two CPUs", None, (), False).step.is_step


@pytest.mark.dear
def test_the_command_says_which_axis_it_cannot_read():
    given = [sys.executable, "-m", "gluonx.parallel.plan", "os:getcwd", "--mesh", "h100:8", "--axes", "data=two"]
    found = subprocess.run(given, capture_output=True, text=True, check=False)
    assert found.returncode == 2
    assert found.stderr == (
        "gluonx.parallel.plan: ValueError: --axes 'data=two' has 'data=two'; give names and sizes, as data=-1,model=4\n"
    )


def test_groups_of_devices():
    mesh = on(4, data=2, model=2)
    assert hlo._axes(hlo._groups("replica_groups={{0,1},{2,3}}, x"), mesh) == "model"
    assert hlo._axes(hlo._groups("replica_groups=[2,2]<=[2,2]T(1,0), x"), mesh) == "data"
    assert hlo._groups("replica_groups=mesh['a'=2,'b'=1,'c'=4] {'a'}, x") == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert hlo._groups("replica_groups=mesh['a'=2,'c'=4] {'c':(2)2}") == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert hlo._axes(hlo._groups("replica_groups=[1,4]<=[4]"), mesh) == "data,model"


@pytest.mark.parametrize(
    ("name", "told"),
    [(name, "is no topology: give a kind of TPUs") for name in ("v5e", "v5e:2by4", "k80:8", "v5e:0x4", "h100:", "l4")]
    + [
        ("h100:16", "a host has at most 8 of h100"),
        ("h100:2x2x2", "a host has at most 8"),
        ("a100-40:17", "at most 16"),
    ],
)
def test_no_topology(name, told):
    with pytest.raises(DeviceError, match=told):
        topologies.abstract_mesh(name)


@pytest.mark.skipif(importlib.util.find_spec("jax_plugins") is not None, reason="the compiler is here")
def test_a_missing_compiler_is_told():
    before = dict(os.environ)
    with pytest.raises(
        DeviceError, match=r"^h100:8: XLA's GPU compiler is not here; it needs no GPU.*gluonx\[gpu-plan\]"
    ):
        topologies.abstract_mesh("h100:8")
    assert dict(os.environ) == before


def test_a_gpu_is_told_to_the_compiler_in_full():
    """Each number that XLA asks for is there and of a size that such a machine has."""
    for kind, gpu in GPUS.items():
        told = dict(re.findall(r"(\w+): ([\d.]+)", gpu.text()))
        numbers = [
            float(told[name]) for name in ("core_count", "l2_cache_size", "device_memory_size", "clock_rate_ghz")
        ]
        assert all(number > 0 for number in numbers), kind
        assert 1e11 < float(told["memory_bandwidth"]) < 1e13
        assert gpu.network and gpu.network < gpu.links < gpu.bandwidth and gpu.flops > 1e14


GPU_LINES = """
%inside (a: f32[4,8], b: f32[8,16]) -> f32[4,16] {
  %a = f32[4,8]{1,0} parameter(0)
  %b = f32[8,16]{1,0} parameter(1)
  ROOT %dot = f32[4,16]{1,0} dot(%a, %b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}

ENTRY %main (x: f32[4,8], w: f32[8,16], i: f32[2,5,5,3], k: f32[4,3,3,3], q: bf16[2,32,4,8]) -> f32[4,16] {
  %x = f32[4,8]{1,0} parameter(0)
  %w = f32[8,16]{1,0} parameter(1)
  %i = f32[2,5,5,3]{3,2,1,0} parameter(2)
  %k = f32[4,3,3,3]{3,2,1,0} parameter(3)
  %q = bf16[2,32,4,8]{3,2,1,0} parameter(4)
  %fused = f32[4,16]{1,0} fusion(%x, %w), kind=kCustom, calls=%inside
  %gemm = (f32[4,16]{1,0}, s8[64]{0}) custom-call(%x, %w), custom_call_target="__cublas$gemm", """ + (
    """backend_config={"gemm_backend_config":{"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"]}}}
  %conv = (f32[2,5,5,4]{3,2,1,0}, u8[0]{0}) custom-call(%i, %k), window={size=3x3 pad=1_1x1_1}, """
    """dim_labels=b01f_o01i->b01f, custom_call_target="__cudnn$convForward"
  %y = f32[2,5,5,4]{3,2,1,0} get-tuple-element(%conv), index=0
  %back = (f32[2,5,5,3]{3,2,1,0}, u8[0]{0}) custom-call(%y, %k), window={size=3x3 pad=1_1x1_1}, """
    """dim_labels=b01f_o01i->b01f, custom_call_target="__cudnn$convBackwardInput"
  %filter = (f32[4,3,3,3]{3,2,1,0}, u8[0]{0}) custom-call(%i, %y), window={size=3x3 pad=1_1x1_1}, """
    """dim_labels=b01f_o01i->b01f, custom_call_target="__cudnn$convBackwardFilter"
  %seen = (bf16[2,4,32,8]{3,1,2,0}, u8[0]{0}) custom-call(%q, %q, %q), custom_call_target="__cudnn$fmhaSoftmax"
  ROOT %out = f32[4,16]{1,0} get-tuple-element(%gemm), index=0
}
"""
)


def test_what_libraries_of_a_gpu_compute_is_counted():
    found = hlo.read(GPU_LINES, on(1, data=1))
    product, image, attention = 2 * 4 * 8 * 16, 2 * 2 * 4 * 3 * 13 * 13, 2 * 2 * (2 * 4 * 32 * 32 * 8)
    assert found.flops == 2 * product + 3 * image + attention
    assert found.kernels == 6 and found.calls["__cudnn$convForward"] == 1 and len(found.calls) == 5
    assert found.bytes > 4 * (4 * 8 + 8 * 16 + 4 * 16)


PARTS = """
%looked (table: bf16[1000,8], rows: s32[4,1]) -> f32[4,8] {
  %table = bf16[1000,8]{1,0} parameter(0)
  %rows = s32[4,1]{1,0} parameter(1)
  %same = bf16[1000,8]{1,0} bitcast(%table)
  %found = bf16[4,1,8]{2,1,0} gather(%same, %rows), offset_dims={1,2}
  ROOT %wide = f32[4,8]{1,0} convert(%found)
}

%put (stack: f32[10,8], one: f32[1,8], at: s32[]) -> f32[10,8] {
  %stack = f32[10,8]{1,0} parameter(0)
  %one = f32[1,8]{1,0} parameter(1)
  %at = s32[] parameter(2)
  %zero = s32[] constant(0)
  %twice = f32[1,8]{1,0} add(%one, %one)
  ROOT %there = f32[10,8]{1,0} dynamic-update-slice(%stack, %twice, %at, %zero)
}

%both (x: f32[10,8]) -> (f32[1,8], f32[10,8]) {
  %x = f32[10,8]{1,0} parameter(0)
  %row = f32[1,8]{1,0} slice(%x), slice={[3:4], [0:8]}
  %all = f32[10,8]{1,0} negate(%x)
  ROOT %out = (f32[1,8]{1,0}, f32[10,8]{1,0}) tuple(%row, %all)
}

ENTRY %main (t: bf16[1000,8], i: s32[4,1], s: f32[10,8], r: f32[1,8], n: s32[]) -> f32[10,8] {
  %t = bf16[1000,8]{1,0} parameter(0)
  %i = s32[4,1]{1,0} parameter(1)
  %s = f32[10,8]{1,0} parameter(2)
  %r = f32[1,8]{1,0} parameter(3)
  %n = s32[] parameter(4)
  LINE
}
"""


@pytest.mark.parametrize(
    ("line", "moved"),
    [
        ("%a = f32[4,8]{1,0} fusion(%t, %i), kind=kLoop, calls=%looked", 4 * 8 * (2 + 4) + 16),
        ("%a = f32[10,8]{1,0} fusion(%s, %r, %n), kind=kLoop, calls=%put", 2 * 32 + 4),
        ("%a = (f32[1,8]{1,0}, f32[10,8]{1,0}) fusion(%s), kind=kLoop, calls=%both", 320 + 32 + 320),
        ("%a = f32[1,8]{1,0} dynamic-slice(%s, %n, %n), dynamic_slice_sizes={1,8}", 2 * 32 + 8),
        ("%a = f32[10,8]{1,0} dynamic-update-slice(%s, %r, %n, %n)", 2 * 32 + 8),
        ("%a = f32[10,8]{1,0} negate(%s)", 2 * 320),
        ('%a = (f32[10,8]{1,0}, s8[4194304]{0}) custom-call(%s), custom_call_target="__cublas$lt$matmul"', 2 * 320),
    ],
)
def test_of_an_operand_of_which_a_part_is_taken_the_part_counts(line, moved):
    """A row looked up in a table reads the row; a row put into its place writes the row."""
    assert hlo.read(PARTS.replace("LINE", line), on(1, data=1)).bytes == moved


def test_what_goes_from_host_to_host_is_known():
    line = (
        "ENTRY %main (x: f32[1024]) -> f32[1024] {\n  %x = f32[1024]{0} parameter(0)\n"
        "  ROOT %sum = f32[1024]{0} all-reduce(%x), replica_groups=GROUPS, to_apply=%add\n}\n"
    )
    for groups, hosts in (("{{0,1},{2,3}}", 1), ("{{0,2},{1,3}}", 2), ("{{0,1,2,3}}", 2)):
        (sent,) = hlo.read(line.replace("GROUPS", groups), on(4, data=2, model=2), 2).collectives
        assert sent["hosts"] == hosts
        each = GPUS["h100"].network * sent["devices"] / hosts
        assert planning._rate(GPUS["h100"], sent) == (GPUS["h100"].links if hosts == 1 else each)


@pytest.mark.dear
@pytest.mark.parametrize("count", [1, 4])
def test_a_plan_for_cpus(monkeypatch, count):
    """All of a plan but the machine: recorded on arrays that are not there, with CPUs that are."""
    machine = Chip(1e12, 1e11, 1 << 30, 1e10)
    monkeypatch.setattr(planning, "abstract_mesh", lambda name, axes: (on(count, data=count), machine, count))
    made = planned(net_of(), mesh="here")
    weights = 4 * (256 * 1024 + 1024 + 1024 * 8 + 8)
    assert made.fits and made.weights == weights and weights * 2 <= made.states < weights * 2 + 100
    assert made.flops == pytest.approx(2 * 64 * (256 * 1024 * 2 + 1024 * 8 * 3) / count, rel=0.01)
    assert len(made.collectives) > 0 or count == 1


def net_of(units=1024):
    net = nn.HybridSequential()
    net.add(nn.Dense(units, activation="relu"), nn.Dense(8))
    net.hybridize()
    return net


def planned(net, rows=64, **more):
    labels = struct((rows,), onp.int32)
    return parallel.plan(
        net, struct((rows, 256), "float32"), loss.SoftmaxCrossEntropyLoss(), "adam", labels=labels, **more
    )


@pytest.mark.slow
@needs_compiler
def test_a_plan():
    net = net_of()
    made = planned(net, mesh="v5e:2x4")
    weights = 4 * (256 * 1024 + 1024 + 1024 * 8 + 8)
    assert made.fits and made.devices == 8 and made.axes == {"data": 8}
    assert (made.weights, made.gradients) == (weights, weights)
    assert made.parameters * 4 == weights and weights * 2 <= made.states < weights * 2 + 100
    assert made.batch == 8 * (256 * 4 + 4)
    products = 2 * 64 * (256 * 1024 * 2 + 1024 * 8 * 3)  # the first layer's input has no gradient
    assert made.flops == products / 8
    (sent,) = made.collectives
    assert sent["kind"] == "all-reduce" and weights <= sent["bytes"] < weights * 1.1  # gradients, once
    assert json.loads(made.json())["weights"] == weights and "fits" in repr(made)
    for half in (False, True):  # nets whose shapes wait for a batch, and nets that know them, are planned alike
        other = net_of()
        other.initialize()
        if half:
            other(gluonx.np.ones((1, 256)))
        assert planned(other, mesh="v5e:2x4").__dict__ == made.__dict__
        assert other[0].weight._is_ready == half  # as it was
    split = planned(net, mesh="v5e:2x4", rules=[parallel.fsdp(min_size=1)])
    assert split.weights * 7 < weights < split.weights * 9
    assert all(p._handle is None for p in net.collect_params().values())  # the net is as it was


class Encoder(gluonx.HybridBlock):
    def __init__(self):
        super().__init__()
        self.embed, self.layers, self.out = nn.Embedding(64, 64), nn.HybridSequential(), nn.Dense(64, flatten=False)
        self.layers.add(*[nn.TransformerEncoderLayer(64, 128, 4, 0.0, 0.0) for _ in range(4)])

    def forward(self, words):
        return self.out(self.layers(self.embed(words)))


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("rules", [[], [parallel.fsdp(min_size=1024)]], ids=["data", "fsdp"])
@pytest.mark.parametrize("remat", [None, "layer"])
def test_a_loop_counts_as_its_layers_do(rules, remat):
    def plan_of(scan):
        net = Encoder()
        net.hybridize(scan=scan, remat=remat)
        words = struct((16, 32), "int32")
        return parallel.plan(net, words, loss.SoftmaxCrossEntropyLoss(), "adam", labels=words, rules=rules)

    apart, looped = plan_of(False), plan_of(True)
    assert looped.flops == pytest.approx(apart.flops, rel=0.03)
    layer = 4 * 64 * 64 + 2 * 64 * 128
    products = 6 * 16 * 32 * (4 * layer + 64 * 64) + 4 * 12 * 16 * 32 * 32 * 64
    if remat is None:
        assert apart.flops == pytest.approx(products / 8, rel=0.03)  # 6 x weights x words, and attention
    sums = [sum(c["bytes"] for c in made.collectives if c["kind"] == "all-reduce") for made in (apart, looped)]
    if not rules:
        assert sums[1] == pytest.approx(sums[0], rel=0.03)  # gradients, once
    assert not looped.advice


@pytest.mark.slow
@needs_compiler
def test_a_batch_beyond_the_bound_on_pending_bytes_is_planned_whole(monkeypatch):
    """The engine computes what is larger early; a plan of that would be of a forward alone."""
    monkeypatch.setitem(policy.limits, "pending", 1000)
    made = planned(net_of(1016), mesh="v5e:2x4")
    assert policy.limits["pending"] == 1000
    monkeypatch.undo()
    wanted = planned(net_of(1016), mesh="v5e:2x4")
    assert made.flops == wanted.flops and made.states == wanted.states > 0


@pytest.mark.slow
@needs_compiler
def test_what_does_not_fit_is_told():
    made = planned(net_of(1 << 22), mesh="v5e:2x4")
    assert not made.fits and made.needed > made.memory
    assert any("parallel.fsdp" in line for line in made.advice)


@pytest.mark.slow
@needs_compiler
def test_refusals():
    with pytest.raises(DeviceError, match="which the axes data=3 do not divide into"):
        planned(net_of(), mesh="v5e:2x4", axes={"data": 3})
    with pytest.raises(ShapeError, match="cannot be split evenly"):
        planned(net_of(), rows=60, mesh="v5e:2x4")
