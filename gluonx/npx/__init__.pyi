# Made by `python -m tools.stubs --write` with JAX 0.10; do not edit.
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

from numpy import dtype as _dtype
from numpy.typing import ArrayLike

from gluonx.np.handle import ndarray
from gluonx.npx.composed import batch_norm as _BatchNorm
BatchNorm = _BatchNorm
from gluonx.device import Device as Device
from gluonx.npx.composed import batch_norm as batch_norm
from gluonx.npx.composed import batch_norm_with_relu as batch_norm_with_relu
from gluonx.npx.composed import broadcast_greater as broadcast_greater
from gluonx.npx.control_flow import cond as cond
from gluonx.npx.composed import constraint_check as constraint_check
from gluonx.npx.calibration import contrib_calibrate_entropy as contrib_calibrate_entropy
from gluonx.device import cpu as cpu
from gluonx.device import cpu_pinned as cpu_pinned
from gluonx.npx.composed import ctc_loss as ctc_loss
from gluonx.device import current_device as _current_context
current_context = _current_context
from gluonx.device import current_device as current_device
from gluonx.npx.control_flow import foreach as foreach
from gluonx.npx.composed import from_dlpack as from_dlpack
from gluonx.npx.composed import from_numpy as from_numpy
from gluonx.npx.composed import get_cuda_compute_capability as get_cuda_compute_capability
from gluonx.device import gpu as gpu
from gluonx.device import gpu_memory_info as gpu_memory_info
from gluonx.npx import image as image
from gluonx.npx.modes import is_np_array as is_np_array
from gluonx.npx.modes import is_np_default_dtype as is_np_default_dtype
from gluonx.npx.modes import is_np_shape as is_np_shape
from gluonx.npx.composed import load as load
from gluonx.npx.composed import nonzero as nonzero
from gluonx.device import num_gpus as num_gpus
from gluonx.npx import random as random
from gluonx.npx.modes import reset_np as reset_np
from gluonx.npx.composed import save as save
from gluonx.npx.composed import savez as savez
from gluonx.npx.random import scalar_poisson as scalar_poisson
from gluonx.ops.prng import seed as seed
from gluonx.npx.modes import set_np as set_np
from gluonx.npx.modes import set_np_default_dtype as set_np_default_dtype
from gluonx.npx.modes import set_np_shape as set_np_shape
from gluonx.npx.composed import sync_batch_norm as sync_batch_norm
from gluonx.npx.random import tensor_poisson as tensor_poisson
from gluonx.npx.composed import to_dlpack_for_read as to_dlpack_for_read
from gluonx.npx.composed import to_dlpack_for_write as to_dlpack_for_write
from gluonx.device import tpu as tpu
from gluonx.npx.composed import waitall as waitall
from gluonx.npx.control_flow import while_loop as while_loop

def Activation(data: ArrayLike, act_type: Any = 'relu', *, out: Any = None) -> ndarray:
    """Return an activation function by its name."""
def AdaptiveAvgPooling2D(data: ArrayLike, output_size: Any = None, layout: Any = None, *, out: Any = None) -> ndarray:
    """Averages over windows chosen such that the result has the spatial size `output_size` (1 by default)."""
