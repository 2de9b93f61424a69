"""gluonx.profiler: what its table and its file hold."""

import gzip
import json

import pytest

from gluonx import Trainer, autograd, engine, loss, nn, np, profiler
from gluonx.deferred.run import flushing
from gluonx.profiler.session import PROFILE
from gluonx.profiler.trace import Origin, Rows, aggregate, origin_of, origins_of, placed


@pytest.fixture(autouse=True)
def fresh(tmp_path):
    """No profile before, none after; files go to the test's folder."""
    PROFILE.forget()
    profiler.set_config(filename=str(tmp_path / "profile.json"))
    yield
    profiler.set_state("stop")
    PROFILE.forget()
    PROFILE.settings["profile_memory"] = False
    assert not flushing.watchers


class Net(nn.HybridBlock):
    def __init__(self):
        super().__init__()
        self.body = nn.HybridSequential()
        # Its gradient is too large to be joined with others in one loop, for which XLA keeps no name.
        self.body.add(nn.Conv2D(32, 3, in_channels=16), nn.Flatten(), nn.Dense(16, in_units=1152))
        self.head = nn.Dense(3, in_units=16)

    def forward(self, x):
        return self.head(np.tanh(self.body(x)))


def stepper(hybrid):
    net = Net()
    net.initialize()
    if hybrid:
        net.hybridize()
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    loss_fn = loss.L2Loss()
    x, y = np.ones((4, 16, 8, 8)), np.ones((4, 3))

    def step():
        with autograd.record():
            value = loss_fn(net(x), y)
        value.backward()
        trainer.step(4)

    return step


def table():
    return json.loads(profiler.dumps(format="json"))["Time"]


@pytest.mark.dear
@pytest.mark.parametrize("hybrid", [False, True])
def test_time_by_block_operator_and_program(hybrid):
    step = stepper(hybrid)
    step()
    profiler.start()
    for _ in range(3):
        step()
    profiler.stop()
    found = table()
    blocks = found["block"]
    for name in ("Net", "Net.body", "Net.body.0", "Net.body.2", "Net.head", "Net (backward)", "Net.body.0 (backward)"):
        assert blocks[name]["Count"] == 3, name
    assert blocks["Net"]["Total"] >= blocks["Net.body"]["Total"] >= blocks["Net.body.0"]["Total"] > 0
    assert {"fully_connected", "convolution", "update"} <= {n.removesuffix(" (backward)") for n in found["operator"]}
    (program,) = [name for name in found["program"] if name.startswith("gluonx_")]
    assert found["program"][program]["Count"] == 3
    engine.reset_stats()
    step()
    assert engine.stats()["programs_compiled"] == 0  # looking at it changed nothing


def test_naive_mode_shows_every_operator():
    with engine.mode("naive"):
        profiler.start()
        x = np.ones((8, 8))
        for _ in range(4):
            np.exp(np.matmul(x, x))
        profiler.stop()
    assert table()["program"]["exp"]["Count"] == table()["program"]["matmul"]["Count"] == 4
    assert {"exp", "matmul"} <= table()["operator"].keys()


def test_own_entries_and_the_file(tmp_path):
    profiler.start()
    domain = profiler.Domain("data")
    counter = domain.new_counter("waiting", 2)
    with domain.new_task("read"), profiler.Event("all"):
        counter += 3
        counter.decrement()
    frame = domain.new_frame("batch")
    frame.start()
    frame.stop()
    frame.stop()  # twice is once
    domain.new_marker("here").mark("global")
    np.ones((3,)) + 1
    profiler.dump()
    events = json.loads((tmp_path / "profile.json").read_text())["traceEvents"]
    own = {(e["ph"], e.get("cat"), e["name"]) for e in events if "cat" in e}
    assert {
        ("C", "data", "waiting"),
        ("X", "data", "read"),
        ("X", "data,frame", "batch"),
        ("X", "event", "all"),
        ("i", "data,instant_marker", "here"),
    } <= own
    assert [e["args"]["waiting"] for e in events if e["ph"] == "C"] == [2, 5, 4]
    assert all(e["dur"] >= 0 and e["ts"] >= 0 for e in events if e["ph"] == "X")
    (operator,) = [e for e in events if (e.get("args") or {}).get("operator") == "add"]
    assert operator["args"]["block"] == ""
    text = profiler.dumps()
    assert "Profile Statistics:" in text and "read" in text and "Avg Time (ms)" in text
    profiler.set_config(filename=str(tmp_path / "small.json.gz"))
    profiler.dump()
    with gzip.open(tmp_path / "small.json.gz") as file:
        assert len(json.load(file)["traceEvents"]) == len(events)


def test_outside_of_a_profile_nothing_is_kept():
    domain = profiler.Domain("idle")
    with domain.new_task("work"):
        domain.new_marker("mark").mark()
    assert str(domain) == "idle" and not PROFILE.notes
    assert table() == {}


@pytest.mark.dear
def test_pause_leaves_out(tmp_path):
    x = np.ones((4,))
    profiler.set_state("run")
    np.exp(x)
    profiler.pause()
    np.cos(x)
    profiler.resume()
    np.sin(x)
    halfway = table()["operator"].keys()  # while it runs
    np.tanh(x)
    profiler.set_state("stop")
    profiler.resume()  # nothing to resume after the end
    assert not PROFILE.running
    assert {"exp", "sin"} <= halfway and "tanh" not in halfway
    assert {"exp", "sin", "tanh"} <= table()["operator"].keys() and "cos" not in table()["operator"]
    profiler.dumps(reset=True)
    assert table() == {}


