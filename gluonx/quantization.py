"""Nets whose dense layers and convolutions multiply bytes: `quantize_net` makes one of a trained net.

What is needed for that is the range of each layer's input. A *collector* finds it: it is shown the inputs that the
layers get while the net predicts a few batches, and gives a range for each. What follows is arithmetic on parameters: a
batch norm behind a layer is folded into the layer's weight and bias, the weight is rounded to int8, and a
`QuantizedDense` or `QuantizedConv` takes the layer's place in a copy of the net. Its operators are in
`gluonx.ops.int8`; artifacts and ONNX files are written of such a net as of any other (docs/quantization.md).

The numbers follow MXNet's ``contrib.quantization``, the form does not: that rewrites a symbol, so its result is a
SymbolBlock and its layers have the names of symbols. Here the net keeps its class and its Python code, and layers are
called by their place in it, such as ``features.0``.
"""

from __future__ import annotations

import copy
import fnmatch
import inspect
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as onp

from gluonx import autograd, nn, np, npx
from gluonx.block.block import HybridBlock
from gluonx.block.parameter import Parameter
from gluonx.block.tools import listed, unfailing, watch_operators
from gluonx.deferred import invoke
from gluonx.deferred.values.core import Handle
from gluonx.errors import GluonxError
from gluonx.ops import get

if TYPE_CHECKING:
    import logging

    from gluonx.block.block import Block
    from gluonx.deferred.values.contracts import Operator
    from gluonx.device import DeviceLike
    from gluonx.dtype import DTypeLike
    from gluonx.np.handle import ndarray


__all__ = ["CalibrationCollector", "QuantizedConv", "QuantizedDense", "quantize_net"]

_CONVS = (nn.Conv1D, nn.Conv2D, nn.Conv3D)
_LAYERS = (nn.Dense, *_CONVS)
_PRODUCTS = ("convolution", "fully_connected")
_BINS = 8001
_STEPS = 255


# -- ranges -----------------------------------------------------------------------------------------------------------


class CalibrationCollector:
    """Finds the range of each layer's input; the base class of your own, for ``calib_mode='custom'``.

    Attributes
    ----------
    include_layers : list of str
        The layers that need a range, by their place in the net. `quantize_net` sets it before the first batch.
    min_max_dict : dict of str to (float, float)
        The ranges by layer.

    Examples
    --------
    >>> class Percentile(CalibrationCollector):
    ...     def collect(self, name, op_name, arr):
    ...         low, high = numpy.percentile(arr.asnumpy(), [0.1, 99.9])
    ...         before = self.min_max_dict.get(name, (low, high))
    ...         self.min_max_dict[name] = min(low, before[0]), max(high, before[1])
    >>> import numpy
    >>> net = nn.Dense(2, in_units=3)
    >>> net.initialize()
    >>> batches = [np.random.normal(size=(8, 3))]
    >>> quantize_net(net, calib_data=batches, calib_mode="custom", LayerOutputCollector=Percentile())
    QuantizedDense(3 -> 2, int8, linear)
    """

    def __init__(self) -> None:
        self.include_layers: list[str] | None = None
        self.min_max_dict: dict[str, Any] = {}

    def collect(self, name: str, op_name: str, arr: ndarray) -> None:
        """Look at the input of one layer for one batch.

        Parameters
        ----------
        name : str
            The layer.
        op_name : {'convolution', 'fully_connected'}
        arr : gluonx.np.ndarray
        """
        raise NotImplementedError(f"{type(self).__name__} needs a method collect(self, name, op_name, arr)")

    def post_collect(self) -> dict[str, Any]:
        """Return the ranges, when all batches were seen."""
        return self.min_max_dict


class _Extremes(CalibrationCollector):
    """The smallest and the largest number of all batches."""

    def collect(self, name: str, op_name: str, arr: ndarray) -> None:
        low, high = float(arr.min()), float(arr.max())
        before = self.min_max_dict.get(name, (low, high))
        self.min_max_dict[name] = min(low, before[0]), max(high, before[1])


