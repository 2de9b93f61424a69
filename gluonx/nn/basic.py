"""Dense, Dropout, Embedding and Flatten."""

from __future__ import annotations

import functools
import math
from typing import Any

from gluonx.autograd import is_training
from gluonx.block.block import HybridBlock
from gluonx.block.parameter import Parameter
from gluonx.block.tools import unfailing
from gluonx.deferred import invoke
from gluonx.dtype import DTypeLike
from gluonx.initializer import InitLike
from gluonx.nn.activations import activation_layer
from gluonx.nn.bound import Bound, BoundToKwargs, Settings
from gluonx.np import ndarray
from gluonx.ops import BoundOp, get

__all__ = ["Dense", "DropPath", "Dropout", "Embedding", "Flatten"]


class Dense(Bound):
    """A fully connected layer: ``activation(x @ weight.T + bias)``.

    Parameters
    ----------
    units : int
        The size of the output.
    activation : str or HybridBlock, optional
        The name of an activation (`npx.activation` lists them), or a layer such as ``nn.PReLU()``; none by default.
    use_bias : bool
        Whether there is a bias.
    flatten : bool
        Whether all axes but the first are flattened before; otherwise the last axis alone is mapped.
    dtype : dtype-like
        Of the parameters.
    weight_initializer, bias_initializer : Initializer or str, optional
        How the parameters begin.
    in_units : int
        The size of the input; 0 leaves it to the first batch.

    Examples
    --------
    >>> from gluonx import np
    >>> layer = Dense(3, flatten=False)
    >>> layer.initialize()
    >>> layer(np.ones((2, 4, 5))).shape
    (2, 4, 3)
    >>> layer
    Dense(5 -> 3, linear)
    """

    _settings = ("_units", "_flatten", "_use_bias")

    def __init__(
        self,
        units: int,
        activation: str | HybridBlock | None = None,
        use_bias: bool = True,
        flatten: bool = True,
        dtype: DTypeLike = "float32",
        weight_initializer: InitLike = None,
        bias_initializer: InitLike = "zeros",
        in_units: int = 0,
    ) -> None:
        super().__init__()
        self._units, self._in_units, self._flatten, self._use_bias = units, in_units, flatten, use_bias
        self.weight = Parameter(
            "weight", shape=(units, in_units), init=weight_initializer, dtype=dtype, allow_deferred_init=True
        )
        self.bias = None
        if use_bias:
            self.bias = Parameter("bias", shape=(units,), init=bias_initializer, dtype=dtype, allow_deferred_init=True)
        self.act = activation_layer(activation)

    def _bind(self) -> None:
        settings = {"num_hidden": self._units, "no_bias": not self._use_bias, "flatten": self._flatten}
        self.__dict__["_op"] = get("fully_connected").bind(**settings)

    def forward(self, x: ndarray) -> ndarray:
        """Map an array of shape (batch, in_units), or (batch, ..., in_units) without flattening."""
        bias = self.bias
        if bias is None:
            y = invoke(self._op, (x, self.weight.data()))
        else:
            y = invoke(self._op, (x, self.weight.data(), bias.data()))
        return y if self.act is None else self.act(y)

    def infer_shape(self, x: ndarray, *args: Any) -> None:
        """Learn ``in_units`` from an input."""
        self.weight.shape = (self._units, math.prod(x.shape[1:]) if self._flatten else x.shape[-1])

    @unfailing
    def __repr__(self) -> str:
        shape = self.weight.shape
        assert shape is not None, "Dense declares the rank of its weight"
        have = self._block_names.size(shape[1])
        return f"{type(self).__name__}({have} -> {shape[0]}, {self.act if self.act is not None else 'linear'})"


