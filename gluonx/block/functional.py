"""The two bridges between gluonx and JAX.

:func:`functional` turns a net into pure functions, for ``jax.jit``, ``grad``, ``vmap``, ``shard_map``, optax and
export; :func:`from_jax` turns any JAX function into an operator that gluonx records.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from gluonx.block.captured import Captured, captured
from gluonx.common.frames import door
from gluonx.common.host import copied, to_jax
from gluonx.deferred.operators.derived import DerivedOp
from gluonx.deferred.record.engine import as_handle, invoke
from gluonx.deferred.record.graph import at_one_moment
from gluonx.deferred.trace.tracing import Trace, is_handle
from gluonx.deferred.values.core import Handle, Placeholder, new_handle
from gluonx.deferred.values.shapes import Unknown
from gluonx.dtype import WIDE, keeping_64_bits
from gluonx.errors import DeferredInitializationError, ShapeError, UninitializedError

if TYPE_CHECKING:
    from gluonx.block.block import Block
    from gluonx.np.handle import ndarray

__all__ = ["Functional", "PureForward", "from_jax", "functional"]

_MOST = 256  # cached traces of one function
_NEEDS_VALUES = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
)


class PureForward:
    """The forward of a block as a function of the values of its parameters.

    Parameters
    ----------
    net : Block
    handles : dict of str to Handle
        The parameters' arrays by name; their values do not matter.
    exports : bool
        Whether hooks are left out, since no values are computed.
    """

    def __init__(self, net: Block, handles: dict[str, Handle], exports: bool = False) -> None:
        self.net, self.handles = net, handles
        self.trace: Any = Trace
        self._exports = exports
        # For fused parameters with frozen pieces, the operators that block gradients. Exports are not differentiated.
        variables = {} if exports else {name: handle.variable for name, handle in handles.items()}
        self._keeps = {name: v.keeps for name, v in variables.items() if v is not None and v.keeps is not None}

    def __reduce__(self) -> tuple[Any, ...]:
        """Support copies and pickles, whose handles are those of the copied net."""
        return _forward_of, (self.net, list(self.handles), self._exports)

    def __call__(
        self, values: dict[str, Any], key: object, args: tuple[Any, ...], kwargs: dict[str, Any], train: bool
    ) -> tuple[Any, dict[str, Any]]:
        """Return the forward's outputs for arguments that hold JAX arrays, and all parameter values after it.

        A parameter that the forward has not written to is returned as the very object that was given. Instead of a key,
        a function that makes one may be given; it is called when the forward first draws random numbers.
        """
        wrong = set(values) ^ set(self.handles)
        if wrong:
            raise ShapeError(f"apply got other parameters than the net has; missing or unexpected: {sorted(wrong)[:5]}")
        handles = list(self.handles.values())
        given = [values[n] for n in self.handles]
        inside = [to_jax(value) for value in given]
        if self._keeps:
            inside = [
                x if name not in self._keeps else _held(x, self._keeps[name])
                for name, x in zip(self.handles, inside, strict=True)
            ]
        trace = self.trace(handles, inside, _started(key))
        trace.runs_hooks = None if self._exports else True

        def enter(x: ArrayLike) -> Any:
            return trace.enter(x) if hasattr(x, "shape") and not isinstance(x, Handle) else x

        with trace.running(False, train, pure=True):
            args, kwargs = jax.tree.map(enter, (args, kwargs), is_leaf=is_handle)
            out = self.net(*args, **kwargs)
            out = jax.tree.map(lambda x: trace.leave(x) if isinstance(x, Handle) else x, out, is_leaf=is_handle)
            after = [trace.values[id(h)] for h in handles]
        kept = [old if new is own else new for old, own, new in zip(given, inside, after)]
        return out, dict(zip(self.handles, kept))


def _held(fused: jax.Array, keeps: DerivedOp) -> jax.Array:
    """Return the same array, through which no gradient flows to frozen pieces."""
    return jnp.where(keeps.fn(jnp.ones_like(fused)) != 0, fused, jax.lax.stop_gradient(fused))


def _forward_of(net: Block, names: list[str], exports: bool) -> PureForward:
    params = {**net._params_apart(), **net._array_params()}
    return PureForward(net, {name: params[name]._handle for name in names}, exports)


def _entering(value: object) -> Any:
    """Return an input of a pure function; numbers become arrays without dimensions."""
    return to_jax(value) if isinstance(value, (bool, int, float, complex, np.generic)) else value


class Functional:
    """A net as pure functions. Made by :func:`functional`.

    A pytree: its leaves are the arrays of `params` and `state`, so ``jax.tree.map``, ``jax.grad``, ``jax.vmap`` and
    optimizers of optax take it whole. A Block itself is a leaf to JAX, since it can change.

    Attributes
    ----------
    params : dict of str to jax.Array
        Copies of the trainable parameters, by structured name.
    state : dict of str to jax.Array
        Copies of the others (running averages, constants).
    """

    def __init__(self, net: Block, reached: bool = False) -> None:
        handles: dict[str, Handle] = {}
        kinds: dict[str, dict[str, jax.Array]] = {}
        seen: set[int] = set()
        self.params: dict[str, jax.Array] = {}
        self.state: dict[str, jax.Array] = {}
        for name, p in net._array_params().items():
            if id(p) in seen:
                continue
            seen.add(id(p))
            if p._handle is None:
                raise UninitializedError(f"Parameter '{p._path}' has not been initialized; call net.initialize() first")
            if isinstance(p._handle.value, Unknown) and reached:
                continue  # the forward was traced for shapes, and does not use it
            if isinstance(value := p._handle.value, Placeholder) and not value.known:
                raise DeferredInitializationError(
                    f"Parameter '{p._path}' has no shape yet; run the net once on real input, or call "
                    "net.infer_shape(x), before gluonx.functional(net)"
                )
            p.data()  # raises if there is none
            handles[name] = p._handle
            kinds[name] = self.state if p.grad_req == "null" else self.params
        moment: list[Any] = at_one_moment(list(handles.values()))  # another thread may be training them
        for (name, kind), handle in zip(kinds.items(), moment, strict=True):
            with keeping_64_bits(handle.dtype in WIDE):
                kind[name] = jnp.copy(handle._read())
        self._forward = PureForward(net, handles, reached)

    def __call__(self, *inputs: object, key: object = None, train: bool = False) -> tuple[Any, Any]:
        """Call :meth:`apply` with the arrays of this object: return the outputs, and the new state."""
        return self.apply(self.params, self.state, key, *inputs, train=train)

    def replace(self, params: dict[str, Any] | None = None, state: dict[str, Any] | None = None) -> Functional:
        """Return the same functions with other arrays; those that are not given stay."""
        params, state = self.params if params is None else params, self.state if state is None else state
        return _functional_of(self._forward, params, state)

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes for a pickle; 64-bit arrays as NumPy's, since JAX's come back narrowed."""
        return {
            **vars(self),
            "params": jax.tree.map(_portable, self.params),
            "state": jax.tree.map(_portable, self.state),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        with keeping_64_bits():
            self.__dict__.update(jax.tree.map(lambda x: jnp.array(x) if isinstance(x, np.ndarray) else x, state))

    def __deepcopy__(self, memo: dict[int, Any]) -> Functional:
        """Return a copy; each of its arrays is on the device of the original."""
        return _functional_of(*copy.deepcopy((self._forward, self.params, self.state), memo))

    def __repr__(self) -> str:
        return f"Functional({type(self._forward.net).__name__}, {len(self.params)} params, {len(self.state)} state)"

    def apply(
        self, params: dict[str, Any], state: dict[str, Any], key: object, *inputs: object, train: bool = False
    ) -> tuple[Any, Any]:
        """Return the forward pass, pure and traceable.

        Parameters
        ----------
        params, state : dict of str to array
            Arrays like those of the attributes.
        key : jax.Array or None
            A PRNG key; needed if the net draws random numbers (dropout in training).
        *inputs : arrays or pytrees of arrays
        train : bool
            Whether layers behave as in training.

        Returns
        -------
        outputs, state
            JAX arrays; `state` contains what the forward has written. Arrays that it stores as attributes of blocks
            (``self.h = h``) are in neither, and the blocks have their former attributes again afterwards.
        """
        out, new = self._forward(
            {**params, **state}, key, jax.tree.map(_entering, inputs, is_leaf=is_handle), {}, train
        )
        return out, {n: new[n] for n in state}

    def update_from(self, params: dict[str, Any], state: dict[str, Any] | None = None) -> None:
        """Write arrays back into the net's parameters: all of them, or none if a shape does not fit."""
        values = {**params, **(state or {})}
        handles = self._forward.handles
        for name, value in values.items():
            handle = handles.get(name)
            if handle is None:
                raise ShapeError(f"the net has no parameter '{name}'")
            if tuple(value.shape) != handle.shape:
                raise ShapeError(f"parameter '{name}' has shape {handle.shape}, the given array {tuple(value.shape)}")
        for name, value in values.items():
            handle = handles[name]
            with keeping_64_bits(handle.dtype in WIDE):
                new = jnp.array(copied(value), handle.dtype, copy=True)
                handle._assign(new_handle(new))  # type: ignore[attr-defined]


def _portable(array: ndarray) -> Any:
    return np.asarray(array) if isinstance(array, jax.Array) and array.dtype in WIDE else array


def _functional_of(forward: PureForward, params: Any, state: Any) -> Functional:
    new = object.__new__(Functional)
    new._forward, new.params, new.state = forward, params, state
    return new


_PARAMS, _STATE = jax.tree_util.GetAttrKey("params"), jax.tree_util.GetAttrKey("state")
jax.tree_util.register_pytree_with_keys(
    Functional,
    lambda pure: (((_PARAMS, pure.params), (_STATE, pure.state)), pure._forward),
    lambda forward, children: _functional_of(forward, *children),
    lambda pure: ((pure.params, pure.state), pure._forward),
)


def _started(key: object) -> Any:
    """Return the key of a trace, or a function that makes it, or None."""
    if callable(key):
        return lambda: (_words(key()), np.int32(0))
    return None if key is None else (_words(key), np.int32(0))


def _words(key: Any) -> jax.Array:
    """Return two 32-bit words of any JAX key."""
    if jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
        return jax.random.bits(key, (2,), jnp.uint32)
    return jnp.asarray(key).astype(jnp.uint32).reshape(-1)[:2]


def functional(net: Block) -> Functional:
    """Return `net` as pure functions of its parameters and state.

    Examples
    --------
    >>> import gluonx, jax, jax.numpy as jnp
    >>> from gluonx import nn
    >>> net = nn.Dense(2, in_units=3)
    >>> net.initialize()
    >>> pure = gluonx.functional(net)
    >>> def loss(params, x):
    ...     y, _ = pure.apply(params, pure.state, None, x)
    ...     return (y**2).mean()
    >>> sorted(jax.grad(loss)(pure.params, jnp.ones((4, 3))))
    ['bias', 'weight']
    """
    return Functional(net)


def from_jax(
    fn: Callable[..., Any] | None = None,
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
) -> Callable[..., Any]:
    """Turn a JAX function into one on ndarrays, which is recorded, deferred and differentiated like any operator.

    Parameters
    ----------
    fn : callable
        A pure function of arrays (and pytrees of arrays).
    static_argnums, static_argnames
        Arguments that are not arrays, as for ``jax.jit``.

    Notes
    -----
    A plain function may refer to values besides its arguments: outer variables, globals, defaults, what a
    ``functools.partial`` or a method's object holds. They are read again at each call. Arrays of gluonx and JAX among
    them are inputs, to which gradients flow. Numbers, texts, NumPy arrays, and lists, tuples, dicts and sets of them
    are constants: a new value recompiles, so pass what changes at every step as an argument. Values that are reached
    through other objects (``net.weight.data()``, ``module.k``), and those of a function that JAX has wrapped
    (``jax.jit(f)``, ``jax.custom_vjp``), are not seen, and so keep their value of the first call.

    Examples
    --------
    >>> import gluonx, jax.numpy as jnp
    >>> from gluonx import autograd, np
    >>> sinc = gluonx.from_jax(jnp.sinc)
    >>> x = np.array([0.0])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = sinc(x)
    >>> y.backward()
    >>> y.item()
    1.0
    """
    if fn is None:
        return functools.partial(from_jax, static_argnums=static_argnums, static_argnames=static_argnames)
    nums = {static_argnums} if isinstance(static_argnums, int) else set(static_argnums)
    names = {static_argnames} if isinstance(static_argnames, str) else set(static_argnames)
    cache: dict[Any, Any] = {}
    constant: list[bool] = []  # not empty once the function has needed the values of outer arrays while it was traced
    function = fn

    @functools.wraps(fn)
    def call(*args: object, **kwargs: object) -> Any:
        moving = [a for i, a in enumerate(args) if i not in nums]
        named = {k: v for k, v in kwargs.items() if k not in names}
        fixed = (
            [(i, a) for i, a in enumerate(args) if i in nums],
            [(k, kwargs[k]) for k in sorted(kwargs) if k in names],
        )
        leaves, tree = jax.tree.flatten((moving, named), is_leaf=is_handle)
        # Values that are equal but give different traces, such as 1, 1.0 and True, have different types or texts.
        static = tuple([(k, type(v), repr(v) if isinstance(v, float) else v) for part in fixed for k, v in part])
        seen = captured(function, bool(constant))
        key = (tree, static, seen and seen.key)
        op = cache.get(key)
        if op is None:
            op = _JaxOp(function, tree, fixed, seen)
            if seen is not None and seen.arrays and not constant and op.computes_with_arrays(leaves):
                constant.append(True)
                return call(*args, **kwargs)
            if len(cache) >= _MOST:
                cache.pop(next(iter(cache)))
            cache[key] = op
        return op(leaves if seen is None else [*leaves, *seen.arrays])

    return door(call)


class _JaxOp:
    """One nesting of arguments of a function from JAX; the outer arrays that the function uses follow them."""

    def __init__(self, fn: Callable[..., Any], tree: Any, fixed: Any, seen: Captured | None) -> None:
        self.trees: dict[Any, Any] = {}  # the pytree of the result, by the inputs' shapes
        self.seen = seen  # its objects are identified by identity, so they are kept alive
        statics, named = fixed
        count = tree.num_leaves

        def flat(*leaves: object) -> tuple[Any, ...]:
            args, kwargs = jax.tree.unflatten(tree, leaves[:count])
            args = list(args)
            for i, value in statics:
                args.insert(i, value)
            run = fn if seen is None else seen.function(leaves[count:])
            out, self.trees[_kinds(leaves)] = jax.tree.flatten(run(*args, **kwargs, **dict(named)))
            return tuple(out)

        self.op = DerivedOp(getattr(fn, "__name__", "from_jax"), flat, wide=getattr(fn, "wide", False))

    def computes_with_arrays(self, leaves: list[Any]) -> bool:
        """Return whether its trace needs the values of outer arrays, as in ``x[: int(n)]``."""
        assert self.seen is not None, "asked where there are such arrays"
        try:
            given = [jax.ShapeDtypeStruct(x.shape, x.dtype) if hasattr(x, "shape") else x for x in leaves]
            seen = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in self.seen.arrays]
            jax.eval_shape(self.op.fn, *given, *seen)
        except _NEEDS_VALUES:
            return True
        except Exception:  # it will be raised again, with the operator's name
            return False
        return False

    def __call__(self, leaves: list[Any]) -> Any:
        handles = [as_handle(x) if hasattr(x, "shape") else x for x in leaves]
        outs = invoke(self.op, handles)
        return jax.tree.unflatten(self.trees[_kinds(handles)], outs)


def _kinds(leaves: Sequence[Any]) -> tuple[Any, ...]:
    """Return the shapes of the inputs; a number is an array without dimensions."""
    return tuple([tuple(getattr(x, "shape", ())) for x in leaves])
