"""What a class of the user's that overrides a method gets: the same programs in MXNet and in gluonx.

Each case is a function of the library, ``mxnet`` or ``gluonx``, and returns what JSON holds. A case overrides a method
that MXNet calls on itself, in a way that changes numbers or leaves a trace of calls.
"""

import os
import tempfile
import types

import numpy

TRAINER, OPTIMIZER, INITIALIZER, PARAMETER, BLOCK, OTHERS = {}, {}, {}, {}, {}, {}


def case(table):
    def add(function):
        table[function.__name__] = function
        return function

    return add


def rounded(x):
    return [float(f"{v:.5g}") for v in numpy.asarray(x, "float64").ravel()]


def made(mx, devices=None):
    net = mx.gluon.nn.Dense(1, in_units=2, use_bias=True)
    net.initialize(mx.init.One(), **({} if devices is None else {"ctx": devices}))
    return net


def backward(mx, net, k=0):
    x = mx.np.array([[1.0, 2.0 + k], [0.5, -1.0]])
    with mx.autograd.record():
        loss = (net(x) ** 2).sum()
    loss.backward()


def trained(mx, cls, steps=3, optimizer="sgd", settings=None, how=None, **options):
    """Train a net by a trainer of this class; return its numbers, and the trainer."""
    net = made(mx)
    trainer = cls(net.collect_params(), optimizer, {"learning_rate": 0.01} if settings is None else settings, **options)
    for k in range(steps):
        backward(mx, net, k)
        (how or (lambda t, n: t.step(2)))(trainer, net)
    return rounded(net.weight.data().asnumpy()) + rounded(net.bias.data().asnumpy()), trainer


def gradients(trainer):
    return [g for p in trainer._params if p.grad_req != "null" for g in p.list_grad()]


# ---------------------------------------------------------------------------------------------------------- Trainer


@case(TRAINER)
def allreduce_grads_doubles(mx):
    class Doubling(mx.gluon.Trainer):
        def _allreduce_grads(self):
            for g in gradients(self):
                g[:] = g * 2

    return trained(mx, Doubling)[0]


@case(TRAINER)
def allreduce_grads_of_a_base_is_called_by_super(mx):
    class Doubling(mx.gluon.Trainer):
        def _allreduce_grads(self):
            super()._allreduce_grads()
            for g in gradients(self):
                g[:] = g * 2

    return trained(mx, Doubling, optimizer="adam")[0]


@case(TRAINER)
def allreduce_grads_of_one_trainer(mx):
    def how(trainer, net):
        def doubles(self):
            for g in gradients(self):
                g[:] = g * 2

        trainer._allreduce_grads = types.MethodType(doubles, trainer)
        trainer.step(2)

    return trained(mx, mx.gluon.Trainer, how=how)[0]


@case(TRAINER)
def allreduce_grads_apart_from_update(mx):
    calls = []

    class Doubling(mx.gluon.Trainer):
        def _allreduce_grads(self):
            calls.append("reduce")
            for g in gradients(self):
                g[:] = g * 2

        def _update(self, ignore_stale_grad=False):
            calls.append(["update", ignore_stale_grad])
            super()._update(ignore_stale_grad)

    def how(trainer, net):
        trainer.allreduce_grads()
        trainer.update(2, ignore_stale_grad=True)

    return trained(mx, Doubling, how=how)[0], calls


@case(TRAINER)
def update_skips_steps(mx):
    class Skipping(mx.gluon.Trainer):
        count = 0

        def _update(self, ignore_stale_grad=False):
            self.count += 1
            if self.count != 2:
                super()._update(ignore_stale_grad)

    return trained(mx, Skipping, optimizer="adam")[0]


@case(TRAINER)
def update_is_all_by_hand(mx):
    class ByHand(mx.gluon.Trainer):
        def _update(self, ignore_stale_grad=False):
            for p in self._params:
                for weight, grad in zip(p.list_data(), p.list_grad()):
                    weight[:] = weight - 0.1 * self._optimizer.rescale_grad * grad

    return trained(mx, ByHand)[0]


@case(TRAINER)
def update_by_the_updaters(mx):
    class ByUpdaters(mx.gluon.Trainer):
        def _update(self, ignore_stale_grad=False):
            for i, p in reversed(list(enumerate(self._params))):
                for updater, weight, grad in zip(self._updaters, p.list_data(), p.list_grad()):
                    updater(i, grad, weight)

    found, trainer = trained(mx, ByUpdaters, optimizer="sgd", settings={"learning_rate": 0.01, "momentum": 0.5})
    return found, [rounded(trainer._updaters[0].states[i].asnumpy()) for i in range(2)]


@case(TRAINER)
def states_of_updaters(mx):
    found, trainer = trained(mx, mx.gluon.Trainer, settings={"learning_rate": 0.01, "momentum": 0.5})
    states = trainer._updaters[0].states
    return found, sorted(states), [rounded(states[i].asnumpy()) for i in range(2)]


@case(TRAINER)
def states_of_updaters_of_adam(mx):
    found, trainer = trained(mx, mx.gluon.Trainer, optimizer="adam")
    states = trainer._updaters[0].states
    return found, [[rounded(a.asnumpy()) for a in states[i]] for i in range(2)]


@case(TRAINER)
def states_of_updaters_are_taken_back(mx):
    def how(trainer, net):
        kept.append(trainer._updaters[0].get_states(dump_optimizer=False))
        trainer.step(2)
        if len(kept) == 3:
            trainer._updaters[0].set_states(kept[1])

    kept = []
    return trained(mx, mx.gluon.Trainer, settings={"learning_rate": 0.01, "momentum": 0.9}, steps=5, how=how)[0]


@case(TRAINER)
def a_state_is_written_by_hand(mx):
    def how(trainer, net):
        trainer.step(2)
        trainer._updaters[0].states[1][:] = 0.5

    return trained(mx, mx.gluon.Trainer, settings={"learning_rate": 0.01, "momentum": 0.9}, how=how)[0]


@case(TRAINER)
def init_kvstore_is_called_once(mx):
    calls = []

    class Telling(mx.gluon.Trainer):
        def _init_kvstore(self):
            calls.append([self._kv_initialized, self._kvstore is None, sorted(self._kvstore_params)])
            super()._init_kvstore()
            calls.append([self._kv_initialized, self._kvstore is None, bool(self._update_on_kvstore)])

    return trained(mx, Telling)[0], calls


@case(TRAINER)
def init_kvstore_brings_a_store(mx):
    calls = []

    class Halving(mx.kv.KVStoreBase):
        def broadcast(self, key, value, out, priority=0):
            calls.append(["broadcast", key])

        def pushpull(self, key, value, out=None, priority=0):
            calls.append(["pushpull", key, priority])
            for o, v in zip(value if out is None else out, value):
                o[:] = v * 0.5

    class WithStore(mx.gluon.Trainer):
        def _init_kvstore(self):
            self._kvstore, self._update_on_kvstore, self._distributed = Halving(), False, False
            self._kv_initialized = True

    return trained(mx, WithStore)[0], calls


@case(TRAINER)
def init_params_is_called_with_what_is_left(mx):
    calls = []

    class Beginning(mx.gluon.Trainer):
        def _init_params(self):
            calls.append([self._kv_initialized, len(self._params_to_init)])
            for p in self._params_to_init:
                for a in p._check_and_get(p._data, list):
                    a[:] = a * 0.5
            self._params_to_init = []

    return trained(mx, Beginning)[0], calls


@case(TRAINER)
def check_and_rescale_grad_is_asked(mx):
    scales = []

    class Halving(mx.gluon.Trainer):
        def _check_and_rescale_grad(self, scale):
            scales.append(scale)
            super()._check_and_rescale_grad(scale / 2)

    def how(trainer, net):
        trainer.step(2) if len(scales) != 1 else trainer.update(4)

    return trained(mx, Halving, how=how)[0], scales


@case(TRAINER)
def init_optimizer_chooses(mx):
    class Choosing(mx.gluon.Trainer):
        def _init_optimizer(self, optimizer, optimizer_params):
            super()._init_optimizer("adam", {"learning_rate": optimizer_params["learning_rate"] * 2})

    found, trainer = trained(mx, Choosing)
    return found, type(trainer.optimizer).__name__


@case(TRAINER)
def reset_kvstore_is_called_by_the_constructor(mx):
    calls = []

    class Telling(mx.gluon.Trainer):
        def _reset_kvstore(self):
            calls.append(sorted(self._kvstore_params))
            super()._reset_kvstore()
            calls.append([self._kv_initialized, self._kvstore is None, len(self._params_to_init)])

    return trained(mx, Telling)[0], calls


@case(TRAINER)
def scale_is_what_step_divides(mx):
    class Dividing(mx.gluon.Trainer):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self._scale /= 4

    return trained(mx, Dividing, kvstore=None)[0]


