"""The documentation that ``help`` shows for a function of ``np`` or ``npx``, made from its operator's record.

The text is the operator's own docstring, in which arrays are called by the names that callers give them. Missing parts
are added by rule: parameters that mean the same everywhere (`WORDS`), the shape of the result, the errors of the checks
that its record names, special properties of its gradient, and its example.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as onp

from gluonx.np.wrapping import Param
from gluonx.ops.registry import NONE, Op

__all__ = ["WORDS", "page"]

WORDS: Mapping[str, str] = {
    "x": "The input.",
    "a": "The input.",
    "b": "The second input.",
    "x1": "The first operand; both are broadcast to one shape.",
    "x2": "The second operand.",
    "arrays": "The inputs.",
    "axis": "The axis to work along; negative ones count from the last. None, where allowed: the flattened array.",
    "axes": "The axes to work along.",
    "keepdims": "Whether the axes that are reduced stay, with length 1.",
    "dtype": "The dtype of the result; None: the default of the function, or the dtype of the inputs.",
    "size": "The shape of the result; None: that of the parameters.",
    "where": "The elements that count: a mask.",
    "initial": "The value to start from, which is also the result for no elements.",
    "weight": "The weights; of a loss, the number that it is multiplied by.",
    "bias": "The bias, which is added.",
    "label": "The true values or classes.",
    "pred": "The prediction.",
    "sample_weight": "A factor for each sample, broadcast to the losses.",
    "batch_axis": "The axis of the samples.",
    "data": "The input.",
    "lr": "The learning rate.",
    "wd": "The weight decay, a multiple of the weight that is added to the gradient.",
    "grad": "The gradient of the weight.",
    "rescale_grad": "The factor of the gradient.",
    "clip_gradient": "The largest magnitude of an element of the scaled gradient; None or a negative number: no bound.",
    "beta1": "The weight of the old value in the first moment.",
    "beta2": "The weight of the old value in the second moment.",
    "epsilon": "A small number against division by zero.",
    "eps": "A small number against division by zero.",
    "mean": "The first moment, a state.",
    "var": "The second moment, a state.",
    "mom": "The momentum, a state.",
    "momentum": "The part of the old momentum that is kept.",
    "state": "The running totals, ``(2, k)``: the sums, and below them their rounding errors.",
    "ignore_label": "Positions with this label are left out.",
    "indices": "Integers, of any dtype.",
    "index": "Integers, of any dtype.",
    "precision": "The precision of products, as `jax.lax.Precision`.",
    "preferred_element_type": "The dtype to accumulate in, and of the result.",
    "order": "The order in which elements are read: 'C', or 'F' with the first axis changing fastest.",
    "kernel": "The lengths of the window.",
    "stride": "The step of the window along each axis; 1 by default.",
    "dilate": "The distance of the window's elements along each axis; 1 by default.",
    "pad": "The number of zeros on both sides of each axis; 0 by default.",
    "layout": "The order of the axes, such as 'NCHW'.",
    "num_filter": "The number of output channels.",
    "num_group": "The number of groups of channels that do not see each other.",
    "no_bias": "Whether there is no bias.",
    "temperature": "The divisor of the inputs, which come to it first.",
    "mask": "True, or not zero, for elements that count.",
    "length": "The number of valid elements along the axis, of each vector.",
    "sequence_length": "The number of valid steps of each sample.",
    "use_sequence_length": "Whether `sequence_length` is used; otherwise all steps are valid.",
    "heads": "The number of heads.",
    "ddof": "The number that is subtracted from the number of elements in the divisor.",
    "correction": "The number that is subtracted from the number of elements in the divisor.",
    "gamma": "The factor of the normalized values.",
    "beta": "The number that is added to the normalized values.",
    "lhs": "The first input.",
    "rhs": "The second input.",
    "lhs_min": "The real number that the least quantized value of the first input stands for.",
    "lhs_max": "The real number that the largest quantized value of the first input stands for.",
    "rhs_min": "The real number that the least quantized value of the second input stands for.",
    "rhs_max": "The real number that the largest quantized value of the second input stands for.",
    "min_bias": "The real number that the least quantized value of the bias stands for.",
    "max_bias": "The real number that the largest quantized value of the bias stands for.",
    "min_range": "The least real number of the range.",
    "max_range": "The largest real number of the range.",
    "query": "The queries.",
    "attention": "The weights of the values, as a softmax gives them.",
    "anchor": "The default boxes.",
    "anchors": "The default boxes.",
    "tup": "The inputs.",
    "arys": "The inputs.",
    "args": "The inputs.",
    "xi": "The coordinates along each axis.",
    "keys": "The keys to sort by, the last one first.",
    "min_data": "The real number that the least quantized value of the data stands for.",
    "max_data": "The real number that the largest quantized value of the data stands for.",
    "min_weight": "The real number that the least quantized value of the weight stands for.",
    "max_weight": "The real number that the largest quantized value of the weight stands for.",
    "descending": "Whether the largest comes first.",
    "stable": "Whether equal elements keep their order.",
    "k": "The diagonal: 0 is the main one, positive ones are above it.",
    "training": "Whether in training mode; None: the mode of `autograd`.",
    "scale": "The scale of the distribution.",
    "loc": "The mean of the distribution, or its mode.",
    "shape": "The shape.",
    "decimals": "The number of decimals.",
    "q": "The share of the elements below the result, from 0 to 1 (from 0 to 100 for percentiles); one or several.",
    "bins": "The edges of the bins, or the number of bins of equal width.",
    "weights": "The weight of each element.",
    "indices_or_sections": "The number of equal parts, or the positions at which to split.",
    "norm": "The scaling of transforms: 'backward', 'ortho' or 'forward'.",
    "s": "The lengths of the transformed axes; shorter inputs are padded with zeros.",
    "m": "The input.",
    "ary": "The input.",
    "offset": "The diagonal: 0 is the main one, positive ones are above it.",
    "axis1": "The first of two axes.",
    "axis2": "The second of two axes.",
    "method": "The result between two elements: 'linear', 'lower', 'higher', 'midpoint' or 'nearest'.",
    "rtol": "The relative tolerance.",
    "atol": "The absolute tolerance.",
    "equal_nan": "Whether NaN equals NaN.",
    "values": "The values that are written, inserted or appended.",
    "ord": "The order of the norm.",
    "upper": "Whether the upper triangle is used, and not the lower one.",
    "UPLO": "'L' or 'U', the triangle that is read.",
    "block_size": "The number of positions along each spatial axis that become channels, or the reverse.",
    "begin": "The first position along each axis; None: 0.",
    "end": "The position after the last one along each axis; None: the length.",
    "margin": "The distance from which on a pair costs nothing.",
    "grad_scale": "The factor of the gradient.",
    "from_logits": "Whether the prediction is a log-probability already.",
    "threshold": "The value above which a prediction counts as true.",
    "min_calib_range": "The least real value that the result can represent.",
    "max_calib_range": "The largest real value that the result can represent.",
    "t": "The number of this update, from 1 on.",
    "prepend": "The values that are put in front before the differences are taken.",
    "kth": "The position, or positions, of elements that are to be where sorting would put them.",
    "side": "'left' or 'right': the position before equal elements, or after them.",
}
"""Parameters that mean the same in most functions, and what they mean."""

_HEADS = re.compile(r"^(Parameters|Returns|Raises|Notes|Examples|References|See Also)\n-{3,}\n", re.MULTILINE)
_ENTRY = re.compile(r"^(\S.*?)(?: : (.*))?$", re.MULTILINE)
_ARRAYS = ("array", "sequence", "star")
_NUMPY = {"gluonx.np": onp, "gluonx.np.linalg": onp.linalg, "gluonx.np.fft": onp.fft}
_KNOWN = {module: frozenset(dir(theirs)) for module, theirs in _NUMPY.items()}


def _sections(doc: str) -> tuple[str, dict[str, str]]:
    """Return the text before the first section, and the sections by name."""
    first, *rest = _HEADS.split(doc)
    return first.strip(), {name: body.strip("\n") for name, body in zip(rest[::2], rest[1::2], strict=True)}


def _entries(body: str) -> dict[str, tuple[str, str]]:
    """Return the entry of each parameter in a section: its type, and the indented text."""
    found: dict[str, tuple[str, str]] = {}
    heads = list(_ENTRY.finditer(body))
    for head, following in zip(heads, [*heads[1:], None], strict=False):
        text = body[head.end() : following.start() if following else len(body)].strip("\n")
        found.update(dict.fromkeys(re.split(r", +", head[1]), (head[2] or "", text)))
    return found


def _default(param: Param) -> str:
    if param.default is Param("", "").default:
        return ""
    return "optional" if param.default is None else f"default {param.default!r}"


def _parameter(param: Param, name: str, told: tuple[str, str] | None, text: str) -> list[str]:
    """Return the lines of one parameter, called `name`; `told` is its entry in a docstring, else `text` says it."""
    array = param.role in _ARRAYS
    star = "*" if param.role == "star" else ""
    said, own = told or ("", "")
    kind = re.sub(r"\barrays?\b", "ndarray", said) if array else said
    if not said or not own:
        kind = kind or ("sequence of ndarray" if param.role == "sequence" else "ndarray or number" if array else "")
        kind = kind if "optional" in kind else ", ".join(filter(None, [kind, _default(param)]))
    text = own or (f"    {text}" if text else "")
    return [f"{star}{name} : {kind}" if kind else f"{star}{name}", *text.splitlines()]


_UFUNC = {"where": "True", "casting": "'same_kind'", "order": "'K'", "dtype": "None", "subok": "True"}
"""NumPy's keywords of elementwise functions, and the one value of each that is accepted."""