class _Histograms(CalibrationCollector):
    """The threshold at which a histogram of all batches loses least; see `npx.contrib_calibrate_entropy`."""

    def __init__(self, quantized_dtype: str) -> None:
        super().__init__()
        self._unsigned = quantized_dtype != "int8"
        self._seen: dict[str, tuple[onp.ndarray, float, float]] = {}  # counts, their reach, the smallest number

    def collect(self, name: str, op_name: str, arr: ndarray) -> None:
        values = arr.asnumpy().astype(onp.float32).ravel()
        low, reach = float(values.min()), float(onp.abs(values).max())
        if not math.isfinite(reach):
            self.min_max_dict[name] = low, reach  # refused later, with the layer's name
            return
        counts, known, smallest = self._seen.get(name, (onp.zeros(_BINS), reach, low))
        if reach > known:
            width = 2 * known / len(counts) or reach
            more = math.ceil((reach - known) / width)
            counts, known = onp.pad(counts, more), known + more * width
        if known:
            counts = counts + onp.histogram(values, len(counts), (-known, known))[0]
        self._seen[name] = counts, known, min(low, smallest)

    def post_collect(self) -> dict[str, Any]:
        for name, (counts, reach, low) in self._seen.items():
            unsigned = self._unsigned and low >= 0
            threshold = 0.0
            if reach and name not in self.min_max_dict:
                edges = onp.linspace(-reach, reach, len(counts) + 1)
                steps = 2 * _STEPS + 1 if unsigned else _STEPS
                threshold = float(npx.contrib_calibrate_entropy(counts, edges, steps)[0])
            self.min_max_dict.setdefault(name, (0.0 if unsigned else -threshold, threshold))
        return self.min_max_dict


# -- layers -----------------------------------------------------------------------------------------------------------


class _Quantized(HybridBlock):
    """A layer of bytes: its operator, and the parameters that this takes."""

    _op: Any
    act: Any

    def _set(
        self, layer: Any, weight: onp.ndarray, scale: onp.ndarray, step: float | None, bias: onp.ndarray | None
    ) -> None:
        self._given = layer.weight.list_device()
        self.weight = self._constant("weight", weight)
        self.weight_scale = self._constant("weight_scale", scale)
        self.data_scale = None if step is None else self._constant("data_scale", onp.array([step], "float32"))
        self.bias = None if bias is None else self._constant("bias", bias)
        sums = weight.reshape(len(weight), -1).sum(1, dtype="int32") if self._op.attrs["unsigned"] else None
        self.weight_sum = None if sums is None else self._constant("weight_sum", sums)
        self.act = layer.act

    def _constant(self, name: str, value: onp.ndarray) -> Parameter:
        made = Parameter(
            name, grad_req="null", shape=value.shape, dtype=value.dtype, init="zeros", differentiable=False
        )
        made.initialize(device=self._given)
        made.set_data(value)
        return made

    def forward(self, x: ndarray) -> ndarray:
        """Compute what the layer of real numbers does, in bytes."""
        rest = [None if p is None else p.data() for p in (self.data_scale, self.bias, self.weight_sum)]
        y = invoke(self._op, (x, self.weight.data(), self.weight_scale.data(), *rest))
        return y if self.act is None else self.act(y)

    def cast(self, dtype: DTypeLike) -> None:
        """Leave the parameters as they are: the element type of the result is that of the data."""

    def _said(self) -> str:
        kind = "uint8" if self._op.attrs["unsigned"] else "int8"
        return f"{kind}{', range of each batch' if self.data_scale is None else ''}"


class QuantizedDense(_Quantized):
    """A dense layer of int8, which `quantize_net` makes. Its result is real, and so is what it is given.

    Examples
    --------
    >>> net = nn.Dense(2, in_units=3)
    >>> net.initialize()
    >>> quantize_net(net, calib_data=[np.random.normal(size=(8, 3))], calib_mode="naive")
    QuantizedDense(3 -> 2, int8, linear)
    """

    def __init__(
        self,
        layer: nn.Dense,
        weight: onp.ndarray,
        scale: onp.ndarray,
        step: float | None,
        bias: onp.ndarray | None,
        unsigned: bool,
    ) -> None:
        super().__init__()
        attrs = {"num_hidden": weight.shape[0], "flatten": layer._flatten, "unsigned": unsigned}
        self._op = get("int8_fully_connected").bind(**attrs)
        self._set(layer, weight, scale, step, bias)

    @unfailing
    def __repr__(self) -> str:
        units, features = self.weight.shape  # type: ignore[misc]
        return f"{type(self).__name__}({features} -> {units}, {self._said()}, {self.act or 'linear'})"