@case(TRAINER)
def files_ask_for_the_store(mx):
    calls = []

    class Telling(mx.gluon.Trainer):
        def _init_kvstore(self):
            calls.append("kvstore")
            super()._init_kvstore()

        def _init_params(self):
            calls.append("params")
            super()._init_params()

    with tempfile.TemporaryDirectory() as folder:
        net = made(mx)
        trainer = Telling(net.collect_params(), "adam")
        trainer.save_states(os.path.join(folder, "states"))
        first = list(calls)
        backward(mx, net)
        trainer.step(1)
        return first, calls


@case(TRAINER)
def as_horovod_does(mx):
    """The shape of horovod.mxnet.DistributedTrainer, for two processes with the same gradients."""

    def allreduce_(tensor):
        tensor[:] = tensor * 2
        return tensor

    class Distributed(mx.gluon.Trainer):
        def __init__(self, params, optimizer, optimizer_params=None):
            super().__init__(params, optimizer, optimizer_params=optimizer_params, kvstore=None)
            self._scale *= 1.0 / 2

        def _allreduce_grads(self):
            for param in self._params:
                if param.grad_req != "null":
                    param.list_grad()[0][:] = allreduce_(param.list_grad()[0])

    return trained(mx, Distributed, optimizer="adam")[0], trained(mx, mx.gluon.Trainer, optimizer="adam")[0]


@case(TRAINER)
def as_byteps_does(mx):
    """The shape of byteps.mxnet.DistributedTrainer: it scales gradients by itself, and sends weights round before."""
    calls = []

    class Distributed(mx.gluon.Trainer):
        def step(self, batch_size, ignore_stale_grad=False):
            self._scale = batch_size
            super().step(batch_size, ignore_stale_grad)

        def _allreduce_grads(self):
            for param in self._params:
                if param.grad_req != "null":
                    param._grad[0][:] = param._grad[0] * (1.0 / self._scale)
                    calls.append(list(param._data[0].shape))

        def _init_params(self):
            left = []
            for param in self._params_to_init:
                if param._deferred_init:
                    left.append(param)
                else:
                    arrays = param._check_and_get(param._data, list)
                    arrays[0].__imul__(0.5)
                    calls.append(len(arrays))
            self._params_to_init = left

    return trained(mx, Distributed, kvstore=None)[0], calls


@case(TRAINER)
def a_step_of_its_own(mx):
    """The order of MXNet's step, written anew: it updates first and reduces afterwards."""

    class Late(mx.gluon.Trainer):
        def step(self, batch_size, ignore_stale_grad=False):
            self._check_and_rescale_grad(self._scale / batch_size)
            if not self._kv_initialized:
                self._init_kvstore()
            if self._params_to_init:
                self._init_params()
            self._update(ignore_stale_grad)
            self._allreduce_grads()

        def _allreduce_grads(self):
            for i, param in enumerate(self._params):
                for weight, state in zip(param.list_data(), [self._updaters[0].states[i]]):
                    weight[:] = weight + 0.1 * state

    return trained(mx, Late, settings={"learning_rate": 0.01, "momentum": 0.9})[0]


@case(TRAINER)
def param2idx_and_its_kin(mx):
    net = made(mx)
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd")
    before = [trainer._kv_initialized, len(trainer._params_to_init), trainer._kvstore, trainer._update_on_kvstore]
    params = dict(trainer._kvstore_params)
    backward(mx, net)
    trainer.step(1)
    after = [trainer._kv_initialized, len(trainer._params_to_init), trainer._kvstore, bool(trainer._update_on_kvstore)]
    return before, params, after, sorted(trainer._param2idx.values()), len(trainer._updaters)


@case(TRAINER)
def a_loss_scale_of_the_users_is_asked(mx):
    class Scale:
        count = 0

        def has_overflow(self, params):
            self.count += 1
            return self.count == 2

    def how(trainer, net):
        trainer._amp_loss_scaler = getattr(trainer, "_amp_loss_scaler", None) or Scale()
        trainer.step(2)

    found, trainer = trained(mx, mx.gluon.Trainer, optimizer="adam", how=how)
    return found, trainer._amp_loss_scaler.count, trainer.optimizer.num_update


@case(TRAINER)
def gradients_are_exchanged_in_their_list(mx):
    class Exchanging(mx.gluon.Trainer):
        def _allreduce_grads(self):
            for p in self._params:
                p._grad[0] = p._grad[0] * 2

    return trained(mx, Exchanging, steps=1)[0]


@case(TRAINER)
def update_on_kvstore_is_decided_later(mx):
    """As gluonnlp's FP16Trainer does with a Trainer that it is given."""

    def how(trainer):
        trainer._kvstore_params["update_on_kvstore"] = False
        trainer.allreduce_grads()
        trainer.update(2)

    return on_two(mx, mx.gluon.Trainer, how=how)[0]


# ------------------------------------------------------------------------------------------------- several devices


def on_two(mx, cls, steps=2, how=None, optimizer="sgd", settings=None, devices=(0, 1), **options):
    """Train a net on two devices, which see other rows; return the weights of each."""
    devices = [mx.cpu(number) for number in devices]
    net = made(mx, devices)
    trainer = cls(net.collect_params(), optimizer, {"learning_rate": 0.05} if settings is None else settings, **options)
    for k in range(steps):
        with mx.autograd.record():
            losses = [
                (net(mx.np.array([[1.0 + i, 2.0 + k]], ctx=device)) ** 2).sum() for i, device in enumerate(devices)
            ]
        mx.autograd.backward(losses)
        (how or (lambda t: t.step(2)))(trainer)
    return [rounded(a.asnumpy()) for a in net.weight.list_data() + net.bias.list_data()], trainer, net


def refused(function):
    try:
        function()
    except AssertionError:
        return "refused"
    return "done"


@case(TRAINER)
def two_devices(mx):
    return on_two(mx, mx.gluon.Trainer)[0]


@case(TRAINER)
def two_devices_without_a_store(mx):
    return [on_two(mx, mx.gluon.Trainer, kvstore=None, optimizer=name)[0] for name in ("sgd", "adam")]


@case(TRAINER)
def two_devices_without_a_store_by_halves(mx):
    def how(trainer):
        trainer.allreduce_grads()
        trainer.update(2)

    return on_two(mx, mx.gluon.Trainer, kvstore=None, how=how)[0]


@case(TRAINER)
def two_devices_by_halves(mx):
    def how(trainer):
        trainer.allreduce_grads()
        for g in gradients(trainer):
            g[:] = g * 0.5
        trainer.update(2)

    return on_two(mx, mx.gluon.Trainer, update_on_kvstore=False, how=how)[0]


@case(TRAINER)
def two_devices_whose_store_updates_take_no_halves(mx):
    found = []
    for given in (None, True, False):
        for half in ("allreduce_grads", "update"):

            def how(trainer, half=half):
                found.append(refused(lambda: trainer.update(2) if half == "update" else trainer.allreduce_grads()))

            on_two(mx, mx.gluon.Trainer, update_on_kvstore=given, how=how, steps=1)
    return found


@case(TRAINER)
def two_devices_and_an_optimizer_that_aggregates(mx):
    numbers, trainer, net = on_two(mx, mx.gluon.Trainer, optimizer="lamb", steps=1)
    return numbers, [rounded(g.asnumpy()) for g in net.weight.list_grad()], bool(trainer._update_on_kvstore)


@case(TRAINER)
def two_devices_with_gradients_afterwards(mx):
    found = []
    for given in (None, False):
        _, _, net = on_two(mx, mx.gluon.Trainer, steps=1, update_on_kvstore=given)
        found.append([rounded(g.asnumpy()) for g in net.weight.list_grad()])
    return found


@case(TRAINER)
def two_devices_and_a_sum_of_the_users(mx):
    class Mean(mx.gluon.Trainer):
        def _allreduce_grads(self):
            for p in self._params:
                grads = p.list_grad()
                mean = (grads[0].copyto(mx.cpu(0)) + grads[1].copyto(mx.cpu(0))) / 2
                for g in grads:
                    g[:] = mean.copyto(g.ctx)

    return on_two(mx, Mean, update_on_kvstore=False)[0]


@case(TRAINER)
def two_devices_and_a_sum_that_asks_the_store(mx):
    """MXNet's own loop, written anew, as programs do that clip or compress on the way."""

    class Mine(mx.gluon.Trainer):
        def _allreduce_grads(self):
            if not self._kvstore:
                return
            for i, param in enumerate(self._params):
                if param.grad_req != "null":
                    for g in param.list_grad():
                        g[:] = g * 0.5
                    if self._update_on_kvstore:
                        self._kvstore.pushpull(i, param.list_grad(), out=param.list_data(), priority=-i)
                    else:
                        self._kvstore.pushpull(i, param.list_grad(), priority=-i)

    return [on_two(mx, Mine, update_on_kvstore=given)[0] for given in (None, False)]


@case(TRAINER)
def two_devices_and_a_store_that_writes_one_array(mx, devices=(0, 1)):
    class Shared(mx.kv.KVStoreBase):
        type = "shared"

        def broadcast(self, key, value, out, priority=0):
            for o in out:
                o[:] = value

        def pushpull(self, key, value, out=None, priority=0):
            total = value[0] + value[1].copyto(value[0].ctx)
            for o in value if out is None else out:
                o[:] = total

        @staticmethod
        def is_capable(capability):
            return False

    return [
        on_two(mx, mx.gluon.Trainer, kvstore=Shared(), optimizer=name, devices=devices)[0] for name in ("sgd", "adam")
    ]


