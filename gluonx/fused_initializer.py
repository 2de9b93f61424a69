"""`RNNFused`: the initializer of the flat vector in which a fused recurrent layer keeps all of its parameters.

It stands apart from the other initializers because it knows how the operator `rnn` lays that vector out.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gluonx.initializer import InitDesc, Initializer, Uniform, create, register
from gluonx.ops.rnn import input_size_of, packing

__all__ = ["RNNFused"]

_KINDS = ("i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias", "h2r_weight")


@register
class RNNFused(Initializer):
    """Each weight and bias of a fused recurrent layer by an initializer of its kind.

    Parameters
    ----------
    mode : {'rnn_relu', 'rnn_tanh', 'lstm', 'gru'}
    num_layers, state_size : int
    bidirectional : bool
    projection_size : int, optional
        The size of an LSTM's projected state.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, \
h2r_weight_initializer : str or Initializer, optional
        For the pieces of each kind. Without one it is the initializer of `set_initializer` (by default the one that the
        block is initialized with, or ``Uniform()``), by the rule of the piece's name: zeros for a bias.

    Raises
    ------
    ValueError
        When it is given an array whose size is that of no such vector.

    Examples
    --------
    >>> init = RNNFused("rnn_tanh", 1, 2, i2h_weight_initializer="ones", h2h_weight_initializer="zeros")
    >>> init.make("parameters_weight", (14,)).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """

    def __init__(
        self,
        mode: str,
        num_layers: int,
        state_size: int,
        bidirectional: bool = False,
        projection_size: int | None = None,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = None,
        h2h_bias_initializer: Any = None,
        h2r_weight_initializer: Any = None,
    ) -> None:
        chosen = (i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer)
        self._of_kind = {k: None if c is None else create(c) for k, c in zip(_KINDS, (*chosen, h2r_weight_initializer))}
        said = {f"{kind}_initializer": None if c is None else c.dumps() for kind, c in self._of_kind.items()}
        super().__init__(
            mode=mode, num_layers=num_layers, state_size=state_size, bidirectional=bidirectional,
            projection_size=projection_size, **said,
        )  # fmt: skip
        self._default: Initializer | None = None

    def set_initializer(self, init: Any) -> None:
        """Use `init` for the pieces that have no initializer of their own."""
        self._default = create(init)

    def _init_weight(self, name: str, arr: Any) -> None:
        says = self._kwargs
        sizes = (says["state_size"], says["num_layers"], says["bidirectional"], says["projection_size"])
        inputs = input_size_of(math.prod(arr.shape), says["mode"], *sizes)
        if inputs is None:
            raise ValueError(f"{self!r} cannot initialize '{name}': no input size gives {arr.shape} parameters.")
        others = self._default or getattr(name, "global_init", None)
        others = Uniform() if others is None or isinstance(others, RNNFused) else others
        parts = [
            self._piece(f"{name}_{piece}", shape, others) for piece, shape in packing(says["mode"], inputs, *sizes)
        ]
        arr[...] = np.concatenate([part.ravel() for part in parts]).reshape(arr.shape)

    def _piece(self, name: str, shape: tuple[int, ...], others: Initializer) -> np.ndarray:
        own = next(init for kind, init in self._of_kind.items() if name.endswith(kind))
        return (others if own is None else own).make(
            InitDesc(name, {} if own is None else {"__init__": own.dumps()}), shape
        )
