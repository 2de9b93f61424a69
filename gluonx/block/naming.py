r"""Weights under the names of another library: maps of names, and reports on what they match.

A *map* says where an array of a file belongs. It is a mapping from their names to ours, or a list of rules; a rule is a
regular expression for the whole of their name and its replacement (``\1`` as in `re`). The target may also say that the
array is arranged differently: `Turned`, `Split` or `Part`. A name that no rule mentions is kept. ``weight`` and
``bias`` of a normalization are our ``gamma`` and ``beta`` without a rule.

Nothing is guessed while loading: only names decide. `match` reports what the names decide, and what the shapes would
suggest for the rest; `suggest` proposes a whole map, for a person to read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gluonx.errors import FormatError

_LEAVES = {"gamma": "weight", "beta": "bias"}
_COUNTERS = (".num_batches_tracked",)
"""Endings of the names of PyTorch's counters, which no forward reads."""


@dataclass(frozen=True)
class Turned:
    """A matrix that is stored transposed, such as those of GPT-2.

    Parameters
    ----------
    name : str
        Our name.

    Examples
    --------
    >>> from gluonx import weights
    >>> weights.Turned("0.weight")  # the file has (in, out) where the layer has (out, in)
    Turned(name='0.weight')
    """

    name: str


@dataclass(frozen=True)
class Split:
    """Several parameters that are stored in one array, end to end in equal parts, such as query, key and value.

    Parameters
    ----------
    names : sequence of str
        Our names, in their order.
    axis : int

    Examples
    --------
    >>> from gluonx import weights
    >>> weights.Split(["query.weight", "key.weight", "value.weight"])
    Split(names=['query.weight', 'key.weight', 'value.weight'], axis=0)
    """

    names: Sequence[str]
    axis: int = 0


@dataclass(frozen=True)
class Part:
    """One of several stored arrays that together are one parameter here.

    Parameters
    ----------
    name : str
        Our name.
    index, count : int
        The number of this part, from 0, and the number of parts.
    axis : int

    Examples
    --------
    >>> from gluonx import weights
    >>> {f"gate{i}.weight": weights.Part("rnn.weight", i, 4) for i in range(4)}["gate3.weight"]
    Part(name='rnn.weight', index=3, count=4, axis=0)
    """

    name: str
    index: int
    count: int
    axis: int = 0


Target = str | Turned | Split | Part
Map = Mapping[str, Target] | Iterable[tuple[str, Target]]


@dataclass
class Report:
    """The outcome of matching the names of a file with those of a block.

    Attributes
    ----------
    by_name : dict of str to target
        For each array of the file that fits a parameter, its target; a map for `gluonx.weights.load` and `save`.
    by_shape : dict of str to str
        A guess for the rest, by order and shapes. It is not loaded: check it, and add it to a map.
    mismatched : dict of str to (tuple, tuple)
        Our names whose array has another shape: the file's and the block's.
    missing, extra : list of str
        Our names that the file lacks, and their names that fit no parameter.

    Examples
    --------
    >>> import numpy
    >>> from gluonx import nn, weights
    >>> report = weights.match(nn.Dense(2, in_units=3), {"weight": numpy.ones((3, 2))})
    >>> report.mismatched, report.missing
    ({'weight': ((3, 2), (2, 3))}, ['bias'])
    """

    by_name: dict[str, Target] = field(default_factory=dict)
    by_shape: dict[str, str] = field(default_factory=dict)
    mismatched: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """True if each parameter has an array, and each array a parameter."""
        return not (self.missing or self.extra or self.mismatched)

    def __str__(self) -> str:
        lines = [f"{len(self.by_name)} arrays match by name"]
        lines += [
            f"  {name}: shape {theirs} in the file, {ours} here" for name, (theirs, ours) in self.mismatched.items()
        ]
        lines += [f"  {theirs} -> {ours}: by shape only, not loaded" for theirs, ours in self.by_shape.items()]
        shaped = set(self.by_shape.values())
        lines += [f"  {name}: nothing in the file" for name in self.missing if name not in shaped]
        lines += [f"  {name}: no place here" for name in self.extra if name not in self.by_shape]
        return "\n".join(lines)


def host(value: Any) -> np.ndarray:
    """Return an array of any library as a NumPy array; also PyTorch tensors that require gradients or are bfloat16.

    Raises
    ------
    TypeError
        If NumPy cannot read it.
    """
    if hasattr(value, "asnumpy"):
        return value.asnumpy()
    if type(value).__module__ == "torch" or hasattr(value, "detach"):
        value = value.detach().cpu()
        if str(value.dtype) == "torch.bfloat16":
            import ml_dtypes

            # Exact, since float32 has every bfloat16 value.
            return value.float().numpy().astype(ml_dtypes.bfloat16)
        return value.numpy()
    return np.asarray(value)


