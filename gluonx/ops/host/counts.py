"""Draws of counts in NumPy: the numbers of `gluonx.ops.counts`, which has the formulas.

A draw is made block by block, so that what is computed on the way stays in the cache, and only what was refused is
tried again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gluonx.ops import counts
from gluonx.ops.host.draws import cipher, halves

_BLOCK = 1 << 15
_FEW = 2048  # for so many numbers a table of `_CELLS` costs more than looking each up
_CELLS = 1 << 12
_LAST, _TRIES = 512, 4  # the last elements are tried several times at once: calls cost more than what they compute
_HALF, _UNIT, _FINE = 2.0**-33, 2.0**-32, 2.0**-53
_U32 = np.uint32
_ZERO = np.zeros((), _U32)
_INVERSES = 1.0 / np.arange(1.0, counts.STEPS)[:, None]

_Pair = tuple[np.ndarray, np.ndarray]


class _Words:
    """The bits of each try of each element, of which the first tries of few elements are drawn together."""

    def __init__(self, key: np.ndarray, turns: _Pair, ahead: _Pair | None = None) -> None:
        self._key, self._ahead = key, ahead
        self._turns = list(zip(*turns, strict=True))

    @classmethod
    def of(cls, size: int, *keys: np.ndarray, tries: int = _TRIES) -> list[_Words]:
        """Return the bits of each key for `size` elements; few elements have `tries`, and what `fine` needs, ahead."""
        first, second = np.array(keys).T[:, :, None]
        first, second = cipher(first, second, _ZERO, np.arange(tries + 1, dtype=_U32))
        if size > _LAST:
            return [cls(key, turns) for key, turns in zip(keys, zip(first, second, strict=True), strict=True)]
        ahead = zip(*cipher(first[..., None], second[..., None], _ZERO, np.arange(size, dtype=_U32)), strict=True)
        return [cls(*each) for each in zip(keys, zip(first, second, strict=True), ahead, strict=True)]

    def __call__(self, turn: int, numbers: np.ndarray, tries: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Return two words for each of the elements `numbers`, of several tries one after the other."""
        if self._ahead is not None and turn + tries <= len(self._ahead[0]):
            x, y = (words[turn : turn + tries] for words in self._ahead)
            if numbers.size < x.shape[1]:
                x, y = x[:, numbers], y[:, numbers]
            return x.reshape(-1), y.reshape(-1)
        missing = np.arange(len(self._turns), turn + tries, dtype=_U32)
        if missing.size:
            self._turns.extend(zip(*cipher(self._key[:1], self._key[1:], _ZERO, missing), strict=True))
        x, y = (np.array(words)[:, None] for words in zip(*self._turns[turn : turn + tries], strict=True))
        x, y = cipher(x, y, _ZERO, numbers)
        return x.reshape(-1), y.reshape(-1)

    def pair(self, turn: int, numbers: np.ndarray, tries: int) -> tuple[np.ndarray, np.ndarray]:
        """Return two uniform numbers between 0 and 1."""
        u, v = self(turn, numbers, tries)
        return u * _UNIT + _HALF, v * _UNIT + _HALF

    def fine(self, numbers: np.ndarray) -> np.ndarray:
        """Return a uniform number of 53 bits, from 0 to 1, of the first bits."""
        u, v = self(0, numbers)
        return u * _UNIT + (v >> _U32(11)) * _FINE


def _of(parameter: np.ndarray, part: Any) -> np.ndarray:
    return parameter[part] if parameter.ndim else parameter


_Propose = Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def _accepted(words: _Words, turn: int, numbers: np.ndarray, parameter: np.ndarray, propose: _Propose) -> np.ndarray:
    """Draw for each of the elements `numbers` until `propose` takes what it proposes, from try `turn` on."""
    found = np.empty(numbers.size)
    left, tries = np.arange(numbers.size), _TRIES if numbers.size <= _LAST else 1
    while left.size:
        repeated = np.tile(parameter, tries) if parameter.ndim and tries > 1 else parameter
        x, taken = propose(repeated, *words.pair(turn, numbers, tries))
        if tries > 1:
            x, taken = x.reshape(tries, -1), taken.reshape(tries, -1)
            at = taken.argmax(0), np.arange(left.size)
            x, taken = x[at], taken[at]
        found[left] = x
        refused = np.flatnonzero(~taken)
        left, numbers, parameter, turn = left[refused], numbers[refused], _of(parameter, refused), turn + tries
        tries = _TRIES if left.size <= _LAST else 1
    return found


