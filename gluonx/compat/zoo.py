"""The model zoo as MXNet 1 named it: prefixes of its blocks, and what they make of symbols.

Programs of MXNet 1 cut the zoo's networks at outputs by name (``stage3_activation5_output``), and read parameters by
name. There every block was made in its network's name scope, most of them with an empty prefix; the networks of
gluonx are put together first. So :func:`named` goes through a network when it is complete, in the order in which MXNet
made its blocks, and :data:`FORWARDS` has the forwards in which operators got names of their own.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gluonx.block.block import Block


_INCEPTION = ("A1_", "A2_", "A3_", "B_", "C1_", "C2_", "C3_", "C4_", "D_", "E1_", "E2_")

building: contextvars.ContextVar[bool] = contextvars.ContextVar("gluonx_building_zoo", default=False)
"""Whether a network of the zoo is being made, whose blocks get their names when it is complete."""


def is_network(cls: type) -> bool:
    """Return whether a class is a network of the zoo, or one that extends such a one."""
    return any(base.__name__ == "Classifier" and base.__module__ == "gluonx.model_zoo.parts" for base in cls.__mro__)


@contextlib.contextmanager
def unnamed() -> Iterator[None]:
    """Have no block take a prefix."""
    token = building.set(True)
    try:
        yield
    finally:
        building.reset(token)


Enter = Callable[..., Any]  # `gluonx.compat.prefixes.enter`
HintOf = Callable[[Any], str]


def named(net: Any, enter: Enter, hint_of: HintOf) -> None:
    """Give the blocks of a network their prefixes, by `enter`; `hint_of` says what a prefix begins with."""
    family = next(cls.__name__ for cls in type(net).__mro__ if cls.__module__.startswith("gluonx.model_zoo.vision."))
    second = family == "MobileNetV2"
    with enter(net, *net.__dict__.pop("_asked", (None, None))):
        for name, part in net._children.items():
            if not _holds(part):
                _name(part, None, enter, hint_of)
                continue
            with enter(part, f"{name}_" if second else ""):
                for child, prefix in zip(part._children.values(), _prefixes(family, part), strict=True):
                    _name(child, prefix, enter, hint_of)


def _holds(block: Block) -> bool:
    """Return whether a block is there for the blocks in it, and no layer with an activation."""
    return bool(block._children) and not block._reg_params


def _prefixes(family: str, part: Any) -> list[str | None]:
    """Return the prefixes of what stands directly in the features, or the output, of a network."""
    prefixes: list[str | None] = []
    found = 0
    for child in part._children.values():
        kind, first = type(child).__name__, next(iter(child._children.values()), None)
        stage = {
            "ResNetV1": kind == "HybridSequential",
            "ResNetV2": kind == "HybridSequential",
            "DenseNet": kind == "HybridSequential" and type(first).__name__ == "HybridConcatenate",
            "Inception3": kind == "HybridConcatenate",
        }.get(family, False)
        if stage:
            prefixes.append(_INCEPTION[found] if family == "Inception3" else f"stage{found + 1}_")
            found += 1
        elif family == "MobileNetV2" and len(part._children) == 2:
            prefixes.append("pred_" if kind == "Conv2D" else None)
        else:
            prefixes.append(None if not _holds(child) or kind == "LinearBottleneck" else "")
    return prefixes


def _name(block: Block, prefix: str | None, enter: Enter, hint_of: HintOf) -> None:
    """Give a block a prefix, or a number, and those below it: layers numbers, what holds them none."""
    scope = enter(block, prefix)
    bottleneck = type(block).__name__ == "LinearBottleneck"
    with scope:
        for child in block._children.values():
            if block._reg_params:  # the activation of a layer
                _name(child, hint_of(child) + "_", enter, hint_of)
            elif not bottleneck:
                _name(child, "" if _holds(child) else None, enter, hint_of)
            else:  # which made its sequence first, and its layers beside it
                enter(child)
                for layer in child._children.values():
                    _name(layer, None, enter, hint_of)


def _residual(block: Any, F: Any, x: Any) -> Any:
    """ResNet v1: the activation is behind the sum."""
    out = block.body(x)
    shortcut = x if block.downsample is None else block.downsample(x)
    turned = type(block).__name__.startswith("Basic")
    return F.Activation(shortcut + out if turned else out + shortcut, act_type="relu")


def _pre_activated(block: Any, F: Any, x: Any) -> Any:
    """ResNet v2: activations are before convolutions."""
    shortcut = x
    for i in range(1, block._count + 1):
        x = F.Activation(block._children[f"bn{i}"](x), act_type="relu")
        if i == 1 and block.downsample is not None:
            shortcut = block.downsample(x)
        x = block._children[f"conv{i}"](x)
    return x + shortcut


def _bottleneck(block: Any, F: Any, x: Any) -> Any:
    out = block.out(x)
    return F.elemwise_add(out, x) if block.use_shortcut else out


def _branches(block: Any, F: Any, x: Any) -> Any:
    return F.concat(*[child(x) for child in block._children.values()], dim=block.axis)


def _recurrent(block: Any, F: Any, inputs: Any, states: Any = None, sequence_length: Any = None) -> Any:
    """Lay the parameters of a recurrent layer end to end, and begin with zeros for a batch of any size."""
    x = F.swapaxes(inputs, dim1=0, dim2=1) if block._layout == "NTC" else inputs
    flat = [F.reshape(block._reg_params[piece].var(), shape=(-1,)) for piece, _ in block._pieces(0)]
    params = F._internal._rnn_param_concat(*flat, dim=0)
    first = states
    if first is None:
        first = [
            F.zeros(shape=info["shape"], dtype=str(block._dtype), name=f"h0_{i}", __layout__="LNC")
            for i, info in enumerate(block.state_info())
        ]
    elif not isinstance(first, list | tuple):
        first = [first]
    settings = {**block._ops[True].attrs, "p": block._dropout}
    lengths = [sequence_length] if sequence_length is not None else []
    y, *last = F.RNN(x, params, *first, *lengths, **settings)
    y = F.swapaxes(y, dim1=0, dim2=1) if block._layout == "NTC" else y
    return y if states is None else (y, last)


FORWARDS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "_BlockV1": _residual,
    "_BlockV2": _pre_activated,
    "LinearBottleneck": _bottleneck,
    "RELU6": lambda block, F, x: F.clip(x, 0, 6, name="relu6"),
    "_Branches": _branches,
    "_RNNLayer": _recurrent,
    "Flatten": lambda block, F, x: F.Flatten(x),
}
"""The forward with symbols of classes of gluonx, by their names, as MXNet 1 writes it."""


def forward_of(block: Block) -> Callable[[Any, Any, Any], Any] | None:
    """Return the forward with symbols of a block, if it has one here."""
    for cls in type(block).__mro__:
        if not cls.__module__.startswith("gluonx.") or "forward" in vars(cls):
            own = cls.__module__.startswith("gluonx.")
            return FORWARDS.get(cls.__name__) if own else None
    return None