def _target(name: str, rules: Any, exact: bool, ours: Mapping[str, Any]) -> Target:
    if exact:
        return _ours(rules.get(name, name), ours)
    for pattern, target in rules:
        hit = re.fullmatch(pattern, name)
        if hit:
            return _ours(_expanded(target, hit), ours)
    return _ours(name, ours)


def _ours(target: Target, ours: Mapping[str, Any]) -> Target:
    """Return `target` with our last word: gamma for weight and beta for bias, if no parameter has the given name."""
    if isinstance(target, str) and target not in ours:
        stem, dot, leaf = target.rpartition(".")
        for mine, theirs in _LEAVES.items():
            if leaf == theirs and f"{stem}{dot}{mine}" in ours:
                return f"{stem}{dot}{mine}"
    return target


def _expanded(target: Target, hit: re.Match[str]) -> Target:
    if isinstance(target, str):
        return hit.expand(target)
    if isinstance(target, Turned):
        return Turned(hit.expand(target.name))
    if isinstance(target, Split):
        return Split([hit.expand(name) for name in target.names], target.axis)
    if isinstance(target, Part):
        return Part(hit.expand(target.name), target.index, target.count, target.axis)
    raise TypeError(f"a rule's target must be a name, Turned, Split or Part, got {target!r}")


def names_of(target: Target) -> Sequence[str]:
    """Return our names to which an array goes."""
    return target.names if isinstance(target, Split) else [target if isinstance(target, str) else target.name]


def targets(names: Iterable[str], ours: Mapping[str, Any], map: Map) -> dict[str, Target]:
    """Return the target of each of their names; PyTorch's counters that have no place here are left out."""
    exact = isinstance(map, Mapping)
    rules: Any = map if exact else list(map)
    found = {name: _target(name, rules, exact, ours) for name in names}
    return {
        name: to for name, to in found.items() if not name.endswith(_COUNTERS) or any(n in ours for n in names_of(to))
    }


def arranged(arrays: Mapping[str, Any], ours: Mapping[str, Any], map: Map) -> dict[str, np.ndarray]:
    """Return the arrays of a file under our names and in our arrangement.

    Parameters
    ----------
    arrays : mapping of str to array
        By their names.
    ours : mapping
        A mapping whose keys are our names.
    map
        See the module's docstring.

    Raises
    ------
    FormatError
        If two arrays go to one parameter, if a part is missing, or if an array cannot be transposed or split.
    """
    result: dict[str, np.ndarray] = {}
    origin: dict[str, str] = {}
    parts: dict[str, dict[int, tuple[Part, np.ndarray]]] = {}

    def put(name: str, source: str, value: np.ndarray) -> None:
        if name in result:
            raise FormatError(f"'{origin[name]}' and '{source}' both go to '{name}'; a map has one array for each")
        result[name], origin[name] = value, source

    for theirs, to in targets(arrays, ours, map).items():
        value = host(arrays[theirs])
        if isinstance(to, str):
            put(to, theirs, value)
        elif isinstance(to, Turned):
            put(to.name, theirs, _turned(theirs, value))
        elif isinstance(to, Split):
            for name, piece in zip(to.names, _pieces(theirs, value, to), strict=True):
                put(name, theirs, piece)
        else:
            known = parts.setdefault(to.name, {})
            if to.index in known or not 0 <= to.index < to.count:
                raise FormatError(f"'{theirs}' is part {to.index} of {to.count} of '{to.name}', which cannot be")
            known[to.index] = to, value
    for name, known in parts.items():
        put(name, f"the parts of {name}", _whole(name, known))
    return result


def _turned(theirs: str, value: np.ndarray) -> np.ndarray:
    if value.ndim != 2:
        raise FormatError(f"'{theirs}' of shape {value.shape} cannot be transposed: it is no matrix")
    return np.ascontiguousarray(value.T)


def _pieces(theirs: str, value: np.ndarray, to: Split) -> list[np.ndarray]:
    if value.ndim <= to.axis or value.shape[to.axis] % len(to.names):
        equal = f"{len(to.names)} equal parts along axis {to.axis}"
        raise FormatError(f"'{theirs}' of shape {value.shape} cannot be split into {equal}")
    return np.split(value, len(to.names), to.axis)


def _whole(name: str, known: Mapping[int, tuple[Part, np.ndarray]]) -> np.ndarray:
    first = next(iter(known.values()))[0]
    if sorted(known) != list(range(first.count)):
        raise FormatError(f"'{name}' is made of {first.count} arrays, but only parts {sorted(known)} are there")
    try:
        return np.concatenate([known[i][1] for i in range(first.count)], first.axis)
    except ValueError as error:
        raise FormatError(f"the parts of '{name}' do not fit together: {error}") from error


