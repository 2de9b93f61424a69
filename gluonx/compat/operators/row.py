"""One row of the table of legacy operators, and how rows are written.

A legacy operator is a *canonicalization*: a function from inputs and attributes to core operators. Its row is the
signature that MXNet registered and that function::

    row("Concat(*data; dim: int=1)", lambda a, *data: core("concatenate", *data, axis=a.dim), via="concatenate")

Before the semicolon stand the inputs: ``*data`` for any number, ``bias?`` for one that may be missing, ``mean!`` for
an auxiliary state, which the operator writes to. After it stand the attributes with their types (see
`gluonx.compat.operators.attrs`). Nothing is computed here but by `core`, so a legacy operator records, traces and
differentiates as its core operators do.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gluonx.common.arguments import did_you_mean
from gluonx.compat.operators.attrs import Attr, Attrs, complete
from gluonx.compat.operators.shapes import complete_shapes
from gluonx.deferred import invoke
from gluonx.errors import ArgumentError
from gluonx.ops.registry import HINTS, get

if TYPE_CHECKING:
    from gluonx.np.handle import ndarray


TABLE: dict[str, LegacyOp] = {}
"""Every legacy operator by its name and by each of its aliases."""

_SIGNATURE = re.compile(r"^(\w+)\(([^;]*)(?:;(.*))?\)$", re.DOTALL)
_COUNTS = frozenset({"num_args"})
_IGNORED = HINTS | {"name", "attr", "out", "ctx", "profiler_scope"}

Rule = Callable[..., Any]
Count = int | Callable[[Attrs], int]


def core(name: str, *inputs: Any, **attrs: Any) -> Any:
    """Return the core operator `name` on handles and scalars."""
    return invoke(get(name).bind(**attrs), inputs)


def given(attrs: Attrs) -> dict[str, Any]:
    """Return attributes as core operators take them: without hints, and None for an empty tuple."""
    return {name: None if value == () else value for name, value in attrs.items() if name not in HINTS}


class LegacyOp:
    """One legacy operator.

    Attributes
    ----------
    name : str
        As MXNet registered it; ``aliases`` holds the other spellings.
    inputs : tuple of str
        The names of the arrays, auxiliary states last. One name if ``variadic``.
    optional : frozenset of str
        Inputs that may be missing.
    aux : tuple of str
        The inputs that are auxiliary states.
    attrs : dict of str to Attr
        Name, type and default of each attribute.
    via : tuple of str
        The core operators that it becomes, for the documentation.
    outputs : tuple of str
        The names of its outputs, where they are not ``output``, or ``output0``, ``output1``.
    counted : int
        The number of outputs that MXNet counts in a symbol file, invisible ones included.
    label : int or None
        The number of the input that is a label, which plays no part in what it computes forwards.
    loss : bool
        True if it makes its own gradient, as all with a label do.
    gives : str
        The dtype of its result, where that follows from neither inputs nor attributes.
    colour : int
        The number of its colour in the drawings of `gluonx.compat.visualization`, as in MXNet.
    shapes_told : callable or None
        Completes partly known input shapes from the shape of the result: of (shapes, that shape, attributes).
    """

    def __init__(
        self,
        signature: str,
        rule: Rule,
        via: str = "",
        alias: str = "",
        nout: Count = 1,
        needs: Mapping[str, Callable[[Attrs], bool]] | None = None,
        outputs: str = "",
        counted: int = 1,
        label: int | None = None,
        loss: bool = False,
        gives: str = "",
        colour: int = 7,
        shapes_told: Callable[..., Any] | None = None,
    ) -> None:
        found = _SIGNATURE.match(signature.strip())
        assert found is not None, f"no signature of a legacy operator: {signature}"
        words = [word.strip() for word in found.group(2).split(",") if word.strip()]
        self.name, self.rule = found.group(1), rule
        self.aliases, self.via = tuple(alias.split()), tuple(via.split())
        self.variadic = any(word.startswith("*") for word in words)
        self.inputs = tuple([word.strip("*?!") for word in words])
        self.optional = frozenset(word.strip("*?!") for word in words if word.endswith("?"))
        self.aux = tuple([word.strip("*?!") for word in words if word.endswith("!")])
        self.attrs: dict[str, Attr] = {}
        for part in (found.group(3) or "").split(","):
            if part.strip():
                name, _, rest = part.partition(":")
                kind, equals, default = rest.strip().partition("=")
                self.attrs[name.strip()] = Attr(name.strip(), kind.strip(), default.strip() if equals else None)
        self._nout, self._needs = nout, dict(needs or {})
        self.outputs, self.counted, self.gives, self.colour = tuple(outputs.split()), counted, gives, colour
        self.label, self.loss, self.shapes_told = label, loss or label is not None, shapes_told
        self._seen: dict[Any, Attrs] = {}

    def parse(self, given: Mapping[str, Any]) -> Attrs:
        """All attributes, from Python values or the strings of a symbol file.

        Hints to MXNet's own kernels, names, and attributes in double underscores are dropped; an operator without
        attributes drops whatever comes, as MXNet's does.

        Raises
        ------
        ArgumentError
            If an attribute is unknown: a TypeError, and MXNet's error.
        TypeError
            If one is missing.
        ValueError
            If one cannot be read as its type.

        Examples
        --------
        >>> from gluonx.compat.operators.table import get_legacy
        >>> get_legacy("Concat").parse({"num_args": "2", "dim": "0"})
        {'dim': 0}
        """
        key = (*given, *given.values(), *map(type, given.values()))
        try:
            return self._seen[key]
        except KeyError:
            found = self._parse(given)
            if len(self._seen) < 64:
                self._seen[key] = found
            return found
        except TypeError:  # a list among the values
            return self._parse(given)

    def _parse(self, given: Mapping[str, Any]) -> Attrs:
        if not self.attrs and not self.variadic:
            return complete(self.attrs, {}, self.name)
        for name in given:
            if name not in self.attrs and name not in _IGNORED and name not in _COUNTS and not name.startswith("__"):
                raise ArgumentError(self._unknown(name))
        return complete(self.attrs, given, self.name)

    def _unknown(self, name: str) -> str:
        hint = did_you_mean(name, self.attrs)
        known = ", ".join(self.attrs) or "none"
        arrays = ", ".join(self.inputs) or "none"
        return f"operator {self.name} has no attribute '{name}'{hint} (its attributes: {known}; its arrays: {arrays})"

    def input_names(self, attrs: Attrs) -> tuple[str, ...]:
        """Get the inputs that it has under these attributes: no ``bias`` where ``no_bias`` is set.

        Not if ``variadic``.
        """
        return tuple([name for name in self.inputs if name not in self._needs or self._needs[name](attrs)])

    def aux_names(self, attrs: Attrs) -> tuple[str, ...]:
        """Return the inputs among `input_names` that are auxiliary states."""
        return self.aux

    def output_names(self, attrs: Attrs) -> tuple[str, ...]:
        """Return the names of the outputs, where they have names of their own."""
        return self.outputs

    def least_inputs(self, attrs: Attrs) -> int:
        """Count the `input_names` that must be there: an optional one too, where the attributes say that it is used."""
        return len([name for name in self.input_names(attrs) if name not in self.optional or name in self._needs])

    def num_outputs(self, attrs: Attrs, num_inputs: int = 1) -> int:
        """Return the number of outputs under these attributes."""
        return self._nout(attrs) if callable(self._nout) else self._nout or num_inputs

    def run(self, inputs: Sequence[Any], attrs: Attrs) -> Any:
        """Compute.

        Parameters
        ----------
        inputs : sequence of Handle, scalar or None
            In the order of ``inputs``; those at the end may be left away.
        attrs : Attrs
            As `parse` gives them.

        Returns
        -------
        Handle, or tuple of Handle where there are several outputs
        """
        return self.rule(attrs, *inputs)

    def infer(self, shapes: Sequence[tuple[int, ...] | None], attrs: Attrs) -> list[tuple[int, ...] | None]:
        """Return the input shapes, completed (None: unknown; 0 or -1: an unknown dimension); see `complete_shapes`."""
        return complete_shapes(self, shapes, attrs)

    def signature(self, symbols: bool = False, method: bool = False) -> inspect.Signature:
        """Return the signature of a call on arrays, or on `symbols`, of which any may be left out.

        A `method` has its first array as ``self``. The default ``...`` marks a required argument behind optional ones.

        Examples
        --------
        >>> from gluonx.compat.operators.table import get_legacy
        >>> dense = get_legacy("FullyConnected")
        >>> dense.signature()
        <Signature (data, weight, bias=None, num_hidden=Ellipsis, no_bias=False, flatten=True, *, out=None, name=None)>
        >>> list(dense.signature(symbols=True).parameters.values())[0]
        <Parameter "data=None">
        """
        kind = inspect.Parameter
        place = kind.KEYWORD_ONLY if self.variadic else kind.POSITIONAL_OR_KEYWORD
        free = () if self.variadic else self.inputs if symbols else self.optional
        of_arrays = kind.VAR_POSITIONAL if self.variadic else place
        rows = [kind(n, of_arrays, default=None if n in free else kind.empty) for n in self.inputs]
        rows += [kind(a.name, place, default=kind.empty if a.required else a.default) for a in self.attrs.values()]
        if method:
            rows[0] = kind("self", kind.POSITIONAL_OR_KEYWORD)
        for i, row in enumerate(rows):
            if place is kind.POSITIONAL_OR_KEYWORD and row.default is kind.empty:
                rows[i] = row if all(r.default is kind.empty for r in rows[:i]) else row.replace(default=...)
        words = ("name", "attr", "out") if symbols else ("out", "name")
        rows += [kind(n, kind.KEYWORD_ONLY, default=None) for n in words if n not in self.attrs]
        return inspect.Signature(rows)

    def __call__(self, *inputs: Any, **attrs: Any) -> ndarray:
        """Compute, with attributes as Python values or text."""
        return self.rule(self.parse(attrs), *inputs)

    def __repr__(self) -> str:
        return f"<legacy operator {self.name}>"


def row(signature: str, rule: Rule | None = None, **traits: Any) -> Any:
    """Put a legacy operator into `TABLE`; without `rule`, a decorator of it."""
    if rule is None:
        return lambda fn: (row(signature, fn, **traits), fn)[1]
    op = LegacyOp(signature, rule, **traits)
    for name in (op.name, *op.aliases):
        assert name not in TABLE, f"there already is a legacy operator '{name}'"
        TABLE[name] = op
    return op


def same(signature: str, via: str, **traits: Any) -> None:
    """Put an operator into `TABLE` that has the arrays and the attributes of the core operator `via`."""
    row(signature, lambda a, *inputs: core(via, *inputs, **a), via=via, **traits)


def rows(text: str, make: Callable[[str], Rule], inputs: str) -> None:
    """Rows that differ in names only: each line is ``legacy core alias ...``."""
    for line in text.split("\n"):
        if line.strip():
            name, via, *alias = line.split()
            row(f"{name}({inputs})", make(via), via=via, alias=" ".join(alias))
