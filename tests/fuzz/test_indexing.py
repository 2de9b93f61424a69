"""Random indexes and masks, read and written, give what NumPy gives: values, shapes, dtypes, errors and gradients.

``GLUONX_TEST_SEED`` chooses other programs, ``GLUONX_FUZZ`` another number of them. A failure names the number of its
program: ``check(numbers(i))`` runs that one alone.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as onp
import pytest

from gluonx import autograd, engine, np
from gluonx.common import policy

_SEED = int(os.environ.get("GLUONX_TEST_SEED", "0"))
_FEW = int(os.environ.get("GLUONX_FUZZ", "40"))
_FORMS = 5000  # so many forms of programs; a second fill of one compiles little again
_SHAPES = [(5,), (3, 4), (3, 4), (2, 3, 2), (1, 3), (), (0, 3)]
_COUNTS = pytest.mark.parametrize("count", [_FEW, pytest.param(10_000, marks=pytest.mark.slow)])


class Numbers:
    """Random numbers: those that choose a program's form, and (``fill``) the contents of its indexes and masks."""

    def __init__(self, form: int, fill: int) -> None:
        self._form = onp.random.RandomState([_SEED % 2**32, 0, form])
        self.fill = onp.random.RandomState([_SEED % 2**32, 1, fill])
        self.rand, self.randint = self._form.rand, self._form.randint


def numbers(i: int) -> Numbers:
    """The random numbers of program `i`."""
    return Numbers(i % _FORMS, i)


def _kind(rng: Any, host: onp.ndarray) -> tuple[onp.ndarray | list[Any], Any]:
    """An index array as NumPy takes it and as gluonx is given it: an ndarray, a NumPy array or a list."""
    way = rng.randint(3)
    if way == 0:
        return host, np.array(host, dtype=host.dtype)
    if way == 1 or not host.ndim or not host.size:
        return host, host
    return host.tolist(), host.tolist()


def _integers(rng: Any, size: int) -> tuple[Any, Any]:
    shape = [(2,), (2,), (3,), (1,), (2, 2), (2, 1), (0,), ()][rng.randint(8)]
    if not size:
        shape = (0,)
    over = size if rng.fill.rand() < 0.03 else 0
    host = rng.fill.randint(-size - over, size + over, shape) if size else onp.zeros(shape, int)
    return _kind(rng, onp.asarray(host, [onp.int32, onp.int32, onp.int16][rng.randint(3)]))


def _mask(rng: Any, lengths: tuple[int, ...]) -> tuple[Any, Any]:
    # One of no elements is none here: NumPy lets it stand for an axis of length 1.
    lengths = tuple([max(n + rng.randint(-1, 2), 1) if n and rng.rand() < 0.05 else n for n in lengths])
    host = rng.fill.rand(*lengths) < [0.5, 0.5, 0.5, 0.0, 1.0][rng.fill.randint(5)]
    return _kind(rng, onp.asarray(host))


def _flag(rng: Any) -> tuple[Any, Any]:
    flag = bool(rng.fill.rand() < 0.6)
    return [(flag, flag), (onp.bool_(flag), onp.bool_(flag)), (onp.array(flag), np.array(flag, dtype=bool))][
        rng.randint(3)
    ]


def _slice(rng: Any, size: int) -> slice:
    ends = [None if rng.rand() < 0.4 else int(rng.randint(-size - 1, size + 2)) for _ in range(2)]
    return slice(*ends, [None, None, 1, 2, -1, -2][rng.randint(6)])


def _item(rng: Any, rest: tuple[int, ...]) -> tuple[Any, Any, int]:
    """One item of an index on the axes `rest`: for NumPy, for gluonx, and how many axes it takes."""
    way = rng.randint(10)
    size = rest[0] if rest else 0
    if way == 0:
        return None, None, 0
    if way == 1:
        return *_flag(rng), 0
    if not rest and rng.rand() < 0.9:
        return Ellipsis, Ellipsis, -1
    if way in (2, 3):
        number = int(rng.randint(-size, size)) if size and rng.rand() < 0.97 else size
        return number, [number, onp.int64(number)][rng.randint(2)], 1
    if way in (4, 5):
        part = _slice(rng, size)
        return part, part, 1
    if way in (6, 7):
        return *_integers(rng, size), 1
    taken = rng.randint(1, len(rest) + 1) if rest else 1
    return *_mask(rng, rest[:taken] or (1,)), taken