def returned(arrays: Mapping[str, np.ndarray], map: Mapping[str, Target]) -> dict[str, np.ndarray]:
    """Return our arrays under their names and in their arrangement; the inverse of `arranged`.

    Raises
    ------
    FormatError
        If the map names a parameter that does not exist, or leaves one out.
    """
    result: dict[str, np.ndarray] = {}
    used: set[str] = set()

    def take(name: str, theirs: str) -> np.ndarray:
        if name not in arrays:
            raise FormatError(f"the map takes '{theirs}' from '{name}', which the block does not have")
        used.add(name)
        return arrays[name]

    for theirs, to in map.items():
        if isinstance(to, str):
            result[theirs] = take(to, theirs)
        elif isinstance(to, Turned):
            result[theirs] = np.ascontiguousarray(take(to.name, theirs).T)
        elif isinstance(to, Split):
            result[theirs] = np.concatenate([take(name, theirs) for name in to.names], to.axis)
        else:
            result[theirs] = np.split(take(to.name, theirs), to.count, to.axis)[to.index]
    left = [name for name in arrays if name not in used]
    if left:
        raise FormatError(f"the map has no name for {', '.join(left[:10])}{' and more' if len(left) > 10 else ''}")
    return result


def _fits(ours: Sequence[int] | None, theirs: Sequence[int]) -> bool:
    """Return whether a shape, perhaps with open sizes (-1 or 0), is compatible with another."""
    if ours is None:
        return True
    return len(ours) == len(theirs) and all(a == b or a <= 0 for a, b in zip(ours, theirs, strict=True))


def match(
    params: Mapping[str, Any],
    arrays: Mapping[str, Any],
    map: Map = (),
    made: Mapping[str, np.ndarray] | None = None,
) -> Report:
    """Return a `Report` on what a map makes of the arrays of a file; `made` is the result of `arranged`, if known."""
    to = targets(arrays, params, map)
    made = arranged(arrays, params, map) if made is None else made
    report = Report()
    known = {id(params[name]) for name in made if name in params}  # a parameter may have two names
    report.missing = [name for name, param in params.items() if id(param) not in known]
    for theirs, target in to.items():
        names = names_of(target)
        if not any(name in params for name in names):
            report.extra.append(theirs)
            continue
        wrong = [n for n in names if n in params and not _fits(params[n].shape, made[n].shape)]
        for name in wrong:
            report.mismatched[name] = (made[name].shape, tuple(params[name].shape))
        if not wrong:
            report.by_name[theirs] = target
    shapes = {name: np.shape(arrays[name]) for name in report.extra}
    report.by_shape = aligned({name: params[name].shape for name in report.missing}, shapes)
    return report


def suggest(params: Mapping[str, Any], arrays: Mapping[str, Any]) -> dict[str, Target]:
    """Return a map that assigns each array of a file by its name, or else by its order and shape.

    Where layers are counted in another way, equal names mean different layers: then the order decides for all arrays.
    """
    report = match(params, arrays)
    found = {**report.by_name, **report.by_shape}
    renumbered = any(_uncounted(theirs) == _uncounted(ours) for theirs, ours in report.by_shape.items())
    if renumbered or report.mismatched:
        shapes = {name: param.shape for name, param in params.items()}
        by_order = aligned(shapes, {name: np.shape(value) for name, value in arrays.items()})
        if len(by_order) + renumbered > len(found):
            return dict(by_order)
    return found


def _uncounted(name: str) -> list[str]:
    """Return the words of a layer's name, with one sign for every number."""
    return ["#" if word.isdigit() else word for word in name.split(".")[:-1]]


def _kind(name: str) -> str:
    leaf = name.rpartition(".")[2]
    return _LEAVES.get(leaf, leaf)


def aligned(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, str]:
    """Return which of their names corresponds to which of ours, pairing as many as possible without changing the order.

    Pairs have the same last word (gamma is weight, beta is bias) and compatible shapes; of equally long alignments the
    one whose names have more words in common is chosen.
    """
    a, b = list(theirs), list(ours)
    words = {name: set(name.split(".")) for name in (*a, *b)}
    best = np.zeros((len(a) + 1, len(b) + 1))
    value = np.zeros((len(a), len(b)))
    for i in range(len(a) - 1, -1, -1):
        for j in range(len(b) - 1, -1, -1):
            if _kind(a[i]) == _kind(b[j]) and _fits(ours[b[j]], theirs[a[i]]):
                shared = len(words[a[i]] & words[b[j]]) / len(words[a[i]] | words[b[j]])
                value[i, j] = 1 + shared / (1 + len(a) + len(b))
            best[i, j] = max(best[i + 1, j], best[i, j + 1], value[i, j] and best[i + 1, j + 1] + value[i, j])
    pairs, i, j = {}, 0, 0
    while i < len(a) and j < len(b):
        if value[i, j] and best[i, j] == best[i + 1, j + 1] + value[i, j]:
            pairs[a[i]], i, j = b[j], i + 1, j + 1
        elif best[i, j] == best[i + 1, j]:
            i += 1
        else:
            j += 1
    return pairs
