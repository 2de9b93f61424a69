"""The only PRNG state of the process.

It is a root key and a counter. The key of the n-th random operation is the root with n added to it. Both are inputs of
programs, so the same program serves every step, and an operation draws the same bits whether it runs at once, in a
deferred program or inside a hybridized block. :func:`host_rng` is the NumPy generator that initializers and samplers
use.

A parameter draws from its own stream, whose number is taken when it is told to initialize (:func:`next_stream`). So its
values depend neither on when its shape becomes known, nor on what else is drawn on the host before that.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gluonx.errors import ArgumentError
from gluonx.ops.cpu import threefry


class _State:
    __slots__ = ("by_numpy", "counter", "host", "lock", "root", "seeds", "streams", "value")

    def __init__(self) -> None:
        self.by_numpy = False
        self.lock = threading.RLock()  # reentrant, because a signal handler on the same thread may draw
        self.seeds = 0
        self.reset(int(np.random.SeedSequence().generate_state(1)[0]) & 0x7FFFFFFF)

    def reset(self, value: int) -> None:
        # The key is two 32-bit words, as jax.random.key(value) would hold, made without touching a device.
        self.root = np.array([(value >> 32) & 0xFFFFFFFF, value & 0xFFFFFFFF], np.uint32)
        self.counter = self.streams = 0
        self.seeds, self.value = self.seeds + 1, value
        self.host = np.random.Generator(np.random.Philox(value))


_state = _State()


class _Drawing(threading.local):
    stream: np.random.Generator | None = None


_drawing = _Drawing()


def seed(seed_state: int, device: object = "all", *, ctx: object = "all") -> None:
    """Restart all random streams.

    Parameters
    ----------
    seed_state : int
        The seed; equal seeds give equal draws.
    device, ctx : ignored
        All devices share one stream.

    Raises
    ------
    ArgumentError
        A TypeError and a ValueError, when `seed_state` is not an integer.

    Examples
    --------
    >>> seed(7)
    >>> a = host_rng().random()
    >>> seed(7)
    >>> a == host_rng().random()
    True
    """
    if isinstance(seed_state, bool) or not isinstance(seed_state, (int, np.integer)):
        raise ArgumentError(f"seed must be an integer, got {seed_state!r}")
    with _state.lock:
        _state.reset(int(seed_state) & 0xFFFFFFFFFFFFFFFF)


def get_state() -> dict[str, Any]:
    """Return the state of all random streams, in types of JSON; `set_state` restores it.

    Returns
    -------
    dict
        For `set_state`.

    Examples
    --------
    >>> state = get_state()
    >>> a = host_rng().random()
    >>> set_state(state)
    >>> a == host_rng().random()
    True
    """
    with _state.lock:
        bits: Any = _state.host.bit_generator
        return {
            "seed": _state.value,
            "counter": _state.counter,
            "streams": _state.streams,
            "spawned": bits.seed_seq.n_children_spawned,
            "host": _listed(bits.state),
        }


def set_state(state: dict[str, Any]) -> None:
    """Restore a state that `get_state` returned.

    Raises
    ------
    ArgumentError
        A TypeError and a ValueError, if it is something else. Then nothing has changed.

    Examples
    --------
    >>> from gluonx import np, random
    >>> state = random.get_state()
    >>> first = np.random.uniform(size=2).tolist()
    >>> random.set_state(state)
    >>> np.random.uniform(size=2).tolist() == first
    True
    """
    try:
        numbers = [int(state[name]) for name in ("seed", "counter", "streams", "spawned")]
        sequence = np.random.SeedSequence(numbers[0], n_children_spawned=numbers[3])
        bits = np.random.Philox(sequence)
        bits.state = _unlisted(state["host"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ArgumentError(
            f"set_state takes what random.get_state() gave; this is something else: {error!r}"
        ) from None
    with _state.lock:
        _state.reset(numbers[0])
        _state.counter, _state.streams = numbers[1:3]
        _state.host = np.random.Generator(bits)


def _listed(state: Any) -> Any:
    """Return a NumPy state with lists instead of arrays."""
    if isinstance(state, dict):
        return {name: _listed(value) for name, value in state.items()}
    return state.tolist() if isinstance(state, np.ndarray) else state


def _unlisted(state: Any) -> Any:
    if isinstance(state, dict):
        return {name: _unlisted(value) for name, value in state.items()}
    return np.asarray(state, np.uint64) if isinstance(state, list) else state


def host_rng() -> np.random.Generator:
    """Return the NumPy generator for draws on the host: initial weights, shuffles.

    Returns
    -------
    numpy.random.Generator

    Examples
    --------
    >>> from gluonx import random
    >>> random.seed(3)
    >>> draws = random.host_rng().normal(size=2).tolist()
    >>> random.seed(3)
    >>> random.host_rng().normal(size=2).tolist() == draws
    True
    """
    return _drawing.stream or _state.host


def draw_by_numpy(wanted: bool) -> None:
    """Say whether :func:`shuffling_rng` is NumPy's global generator, as in programs of MXNet, which seed that."""
    _state.by_numpy = wanted