class QuantizedConv(_Quantized):
    """A convolution of int8, in one to three dimensions, which `quantize_net` makes.

    Examples
    --------
    >>> net = nn.Conv2D(2, 3, in_channels=1)
    >>> net.initialize()
    >>> quantize_net(net, calib_data=[np.random.normal(size=(1, 1, 4, 4))], calib_mode="naive")
    QuantizedConv(2 filters, kernel=(3, 3), stride=(1, 1), int8)
    """

    def __init__(
        self,
        layer: Any,
        weight: onp.ndarray,
        scale: onp.ndarray,
        step: float | None,
        bias: onp.ndarray | None,
        unsigned: bool,
    ) -> None:
        super().__init__()
        attrs = {name: value for name, value in layer._kwargs.items() if name != "no_bias"}
        self._op = get("int8_convolution").bind(**attrs, unsigned=unsigned)
        self._set(layer, weight, scale, step, bias)

    @unfailing
    def __repr__(self) -> str:
        attrs = self._op.attrs
        said = [
            f"{attrs['num_filter']} filters",
            f"kernel={attrs['kernel']}",
            f"stride={attrs['stride']}",
            self._said(),
        ]
        return f"{type(self).__name__}({', '.join(said + [str(self.act)] * (self.act is not None))})"


# -- what the net does ------------------------------------------------------------------------------------------------


class _Sighting:
    """A record of the net while it predicted: which layers ran, and which batch norms stand behind which."""

    def __init__(self, net: HybridBlock, wanted: Mapping[str, Any], collector: CalibrationCollector | None) -> None:
        self.net, self.collector = net, collector
        self.layer_of = {id(layer.weight.data()): name for name, layer in wanted.items() if layer.weight._is_ready}
        self.wanted = wanted
        self.runs: Counter[str] = Counter()
        self.uses: Counter[int] = Counter()
        self.maker: dict[int, str] = {}
        self.norms: list[tuple[int, Any, Any]] = []  # what goes in, the handle of gamma, attributes
        self.kept: list[Any] = []  # so that no id is used twice
        self.batches = 0

    def note(self, op: Operator | None, args: Sequence[Any], outs: Sequence[Any]) -> None:
        """Look at one operator; None is code that took the arrays themselves."""
        kind = "" if op is None else op.name
        name = self.layer_of.get(id(args[1])) if kind in _PRODUCTS else None
        if name is not None and self.collector is not None:
            self.collector.collect(name, kind, args[0])
        if self.batches:
            return  # the first batch tells the structure
        self.kept += [*args, *outs]
        self.uses.update([id(a) for a in args if isinstance(a, Handle)])
        if name is not None:
            self.runs[name] += 1
            self.maker[id(outs[0])] = name
        elif op is not None and kind == "batch_norm":
            self.norms.append((id(args[0]), args[1], op.attrs))

    def run(self, inputs: Sequence[Any]) -> None:
        """Predict one batch."""
        if not self.layer_of:  # shapes are learned by the first batch
            with autograd.pause():
                self.net(*inputs)
            self.layer_of = {
                id(layer.weight.data()): name for name, layer in self.wanted.items() if layer.weight._is_ready
            }
        with autograd.pause(), watch_operators((), self.note):
            outputs = self.net(*inputs)
        if not self.batches:
            self.uses.update([id(x) for x in jax.tree.leaves(outputs, is_leaf=lambda v: isinstance(v, Handle))])
            held = [value for _, block in self.net._walk() for value in block.__dict__.values()]
            self.uses.update([id(x) for x in held if isinstance(x, Handle)])
        self.batches += 1

    def folds(self) -> dict[str, str]:
        """Find the batch norm, by its place, that each layer takes in: it alone reads what the layer alone makes."""
        norms = {
            id(block.gamma.data()): (place[:-1], block)
            for place, block in self.net._walk()
            if isinstance(block, nn.BatchNorm) and type(block).forward is nn.BatchNorm.forward and block.gamma._is_ready
        }
        times = Counter(id(gamma) for _, gamma, _ in self.norms)
        found = {}
        for data, gamma, attrs in self.norms:
            name, (place, _) = self.maker.get(data), norms.get(id(gamma), ("", None))
            if name is None or not place or times[id(gamma)] > 1 or attrs["training"]:
                continue
            if self.runs[name] == 1 and self.uses[data] == 1 and _same_channels(self.wanted[name], attrs["axis"]):
                found[name] = place
        return found


