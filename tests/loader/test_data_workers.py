"""When workers fail, die, hang or are no longer wanted; and what cannot be sent to them."""

import contextlib
import gc
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
import traceback

import numpy as np
import psutil
import pytest

from gluonx.data import DataLoader, SimpleDataset, _wire, batchify
from gluonx.data._pool import RemoteTraceback
from gluonx.errors import GluonxError
from lib import data_samples

KINDS = {
    "here": {},
    "threads": {"num_workers": 2, "thread_pool": True},
    "processes": {"num_workers": 2},
}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
every_pool = pytest.mark.parametrize("kind", [KINDS["threads"], KINDS["processes"]], ids=["threads", "processes"])


def workers():
    return {t for t in threading.enumerate() if t.name.startswith("gluonx-data")}


def running():
    """The processes and worker threads below this one."""
    return {p.pid for p in psutil.Process().children(recursive=True)}, workers()


def settles_to(before):
    """A process that has closed its sockets may need a moment more to be gone."""
    for _ in range(100):
        if running() == before:
            return True
        time.sleep(0.01)
    return False


@pytest.fixture(scope="module", autouse=True)
def nursery():
    """One pool kept open, so that the tests fork from one nursery in place of starting one each."""
    with DataLoader(data_samples.Squares(), 1, num_workers=1) as loader:
        next(iter(loader))
        yield


@pytest.fixture(autouse=True)
def nothing_left():
    before = running()
    yield
    gc.collect()
    assert settles_to(before), (before, running())


@pytest.mark.dear
@every_kind
def test_exceptions_come_with_type_traceback_and_sample(kind):
    with DataLoader(data_samples.At(data_samples.fail, 5), 2, **kind) as loader:
        batches = iter(loader)
        assert next(batches).asnumpy().tolist() == [0, 1]
        assert next(batches).asnumpy().tolist() == [2, 3]
        with pytest.raises(KeyError, match="no such picture") as caught:
            next(batches)
    assert "DataLoader: raised by dataset[5]" in caught.value.__notes__
    text = "".join(traceback.format_exception(caught.value))
    assert "in fail" in text and 'raise KeyError("no such picture")' in text and "lib/data_samples.py" in text
    assert isinstance(caught.value.__cause__, RemoteTraceback) == (kind == KINDS["processes"])


@pytest.mark.dear
@every_pool
def test_the_loop_can_go_on_after_an_exception(kind):
    with DataLoader(data_samples.At(data_samples.fail, 2, length=5), 1, **kind) as loader:
        batches, got = iter(loader), []
        for _ in range(5):
            try:
                got.append(int(next(batches).asnumpy()[0]))
            except KeyError:
                got.append("error")
        assert got == [0, 1, "error", 3, 4]
        assert next(batches, None) is None
        with pytest.raises(KeyError):
            list(loader)


@every_kind
def test_exceptions_of_the_batchify_function(kind):
    with DataLoader(["a", "b", "c"], 2, **kind) as loader, pytest.raises(TypeError, match="AsList") as caught:
        next(iter(loader))
    assert "raised by Stack() for the samples at indices [0, 1]" in caught.value.__notes__[0]


@pytest.mark.dear
@every_kind
def test_an_index_out_of_range(kind):
    with DataLoader(np.arange(4), 2, sampler=[0, 9], **kind) as loader, pytest.raises(IndexError) as caught:
        next(iter(loader))
    assert "indices [0, 9]" in caught.value.__notes__[0]


@every_kind
def test_stop_iteration_does_not_end_the_epoch_in_silence(kind):
    with DataLoader(data_samples.At(data_samples.stop_iteration, 1), 1, **kind) as loader, pytest.raises(RuntimeError):
        list(loader)


@every_pool
def test_an_exception_of_the_sampler_comes_in_its_turn(kind):
    def batches():
        yield [0]
        yield [1]
        raise LookupError("sampler")

    with DataLoader(np.arange(4), batch_sampler=batches(), **kind) as loader:
        epoch = iter(loader)
        assert [int(next(epoch).asnumpy()[0]) for _ in range(2)] == [0, 1]
        with pytest.raises(LookupError, match="sampler"):
            next(epoch)


def test_an_exception_that_cannot_be_sent():
    loader = DataLoader(data_samples.At(data_samples.fail_awkwardly, 0), 1, num_workers=1)
    with loader, pytest.raises(GluonxError, match="worker 0 raised AwkwardError, which cannot be sent") as caught:
        next(iter(loader))
    assert "fail_awkwardly" in str(caught.value.__cause__)