def shuffling_rng() -> Any:
    """Return what puts samples into a random order: `host_rng`, or ``numpy.random`` (see :func:`draw_by_numpy`).

    Examples
    --------
    >>> shuffling_rng() is host_rng()
    True
    """
    return np.random if _state.by_numpy and _drawing.stream is None else host_rng()


def chance() -> float:
    """Draw a number from 0 to 1 that decides whether something happens; in programs of MXNet by Python's ``random``."""
    return random.random() if shuffling_rng() is np.random else host_rng().random()


def next_stream() -> tuple[int, int]:
    """Take the next stream number on the host; the result is for :func:`drawing_from`."""
    with _state.lock:
        _state.streams += 1
        return _state.seeds, _state.streams


@contextmanager
def drawing_from(stream: tuple[int, int]) -> Generator[None]:
    """Within, :func:`host_rng` is that stream of the seed in force.

    A stream that was numbered before :func:`seed` was called gets a new number.

    Examples
    --------
    >>> draws = []
    >>> for _ in range(2):
    ...     seed(7)
    ...     stream = next_stream()
    ...     others = host_rng().random(len(draws))  # takes nothing from the stream
    ...     with drawing_from(stream):
    ...         draws.append(host_rng().random())
    >>> draws[0] == draws[1]
    True
    """
    _, number = stream if stream[0] == _state.seeds else next_stream()
    before = _drawing.stream
    _drawing.stream = np.random.Generator(np.random.Philox(key=(number << 64) + _state.value))
    try:
        yield
    finally:
        _drawing.stream = before


@contextmanager
def drawing_by(value: int) -> Generator[None]:
    """Within, :func:`host_rng` of this thread draws as after ``seed(value)``; afterwards its own stream goes on."""
    before = _drawing.stream
    _drawing.stream = np.random.Generator(np.random.Philox(value))
    try:
        yield
    finally:
        _drawing.stream = before


def root() -> np.ndarray:
    """Return the root key's two words (uint32, shape (2,)); a new object after each :func:`seed`."""
    return _state.root


def next_index(count: int = 1) -> int:
    """Take `count` numbers from the counter and return the first."""
    with _state.lock:
        index = _state.counter
        _state.counter = (index + count) & 0x7FFFFFFF
    return index


def wrap(root_words: jax.Array, index: jax.Array) -> jax.Array:
    """Return the typed key of random operation `index` (traceable).

    The generator accepts any two words as a key, so the index is added to the first, which is 0 for a seed of 32 bits.
    Hashing both, as ``jax.random.fold_in`` does, would be a separate program for each operation.
    """
    words = root_words + jnp.asarray(index).astype(np.uint32) * np.array([1, 0], np.uint32)
    return jax.random.wrap_key_data(words, impl=threefry.implementation())
