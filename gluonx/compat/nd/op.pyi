# Made by `python -m tools.stubs --write` with JAX 0.10; do not edit.
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

from numpy import dtype as _dtype
from numpy.typing import ArrayLike

from gluonx.compat.nd.ndarray import NDArray as NDArray

def Activation(data: Any, act_type: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``Activation(data; act_type: {relu sigmoid softrelu softsign tanh log_sigmoid mish})``. Core operators: activation."""
def BatchNorm(data: Any, gamma: Any, beta: Any, moving_mean: Any, moving_var: Any, eps: Any = 0.001, momentum: Any = 0.9, fix_gamma: Any = True, use_global_stats: Any = False, output_mean_var: Any = False, axis: Any = 1, cudnn_off: Any = False, min_calib_range: Any = None, max_calib_range: Any = None, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``BatchNorm(data, gamma, beta, moving_mean, moving_var; eps: float=0.001, momentum: float=0.9, fix_gamma: bool=True, use_global_stats: bool=False, output_mean_var: bool=False, axis: int=1, cudnn_off: bool=False, min_calib_range: float?=None, max_calib_range: float?=None)``. Core operators: batch_norm."""
def BatchNorm_v1(data: Any, gamma: Any, beta: Any, moving_mean: Any, moving_var: Any, eps: Any = 0.001, momentum: Any = 0.9, fix_gamma: Any = True, use_global_stats: Any = False, output_mean_var: Any = False, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``BatchNorm_v1(data, gamma, beta, moving_mean, moving_var; eps: float=0.001, momentum: float=0.9, fix_gamma: bool=True, use_global_stats: bool=False, output_mean_var: bool=False)``. Core operators: batch_norm."""
def BilinearSampler(data: Any, grid: Any, cudnn_off: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``BilinearSampler(data, grid; cudnn_off: bool?=None)``. Core operators: bilinear_sampler."""
def BlockGrad(data: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``BlockGrad(data)``. Core operators: stop_gradient."""
def CTCLoss(data: Any, label: Any, data_lengths: Any = None, label_lengths: Any = None, use_data_lengths: Any = False, use_label_lengths: Any = False, blank_label: Any = 'first', *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``CTCLoss(data, label, data_lengths, label_lengths; use_data_lengths: bool=False, use_label_lengths: bool=False, blank_label: {first last}=first)``. Core operators: ctc_batch_loss."""
def Cast(data: Any, dtype: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``Cast(data; dtype: dtype)``. Core operators: cast."""
def Concat(*data: Any, dim: Any = 1, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``Concat(*data; dim: int=1)``. Core operators: concatenate."""
def Convolution(data: Any, weight: Any, bias: Any = None, kernel: Any = ..., stride: Any = (), dilate: Any = (), pad: Any = (), num_filter: Any = ..., num_group: Any = 1, workspace: Any = 1024, no_bias: Any = False, cudnn_tune: Any = None, cudnn_off: Any = False, layout: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``Convolution(data, weight, bias; kernel: shape, stride: shape=(), dilate: shape=(), pad: shape=(), num_filter: int, num_group: int=1, workspace: int=1024, no_bias: bool=False, cudnn_tune: str?=None, cudnn_off: bool=False, layout: str?=None)``. Core operators: convolution."""
def Convolution_v1(data: Any, weight: Any, bias: Any = None, kernel: Any = ..., stride: Any = (), dilate: Any = (), pad: Any = (), num_filter: Any = ..., num_group: Any = 1, workspace: Any = 1024, no_bias: Any = False, cudnn_tune: Any = None, cudnn_off: Any = False, layout: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``Convolution_v1(data, weight, bias; kernel: shape, stride: shape=(), dilate: shape=(), pad: shape=(), num_filter: int, num_group: int=1, workspace: int=1024, no_bias: bool=False, cudnn_tune: str?=None, cudnn_off: bool=False, layout: str?=None)``. Core operators: convolution."""
def Correlation(data1: Any, data2: Any, kernel_size: Any = 1, max_displacement: Any = 1, stride1: Any = 1, stride2: Any = 1, pad_size: Any = 0, is_multiply: Any = True, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``Correlation(data1, data2; kernel_size: int=1, max_displacement: int=1, stride1: int=1, stride2: int=1, pad_size: int=0, is_multiply: bool=True)``. Core operators: correlation."""
def Crop(*data: Any, offset: Any = (0, 0), h_w: Any = (0, 0), center_crop: Any = False, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``Crop(*data; offset: shape=(0, 0), h_w: shape=(0, 0), center_crop: bool=False)``. Core operators: slice."""
def Deconvolution(data: Any, weight: Any, bias: Any = None, kernel: Any = ..., stride: Any = (), dilate: Any = (), pad: Any = (), adj: Any = (), target_shape: Any = (), num_filter: Any = ..., num_group: Any = 1, workspace: Any = 512, no_bias: Any = True, cudnn_tune: Any = None, cudnn_off: Any = False, layout: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``Deconvolution(data, weight, bias; kernel: shape, stride: shape=(), dilate: shape=(), pad: shape=(), adj: shape=(), target_shape: shape=(), num_filter: int, num_group: int=1, workspace: int=512, no_bias: bool=True, cudnn_tune: str?=None, cudnn_off: bool=False, layout: str?=None)``. Core operators: deconvolution."""
def Dropout(data: Any, p: Any = 0.5, mode: Any = 'training', axes: Any = (), cudnn_off: Any = False, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``Dropout(data; p: float=0.5, mode: {always training}=training, axes: shape=(), cudnn_off: bool?=False)``. Core operators: dropout."""
def ElementWiseSum(*args: Any, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``add_n(*args)``. Core operators: add_n."""
def Embedding(data: Any, weight: Any, input_dim: Any, output_dim: Any, dtype: Any = 'float32', sparse_grad: Any = False, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``Embedding(data, weight; input_dim: int, output_dim: int, dtype: dtype=float32, sparse_grad: bool=False)``. Core operators: embedding."""
def Flatten(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``Flatten(data)``. Core operators: batch_flatten."""
def FullyConnected(data: Any, weight: Any, bias: Any = None, num_hidden: Any = ..., no_bias: Any = False, flatten: Any = True, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``FullyConnected(data, weight, bias; num_hidden: int, no_bias: bool=False, flatten: bool=True)``. Core operators: fully_connected."""
def GridGenerator(data: Any, transform_type: Any, target_shape: Any = (0, 0), *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``GridGenerator(data; transform_type: {affine warp}, target_shape: shape=(0, 0))``. Core operators: grid_generator."""
def GroupNorm(data: Any, gamma: Any, beta: Any, num_groups: Any = 1, eps: Any = 1e-05, output_mean_var: Any = False, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``GroupNorm(data, gamma, beta; num_groups: int=1, eps: float=1e-05, output_mean_var: bool=False)``. Core operators: group_norm."""
def IdentityAttachKLSparseReg(data: Any, moving_avg: Any, sparseness_target: Any = 0.1, penalty: Any = 0.001, momentum: Any = 0.9, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``IdentityAttachKLSparseReg(data, moving_avg; sparseness_target: float=0.1, penalty: float=0.001, momentum: float=0.9)``. Core operators: make_loss, stop_gradient, mean."""
def InstanceNorm(data: Any, gamma: Any, beta: Any, eps: Any = 0.001, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``InstanceNorm(data, gamma, beta; eps: float=0.001)``. Core operators: instance_norm."""
def L2Normalization(data: Any, eps: Any = 1e-10, mode: Any = 'instance', *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``L2Normalization(data; eps: float=1e-10, mode: {channel instance spatial}=instance)``. Core operators: l2_normalization."""
def LRN(data: Any, alpha: Any = 0.0001, beta: Any = 0.75, knorm: Any = 2.0, nsize: Any = ..., *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``LRN(data; alpha: float=0.0001, beta: float=0.75, knorm: float=2.0, nsize: int)``. Core operators: lrn."""
def LayerNorm(data: Any, gamma: Any, beta: Any, axis: Any = -1, eps: Any = 1e-05, output_mean_var: Any = False, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``LayerNorm(data, gamma, beta; axis: int=-1, eps: float=1e-05, output_mean_var: bool=False)``. Core operators: layer_norm."""
def LeakyReLU(data: Any, gamma: Any = None, act_type: Any = 'leaky', slope: Any = 0.25, lower_bound: Any = 0.125, upper_bound: Any = 0.334, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``LeakyReLU(data, gamma; act_type: {elu gelu gelu_erf gelu_tanh leaky prelu rrelu selu}=leaky, slope: float=0.25, lower_bound: float=0.125, upper_bound: float=0.334)``. Core operators: leaky_relu."""
def LinearRegressionOutput(data: Any, label: Any, grad_scale: Any = 1.0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``LinearRegressionOutput(data, label; grad_scale: float=1.0)``. Core operators: linear_regression_output."""
def LogisticRegressionOutput(data: Any, label: Any, grad_scale: Any = 1.0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``LogisticRegressionOutput(data, label; grad_scale: float=1.0)``. Core operators: logistic_regression_output."""
def MAERegressionOutput(data: Any, label: Any, grad_scale: Any = 1.0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``MAERegressionOutput(data, label; grad_scale: float=1.0)``. Core operators: mae_regression_output."""
def MakeLoss(data: Any, grad_scale: Any = 1.0, valid_thresh: Any = 0.0, normalization: Any = 'null', *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``MakeLoss(data; grad_scale: float=1.0, valid_thresh: float=0.0, normalization: {batch null valid}=null)``. Core operators: make_loss."""
def Pad(data: Any, mode: Any, pad_width: Any, constant_value: Any = 0.0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``Pad(data; mode: {constant edge reflect}, pad_width: shape, constant_value: float=0.0)``. Core operators: pad."""
def Pooling(data: Any, kernel: Any = (), pool_type: Any = 'max', global_pool: Any = False, cudnn_off: Any = False, pooling_convention: Any = 'valid', stride: Any = (), pad: Any = (), p_value: Any = None, count_include_pad: Any = None, layout: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``Pooling(data; kernel: shape=(), pool_type: {avg lp max sum}=max, global_pool: bool=False, cudnn_off: bool=False, pooling_convention: {full same valid}=valid, stride: shape=(), pad: shape=(), p_value: int?=None, count_include_pad: bool?=None, layout: str?=None)``. Core operators: pooling."""
def Pooling_v1(data: Any, kernel: Any = (), pool_type: Any = 'max', global_pool: Any = False, cudnn_off: Any = False, pooling_convention: Any = 'valid', stride: Any = (), pad: Any = (), p_value: Any = None, count_include_pad: Any = None, layout: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``Pooling_v1(data; kernel: shape=(), pool_type: {avg lp max sum}=max, global_pool: bool=False, cudnn_off: bool=False, pooling_convention: {full same valid}=valid, stride: shape=(), pad: shape=(), p_value: int?=None, count_include_pad: bool?=None, layout: str?=None)``. Core operators: pooling."""
def RNN(data: Any, parameters: Any, state: Any, state_cell: Any = None, sequence_length: Any = None, state_size: Any = ..., num_layers: Any = ..., bidirectional: Any = False, mode: Any = ..., p: Any = 0.0, state_outputs: Any = False, projection_size: Any = None, lstm_state_clip_min: Any = None, lstm_state_clip_max: Any = None, lstm_state_clip_nan: Any = False, use_sequence_length: Any = False, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``RNN(data, parameters, state, state_cell, sequence_length; state_size: int, num_layers: int, bidirectional: bool=False, mode: {gru lstm rnn_relu rnn_tanh}, p: float=0.0, state_outputs: bool=False, projection_size: int?=None, lstm_state_clip_min: float?=None, lstm_state_clip_max: float?=None, lstm_state_clip_nan: bool=False, use_sequence_length: bool=False)``. Core operators: rnn."""
def ROIPooling(data: Any, rois: Any, pooled_size: Any, spatial_scale: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``ROIPooling(data, rois; pooled_size: shape, spatial_scale: float)``. Core operators: roi_pooling."""
def Reshape(data: Any, shape: Any = (), reverse: Any = False, target_shape: Any = (), keep_highest: Any = False, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``Reshape(data; shape: shape=(), reverse: bool=False, target_shape: shape=(), keep_highest: bool=False)``. Core operators: reshape."""
def SVMOutput(data: Any, label: Any, margin: Any = 1.0, regularization_coefficient: Any = 1.0, use_linear: Any = False, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``SVMOutput(data, label; margin: float=1.0, regularization_coefficient: float=1.0, use_linear: bool=False)``. Core operators: svm_output."""
def SequenceLast(data: Any, sequence_length: Any = None, use_sequence_length: Any = False, axis: Any = 0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``SequenceLast(data, sequence_length; use_sequence_length: bool=False, axis: int=0)``. Core operators: sequence_last."""
def SequenceMask(data: Any, sequence_length: Any = None, use_sequence_length: Any = False, value: Any = 0.0, axis: Any = 0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``SequenceMask(data, sequence_length; use_sequence_length: bool=False, value: float=0.0, axis: int=0)``. Core operators: sequence_mask."""
def SequenceReverse(data: Any, sequence_length: Any = None, use_sequence_length: Any = False, axis: Any = 0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``SequenceReverse(data, sequence_length; use_sequence_length: bool=False, axis: int=0)``. Core operators: sequence_reverse."""
def SliceChannel(data: Any, num_outputs: Any, axis: Any = 1, squeeze_axis: Any = False, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``SliceChannel(data; num_outputs: int, axis: int=1, squeeze_axis: bool=False)``. Core operators: slice_channel."""
def Softmax(data: Any, label: Any, grad_scale: Any = 1.0, ignore_label: Any = -1.0, multi_output: Any = False, use_ignore: Any = False, preserve_shape: Any = False, normalization: Any = 'null', out_grad: Any = False, smooth_alpha: Any = 0.0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``SoftmaxOutput(data, label; grad_scale: float=1.0, ignore_label: float=-1.0, multi_output: bool=False, use_ignore: bool=False, preserve_shape: bool=False, normalization: {batch null valid}=null, out_grad: bool=False, smooth_alpha: float=0.0)``. Core operators: softmax_output."""
def SoftmaxActivation(data: Any, mode: Any = 'instance', *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``SoftmaxActivation(data; mode: {channel instance}=instance)``. Core operators: softmax."""
def SoftmaxOutput(data: Any, label: Any, grad_scale: Any = 1.0, ignore_label: Any = -1.0, multi_output: Any = False, use_ignore: Any = False, preserve_shape: Any = False, normalization: Any = 'null', out_grad: Any = False, smooth_alpha: Any = 0.0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``SoftmaxOutput(data, label; grad_scale: float=1.0, ignore_label: float=-1.0, multi_output: bool=False, use_ignore: bool=False, preserve_shape: bool=False, normalization: {batch null valid}=null, out_grad: bool=False, smooth_alpha: float=0.0)``. Core operators: softmax_output."""
def SpatialTransformer(data: Any, loc: Any, target_shape: Any = (0, 0), transform_type: Any = ..., sampler_type: Any = ..., cudnn_off: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``SpatialTransformer(data, loc; target_shape: shape=(0, 0), transform_type: {affine}, sampler_type: {bilinear}, cudnn_off: bool?=None)``. Core operators: grid_generator, bilinear_sampler."""
def SwapAxis(data: Any, dim1: Any = 0, dim2: Any = 0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``SwapAxis(data; dim1: int=0, dim2: int=0)``. Core operators: swapaxes."""
def UpSampling(*data: Any, scale: Any, num_filter: Any = 0, sample_type: Any, multi_input_mode: Any = 'concat', workspace: Any = 512, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``UpSampling(*data; scale: int, num_filter: int=0, sample_type: {bilinear nearest}, multi_input_mode: {concat sum}=concat, workspace: int=512)``. Core operators: repeat, deconvolution, concatenate, add_n."""
def abs(data: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``abs(data)``. Core operators: absolute."""
def adam_update(weight: Any, grad: Any, mean: Any, var: Any, lr: Any, beta1: Any = 0.9, beta2: Any = 0.999, epsilon: Any = 1e-08, wd: Any = 0.0, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, lazy_update: Any = True, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``adam_update(weight, grad, mean, var; lr: float, beta1: float=0.9, beta2: float=0.999, epsilon: float=1e-08, wd: float=0.0, rescale_grad: float=1.0, clip_gradient: float=-1.0, lazy_update: bool=True)``. Core operators: adam_update."""
def add_n(*args: Any, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``add_n(*args)``. Core operators: add_n."""
def all_finite(data: Any, init_output: Any = True, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``all_finite(data; init_output: bool=True)``. Core operators: isfinite, all."""
def amp_cast(data: Any, dtype: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``amp_cast(data; dtype: dtype)``. Core operators: cast."""
def amp_multicast(*data: Any, num_outputs: Any, cast_narrow: Any = False, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``amp_multicast(*data; num_outputs: int, cast_narrow: bool=False)``. Core operators: cast."""
def arccos(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``arccos(data)``. Core operators: arccos."""
def arccosh(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``arccosh(data)``. Core operators: arccosh."""
def arcsin(data: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``arcsin(data)``. Core operators: arcsin."""
def arcsinh(data: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``arcsinh(data)``. Core operators: arcsinh."""
def arctan(data: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``arctan(data)``. Core operators: arctan."""
def arctanh(data: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``arctanh(data)``. Core operators: arctanh."""
def argmax(data: Any, axis: Any = None, keepdims: Any = False, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``argmax(data; axis: int?=None, keepdims: bool=False)``. Core operators: argmax, cast."""
def argmax_channel(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``argmax_channel(data)``. Core operators: argmax, cast."""
def argmin(data: Any, axis: Any = None, keepdims: Any = False, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``argmin(data; axis: int?=None, keepdims: bool=False)``. Core operators: argmin, cast."""
def argsort(data: Any, axis: Any = -1, is_ascend: Any = True, dtype: Any = 'float32', *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``argsort(data; axis: int?=-1, is_ascend: bool=True, dtype: dtype=float32)``. Core operators: argsort."""
def batch_dot(lhs: Any, rhs: Any, transpose_a: Any = False, transpose_b: Any = False, forward_stype: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``batch_dot(lhs, rhs; transpose_a: bool=False, transpose_b: bool=False, forward_stype: str?=None)``. Core operators: batch_dot."""
def batch_take(a: Any, indices: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``batch_take(a, indices)``. Core operators: pick."""
def broadcast_add(lhs: Any, rhs: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``broadcast_add(lhs, rhs)``. Core operators: add."""
def broadcast_axes(data: Any, axis: Any = (), size: Any = (), *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``broadcast_axis(data; axis: shape=(), size: shape=())``. Core operators: broadcast_to."""
def broadcast_axis(data: Any, axis: Any = (), size: Any = (), *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``broadcast_axis(data; axis: shape=(), size: shape=())``. Core operators: broadcast_to."""
def broadcast_div(lhs: Any, rhs: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``broadcast_div(lhs, rhs)``. Core operators: divide."""
def broadcast_equal(lhs: Any, rhs: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``broadcast_equal(lhs, rhs)``. Core operators: equal."""
def broadcast_greater(lhs: Any, rhs: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``broadcast_greater(lhs, rhs)``. Core operators: greater."""
def broadcast_greater_equal(lhs: Any, rhs: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``broadcast_greater_equal(lhs, rhs)``. Core operators: greater_equal."""
def broadcast_hypot(lhs: Any, rhs: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``broadcast_hypot(lhs, rhs)``. Core operators: hypot."""
def broadcast_lesser(lhs: Any, rhs: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``broadcast_lesser(lhs, rhs)``. Core operators: less."""
def broadcast_lesser_equal(lhs: Any, rhs: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``broadcast_lesser_equal(lhs, rhs)``. Core operators: less_equal."""
def broadcast_like(lhs: Any, rhs: Any, lhs_axes: Any = None, rhs_axes: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``broadcast_like(lhs, rhs; lhs_axes: shape?=None, rhs_axes: shape?=None)``. Core operators: broadcast_like."""
def broadcast_logical_and(lhs: Any, rhs: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``broadcast_logical_and(lhs, rhs)``. Core operators: logical_and."""
def broadcast_logical_or(lhs: Any, rhs: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``broadcast_logical_or(lhs, rhs)``. Core operators: logical_or."""
def broadcast_logical_xor(lhs: Any, rhs: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``broadcast_logical_xor(lhs, rhs)``. Core operators: logical_xor."""
def broadcast_maximum(lhs: Any, rhs: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``broadcast_maximum(lhs, rhs)``. Core operators: maximum."""
def broadcast_minimum(lhs: Any, rhs: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``broadcast_minimum(lhs, rhs)``. Core operators: minimum."""
def broadcast_minus(lhs: Any, rhs: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``broadcast_sub(lhs, rhs)``. Core operators: subtract."""
def broadcast_mod(lhs: Any, rhs: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``broadcast_mod(lhs, rhs)``. Core operators: mod."""
def broadcast_mul(lhs: Any, rhs: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``broadcast_mul(lhs, rhs)``. Core operators: multiply."""
def broadcast_not_equal(lhs: Any, rhs: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``broadcast_not_equal(lhs, rhs)``. Core operators: not_equal."""
def broadcast_plus(lhs: Any, rhs: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``broadcast_add(lhs, rhs)``. Core operators: add."""
def broadcast_power(lhs: Any, rhs: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``broadcast_power(lhs, rhs)``. Core operators: power."""
def broadcast_sub(lhs: Any, rhs: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``broadcast_sub(lhs, rhs)``. Core operators: subtract."""
def broadcast_to(data: Any, shape: Any = (), *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``broadcast_to(data; shape: shape=())``. Core operators: broadcast_to."""
def cast(data: Any, dtype: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``Cast(data; dtype: dtype)``. Core operators: cast."""
def cast_storage(data: Any, stype: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``cast_storage(data; stype: {csr default row_sparse})``. Core operators: copy."""
def cbrt(data: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``cbrt(data)``. Core operators: cbrt."""
def ceil(data: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``ceil(data)``. Core operators: ceil."""
def choose_element_0index(data: Any, index: Any, axis: Any = -1, keepdims: Any = False, mode: Any = 'clip', *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``pick(data, index; axis: int?=-1, keepdims: bool=False, mode: {clip wrap}=clip)``. Core operators: pick."""
def clip(data: Any, a_min: Any, a_max: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``clip(data; a_min: float, a_max: float)``. Core operators: clip."""
def col2im(data: Any, output_size: Any, kernel: Any, stride: Any = (), dilate: Any = (), pad: Any = (), *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``col2im(data; output_size: shape, kernel: shape, stride: shape=(), dilate: shape=(), pad: shape=())``. Core operators: col2im."""
def concat(*data: Any, dim: Any = 1, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``Concat(*data; dim: int=1)``. Core operators: concatenate."""
def cos(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``cos(data)``. Core operators: cos."""
def cosh(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``cosh(data)``. Core operators: cosh."""
def crop(data: Any, begin: Any, end: Any, step: Any = (), *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``slice(data; begin: shape, end: shape, step: shape=())``. Core operators: slice."""
def ctc_loss(data: Any, label: Any, data_lengths: Any = None, label_lengths: Any = None, use_data_lengths: Any = False, use_label_lengths: Any = False, blank_label: Any = 'first', *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``CTCLoss(data, label, data_lengths, label_lengths; use_data_lengths: bool=False, use_label_lengths: bool=False, blank_label: {first last}=first)``. Core operators: ctc_batch_loss."""
def cumsum(a: Any, axis: Any = None, dtype: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_npi_cumsum(a; axis: int?=None, dtype: dtype?=None)``. Core operators: cumsum."""
def degrees(data: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``degrees(data)``. Core operators: degrees."""
def depth_to_space(data: Any, block_size: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``depth_to_space(data; block_size: int)``. Core operators: depth_to_space."""
def diag(data: Any, k: Any = 0, axis1: Any = 0, axis2: Any = 1, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``diag(data; k: int=0, axis1: int=0, axis2: int=1)``. Core operators: diag, diagonal."""
def digamma(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``digamma(data)``. Core operators: digamma."""
def dot(lhs: Any, rhs: Any, transpose_a: Any = False, transpose_b: Any = False, forward_stype: Any = None, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``dot(lhs, rhs; transpose_a: bool=False, transpose_b: bool=False, forward_stype: str?=None)``. Core operators: tensordot."""
def elemwise_add(lhs: Any, rhs: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``elemwise_add(lhs, rhs)``. Core operators: add."""
def elemwise_div(lhs: Any, rhs: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``elemwise_div(lhs, rhs)``. Core operators: divide."""
def elemwise_mul(lhs: Any, rhs: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``elemwise_mul(lhs, rhs)``. Core operators: multiply."""
def elemwise_sub(lhs: Any, rhs: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``elemwise_sub(lhs, rhs)``. Core operators: subtract."""
def erf(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``erf(data)``. Core operators: erf."""
def erfinv(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``erfinv(data)``. Core operators: erfinv."""
def exp(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``exp(data)``. Core operators: exp."""
def expand_dims(data: Any, axis: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``expand_dims(data; axis: int)``. Core operators: expand_dims."""
def expm1(data: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``expm1(data)``. Core operators: expm1."""
def fill_element_0index(lhs: Any, mhs: Any, rhs: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``fill_element_0index(lhs, mhs, rhs)``. Core operators: where, one_hot."""
def fix(data: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``fix(data)``. Core operators: trunc."""
def flatten(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``Flatten(data)``. Core operators: batch_flatten."""
def flip(data: Any, axis: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``reverse(data; axis: shape)``. Core operators: flip."""
def floor(data: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``floor(data)``. Core operators: floor."""
def ftml_update(weight: Any, grad: Any, d: Any, v: Any, z: Any, lr: Any, beta1: Any = 0.6, beta2: Any = 0.999, epsilon: Any = 1e-08, t: Any = ..., wd: Any = 0.0, rescale_grad: Any = 1.0, clip_grad: Any = -1.0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``ftml_update(weight, grad, d, v, z; lr: float, beta1: float=0.6, beta2: float=0.999, epsilon: float=1e-08, t: int, wd: float=0.0, rescale_grad: float=1.0, clip_grad: float=-1.0)``. Core operators: ftml_update."""
def ftrl_update(weight: Any, grad: Any, z: Any, n: Any, lr: Any, lamda1: Any = 0.01, beta: Any = 1.0, wd: Any = 0.0, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``ftrl_update(weight, grad, z, n; lr: float, lamda1: float=0.01, beta: float=1.0, wd: float=0.0, rescale_grad: float=1.0, clip_gradient: float=-1.0)``. Core operators: ftrl_update."""
def gamma(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``gamma(data)``. Core operators: gamma."""
def gammaln(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``gammaln(data)``. Core operators: gammaln."""
def gather_nd(data: Any, indices: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``gather_nd(data, indices)``. Core operators: gather_nd."""
def hard_sigmoid(data: Any, alpha: Any = 0.2, beta: Any = 0.5, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``hard_sigmoid(data; alpha: float=0.2, beta: float=0.5)``. Core operators: hard_sigmoid."""
def identity(data: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_copy(data)``. Core operators: copy."""
def im2col(data: Any, kernel: Any, stride: Any = (), dilate: Any = (), pad: Any = (), *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``im2col(data; kernel: shape, stride: shape=(), dilate: shape=(), pad: shape=())``. Core operators: im2col."""
def khatri_rao(*args: Any, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``khatri_rao(*args)``. Core operators: expand_dims, multiply, reshape."""
def lamb_update_phase1(weight: Any, grad: Any, mean: Any, var: Any, beta1: Any = 0.9, beta2: Any = 0.999, epsilon: Any = 1e-06, t: Any = ..., bias_correction: Any = True, wd: Any = ..., rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``lamb_update_phase1(weight, grad, mean, var; beta1: float=0.9, beta2: float=0.999, epsilon: float=1e-06, t: int, bias_correction: bool=True, wd: float, rescale_grad: float=1.0, clip_gradient: float=-1.0)``. Core operators: lamb_update_phase1."""
def lamb_update_phase2(weight: Any, g: Any, r1: Any, r2: Any, lr: Any, lower_bound: Any = -1.0, upper_bound: Any = -1.0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``lamb_update_phase2(weight, g, r1, r2; lr: float, lower_bound: float=-1.0, upper_bound: float=-1.0)``. Core operators: lamb_update_phase2."""
def linalg_det(A: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_linalg_det(A)``. Core operators: det."""
def linalg_extractdiag(A: Any, offset: Any = 0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_linalg_extractdiag(A; offset: int=0)``. Core operators: diagonal."""
def linalg_extracttrian(A: Any, offset: Any = 0, lower: Any = True, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_linalg_extracttrian(A; offset: int=0, lower: bool=True)``. Core operators: take."""
def linalg_gelqf(A: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_linalg_gelqf(A)``. Core operators: qr."""
def linalg_gemm(A: Any, B: Any, C: Any, transpose_a: Any = False, transpose_b: Any = False, alpha: Any = 1.0, beta: Any = 1.0, axis: Any = -2, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_linalg_gemm(A, B, C; transpose_a: bool=False, transpose_b: bool=False, alpha: float=1.0, beta: float=1.0, axis: int=-2)``. Core operators: batch_dot, multiply, add."""
def linalg_gemm2(A: Any, B: Any, transpose_a: Any = False, transpose_b: Any = False, alpha: Any = 1.0, axis: Any = -2, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_linalg_gemm2(A, B; transpose_a: bool=False, transpose_b: bool=False, alpha: float=1.0, axis: int=-2)``. Core operators: batch_dot, multiply."""
def linalg_inverse(A: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_linalg_inverse(A)``. Core operators: inv."""
def linalg_makediag(A: Any, offset: Any = 0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_linalg_makediag(A; offset: int=0)``. Core operators: pad, multiply."""
def linalg_maketrian(A: Any, offset: Any = 0, lower: Any = True, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_linalg_maketrian(A; offset: int=0, lower: bool=True)``. Core operators: index_update."""
def linalg_potrf(A: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_linalg_potrf(A)``. Core operators: cholesky."""
def linalg_potri(A: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_linalg_potri(A)``. Core operators: inv, matmul."""
def linalg_slogdet(A: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_linalg_slogdet(A)``. Core operators: slogdet."""
def linalg_sumlogdiag(A: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_linalg_sumlogdiag(A)``. Core operators: diagonal, log, sum."""
def linalg_syevd(A: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_linalg_syevd(A)``. Core operators: eigh."""
def linalg_syrk(A: Any, transpose: Any = False, alpha: Any = 1.0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_linalg_syrk(A; transpose: bool=False, alpha: float=1.0)``. Core operators: batch_dot, multiply."""
def linalg_trmm(A: Any, B: Any, transpose: Any = False, rightside: Any = False, lower: Any = True, alpha: Any = 1.0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_linalg_trmm(A, B; transpose: bool=False, rightside: bool=False, lower: bool=True, alpha: float=1.0)``. Core operators: tril, triu, matmul."""
def linalg_trsm(A: Any, B: Any, transpose: Any = False, rightside: Any = False, lower: Any = True, alpha: Any = 1.0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_linalg_trsm(A, B; transpose: bool=False, rightside: bool=False, lower: bool=True, alpha: float=1.0)``. Core operators: tril, triu, solve."""
def log(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``log(data)``. Core operators: log."""
def log10(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``log10(data)``. Core operators: log10."""
def log1p(data: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``log1p(data)``. Core operators: log1p."""
def log2(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``log2(data)``. Core operators: log2."""
def log_sigmoid(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``log_sigmoid(data)``. Core operators: log_sigmoid."""
def log_softmax(data: Any, length: Any = None, axis: Any = -1, temperature: Any = None, dtype: Any = None, use_length: Any = False, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``log_softmax(data, length; axis: int=-1, temperature: float?=None, dtype: dtype?=None, use_length: bool?=False)``. Core operators: log_softmax."""
def logical_not(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``logical_not(data)``. Core operators: logical_not."""
def make_loss(data: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``make_loss(data)``. Core operators: make_loss."""
def masked_log_softmax(data: Any, mask: Any, axis: Any = -1, temperature: Any = None, normalize: Any = True, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``masked_log_softmax(data, mask; axis: int=-1, temperature: float?=None, normalize: bool?=True)``. Core operators: masked_log_softmax."""
def masked_softmax(data: Any, mask: Any, axis: Any = -1, temperature: Any = None, normalize: Any = True, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``masked_softmax(data, mask; axis: int=-1, temperature: float?=None, normalize: bool?=True)``. Core operators: masked_softmax."""
def max(data: Any, axis: Any = None, keepdims: Any = False, exclude: Any = False, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``max(data; axis: shape?=None, keepdims: bool=False, exclude: bool=False)``. Core operators: max."""
def max_axis(data: Any, axis: Any = None, keepdims: Any = False, exclude: Any = False, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``max(data; axis: shape?=None, keepdims: bool=False, exclude: bool=False)``. Core operators: max."""
def mean(data: Any, axis: Any = None, keepdims: Any = False, exclude: Any = False, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``mean(data; axis: shape?=None, keepdims: bool=False, exclude: bool=False)``. Core operators: mean."""
def min(data: Any, axis: Any = None, keepdims: Any = False, exclude: Any = False, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``min(data; axis: shape?=None, keepdims: bool=False, exclude: bool=False)``. Core operators: min."""
def min_axis(data: Any, axis: Any = None, keepdims: Any = False, exclude: Any = False, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``min(data; axis: shape?=None, keepdims: bool=False, exclude: bool=False)``. Core operators: min."""
def mish(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``mish(data)``. Core operators: mish."""
def moments(data: Any, axes: Any = None, keepdims: Any = False, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``moments(data; axes: shape?=None, keepdims: bool=False)``. Core operators: mean, var."""
def mp_lamb_update_phase1(weight: Any, grad: Any, mean: Any, var: Any, weight32: Any, beta1: Any = 0.9, beta2: Any = 0.999, epsilon: Any = 1e-06, t: Any = ..., bias_correction: Any = True, wd: Any = ..., rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``mp_lamb_update_phase1(weight, grad, mean, var, weight32; beta1: float=0.9, beta2: float=0.999, epsilon: float=1e-06, t: int, bias_correction: bool=True, wd: float, rescale_grad: float=1.0, clip_gradient: float=-1.0)``. Core operators: lamb_update_phase1."""
def mp_lamb_update_phase2(weight: Any, g: Any, r1: Any, r2: Any, weight32: Any, lr: Any, lower_bound: Any = -1.0, upper_bound: Any = -1.0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``mp_lamb_update_phase2(weight, g, r1, r2, weight32; lr: float, lower_bound: float=-1.0, upper_bound: float=-1.0)``. Core operators: lamb_update_phase2, cast."""
def mp_nag_mom_update(weight: Any, grad: Any, mom: Any, weight32: Any, lr: Any, momentum: Any = 0.0, wd: Any = 0.0, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``mp_nag_mom_update(weight, grad, mom, weight32; lr: float, momentum: float=0.0, wd: float=0.0, rescale_grad: float=1.0, clip_gradient: float=-1.0)``. Core operators: nag_mom_update, cast."""
def mp_sgd_mom_update(weight: Any, grad: Any, mom: Any, weight32: Any, lr: Any, momentum: Any = 0.0, wd: Any = 0.0, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, lazy_update: Any = True, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``mp_sgd_mom_update(weight, grad, mom, weight32; lr: float, momentum: float=0.0, wd: float=0.0, rescale_grad: float=1.0, clip_gradient: float=-1.0, lazy_update: bool=True)``. Core operators: sgd_mom_update, cast."""
def mp_sgd_update(weight: Any, grad: Any, weight32: Any, lr: Any, wd: Any = 0.0, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, lazy_update: Any = True, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``mp_sgd_update(weight, grad, weight32; lr: float, wd: float=0.0, rescale_grad: float=1.0, clip_gradient: float=-1.0, lazy_update: bool=True)``. Core operators: sgd_update, cast."""
def multi_all_finite(*data: Any, num_arrays: Any = 1, init_output: Any = True, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``multi_all_finite(*data; num_arrays: int=1, init_output: bool=True)``. Core operators: isfinite, all."""
def multi_lars(lrs: Any, weights_sum_sq: Any, grads_sum_sq: Any, wds: Any, eta: Any, eps: Any, rescale_grad: Any = 1.0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``multi_lars(lrs, weights_sum_sq, grads_sum_sq, wds; eta: float, eps: float, rescale_grad: float=1.0)``. Core operators: multi_lars."""
def multi_mp_sgd_mom_update(*data: Any, lrs: Any, wds: Any, momentum: Any = 0.0, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, num_weights: Any = 1, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``multi_mp_sgd_mom_update(*data; lrs: floats, wds: floats, momentum: float=0.0, rescale_grad: float=1.0, clip_gradient: float=-1.0, num_weights: int=1)``. Core operators: sgd_mom_update."""
def multi_mp_sgd_update(*data: Any, lrs: Any, wds: Any, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, num_weights: Any = 1, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``multi_mp_sgd_update(*data; lrs: floats, wds: floats, rescale_grad: float=1.0, clip_gradient: float=-1.0, num_weights: int=1)``. Core operators: sgd_update."""
def multi_sgd_mom_update(*data: Any, lrs: Any, wds: Any, momentum: Any = 0.0, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, num_weights: Any = 1, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``multi_sgd_mom_update(*data; lrs: floats, wds: floats, momentum: float=0.0, rescale_grad: float=1.0, clip_gradient: float=-1.0, num_weights: int=1)``. Core operators: sgd_mom_update."""
def multi_sgd_update(*data: Any, lrs: Any, wds: Any, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, num_weights: Any = 1, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``multi_sgd_update(*data; lrs: floats, wds: floats, rescale_grad: float=1.0, clip_gradient: float=-1.0, num_weights: int=1)``. Core operators: sgd_update."""
def multi_sum_sq(*data: Any, num_arrays: Any, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``multi_sum_sq(*data; num_arrays: int)``. Core operators: square, sum, stack."""
def nag_mom_update(weight: Any, grad: Any, mom: Any, lr: Any, momentum: Any = 0.0, wd: Any = 0.0, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``nag_mom_update(weight, grad, mom; lr: float, momentum: float=0.0, wd: float=0.0, rescale_grad: float=1.0, clip_gradient: float=-1.0)``. Core operators: nag_mom_update."""
def nanprod(data: Any, axis: Any = None, keepdims: Any = False, exclude: Any = False, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``nanprod(data; axis: shape?=None, keepdims: bool=False, exclude: bool=False)``. Core operators: where, isnan, prod."""
def nansum(data: Any, axis: Any = None, keepdims: Any = False, exclude: Any = False, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``nansum(data; axis: shape?=None, keepdims: bool=False, exclude: bool=False)``. Core operators: where, isnan, sum."""
def negative(data: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``negative(data)``. Core operators: negative."""
def norm(data: Any, ord: Any = 2, axis: Any = None, out_dtype: Any = None, keepdims: Any = False, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``norm(data; ord: int=2, axis: shape?=None, out_dtype: dtype?=None, keepdims: bool=False)``. Core operators: norm."""
def normal(loc: Any = 0.0, scale: Any = 1.0, shape: Any = None, ctx: Any = '', dtype: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_random_normal(; loc: float=0.0, scale: float=1.0, shape: shape?=None, ctx: str=, dtype: dtype?=None)``. Core operators: random_normal."""
def one_hot(indices: Any, depth: Any, on_value: Any = 1.0, off_value: Any = 0.0, dtype: Any = 'float32', *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``one_hot(indices; depth: int, on_value: float=1.0, off_value: float=0.0, dtype: dtype=float32)``. Core operators: one_hot."""
def ones_like(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``ones_like(data)``. Core operators: ones_like."""
def pad(data: Any, mode: Any, pad_width: Any, constant_value: Any = 0.0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``Pad(data; mode: {constant edge reflect}, pad_width: shape, constant_value: float=0.0)``. Core operators: pad."""
def pick(data: Any, index: Any, axis: Any = -1, keepdims: Any = False, mode: Any = 'clip', *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``pick(data, index; axis: int?=-1, keepdims: bool=False, mode: {clip wrap}=clip)``. Core operators: pick."""
def preloaded_multi_mp_sgd_mom_update(*data: Any, momentum: Any = 0.0, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, num_weights: Any = 1, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``preloaded_multi_mp_sgd_mom_update(*data; momentum: float=0.0, rescale_grad: float=1.0, clip_gradient: float=-1.0, num_weights: int=1)``. Core operators: sgd_mom_update."""
def preloaded_multi_mp_sgd_update(*data: Any, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, num_weights: Any = 1, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``preloaded_multi_mp_sgd_update(*data; rescale_grad: float=1.0, clip_gradient: float=-1.0, num_weights: int=1)``. Core operators: sgd_update."""
def preloaded_multi_sgd_mom_update(*data: Any, momentum: Any = 0.0, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, num_weights: Any = 1, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``preloaded_multi_sgd_mom_update(*data; momentum: float=0.0, rescale_grad: float=1.0, clip_gradient: float=-1.0, num_weights: int=1)``. Core operators: sgd_mom_update."""
def preloaded_multi_sgd_update(*data: Any, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, num_weights: Any = 1, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``preloaded_multi_sgd_update(*data; rescale_grad: float=1.0, clip_gradient: float=-1.0, num_weights: int=1)``. Core operators: sgd_update."""
def prod(data: Any, axis: Any = None, keepdims: Any = False, exclude: Any = False, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``prod(data; axis: shape?=None, keepdims: bool=False, exclude: bool=False)``. Core operators: prod."""
def quantized_reshape(data: Any, min_data: Any, max_data: Any, shape: Any = (), reverse: Any = False, target_shape: Any = (), keep_highest: Any = False, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_contrib_quantized_reshape(data, min_data, max_data; shape: shape=(), reverse: bool=False, target_shape: shape=(), keep_highest: bool=False)``. Core operators: reshape, quantized_flatten."""
def quantized_transpose(data: Any, min_data: Any, max_data: Any, axes: Any = (), *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_contrib_quantized_transpose(data, min_data, max_data; axes: shape=())``. Core operators: quantized_transpose."""
def radians(data: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``radians(data)``. Core operators: radians."""
def random_binomial(n: Any = 1.0, p: Any = 1.0, shape: Any = None, ctx: Any = '', dtype: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_random_binomial(; n: float=1.0, p: float=1.0, shape: shape?=None, ctx: str=, dtype: dtype?=None)``. Core operators: random_binomial."""
def random_exponential(lam: Any = 1.0, shape: Any = None, ctx: Any = '', dtype: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_random_exponential(; lam: float=1.0, shape: shape?=None, ctx: str=, dtype: dtype?=None)``. Core operators: divide, random_exponential."""
def random_gamma(alpha: Any = 1.0, beta: Any = 1.0, shape: Any = None, ctx: Any = '', dtype: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_random_gamma(; alpha: float=1.0, beta: float=1.0, shape: shape?=None, ctx: str=, dtype: dtype?=None)``. Core operators: random_gamma."""
def random_generalized_negative_binomial(mu: Any = 1.0, alpha: Any = 1.0, shape: Any = None, ctx: Any = '', dtype: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_random_generalized_negative_binomial(; mu: float=1.0, alpha: float=1.0, shape: shape?=None, ctx: str=, dtype: dtype?=None)``. Core operators: random_gamma, random_poisson."""
def random_negative_binomial(k: Any = 1.0, p: Any = 1.0, shape: Any = None, ctx: Any = '', dtype: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_random_negative_binomial(; k: float=1.0, p: float=1.0, shape: shape?=None, ctx: str=, dtype: dtype?=None)``. Core operators: random_negative_binomial."""
def random_normal(loc: Any = 0.0, scale: Any = 1.0, shape: Any = None, ctx: Any = '', dtype: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_random_normal(; loc: float=0.0, scale: float=1.0, shape: shape?=None, ctx: str=, dtype: dtype?=None)``. Core operators: random_normal."""
def random_pdf_dirichlet(sample: Any, alpha: Any, is_log: Any = False, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_random_pdf_dirichlet(sample, alpha; is_log: bool=False)``. Core operators: log, exp."""
def random_pdf_exponential(sample: Any, lam: Any, is_log: Any = False, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_random_pdf_exponential(sample, lam; is_log: bool=False)``. Core operators: log, exp."""
def random_pdf_gamma(sample: Any, alpha: Any, beta: Any, is_log: Any = False, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_random_pdf_gamma(sample, alpha, beta; is_log: bool=False)``. Core operators: log, exp."""
def random_pdf_generalized_negative_binomial(sample: Any, mu: Any, alpha: Any, is_log: Any = False, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_random_pdf_generalized_negative_binomial(sample, mu, alpha; is_log: bool=False)``. Core operators: log, exp."""
def random_pdf_negative_binomial(sample: Any, k: Any, p: Any, is_log: Any = False, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_random_pdf_negative_binomial(sample, k, p; is_log: bool=False)``. Core operators: log, exp."""
def random_pdf_normal(sample: Any, mu: Any, sigma: Any, is_log: Any = False, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_random_pdf_normal(sample, mu, sigma; is_log: bool=False)``. Core operators: log, exp."""
def random_pdf_poisson(sample: Any, lam: Any, is_log: Any = False, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_random_pdf_poisson(sample, lam; is_log: bool=False)``. Core operators: log, exp."""
def random_pdf_uniform(sample: Any, low: Any, high: Any, is_log: Any = False, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_random_pdf_uniform(sample, low, high; is_log: bool=False)``. Core operators: log, exp."""
def random_poisson(lam: Any = 1.0, shape: Any = None, ctx: Any = '', dtype: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_random_poisson(; lam: float=1.0, shape: shape?=None, ctx: str=, dtype: dtype?=None)``. Core operators: random_poisson."""
def random_randint(low: Any, high: Any, shape: Any = None, ctx: Any = '', dtype: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_random_randint(; low: int, high: int, shape: shape?=None, ctx: str=, dtype: dtype?=None)``. Core operators: random_randint."""
def random_uniform(low: Any = 0.0, high: Any = 1.0, shape: Any = None, ctx: Any = '', dtype: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_random_uniform(; low: float=0.0, high: float=1.0, shape: shape?=None, ctx: str=, dtype: dtype?=None)``. Core operators: random_uniform."""
def ravel_multi_index(data: Any, shape: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_ravel_multi_index(data; shape: shape?=None)``. Core operators: stop_gradient, multiply, sum."""
def rcbrt(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``rcbrt(data)``. Core operators: rcbrt."""
def reciprocal(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``reciprocal(data)``. Core operators: reciprocal."""
def relu(data: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``relu(data)``. Core operators: relu."""
def repeat(data: Any, repeats: Any, axis: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``repeat(data; repeats: int, axis: int?=None)``. Core operators: repeat."""
def reset_arrays(*data: Any, num_arrays: Any, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``reset_arrays(*data; num_arrays: int)``. Core operators: zeros_like."""
def reshape(data: Any, shape: Any = (), reverse: Any = False, target_shape: Any = (), keep_highest: Any = False, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``Reshape(data; shape: shape=(), reverse: bool=False, target_shape: shape=(), keep_highest: bool=False)``. Core operators: reshape."""
def reshape_like(lhs: Any, rhs: Any, lhs_begin: Any = None, lhs_end: Any = None, rhs_begin: Any = None, rhs_end: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``reshape_like(lhs, rhs; lhs_begin: int?=None, lhs_end: int?=None, rhs_begin: int?=None, rhs_end: int?=None)``. Core operators: reshape_like."""
def reverse(data: Any, axis: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``reverse(data; axis: shape)``. Core operators: flip."""
def rint(data: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``rint(data)``. Core operators: floor, ceil, where."""
def rmsprop_update(weight: Any, grad: Any, n: Any, lr: Any, gamma1: Any = 0.95, epsilon: Any = 1e-08, wd: Any = 0.0, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, clip_weights: Any = -1.0, rho: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``rmsprop_update(weight, grad, n; lr: float, gamma1: float=0.95, epsilon: float=1e-08, wd: float=0.0, rescale_grad: float=1.0, clip_gradient: float=-1.0, clip_weights: float=-1.0, rho: float?=None)``. Core operators: rmsprop_update."""
def rmspropalex_update(weight: Any, grad: Any, n: Any, g: Any, delta: Any, lr: Any, gamma1: Any = 0.95, gamma2: Any = 0.9, epsilon: Any = 1e-08, wd: Any = 0.0, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, clip_weights: Any = -1.0, rho: Any = None, momentum: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``rmspropalex_update(weight, grad, n, g, delta; lr: float, gamma1: float=0.95, gamma2: float=0.9, epsilon: float=1e-08, wd: float=0.0, rescale_grad: float=1.0, clip_gradient: float=-1.0, clip_weights: float=-1.0, rho: float?=None, momentum: float?=None)``. Core operators: rmspropalex_update."""
def round(data: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``round(data)``. Core operators: floor, ceil, where."""
def rsqrt(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``rsqrt(data)``. Core operators: rsqrt."""
def sample_binomial(n: Any, p: Any, shape: Any = (), dtype: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_sample_binomial(n, p; shape: shape=(), dtype: dtype?=None)``. Core operators: random_binomial."""
def sample_categorical(data: Any, shape: Any = (), get_prob: Any = False, dtype: Any = 'int32', *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_sample_categorical(data; shape: shape=(), get_prob: bool=False, dtype: dtype=int32)``. Core operators: random_categorical."""
def sample_exponential(lam: Any, shape: Any = (), dtype: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_sample_exponential(lam; shape: shape=(), dtype: dtype?=None)``. Core operators: divide, random_exponential."""
def sample_gamma(alpha: Any, beta: Any, shape: Any = (), dtype: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_sample_gamma(alpha, beta; shape: shape=(), dtype: dtype?=None)``. Core operators: random_gamma."""
def sample_generalized_negative_binomial(mu: Any, alpha: Any, shape: Any = (), dtype: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_sample_generalized_negative_binomial(mu, alpha; shape: shape=(), dtype: dtype?=None)``. Core operators: random_gamma, random_poisson."""
def sample_multinomial(data: Any, shape: Any = (), get_prob: Any = False, dtype: Any = 'int32', *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_sample_multinomial(data; shape: shape=(), get_prob: bool=False, dtype: dtype=int32)``. Core operators: random_categorical."""
def sample_negative_binomial(k: Any, p: Any, shape: Any = (), dtype: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_sample_negative_binomial(k, p; shape: shape=(), dtype: dtype?=None)``. Core operators: random_negative_binomial."""
def sample_normal(mu: Any, sigma: Any, shape: Any = (), dtype: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_sample_normal(mu, sigma; shape: shape=(), dtype: dtype?=None)``. Core operators: random_normal."""
def sample_poisson(lam: Any, shape: Any = (), dtype: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_sample_poisson(lam; shape: shape=(), dtype: dtype?=None)``. Core operators: random_poisson."""
def sample_uniform(low: Any, high: Any, shape: Any = (), dtype: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_sample_uniform(low, high; shape: shape=(), dtype: dtype?=None)``. Core operators: random_uniform."""
def scatter_nd(data: Any, indices: Any, shape: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``scatter_nd(data, indices; shape: shape)``. Core operators: scatter_nd."""
def sgd_mom_update(weight: Any, grad: Any, mom: Any, lr: Any, momentum: Any = 0.0, wd: Any = 0.0, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, lazy_update: Any = True, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``sgd_mom_update(weight, grad, mom; lr: float, momentum: float=0.0, wd: float=0.0, rescale_grad: float=1.0, clip_gradient: float=-1.0, lazy_update: bool=True)``. Core operators: sgd_mom_update."""
def sgd_update(weight: Any, grad: Any, lr: Any, wd: Any = 0.0, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, lazy_update: Any = True, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``sgd_update(weight, grad; lr: float, wd: float=0.0, rescale_grad: float=1.0, clip_gradient: float=-1.0, lazy_update: bool=True)``. Core operators: sgd_update."""
def shape_array(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``shape_array(data)``. Core operators: shape_array."""
def shuffle(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_shuffle(data)``. Core operators: random_permutation."""
def sigmoid(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``sigmoid(data)``. Core operators: sigmoid."""
def sign(data: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``sign(data)``. Core operators: sign."""
def signsgd_update(weight: Any, grad: Any, lr: Any, wd: Any = 0.0, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``signsgd_update(weight, grad; lr: float, wd: float=0.0, rescale_grad: float=1.0, clip_gradient: float=-1.0)``. Core operators: signsgd_update."""
def signum_update(weight: Any, grad: Any, mom: Any, lr: Any, momentum: Any = 0.0, wd: Any = 0.0, rescale_grad: Any = 1.0, clip_gradient: Any = -1.0, wd_lh: Any = 0.0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``signum_update(weight, grad, mom; lr: float, momentum: float=0.0, wd: float=0.0, rescale_grad: float=1.0, clip_gradient: float=-1.0, wd_lh: float=0.0)``. Core operators: signum_update."""
def sin(data: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``sin(data)``. Core operators: sin."""
def sinh(data: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``sinh(data)``. Core operators: sinh."""
def size_array(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``size_array(data)``. Core operators: shape_array."""
def slice(data: Any, begin: Any, end: Any, step: Any = (), *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``slice(data; begin: shape, end: shape, step: shape=())``. Core operators: slice."""
def slice_axis(data: Any, axis: Any, begin: Any, end: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``slice_axis(data; axis: int, begin: int, end: int?)``. Core operators: slice_axis."""
def slice_like(data: Any, shape_like: Any, axes: Any = (), *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``slice_like(data, shape_like; axes: shape=())``. Core operators: slice_like."""
def smooth_l1(data: Any, scalar: Any = 1.0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``smooth_l1(data; scalar: float=1.0)``. Core operators: smooth_l1."""
def softmax(data: Any, length: Any = None, axis: Any = -1, temperature: Any = None, dtype: Any = None, use_length: Any = False, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``softmax(data, length; axis: int=-1, temperature: float?=None, dtype: dtype?=None, use_length: bool?=False)``. Core operators: softmax."""
def softmax_cross_entropy(data: Any, label: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``softmax_cross_entropy(data, label)``. Core operators: log_softmax, pick, sum."""
def softmin(data: Any, axis: Any = -1, temperature: Any = None, dtype: Any = None, use_length: Any = False, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``softmin(data; axis: int=-1, temperature: float?=None, dtype: dtype?=None, use_length: bool?=False)``. Core operators: softmin."""
def softsign(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``softsign(data)``. Core operators: softsign."""
def sort(data: Any, axis: Any = -1, is_ascend: Any = True, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``sort(data; axis: int?=-1, is_ascend: bool=True)``. Core operators: sort."""
def space_to_depth(data: Any, block_size: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``space_to_depth(data; block_size: int)``. Core operators: space_to_depth."""
def split(data: Any, num_outputs: Any, axis: Any = 1, squeeze_axis: Any = False, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``SliceChannel(data; num_outputs: int, axis: int=1, squeeze_axis: bool=False)``. Core operators: slice_channel."""
def sqrt(data: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``sqrt(data)``. Core operators: sqrt."""
def square(data: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``square(data)``. Core operators: square."""
def squeeze(data: Any, axis: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``squeeze(data; axis: shape?=None)``. Core operators: squeeze."""
def stack(*data: Any, axis: Any = 0, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``stack(*data; axis: int=0)``. Core operators: stack."""
def stop_gradient(data: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``BlockGrad(data)``. Core operators: stop_gradient."""
def sum(data: Any, axis: Any = None, keepdims: Any = False, exclude: Any = False, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``sum(data; axis: shape?=None, keepdims: bool=False, exclude: bool=False)``. Core operators: sum."""
def sum_axis(data: Any, axis: Any = None, keepdims: Any = False, exclude: Any = False, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``sum(data; axis: shape?=None, keepdims: bool=False, exclude: bool=False)``. Core operators: sum."""
def swapaxes(data: Any, dim1: Any = 0, dim2: Any = 0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``SwapAxis(data; dim1: int=0, dim2: int=0)``. Core operators: swapaxes."""
def take(a: Any, indices: Any, axis: Any = 0, mode: Any = 'clip', *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``take(a, indices; axis: int=0, mode: {clip raise wrap}=clip)``. Core operators: take."""
def tan(data: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``tan(data)``. Core operators: tan."""
def tanh(data: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``tanh(data)``. Core operators: tanh."""
def tile(data: Any, reps: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``tile(data; reps: shape)``. Core operators: tile."""
def topk(data: Any, axis: Any = -1, k: Any = 1, ret_typ: Any = 'indices', is_ascend: Any = False, dtype: Any = 'float32', *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``topk(data; axis: int?=-1, k: int=1, ret_typ: {both indices mask value}=indices, is_ascend: bool=False, dtype: dtype=float32)``. Core operators: topk."""
def transpose(data: Any, axes: Any = (), *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``transpose(data; axes: shape=())``. Core operators: transpose."""
def trunc(data: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``trunc(data)``. Core operators: trunc."""
def uniform(low: Any = 0.0, high: Any = 1.0, shape: Any = None, ctx: Any = '', dtype: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_random_uniform(; low: float=0.0, high: float=1.0, shape: shape?=None, ctx: str=, dtype: dtype?=None)``. Core operators: random_uniform."""
def unravel_index(data: Any, shape: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_unravel_index(data; shape: shape?=None)``. Core operators: stop_gradient, floor_divide, mod, stack."""
def where(condition: Any, x: Any, y: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``where(condition, x, y)``. Core operators: where, reshape."""
def zeros_like(data: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``zeros_like(data)``. Core operators: zeros_like."""