def _same_channels(layer: Any, axis: int) -> bool:
    """Return whether a norm over an axis is one of the layer's filters, and nothing stands in between."""
    if layer.act is not None:
        return False
    if isinstance(layer, nn.Dense):
        return axis == -1 or (axis == 1 and layer._flatten)
    layout = layer._layout
    return axis % len(layout) == layout.index("C")


def _folded(layer: Any, norm: Any) -> tuple[onp.ndarray, onp.ndarray | None]:
    """Return the weight and bias of a layer and of the batch norm behind it, if there is one."""
    weight = layer.weight.data().asnumpy().astype(onp.float32)
    bias = None if layer.bias is None else layer.bias.data().asnumpy().astype(onp.float32)
    if norm is None:
        return weight, bias
    gamma, beta, mean, var = (
        p.data().asnumpy().astype(onp.float64) for p in (norm.gamma, norm.beta, norm.running_mean, norm.running_var)
    )
    factor = (1.0 if norm._kwargs["fix_gamma"] else gamma) / onp.sqrt(var + norm._kwargs["eps"])
    bias = beta + factor * ((0.0 if bias is None else bias) - mean)
    return (weight * factor.reshape(-1, *[1] * (weight.ndim - 1))).astype("float32"), bias.astype("float32")


def _rounded(weight: onp.ndarray, by_channel: bool) -> tuple[onp.ndarray, onp.ndarray]:
    """Return a weight as int8 from -127 to 127, and what a step stands for, of each row or of all."""
    rows = onp.abs(weight.reshape(len(weight), -1)).max(1)
    scale = (rows if by_channel else rows.max(keepdims=True)) / onp.float32(127)
    scale = onp.where(scale > 0, scale, 1).astype("float32")
    steps = onp.rint(weight / scale.reshape(-1, *[1] * (weight.ndim - 1)))
    return onp.clip(steps, -127, 127).astype("int8"), scale


# -- the whole --------------------------------------------------------------------------------------------------------


