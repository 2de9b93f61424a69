"""``gluon.contrib.rnn``: cells of MXNet 1 that stand in `gluonx.rnn`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from gluonx import npx

__all__ = ["dynamic_unroll"]

if TYPE_CHECKING:
    from gluonx.rnn import *  # noqa: F403
else:

    def __getattr__(name: str) -> Any:
        return getattr(importlib.import_module("gluonx.rnn"), name)


def dynamic_unroll(
    cell: Any,
    inputs: Any,
    begin_state: Any,
    drop_inputs: float = 0,
    drop_outputs: float = 0,
    layout: str = "TNC",
    valid_length: Any = None,
) -> tuple[Any, list[Any]]:
    """Walk over a sequence whose length the array tells; see `gluonx.rnn.RecurrentCell.unroll`.

    Parameters
    ----------
    cell : RecurrentCell
    inputs : ndarray
        With the axes of `layout`.
    begin_state : list of ndarray
    drop_inputs, drop_outputs : float
        Rates of dropout, which drops the same places in all steps.
    layout : {'TNC', 'NTC'}
    valid_length : ndarray, shape (batch,), optional

    Returns
    -------
    outputs : ndarray
    states : list of ndarray
    """
    axis = layout.index("T")
    if drop_inputs:
        inputs = npx.dropout(inputs, p=drop_inputs, axes=(axis,))
    outputs, states = cell.unroll(inputs.shape[axis], inputs, begin_state, layout, True, valid_length)
    return npx.dropout(outputs, p=drop_outputs, axes=(axis,)) if drop_outputs else outputs, states
