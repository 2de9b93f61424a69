"""What a class of the user's overrides is asked, as by MXNet: numbers are those of MXNet 2.0."""

import copy
import json
import pickle

import pytest

import gluonx
from gluonx import autograd, compat, engine, np
from lib import TESTS
from lib.golden import load_cases

cases = load_cases("overrides")
GOLDEN = json.loads((TESTS / "oracle" / "overrides" / "golden.json").read_text(encoding="utf-8"))


def row(table, case):
    """A row; those of optimizers train by many rules each, and take seconds."""
    return pytest.param(table, case, marks=[pytest.mark.dear] if table == "OPTIMIZER" else [])


@pytest.mark.parametrize(("table", "case"), [row(table, case) for table in GOLDEN for case in GOLDEN[table]])
def test_the_override_is_asked(table, case):
    found = json.loads(json.dumps(getattr(cases, table)[case](gluonx)))
    agree(found, GOLDEN[table][case], case)


def agree(found, wanted, where):
    """Compare nested lists, numbers as float32 allows."""
    if isinstance(wanted, dict):
        assert sorted(found) == sorted(wanted), (where, found, wanted)
        for key in wanted:
            agree(found[key], wanted[key], f"{where}[{key}]")
    elif isinstance(wanted, list):
        assert isinstance(found, list) and len(found) == len(wanted), (where, found, wanted)
        for k, (one, other) in enumerate(zip(found, wanted, strict=True)):
            agree(one, other, f"{where}[{k}]")
    elif isinstance(wanted, float):
        assert found == pytest.approx(wanted, rel=2e-4, abs=2e-6), (where, found, wanted)
    else:
        assert found == wanted, (where, found, wanted)


def test_a_store_may_write_one_array_to_two_names_of_a_device():
    """cpu(8) is the cpu(0) of a machine of eight: what is written to both is no buffer that they share."""
    case = "two_devices_and_a_store_that_writes_one_array"
    agree(cases.TRAINER[case](gluonx, devices=(0, 8)), GOLDEN["TRAINER"][case], case)


@pytest.mark.parametrize(("base", "method"), [("PearsonCorrelation", "update_cov"), ("PCC", "_calc_mcc")])
def test_a_method_that_is_never_asked_is_refused(base, method):
    with pytest.raises(TypeError, match=f"Mine defines {method}, which {base} would never call"):
        type("Mine", (getattr(gluonx.metric, base),), {method: lambda self, *args: None})


def halving(trainer=gluonx.Trainer):
    class Halving(trainer):
        def _allreduce_grads(self):
            for param in self._params:
                param.grad()[:] = param.grad() / 2

    return Halving


def stepped(trainer, net, **options):
    with autograd.record():
        loss = (net(np.ones((1, 2))) ** 2).sum()
    loss.backward()
    trainer.step(1, **options)


def test_the_plain_way_is_told_and_the_other_costs_nothing():
    net = cases.made(gluonx)
    one, plain = gluonx.Trainer(net.collect_params(), "sgd"), halving()(net.collect_params(), "sgd")
    for trainer in (one, plain):
        stepped(trainer, net), stepped(trainer, net)
        engine.reset_stats()
        stepped(trainer, net)
        stats = engine.stats()
        told = "1 step(s) of a Trainer took the plain way, not one program: Halving overrides _allreduce_grads"
        assert (told in engine.explain()) == (trainer is plain)
        assert stats["programs_compiled"] == 0
        if trainer is one:
            assert stats["dispatches"] == 1


@pytest.mark.parametrize("name", ["nag", "adam"])
def test_rates_of_a_class_leave_the_step_one_program(name):
    class Own(type(gluonx.optimizer.create(name))):
        def _get_lr(self, index):
            return 0.1 / (1 + self.num_update)

    net = cases.made(gluonx)
    trainer = gluonx.Trainer(net.collect_params(), Own())
    stepped(trainer, net), stepped(trainer, net)
    engine.reset_stats()
    stepped(trainer, net)
    stats = engine.stats()
    assert (stats["dispatches"], stats["programs_compiled"]) == (1, 0) and "plain way" not in engine.explain()


def test_an_override_of_get_lr_is_asked_where_mxnet_asks_for_all_rates():
    """SGD of MXNet 1.9 and 2.0 asks ``_get_lrs`` alone; keras-mxnet's, of 1.2, answers in ``_get_lr``."""

    class Own(gluonx.optimizer.SGD):
        def __init__(self, lr):
            super().__init__(learning_rate=lr)
            self.lr = np.array([lr])

        def _get_lr(self, index):
            return self.lr.item() / 2

    net, twin = cases.made(gluonx), cases.made(gluonx)
    stepped(gluonx.Trainer(net.collect_params(), Own(0.1)), net)
    stepped(gluonx.Trainer(twin.collect_params(), "sgd", {"learning_rate": 0.05}), twin)
    assert net.weight.data().tolist() == twin.weight.data().tolist()