def _index(rng: Any, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """A random index for NumPy, and the same for gluonx."""
    rest, keys, dots = shape, [], False
    for _ in range(rng.randint(1, 4)):
        if not dots and rng.rand() < 0.15:
            keys.append((Ellipsis, Ellipsis))
            rest, dots = rest[min(len(rest), rng.randint(3)) :], True
            continue
        wanted, given, taken = _item(rng, rest)
        if wanted is Ellipsis:
            if dots:
                continue
            dots = True
        keys.append((wanted, given))
        rest = rest[max(taken, 0) :]
    keys = keys or [(Ellipsis, Ellipsis)]
    if len(keys) == 1 and rng.rand() < 0.7:
        return keys[0]
    return tuple([k for k, _ in keys]), tuple([k for _, k in keys])


def _base(rng: Any) -> onp.ndarray:
    shape = _SHAPES[rng.randint(len(_SHAPES))]
    dtype = [onp.float32, onp.float32, onp.float32, onp.int32][rng.randint(4)]
    return (onp.arange(int(onp.prod(shape)), dtype=dtype) + 1).reshape(shape)


def _outcome(run: Any) -> Any:
    """Return the result of `run` as a NumPy array, or the kind of error that it raises."""
    try:
        return onp.asarray(run())
    except IndexError:
        return IndexError
    except ValueError:
        return ValueError
    except TypeError:
        return TypeError


def _refuses_more(x: onp.ndarray, key: Any, found: Any) -> bool:
    """Return whether an index that picks no elements is refused here, but not by NumPy.

    NumPy looks up the places that a mask without elements picks, none, and never compares its lengths with those of the
    axes, as MXNet does: ``ones((2, 3))[:, zeros(0, bool)]`` is of shape (2, 0). Nor does it look at the numbers of an
    index array that another one, without elements, is combined with: ``ones((3, 3))[[[7]], []]`` is of shape (1, 0).
    """
    if found is not IndexError or getattr(_outcome(lambda: x[key]), "size", 1):
        return False
    parts = [onp.asarray(part) for part in (key if isinstance(key, tuple) else (key,)) if not isinstance(part, slice)]
    empty_mask = any(part.dtype == onp.bool_ and part.ndim and not part.size for part in parts)
    return empty_mask or any(part.dtype.kind == "i" and part.size for part in parts)


def _same(wanted: Any, found: Any, told: str) -> None:
    if isinstance(wanted, type) or isinstance(found, type):
        assert wanted is found, f"{told}: NumPy {wanted}, gluonx {found}"
        return
    assert (wanted.shape, wanted.dtype) == (found.shape, found.dtype), told
    onp.testing.assert_array_equal(found, wanted, told)


def _value(rng: Any, wanted: Any, dtype: Any) -> Any:
    """Something to write to a part that looks like `wanted`."""
    way = rng.randint(5)
    shape = list(getattr(wanted, "shape", (2,)))
    if way == 0:
        return 7
    if way == 1 and shape:
        shape[rng.randint(len(shape))] = 1
    if way == 2:
        shape = shape[rng.randint(len(shape) + 1) :]
    if way == 3 and rng.rand() < 0.3:
        shape = [2, *shape]
    return (onp.arange(int(onp.prod(shape)), dtype=dtype) - 50).reshape(shape)


def check_read(rng: Any) -> None:
    """A read, at once and recorded, and its gradient."""
    x = _base(rng)
    key, given = _index(rng, x.shape)
    told = f"{x.dtype}{x.shape}[{key!r}]"
    wanted = _outcome(lambda: x[key])
    mine = np.array(x, dtype=x.dtype)
    found = _outcome(lambda: mine[given].asnumpy())
    if _refuses_more(x, key, found):
        return
    _same(wanted, found, told)
    if x.dtype != onp.float32 or rng.rand() < 0.7 or isinstance(wanted, type):
        return
    mine.attach_grad()
    weight = onp.arange(wanted.size, dtype=onp.float32).reshape(wanted.shape) + 1
    with autograd.record():
        part = mine[given]
        total = (part * np.array(weight)).sum()
    total.backward()
    grad = onp.zeros_like(x)
    onp.add.at(grad, key, weight)
    _same(wanted, part.asnumpy(), f"{told} recorded")
    onp.testing.assert_allclose(mine.grad.asnumpy(), grad, rtol=1e-6, err_msg=f"gradient of {told}")


def check_write(rng: Any) -> None:
    """A write, to an array or to a view of one, also ``+=``."""
    x = _base(rng)
    mine = np.array(x, dtype=x.dtype)
    target, view = x, mine
    if x.ndim and len(x) > 1 and rng.rand() < 0.3:
        target, view = x[1:], mine[1:]
    key, given = _index(rng, target.shape)
    value = _value(rng, _outcome(lambda: target[key]), x.dtype)
    passed = np.array(value, dtype=x.dtype) if rng.rand() < 0.5 else value
    added = rng.rand() < 0.3
    told = f"{x.dtype}{target.shape}[{key!r}] {'+' if added else ''}= {value!r}"

    def numpy() -> Any:
        if added:
            target[key] += value
        else:
            target[key] = value
        return x

    def ours() -> Any:
        if added:
            view[given] += passed
        else:
            view[given] = passed
        return mine.asnumpy()

    wanted = _outcome(numpy)
    if wanted is TypeError or (not isinstance(wanted, type) and onp.size(value) == 0):
        return  # NumPy takes a value of no elements in any shape, and none of two axes for a mask alone
    found = _outcome(ours)
    if wanted is ValueError and found is IndexError:
        wanted = found  # two mistakes, of which either is named
    if not _refuses_more(target, key, found):
        _same(wanted, found, told)
    _same(x, mine.asnumpy(), f"{told}, afterwards")


def _sweep(check: Any, count: int) -> None:
    failed = []
    for i in range(count):
        try:
            check(numbers(i))
        except Exception as error:
            failed.append(f"program {i}: {type(error).__name__}: {str(error)[:600]}")
    assert not failed, f"{len(failed)} of {count} programs differ:\n" + "\n".join(failed[:20])


@pytest.fixture(autouse=True)
def _programs(monkeypatch: pytest.MonkeyPatch) -> None:
    # Every program is a new one from one line: what is under test is not the guard against that.
    monkeypatch.setitem(policy.limits, "many", 10**6)


@pytest.mark.dear
@_COUNTS
def test_reads_agree_with_numpy(count: int) -> None:
    _sweep(check_read, count)


@_COUNTS
def test_writes_agree_with_numpy(count: int) -> None:
    _sweep(check_write, count)


@pytest.mark.dear
def test_recorded_reads_agree_in_naive_mode() -> None:
    with engine.mode("naive"):
        _sweep(check_read, 20)
