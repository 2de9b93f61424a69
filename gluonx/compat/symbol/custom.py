"""``sym.Custom``: operators that users write in Python, as nodes of a graph; see `gluonx.compat.operator`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from gluonx.compat.operator import CustomOpProp, prop_of, run
from gluonx.compat.operators.attrs import Attrs
from gluonx.compat.operators.row import LegacyOp
from gluonx.ops.registry import HINTS

Shape = tuple[int, ...]


class _Custom(LegacyOp):
    """The one row of all of them: what it takes and gives is what the `CustomOpProp` named by ``op_type`` says."""

    def __init__(self) -> None:
        super().__init__("Custom(; op_type: str)", lambda attrs, *inputs: self.run(inputs, attrs))

    def signature(self, symbols: bool = False, method: bool = False) -> inspect.Signature:
        """Return that of any arguments: the `CustomOpProp` says which."""
        return inspect.signature(lambda *args, **kwargs: None)

    def parse(self, given: Mapping[str, Any]) -> Attrs:
        own = {k: v for k, v in given.items() if k not in HINTS and not k.startswith("__") and v is not None}
        if "op_type" not in own:
            raise TypeError("operator Custom needs the attribute 'op_type'")
        attrs = Attrs(own)
        try:
            _prop(attrs)
        except KeyError as error:
            raise ValueError(error.args[0]) from None
        return attrs

    def input_names(self, attrs: Attrs) -> tuple[str, ...]:
        prop = _prop(attrs)
        return (*prop.list_arguments(), *prop.list_auxiliary_states())

    def aux_names(self, attrs: Attrs) -> tuple[str, ...]:
        return tuple(_prop(attrs).list_auxiliary_states())

    def least_inputs(self, attrs: Attrs) -> int:
        return len(self.input_names(attrs))

    def num_outputs(self, attrs: Attrs, num_inputs: int = 1) -> int:
        return len(_prop(attrs).list_outputs())

    def output_names(self, attrs: Attrs) -> tuple[str, ...]:
        return tuple(_prop(attrs).list_outputs())

    def run(self, inputs: Sequence[Any], attrs: Attrs) -> Any:
        prop = _prop(attrs)
        count = len(prop.list_arguments())
        out = run(prop, attrs["op_type"], list(inputs[:count]), list(inputs[count:]))
        return out[0] if len(out) == 1 else tuple(out)

    def infer(self, shapes: Sequence[Shape | None], attrs: Attrs) -> list[Shape | None]:
        prop = _prop(attrs)
        count = len(prop.list_arguments())
        known = [list(shape) if shape is not None and all(n > 0 for n in shape) else [] for shape in shapes[:count]]
        try:
            args, _, *states = prop.infer_shape(known)
        except (IndexError, TypeError, ValueError):
            if all(known):
                raise
            return list(shapes)  # it needs to know more
        found = [*args, *(states[0] if states else ())]
        return [tuple(shape) if len(shape) else old for shape, old in zip(found, shapes, strict=True)]


def _prop(attrs: Attrs) -> CustomOpProp:
    return prop_of(attrs["op_type"], {k: v for k, v in attrs.items() if k != "op_type"})


CUSTOM = _Custom()