@case(TRAINER)
def two_devices_and_counts_of_an_optimizer_by_hand(mx):
    class Counting(mx.optimizer.Optimizer):
        def create_state(self, index, weight):
            return None

        def step(self, indices, weights, grads, states):
            for index, weight, grad in zip(indices, weights, grads):
                self._update_count(index)
                weight[:] = weight - 0.1 / self._index_update_count[index] * self.rescale_grad * grad

    found = []
    for given in (None, False):
        numbers, trainer, _ = on_two(mx, mx.gluon.Trainer, optimizer=Counting(), settings={}, update_on_kvstore=given)
        found.append([numbers, trainer.optimizer.num_update])
    return found


@case(TRAINER)
def two_devices_and_their_updaters(mx):
    numbers, trainer, _ = on_two(
        mx, mx.gluon.Trainer, settings={"learning_rate": 0.05, "momentum": 0.5}, update_on_kvstore=False
    )
    return numbers, [[rounded(u.states[i].asnumpy()) for i in range(2)] for u in trainer._updaters]


# -------------------------------------------------------------------------------------------------------- Optimizer

RULES = {
    "adabelief": {}, "adadelta": {}, "adagrad": {}, "adam": {}, "adamax": {}, "adamw": {}, "dcasgd": {}, "ftml": {},
    "ftrl": {}, "lamb": {}, "lans": {}, "lars": {"momentum": 0.9}, "nag": {"momentum": 0.9},
    "rmsprop": {}, "sgd": {"momentum": 0.9}, "signum": {},
}  # fmt: skip


def rule(mx, name):
    return type(mx.optimizer.create(name))


def by_rule(mx, body, names=tuple(RULES), how=None, **settings):
    """For each rule, fused or not: a subclass with these methods, in a Trainer."""
    found = {}
    for name in names:
        base = rule(mx, name)
        for fused in (True, False) if name not in NEVER_FUSED else (False,):
            calls = []
            cls = type("Mine", (base,), body(base, calls))
            given = {"learning_rate": 0.05, "wd": 0.1, **RULES[name], **settings, "use_fused_step": fused}
            numbers, trainer = trained(mx, mx.gluon.Trainer, optimizer=cls(**given), settings={}, how=how, steps=3)
            found[f"{name} {fused}"] = [numbers, calls, trainer.optimizer.num_update]
    return found


# Whose fused step asks for all rates at once; an override of the singular is not asked there in MXNet.
AT_ONCE = ("adabelief", "adamw", "lamb", "lans", "lars", "sgd")
NEVER_FUSED = ("adadelta", "adamax", "dcasgd")
ONE_BY_ONE = tuple(name for name in RULES if name not in AT_ONCE)


@case(OPTIMIZER)
def get_lr(mx):
    def body(base, calls):
        return {"_get_lr": lambda self, index: base._get_lr(self, index) * (0.5 + index)}

    return by_rule(mx, body, ONE_BY_ONE)


@case(OPTIMIZER)
def get_lrs(mx):
    def body(base, calls):
        return {
            "_get_lrs": lambda self, indices: [lr * (0.5 + i) for i, lr in zip(indices, base._get_lrs(self, indices))]
        }

    return by_rule(mx, body)


@case(OPTIMIZER)
def get_wd(mx):
    def body(base, calls):
        return {"_get_wd": lambda self, index: base._get_wd(self, index) * (3 + index)}

    return by_rule(mx, body, ONE_BY_ONE)


@case(OPTIMIZER)
def get_wds(mx):
    def body(base, calls):
        return {
            "_get_wds": lambda self, indices: [wd * (3 + i) for i, wd in zip(indices, base._get_wds(self, indices))]
        }

    return by_rule(mx, body)


@case(OPTIMIZER)
def get_wd_from_nothing(mx):
    return by_rule(mx, lambda base, calls: {"_get_wd": lambda self, index: 0.2}, ("adam", "nag"), wd=0.0)


@case(OPTIMIZER)
def get_lr_that_changes_with_the_count(mx):
    def body(base, calls):
        def _get_lr(self, index):
            return 0.1 / (1 + self.num_update) + 0.01 * self._index_update_count[index]

        return {"_get_lr": _get_lr}

    return by_rule(mx, body, ("adam", "nag", "rmsprop"))


@case(OPTIMIZER)
def update_count(mx):
    def body(base, calls):
        def _update_count(self, index):
            base._update_count(self, index)
            base._update_count(self, index)

        return {"_update_count": _update_count}

    return by_rule(mx, body)


@case(OPTIMIZER)
def a_rate_that_is_an_array(mx):
    """As keras-mxnet's optimizers: ``self.lr`` is an array, and ``_get_lr`` answers with a number."""

    def body(base, calls):
        def __init__(self, **given):
            base.__init__(self, **given)
            self.lr = mx.np.array([0.02])

        return {"__init__": __init__, "_get_lr": lambda self, index: self.lr.item() / (1 + 0.1 * self.num_update)}

    return by_rule(mx, body, ("adam", "rmsprop", "nag", "adagrad"))


@case(OPTIMIZER)
def learning_rate_is_for_people(mx):
    return by_rule(mx, lambda base, calls: {"learning_rate": property(lambda self: 100.0)}, ("adam", "sgd"))


@case(OPTIMIZER)
def create_state(mx):
    def body(base, calls):
        def create_state(self, index, weight):
            calls.append(index)
            state = base.create_state(self, index, weight)
            for part in state if isinstance(state, (tuple, list)) else [state]:
                part[:] = 0.25
            return state

        return {"create_state": create_state}

    return by_rule(mx, body, ("adam", "sgd", "nag", "rmsprop", "adagrad"))


@case(OPTIMIZER)
def create_state_multi_precision(mx):
    def body(base, calls):
        def create_state_multi_precision(self, index, weight):
            calls.append(index)
            state = base.create_state_multi_precision(self, index, weight)
            for part in state if isinstance(state, (tuple, list)) else [state]:
                part[:] = 0.25
            return state

        return {"create_state_multi_precision": create_state_multi_precision}

    return by_rule(mx, body, ("adam", "sgd"))


def halves(method):
    def body(base, calls):
        def halving(self, indices, weights, grads, states):
            calls.append(list(indices))
            getattr(base, method)(self, indices, weights, [g * 0.5 for g in grads], states)

        return {method: halving}

    return body


@case(OPTIMIZER)
def step(mx):
    return by_rule(mx, halves("step"), ("adam", "sgd", "nag", "ftrl"))


@case(OPTIMIZER)
def fused_step(mx):
    return by_rule(mx, halves("fused_step"), ("adam", "sgd", "nag", "ftrl"))


@case(OPTIMIZER)
def update(mx):
    return by_rule(mx, halves("update"), ("adam", "sgd", "nag", "ftrl", "lamb"))


@case(OPTIMIZER)
def update_multi_precision(mx):
    return by_rule(mx, halves("update_multi_precision"), ("adam", "sgd", "nag", "ftrl", "lamb"))


@case(OPTIMIZER)
def multipliers_of_the_constructor(mx):
    def body(base, calls):
        def set_lr_mult(self, args_lr_mult):
            base.set_lr_mult(self, {0: 0.5, 1: 2.0})
            calls.append(len(args_lr_mult))

        def set_wd_mult(self, args_wd_mult):
            base.set_wd_mult(self, {0: 0.0, 1: 2.0})
            calls.append(len(args_wd_mult))

        return {"set_lr_mult": set_lr_mult, "set_wd_mult": set_wd_mult}

    def rates(trainer, net):
        trainer.optimizer.param_dict = {}
        trainer.step(2)

    return by_rule(mx, body, ("adam", "sgd"), how=rates)


@case(OPTIMIZER)
def a_step_that_counts_and_one_that_does_not(mx):
    found = []
    for counts in (True, False):

        class Plain(mx.optimizer.Optimizer):
            def create_state(self, index, weight):
                return None

            def step(self, indices, weights, grads, states, counts=counts):
                for index, weight, grad in zip(indices, weights, grads):
                    if counts:
                        self._update_count(index)
                    weight[:] = weight - self._get_lr(index) * self.rescale_grad * grad

        schedule = mx.lr_scheduler.FactorScheduler(1, factor=0.5, base_lr=0.1)
        numbers, trainer = trained(mx, mx.gluon.Trainer, optimizer=Plain(lr_scheduler=schedule), settings={})
        found.append([numbers, trainer.optimizer.num_update, sorted(trainer.optimizer._index_update_count.items())])
    return found