def BlockGrad(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The same values, through which no gradient flows."""
def Cast(data: ArrayLike, dtype: Any, *, out: Any = None) -> ndarray:
    """Get the values in another element type. Floats are cut towards zero."""
def Convolution(data: ArrayLike, weight: ArrayLike, bias: ArrayLike | None = None, kernel: Any = None, stride: Any = None, dilate: Any = None, pad: Any = None, num_filter: Any = None, num_group: Any = 1, no_bias: Any = False, layout: Any = None, *, out: Any = None) -> ndarray:
    """Return a convolution (a cross-correlation, as in every deep-learning library) over one to three spatial axes."""
def Deconvolution(data: ArrayLike, weight: ArrayLike, bias: ArrayLike | None = None, kernel: Any = None, stride: Any = None, dilate: Any = None, pad: Any = None, adj: Any = None, target_shape: Any = None, num_filter: Any = None, num_group: Any = 1, no_bias: Any = False, layout: Any = None, *, out: Any = None) -> ndarray:
    """Return the transpose of a convolution: what `convolution` does to gradients, as a layer."""
def Dropout(data: ArrayLike, p: Any = 0.5, mode: Any = 'training', axes: Any = (), training: Any = None, *, out: Any = None) -> ndarray:
    """Set elements to zero with probability `p` and scale the others by ``1 / (1 - p)``."""
def ElementWiseSum(*arrays: ArrayLike, out: Any = None) -> ndarray:
    """Return the sum of several arrays of one shape."""
def Embedding(data: ArrayLike, weight: ArrayLike, input_dim: Any = None, output_dim: Any = None, dtype: Any = None, *, out: Any = None) -> ndarray:
    """Return the rows of `weight` that `data` names; indices out of range take the first or the last row."""
def Flatten(data: ArrayLike, *, out: Any = None) -> ndarray:
    """All axes but the first as one."""
def FullyConnected(x: ArrayLike, weight: ArrayLike, bias: ArrayLike | None = None, num_hidden: Any = None, no_bias: Any = False, flatten: Any = True, *, out: Any = None) -> ndarray:
    """Return a dense layer: ``x @ weight.T + bias``."""
def GroupNorm(data: ArrayLike, gamma: ArrayLike, beta: ArrayLike, num_groups: Any = 1, eps: Any = 1e-05, output_mean_var: Any = False, *, out: Any = None) -> Any:
    """Normalize each sample over groups of channels."""
def InstanceNorm(data: ArrayLike, gamma: ArrayLike, beta: ArrayLike, eps: Any = 0.001, *, out: Any = None) -> ndarray:
    """Normalize each channel (axis 1) of each sample over its places."""
def L2Normalization(data: ArrayLike, eps: Any = 1e-10, mode: Any = 'instance', *, out: Any = None) -> ndarray:
    """``x / sqrt(sum(x**2) + eps)``."""
def LRN(data: ArrayLike, nsize: Any, alpha: Any = 0.0001, beta: Any = 0.75, knorm: Any = 2.0, *, out: Any = None) -> ndarray:
    """Local response normalization: divide by a power of the mean square of `nsize` neighbouring channels."""
def LayerNorm(data: ArrayLike, gamma: ArrayLike, beta: ArrayLike, axis: Any = -1, eps: Any = 1e-05, output_mean_var: Any = False, *, out: Any = None) -> Any:
    """Normalize each vector along `axis` to mean 0 and variance 1, then scale by `gamma` and shift by `beta`."""
def LeakyReLU(data: ArrayLike, gamma: ArrayLike | None = None, act_type: Any = 'leaky', slope: Any = 0.25, lower_bound: Any = 0.125, upper_bound: Any = 0.334, training: Any = None, *, out: Any = None) -> ndarray:
    """Units that stay open a little below zero."""
def Pad(data: ArrayLike, constant_value: ArrayLike | None = None, *, pad_width: Any, mode: Any = 'constant', out: Any = None) -> ndarray:
    """Return the array with margins."""
def Pooling(data: ArrayLike, kernel: Any = None, stride: Any = None, pad: Any = None, pool_type: Any = 'max', pooling_convention: Any = 'valid', global_pool: Any = False, p_value: Any = None, count_include_pad: Any = None, layout: Any = None, *, out: Any = None) -> ndarray:
    """Pooling over one to three spatial axes."""
def RMSNorm(data: ArrayLike, gamma: ArrayLike, axis: Any = -1, eps: Any = 1e-06, *, out: Any = None) -> ndarray:
    """Divide each vector along `axis` by its root mean square, then scale by `gamma`."""
def RNN(data: ArrayLike, parameters: ArrayLike, state: ArrayLike | None = None, state_cell: ArrayLike | None = None, sequence_length: ArrayLike | None = None, *, mode: Any, state_size: Any, num_layers: Any, bidirectional: Any = False, state_outputs: Any = False, p: Any = 0.0, use_sequence_length: Any = False, projection_size: Any = None, lstm_state_clip_min: Any = None, lstm_state_clip_max: Any = None, lstm_state_clip_nan: Any = False, training: Any = None, out: Any = None) -> Any:
    """Recurrent layers over a sequence (time, batch, features): plain, LSTM or GRU; stacked, in one or both directions."""
def ROIAlign(data: ArrayLike, rois: ArrayLike, pooled_size: Any, spatial_scale: Any, sample_ratio: Any = -1, position_sensitive: Any = False, aligned: Any = False, *, out: Any = None) -> ndarray:
    """Return the mean of samples of regions, taken between the places by linear interpolation (arXiv 1703.06870)."""
def ROIPooling(data: ArrayLike, rois: ArrayLike, pooled_size: Any, spatial_scale: Any, *, out: Any = None) -> ndarray:
    """Max pooling of regions (https://arxiv.org/abs/1504.08083)."""
def SequenceLast(data: ArrayLike, sequence_length: ArrayLike | None = None, use_sequence_length: Any = False, axis: Any = 0, *, out: Any = None) -> ndarray:
    """Return the last element of each sequence; the layout is that of `sequence_mask`. Of an empty one, the first."""
def SequenceMask(data: ArrayLike, sequence_length: ArrayLike | None = None, use_sequence_length: Any = False, value: Any = 0.0, axis: Any = 0, *, out: Any = None) -> ndarray:
    """Return the sequences with `value` in place of what lies beyond their lengths."""
def SequenceReverse(data: ArrayLike, sequence_length: ArrayLike | None = None, use_sequence_length: Any = False, axis: Any = 0, *, out: Any = None) -> ndarray:
    """Each sequence reversed within its length; the layout is that of `sequence_mask`."""
def SliceChannel(data: ArrayLike, num_outputs: Any, axis: Any = 1, squeeze_axis: Any = False, *, out: Any = None) -> Any:
    """Return the array in `num_outputs` equal parts along an axis, which is dropped from each under `squeeze_axis`."""
def SwapAxis(data: ArrayLike, axis1: Any = 0, axis2: Any = 1, *, out: Any = None) -> ndarray:
    """Return the array with two axes exchanged."""
def abs(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The absolute value of each element, with gradient 0 at 0."""
def absolute(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The absolute value of each element, with gradient 0 at 0."""
def acos(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The angle in [0, pi] whose cosine is x."""
def acosh(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The number whose hyperbolic cosine is x."""
def activation(data: ArrayLike, act_type: Any = 'relu', *, out: Any = None) -> ndarray:
    """Return an activation function by its name."""
def adabelief_update(weight: ArrayLike, grad: ArrayLike, mean: ArrayLike, var: ArrayLike, rescale_grad: ArrayLike, lr: ArrayLike, eta: ArrayLike, beta1: ArrayLike | None = None, beta2: ArrayLike | None = None, epsilon: ArrayLike | None = None, wd: ArrayLike | None = None, clip_gradient: ArrayLike | None = None, *, out: Any = None) -> Any:
    """AdaBelief as `adamw_update`; the decay joins the gradient, `var` measures its distance from `mean`."""
def adam_update(weight: ArrayLike, grad: ArrayLike, mean: ArrayLike, var: ArrayLike, lr: ArrayLike, beta1: ArrayLike | None = None, beta2: ArrayLike | None = None, epsilon: ArrayLike | None = None, wd: ArrayLike | None = None, rescale_grad: ArrayLike | None = None, clip_gradient: ArrayLike | None = None, *, out: Any = None) -> Any:
    """Adam without the corrections for its start, which go into `lr`: the new weight, `mean` and `var`."""
def adamw_update(weight: ArrayLike, grad: ArrayLike, mean: ArrayLike, var: ArrayLike, rescale_grad: ArrayLike, lr: ArrayLike, eta: ArrayLike, beta1: ArrayLike | None = None, beta2: ArrayLike | None = None, epsilon: ArrayLike | None = None, wd: ArrayLike | None = None, clip_gradient: ArrayLike | None = None, *, out: Any = None) -> Any:
    """Adam with decoupled weight decay and the schedule's factor `eta`: the new weight, `mean` and `var`."""
def adaptive_avg_pooling(data: ArrayLike, output_size: Any = None, layout: Any = None, *, out: Any = None) -> ndarray:
    """Averages over windows chosen such that the result has the spatial size `output_size` (1 by default)."""
def add(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """The sum, elementwise."""
def add_n(*arrays: ArrayLike, out: Any = None) -> ndarray:
    """Return the sum of several arrays of one shape."""
def all(data: ArrayLike, axis: Any = None, keepdims: Any = False, *, out: Any = None) -> ndarray:
    """Return whether every element over axes is non-zero."""
def all_close(a: ArrayLike, b: ArrayLike, rtol: ArrayLike, atol: ArrayLike, equal_nan: Any = False, *, out: Any = None) -> ndarray:
    """Return whether all elements agree within a tolerance."""
def all_equal(a: ArrayLike, b: ArrayLike, equal_nan: Any = False, *, out: Any = None) -> ndarray:
    """Return whether two arrays have one shape and equal elements."""
def all_equivalent(a: ArrayLike, b: ArrayLike, *, out: Any = None) -> ndarray:
    """Return whether two arrays are equal after broadcasting."""
def alltrue(a: ArrayLike, where: ArrayLike | None = None, axis: Any = None, keepdims: Any = False, *, out: Any = None) -> Any:
    """Whether all elements along an axis are true (an old name of `all`)."""
def amax(data: ArrayLike, axis: Any = None, keepdims: Any = False, *, out: Any = None) -> ndarray:
    """Return the largest element over axes; each of several equal ones has the whole gradient."""
def amin(data: ArrayLike, axis: Any = None, keepdims: Any = False, *, out: Any = None) -> ndarray:
    """Return the smallest element over axes; each of several equal ones has the whole gradient."""
def angle(z: ArrayLike, deg: Any = False, *, out: Any = None) -> Any:
    """The angle of complex numbers."""
def any(data: ArrayLike, axis: Any = None, keepdims: Any = False, *, out: Any = None) -> ndarray:
    """Return whether some element over axes is non-zero."""
def append(arr: ArrayLike, values: ArrayLike, axis: Any = None, *, out: Any = None) -> Any:
    """Values put behind an array."""
def arange(start: ArrayLike, step: ArrayLike, num: Any, dtype: Any, *, out: Any = None) -> ndarray:
    """Return `num` numbers from `start` on, `step` apart."""
def arange_like(data: ArrayLike, start: Any = 0.0, step: Any = 1.0, repeat: Any = 1, ctx: Any = None, axis: Any = None, *, out: Any = None) -> ndarray:
    """Equally spaced numbers in the shape of `data`, or as a vector as long as one of its axes."""
def arccos(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The angle in [0, pi] whose cosine is x."""
def arccosh(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The number whose hyperbolic cosine is x."""
def arcsin(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The angle in [-pi/2, pi/2] whose sine is x."""
def arcsinh(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The number whose hyperbolic sine is x."""
def arctan(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The angle in [-pi/2, pi/2] whose tangent is x."""
def arctan2(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """The angle of the point (x2, x1) from the positive first axis."""
def arctanh(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The number whose hyperbolic tangent is x."""
def argmax(data: ArrayLike, axis: Any = None, keepdims: Any = False, *, out: Any = None) -> ndarray:
    """Return the place of the largest element (the first of several) along an axis, or in the flattened array."""
def argmin(data: ArrayLike, axis: Any = None, keepdims: Any = False, *, out: Any = None) -> ndarray:
    """Return the place of the smallest element (the first of several) along an axis, or in the flattened array."""
def argpartition(a: ArrayLike, kth: Any, axis: Any = -1, order: Any = None, *, out: Any = None) -> Any:
    """The indices that put the kth smallest element in its place."""
def argsort(data: ArrayLike, axis: Any = -1, descending: Any = False, dtype: Any = None, *, out: Any = None) -> ndarray:
    """Return the places of the elements in order; equal elements keep theirs, unless `stable` is false."""
def around(data: ArrayLike, decimals: Any = 0, *, out: Any = None) -> ndarray:
    """Give the nearest number of so many decimals, halves to even; integers are rounded to tens, hundreds and so on."""
def array_split(ary: ArrayLike, indices_or_sections: Any, axis: Any = 0, *, out: Any = None) -> Any:
    """Parts of nearly equal length along an axis."""
def asin(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The angle in [-pi/2, pi/2] whose sine is x."""
def asinh(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The number whose hyperbolic sine is x."""
def atan(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The angle in [-pi/2, pi/2] whose tangent is x."""
def atan2(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """The angle of the point (x2, x1) from the positive first axis."""
def atanh(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The number whose hyperbolic tangent is x."""
def atleast_1d(*arrays: ArrayLike, out: Any = None) -> Any:
    """Arrays with at least one axis."""
def atleast_2d(*arrays: ArrayLike, out: Any = None) -> Any:
    """Arrays with at least two axes."""
def atleast_3d(*arrays: ArrayLike, out: Any = None) -> Any:
    """Arrays with at least three axes."""
def average(a: ArrayLike, weights: ArrayLike | None = None, axis: Any = None, returned: Any = False, keepdims: Any = False, *, out: Any = None) -> Any:
    """The weighted mean along an axis."""
def batch_dot(a: ArrayLike, b: ArrayLike, transpose_a: Any = False, transpose_b: Any = False, forward_stype: Any = 'default', *, out: Any = None) -> ndarray:
    """Return the matrix products of two stacks of matrices, each transposed if told so."""
def batch_flatten(data: ArrayLike, *, out: Any = None) -> ndarray:
    """All axes but the first as one."""
def bilinear_resize(data: ArrayLike, height: Any, width: Any, align_corners: Any = True, *, out: Any = None) -> ndarray:
    """Images in another size, by linear interpolation between neighbours."""
def bilinear_sampler(data: ArrayLike, grid: ArrayLike, *, out: Any = None) -> ndarray:
    """Images as seen along a grid, by linear interpolation; 0 outside."""
def bipartite_matching(data: ArrayLike, is_ascend: Any = False, *, threshold: Any, topk: Any = -1, out: Any = None) -> Any:
    """Pairs of rows and columns, taken greedily by the best score that is left. No gradient."""
def bitwise_and(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """Bits set in both."""
def bitwise_count(data: ArrayLike, *, out: Any = None) -> Any:
    """The number of bits set in the absolute value of each integer."""
def bitwise_invert(data: ArrayLike, *, out: Any = None) -> ndarray:
    """Each bit inverted; logical not for booleans."""
def bitwise_left_shift(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """The bits of x1, moved left by x2 places."""
def bitwise_not(data: ArrayLike, *, out: Any = None) -> ndarray:
    """Each bit inverted; logical not for booleans."""
def bitwise_or(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """Bits set in either."""
def bitwise_right_shift(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """The bits of x1, moved right by x2 places."""
def bitwise_xor(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """Bits set in one but not in both."""
def block(*arrays: ArrayLike, nesting: Any, out: Any = None) -> ndarray:
    """Return an array put together of nested lists of blocks."""
def box_decode(data: ArrayLike, anchors: ArrayLike, std0: Any = 1.0, std1: Any = 1.0, std2: Any = 1.0, std3: Any = 1.0, clip: Any = -1.0, format: Any = 'center', *, out: Any = None) -> ndarray:
    """Boxes from a detector's regression, in corner form; the inverse of `box_encode`. No gradient."""
def box_encode(samples: ArrayLike, matches: ArrayLike, anchors: ArrayLike, refs: ArrayLike, means: ArrayLike, stds: ArrayLike, *, out: Any = None) -> Any:
    """Return the targets of a detector's regression: matched boxes as seen from their anchors. No gradient."""
def box_iou(lhs: ArrayLike, rhs: ArrayLike, format: Any = 'corner', *, out: Any = None) -> ndarray:
    """Return the overlap (intersection over union) of each box of `lhs` with each of `rhs`; it has no gradient."""
def box_nms(data: ArrayLike, overlap_thresh: Any = 0.5, valid_thresh: Any = 0.0, topk: Any = -1, coord_start: Any = 2, score_index: Any = 1, id_index: Any = -1, background_id: Any = -1, force_suppress: Any = False, in_format: Any = 'corner', out_format: Any = 'corner', *, out: Any = None) -> ndarray:
    """Non-maximum suppression: the boxes by falling score, without those that overlap a better one too much."""
def broadcast_arrays(*arrays: ArrayLike, out: Any = None) -> Any:
    """Arrays repeated to their common shape."""
def broadcast_like(lhs: ArrayLike, rhs: ArrayLike, lhs_axes: Any = None, rhs_axes: Any = None, *, out: Any = None) -> ndarray:
    """Return the array repeated to the shape of `rhs`; where axes are named, to the lengths of those only."""
def broadcast_to(data: ArrayLike, shape: Any, *, out: Any = None) -> ndarray:
    """Repeat the array to `shape`, in which -2 keeps the length of the array's own axis, counted from the last."""
def cached_attention(query: ArrayLike, new_keys: ArrayLike, new_values: ArrayLike, keys: ArrayLike, values: ArrayLike, position: ArrayLike, mask: ArrayLike | None = None, valid_length: ArrayLike | None = None, scale: Any = None, *, out: Any = None) -> Any:
    """Causal attention of new queries to what a cache holds and to the new keys themselves."""
def cast(data: ArrayLike, dtype: Any, *, out: Any = None) -> ndarray:
    """Get the values in another element type. Floats are cut towards zero."""
def cbrt(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The cube root of each element."""
def ceil(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The smallest whole number that is not below each element."""
def celu(data: ArrayLike, alpha: Any = 1.0, *, out: Any = None) -> ndarray:
    """``max(x, 0) + min(0, alpha * (exp(x / alpha) - 1))``: an `elu` with a slope of 1 on both sides of 0."""
def choose(a: ArrayLike, /, *choices: ArrayLike, mode: Any = 'clip', out: Any = None) -> ndarray:
    """Return elements of the choices, picked by the indices `a`."""
def choose_element_0index(data: ArrayLike, index: ArrayLike, axis: Any = -1, mode: Any = 'clip', keepdims: Any = False, *, out: Any = None) -> ndarray:
    """One element of each vector of `data` along `axis`."""
def clip(data: ArrayLike, a_min: ArrayLike | None = None, a_max: ArrayLike | None = None, *, out: Any = None) -> ndarray:
    """Return the values kept within ``[a_min, a_max]``; the gradient is 1 inside and on the bounds, 0 outside."""
def col2im(data: ArrayLike, output_size: Any, kernel: Any, stride: Any = None, dilate: Any = None, pad: Any = None, *, out: Any = None) -> ndarray:
    """Patches put back into images of `output_size`, overlapping ones added: the transpose of `im2col`."""
def column_stack(*arrays: ArrayLike, out: Any = None) -> Any:
    """1-d arrays as the columns of a matrix."""
def concat(*arrays: ArrayLike, axis: Any = 0, out: Any = None) -> ndarray:
    """Return the arrays one behind the other along an axis; flattened first if that is None."""
def concatenate(*arrays: ArrayLike, axis: Any = 0, out: Any = None) -> ndarray:
    """Return the arrays one behind the other along an axis; flattened first if that is None."""
def concatenated_ranges(*arrays: ArrayLike, items: Any, name: Any, out: Any = None) -> Any:
    """Return slices and numbers one behind the other, as ``np.r_`` and ``np.c_`` take them."""
def conj(data: ArrayLike, *, out: Any = None) -> Any:
    """The complex conjugate."""
def conjugate(data: ArrayLike, *, out: Any = None) -> Any:
    """The complex conjugate."""
def contrib_quantize(data: ArrayLike, min_range: ArrayLike, max_range: ArrayLike, out_type: Any = 'uint8', *, out: Any = None) -> Any:
    """Real numbers as bytes of a given range."""
def contrib_quantize_v2(data: ArrayLike, out_type: Any = 'int8', min_calib_range: Any = None, max_calib_range: Any = None, *, out: Any = None) -> Any:
    """Real numbers as bytes; without a range given, of the range that they have."""
def convolution(data: ArrayLike, weight: ArrayLike, bias: ArrayLike | None = None, kernel: Any = None, stride: Any = None, dilate: Any = None, pad: Any = None, num_filter: Any = None, num_group: Any = 1, workspace: Any = 1024.0, no_bias: Any = False, cudnn_tune: Any = None, cudnn_off: Any = False, layout: Any = None, *, out: Any = None) -> ndarray:
    """Return a convolution (a cross-correlation, as in every deep-learning library) over one to three spatial axes."""
def convolve(a: ArrayLike, v: ArrayLike, mode: Any = 'full', precision: Any = None, preferred_element_type: Any = None, *, out: Any = None) -> Any:
    """The discrete convolution of two vectors."""
def copy(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The same values."""
def copysign(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """x1 with the sign of x2."""
def corrcoef(data: ArrayLike, y: ArrayLike | None = None, rowvar: Any = True, bias: Any = None, ddof: Any = None, dtype: Any = None, *, out: Any = None) -> Any:
    """Correlation coefficients."""
def correlate(a: ArrayLike, v: ArrayLike, mode: Any = 'valid', precision: Any = None, preferred_element_type: Any = None, *, out: Any = None) -> Any:
    """The cross-correlation of two vectors."""
def correlation(x1: ArrayLike, x2: ArrayLike, kernel_size: Any = 1, max_displacement: Any = 1, stride1: Any = 1, stride2: Any = 1, pad_size: Any = 0, is_multiply: Any = True, *, out: Any = None) -> ndarray:
    """Compare patches of two images for each displacement (FlowNet, Dosovitskiy et al. 2015)."""
def cos(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The cosine of angles in radians."""
def cosh(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The hyperbolic cosine."""
def cosine_embedding_loss(input1: ArrayLike, input2: ArrayLike, label: ArrayLike, sample_weight: ArrayLike | None = None, margin: Any = 0, weight: Any = None, batch_axis: Any = 0, *, out: Any = None) -> ndarray:
    """One minus the cosine of two embeddings for label 1; what the cosine exceeds ``margin`` by for label -1."""
def count_nonzero(a: ArrayLike, axis: Any = None, keepdims: Any = False, *, out: Any = None) -> Any:
    """How many elements along an axis are not zero."""
def count_sketch(data: ArrayLike, h: ArrayLike, s: ArrayLike, out_dim: Any, *, out: Any = None) -> ndarray:
    """Return the count sketch of rows (https://arxiv.org/abs/1511.06062): ``out[:, h[i]] += s[i] * data[:, i]``."""
def cov(m: ArrayLike, y: ArrayLike | None = None, fweights: ArrayLike | None = None, aweights: ArrayLike | None = None, rowvar: Any = True, bias: Any = False, ddof: Any = None, dtype: Any = None, *, out: Any = None) -> Any:
    """The covariance matrix."""
def cross(a: ArrayLike, b: ArrayLike, axisa: Any = -1, axisb: Any = -1, axisc: Any = -1, axis: Any = None, *, out: Any = None) -> Any:
    """The vector product."""
def ctc_batch_loss(pred: ArrayLike, label: ArrayLike, pred_lengths: ArrayLike | None = None, label_lengths: ArrayLike | None = None, sample_weight: ArrayLike | None = None, layout: Any = 'NTC', label_layout: Any = 'NT', weight: Any = None, *, out: Any = None) -> ndarray:
    """Connectionist temporal classification with the last class as the blank; one value a sample."""
def cumprod(data: ArrayLike, axis: Any = None, dtype: Any = None, *, out: Any = None) -> ndarray:
    """Return the running product along an axis, or of the flattened array; of integers in 64 bits."""
def cumsum(data: ArrayLike, axis: Any = None, dtype: Any = None, *, out: Any = None) -> ndarray:
    """Return the running sum along an axis, or of the flattened array."""
def cumulative_prod(data: ArrayLike, axis: Any = None, dtype: Any = None, include_initial: Any = False, *, out: Any = None) -> Any:
    """The running product along an axis (array API)."""
def cumulative_sum(data: ArrayLike, axis: Any = None, dtype: Any = None, include_initial: Any = False, *, out: Any = None) -> Any:
    """The running sum along an axis (array API)."""
def deconvolution(data: ArrayLike, weight: ArrayLike, bias: ArrayLike | None = None, kernel: Any = None, stride: Any = None, dilate: Any = None, pad: Any = None, adj: Any = None, target_shape: Any = None, num_filter: Any = None, num_group: Any = 1, workspace: Any = 1024.0, no_bias: Any = False, cudnn_tune: Any = None, cudnn_off: Any = False, layout: Any = None, *, out: Any = None) -> ndarray:
    """Return the transpose of a convolution: what `convolution` does to gradients, as a layer."""
def deformable_convolution(data: ArrayLike, offset: ArrayLike, weight: ArrayLike, bias: ArrayLike | None = None, *, kernel: Any, stride: Any = None, dilate: Any = None, pad: Any = None, num_filter: Any, num_group: Any = 1, num_deformable_group: Any = 1, no_bias: Any = False, layout: Any = None, out: Any = None) -> ndarray:
    """Return a convolution whose taps are moved by offsets."""
def deformable_psroi_pooling(data: ArrayLike, rois: ArrayLike, trans: ArrayLike | None = None, *, spatial_scale: Any, output_dim: Any, group_size: Any, pooled_size: Any, part_size: Any = 0, sample_per_part: Any = 1, trans_std: Any = 0.0, no_trans: Any = False, out: Any = None) -> ndarray:
    """Average pooling of regions, each part from channels of its own and moved (https://arxiv.org/abs/1703.06211)."""
def deg2rad(data: ArrayLike, *, out: Any = None) -> ndarray:
    """Degrees to radians."""
def degrees(data: ArrayLike, *, out: Any = None) -> ndarray:
    """Radians to degrees."""
def depth_to_space(data: ArrayLike, block_size: Any, *, out: Any = None) -> ndarray:
    """Blocks of channels laid out in space: (n, c * b * b, h, w) becomes (n, c, h * b, w * b)."""
def dequantize(data: ArrayLike, min_range: ArrayLike, max_range: ArrayLike, out_type: Any = 'float32', *, out: Any = None) -> ndarray:
    """Return the real numbers that bytes stand for."""
def diag(v: ArrayLike, k: Any = 0, *, out: Any = None) -> Any:
    """The diagonal of a matrix, or the matrix with a given diagonal."""
def diagflat(v: ArrayLike, k: Any = 0, *, out: Any = None) -> Any:
    """The matrix with the flattened input on its diagonal."""
def diagonal(a: ArrayLike, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, *, out: Any = None) -> Any:
    """The diagonals of the last or given two axes."""
def diff(a: ArrayLike, prepend: ArrayLike | None = None, append: ArrayLike | None = None, n: Any = 1, axis: Any = -1, *, out: Any = None) -> Any:
    """The n-th difference along an axis."""
def digamma(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The derivative of ``gammaln``."""
def digitize(data: ArrayLike, bins: ArrayLike, right: Any = False, *, out: Any = None) -> Any:
    """The number of the bin that each element falls into."""
def divide(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """The quotient, as a float also for integers."""
def divmod(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> Any:
    """Floor quotient and remainder, elementwise."""
def dot(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """Return the sum of products over the last axis of `x1` and the last but one of `x2`."""
def dot_product_attention(query: ArrayLike, keys: ArrayLike, values: ArrayLike, mask: ArrayLike | None = None, valid_length: ArrayLike | None = None, causal: Any = False, scale: Any = None, p: Any = 0.0, training: Any = None, *, out: Any = None) -> ndarray:
    """Attention of queries to keys, summing values: ``softmax(query @ key.T * scale) @ value`` for each head."""
def dropout(data: ArrayLike, p: Any = 0.5, mode: Any = 'training', axes: Any = (), cudnn_off: Any = False, training: Any = None, *, out: Any = None) -> ndarray:
    """Set elements to zero with probability `p` and scale the others by ``1 / (1 - p)``."""
def dsplit(ary: ArrayLike, indices_or_sections: Any, *, out: Any = None) -> Any:
    """Parts along the third axis."""
def dstack(*arrays: ArrayLike, dtype: Any = None, out: Any = None) -> Any:
    """Arrays stacked along a third axis."""
def ediff1d(ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None, *, out: Any = None) -> Any:
    """The differences of neighbours in the flattened array."""
def einsum(*arrays: ArrayLike, subscripts: Any, out: Any = None) -> ndarray:
    """Return the sum of products that Einstein's notation describes."""
def elu(data: ArrayLike, alpha: Any = 1.0, *, out: Any = None) -> ndarray:
    """``data`` if positive, else ``alpha * (exp(x) - 1)``."""
def embedding(data: ArrayLike, weight: ArrayLike, input_dim: Any = None, output_dim: Any = None, dtype: Any = None, sparse_grad: Any = False, *, out: Any = None) -> ndarray:
    """Return the rows of `weight` that `data` names; indices out of range take the first or the last row."""
def equal(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """Where x1 == x2."""
def erf(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The error function."""
def erfinv(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The inverse of the error function."""
def exp(data: ArrayLike, *, out: Any = None) -> ndarray:
    """e to the power of each element."""
def exp2(data: ArrayLike, *, out: Any = None) -> ndarray:
    """2 to the power of each element."""
def expand_dims(data: ArrayLike, axis: Any, *, out: Any = None) -> ndarray:
    """Return the array with axes of length 1 put in."""
def expm1(data: ArrayLike, *, out: Any = None) -> ndarray:
    """exp(x) - 1, exact also for x near zero."""
def eye(N: Any, M: Any = None, k: Any = 0, *, dtype: Any, out: Any = None) -> ndarray:
    """Return a matrix with ones on a diagonal."""
def fabs(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The absolute value of each element, with gradient 0 at 0."""
def fft_fft(a: ArrayLike, n: Any = None, axis: Any = -1, norm: Any = None, *, out: Any = None) -> Any:
    """The discrete Fourier transform along an axis."""
def fft_fft2(a: ArrayLike, s: Any = None, axes: Any = (-2, -1), norm: Any = None, *, out: Any = None) -> Any:
    """The discrete Fourier transform over two axes."""
def fft_fftn(a: ArrayLike, s: Any = None, axes: Any = None, norm: Any = None, *, out: Any = None) -> Any:
    """The discrete Fourier transform over several axes."""
def fft_fftshift(data: ArrayLike, axes: Any = None, *, out: Any = None) -> Any:
    """The zero frequency moved to the middle."""
def fft_hfft(a: ArrayLike, n: Any = None, axis: Any = -1, norm: Any = None, *, out: Any = None) -> Any:
    """The transform of a signal whose spectrum is real."""
def fft_ifft(a: ArrayLike, n: Any = None, axis: Any = -1, norm: Any = None, *, out: Any = None) -> Any:
    """The inverse of `fft`."""
def fft_ifft2(a: ArrayLike, s: Any = None, axes: Any = (-2, -1), norm: Any = None, *, out: Any = None) -> Any:
    """The inverse of `fft2`."""
def fft_ifftn(a: ArrayLike, s: Any = None, axes: Any = None, norm: Any = None, *, out: Any = None) -> Any:
    """The inverse of `fftn`."""
def fft_ifftshift(data: ArrayLike, axes: Any = None, *, out: Any = None) -> Any:
    """The inverse of `fftshift`."""
def fft_ihfft(a: ArrayLike, n: Any = None, axis: Any = -1, norm: Any = None, *, out: Any = None) -> Any:
    """The inverse of `hfft`."""
def fft_irfft(a: ArrayLike, n: Any = None, axis: Any = -1, norm: Any = None, *, out: Any = None) -> Any:
    """The inverse of `rfft`."""
def fft_irfft2(a: ArrayLike, s: Any = None, axes: Any = (-2, -1), norm: Any = None, *, out: Any = None) -> Any:
    """The inverse of `rfft2`."""
def fft_irfftn(a: ArrayLike, s: Any = None, axes: Any = None, norm: Any = None, *, out: Any = None) -> Any:
    """The inverse of `rfftn`."""
def fft_pairs(data: ArrayLike, *, out: Any = None) -> ndarray:
    """Return the Fourier transform of real rows, real and imaginary parts in turns."""
def fft_rfft(a: ArrayLike, n: Any = None, axis: Any = -1, norm: Any = None, *, out: Any = None) -> Any:
    """The discrete Fourier transform of real input."""
def fft_rfft2(a: ArrayLike, s: Any = None, axes: Any = (-2, -1), norm: Any = None, *, out: Any = None) -> Any:
    """The discrete Fourier transform of real input over two axes."""
def fft_rfftn(a: ArrayLike, s: Any = None, axes: Any = None, norm: Any = None, *, out: Any = None) -> Any:
    """The discrete Fourier transform of real input over several axes."""
def fill_diagonal(a: ArrayLike, val: ArrayLike, wrap: Any = False, *, out: Any = None) -> ndarray:
    """Return the array with its main diagonal overwritten."""
def fix(data: ArrayLike, *, out: Any = None) -> ndarray:
    """Each element rounded towards zero."""
def flatten(data: ArrayLike, *, out: Any = None) -> ndarray:
    """All axes but the first as one."""
def flip(data: ArrayLike, axis: Any = None, *, out: Any = None) -> ndarray:
    """Return the elements in opposite order along axes."""
def fliplr(m: ArrayLike, *, out: Any = None) -> Any:
    """The order of columns reversed."""
def flipud(m: ArrayLike, *, out: Any = None) -> Any:
    """The order of rows reversed."""
def float_power(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> Any:
    """x1 to the power x2, computed in floats."""
def floor(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The largest whole number that is not above each element."""
def floor_divide(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """The quotient rounded down; 0 where an integer is divided by 0."""
def fmax(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """The larger element; NaN only where both are. The gradient of a tie goes to ``x1``."""
def fmin(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """The smaller element; NaN only where both are. The gradient of a tie goes to ``x1``."""
def fmod(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """The remainder with the sign of x1."""
def frexp(data: ArrayLike, *, out: Any = None) -> Any:
    """Mantissa and exponent of two of each element."""
def ftml_update(weight: ArrayLike, grad: ArrayLike, d: ArrayLike, v: ArrayLike, z: ArrayLike, lr: ArrayLike, t: ArrayLike, beta1: ArrayLike | None = None, beta2: ArrayLike | None = None, epsilon: ArrayLike | None = None, wd: ArrayLike | None = None, rescale_grad: ArrayLike | None = None, clip_grad: ArrayLike | None = None, *, out: Any = None) -> Any:
    """Follow the moving leader, at step `t` (from 1): the new weight, `d`, `v` and `z`."""
def ftrl_update(weight: ArrayLike, grad: ArrayLike, z: ArrayLike, n: ArrayLike, lr: ArrayLike, lamda1: ArrayLike | None = None, beta: ArrayLike | None = None, wd: ArrayLike | None = None, rescale_grad: ArrayLike | None = None, clip_gradient: ArrayLike | None = None, *, out: Any = None) -> Any:
    """Follow the regularized leader: the new weight, `z` and `n`."""
def full(fill_value: ArrayLike, shape: Any, dtype: Any, *, out: Any = None) -> ndarray:
    """Return an array of one value throughout."""
def full_like(data: ArrayLike, fill_value: ArrayLike, dtype: Any = None, *, out: Any = None) -> ndarray:
    """One value in the shape (and, unless told, the element type) of an array."""
def fully_connected(x: ArrayLike, weight: ArrayLike, bias: ArrayLike | None = None, num_hidden: Any = None, no_bias: Any = True, flatten: Any = True, *, out: Any = None) -> ndarray:
    """Return a dense layer: ``x @ weight.T + bias``."""
def gamma(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The gamma function."""
def gammaln(data: ArrayLike, *, out: Any = None) -> ndarray:
    """Logarithm of ``|gamma(x)|``."""
def gather_nd(data: ArrayLike, indices: ArrayLike, *, out: Any = None) -> ndarray:
    """Return the elements of `data` whose coordinates stand in the columns of `indices`."""
def gcd(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """The greatest common divisor."""
def gelu(data: ArrayLike, approximate: Any = False, *, out: Any = None) -> ndarray:
    """``data`` times the normal distribution function of ``data``; by the formula with tanh if `approximate`."""
def geomspace(start: ArrayLike, stop: ArrayLike, base: ArrayLike | None = None, *, num: Any, endpoint: Any, dtype: Any, axis: Any, out: Any = None) -> ndarray:
    """Return numbers from `start` to `stop`, each the same multiple of the one before."""
def gradient(*arrays: ArrayLike, axis: Any = None, edge_order: Any = None, out: Any = None) -> Any:
    """Central differences along each axis."""
def greater(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """Where x1 > x2."""
def greater_equal(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """Where x1 >= x2."""
def grid_generator(data: ArrayLike, transform_type: Any, target_shape: Any = (0, 0), *, out: Any = None) -> ndarray:
    """Return the grid on which `bilinear_sampler` looks."""
def group_norm(data: ArrayLike, gamma: ArrayLike, beta: ArrayLike, num_groups: Any = 1, eps: Any = 0.001, output_mean_var: Any = False, *, out: Any = None) -> Any:
    """Normalize each sample over groups of channels."""
def hard_sigmoid(data: ArrayLike, alpha: Any = 0.2, beta: Any = 0.5, *, out: Any = None) -> ndarray:
    """``alpha * x + beta``, cut to the range 0 to 1, with gradient 0 at both ends."""
def hard_swish(data: ArrayLike, *, out: Any = None) -> ndarray:
    """``data`` times the hard sigmoid of slope 1/6: a `swish` without an exponential, 0 up to -3 and ``data`` from 3 on."""
def heaviside(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> Any:
    """0 for x1 < 0, x2 at zero, 1 above."""
def hinge_loss(pred: ArrayLike, label: ArrayLike, sample_weight: ArrayLike | None = None, margin: Any = 1, weight: Any = None, batch_axis: Any = 0, *, out: Any = None) -> ndarray:
    """``max(0, margin - pred * label)`` for labels of -1 and 1, averaged a sample."""
def histogram(a: ArrayLike, edges: ArrayLike | None = None, weights: ArrayLike | None = None, bins: Any = 10, range: Any = None, density: Any = None, *, out: Any = None) -> Any:
    """Count by bins, and give the edges; without `edges` there are `bins` equal ones."""
def histogram_bin_edges(a: ArrayLike, edges: ArrayLike | None = None, weights: ArrayLike | None = None, bins: Any = 10, range: Any = None, *, out: Any = None) -> ndarray:
    """Return the edges of a histogram's bins."""
def hsplit(ary: ArrayLike, indices_or_sections: Any, *, out: Any = None) -> Any:
    """Parts along the second axis (the first of a 1-d array)."""
def hstack(*arrays: ArrayLike, dtype: Any = None, out: Any = None) -> Any:
    """Arrays joined along the second axis (the first of 1-d arrays)."""
def huber_loss(pred: ArrayLike, label: ArrayLike, sample_weight: ArrayLike | None = None, rho: Any = 1, weight: Any = None, batch_axis: Any = 0, *, out: Any = None) -> ndarray:
    """Quadratic up to a difference of ``rho``, linear beyond, smooth where they meet."""
def hypot(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """The length of the vector (x1, x2)."""
def i0(data: ArrayLike, *, out: Any = None) -> Any:
    """The modified Bessel function of the first kind, order zero."""
def identity(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The same values."""
def ifft_pairs(data: ArrayLike, *, out: Any = None) -> ndarray:
    """Return the real part of the inverse of `fft_pairs`, times n: the transform is not divided by its length."""
def im2col(data: ArrayLike, kernel: Any, stride: Any = None, dilate: Any = None, pad: Any = None, *, out: Any = None) -> ndarray:
    """Return the patches that a convolution sees, one a column."""
def imag(data: ArrayLike, *, out: Any = None) -> Any:
    """The imaginary part."""
def in1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: Any = False, invert: Any = False, *, out: Any = None) -> Any:
    """Where elements of a flattened array occur in another (an old name of `isin`)."""
def index_add(a: ArrayLike, ind: ArrayLike, val: ArrayLike, *, out: Any = None) -> ndarray:
    """Return the array with `val` added at the coordinates in the columns of `ind`; repeated ones add up."""
def index_copy(data: ArrayLike, index: ArrayLike, new: ArrayLike, *, out: Any = None) -> ndarray:
    """Return the array with the rows of `new` put at `index`."""
def index_update(a: ArrayLike, ind: ArrayLike, val: ArrayLike, *, out: Any = None) -> ndarray:
    """Give the array with `val` put at the coordinates in the columns of `ind`, or at the rows that a vector names."""
def inner(a: ArrayLike, b: ArrayLike, precision: Any = None, preferred_element_type: Any = None, *, out: Any = None) -> Any:
    """The sum of products over the last axes."""
def insert(arr: ArrayLike, values: ArrayLike, obj: Any, axis: Any = None, *, out: Any = None) -> ndarray:
    """Return the array with values put in before the places `obj`."""
def instance_norm(data: ArrayLike, gamma: ArrayLike, beta: ArrayLike, eps: Any = 0.001, *, out: Any = None) -> ndarray:
    """Normalize each channel (axis 1) of each sample over its places."""
def int8_convolution(data: ArrayLike, weight: ArrayLike, weight_scale: ArrayLike, data_scale: ArrayLike | None = None, bias: ArrayLike | None = None, weight_sum: ArrayLike | None = None, kernel: Any = None, stride: Any = None, dilate: Any = None, pad: Any = None, num_filter: Any = None, num_group: Any = 1, layout: Any = None, unsigned: Any = False, *, out: Any = None) -> ndarray:
    """Convolve with products of int8; see `int8_fully_connected` for the scales and `convolution` for the rest."""
def int8_fully_connected(data: ArrayLike, weight: ArrayLike, weight_scale: ArrayLike, data_scale: ArrayLike | None = None, bias: ArrayLike | None = None, weight_sum: ArrayLike | None = None, num_hidden: Any = None, flatten: Any = True, unsigned: Any = False, *, out: Any = None) -> ndarray:
    """Apply a dense layer with products of int8: ``data @ (weight * weight_scale).T + bias``, data rounded to bytes."""
def integer_power(data: ArrayLike, exponent: Any, *, out: Any = None) -> ndarray:
    """``x ** exponent`` for a fixed integer: a few products in place of a general power. Integers stay integers."""
def interleaved_matmul_encdec_qk(queries: ArrayLike, keys_values: ArrayLike, heads: Any, *, out: Any = None) -> ndarray:
    """Return the scores of a decoder's attention to an encoder, ``q @ k.T / sqrt(width)`` for each head."""
def interleaved_matmul_encdec_valatt(keys_values: ArrayLike, attention: ArrayLike, heads: Any, *, out: Any = None) -> ndarray:
    """Return the values of a decoder's attention to an encoder, summed with the weights `attention`."""
def interleaved_matmul_selfatt_qk(queries_keys_values: ArrayLike, heads: Any, *, out: Any = None) -> ndarray:
    """Return the scores of self attention, ``q @ k.T / sqrt(width)`` for each head."""
def interleaved_matmul_selfatt_valatt(queries_keys_values: ArrayLike, attention: ArrayLike, heads: Any, *, out: Any = None) -> ndarray:
    """Return the values of self attention, summed with the weights `attention`."""
def interp(data: ArrayLike, xp: ArrayLike, fp: ArrayLike, left: ArrayLike | None = None, right: ArrayLike | None = None, period: ArrayLike | None = None, *, out: Any = None) -> Any:
    """Linear interpolation between the points (xp, fp)."""
def intgemm_fully_connected(data: ArrayLike, weight: ArrayLike, scaling: ArrayLike | None = None, bias: ArrayLike | None = None, *, num_hidden: Any, no_bias: Any = False, flatten: Any = True, out_type: Any = 'float32', out: Any = None) -> ndarray:
    """Return a dense layer on int8: ``scaling * (data @ weight.T) + bias``."""
def intgemm_maxabsolute(data: ArrayLike, *, out: Any = None) -> ndarray:
    """Return the largest magnitude of an array, shape (1,)."""
def intgemm_prepare_data(data: ArrayLike, maxabs: ArrayLike, *, out: Any = None) -> ndarray:
    """Return an array as int8, in which 127 stands for `maxabs`."""
def intgemm_prepare_weight(weight: ArrayLike, maxabs: ArrayLike | None = None, already_quantized: Any = False, *, out: Any = None) -> ndarray:
    """Return a weight as int8 for `intgemm_fully_connected`."""
def intgemm_take_weight(weight: ArrayLike, indices: ArrayLike, *, out: Any = None) -> ndarray:
    """Return some rows of a prepared weight: the part of a large vocabulary that can come."""
def invert(data: ArrayLike, *, out: Any = None) -> ndarray:
    """Each bit inverted; logical not for booleans."""
def isclose(a: ArrayLike, b: ArrayLike, rtol: ArrayLike | None = None, atol: ArrayLike | None = None, equal_nan: Any = False, *, out: Any = None) -> Any:
    """Where two arrays agree within a tolerance."""
def iscomplex(data: ArrayLike, *, out: Any = None) -> Any:
    """Where the imaginary part is not zero."""
def isfinite(data: ArrayLike, *, out: Any = None) -> ndarray:
    """Where an element is neither infinite nor NaN."""
def isin(element: ArrayLike, test_elements: ArrayLike, assume_unique: Any = False, invert: Any = False, *, out: Any = None) -> Any:
    """Where elements occur in another array."""
def isinf(data: ArrayLike, *, out: Any = None) -> ndarray:
    """Where an element is infinite."""
def isnan(data: ArrayLike, *, out: Any = None) -> ndarray:
    """Where an element is NaN."""
def isneginf(data: ArrayLike, *, out: Any = None) -> ndarray:
    """Where an element is minus infinity."""
def isposinf(data: ArrayLike, *, out: Any = None) -> ndarray:
    """Where an element is plus infinity."""
def isreal(data: ArrayLike, *, out: Any = None) -> Any:
    """Where the imaginary part is zero."""
def ix_(*arrays: ArrayLike, out: Any = None) -> Any:
    """Open mesh of indices."""
def kl_div_loss(pred: ArrayLike, label: ArrayLike, sample_weight: ArrayLike | None = None, from_logits: Any = True, axis: Any = -1, weight: Any = None, batch_axis: Any = 0, summed: Any = False, *, out: Any = None) -> ndarray:
    """``label * (log(label) - pred)``, averaged a sample; the softmax of ``pred`` is taken unless ``from_logits``."""
def kron(a: ArrayLike, b: ArrayLike, *, out: Any = None) -> Any:
    """The Kronecker product."""
def l1_loss(pred: ArrayLike, label: ArrayLike, sample_weight: ArrayLike | None = None, weight: Any = None, batch_axis: Any = 0, *, out: Any = None) -> ndarray:
    """Return the absolute difference ``|label - pred|``, averaged a sample."""
def l2_loss(pred: ArrayLike, label: ArrayLike, sample_weight: ArrayLike | None = None, weight: Any = 1.0, batch_axis: Any = 0, *, out: Any = None) -> ndarray:
    """Half the squared difference, ``weight / 2 * (label - pred) ** 2``, averaged a sample."""
def l2_normalization(data: ArrayLike, eps: Any = 1e-10, mode: Any = 'instance', *, out: Any = None) -> ndarray:
    """``x / sqrt(sum(x**2) + eps)``."""
def lamb_update_phase1(weight: ArrayLike, grad: ArrayLike, mean: ArrayLike, var: ArrayLike, t: ArrayLike, wd: ArrayLike, beta1: ArrayLike | None = None, beta2: ArrayLike | None = None, epsilon: ArrayLike | None = None, rescale_grad: ArrayLike | None = None, clip_gradient: ArrayLike | None = None, bias_correction: Any = True, *, out: Any = None) -> Any:
    """LAMB's direction at step `t` (from 1), before it is scaled by norms; with the new `mean` and `var`."""
def lamb_update_phase2(weight: ArrayLike, g: ArrayLike, r1: ArrayLike, r2: ArrayLike, lr: ArrayLike, lower_bound: ArrayLike | None = None, upper_bound: ArrayLike | None = None, *, out: Any = None) -> ndarray:
    """LAMB's step along the direction `g`, scaled by the norms `r1` of the weight and `r2` of the direction."""
def lans_update(weight: ArrayLike, grad: ArrayLike, mean: ArrayLike, var: ArrayLike, t: ArrayLike, lr: ArrayLike, wd: ArrayLike, beta1: ArrayLike | None = None, beta2: ArrayLike | None = None, epsilon: ArrayLike | None = None, rescale_grad: ArrayLike | None = None, clip_gradient: ArrayLike | None = None, lower_bound: ArrayLike | None = None, upper_bound: ArrayLike | None = None, *, out: Any = None) -> Any:
    """LANS at step `t` (from 1): LAMB with a normalized gradient and Nesterov's look ahead."""
def layer_norm(data: ArrayLike, gamma: ArrayLike, beta: ArrayLike, axis: Any = -1, eps: Any = 1e-05, output_mean_var: Any = False, *, out: Any = None) -> Any:
    """Normalize each vector along `axis` to mean 0 and variance 1, then scale by `gamma` and shift by `beta`."""
def lcm(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """The least common multiple."""
def ldexp(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """x1 times two to the power x2."""
def leaky_relu(data: ArrayLike, gamma: ArrayLike | None = None, act_type: Any = 'leaky', slope: Any = 0.25, lower_bound: Any = 0.125, upper_bound: Any = 0.334, training: Any = None, *, out: Any = None) -> ndarray:
    """Units that stay open a little below zero."""
def left_shift(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """The bits of x1, moved left by x2 places."""
def less(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """Where x1 < x2."""
def less_equal(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """Where x1 <= x2."""
def lexsort(*arrays: ArrayLike, axis: Any = -1, out: Any = None) -> Any:
    """The indices that sort by several keys, the last one first."""
def linalg_cholesky(a: ArrayLike, upper: Any = False, *, out: Any = None) -> Any:
    """The triangular factor of a positive definite matrix."""
def linalg_cond(data: ArrayLike, p: Any = None, *, out: Any = None) -> Any:
    """The condition number."""
def linalg_cross(a: ArrayLike, b: ArrayLike, axis: Any = -1, *, out: Any = None) -> Any:
    """The vector product of 3-vectors along an axis."""
def linalg_det(a: ArrayLike, *, out: Any = None) -> Any:
    """The determinant."""
def linalg_diagonal(a: ArrayLike, offset: Any = 0, *, out: Any = None) -> Any:
    """The diagonal of the last two axes."""
def linalg_eigh(a: ArrayLike, upper: Any = False, UPLO: Any = None, *, out: Any = None) -> Any:
    """Eigenvalues, ascending, and eigenvectors of a symmetric or Hermitian matrix."""
def linalg_eigvalsh(a: ArrayLike, upper: Any = False, UPLO: Any = None, *, out: Any = None) -> Any:
    """The eigenvalues of a symmetric or Hermitian matrix, ascending."""
def linalg_inv(a: ArrayLike, *, out: Any = None) -> Any:
    """The inverse."""
def linalg_lstsq(a: ArrayLike, b: ArrayLike, rcond: Any = 'warn', *, out: Any = None) -> Any:
    """The least-squares solution of a linear system: solution, residuals, rank, singular values."""
def linalg_matmul(x1: ArrayLike, x2: ArrayLike, precision: Any = None, preferred_element_type: Any = None, *, out: Any = None) -> Any:
    """The matrix product."""
def linalg_matrix_norm(data: ArrayLike, ord: Any = 'fro', axis: Any = (-2, -1), keepdims: Any = False, *, out: Any = None) -> Any:
    """A norm of the matrices in two axes."""
def linalg_matrix_power(a: ArrayLike, n: Any, *, out: Any = None) -> Any:
    """A square matrix to a whole power."""
def linalg_matrix_rank(M: ArrayLike, rtol: ArrayLike | None = None, hermitian: Any = False, *, out: Any = None) -> Any:
    """The number of singular values above a tolerance."""
def linalg_matrix_transpose(data: ArrayLike, *, out: Any = None) -> Any:
    """The last two axes exchanged."""
def linalg_multi_dot(*arrays: ArrayLike, precision: Any = None, out: Any = None) -> Any:
    """The product of several matrices in the cheapest order."""
def linalg_norm(data: ArrayLike, ord: Any = None, axis: Any = None, keepdims: Any = False, *, out: Any = None) -> Any:
    """A vector or matrix norm."""
def linalg_outer(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> Any:
    """The product of all pairs of two vectors."""
def linalg_pinv(a: ArrayLike, rtol: ArrayLike | None = None, hermitian: Any = False, *, out: Any = None) -> Any:
    """The Moore-Penrose inverse."""
def linalg_qr(a: ArrayLike, mode: Any = 'reduced', *, out: Any = None) -> Any:
    """The factors of an orthogonal and a triangular matrix."""
def linalg_slogdet(a: ArrayLike, method: Any = None, *, out: Any = None) -> Any:
    """Sign and logarithm of the absolute value of the determinant."""
def linalg_solve(a: ArrayLike, b: ArrayLike, *, out: Any = None) -> Any:
    """The solution of a linear system."""
def linalg_svd(a: ArrayLike, full_matrices: Any = False, compute_uv: Any = True, *, out: Any = None) -> Any:
    """The singular value decomposition, in its reduced form."""
def linalg_svdvals(data: ArrayLike, *, out: Any = None) -> Any:
    """The singular values, descending."""
def linalg_tensordot(x1: ArrayLike, x2: ArrayLike, axes: Any = 2, precision: Any = None, preferred_element_type: Any = None, *, out: Any = None) -> Any:
    """The sum of products over given axes."""
def linalg_tensorinv(a: ArrayLike, ind: Any = 2, *, out: Any = None) -> Any:
    """The inverse for `tensordot`."""
def linalg_tensorsolve(a: ArrayLike, b: ArrayLike, axes: Any = None, *, out: Any = None) -> Any:
    """The solution of a linear system of tensors."""
def linalg_trace(a: ArrayLike, offset: Any = 0, dtype: Any = None, *, out: Any = None) -> Any:
    """The sum of the diagonal of the last two axes."""
def linalg_vecdot(a: ArrayLike, b: ArrayLike, axis: Any = None, *, out: Any = None) -> Any:
    """The inner product of vectors along an axis."""
def linalg_vector_norm(data: ArrayLike, ord: Any = None, axis: Any = None, keepdims: Any = False, *, out: Any = None) -> Any:
    """A norm of the vectors in given axes."""
def linear_regression_output(data: ArrayLike, label: ArrayLike, grad_scale: Any = 1.0, *, out: Any = None) -> ndarray:
    """The data, with the gradient of half the squared distance to `label`, over the numbers of each sample."""
def linspace(start: ArrayLike, stop: ArrayLike, base: ArrayLike | None = None, *, num: Any, endpoint: Any, dtype: Any, axis: Any, out: Any = None) -> ndarray:
    """Return numbers at equal distances from `start` to `stop`."""
def log(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The natural logarithm."""
def log10(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The logarithm to base ten."""
def log1p(data: ArrayLike, *, out: Any = None) -> ndarray:
    """log(1 + x), exact also for x near zero."""
def log2(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The logarithm to base two."""
def log_sigmoid(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The logarithm of the sigmoid, without overflow."""
def log_softmax(data: ArrayLike, axis: Any = -1, length: ArrayLike | None = None, temperature: ArrayLike | None = None, use_length: Any = False, dtype: Any = None, *, out: Any = None) -> ndarray:
    """Return the logarithm of `softmax`, without a detour through small numbers; ``-inf`` beyond `length`."""
def logaddexp(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """log(exp(x1) + exp(x2)) without overflow."""
def logaddexp2(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> Any:
    """log2(2**x1 + 2**x2) without overflow."""
def logical_and(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """Where both are true."""
def logical_not(data: ArrayLike, *, out: Any = None) -> ndarray:
    """Where an element is zero or False."""
def logical_or(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """Where at least one is true."""
def logical_xor(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """Where just one is true."""
def logistic_loss(pred: ArrayLike, label: ArrayLike, sample_weight: ArrayLike | None = None, label_format: Any = 'signed', weight: Any = None, batch_axis: Any = 0, *, out: Any = None) -> ndarray:
    """``log(1 + exp(-pred * label))`` for labels of -1 and 1 ("signed"), or of 0 and 1 ("binary")."""
def logistic_regression_output(data: ArrayLike, label: ArrayLike, grad_scale: Any = 1.0, *, out: Any = None) -> ndarray:
    """The sigmoid, with the gradient of the cross-entropy to `label`, over the numbers of each sample."""
def logspace(start: ArrayLike, stop: ArrayLike, base: ArrayLike | None = None, *, num: Any, endpoint: Any, dtype: Any, axis: Any, out: Any = None) -> ndarray:
    """Return powers of `base`, their exponents at equal distances."""
def logsumexp(data: ArrayLike, axis: Any = None, keepdims: Any = False, *, out: Any = None) -> ndarray:
    """``log(sum(exp(x)))`` over axes, without overflow."""
def lrn(data: ArrayLike, nsize: Any, alpha: Any = 0.0001, beta: Any = 0.75, knorm: Any = 2.0, *, out: Any = None) -> ndarray:
    """Local response normalization: divide by a power of the mean square of `nsize` neighbouring channels."""
def mae_regression_output(data: ArrayLike, label: ArrayLike, grad_scale: Any = 1.0, *, out: Any = None) -> ndarray:
    """The data, with the gradient of the absolute distance to `label` (-1 at it), over the numbers of each sample."""
def make_loss(data: ArrayLike, grad_scale: Any = 1.0, valid_thresh: Any = 0.0, normalization: Any = 'null', *, out: Any = None) -> ndarray:
    """Return the data, whose gradient is `grad_scale` whatever comes from above."""
def masked_log_softmax(data: ArrayLike, mask: ArrayLike, axis: Any = -1, temperature: ArrayLike | None = None, normalize: Any = True, *, out: Any = None) -> ndarray:
    """Return the logarithm of `masked_softmax`: ``-inf`` where `mask` does not hold."""
def masked_softmax(data: ArrayLike, mask: ArrayLike, axis: Any = -1, temperature: ArrayLike | None = None, normalize: Any = True, *, out: Any = None) -> ndarray:
    """Return the softmax over the elements where `mask` holds; 0 elsewhere, also where nothing is left in a row."""
def matmul(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """Return the matrix product, over stacks of matrices in the leading axes."""
def matrix_transpose(data: ArrayLike, *, out: Any = None) -> Any:
    """The last two axes exchanged."""
def matvec(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> Any:
    """The product of matrices and vectors."""
def max(data: ArrayLike, axis: Any = None, keepdims: Any = False, *, out: Any = None) -> ndarray:
    """Return the largest element over axes; each of several equal ones has the whole gradient."""
def maximum(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """The larger element; NaN where either is. The gradient of a tie goes to ``x1``."""
def mean(data: ArrayLike, axis: Any = None, dtype: Any = None, keepdims: Any = False, *, out: Any = None) -> ndarray:
    """Return the mean over axes; of integers, a float."""
def median(a: ArrayLike, axis: Any = None, keepdims: Any = False, *, out: Any = None) -> Any:
    """The middle value along an axis."""
def merge_heads(data: ArrayLike, *, out: Any = None) -> ndarray:
    """All heads of one token side by side: (..., heads, width) becomes (..., heads * width)."""
def meshgrid(*arrays: ArrayLike, sparse: Any = False, indexing: Any = 'xy', out: Any = None) -> Any:
    """Coordinate matrices from coordinate vectors."""
def metric_accuracy(state: ArrayLike, label: ArrayLike, pred: ArrayLike, axis: Any = 1, ignore_label: Any = None, *, out: Any = None) -> ndarray:
    """Count the places where the class predicted (the largest along ``axis``) is the label."""
def metric_binary_accuracy(state: ArrayLike, label: ArrayLike, pred: ArrayLike, threshold: ArrayLike, *, out: Any = None) -> ndarray:
    """Count the places where ``pred > threshold`` is the label."""
def metric_confusion(state: ArrayLike, label: ArrayLike, pred: ArrayLike, classes: Any, *, out: Any = None) -> ndarray:
    """Count each pair of predicted (rows) and true (columns) class, as ``classes ** 2`` totals."""
def metric_cosine(state: ArrayLike, label: ArrayLike, pred: ArrayLike, eps: Any = 1e-08, *, out: Any = None) -> ndarray:
    """Add the cosine of label and prediction along the last axis."""
def metric_counts(state: ArrayLike, label: ArrayLike, pred: ArrayLike, threshold: ArrayLike, class_type: Any = 'binary', *, out: Any = None) -> ndarray:
    """Count true and false positives and negatives of each class, and the labels that are out of range."""
def metric_cross_entropy(state: ArrayLike, label: ArrayLike, pred: ArrayLike, axis: Any = -1, eps: Any = 1e-12, ignore_label: Any = None, from_logits: Any = False, *, out: Any = None) -> ndarray:
    """Add the negative log-likelihood of the labels, and how many were counted (two totals)."""
def metric_distance(state: ArrayLike, label: ArrayLike, pred: ArrayLike, p: Any = 2, *, out: Any = None) -> ndarray:
    """Add each sample's distance in the p-norm."""
def metric_error(state: ArrayLike, label: ArrayLike, pred: ArrayLike, power: Any = 1, whole: Any = False, root: Any = False, *, out: Any = None) -> ndarray:
    """Add each sample's mean absolute (``power=1``) or squared (``power=2``) difference; a vector is one column."""
def metric_pearson(state: ArrayLike, label: ArrayLike, pred: ArrayLike, *, out: Any = None) -> ndarray:
    """Merge a batch into count, means, squared deviations and co-deviation of label and prediction."""
def metric_sum(state: ArrayLike, pred: ArrayLike, *, out: Any = None) -> ndarray:
    """Add every element."""
def metric_top_k(state: ArrayLike, label: ArrayLike, pred: ArrayLike, top_k: Any, ignore_label: Any = None, *, out: Any = None) -> ndarray:
    """Count the rows whose label is among the ``top_k`` classes predicted as the likeliest."""
def min(data: ArrayLike, axis: Any = None, keepdims: Any = False, *, out: Any = None) -> ndarray:
    """Return the smallest element over axes; each of several equal ones has the whole gradient."""
def minimum(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """The smaller element; NaN where either is. The gradient of a tie goes to ``x1``."""
def mish(data: ArrayLike, *, out: Any = None) -> ndarray:
    """``x tanh(log(1 + exp(x)))``."""
def mod(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """The remainder with the sign of x2."""
def modf(data: ArrayLike, *, out: Any = None) -> Any:
    """Fractional and whole part of each element."""
def modulated_deformable_convolution(data: ArrayLike, offset: ArrayLike, mask: ArrayLike, weight: ArrayLike, bias: ArrayLike | None = None, *, kernel: Any, stride: Any = None, dilate: Any = None, pad: Any = None, num_filter: Any, num_group: Any = 1, num_deformable_group: Any = 1, workspace: Any = None, no_bias: Any = False, im2col_step: Any = 64, layout: Any = None, out: Any = None) -> ndarray:
    """Return a deformable convolution whose taps have weights of their own at each place."""
def moveaxis(data: ArrayLike, source: Any, destination: Any, *, out: Any = None) -> ndarray:
    """Return the array with some axes at other places."""
def msort(a: ArrayLike, *, out: Any = None) -> Any:
    """Sorted along the first axis."""
def multi_lars(lrs: ArrayLike, weights_sum_sq: ArrayLike, grads_sum_sq: ArrayLike, wds: ArrayLike, eta: ArrayLike, eps: ArrayLike, rescale_grad: ArrayLike | None = None, *, out: Any = None) -> ndarray:
    """Return the learning rates of LARS from the sums of squares of weights and gradients, one each of many."""
def multibox_detection(cls_prob: ArrayLike, loc_pred: ArrayLike, anchor: ArrayLike, clip: Any = True, threshold: Any = 0.01, background_id: Any = 0, nms_threshold: Any = 0.5, force_suppress: Any = False, variances: Any = (0.1, 0.1, 0.2, 0.2), nms_topk: Any = -1, *, out: Any = None) -> ndarray:
    """Return the detections of a single-shot detector. No gradient."""
def multibox_prior(data: ArrayLike, sizes: Any = (1.0,), ratios: Any = (1.0,), clip: Any = False, steps: Any = (-1.0, -1.0), offsets: Any = (0.5, 0.5), *, out: Any = None) -> ndarray:
    """Return the default boxes of a feature map: some at each place, the same for every image."""
def multibox_target(anchor: ArrayLike, label: ArrayLike, cls_pred: ArrayLike, overlap_threshold: Any = 0.5, ignore_label: Any = -1.0, negative_mining_ratio: Any = -1.0, negative_mining_thresh: Any = 0.5, minimum_negative_samples: Any = 0, variances: Any = (0.1, 0.1, 0.2, 0.2), *, out: Any = None) -> Any:
    """Compute the training targets of a single-shot detector for each default box. No gradient."""
def multiply(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """The product, elementwise."""
def nag_mom_update(weight: ArrayLike, grad: ArrayLike, mom: ArrayLike, lr: ArrayLike, momentum: ArrayLike | None = None, wd: ArrayLike | None = None, rescale_grad: ArrayLike | None = None, clip_gradient: ArrayLike | None = None, *, out: Any = None) -> Any:
    """Nesterov's accelerated gradient: the new weight and the new `mom`; see `sgd_update`."""
def nan_to_num(data: ArrayLike, nan: ArrayLike | None = None, posinf: ArrayLike | None = None, neginf: ArrayLike | None = None, *, out: Any = None) -> Any:
    """NaN and infinities replaced by numbers."""
def nanargmax(a: ArrayLike, axis: Any = None, keepdims: Any = None, *, out: Any = None) -> Any:
    """The index of the largest element that is not NaN."""
def nanargmin(a: ArrayLike, axis: Any = None, keepdims: Any = None, *, out: Any = None) -> Any:
    """The index of the smallest element that is not NaN."""
def nancumprod(a: ArrayLike, axis: Any = None, dtype: Any = None, *, out: Any = None) -> Any:
    """The running product, NaN taken as one."""
def nancumsum(a: ArrayLike, axis: Any = None, dtype: Any = None, *, out: Any = None) -> Any:
    """The running sum, NaN taken as zero."""
def nanmax(a: ArrayLike, initial: ArrayLike | None = None, where: ArrayLike | None = None, axis: Any = None, keepdims: Any = False, *, out: Any = None) -> Any:
    """The largest element that is not NaN."""
def nanmean(a: ArrayLike, where: ArrayLike | None = None, axis: Any = None, dtype: Any = None, keepdims: Any = False, *, out: Any = None) -> Any:
    """The mean of the elements that are not NaN."""
def nanmedian(a: ArrayLike, axis: Any = None, keepdims: Any = False, *, out: Any = None) -> Any:
    """The middle value of the elements that are not NaN."""
def nanmin(a: ArrayLike, initial: ArrayLike | None = None, where: ArrayLike | None = None, axis: Any = None, keepdims: Any = False, *, out: Any = None) -> Any:
    """The smallest element that is not NaN."""
def nanpercentile(a: ArrayLike, q: ArrayLike, axis: Any = None, method: Any = 'linear', keepdims: Any = False, *, out: Any = None) -> Any:
    """A percentile of the elements that are not NaN."""
def nanprod(a: ArrayLike, initial: ArrayLike | None = None, where: ArrayLike | None = None, axis: Any = None, dtype: Any = None, keepdims: Any = False, *, out: Any = None) -> Any:
    """The product of the elements that are not NaN."""
def nanquantile(a: ArrayLike, q: ArrayLike, axis: Any = None, method: Any = 'linear', keepdims: Any = False, *, out: Any = None) -> Any:
    """A quantile of the elements that are not NaN."""
def nanstd(a: ArrayLike, where: ArrayLike | None = None, mean: ArrayLike | None = None, axis: Any = None, dtype: Any = None, ddof: Any = 0, keepdims: Any = False, *, out: Any = None) -> Any:
    """The standard deviation of the elements that are not NaN."""
def nansum(a: ArrayLike, initial: ArrayLike | None = None, where: ArrayLike | None = None, axis: Any = None, dtype: Any = None, keepdims: Any = False, *, out: Any = None) -> Any:
    """The sum of the elements that are not NaN."""
def nanvar(a: ArrayLike, where: ArrayLike | None = None, mean: ArrayLike | None = None, axis: Any = None, dtype: Any = None, ddof: Any = 0, keepdims: Any = False, *, out: Any = None) -> Any:
    """The variance of the elements that are not NaN."""
def negative(data: ArrayLike, *, out: Any = None) -> ndarray:
    """Each element with its sign changed."""
def nextafter(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> Any:
    """The next number after x1 in the direction of x2."""
def norm(data: ArrayLike, ord: Any = 2, axis: Any = None, out_dtype: Any = None, keepdims: Any = False, *, out: Any = None) -> ndarray:
    """Compute the length of vectors: root of the sum of squares (`ord` 2, gradient 0 at 0) or sum of magnitudes (1)."""
def not_equal(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """Where x1 != x2."""
def one_hot(data: ArrayLike, depth: Any, on_value: Any = 1.0, off_value: Any = 0.0, dtype: Any = ..., *, out: Any = None) -> ndarray:
    """`on_value` at the place that each index names along a new last axis of length `depth`, `off_value` elsewhere."""
def ones(shape: Any, dtype: Any, *, out: Any = None) -> ndarray:
    """Return an array of ones."""
def ones_like(data: ArrayLike, dtype: Any = None, *, out: Any = None) -> ndarray:
    """Ones in the shape (and, unless told, the element type) of an array."""
def outer(a: ArrayLike, b: ArrayLike, *, out: Any = None) -> Any:
    """The product of all pairs."""
def packbits(a: ArrayLike, axis: Any = None, bitorder: Any = 'big', *, out: Any = None) -> Any:
    """Eight booleans in each byte."""
def pad(data: ArrayLike, mode: Any = 'constant', *, pad_width: Any, constant_value: ArrayLike | None = None, out: Any = None) -> ndarray:
    """Return the array with margins."""
def partition(a: ArrayLike, kth: Any, axis: Any = -1, order: Any = None, *, out: Any = None) -> Any:
    """The kth smallest element in its place, smaller ones before it."""
def percentile(a: ArrayLike, q: ArrayLike, axis: Any = None, method: Any = 'linear', keepdims: Any = False, *, out: Any = None) -> Any:
    """The q-th percentile along an axis."""
def permute_dims(a: ArrayLike, axes: Any = None, *, out: Any = None) -> Any:
    """The axes in another order."""
def pick(data: ArrayLike, index: ArrayLike, axis: Any = -1, mode: Any = 'clip', keepdims: Any = False, *, out: Any = None) -> ndarray:
    """One element of each vector of `data` along `axis`."""
def pixel_shuffle(data: ArrayLike, factors: Any, *, out: Any = None) -> ndarray:
    """Move channels into space: ``(N, C * f1 * f2 ..., W1, W2 ...)`` becomes ``(N, C, W1 * f1, W2 * f2, ...)``."""
def place(a: ArrayLike, mask: ArrayLike, values: ArrayLike, *, out: Any = None) -> ndarray:
    """Return the array with values written where the mask holds."""
def poisson_nll_loss(pred: ArrayLike, target: ArrayLike, sample_weight: ArrayLike | None = None, from_logits: Any = True, compute_full: Any = False, epsilon: Any = 1e-08, weight: Any = None, batch_axis: Any = 0, *, out: Any = None) -> ndarray:
    """Negative log likelihood of counts under a Poisson whose (log) rate is predicted."""
def poly(seq_of_zeros: ArrayLike, *, out: Any = None) -> Any:
    """The coefficients of the polynomial with given roots."""
def polyadd(a1: ArrayLike, a2: ArrayLike, *, out: Any = None) -> Any:
    """The sum of two polynomials."""
def polyder(p: ArrayLike, order: Any = 1, *, out: Any = None) -> Any:
    """The derivative of a polynomial."""
def polyint(p: ArrayLike, k_values: ArrayLike | None = None, order: Any = 1, *, out: Any = None) -> Any:
    """The antiderivative of a polynomial."""
def polymul(a1: ArrayLike, a2: ArrayLike, trim_leading_zeros: Any = False, *, out: Any = None) -> Any:
    """The product of two polynomials."""
def polysub(a1: ArrayLike, a2: ArrayLike, *, out: Any = None) -> Any:
    """The difference of two polynomials."""
def polyval(p: ArrayLike, x: ArrayLike, *, out: Any = None) -> Any:
    """A polynomial's value at points."""
def pooling(data: ArrayLike, kernel: Any = None, stride: Any = None, pad: Any = None, pool_type: Any = 'max', pooling_convention: Any = 'valid', global_pool: Any = False, cudnn_off: Any = False, p_value: Any = None, count_include_pad: Any = None, layout: Any = None, *, out: Any = None) -> ndarray:
    """Pooling over one to three spatial axes."""
def positive(data: ArrayLike, *, out: Any = None) -> Any:
    """Each element as it is."""
def pow(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """``x1 ** x2``; of integers, cut off to one."""
def power(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """``x1 ** x2``; of integers, cut off to one."""
def prod(data: ArrayLike, axis: Any = None, dtype: Any = None, keepdims: Any = False, *, out: Any = None) -> ndarray:
    """Return the product over axes."""
def product(a: ArrayLike, initial: ArrayLike | None = None, where: ArrayLike | None = None, axis: Any = None, dtype: Any = None, keepdims: Any = False, *, out: Any = None) -> Any:
    """The product along an axis (an old name of `prod`)."""
def proposal(cls_prob: ArrayLike, bbox_pred: ArrayLike, im_info: ArrayLike, rpn_pre_nms_top_n: Any = 6000, rpn_post_nms_top_n: Any = 300, threshold: Any = 0.7, rpn_min_size: Any = 16, scales: Any = (4.0, 8.0, 16.0, 32.0), ratios: Any = (0.5, 1.0, 2.0), feature_stride: Any = 16, output_score: Any = False, iou_loss: Any = False, *, out: Any = None) -> Any:
    """Return the regions that a region proposal network (https://arxiv.org/abs/1506.01497) finds; it has no gradient."""
def psroi_pooling(data: ArrayLike, rois: ArrayLike, spatial_scale: Any, output_dim: Any, pooled_size: Any, group_size: Any = 0, *, out: Any = None) -> ndarray:
    """Average pooling of regions, each part from channels of its own (https://arxiv.org/abs/1605.06409)."""
def ptp(a: ArrayLike, axis: Any = None, keepdims: Any = False, *, out: Any = None) -> Any:
    """The largest minus the smallest element along an axis."""
def put(a: ArrayLike, indices: ArrayLike, values: ArrayLike, mode: Any = None, *, out: Any = None) -> ndarray:
    """Return the array with values written at flat indices."""
def put_along_axis(a: ArrayLike, indices: ArrayLike, values: ArrayLike, axis: Any, *, out: Any = None) -> ndarray:
    """Return the array with values written at indices along an axis."""
def quantile(a: ArrayLike, q: ArrayLike, axis: Any = None, method: Any = 'linear', keepdims: Any = False, *, out: Any = None) -> Any:
    """The q-quantile along an axis."""
def quantized_act(data: ArrayLike, min_data: ArrayLike, max_data: ArrayLike, act_type: Any, *, out: Any = None) -> Any:
    """Clip a quantized array to what is above zero; ``'relu'`` is the only activation, as in MXNet."""
def quantized_conv(data: ArrayLike, weight: ArrayLike, bias: ArrayLike | None = None, min_data: ArrayLike | None = None, max_data: ArrayLike | None = None, min_weight: ArrayLike | None = None, max_weight: ArrayLike | None = None, min_bias: ArrayLike | None = None, max_bias: ArrayLike | None = None, *, kernel: Any, stride: Any = None, dilate: Any = None, pad: Any = None, num_filter: Any, num_group: Any = 1, no_bias: Any = False, layout: Any = None, out: Any = None) -> Any:
    """Return a convolution of bytes in int32."""
def quantized_elemwise_add(lhs: ArrayLike, rhs: ArrayLike, lhs_min: ArrayLike, lhs_max: ArrayLike, rhs_min: ArrayLike, rhs_max: ArrayLike, min_calib_range: Any = None, max_calib_range: Any = None, *, out: Any = None) -> Any:
    """Return the sum of two quantized arrays of one shape: int8 where its range is given, else int32."""
def quantized_elemwise_mul(lhs: ArrayLike, rhs: ArrayLike, lhs_min: ArrayLike, lhs_max: ArrayLike, rhs_min: ArrayLike, rhs_max: ArrayLike, min_calib_range: Any = None, max_calib_range: Any = None, enable_float_output: Any = False, *, out: Any = None) -> Any:
    """Return the product of two int8 arrays of one shape: int8 where its range is given, else int32, or real numbers."""
def quantized_embedding(data: ArrayLike, weight: ArrayLike, min_weight: ArrayLike, max_weight: ArrayLike, input_dim: Any, output_dim: Any, dtype: Any = None, *, out: Any = None) -> Any:
    """Return the rows of a table of bytes at some indices; the range stays."""
def quantized_flatten(data: ArrayLike, min_data: ArrayLike, max_data: ArrayLike, *, out: Any = None) -> Any:
    """All axes but the first as one; the range stays."""
def quantized_fully_connected(data: ArrayLike, weight: ArrayLike, bias: ArrayLike | None = None, min_data: ArrayLike | None = None, max_data: ArrayLike | None = None, min_weight: ArrayLike | None = None, max_weight: ArrayLike | None = None, min_bias: ArrayLike | None = None, max_bias: ArrayLike | None = None, *, num_hidden: Any, no_bias: Any = False, flatten: Any = True, out: Any = None) -> Any:
    """Return a dense layer of bytes: ``data @ weight.T + bias`` in int32."""
def quantized_pooling(data: ArrayLike, min_data: ArrayLike, max_data: ArrayLike, kernel: Any = None, pool_type: Any = 'max', global_pool: Any = False, pooling_convention: Any = 'valid', stride: Any = None, pad: Any = None, p_value: Any = None, count_include_pad: Any = None, layout: Any = None, *, out: Any = None) -> Any:
    """Pooling of bytes, of the maximum or the mean (rounded); the other parameters are those of `pooling`."""
def quantized_reshape(data: ArrayLike, min_data: ArrayLike, max_data: ArrayLike, newshape: Any, reverse: Any = False, order: Any = 'C', *, out: Any = None) -> Any:
    """Return the same bytes in another shape (see `reshape`); the range stays."""
def quantized_transpose(data: ArrayLike, min_data: ArrayLike, max_data: ArrayLike, axes: Any = None, *, out: Any = None) -> Any:
    """Return the axes in another order; the range stays."""
def rad2deg(data: ArrayLike, *, out: Any = None) -> ndarray:
    """Radians to degrees."""
def radians(data: ArrayLike, *, out: Any = None) -> ndarray:
    """Degrees to radians."""
def random_bernoulli(prob: ArrayLike | None = None, logit: ArrayLike | None = None, size: Any = None, dtype: Any = None, *, out: Any = None) -> ndarray:
    """1 with a probability, else 0."""
def random_beta(a: ArrayLike, b: ArrayLike, size: Any = None, dtype: Any = None, *, out: Any = None) -> ndarray:
    """Return the beta distribution of `a` and `b`."""
def random_binomial(n: ArrayLike, p: ArrayLike | None = None, size: Any = None, dtype: Any = None, *, out: Any = None) -> ndarray:
    """Draw counts of successes in `n` trials of probability `p`."""
def random_categorical(p: ArrayLike, size: Any = None, get_prob: Any = False, dtype: Any = ..., *, out: Any = None) -> Any:
    """Numbers of classes, drawn by the probabilities in the last axis of `p`."""
def random_chisquare(df: ArrayLike, size: Any = None, dtype: Any = None, *, out: Any = None) -> ndarray:
    """Return the chi-square distribution of `df` degrees of freedom."""
def random_choice(a: ArrayLike, p: ArrayLike | None = None, size: Any = None, replace: Any = True, *, out: Any = None) -> ndarray:
    """Elements of the first axis of `a`, with probabilities `p`; of ``range(a)`` where `a` is a number."""
def random_dirichlet(alpha: ArrayLike, size: Any = None, *, out: Any = None) -> ndarray:
    """Return draws of the Dirichlet distribution: positive numbers that add up to 1."""
def random_exponential(scale: ArrayLike | None = None, size: Any = None, dtype: Any = None, *, out: Any = None) -> ndarray:
    """Return the exponential distribution of mean `scale`."""
def random_f(dfnum: ArrayLike, dfden: ArrayLike, size: Any = None, dtype: Any = None, *, out: Any = None) -> ndarray:
    """Return the F distribution of `dfnum` and `dfden` degrees of freedom."""
def random_gamma(shape: ArrayLike, scale: ArrayLike | None = None, size: Any = None, dtype: Any = None, *, out: Any = None) -> ndarray:
    """Return the gamma distribution of shape parameter `shape` and scale `scale`."""
def random_geometric(*parameters: ArrayLike, size: Any = None, dtype: Any = None, out: Any = None) -> ndarray:
    """Return how many trials it takes up to the first success."""
def random_gumbel(loc: ArrayLike | None = None, scale: ArrayLike | None = None, size: Any = None, dtype: Any = None, *, out: Any = None) -> ndarray:
    """Return the Gumbel distribution of mode `loc`."""
def random_laplace(loc: ArrayLike | None = None, scale: ArrayLike | None = None, size: Any = None, dtype: Any = None, *, out: Any = None) -> ndarray:
    """Return the Laplace distribution around `loc`."""
def random_logistic(loc: ArrayLike | None = None, scale: ArrayLike | None = None, size: Any = None, dtype: Any = None, *, out: Any = None) -> ndarray:
    """Return the logistic distribution around `loc`."""
def random_lognormal(mean: ArrayLike | None = None, sigma: ArrayLike | None = None, size: Any = None, dtype: Any = None, *, out: Any = None) -> ndarray:
    """Numbers whose logarithm is normal, of mean `mean` and standard deviation `sigma`."""
def random_multinomial(pvals: ArrayLike, n: Any, size: Any = None, dtype: Any = None, *, out: Any = None) -> ndarray:
    """Sample how often each class comes up in `n` draws by the probabilities `pvals`."""
def random_multinomial_counts(n: ArrayLike, p: ArrayLike, shape: Any, dtype: Any, *, out: Any = None) -> ndarray:
    """Return how often each class comes in `n` draws."""
def random_multivariate_normal(mean: ArrayLike, cov: ArrayLike, size: Any = None, dtype: Any = None, *, out: Any = None) -> ndarray:
    """Return the normal distribution of several variables, of mean vector `mean` and covariance matrix `cov`."""
def random_negative_binomial(k: ArrayLike | None = None, p: ArrayLike | None = None, size: Any = None, dtype: Any = None, *, out: Any = None) -> ndarray:
    """Draw counts of failures before the `k`-th success, where a trial succeeds with probability `p`."""
def random_normal(loc: ArrayLike | None = None, scale: ArrayLike | None = None, size: Any = None, dtype: Any = None, *, out: Any = None) -> ndarray:
    """Return the normal distribution of mean `loc` and standard deviation `scale`."""
def random_pareto(a: ArrayLike, size: Any = None, dtype: Any = None, *, out: Any = None) -> ndarray:
    """Return the Pareto II (Lomax) distribution of shape parameter `a`: as NumPy's, it starts at 0."""
def random_permutation(data: ArrayLike, axis: Any = 0, *, out: Any = None) -> ndarray:
    """Return the slices of `data` along an axis in random order."""
def random_poisson(lam: ArrayLike | None = None, size: Any = None, dtype: Any = None, *, out: Any = None) -> ndarray:
    """Draw counts of events that happen `lam` times on average."""
def random_power(a: ArrayLike, size: Any = None, dtype: Any = None, *, out: Any = None) -> ndarray:
    """Numbers from 0 to 1 of density ``a * x ** (a - 1)``."""
def random_randint(low: ArrayLike, high: ArrayLike | None = None, size: Any = None, dtype: Any = None, *, out: Any = None) -> ndarray:
    """Integers from `low` up to, but without, `high`; below `low` if that is the only one given."""
def random_rayleigh(scale: ArrayLike | None = None, size: Any = None, dtype: Any = None, *, out: Any = None) -> ndarray:
    """Return the Rayleigh distribution of mode `scale`."""
def random_shuffle(data: ArrayLike, axis: Any = 0, *, out: Any = None) -> ndarray:
    """Return the slices of `data` along an axis in random order."""
def random_triangular(*parameters: ArrayLike, size: Any = None, dtype: Any = None, out: Any = None) -> ndarray:
    """Return draws of the triangular distribution."""
def random_uniform(low: ArrayLike | None = None, high: ArrayLike | None = None, size: Any = None, dtype: Any = None, *, out: Any = None) -> ndarray:
    """Numbers spread evenly over ``[low, high)``."""
def random_weibull(a: ArrayLike, size: Any = None, dtype: Any = None, *, out: Any = None) -> ndarray:
    """Return the Weibull distribution of shape parameter `a` and scale 1."""
def ravel(data: ArrayLike, order: Any = 'C', *, out: Any = None) -> Any:
    """All elements in one axis."""
def ravel_multi_index(*arrays: ArrayLike, dims: Any, mode: Any = 'raise', order: Any = 'C', out: Any = None) -> Any:
    """Flat indices from index tuples."""
def rcbrt(data: ArrayLike, *, out: Any = None) -> ndarray:
    """``1 / cbrt(x)``."""
def real(data: ArrayLike, *, out: Any = None) -> Any:
    """The real part."""
def reciprocal(data: ArrayLike, *, out: Any = None) -> ndarray:
    """One divided by each element."""
def relu(data: ArrayLike, *, out: Any = None) -> ndarray:
    """``max(x, 0)``, with gradient 0 at 0, and NaN at NaN."""
def remainder(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """The remainder with the sign of x2."""
def repeat(data: ArrayLike, repeats: Any, axis: Any = None, *, out: Any = None) -> ndarray:
    """Each element repeated, along an axis or of the flattened array."""
def requantize(data: ArrayLike, min_range: ArrayLike, max_range: ArrayLike, out_type: Any = 'int8', min_calib_range: Any = None, max_calib_range: Any = None, *, out: Any = None) -> Any:
    """Return the int32 of a product or sum as bytes, of a given range or of the one that the numbers have."""
def reshape(a: ArrayLike, newshape: Any, reverse: Any = False, order: Any = 'C', *, out: Any = None) -> ndarray:
    """Return the same elements in another shape."""
def reshape_like(lhs: ArrayLike, rhs: ArrayLike, lhs_begin: Any = None, lhs_end: Any = None, rhs_begin: Any = None, rhs_end: Any = None, *, out: Any = None) -> ndarray:
    """Return the elements of `lhs` with its axes from `lhs_begin` to `lhs_end` replaced by those of `rhs`."""
def resize(a: ArrayLike, new_shape: Any, *, out: Any = None) -> Any:
    """Another shape, filled by repeating the elements."""
def right_shift(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """The bits of x1, moved right by x2 places."""
def rint(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The nearest whole number, halves to the even one (MXNet sends halves down)."""
def rms_norm(data: ArrayLike, gamma: ArrayLike, axis: Any = -1, eps: Any = 1e-06, *, out: Any = None) -> ndarray:
    """Divide each vector along `axis` by its root mean square, then scale by `gamma`."""
def rmsprop_update(weight: ArrayLike, grad: ArrayLike, n: ArrayLike, lr: ArrayLike, gamma1: ArrayLike | None = None, epsilon: ArrayLike | None = None, wd: ArrayLike | None = None, rescale_grad: ArrayLike | None = None, clip_gradient: ArrayLike | None = None, clip_weights: ArrayLike | None = None, *, out: Any = None) -> Any:
    """RMSProp: the new weight, and `n`, the average of squared gradients."""
def rmspropalex_update(weight: ArrayLike, grad: ArrayLike, n: ArrayLike, g: ArrayLike, delta: ArrayLike, lr: ArrayLike, gamma1: ArrayLike | None = None, gamma2: ArrayLike | None = None, epsilon: ArrayLike | None = None, wd: ArrayLike | None = None, rescale_grad: ArrayLike | None = None, clip_gradient: ArrayLike | None = None, clip_weights: ArrayLike | None = None, *, out: Any = None) -> Any:
    """RMSProp as Graves has it: the new weight, `n`, `g` (the average of gradients) and `delta` (the momentum)."""
def rnn(data: ArrayLike, parameters: ArrayLike, state: ArrayLike | None = None, state_cell: ArrayLike | None = None, sequence_length: ArrayLike | None = None, *, mode: Any, state_size: Any, num_layers: Any, bidirectional: Any = False, state_outputs: Any = False, p: Any = 0.0, use_sequence_length: Any = False, projection_size: Any = None, lstm_state_clip_min: Any = None, lstm_state_clip_max: Any = None, lstm_state_clip_nan: Any = False, training: Any = None, out: Any = None) -> Any:
    """Recurrent layers over a sequence (time, batch, features): plain, LSTM or GRU; stacked, in one or both directions."""
def roi_align(data: ArrayLike, rois: ArrayLike, pooled_size: Any, spatial_scale: Any, sample_ratio: Any = -1, position_sensitive: Any = False, aligned: Any = False, *, out: Any = None) -> ndarray:
    """Return the mean of samples of regions, taken between the places by linear interpolation (arXiv 1703.06870)."""
def roi_pooling(data: ArrayLike, rois: ArrayLike, pooled_size: Any, spatial_scale: Any, *, out: Any = None) -> ndarray:
    """Max pooling of regions (https://arxiv.org/abs/1504.08083)."""
def roll(data: ArrayLike, shift: Any, axis: Any = None, *, out: Any = None) -> ndarray:
    """Return the elements moved round along axes."""
def rollaxis(a: ArrayLike, axis: Any, start: Any = 0, *, out: Any = None) -> Any:
    """One axis moved to another place."""
def rot90(m: ArrayLike, k: Any = 1, axes: Any = (0, 1), *, out: Any = None) -> Any:
    """A quarter turn in the plane of two axes."""
def rotary_embedding(data: ArrayLike, position: ArrayLike | None = None, base: Any = 10000.0, *, out: Any = None) -> ndarray:
    """Turn pairs of features by angles that grow with the position, so that attention depends on distances."""
def round(data: ArrayLike, decimals: Any = 0, *, out: Any = None) -> ndarray:
    """Give the nearest number of so many decimals, halves to even; integers are rounded to tens, hundreds and so on."""
def round_(a: ArrayLike, decimals: Any = 0, *, out: Any = None) -> Any:
    """Rounded to a number of decimals (an old name of `round`)."""
def round_ste(data: ArrayLike, *, out: Any = None) -> ndarray:
    """Rounding (halves away from zero) with gradient 1."""
def row_stack(*arrays: ArrayLike, dtype: Any = None, out: Any = None) -> Any:
    """Arrays joined along the first axis (an old name of `vstack`)."""
def rroi_align(data: ArrayLike, rois: ArrayLike, pooled_size: Any, spatial_scale: Any, sampling_ratio: Any = -1, *, out: Any = None) -> ndarray:
    """Average pooling of interpolated samples in turned regions, as for text."""
def rsqrt(data: ArrayLike, *, out: Any = None) -> ndarray:
    """``1 / sqrt(x)``."""
def scatter_nd(data: ArrayLike, indices: ArrayLike, shape: Any, *, out: Any = None) -> ndarray:
    """Zeros of `shape` with the elements of `data` at the coordinates in the columns of `indices` (see `gather_nd`)."""
def sdml_loss(x1: ArrayLike, x2: ArrayLike, smoothing_parameter: Any = 0.3, *, out: Any = None) -> ndarray:
    """Smoothed deep metric learning: row ``i`` of ``x1`` belongs to row ``i`` of ``x2``, all other rows do not."""
def searchsorted(a: ArrayLike, v: ArrayLike, sorter: ArrayLike | None = None, side: Any = 'left', *, out: Any = None) -> Any:
    """Where values go into a sorted array."""
def select_first(*arrays: ArrayLike, out: Any = None) -> ndarray:
    """Return the element of the first choice whose condition holds, of the last array where none does."""
def selu(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The scaled exponential linear unit of self-normalizing networks."""
def sequence_last(data: ArrayLike, sequence_length: ArrayLike | None = None, use_sequence_length: Any = False, axis: Any = 0, *, out: Any = None) -> ndarray:
    """Return the last element of each sequence; the layout is that of `sequence_mask`. Of an empty one, the first."""
def sequence_mask(data: ArrayLike, sequence_length: ArrayLike | None = None, use_sequence_length: Any = False, value: Any = 0.0, axis: Any = 0, *, out: Any = None) -> ndarray:
    """Return the sequences with `value` in place of what lies beyond their lengths."""
def sequence_reverse(data: ArrayLike, sequence_length: ArrayLike | None = None, use_sequence_length: Any = False, axis: Any = 0, *, out: Any = None) -> ndarray:
    """Each sequence reversed within its length; the layout is that of `sequence_mask`."""
def sgd_mom_update(weight: ArrayLike, grad: ArrayLike, mom: ArrayLike, lr: ArrayLike, momentum: ArrayLike | None = None, wd: ArrayLike | None = None, rescale_grad: ArrayLike | None = None, clip_gradient: ArrayLike | None = None, *, out: Any = None) -> Any:
    """Gradient descent with momentum: the new weight and the new `mom`; see `sgd_update`."""
def sgd_update(weight: ArrayLike, grad: ArrayLike, lr: ArrayLike, wd: ArrayLike | None = None, rescale_grad: ArrayLike | None = None, clip_gradient: ArrayLike | None = None, *, out: Any = None) -> ndarray:
    """Gradient descent: ``(1 - lr * wd) * weight - lr * grad``."""
def shape_array(data: ArrayLike, *, out: Any = None) -> ndarray:
    """Return the shape as an array."""
def shrink(data: ArrayLike, lambd: Any = 0.5, bias: Any = 0.0, *, out: Any = None) -> ndarray:
    """``x - bias`` above `lambd`, ``x + bias`` below ``-lambd``, and 0 between: the prox of a sparse penalty."""
def sigmoid(data: ArrayLike, *, out: Any = None) -> ndarray:
    """``1 / (1 + exp(-x))``."""
def sigmoid_bce_loss(pred: ArrayLike, label: ArrayLike, sample_weight: ArrayLike | None = None, pos_weight: ArrayLike | None = None, from_sigmoid: Any = False, weight: Any = None, batch_axis: Any = 0, ignore_label: Any = None, *, out: Any = None) -> ndarray:
    """Binary cross entropy of a logit, or with `from_sigmoid` of a probability; `pos_weight` scales the positives."""
def sign(data: ArrayLike, *, out: Any = None) -> ndarray:
    """-1, 0 or 1 by the sign of each element."""
def sign_ste(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The sign, with gradient 1."""
def signbit(data: ArrayLike, *, out: Any = None) -> Any:
    """Where the sign bit is set."""
def signsgd_update(weight: ArrayLike, grad: ArrayLike, lr: ArrayLike, wd: ArrayLike | None = None, rescale_grad: ArrayLike | None = None, clip_gradient: ArrayLike | None = None, *, out: Any = None) -> ndarray:
    """Return a step by the sign of the gradient; see `sgd_update`. Scaling and clipping change no sign."""
def signum_update(weight: ArrayLike, grad: ArrayLike, mom: ArrayLike, lr: ArrayLike, momentum: ArrayLike | None = None, wd: ArrayLike | None = None, rescale_grad: ArrayLike | None = None, clip_gradient: ArrayLike | None = None, wd_lh: ArrayLike | None = None, *, out: Any = None) -> Any:
    """Give a step by the sign of the averaged gradient: the new weight and the new `mom`; `wd_lh` decays the weight."""
def silu(data: ArrayLike, *, out: Any = None) -> ndarray:
    """``x sigmoid(x)``."""
def sin(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The sine of angles in radians."""
def sinc(data: ArrayLike, *, out: Any = None) -> Any:
    """sin(pi x) / (pi x), and 1 at zero."""
def sinh(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The hyperbolic sine."""
def sldwin_atten_context(score: ArrayLike, value: ArrayLike, dilation: ArrayLike, w: Any, symmetric: Any, *, out: Any = None) -> ndarray:
    """Return the sum of the values in the window around each query, weighted by `score`."""
def sldwin_atten_mask_like(score: ArrayLike, dilation: ArrayLike, valid_length: ArrayLike, w: Any, symmetric: Any, *, out: Any = None) -> ndarray:
    """One where a score of `sldwin_atten_score` is of two valid places, else zero; it has no gradient."""
def sldwin_atten_score(query: ArrayLike, key: ArrayLike, dilation: ArrayLike, w: Any, symmetric: Any, *, out: Any = None) -> ndarray:
    """Return the products of each query with the keys of the window around it."""
def slice(data: ArrayLike, begin: Any, end: Any, step: Any = (), *, out: Any = None) -> ndarray:
    """Return the part from `begin` to `end` along the first axes, as Python slices it; None leaves an end open."""
def slice_axis(data: ArrayLike, axis: Any, begin: Any, end: Any, *, out: Any = None) -> ndarray:
    """Return the part from `begin` to `end` along one axis."""
def slice_channel(data: ArrayLike, num_outputs: Any, axis: Any = 1, squeeze_axis: Any = False, *, out: Any = None) -> Any:
    """Return the array in `num_outputs` equal parts along an axis, which is dropped from each under `squeeze_axis`."""
def slice_like(data: ArrayLike, shape_like: ArrayLike, axes: Any = (), *, out: Any = None) -> ndarray:
    """Return the front part of `data` that has the lengths of `shape_like`, along `axes` (all by default)."""
def smooth_l1(data: ArrayLike, scalar: Any = 1.0, *, out: Any = None) -> ndarray:
    """``0.5 * (scalar * x)**2`` near zero (``|x| < 1 / scalar**2``), ``|x| - 0.5 / scalar**2`` beyond."""
def softmax(data: ArrayLike, length: ArrayLike | None = None, axis: Any = -1, temperature: ArrayLike | None = None, use_length: Any = False, dtype: Any = None, *, out: Any = None) -> ndarray:
    """``exp(x / temperature)``, normalized along `axis`."""
def softmax_cross_entropy_loss(pred: ArrayLike, label: ArrayLike, sample_weight: ArrayLike | None = None, axis: Any = -1, sparse_label: Any = True, from_logits: Any = False, weight: Any = None, batch_axis: Any = 0, ignore_label: Any = None, label_smoothing: Any = 0.0, *, out: Any = None) -> ndarray:
    """Cross entropy between the softmax of the prediction and a label."""
def softmax_output(data: ArrayLike, label: ArrayLike, grad_scale: Any = 1.0, ignore_label: Any = -1.0, multi_output: Any = False, use_ignore: Any = False, preserve_shape: Any = False, normalization: Any = 'null', out_grad: Any = False, smooth_alpha: Any = 0.0, *, out: Any = None) -> ndarray:
    """Return the softmax, with the gradient of the cross-entropy to `label`."""
def softmin(data: ArrayLike, temperature: ArrayLike | None = None, axis: Any = -1, dtype: Any = None, *, out: Any = None) -> ndarray:
    """Return the softmax of ``-x``."""
def softplus(data: ArrayLike, *, out: Any = None) -> ndarray:
    """``log(1 + exp(x))``, without overflow."""
def softrelu(data: ArrayLike, *, out: Any = None) -> ndarray:
    """``log(1 + exp(x))``, without overflow."""
def softsign(data: ArrayLike, *, out: Any = None) -> ndarray:
    """``x / (1 + |x|)``."""
def sometrue(a: ArrayLike, axis: Any = None, keepdims: Any = False, *, out: Any = None) -> Any:
    """Whether any element along an axis is true (an old name of `any`)."""
def sort(data: ArrayLike, axis: Any = -1, descending: Any = False, *, out: Any = None) -> ndarray:
    """Return the elements in order along an axis, or of the flattened array; `kind` plays no part."""
def sort_complex(a: ArrayLike, *, out: Any = None) -> Any:
    """Sorted by real, then imaginary part."""
def space_to_depth(data: ArrayLike, block_size: Any, *, out: Any = None) -> ndarray:
    """Return the inverse of `depth_to_space`."""
def spacing(data: ArrayLike, *, out: Any = None) -> Any:
    """The distance from each element to the next number away from zero."""
def split(data: ArrayLike, indices_or_sections: Any, axis: Any = 0, *, out: Any = None) -> Any:
    """Return the array cut along an axis: into so many equal parts, or at the places named."""
def split_heads(data: ArrayLike, heads: Any, parts: Any = 1, *, out: Any = None) -> Any:
    """Return the heads of a projection, or of several that lie one behind the other."""
def sqrt(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The square root of each element."""
def square(data: ArrayLike, *, out: Any = None) -> ndarray:
    """Each element times itself."""
def squared_hinge_loss(pred: ArrayLike, label: ArrayLike, sample_weight: ArrayLike | None = None, margin: Any = 1, weight: Any = None, batch_axis: Any = 0, *, out: Any = None) -> ndarray:
    """Return the square of the hinge loss."""
def squeeze(data: ArrayLike, axis: Any = None, *, out: Any = None) -> ndarray:
    """Get the array without its axes of length 1, or without those named; one without axes has, as in NumPy, axis 0."""
def stack(*arrays: ArrayLike, axis: Any = 0, out: Any = None) -> ndarray:
    """Return the arrays, all of one shape, side by side along a new axis."""
def std(data: ArrayLike, axis: Any = None, dtype: Any = None, ddof: Any = 0, keepdims: Any = False, *, out: Any = None) -> ndarray:
    """Return the standard deviation over axes, with gradient 0 where it is 0."""
def stop_gradient(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The same values, through which no gradient flows."""
def subtract(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """The difference, elementwise."""
def sum(data: ArrayLike, axis: Any = None, dtype: Any = None, keepdims: Any = False, *, out: Any = None) -> ndarray:
    """Return the sum over axes."""
def svm_output(data: ArrayLike, label: ArrayLike, margin: Any = 1.0, regularization_coefficient: Any = 1.0, use_linear: Any = False, *, out: Any = None) -> ndarray:
    """Return the data, with the gradient of each class's hinge loss (its square, unless `use_linear`)."""
def swapaxes(data: ArrayLike, axis1: Any = 0, axis2: Any = 1, *, out: Any = None) -> ndarray:
    """Return the array with two axes exchanged."""
def swiglu(data: ArrayLike, gate: ArrayLike, *, out: Any = None) -> ndarray:
    """``silu(gate) * x``, the gated unit of current transformers."""
def swish(data: ArrayLike, beta: Any = 1.0, *, out: Any = None) -> ndarray:
    """``x * sigmoid(beta * x)``."""
def take(data: ArrayLike, indices: ArrayLike, axis: Any = 0, mode: Any = 'clip', *, out: Any = None) -> ndarray:
    """Return the elements of `data` at `indices` along an axis (None: of the flattened array)."""
def take_along_axis(data: ArrayLike, indices: ArrayLike, axis: Any = -1, *, out: Any = None) -> ndarray:
    """For each vector along an axis its elements at `indices`."""
def tan(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The tangent of angles in radians."""
def tanh(data: ArrayLike, *, out: Any = None) -> ndarray:
    """The hyperbolic tangent."""
def tensordot(x1: ArrayLike, x2: ArrayLike, axes: Any = 2, *, out: Any = None) -> ndarray:
    """Return the sum of products over some axes of each array."""
def thresholded_relu(data: ArrayLike, alpha: Any = 1.0, *, out: Any = None) -> ndarray:
    """``data`` where it is larger than `alpha`, 0 elsewhere, with gradient 0 at `alpha`."""
def tile(data: ArrayLike, reps: Any, *, out: Any = None) -> ndarray:
    """Return the array repeated as a tile."""
def topk(data: ArrayLike, axis: Any = -1, k: Any = 1, ret_typ: Any = 'indices', is_ascend: Any = False, dtype: Any = ..., *, out: Any = None) -> Any:
    """Return the `k` largest elements along `axis` (the smallest if `is_ascend`), in order."""
def trace(a: ArrayLike, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None, *, out: Any = None) -> Any:
    """The sum of a diagonal."""
def transpose(data: ArrayLike, axes: Any = None, *, out: Any = None) -> ndarray:
    """Return the axes in another order; reversed by default."""
def trapezoid(y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike | None = None, axis: Any = -1, *, out: Any = None) -> Any:
    """The integral along an axis by the trapezoidal rule."""
def trapz(y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike | None = None, axis: Any = -1, *, out: Any = None) -> Any:
    """The integral along an axis by the trapezoidal rule (an old name of `trapezoid`)."""
def tri(N: Any, M: Any = None, k: Any = 0, *, dtype: Any, out: Any = None) -> ndarray:
    """Return a matrix of ones below a diagonal and on it."""
def tril(data: ArrayLike, k: Any = 0, *, out: Any = None) -> ndarray:
    """Return the lower triangle of the last two axes; 0 above. A vector is every row."""
def triplet_loss(pred: ArrayLike, positive: ArrayLike, negative: ArrayLike, sample_weight: ArrayLike | None = None, margin: Any = 1, weight: Any = None, batch_axis: Any = 0, *, out: Any = None) -> ndarray:
    """``max(0, |positive - pred|^2 - |negative - pred|^2 + margin)``, with squared distances summed a sample."""
def triu(data: ArrayLike, k: Any = 0, *, out: Any = None) -> ndarray:
    """Return the upper triangle of the last two axes; 0 below. A vector is every row."""
def true_divide(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> ndarray:
    """The quotient, as a float also for integers."""
def trunc(data: ArrayLike, *, out: Any = None) -> ndarray:
    """Each element rounded towards zero."""
def unpackbits(a: ArrayLike, axis: Any = None, count: Any = None, bitorder: Any = 'big', *, out: Any = None) -> Any:
    """The bits of each byte."""
def unravel_index(indices: ArrayLike, shape: Any, order: Any = 'C', *, out: Any = None) -> Any:
    """Index tuples from flat indices."""
def unstack(data: ArrayLike, axis: Any = 0, *, out: Any = None) -> Any:
    """The slices along an axis as a tuple."""
def unwrap(p: ArrayLike, discont: ArrayLike | None = None, period: ArrayLike | None = None, axis: Any = -1, *, out: Any = None) -> Any:
    """Angles freed from jumps larger than half a period."""
def vander(data: ArrayLike, N: Any = None, increasing: Any = False, *, out: Any = None) -> Any:
    """The Vandermonde matrix."""
def var(data: ArrayLike, axis: Any = None, dtype: Any = None, ddof: Any = 0, keepdims: Any = False, *, out: Any = None) -> ndarray:
    """Return the variance over axes, with `ddof` taken from the number of elements."""
def vdot(a: ArrayLike, b: ArrayLike, precision: Any = None, preferred_element_type: Any = None, *, out: Any = None) -> Any:
    """The inner product of two flattened arrays, the first one conjugated."""
def vecdot(x1: ArrayLike, x2: ArrayLike, axis: Any = -1, precision: Any = None, preferred_element_type: Any = None, *, out: Any = None) -> Any:
    """The inner product of vectors along an axis."""
def vecmat(x1: ArrayLike, x2: ArrayLike, *, out: Any = None) -> Any:
    """The product of vectors and matrices."""
def vsplit(ary: ArrayLike, indices_or_sections: Any, *, out: Any = None) -> Any:
    """Parts along the first axis."""
def vstack(*arrays: ArrayLike, dtype: Any = None, out: Any = None) -> Any:
    """Arrays joined along the first axis."""
def where(condition: ArrayLike, x: ArrayLike, y: ArrayLike, *, out: Any = None) -> ndarray:
    """Return the elements of `x` where `condition` holds, those of `y` elsewhere."""
def zeros(shape: Any, dtype: Any, *, out: Any = None) -> ndarray:
    """Return an array of zeros."""
def zeros_like(data: ArrayLike, dtype: Any = None, *, out: Any = None) -> ndarray:
    """Zeros in the shape (and, unless told, the element type) of an array."""
