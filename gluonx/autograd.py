"""Automatic differentiation, with MXNet's names.

``record()`` marks what follows for differentiation; ``backward()`` adds the gradient to the same pending graph;
nothing is computed before somebody reads a value or ``trainer.step`` ends. See docs/deferred.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from weakref import ref

from gluonx.common.extensions import NAMES
from gluonx.common.frames import door
from gluonx.deferred.operators.derived import DerivedOp
from gluonx.deferred.operators.segments import Behind, CustomSegment, border
from gluonx.deferred.record import engine, rows, tape
from gluonx.deferred.record.graph import current_graph, settle, source_of
from gluonx.deferred.values.core import (
    Handle,
    Pending,
    Variable,
    aval_of,
    current_state,
    new_handle,
    record_scope,
    set_state,
    state_with,
    twin_of,
)
from gluonx.errors import ArgumentError, GraphError
from gluonx.np.handle import ndarray

__all__ = [
    "Function",
    "backward",
    "grad",
    "is_recording",
    "is_training",
    "mark_variables",
    "pause",
    "predict_mode",
    "record",
    "set_recording",
    "set_training",
    "train_mode",
]


class _Scope:
    """A context manager (and decorator) that changes the state of this context.

    Ctrl-C may come at any line of entering and leaving. Whatever came of it, leaving can be done a second time; and a
    scope that was never left, because the interrupt came before the first line of ``__exit__``, is left when it is
    released.
    """

    __slots__ = ("_entered", "recording", "training")

    def __init__(self, recording: bool | None, training: bool | None) -> None:
        self.recording = recording
        self.training = training
        # By depth: the state before, that within, and of an outermost record() its key and that of the scope around it.
        self._entered: list[tuple[Any, Any, Any, Any]] = []

    def __enter__(self) -> _Scope:
        depth, before = len(self._entered), current_state()
        try:
            key = around = None
            if self.recording and not before.recording and before.trace is None:
                engine.on_record_entry()
                key, around = object(), record_scope.get()  # a context variable would keep this scope itself
            within = state_with(self.recording, self.training)
            self._entered.append((before, within, key, around))
            if key is not None:
                record_scope.set(key)
            set_state(within)
            return self
        except BaseException:
            if len(self._entered) > depth:
                self._leave(depth, False)
            raise

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        depth = len(self._entered) - 1
        try:
            self._leave(depth, kind is not None)
        finally:
            if len(self._entered) > depth:
                self._leave(depth, True)

    def _leave(self, depth: int, failed: bool) -> None:
        """Go back to the state before; the last line is the one that says it is done."""
        before, _, key, around = self._entered[depth]
        set_state(before)
        if key is not None:
            record_scope.set(around)
            if failed:
                engine.on_record_error(key)
        del self._entered[depth:]

    def __del__(self) -> None:
        entered = getattr(self, "_entered", None)  # an interrupt may have come before it was set
        if entered and entered[-1][1] is current_state():
            self._leave(0, True)

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        import functools

        @functools.wraps(fn)
        def scoped(*args: object, **kwargs: object) -> Any:
            with _Scope(self.recording, self.training):
                return fn(*args, **kwargs)

        return scoped


def record(train_mode: bool = True) -> _Scope:
    """Start recording for gradients.

    Parameters
    ----------
    train_mode : bool
        Whether layers behave as in training (dropout drops, batch norm uses the batch).

    Returns
    -------
    context manager
        The previous state comes back when it is left; it also decorates functions.

    Examples
    --------
    >>> from gluonx import autograd, np
    >>> x = np.array([3.0])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = x**2
    >>> y.backward()
    >>> x.grad.item()
    6.0
    """
    return _Scope(True, train_mode)


def pause(train_mode: bool = False) -> _Scope:
    """Stop recording inside ``record()``: what is computed here is a constant to the gradient.

    Returns
    -------
    context manager
        The previous state comes back when it is left; it also decorates functions.

    Examples
    --------
    >>> from gluonx import autograd
    >>> with autograd.record():
    ...     with autograd.pause():
    ...         recording = autograd.is_recording()
    >>> recording
    False
    """
    return _Scope(False, train_mode)


def train_mode() -> _Scope:
    """Layers behave as in training; recording stays as it is.

    Returns
    -------
    context manager
        The previous mode comes back when it is left; it also decorates functions.

    Examples
    --------
    >>> from gluonx import autograd, np, npx
    >>> with autograd.train_mode():
    ...     dropped = npx.dropout(np.ones(1000), p=0.5)
    >>> bool((dropped == 0).any())
    True
    """
    return _Scope(None, True)


def predict_mode() -> _Scope:
    """Layers behave as in prediction; recording stays as it is.

    Returns
    -------
    context manager
        The previous mode comes back when it is left; it also decorates functions.

    Examples
    --------
    >>> from gluonx import autograd
    >>> with autograd.record():
    ...     with autograd.predict_mode():
    ...         training = autograd.is_training()
    >>> training
    False
    """
    return _Scope(None, False)


def is_recording() -> bool:
    """Return whether operations are being recorded.

    Returns
    -------
    bool
        True inside ``record()``.

    Examples
    --------
    >>> from gluonx import autograd
    >>> with autograd.record():
    ...     recording = autograd.is_recording()
    >>> recording, autograd.is_recording()
    (True, False)
    """
    return current_state().recording


def is_training() -> bool:
    """Return whether layers behave as in training.

    Returns
    -------
    bool
        True in training mode.

    Examples
    --------
    >>> from gluonx import autograd
    >>> with autograd.train_mode():
    ...     training = autograd.is_training()
    >>> training
    True
    """
    return current_state().training


def set_recording(is_recording: bool) -> bool:
    """Switch recording on or off; return what it was. Prefer :func:`record`.

    Returns
    -------
    bool
        The state before.

    Examples
    --------
    >>> from gluonx import autograd
    >>> before = autograd.set_recording(True)
    >>> autograd.set_recording(before)
    True
    """
    before = current_state()
    if is_recording and not before.recording and before.trace is None:
        engine.on_record_entry()
    set_state(state_with(recording=bool(is_recording)))
    return before.recording


def set_training(train_mode: bool) -> bool:
    """Switch training mode on or off; return what it was. Prefer :func:`train_mode`.

    Returns
    -------
    bool
        The mode before.

    Examples
    --------
    >>> from gluonx import autograd
    >>> before = autograd.set_training(True)
    >>> autograd.set_training(before)
    True
    """
    before = current_state().training
    set_state(state_with(training=bool(train_mode)))
    return before


@door
def backward(heads: Any, head_grads: Any = None, retain_graph: bool = False, train_mode: bool = True) -> None:
    """Compute gradients of `heads` into the arrays that have ``attach_grad()``.

    Parameters
    ----------
    heads : ndarray or list of ndarray
        Their sum is differentiated.
    head_grads : ndarray or list of ndarray, optional
        Weights of the heads' elements; ones where None.
    retain_graph : bool
        Keep the graph for another backward.
    train_mode : bool
        Kept for MXNet's signature; the mode is the one that was recorded.

    Raises
    ------
    GraphError
        When a head was not recorded, or its graph was freed by an earlier backward.

    Examples
    --------
    >>> from gluonx import autograd, np
    >>> x = np.array([3.0])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = x * x
    >>> autograd.backward([y])
    >>> x.grad.tolist()
    [6.0]
    """
    tape.backward(_dense(heads), head_grads, retain_graph)


def _dense(heads: Any) -> Any:
    """Return the heads of a backward, in place of sparse ones the dense arrays through which their gradients flow."""
    if isinstance(heads, (list, tuple)):
        return [_dense(head) for head in heads]
    return heads.leaf if isinstance(heads, ndarray) and heads.stype != "default" else heads


@door
def grad(
    heads: Any,
    variables: Any,
    head_grads: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    train_mode: bool = True,
) -> Any:
    """Gradients of `heads` with respect to `variables`, returned instead of stored.

    Parameters
    ----------
    heads, head_grads
        As in :func:`backward`.
    variables : ndarray or list of ndarray
        Arrays with ``attach_grad()``, or recorded intermediate values.
    retain_graph : bool, optional
        As in :func:`backward`; by default the value of `create_graph`.
    create_graph : bool
        Record the gradient itself, for higher derivatives.

    Returns
    -------
    list of ndarray
        One for each of `variables`, also where that is a single array.

    Examples
    --------
    >>> from gluonx import autograd, np
    >>> x = np.array([2.0])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = x**3
    ...     (dy,) = autograd.grad(y, x, create_graph=True)
    >>> dy.backward()
    >>> x.grad.item()
    12.0
    """
    hs, given = tape.heads_of(_dense(heads), head_grads)
    asked: list[Any] = [variables] if isinstance(variables, Handle) else list(variables)
    # The gradient of a fused parameter's piece is a piece of the fused array's.
    wrt: list[Any] = [v.whole() if hasattr(type(v), "whole") else v.leaf for v in asked]
    for v in wrt:
        if not v._is_live():
            settle(v)
        if v.variable is None and v.tape is None and not v._is_live():
            raise GraphError(
                f"cannot differentiate with respect to an array of shape {v.shape} that has neither attach_grad() "
                "nor a place in the recorded graph"
            )
    before = current_state()
    set_state(state_with(recording=create_graph))
    try:
        found = tape.gradients(hs, given, create_graph if retain_graph is None else retain_graph, create_graph, wrt)
        for home, taps, whole in rows.fold(list(found.values()))[1]:
            found[id(home)] = home, rows.dense_of(home, taps, whole)
        grads: list[Any] = [_found(found, v) for v in wrt]
        results = [v.part_of(g) if hasattr(type(v), "whole") else g for v, g in zip(asked, grads, strict=True)]
        sparse = [(i, v.stype) for i, v in enumerate(asked) if v.stype != "default"]
        for i, stype in sparse:
            results[i] = NAMES["gluonx.sparse.cast_storage"](results[i], stype)
    finally:
        set_state(before)
    return results


def _found(found: dict[int, Any], variable: Handle) -> ndarray:
    for key in (id(variable.tape), id(variable), id(variable.variable)):
        if key in found and key != id(None):
            return found[key][1]
    raise GraphError(
        f"the heads do not depend on one of the variables (shape {variable.shape}), or it is an intermediate value "
        "whose graph was computed before; take gradients with respect to it before reading a value of that graph"
    )


def mark_variables(variables: Any, gradients: Any, grad_reqs: Any = "write") -> None:
    """Make `variables` end points of gradients, which go into the arrays `gradients`.

    Parameters
    ----------
    variables, gradients : ndarray or list of ndarray
    grad_reqs : str or list of str
        'write', 'add' or 'null' for each.

    Examples
    --------
    >>> from gluonx import autograd, np
    >>> x, grad = np.array([3.0]), np.zeros(1)
    >>> autograd.mark_variables([x], [grad])
    >>> with autograd.record():
    ...     y = x * x
    >>> y.backward()
    >>> grad.tolist()
    [6.0]
    """
    if isinstance(variables, Handle):
        variables, gradients = [variables], [gradients]
    reqs = [grad_reqs] * len(variables) if isinstance(grad_reqs, str) else list(grad_reqs)
    for variable, gradient, req in zip(variables, gradients, reqs, strict=True):
        if variable.stype != "default" and gradient.stype == variable.stype:
            variable.attach_to(gradient, req)
            continue
        if gradient.stype == "row_sparse":
            NAMES["gluonx.sparse.attach_rows"](variable, req, grad=gradient)
            continue
        variable.attach_grad(req)
        leaf = variable.leaf
        if leaf.variable is not None:
            leaf._lead_to(Variable(req, gradient))


class Function:
    """An operation whose gradient is written by hand in Python.

    Subclass it, define ``forward(self, *inputs)`` and ``backward(self, *output_grads)`` on ndarrays, and call an
    instance. Neither is recorded. An instance serves one call. ``backward`` gives a gradient, or None, for each input.

    What both compute with gluonx is a part of the step's one program. Where they read values (``asnumpy()``), a
    recorded step is computed up to there; in a hybridized block the program calls back to them
    (``jax.pure_callback``), once each for a run, and to find the shapes of results ``forward`` is tried on zeros first.

    Examples
    --------
    >>> from gluonx import autograd, np
    >>> class Double(autograd.Function):
    ...     def forward(self, x):
    ...         return 2 * x
    ...
    ...     def backward(self, dy):
    ...         return 2 * dy
    >>> x = np.array([1.0])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = Double()(x)
    >>> y.backward()
    >>> x.grad.item()
    2.0
    """

    saved_tensors: Any = ()  # what `save_for_backward` kept; a backward may set it to None

    def __init__(self) -> None:
        self._used = False
        self.recorded: list[bool] = []  # of each input: whether its gradient is asked for

    def save_for_backward(self, *args: object) -> None:
        """Keep arrays for :meth:`backward`, which finds them in ``saved_tensors``."""
        self.saved_tensors = args

    if TYPE_CHECKING:  # a subclass names its own parameters, which checkers allow where there may be any
        forward: Callable[..., Any]
        backward: Callable[..., Any]
    else:

        def forward(self, *inputs: Any) -> Any:
            """Compute the outputs."""
            raise TypeError(f"{type(self).__name__} must define forward(self, *inputs)")

        def backward(self, *output_grads: Any) -> Any:
            """Compute the gradients of the inputs, one for each."""
            raise TypeError(f"{type(self).__name__} must define backward(self, *output_grads)")

    @door
    def __call__(self, *inputs: Any) -> Any:
        """Run ``forward`` and, while recording, leave ``backward`` on the tape."""
        if getattr(self, "_used", False):
            raise GraphError("an autograd.Function instance serves one call; create a new one for each")
        state = current_state()
        if state.trace is not None:
            from gluonx.deferred.record.interceptor import Interceptor
            from gluonx.deferred.trace import custom  # few programs have need of it

            if isinstance(state.trace, Interceptor):
                return state.trace.outside(self, *inputs)
            self._used = True
            return custom.traced(self, inputs)
        self._used = True
        if not state.recording:
            with pause(state.training):
                return self.forward(*inputs)
        sources = [_place_of(x, state) if isinstance(x, Handle) else None for x in inputs]
        self.recorded = [source is not None for source in sources]
        self._avals = [x.aval if isinstance(x, Handle) else None for x in inputs]
        set_state(state_with(recording=False, bulk=0 if state.naive else _ALL))  # its operators join what is pending
        try:
            outputs = self.forward(*inputs)
        finally:
            set_state(state)
        return self._tape(sources, outputs, state)

    def _tape(self, sources: list[Any], outputs: Sequence[ndarray], state: Any) -> Any:
        outs = [outputs] if isinstance(outputs, Handle) else list(outputs)
        self._kinds = [o.plain_class for o in outs]
        fresh = [_of_kind(engine.stripped(o), kind) for o, kind in zip(outs, self._kinds, strict=True)]
        for o in fresh if state.naive else ():
            settle(o)
        self._outs = avals = [o.aval or aval_of(o.value) for o in fresh]
        if any(s is not None for s in sources):
            for o, aval in zip(fresh, avals, strict=True):
                if not aval.inexact:
                    settle(o)  # this computes the graph, while it still has what the gradient continues from
            for source in sources:
                if type(source) is Behind:
                    source.release()
            segment = CustomSegment(self._pull, sources, avals)
            graph = current_graph()
            for i, (o, aval) in enumerate(zip(fresh, avals, strict=True)):
                if type(o.value) is Pending and o.value.graph is graph and aval.inexact:
                    fresh[i] = _of_kind(engine.invoke(_BORDER, (o, _leading(segment.outs[i], aval))), self._kinds[i])
                else:
                    settle(o)
                    o.tape = segment.outs[i]
            graph.borders.append(ref(segment))
        return fresh[0] if isinstance(outputs, Handle) else tuple(fresh)

    def _pull(self, cotangents: dict[int, Handle], create_graph: bool) -> list[Any]:
        from gluonx.deferred.values.shapes import Zeros

        given = [
            _of_kind(cotangents[i] if i in cotangents else new_handle(Zeros(a.shape, a.dtype)), kind)
            for i, (a, kind) in enumerate(zip(self._outs, self._kinds, strict=True))
        ]
        if create_graph:
            grads = self.backward(*given)
        else:
            with pause(is_training()):
                grads = self.backward(*given)
        grads = [grads] if isinstance(grads, Handle) or grads is None else list(grads)
        if len(grads) != len(self._avals):
            raise ArgumentError(
                f"{type(self).__name__}.backward gave {len(grads)} gradients; there are {len(self._avals)} inputs, and "
                "each has one (or None)."
            )
        return [_like(g, a) for g, a in zip(grads, self._avals, strict=True)]


_ALL = 1 << 40  # so many operators in a bulk: as many as there are
_BORDER = DerivedOp("function", border)
_BORDER.steady = True


def _place_of(x: Handle, state: Any) -> Any:
    """Return where the gradient of an input goes on: in the pending graph, or from a settled handle's source."""
    value = x.value  # renews a view
    if not state.naive and type(value) is Pending and value.value is None and value.graph is current_graph():
        return Behind(value) if value.graph.is_live(value.slot) else x.variable
    settle(x)
    if x.aval is None:
        x.aval = aval_of(x.value)
    return source_of(x)


def _leading(out: Any, aval: Any) -> Handle:
    """Return zeros, as a leaf whose gradient goes to `out`."""
    leaf = new_handle(rows.shared_zeros(aval.shape, aval))
    leaf.tape = out
    return leaf


def _like(gradient: Any, aval: Any) -> Any:
    """Return a gradient in the shape and type of what it is the gradient of."""
    if gradient is None or aval is None or not isinstance(gradient, Handle):
        return gradient
    found: Any = gradient
    if found.shape != aval.shape:
        found = found.broadcast_to(aval.shape)
    return found if found.dtype == aval.dtype else found.astype(aval.dtype)


def _of_kind(array: Handle, kind: type | None) -> Handle:
    return array if kind is None or kind is type(array) else twin_of(array, kind)


def __dir__() -> list[str]:
    return sorted(__all__)
