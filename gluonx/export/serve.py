"""Run a gluonx artifact with jax and numpy alone: `serve.load(folder)(*inputs)` or `python serve.py IN.npy OUT.npz`."""

import contextlib
import dataclasses
import hashlib
import json
import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import export

WIDE = ("int64", "uint64", "float64", "complex128")


def bits(wide):
    """Return a stretch in which jax keeps 64-bit types, if `wide`."""
    return jax.enable_x64(True) if wide else contextlib.nullcontext()


def tree(node, leaves):
    """Put leaves into the nested dicts, lists and tuples that model.json describes; a number stands for a leaf."""
    if not isinstance(node, dict):
        return None if node is None else leaves[node]
    ((kind, parts),) = node.items()
    if kind == "dict":
        return {name: tree(part, leaves) for name, part in parts.items()}
    return {"list": list, "tuple": tuple}[kind](tree(part, leaves) for part in parts)


def program(model, serialized, raw):
    """Make the function; where jax no longer reads its serialized form, from the StableHLO under a fresh signature."""
    try:
        return export.deserialize(bytearray(serialized))
    except Exception:
        scope = export.SymbolicScope(model["constraints"])

        def spec(entry):
            shape = export.symbolic_shape(", ".join(map(str, entry["shape"])), scope=scope) if entry["shape"] else ()
            return jax.ShapeDtypeStruct(shape, entry["dtype"])

        def blank(*_):
            return tuple(jnp.zeros(s.shape, s.dtype) for s in map(spec, model["outputs"]))

        arguments = {p["name"]: spec(p) for p in model["parameters"]}, *map(spec, model["inputs"])
        template = export.export(jax.jit(blank, keep_unused=True), platforms=model["platforms"])(*arguments)
        return dataclasses.replace(template, mlir_module_serialized=raw)


def check(model, arrays):
    """Refuse arrays of another dtype, rank or size than the model was exported for, naming the input."""
    sizes = {}
    for spec, x in zip(model["inputs"], arrays):
        fits = [d == n if isinstance(d, int) else sizes.setdefault(d, n) == n for d, n in zip(spec["shape"], x.shape)]
        if x.dtype != spec["dtype"] or x.ndim != len(spec["shape"]) or not all(fits):
            wanted = f"{spec['dtype']}[{', '.join(map(str, spec['shape']))}]"
            raise ValueError(f"input {spec['name']!r} must be {wanted}, got {x.dtype}{list(x.shape)}")


def load(folder=pathlib.Path(__file__).parent):
    """Load an artifact as a function of its inputs."""
    model, data = json.loads((pathlib.Path(folder) / "model.json").read_text("utf-8")), {}
    for name in ("params.safetensors", "model.stablehlo", "model.jaxexport"):
        data[name] = (pathlib.Path(folder) / name).read_bytes()
        if hashlib.sha256(data[name]).hexdigest() != model["files"][name]["sha256"]:
            raise ValueError(f"{name} is not the file that was exported: its checksum differs from model.json")
    weights = data["params.safetensors"]
    start = 8 + int.from_bytes(weights[:8], "little")
    header, params = json.loads(weights[8:start]), {}
    for p in model["parameters"]:
        begin, end = (start + offset for offset in header[p["name"]]["data_offsets"])
        with bits(p["dtype"] in WIDE):
            params[p["name"]] = jnp.asarray(np.frombuffer(weights[begin:end], p["dtype"]).reshape(p["shape"]))
    with bits(model["x64"]):
        exported = program(model, data["model.jaxexport"], data["model.stablehlo"])
    run = jax.jit(lambda *leaves: exported.call(params, *leaves))  # as constants, the weights are prepared only once

    def call(*inputs):
        leaves, structure = jax.tree.flatten(inputs)
        wanted = jax.tree.structure(tree(model["input_tree"], range(len(model["inputs"]))))
        if structure != wanted:
            raise TypeError(f"the inputs must be structured as {wanted}, got {structure}")
        arrays = []
        for leaf, spec in zip(leaves, model["inputs"]):
            with bits(spec["dtype"] in WIDE):
                arrays.append(jnp.asarray(leaf))
        check(model, arrays)
        with bits(model["x64"]):
            return tree(model["output_tree"], run(*arrays))

    return call


if __name__ == "__main__":
    *files, target = [a for a in sys.argv[1:] if a not in ("-h", "--help")] or sys.exit(__doc__)
    outputs = map(np.asarray, jax.tree.leaves(load()(*map(np.load, files))))
    model = json.loads((pathlib.Path(__file__).parent / "model.json").read_text("utf-8"))
    np.savez(target, **dict(zip([p["name"] for p in model["outputs"]], outputs)))  # pyright: ignore[reportArgumentType]
