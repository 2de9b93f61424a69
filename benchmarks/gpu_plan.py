"""Programs that a Gluon step compiles to for a GPU, over those of the same step written in JAX; no GPU is needed.

``python -m benchmarks.gpu_plan [CASE ...]`` needs the extra ``gpu-plan``. Nothing is run: kernels, calls of libraries,
products, bytes and temporaries are read off the compiled programs.
"""

from __future__ import annotations

import sys
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.gpu_plan_cases import CASES, Case
from gluonx import amp
from gluonx.block.abstract import abstract
from gluonx.parallel import hlo, planning, topologies

__all__ = ["by_gluon", "by_gluon_scaled", "by_hand", "by_hand_scaled", "main", "row"]

KIND = "h100"
RATE, MOMENTUM = 0.1, 0.9
SCALED = {"bert-2-amp": "bert-2", "resnet50-amp": "resnet50"}  # in float16, with a loss scale


def by_hand(case: Case) -> Any:
    """Compile one step with momentum, written in JAX, that writes weights and momenta in place."""
    params, state = shapes_of(case)

    def step(params: Any, momenta: Any, state: Any, inputs: Any, labels: Any) -> Any:
        (found, moved), slopes = jax.value_and_grad(case.by_hand, has_aux=True)(params, state, inputs, labels)
        return *updated(params, momenta, slopes), moved, found

    return _compiled(step, (0, 1, 2), (params, params, state, case.inputs_by_hand(), case.labels))


def updated(params: Any, momenta: Any, slopes: Any) -> tuple[Any, Any]:
    """Return parameters and momenta after a step."""
    momenta = jax.tree.map(lambda m, g: MOMENTUM * m - RATE * g.astype(m.dtype), momenta, slopes)
    return jax.tree.map(jnp.add, params, momenta), momenta


def by_hand_scaled(case: Case) -> Any:
    """Compile the same with weights in float32, all else in float16, and a loss scale that follows the gradients."""
    params, state = shapes_of(case)
    scaler = (jax.ShapeDtypeStruct((), "float32"), jax.ShapeDtypeStruct((), "int32"))

    def step(params: Any, momenta: Any, state: Any, scaler: Any, inputs: Any, labels: Any) -> Any:
        scale, good = scaler

        def value(params: Any) -> Any:
            found, moved = case.by_hand(narrow(params), state, narrow(inputs), labels)
            return found * scale, (found, moved)

        (_, (found, moved)), slopes = jax.value_and_grad(value, has_aux=True)(params)
        finite = jnp.stack([jnp.isfinite(g).all() for g in jax.tree.leaves(slopes)]).all()
        new = updated(params, momenta, jax.tree.map(lambda g: g / scale, slopes))
        new = jax.tree.map(lambda a, b: jnp.where(finite, a, b), new, (params, momenta))
        good = jnp.where(finite, good + 1, 0)
        scale = jnp.where(finite, jnp.where(good == 2000, scale * 2, scale), scale / 2)
        return *new, moved, (scale, jnp.where(good == 2000, 0, good)), found

    return _compiled(step, (0, 1, 2, 3), (params, params, state, scaler, case.inputs_by_hand(), case.labels))


def narrow(tree: Any) -> Any:
    """Return floating-point arrays in float16."""
    return jax.tree.map(lambda a: a.astype("float16") if jnp.issubdtype(a.dtype, jnp.floating) else a, tree)


def in_float32(case: Case) -> Case:
    """Return a case whose weights and inputs are in float32."""
    inputs = [a if a.dtype == "int32" else jax.ShapeDtypeStruct(a.shape, "float32") for a in case.inputs]
    return case._replace(dtype="float32", inputs=tuple(inputs))


def _compiled(step: Any, donated: tuple[int, ...], given: Any) -> Any:
    place = topologies.single(KIND)
    there = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=place), given)
    with topologies.quietly():
        return jax.jit(step, donate_argnums=donated).lower(*there).compile()


def shapes_of(case: Case) -> tuple[Any, Any]:
    """Return parameters and moving averages by layer; kernels of convolutions have their channels last."""
    net = abstract(case.net(), *case.inputs)
    net.cast(case.dtype)
    net.unfuse()
    params: dict[str, Any] = {}
    state: dict[str, Any] = {}
    seen: set[int] = set()
    for name, param in net.collect_params().items():
        layer, _, kind = name.rpartition(".")
        if id(param) in seen:
            continue
        seen.add(id(param))
        shape: Any = param.shape
        shape = tuple(shape)
        shape = (*shape[2:], shape[1], shape[0]) if len(shape) == 4 else shape
        place = state if kind.startswith("running_") else params
        place.setdefault(layer, {})[kind] = jax.ShapeDtypeStruct(shape, param.dtype)
    return params, state


def by_gluon(case: Case, hybridize: bool = True) -> Any:
    """Compile the step that a plain loop records."""
    net = case.net()
    net.cast(case.dtype)
    if hybridize:
        net.hybridize()
    how = {"learning_rate": RATE, "momentum": MOMENTUM}
    given = (net, case.inputs, case.loss(), "sgd", how, case.labels, f"{KIND}:1", None, (), False)
    return planning._recorded(*given).compile()


def by_gluon_scaled(case: Case, hybridize: bool = True) -> Any:
    """Compile the step of a net in float32 with `amp` and its loss scale."""
    net = case.net()
    if hybridize:
        net.hybridize()
    how = {"learning_rate": RATE, "momentum": MOMENTUM}
    given = (net, case.inputs, case.loss(), "sgd", how, case.labels, f"{KIND}:1", None, (), False, 65536.0)
    amp.init("float16")
    try:
        return planning._recorded(*given).compile()
    finally:
        amp.reset()


def row(name: str, compiled: Any) -> str:
    """Give a line of the table."""
    mesh = planning.abstract_mesh(f"{KIND}:1", None)[0]
    found = hlo.read(compiled.as_text(), mesh)
    calls = ", ".join(f"{n} {target.lstrip('_')}" for target, n in sorted(found.calls.items())) or "none"
    temporary = compiled.memory_analysis().temp_size_in_bytes
    numbers = f"{found.kernels:,} | {found.flops / 1e6:,.1f} | {found.bytes / 1e6:,.2f} | {temporary / 1e6:,.2f}"
    return f"| {name} | {numbers} | {calls} |"


def main(names: list[str]) -> None:
    """Print the table."""
    print("| program | kernels | products, MFLOP | read and written, MB | temporaries, MB | calls of libraries |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in names or (*CASES, *SCALED):
        if name in SCALED:
            case = in_float32(CASES[SCALED[name]])
            print(row(f"{case.title}, float16 by amp, by hand", by_hand_scaled(case)), flush=True)
            print(row(f"{case.title}, float16 by amp, Gluon", by_gluon_scaled(case)), flush=True)
            print(row(f"{case.title}, float16 by amp, Gluon, not hybridized", by_gluon_scaled(case, False)), flush=True)
            continue
        case = CASES[name]
        print(row(f"{case.title}, by hand", by_hand(case)), flush=True)
        print(row(f"{case.title}, Gluon", by_gluon(case)), flush=True)
        print(row(f"{case.title}, Gluon, not hybridized", by_gluon(case, hybridize=False)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
