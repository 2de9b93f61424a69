"""StableHLO artifacts: a function with its parameters as a folder that any process with jax can run.

The folder holds

- ``model.json``: what goes in and out (names, shapes with symbolic dimensions and their bounds, dtypes, nesting), the
  parameters in the order in which the program takes them, the platforms, the versions that made it, and a checksum of
  every file;
- ``params.safetensors``: the parameters, which are arguments of the program and not baked into it;
- ``model.stablehlo``: the bare StableHLO module (portable bytecode), for other compilers and for later days;
- ``model.jaxexport``: the same with jax's signature around it (and its gradient, where asked for);
- ``serve.py``: a loader of one page that needs jax and numpy but not gluonx;
- with ``buckets=[1, 8]``, ``bucket-1.stablehlo`` and so on: the program for a batch of just that size, for compilers
  that want fixed sizes, and ``bucket-1.jaxexport``, in which operations have the form that is fastest on a CPU.

Two operations: :func:`save_artifact` and :func:`load_artifact`. The invariant: a folder is complete and of one piece.
It is written atomically, and a file that changed afterwards is found by its checksum before anything runs. Built on
https://docs.jax.dev/en/latest/export/export.html.

jax promises to read ``model.jaxexport`` for six months and StableHLO for years, so the loaders fall back to the latter
under a fresh signature when jax refuses the former. A program is a program: load artifacts from those you trust.
"""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import importlib.metadata
import json
import os
import platform
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from jax.extend.mlir import ir, passmanager
from jax.extend.mlir.dialects import chlo, stablehlo

from gluonx.common.host import copied, to_jax
from gluonx.dtype import WIDE, as_array, keeping_64_bits, operand_dtype, without_64_bits
from gluonx.errors import FormatError, ShapeError
from gluonx.export import serve
from gluonx.files import atomic_directory, checksum_of, load_arrays, save_arrays
from gluonx.ops.cpu.convolution import native_operations

__all__ = ["Artifact", "InputSpec", "Signature", "check_inputs", "load_artifact", "save_artifact"]

FORMAT = "gluonx-artifact"
FORMAT_VERSION = 1
MODEL, PARAMS, STABLEHLO, JAXEXPORT, SERVE = (
    "model.json",
    "params.safetensors",
    "model.stablehlo",
    "model.jaxexport",
    "serve.py",
)
_NEEDED = (PARAMS, STABLEHLO, JAXEXPORT)
_BUCKET = re.compile(r"bucket-\d+\.(stablehlo|jaxexport)")
_BOUND = re.compile(r"\s*([A-Za-z_]\w*)\s*(>=|<=)\s*(\d+)\s*")
_MULTIPLE = re.compile(r"(?:(\d+)\s*\*\s*)?([A-Za-z_]\w*)(?:\s*\*\s*(\d+))?")


@dataclasses.dataclass(frozen=True)
class InputSpec:
    """One array of a signature.

    Parameters
    ----------
    name : str
        What messages call it.
    shape : sequence of int or str
        A string is a symbolic dimension: a name such as ``"b"``, which stands for any size from 1 on and for the same
        size wherever it occurs, or an expression of names such as ``"8*h"`` (a multiple of 8).
    dtype : dtype-like
        Kept as its canonical name.

    Examples
    --------
    >>> InputSpec("images", ("b", 1, 8, 8), "float32")
    InputSpec('images', float32[b, 1, 8, 8])
    """

    name: str
    shape: tuple[int | str, ...]
    dtype: str

    def __post_init__(self) -> None:
        """Bring shape and dtype into the form that model.json keeps."""
        shape = tuple(self.shape) if isinstance(self.shape, Sequence) and not isinstance(self.shape, str) else None
        if shape is None or any(isinstance(d, bool) or not isinstance(d, int | str | np.integer) for d in shape):
            raise ShapeError(f"the shape of input {self.name!r} must be integers and strings, got {self.shape!r}")
        if any(not d.strip() if isinstance(d, str) else d < 0 for d in shape):
            raise ShapeError(f"the shape of input {self.name!r} has an empty or negative dimension: {self.shape!r}")
        fixed = tuple(d.strip() if isinstance(d, str) else int(d) for d in shape)
        object.__setattr__(self, "shape", fixed)
        object.__setattr__(self, "dtype", jnp.dtype(self.dtype).name)

    def __repr__(self) -> str:
        return f"InputSpec({self.name!r}, {self})"

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


