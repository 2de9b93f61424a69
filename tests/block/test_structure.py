"""Who looks at its parameters again: the blocks of a net whose parts changed, and no others."""

import copy
import pickle
import threading

import pytest

import gluonx
from gluonx import autograd, nn, np
from gluonx.block.block import Block
from gluonx.block.structure import Structure


def make(hybrid=True):
    net = nn.HybridSequential()
    net.add(nn.Dense(3, in_units=2), nn.Dense(1, in_units=3))
    net.initialize()
    if hybrid:
        net.hybridize()
    return net


def trainer_of(net):
    return gluonx.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})


def step(net, trainer):
    with autograd.record():
        loss = net(np.ones((4, 2))).sum()
    loss.backward()
    trainer.step(4)


@pytest.fixture
def walks(monkeypatch):
    """A list of the outermost blocks that are walked over."""
    found, walk = [], Block._walk

    def counted(self, prefix=""):
        if not prefix:
            found.append(self)
        return walk(self, prefix)

    monkeypatch.setattr(Block, "_walk", counted)
    return found


@pytest.mark.dear
@pytest.mark.parametrize("hybrid", [True, False], ids=["hybridized", "plain"])
def test_another_net_has_nobody_walk_over_its_parameters_again(walks, hybrid):
    net = make(hybrid)
    trainer = trainer_of(net)
    for _ in range(3):
        step(net, trainer)
    names = list(net.collect_params())
    walks.clear()
    for _ in range(3):
        other = make(hybrid)
        step(other, trainer_of(other))
        other.cast("float16")
        step(net, trainer)
        assert list(net.collect_params()) == names
    assert all(walked is not net for walked in walks) and walks


def test_a_change_below_is_seen_above():
    outer, inner = nn.HybridSequential(), make()
    outer.add(inner)
    outer.hybridize()
    before = outer(np.ones((1, 2)))
    assert list(outer.collect_params()) == ["0.0.weight", "0.0.bias", "0.1.weight", "0.1.bias"]
    inner.add(nn.Dense(5, in_units=1))
    inner[2].initialize()
    assert list(outer.collect_params())[-2:] == ["0.2.weight", "0.2.bias"]
    assert before.shape == (1, 1) and outer(np.ones((1, 2))).shape == (1, 5)


def test_nets_that_share_a_parameter_see_its_cast():
    one, two = nn.Dense(2, in_units=2), nn.Dense(2, in_units=2)
    one.initialize(), two.initialize()
    two.share_parameters(one.collect_params())
    one.hybridize(), two.hybridize()
    x = np.ones((1, 2))
    assert one(x).dtype == two(x).dtype == np.float32
    for param in two.collect_params().values():
        param.cast("float16")
    assert one(x.astype("float16")).dtype == two(x.astype("float16")).dtype == np.float16


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))], ids=["copy", "pickle"])
def test_a_copy_has_a_structure_of_its_own(walks, copied):
    net = make()
    net(np.ones((1, 2)))
    twin = copied(net)
    twin.hybridize()
    assert twin(np.ones((1, 2))).tolist() == net(np.ones((1, 2))).tolist()
    walks.clear()
    twin[0].extra = gluonx.gluon.Parameter("extra", shape=(1,))
    net(np.ones((1, 2)))
    assert walks == [] and "0.extra" not in net.collect_params()
    assert "0.extra" in twin.collect_params()


def test_a_shallow_copy_shares_the_parts_and_their_changes():
    net = make()
    assert len(net.collect_params()) == 4
    twin = copy.copy(net)
    twin.add(nn.Dense(1, in_units=1))
    assert len(net.collect_params()) == len(twin.collect_params()) == 6


def test_a_block_that_holds_its_holder_is_copied():
    net = make()
    net[0].__dict__["above"] = [net]
    twin = copy.deepcopy(net[0])
    (above,) = twin.above
    assert above[0] is twin
    assert "0.extra" not in above.collect_params()
    twin.extra = gluonx.gluon.Parameter("extra", shape=(1,))
    assert "0.extra" in above.collect_params()


def test_versions_come_once():
    one, two, three = Structure(), Structure(), Structure()
    seen = {one.version, two.version, three.version}
    two.join(three)
    one.join(two)
    assert two.version == three.version == 0 and three.whole() is one
    assert one.version not in seen
    before = one.version
    three.changed()
    assert one.version > before
    one.join(three)  # a part that it has already counts as a change too
    assert one.version > before + 1


def test_who_interrupts_a_join_may_join_the_same():
    """A signal handler runs on the thread that it interrupts, which may hold the lock."""
    three, joined = Structure(), []

    class Interrupted(Structure):
        __slots__ = ()

        def whole(self):
            found = super().whole()
            if not joined:
                joined.append(True)
                three.join(self)
            return found

    one, two = Structure(), Interrupted()
    thread = threading.Thread(target=one.join, args=(two,), daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    assert one.whole() is two.whole() is three.whole()