def quantize_net(
    network: HybridBlock,
    quantized_dtype: str = "auto",
    quantize_mode: str = "full",
    quantize_granularity: str = "tensor-wise",
    exclude_layers: Sequence[str] | None = None,
    exclude_layers_match: Sequence[str] | None = None,
    exclude_operators: Sequence[str] | None = None,
    calib_data: Iterable[Any] | None = None,
    data_shapes: Sequence[Any] | None = None,
    calib_mode: str = "none",
    num_calib_batches: int | None = None,
    device: Any = None,
    LayerOutputCollector: CalibrationCollector | None = None,
    logger: Any = None,
) -> HybridBlock:
    """Return a copy of a net whose dense layers and convolutions compute in int8, for prediction.

    Batch norms behind them are folded into them. Layers that the net does not call on the data stay as they are.

    Parameters
    ----------
    network : HybridBlock
        Trained; it is not changed.
    quantized_dtype : {'auto', 'int8', 'uint8'}
        Of the data. 'auto' takes uint8 for a layer whose input has nothing negative, else int8. The weights are int8.
    quantize_mode : {'full', 'smart'}
        Accepted for ported code; both are the same here.
    quantize_granularity : {'tensor-wise', 'channel-wise'}
        Whether a weight has one scale, or one for each filter or unit.
    exclude_layers : list of str, optional
        Layers that stay in float32, and all below a block, by their place: ``'features.0'``.
    exclude_layers_match : list of str, optional
        The same by parts of names, or patterns with ``*``.
    exclude_operators : list of str, optional
        'convolution' or 'fully_connected', or what MXNet calls them.
    calib_data : iterable, optional
        Batches, as a `gluonx.data.DataLoader` gives them: arrays, or lists whose first items are what the net takes.
    data_shapes : list of tuple or DataDesc, optional
        The shapes of the inputs, where there is no `calib_data`, for ``calib_mode='none'``. With `calib_data`, their
        number is how many items of a batch the net takes, which a forward of ``*inputs`` does not tell.
    calib_mode : {'none', 'naive', 'entropy', 'custom'}
        How the range of an input is found: from each batch while predicting; by the extremes of `calib_data`; by the
        threshold that loses least information; by `LayerOutputCollector`.
    num_calib_batches : int, optional
        As many batches at most.
    device : Device, optional
        Where the copy is to be; by default where the net is.
    LayerOutputCollector : CalibrationCollector, optional
    logger : logging.Logger, optional
        Is told, by ``info``, what became of each layer.

    Returns
    -------
    HybridBlock
        Of the net's class, hybridized.

    Raises
    ------
    TypeError
        If `network` is no HybridBlock.
    ValueError
        If an argument is unknown, a layer is not there, data are missing, or a range makes no sense; the message names
        the layer.

    Notes
    -----
    MXNet's ``contrib.quantization.quantize_net``. B. Jacob et al., "Quantization and Training of Neural Networks for
    Efficient Integer-Arithmetic-Only Inference", CVPR 2018; S. Migacz, "8-bit inference with TensorRT", GTC 2017.

    Examples
    --------
    >>> net = nn.HybridSequential()
    >>> net.add(nn.Dense(8, activation="relu"), nn.Dense(2))
    >>> net.initialize()
    >>> quantize_net(net, calib_data=[np.random.normal(size=(16, 4))], calib_mode="naive")
    HybridSequential(
      (0): QuantizedDense(4 -> 8, int8, Activation(relu))
      (1): QuantizedDense(8 -> 2, uint8, linear)
    )
    """
    if not isinstance(network, HybridBlock):
        raise TypeError(f"quantize_net: a HybridBlock was expected, got {type(network).__name__}")
    _among("quantized_dtype", quantized_dtype, "auto", "int8", "uint8")
    _among("quantize_mode", quantize_mode, "full", "smart")
    _among("quantize_granularity", quantize_granularity, "tensor-wise", "channel-wise")
    collector = _collector(calib_mode, quantized_dtype, LayerOutputCollector)
    net: Any = copy.deepcopy(network)
    if device is not None:
        net.reset_device(device)
    net.hybridize(False)
    layers = _chosen(net, exclude_layers, exclude_layers_match, exclude_operators)
    if collector is not None:
        collector.include_layers = list(layers)
    seen = _Sighting(net, layers, collector)
    for inputs in _batches(net, calib_data, data_shapes, num_calib_batches, collector is not None, device):
        seen.run(inputs)
    ranges = None if collector is None else collector.post_collect()
    below = {place[:-1]: block for place, block in net._walk()}
    folds = seen.folds()
    instead: dict[int, Any] = {}
    for name, layer in layers.items():
        if not seen.runs[name]:
            _tell(logger, f"{name} stays: the net does not call it")
            continue
        step, unsigned = _step(name, ranges, quantized_dtype)
        norm = below[folds[name]] if name in folds else None
        weight, bias = _folded(layer, norm)
        if not onp.isfinite(weight).all():
            raise ValueError(f"quantize_net: the weight of {_called(name)} is not finite")
        made = QuantizedDense if isinstance(layer, nn.Dense) else QuantizedConv
        instead[id(layer)] = made(
            layer, *_rounded(weight, quantize_granularity == "channel-wise"), step, bias, unsigned
        )
        if norm is not None:
            instead[id(norm)] = nn.Activation("relu") if norm.fuse_relu else nn.Identity()
        folded = f", {folds[name]} folded into it" if norm is not None else ""
        _tell(logger, f"{name}: {instead[id(layer)]}{folded}")
    if not instead:
        raise ValueError(
            f"quantize_net: {type(network).__name__} has no Dense or Conv layer, called on the data and not "
            "excluded, that could be quantized"
        )
    net = _replaced(net, instead)
    net.hybridize()
    return net