@dataclasses.dataclass(frozen=True)
class Signature:
    """The inputs and outputs of an artifact.

    Attributes
    ----------
    inputs, outputs : tuple of InputSpec
        In order, nesting flattened away.
    dimensions : dict of str to (int, int or None)
        The smallest and the largest size of each symbolic dimension.
    constraints : tuple of str
        As given to :func:`save_artifact`.

    Examples
    --------
    >>> spec = InputSpec("x", ("b", 2), "float32")
    >>> print(Signature((spec,), (spec,), {"b": (1, None)}))
    (x: float32[b, 2]) -> (float32[b, 2])
    """

    inputs: tuple[InputSpec, ...]
    outputs: tuple[InputSpec, ...]
    dimensions: dict[str, tuple[int, int | None]]
    constraints: tuple[str, ...] = ()

    def unbound(self, name: str) -> Signature:
        """Return the same with a dimension of any size."""
        return dataclasses.replace(self, dimensions={**self.dimensions, name: (0, None)})

    def __str__(self) -> str:
        taken = ", ".join(f"{spec.name}: {spec}" for spec in self.inputs)
        return f"({taken}) -> ({', '.join(map(str, self.outputs))})"


# ------------------------------------------------------------------------------------------------------------- saving


def _describe(value: Any, leaves: list[Any], is_leaf: Callable[[Any], bool]) -> Any:
    """Return the nesting of a value as JSON, its leaves appended to `leaves` and replaced by their numbers."""
    if value is None:
        return None
    if is_leaf(value) or not isinstance(value, dict | list | tuple):
        leaves.append(value)
        return len(leaves) - 1
    if isinstance(value, dict):
        if not all(isinstance(name, str) for name in value):
            raise TypeError(f"a dict of arrays must have strings for keys to be exported, got {list(value)!r}")
        return {"dict": {name: _describe(value[name], leaves, is_leaf) for name in sorted(value)}}
    kind = "list" if isinstance(value, list) else "tuple"
    return {kind: [_describe(part, leaves, is_leaf) for part in value]}


def _canonical(value: Any) -> Any:
    """Get an array as it is.

    Float64 of NumPy, which it gives without being asked, as float32 (with JAX's switch off).
    """
    if isinstance(value, jax.Array):
        return value
    if jax.config.jax_enable_x64:  # type: ignore[attr-defined]
        return np.asarray(value)
    array = np.asarray(value)
    return array.astype(operand_dtype(array), copy=False)


def _array_types(params: Mapping[str, Any]) -> dict[str, jax.ShapeDtypeStruct]:
    bad = [name for name in params if not isinstance(name, str) or not name]
    if bad:
        raise TypeError(f"parameters must be named by non-empty strings, got {bad[0]!r}")
    # Sorted, because jax flattens a dict in that order: the order of the program's arguments.
    return {name: jax.ShapeDtypeStruct(params[name].shape, params[name].dtype) for name in sorted(params)}


def _symbolic(spec: InputSpec, scope: export.SymbolicScope) -> jax.ShapeDtypeStruct:
    if not spec.shape:
        return jax.ShapeDtypeStruct((), spec.dtype)
    try:
        shape = export.symbolic_shape(", ".join(map(str, spec.shape)), scope=scope)
    except Exception as error:  # jax raises whatever its parser meets
        raise ShapeError(
            f"input {spec.name!r}: {spec.shape!r} is not a shape that jax understands ({error})"
        ) from error
    return jax.ShapeDtypeStruct(tuple(shape), spec.dtype)


def _default_platforms() -> tuple[str, ...]:
    """Return the platform that the artifact is made on, and the CPU, which every machine has."""
    return tuple(dict.fromkeys((export.default_export_platform(), "cpu")))


