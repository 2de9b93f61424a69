"""Real processes train as one does, differ with a name, and go on after a kill with the same bits."""

import re
import socket
import threading

import jax
import numpy as onp
import pytest

from gluonx import gluon, parallel
from gluonx.errors import DeviceError, ShapeError
from gluonx.parallel import batches, launch, roll
from lib.launched import launched

STEPS = "steps=5"


@pytest.fixture(scope="module")
def alone():
    return launched(1, "seed=3", STEPS, options=["--devices-per-process", "2"])


@pytest.mark.dear
def test_two_processes_train_as_one(alone):
    two = launched(2, "seed=3", STEPS)
    assert (alone.status, two.status) == (0, 0), two.err
    assert len(alone.losses()) == 5
    assert two.losses(0) == two.losses(1) == alone.losses()
    assert two.weights(0) == two.weights(1) == alone.weights()
    assert alone.read(0) == 80 and two.read(0) == two.read(1) == 40  # each process reads its rows of each batch


@pytest.mark.slow
def test_four_processes_train_as_one():
    one, four = launched(1, "seed=3", STEPS, options=["--devices-per-process", "4"]), launched(4, "seed=3", STEPS)
    assert (one.status, four.status) == (0, 0), four.err
    assert four.losses(3) == one.losses() and four.weights(2) == one.weights()
    assert [four.read(rank) for rank in range(4)] == [20] * 4


@pytest.mark.slow
def test_processes_agree_on_a_seed_that_nobody_chose():
    run = launched(2, STEPS)
    assert run.status == 0 and run.losses(0) == run.losses(1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["fault=code"], r"process 1 of 2 \(.*pid \d+\): at .*train.py:\d+ in main, a program \(\w+\) of"),
        (
            ["fault=shape"],
            r"process 1 of 2 .*, a program \(\w+\) of (.*\n)+?.*process 0 of 2 .*: nothing; it is behind by 6 s",
        ),
        (["fault=length"], r"process 1 of 2 \(.*\): an epoch of 3 batches"),
        (["fault=seed"], r"process 1 of 2 \(.*\): an epoch of 4 batches, the first of samples"),
        (["fault=uneven", "local=1"], r"process 1 of 2 \(.*\): its part of a batch is of float32\[9, 12\], int32\[9\]"),
        # The last batch of both is shorter; that of one alone, for which the other waits in a collective.
        (
            ["fault=uneven-both", "local=1"],
            r"process 1 of 2 \(.*\): its part of a batch is of float32\[3, 12\], int32\[3\]",
        ),
        (
            ["fault=uneven-last", "local=1"],
            r"process 1 of 2 .*: its part of a batch is of float32\[3, 12\].*\n(.*\n)*?.*process 0 of 2.*: nothing",
        ),
        (["fault=raise"], r"process 1 of 2 \(.*\) failed: ValueError: of mine"),
    ],
)
def test_a_process_that_differs_is_named(arguments, said):
    run = launched(2, "seed=3", *arguments, options=["--timeout", "6"], timeout=60)
    assert run.status != 0
    assert re.search(said, run.err), run.err


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_process_ends_the_others_and_the_restart_has_the_same_bits(tmp_path, rank, alone):
    folder = f"folder={tmp_path / 'kept'}"
    killed = launched(2, "seed=3", STEPS, folder, "wait=1", f"kill={rank}:4", options=["--heartbeat", "10"], timeout=60)
    assert killed.status == 128 + 9
    assert f"process {rank} of 2 was killed by SIGKILL; the others end" in killed.err
    assert f"process {rank}" in killed.err and "Start all again from the last checkpoint" in killed.err
    again = launched(2, STEPS, folder)
    assert again.status == 0 and "[0] begins at step 2" in again.out
    assert again.losses() == {step: loss for step, loss in alone.losses().items() if step > 2}
    assert again.weights() == alone.weights()
    fewer = launched(1, "steps=5", folder, options=["--devices-per-process", "2"])
    assert fewer.status == 0 and "[0] begins at step 4" in fewer.out  # of two processes, read by one
    assert fewer.losses() == {5: alone.losses()[5]} and fewer.weights() == alone.weights()


_PHASES = ["data", "batch", "forward", "backward", "running", "step", "saving", "writing", "written"]


@pytest.mark.slow
@pytest.mark.parametrize("phase", _PHASES)
def test_a_process_that_is_killed_in_any_phase_costs_time_alone(tmp_path, phase, alone):
    """In any phase of a step and of a checkpoint: what is there is whole, and the restart ends with the same bits."""
    rank, folder = _PHASES.index(phase) % 2, f"folder={tmp_path / 'kept'}"
    options = ["--heartbeat", "10"]
    kill = [f"kill={rank}:4", f"at={phase}"]
    killed = launched(2, "seed=3", STEPS, folder, "wait=1", *kill, options=options, timeout=120)
    assert killed.status == 128 + 9, killed.err
    assert f"process {rank} of 2 was killed by SIGKILL; the others end" in killed.err
    again = launched(2, STEPS, folder)
    assert again.status == 0, again.err
    begin = int(re.search(r"^\[0\] begins at step (\d+)$", again.out, re.M)[1])
    assert begin in ({4} if phase == "written" else {2, 4} if phase in ("saving", "writing") else {2})
    assert again.losses() == {step: loss for step, loss in alone.losses().items() if step > begin}
    assert again.losses(1) == again.losses(0) and again.weights() == again.weights(1) == alone.weights()


