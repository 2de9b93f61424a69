"""Normalization: by the statistics of a batch, of a sample, or of groups of channels.

All layers scale and shift by ``gamma`` and ``beta``. Both are always there, also where they are fixed (``scale=False``,
``center=False``), so that parameter files do not depend on that.
"""

from __future__ import annotations

import functools
from typing import Any

import jax

from gluonx.autograd import is_training
from gluonx.block.parameter import Parameter
from gluonx.block.tools import unfailing
from gluonx.deferred import DerivedOp, invoke
from gluonx.deferred.values import program_cache
from gluonx.dtype import DTypeLike, canonical
from gluonx.errors import ShapeError
from gluonx.initializer import InitLike
from gluonx.nn.bound import Bound, Settings
from gluonx.np import ndarray
from gluonx.npx.synchronized import over_devices
from gluonx.ops import BoundOp, get
from gluonx.sharding import parts_of_batch

__all__ = ["BatchNorm", "BatchNormReLU", "GroupNorm", "InstanceNorm", "LayerNorm", "RMSNorm", "SyncBatchNorm"]


class _Norm(Bound):
    """The common part: scale and shift by channel, and a repr that tells the settings."""

    _kwargs: Settings
    _channel_axis = 1

    def _add_affine(
        self,
        in_channels: int,
        scale: bool,
        center: bool,
        gamma_initializer: InitLike,
        beta_initializer: InitLike,
        final: bool = False,
    ) -> None:
        """Make gamma and beta; with ``final`` what is not trained cannot be made trainable later."""
        self.gamma = self._vector("gamma", in_channels, gamma_initializer, scale, scale or not final)
        self.beta = self._vector("beta", in_channels, beta_initializer, center, center or not final)

    def _vector(self, name: str, size: int, init: InitLike, trained: bool, differentiable: bool) -> Parameter:
        return Parameter(
            name,
            grad_req="write" if trained else "null",
            shape=(size,),
            init=init,
            allow_deferred_init=True,
            differentiable=differentiable,
        )

    def infer_shape(self, x: ndarray, *args: Any) -> None:
        """Learn the number of channels from an input."""
        axis = self._channel_axis
        if not -len(x.shape) <= axis < len(x.shape):
            raise ShapeError(
                f"{type(self).__name__} has its channels in axis {axis}, but the input has shape {x.shape}."
            )
        for param in self._reg_params.values():
            param.shape = (x.shape[axis],)

    @unfailing
    def __repr__(self) -> str:
        shape = self.gamma.shape
        said = ", ".join(f"{name}={value}" for name, value in self._kwargs.items())
        channels = self._block_names.size(shape[0] if shape else -1)
        return f"{type(self).__name__}({said}, in_channels={channels})"