def _export(
    fn: Callable[..., Any],
    params: Mapping[str, Any],
    inputs: Sequence[Any],
    platforms: Sequence[str],
    constraints: Sequence[str],
) -> tuple[export.Exported, list[InputSpec], dict[str, Any]]:
    """Trace and lower `fn` with the parameters as its first argument and the inputs flattened after it."""
    specs: list[InputSpec] = []
    input_tree = _describe(tuple(inputs), specs, lambda value: isinstance(value, InputSpec))
    stray = [spec for spec in specs if not isinstance(spec, InputSpec)]
    if stray:
        raise TypeError(f"inputs must be InputSpec, or tuples, lists and dicts of them, got {stray[0]!r}")
    output_trees: list[Any] = []

    def model(params: dict[str, jax.Array], *leaves: jax.Array) -> tuple[jax.Array, ...]:
        outputs: list[Any] = []
        nested: Any = serve.tree(input_tree, leaves)
        result = fn(params, *nested)
        output_trees.append(_describe(result, outputs, lambda value: False))
        return tuple(as_array(o) if hasattr(o, "dtype") else jnp.asarray(o) for o in outputs)

    scope = export.SymbolicScope(tuple(constraints))
    types = [_symbolic(spec, scope) for spec in specs]
    # keep_unused: the module takes every parameter and input, so its signature is the one in model.json.
    jitted = jax.jit(model, keep_unused=True)
    try:
        with keeping_64_bits(any(t.dtype in WIDE for t in (*params.values(), *types))):
            exported = export.export(jitted, platforms=tuple(platforms))(_array_types(params), *types)
    except Exception as error:
        taken = ", ".join(f"{spec.name}: {spec}" for spec in specs)
        error.add_note(f"while exporting a function of ({taken}) for {', '.join(platforms)}")
        if any(isinstance(d, str) for spec in specs for d in spec.shape):
            error.add_note(
                "a symbolic dimension stands for every size at once: the function cannot branch on it, and where it "
                "divides it, declare a multiple such as '2*h'; a fixed size always works"
            )
        raise
    return exported, specs, {"input_tree": input_tree, "output_tree": output_trees[-1]}


class _Bare(export.Exported):
    """An exported function without source locations; so is its gradient."""

    def vjp(self) -> export.Exported:
        return _bare(super().vjp())


def _bare(exported: export.Exported) -> export.Exported:
    """Take the source locations out of a program: they hold the paths of the machine that made it."""
    fields = {field.name: getattr(exported, field.name) for field in dataclasses.fields(exported)}
    module = exported.mlir_module_serialized
    version = re.search(rb"StableHLO_v([\d.]+)", module)
    assert version is not None, "a portable artifact begins with its version"
    with ir.Context() as context:
        context.allow_unregistered_dialects = True
        for dialect in (stablehlo, chlo):
            dialect.register_dialect(context)
        program = stablehlo.deserialize_portable_artifact(context, module)
        passmanager.PassManager.parse("builtin.module(strip-debuginfo)").run(program.operation)
        fields["mlir_module_serialized"] = stablehlo.serialize_portable_artifact(program, version[1].decode())
    return _Bare(**fields)


def _dimensions(inputs: Sequence[Mapping[str, Any]], constraints: Sequence[str]) -> dict[str, dict[str, int | None]]:
    """Return the bounds of every symbolic dimension, as far as single constraints give them."""
    symbolic = " ".join(d for entry in inputs for d in entry["shape"] if isinstance(d, str))
    names = set(re.findall(r"[A-Za-z_]\w*", symbolic)) - {"floordiv", "mod", "max", "min"}
    bounds: dict[str, dict[str, int | None]] = {name: {"min": 1, "max": None} for name in sorted(names)}
    for match in filter(None, map(_BOUND.fullmatch, constraints)):
        name, relation, limit = match[1], match[2], int(match[3])
        if name in bounds and relation == ">=":
            bounds[name]["min"] = max(limit, bounds[name]["min"] or 1)
        elif name in bounds:
            bounds[name]["max"] = min(limit, bounds[name]["max"] or limit)
    return bounds


def _texts(metadata: Mapping[str, str] | None) -> dict[str, str]:
    texts = dict(metadata or {})
    if not all(isinstance(text, str) for pair in texts.items() for text in pair):
        raise TypeError(f"metadata must map strings to strings, got {texts!r}")
    return texts


def _versions() -> dict[str, str]:
    def installed(name: str) -> str:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:  # run from a source tree
            return "unknown"

    return {name: installed(name) for name in ("gluonx", "jax", "jaxlib")} | {"python": platform.python_version()}