@pytest.mark.slow
def test_a_checkpoint_of_four_devices_is_read_on_two(tmp_path):
    folder = f"folder={tmp_path / 'kept'}"
    two_each = ["--devices-per-process", "2"]
    four = launched(2, "seed=3", "steps=2", folder, "marks=1", options=two_each)
    assert four.status == 0, four.err
    saved = re.search(r"^\[0\] saved 2 (\w+)$", four.out, re.M)[1]
    ends = []
    for count, options in ((2, []), (1, two_each)):  # two processes with a device each; one with two
        found = launched(count, "steps=3", folder, "marks=1", options=options)
        assert found.status == 0 and "[0] begins at step 2" in found.out, found.err
        assert re.search(r"^\[0\] restored (\w+)$", found.out, re.M)[1] == saved
        ends.append((found.losses(), found.weights()))
    assert ends[0] == ends[1] and list(ends[0][0]) == [3]


def test_launch_says_what_it_cannot_start(capsys, tmp_path):
    assert launch.main(["-n", "2", str(tmp_path / "none.py")]) == 2
    assert "there is no file" in capsys.readouterr().err
    script = tmp_path / "some.py"
    script.touch()
    assert launch.main(["-n", "0", str(script)]) == 2
    assert "at least 1" in capsys.readouterr().err


# ---------------------------------------------------------------------------------------------------------- the roll


@pytest.fixture
def members():
    """Three processes' ends of a roll call, and what they hear of each other's death."""
    server, lost = roll.Server(3, 2.0, "127.0.0.1"), []
    found = [roll.Member(["127.0.0.1"], server.port, server.token, rank, lost.append) for rank in range(3)]
    yield found, lost
    for member in found:
        member.leave()


def ask(members, marks):
    """What each member hears when it calls with its mark; None where all is well."""
    heard = {}

    def call(rank, mark):
        try:
            members[rank].call(mark, f"told {mark}")
            heard[rank] = None
        except DeviceError as error:
            heard[rank] = str(error)

    threads = [threading.Thread(target=call, args=pair) for pair in marks.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    return heard


@pytest.mark.dear
def test_a_roll_call(members):
    ends, lost = members
    assert ask(ends, {0: "a", 1: "a", 2: "a"}) == {0: None, 1: None, 2: None}
    heard = ask(ends, {0: "a", 1: "b", 2: "a"})
    assert heard[0] == heard[1] == heard[2]
    assert "process 0 of 3" in heard[0] and "told a" in heard[0]
    assert "process 1 of 3" in heard[0].split("\n")[1] and heard[0].endswith("told b")
    late = ask(ends, {0: "c", 2: "c"})
    assert "process 1 of 3" in late[0] and "nothing; it is behind by 2 s" in late[2]
    assert not lost


@pytest.mark.dear
def test_a_death_is_told(members):
    ends, lost = members
    ask(ends, {0: "a", 1: "a", 2: "a"})
    ends[2]._left = True
    ends[2]._socket.shutdown(socket.SHUT_RDWR)
    ask(ends, {0: "b", 1: "b"})
    assert len(lost) == 2 and "process 2 of 3" in lost[0] and "ended without a word" in lost[0]


def test_a_stranger_is_not_heard():
    server = roll.Server(1, 2.0, "127.0.0.1")
    with socket.create_connection(("127.0.0.1", server.port), 5) as stranger:
        stranger.sendall(b'{"rank": 0, "token": "guessed", "name": "x"}\n')
        assert stranger.recv(10) == b""
    with socket.create_connection(("127.0.0.1", server.port), 5) as stranger:
        stranger.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert stranger.recv(10) == b""


# ------------------------------------------------------------------------------------------------------------ batches


def test_rows_of_a_share():
    with parallel.use(parallel.mesh(data=4, model=2)):
        assert batches.share_of(8) is None  # all of the mesh is here
        share = batches.Share(8, [2, 3, 6, 7])
        with pytest.raises(ShapeError, match="this process reads 4, but made an array of shape"):
            share.joined(onp.zeros((3, 2), "float32"))
        whole = batches.Share(8, list(range(8))).joined(onp.arange(16, dtype="float32").reshape(8, 2))
        assert whole.sharding.spec == jax.P("data") and whole[5].tolist() == [10, 11]
        x, (y, n) = parallel.from_local((onp.ones((8, 3)), (onp.arange(8), onp.float32([1, 2, 3, 4]))))
        assert x.shape == (8, 3) and y.dtype == onp.int64 and n.tolist() == [1, 2, 3, 4]
        assert parallel.gather(x).shape == (8, 3)
        with pytest.raises(ShapeError, match="an axis of samples"):
            parallel.from_local(3.0)
    with pytest.raises(DeviceError, match="no mesh is in use"):
        parallel.from_local(onp.ones(8))


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_goes_on_where_it_was(workers):
    data = gluon.data.ArrayDataset(onp.arange(40, dtype="float32"))
    settings = {"batch_size": 8, "shuffle": True, "num_workers": workers, "thread_pool": True}
    loader = gluon.data.DataLoader(data, **settings)
    epoch = iter(loader)
    first = [next(epoch).tolist() for _ in range(2)]
    kept = loader.state_dict()
    rest = [batch.tolist() for batch in epoch]
    assert loader.state_dict() == {"epoch": None}
    other = gluon.data.DataLoader(data, **settings)
    other.load_state_dict(kept)
    assert [batch.tolist() for batch in other] == rest and len(first + rest) == 5
    assert len(list(other)) == 5  # the epoch after is a whole one