def test_scopes_name_what_is_recorded():
    net = nn.Dense(2, in_units=3)
    net.initialize()
    x = np.ones((1, 3))
    x.attach_grad()
    with profiler.scope("train"), profiler.scope("inner:") as name:
        assert name == "train:inner:"
        with profiler.scope("alone", append_mode=False) as name:
            assert name == "alone:"
        with autograd.record():
            y = np.cosh(net(x)).sum()
        y.backward()
    x.grad.wait_to_read()
    assert "train.inner.Dense" in engine.explain()


@pytest.mark.dear
def test_memory():
    profiler.set_config(profile_memory=True)
    x = np.ones((1000,))
    profiler.start()
    profiler.stop()
    found = json.loads(profiler.dumps(format="json"))["Memory"]["Device Storage"]
    assert found["Memory: cpu/0"]["Total"] >= x.nbytes / 1000 and "Use (kB)" in profiler.dumps()


@pytest.mark.parametrize("order", ["total", "avg", "min", "max", "count"])
def test_orders(order):
    with engine.mode("naive"):
        x = np.ones((16, 16))
        profiler.start()
        for _ in range(2):
            np.matmul(x, x)
        np.tanh(x)
        profiler.stop()
    key = {"total": "Total", "avg": "Avg", "min": "Min", "max": "Max", "count": "Count"}[order]
    for ascending in (False, True):
        text = profiler.dumps(format="json", sort_by=order, ascending=ascending)
        values = [row[key] for row in json.loads(text)["Time"]["program"].values()]
        assert values == sorted(values, reverse=not ascending) and len(values) == 2


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: profiler.set_config(file="x"), TypeError, "no setting 'file'"),
        (lambda: profiler.set_state("go"), ValueError, "'run' and 'stop', got 'go'"),
        (lambda: profiler.dumps(format="xml"), ValueError, "'table' or 'json'"),
        (lambda: profiler.dumps(sort_by="name"), ValueError, "sort_by is one of 'total'"),
        (lambda: profiler.Domain("d").new_marker("m").mark("all"), ValueError, "a marker's scope"),
    ],
)
def test_bad_use(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_no_new_settings_while_it_runs():
    profiler.start()
    with pytest.raises(RuntimeError, match="set_state"):
        profiler.set_config(filename="other.json")


def test_instructions_and_where_they_came_from():
    """Fusions without metadata go by what they hold; instructions without a trace of ours are left out."""
    text = """\
HloModule jit_gluonx_update_3

%fused (p: f32[2]) -> f32[2] {
  %p = f32[2] parameter(0)
  ROOT %tanh.1 = f32[2] tanh(%p), metadata={op_name="jit(gluonx_update_3)/jvp(Net.act:tanh)/tanh" stack_frame_id=2}
}

ENTRY %main (x: f32[2]) -> f32[2] {
  %x = f32[2] parameter(0)
  %copy.4 = f32[2] copy(%x)
  %fusion = f32[2] fusion(%copy.4), kind=kLoop, calls=%fused
  ROOT %mul.2 = f32[2] multiply(%fusion, %x), metadata={op_name="jit(gluonx_update_3)/:update/mul"}
}
"""
    found = origins_of(text)
    assert found["fusion"] == Origin("Net.act", "tanh", False) and found["mul.2"] == Origin("", "update", False)
    assert "copy.4" not in found
    nested = "jit(f)/:Net/transpose(jvp(Net.a.0:dot))/while/body/add"
    assert origin_of(nested) == Origin("Net.a.0", "dot", True) and origin_of("jit(f)/add") is None


def test_a_trace_of_a_gpu():
    """No run_id, and the work shown twice: on its stream and on a line of XLA's."""

    def event(tid, ts, op):
        args = {"hlo_module": "jit_gluonx_update_3", "hlo_op": op}
        return {"ph": "X", "pid": 7, "tid": tid, "ts": ts, "dur": 2.0, "name": op, "args": args}

    events = [{"ph": "M", "pid": 7, "tid": 1, "name": "thread_name", "args": {"name": "Stream #13(Compute)"}}]
    events += [{"ph": "M", "pid": 7, "tid": 2, "name": "thread_name", "args": {"name": "XLA Ops"}}]
    for run in range(3):
        for tid in (1, 2):
            events += [event(tid, 100 * run, "fusion"), event(tid, 100 * run + 10, "gemm")]
            events += [event(tid, 100 * run + 20, "gemm")]
    origins = {"fusion": Origin("Net.a", "tanh", False), "gemm": Origin("Net.b", "dot", True)}
    rows = Rows()
    aggregate(placed(events, lambda module: origins), rows)
    assert {name: len(times) for name, times in rows.times["operator"].items()} == {"tanh": 3, "dot (backward)": 6}
    assert rows.times["block"]["Net.b (backward)"] == pytest.approx([0.004] * 3)
    assert rows.times["program"] == {"gluonx_update_3": pytest.approx([0.022] * 3)}
