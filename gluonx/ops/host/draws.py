"""Random bits in NumPy: the same as JAX's, bit for bit.

JAX draws by Threefry-2x32 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011): a cipher whose key is
two words and whose text is the number of the element. ``jax_threefry_partitionable`` says how elements are numbered. It
is read when a program is built, as XLA's programs read it when they are compiled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from gluonx.ops.host.elementwise import inverse_error
from gluonx.ops.host.primitives import Call, Fn, rule

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_WORD = 0xFFFFFFFF
_FEW = 4  # for up to so many elements, Python's integers are faster
_CHUNK = 1 << 13  # so many elements stay in the fast cache through all rounds
_U32 = np.dtype(np.uint32)
# Arrays without axes, which NumPy handles faster than scalars.
_TURNS = [[(np.array(n, _U32), np.array(32 - n, _U32)) for n in four] for four in _ROTATIONS]
_ROUNDS = [np.array(n, _U32) for n in range(1, 6)]
_CONSTANT = np.array(_PARITY, _U32)


def cipher(first: np.ndarray, second: np.ndarray, high: np.ndarray, low: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Encipher the words `high` and `low` by the keys `first` and `second`; all uint32 of shapes that broadcast.

    Examples
    --------
    >>> [hex(x.item()) for x in cipher(*np.zeros((4, 1), np.uint32))]
    ['0x6b200159', '0x99ba4efe']
    """
    every = np.broadcast(first, second, high, low)
    shape, size = every.shape, every.size
    if size <= _FEW:
        zeros = np.zeros(shape, _U32)
        return _few([(zeros | word).reshape(-1).tolist() for word in (first, second, high, low)], shape)
    outs = np.empty(shape, _U32), np.empty(shape, _U32)
    if size <= _CHUNK:
        _rounds(first, second, high, low, *outs)
        return outs
    words = [word if np.size(word) == 1 else np.broadcast_to(word, shape).reshape(-1) for word in (first, second)]
    words += [np.broadcast_to(word, shape).reshape(-1) for word in (high, low)]
    words += [out.reshape(-1) for out in outs]
    for start in range(0, size, _CHUNK):
        part = slice(start, start + _CHUNK)
        _rounds(*[np.reshape(word, -1) if np.size(word) == 1 else word[part] for word in words])
    return outs


def _rounds(
    first: np.ndarray, second: np.ndarray, high: np.ndarray, low: np.ndarray, x: np.ndarray, y: np.ndarray
) -> None:
    """Compute the twenty rounds, into `x` and `y`."""
    keys = (first, second, first ^ second ^ _CONSTANT)
    np.add(high, first, out=x)
    np.add(low, second, out=y)
    turned = np.empty_like(y)
    add, left_shift, right_shift = np.add, np.left_shift, np.right_shift
    either, differ = np.bitwise_or, np.bitwise_xor
    for i in range(5):
        for left, right in _TURNS[i % 2]:
            add(x, y, x)
            left_shift(y, left, turned)
            right_shift(y, right, y)
            either(y, turned, y)
            differ(y, x, y)
        add(x, keys[(i + 1) % 3], x)
        add(y, keys[(i + 2) % 3] + _ROUNDS[i], y)


