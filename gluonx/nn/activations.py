"""Activations: element-wise functions as layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gluonx import initializer
from gluonx.block.block import HybridBlock
from gluonx.block.parameter import Parameter
from gluonx.block.tools import unfailing
from gluonx.deferred import invoke
from gluonx.initializer import InitLike
from gluonx.nn.bound import Bound
from gluonx.np import ndarray
from gluonx.ops import get
from gluonx.ops.elementwise import named_activation

if TYPE_CHECKING:
    from gluonx.ops.registry import BoundOp


__all__ = ["Activation", "ELU", "GELU", "LeakyReLU", "PReLU", "SELU", "SiLU", "Swish"]


def activation_op(name: str) -> BoundOp:
    """Return the bound operator of an activation by its name; ``'gelu'`` is `GELU`, ``'elu'`` is `ELU`, and so on.

    Raises
    ------
    ValueError
        If there is none of this name.
    """
    operator, settings = named_activation(name)
    return get(operator).bind(**settings)


def activation_layer(activation: str | HybridBlock | None) -> HybridBlock | None:
    """Return what a layer ends with: an `Activation` of this name, the given block itself, or None for None.

    Raises
    ------
    ValueError
        If there is none of this name.
    """
    if activation is None or isinstance(activation, HybridBlock):
        return activation
    return Activation(activation)


class _Unary(Bound):
    """One operator on one array. A subclass binds it."""

    def forward(self, x: ndarray) -> ndarray:
        """Apply the function to each element."""
        return invoke(self._op, (x,))


class Activation(_Unary):
    """An activation by its name.

    Parameters
    ----------
    activation : str
        One of the names of `npx.activation`, which lists them: 'relu', 'gelu', 'silu', 'leaky_relu' and so on. Each
        is the function of `npx`, and the layer, of this name with its defaults; the slope of 'leaky_relu' is 0.25.

    Raises
    ------
    ValueError
        If there is none of this name.

    Examples
    --------
    >>> from gluonx import np
    >>> Activation("relu")(np.array([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """

    _settings = ("_act_type",)

    def __init__(self, activation: str) -> None:
        super().__init__()
        self._act_type = activation

    def _bind(self) -> None:
        self.__dict__["_op"] = activation_op(self._act_type)

    @unfailing
    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._act_type})"


class LeakyReLU(_Unary):
    """``x`` where positive, ``alpha * x`` elsewhere.

    Raises
    ------
    ValueError
        If ``alpha`` is negative.

    Examples
    --------
    >>> from gluonx import nn, np
    >>> nn.LeakyReLU(0.1)(np.array([-1.0, 0.0, 2.0])).asnumpy().round(3)
    array([-0.1,  0. ,  2. ], dtype=float32)
    """

    _settings = ("_alpha",)

    def __init__(self, alpha: float) -> None:
        super().__init__()
        if alpha < 0:
            raise ValueError(f"The slope of LeakyReLU must not be negative, got {alpha}.")
        self._alpha = alpha

    def _bind(self) -> None:
        self.__dict__["_op"] = get("leaky_relu").bind(act_type="leaky", slope=float(self._alpha))

    @unfailing
    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._alpha})"


class PReLU(HybridBlock):
    """A leaky ReLU whose slope is learned.

    Parameters
    ----------
    alpha_initializer : Initializer or str
        How the slope begins; 0.25 by default.
    in_channels : int
        1 for one slope, or the size of axis 1 for one a channel.

    Examples
    --------
    >>> from gluonx import nn, np
    >>> layer = nn.PReLU()
    >>> layer.initialize()
    >>> layer(np.array([[-1.0, 2.0]])).tolist()
    [[-0.25, 2.0]]
    """

    def __init__(self, alpha_initializer: InitLike = initializer.Constant(0.25), in_channels: int = 1) -> None:  # noqa: B008
        super().__init__()
        self._op = get("leaky_relu").bind(act_type="prelu")
        self.alpha = Parameter("alpha", shape=(in_channels,), init=alpha_initializer)

    def forward(self, x: ndarray) -> ndarray:
        """Apply the function to each element."""
        return invoke(self._op, (x, self.alpha.data()))


class ELU(_Unary):
    """``x`` where positive, ``alpha * (exp(x) - 1)`` elsewhere.

    Examples
    --------
    >>> from gluonx import nn, np
    >>> nn.ELU()(np.array([-1.0, 0.0, 2.0])).asnumpy().round(3)
    array([-0.632,  0.   ,  2.   ], dtype=float32)
    """

    _settings = ("_alpha",)

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self._alpha = alpha

    def _bind(self) -> None:
        self.__dict__["_op"] = get("leaky_relu").bind(act_type="elu", slope=float(self._alpha))


class SELU(_Unary):
    """The scaled ELU that keeps mean and variance of a self-normalizing net.

    Examples
    --------
    >>> from gluonx import nn, np
    >>> nn.SELU()(np.array([-1.0, 0.0, 2.0])).asnumpy().round(3)
    array([-1.111,  0.   ,  2.101], dtype=float32)
    """

    def __init__(self) -> None:
        super().__init__()
        self._op = get("leaky_relu").bind(act_type="selu")


class GELU(_Unary):
    """``x`` times the normal distribution function of ``x``.

    Examples
    --------
    >>> from gluonx import nn, np
    >>> nn.GELU()(np.array([-1.0, 0.0, 2.0])).asnumpy().round(3)
    array([-0.159,  0.   ,  1.954], dtype=float32)
    """

    def __init__(self) -> None:
        super().__init__()
        self._op = get("leaky_relu").bind(act_type="gelu")


class Swish(_Unary):
    """``x * sigmoid(beta * x)``.

    Examples
    --------
    >>> from gluonx import nn, np
    >>> nn.Swish()(np.array([-1.0, 0.0, 2.0])).asnumpy().round(3)
    array([-0.269,  0.   ,  1.762], dtype=float32)
    """

    _settings = ("_beta",)

    def __init__(self, beta: float = 1.0) -> None:
        super().__init__()
        self._beta = beta

    def _bind(self) -> None:
        self.__dict__["_op"] = get("swish").bind(beta=float(self._beta))


class SiLU(_Unary):
    """``x * sigmoid(x)``.

    Examples
    --------
    >>> from gluonx import nn, np
    >>> nn.SiLU()(np.array([-1.0, 0.0, 2.0])).asnumpy().round(3)
    array([-0.269,  0.   ,  1.762], dtype=float32)
    """

    def __init__(self) -> None:
        super().__init__()
        self._op = get("silu").bind()
