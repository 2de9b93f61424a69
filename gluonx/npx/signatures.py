"""Signatures of MXNet's ``npx`` functions, where the core operator of the same name is declared otherwise.

A row lists a function's parameters in MXNet's order, by the operator's names; ``name=value`` is another default than
the operator's. Names that no operator has (``workspace``, ``cudnn_off``, ``ctx``) are taken and ignored.
"""

from __future__ import annotations

__all__ = ["IGNORED", "NONE_IS_DEFAULT", "ORDER", "RENAMED", "SHOWN"]

ORDER: dict[str, str] = {
    "arange_like": "x start step repeat ctx axis",
    "batch_dot": "x1 x2 transpose_a transpose_b forward_stype=default",
    "convolution": (
        "x weight bias kernel stride dilate pad num_filter num_group workspace=1024 no_bias cudnn_tune "
        "cudnn_off=False layout"
    ),
    "deconvolution": (
        "x weight bias kernel stride dilate pad adj target_shape num_filter num_group workspace=1024 no_bias "
        "cudnn_tune cudnn_off=False layout"
    ),
    "dropout": "x p mode axes cudnn_off=False",
    "embedding": "x weight input_dim output_dim dtype sparse_grad=False",
    "fully_connected": "x weight bias num_hidden no_bias=True flatten",
    "group_norm": "x gamma beta num_groups eps=0.001 output_mean_var",
    "leaky_relu": "x gamma act_type slope lower_bound upper_bound",
    "log_softmax": "x axis length temperature use_length dtype",
    "masked_log_softmax": "x mask axis temperature normalize",
    "masked_softmax": "x mask axis temperature normalize",
    "modulated_deformable_convolution": (
        "data offset mask weight bias kernel stride dilate pad num_filter num_group num_deformable_group workspace "
        "no_bias im2col_step layout"
    ),
    "norm": "x ord axis out_dtype keepdims",
    "one_hot": "indices depth on_value off_value dtype",
    "pad": "x mode pad_width constant_value",
    "pooling": (
        "x kernel stride pad pool_type pooling_convention global_pool cudnn_off=False p_value count_include_pad layout"
    ),
    "reshape": "x newshape reverse order",
    "sequence_mask": "x sequence_length use_sequence_length value axis",
    "slice_channel": "x num_outputs axis squeeze_axis",
    "softmax": "x length axis temperature use_length dtype",
    "topk": "x axis k ret_typ is_ascend dtype",
}
"""Parameters in MXNet's order. CamelCase names are of MXNet 1 and take the operator's own defaults."""

RENAMED: dict[str, dict[str, str]] = {
    "batch_dot": {"a": "x1", "b": "x2", "lhs": "x1", "rhs": "x2"},
    "broadcast_like": {"lhs": "x", "rhs": "like"},
    "cast": {"data": "x"},
    "embedding": {"data": "x"},
    "gather_nd": {"data": "x"},
    "index_add": {"a": "x"},
    "index_update": {"a": "x"},
    "one_hot": {"data": "indices", "x": "indices"},
    "reshape": {"shape": "newshape", "a": "x"},
    "reshape_like": {"lhs": "x", "rhs": "like"},
    "slice_like": {"data": "x"},
}
"""Other names of parameters. ``data`` and ``a`` are understood everywhere for the first one."""

SHOWN: dict[str, str] = {
    "batch_dot": "a b",
    "broadcast_like": "lhs rhs",
    "fully_connected": "x",
    "index_add": "a ind val",
    "index_update": "a ind val",
    "one_hot": "data",
    "reshape": "a",
    "reshape_like": "lhs rhs",
}
"""MXNet's names of the arrays: the ones that signatures show, and that callers may use.

Elsewhere ``x`` is ``data``."""

IGNORED = frozenset(
    [
        "cudnn_off",
        "cudnn_tune",
        "ctx",
        "device",
        "forward_stype",
        "key",
        "layout_",
        "max_calib_range",
        "min_calib_range",
        "name",
        "ndev",
        "sparse_grad",
        "workspace",
    ]
)
"""Parameters of MXNet that mean nothing on XLA."""

NONE_IS_DEFAULT: dict[str, frozenset[str]] = {
    "dropout": frozenset({"axes"}),
    "embedding": frozenset({"dtype"}),
    "layer_norm": frozenset({"axis", "eps", "output_mean_var"}),
    "norm": frozenset({"ord"}),
    "one_hot": frozenset({"dtype", "on_value", "off_value"}),
    "slice": frozenset({"step"}),
    "slice_like": frozenset({"axes"}),
    "topk": frozenset({"dtype"}),
}
"""Statics whose None means "as by default", where the operator has another default than None."""
