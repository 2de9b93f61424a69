# Made by `python -m tools.stubs --write` with JAX 0.10; do not edit.
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

from numpy import dtype as _dtype
from numpy.typing import ArrayLike

from gluonx.compat.nd.ndarray import NDArray as NDArray
from gluonx.compat.nd.graphs import dgl_adjacency as dgl_adjacency
from gluonx.compat.nd.graphs import dgl_csr_neighbor_non_uniform_sample as dgl_csr_neighbor_non_uniform_sample
from gluonx.compat.nd.graphs import dgl_csr_neighbor_uniform_sample as dgl_csr_neighbor_uniform_sample
from gluonx.compat.nd.graphs import dgl_graph_compact as dgl_graph_compact
from gluonx.compat.nd.graphs import dgl_subgraph as dgl_subgraph

def AdaptiveAvgPooling2D(data: Any, output_size: Any = None, kernel: Any = (), pool_type: Any = 'max', global_pool: Any = False, cudnn_off: Any = False, pooling_convention: Any = 'valid', stride: Any = (), pad: Any = (), p_value: Any = None, count_include_pad: Any = None, layout: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_AdaptiveAvgPooling2D(data; output_size: shape?=None, kernel: shape=(), pool_type: {avg lp max sum}=max, global_pool: bool=False, cudnn_off: bool=False, pooling_convention: {full same valid}=valid, stride: shape=(), pad: shape=(), p_value: int?=None, count_include_pad: bool?=None, layout: str?=None)``. Core operators: adaptive_avg_pooling."""
def BatchNormWithReLU(data: Any, gamma: Any, beta: Any, moving_mean: Any, moving_var: Any, eps: Any = 0.001, momentum: Any = 0.9, fix_gamma: Any = True, use_global_stats: Any = False, output_mean_var: Any = False, axis: Any = 1, cudnn_off: Any = False, min_calib_range: Any = None, max_calib_range: Any = None, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_contrib_BatchNormWithReLU(data, gamma, beta, moving_mean, moving_var; eps: float=0.001, momentum: float=0.9, fix_gamma: bool=True, use_global_stats: bool=False, output_mean_var: bool=False, axis: int=1, cudnn_off: bool=False, min_calib_range: float?=None, max_calib_range: float?=None)``. Core operators: batch_norm, relu."""
def BilinearResize2D(data: Any, like: Any = None, height: Any = 1, width: Any = 1, scale_height: Any = None, scale_width: Any = None, mode: Any = 'size', align_corners: Any = True, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_BilinearResize2D(data, like; height: int=1, width: int=1, scale_height: float?=None, scale_width: float?=None, mode: {like odd_scale size to_even_down to_even_up to_odd_down to_odd_up}=size, align_corners: bool=True)``. Core operators: bilinear_resize."""
def CTCLoss(data: Any, label: Any, data_lengths: Any = None, label_lengths: Any = None, use_data_lengths: Any = False, use_label_lengths: Any = False, blank_label: Any = 'first', *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``CTCLoss(data, label, data_lengths, label_lengths; use_data_lengths: bool=False, use_label_lengths: bool=False, blank_label: {first last}=first)``. Core operators: ctc_batch_loss."""
def DeformableConvolution(data: Any, offset: Any, weight: Any, bias: Any = None, kernel: Any = ..., stride: Any = (), dilate: Any = (), pad: Any = (), num_filter: Any = ..., num_group: Any = 1, num_deformable_group: Any = 1, workspace: Any = 1024, no_bias: Any = False, layout: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_DeformableConvolution(data, offset, weight, bias; kernel: shape, stride: shape=(), dilate: shape=(), pad: shape=(), num_filter: int, num_group: int=1, num_deformable_group: int=1, workspace: int=1024, no_bias: bool=False, layout: str?=None)``. Core operators: deformable_convolution."""
def DeformablePSROIPooling(data: Any, rois: Any, trans: Any = None, spatial_scale: Any = ..., output_dim: Any = ..., group_size: Any = ..., pooled_size: Any = ..., part_size: Any = 0, sample_per_part: Any = 1, trans_std: Any = 0.0, no_trans: Any = False, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_DeformablePSROIPooling(data, rois, trans; spatial_scale: float, output_dim: int, group_size: int, pooled_size: int, part_size: int=0, sample_per_part: int=1, trans_std: float=0.0, no_trans: bool=False)``. Core operators: deformable_psroi_pooling."""
def ModulatedDeformableConvolution(data: Any, offset: Any, mask: Any, weight: Any, bias: Any = None, kernel: Any = ..., stride: Any = (), dilate: Any = (), pad: Any = (), num_filter: Any = ..., num_group: Any = 1, num_deformable_group: Any = 1, workspace: Any = 1024, no_bias: Any = False, im2col_step: Any = 64, layout: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_ModulatedDeformableConvolution(data, offset, mask, weight, bias; kernel: shape, stride: shape=(), dilate: shape=(), pad: shape=(), num_filter: int, num_group: int=1, num_deformable_group: int=1, workspace: int=1024, no_bias: bool=False, im2col_step: int=64, layout: str?=None)``. Core operators: modulated_deformable_convolution."""
def MultiBoxDetection(cls_prob: Any, loc_pred: Any, anchor: Any, clip: Any = True, threshold: Any = 0.01, background_id: Any = 0, nms_threshold: Any = 0.5, force_suppress: Any = False, variances: Any = (0.1, 0.1, 0.2, 0.2), nms_topk: Any = -1, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_MultiBoxDetection(cls_prob, loc_pred, anchor; clip: bool=True, threshold: float=0.01, background_id: int=0, nms_threshold: float=0.5, force_suppress: bool=False, variances: floats=(0.1, 0.1, 0.2, 0.2), nms_topk: int=-1)``. Core operators: multibox_detection."""
def MultiBoxPrior(data: Any, sizes: Any = (1.0,), ratios: Any = (1.0,), clip: Any = False, steps: Any = (-1.0, -1.0), offsets: Any = (0.5, 0.5), *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_MultiBoxPrior(data; sizes: floats=(1.0,), ratios: floats=(1.0,), clip: bool=False, steps: floats=(-1.0, -1.0), offsets: floats=(0.5, 0.5))``. Core operators: multibox_prior."""
def MultiBoxTarget(anchor: Any, label: Any, cls_pred: Any, overlap_threshold: Any = 0.5, ignore_label: Any = -1.0, negative_mining_ratio: Any = -1.0, negative_mining_thresh: Any = 0.5, minimum_negative_samples: Any = 0, variances: Any = (0.1, 0.1, 0.2, 0.2), *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_contrib_MultiBoxTarget(anchor, label, cls_pred; overlap_threshold: float=0.5, ignore_label: float=-1.0, negative_mining_ratio: float=-1.0, negative_mining_thresh: float=0.5, minimum_negative_samples: int=0, variances: floats=(0.1, 0.1, 0.2, 0.2))``. Core operators: multibox_target."""
def MultiProposal(cls_prob: Any, bbox_pred: Any, im_info: Any, rpn_pre_nms_top_n: Any = 6000, rpn_post_nms_top_n: Any = 300, threshold: Any = 0.7, rpn_min_size: Any = 16, scales: Any = (4.0, 8.0, 16.0, 32.0), ratios: Any = (0.5, 1.0, 2.0), feature_stride: Any = 16, output_score: Any = False, iou_loss: Any = False, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_contrib_MultiProposal(cls_prob, bbox_pred, im_info; rpn_pre_nms_top_n: int=6000, rpn_post_nms_top_n: int=300, threshold: float=0.7, rpn_min_size: int=16, scales: floats=(4.0, 8.0, 16.0, 32.0), ratios: floats=(0.5, 1.0, 2.0), feature_stride: int=16, output_score: bool=False, iou_loss: bool=False)``. Core operators: proposal."""
def PSROIPooling(data: Any, rois: Any, spatial_scale: Any, output_dim: Any, pooled_size: Any, group_size: Any = 0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_PSROIPooling(data, rois; spatial_scale: float, output_dim: int, pooled_size: int, group_size: int=0)``. Core operators: psroi_pooling."""
def Proposal(cls_prob: Any, bbox_pred: Any, im_info: Any, rpn_pre_nms_top_n: Any = 6000, rpn_post_nms_top_n: Any = 300, threshold: Any = 0.7, rpn_min_size: Any = 16, scales: Any = (4.0, 8.0, 16.0, 32.0), ratios: Any = (0.5, 1.0, 2.0), feature_stride: Any = 16, output_score: Any = False, iou_loss: Any = False, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_contrib_Proposal(cls_prob, bbox_pred, im_info; rpn_pre_nms_top_n: int=6000, rpn_post_nms_top_n: int=300, threshold: float=0.7, rpn_min_size: int=16, scales: floats=(4.0, 8.0, 16.0, 32.0), ratios: floats=(0.5, 1.0, 2.0), feature_stride: int=16, output_score: bool=False, iou_loss: bool=False)``. Core operators: proposal."""
def ROIAlign(data: Any, rois: Any, pooled_size: Any, spatial_scale: Any, sample_ratio: Any = -1, position_sensitive: Any = False, aligned: Any = False, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_ROIAlign(data, rois; pooled_size: shape, spatial_scale: float, sample_ratio: int=-1, position_sensitive: bool=False, aligned: bool=False)``. Core operators: roi_align."""
def RROIAlign(data: Any, rois: Any, pooled_size: Any, spatial_scale: Any, sampling_ratio: Any = -1, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_RROIAlign(data, rois; pooled_size: shape, spatial_scale: float, sampling_ratio: int=-1)``. Core operators: rroi_align."""
def SparseEmbedding(data: Any, weight: Any, input_dim: Any, output_dim: Any, dtype: Any = 'float32', sparse_grad: Any = False, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_contrib_SparseEmbedding(data, weight; input_dim: int, output_dim: int, dtype: dtype=float32, sparse_grad: bool=False)``. Core operators: embedding."""
def SyncBatchNorm(data: Any, gamma: Any, beta: Any, moving_mean: Any, moving_var: Any, eps: Any = 0.001, momentum: Any = 0.9, fix_gamma: Any = True, use_global_stats: Any = False, output_mean_var: Any = False, ndev: Any = 1, key: Any = '', *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_contrib_SyncBatchNorm(data, gamma, beta, moving_mean, moving_var; eps: float=0.001, momentum: float=0.9, fix_gamma: bool=True, use_global_stats: bool=False, output_mean_var: bool=False, ndev: int=1, key: str=)``. Core operators: batch_norm."""
def adabelief_update(*args: Any, **kwargs: Any) -> Any:
    """MXNet's ``adabelief_update``, on the operator ``_adabelief_update``."""
def adamw_update(*args: Any, **kwargs: Any) -> Any:
    """MXNet's ``adamw_update``, on the operator ``_adamw_update``."""
def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: Any = True, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_allclose(a, b; rtol: float=1e-05, atol: float=1e-08, equal_nan: bool=True)``. Core operators: isclose, all."""
def arange_like(data: Any, start: Any = 0.0, step: Any = 1.0, repeat: Any = 1, ctx: Any = '', axis: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_arange_like(data; start: float=0.0, step: float=1.0, repeat: int=1, ctx: str=, axis: int?=None)``. Core operators: arange_like."""
def bipartite_matching(data: Any, is_ascend: Any = False, threshold: Any = ..., topk: Any = -1, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_contrib_bipartite_matching(data; is_ascend: bool=False, threshold: float, topk: int=-1)``. Core operators: bipartite_matching."""
def boolean_mask(data: Any, index: Any, axis: Any = 0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_boolean_mask(data, index; axis: int=0)``. Core operators: compress."""
def box_decode(data: Any, anchors: Any, std0: Any = 1.0, std1: Any = 1.0, std2: Any = 1.0, std3: Any = 1.0, clip: Any = -1.0, format: Any = 'center', *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_box_decode(data, anchors; std0: float=1.0, std1: float=1.0, std2: float=1.0, std3: float=1.0, clip: float=-1.0, format: {center corner}=center)``. Core operators: box_decode."""
def box_encode(samples: Any, matches: Any, anchors: Any, refs: Any, means: Any, stds: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_contrib_box_encode(samples, matches, anchors, refs, means, stds)``. Core operators: box_encode."""
def box_iou(lhs: Any, rhs: Any, format: Any = 'corner', *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_box_iou(lhs, rhs; format: {center corner}=corner)``. Core operators: box_iou."""
def box_nms(data: Any, overlap_thresh: Any = 0.5, valid_thresh: Any = 0.0, topk: Any = -1, coord_start: Any = 2, score_index: Any = 1, id_index: Any = -1, background_id: Any = -1, force_suppress: Any = False, in_format: Any = 'corner', out_format: Any = 'corner', *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_box_nms(data; overlap_thresh: float=0.5, valid_thresh: float=0.0, topk: int=-1, coord_start: int=2, score_index: int=1, id_index: int=-1, background_id: int=-1, force_suppress: bool=False, in_format: {center corner}=corner, out_format: {center corner}=corner)``. Core operators: box_nms."""
def box_non_maximum_suppression(data: Any, overlap_thresh: Any = 0.5, valid_thresh: Any = 0.0, topk: Any = -1, coord_start: Any = 2, score_index: Any = 1, id_index: Any = -1, background_id: Any = -1, force_suppress: Any = False, in_format: Any = 'corner', out_format: Any = 'corner', *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_box_nms(data; overlap_thresh: float=0.5, valid_thresh: float=0.0, topk: int=-1, coord_start: int=2, score_index: int=1, id_index: int=-1, background_id: int=-1, force_suppress: bool=False, in_format: {center corner}=corner, out_format: {center corner}=corner)``. Core operators: box_nms."""
def calibrate_entropy(hist: Any, hist_edges: Any, num_quantized_bins: Any = 255, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_contrib_calibrate_entropy(hist, hist_edges; num_quantized_bins: int=255)``. Core operators: contrib_calibrate_entropy."""
def cond(pred: Any, then_func: Any, else_func: Any, inputs: Any = None, name: str = 'cond') -> Any:
    """Return the result of one of two functions without arguments; see `gluonx.npx.cond`."""
def count_sketch(data: Any, h: Any, s: Any, out_dim: Any, processing_batch_size: Any = 32, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_count_sketch(data, h, s; out_dim: int, processing_batch_size: int=32)``. Core operators: count_sketch."""
def ctc_loss(data: Any, label: Any, data_lengths: Any = None, label_lengths: Any = None, use_data_lengths: Any = False, use_label_lengths: Any = False, blank_label: Any = 'first', *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``CTCLoss(data, label, data_lengths, label_lengths; use_data_lengths: bool=False, use_label_lengths: bool=False, blank_label: {first last}=first)``. Core operators: ctc_batch_loss."""
def dequantize(data: Any, min_range: Any, max_range: Any, out_type: Any = 'float32', *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_dequantize(data, min_range, max_range; out_type: {float32}=float32)``. Core operators: dequantize."""
def div_sqrt_dim(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_div_sqrt_dim(data)``. Core operators: multiply."""
def edge_id(data: Any, u: Any, v: Any) -> Any:
    """Read a csr matrix of edges at ``(u[i], v[i])``; -1 where it stores nothing."""
def fft(data: Any, compute_size: Any = 128, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_fft(data; compute_size: int=128)``. Core operators: fft_pairs."""
def foreach(body: Any, data: Any, init_states: Any, name: str = 'foreach') -> tuple[Any, Any]:
    """``body(item, states) -> (output, states)`` over the first axis of `data`; see `gluonx.npx.foreach`."""
def getnnz(data: Any, axis: int | None = None) -> Any:
    """Count the values that a csr matrix stores: all, along `axis` 0 those of each column, along 1 those of each row."""
def gradientmultiplier(data: Any, scalar: Any = 1.0, is_int: Any = True, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_gradientmultiplier(data; scalar: float=1.0, is_int: bool=True)``. Core operators: add, multiply, stop_gradient."""
def ifft(data: Any, compute_size: Any = 128, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_ifft(data; compute_size: int=128)``. Core operators: ifft_pairs."""
def index_array(data: Any, axes: Any = None, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_index_array(data; axes: shape?=None)``. Core operators: indices."""
def index_copy(old_tensor: Any, index_vector: Any, new_tensor: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_index_copy(old_tensor, index_vector, new_tensor)``. Core operators: index_copy."""
def interleaved_matmul_encdec_qk(queries: Any, keys_values: Any, heads: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_interleaved_matmul_encdec_qk(queries, keys_values; heads: int)``. Core operators: interleaved_matmul_encdec_qk."""
def interleaved_matmul_encdec_valatt(keys_values: Any, attention: Any, heads: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_interleaved_matmul_encdec_valatt(keys_values, attention; heads: int)``. Core operators: interleaved_matmul_encdec_valatt."""
def interleaved_matmul_selfatt_qk(queries_keys_values: Any, heads: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_interleaved_matmul_selfatt_qk(queries_keys_values; heads: int)``. Core operators: interleaved_matmul_selfatt_qk."""
def interleaved_matmul_selfatt_valatt(queries_keys_values: Any, attention: Any, heads: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_interleaved_matmul_selfatt_valatt(queries_keys_values, attention; heads: int)``. Core operators: interleaved_matmul_selfatt_valatt."""
def intgemm_fully_connected(data: Any, weight: Any, scaling: Any = None, bias: Any = None, num_hidden: Any = ..., no_bias: Any = False, flatten: Any = True, out_type: Any = 'float32', *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_intgemm_fully_connected(data, weight, scaling, bias; num_hidden: int, no_bias: bool=False, flatten: bool=True, out_type: {float32 int32}=float32)``. Core operators: intgemm_fully_connected."""
def intgemm_maxabsolute(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_intgemm_maxabsolute(data)``. Core operators: intgemm_maxabsolute."""
def intgemm_prepare_data(data: Any, maxabs: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_intgemm_prepare_data(data, maxabs)``. Core operators: intgemm_prepare_data."""
def intgemm_prepare_weight(weight: Any, maxabs: Any = None, already_quantized: Any = False, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_intgemm_prepare_weight(weight, maxabs; already_quantized: bool=False)``. Core operators: intgemm_prepare_weight."""
def intgemm_take_weight(weight: Any, indices: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_intgemm_take_weight(weight, indices)``. Core operators: intgemm_take_weight."""
def isfinite(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_isfinite(data)``. Core operators: isfinite."""
def isinf(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_isinf(data)``. Core operators: isinf."""
def isnan(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_isnan(data)``. Core operators: isnan."""
def mp_adabelief_update(*args: Any, **kwargs: Any) -> Any:
    """MXNet's ``mp_adabelief_update``, on the operator ``_mp_adabelief_update``."""
def mp_adamw_update(*args: Any, **kwargs: Any) -> Any:
    """MXNet's ``mp_adamw_update``, on the operator ``_mp_adamw_update``."""
def multi_adabelief_update(*args: Any, out: Any = None, name: Any = None, **kwargs: Any) -> Any:
    """MXNet's ``multi_adabelief_update``, on the operator ``_multi_adabelief_update``."""
def multi_adamw_update(*args: Any, out: Any = None, name: Any = None, **kwargs: Any) -> Any:
    """MXNet's ``multi_adamw_update``, on the operator ``_multi_adamw_update``."""
def multi_lamb_update(*args: Any, out: Any = None, name: Any = None, **kwargs: Any) -> Any:
    """MXNet's ``multi_lamb_update``, on the operator ``_multi_lamb_update``."""
def multi_lans_update(*args: Any, out: Any = None, name: Any = None, **kwargs: Any) -> Any:
    """MXNet's ``multi_lans_update``, on the operator ``_multi_lans_update``."""
def multi_mp_adabelief_update(*args: Any, out: Any = None, name: Any = None, **kwargs: Any) -> Any:
    """MXNet's ``multi_mp_adabelief_update``, on the operator ``_multi_mp_adabelief_update``."""
def multi_mp_adamw_update(*args: Any, out: Any = None, name: Any = None, **kwargs: Any) -> Any:
    """MXNet's ``multi_mp_adamw_update``, on the operator ``_multi_mp_adamw_update``."""
def multi_mp_lamb_update(*args: Any, out: Any = None, name: Any = None, **kwargs: Any) -> Any:
    """MXNet's ``multi_mp_lamb_update``, on the operator ``_multi_mp_lamb_update``."""
def multi_mp_lans_update(*args: Any, out: Any = None, name: Any = None, **kwargs: Any) -> Any:
    """MXNet's ``multi_mp_lans_update``, on the operator ``_multi_mp_lans_update``."""
def quadratic(data: Any, a: Any = 0.0, b: Any = 0.0, c: Any = 0.0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_quadratic(data; a: float=0.0, b: float=0.0, c: float=0.0)``. Core operators: add, multiply, square."""
def quantize(data: Any, min_range: Any, max_range: Any, out_type: Any = 'uint8', *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_contrib_quantize(data, min_range, max_range; out_type: {int8 uint8}=uint8)``. Core operators: contrib_quantize."""
def quantize_v2(data: Any, out_type: Any = 'int8', min_calib_range: Any = None, max_calib_range: Any = None, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_contrib_quantize_v2(data; out_type: {auto int8 uint8}=int8, min_calib_range: float?=None, max_calib_range: float?=None)``. Core operators: contrib_quantize_v2."""
def quantized_act(data: Any, min_data: Any, max_data: Any, act_type: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_contrib_quantized_act(data, min_data, max_data; act_type: {relu sigmoid softrelu softsign tanh log_sigmoid mish})``. Core operators: quantized_act."""
def quantized_batch_norm(data: Any, gamma: Any, beta: Any, moving_mean: Any, moving_var: Any, min_data: Any, max_data: Any, eps: Any = 0.001, momentum: Any = 0.9, fix_gamma: Any = True, use_global_stats: Any = False, output_mean_var: Any = False, axis: Any = 1, cudnn_off: Any = False, min_calib_range: Any = None, max_calib_range: Any = None, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_contrib_quantized_batch_norm(data, gamma, beta, moving_mean, moving_var, min_data, max_data; eps: float=0.001, momentum: float=0.9, fix_gamma: bool=True, use_global_stats: bool=False, output_mean_var: bool=False, axis: int=1, cudnn_off: bool=False, min_calib_range: float?=None, max_calib_range: float?=None)``. Core operators: dequantize, multiply, add, contrib_quantize_v2."""
def quantized_concat(*data: Any, num_args: Any = 0, dim: Any = 1, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_contrib_quantized_concat(*data; num_args: int=0, dim: int=1)``. Core operators: multiply, concatenate, rint, cast."""
def quantized_conv(data: Any, weight: Any, bias: Any = None, min_data: Any = ..., max_data: Any = ..., min_weight: Any = ..., max_weight: Any = ..., min_bias: Any = None, max_bias: Any = None, kernel: Any = ..., stride: Any = (), dilate: Any = (), pad: Any = (), num_filter: Any = ..., num_group: Any = 1, workspace: Any = 1024, no_bias: Any = False, cudnn_tune: Any = None, cudnn_off: Any = False, layout: Any = None, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_contrib_quantized_conv(data, weight, bias, min_data, max_data, min_weight, max_weight, min_bias, max_bias; kernel: shape, stride: shape=(), dilate: shape=(), pad: shape=(), num_filter: int, num_group: int=1, workspace: int=1024, no_bias: bool=False, cudnn_tune: str?=None, cudnn_off: bool=False, layout: str?=None)``. Core operators: quantized_conv."""
def quantized_elemwise_add(lhs: Any, rhs: Any, lhs_min: Any, lhs_max: Any, rhs_min: Any, rhs_max: Any, min_calib_range: Any = None, max_calib_range: Any = None, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_contrib_quantized_elemwise_add(lhs, rhs, lhs_min, lhs_max, rhs_min, rhs_max; min_calib_range: float?=None, max_calib_range: float?=None)``. Core operators: quantized_elemwise_add."""
def quantized_elemwise_mul(lhs: Any, rhs: Any, lhs_min: Any, lhs_max: Any, rhs_min: Any, rhs_max: Any, min_calib_range: Any = None, max_calib_range: Any = None, enable_float_output: Any = False, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_contrib_quantized_elemwise_mul(lhs, rhs, lhs_min, lhs_max, rhs_min, rhs_max; min_calib_range: float?=None, max_calib_range: float?=None, enable_float_output: bool=False)``. Core operators: quantized_elemwise_mul."""
def quantized_embedding(data: Any, weight: Any, min_weight: Any, max_weight: Any, input_dim: Any, output_dim: Any, dtype: Any = 'float32', sparse_grad: Any = False, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_contrib_quantized_embedding(data, weight, min_weight, max_weight; input_dim: int, output_dim: int, dtype: dtype=float32, sparse_grad: bool=False)``. Core operators: quantized_embedding."""
def quantized_flatten(data: Any, min_data: Any, max_data: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_contrib_quantized_flatten(data, min_data, max_data)``. Core operators: quantized_flatten."""
def quantized_fully_connected(data: Any, weight: Any, bias: Any = None, min_data: Any = ..., max_data: Any = ..., min_weight: Any = ..., max_weight: Any = ..., min_bias: Any = None, max_bias: Any = None, num_hidden: Any = ..., no_bias: Any = False, flatten: Any = True, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_contrib_quantized_fully_connected(data, weight, bias, min_data, max_data, min_weight, max_weight, min_bias, max_bias; num_hidden: int, no_bias: bool=False, flatten: bool=True)``. Core operators: quantized_fully_connected."""
def quantized_pooling(data: Any, min_data: Any, max_data: Any, kernel: Any = (), pool_type: Any = 'max', global_pool: Any = False, cudnn_off: Any = False, pooling_convention: Any = 'valid', stride: Any = (), pad: Any = (), p_value: Any = None, count_include_pad: Any = None, layout: Any = None, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_contrib_quantized_pooling(data, min_data, max_data; kernel: shape=(), pool_type: {avg lp max sum}=max, global_pool: bool=False, cudnn_off: bool=False, pooling_convention: {full same valid}=valid, stride: shape=(), pad: shape=(), p_value: int?=None, count_include_pad: bool?=None, layout: str?=None)``. Core operators: quantized_pooling."""
def quantized_reshape(data: Any, min_data: Any, max_data: Any, shape: Any = (), reverse: Any = False, target_shape: Any = (), keep_highest: Any = False, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_contrib_quantized_reshape(data, min_data, max_data; shape: shape=(), reverse: bool=False, target_shape: shape=(), keep_highest: bool=False)``. Core operators: reshape, quantized_flatten."""
def quantized_transpose(data: Any, min_data: Any, max_data: Any, axes: Any = (), *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_contrib_quantized_transpose(data, min_data, max_data; axes: shape=())``. Core operators: quantized_transpose."""
def rand_zipfian(true_classes: Any, num_sampled: int, range_max: int, ctx: Any = None) -> tuple[Any, Any, Any]:
    """Class numbers, the small ones often, and how often these and `true_classes` are expected among them."""
def requantize(data: Any, min_range: Any, max_range: Any, out_type: Any = 'int8', min_calib_range: Any = None, max_calib_range: Any = None, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_contrib_requantize(data, min_range, max_range; out_type: {auto int8 uint8}=int8, min_calib_range: float?=None, max_calib_range: float?=None)``. Core operators: requantize."""
def round_ste(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_round_ste(data)``. Core operators: round_ste."""
def sign_ste(data: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_sign_ste(data)``. Core operators: sign_ste."""
def sldwin_atten_context(score: Any, value: Any, dilation: Any, w: Any, symmetric: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_sldwin_atten_context(score, value, dilation; w: int, symmetric: bool)``. Core operators: sldwin_atten_context."""
def sldwin_atten_mask_like(score: Any, dilation: Any, valid_length: Any, w: Any, symmetric: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_sldwin_atten_mask_like(score, dilation, valid_length; w: int, symmetric: bool)``. Core operators: sldwin_atten_mask_like."""
def sldwin_atten_score(query: Any, key: Any, dilation: Any, w: Any, symmetric: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_contrib_sldwin_atten_score(query, key, dilation; w: int, symmetric: bool)``. Core operators: sldwin_atten_score."""
def while_loop(cond: Any, func: Any, loop_vars: Any, max_iterations: int | None = None, name: str = '') -> Any:
    """``func(*loop_vars) -> (output, loop_vars)`` as long as ``cond(*loop_vars)``; see `gluonx.npx.while_loop`."""