def _entry(name: str, shape: Sequence[Any], dtype: Any) -> dict[str, Any]:
    sizes = [int(d) if isinstance(d, int | np.integer) else str(d) for d in shape]
    return {"name": name, "shape": sizes, "dtype": jnp.dtype(dtype).name}


def _description(
    exported: export.Exported, specs: Sequence[InputSpec], trees: Mapping[str, Any], arrays: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the part of model.json about the program itself."""
    entries = {
        "inputs": [_entry(spec.name, spec.shape, spec.dtype) for spec in specs],
        "outputs": [_entry(f"output{i}", aval.shape, aval.dtype) for i, aval in enumerate(exported.out_avals)],
        "parameters": [_entry(name, arrays[name].shape, arrays[name].dtype) for name in sorted(arrays)],
    }
    dtypes = {entry["dtype"] for kind in entries.values() for entry in kind}
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "versions": _versions(),
        "platforms": list(exported.platforms),
        "calling_convention_version": exported.calling_convention_version,
        "x64": bool(dtypes & {"int64", "uint64", "float64", "complex128"}),
        **entries,
        **trees,
    }


def _write(
    target: Path,
    arrays: Mapping[str, Any],
    exported: export.Exported,
    model: dict[str, Any],
    programs: Mapping[str, bytes],
) -> None:
    """Write the folder; `programs` are further files."""
    model["dimensions"] = _dimensions(model["inputs"], model["constraints"])
    with atomic_directory(target) as folder:
        save_arrays(folder / PARAMS, arrays)
        (folder / STABLEHLO).write_bytes(exported.mlir_module_serialized)
        (folder / JAXEXPORT).write_bytes(exported.serialize(vjp_order=model["vjp_order"]))
        (folder / SERVE).write_bytes(Path(serve.__file__).read_bytes())
        for name, content in programs.items():
            (folder / name).write_bytes(content)
        model["files"] = {name: _file_entry(folder / name) for name in (*_NEEDED, SERVE, *programs)}
        model["checksum"] = checksum_of(model)
        (folder / MODEL).write_text(json.dumps(model, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _file_entry(path: Path) -> dict[str, Any]:
    with open(path, "rb") as file:
        return {"sha256": hashlib.file_digest(file, "sha256").hexdigest(), "bytes": path.stat().st_size}


def _check_replaceable(path: Path) -> None:
    """Make sure that an export replaces an older export, never a folder with somebody's other files in it."""
    if not path.is_dir():
        return
    names = {entry.name for entry in path.iterdir() if not _BUCKET.fullmatch(entry.name)}
    strangers = sorted(names - {MODEL, *_NEEDED, SERVE, "__pycache__"})
    ours = (path / MODEL).is_file() or not any(path.iterdir())
    if strangers or not ours:
        what = f"holds {strangers[0]!r}, which is no part of an artifact" if strangers else "is not an artifact"
        raise FileExistsError(f"cannot export to '{path}': the folder {what} and would be replaced; choose a new one")


def save_artifact(
    path: str | os.PathLike[str],
    fn: Callable[..., Any],
    params: Mapping[str, Any],
    inputs: Sequence[Any],
    *,
    platforms: Sequence[str] | None = None,
    vjp_order: int = 0,
    constraints: Sequence[str] = (),
    metadata: Mapping[str, str] | None = None,
    state: Sequence[str] = (),
    debug_info: bool = False,
    buckets: Sequence[int] = (),
) -> Path:
    """Export a JAX function with its parameters into a folder.

    Parameters
    ----------
    path : str or os.PathLike
        The folder to create. An older artifact there is replaced in one piece; any other folder with files is refused.
    fn : callable
        Pure ``fn(params, *inputs)`` with `params` a dict of JAX arrays; gives arrays, nested in any way.
    params : mapping of str to array
        JAX or NumPy arrays. They stay arguments of the program.
    inputs : sequence of InputSpec
        Or of tuples, lists and dicts of InputSpec, for nested inputs.
    platforms : sequence of {"cpu", "cuda", "rocm", "tpu"}, optional
        What to lower for (this machine's platform and the CPU). More than one make ``model.stablehlo`` take the
        platform's number as its first argument.
    vjp_order : int
        How often the loaded function can be differentiated; each time makes the file two to three times bigger.
    constraints : sequence of str
        On symbolic dimensions, such as ``"b <= 64"`` or ``"h >= 2*w"``.
    metadata, state : mapping of str to str, sequence of str
        Kept in ``model.json``: texts, and the names of parameters that are not to be trained (running averages).
    debug_info : bool
        Keep the source locations of the program, absolute paths of this machine, and the time. Without, the same
        function and parameters give the same bytes.
    buckets : sequence of int
        Batch sizes that get a program of their own beside the open one. They share the parameters. The batch is the
        first dimension of every input, a symbolic one.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    ShapeError
        If the shape of an input is not one, or there are buckets and no symbolic batch, or sizes outside its bounds.
    FileExistsError
        If `path` is a folder that holds anything but an artifact.

    Examples
    --------
    >>> import tempfile, numpy
    >>> spec = InputSpec("x", ("b", 2), "float32")
    >>> folder = save_artifact(tempfile.mkdtemp() + "/n", lambda p, x: x * p["w"], {"w": numpy.float32([2, 3])}, [spec])
    >>> load_artifact(folder)(numpy.ones((1, 2), "float32")).tolist()
    [[2.0, 3.0]]
    """
    _check_replaceable(Path(path))
    arrays = {name: _canonical(value) for name, value in params.items()}
    targets = tuple(platforms or _default_platforms())
    with native_operations():  # whoever compiles it knows the operations, not our ways around one compiler's loops
        exported, specs, trees = _export(fn, arrays, inputs, targets, constraints)
    if not debug_info:
        exported = _bare(exported)
    programs: dict[str, bytes] = {}
    for size in _checked_buckets(specs, constraints, buckets):
        fixed = jax.tree.map(lambda spec, n=size: _of_batch(spec, n), list(inputs), is_leaf=_is_spec)
        left = [c for c in constraints if specs[0].shape[0] not in re.findall(r"[A-Za-z_]\w*", c)]
        with native_operations():
            plain = _export(fn, arrays, fixed, targets, left)[0]
        fast = _export(fn, arrays, fixed, targets, left)[0]
        if not debug_info:
            plain, fast = _bare(plain), _bare(fast)
        programs[f"bucket-{size}.stablehlo"] = plain.mlir_module_serialized
        programs[f"bucket-{size}.jaxexport"] = bytes(fast.serialize())
    options: dict[str, Any] = {"created": datetime.datetime.now(datetime.UTC).isoformat()} if debug_info else {}
    options |= {"vjp_order": vjp_order, "constraints": list(constraints), "state": sorted(state)}
    options["metadata"] = _texts(metadata)
    if programs:
        options["buckets"] = sorted({int(size) for size in buckets})
    _write(Path(path), arrays, exported, _description(exported, specs, trees, arrays) | options, programs)
    return Path(path)


def _is_spec(value: Any) -> bool:
    return isinstance(value, InputSpec)


def _of_batch(spec: InputSpec, size: int) -> InputSpec:
    return InputSpec(spec.name, (size, *spec.shape[1:]), spec.dtype)


def _checked_buckets(specs: Sequence[InputSpec], constraints: Sequence[str], buckets: Sequence[int]) -> list[int]:
    """Return the sizes in order, once each."""
    if not buckets:
        return []
    firsts = {(*spec.shape, None)[0] for spec in specs}
    name = firsts.pop() if len(firsts) == 1 else None
    if not isinstance(name, str) or not name.isidentifier():
        taken = ", ".join(f"{spec.name}: {spec}" for spec in specs)
        raise ShapeError(f"buckets are sizes of a symbolic batch, the first dimension of every input; got ({taken})")
    entries = [_entry(spec.name, spec.shape, spec.dtype) for spec in specs]
    bound = _dimensions(entries, constraints)[name]
    low, high = bound["min"] or 1, bound["max"]
    bad = [b for b in buckets if isinstance(b, bool) or int(b) != b or b < low or (high is not None and b > high)]
    if bad:
        limits = f"{low} to {'any size' if high is None else high}"
        raise ShapeError(f"buckets must be sizes from {limits}, the bounds of '{name}'; got {list(buckets)}")
    return sorted({int(b) for b in buckets})


# ------------------------------------------------------------------------------------------------------------ loading


def _read_model(folder: Path) -> dict[str, Any]:
    path = folder / MODEL
    if folder.suffix.lower() == ".onnx" and not folder.is_dir():
        raise FormatError(f"'{folder}' is an ONNX model, not an artifact; gluonx.onnx.import_model(file) reads it")
    try:
        model = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FormatError(f"'{folder}' is not an artifact: it has no {MODEL}") from None
    except (ValueError, RecursionError) as error:
        raise FormatError(f"'{path}' is damaged: {error}") from error
    if not isinstance(model, dict) or model.get("format") != FORMAT:
        raise FormatError(f"'{path}' does not describe a gluonx artifact")
    if model.get("format_version") != FORMAT_VERSION:
        version = model.get("format_version")
        raise FormatError(f"'{path}' has format version {version!r}, this gluonx reads {FORMAT_VERSION}")
    if model.get("checksum") != checksum_of(model):
        raise FormatError(f"'{path}' was changed after the export: its checksum differs")
    return model


def _verify(folder: Path, model: Mapping[str, Any]) -> None:
    for name in (*_NEEDED, *filter(_BUCKET.fullmatch, model["files"])):
        try:
            found, wanted = _file_entry(folder / name), model["files"][name]
        except FileNotFoundError:
            raise FormatError(f"the artifact '{folder}' is incomplete: {name} is missing") from None
        if found["bytes"] != wanted["bytes"]:
            raise FormatError(f"'{folder / name}' has {found['bytes']} bytes, not the {wanted['bytes']} of the export")
        if found["sha256"] != wanted["sha256"]:
            raise FormatError(f"'{folder / name}' is not the file that was exported: its checksum differs")


def _signature(model: Mapping[str, Any]) -> Signature:
    def specs(kind: str) -> tuple[InputSpec, ...]:
        return tuple(InputSpec(entry["name"], entry["shape"], entry["dtype"]) for entry in model[kind])

    dimensions = {name: (bound["min"], bound["max"]) for name, bound in model["dimensions"].items()}
    return Signature(specs("inputs"), specs("outputs"), dimensions, tuple(model["constraints"]))


class Artifact:
    """An exported model in memory: call it on inputs; made by :func:`load_artifact`.

    Attributes
    ----------
    path : pathlib.Path
        Where it came from.
    model : dict
        The contents of ``model.json``.
    signature : Signature
        What it takes and gives.
    params : dict of str to jax.Array
        On the default device.
    exported : jax.export.Exported
        The program itself; its ``call(params, *flat_inputs)`` gives the flat outputs.

    Examples
    --------
    >>> import tempfile, numpy
    >>> spec = InputSpec("x", ("b", 2), "float32")
    >>> folder = save_artifact(tempfile.mkdtemp() + "/n", lambda p, x: x * p["w"], {"w": numpy.float32([2, 3])}, [spec])
    >>> artifact = load_artifact(folder)
    >>> isinstance(artifact, Artifact), str(artifact.signature)
    (True, '(x: float32[b, 2]) -> (float32[b, 2])')
    """

    def __init__(
        self,
        path: Path,
        model: dict[str, Any],
        params: dict[str, jax.Array],
        exported: Any,
        buckets: Mapping[int, bytes] | None = None,
    ) -> None:
        self.path, self.model, self.params, self.exported = path, model, params, exported
        self.signature = _signature(model)
        self._serialized, self._programs = dict(buckets or {}), {}
        self._structure = jax.tree.structure(serve.tree(model["input_tree"], range(len(self.signature.inputs))))
        # As constants of the program the weights are prepared once, at compile time; as arguments, at each call.
        self._run = jax.jit(lambda *leaves: exported.call(self.params, *leaves))

    def __call__(self, *inputs: Any) -> Any:
        """Run the model.

        Parameters
        ----------
        *inputs : array-like
            As exported; NumPy arrays, JAX arrays, or what ``numpy.asarray`` takes.

        Returns
        -------
        jax.Array, or tuples, lists and dicts of them
            As the exported function gave.

        Raises
        ------
        ShapeError
            If number, nesting, dtype, rank or sizes do not fit; the message names the input and the dimension.
        """
        with keeping_64_bits(self.model["x64"]):
            return serve.tree(self.model["output_tree"], self._run(*self._checked(inputs)))

    def apply(self, params: Mapping[str, Any], *inputs: Any) -> Any:
        """Run the model with other parameters of the same shapes; differentiable where exported with `vjp_order`."""
        with keeping_64_bits(self.model["x64"]):
            return serve.tree(self.model["output_tree"], self.exported.call(dict(params), *self._checked(inputs)))

    def run(self, arrays: Sequence[Any]) -> list[np.ndarray]:
        """Run the model on arrays that fit the signature, which is not checked, and without their nesting."""
        with keeping_64_bits(self.model["x64"]):
            return [np.asarray(out) for out in self._run(*arrays)]

    def program(self, size: int) -> Any:
        """Give the program for a batch of a size: that of its bucket, where it was exported with one, or the open one.

        Parameters
        ----------
        size : int

        Returns
        -------
        jax.export.Exported
        """
        if size in self._serialized and size not in self._programs:
            try:
                self._programs[size] = export.deserialize(bytearray(self._serialized[size]))
            except Exception:  # of a jax that no longer reads it; it reads the open one, by its bare module
                self._programs[size] = self.exported
        return self._programs.get(size, self.exported)

    def _checked(self, inputs: tuple[Any, ...]) -> list[jax.Array]:
        leaves, structure = jax.tree.flatten(inputs)
        if structure == self._structure:  # else there are no inputs to go by, which `_check` tells
            wide = [jnp.dtype(spec.dtype) in WIDE for spec in self.signature.inputs]
            leaves = list(map(_taken, leaves, wide))
        arrays = [to_jax(leaf) for leaf in leaves]
        self._check(structure, arrays)
        return arrays

    def _check(self, structure: Any, arrays: Sequence[Any], batch: str | None = None) -> None:
        """Hold arrays against the signature; the dimension `batch` may have any size."""
        if structure != self._structure:
            names = ", ".join(spec.name for spec in self.signature.inputs)
            told = f"expected inputs ({names}) nested as {self._structure}, got {structure}"
            raise ShapeError(f"the artifact {self.path}: {told}")
        check_inputs(self.signature if batch is None else self.signature.unbound(batch), arrays)

    def __repr__(self) -> str:
        return f"Artifact('{self.path}', {self.signature}, {len(self.params)} parameters)"


def _taken(leaf: Any, wide: bool) -> jax.Array:
    """Return an input as an array: what is no array of JAX's comes in 64 bits only where the program takes it so."""
    if isinstance(leaf, jax.Array):
        return leaf
    with keeping_64_bits() if wide else without_64_bits():
        return jnp.asarray(copied(leaf))


def check_inputs(signature: Signature, arrays: Sequence[Any]) -> None:
    """Refuse arrays, one for each input, that do not fit a signature.

    Raises
    ------
    ShapeError
        If a dtype, rank or size does not fit; the message names the input and the dimension.

    Examples
    --------
    >>> import numpy
    >>> spec = InputSpec("x", ("b", 2), "float32")
    >>> check_inputs(Signature((spec,), (spec,), {"b": (1, None)}), [numpy.ones((4, 2), "float32")])
    >>> check_inputs(Signature((spec,), (spec,), {"b": (1, None)}), [numpy.ones((4, 3), "float32")])
    Traceback (most recent call last):
        ...
    gluonx.errors.ShapeError: ...
    """
    sizes: dict[str, tuple[int, str]] = {}
    for spec, array in zip(signature.inputs, arrays):
        got = f"{array.dtype.name}[{', '.join(map(str, array.shape))}]"
        if array.dtype.name != spec.dtype or array.ndim != len(spec.shape):
            what = "dtype" if array.dtype.name != spec.dtype else "number of dimensions"
            raise ShapeError(f"input {spec.name!r} has the wrong {what}: expected {spec}, got {got}")
        for axis, (wanted, size) in enumerate(zip(spec.shape, array.shape)):
            reason = _misfit(signature, wanted, size, sizes, f"axis {axis} of {spec.name!r}")
            if reason:
                raise ShapeError(f"input {spec.name!r} does not fit: expected {spec}, got {got}; {reason}")


def _misfit(
    signature: Signature, wanted: int | str, size: int, sizes: dict[str, tuple[int, str]], where: str
) -> str | None:
    """Return why a size does not fit a dimension, or None; what is left unsaid here, jax checks."""
    if isinstance(wanted, int):
        return None if size == wanted else f"{where} must be {wanted}"
    match = _MULTIPLE.fullmatch(wanted)
    if not match:
        return None
    factor, name = int(match[1] or 1) * int(match[3] or 1), match[2]
    if factor == 0 or size % factor:
        return f"{where} must be a multiple of {factor}"
    value, (low, high) = size // factor, signature.dimensions[name]
    known, first = sizes.setdefault(name, (value, where))
    if value != known:
        return f"'{name}' is {value} by {where} but {known} by {first}"
    if value < low or (high is not None and value > high):
        return f"'{name}' is {value} by {where}, outside of {low} to {'any size' if high is None else high}"
    return None


def load_artifact(path: str | os.PathLike[str]) -> Artifact:
    """Load what :func:`save_artifact` wrote.

    Parameters
    ----------
    path : str or os.PathLike
        The folder.

    Returns
    -------
    Artifact
        A callable.

    Raises
    ------
    FormatError
        If the folder is no artifact, is incomplete, or a file in it changed since the export.

    Notes
    -----
    The checksums find accidents, not an attacker, who would write his own. The program runs no Python code.

    Examples
    --------
    >>> import tempfile, numpy
    >>> spec = InputSpec("x", ("b", 2), "float32")
    >>> folder = save_artifact(tempfile.mkdtemp() + "/n", lambda p, x: x + p["w"], {"w": numpy.float32([2, 3])}, [spec])
    >>> load_artifact(folder).params["w"].tolist()
    [2.0, 3.0]
    """
    folder = Path(path)
    model = _read_model(folder)
    try:
        return _load_described(folder, model)
    except (FormatError, OSError):
        raise
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise FormatError(f"'{folder / MODEL}' describes no artifact: {error!r}") from error


def _load_described(folder: Path, model: dict[str, Any]) -> Artifact:
    """Load what model.json describes; what is missing or of another type in it raises as Python does."""
    _verify(folder, model)
    try:
        with keeping_64_bits(model["x64"]):
            exported = serve.program(model, (folder / JAXEXPORT).read_bytes(), (folder / STABLEHLO).read_bytes())
    except Exception as error:  # jax raises whatever its parsers meet
        raise FormatError(f"jax cannot read the program of the artifact '{folder}': {error}") from error
    params = {name: as_array(array) for name, array in load_arrays(folder / PARAMS).items()}
    _check_program(folder, model, params, exported)
    buckets = {size: (folder / f"bucket-{size}.jaxexport").read_bytes() for size in model.get("buckets", ())}
    return Artifact(folder, model, params, exported, buckets)


def _check_program(folder: Path, model: Mapping[str, Any], params: Mapping[str, Any], exported: Any) -> None:
    """Refuse a program or parameters that are not those that model.json describes."""

    def told(entries: Sequence[Mapping[str, Any]]) -> list[tuple[str, int]]:
        return [(str(entry["dtype"]), len(entry["shape"])) for entry in entries]

    def found(avals: Sequence[Any]) -> list[tuple[str, int]]:
        return [(jnp.dtype(aval.dtype).name, len(aval.shape)) for aval in avals]

    wanted = told([*model["parameters"], *model["inputs"]])
    if found(exported.in_avals) != wanted or found(exported.out_avals) != told(model["outputs"]):
        raise FormatError(f"the program of the artifact '{folder}' does not have the signature that {MODEL} gives")
    described = {entry["name"]: (tuple(entry["shape"]), entry["dtype"]) for entry in model["parameters"]}
    if described != {name: (array.shape, array.dtype.name) for name, array in params.items()}:
        raise FormatError(f"the parameters of the artifact '{folder}' are not those that {MODEL} gives")
    jax.tree.structure(serve.tree(model["output_tree"], range(len(model["outputs"]))))
    if not isinstance(model["vjp_order"], int):
        raise TypeError(f"vjp_order is {model['vjp_order']!r}")
    if list(exported.platforms) != list(model["platforms"]):
        raise FormatError(f"the program of the artifact '{folder}' is for {exported.platforms}, not as {MODEL} says")
    here = export.default_export_platform()
    if here not in exported.platforms:
        platforms = ", ".join(exported.platforms)
        raise FormatError(f"the artifact '{folder}' is for {platforms}; this process runs on {here}")


def __dir__() -> list[str]:
    return sorted(__all__)