def _parameters(op: Op, params: Sequence[Param], shown: Mapping[str, str]) -> list[str]:
    told = _entries(_sections(op.doc)[1].get("Parameters", ""))
    lines: list[str] = []
    own = {*op.inputs, *op.attr_names}
    for param in params:
        if param.name == "out" or (op.ufunc and param.name in _UFUNC and param.name not in own):
            continue
        text = op.meaning.get(param.name, WORDS.get(param.name, ""))
        lines += _parameter(param, shown.get(param.name, param.name), told.get(param.name), text)
    lines += ["out : ndarray, optional", "    Where to write the result."]
    if op.ufunc and len(params) > len(own) + 1:
        values = ", ".join(f"{name}={value}" for name, value in _UFUNC.items())
        lines += [", ".join(_UFUNC), f"    NumPy's keywords, each accepted with one value only: {values}."]
    return lines


_DTYPES = {
    "input": "the dtype of the inputs, promoted where they differ",
    "float": "the dtype of the inputs, promoted where they differ; float32 for integers",
    "bool": "bool",
    "int64": "int64",
    "asked": "`dtype`, by default float32",
}
"""The text for each value of a record's `gives`."""


def _result(op: Op) -> list[str]:
    """Return the lines of the section Returns that the record tells; none if it tells nothing."""
    if not op.shape:
        return []
    kind = "ndarray" if op.nout == 1 else "ndarray or tuple of ndarray" if callable(op.nout) else "tuple of ndarray"
    if op.np is not None and op.np.listed:
        kind = "list of ndarray"
    dtype = _DTYPES.get(op.gives, "")
    if len(op.inputs) - len(op.optional) == 1 and not op.variadic:
        dtype = dtype.replace("the inputs, promoted where they differ", "the input")
    return [kind, f"    Shape: {op.shape}.", *([f"    Dtype: {dtype}."] if dtype else [])]


