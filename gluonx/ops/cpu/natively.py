"""A jaxpr without the lowerings that are only for XLA on a CPU.

The jaxpr of a block's forward holds some operations twice: the native operation, and its lowering for a CPU
(:func:`gluonx.ops.cpu.convolution.on_cpu`). NumPy needs only the native one, and differentiating the other one too
takes JAX most of the time of a first step. So under `native_operations` this module removes it from a traced forward.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax

if TYPE_CHECKING:
    from jax.extend.core import Jaxpr

    ClosedJaxpr = Any  # JAX 0.12 has the name, and does not export it to type checkers

__all__ = ["closed_over_nothing", "default_branch", "natively"]

_JITTED = frozenset(["jit", "pjit"])


def default_branch(platforms: Sequence[Any]) -> int:
    """Return the native branch of a ``lax.platform_dependent``: the one for all platforms, else the one for CPUs.

    Examples
    --------
    >>> default_branch([("cpu",), None])
    1
    """
    for_all = [i for i, names in enumerate(platforms) if names is None]
    for_cpus = [i for i, names in enumerate(platforms) if names is not None and "cpu" in names]
    return (for_all + for_cpus)[0]


def natively(
    closed: ClosedJaxpr, function_of: Callable[[Any], Callable[..., Any] | None] = lambda eqn: None, native: bool = True
) -> Callable[..., list[Any]]:
    """Return a jaxpr as a function that computes the same with native operations alone.

    Parameters
    ----------
    closed : jax.extend.core.ClosedJaxpr
    function_of : callable, optional
        Returns, for an equation of the jaxpr, a function to call instead; None keeps the equation.
    native : bool
        Whether native branches are chosen; otherwise only `function_of` changes anything.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> def double(x):
    ...     return jax.lax.platform_dependent(x, cpu=lambda x: x * 2, default=lambda x: x + x)
    >>> run = natively(jax.make_jaxpr(double)(1.0))
    >>> names = [eqn.primitive.name for eqn in jax.make_jaxpr(run)(1.0).eqns]
    >>> "add" in names, "mul" in names
    (True, False)
    """
    return _Native({}, function_of, native).function(closed)


class _Piece(NamedTuple):
    run: Callable[..., Sequence[Any]]
    ins: Sequence[Any]
    outs: Sequence[Any]


def closed_over_nothing(jaxpr: Jaxpr) -> ClosedJaxpr:
    """Return a jaxpr that has no constants as a closed one."""
    from jax.extend import core  # imports much that a process without long programs does not need

    return core.ClosedJaxpr(jaxpr, [])  # pyright: ignore[reportPrivateImportUsage] - as above


def _has_own_rule(eqn: Any) -> bool:
    """Return whether an operation is a convolution whose gradients have lowerings for a CPU.

    JAX calls such a rule once and caches the result, so NumPy must not be the first to ask.
    """
    if eqn.primitive.name != "custom_jvp_call" or not eqn.params["symbolic_zeros"]:
        return False
    body = {inner.primitive.name: inner for inner in eqn.params["call_jaxpr"].jaxpr.eqns}
    plain = "conv_general_dilated" in body and set(body["conv_general_dilated"].params["lhs_dilation"]) == {1}
    return plain or "platform_index" in body


class _Native:
    """Functions of jaxprs, each made once, so that JAX traces equal layers as one.

    Parameters
    ----------
    known : dict
        By the identity of a called jaxpr: its function, or None if it has no branch, and the jaxpr.
    function_of, native
        See `natively`.
    """

    def __init__(
        self, known: dict[int, tuple[Any, Any]], function_of: Callable[[Any], Callable[..., Any] | None], native: bool
    ) -> None:
        self.known, self.function_of, self.native = known, function_of, native

    def function(self, closed: ClosedJaxpr) -> Callable[..., list[Any]]:
        """Return the function of a jaxpr with its native branches."""
        from jax.extend.core import jaxpr_as_fun  # imports much that a process without blocks does not need

        if not self.branches(closed.jaxpr):
            return jaxpr_as_fun(closed)
        pieces = list(self.pieces(closed.jaxpr))

        def run(*args: Any) -> list[Any]:
            values: dict[Any, Any] = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
            values.update(zip(closed.jaxpr.invars, args, strict=True))
            for piece in pieces:
                found = piece.run(*[v.val if hasattr(v, "val") else values[v] for v in piece.ins])
                values.update(zip(piece.outs, found, strict=True))
            return [v.val if hasattr(v, "val") else values[v] for v in closed.jaxpr.outvars]

        return run

    def branches(self, jaxpr: Jaxpr) -> bool:
        """Return whether a jaxpr, or one that it calls, has a branch for a platform, or a convolution's own rule."""
        return any(
            (self.native and (eqn.primitive.name == "platform_index" or _has_own_rule(eqn)))
            or self.function_of(eqn) is not None
            or (eqn.primitive.name in _JITTED and self.called(eqn.params["jaxpr"]) is not None)
            for eqn in jaxpr.eqns
        )

    def called(self, closed: ClosedJaxpr) -> Callable[..., Any] | None:
        """Return the function of a called jaxpr; None if it can stay as it is."""
        found = self.known.get(id(closed))
        if found is None:
            run = jax.jit(self.function(closed)) if self.branches(closed.jaxpr) else None
            found = self.known[id(closed)] = run, closed
        return found[0]

    def pieces(self, jaxpr: Jaxpr) -> Iterator[_Piece]:
        """Yield what to compute in order: unchanged operations, calls and chosen branches."""
        indices: dict[Any, int] = {}
        reads: dict[Any, int] = {}  # by value: the last operation that reads it
        for number, eqn in enumerate(jaxpr.eqns):
            reads.update({v: number for v in eqn.invars if not hasattr(v, "val")})
        reads.update({v: len(jaxpr.eqns) for v in jaxpr.outvars if not hasattr(v, "val")})
        waiting: list[Any] = []
        for number, eqn in enumerate(jaxpr.eqns):
            name = eqn.primitive.name
            run = self.function_of(eqn)
            ins = eqn.invars
            if run is not None:
                pass
            elif name == "platform_index" and self.native:
                indices[eqn.outvars[0]] = default_branch(eqn.params["platforms"])
            elif name == "cond" and not hasattr(ins[0], "val") and ins[0] in indices:
                run, ins = self.function(eqn.params["branches"][indices[ins[0]]]), ins[1:]
            elif name in _JITTED:
                run = self.called(eqn.params["jaxpr"])
            elif self.native and _has_own_rule(eqn):
                run = self.function(eqn.params["call_jaxpr"])
            if run is None:
                waiting.append(eqn)
                continue
            yield from self.plain(jaxpr, waiting, number, reads)
            waiting = []
            yield _Piece(run, ins, eqn.outvars)
        yield from self.plain(jaxpr, waiting, len(jaxpr.eqns), reads)

    def plain(self, jaxpr: Jaxpr, eqns: list[Any], end: int, reads: dict[Any, int]) -> Iterator[_Piece]:
        """Yield the operations of one stretch, which ends before number `end`, as one function."""
        from jax.extend.core import jaxpr_as_fun

        # The operation that tells the platform stays if anything but a choice reads it.
        eqns = [
            eqn
            for eqn in eqns
            if not self.native or eqn.primitive.name != "platform_index" or reads.get(eqn.outvars[0], -1) >= end
        ]
        if not eqns:
            return
        made = [v for eqn in eqns for v in eqn.outvars]
        inside = set(made)
        ins = list(dict.fromkeys([v for eqn in eqns for v in eqn.invars if not hasattr(v, "val") and v not in inside]))
        outs = [v for v in made if reads.get(v, -1) >= end]
        part = jaxpr.replace(eqns=eqns, constvars=[], invars=ins, outvars=outs)
        yield _Piece(jaxpr_as_fun(closed_over_nothing(part)), ins, outs)
