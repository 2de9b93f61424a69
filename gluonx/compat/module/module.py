"""A module over one symbol."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jax.sharding import NamedSharding, PartitionSpec

from gluonx import initializer as init
from gluonx import np as gnp
from gluonx import optimizer as opt
from gluonx.common.frames import warn
from gluonx.compat import nd
from gluonx.compat.callback import save_checkpoint
from gluonx.compat.io import DataDesc
from gluonx.compat.model import load_checkpoint
from gluonx.compat.module.base import DEFAULT_RATE, BaseModule, batch_of, names_of, shown
from gluonx.compat.module.group import ExecutorGroup
from gluonx.compat.nd.ndarray import as_nd, nd_twin
from gluonx.compat.symbol.executor import Executor, whole
from gluonx.device import current_device
from gluonx.dtype import on_device
from gluonx.errors import FormatError, ShapeError
from gluonx.files import atomic_write, is_pickle, load_trainer_states
from gluonx.initializer import InitDesc
from gluonx.sharding import make_mesh
from gluonx.sparse import cast_storage
from gluonx.utils import split_and_load

if TYPE_CHECKING:
    from gluonx.compat.monitor import Monitor
    from gluonx.compat.nd.ndarray import NDArray
    from gluonx.metric.base import EvalMetric
    from gluonx.np.handle import ndarray


def _described(shapes: Sequence[Any] | None) -> list[DataDesc]:
    return [s if isinstance(s, DataDesc) else DataDesc(*s) for s in shapes or []]


class _Spread:
    """Several devices, each of which has all parameters and a part of every batch: a mesh of them, and one program.

    A batch that does not divide into them is on all of them whole, which gives the same numbers.
    """

    def __init__(self, devices: Sequence[Any], jax_devices: Sequence[Any]) -> None:
        mesh = make_mesh(jax_devices, data=-1)
        self.home, self.count = devices[0].place, len(jax_devices)
        self.whole = NamedSharding(mesh, PartitionSpec())
        self._mesh = mesh

    def lay_out(self, array: ndarray, axis: int = -1) -> ndarray:
        """Put an array onto the devices, split along `axis` or whole; return it."""
        place = self.whole
        if axis >= 0 and array.shape[axis] % self.count == 0:
            place = NamedSharding(self._mesh, PartitionSpec(*[None] * axis, "data"))
        value = array._read()
        if not value.sharding.is_equivalent_to(place, value.ndim):
            array.value, array.aval = on_device(value, place), None
        return array

    def gathered(self, array: ndarray) -> ndarray:
        """Return the same array on the first device."""
        return gnp.array(on_device(array._read(), self.home))


def _spread_over(devices: Sequence[Any]) -> _Spread | None:
    """Return how to work on several devices; None where all of them are one of JAX's."""
    found = list(dict.fromkeys([d.jax_device for d in devices])) if len(devices) > 1 else []
    return _Spread(devices, found) if len(found) > 1 else None