def _among(name: str, value: object, *known: str) -> None:
    if value not in known:
        raise ValueError(f"quantize_net: {name} is {value!r}, but must be one of {', '.join(map(repr, known))}")


def _tell(logger: logging.Logger | None, text: str) -> None:
    if logger is not None:
        logger.info(f"quantize_net: {text}")


def _called(name: str) -> str:
    return f"layer '{name}'" if name else "the layer"


def _collector(mode: str, dtype: str, given: CalibrationCollector | None) -> CalibrationCollector | None:
    _among("calib_mode", mode, "none", "naive", "entropy", "custom")
    if (mode == "custom") != (given is not None):
        raise ValueError(
            f"quantize_net: calib_mode='custom' and LayerOutputCollector belong together, but calib_mode={mode!r} and "
            f"LayerOutputCollector={given!r} came"
        )
    if mode == "none" and dtype == "uint8":
        raise ValueError(
            "quantize_net: quantized_dtype='uint8' has no negative numbers, so it must be known that data have none: "
            "calibrate (calib_mode='naive'), or take 'auto' or 'int8'"
        )
    if given is not None and not (hasattr(given, "collect") and hasattr(given, "post_collect")):
        raise TypeError(f"quantize_net: LayerOutputCollector must be a CalibrationCollector object, got {given!r}")
    return {"naive": _Extremes, "entropy": lambda: _Histograms(dtype)}.get(mode, lambda: given)()


def _chosen(net: Block, names: Any, patterns: Any, operators: Any) -> dict[str, Any]:
    """Get the layers that are to be quantized, by their place; one that stands in several places has its first name."""
    below = [(place[:-1], block) for place, block in net._walk()]
    places = {name for name, _ in below}
    layers: dict[int, tuple[str, Any]] = {}
    for name, block in below:
        if any(isinstance(block, kind) and type(block).forward is kind.forward for kind in _LAYERS):
            layers.setdefault(id(block), (name, block))
    excluded = set()
    for name in names or ():
        if name not in places or not name:
            raise ValueError(
                f"quantize_net: exclude_layers names {name!r}, which is no layer; there are {_listed(layers)}"
            )
        excluded |= {id(block) for place, block in below if f"{place}.".startswith(f"{name}.")}
    for pattern in patterns or ():
        wanted = pattern if any(c in pattern for c in "*?[") else f"*{pattern}*"
        found = {id(block) for place, block in below if fnmatch.fnmatchcase(place, wanted)}
        if not found & layers.keys():
            raise ValueError(
                f"quantize_net: exclude_layers_match has {pattern!r}, which fits no layer; there are {_listed(layers)}"
            )
        excluded |= found
    without = [_operator(name) for name in operators or ()]
    return {
        name: block for key, (name, block) in layers.items() if key not in excluded and block._op.name not in without
    }


def _listed(layers: dict[int, tuple[str, Any]]) -> str:
    return listed([name for name, _ in layers.values()]) or "none"


def _operator(name: str) -> str:
    try:
        return get(name).name
    except (GluonxError, KeyError, ValueError, AttributeError):
        raise ValueError(
            f"quantize_net: exclude_operators names {name!r}, which is no operator; 'convolution' and 'fully_connected'"
            " are those that are quantized"
        ) from None


