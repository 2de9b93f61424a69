"""Text from a language model: one compiled program for each token, over the cached attention of the net.

The net keeps what it has seen in states of fixed length, so that each step has the same shapes and is the same program.
Prompts of different lengths are padded on the left, up to a power of two, and masked there: their last tokens stand in
one column, and few programs serve all lengths.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import index
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from gluonx.block.block import Block
from gluonx.block.functional import PureForward
from gluonx.deferred.record.graph import at_one_moment
from gluonx.errors import ArgumentError, UninitializedError
from gluonx.np.handle import ndarray
from gluonx.ops import prng

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


__all__ = ["generate", "stream"]

_SMALLEST = 16  # columns of the cache


def generate(
    net: Block,
    prompt: ArrayLike,
    max_new_tokens: int = 32,
    *,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float | None = None,
    stop: int | Iterable[int] = (),
    beams: int = 1,
    length_penalty: float = 1.0,
) -> list[list[int]]:
    """Continue prompts by the tokens that a language model finds likely.

    Parameters
    ----------
    net : Block
        With ``init_states(batch_size, length)`` and ``incremental_decode(tokens, states, mask)``, which returns logits
        of shape (batch, new, vocabulary) and the states after them, as :class:`gluonx.nn.CausalDecoder` has them. The
        mask has shape (batch, new, length). Short prompts do not start at column 0: positions must be relative (rotary,
        say), or counted by the mask, as ``model_zoo.transformers.GPT2`` does. Where the net says its ``max_length``,
        prompt and new tokens may not be more; where it says its ``vocab_size``, prompts with other tokens are refused.
    prompt : list of list of int, or array of int of shape (batch, length) or (length,)
        The lists may have different lengths.
    max_new_tokens : int
        The most tokens that are added to each.
    temperature : float
        0 takes the likeliest token (greedy); otherwise logits are divided by it, and a token is drawn. Draws follow
        ``gluonx.random.seed``.
    top_k : int, optional
        Draw only among that many likeliest tokens; it takes a temperature above 0, as `top_p` does.
    top_p : float, optional
        Draw only among the likeliest tokens that together have this probability.
    stop : int or iterable of int
        Tokens that end a text; the one that was met is its last.
    beams : int
        How many texts are kept for each prompt, the likeliest so far (beam search); the best of them is returned. Only
        with temperature 0.
    length_penalty : float
        Texts of a beam search are compared by the sum of their tokens' log-probabilities, divided by their length to
        this power: above 0 long texts are preferred, below 0 short ones.

    Returns
    -------
    list of list of int
        The new tokens of each prompt.

    Raises
    ------
    ArgumentError
        If the net cannot decode, a prompt is empty, or a setting is out of range.
    UninitializedError
        If a parameter has no value.

    Notes
    -----
    All sampling settings are operands of the one program. The cache is as long as the next power of two that holds
    prompt and new tokens; other batch sizes and other powers are other programs, and so are other numbers of beams.

    Examples
    --------
    >>> from gluonx import nn
    >>> net = nn.CausalDecoder(vocab_size=10, num_layers=1, units=8, hidden_size=16, num_heads=2)
    >>> net.initialize()
    >>> [len(text) for text in generate(net, [[1, 2, 3], [4]], max_new_tokens=5)]
    [5, 5]
    """
    stops, count = _stops(stop), _count(max_new_tokens)
    beams = int(_number("beams", beams, "a whole number, at least 1", lambda n: n >= 1 and n % 1 == 0))
    length_penalty = _number("length_penalty", length_penalty, "a number", lambda n: n - n == 0)
    if beams > 1:
        if temperature or top_k is not None or top_p is not None:
            raise ArgumentError(
                "With more than one beam nothing is drawn (temperature=0, no top_k or top_p); "
                f"got beams={beams}, temperature={temperature!r}, top_k={top_k!r}, top_p={top_p!r}."
            )
        return _beam_search(net, _checked(net, prompt, count), count, stops, beams, length_penalty)
    rows, steps = _steps(net, prompt, max_new_tokens, temperature, top_k, top_p)
    if not stops:  # nothing depends on the tokens: they are read once, at the end
        columns = [np.asarray(tokens) for tokens in list(steps)]
        return [[int(column[i]) for column in columns] for i in range(rows)]
    texts: list[list[int]] = [[] for _ in range(rows)]
    for column in _until(stops, rows, steps):
        for text, token in zip(texts, column, strict=True):
            if token is not None:
                text.append(token)
    return texts


def stream(
    net: Block,
    prompt: ArrayLike,
    max_new_tokens: int = 32,
    *,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float | None = None,
    stop: int | Iterable[int] = (),
) -> Iterator[list[int | None]]:
    """Do :func:`generate`, and yield the tokens of each step as they come, one for each prompt.

    Parameters
    ----------
    net, prompt, max_new_tokens, temperature, top_k, top_p, stop
        As of :func:`generate`.

    Yields
    ------
    list of int or None
        None for a text that has ended.

    Examples
    --------
    >>> from gluonx import nn
    >>> net = nn.CausalDecoder(vocab_size=10, num_layers=1, units=8, hidden_size=16, num_heads=2)
    >>> net.initialize()
    >>> sum(len(tokens) for tokens in stream(net, [[1, 2, 3], [4]], max_new_tokens=5))
    10
    """
    rows, steps = _steps(net, prompt, max_new_tokens, temperature, top_k, top_p)
    return _until(_stops(stop), rows, steps)


def _until(stops: set[int], rows: int, steps: Iterator[Any]) -> Iterator[list[int | None]]:
    """Yield what is read of the steps until each row has met a stop."""
    ended = [False] * rows
    for tokens in steps:
        column = [None if over else int(token) for token, over in zip(np.asarray(tokens), ended, strict=True)]
        yield column
        ended = [over or token in stops for token, over in zip(column, ended, strict=True)]
        if all(ended):
            return


def _stops(stop: int | Iterable[int]) -> set[int]:
    """Return the tokens that end a text."""
    try:
        return {index(token) for token in (stop if isinstance(stop, Iterable) else [stop])}
    except TypeError:
        raise ArgumentError(f"stop must be a token or several, whole numbers; got {stop!r}.") from None


def _number(name: str, value: Any, wanted: str, fits: Callable[[float], bool]) -> float:
    """Return a setting as a number that fits; an error says what is wanted."""
    try:
        number = float("nan" if isinstance(value, (str, bytes)) else value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not fits(number):
        raise ArgumentError(f"{name} must be {wanted}, got {value!r}.")
    return number


def _count(value: Any) -> int:
    """Return how many tokens are asked for."""
    return int(_number("max_new_tokens", value, "a whole number, at least 1", lambda n: n >= 1 and n % 1 == 0))


def _rows(prompt: Any) -> list[np.ndarray]:
    """Return the prompts as vectors."""
    if isinstance(prompt, (ndarray, np.ndarray, jax.Array)):
        array = np.asarray(prompt.asnumpy() if isinstance(prompt, ndarray) else prompt)
        prompt = array[None] if array.ndim == 1 else array
    elif isinstance(prompt, Sequence) and prompt and isinstance(prompt[0], (int, np.integer)):
        prompt = [prompt]
    rows = [np.asarray(row.asnumpy() if isinstance(row, ndarray) else row) for row in prompt]
    if not rows or any(row.ndim != 1 or not row.size for row in rows):
        raise ArgumentError(
            "A prompt must be one or several sequences of at least one token each; got the shapes "
            f"{[row.shape for row in rows]}."
        )
    if any(row.dtype.kind not in "iuf" or not np.isfinite(row).all() or (row != np.floor(row)).any() for row in rows):
        raise ArgumentError("A prompt must hold whole numbers, the indices of tokens.")
    return rows


def _checked(net: Block, prompt: ArrayLike, count: int) -> list[np.ndarray]:
    """Return the prompts as vectors, of a net that can continue them by `count` tokens."""
    if not (hasattr(net, "init_states") and hasattr(net, "incremental_decode")):
        raise ArgumentError(
            f"generate needs a net with init_states and incremental_decode, as nn.CausalDecoder has them; "
            f"{type(net).__name__} lacks them."
        )
    rows = _rows(prompt)
    longest, most = max(len(row) for row in rows) + count, getattr(net, "max_length", None)
    if most is not None and longest > most:
        raise ArgumentError(
            f"{type(net).__name__} has {most} positions, but the longest prompt and {count} new tokens are {longest}."
        )
    words = getattr(net, "vocab_size", None)
    most = np.iinfo(np.int32).max if words is None else words - 1
    wrong = next((int(n) for row in rows for n in row.tolist() if not 0 <= n <= most), None)
    if wrong is not None:
        raise ArgumentError(
            f"A prompt of {type(net).__name__} holds tokens from 0 to {most}, but {wrong} is among them."
        )
    return [row.astype(np.int32) for row in rows]


def _steps(
    net: Block, prompt: ArrayLike, count: int, temperature: float, top_k: int | None, top_p: float | None
) -> tuple[int, Iterator[Any]]:
    """Check everything; return the number of prompts, and an iterator over the new tokens, arrays of shape (rows,)."""
    count = _count(count)
    temperature = _number("temperature", temperature, "a number that is not negative", lambda n: n >= 0)
    if top_k is not None:
        top_k = int(_number("top_k", top_k, "a whole number, at least 1", lambda n: n >= 1 and n % 1 == 0))
    if top_p is not None:
        top_p = _number("top_p", top_p, "above 0 and at most 1", lambda n: 0 < n <= 1)
    if not temperature and (top_k is not None or top_p is not None):
        raise ArgumentError(
            f"top_k and top_p say among which tokens one is drawn, and with temperature=0 nothing is; "
            f"got top_k={top_k}, top_p={top_p}. Give temperature=1.0 too."
        )
    rows = _checked(net, prompt, count)
    settings = (
        np.float32(temperature),
        np.int32(np.iinfo(np.int32).max if top_k is None else min(top_k, np.iinfo(np.int32).max)),
        np.float32(1 if top_p is None else top_p),
    )
    return len(rows), _run(_programs(net), net, rows, count, settings)


def _run(
    programs: _Programs, net: Block, rows: list[np.ndarray], count: int, settings: tuple[Any, ...]
) -> Iterator[jax.Array]:
    after, empty, states = _begin(net, rows, count)
    values = programs.values()
    root = jnp.asarray(prng.root())
    for _ in range(count):
        after, states = programs.step(values, states, after, empty, root, np.int32(prng.next_index()), settings)
        yield after
        after = after[:, None]


def _begin(net: Any, rows: list[np.ndarray], count: int) -> tuple[Any, np.ndarray, Any]:
    """Return the prompts, padded on the left; how much of each is padding; and empty states."""
    width = _power(max(len(row) for row in rows))
    length = max(_power(width + count), _SMALLEST)
    tokens, empty = np.zeros((len(rows), width), np.int32), np.zeros(len(rows), np.int32)
    for i, row in enumerate(rows):
        tokens[i, width - len(row) :], empty[i] = row, width - len(row)
    return tokens, empty, jax.tree.map(_array, net.init_states(len(rows), length), is_leaf=_is_ours)


def _beam_search(
    net: Block, rows: list[np.ndarray], count: int, stops: set[int], beams: int, length_penalty: float
) -> list[list[int]]:
    """Return for each prompt the best text that the search meets.

    Each step returns the likeliest continuations of the kept texts: those that go on, and those that end. The device
    keeps states and scores; here the tokens are kept, and the ended texts.
    """
    programs = _programs(net)
    tokens, empty, states = _begin(net, rows, count)
    values, scores = programs.values(), np.zeros((len(rows), 1), np.float32)
    words = np.full(max(_power(len(stops) or 1), 8), -1, np.int32)  # few programs serve all numbers of stop tokens
    words[: len(stops)] = sorted(stops)
    kept: list[list[list[int]]] = [[[]] for _ in rows]
    ended: list[list[tuple[float, list[int]]]] = [[] for _ in rows]
    over = [False] * len(rows)
    for size in range(1, count + 1):
        tokens, states, scores, parents, ends = programs.search(values, states, tokens, empty, scores, words, beams)
        found = [np.asarray(x) for x in (tokens, parents, scores, *ends)]
        for i in range(len(rows)):
            if over[i]:
                continue
            new, parent, score, last, whose, total = (x[i] for x in found)
            done = [(float(t) / size**length_penalty, [*kept[i][p], int(w)]) for w, p, t in zip(last, whose, total)]
            ended[i] = sorted([*ended[i], *(one for one in done if one[0] > -np.inf)], reverse=True)[:beams]
            kept[i] = [[*kept[i][p], int(w)] for w, p in zip(new, parent)]
            best = float(score[0]) / size**length_penalty
            over[i] = len(ended[i]) == beams and best <= ended[i][-1][0]
            if size == count and not over[i]:
                going = [(float(s) / size**length_penalty, text) for s, text in zip(score, kept[i])]
                ended[i] = sorted([*ended[i], *going], reverse=True)
        if all(over):
            break
        tokens = tokens.reshape(-1, 1)
    return [texts[0][1] for texts in ended]


def _power(size: int) -> int:
    return 1 << (size - 1).bit_length()


def _is_ours(x: object) -> bool:
    return isinstance(x, ndarray)


def _array(x: ndarray) -> jax.Array:
    return x._read() if isinstance(x, ndarray) else x


class _Programs:
    """The programs of one net: each is compiled once for the prompts and once for all tokens after them."""

    def __init__(self, net: Block, handles: dict[str, Any], key: Any) -> None:
        self.key, self._handles = key, handles
        self.traces = 0
        alive = weakref.ref(net)  # the net holds on to nothing here, and is not held

        def decode(tokens: ndarray, states: Any, mask: ndarray) -> Any:
            return alive().incremental_decode(tokens, states, mask)  # type: ignore[union-attr]

        forward = PureForward(decode, handles)  # type: ignore[arg-type] - it is only called
        self.step: Callable[..., Any] = jax.jit(self._stepping(forward), donate_argnums=1)
        self.search: Callable[..., Any] = jax.jit(self._searching(forward), static_argnums=6)

    def values(self) -> dict[str, Any]:
        moment: list[Any] = at_one_moment(list(self._handles.values()))  # another thread may be training them
        return {name: handle._read() for name, handle in zip(self._handles, moment, strict=True)}

    def _stepping(self, forward: PureForward) -> Callable[..., Any]:
        def step(
            values: Any,
            states: Any,
            tokens: jax.Array,
            empty: jax.Array,
            root: Any,
            index: Any,
            settings: Sequence[Any],
        ) -> tuple[Any, Any]:
            self.traces += 1
            logits, states = _logits(forward, values, states, tokens, empty)
            return _choose(logits, prng.wrap(root, index), *settings), states

        return step

    def _searching(self, forward: PureForward) -> Callable[..., Any]:
        def step(
            values: Any,
            states: Any,
            tokens: jax.Array,
            empty: jax.Array,
            scores: jax.Array,
            stops: jax.Array,
            beams: int,
        ) -> tuple[Any, ...]:
            self.traces += 1
            rows, before = scores.shape
            logits, states = _logits(forward, values, states, tokens, jnp.repeat(empty, before))
            words = logits.shape[-1]
            totals = (scores[..., None] + jax.nn.log_softmax(logits).reshape(rows, before, words)).reshape(rows, -1)
            stopping = jnp.isin(jnp.arange(totals.shape[1]) % words, stops)
            size = min(beams, totals.shape[1])
            total, place = jax.lax.top_k(totals, size)
            ends = place % words, place // words, jnp.where(stopping[place], total, -jnp.inf)
            going, place = jax.lax.top_k(jnp.where(stopping, -jnp.inf, totals), size)
            parents = place // words
            rows_before = (parents + before * jnp.arange(rows)[:, None]).reshape(-1)
            states = jax.tree.map(lambda x: x[rows_before] if x.ndim else x, states)
            return place % words, states, going, parents, ends

        return step


def _logits(
    forward: PureForward, values: Any, states: Any, tokens: jax.Array, empty: jax.Array
) -> tuple[jax.Array, Any]:
    """Return the logits of what follows the tokens, whose first columns are `empty`, and the states after them."""
    length = jax.tree.leaves(states)[0].shape[1]
    seen = jnp.arange(length)[None, None] >= empty[:, None, None]
    mask = jnp.broadcast_to(seen, (*tokens.shape, length))
    (logits, states), _ = forward(values, None, (tokens, states, mask), {}, False)
    return logits[:, -1].astype(jnp.float32), states


def _choose(logits: jax.Array, key: jax.Array, temperature: jax.Array, top_k: jax.Array, top_p: jax.Array) -> jax.Array:
    """Return a token for each row: the likeliest, or one drawn among those that `top_k` and `top_p` leave."""

    def draw() -> jax.Array:
        order = jnp.argsort(-logits, axis=-1)
        scaled = jnp.take_along_axis(logits, order, -1) / temperature
        shares = jax.nn.softmax(scaled, -1)
        rank = jnp.arange(logits.shape[-1])
        kept = (rank < top_k) & ((jnp.cumsum(shares, -1) - shares < top_p) | (rank == 0))
        place = jax.random.categorical(key, jnp.where(kept, scaled, -jnp.inf), axis=-1)
        return jnp.take_along_axis(order, place[:, None], -1)[:, 0].astype(jnp.int32)

    return jax.lax.cond(temperature > 0, draw, lambda: jnp.argmax(logits, -1).astype(jnp.int32))


_KEPT: weakref.WeakKeyDictionary[Block, _Programs] = weakref.WeakKeyDictionary()


def _programs(net: Block) -> _Programs:
    """Return the programs of the net as it is now, made anew where its parts have changed."""
    params = net._array_params()
    handles: dict[str, Any] = {}
    for name, param in {id(p): (n, p) for n, p in reversed(params.items())}.values():
        if param._handle is None:
            raise UninitializedError(f"Parameter '{param._path}' has not been initialized; call net.initialize() first")
        param.data()  # raises where there is none
        handles[name] = param._handle
    key = (net._version(), [(name, id(handle), handle.dtype) for name, handle in handles.items()])
    found = _KEPT.get(net)
    if found is None or found.key != key:
        found = _KEPT[net] = _Programs(net, handles, key)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