class BatchNorm(_Norm):
    """Normalizes each channel by mean and variance over the batch.

    In training the statistics are those of the batch, and moving averages of them are kept:
    ``running = momentum * running + (1 - momentum) * batch``, with the variance divided by the number of elements. In
    prediction the moving averages are used.

    Parameters
    ----------
    axis : int
        The axis of the channels.
    momentum : float
        How slowly the moving averages move.
    epsilon : float
        Added to the variance.
    center, scale : bool
        Whether there is a trained ``beta``, ``gamma``.
    use_global_stats : bool
        Whether the moving averages are used in training, too, and left alone.
    beta_initializer, gamma_initializer, running_mean_initializer, running_variance_initializer : Initializer or str
        How the parameters begin.
    in_channels : int
        The number of channels; 0 leaves it to the first batch.

    Notes
    -----
    The moving averages change in the forward pass (in MXNet, in the backward pass). The parameters stay in float32
    when the net is cast to a half type.

    Examples
    --------
    >>> from gluonx import autograd, np
    >>> layer = BatchNorm()
    >>> layer.initialize()
    >>> with autograd.record():
    ...     y = layer(np.array([[1.0], [3.0]]))
    >>> y.tolist()
    [[-1.0], [1.0]]
    >>> layer.running_mean.data().tolist()
    [0.20]
    """

    _fuse_relu = False
    _synchronized = False
    _predict: Any
    _train: Any
    _frozen: bool

    def __init__(
        self,
        axis: int = 1,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        use_global_stats: bool = False,
        beta_initializer: InitLike = "zeros",
        gamma_initializer: InitLike = "ones",
        running_mean_initializer: InitLike = "zeros",
        running_variance_initializer: InitLike = "ones",
        in_channels: int = 0,
    ) -> None:
        super().__init__()
        self._kwargs = Settings(
            {
                "axis": axis,
                "eps": epsilon,
                "momentum": momentum,
                "fix_gamma": not scale,
                "use_global_stats": use_global_stats,
            }
        )
        self._axis = self._channel_axis = axis
        self.fuse_relu = self._fuse_relu
        if in_channels:
            self.in_channels = in_channels
        self._add_affine(in_channels, scale, center, gamma_initializer, beta_initializer, final=True)
        self.running_mean = self._vector("running_mean", in_channels, running_mean_initializer, False, False)
        self.running_var = self._vector("running_var", in_channels, running_variance_initializer, False, False)
        self._bind()
        self._relu = get("activation").bind(act_type="relu")

    def _bind(self) -> None:
        """Bind the operators to `_kwargs`, which programs write to (``layer._kwargs['use_global_stats'] = True``)."""
        op = functools.partial(get("batch_norm").bind, **self._kwargs)
        found = {"_predict": op(training=False), "_train": op(training=True)}
        self.__dict__.update(found, _frozen=self._kwargs["use_global_stats"])
        self._kwargs.bound = found

    def forward(self, x: ndarray) -> ndarray:
        """Normalize; in training, move the averages."""
        if self._kwargs.bound is None:
            self._bind()
        mean, var = self.running_mean.data(), self.running_var.data()
        args = (x, self.gamma.data(), self.beta.data(), mean, var)
        if is_training() and not self._frozen:
            y, new_mean, new_var = invoke(self._training_op(x), args)
            mean._assign(new_mean)
            var._assign(new_var)
        else:
            y = invoke(self._predict, args)
        return invoke(self._relu, (y,)) if self._fuse_relu else y

    def _training_op(self, x: ndarray) -> Any:
        """Return the operator that normalizes by the statistics of the batch: of all of it, or of its parts."""
        replicas = self.running_mean._replicas
        if self._synchronized and replicas is not None:
            settings = {name: self._kwargs[name] for name in ("eps", "momentum", "fix_gamma", "axis")}
            return over_devices("SyncBatchNorm", len(replicas), **settings)
        parts = 1 if self._synchronized else parts_of_batch(x.shape[0])
        return self._train if parts == 1 else _in_parts(self._train, parts)

    def cast(self, dtype: DTypeLike) -> None:
        """Change the dtype of the parameters; a half type leaves them in float32, as statistics need it."""
        super().cast("float32" if canonical(dtype).itemsize < 4 else dtype)