def _batches(
    net: Block, data: Any, shapes: Any, limit: int | None, needed: bool, device: DeviceLike
) -> Iterator[list[Any]]:
    """Yield the inputs of the net, batch by batch."""
    if data is None:
        if needed:
            raise ValueError("quantize_net: this calib_mode needs calib_data, batches that the net is to predict")
        if shapes is None:
            raise ValueError("quantize_net: calib_data or data_shapes is needed, to see how the net is run")
        yield [np.zeros(tuple(getattr(shape, "shape", shape)), device=device) for shape in shapes]
        return
    if not isinstance(data, Iterable):
        raise TypeError(f"quantize_net: calib_data must be a DataLoader, or give batches, got {type(data).__name__}")
    if limit is not None and limit < 1:
        raise ValueError(f"quantize_net: num_calib_batches must be at least 1, got {limit}")
    count = len(shapes) if shapes is not None else _inputs(net)
    number = 0
    for number, batch in enumerate(data, 1):
        items = batch.data if hasattr(batch, "provide_data") else batch  # a DataBatch of mx.io
        items = list(items) if isinstance(items, (list, tuple)) else [items]
        if shapes is None and len(items) > 1 and _takes_any_number(net):
            raise ValueError(
                f"quantize_net: {type(net).__name__}.forward takes any number of inputs, and batch {number} of "
                f"calib_data has {len(items)} items; data_shapes=[...], one shape for each input, tells which are no "
                "labels"
            )
        if len(items) < count:
            raise ValueError(
                f"quantize_net: the net takes {count} inputs, but batch {number} of calib_data has {len(items)}"
            )
        arrays: list[Any] = [x if isinstance(x, Handle) else np.array(x) for x in items[:count]]
        yield arrays if device is None else [x.to_device(device) for x in arrays]
        if number == limit:
            return
    if not number:
        raise ValueError("quantize_net: calib_data gave no batch")


def _inputs(net: Block) -> int:
    """Return how many inputs the net must have; further arrays of a batch are labels."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return (
        sum(p.kind in kinds and p.default is p.empty for p in inspect.signature(net.forward).parameters.values()) or 1
    )


def _takes_any_number(net: Block) -> bool:
    """Return whether the signature of the forward is ``*inputs`` alone, which tells no number."""
    kinds = {p.kind for p in inspect.signature(net.forward).parameters.values()}
    return inspect.Parameter.VAR_POSITIONAL in kinds and kinds <= {
        inspect.Parameter.VAR_POSITIONAL,
        inspect.Parameter.KEYWORD_ONLY,
        inspect.Parameter.VAR_KEYWORD,
    }


def _step(name: str, ranges: Mapping[str, Any] | None, dtype: str) -> tuple[float | None, bool]:
    """Return what a step of a layer's input stands for, and whether its bytes are unsigned."""
    if ranges is None:
        return None, False
    if name not in ranges:
        raise ValueError(
            f"quantize_net: the collector gave no range for {_called(name)}; it has {listed(sorted(ranges))}"
        )
    try:
        low, high = (
            float(onp.asarray(x).reshape(())) if onp.ndim(x) == 0 else float(onp.asarray(x).reshape(-1)[0])
            for x in ranges[name]
        )
    except (TypeError, ValueError):
        raise ValueError(f"quantize_net: the range of {_called(name)} is {ranges[name]!r}, not two numbers") from None
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise ValueError(f"quantize_net: the range of {_called(name)} is {low} to {high}; are its inputs finite?")
    if dtype == "uint8" and low < 0:
        raise ValueError(
            f"quantize_net: the input of {_called(name)} goes down to {low:.3g}, but quantized_dtype='uint8' has no "
            "negative numbers; 'auto' takes int8 for such layers"
        )
    unsigned = dtype != "int8" and low >= 0
    reach = max(abs(low), abs(high))
    return reach / (255 if unsigned else 127) or 1.0, unsigned


def _replaced(net: Block, instead: Mapping[int, Any]) -> Any:
    """Return the net with other blocks in some places."""
    if id(net) in instead:
        return instead[id(net)]
    for block in list({id(b): b for _, b in net._walk()}.values()):
        for name, child in list(block._children.items()):
            if id(child) not in instead:
                continue
            held = [key for key, value in block.__dict__.items() if value is child]
            block._children[name] = instead[id(child)]
            block.__dict__.update(dict.fromkeys(held, instead[id(child)]))  # an attribute may not change its class
            block._refresh()
    return net


def __dir__() -> list[str]:
    return sorted(__all__)