@case(OPTIMIZER)
def a_wrapper_of_another(mx):
    """The shape of horovod.mxnet.DistributedOptimizer, for two processes with the same gradients."""

    class Distributed(mx.optimizer.Optimizer):
        def __init__(self, optimizer):
            self._optimizer = optimizer
            self._optimizer.rescale_grad *= 0.5

        def __getattr__(self, item):
            return getattr(self._optimizer, item)

        def create_state_multi_precision(self, index, weight):
            return self._optimizer.create_state_multi_precision(index, weight)

        def _do_allreduce(self, index, grad):
            for g in grad if isinstance(grad, (list, tuple)) else [grad]:
                g[:] = g * 2

        def update(self, index, weight, grad, state):
            self._do_allreduce(index, grad)
            self._optimizer.update(index, weight, grad, state)

        def update_multi_precision(self, index, weight, grad, state):
            self._do_allreduce(index, grad)
            self._optimizer.update_multi_precision(index, weight, grad, state)

        def set_learning_rate(self, lr):
            self._optimizer.set_learning_rate(lr)

        def set_lr_mult(self, args_lr_mult):
            self._optimizer.set_lr_mult(args_lr_mult)

        def set_wd_mult(self, args_wd_mult):
            self._optimizer.set_wd_mult(args_wd_mult)

    inner = mx.optimizer.Adam(learning_rate=0.05, epsilon=0.1)
    numbers, _ = trained(mx, mx.gluon.Trainer, optimizer=Distributed(inner), settings={})
    return numbers, inner.num_update


@case(OPTIMIZER)
def an_updater_by_hand(mx):
    """Overrides reach an Updater as well, and what a kvstore does with one."""

    class Half(mx.optimizer.Adam):
        def _get_lr(self, index):
            return super()._get_lr(index) / 2

    updater, weight = mx.optimizer.get_updater(Half(learning_rate=0.1)), mx.np.array([1.0, 2.0])
    for _ in range(3):
        updater(7, mx.np.array([0.5, -1.0]), weight)
    store, out = mx.kv.create("local"), mx.np.zeros((2,))
    store.init(3, mx.np.array([1.0, 2.0]))
    store.set_optimizer(Half(learning_rate=0.1))
    for _ in range(3):
        store.push(3, mx.np.array([0.5, -1.0]))
    store.pull(3, out=out)
    return rounded(weight.asnumpy()), rounded(out.asnumpy())


# ------------------------------------------------------------------------------------------------------ Initializer


def layers(mx):
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(2, in_units=3), mx.gluon.nn.BatchNorm(in_channels=2), mx.gluon.nn.Dense(1))
    return net


def begun(mx, init, net=None):
    """The sums of all parameters of a net that `init` began, one of which is known only after the first call."""
    net = layers(mx) if net is None else net
    net.initialize(init)
    net(mx.np.ones((1, 3)))
    return {name: rounded(p.data().asnumpy().sum()) for name, p in net.collect_params().items()}


@case(INITIALIZER)
def call_is_asked_for_all(mx):
    calls = []

    class Adding(mx.init.Constant):
        def __call__(self, desc, arr):
            super().__call__(desc, arr)
            calls.append([str(desc).rpartition(".")[2], list(arr.shape)])
            arr[:] = arr + 0.5

    return begun(mx, Adding(2.0)), calls


@case(INITIALIZER)
def call_by_itself(mx):
    class Threes(mx.init.Initializer):
        def __call__(self, desc, arr):
            arr[:] = 3

    return begun(mx, Threes())


@case(INITIALIZER)
def call_knows_the_parameters_own(mx):
    class Telling(mx.init.Initializer):
        def __call__(self, desc, arr):
            own = desc.attrs["__init__"]
            name = own if isinstance(own, str) else type(own).__name__.lower()
            arr[:] = {"zero": 10, "zeros": 10, "one": 20, "ones": 20}.get(name, 30)

    return begun(mx, Telling())


@case(INITIALIZER)
def call_of_one_parameters_own_initializer(mx):
    class Threes(mx.init.Initializer):
        def __call__(self, desc, arr):
            arr[:] = 3

        def _init_weight(self, name, arr):
            arr[:] = 4

    net = mx.gluon.nn.Dense(2, in_units=3, weight_initializer=Threes(), bias_initializer=Threes())
    return begun(mx, mx.init.One(), net)


@case(INITIALIZER)
def init_weight(mx):
    class Fives(mx.init.Initializer):
        def _init_weight(self, name, arr):
            arr[:] = 5

    return begun(mx, Fives())


def writes(number):
    def write(self, name, arr):
        arr[:] = number

    return write


def by_names(mx, base, methods, ends):
    cls = type("Mine", (base,), {name: writes(k + 2) for k, name in enumerate(methods)})
    found = {}
    for end in ends:
        arr = mx.np.zeros((6,))
        cls(*([9.0] if base is mx.init.Constant else []))(mx.init.InitDesc("some_" + end), arr)
        found[end] = rounded(arr.asnumpy())[0]
    return found


ENDS = ("weight", "bias", "gamma", "beta", "min", "max", "weight_quantize", "bias_quantize")
RULE_METHODS = (
    "_init_bias", "_init_gamma", "_init_beta", "_init_zero", "_init_one", "_init_quantized_weight",
    "_init_quantized_bias",
)  # fmt: skip


@case(INITIALIZER)
def methods_by_name(mx):
    found = []
    for method in RULE_METHODS:
        ends = [end for end in ENDS if end != "weight_quantize" or method == "_init_quantized_weight"]
        found.append(by_names(mx, mx.init.Constant, [method], ends))
    return found


@case(INITIALIZER)
def init_default(mx):
    return by_names(mx, mx.init.One, ["_init_default"], ["weight", "something"])


@case(INITIALIZER)
def verbose_print(mx):
    calls = []

    class Telling(mx.init.One):
        def _verbose_print(self, desc, init, arr):
            calls.append(list(arr.shape))

    return begun(mx, Telling()), calls


@case(INITIALIZER)
def names_without_description(mx):
    calls = []

    class Old(mx.init.One):
        def _legacy_init(self, name, arr):
            calls.append(name)
            super()._legacy_init(name, arr)

        def _init_bilinear(self, name, arr):
            arr[:] = 7

        def _init_loc_bias(self, name, arr):
            arr[:] = 8

    found = []
    for name in ("upsampling0_weight", "stn_loc_bias", "stn_loc_weight", "fc_weight", "fc_bias", "bn_moving_var"):
        arr = mx.np.zeros((6,)) + 0.5
        Old()(name, arr)
        found.append(rounded(arr.asnumpy())[0])
    return found, calls


@case(INITIALIZER)
def bilinear_and_locations(mx):
    found = []
    for name, shape in (("upsampling0_weight", (1, 1, 4, 4)), ("stn_loc_bias", (6,))):
        arr = mx.np.zeros(shape)
        mx.init.One()(name, arr)
        found.append(rounded(arr.asnumpy()))
    return found


# -------------------------------------------------------------------------------------------------------- Parameter


def parameter_of(mx, methods, shape=(2, 3), **options):
    return type("Mine", (mx.gluon.Parameter,), methods)("weight", shape=shape, init="ones", **options)


