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
from gluonx.block.abstract import abstract
from gluonx.parallel import hlo, planning, topologies

__all__ = ["by_gluon", "by_hand", "main", "row"]

KIND = "h100"
RATE, MOMENTUM = 0.1, 0.9


def by_hand(case: Case) -> Any:
    """Compile one step with momentum, written in JAX, that writes weights and momenta in place."""
    place = topologies.single(KIND)
    params, state = shapes_of(case)

    def there(tree: Any) -> Any:
        return jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=place), tree)

    def step(params: Any, momenta: Any, state: Any, inputs: Any, labels: Any) -> Any:
        (found, moved), slopes = jax.value_and_grad(case.by_hand, has_aux=True)(params, state, inputs, labels)
        momenta = jax.tree.map(lambda m, g: MOMENTUM * m - RATE * g.astype(m.dtype), momenta, slopes)
        return jax.tree.map(jnp.add, params, momenta), momenta, moved, found

    given = there((params, params, state, case.inputs_by_hand(), case.labels))
    with topologies.quietly():
        return jax.jit(step, donate_argnums=(0, 1, 2)).lower(*given).compile()


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
    print("| program | kernels | products, MFLOP | operands and results, MB | temporaries, MB | calls of libraries |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in names or CASES:
        case = CASES[name]
        print(row(f"{case.title}, by hand", by_hand(case)), flush=True)
        print(row(f"{case.title}, Gluon", by_gluon(case)), flush=True)
        print(row(f"{case.title}, Gluon, not hybridized", by_gluon(case, hybridize=False)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