@program_cache.once
def _in_parts(op: BoundOp, parts: int) -> DerivedOp:
    """Batch normalization in training of each part of a batch by itself; the averages move by the mean of the parts."""

    def run(x: jax.Array, *vectors: jax.Array) -> Any:
        apart = jax.vmap(op.fn, in_axes=(0, *[None] * len(vectors)))
        y, mean, var = apart(x.reshape(parts, x.shape[0] // parts, *x.shape[1:]), *vectors)
        return y.reshape(x.shape), mean.mean(0), var.mean(0)

    found = DerivedOp(f"{op.name}({parts} parts)", run, n_live=op.n_live)
    found.steady = True
    return found


class SyncBatchNorm(BatchNorm):
    """Batch normalization over all devices.

    A net on a mesh is one program here, and its batch is one batch, so this is `BatchNorm`, but that
    ``parallel.use(mesh, statistics="local")`` does not concern it.

    On a list of devices (``initialize(ctx=[...])``) its statistics in training are those of the parts of all devices,
    which are to be of one size; gradients flow through them, and the moving averages are the same on each. The devices'
    work is one program then, so losses are read after ``trainer.step()``.

    Parameters
    ----------
    in_channels : int
        The number of channels; 0 leaves it to the first batch.
    num_devices : int, optional
        Accepted for ported code.
    momentum, epsilon, center, scale, use_global_stats
        As in `BatchNorm`, and so are the initializers.

    Raises
    ------
    DeviceError
        On a list of devices, where the parts are of several sizes, something is read before the step, or two devices
        share one of JAX.

    Examples
    --------
    >>> from gluonx import autograd, np
    >>> layer = SyncBatchNorm()
    >>> layer.initialize()
    >>> with autograd.record():
    ...     y = layer(np.array([[1.0], [3.0]]))
    >>> y.tolist()
    [[-1.0], [1.0]]
    """

    _synchronized = True

    def __init__(
        self,
        in_channels: int = 0,
        num_devices: int | None = None,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        use_global_stats: bool = False,
        beta_initializer: InitLike = "zeros",
        gamma_initializer: InitLike = "ones",
        running_mean_initializer: InitLike = "zeros",
        running_variance_initializer: InitLike = "ones",
    ) -> None:
        super().__init__(
            1,
            momentum,
            epsilon,
            center,
            scale,
            use_global_stats,
            beta_initializer,
            gamma_initializer,
            running_mean_initializer,
            running_variance_initializer,
            in_channels,
        )


class BatchNormReLU(BatchNorm):
    """`BatchNorm` and a ReLU after it.

    Examples
    --------
    >>> from gluonx import nn, np
    >>> layer = nn.BatchNormReLU()
    >>> layer.initialize()
    >>> bool((layer(np.ones((2, 3))) >= 0).all())
    True
    """

    _fuse_relu = True


class LayerNorm(_Norm):
    """Normalizes along one axis, each sample for itself.

    Parameters
    ----------
    axis : int
        The axis along which.
    epsilon : float
        Added to the variance.
    center, scale : bool
        Whether ``beta`` and ``gamma`` are trained.
    beta_initializer, gamma_initializer : Initializer or str
        How they begin.
    in_channels : int
        The length of the axis; 0 leaves it to the first batch.

    Examples
    --------
    >>> from gluonx import np
    >>> layer = LayerNorm()
    >>> layer.initialize()
    >>> layer(np.array([[1.0, 3.0]])).tolist()
    [[-1.0, 1.0]]
    """

    _settings = ("_axis", "_epsilon")

    def __init__(
        self,
        axis: int = -1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer: InitLike = "zeros",
        gamma_initializer: InitLike = "ones",
        in_channels: int = 0,
    ) -> None:
        super().__init__()
        self._kwargs = Settings({"eps": epsilon, "axis": axis, "center": center, "scale": scale})
        self._axis = self._channel_axis = axis
        self._epsilon, self._center, self._scale = epsilon, center, scale
        self._add_affine(in_channels, scale, center, gamma_initializer, beta_initializer)

    def _bind(self) -> None:
        self.__dict__["_op"] = get("layer_norm").bind(axis=self._axis, eps=self._epsilon)

    def forward(self, data: ndarray) -> ndarray:
        """Normalize."""
        return invoke(self._op, (data, self.gamma.data(), self.beta.data()))


class RMSNorm(_Norm):
    """Divides by the root of the mean square along one axis, and scales by ``gamma``; no mean is subtracted.

    "Root Mean Square Layer Normalization", https://arxiv.org/abs/1910.07467.

    Parameters
    ----------
    axis : int
        The axis along which.
    epsilon : float
        Added to the mean square.
    gamma_initializer : Initializer or str
        How ``gamma`` begins.
    in_channels : int
        The length of the axis; 0 leaves it to the first batch.

    Examples
    --------
    >>> from gluonx import np
    >>> layer = RMSNorm()
    >>> layer.initialize()
    >>> layer(np.array([[1.0, 7.0]])).tolist()
    [[0.2, 1.4]]
    """

    def __init__(
        self, axis: int = -1, epsilon: float = 1e-6, gamma_initializer: InitLike = "ones", in_channels: int = 0
    ) -> None:
        super().__init__()
        self._kwargs = Settings({"eps": epsilon, "axis": axis})
        self._channel_axis = axis
        self.gamma = self._vector("gamma", in_channels, gamma_initializer, True, True)
        self._op = get("rms_norm").bind(axis=axis, eps=epsilon)

    def forward(self, data: ndarray) -> ndarray:
        """Normalize."""
        return invoke(self._op, (data, self.gamma.data()))


class GroupNorm(_Norm):
    """Normalizes groups of channels (axis 1) together with all space, each sample for itself.

    Parameters
    ----------
    num_groups : int
        Into how many groups the channels are divided.
    epsilon, center, scale, beta_initializer, gamma_initializer, in_channels
        As in `LayerNorm`.

    Examples
    --------
    >>> from gluonx import nn, np
    >>> layer = nn.GroupNorm(num_groups=2)
    >>> layer.initialize()
    >>> layer(np.ones((1, 4, 3))).shape
    (1, 4, 3)
    """

    _settings = ("_num_groups", "_epsilon")

    def __init__(
        self,
        num_groups: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer: InitLike = "zeros",
        gamma_initializer: InitLike = "ones",
        in_channels: int = 0,
    ) -> None:
        super().__init__()
        self._kwargs = Settings({"eps": epsilon, "num_groups": num_groups, "center": center, "scale": scale})
        self._num_groups, self._epsilon, self._center, self._scale = num_groups, epsilon, center, scale
        self._add_affine(in_channels, scale, center, gamma_initializer, beta_initializer)

    def _bind(self) -> None:
        self.__dict__["_op"] = get("group_norm").bind(num_groups=self._num_groups, eps=self._epsilon)

    def forward(self, data: ndarray) -> ndarray:
        """Normalize an array of shape (batch, channel, ...)."""
        return invoke(self._op, (data, self.gamma.data(), self.beta.data()))


class InstanceNorm(_Norm):
    """Normalizes each channel of each sample over space.

    Parameters
    ----------
    axis : int
        The axis of the channels; the first axis is the batch.
    epsilon, center, scale, beta_initializer, gamma_initializer, in_channels
        As in `LayerNorm`; ``gamma`` is not trained by default.

    Examples
    --------
    >>> from gluonx import nn, np
    >>> layer = nn.InstanceNorm()
    >>> layer.initialize()
    >>> layer(np.ones((1, 2, 3))).shape
    (1, 2, 3)
    """

    _settings = ("_epsilon",)

    def __init__(
        self,
        axis: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = False,
        beta_initializer: InitLike = "zeros",
        gamma_initializer: InitLike = "ones",
        in_channels: int = 0,
    ) -> None:
        super().__init__()
        self._kwargs = Settings({"eps": epsilon, "axis": axis, "center": center, "scale": scale})
        self._axis = self._channel_axis = axis
        self._epsilon = epsilon
        self._add_affine(in_channels, scale, center, gamma_initializer, beta_initializer)

    def _bind(self) -> None:
        self.__dict__["_op"] = get("instance_norm").bind(eps=self._epsilon)

    def forward(self, x: ndarray) -> ndarray:
        """Normalize."""
        if self._axis == 1:
            return invoke(self._op, (x, self.gamma.data(), self.beta.data()))
        y = invoke(self._op, (x.swapaxes(1, self._axis), self.gamma.data(), self.beta.data()))
        return y.swapaxes(1, self._axis)
