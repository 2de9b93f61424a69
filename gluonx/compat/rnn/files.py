"""Checkpoints of symbols with recurrent cells, whose fused weights are kept gate by gate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gluonx.compat.callback import save_checkpoint
from gluonx.compat.model import load_checkpoint

__all__ = ["do_rnn_checkpoint", "load_rnn_checkpoint", "save_rnn_checkpoint"]


def _each(cells: Any) -> list[Any]:
    return list(cells) if isinstance(cells, (list, tuple)) else [cells]


def save_rnn_checkpoint(
    cells: Any, prefix: str, epoch: int, symbol: Any, arg_params: Mapping[str, Any], aux_params: Mapping[str, Any]
) -> None:
    """Write ``PREFIX-symbol.json`` and ``PREFIX-EPOCH.params``, with the weights of `cells` unpacked.

    Parameters
    ----------
    cells : BaseRNNCell or list of them
    prefix, epoch, symbol, arg_params, aux_params
        As for ``mx.model.save_checkpoint``.
    """
    args = dict(arg_params)
    for cell in _each(cells):
        args = cell.unpack_weights(args)
    save_checkpoint(prefix, epoch, symbol, args, aux_params)


def load_rnn_checkpoint(cells: Any, prefix: str, epoch: int) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Return symbol, parameters and auxiliary states of what `save_rnn_checkpoint` wrote, packed for `cells`."""
    symbol, args, aux = load_checkpoint(prefix, epoch)
    for cell in _each(cells):
        args = cell.pack_weights(args)
    return symbol, args, aux


def do_rnn_checkpoint(cells: Any, prefix: str, period: int = 1) -> Callable[..., None]:
    """Return a callback of an epoch ``(iter_no, symbol, arg, aux)`` that calls `save_rnn_checkpoint` every `period`."""
    period = max(1, int(period))

    def checkpoint(iter_no: int, sym: Any = None, arg: Any = None, aux: Any = None) -> None:
        if (iter_no + 1) % period == 0:
            save_rnn_checkpoint(cells, prefix, iter_no + 1, sym, arg, aux)

    return checkpoint
