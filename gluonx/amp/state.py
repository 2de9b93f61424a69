"""Switching mixed precision on, for the whole process."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from gluonx.amp import lists
from gluonx.deferred.operators import amp_policy

if TYPE_CHECKING:
    from gluonx.dtype import DTypeLike


_policies: dict[Any, amp_policy.Policy] = {}


class State:
    """A flag of the process, set once :func:`init` was called."""

    ready = False


def policy_for(
    target_dtype: DTypeLike,
    low: Iterable[str] | None,
    single: Iterable[str] | None,
    conditional: Iterable[tuple[str, str, Iterable[Any]]] | None,
) -> amp_policy.Policy:
    """Return the policy of these lists, each of them gluonx's own where it is None; the same object for the same lists.

    Raises
    ------
    ValueError
        If a name is no operator, or stands in two lists that were given.
    """
    target = lists.target_of(target_dtype)
    lows = lists.list_lp16_ops(target) if low is None else lists.core_names(low, "target_dtype_ops")
    singles = lists.list_fp32_ops(target) if single is None else lists.core_names(single, "fp32_ops")
    rows = {
        lists.core_name(name): (attribute, tuple(values))
        for name, attribute, values in (lists.list_conditional_fp32_ops(target) if conditional is None else conditional)
    }
    given = [names for names, own in ((lows, low), (singles, single), (rows, conditional)) if own is not None]
    twice = {n for i, names in enumerate(given) for n in names for other in given[i + 1 :] if n in other}
    if twice:
        raise ValueError(f"amp: these operators stand in two lists: {', '.join(sorted(twice))}")
    # A name that a user has put into one list leaves the others.
    chosen = {n for names in given for n in names}
    lows = [n for n in lows if low is not None or n not in chosen]
    singles = [n for n in singles if single is not None or n not in chosen]
    rows = {n: row for n, row in rows.items() if conditional is not None or n not in chosen}
    key = (target, frozenset(lows), frozenset(singles), tuple(sorted(rows.items())))
    if key not in _policies:
        _policies[key] = amp_policy.Policy(target, key[1], key[2], rows)
    return _policies[key]


def init(
    target_dtype: Any = "float16",
    target_precision_ops: Iterable[str] | None = None,
    conditional_fp32_ops: Iterable[tuple[str, str, Iterable[Any]]] | None = None,
    fp32_ops: Iterable[str] | None = None,
    layout_optimization: bool = False,
) -> None:
    """Switch mixed precision on for the whole process.

    Products of matrices and convolutions run in `target_dtype` from now on, what needs range or precision in float32,
    everything else in the type that comes in. Parameters stay in float32. It may be called at any time, also
    again with other settings; what was hybridized is traced again.

    Parameters
    ----------
    target_dtype : {'float16', 'bfloat16'}
    target_precision_ops, fp32_ops : list of str, optional
        Operators that run in `target_dtype`, and in float32, in place of :func:`list_lp16_ops` and
        :func:`list_fp32_ops`.
    conditional_fp32_ops : list of (str, str, list), optional
        (operator, attribute, values): in float32 if the attribute has one of the values.
    layout_optimization : bool
        Accepted for ported code; XLA chooses layouts itself.

    Raises
    ------
    ValueError
        For another dtype, an unknown operator, or one in two lists.

    Examples
    --------
    >>> from gluonx import amp, nn, np
    >>> net = nn.Dense(2, in_units=3)
    >>> net.initialize()
    >>> amp.init("bfloat16")
    >>> net(np.ones((1, 3))).dtype, net.weight.dtype
    (dtype(bfloat16), dtype('float32'))
    >>> amp.reset()
    >>> net(np.ones((1, 3))).dtype
    dtype('float32')
    """
    policy = policy_for(target_dtype, target_precision_ops, fp32_ops, conditional_fp32_ops)
    amp_policy.set_policy(policy)
    State.ready = True


def reset() -> None:
    """Switch mixed precision off again; MXNet has no way to.

    Examples
    --------
    >>> from gluonx import amp, np
    >>> amp.init("bfloat16")
    >>> amp.reset()
    >>> np.dot(np.ones((1, 3)), np.ones((3, 1))).dtype
    dtype('float32')
    """
    amp_policy.set_policy(None)
    State.ready = False
