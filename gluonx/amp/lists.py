"""The table behind automatic mixed precision: the precision in which each operator runs.

Operators go by the names of the core set; MXNet's names (``FullyConnected``, ``_npi_exp``) are understood where
a user gives a list. What stands in no table takes its inputs as they come.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

import numpy as np

from gluonx.dtype import bfloat16
from gluonx.ops.registry import OPS

__all__ = [
    "core_name",
    "list_conditional_fp32_ops",
    "list_fp32_ops",
    "list_loss_output_functions",
    "list_lp16_fp32_ops",
    "list_lp16_ops",
    "list_lp16_use_fp32_params",
    "list_widest_type_cast",
    "target_of",
]

LOW = (
    "cached_attention", "convolution", "deconvolution", "dot_product_attention", "einsum", "fully_connected",
    "linalg_matmul", "linalg_multi_dot", "matmul", "rnn",
)  # fmt: skip
"""Products of matrices, and what is made of them: all the time goes there, and hardware has units for them."""

SINGLE = {
    "functions that leave a half type's range or precision": (
        "arccos", "arcsin", "arctanh", "cosh", "digamma", "erfinv", "exp", "exp2", "expm1", "float_power", "gamma",
        "gammaln", "i0", "integer_power", "ldexp", "log", "log10", "log1p", "log2", "logaddexp", "logaddexp2", "power",
        "rcbrt", "reciprocal", "rsqrt", "sinh", "square", "tan",
    ),
    "sums of many terms": (
        "average", "cumprod", "cumsum", "cumulative_prod", "cumulative_sum", "linalg_norm", "linalg_trace",
        "linalg_vector_norm", "logsumexp", "mean", "nancumprod", "nancumsum", "nanmean", "nanprod", "nanstd", "nansum",
        "nanvar", "norm", "polyval", "prod", "product", "std", "sum", "trace", "trapezoid", "trapz", "var",
    ),
    "linear algebra, which has no half form": (
        "linalg_cholesky", "linalg_cond", "linalg_det", "linalg_eigh", "linalg_eigvalsh", "linalg_inv", "linalg_lstsq",
        "linalg_matrix_norm", "linalg_matrix_power", "linalg_matrix_rank", "linalg_pinv", "linalg_qr", "linalg_slogdet",
        "linalg_solve", "linalg_svd", "linalg_svdvals", "linalg_tensorinv", "linalg_tensorsolve",
    ),
    "normalization, softmax, sorting": (
        "argsort", "deformable_convolution", "group_norm", "instance_norm", "l2_normalization", "layer_norm",
        "log_softmax", "lrn", "masked_log_softmax", "masked_softmax", "modulated_deformable_convolution",
        "multibox_detection", "multibox_prior", "multibox_target", "rms_norm", "sldwin_atten_context",
        "sldwin_atten_mask_like", "sldwin_atten_score", "softmax", "softmin", "topk",
    ),
    "Fourier transforms, which have no half form either": (
        "fft_fft", "fft_fft2", "fft_fftn", "fft_hfft", "fft_ifft", "fft_ifft2", "fft_ifftn", "fft_ihfft", "fft_irfft",
        "fft_irfft2", "fft_irfftn", "fft_rfft", "fft_rfft2", "fft_rfftn",
    ),
    "losses": (
        "cosine_embedding_loss", "ctc_batch_loss", "hinge_loss", "huber_loss", "kl_div_loss", "l1_loss", "l2_loss",
        "linear_regression_output", "logistic_loss", "logistic_regression_output", "mae_regression_output", "make_loss",
        "poisson_nll_loss", "sdml_loss", "sigmoid_bce_loss", "smooth_l1", "softmax_cross_entropy_loss",
        "softmax_output", "squared_hinge_loss", "svm_output", "triplet_loss",
    ),
}  # fmt: skip
"""Operators that stay in float32, by the reason."""

CONDITIONAL = (("activation", "act_type", ("softrelu",)), ("leaky_relu", "act_type", ("elu", "selu")))
"""Operators that stay in float32 if an attribute has one of these values."""

WIDEST = (
    "add", "add_n", "append", "batch_dot", "box_decode", "box_encode", "box_iou", "box_nms", "column_stack",
    "concatenate", "copysign", "correlation", "cross", "dot", "dstack", "ediff1d", "equal", "fmax", "fmin", "fmod",
    "greater", "greater_equal", "hstack", "hypot", "index_add", "index_update", "interleaved_matmul_encdec_qk",
    "interleaved_matmul_encdec_valatt", "interleaved_matmul_selfatt_qk", "interleaved_matmul_selfatt_valatt", "kron",
    "less", "less_equal", "logical_and", "logical_or", "logical_xor", "maximum", "minimum",
    "mod", "multiply", "not_equal", "stack", "subtract", "tensordot", "true_divide", "vstack", "where",
)  # fmt: skip
"""Operators of several inputs, which run in the widest type among them (by promotion, under amp or not)."""

LOSS_OUTPUTS = (
    "linear_regression_output", "logistic_regression_output", "mae_regression_output", "softmax_output"
)  # fmt: skip
PARAMETERS_IN_FP32 = {"batch_norm": ["gamma", "beta", "running_mean", "running_var"]}

_MXNET = {
    "LayerNorm": "layer_norm",
    "RNN": "rnn",
    "CTCLoss": "ctc_batch_loss",
    "BatchNorm": "batch_norm",
    "broadcast_power": "power",
    "elemwise_add": "add",
    "elemwise_sub": "subtract",
    "elemwise_mul": "multiply",
    "elemwise_div": "true_divide",
    "broadcast_sub": "subtract",
    "broadcast_mul": "multiply",
    "broadcast_div": "true_divide",
    "broadcast_lesser": "less",
    "broadcast_lesser_equal": "less_equal",
    "_linalg_gemm": "matmul",
    "_linalg_gemm2": "matmul",
    "_linalg_potrf": "linalg_cholesky",
    "_linalg_inverse": "linalg_inv",
    "SoftmaxActivation": "softmax",
    "softmax_cross_entropy": "softmax_cross_entropy_loss",
}
_PREFIXES = ("_npi_", "_npx_", "_np_", "_contrib_", "_linalg_", "broadcast_", "_")


def target_of(dtype: Any) -> np.dtype:
    """Return the low precision that `dtype` names.

    Raises
    ------
    ValueError
        If it is neither float16 nor bfloat16.
    """
    named = str(dtype) if not isinstance(dtype, type) else np.dtype(dtype).name
    if named not in ("float16", "bfloat16"):
        raise ValueError(f"target_dtype must be 'float16' or 'bfloat16', got {dtype!r}")
    return bfloat16 if named == "bfloat16" else np.dtype(np.float16)


def core_name(name: str) -> str:
    """Return the core operator that a user means by `name`, which may be MXNet's.

    Raises
    ------
    ValueError
        If there is none; the message names a near one.

    Examples
    --------
    >>> core_name("FullyConnected"), core_name("_npi_power_scalar"), core_name("softmax")
    ('fully_connected', 'power', 'softmax')
    """
    known = {*LOW, *_single(), *WIDEST}
    bare = name.removesuffix("_scalar")
    guesses = [name, bare, *[bare.removeprefix(p) for p in _PREFIXES if bare.startswith(p)]]
    for guess in guesses:
        guess = _MXNET.get(guess, guess)
        if guess in OPS:
            return OPS[guess].name.removeprefix("np.")
        for candidate in (guess, f"linalg_{guess}"):
            if candidate in known:
                return candidate
    near = difflib.get_close_matches(name, {*known, *OPS}, 1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    raise ValueError(f"amp: there is no operator '{name}'{hint}")


def core_names(names: Iterable[str], argument: str) -> list[str]:
    """`core_name` of each; a TypeError if `names` is no list of strings."""
    if isinstance(names, str) or not all(isinstance(n, str) for n in names):
        raise TypeError(f"amp: {argument} must be a list of operator names, got {names!r}")
    return [core_name(n) for n in names]


def _single() -> list[str]:
    return [name for group in SINGLE.values() for name in group]


def list_lp16_ops(target_dtype: Any) -> list[str]:
    """Operators that run in `target_dtype`.

    Examples
    --------
    >>> "fully_connected" in list_lp16_ops("bfloat16")
    True
    """
    target_of(target_dtype)
    return sorted(LOW)


def list_fp32_ops(target_dtype: Any) -> list[str]:
    """Operators that run in float32 whatever comes in."""
    target_of(target_dtype)
    return sorted(_single())


def list_conditional_fp32_ops(target_dtype: Any) -> list[tuple[str, str, list[str]]]:
    """Operators that run in float32 if an attribute has one of some values: (operator, attribute, values)."""
    target_of(target_dtype)
    return [(name, attribute, list(values)) for name, attribute, values in CONDITIONAL]


def list_widest_type_cast(target_dtype: Any) -> list[str]:
    """Operators that run in the widest type among their inputs."""
    target_of(target_dtype)
    return sorted(WIDEST)


def list_lp16_fp32_ops(target_dtype: Any) -> list[str]:
    """Operators that run in the type that comes in: all others of the registry."""
    target_of(target_dtype)
    listed = {*LOW, *_single(), *WIDEST, *[name for name, _, _ in CONDITIONAL]}
    return sorted({op.name.removeprefix("np.") for op in OPS.values()} - listed)


def list_loss_output_functions(target_dtype: Any) -> list[str]:
    """Operators that are loss and output in one."""
    target_of(target_dtype)
    return list(LOSS_OUTPUTS)


def list_lp16_use_fp32_params(target_dtype: Any) -> dict[str, list[str]]:
    """Operators that take data in `target_dtype` beside parameters in float32, and which parameters."""
    target_of(target_dtype)
    return {name: list(params) for name, params in PARAMETERS_IN_FP32.items()}