def _proposed_count(rate: np.ndarray, u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    k, taken, perhaps = counts.guess(np, rate, u, v)
    asked = (~taken & perhaps).nonzero()[0]
    if asked.size:
        taken[asked] = counts.under(np, _of(rate, asked), u[asked], v[asked], k[asked])
    return k, taken


def _proposed_gamma(alpha: np.ndarray, u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    x, taken, r, z = counts.gamma_guess(np, alpha, u, v)
    asked = (~taken).nonzero()[0]
    if asked.size:
        taken[asked] = r[asked] >= np.log(z[asked])
    return x, taken


def _rejected(words: _Words, rate: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Draw the counts of the elements `numbers`, whose rates are `counts.SMALL` or more."""
    return _accepted(words, 0, numbers, rate, _proposed_count)


def _by_steps(rate: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Count how many chances, of 0, 1 and so on, can be taken off `u` before it is negative."""
    if u.size <= _LAST // 4:  # all at once
        chances = np.empty((counts.STEPS + 1, u.size))
        chances[0], chances[1] = u, np.exp(-rate)
        np.multiply(rate, _INVERSES, out=chances[2:])
        np.multiply.accumulate(chances[1:], 0, out=chances[1:])
        return (np.subtract.accumulate(chances, 0)[1:] >= 0).sum(0, dtype=np.float64)
    found = np.zeros(u.size)
    left, chance = np.arange(u.size), np.exp(-rate)
    for number in range(1, counts.STEPS + 1):
        u = u - chance
        going = np.flatnonzero(u >= 0)
        left, u, rate, chance = left[going], u[going], rate[going], chance[going]
        if not left.size:
            break
        found[left] = number
        chance = chance * (rate * (1.0 / number))
    return found


def _by_table(rate: float) -> Callable[[np.ndarray], np.ndarray]:
    """Return what `_by_steps` computes for one rate, with all sums of chances made before."""
    chances = [float(np.exp(np.float64(-rate)))]
    for number in range(1, counts.STEPS):
        chances.append(chances[-1] * (rate * (1.0 / number)))
    sums = np.cumsum(chances)
    cells: list[np.ndarray] = []

    def run(u: np.ndarray) -> np.ndarray:
        if u.size <= _FEW:
            return np.searchsorted(sums, u, "right").astype(np.float64)
        if not cells:
            bounds = np.arange(_CELLS + 1) / _CELLS
            first = np.searchsorted(sums, bounds[:-1], "right")
            cells.extend((first.astype(np.float64), first != np.searchsorted(sums, bounds[1:], "left")))
        cell = (u * _CELLS).astype(np.int32)
        found = cells[0][cell]
        several = np.flatnonzero(cells[1][cell])
        found[several] = np.searchsorted(sums, u[several], "right")
        return found

    return run


def _in_blocks(draw: Callable[[np.ndarray, Any], np.ndarray], size: int) -> np.ndarray:
    """Return the numbers that ``draw(numbers, part)`` makes for the elements of each block."""
    if size <= _BLOCK:
        return draw(np.arange(size, dtype=_U32), slice(None))
    found = np.empty(size)
    for start in range(0, size, _BLOCK):
        stop = min(start + _BLOCK, size)
        found[start:stop] = draw(np.arange(start, stop, dtype=_U32), slice(start, stop))
    return found


def _plain(parameter: np.ndarray) -> np.ndarray:
    """Return a parameter in float64 without axes, or on one; one number for all if it is only repeated."""
    if parameter.size and not any(parameter.strides):
        parameter = parameter.reshape(-1)[0]
    return np.asarray(parameter, np.float64).reshape(-1) if parameter.ndim else np.asarray(parameter, np.float64)


def poisson(key: np.ndarray, rate: np.ndarray, size: int) -> np.ndarray:
    """Return `size` numbers of `gluonx.ops.counts.poisson` for a key of two words; rates on one axis, or one for all.

    Examples
    --------
    >>> poisson(np.zeros(2, np.uint32), np.array([0.0, np.inf]), 2).tolist()
    [0.0, inf]
    """
    rate = _plain(rate)
    small = not rate.ndim and rate < counts.SMALL
    (words,) = _Words.of(size, key, tries=0 if small else _TRIES)
    if rate.ndim:
        return _in_blocks(lambda numbers, part: _mixed(words, rate[part], numbers), size)
    if small:
        table = _by_table(max(float(rate), 0.0))
        return _in_blocks(lambda numbers, _: table(words.fine(numbers)), size)
    if rate < np.inf:
        return _in_blocks(lambda numbers, _: _rejected(words, rate, numbers), size)
    return np.full(size, rate)


def _mixed(words: _Words, rate: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Draw counts of rates of any kind, one for each of the elements `numbers`."""
    small, large = rate < counts.SMALL, (rate >= counts.SMALL) & (rate < np.inf)
    if small.all():
        return _small(words, rate, numbers)
    if large.all():
        return _rejected(words, rate, numbers)
    found = rate.copy()
    for drawn, at in ((_small, np.flatnonzero(small)), (_rejected, np.flatnonzero(large))):
        found[at] = drawn(words, rate[at], numbers[at])
    return found


def _small(words: _Words, rate: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    return _by_steps(np.maximum(rate, 0.0), words.fine(numbers))


def _gamma(words: _Words, alpha: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Draw gamma numbers of shape `alpha`: above 0, finite, an array or one for all."""
    found = _accepted(words, 1, numbers, np.where(alpha < 1, alpha + 1.0, alpha), _proposed_gamma)
    below = alpha < 1
    if below.any():
        low = np.flatnonzero(np.broadcast_to(below, numbers.shape))
        found[low] *= np.exp(np.log1p(-words.fine(numbers[low])) / _of(alpha, low))
    return found


def failures(key: np.ndarray, alpha: np.ndarray, p: np.ndarray, size: int) -> np.ndarray:
    """Return `size` numbers of `gluonx.ops.counts.failures` for a key of two words; parameters as in `poisson`.

    Examples
    --------
    >>> failures(np.zeros(2, np.uint32), np.zeros(2), np.ones(2), 2).tolist()
    [0.0, 0.0]
    """
    alpha, p = _plain(alpha), _plain(p)
    with np.errstate(all="ignore"):
        scale = (1.0 - p) / p
    return _compound(key, alpha, lambda rate, part: rate * _of(scale, part), size)


def overdispersed(key: np.ndarray, mean: np.ndarray, alpha: np.ndarray, size: int) -> np.ndarray:
    """Return `size` numbers of `gluonx.ops.counts.overdispersed`, as `failures` does.

    Examples
    --------
    >>> overdispersed(np.zeros(2, np.uint32), np.zeros(2), np.ones(2), 2).tolist()
    [0.0, 0.0]
    """
    mean, alpha = _plain(mean), _plain(alpha)
    spread = ~(alpha <= counts.LEAST)  # NaN stays
    safe = np.where(spread, alpha, 1.0)

    def scaled(rate: np.ndarray, part: Any) -> np.ndarray:
        own = _of(mean, part)
        return np.where(_of(spread, part), rate * (own * _of(safe, part)), own)

    return _compound(key, 1.0 / safe, scaled, size)


def _compound(key: np.ndarray, alpha: np.ndarray, scaled: Callable[[np.ndarray, Any], np.ndarray], size: int) -> Any:
    """Draw gamma numbers of shape `alpha`, and Poisson numbers whose rates are what `scaled` makes of those."""
    words, counted = _Words.of(size, *halves(key))

    def draw(numbers: np.ndarray, part: Any) -> np.ndarray:
        own = _of(alpha, part)
        usual = (own > 0) & (own < np.inf)
        if usual.all():
            rate = _gamma(words, own, numbers)
        else:
            rate = np.broadcast_to(np.maximum(own, 0.0), numbers.shape).copy()
            at = np.flatnonzero(np.broadcast_to(usual, numbers.shape))
            rate[at] = _gamma(words, _of(own, at), numbers[at])
        return _mixed(counted, scaled(rate, part), numbers)

    with np.errstate(all="ignore"):
        return _in_blocks(draw, size)