def _errors(op: Op, told: str) -> list[str]:
    lines = told.splitlines()
    if op.index is not None and "BadIndexError" not in told:
        lines += ["BadIndexError", "    If an index is out of range and its value is known before the operator runs."]
    if op.matrix is not None and "MatrixError" not in told:
        lines += [
            "MatrixError",
            "    If a matrix does not fit, such as a singular one. A recorded operator returns NaN instead.",
        ]
    return lines


def _notes(op: Op, name: str, module: str, told: str) -> list[str]:
    notes = [told] if told else []
    if op.gradient:
        notes.append("No gradient flows." if op.gradient == NONE else f"Gradients: {op.gradient}.")
    if op.random:
        notes.append("The result is random; `gluonx.random.seed` makes draws repeatable.")
    if op.moving:
        names = ", ".join(f"`{n}`" for n in op.moving)
        notes.append(f"Another value of {names} at each call compiles nothing new.")
    if name in _KNOWN.get(module, ()):
        notes.append(f"It is ``{_NUMPY[module].__name__}.{name}`` on gluonx arrays.")
    elif op.stands_for:
        notes.append(f"It is {op.stands_for}.")
    others = [other for other in (op.name, *op.aliases) if other != name and "." not in other]
    if module == "gluonx.npx" and others:
        notes.append(f"Other names: {', '.join(f'``{other}``' for other in others)}.")
    return notes


def page(
    op: Op, name: str, params: Sequence[Param], module: str = "gluonx.np", shown: Mapping[str, str] | None = None
) -> str:
    """Return the docstring of the function `name` of an operator.

    Parameters
    ----------
    op : Op
    name : str
        The function's name.
    params : sequence of Param
        Its parameters, by the operator's names, without those that have no effect.
    module : str
        The module in which users find it.
    shown : mapping of str to str, optional
        The names of parameters for callers, if they differ.
    """
    shown = shown or {}
    head, sections = _sections(op.doc)
    lines: list[str] = []

    def add(title: str, body: Sequence[str]) -> None:
        if body:
            lines.extend(["", title, "-" * len(title), *body])

    add("Parameters", _parameters(op, [p for p in params if p.name], shown))
    if "Returns" in sections:
        add("Returns", re.sub(r"\barray\b", "ndarray", sections["Returns"]).splitlines())
    else:
        add("Returns", _result(op))
    add("Raises", _errors(op, sections.get("Raises", "")))
    add("Notes", "\n\n".join(_notes(op, name, module, sections.get("Notes", ""))).splitlines())
    text = "\n".join([head, *lines])
    for own, theirs in shown.items():
        if own != theirs:
            text = text.replace(f"`{own}`", f"`{theirs}`")
    example = sections.get("Examples", "")
    if op.example is not None and not example:
        example = f">>> from gluonx import np, npx\n>>> {op.example[0]}\n{op.example[1]}"
    return f"{text}\n\nExamples\n--------\n{example}" if example else text
