"""``mx.test_utils``: comparisons by the tolerance of dtypes, checks of gradients, random arrays.

Parts that belong to MXNet's C library alone are absent: ``get_rtc_compile_opts``.
"""

from contextlib import contextmanager as contextmanager

from gluonx.compat.runtime import Features as Features
from gluonx.compat.symbol import Symbol as Symbol
from gluonx.compat.test_utils.checking import check_consistency as check_consistency
from gluonx.compat.test_utils.checking import check_gluon_hybridize_consistency as check_gluon_hybridize_consistency
from gluonx.compat.test_utils.checking import check_numeric_gradient as check_numeric_gradient
from gluonx.compat.test_utils.checking import check_speed as check_speed
from gluonx.compat.test_utils.checking import check_symbolic_backward as check_symbolic_backward
from gluonx.compat.test_utils.checking import check_symbolic_forward as check_symbolic_forward
from gluonx.compat.test_utils.checking import chi_square_check as chi_square_check
from gluonx.compat.test_utils.checking import compare_optimizer as compare_optimizer
from gluonx.compat.test_utils.checking import compare_optimizer_noise_seeded as compare_optimizer_noise_seeded
from gluonx.compat.test_utils.checking import gen_buckets_probs_with_ppf as gen_buckets_probs_with_ppf
from gluonx.compat.test_utils.checking import mean_check as mean_check
from gluonx.compat.test_utils.checking import numeric_grad as numeric_grad
from gluonx.compat.test_utils.checking import retry as retry
from gluonx.compat.test_utils.checking import same_symbol_structure as same_symbol_structure
from gluonx.compat.test_utils.checking import simple_forward as simple_forward
from gluonx.compat.test_utils.checking import var_check as var_check
from gluonx.compat.test_utils.checking import verify_generator as verify_generator
from gluonx.compat.test_utils.comparing import almost_equal as almost_equal
from gluonx.compat.test_utils.comparing import almost_equal_ignore_nan as almost_equal_ignore_nan
from gluonx.compat.test_utils.comparing import assert_allclose as assert_allclose
from gluonx.compat.test_utils.comparing import assert_almost_equal as assert_almost_equal
from gluonx.compat.test_utils.comparing import assert_almost_equal_ignore_nan as assert_almost_equal_ignore_nan
from gluonx.compat.test_utils.comparing import assert_almost_equal_with_err as assert_almost_equal_with_err
from gluonx.compat.test_utils.comparing import assert_exception as assert_exception
from gluonx.compat.test_utils.comparing import checkShapes as checkShapes
from gluonx.compat.test_utils.comparing import collapse_sum_like as collapse_sum_like
from gluonx.compat.test_utils.comparing import compare_ndarray_tuple as compare_ndarray_tuple
from gluonx.compat.test_utils.comparing import default_atols as default_atols
from gluonx.compat.test_utils.comparing import default_dtype as default_dtype
from gluonx.compat.test_utils.comparing import default_numeric_eps as default_numeric_eps
from gluonx.compat.test_utils.comparing import default_rtols as default_rtols
from gluonx.compat.test_utils.comparing import effective_dtype as effective_dtype
from gluonx.compat.test_utils.comparing import find_max_violation as find_max_violation
from gluonx.compat.test_utils.comparing import get_atol as get_atol
from gluonx.compat.test_utils.comparing import get_etol as get_etol
from gluonx.compat.test_utils.comparing import get_rtol as get_rtol
from gluonx.compat.test_utils.comparing import get_tolerance as get_tolerance
from gluonx.compat.test_utils.comparing import get_tols as get_tols
from gluonx.compat.test_utils.comparing import locationError as locationError
from gluonx.compat.test_utils.comparing import np_reduce as np_reduce
from gluonx.compat.test_utils.comparing import same as same
from gluonx.compat.test_utils.comparing import same_array as same_array
from gluonx.compat.test_utils.making import DummyIter as DummyIter
from gluonx.compat.test_utils.making import assign_each as assign_each
from gluonx.compat.test_utils.making import assign_each2 as assign_each2
from gluonx.compat.test_utils.making import create_2d_np_tensor as create_2d_np_tensor
from gluonx.compat.test_utils.making import create_2d_tensor as create_2d_tensor
from gluonx.compat.test_utils.making import create_sparse_array as create_sparse_array
from gluonx.compat.test_utils.making import create_sparse_array_zd as create_sparse_array_zd
from gluonx.compat.test_utils.making import create_vector as create_vector
from gluonx.compat.test_utils.making import download as download
from gluonx.compat.test_utils.making import get_bz2_data as get_bz2_data
from gluonx.compat.test_utils.making import get_cifar10 as get_cifar10
from gluonx.compat.test_utils.making import get_im2rec_path as get_im2rec_path
from gluonx.compat.test_utils.making import get_mnist as get_mnist
from gluonx.compat.test_utils.making import get_mnist_iterator as get_mnist_iterator
from gluonx.compat.test_utils.making import get_mnist_ubyte as get_mnist_ubyte
from gluonx.compat.test_utils.making import new_matrix_with_real_eigvals_2d as new_matrix_with_real_eigvals_2d
from gluonx.compat.test_utils.making import new_matrix_with_real_eigvals_nd as new_matrix_with_real_eigvals_nd
from gluonx.compat.test_utils.making import new_orthonormal_matrix_2d as new_orthonormal_matrix_2d
from gluonx.compat.test_utils.making import new_sym_matrix_with_real_eigvals_2d as new_sym_matrix_with_real_eigvals_2d
from gluonx.compat.test_utils.making import new_sym_matrix_with_real_eigvals_nd as new_sym_matrix_with_real_eigvals_nd
from gluonx.compat.test_utils.making import rand_coord_2d as rand_coord_2d
from gluonx.compat.test_utils.making import rand_ndarray as rand_ndarray
from gluonx.compat.test_utils.making import rand_shape_2d as rand_shape_2d
from gluonx.compat.test_utils.making import rand_shape_3d as rand_shape_3d
from gluonx.compat.test_utils.making import rand_shape_nd as rand_shape_nd
from gluonx.compat.test_utils.making import rand_sparse_ndarray as rand_sparse_ndarray
from gluonx.compat.test_utils.making import random_arrays as random_arrays
from gluonx.compat.test_utils.making import random_sample as random_sample
from gluonx.compat.test_utils.making import random_uniform_arrays as random_uniform_arrays
from gluonx.compat.test_utils.making import shuffle_csr_column_indices as shuffle_csr_column_indices
from gluonx.compat.test_utils.process import default_context as default_context
from gluonx.compat.test_utils.process import default_device as default_device
from gluonx.compat.test_utils.process import discard_stderr as discard_stderr
from gluonx.compat.test_utils.process import environment as environment
from gluonx.compat.test_utils.process import has_tvm_ops as has_tvm_ops
from gluonx.compat.test_utils.process import is_cd_run as is_cd_run
from gluonx.compat.test_utils.process import is_op_runnable as is_op_runnable
from gluonx.compat.test_utils.process import list_gpus as list_gpus
from gluonx.compat.test_utils.process import set_default_context as set_default_context
from gluonx.compat.test_utils.process import set_default_device as set_default_device
from gluonx.compat.util import get_cuda_compute_capability as get_cuda_compute_capability
from gluonx.compat.util import get_max_supported_compute_capability as get_max_supported_compute_capability
from gluonx.compat.util import getenv as getenv
from gluonx.compat.util import setenv as setenv
from gluonx.compat.util import use_np_default_dtype as use_np_default_dtype
from gluonx.device import current_device as current_device

