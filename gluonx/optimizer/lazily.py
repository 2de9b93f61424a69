"""Updates of a few rows of a table.

The gradient of a look-up is stored by rows (`gluonx.deferred.record.rows`): row numbers, and the summed gradient of
each row. An optimizer that updates lazily applies its rule only to those rows of the weight and of its states: they are
gathered, the formula works on them as on any array, and the results are scattered back. The arrays are donated, so XLA
writes in place, and a step costs in proportion to the rows. Other rules, and ``lazy_update=False``, get the gradient in
the weight's shape, because momentum and weight decay also change rows without a gradient.

Unused elements of the row numbers hold the number of rows, which is no row; results for them are dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax.numpy as jnp

if TYPE_CHECKING:
    import jax


class RowGradient(NamedTuple):
    """The gradient of a table: row numbers, ascending, and a row of values for each."""

    rows: Any
    values: Any


def paired(given: Iterator[Any], fresh: Sequence[bool], by_row: frozenset[int], weights: Sequence[Any]) -> list[Any]:
    """Return each weight's gradient, None if it has none, from a flat sequence in which one by rows is two arrays.

    A missing gradient by rows has no rows.
    """
    found: list[Any] = []
    for k, (is_fresh, weight) in enumerate(zip(fresh, weights, strict=True)):
        if k not in by_row:
            found.append(next(given) if is_fresh else None)
        elif is_fresh:
            found.append(RowGradient(next(given), next(given)))
        else:
            found.append(RowGradient(jnp.zeros((0,), jnp.int32), jnp.zeros((0, *weight.shape[1:]), weight.dtype)))
    return found


def widened(grad: jax.Array | RowGradient, weight: jax.Array) -> Any:
    """Return the gradient in the shape of its weight."""
    if type(grad) is not RowGradient:
        return grad
    return jnp.zeros(weight.shape, grad.values.dtype).at[grad.rows].add(grad.values, mode="drop")


def gathered(
    grads: Sequence[Any], weights: Sequence[Any], state: Sequence[Any], numbers: Sequence[Any]
) -> tuple[list[Any], list[Any], list[Any]]:
    """Return gradients, weights and states; for a gradient by rows, only these rows of weight and states.

    Parameters
    ----------
    grads, weights, state : sequence
    numbers : sequence of (int or None)
        For each state the number of its weight.
    """
    own = [
        jnp.take(w, g.rows, axis=0, mode="clip") if type(g) is RowGradient else w
        for g, w in zip(grads, weights, strict=True)
    ]
    leaves = [
        jnp.take(leaf, grads[k].rows, axis=0, mode="clip")
        if k is not None and type(grads[k]) is RowGradient and leaf.shape[:1] == weights[k].shape[:1] != ()
        else leaf
        for leaf, k in zip(state, numbers, strict=True)
    ]
    return [g.values if type(g) is RowGradient else g for g in grads], own, leaves


def put_back(grad: RowGradient | jax.Array, old: jax.Array, new: jax.Array) -> jax.Array:
    """Return an array with the rows of its gradient replaced; `new` itself if the gradient is not by rows."""
    if type(grad) is not RowGradient or old.shape == new.shape != (*grad.rows.shape, *old.shape[1:]):
        return new
    return old.at[grad.rows].set(new, mode="drop", indices_are_sorted=True)
