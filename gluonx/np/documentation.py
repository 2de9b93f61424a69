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
    "x1": "The first operand; both are broadcast to one shape.",
    "x2": "The second operand.",
    "arrays": "The inputs.",
    "axis": "The axis to work along; negative ones count from the last. None, where it may be: the flattened array.",
    "axes": "The axes to work along.",
    "keepdims": "Whether axes that are worked over stay, with length 1.",
    "dtype": "The dtype of the result; None: by the inputs' dtypes.",
    "size": "The shape of the result; None: that of the parameters.",
    "where": "Which elements count.",
    "initial": "Where to start from; also the result over no elements.",
    "weight": "The weight; for a loss a number that it is multiplied by.",
    "bias": "What is added.",
    "label": "The true values or classes.",
    "pred": "The prediction.",
    "sample_weight": "A factor for each sample, broadcast to the losses.",
    "batch_axis": "The axis of the samples.",
    "data": "The input.",
    "lr": "The learning rate.",
    "wd": "The weight decay, a multiple of the weight that is added to the gradient.",
    "grad": "The gradient of the weight.",
    "rescale_grad": "What the gradient is multiplied by first.",
    "clip_gradient": "The largest magnitude of an element of the gradient; None or negative: any.",
    "beta1": "How much of the first moment is kept.",
    "beta2": "How much of the second moment is kept.",
    "epsilon": "A small number against division by zero.",
    "eps": "A small number against division by zero.",
    "mean": "The mean; in an update the first moment, a state.",
    "var": "The variance; in an update the second moment, a state.",
    "mom": "The momentum, a state.",
    "momentum": "How much of the momentum is kept.",
    "state": "The running totals, ``(2, k)``: sums, and what rounding took from them.",
    "ignore_label": "Positions with this label are left out.",
    "indices": "Whole numbers, of any dtype.",
    "index": "Whole numbers, of any dtype.",
    "precision": "The precision of products, as `jax.lax.Precision`.",
    "preferred_element_type": "The dtype to accumulate in, and of the result.",
    "order": "The order in which elements are read: 'C', or 'F' with the first axis changing fastest.",
    "kernel": "The lengths of the window.",
    "stride": "How far the window moves along each axis; 1 by default.",
    "dilate": "The distance of the window's elements along each axis; 1 by default.",
    "pad": "How many positions of zeros there are on both sides of each axis; none by default.",
    "layout": "The order of the axes, such as 'NCHW'.",
    "num_filter": "The number of output channels.",
    "num_group": "The number of groups of channels that are worked on apart.",
    "no_bias": "Whether there is no bias.",
    "temperature": "What the inputs are divided by first.",
    "mask": "Where elements count.",
    "length": "The number of valid elements along the axis, of each vector.",
    "sequence_length": "The number of valid steps of each sample.",
    "use_sequence_length": "Whether to heed `sequence_length`; without, all steps are valid.",
    "heads": "The number of heads.",
    "ddof": "What is taken from the number of elements before dividing by it.",
    "correction": "What is taken from the number of elements before dividing by it.",
    "gamma": "What the normalized values are multiplied by.",
    "beta": "What is added to the normalized values.",
    "min_data": "The real number that the least quantized value of the data stands for.",
    "max_data": "The real number that the largest quantized value of the data stands for.",
    "min_weight": "The real number that the least quantized value of the weight stands for.",
    "max_weight": "The real number that the largest quantized value of the weight stands for.",
    "descending": "Whether the largest comes first.",
    "stable": "Whether equal elements keep their order.",
    "k": "Which diagonal: 0 the main one, positive above it. For `topk` the number of elements.",
    "training": "Whether in training mode; None: as `autograd` says.",
    "condition": "Where to take from the first.",
    "y": "The other input.",
    "scale": "The scale.",
    "loc": "The location, or mean.",
    "p": "A probability.",
    "shape": "The shape.",
    "decimals": "The number of decimals.",
    "q": "Which share of the elements is to be below, one or several.",
    "bins": "The edges, or how many bins of equal width.",
    "weights": "How much each element counts.",
    "indices_or_sections": "The number of equal parts, or the positions to cut at.",
    "v": "The second vector, or the values.",
    "n": "How often, or how many.",
    "norm": "How transforms are scaled: 'backward', 'ortho' or 'forward'.",
    "s": "The lengths of the transformed axes; longer ones are filled up with zeros.",
    "m": "The input.",
    "ary": "The input.",
    "offset": "Which diagonal: 0 the main one, positive above it.",
    "axis1": "The first of two axes.",
    "axis2": "The second of two axes.",
    "interpolation": "Between two elements: 'linear', 'lower', 'higher', 'midpoint' or 'nearest'.",
    "method": "How it is computed.",
    "rtol": "The relative tolerance.",
    "atol": "The absolute tolerance.",
    "equal_nan": "Whether NaN equals NaN.",
    "values": "What is put in or behind.",
    "ord": "The order of the norm.",
    "upper": "Whether the upper triangle is meant.",
    "UPLO": "'L' or 'U', the triangle that is read.",
    "block_size": "How many positions of each axis go into channels, or come out of them.",
    "begin": "Where to begin along each axis; None: at its first position.",
    "end": "Where to end along each axis, not included; None: behind its last place.",
    "margin": "How far apart is far enough.",
    "grad_scale": "What the gradient is multiplied by.",
    "from_logits": "Whether the prediction is a logarithm already.",
    "threshold": "From which value on a prediction counts as true.",
    "min_calib_range": "The least real value that the result is to hold.",
    "max_calib_range": "The largest real value that the result is to hold.",
    "t": "The number of this update, from 1 on.",
    "prepend": "What is put in front first.",
    "kth": "The position of the element that is to be right.",
    "side": "'left' or 'right' of equal elements.",
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