def test_a_batch_that_cannot_be_sent():
    loader = DataLoader(np.arange(4), 2, num_workers=1, batchify_fn=data_samples.unsendable)
    with loader, pytest.raises(Exception, match="unsendable") as caught:
        next(iter(loader))
    assert any("cannot be sent from the worker process" in note for note in caught.value.__notes__)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (data_samples.die, "was killed by SIGKILL .out of memory, perhaps. while it made batch 2 .* samples at .4, 5."),
        (data_samples.leave, "ended with exit code 3 while it made batch 2"),
    ],
    ids=["killed", "left"],
)
def test_a_worker_that_dies_raises(what, message):
    with DataLoader(data_samples.At(what, 4), 2, num_workers=2) as loader:
        batches = iter(loader)
        next(batches), next(batches)
        start = time.monotonic()
        with pytest.raises(GluonxError, match=message):
            next(batches)
        assert time.monotonic() - start < 5
        # A new epoch has new workers.
        assert next(iter(loader)).asnumpy().tolist() == [0, 1]


def test_a_worker_killed_from_outside_raises():
    with DataLoader(data_samples.Pid(), 1, num_workers=1, prefetch=0) as loader:
        batches = iter(loader)
        os.kill(int(next(batches).asnumpy()[0]), signal.SIGTERM)
        with pytest.raises(GluonxError, match="worker 0 was killed by SIGTERM"):
            for _ in batches:
                pass


@pytest.mark.dear
def test_a_hanging_process_raises_after_the_timeout_and_is_ended():
    before = running()
    with DataLoader(data_samples.At(data_samples.hang, 3), 1, num_workers=2, timeout=0.5) as loader:
        batches = iter(loader)
        for _ in range(3):
            next(batches)
        with pytest.raises(TimeoutError, match=r"waited 0.5 s for batch 3 of the epoch \(samples at \[3\]\)"):
            next(batches)
        assert settles_to(before)


@pytest.mark.dear
def test_a_hanging_thread_raises_after_the_timeout():
    before, gate = workers(), threading.Event()
    dataset = SimpleDataset(range(3)).transform(lambda i: gate.wait(60) and i)
    loader = DataLoader(dataset, 1, num_workers=1, thread_pool=True, timeout=0.1)
    with pytest.raises(TimeoutError, match=r"waited 0\.1 s"):
        next(iter(loader))
    gate.set()
    for thread in workers() - before:
        thread.join(2)


@pytest.mark.dear
@every_pool
def test_letting_go_ends_the_workers(kind):
    before = running()
    loader = DataLoader(data_samples.Squares(), 2, **kind)
    for _ in loader:
        break
    assert running() != before
    del loader, _
    assert settles_to(before)
    # In the middle of an epoch, the iterator alone keeps the workers.
    batches = iter(DataLoader(data_samples.Squares(), 2, **kind))
    next(batches)
    assert running() != before
    assert len(list(batches)) == 9
    del batches
    assert settles_to(before)


@every_pool
def test_closing(kind):
    before = running()
    loader = DataLoader(data_samples.Squares(), 2, **kind)
    batches = iter(loader)
    next(batches)
    loader.close()
    loader.close()
    assert settles_to(before)
    with pytest.raises(GluonxError, match="closed while it was iterated over"):
        list(batches)
    assert len(list(loader)) == 10
    loader.close()


@every_pool
def test_closing_with_batches_under_way(kind):
    """Whatever a task was doing, reading its batch says at once that the loader is closed."""
    loader = DataLoader(data_samples.Slow(), 1, prefetch=20, **kind)
    batches = iter(loader)
    loader.close()
    start = time.monotonic()
    with pytest.raises(GluonxError, match="closed while it was iterated over"):
        for _ in range(21):
            next(batches)
    assert time.monotonic() - start < 2


@pytest.mark.dear
def test_pools_leave_no_descriptors():
    process = psutil.Process()

    def use(dataset, **kwargs):
        with DataLoader(dataset, 2, num_workers=2, **kwargs) as loader, contextlib.suppress(KeyError, GluonxError):
            list(loader)

    before = process.num_fds()
    for _ in range(3):
        use(np.zeros((8, 100, 100), np.float32))
        use(data_samples.At(data_samples.fail, 3))
        use(data_samples.At(data_samples.die, 3))
        use(data_samples.Squares(), auto_reload=True, prefetch=9)
    assert process.num_fds() == before