def _few(words: Sequence[Sequence[int]], shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    outs: tuple[list[int], list[int]] = ([], [])
    for a, b, high, low in zip(*words, strict=True):
        keys, x, y = (a, b, a ^ b ^ _PARITY), (high + a) & _WORD, (low + b) & _WORD
        for r in range(5):
            for turn in _ROTATIONS[r % 2]:
                x = (x + y) & _WORD
                y = (((y << turn) | (y >> (32 - turn))) & _WORD) ^ x
            x, y = (x + keys[(r + 1) % 3]) & _WORD, (y + keys[(r + 2) % 3] + r + 1) & _WORD
        outs[0].append(x)
        outs[1].append(y)
    return np.array(outs[0], _U32).reshape(shape), np.array(outs[1], _U32).reshape(shape)


@rule("threefry2x32")
def _threefry2x32(call: Call) -> Fn:
    call.cost = call.outs[0].size * 50.0
    return cipher


@rule("random_wrap", "random_unwrap", "random_clone")
def _same(call: Call) -> Fn:
    return lambda x: x


def _partitionable() -> bool:
    return bool(jax.config.jax_threefry_partitionable)  # type: ignore[attr-defined]


def _numbers(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of `size` elements, as high and low words."""
    count = np.arange(size, dtype=np.uint64)
    return (count >> np.uint64(32)).astype(_U32), count.astype(_U32)


def _stream(keys: Any, text: np.ndarray) -> np.ndarray:
    """Return the words of `text`, enciphered as in JAX's older numbering: the first half with the second half."""
    odd = text.size % 2
    padded = np.concatenate([text, np.zeros(odd, _U32)])
    high, low = padded.reshape(2, -1)
    found = cipher(keys[..., 0, None], keys[..., 1, None], high, low)
    out = np.concatenate(found, -1)
    return out[..., : text.size]


def _bits(size: int, width: int) -> Fn:
    """Return ``fn(keys)``, which draws `size` unsigned numbers of `width` bits for each key, on a last axis."""
    dtype = np.dtype(f"u{width // 8}")
    if _partitionable():
        high, low = _numbers(size)

        def run(keys: np.ndarray) -> np.ndarray:
            x, y = cipher(keys[..., 0, None], keys[..., 1, None], high, low)
            if width == 64:
                return (x.astype(np.uint64) << np.uint64(32)) | y
            return (x ^ y).astype(dtype, copy=False)

        return run
    words = np.arange(-(-size * width // 32), dtype=_U32)
    half = words.size // 2

    def run_older(keys: Any) -> Any:
        found = _stream(keys, words)
        if width == 64:
            return (found[..., :half].astype(np.uint64) << np.uint64(32)) | found[..., half:]
        if width < 32:
            parts = [found >> np.uint32(width * i) for i in range(32 // width)]
            return np.stack(parts, -1).astype(dtype).reshape(*found.shape[:-1], -1)[..., :size]
        return found

    return run_older


def _splits(size: int) -> Fn:
    """Return ``fn(keys)``, which makes `size` keys of each key, on a new axis before the last."""
    if _partitionable():
        high, low = _numbers(size)
        return lambda keys: np.stack(cipher(keys[..., 0, None], keys[..., 1, None], high, low), -1)
    words = np.arange(2 * size, dtype=_U32)
    return lambda keys: _stream(keys, words).reshape(*keys.shape[:-1], size, 2)


@rule("random_bits")
def _random_bits(call: Call) -> Fn:
    size, dtype, shape = math.prod(call.params["shape"]), call.dtype, call.shape
    call.cost = call.outs[0].size * 50.0
    if size >= 1 << 32:
        raise call.unsupported("as many as 2**32 numbers")
    if call.outs[0].size == 0:
        return lambda keys: np.zeros(shape, dtype)
    bits = _bits(size, call.params["bit_width"])
    return lambda keys: bits(keys).reshape(shape)


@rule("random_split")
def _random_split(call: Call) -> Fn:
    shape = call.shape
    call.cost = call.outs[0].size * 50.0
    if call.outs[0].size == 0:
        return lambda keys: np.zeros(shape, _U32)
    splits = _splits(math.prod(call.params["shape"]))
    return lambda keys: splits(keys).reshape(shape)


@rule("random_fold_in")
def _random_fold_in(call: Call) -> Fn:
    call.cost = call.outs[0].size * 50.0
    out_shape = call.shape

    def run(keys: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        high, low = _seeded(numbers)
        return np.stack(cipher(keys[..., 0], keys[..., 1], high, low), -1).reshape(out_shape)

    return run


def _seeded(number: np.ndarray) -> tuple[Any, Any]:
    """Return an integer as the two words of a key."""
    number = np.asarray(number)
    low = number.astype(_U32)
    high = (number.view(np.uint64) >> np.uint64(32)).astype(_U32) if number.dtype.itemsize == 8 else np.zeros_like(low)
    return high, low


@rule("random_seed")
def _random_seed(call: Call) -> Fn:
    return lambda seeds: np.stack(_seeded(seeds), -1)


@rule("random_gamma")
def _random_gamma(call: Call) -> Fn:
    dtype, shape, log_space = call.dtype, call.shape, call.params["log_space"]
    if dtype not in (np.float32, np.float64):
        raise call.unsupported(f"{dtype}")
    call.cost = call.outs[0].size * 1.0  # XLA takes four times as long for a number, and most of a second to compile
    if call.outs[0].size == 0:
        return lambda keys, alpha: np.zeros(shape, dtype)
    return _gamma(math.prod(shape[len(call.ins[0].shape) - 1 :]), shape, dtype, log_space)


def gamma(key: Any, alpha: Any) -> np.ndarray:
    """Return the numbers of ``jax.random.gamma`` for a key of two words and float32 parameters."""
    return _gamma(alpha.size, alpha.shape, alpha.dtype, False)(key, alpha)


def _gamma(each: int, shape: tuple[int, ...], dtype: np.dtype, log_space: bool) -> Fn:
    """Draw gamma variables with JAX's keys by the method of Marsaglia and Tsang.

    ("A simple method for generating gamma variables", 2000.) Each number has its own key and is drawn until it is
    accepted; here all remaining ones are drawn at once.
    """
    of_keys, two, three, bits = _splits(each), _splits(2), _splits(3), _bits(1, dtype.itemsize * 8)
    one = dtype.type(1)

    def uniform(keys: Any) -> Any:
        return _unit(bits(keys)[:, 0], dtype)

    def proposed(keys: np.ndarray, scale: np.ndarray, others: np.ndarray) -> tuple[Any, Any, Any]:
        """Draw normal numbers x, 1 + scale * x where that is positive, and a uniform number for each of `others`."""
        count = len(keys)
        halves = two(keys)
        drawn = uniform(np.concatenate([halves[:, 1], others]))
        x = _normal(drawn[:count], dtype)
        v = one + x * scale
        left = (v <= 0).nonzero()[0]
        keys = halves[left, 0]
        while left.size:
            halves = two(keys)
            x[left] = _normal(uniform(halves[:, 1]), dtype)
            v[left] = one + x[left] * scale[left]
            again = v[left] <= 0
            left, keys = left[again], halves[again, 0]
        return x, v, drawn[count:]

    def run(keys: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        alpha = alpha.reshape(-1)
        boosted = alpha < one
        d = np.where(boosted, alpha + one, alpha) - dtype.type(1 / 3)
        scale = dtype.type(1 / 3) / np.sqrt(d)
        halves = two(of_keys(keys.reshape(-1, 2)).reshape(-1, 2))
        key, last, volume = halves[:, 0], halves[:, 1], np.ones(alpha.shape, dtype)
        left, lasts = np.arange(alpha.size), None
        while left.size:
            parts = three(key)
            others = parts[:, 2] if lasts is not None else np.concatenate([parts[:, 2], last])
            x, v, u = proposed(parts[:, 1], scale[left], others)
            if lasts is None:
                u, lasts = u[: alpha.size], u[alpha.size :]
            squared, cubed = x * x, v * v * v
            volume[left] = cubed
            bound = squared * dtype.type(0.5) + d[left] * (one - cubed + _log(cubed))
            refused = (u >= one - dtype.type(0.0331) * (squared * squared)) & (_log(u) >= bound)
            left, key = left[refused], parts[refused, 0]
        u = one - lasts
        if log_space:
            logs = _log(u)
            found = _log(d) + _log(volume) + np.where(~boosted | (logs == 0), 0, logs * (one / alpha)).astype(dtype)
        else:
            power = np.power(u.astype(np.float64), one / alpha).astype(dtype)
            found = d * volume * np.where(boosted, power, one)
        return found.reshape(shape)

    return run


def _log(x: np.ndarray) -> np.ndarray:
    return np.log(x.astype(np.float64)).astype(x.dtype)


def _unit(bits: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return random bits as numbers from 0 to 1: as the mantissas of numbers from 1 to 2."""
    word = bits.dtype.type
    shift, exponent = (9, 0x3F800000) if dtype.itemsize == 4 else (12, 0x3FF0000000000000)
    return ((bits >> word(shift)) | word(exponent)).view(dtype) - dtype.type(1)


def _normal(u: np.ndarray, dtype: np.dtype) -> np.ndarray:
    low = np.nextafter(dtype.type(-1), dtype.type(0))
    return dtype.type(np.sqrt(2)) * inverse_error(np.maximum(u * (dtype.type(1) - low) + low, low))


def halves(key: np.ndarray) -> np.ndarray:
    """Return the two keys that JAX splits a key of two words into."""
    return _splits(2)(key)