def _parameter(param: Param, name: str, told: tuple[str, str] | None) -> list[str]:
    """Return the lines of one parameter, called `name`."""
    array = param.role in _ARRAYS
    star = "*" if param.role == "star" else ""
    told = (re.sub(r"\barrays?\b", "ndarray", told[0]), told[1]) if told and array else told
    if told is not None and told[1]:
        kind, text = told
    else:
        kind = "sequence of ndarray" if param.role == "sequence" else "ndarray or number" if array else ""
        said = told[0] if told else kind
        kind = said if "optional" in said else ", ".join(filter(None, [said, _default(param)]))
        text = f"    {WORDS[param.name]}" if param.name in WORDS else ""
    return [f"{star}{name} : {kind}" if kind else f"{star}{name}", *text.splitlines()]


_UFUNC = {"where": "True", "casting": "'same_kind'", "order": "'K'", "dtype": "None", "subok": "True"}
"""NumPy's keywords of elementwise functions, and the one value of each that is taken."""


def _parameters(op: Op, params: Sequence[Param], shown: Mapping[str, str]) -> list[str]:
    told = _entries(_sections(op.doc)[1].get("Parameters", ""))
    lines: list[str] = []
    own = {*op.inputs, *op.attr_names}
    for param in params:
        if param.name == "out" or (op.ufunc and param.name in _UFUNC and param.name not in own):
            continue
        lines += _parameter(param, shown.get(param.name, param.name), told.get(param.name))
    lines += ["out : ndarray, optional", "    Where to write the result."]
    if op.ufunc and len(params) > len(own) + 1:
        values = ", ".join(f"{name}={value}" for name, value in _UFUNC.items())
        lines += [", ".join(_UFUNC), f"    NumPy's keywords, which only say what is done anyway: {values}."]
    return lines


_DTYPES = {
    "input": "the dtype of the inputs, promoted where they differ",
    "float": "the dtype of the inputs, promoted where they differ; float32 for integers",
    "bool": "bool",
    "int64": "int64",
}
"""What a record's `gives` means."""


def _result(op: Op) -> list[str]:
    """Return the lines of the section Returns that the record tells; none if it tells nothing."""
    if not op.shape:
        return []
    kind = "ndarray" if op.nout == 1 else "ndarray or tuple of ndarray" if callable(op.nout) else "tuple of ndarray"
    if op.np is not None and op.np.listed:
        kind = "list of ndarray"
    return [kind, f"    Shape: {op.shape}.", *([f"    Dtype: {_DTYPES[op.gives]}."] if op.gives else [])]


def _errors(op: Op, told: str) -> list[str]:
    lines = told.splitlines()
    if op.index is not None and "BadIndexError" not in told:
        lines += ["BadIndexError", "    If an index that is known before it runs is out of range."]
    if op.matrix is not None and "MatrixError" not in told:
        lines += [
            "MatrixError",
            "    If it runs by itself and a matrix is none that it can take, such as a singular one.",
        ]
    return lines


def _notes(op: Op, name: str, module: str, told: str) -> list[str]:
    notes = [told] if told else []
    if op.gradient:
        notes.append("No gradient flows." if op.gradient == NONE else f"Gradients: {op.gradient}.")
    if op.random:
        notes.append("It draws random numbers: `gluonx.random.seed` sets where they begin.")
    if op.moving:
        names = ", ".join(f"`{n}`" for n in op.moving)
        notes.append(f"A loop may change {names} without a new program.")
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