def test_what_has_no_meaning_beside_an_override_is_refused():
    net = cases.made(gluonx)
    trainer = halving()(net.collect_params(), "sgd")
    with pytest.raises(ValueError, match="Halving overrides _allreduce_grads"):
        stepped(trainer, net, value=np.ones(()))
    with pytest.raises(
        ValueError, match=r"step\(closure=...\) is not possible, because Halving overrides _allreduce_g"
    ):
        trainer.step(1, closure=lambda: net(np.ones((1, 2))).sum())
    before = trainer.optimizer.rescale_grad
    with pytest.raises(ValueError, match="batch_size must be a positive number"):
        trainer.step(0)
    assert trainer.optimizer.rescale_grad == before


def test_states_of_updaters_go_to_files_and_copies(tmp_path):
    """Whoever has seen ``_updaters[0].states`` saves, copies and goes on as if he had not."""
    net, twin = cases.made(gluonx), cases.made(gluonx)
    seeing, other = [gluonx.Trainer(n.collect_params(), "adam", {"learning_rate": 0.1}) for n in (net, twin)]
    for k in range(4):
        stepped(seeing, net), stepped(other, twin)
        if k == 1:
            states = seeing._updaters[0].states
            assert {i: len(state) for i, state in states.items()} == {0: 2, 1: 2}
    for trainer in (seeing, other):
        trainer.save_states(tmp_path / "states")
    for name, value in other._states().items():
        assert seeing._states()[name] == pytest.approx(value, rel=1e-6)
    assert seeing._updaters[0].states
    again = copy.deepcopy(seeing)
    assert [sorted(a._states()) for a in (again, other)] == [sorted(seeing._states())] * 2
    assert seeing._updaters[0].states
    seeing.load_states(tmp_path / "states")
    stepped(seeing, net), stepped(other, twin)
    assert net.weight.data().asnumpy() == pytest.approx(twin.weight.data().asnumpy(), rel=1e-5)


def test_an_optimizer_of_optax_has_no_updaters():
    import optax

    trainer = gluonx.Trainer(cases.made(gluonx).collect_params(), optax.sgd(0.1))
    assert len(trainer._updaters) == 1
    with pytest.raises(ValueError, match="as_optax"):
        assert trainer._updaters[0].states


@pytest.mark.dear
def test_pieces_of_fused_parameters_go_through_a_store_one_by_one():
    """A store was once given the whole array under the name of each of its pieces."""

    class Twice:
        def broadcast(self, key, value, out, priority=0):
            self.keys = [*getattr(self, "keys", []), (key, value.shape)]

        def pushpull(self, key, value, out=None, priority=0):
            for o in out:
                o[:] = o * 2

        def is_capable(self, capability):
            return False

    def trained(**options):
        net = gluonx.rnn.LSTM(2, input_size=2)
        net.initialize(gluonx.init.Constant(0.1))
        net.hybridize()
        net(np.ones((1, 1, 2)))
        trainer = gluonx.Trainer(net.collect_params(), "sgd", **options)
        with autograd.record():
            loss = (net(np.ones((3, 1, 2))) ** 2).sum()
        loss.backward()
        trainer.step(1 if not options else 2)
        return {name: p.data().asnumpy() for name, p in net.collect_params(fused=False).items()}

    plain, stored = trained(), trained(kvstore=Twice())
    for name, value in plain.items():
        assert stored[name] == pytest.approx(value, rel=1e-5)


def in_net(**methods):
    class Net(gluonx.HybridBlock):
        def __init__(self):
            super().__init__()
            self.w = gluonx.Parameter("w", shape=(1, 2), init="ones")

        def forward(self, x):
            return x * self.w.data()

    net = type("Mine", (Net,), methods)()
    net.initialize()
    return net


