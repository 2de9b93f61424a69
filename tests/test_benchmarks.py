"""The harness of benchmarks/: that sides do the same work, that processes answer, that tables say what was measured."""

import sys

import jax
import numpy as np
import pytest

from benchmarks import harness, ops, remote
from benchmarks.sweep import cases, ours, plain

WITHOUT = {  # what JAX alone has no short form of
    "adam_update", "adaptive_avg_pooling", "box_nms", "dropout", "image.normalize", "pixel_shuffle",
    "random_exponential", "random_gamma", "random_normal", "random_permutation", "random_uniform", "sequence_reverse",
    "sgd_mom_update", "softmax_output",
}  # fmt: skip


def small(case):
    """Return whether a case is quick enough to be run by the tests."""
    sizes = [np.prod([int(n) for n in text.split()[0].split("x")]) for text in case.inputs if text[0] != "#"]
    return sum(sizes) < 2e5 and case.op not in ("convolution", "deconvolution", "rnn")


def shapes(job):
    return [x.shape for x in jax.tree.leaves(jax.eval_shape(job.fn, *job.inputs))]


@pytest.mark.parametrize("case", cases.CASES.values(), ids=lambda case: case.name)
@pytest.mark.slow
def test_both_sides_of_a_case_have_the_same_shapes(case):
    job = ours.make(case, case.gradient)
    assert len(shapes(job)) >= 1 + case.gradient * len(cases.trained(case))
    if case.op in WITHOUT:
        with pytest.raises(ImportError):
            plain.make(case, case.gradient)
    else:
        assert shapes(plain.make(case, case.gradient)) == shapes(job)


@pytest.mark.parametrize(
    "case", [case for case in cases.CASES.values() if small(case) and not case.random], ids=lambda case: case.name
)
def test_small_cases_give_the_same_numbers(case):
    if case.op in WITHOUT:
        pytest.skip("gluonx alone has it")
    found = []
    for side in (ours, plain):
        job = side.make(case, case.gradient)
        job.step()
        job.wait()
        found.append(job.results())
    assert len(found[0]) == 1 + case.gradient
    for own, other in zip(*found, strict=True):
        for a, b in zip(own, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3 * max(1, np.abs(b).max()))


def test_inputs_are_what_their_text_says():
    rng = np.random.default_rng(0)
    assert cases.array_of("3x4", rng).shape == (3, 4)
    assert cases.array_of("5 <7", rng).max() < 7
    assert cases.array_of("5x4 positive", rng).min() >= 0.5
    assert cases.array_of("5x4 bool", rng).dtype == bool
    assert (np.diff(cases.array_of("9x4 boxes", rng).reshape(9, 2, 2), axis=1) > 0).all()
    assert cases.array_of("#0.5", rng) == np.float32(0.5)
    case = cases.row("where", "4 bool", "4", "4 fixed", "4 small", "#1", "4 <3", "2x2 boxes")
    assert cases.trained(case) == [1, 3]


def row(gradient=False, **sides):
    """A row of constant times in milliseconds."""
    times = {name: [t / 1e3] * 3 for name, t in sides.items()}
    return ops.Row("add: 3", gradient, times, times)


@pytest.mark.parametrize(
    ("times", "cliff"),
    [
        ({"ours": 5, "torches": 2, "mxnets": 9}, "torches"),
        ({"ours": 5, "torches": 9, "mxnets": 2}, "mxnets"),
        ({"ours": 5, "torches": 3}, None),
        ({"ours": 0.25, "torches": 0.1}, None),
        ({"ours": 5, "plain": 0.1}, None),
    ],
)
def test_what_is_a_cliff(times, cliff):
    assert [side for _, side in ops.cliffs([row(**times)])] == ([cliff] if cliff else [])


def test_the_page():
    text = ops.page(
        [row(ours=5, plain=10, torches=2), row(gradient=True, ours=1)], list(ops.SIDES), {"jax": "0"}, 3, 0.1
    )
    assert "- add: 3, forward: 5 ms, PyTorch 2 ms (2.5 times; by processor time 2.5)" in text
    assert "| add: 3 | forward | 5 | 2.00 (2.00 to 2.00) | 0.40 (0.40 to 0.40) |  |" in text
    assert "| add: 3 | with gradients | 1 |  |  |  |" in text
    assert "1 of 2 rows" in text


def test_rows_of_earlier_runs_are_kept(tmp_path):
    name = next(iter(cases.CASES))
    first = ops.Kept(tmp_path)
    first.versions["jax"] = "0"
    first.keep(name, [ops.Row(name, False, {"ours": [1.0]}, {"ours": [1.0]})])
    again = ops.Kept(tmp_path)
    assert again.rows() == first.rows() and again.versions == {"jax": "0"}
    assert ops.Kept(None).rows() == []


def test_parts_make_the_whole():
    parts = [name for i in (1, 2, 3) for name in ops.chosen("pooling", f"{i}/3")]
    assert parts == ops.chosen("POOLING", "1/1") and len(parts) > 10
    assert ops.chosen("", "0/1") == []


SERVER = """
from benchmarks.serve import serve, timed
class Server:
    def add(self, a, b):
        print("this goes elsewhere")
        return a + b
    def run(self, count):
        return timed(lambda: [None] * count)
    def fail(self):
        raise ValueError("so it is")
    def lack(self):
        import no_such_module
    def told(self):
        import os
        return os.environ.get("GONE")
serve(Server)
"""


@pytest.fixture
def worker(monkeypatch, tmp_path):
    monkeypatch.setenv("GONE", "still there")
    log = tmp_path / "log"
    found = remote.Worker("a side", [sys.executable, "-c", SERVER], log, {"GONE": None})
    yield found
    found.close()
    assert found.process.returncode == 0
    assert "this goes elsewhere" in log.read_text()


def test_a_process_answers(worker):
    assert worker.order(do="add", a=2, b=3) == 5
    assert worker.order(do="told") is None
    with pytest.raises(RuntimeError, match="a side: ValueError: so it is"):
        worker.order(do="fail")
    with pytest.raises(remote.Missing, match="no_such_module"):
        worker.order(do="lack")
    side = remote.RemoteSide("a side", lambda count: worker.order(do="run", count=count))
    assert side.calls(1e-5) >= 1
    harness.in_turns([side], [4], 3)
    assert len(side.wall) == len(side.cpu) == 3 and all(t >= 0 for t in side.wall)


def test_a_side_that_is_not_there():
    with pytest.raises(remote.Missing, match="nowhere"):
        remote.Worker("a side", ["/nowhere/python"])


def test_a_process_that_ends_says_so():
    gone = remote.Worker("a side", [sys.executable, "-c", "import sys; sys.exit(3)"])
    with pytest.raises(RuntimeError, match="a side: ended with status 3"):
        gone.order(do="anything")
    gone.close()
