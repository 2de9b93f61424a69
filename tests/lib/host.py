"""How the tests compare a program that NumPy runs with the same program compiled by XLA."""

from __future__ import annotations

import jax
import ml_dtypes
import numpy as np

from gluonx.ops.host.jaxprs import HostProgram

__all__ = ["agree", "both_ways", "compiled", "hosted", "plain"]

_TINY = {2: 6.2e-5, 4: 1.2e-38, 8: 2.3e-308}
_WIDE = {"f": np.float64, "V": np.float64, "c": np.complex128}


def plain(x):
    """The value as a NumPy array; a random key as its words."""
    if not isinstance(x, np.ndarray) and jax.dtypes.issubdtype(x.dtype, jax.dtypes.extended):
        x = jax.random.key_data(x)
    return np.asarray(x)


def hosted(f, args, program=None):
    """The results of `f` by NumPy, from arrays that cannot be written."""
    program = program or HostProgram(jax.make_jaxpr(f)(*args))
    arrays = []
    for x in jax.tree.leaves(args):
        arrays.append(np.array(plain(x)))
        arrays[-1].flags.writeable = False
    before = [x.tobytes() for x in arrays]
    outs = program(*arrays)
    assert before == [x.tobytes() for x in arrays], "an input was written"
    assert all(type(x) is np.ndarray and not x.flags.writeable and x.flags.c_contiguous for x in outs)
    return outs


def compiled(f, args):
    """The results of `f` by XLA."""
    return [plain(x) for x in jax.tree.leaves(jax.jit(f)(*args))]


def _units(dtype):
    return float(ml_dtypes.finfo(dtype).eps)


def agree(found, wanted, truth=None, bound=2.0, scale=0.0, what=""):
    """Assert that arrays are the same; floats within `bound` units in the last place.

    Where they are further apart, `found` must be as near to `truth` as `wanted` is. A sum may be off by `bound` units
    of `scale`, the size of its terms.
    """
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype), what
    if found.dtype.kind not in _WIDE or found.dtype.names:
        if not found.dtype.names:
            np.testing.assert_array_equal(found, wanted, err_msg=what)
        return
    wide = _WIDE[found.dtype.kind]
    if found.dtype.kind == "c":
        parts = [(a.real, a.imag) for a in (found, wanted)]
        size = float(np.max(np.abs(np.where(np.isfinite(wanted), wanted, 0)), initial=0)) * 4
        for mine, theirs in zip(*parts, strict=True):
            agree(mine, theirs, None, bound, max(scale, size), what)
        return
    small = _TINY.get(found.dtype.itemsize, 0.1) if found.dtype != ml_dtypes.bfloat16 else 1.2e-38
    mine, theirs = found.astype(wide), wanted.astype(wide)
    unit = _units(found.dtype) * np.maximum(np.maximum(np.abs(theirs), scale), small)
    with np.errstate(all="ignore"):
        good = (mine == theirs) | (np.isnan(mine) & np.isnan(theirs)) | (np.abs(mine - theirs) <= bound * unit)
        good |= (np.abs(mine) < 4 * small) & (np.abs(theirs) < 4 * small)
        if truth is not None and not good.all():
            exact = np.asarray(truth).astype(wide)
            good |= np.abs(mine - exact) <= np.maximum(np.abs(theirs - exact), unit)
            most = float(ml_dtypes.finfo(found.dtype).max)
            rounds_up = np.abs(exact) >= most  # the true value overflows, or nearly
            good |= rounds_up & (
                (mine == theirs) | (mine == np.copysign(np.inf, exact)) | (np.abs(mine) >= most * 0.99)
            )
    if not good.all():
        places = np.argwhere(~np.atleast_1d(good))[:5]
        shown = [(tuple(p), np.atleast_1d(found)[tuple(p)], np.atleast_1d(wanted)[tuple(p)]) for p in places]
        raise AssertionError(f"{what}: {int((~good).sum())} of {good.size} differ (host, XLA): {shown}")


def both_ways(f, args, bound=2.0, scale=0.0, exact=False):
    """Assert that NumPy and XLA agree on `f`; with `exact` the same function in float64 says who is nearer."""
    found, wanted = hosted(f, args), compiled(f, args)
    truths = [None] * len(found)
    if exact:
        with jax.enable_x64(True):
            wide = [np.asarray(x, np.float64) if np.asarray(x).dtype.kind in "fV" else x for x in args]
            truths = compiled(f, wide)
    assert len(found) == len(wanted)
    for i, (mine, theirs, truth) in enumerate(zip(found, wanted, truths, strict=True)):
        agree(mine, theirs, truth, bound, scale, f"result {i}")