np_symbol = Symbol  # symbols are of one kind here

__all__ = [
    "DummyIter",
    "Features",
    "Symbol",
    "almost_equal",
    "almost_equal_ignore_nan",
    "assert_allclose",
    "assert_almost_equal",
    "assert_almost_equal_ignore_nan",
    "assert_almost_equal_with_err",
    "assert_exception",
    "assign_each",
    "assign_each2",
    "checkShapes",
    "check_consistency",
    "check_gluon_hybridize_consistency",
    "check_numeric_gradient",
    "check_speed",
    "check_symbolic_backward",
    "check_symbolic_forward",
    "chi_square_check",
    "collapse_sum_like",
    "compare_ndarray_tuple",
    "compare_optimizer",
    "compare_optimizer_noise_seeded",
    "contextmanager",
    "create_2d_np_tensor",
    "create_2d_tensor",
    "create_sparse_array",
    "create_sparse_array_zd",
    "create_vector",
    "current_device",
    "default_atols",
    "default_context",
    "default_device",
    "default_dtype",
    "default_numeric_eps",
    "default_rtols",
    "discard_stderr",
    "download",
    "effective_dtype",
    "environment",
    "find_max_violation",
    "gen_buckets_probs_with_ppf",
    "get_atol",
    "get_bz2_data",
    "get_cifar10",
    "get_cuda_compute_capability",
    "get_etol",
    "get_im2rec_path",
    "get_max_supported_compute_capability",
    "get_mnist",
    "get_mnist_iterator",
    "get_mnist_ubyte",
    "get_rtol",
    "get_tolerance",
    "get_tols",
    "getenv",
    "has_tvm_ops",
    "is_cd_run",
    "is_op_runnable",
    "list_gpus",
    "locationError",
    "mean_check",
    "new_matrix_with_real_eigvals_2d",
    "new_matrix_with_real_eigvals_nd",
    "new_orthonormal_matrix_2d",
    "new_sym_matrix_with_real_eigvals_2d",
    "new_sym_matrix_with_real_eigvals_nd",
    "np_reduce",
    "np_symbol",
    "numeric_grad",
    "rand_coord_2d",
    "rand_ndarray",
    "rand_shape_2d",
    "rand_shape_3d",
    "rand_shape_nd",
    "rand_sparse_ndarray",
    "random_arrays",
    "random_sample",
    "random_uniform_arrays",
    "retry",
    "same",
    "same_array",
    "same_symbol_structure",
    "set_default_context",
    "set_default_device",
    "setenv",
    "shuffle_csr_column_indices",
    "simple_forward",
    "use_np_default_dtype",
    "var_check",
    "verify_generator",
]