class Dropout(Bound):
    """Sets elements to zero at random while training, and scales up the rest so that the mean stays.

    Parameters
    ----------
    rate : float
        The share that is dropped.
    axes : tuple of int
        The axes along which one decision holds for all.

    Raises
    ------
    ValueError
        If the rate is not in [0, 1].

    Examples
    --------
    >>> from gluonx import np
    >>> Dropout(0.5)(np.ones((1, 3))).tolist()
    [[1.0, 1.0, 1.0]]
    """

    _settings = ("_rate", "_axes")
    _ops: tuple[Any, Any]

    def __init__(self, rate: float, axes: int | tuple[int, ...] = ()) -> None:
        super().__init__()
        if not 0 <= rate <= 1:
            raise ValueError(f"The rate of {type(self).__name__} must be in [0, 1], got {rate}.")
        self._rate, self._axes = rate, axes

    def _bind(self) -> None:
        axes = (self._axes,) if isinstance(self._axes, int) else tuple(self._axes)
        op = functools.partial(get("dropout").bind, p=float(self._rate), axes=axes)
        self.__dict__["_ops"] = tuple([op(training=training) for training in (False, True)])

    def forward(self, x: ndarray) -> ndarray:
        """Drop, or outside training copy."""
        return invoke(self._ops[is_training()], (x,))

    @unfailing
    def __repr__(self) -> str:
        return f"{type(self).__name__}(p = {self._rate}, axes={self._axes})"


class DropPath(Dropout):
    """Sets whole samples to zero at random while training (stochastic depth), and scales up the others.

    It stands at the end of a residual branch: ``x + drop_path(branch(x))``.

    Parameters
    ----------
    rate : float
        The share of samples that is dropped.

    Raises
    ------
    ValueError
        If the rate is not in [0, 1].

    Examples
    --------
    >>> from gluonx import np
    >>> DropPath(0.5)(np.ones((1, 3))).tolist()
    [[1.0, 1.0, 1.0]]
    """

    def __init__(self, rate: float = 0.0) -> None:
        super().__init__(rate)

    def forward(self, x: ndarray) -> ndarray:
        """Drop, or outside training copy."""
        op = get("dropout").bind(p=float(self._rate), axes=tuple(range(1, len(x.shape))), training=is_training())
        return invoke(op, (x,))

    @unfailing
    def __repr__(self) -> str:
        return f"{type(self).__name__}(p = {self._rate})"


class Embedding(BoundToKwargs):
    """A table of vectors, looked up by number; a number out of range takes the nearest row.

    Parameters
    ----------
    input_dim : int
        The number of rows.
    output_dim : int
        The length of a vector.
    dtype : dtype-like
        Of the table.
    weight_initializer : Initializer or str, optional
        How the table begins.
    sparse_grad : bool
        Whether the gradient is kept by the rows that were looked up: for large tables, see docs/sparse.md.

    Examples
    --------
    >>> from gluonx import np
    >>> layer = Embedding(10, 4)
    >>> layer.initialize()
    >>> layer(np.array([[1, 2, 3]])).shape
    (1, 3, 4)
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        dtype: DTypeLike = "float32",
        weight_initializer: InitLike = None,
        sparse_grad: bool = False,
    ) -> None:
        super().__init__()
        self._input_dim, self._output_dim = input_dim, output_dim
        self._kwargs = Settings(
            {"input_dim": input_dim, "output_dim": output_dim, "dtype": dtype, "sparse_grad": sparse_grad}
        )
        self._kwargs.bound = self._bind()
        self.weight = Parameter(
            "weight",
            shape=(input_dim, output_dim),
            init=weight_initializer,
            dtype=dtype,
            allow_deferred_init=True,
            grad_stype="row_sparse" if sparse_grad else "default",
        )

    def _bind(self) -> BoundOp:
        said = self._kwargs
        return get("embedding").bind(input_dim=said["input_dim"], output_dim=said["output_dim"])

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the layer; pickles from before it had `_kwargs` tell the sizes alone."""
        sizes = {"input_dim": state["_input_dim"], "output_dim": state["_output_dim"]}
        super().__setstate__({"_kwargs": sizes} | state)

    def forward(self, x: ndarray) -> ndarray:
        """Return the vectors of the numbers: shape ``x.shape + (output_dim,)``."""
        return invoke(self._op, (x, self.weight.data()))

    @unfailing
    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._input_dim} -> {self._output_dim}, {self.weight.dtype})"


class Flatten(HybridBlock):
    """Keeps the first axis and makes one of all others.

    Examples
    --------
    >>> from gluonx import np
    >>> Flatten()(np.ones((2, 3, 4))).shape
    (2, 12)
    """

    def __init__(self) -> None:
        super().__init__()
        self._op = get("batch_flatten").bind()

    def forward(self, x: ndarray) -> ndarray:
        """Flatten."""
        return invoke(self._op, (x,))

    @unfailing
    def __repr__(self) -> str:
        return type(self).__name__