class Module(BaseModule):
    """A symbol, bound to arrays and trained by batches.

    Parameters
    ----------
    symbol : Symbol
    data_names, label_names : list of str
        Its variables that batches bring. Labels that the symbol does not have are left out of account.
    logger : logging.Logger
    context : Device, or list of them
        Several each take a part of every batch; numbers are those of one device, whose BatchNorm has the statistics of
        the whole batch. A single one is accepted for ported code.
    fixed_param_names : list of str, optional
        Parameters that are not trained.
    state_names : list of str, optional
        Variables that neither batches bring nor training changes: the program sets them, by `set_states`.
    work_load_list, group2ctxs, compression_params
        Accepted for ported code where they ask for nothing.

    Raises
    ------
    ValueError
        If a name is none of the symbol's.

    Examples
    --------
    >>> import numpy
    >>> import gluonx as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    >>> module = Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    >>> x = numpy.array([[0.0, 1], [1, 0], [0, 2], [2, 0]], "float32")
    >>> data = mx.io.NDArrayIter(x, numpy.array([1, 0, 1, 0]), batch_size=2)
    >>> module.fit(data, num_epoch=5, optimizer_params={"learning_rate": 1.0})
    >>> module.score(data, "acc")
    [('accuracy', 1.0)]
    """

    def __init__(
        self,
        symbol: Any,
        data_names: Sequence[str] | str = ("data",),
        label_names: Sequence[str] | str | None = ("softmax_label",),
        logger: Any = logging,
        context: Any = None,
        work_load_list: Any = None,
        fixed_param_names: Sequence[str] | None = None,
        state_names: Sequence[str] | None = None,
        group2ctxs: Any = None,
        compression_params: Any = None,
    ) -> None:
        super().__init__(logger)
        devices: list[Any] = list(context) if isinstance(context, (list, tuple)) else [context]
        self._context = [d or current_device() for d in devices]
        self._spread = _spread_over(self._context)
        self._symbol = symbol
        names = symbol.list_arguments()
        self._data_names, self._fixed_param_names = names_of(data_names), names_of(fixed_param_names)
        self._state_names = names_of(state_names)
        for what, given in (
            ("data_names", self._data_names),
            ("state_names", self._state_names),
            ("fixed_param_names", self._fixed_param_names),
        ):
            missing = [name for name in given if name not in names]
            if missing:
                raise ValueError(f"Module: {what} has '{missing[0]}', but the symbol's arguments are {names}")
        self._label_names = [name for name in names_of(label_names) if name in names]
        inputs = {*self._data_names, *self._label_names, *self._state_names}
        self._param_names = [name for name in names if name not in inputs]
        self._aux_names = symbol.list_auxiliary_states()
        self._executors: dict[Any, Executor] = {}
        self._executor: Any = None
        self._updater: Any = None
        self._preloaded: tuple[Any, Any] | None = None
        self._preload_opt_states: str | None = None
        self._data_shapes: list[DataDesc] = []
        self._label_shapes: list[DataDesc] = []

    # -- what it is ----------------------------------------------------------------------------------------------------

    symbol = shown("_symbol", "The symbol.")
    data_names = shown("_data_names", "The names of the inputs.")
    label_names = shown("_label_names", "The names of the labels.")
    data_shapes = shown("_data_shapes", "The descriptions of the inputs that `bind` was given.")
    label_shapes = shown("_label_shapes", "The descriptions of the labels that `bind` was given.")

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs."""
        return self._symbol.list_outputs()

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Names and shapes of the outputs."""
        self._needs("output_shapes", self.binded, "bind()")
        known = {d.name: d.shape for d in (*self._data_shapes, *self._label_shapes)}
        _, shapes, _ = self._symbol.infer_shape(**known)
        return list(zip(self.output_names, shapes, strict=True))

    def _batch_size(self) -> int:
        first = self._data_shapes[0]
        return int(first.shape[max(DataDesc.get_batch_axis(first.layout), 0)])

    # What programs reach for, by MXNet's names.

    @property
    def _exec_group(self) -> ExecutorGroup:
        return ExecutorGroup(self)

    @property
    def _optimizer(self) -> Any:
        return None if self._updater is None else self._updater.optimizer

    @property
    def _arg_params(self) -> dict[str, Any] | None:
        """The parameters by name; before `bind` those that were loaded, or set here, and None without."""
        return self._values(0)

    @_arg_params.setter
    def _arg_params(self, values: Any) -> None:
        self._take_values(0, values)

    @property
    def _aux_params(self) -> dict[str, Any] | None:
        """The auxiliary states, as `_arg_params`."""
        return self._values(1)

    @_aux_params.setter
    def _aux_params(self, values: Any) -> None:
        self._take_values(1, values)

    def _bound_arrays(self, kind: int) -> dict[str, Any]:
        arrays, names = (
            (self._executor.aux_dict, self._aux_names) if kind else (self._executor.arg_dict, self._param_names)
        )
        return {name: arrays[name] for name in names}

    def _values(self, kind: int) -> dict[str, Any] | None:
        if self._executor is not None and self.params_initialized:
            return {name: as_nd(self._shown(array)) for name, array in self._bound_arrays(kind).items()}
        return None if self._preloaded is None else self._preloaded[kind]

    def _take_values(self, kind: int, values: Any) -> None:
        before = self._preloaded or (None, None)
        self._preloaded = (before[0], values) if kind else (values, before[1])
        if self._executor is not None and values is not None:
            for name, array in self._bound_arrays(kind).items():
                if name in values and values[name] is not array:
                    array[...] = whole(values[name])

    def _sync_params_from_devices(self) -> None:
        """Do nothing: there is one set of parameters, and it is what the devices have."""

    # -- binding -------------------------------------------------------------------------------------------------------

    def bind(  # type: ignore[override]
        self,
        data_shapes: Any,
        label_shapes: Any = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: Module | None = None,
        grad_req: Any = "write",
    ) -> None:
        """Make the arrays.

        Parameters
        ----------
        data_shapes, label_shapes : list of DataDesc or (str, tuple)
            Of the batches to come; batches of other shapes may come too.
        for_training : bool
            Whether gradients are wanted.
        inputs_need_grad : bool
            Whether those of the inputs are wanted too.
        force_rebind : bool
            Whether to do it again if it was done; parameters keep their values.
        shared_module : Module, optional
            Whose parameters this one uses.
        grad_req : {'write', 'add', 'null'}, or dict of them
            For the parameters.

        Raises
        ------
        ValueError
            If the names are not those that the module was made with.
        ShapeError
            If the shapes do not tell those of all parameters.
        """
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        old = self._executor if self.binded else None
        data, labels = _described(data_shapes), _described(label_shapes)
        if [d.name for d in data] != self._data_names and {d.name for d in data} != set(self._data_names):
            raise ValueError(f"bind: data_shapes names {[d.name for d in data]}, but data_names is {self._data_names}")
        labels = [d for d in labels if d.name in self._label_names]
        self._data_shapes, self._label_shapes = data, labels
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        shared = shared_module._executor if shared_module is not None else old
        self._executor = self._bound({d.name: d for d in (*data, *labels)}, grad_req, shared)
        self._executors = {self._key(): self._executor}
        self.binded = True
        if shared_module is not None:
            self.params_initialized = shared_module.params_initialized
        elif self._preloaded is not None and self.params_initialized and old is None:
            arg_params, aux_params = self._preloaded
            self.init_params(None, arg_params=arg_params or {}, aux_params=aux_params or {}, force_init=True)

    def _bound(self, inputs: Mapping[str, DataDesc], grad_req: Any, shared: Executor | None) -> Executor:
        reqs = dict.fromkeys(self._symbol.list_arguments(), "null")
        if self.for_training:
            of = grad_req if isinstance(grad_req, Mapping) else dict.fromkeys(self._param_names, grad_req)
            reqs.update({n: of.get(n, "write") for n in self._param_names if n not in self._fixed_param_names})
            if self.inputs_need_grad:
                reqs.update(dict.fromkeys(self._data_names, "write"))
        shapes = {name: d.shape for name, d in inputs.items()}
        types = {name: d.dtype for name, d in inputs.items() if d.dtype is not None}
        made = self._symbol.simple_bind(grad_req=reqs, type_dict=types, **shapes)
        if shared is None:
            return made
        ours = (*self._param_names, *self._state_names)
        args = {**made.arg_dict, **{n: shared.arg_dict[n] for n in ours if n in shared.arg_dict}}
        aux = {n: shared.aux_dict.get(n, made.aux_dict[n]) for n in self._aux_names}
        for name, array in args.items():
            if array.shape != made.arg_dict[name].shape:
                told = f"'{name}' has shape {array.shape} where it is shared, but {made.arg_dict[name].shape} is needed"
                raise ShapeError(f"bind: {told}")
        grads = {n: shared.grad_dict.get(n, g) if n in self._param_names else g for n, g in made.grad_dict.items()}
        return Executor(self._symbol, args, grads, reqs, aux)

    def _key(self) -> tuple[Any, ...]:
        return tuple([(d.name, d.shape) for d in (*self._data_shapes, *self._label_shapes)])

    def reshape(self, data_shapes: Any, label_shapes: Any = None) -> None:
        """Expect batches of other shapes; the parameters stay."""
        self._needs("reshape", self.binded, "bind()")
        self._data_shapes = _described(data_shapes)
        self._label_shapes = [d for d in _described(label_shapes) if d.name in self._label_names]
        key = self._key()
        if key not in self._executors:
            made, bound = self._executor.reshaped(dict(key), True, shared=False), self._executor.arg_dict
            for name in self._state_names:
                if made.arg_dict[name] is not bound[name]:
                    was, needed = bound[name].shape, made.arg_dict[name].shape
                    raise ShapeError(f"reshape: the state '{name}' has shape {was}, but {needed} would be needed")
            self._executors[key] = made
        self._executor = self._executors[key]

    # -- parameters ----------------------------------------------------------------------------------------------------

    def init_params(  # type: ignore[override]
        self,
        initializer: Any = "uniform",
        arg_params: Any = None,
        aux_params: Any = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Give the parameters their first values.

        Parameters
        ----------
        initializer : Initializer or None
            ``Uniform(0.01)`` by default.
        arg_params, aux_params : dict of str to array, optional
            Values, which go first.
            Names that the symbol does not have are passed over, as in MXNet: parts of a model share one file.
        allow_missing : bool
            Whether `initializer` makes what the dicts lack.
        force_init : bool
            Whether to do it again if it was done.
        allow_extra : bool
            Accepted for ported code.

        Raises
        ------
        ValueError
            If a name is missing.
        ShapeError
            If a value has another shape than the parameter.
        """
        if self.params_initialized and not force_init:
            told = "Parameters already initialized and force_init=False. init_params call ignored."
            warn(told)  # a warning in MXNet too, not a line of the log
            return
        self._needs("init_params", self.binded, "bind()")
        if isinstance(initializer, str):
            initializer = init.Uniform(0.01) if initializer == "uniform" else init.create(initializer)
        if self._preloaded is not None and arg_params is None and aux_params is None:
            arg_params, aux_params = self._preloaded
        attrs = self._symbol.attr_dict()
        for names, bound, given in (
            (self._param_names, self._executor.arg_dict, arg_params),
            (self._aux_names, self._executor.aux_dict, aux_params),
        ):
            for name in self._drawn(names):
                self._begin(name, bound[name], given, initializer, allow_missing, attrs.get(name))
        self.params_initialized = True

    def _drawn(self, names: Sequence[str]) -> Sequence[str]:
        """Return names in the order in which an initializer is asked, and so draws its numbers."""
        return sorted(names)

    def _begin(
        self,
        name: str,
        array: Any,
        given: dict[str, NDArray] | None,
        initializer: Any,
        allow_missing: bool,
        attrs: Any,
    ) -> None:
        if given is not None and name in given:
            value = given[name]
            if tuple(value.shape) != tuple(array.shape):
                raise ShapeError(f"init_params: '{name}' has shape {value.shape}, but {array.shape} is needed")
            if value is not array:
                array[...] = whole(value)
        elif given is not None and not allow_missing:
            raise ValueError(f"init_params: there is no value for '{name}'; allow_missing=True initializes it")
        elif initializer is not None:
            initializer(InitDesc(name, attrs), array)

    def get_params(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return copies of the parameters and auxiliary states, by name; row_sparse where the symbol says so."""
        self._needs("get_params", self.params_initialized, "bind() and init_params()")
        args, aux = [{name: array.copy() for name, array in (self._values(kind) or {}).items()} for kind in (0, 1)]
        for node in self._symbol._variables():
            if node.attrs.get("__storage_type__") == "1" and node.name in args:
                args[node.name] = cast_storage(args[node.name], "row_sparse")
        return args, aux

    def _shown(self, array: ndarray) -> NDArray:
        """Return an array as users get it: on the first device, where there are several."""
        return nd_twin(array if self._spread is None else self._spread.gathered(array))

    def _lay_out(self, values: dict[str, Any]) -> None:
        """Put what the executor takes onto the devices: all of the parameters, and a part of the batch on each."""
        bound, spread = self._executor, self._spread
        assert spread is not None, "asked of several devices"
        axes = {d.name: DataDesc.get_batch_axis(d.layout) for d in (*self._data_shapes, *self._label_shapes)}
        for name, array in bound.arg_dict.items():
            spread.lay_out(array, axes.get(name, -1))
        sums = [grad for name, grad in bound.grad_dict.items() if bound._reqs[name] == "add"]
        for array in (*bound.aux_dict.values(), *sums):
            spread.lay_out(array)
        for name, value in values.items():
            values[name] = spread.lay_out(gnp.array(value), axes.get(name, -1))

    # -- training ------------------------------------------------------------------------------------------------------

    def init_optimizer(  # type: ignore[override]
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = DEFAULT_RATE,
        force_init: bool = False,
    ) -> None:
        """Make the optimizer.

        Parameters
        ----------
        kvstore : object
            Accepted for ported code.
        optimizer : str or Optimizer
            One by name averages the gradient over the batch (``rescale_grad``), and decays only parameters whose names
            end in ``_weight`` or ``_gamma``; ``__lr_mult__`` and ``__wd_mult__`` of the symbol's variables are obeyed.
        optimizer_params : dict, or pairs
        force_init : bool
            Whether to do it again if it was done.
        """
        self._needs("init_optimizer", self.binded and self.params_initialized, "bind() and init_params()")
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring...")
            return
        if not isinstance(optimizer, opt.Optimizer):
            settings = dict(optimizer_params)
            settings.setdefault("rescale_grad", 1.0 / self._batch_size())
            optimizer = opt.create(optimizer, param_idx2name={n: n for n in self._param_names}, **settings)
            self._set_mults(optimizer)
        self._updater = opt.get_updater(optimizer)
        self.optimizer_initialized = True
        if self._preload_opt_states is not None:
            self.load_optimizer_states(self._preload_opt_states)
            self._preload_opt_states = None

    def _set_mults(self, optimizer: opt.Optimizer) -> None:
        attrs = self._symbol.attr_dict()
        decays = {n: 0.0 for n in self._param_names if not n.endswith(("_weight", "_gamma"))}
        found = {"__lr_mult__": {}, "__wd_mult__": decays}
        for key, table in found.items():
            table.update({n: float(attrs[n][key]) for n in self._param_names if key in attrs.get(n, {})})
        optimizer.set_lr_mult(found["__lr_mult__"])
        optimizer.set_wd_mult(found["__wd_mult__"])

    def borrow_optimizer(self, shared_module: Module) -> None:
        """Use the optimizer and the states of another module."""
        self._needs("borrow_optimizer", shared_module.optimizer_initialized, "init_optimizer() of the other module")
        self._updater = shared_module._updater
        self.optimizer_initialized = True

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:  # type: ignore[override]
        """Compute the outputs for a batch.

        Parameters
        ----------
        data_batch : DataBatch
            Its shapes may be other than those that were bound.
        is_train : bool, optional
            As bound by default.
        """
        self._needs("forward", self.binded and self.params_initialized, "bind() and init_params()")
        batch = batch_of(data_batch)
        values = dict(zip([d.name for d in self._data_shapes], batch.data, strict=False))
        if len(values) != len(batch.data) or len(values) != len(self._data_shapes):
            raise ShapeError(f"forward: {len(self._data_shapes)} arrays were bound, but {len(batch.data)} came")
        labels = self._label_shapes if batch.label else []
        values.update(zip([d.name for d in labels], batch.label or [], strict=False))
        if any(tuple(v.shape) != self._executor.arg_dict[n].shape for n, v in values.items()):
            self._fit_shapes(values, bool(labels))
        if self._spread is not None:
            self._lay_out(values)
        self._executor.forward(self.for_training if is_train is None else is_train, **values)

    def _fit_shapes(self, values: Mapping[str, Any], labelled: bool) -> None:
        def seen(known: list[DataDesc]) -> list[DataDesc]:
            return [DataDesc(d.name, values[d.name].shape, d.dtype, d.layout) for d in known]

        rows = next(iter(values.values())).shape[0]
        labels = self._label_shapes
        free = [DataDesc(d.name, (rows, *d.shape[1:]), d.dtype, d.layout) for d in labels]
        self.reshape(seen(self._data_shapes), seen(labels) if labelled else free)

    def backward(self, out_grads: Any = None) -> None:  # type: ignore[override]
        """Compute the gradients; `out_grads` are those of the outputs where these are no losses."""
        self._needs("backward", self.binded and self.for_training, "bind(for_training=True)")
        self._executor.backward(out_grads)

    def update(self) -> None:  # type: ignore[override]
        """Change the parameters by their gradients, all of them in one program."""
        self._needs("update", self.optimizer_initialized, "init_optimizer()")
        bound = self._executor
        # States are kept by name, since modules that share an optimizer may have their parameters in other orders.
        names = [n for n in self._param_names if n in bound.grad_dict]
        if names:
            self._updater(names, [bound.grad_dict[n] for n in names], [bound.arg_dict[n] for n in names])

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:  # type: ignore[override]
        """Return the outputs of the last `forward`; a list by device for each, unless they are to be merged."""
        outs = [self._shown(out) for out in self._executor.outputs]
        return outs if merge_multi_context else [self._parts(out) for out in outs]

    def _parts(self, array: NDArray) -> list[Any]:
        """Return the rows of each device."""
        return [nd_twin(part) for part in split_and_load(array, self._context, even_split=False)]

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Return the gradients of the inputs, if ``bind(inputs_need_grad=True)`` asked for them."""
        self._needs("get_input_grads", self.inputs_need_grad, "bind(inputs_need_grad=True)")
        grads = [self._shown(self._executor.grad_dict[name]) for name in self._data_names]
        return grads if merge_multi_context else [self._parts(grad) for grad in grads]

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """Return the arrays of `state_names`; a list by device for each, unless they are to be merged."""
        self._needs("get_states", self.params_initialized, "bind() and init_params()")
        states = [self._shown(self._executor.arg_dict[name]) for name in self._state_names]
        return states if merge_multi_context else [self._parts(state) for state in states]

    def set_states(self, states: Any = None, value: Any = None) -> None:
        """Write the arrays of `state_names`.

        Parameters
        ----------
        states : list, optional
            An array for each, or, as ``get_outputs(merge_multi_context=False)`` gives them, a list by device.
        value : float, optional
            One number for all of them, in place of `states`.

        Raises
        ------
        ValueError
            If neither is given, or both, or another number of states.
        ShapeError
            If one has another shape.
        """
        self._needs("set_states", self.params_initialized, "bind() and init_params()")
        if (states is None) == (value is None):
            raise ValueError("set_states: give either states or value")
        if value is not None:
            states = [value] * len(self._state_names)
        if len(states) != len(self._state_names):
            raise ValueError(f"set_states: there are {len(self._state_names)} states, but {len(states)} came")
        for name, new in zip(self._state_names, states, strict=True):
            if isinstance(new, (list, tuple)):
                new = new[0] if len(new) == 1 else nd.concat(*new, dim=0)
            state = self._executor.arg_dict[name]
            if value is None and tuple(new.shape) != state.shape:
                raise ShapeError(f"set_states: '{name}' has shape {state.shape}, but {tuple(new.shape)} came")
            state[...] = new

    def update_metric(
        self, eval_metric: EvalMetric, labels: Sequence[ndarray] | None, pre_sliced: bool = False
    ) -> None:  # type: ignore[override]
        """Show labels and the last outputs to a metric."""
        names = [d.name for d in self._label_shapes]
        given = dict(zip(names, labels or [], strict=False))
        eval_metric.update_dict(given, dict(zip(self.output_names, self.get_outputs(), strict=True)))

    def install_monitor(self, mon: Monitor) -> None:
        """Have a `gluonx.compat.monitor.Monitor` look at the outputs within the symbol, in batches of all shapes."""
        self._needs("install_monitor", self.binded, "bind()")
        mon.install(self._executor)
        for executor in self._executors.values():
            executor._monitor = self._executor._monitor

    # -- files ---------------------------------------------------------------------------------------------------------

    @staticmethod
    def load(prefix: str, epoch: int, load_optimizer_states: bool = False, **kwargs: Any) -> Module:
        """Return a module of what `save_checkpoint` wrote; it is to be bound.

        Parameters
        ----------
        prefix, epoch
            As they were saved.
        load_optimizer_states : bool
            Whether ``PREFIX-EPOCH.states`` is to be read when the optimizer is made.
        **kwargs
            As for `Module`.
        """
        symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
        module = Module(symbol, **kwargs)
        module._preloaded, module.params_initialized = (arg_params, aux_params), True
        module._preload_opt_states = f"{prefix}-{epoch:04d}.states" if load_optimizer_states else None
        return module

    def save_checkpoint(
        self, prefix: str, epoch: int, save_optimizer_states: bool = False, remove_amp_cast: bool = True
    ) -> None:
        """Write ``PREFIX-symbol.json``, ``PREFIX-EPOCH.params`` and, if asked, ``PREFIX-EPOCH.states``."""
        save_checkpoint(prefix, epoch, self._symbol, *self.get_params())
        if save_optimizer_states:
            path = f"{prefix}-{epoch:04d}.states"
            self.save_optimizer_states(path)
            logging.info('Saved optimizer state to "%s"', path)

    def save_optimizer_states(self, fname: str) -> None:
        """Write the states of the optimizer, in gluonx's own format.

        As in MXNet, its learning rate and counts are not in it: those of the optimizer that goes on hold.
        """
        self._needs("save_optimizer_states", self.optimizer_initialized, "init_optimizer()")
        with atomic_write(fname) as file:
            file.write(self._updater.get_states())

    def load_optimizer_states(self, fname: str) -> None:
        """Read what `save_optimizer_states` wrote, here or in MXNet.

        Raises
        ------
        FormatError
            If the file is damaged or does not fit.
        """
        self._needs("load_optimizer_states", self.optimizer_initialized, "init_optimizer()")
        if not is_pickle(fname):
            with open(fname, "rb") as file:
                self._updater.set_states(file.read())
            return
        found, optimizer = load_trainer_states(fname), self._updater.optimizer
        found.optimizer = found.optimizer or type(optimizer).__name__
        if found.optimizer != type(optimizer).__name__:
            raise FormatError(f"'{fname}' has states of {found.optimizer}, but the optimizer is {optimizer!r}")
        arrays, meta = found.by_name(self._param_names)
        states: dict[str, Any] = {}
        for number in found.states:
            name = self._param_names[number]
            words = optimizer.state_names
            parts = [arrays.get(f"{name}/{word}") for word in words]
            if any(part is None for part in parts) or len(arrays) != len(words) * len(found.states):
                raise FormatError(f"'{fname}': the states of '{name}' are not {', '.join(words) or 'none'}")
            made = tuple([gnp.array(part, dtype=part.dtype) for part in parts if part is not None])
            states[name] = made[0] if len(made) == 1 else made or None
        self._updater.states = states
        optimizer._index_update_count, optimizer.num_update = dict(meta["counts"]), meta["num_update"]