@pytest.mark.parametrize(
    ("methods", "match"),
    [
        ({"_build_cache": lambda self, *args: None}, "Mine._build_cache has built nothing"),
        ({"_get_graph": lambda self, *args: None}, "Mine has a _get_graph of its own"),
    ],
)
def test_what_only_a_graph_of_symbols_could_be_asked_is_refused_once_hybridized(methods, match):
    """MXNet runs the symbol that ``_get_graph`` returns, and fails where ``_build_cache`` builds nothing."""
    net = in_net(**methods)
    assert net(np.ones((1, 2))).tolist() == [[1, 1]]
    net.hybridize()
    with pytest.raises(gluonx.errors.GraphError, match=match):
        net(np.ones((1, 2)))
    net.hybridize(False)
    assert net(np.ones((1, 2))).tolist() == [[1, 1]]


def test_an_expression_for_a_parameter_is_asked_by_symbols_and_refused_in_a_trace():
    """MXNet 1.9.1 computes with it where the block is hybridized or called with a symbol; 2.0 raises."""
    compat.install_as_mxnet(1)
    try:
        import mxnet as mx

        class Twice(mx.gluon.Parameter):
            def var(self):
                return super().var() * 2

        class Both(Twice):
            def data(self, ctx=None):
                return super().data(ctx) * 2

        class Renamed(mx.gluon.Parameter):
            def var(self):
                return mx.sym.var("another")

        def made(cls):
            class Net(mx.gluon.HybridBlock):
                def __init__(self):
                    super().__init__()
                    self.w = cls("w", shape=(1, 2), init="ones")

                def hybrid_forward(self, F, x, w):
                    return F.broadcast_mul(x, w)

            net = Net()
            net.initialize()
            net(mx.nd.ones((1, 2)))
            net.hybridize()
            return net

        with pytest.raises(gluonx.errors.GraphError, match=r"var\(\) of parameter 'Net.w', a Twice, returns an expres"):
            made(Twice)(mx.nd.ones((1, 2)))
        assert made(Both)(mx.nd.ones((1, 2))).asnumpy().tolist() == [[2, 2]]
        assert made(Renamed)(mx.nd.ones((1, 2))).asnumpy().tolist() == [[1, 1]]
        symbol = made(Twice)(mx.sym.var("x"))
        inputs = {name: mx.nd.ones((1, 2)) for name in symbol.list_arguments()}
        assert symbol.bind(mx.cpu(), inputs).forward()[0].asnumpy().tolist() == [[2, 2]]
    finally:
        compat.uninstall()


def test_rows_that_a_trainer_pulls_carry_gradients_and_go_to_files(tmp_path):
    class Own(gluonx.Trainer):
        def _row_sparse_pull(self, parameter, out, row_id, full_idx=False):
            super()._row_sparse_pull(parameter, out, row_id, full_idx)
            if full_idx:
                (out * 3).copyto(out)

    net = gluonx.Block()
    net.w = gluonx.Parameter("w", shape=(4, 2), init="ones", stype="row_sparse", grad_stype="row_sparse")
    net.initialize()
    trainer = Own(net.collect_params(), "sgd")
    with autograd.record():
        loss = gluonx.sparse.dot(gluonx.sparse.csr_matrix(np.array([[0, 1, 0, 2.0]])), net.w.row_sparse_data([1, 3]))
        loss = loss.sum()
    loss.backward()
    assert net.w.grad().asnumpy().tolist() == [[0, 0], [1, 1], [0, 0], [2, 2]]
    net.save_parameters(str(tmp_path / "w.params"))
    assert net.w.data().asnumpy().tolist() == [[1, 1]] * 4
    net.load_parameters(str(tmp_path / "w.params"))
    assert net.w.data().asnumpy().tolist() == [[3, 3]] * 4
    other, again = copy.deepcopy([net, trainer])
    assert other.w._pulling() is again and pickle.loads(pickle.dumps(net)).w._pulling is None


def test_a_closure_is_refused_where_gradients_would_pass_by_a_store_or_a_loss_scale():
    class Store:
        def broadcast(self, key, value, out):
            pass

        def pushpull(self, key, value, out=None, priority=0):
            raise AssertionError("a closure's gradients are in the program of the step")

        def is_capable(self, what):
            return False

    class Scale:
        def has_overflow(self, params):
            return True

    net = cases.made(gluonx)
    stored, scaled = (
        gluonx.Trainer(net.collect_params(), "sgd", kvstore=Store()),
        gluonx.Trainer(net.collect_params(), "sgd"),
    )
    scaled._amp_loss_scaler = Scale()
    before = net.weight.data().tolist()
    for trainer, why in ((stored, "gradients go to a store of your own"), (scaled, "a loss scale is for gradients")):
        with pytest.raises(gluonx.errors.ArgumentError, match=why):
            trainer.step(1, closure=lambda: net(np.ones((1, 2))).sum())
    assert net.weight.data().tolist() == before
