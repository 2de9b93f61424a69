"""Bucketing modules in mixed precision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gluonx.compat.module.bucketing import BucketingModule
from gluonx.compat.symbol.amp import convert_model, convert_symbol
from gluonx.compat.symbol.graph import walk

if TYPE_CHECKING:
    from gluonx.dtype import DTypeLike


class _Converted(BucketingModule):
    """A bucketing module that has its parameters before it is bound."""

    _given: tuple[dict[str, Any], dict[str, Any]]

    def bind(self, *args: Any, **kwargs: Any) -> None:  # type: ignore[override]
        """Bind the module of the default bucket, and give it the parameters."""
        super().bind(*args, **kwargs)
        arg_params, aux_params = self._given
        self.init_params(arg_params=arg_params, aux_params=aux_params, force_init=True)


def convert_bucketing_module(
    bucketing_mod: BucketingModule,
    target_dtype: DTypeLike = "float16",
    target_dtype_ops: Any = None,
    fp32_ops: Any = None,
    conditional_fp32_ops: Any = None,
    excluded_sym_names: Any = None,
    cast_optional_params: bool = False,
) -> BucketingModule:
    """Return a bucketing module whose symbols compute in mixed precision, with the parameters of `bucketing_mod`.

    Parameters
    ----------
    bucketing_mod : BucketingModule
        It must be bound and have parameters.
    target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names, cast_optional_params
        As for `gluonx.amp.convert_model`.

    Raises
    ------
    TypeError
        For another module.
    GraphError
        If it has no parameters yet.
    """
    if not isinstance(bucketing_mod, BucketingModule):
        raise TypeError(f"convert_bucketing_module takes a BucketingModule, got {type(bucketing_mod).__name__}")
    bucketing_mod._needs("convert_bucketing_module", bucketing_mod.params_initialized, "bind() and init_params()")
    options = (target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names)
    key, generate = bucketing_mod._default_bucket_key, bucketing_mod._sym_gen

    def sym_gen(bucket_key: Any) -> Any:
        symbol, data_names, label_names = generate(bucket_key)
        converted = convert_symbol(symbol, *options)
        for node in walk(converted._entries):
            if node.op is None and node.name in shapes:  # which do not follow from one side of a cast to the other
                node.attrs["__shape__"] = str(shapes[node.name])
        return converted, data_names, label_names

    params = {name: value for part in bucketing_mod.get_params() for name, value in part.items()}
    shapes = {name: tuple(value.shape) for name, value in params.items()}
    made = _Converted(sym_gen, key, **bucketing_mod._settings)
    _, *given = convert_model(generate(key)[0], *bucketing_mod.get_params(), *options, cast_optional_params)
    made._given = given[0], given[1]
    return made
