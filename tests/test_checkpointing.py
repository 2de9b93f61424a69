"""Checkpoints hold all that the next step depends on, and are read on any mesh, or refused."""

import os

import numpy as onp
import pytest

import gluonx
from gluonx import Trainer, autograd, checkpoint, gluon, lr_scheduler, nn, np, parallel
from gluonx.errors import ArgumentError, FormatError, MismatchError, UninitializedError
from lib.interrupting import Interrupter, Stop
from lib.meshes import on

# Orbax leaves reads that failed to its closed event loop.
pytestmark = [
    pytest.mark.usefixtures("collected"),
    pytest.mark.filterwarnings(
        "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
    ),
]


def raising():
    raise Stop


class Training:
    def __init__(self, mesh=None, units=16, optimizer="adam", rules=()):
        self.mesh = mesh
        with parallel.use(mesh):
            self.net = nn.HybridSequential()
            self.net.add(nn.Dense(units, activation="relu"), nn.BatchNorm(), nn.Dropout(0.5), nn.Dense(8))
            self.net.initialize()
            if mesh is not None:
                self.net.shard(*rules)
            self.net.hybridize()
            schedule = lr_scheduler.FactorScheduler(step=2, factor=0.5, base_lr=0.1)
            settings = {"learning_rate": 0.1, "lr_scheduler": schedule}
            self.trainer = Trainer(self.net.collect_params(), optimizer, settings)
        x = onp.random.default_rng(1).standard_normal((40, 12)).astype("float32")
        self.loader = gluon.data.DataLoader(gluon.data.ArrayDataset(x), batch_size=8, shuffle=True)
        self.batches = iter(())

    def kept(self, folder, **more):
        return checkpoint.Checkpoints(folder, self.net, self.trainer, self.loader, **more)

    def steps(self, count):
        losses = []
        with parallel.use(self.mesh):
            while len(losses) < count:
                x = next(self.batches, None)
                if x is None:
                    self.batches = iter(self.loader)
                    continue
                with autograd.record():
                    loss = (self.net(x) ** 2).mean()
                loss.backward()
                self.trainer.step(1)
                losses.append(loss.item())
        return losses


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A training on four devices: its folder, and the losses of the four steps behind its last checkpoint."""
    folder = tmp_path_factory.mktemp("checkpoints") / "kept"
    gluonx.random.seed(5)
    training = Training(on(4, data=4), rules=[parallel.fsdp(min_size=8)])
    with training.kept(folder, keep=2) as kept:
        for step in (3, 6, 7):
            training.steps(step - (kept.steps[-1] if kept.steps else 0))
            kept.save(step)
            kept.wait()
        assert kept.steps == [6, 7]  # the latest two
        with pytest.raises(ArgumentError, match="there is a checkpoint of step 7"):
            kept.save(7)
        after = training.steps(4)
    return folder, after


@pytest.mark.dear
@pytest.mark.parametrize(
    ("axes", "rules"),
    [(None, []), ({"data": 4}, [parallel.fsdp(min_size=8)]), ({"data": 2, "model": 2}, [parallel.tensor()])],
)
def test_it_goes_on_on_any_mesh(saved, axes, rules):
    folder, after = saved
    mesh = None if axes is None else on(4, **axes)
    training = Training(mesh, rules=rules)
    with parallel.use(mesh), training.kept(folder) as kept:
        assert kept.restore() == 7
    found = training.steps(4)
    if axes == {"data": 4}:
        assert found == after  # to the last bit
        assert training.net[0].weight.data()._read().sharding.spec == training.net[0].weight.sharding.spec
    onp.testing.assert_allclose(found, after, rtol=1e-4)
    assert training.trainer.optimizer.num_update == 11


@pytest.mark.dear
def test_another_net_is_refused_and_nothing_changes(saved):
    folder, _ = saved
    other = Training(units=20)
    other.net(np.ones((2, 12)))
    before = other.net[0].weight.data().asnumpy()
    with other.kept(folder) as kept, pytest.raises(MismatchError, match=r"'0.weight' is float32\[16, 12\] there and"):
        kept.restore()
    assert (other.net[0].weight.data().asnumpy() == before).all()
    rest = Training(optimizer="nag")
    with rest.kept(folder) as kept, pytest.raises(MismatchError, match=r"of the optimizer Adam .* has NAG"):
        kept.restore()
    net = nn.Dense(3)
    with checkpoint.Checkpoints(folder, net) as kept, pytest.raises(UninitializedError):
        kept.restore()
    net.initialize()
    with checkpoint.Checkpoints(folder, net) as kept, pytest.raises(MismatchError, match=r"lacks the parameters"):
        kept.restore()


def cut(folder):
    """Cuts every large file of a checkpoint in half, as a machine that stops may leave them."""
    for path, _, names in os.walk(folder):
        for name in names:
            file = os.path.join(path, name)
            if os.path.basename(path) == "d":
                os.truncate(file, os.path.getsize(file) // 2)


@pytest.mark.dear
def test_a_checkpoint_that_was_cut_off_is_passed_over(tmp_path):
    training = Training()
    with training.kept(tmp_path / "kept") as kept:
        assert kept.restore() is None
        for step in (1, 2):
            training.steps(1)
            kept.save(step)
        weights = None
        kept.wait()
        weights = training.net[0].weight.data().asnumpy()
    os.mkdir(tmp_path / "kept" / "3.orbax-checkpoint-tmp")
    again = Training()
    with again.kept(tmp_path / "kept") as kept:
        assert kept.restore() == 2
    assert (again.net[0].weight.data().asnumpy() == weights).all()
    cut(tmp_path / "kept" / "2")
    last = Training()
    with last.kept(tmp_path / "kept") as kept:
        with pytest.warns(UserWarning, match="step 2 cannot be read, the one before is taken"):
            assert kept.restore() == 1
        assert (last.net[0].weight.data().asnumpy() != weights).any()
        with pytest.raises(FormatError, match="step 2 cannot be read"):
            kept.restore(2)
    cut(tmp_path / "kept" / "1")
    with last.kept(tmp_path / "kept") as kept, pytest.raises(FormatError), pytest.warns(UserWarning):
        kept.restore()


def test_an_interrupted_save_loses_nothing_but_itself(tmp_path):
    """An exception that ends ``save``, wherever a signal can come, leaves a whole checkpoint or none."""
    training = Training()
    training.steps(1)
    weight = next(iter(training.net.collect_params().values()))
    values = {}
    with training.kept(tmp_path / "kept", keep=100) as kept:
        for step in range(1, 9):
            values[step] = weight.data().asnumpy()
            with Interrupter(raising, 1, 1, first=(step - 1) * 37, as_signals=True) as comes:
                try:
                    kept.save(step)
                except Stop:
                    assert comes.count
            training.steps(1)
        kept.save(9)
        kept.wait()
        there = kept.steps
        assert there[-1] == 9
        for step in there[:-1]:
            assert kept.restore(step) == step
            onp.testing.assert_array_equal(weight.data().asnumpy(), values[step])