@pytest.mark.dear
def test_an_interrupt_leaves_the_loader_usable():
    with DataLoader(data_samples.Slow(), 8, num_workers=1, prefetch=1) as loader:
        batches = iter(loader)
        threading.Timer(0.01, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        got = []
        with pytest.raises(KeyboardInterrupt):
            for _ in range(100):
                got += next(batches).asnumpy().tolist()
                time.sleep(0.01)
        # No batch was lost but, at most, the one that was being handed out.
        rest = [b.asnumpy().tolist() for b in batches]
        assert rest and rest[-1][-1] == 23
        assert len(list(loader)) == 3


def test_what_cannot_be_sent_is_read_by_one_thread():
    seen = set()

    def note(i):
        seen.add(threading.current_thread().name)
        return i

    message = r"cannot be sent to worker processes, so one background thread .* \(pass thread_pool=True to have 2"
    with DataLoader(SimpleDataset(range(6)).transform(note), 2, num_workers=2) as loader:
        with pytest.warns(UserWarning, match=message) as w:
            assert np.concatenate([b.asnumpy() for b in loader]).tolist() == list(range(6))
        assert w[0].filename == __file__
        list(loader)  # and one warning is enough
    assert seen == {"gluonx-data-0"}


@pytest.mark.dear
def test_a_dataset_that_cannot_be_received():
    loader = DataLoader(SimpleDataset([Unreceivable()]), 1, num_workers=1)
    with loader, pytest.raises(OSError, match="far") as caught:
        next(iter(loader))
    assert "while a worker process received the dataset" in caught.value.__notes__[0]


class Unreceivable:
    """Is pickled here and refuses there."""

    def __reduce__(self):
        return refuse, (os.getpid(),)


def refuse(pid):
    if os.getpid() != pid:
        raise OSError("far from home")


@pytest.mark.dear
def test_one_copy_of_a_big_dataset_for_all_workers():
    """The array lies once in shared memory; a worker that writes to it writes to its own pages."""
    rows = np.zeros((4, 1 << 16), np.float32)
    with DataLoader(SimpleDataset(rows).transform(data_samples.write_to_it), 1, num_workers=2) as loader:
        got = np.concatenate([b.asnumpy() for _ in range(3) for b in loader])
    assert not rows.any() and got.min() >= 1


def run(tmp_path, script, **popen):
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(script))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    return subprocess.Popen(
        [sys.executable, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, **popen
    )


GUARDED = """
    import numpy as np
    from gluonx.data import DataLoader
    print("imported as", __name__)

    class Mine:
        def __len__(self): return 4
        def __getitem__(self, i): return i * 10

    if __name__ == "__main__":
        for batch in DataLoader(Mine(), 2, num_workers=1):
            print(batch.asnumpy().tolist())
"""


@pytest.mark.dear
def test_a_dataset_of_a_guarded_script_goes_to_processes(tmp_path):
    out, err = run(tmp_path, GUARDED).communicate(timeout=60)
    assert out.splitlines() == ["imported as __main__", "imported as __mp_main__", "[0, 10]", "[20, 30]"], err
    assert not err


@pytest.mark.dear
def test_an_unguarded_script_is_not_run_again(tmp_path):
    script = GUARDED.replace('if __name__ == "__main__":', "if True:")
    out, err = run(tmp_path, script).communicate(timeout=60)
    assert out.splitlines() == ["imported as __main__", "[0, 10]", "[20, 30]"], err
    assert "UserWarning: the dataset cannot be sent to worker processes" in err
    plain = script.replace("DataLoader(Mine(),", "DataLoader(np.arange(0, 40, 10),")
    out, err = run(tmp_path, plain).communicate(timeout=60)
    assert out.splitlines() == ["imported as __main__", "[0, 10]", "[20, 30]"], err
    assert not err


ENDLESS = """
    import os, sys, time
    import numpy as np
    from gluonx.data import DataLoader
    loader = DataLoader(np.arange(1000), 1, num_workers=2)
    for batch in loader:
        print("ready", flush=True)
        for _ in range(1200):  # in one long sleep, Python may miss a signal that comes just before it
            time.sleep(0.05)
"""


@pytest.mark.dear
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM], ids=lambda s: s.name)
def test_no_process_outlives_the_program(tmp_path, sign):
    program = run(tmp_path, ENDLESS, start_new_session=True)
    assert program.stdout.readline() == "ready\n"
    family = psutil.Process(program.pid).children(recursive=True)
    assert len(family) == 4  # the nursery, the keeper and two workers
    # A Ctrl-C in a terminal reaches all of them.
    os.killpg(program.pid, sign) if sign == signal.SIGINT else program.send_signal(sign)
    _, err = program.communicate(timeout=20)
    _, alive = psutil.wait_procs(family, timeout=10)
    assert not alive
    assert err.count("Traceback") == (sign == signal.SIGINT), err


