# Made by `python -m tools.stubs --write` with JAX 0.10; do not edit.
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

from numpy import dtype as _dtype
from numpy.typing import ArrayLike

from gluonx.np.handle import ndarray
from gluonx.compat.symbol.executor import Executor as Executor
from gluonx.compat.symbol.front import Group as Group
from gluonx.compat.symbol.symbol import Symbol as Symbol
from gluonx.compat.symbol.front import var as _Variable
Variable = _Variable
from gluonx.compat.symbol.front import fromjson as fromjson
from gluonx.compat.symbol.front import load as load
from gluonx.compat.symbol.front import fromjson as _load_json
load_json = _load_json
from gluonx.compat.symbol.front import var as var

def Activation(data: Any = None, act_type: Any = ..., *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator Activation on symbols (data); attributes: act_type."""
def BatchNorm(data: Any = None, gamma: Any = None, beta: Any = None, moving_mean: Any = None, moving_var: Any = None, eps: Any = 0.001, momentum: Any = 0.9, fix_gamma: Any = True, use_global_stats: Any = False, output_mean_var: Any = False, axis: Any = 1, cudnn_off: Any = False, min_calib_range: Any = None, max_calib_range: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator BatchNorm on symbols (data, gamma, beta, moving_mean, moving_var); attributes: eps, momentum, fix_gamma, use_global_stats, output_mean_var, axis, cudnn_off, min_calib_range, max_calib_range."""
def BatchNorm_v1(data: Any = None, gamma: Any = None, beta: Any = None, moving_mean: Any = None, moving_var: Any = None, eps: Any = 0.001, momentum: Any = 0.9, fix_gamma: Any = True, use_global_stats: Any = False, output_mean_var: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator BatchNorm_v1 on symbols (data, gamma, beta, moving_mean, moving_var); attributes: eps, momentum, fix_gamma, use_global_stats, output_mean_var."""
def BilinearSampler(data: Any = None, grid: Any = None, cudnn_off: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator BilinearSampler on symbols (data, grid); attributes: cudnn_off."""
def BlockGrad(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator BlockGrad on symbols (data); attributes: none."""
def CTCLoss(data: Any = None, label: Any = None, data_lengths: Any = None, label_lengths: Any = None, use_data_lengths: Any = False, use_label_lengths: Any = False, blank_label: Any = 'first', *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator CTCLoss on symbols (data, label, data_lengths, label_lengths); attributes: use_data_lengths, use_label_lengths, blank_label."""
def Cast(data: Any = None, dtype: Any = ..., *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator Cast on symbols (data); attributes: dtype."""
def Concat(*data: Any, dim: Any = 1, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator Concat on symbols (*data); attributes: dim."""
def Convolution(data: Any = None, weight: Any = None, bias: Any = None, kernel: Any = ..., stride: Any = (), dilate: Any = (), pad: Any = (), num_filter: Any = ..., num_group: Any = 1, workspace: Any = 1024, no_bias: Any = False, cudnn_tune: Any = None, cudnn_off: Any = False, layout: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator Convolution on symbols (data, weight, bias); attributes: kernel, stride, dilate, pad, num_filter, num_group, workspace, no_bias, cudnn_tune, cudnn_off, layout."""
def Convolution_v1(data: Any = None, weight: Any = None, bias: Any = None, kernel: Any = ..., stride: Any = (), dilate: Any = (), pad: Any = (), num_filter: Any = ..., num_group: Any = 1, workspace: Any = 1024, no_bias: Any = False, cudnn_tune: Any = None, cudnn_off: Any = False, layout: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator Convolution_v1 on symbols (data, weight, bias); attributes: kernel, stride, dilate, pad, num_filter, num_group, workspace, no_bias, cudnn_tune, cudnn_off, layout."""
def Correlation(data1: Any = None, data2: Any = None, kernel_size: Any = 1, max_displacement: Any = 1, stride1: Any = 1, stride2: Any = 1, pad_size: Any = 0, is_multiply: Any = True, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator Correlation on symbols (data1, data2); attributes: kernel_size, max_displacement, stride1, stride2, pad_size, is_multiply."""
def Crop(*data: Any, offset: Any = (0, 0), h_w: Any = (0, 0), center_crop: Any = False, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator Crop on symbols (*data); attributes: offset, h_w, center_crop."""
def Custom(*args: Any, **kwargs: Any) -> Symbol:
    """The operator Custom on symbols (no inputs); attributes: op_type."""
def Deconvolution(data: Any = None, weight: Any = None, bias: Any = None, kernel: Any = ..., stride: Any = (), dilate: Any = (), pad: Any = (), adj: Any = (), target_shape: Any = (), num_filter: Any = ..., num_group: Any = 1, workspace: Any = 512, no_bias: Any = True, cudnn_tune: Any = None, cudnn_off: Any = False, layout: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator Deconvolution on symbols (data, weight, bias); attributes: kernel, stride, dilate, pad, adj, target_shape, num_filter, num_group, workspace, no_bias, cudnn_tune, cudnn_off, layout."""
def Dropout(data: Any = None, p: Any = 0.5, mode: Any = 'training', axes: Any = (), cudnn_off: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator Dropout on symbols (data); attributes: p, mode, axes, cudnn_off."""
def ElementWiseSum(*args: Any, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator add_n on symbols (*args); attributes: none."""
def Embedding(data: Any = None, weight: Any = None, input_dim: Any = ..., output_dim: Any = ..., dtype: Any = 'float32', sparse_grad: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator Embedding on symbols (data, weight); attributes: input_dim, output_dim, dtype, sparse_grad."""
def Flatten(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator Flatten on symbols (data); attributes: none."""
def FullyConnected(data: Any = None, weight: Any = None, bias: Any = None, num_hidden: Any = ..., no_bias: Any = False, flatten: Any = True, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator FullyConnected on symbols (data, weight, bias); attributes: num_hidden, no_bias, flatten."""
def GridGenerator(data: Any = None, transform_type: Any = ..., target_shape: Any = (0, 0), *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator GridGenerator on symbols (data); attributes: transform_type, target_shape."""
def GroupNorm(data: Any = None, gamma: Any = None, beta: Any = None, num_groups: Any = 1, eps: Any = 1e-05, output_mean_var: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator GroupNorm on symbols (data, gamma, beta); attributes: num_groups, eps, output_mean_var."""
def IdentityAttachKLSparseReg(data: Any = None, moving_avg: Any = None, sparseness_target: Any = 0.1, penalty: Any = 0.001, momentum: Any = 0.9, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator IdentityAttachKLSparseReg on symbols (data, moving_avg); attributes: sparseness_target, penalty, momentum."""
def InstanceNorm(data: Any = None, gamma: Any = None, beta: Any = None, eps: Any = 0.001, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator InstanceNorm on symbols (data, gamma, beta); attributes: eps."""
def L2Normalization(data: Any = None, eps: Any = 1e-10, mode: Any = 'instance', *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator L2Normalization on symbols (data); attributes: eps, mode."""
def LRN(data: Any = None, alpha: Any = 0.0001, beta: Any = 0.75, knorm: Any = 2.0, nsize: Any = ..., *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator LRN on symbols (data); attributes: alpha, beta, knorm, nsize."""
def LayerNorm(data: Any = None, gamma: Any = None, beta: Any = None, axis: Any = -1, eps: Any = 1e-05, output_mean_var: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator LayerNorm on symbols (data, gamma, beta); attributes: axis, eps, output_mean_var."""
def LeakyReLU(data: Any = None, gamma: Any = None, act_type: Any = 'leaky', slope: Any = 0.25, lower_bound: Any = 0.125, upper_bound: Any = 0.334, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator LeakyReLU on symbols (data, gamma); attributes: act_type, slope, lower_bound, upper_bound."""
def LinearRegressionOutput(data: Any = None, label: Any = None, grad_scale: Any = 1.0, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator LinearRegressionOutput on symbols (data, label); attributes: grad_scale."""
def LogisticRegressionOutput(data: Any = None, label: Any = None, grad_scale: Any = 1.0, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator LogisticRegressionOutput on symbols (data, label); attributes: grad_scale."""
def MAERegressionOutput(data: Any = None, label: Any = None, grad_scale: Any = 1.0, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator MAERegressionOutput on symbols (data, label); attributes: grad_scale."""
def MakeLoss(data: Any = None, grad_scale: Any = 1.0, valid_thresh: Any = 0.0, normalization: Any = 'null', *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator MakeLoss on symbols (data); attributes: grad_scale, valid_thresh, normalization."""
def Pad(data: Any = None, mode: Any = ..., pad_width: Any = ..., constant_value: Any = 0.0, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator Pad on symbols (data); attributes: mode, pad_width, constant_value."""
def Pooling(data: Any = None, kernel: Any = (), pool_type: Any = 'max', global_pool: Any = False, cudnn_off: Any = False, pooling_convention: Any = 'valid', stride: Any = (), pad: Any = (), p_value: Any = None, count_include_pad: Any = None, layout: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator Pooling on symbols (data); attributes: kernel, pool_type, global_pool, cudnn_off, pooling_convention, stride, pad, p_value, count_include_pad, layout."""
def Pooling_v1(data: Any = None, kernel: Any = (), pool_type: Any = 'max', global_pool: Any = False, cudnn_off: Any = False, pooling_convention: Any = 'valid', stride: Any = (), pad: Any = (), p_value: Any = None, count_include_pad: Any = None, layout: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator Pooling_v1 on symbols (data); attributes: kernel, pool_type, global_pool, cudnn_off, pooling_convention, stride, pad, p_value, count_include_pad, layout."""
def RNN(data: Any = None, parameters: Any = None, state: Any = None, state_cell: Any = None, sequence_length: Any = None, state_size: Any = ..., num_layers: Any = ..., bidirectional: Any = False, mode: Any = ..., p: Any = 0.0, state_outputs: Any = False, projection_size: Any = None, lstm_state_clip_min: Any = None, lstm_state_clip_max: Any = None, lstm_state_clip_nan: Any = False, use_sequence_length: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator RNN on symbols (data, parameters, state, state_cell, sequence_length); attributes: state_size, num_layers, bidirectional, mode, p, state_outputs, projection_size, lstm_state_clip_min, lstm_state_clip_max, lstm_state_clip_nan, use_sequence_length."""
def ROIPooling(data: Any = None, rois: Any = None, pooled_size: Any = ..., spatial_scale: Any = ..., *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator ROIPooling on symbols (data, rois); attributes: pooled_size, spatial_scale."""
def Reshape(data: Any = None, shape: Any = (), reverse: Any = False, target_shape: Any = (), keep_highest: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator Reshape on symbols (data); attributes: shape, reverse, target_shape, keep_highest."""
def SVMOutput(data: Any = None, label: Any = None, margin: Any = 1.0, regularization_coefficient: Any = 1.0, use_linear: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator SVMOutput on symbols (data, label); attributes: margin, regularization_coefficient, use_linear."""
def SequenceLast(data: Any = None, sequence_length: Any = None, use_sequence_length: Any = False, axis: Any = 0, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator SequenceLast on symbols (data, sequence_length); attributes: use_sequence_length, axis."""
def SequenceMask(data: Any = None, sequence_length: Any = None, use_sequence_length: Any = False, value: Any = 0.0, axis: Any = 0, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator SequenceMask on symbols (data, sequence_length); attributes: use_sequence_length, value, axis."""
def SequenceReverse(data: Any = None, sequence_length: Any = None, use_sequence_length: Any = False, axis: Any = 0, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator SequenceReverse on symbols (data, sequence_length); attributes: use_sequence_length, axis."""
def SliceChannel(data: Any = None, num_outputs: Any = ..., axis: Any = 1, squeeze_axis: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator SliceChannel on symbols (data); attributes: num_outputs, axis, squeeze_axis."""
def Softmax(data: Any = None, label: Any = None, grad_scale: Any = 1.0, ignore_label: Any = -1.0, multi_output: Any = False, use_ignore: Any = False, preserve_shape: Any = False, normalization: Any = 'null', out_grad: Any = False, smooth_alpha: Any = 0.0, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator SoftmaxOutput on symbols (data, label); attributes: grad_scale, ignore_label, multi_output, use_ignore, preserve_shape, normalization, out_grad, smooth_alpha."""
def SoftmaxActivation(data: Any = None, mode: Any = 'instance', *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator SoftmaxActivation on symbols (data); attributes: mode."""
def SoftmaxOutput(data: Any = None, label: Any = None, grad_scale: Any = 1.0, ignore_label: Any = -1.0, multi_output: Any = False, use_ignore: Any = False, preserve_shape: Any = False, normalization: Any = 'null', out_grad: Any = False, smooth_alpha: Any = 0.0, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator SoftmaxOutput on symbols (data, label); attributes: grad_scale, ignore_label, multi_output, use_ignore, preserve_shape, normalization, out_grad, smooth_alpha."""
def SpatialTransformer(data: Any = None, loc: Any = None, target_shape: Any = (0, 0), transform_type: Any = ..., sampler_type: Any = ..., cudnn_off: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator SpatialTransformer on symbols (data, loc); attributes: target_shape, transform_type, sampler_type, cudnn_off."""
def SwapAxis(data: Any = None, dim1: Any = 0, dim2: Any = 0, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator SwapAxis on symbols (data); attributes: dim1, dim2."""
def UpSampling(*data: Any, scale: Any, num_filter: Any = 0, sample_type: Any, multi_input_mode: Any = 'concat', workspace: Any = 512, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator UpSampling on symbols (*data); attributes: scale, num_filter, sample_type, multi_input_mode, workspace."""
_internal: Any
def abs(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator abs on symbols (data); attributes: none."""
def adam_update(weight: Any = None, grad: Any = None, mean: Any = None, var: Any = None, lr: Any = ..., beta1: Any = 0.9, beta2: Any = 0.999, epsilon: Any = 1e-08, wd: Any = 0.0, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, lazy_update: Any = True, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator adam_update on symbols (weight, grad, mean, var); attributes: lr, beta1, beta2, epsilon, wd, rescale_grad, clip_gradient, lazy_update."""
def add_n(*args: Any, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator add_n on symbols (*args); attributes: none."""
def all_finite(data: Any = None, init_output: Any = True, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator all_finite on symbols (data); attributes: init_output."""
def amp_cast(data: Any = None, dtype: Any = ..., *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator amp_cast on symbols (data); attributes: dtype."""
def amp_multicast(*data: Any, num_outputs: Any, cast_narrow: Any = False, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator amp_multicast on symbols (*data); attributes: num_outputs, cast_narrow."""
def arange(start: float, stop: float | None = None, step: float = 1.0, repeat: int = 1, infer_range: bool = False, name: str | None = None, dtype: Any = None) -> Symbol:
    """Return a symbol of equally spaced numbers, each `repeat` times."""
def arccos(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator arccos on symbols (data); attributes: none."""
def arccosh(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator arccosh on symbols (data); attributes: none."""
def arcsin(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator arcsin on symbols (data); attributes: none."""
def arcsinh(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator arcsinh on symbols (data); attributes: none."""
def arctan(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator arctan on symbols (data); attributes: none."""
def arctanh(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator arctanh on symbols (data); attributes: none."""
def argmax(data: Any = None, axis: Any = None, keepdims: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator argmax on symbols (data); attributes: axis, keepdims."""
def argmax_channel(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator argmax_channel on symbols (data); attributes: none."""
def argmin(data: Any = None, axis: Any = None, keepdims: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator argmin on symbols (data); attributes: axis, keepdims."""
def argsort(data: Any = None, axis: Any = -1, is_ascend: Any = True, dtype: Any = 'float32', *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator argsort on symbols (data); attributes: axis, is_ascend, dtype."""
def batch_dot(lhs: Any = None, rhs: Any = None, transpose_a: Any = False, transpose_b: Any = False, forward_stype: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator batch_dot on symbols (lhs, rhs); attributes: transpose_a, transpose_b, forward_stype."""
def batch_take(a: Any = None, indices: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator batch_take on symbols (a, indices); attributes: none."""
def broadcast_add(lhs: Any = None, rhs: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator broadcast_add on symbols (lhs, rhs); attributes: none."""
def broadcast_axes(data: Any = None, axis: Any = (), size: Any = (), *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator broadcast_axis on symbols (data); attributes: axis, size."""
def broadcast_axis(data: Any = None, axis: Any = (), size: Any = (), *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator broadcast_axis on symbols (data); attributes: axis, size."""
def broadcast_div(lhs: Any = None, rhs: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator broadcast_div on symbols (lhs, rhs); attributes: none."""
def broadcast_equal(lhs: Any = None, rhs: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator broadcast_equal on symbols (lhs, rhs); attributes: none."""
def broadcast_greater(lhs: Any = None, rhs: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator broadcast_greater on symbols (lhs, rhs); attributes: none."""
def broadcast_greater_equal(lhs: Any = None, rhs: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator broadcast_greater_equal on symbols (lhs, rhs); attributes: none."""
def broadcast_hypot(lhs: Any = None, rhs: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator broadcast_hypot on symbols (lhs, rhs); attributes: none."""
def broadcast_lesser(lhs: Any = None, rhs: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator broadcast_lesser on symbols (lhs, rhs); attributes: none."""
def broadcast_lesser_equal(lhs: Any = None, rhs: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator broadcast_lesser_equal on symbols (lhs, rhs); attributes: none."""
def broadcast_like(lhs: Any = None, rhs: Any = None, lhs_axes: Any = None, rhs_axes: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator broadcast_like on symbols (lhs, rhs); attributes: lhs_axes, rhs_axes."""
def broadcast_logical_and(lhs: Any = None, rhs: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator broadcast_logical_and on symbols (lhs, rhs); attributes: none."""
def broadcast_logical_or(lhs: Any = None, rhs: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator broadcast_logical_or on symbols (lhs, rhs); attributes: none."""
def broadcast_logical_xor(lhs: Any = None, rhs: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator broadcast_logical_xor on symbols (lhs, rhs); attributes: none."""
def broadcast_maximum(lhs: Any = None, rhs: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator broadcast_maximum on symbols (lhs, rhs); attributes: none."""
def broadcast_minimum(lhs: Any = None, rhs: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator broadcast_minimum on symbols (lhs, rhs); attributes: none."""
def broadcast_minus(lhs: Any = None, rhs: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator broadcast_sub on symbols (lhs, rhs); attributes: none."""
def broadcast_mod(lhs: Any = None, rhs: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator broadcast_mod on symbols (lhs, rhs); attributes: none."""
def broadcast_mul(lhs: Any = None, rhs: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator broadcast_mul on symbols (lhs, rhs); attributes: none."""
def broadcast_not_equal(lhs: Any = None, rhs: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator broadcast_not_equal on symbols (lhs, rhs); attributes: none."""
def broadcast_plus(lhs: Any = None, rhs: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator broadcast_add on symbols (lhs, rhs); attributes: none."""
def broadcast_power(lhs: Any = None, rhs: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator broadcast_power on symbols (lhs, rhs); attributes: none."""
def broadcast_sub(lhs: Any = None, rhs: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator broadcast_sub on symbols (lhs, rhs); attributes: none."""
def broadcast_to(data: Any = None, shape: Any = (), *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator broadcast_to on symbols (data); attributes: shape."""
def cast(data: Any = None, dtype: Any = ..., *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator Cast on symbols (data); attributes: dtype."""
def cast_storage(data: Any = None, stype: Any = ..., *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator cast_storage on symbols (data); attributes: stype."""
def cbrt(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator cbrt on symbols (data); attributes: none."""
def ceil(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator ceil on symbols (data); attributes: none."""
def choose_element_0index(data: Any = None, index: Any = None, axis: Any = -1, keepdims: Any = False, mode: Any = 'clip', *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator pick on symbols (data, index); attributes: axis, keepdims, mode."""
def clip(data: Any = None, a_min: Any = ..., a_max: Any = ..., *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator clip on symbols (data); attributes: a_min, a_max."""
def col2im(data: Any = None, output_size: Any = ..., kernel: Any = ..., stride: Any = (), dilate: Any = (), pad: Any = (), *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator col2im on symbols (data); attributes: output_size, kernel, stride, dilate, pad."""
def concat(*data: Any, dim: Any = 1, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator Concat on symbols (*data); attributes: dim."""
contrib: Any
def cos(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator cos on symbols (data); attributes: none."""
def cosh(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator cosh on symbols (data); attributes: none."""
def crop(data: Any = None, begin: Any = ..., end: Any = ..., step: Any = (), *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator slice on symbols (data); attributes: begin, end, step."""
def ctc_loss(data: Any = None, label: Any = None, data_lengths: Any = None, label_lengths: Any = None, use_data_lengths: Any = False, use_label_lengths: Any = False, blank_label: Any = 'first', *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator CTCLoss on symbols (data, label, data_lengths, label_lengths); attributes: use_data_lengths, use_label_lengths, blank_label."""
def cumsum(a: Any = None, axis: Any = None, dtype: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _npi_cumsum on symbols (a); attributes: axis, dtype."""
def degrees(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator degrees on symbols (data); attributes: none."""
def depth_to_space(data: Any = None, block_size: Any = ..., *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator depth_to_space on symbols (data); attributes: block_size."""
def diag(data: Any = None, k: Any = 0, axis1: Any = 0, axis2: Any = 1, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator diag on symbols (data); attributes: k, axis1, axis2."""
def digamma(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator digamma on symbols (data); attributes: none."""
def dot(lhs: Any = None, rhs: Any = None, transpose_a: Any = False, transpose_b: Any = False, forward_stype: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator dot on symbols (lhs, rhs); attributes: transpose_a, transpose_b, forward_stype."""
def elemwise_add(lhs: Any = None, rhs: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator elemwise_add on symbols (lhs, rhs); attributes: none."""
def elemwise_div(lhs: Any = None, rhs: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator elemwise_div on symbols (lhs, rhs); attributes: none."""
def elemwise_mul(lhs: Any = None, rhs: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator elemwise_mul on symbols (lhs, rhs); attributes: none."""
def elemwise_sub(lhs: Any = None, rhs: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator elemwise_sub on symbols (lhs, rhs); attributes: none."""
def erf(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator erf on symbols (data); attributes: none."""
def erfinv(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator erfinv on symbols (data); attributes: none."""
def exp(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator exp on symbols (data); attributes: none."""
def expand_dims(data: Any = None, axis: Any = ..., *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator expand_dims on symbols (data); attributes: axis."""
def expm1(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator expm1 on symbols (data); attributes: none."""
def eye(N: int, M: int = 0, k: int = 0, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Return a symbol of ones on a diagonal."""
def fill_element_0index(lhs: Any = None, mhs: Any = None, rhs: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator fill_element_0index on symbols (lhs, mhs, rhs); attributes: none."""
def fix(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator fix on symbols (data); attributes: none."""
def flatten(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator Flatten on symbols (data); attributes: none."""
def flip(data: Any = None, axis: Any = ..., *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator reverse on symbols (data); attributes: axis."""
def floor(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator floor on symbols (data); attributes: none."""
def ftml_update(weight: Any = None, grad: Any = None, d: Any = None, v: Any = None, z: Any = None, lr: Any = ..., beta1: Any = 0.6, beta2: Any = 0.999, epsilon: Any = 1e-08, t: Any = ..., wd: Any = 0.0, rescale_grad: Any = 1.0, clip_grad: Any = -1.0, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator ftml_update on symbols (weight, grad, d, v, z); attributes: lr, beta1, beta2, epsilon, t, wd, rescale_grad, clip_grad."""
def ftrl_update(weight: Any = None, grad: Any = None, z: Any = None, n: Any = None, lr: Any = ..., lamda1: Any = 0.01, beta: Any = 1.0, wd: Any = 0.0, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator ftrl_update on symbols (weight, grad, z, n); attributes: lr, lamda1, beta, wd, rescale_grad, clip_gradient."""
def full(shape: Any, val: float, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Return a symbol of one number throughout, float32 unless `dtype` says otherwise."""
def gamma(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator gamma on symbols (data); attributes: none."""
def gammaln(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator gammaln on symbols (data); attributes: none."""
def gather_nd(data: Any = None, indices: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator gather_nd on symbols (data, indices); attributes: none."""
def hard_sigmoid(data: Any = None, alpha: Any = 0.2, beta: Any = 0.5, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator hard_sigmoid on symbols (data); attributes: alpha, beta."""
def histogram(a: Any, bins: Any = 10, range: Any = None, **kwargs: Any) -> Symbol:
    """Return a symbol of counts and of the edges between which they are: a number of bins within `range`, or edges."""
def hypot(left: Any, right: Any, **kwargs: Any) -> Symbol:
    """The operator _hypot on symbols (lhs, rhs); attributes: none."""
def identity(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _copy on symbols (data); attributes: none."""
def im2col(data: Any = None, kernel: Any = ..., stride: Any = (), dilate: Any = (), pad: Any = (), *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator im2col on symbols (data); attributes: kernel, stride, dilate, pad."""
image: Any
def khatri_rao(*args: Any, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator khatri_rao on symbols (*args); attributes: none."""
def lamb_update_phase1(weight: Any = None, grad: Any = None, mean: Any = None, var: Any = None, beta1: Any = 0.9, beta2: Any = 0.999, epsilon: Any = 1e-06, t: Any = ..., bias_correction: Any = True, wd: Any = ..., rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator lamb_update_phase1 on symbols (weight, grad, mean, var); attributes: beta1, beta2, epsilon, t, bias_correction, wd, rescale_grad, clip_gradient."""
def lamb_update_phase2(weight: Any = None, g: Any = None, r1: Any = None, r2: Any = None, lr: Any = ..., lower_bound: Any = -1.0, upper_bound: Any = -1.0, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator lamb_update_phase2 on symbols (weight, g, r1, r2); attributes: lr, lower_bound, upper_bound."""
linalg: Any
def linalg_det(A: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _linalg_det on symbols (A); attributes: none."""
def linalg_extractdiag(A: Any = None, offset: Any = 0, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _linalg_extractdiag on symbols (A); attributes: offset."""
def linalg_extracttrian(A: Any = None, offset: Any = 0, lower: Any = True, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _linalg_extracttrian on symbols (A); attributes: offset, lower."""
def linalg_gelqf(A: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _linalg_gelqf on symbols (A); attributes: none."""
def linalg_gemm(A: Any = None, B: Any = None, C: Any = None, transpose_a: Any = False, transpose_b: Any = False, alpha: Any = 1.0, beta: Any = 1.0, axis: Any = -2, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _linalg_gemm on symbols (A, B, C); attributes: transpose_a, transpose_b, alpha, beta, axis."""
def linalg_gemm2(A: Any = None, B: Any = None, transpose_a: Any = False, transpose_b: Any = False, alpha: Any = 1.0, axis: Any = -2, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _linalg_gemm2 on symbols (A, B); attributes: transpose_a, transpose_b, alpha, axis."""
def linalg_inverse(A: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _linalg_inverse on symbols (A); attributes: none."""
def linalg_makediag(A: Any = None, offset: Any = 0, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _linalg_makediag on symbols (A); attributes: offset."""
def linalg_maketrian(A: Any = None, offset: Any = 0, lower: Any = True, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _linalg_maketrian on symbols (A); attributes: offset, lower."""
def linalg_potrf(A: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _linalg_potrf on symbols (A); attributes: none."""
def linalg_potri(A: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _linalg_potri on symbols (A); attributes: none."""
def linalg_slogdet(A: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _linalg_slogdet on symbols (A); attributes: none."""
def linalg_sumlogdiag(A: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _linalg_sumlogdiag on symbols (A); attributes: none."""
def linalg_syevd(A: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _linalg_syevd on symbols (A); attributes: none."""
def linalg_syrk(A: Any = None, transpose: Any = False, alpha: Any = 1.0, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _linalg_syrk on symbols (A); attributes: transpose, alpha."""
def linalg_trmm(A: Any = None, B: Any = None, transpose: Any = False, rightside: Any = False, lower: Any = True, alpha: Any = 1.0, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _linalg_trmm on symbols (A, B); attributes: transpose, rightside, lower, alpha."""
def linalg_trsm(A: Any = None, B: Any = None, transpose: Any = False, rightside: Any = False, lower: Any = True, alpha: Any = 1.0, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _linalg_trsm on symbols (A, B); attributes: transpose, rightside, lower, alpha."""
def linspace(start: float, stop: float, num: int, endpoint: bool = True, name: str | None = None, dtype: Any = None) -> Symbol:
    """Return a symbol of `num` numbers from `start` to `stop`."""
def log(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator log on symbols (data); attributes: none."""
def log10(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator log10 on symbols (data); attributes: none."""
def log1p(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator log1p on symbols (data); attributes: none."""
def log2(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator log2 on symbols (data); attributes: none."""
def log_sigmoid(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator log_sigmoid on symbols (data); attributes: none."""
def log_softmax(data: Any = None, length: Any = None, axis: Any = -1, temperature: Any = None, dtype: Any = None, use_length: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator log_softmax on symbols (data, length); attributes: axis, temperature, dtype, use_length."""
def logical_not(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator logical_not on symbols (data); attributes: none."""
def make_loss(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator make_loss on symbols (data); attributes: none."""
def masked_log_softmax(data: Any = None, mask: Any = None, axis: Any = -1, temperature: Any = None, normalize: Any = True, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator masked_log_softmax on symbols (data, mask); attributes: axis, temperature, normalize."""
def masked_softmax(data: Any = None, mask: Any = None, axis: Any = -1, temperature: Any = None, normalize: Any = True, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator masked_softmax on symbols (data, mask); attributes: axis, temperature, normalize."""
def max(data: Any = None, axis: Any = None, keepdims: Any = False, exclude: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator max on symbols (data); attributes: axis, keepdims, exclude."""
def max_axis(data: Any = None, axis: Any = None, keepdims: Any = False, exclude: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator max on symbols (data); attributes: axis, keepdims, exclude."""
def maximum(left: Any, right: Any, **kwargs: Any) -> Symbol:
    """The operator _maximum on symbols (lhs, rhs); attributes: none."""
def mean(data: Any = None, axis: Any = None, keepdims: Any = False, exclude: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator mean on symbols (data); attributes: axis, keepdims, exclude."""
def min(data: Any = None, axis: Any = None, keepdims: Any = False, exclude: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator min on symbols (data); attributes: axis, keepdims, exclude."""
def min_axis(data: Any = None, axis: Any = None, keepdims: Any = False, exclude: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator min on symbols (data); attributes: axis, keepdims, exclude."""
def minimum(left: Any, right: Any, **kwargs: Any) -> Symbol:
    """The operator _minimum on symbols (lhs, rhs); attributes: none."""
def mish(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator mish on symbols (data); attributes: none."""
def moments(data: Any = None, axes: Any = None, keepdims: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator moments on symbols (data); attributes: axes, keepdims."""
def mp_lamb_update_phase1(weight: Any = None, grad: Any = None, mean: Any = None, var: Any = None, weight32: Any = None, beta1: Any = 0.9, beta2: Any = 0.999, epsilon: Any = 1e-06, t: Any = ..., bias_correction: Any = True, wd: Any = ..., rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator mp_lamb_update_phase1 on symbols (weight, grad, mean, var, weight32); attributes: beta1, beta2, epsilon, t, bias_correction, wd, rescale_grad, clip_gradient."""
def mp_lamb_update_phase2(weight: Any = None, g: Any = None, r1: Any = None, r2: Any = None, weight32: Any = None, lr: Any = ..., lower_bound: Any = -1.0, upper_bound: Any = -1.0, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator mp_lamb_update_phase2 on symbols (weight, g, r1, r2, weight32); attributes: lr, lower_bound, upper_bound."""
def mp_nag_mom_update(weight: Any = None, grad: Any = None, mom: Any = None, weight32: Any = None, lr: Any = ..., momentum: Any = 0.0, wd: Any = 0.0, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator mp_nag_mom_update on symbols (weight, grad, mom, weight32); attributes: lr, momentum, wd, rescale_grad, clip_gradient."""
def mp_sgd_mom_update(weight: Any = None, grad: Any = None, mom: Any = None, weight32: Any = None, lr: Any = ..., momentum: Any = 0.0, wd: Any = 0.0, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, lazy_update: Any = True, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator mp_sgd_mom_update on symbols (weight, grad, mom, weight32); attributes: lr, momentum, wd, rescale_grad, clip_gradient, lazy_update."""
def mp_sgd_update(weight: Any = None, grad: Any = None, weight32: Any = None, lr: Any = ..., wd: Any = 0.0, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, lazy_update: Any = True, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator mp_sgd_update on symbols (weight, grad, weight32); attributes: lr, wd, rescale_grad, clip_gradient, lazy_update."""
def multi_all_finite(*data: Any, num_arrays: Any = 1, init_output: Any = True, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator multi_all_finite on symbols (*data); attributes: num_arrays, init_output."""
def multi_lars(lrs: Any = None, weights_sum_sq: Any = None, grads_sum_sq: Any = None, wds: Any = None, eta: Any = ..., eps: Any = ..., rescale_grad: Any = 1.0, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator multi_lars on symbols (lrs, weights_sum_sq, grads_sum_sq, wds); attributes: eta, eps, rescale_grad."""
def multi_mp_sgd_mom_update(*data: Any, lrs: Any, wds: Any, momentum: Any = 0.0, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, num_weights: Any = 1, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator multi_mp_sgd_mom_update on symbols (*data); attributes: lrs, wds, momentum, rescale_grad, clip_gradient, num_weights."""
def multi_mp_sgd_update(*data: Any, lrs: Any, wds: Any, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, num_weights: Any = 1, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator multi_mp_sgd_update on symbols (*data); attributes: lrs, wds, rescale_grad, clip_gradient, num_weights."""
def multi_sgd_mom_update(*data: Any, lrs: Any, wds: Any, momentum: Any = 0.0, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, num_weights: Any = 1, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator multi_sgd_mom_update on symbols (*data); attributes: lrs, wds, momentum, rescale_grad, clip_gradient, num_weights."""
def multi_sgd_update(*data: Any, lrs: Any, wds: Any, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, num_weights: Any = 1, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator multi_sgd_update on symbols (*data); attributes: lrs, wds, rescale_grad, clip_gradient, num_weights."""
def multi_sum_sq(*data: Any, num_arrays: Any, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator multi_sum_sq on symbols (*data); attributes: num_arrays."""
def nag_mom_update(weight: Any = None, grad: Any = None, mom: Any = None, lr: Any = ..., momentum: Any = 0.0, wd: Any = 0.0, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator nag_mom_update on symbols (weight, grad, mom); attributes: lr, momentum, wd, rescale_grad, clip_gradient."""
def nanprod(data: Any = None, axis: Any = None, keepdims: Any = False, exclude: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator nanprod on symbols (data); attributes: axis, keepdims, exclude."""
def nansum(data: Any = None, axis: Any = None, keepdims: Any = False, exclude: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator nansum on symbols (data); attributes: axis, keepdims, exclude."""
def negative(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator negative on symbols (data); attributes: none."""
def norm(data: Any = None, ord: Any = 2, axis: Any = None, out_dtype: Any = None, keepdims: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator norm on symbols (data); attributes: ord, axis, out_dtype, keepdims."""
def normal(loc: Any = 0.0, scale: Any = 1.0, shape: Any = None, ctx: Any = '', dtype: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _random_normal on symbols (no inputs); attributes: loc, scale, shape, ctx, dtype."""
np: Any
npx: Any
def one_hot(indices: Any = None, depth: Any = ..., on_value: Any = 1.0, off_value: Any = 0.0, dtype: Any = 'float32', *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator one_hot on symbols (indices); attributes: depth, on_value, off_value, dtype."""
def ones(shape: Any, dtype: Any = None, **kwargs: Any) -> Symbol:
    """A symbol of ones, of a shape and a dtype (float32)."""
def ones_like(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator ones_like on symbols (data); attributes: none."""
def pad(data: Any = None, mode: Any = ..., pad_width: Any = ..., constant_value: Any = 0.0, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator Pad on symbols (data); attributes: mode, pad_width, constant_value."""
def pick(data: Any = None, index: Any = None, axis: Any = -1, keepdims: Any = False, mode: Any = 'clip', *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator pick on symbols (data, index); attributes: axis, keepdims, mode."""
def pow(base: Any, exp: Any, **kwargs: Any) -> Symbol:
    """The operator _power on symbols (lhs, rhs); attributes: none."""
def power(base: Any, exp: Any, **kwargs: Any) -> Symbol:
    """The operator _power on symbols (lhs, rhs); attributes: none."""
def preloaded_multi_mp_sgd_mom_update(*data: Any, momentum: Any = 0.0, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, num_weights: Any = 1, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator preloaded_multi_mp_sgd_mom_update on symbols (*data); attributes: momentum, rescale_grad, clip_gradient, num_weights."""
def preloaded_multi_mp_sgd_update(*data: Any, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, num_weights: Any = 1, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator preloaded_multi_mp_sgd_update on symbols (*data); attributes: rescale_grad, clip_gradient, num_weights."""
def preloaded_multi_sgd_mom_update(*data: Any, momentum: Any = 0.0, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, num_weights: Any = 1, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator preloaded_multi_sgd_mom_update on symbols (*data); attributes: momentum, rescale_grad, clip_gradient, num_weights."""
def preloaded_multi_sgd_update(*data: Any, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, num_weights: Any = 1, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator preloaded_multi_sgd_update on symbols (*data); attributes: rescale_grad, clip_gradient, num_weights."""
def prod(data: Any = None, axis: Any = None, keepdims: Any = False, exclude: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator prod on symbols (data); attributes: axis, keepdims, exclude."""
def quantized_reshape(data: Any = None, min_data: Any = None, max_data: Any = None, shape: Any = (), reverse: Any = False, target_shape: Any = (), keep_highest: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _contrib_quantized_reshape on symbols (data, min_data, max_data); attributes: shape, reverse, target_shape, keep_highest."""
def quantized_transpose(data: Any = None, min_data: Any = None, max_data: Any = None, axes: Any = (), *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _contrib_quantized_transpose on symbols (data, min_data, max_data); attributes: axes."""
def radians(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator radians on symbols (data); attributes: none."""
random: Any
def random_binomial(n: Any = 1.0, p: Any = 1.0, shape: Any = None, ctx: Any = '', dtype: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _random_binomial on symbols (no inputs); attributes: n, p, shape, ctx, dtype."""
def random_exponential(lam: Any = 1.0, shape: Any = None, ctx: Any = '', dtype: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _random_exponential on symbols (no inputs); attributes: lam, shape, ctx, dtype."""
def random_gamma(alpha: Any = 1.0, beta: Any = 1.0, shape: Any = None, ctx: Any = '', dtype: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _random_gamma on symbols (no inputs); attributes: alpha, beta, shape, ctx, dtype."""
def random_generalized_negative_binomial(mu: Any = 1.0, alpha: Any = 1.0, shape: Any = None, ctx: Any = '', dtype: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _random_generalized_negative_binomial on symbols (no inputs); attributes: mu, alpha, shape, ctx, dtype."""
def random_negative_binomial(k: Any = 1.0, p: Any = 1.0, shape: Any = None, ctx: Any = '', dtype: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _random_negative_binomial on symbols (no inputs); attributes: k, p, shape, ctx, dtype."""
def random_normal(loc: Any = 0.0, scale: Any = 1.0, shape: Any = None, ctx: Any = '', dtype: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _random_normal on symbols (no inputs); attributes: loc, scale, shape, ctx, dtype."""
def random_pdf_dirichlet(sample: Any = None, alpha: Any = None, is_log: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _random_pdf_dirichlet on symbols (sample, alpha); attributes: is_log."""
def random_pdf_exponential(sample: Any = None, lam: Any = None, is_log: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _random_pdf_exponential on symbols (sample, lam); attributes: is_log."""
def random_pdf_gamma(sample: Any = None, alpha: Any = None, beta: Any = None, is_log: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _random_pdf_gamma on symbols (sample, alpha, beta); attributes: is_log."""
def random_pdf_generalized_negative_binomial(sample: Any = None, mu: Any = None, alpha: Any = None, is_log: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _random_pdf_generalized_negative_binomial on symbols (sample, mu, alpha); attributes: is_log."""
def random_pdf_negative_binomial(sample: Any = None, k: Any = None, p: Any = None, is_log: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _random_pdf_negative_binomial on symbols (sample, k, p); attributes: is_log."""
def random_pdf_normal(sample: Any = None, mu: Any = None, sigma: Any = None, is_log: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _random_pdf_normal on symbols (sample, mu, sigma); attributes: is_log."""
def random_pdf_poisson(sample: Any = None, lam: Any = None, is_log: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _random_pdf_poisson on symbols (sample, lam); attributes: is_log."""
def random_pdf_uniform(sample: Any = None, low: Any = None, high: Any = None, is_log: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _random_pdf_uniform on symbols (sample, low, high); attributes: is_log."""
def random_poisson(lam: Any = 1.0, shape: Any = None, ctx: Any = '', dtype: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _random_poisson on symbols (no inputs); attributes: lam, shape, ctx, dtype."""
def random_randint(low: Any, high: Any, shape: Any = None, ctx: Any = '', dtype: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _random_randint on symbols (no inputs); attributes: low, high, shape, ctx, dtype."""
def random_uniform(low: Any = 0.0, high: Any = 1.0, shape: Any = None, ctx: Any = '', dtype: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _random_uniform on symbols (no inputs); attributes: low, high, shape, ctx, dtype."""
def ravel_multi_index(data: Any = None, shape: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _ravel_multi_index on symbols (data); attributes: shape."""
def rcbrt(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator rcbrt on symbols (data); attributes: none."""
def reciprocal(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator reciprocal on symbols (data); attributes: none."""
def relu(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator relu on symbols (data); attributes: none."""
def repeat(data: Any = None, repeats: Any = ..., axis: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator repeat on symbols (data); attributes: repeats, axis."""
def reset_arrays(*data: Any, num_arrays: Any, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator reset_arrays on symbols (*data); attributes: num_arrays."""
def reshape(data: Any = None, shape: Any = (), reverse: Any = False, target_shape: Any = (), keep_highest: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator Reshape on symbols (data); attributes: shape, reverse, target_shape, keep_highest."""
def reshape_like(lhs: Any = None, rhs: Any = None, lhs_begin: Any = None, lhs_end: Any = None, rhs_begin: Any = None, rhs_end: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator reshape_like on symbols (lhs, rhs); attributes: lhs_begin, lhs_end, rhs_begin, rhs_end."""
def reverse(data: Any = None, axis: Any = ..., *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator reverse on symbols (data); attributes: axis."""
def rint(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator rint on symbols (data); attributes: none."""
def rmsprop_update(weight: Any = None, grad: Any = None, n: Any = None, lr: Any = ..., gamma1: Any = 0.95, epsilon: Any = 1e-08, wd: Any = 0.0, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, clip_weights: Any = -1.0, rho: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator rmsprop_update on symbols (weight, grad, n); attributes: lr, gamma1, epsilon, wd, rescale_grad, clip_gradient, clip_weights, rho."""
def rmspropalex_update(weight: Any = None, grad: Any = None, n: Any = None, g: Any = None, delta: Any = None, lr: Any = ..., gamma1: Any = 0.95, gamma2: Any = 0.9, epsilon: Any = 1e-08, wd: Any = 0.0, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, clip_weights: Any = -1.0, rho: Any = None, momentum: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator rmspropalex_update on symbols (weight, grad, n, g, delta); attributes: lr, gamma1, gamma2, epsilon, wd, rescale_grad, clip_gradient, clip_weights, rho, momentum."""
def round(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator round on symbols (data); attributes: none."""
def rsqrt(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator rsqrt on symbols (data); attributes: none."""
def sample_binomial(n: Any = None, p: Any = None, shape: Any = (), dtype: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _sample_binomial on symbols (n, p); attributes: shape, dtype."""
def sample_categorical(data: Any = None, shape: Any = (), get_prob: Any = False, dtype: Any = 'int32', *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _sample_categorical on symbols (data); attributes: shape, get_prob, dtype."""
def sample_exponential(lam: Any = None, shape: Any = (), dtype: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _sample_exponential on symbols (lam); attributes: shape, dtype."""
def sample_gamma(alpha: Any = None, beta: Any = None, shape: Any = (), dtype: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _sample_gamma on symbols (alpha, beta); attributes: shape, dtype."""
def sample_generalized_negative_binomial(mu: Any = None, alpha: Any = None, shape: Any = (), dtype: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _sample_generalized_negative_binomial on symbols (mu, alpha); attributes: shape, dtype."""
def sample_multinomial(data: Any = None, shape: Any = (), get_prob: Any = False, dtype: Any = 'int32', *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _sample_multinomial on symbols (data); attributes: shape, get_prob, dtype."""
def sample_negative_binomial(k: Any = None, p: Any = None, shape: Any = (), dtype: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _sample_negative_binomial on symbols (k, p); attributes: shape, dtype."""
def sample_normal(mu: Any = None, sigma: Any = None, shape: Any = (), dtype: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _sample_normal on symbols (mu, sigma); attributes: shape, dtype."""
def sample_poisson(lam: Any = None, shape: Any = (), dtype: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _sample_poisson on symbols (lam); attributes: shape, dtype."""
def sample_uniform(low: Any = None, high: Any = None, shape: Any = (), dtype: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _sample_uniform on symbols (low, high); attributes: shape, dtype."""
def scatter_nd(data: Any = None, indices: Any = None, shape: Any = ..., *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator scatter_nd on symbols (data, indices); attributes: shape."""
def sgd_mom_update(weight: Any = None, grad: Any = None, mom: Any = None, lr: Any = ..., momentum: Any = 0.0, wd: Any = 0.0, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, lazy_update: Any = True, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator sgd_mom_update on symbols (weight, grad, mom); attributes: lr, momentum, wd, rescale_grad, clip_gradient, lazy_update."""
def sgd_update(weight: Any = None, grad: Any = None, lr: Any = ..., wd: Any = 0.0, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, lazy_update: Any = True, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator sgd_update on symbols (weight, grad); attributes: lr, wd, rescale_grad, clip_gradient, lazy_update."""
def shape_array(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator shape_array on symbols (data); attributes: none."""
def shuffle(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _shuffle on symbols (data); attributes: none."""
def sigmoid(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator sigmoid on symbols (data); attributes: none."""
def sign(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator sign on symbols (data); attributes: none."""
def signsgd_update(weight: Any = None, grad: Any = None, lr: Any = ..., wd: Any = 0.0, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator signsgd_update on symbols (weight, grad); attributes: lr, wd, rescale_grad, clip_gradient."""
def signum_update(weight: Any = None, grad: Any = None, mom: Any = None, lr: Any = ..., momentum: Any = 0.0, wd: Any = 0.0, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, wd_lh: Any = 0.0, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator signum_update on symbols (weight, grad, mom); attributes: lr, momentum, wd, rescale_grad, clip_gradient, wd_lh."""
def sin(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator sin on symbols (data); attributes: none."""
def sinh(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator sinh on symbols (data); attributes: none."""
def size_array(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator size_array on symbols (data); attributes: none."""
def slice(data: Any = None, begin: Any = ..., end: Any = ..., step: Any = (), *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator slice on symbols (data); attributes: begin, end, step."""
def slice_axis(data: Any = None, axis: Any = ..., begin: Any = ..., end: Any = ..., *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator slice_axis on symbols (data); attributes: axis, begin, end."""
def slice_like(data: Any = None, shape_like: Any = None, axes: Any = (), *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator slice_like on symbols (data, shape_like); attributes: axes."""
def smooth_l1(data: Any = None, scalar: Any = 1.0, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator smooth_l1 on symbols (data); attributes: scalar."""
def softmax(data: Any = None, length: Any = None, axis: Any = -1, temperature: Any = None, dtype: Any = None, use_length: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator softmax on symbols (data, length); attributes: axis, temperature, dtype, use_length."""
def softmax_cross_entropy(data: Any = None, label: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator softmax_cross_entropy on symbols (data, label); attributes: none."""
def softmin(data: Any = None, axis: Any = -1, temperature: Any = None, dtype: Any = None, use_length: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator softmin on symbols (data); attributes: axis, temperature, dtype, use_length."""
def softsign(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator softsign on symbols (data); attributes: none."""
def sort(data: Any = None, axis: Any = -1, is_ascend: Any = True, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator sort on symbols (data); attributes: axis, is_ascend."""
def space_to_depth(data: Any = None, block_size: Any = ..., *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator space_to_depth on symbols (data); attributes: block_size."""
sparse: Any
def split(data: Any = None, num_outputs: Any = ..., axis: Any = 1, squeeze_axis: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator SliceChannel on symbols (data); attributes: num_outputs, axis, squeeze_axis."""
def split_v2(ary: Any, indices_or_sections: Any, axis: int = 0, squeeze_axis: bool = False) -> Symbol:
    """Return the parts of a symbol: so many equal ones, or those between the places of a tuple."""
def sqrt(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator sqrt on symbols (data); attributes: none."""
def square(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator square on symbols (data); attributes: none."""
def squeeze(data: Any = None, axis: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator squeeze on symbols (data); attributes: axis."""
def stack(*data: Any, axis: Any = 0, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator stack on symbols (*data); attributes: axis."""
def stop_gradient(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator BlockGrad on symbols (data); attributes: none."""
def sum(data: Any = None, axis: Any = None, keepdims: Any = False, exclude: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator sum on symbols (data); attributes: axis, keepdims, exclude."""
def sum_axis(data: Any = None, axis: Any = None, keepdims: Any = False, exclude: Any = False, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator sum on symbols (data); attributes: axis, keepdims, exclude."""
def swapaxes(data: Any = None, dim1: Any = 0, dim2: Any = 0, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator SwapAxis on symbols (data); attributes: dim1, dim2."""
def take(a: Any = None, indices: Any = None, axis: Any = 0, mode: Any = 'clip', *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator take on symbols (a, indices); attributes: axis, mode."""
def tan(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator tan on symbols (data); attributes: none."""
def tanh(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator tanh on symbols (data); attributes: none."""
def tile(data: Any = None, reps: Any = ..., *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator tile on symbols (data); attributes: reps."""
def topk(data: Any = None, axis: Any = -1, k: Any = 1, ret_typ: Any = 'indices', is_ascend: Any = False, dtype: Any = 'float32', *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator topk on symbols (data); attributes: axis, k, ret_typ, is_ascend, dtype."""
def transpose(data: Any = None, axes: Any = (), *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator transpose on symbols (data); attributes: axes."""
def trunc(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator trunc on symbols (data); attributes: none."""
def uniform(low: Any = 0.0, high: Any = 1.0, shape: Any = None, ctx: Any = '', dtype: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _random_uniform on symbols (no inputs); attributes: low, high, shape, ctx, dtype."""
def unravel_index(data: Any = None, shape: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator _unravel_index on symbols (data); attributes: shape."""
def where(condition: Any = None, x: Any = None, y: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator where on symbols (condition, x, y); attributes: none."""
def zeros(shape: Any, dtype: Any = None, **kwargs: Any) -> Symbol:
    """A symbol of zeros, of a shape and a dtype (float32)."""
def zeros_like(data: Any = None, *, name: Any = None, attr: Any = None, out: Any = None) -> Symbol:
    """The operator zeros_like on symbols (data); attributes: none."""