def in_block(mx, param):
    class Net(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.weight = param

        def infer_shape(self, x):
            self.weight.shape = (self.weight.shape[0], x.shape[1])

        def forward(self, x):
            return mx.np.dot(x, self.weight.data().T)

    return Net()


@case(PARAMETER)
def init_grad(mx):
    calls = []

    class Own(mx.gluon.Parameter):
        def _init_grad(self):
            calls.append(self.grad_req)
            super()._init_grad()

    param = Own("weight", shape=(2, 3))
    param.initialize()
    for grad_req in ("add", "null", "write"):
        param.grad_req = grad_req
    later = Own("weight", shape=(0, 3), allow_deferred_init=True)
    later.initialize()
    calls.append("later")
    later.shape = (2, 3)
    later._finish_deferred_init()
    return calls, list(param.grad().shape)


@case(PARAMETER)
def init_impl(mx):
    found = []
    for shape in ((2, 3), (2, -1)):
        calls = []

        def _init_impl(self, data, device_list, calls=calls):
            calls.append([list(data.shape), len(device_list)])
            mx.gluon.Parameter._init_impl(self, data * 3, device_list)

        net = in_block(mx, parameter_of(mx, {"_init_impl": _init_impl}, shape, allow_deferred_init=True))
        net.initialize()
        before = len(calls)
        net(mx.np.ones((1, 3)))
        found.append([before, calls, rounded(net.weight.data().asnumpy())])
    return found


@case(PARAMETER)
def init_impl_of_one_parameter_as_horovod_wraps_it(mx):
    net = in_block(mx, mx.gluon.Parameter("weight", shape=(2, -1), init="ones", allow_deferred_init=True))
    net.initialize()
    before = net.weight._init_impl

    def wrapped(self, *args, **kwargs):
        before(*args, **kwargs)
        self.data()[:] = self.data() * 0.5

    net.weight._init_impl = types.MethodType(wrapped, net.weight)
    waiting = bool(net.weight._deferred_init)
    net(mx.np.ones((1, 3)))
    return waiting, bool(net.weight._deferred_init), rounded(net.weight.data().asnumpy())


@case(PARAMETER)
def init_impl_of_what_is_loaded(mx):
    calls = []

    def _init_impl(self, data, device_list):
        calls.append(list(data.shape))
        mx.gluon.Parameter._init_impl(self, data + 1, device_list)

    with tempfile.TemporaryDirectory() as folder:
        net = in_block(mx, mx.gluon.Parameter("weight", shape=(2, 3), init="ones"))
        net.initialize()
        net.save_parameters(os.path.join(folder, "net"))
        other = in_block(mx, parameter_of(mx, {"_init_impl": _init_impl}))
        other.load_parameters(os.path.join(folder, "net"))
        first = rounded(other.weight.data().asnumpy())
        other.load_parameters(os.path.join(folder, "net"))
        return first, rounded(other.weight.data().asnumpy()), calls


@case(PARAMETER)
def load_init(mx):
    def _load_init(self, data, *args, **kwargs):
        mx.gluon.Parameter._load_init(self, data * 2, *args, **kwargs)

    with tempfile.TemporaryDirectory() as folder:
        net = in_block(mx, parameter_of(mx, {"_load_init": _load_init}))
        net.initialize()
        net.save_parameters(os.path.join(folder, "net"))
        net.load_parameters(os.path.join(folder, "net"))
        return rounded(net.weight.data().asnumpy())


@case(PARAMETER)
def set_data_of_what_is_loaded(mx):
    def set_data(self, data):
        mx.gluon.Parameter.set_data(self, data * 2)

    with tempfile.TemporaryDirectory() as folder:
        net = in_block(mx, parameter_of(mx, {"set_data": set_data}))
        net.initialize()
        net.save_parameters(os.path.join(folder, "net"))
        net.load_parameters(os.path.join(folder, "net"))
        return rounded(net.weight.data().asnumpy())


@case(PARAMETER)
def reduce_for_files(mx):
    def _reduce(self):
        return mx.gluon.Parameter._reduce(self) * 4

    with tempfile.TemporaryDirectory() as folder:
        net = in_block(mx, parameter_of(mx, {"_reduce": _reduce}))
        net.initialize()
        net.save_parameters(os.path.join(folder, "net"))
        other = in_block(mx, parameter_of(mx, {}))
        other.load_parameters(os.path.join(folder, "net"))
        return rounded(other.weight.data().asnumpy())


@case(PARAMETER)
def finish_deferred_init(mx):
    found = []
    for shape in ((2, 3), (2, -1)):
        calls = []

        def _finish_deferred_init(self, calls=calls):
            waits = bool(self._deferred_init)
            mx.gluon.Parameter._finish_deferred_init(self)
            if waits and not self._deferred_init:
                calls.append(list(self.data().shape))

        net = in_block(
            mx, parameter_of(mx, {"_finish_deferred_init": _finish_deferred_init}, shape, allow_deferred_init=True)
        )
        net.initialize()
        net(mx.np.ones((1, 3)))
        found.append(calls)
    return found


@case(PARAMETER)
def initialize_is_called_by_blocks(mx):
    def initialize(self, *args, **kwargs):
        mx.gluon.Parameter.initialize(self, *args, **kwargs)
        self.set_data(self.data() * 6)

    net = in_block(mx, parameter_of(mx, {"initialize": initialize}))
    net.initialize()
    return rounded(net.weight.data().asnumpy())


@case(PARAMETER)
def data_is_what_a_forward_reads(mx):
    def data(self, *args, **kwargs):
        return mx.gluon.Parameter.data(self, *args, **kwargs) * 2

    net = in_block(mx, parameter_of(mx, {"data": data}))
    net.initialize()
    return rounded(net(mx.np.ones((1, 3))).asnumpy())  # MXNet's hybridized blocks ask it twice, and so double twice


@case(PARAMETER)
def cast_and_its_kin_are_called_by_blocks(mx):
    calls = []

    def telling(name):
        def method(self, *args, **kwargs):
            calls.append(name)
            getattr(mx.gluon.Parameter, name)(self, *args, **kwargs)

        return method

    names = ("reset_ctx", "reset_device", "cast")
    net = in_block(mx, parameter_of(mx, {name: telling(name) for name in names}))
    net.initialize()
    net.cast("float16")
    net.reset_device(mx.cpu(0))
    net.reset_ctx(mx.cpu(0))
    return [name for k, name in enumerate(calls) if name != calls[k - 1] or not k]


@case(PARAMETER)
def check_and_get(mx):
    p = mx.gluon.Parameter("weight", shape=(2,), init="ones")
    found = [bool(p._deferred_init), p._data, p._grad, p.__dict__.get("_device_list")]
    p.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
    arrays = p._check_and_get(p._data, list)
    one = p._check_and_get(p._grad, mx.cpu(1))
    return [
        *found,
        len(arrays),
        [str(a.ctx) for a in arrays],
        str(one.ctx),
        [str(d) for d in p._device_list],
        p._device_map,
    ]


# ------------------------------------------------------------------------------------------------------------ Block


def net_of(mx, methods, base=None, **layer):
    """A block of one Dense layer with these methods."""

    def __init__(self):
        cls.__bases__[0].__init__(self)
        self.fc = mx.gluon.nn.Dense(2, **{"in_units": 3, "weight_initializer": "ones", "use_bias": False, **layer})

    own = {"__init__": __init__, "forward": lambda self, x: self.fc(x), **methods}
    cls = type("Net", (base or mx.gluon.HybridBlock,), own)
    return cls()


def telling(mx, calls, name, base=None):
    owner = base or mx.gluon.HybridBlock

    def method(self, *args, **kwargs):
        calls.append(name)
        return getattr(owner, name)(self, *args, **kwargs)

    return {name: method}


@case(BLOCK)
def collect_params_is_asked_by_initialize(mx):
    def collect_params(self, select=None):
        return {name: p for name, p in mx.gluon.Block.collect_params(self, select).items() if name != "fc.weight"}

    net = net_of(mx, {"collect_params": collect_params}, use_bias=True)
    net.initialize()
    return net.fc.bias._data is None, net.fc.weight._data is None, len(net.collect_params())


@case(BLOCK)
def collect_params_of_its_own_goes_to_files(mx):
    def collect_params(self, select=None):
        return mx.gluon.Block.collect_params(self, select)

    with tempfile.TemporaryDirectory() as folder:
        net = net_of(mx, {"collect_params": collect_params})
        net.initialize()
        net.save_parameters(os.path.join(folder, "net"))
        net.load_parameters(os.path.join(folder, "net"))
        net.setattr("grad_req", "null")
        net.zero_grad()
        net.cast("float16")
        return str(net.fc.weight.dtype), net.fc.weight.grad_req


@case(BLOCK)
def names_with_a_prefix_of_its_own_go_to_files(mx):
    def own_names(self, prefix="", select=None):
        named = super(type(self), self)._collect_params_with_prefix(prefix)
        return {f"model.{name}": param for name, param in named.items()}

    with tempfile.TemporaryDirectory() as folder:
        net = net_of(mx, {"_collect_params_with_prefix": own_names})
        net.initialize()
        net.save_parameters(os.path.join(folder, "net"))
        saved = mx.npx.load(os.path.join(folder, "net"))
        mx.npx.savez(os.path.join(folder, "other.npz"), **{name: array * 3 for name, array in saved.items()})
        net.load_parameters(os.path.join(folder, "other.npz"))
        return sorted(saved), rounded(net.fc.weight.data().asnumpy())


@case(BLOCK)
def forward_of_the_class(mx):
    net = net_of(mx, {"forward": lambda self, x: self.fc(x) * 2})
    net.initialize()
    found = [rounded(net(mx.np.ones((1, 3))).asnumpy())]
    net.hybridize()
    found.append(rounded(net(mx.np.ones((1, 3))).asnumpy()))
    return found


@case(BLOCK)
def call_of_the_class(mx):
    base = mx.gluon.HybridBlock
    net = net_of(mx, {"__call__": lambda self, x, *args: base.__call__(self, x * 2, *args)})
    net.initialize()
    found = [rounded(net(mx.np.ones((1, 3))).asnumpy())]
    net.hybridize()
    found.append(rounded(net(mx.np.ones((1, 3))).asnumpy()))
    return found


@case(BLOCK)
def call_cached_op(mx):
    calls = []

    def _call_cached_op(self, *args):
        calls.append(len(args))
        return mx.gluon.HybridBlock._call_cached_op(self, *args) * 3

    net = net_of(mx, {"_call_cached_op": _call_cached_op})
    net.initialize()
    found = []
    for active in (False, True, True, False):
        net.hybridize(active)
        found.append(rounded(net(mx.np.ones((1, 3))).asnumpy()))
    return found, calls


@case(BLOCK)
def build_cache(mx):
    calls, found = [], []

    def _build_cache(self, *args, **kwargs):
        calls.append([list(a.shape) for a in args])
        return mx.gluon.HybridBlock._build_cache(self, *args, **kwargs)

    net = net_of(mx, {"_build_cache": _build_cache})
    net.initialize()
    for change in (lambda: None, net.hybridize, lambda: None, net.hybridize):
        change()
        net(mx.np.ones((len(found) + 1, 3)))
        found.append(len(calls))
    return found, calls


@case(BLOCK)
def call_cached_op_of_a_child(mx):
    def _call_cached_op(self, *args):
        return mx.gluon.HybridBlock._call_cached_op(self, *args) * 3

    net = mx.gluon.nn.HybridSequential()
    net.add(net_of(mx, {"_call_cached_op": _call_cached_op}))
    net.initialize()
    found = [rounded(net(mx.np.ones((1, 3))).asnumpy())]
    net.hybridize()
    found.append(rounded(net(mx.np.ones((1, 3))).asnumpy()))
    return found


@case(BLOCK)
def clear_cached_op(mx):
    calls = []
    net = net_of(mx, telling(mx, calls, "_clear_cached_op"))
    net.initialize()
    found = []
    for change in (
        net.hybridize,
        lambda: net.cast("float16"),
        lambda: net.register_child(mx.gluon.nn.Dense(1), "more"),
    ):
        before = len(calls)
        change()
        found.append(len(calls) > before)
    return found


@case(BLOCK)
def infer_shape(mx):
    found = []
    for active in (False, True):
        calls = []
        net = in_block(mx, mx.gluon.Parameter("weight", shape=(2, -1), init="ones", allow_deferred_init=True))

        def infer_shape(self, x, calls=calls):
            calls.append(list(x.shape))
            self.weight.shape = (2, x.shape[1])

        type(net).infer_shape = infer_shape
        net.initialize()
        net.hybridize(active)
        found.append([rounded(net(mx.np.ones((1, 3))).asnumpy()), calls[:1]])
    return found


@case(BLOCK)
def children_are_registered(mx):
    calls = []
    net = net_of(mx, telling(mx, calls, "register_child"))
    net.more = mx.gluon.nn.Dense(1)
    return calls


@case(BLOCK)
def files_by_their_longer_names(mx):
    calls, before = [], os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # MXNet 2.0 writes the parameters there, whatever the prefix
        try:
            net = net_of(mx, {**telling(mx, calls, "save_parameters"), **telling(mx, calls, "load_parameters")})
            net.initialize()
            net(mx.np.ones((1, 3)))
            net.hybridize()
            net(mx.np.ones((1, 3)))
            net.save("MyModel")
            net.load("MyModel")
        finally:
            os.chdir(before)
    return calls


@case(BLOCK)
def load_dict_is_what_load_parameters_calls(mx):
    calls = []
    with tempfile.TemporaryDirectory() as folder:
        net = net_of(mx, telling(mx, calls, "load_dict"))
        net.initialize()
        net.save_parameters(os.path.join(folder, "net"))
        net.load_parameters(os.path.join(folder, "net"))
        return calls


@case(BLOCK)
def reset_device_is_what_reset_ctx_calls(mx):
    calls = []
    net = net_of(mx, telling(mx, calls, "reset_device"))
    net.initialize()
    net.reset_ctx(mx.cpu(0))
    return calls


@case(BLOCK)
def methods_that_a_parent_calls_on_its_children(mx):
    calls = []
    names = ("apply", "hybridize", "cast")
    child = {key: f for name in names for key, f in telling(mx, calls, name).items()}
    net = mx.gluon.nn.HybridSequential()
    net.add(net_of(mx, child))
    net.apply(lambda block: None)
    net.hybridize()
    net.cast("float16")
    return calls


@case(BLOCK)
def privates(mx):
    net = net_of(mx, {}, in_units=0)
    net.initialize()
    waits = bool(net.fc.weight._deferred_init)
    net.fc.infer_shape(mx.np.ones((1, 3)))
    net.fc.weight._finish_deferred_init()
    return waits, bool(net.fc.weight._deferred_init), list(net.fc.weight.data().shape)


# ----------------------------------------------------------------------------- metrics, losses, data, rates, stores


def metric_telling(mx, base, names, *args, **kwargs):
    """A metric with these methods telling that they were called."""
    calls = []

    def wrap(name):
        def method(self, *given, **named):
            calls.append(name)
            return getattr(base, name)(self, *given, **named)

        return method

    return type("Mine", (base,), {name: wrap(name) for name in names})(*args, **kwargs), calls


def seen_by(metric, mx, calls):
    labels, preds = mx.np.array([0.0, 1.0, 1.0]), mx.np.array([[0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
    made_with = list(calls)
    calls.clear()
    metric.update_dict({"label": labels}, {"pred": preds})
    by_dict = list(calls)
    calls.clear()
    named = metric.get_name_value()
    by_name = list(calls)
    calls.clear()
    str(metric)
    return made_with, by_dict, by_name, list(calls), [[n, float(f"{v:.5g}")] for n, v in named]


@case(OTHERS)
def metric_methods(mx):
    names = ("reset", "update", "get", "get_name_value")
    metric, calls = metric_telling(mx, mx.gluon.metric.Accuracy, names)
    return seen_by(metric, mx, calls)


@case(OTHERS)
def metric_get(mx):
    class Percent(mx.gluon.metric.Accuracy):
        def get(self):
            name, value = super().get()
            return name, value * 100

    both = mx.gluon.metric.CompositeEvalMetric([Percent(), mx.gluon.metric.Accuracy(name="plain")])
    both.update([mx.np.array([0.0, 1.0])], [mx.np.array([[0.8, 0.2], [0.8, 0.2]])])
    return both.get_name_value(), Percent().get_name_value()[0][0]


@case(OTHERS)
def metric_of_metrics(mx):
    calls = []

    class Telling(mx.gluon.metric.Accuracy):
        def update(self, labels, preds):
            calls.append("update")
            super().update(labels, preds)

        def update_dict(self, label, pred):
            calls.append("update_dict")
            super().update_dict(label, pred)

        def reset(self):
            calls.append("reset")
            super().reset()

    both = mx.gluon.metric.CompositeEvalMetric([Telling(), Telling()])
    calls.clear()
    both.update([mx.np.array([0.0])], [mx.np.array([[0.8, 0.2]])])
    first = list(calls)
    both.reset()
    second = calls[len(first) :]
    both.update_dict({"label": mx.np.array([0.0])}, {"pred": mx.np.array([[0.8, 0.2]])})
    return first, second, calls[len(first) + len(second) :]


@case(OTHERS)
def losses(mx):
    class Doubled(mx.gluon.loss.L2Loss):
        def forward(self, pred, label, sample_weight=None):
            return super().forward(pred, label, sample_weight) * 2

    class Other(mx.gluon.loss.CosineEmbeddingLoss):
        def _cosine_similarity(self, x, y, axis=-1):
            return mx.np.ones((x.shape[0], 1)) * 0.25

    class Far(mx.gluon.loss.SDMLLoss):
        def _compute_distances(self, x1, x2):
            return super()._compute_distances(x1, x2) * 0.5

        def _compute_labels(self, batch_size):
            return super()._compute_labels(batch_size)

    x, y = mx.np.array([[1.0, 2.0], [0.5, -1.0]]), mx.np.array([[1.5, 0.0], [2.0, 1.0]])
    label = mx.np.array([1.0, -1.0])
    return [
        rounded(Doubled()(x, y).asnumpy()),
        rounded(Other()(x, y, label).asnumpy()),
        rounded(Far()(x, y).asnumpy()),
    ]


@case(OTHERS)
def samplers(mx):
    data = mx.gluon.data

    class Backwards(data.Sampler):
        def __init__(self, length):
            self._length = length

        def __iter__(self):
            return iter(range(self._length - 1, -1, -1))

        def __len__(self):
            return self._length

    class Pairs(data.BatchSampler):
        def __iter__(self):
            for batch in super().__iter__():
                yield [*batch, batch[0]]

    class Shown(data.SequentialSampler):
        def __iter__(self):
            return iter([1, 3])

        def __len__(self):
            return 2

    numbers = data.ArrayDataset(numpy.arange(5, dtype="float32"))
    found = []
    for options in (
        {"batch_size": 2, "sampler": Backwards(5)},
        {"batch_sampler": Pairs(Backwards(5), 2, "keep")},
        {"batch_size": 2, "sampler": Shown(5)},
    ):
        loader = data.DataLoader(numbers, **options)
        found.append([len(loader), [rounded(batch.asnumpy()) for batch in loader]])
    return found


@case(OTHERS)
def data_sets(mx):
    data = mx.gluon.data

    class Tens(data.Dataset):
        def __getitem__(self, index):
            if index >= 4:
                raise IndexError(index)
            return numpy.float32(index * 10)

        def __len__(self):
            return 4

        def transform(self, fn, lazy=True):
            return super().transform(lambda *x: fn(*x) + 1, lazy)

    class Loader(data.DataLoader):
        def __iter__(self):
            for batch in super().__iter__():
                yield batch * 2

        def __len__(self):
            return 7

    loader = Loader(Tens(), batch_size=2, batchify_fn=lambda rows: mx.np.array(rows) + 0.5)
    return (
        [rounded(batch.asnumpy()) for batch in loader],
        len(loader),
        *[
            [float(part[k]) for k in range(len(part))]
            for part in (Tens().transform_first(lambda x: x * 3), Tens().take(2), Tens().filter(lambda x: x > 5))
        ],
    )


@case(OTHERS)
def rates(mx):
    class Warm(mx.lr_scheduler.FactorScheduler):
        def get_warmup_lr(self, num_update):
            return 7.0 + num_update

    class Called(mx.lr_scheduler.LRScheduler):
        def __call__(self, num_update):
            return 0.1 * (1 + num_update)

    warm = Warm(2, factor=0.5, base_lr=0.4, warmup_steps=2)
    optimizer = mx.optimizer.SGD(learning_rate=None, lr_scheduler=Called())
    numbers, _ = trained(
        mx, mx.gluon.Trainer, optimizer=mx.optimizer.SGD(learning_rate=None, lr_scheduler=Called()), settings={}
    )
    return [warm(k) for k in range(5)], optimizer.learning_rate, numbers


@case(OTHERS)
def stores(mx):
    calls = []

    class Telling(mx.kv.KVStoreBase):
        type = "telling"

        def __init__(self):
            self.inner = mx.kv.create("local")

        @staticmethod
        def is_capable(capability):
            return capability == "optimizer"

        def broadcast(self, key, value, out, priority=0):
            calls.append(["broadcast", key, priority])
            self.inner.broadcast(key, value, out)

        def pushpull(self, key, value, out=None, priority=0):
            calls.append(["pushpull", key, priority, out is None])
            self.inner.pushpull(key, value, out)

        def set_optimizer(self, optimizer):
            calls.append(["set_optimizer", optimizer.rescale_grad])
            self.inner.set_optimizer(optimizer)

    numbers, trainer = trained(mx, mx.gluon.Trainer, kvstore=Telling(), steps=2)
    return numbers, calls, trainer._update_on_kvstore, trainer._kvstore.type


@case(OTHERS)
def a_store_sets_its_updater(mx):
    class Mine(mx.optimizer.SGD):
        def _get_lrs(self, indices):
            return [0.5 for _ in indices]

    store, out = mx.kv.create("local"), mx.np.zeros((2,))
    store.init(1, mx.np.ones((2,)))
    store.set_optimizer(Mine())
    store.push(1, mx.np.ones((2,)))
    store.pull(1, out=out)
    return rounded(out.asnumpy())


# ------------------------------------------------------------------------- names of which no program above asked


@case(OPTIMIZER)
def set_current_device(mx):
    class Halving(mx.optimizer.SGD):
        def _set_current_device(self, device_id):
            super()._set_current_device(device_id)
            self.rescale_grad *= 0.5

    return trained(mx, mx.gluon.Trainer, optimizer=Halving(learning_rate=0.05), settings={})[0]


@case(OPTIMIZER)
def set_current_device_of_two(mx):
    class Own(mx.optimizer.SGD):
        def _set_current_device(self, device_id):
            super()._set_current_device(device_id)
            self.set_learning_rate(0.05 * (1 + device_id))

    return [on_two(mx, mx.gluon.Trainer, optimizer=Own(), settings={}, update_on_kvstore=False)[0]]


@case(OPTIMIZER)
def set_current_device_of_an_updater(mx):
    calls = []

    class Telling(mx.optimizer.SGD):
        def _set_current_device(self, device_id):
            calls.append(device_id)
            super()._set_current_device(device_id)

    updater, weight = mx.optimizer.get_updater(Telling(learning_rate=0.1)), mx.np.array([1.0, 2.0])
    updater(0, mx.np.ones((2,)), weight)
    updater([0, 1], [mx.np.ones((2,)), mx.np.ones((2,))], [weight, mx.np.ones((2,))])
    return calls, rounded(weight.asnumpy())


@case(OPTIMIZER)
def sync_state_context(mx):
    class Doubling(mx.optimizer.Updater):
        def sync_state_context(self, state, context):
            return super().sync_state_context(state, context) * 2

    weight = mx.np.array([1.0, 2.0])
    updater = Doubling(mx.optimizer.SGD(learning_rate=0.1, momentum=0.5))
    updater(0, mx.np.ones((2,)), weight)
    first = rounded(weight.asnumpy())
    updater.set_states(updater.get_states(False))
    for _ in range(2):
        updater(0, mx.np.ones((2,)), weight)
    return first, rounded(weight.asnumpy())


@case(TRAINER)
def check_devices_is_asked_by_the_constructor(mx):
    calls = []

    class Telling(mx.gluon.Trainer):
        def _check_devices(self):
            calls.append(len(self._params))
            return super()._check_devices()

    Telling(made(mx).collect_params(), "sgd")
    return len(calls) > 0


@case(TRAINER)
def a_parameter_is_told_its_trainer(mx):
    calls = []

    class Telling(mx.gluon.Parameter):
        def _set_trainer(self, trainer):
            calls.append(type(trainer).__name__)
            super()._set_trainer(trainer)

    net = in_block(mx, Telling("weight", shape=(2, 3), init="ones"))
    net.initialize()
    mx.gluon.Trainer(net.collect_params(), "sgd")
    return calls


@case(PARAMETER)
def rows_are_found_by_the_parameter(mx):
    calls = []

    class Telling(mx.gluon.Parameter):
        def _get_row_sparse(self, arr_list, ctx, row_id):
            calls.append([int(i) for i in row_id.asnumpy()])
            return super()._get_row_sparse(arr_list, ctx, row_id)

    mx.npx.reset_np()
    try:
        param = Telling("table", shape=(4, 2), init="ones", stype="row_sparse", grad_stype="row_sparse")
        param.initialize()
        trainer = mx.gluon.Trainer([param], "sgd")
        return param.row_sparse_data(mx.nd.array([1, 3], dtype="int64")).asnumpy().tolist(), calls, len(trainer._params)
    finally:
        mx.npx.set_np()


@case(TRAINER)
def rows_are_pulled_by_the_trainer(mx):
    calls = []

    class Telling(mx.gluon.Trainer):
        def _row_sparse_pull(self, parameter, out, row_id, full_idx=False):
            calls.append([list(out.shape), out.stype, [int(i) for i in row_id.asnumpy()], full_idx])
            super()._row_sparse_pull(parameter, out, row_id, full_idx)

    class Other(mx.gluon.Trainer):
        def _row_sparse_pull(self, parameter, out, row_id, full_idx=False):
            rows = (mx.nd.ones((2, 2)) * 7, mx.nd.array([0, 2], dtype="int64"))
            mx.nd.sparse.row_sparse_array(rows, shape=out.shape).copyto(out)

    mx.npx.reset_np()
    try:
        found = []
        for cls in (Telling, Other):
            param = mx.gluon.Parameter("table", shape=(4, 2), init="ones", stype="row_sparse", grad_stype="row_sparse")
            param.initialize()
            trainer = cls([param], "sgd")
            found.append(param.row_sparse_data(mx.nd.array([1, 3], dtype="int64")).asnumpy().tolist())
            found.append(param._reduce().asnumpy().tolist())
        return found, calls, len(trainer._params)
    finally:
        mx.npx.set_np()


@case(PARAMETER)
def list_device_is_asked(mx):
    calls = []

    class Telling(mx.gluon.Parameter):
        def list_device(self):
            calls.append("list_device")
            return super().list_device()

    net = in_block(mx, Telling("weight", shape=(2, 3), init="ones"))
    net.initialize()
    mx.gluon.Trainer(net.collect_params(), "sgd")
    by_trainer = len(calls) > 0
    calls.clear()
    net.weight.list_ctx()
    return by_trainer, len(calls)


@case(INITIALIZER)
def set_verbosity(mx):
    calls = []

    class Telling(mx.init.One):
        def set_verbosity(self, verbose=False, print_func=None):
            calls.append(verbose)
            return self

    net = layers(mx)
    net.initialize(Telling(), verbose=True)
    return calls


@case(INITIALIZER)
def init_util_of_a_fused_rnn(mx):
    calls = []

    class Telling(mx.init.RNNFused):
        def _init_util(self, param, connect, arr):
            calls.append([param, connect, arr.size])
            arr[:] = len(calls)

    init = Telling("lstm", 1, 2, i2h_weight_initializer="zeros", h2h_weight_initializer="zeros")
    arr = mx.np.zeros((2 * 4 * (3 + 2 + 2),))
    init._init_weight("rnn_param", arr)
    return calls, rounded(arr.asnumpy())


@case(BLOCK)
def infer_shape_of_a_container(mx):
    found = []
    for active in (False, True):
        calls = []

        def infer_shape(self, x, *args, calls=calls):
            calls.append(list(x.shape))

        net = net_of(mx, {"infer_shape": infer_shape}, in_units=0)
        net.initialize()
        net.hybridize(active)
        found.append([rounded(net(mx.np.ones((1, 3))).asnumpy()), calls])
    return found


@case(BLOCK)
def infer_shape_of_a_container_that_hands_it_on(mx):
    def infer_shape(self, x, *args):
        self.fc.weight.shape = (2, x.shape[1])

    found = []
    for active in (False, True):
        net = net_of(mx, {"infer_shape": infer_shape}, in_units=0)
        net.initialize()
        net.hybridize(active)
        found.append(rounded(net(mx.np.ones((1, 3))).asnumpy()))
    return found


@case(BLOCK)
def names_with_a_prefix_of_a_child(mx):
    def own_names(self, prefix="", select=None):
        if prefix:
            prefix += "."
        return {f"{prefix}own": self.fc.weight}

    with tempfile.TemporaryDirectory() as folder:
        net = mx.gluon.nn.HybridSequential()
        net.add(net_of(mx, {"_collect_params_with_prefix": own_names}), mx.gluon.nn.Dense(1, in_units=2))
        net.initialize(mx.init.One())
        net.save_parameters(os.path.join(folder, "net"))
        saved = mx.npx.load(os.path.join(folder, "net"))
        mx.npx.savez(os.path.join(folder, "other.npz"), **{name: array * 3 for name, array in saved.items()})
        net.load_parameters(os.path.join(folder, "other.npz"))
        return sorted(saved), rounded(net[0].fc.weight.data().asnumpy())


@case(BLOCK)
def check_container_with_block(mx):
    calls = []
    net = net_of(mx, telling(mx, calls, "_check_container_with_block"))
    net.collect_params()
    return calls


@case(BLOCK)
def hooks_are_registered_on_children(mx):
    calls = []
    net = mx.gluon.nn.HybridSequential()
    net.add(net_of(mx, telling(mx, calls, "register_op_hook")))
    net.initialize()
    net.register_op_hook(lambda *args: None)
    return calls


@case(BLOCK)
def optimize_for_hybridizes(mx):
    calls = []
    net = net_of(mx, telling(mx, calls, "hybridize"))
    net.initialize()
    net.optimize_for(mx.np.ones((1, 3)))
    return calls


@case(BLOCK)
def activations_of_cells(mx):
    def _get_activation(self, inputs, activation, **kwargs):
        return inputs * 0.5

    found = []
    for name in ("RNNCell", "LSTMCell", "GRUCell"):
        cell = type("Mine", (getattr(mx.gluon.rnn, name),), {"_get_activation": _get_activation})(2, input_size=3)
        cell.initialize(mx.init.Constant(0.1))
        states = cell.begin_state(batch_size=1)
        found.append(rounded(cell(mx.np.ones((1, 3)), states)[0].asnumpy()))
    return found


@case(BLOCK)
def begin_state_and_state_info_of_cells(mx):
    calls = []

    class Mine(mx.gluon.rnn.GRUCell):
        def state_info(self, batch_size=0):
            calls.append("state_info")
            return super().state_info(batch_size)

        def begin_state(self, batch_size=0, func=mx.np.zeros, **kwargs):
            calls.append("begin_state")
            return [state + 1 for state in super().begin_state(batch_size, func, **kwargs)]

    cell = Mine(2, input_size=3)
    cell.initialize(mx.init.Constant(0.1))
    outputs, _ = cell.unroll(2, mx.np.ones((1, 2, 3)), merge_outputs=True)
    many = mx.gluon.rnn.HybridSequentialRNNCell()
    many.add(Mine(2, input_size=3))
    many.add(mx.gluon.rnn.ZoneoutCell(Mine(2, input_size=2)))
    many.initialize(mx.init.Constant(0.1))
    return (
        sorted(set(calls)),
        rounded(outputs.asnumpy()),
        [rounded(state.asnumpy()) for state in many.begin_state(batch_size=1)],
    )


@case(BLOCK)
def unroll_of_a_child_cell(mx):
    calls = []

    class Mine(mx.gluon.rnn.RNNCell):
        def unroll(self, length, inputs, **kwargs):
            calls.append(length)
            outputs, states = super().unroll(length, inputs, **kwargs)
            return ([o * 2 for o in outputs] if isinstance(outputs, list) else outputs * 2), states

    cell = mx.gluon.rnn.BidirectionalCell(Mine(2, input_size=3), Mine(2, input_size=3))
    cell.initialize(mx.init.Constant(0.1))
    outputs, _ = cell.unroll(2, mx.np.ones((1, 2, 3)), merge_outputs=True)
    return rounded(outputs.asnumpy()), calls


@case(BLOCK)
def masks_of_variational_dropout(mx):
    calls = []

    class Mine(mx.gluon.rnn.VariationalDropoutCell):
        def _initialize_input_masks(self, inputs, states):
            calls.append("input")
            self.drop_inputs_mask = mx.np.ones_like(inputs) * 0.5

        def _initialize_output_mask(self, output):
            calls.append("output")

    cell = Mine(mx.gluon.rnn.RNNCell(2, input_size=3), drop_inputs=0.5)
    cell.initialize(mx.init.Constant(0.1))
    outputs, _ = cell.unroll(2, mx.np.ones((1, 2, 3)), merge_outputs=True)
    return rounded(outputs.asnumpy()), sorted(set(calls))


@case(BLOCK)
def layers_of_an_rnn(mx):
    calls = []

    class Mine(mx.gluon.rnn.LSTM):
        def state_info(self, batch_size=0):
            calls.append("state_info")
            return super().state_info(batch_size)

        def begin_state(self, batch_size=0, func=mx.np.zeros, **kwargs):
            calls.append("begin_state")
            return [state + 1 for state in super().begin_state(batch_size, func, **kwargs)]

        def _forward_kernel(self, inputs, states, sequence_length):
            calls.append("_forward_kernel")
            out = super()._forward_kernel(inputs, states, sequence_length)
            return (out[0] * 2, *out[1:]) if isinstance(out, tuple) else out * 2

    found = []
    for layout in ("TNC", "NTC"):
        layer = Mine(2, input_size=3, layout=layout)
        layer.initialize(mx.init.Constant(0.1))
        for _ in range(2):
            found.append(rounded(layer(mx.np.ones((1, 1, 3))).asnumpy()))
            layer.hybridize()
    return found, sorted(set(calls))


@case(OTHERS)
def metric_config(mx):
    class Named(mx.gluon.metric.Accuracy):
        def get_config(self):
            return {**super().get_config(), "own": 1}

    both = mx.gluon.metric.CompositeEvalMetric([Named()])
    return [config.get("own") for config in both.get_config()["metrics"]], "own" in str(both.get_config())


@case(OTHERS)
def metric_names_in_the_text(mx):
    class Own(mx.gluon.metric.MAE):
        def get_name_value(self):
            return [("own", 3.0)]

    return str(Own())


@case(OTHERS)
def a_store_is_given_its_updater(mx):
    calls = []

    class Telling(type(mx.kv.create("local"))):
        def _set_updater(self, updater):
            calls.append(type(updater).__name__)
            super()._set_updater(updater)

    store = mx.kv.create("local")
    store.__class__ = Telling
    store.set_optimizer(mx.optimizer.SGD(learning_rate=0.5))
    return calls


@case(OTHERS)
def a_store_writes_and_reads_states(mx):
    calls = []

    class Telling(mx.kv.KVStoreBase):
        type = "telling"

        def __init__(self):
            self.inner = mx.kv.create("local")

        @staticmethod
        def is_capable(capability):
            return capability == "optimizer"

        def broadcast(self, key, value, out, priority=0):
            self.inner.broadcast(key, value, out)

        def pushpull(self, key, value, out=None, priority=0):
            self.inner.pushpull(key, value, out)

        def set_optimizer(self, optimizer):
            self.inner.set_optimizer(optimizer)
            self._updater = self.inner._updater

        def save_optimizer_states(self, fname, dump_optimizer=False):
            calls.append(["save", dump_optimizer])
            self.inner.save_optimizer_states(fname, dump_optimizer)

        def load_optimizer_states(self, fname):
            calls.append(["load"])
            self.inner.load_optimizer_states(fname)
            self._updater = self.inner._updater

    _, trainer = trained(mx, mx.gluon.Trainer, kvstore=Telling(), steps=2, settings={"momentum": 0.5})
    with tempfile.TemporaryDirectory() as folder:
        trainer.save_states(os.path.join(folder, "states"))
        trainer.load_states(os.path.join(folder, "states"))
    return calls


@case(OTHERS)
def a_store_is_told_of_compression(mx):
    calls = []

    class Telling(type(mx.kv.create("local"))):
        def set_gradient_compression(self, compression_params):
            calls.append(dict(compression_params))

    store = mx.kv.create("device")
    store.__class__ = Telling
    trained(mx, mx.gluon.Trainer, kvstore=store, compression_params={"type": "2bit"}, update_on_kvstore=False)
    return calls


@case(OTHERS)
def loaders_of_many_threads(mx):
    data = mx.gluon.data

    class Slow(data.Dataset):
        def __getitem__(self, index):
            return numpy.float32(index)

        def __len__(self):
            return 4

        def __mx_handle__(self):
            raise NotImplementedError

    class Loader(data.DataLoader):
        def __iter__(self):
            for batch in super().__iter__():
                yield batch + 1

    options = {"batch_size": 2, "num_workers": 2, "thread_pool": True, "try_nopython": False}
    return [rounded(batch.asnumpy()) for batch in Loader(Slow(), **options)]