@pytest.mark.dear
def test_the_end_of_a_program_in_the_middle_of_an_epoch(tmp_path):
    script = ENDLESS.replace("print(", "held = [loader, iter(loader)]; break  # ")
    program = run(tmp_path, script)
    out, err = program.communicate(timeout=60)
    assert (program.returncode, out, err) == (0, "", "")


@pytest.mark.dear
def test_the_last_pool_takes_the_nursery_with_it(tmp_path):
    out, err = run(
        tmp_path,
        """
        import time
        import psutil
        import numpy as np
        from gluonx.data import DataLoader
        first, second = (DataLoader(np.arange(4), 2, num_workers=1) for _ in range(2))
        for loader in (first, second):
            for _ in loader: pass
        def count():
            time.sleep(0.1)
            return len(psutil.Process().children(recursive=True))
        print(count())
        first.close()
        print(count())
        second.close()
        print(count())
        print(len(list(second)), count())
        """,
    ).communicate(timeout=60)
    assert out.split() == ["5", "3", "0", "2", "3"], err
    assert not err


@pytest.mark.dear
def test_a_forked_process_has_a_nursery_of_its_own(tmp_path):
    out, err = run(
        tmp_path,
        """
        import os, warnings
        import numpy as np
        from gluonx.data import DataLoader
        warnings.simplefilter("always", ResourceWarning)
        loader = DataLoader(np.arange(4), 2, num_workers=1)
        print(len(list(loader)), flush=True)
        if os.fork() == 0:
            print(len(list(DataLoader(np.arange(6), 2, num_workers=1))), flush=True)
            os._exit(0)
        os.wait()
        print(len(list(loader)))
        """,
    ).communicate(timeout=60)
    assert out.split() == ["2", "3", "2"], err
    assert "ResourceWarning" not in err, err


@pytest.mark.dear
def test_jax_is_not_started_in_workers_and_parents_may_have_threads():
    """No fork of this process happens (JAX would warn, and a warning is an error here), and workers stay NumPy only."""
    with DataLoader(data_samples.Backends(), 1, num_workers=1) as loader:
        assert int(next(iter(loader)).asnumpy()[0]) == 0


@pytest.mark.dear
def test_processes_of_a_forked_child_are_left_alone(monkeypatch):
    """A copy of the loader in a forked process must not close the original's workers."""
    with DataLoader(data_samples.Squares(), 2, num_workers=1) as loader:
        batches = iter(loader)
        next(batches)
        _, close, arguments, _ = loader._pool._finalizer.peek()
        with monkeypatch.context() as patch:
            patch.setattr(os, "getpid", lambda: -1)
            close(*arguments)
        assert len(list(batches)) == 9


@pytest.mark.dear
def test_batchify_settings_reach_the_workers():
    pad = batchify.Pad(val=9, round_to=4)
    with DataLoader(SimpleDataset([[1], [1, 2]]), 2, num_workers=1, batchify_fn=pad) as loader:
        assert next(iter(loader)).asnumpy().tolist() == [[1, 9, 9, 9], [1, 2, 9, 9]]


@pytest.mark.dear
def test_a_batch_is_sent_where_it_lies(monkeypatch):
    monkeypatch.setattr(_wire.Worker, "sends", True)
    batch, other = _wire.empty((3, 1 << 18), np.dtype(np.float32)), np.arange(30000.0)
    batch[:] = 1
    here, there = socket.socketpair()
    with here, there:
        _wire.send(here, [batch, other, batch[0], "text"])
        same, *rest = _wire.receive(there)
    batch[2, 5] = 7
    assert same[2, 5] == 7 and same.sum() == batch.sum()
    assert rest[0].tolist() == other.tolist() and rest[1].tolist() == [1] * (1 << 18) and rest[2] == "text"
    assert len(_wire._files) == 1
    del batch
    assert not _wire._files
    assert _wire.empty((3,), np.dtype(np.float32)).base is None


@pytest.mark.slow
@every_kind
def test_memory_is_flat_over_20_epochs(kind):
    def in_use():
        gc.collect()
        this = psutil.Process()
        return sum(p.memory_info().rss for p in (this, *this.children(recursive=True)))

    batch = 16 * 3 * 224 * 224 * 4
    with DataLoader(data_samples.Blank(), 16, shuffle=True, **kind) as loader:
        for epoch in range(23):
            for x in loader:
                x.wait_to_read()
            if epoch == 2:
                before = in_use()
        del x
        assert in_use() - before < 6 * batch  # of the 80 that were loaded since
