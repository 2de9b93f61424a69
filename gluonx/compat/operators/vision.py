"""Legacy operators of detection and of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as onp

from gluonx.compat.operators.row import core, given, row, same

if TYPE_CHECKING:
    from gluonx.compat.operators.attrs import Attrs
    from gluonx.np.handle import ndarray


# -- boxes ------------------------------------------------------------------------------------------------------------


same("_contrib_box_iou(lhs, rhs; format: {center corner}=corner)", "box_iou")
same(
    "_contrib_box_nms(data; overlap_thresh: float=0.5, valid_thresh: float=0.0, topk: int=-1, coord_start: int=2, "
    "score_index: int=1, id_index: int=-1, background_id: int=-1, force_suppress: bool=False, "
    "in_format: {center corner}=corner, out_format: {center corner}=corner)",
    "box_nms",
    alias="_contrib_box_non_maximum_suppression",
    counted=2,
)
same(
    "_contrib_bipartite_matching(data; is_ascend: bool=False, threshold: float, topk: int=-1)",
    "bipartite_matching",
    nout=2,
)
same("_contrib_box_encode(samples, matches, anchors, refs, means, stds)", "box_encode", nout=2)
same(
    "_contrib_box_decode(data, anchors; std0: float=1.0, std1: float=1.0, std2: float=1.0, std3: float=1.0, "
    "clip: float=-1.0, format: {center corner}=center)",
    "box_decode",
)
same(
    "_contrib_MultiBoxPrior(data; sizes: floats=(1), ratios: floats=(1), clip: bool=False, steps: floats=(-1 -1), "
    "offsets: floats=(0.5 0.5))",
    "multibox_prior",
)
same(
    "_contrib_MultiBoxTarget(anchor, label, cls_pred; overlap_threshold: float=0.5, ignore_label: float=-1.0, "
    "negative_mining_ratio: float=-1.0, negative_mining_thresh: float=0.5, minimum_negative_samples: int=0, "
    "variances: floats=(0.1 0.1 0.2 0.2))",
    "multibox_target",
    nout=3,
)
same(
    "_contrib_MultiBoxDetection(cls_prob, loc_pred, anchor; clip: bool=True, threshold: float=0.01, "
    "background_id: int=0, nms_threshold: float=0.5, force_suppress: bool=False, variances: floats=(0.1 0.1 0.2 0.2), "
    "nms_topk: int=-1)",
    "multibox_detection",
)

# -- regions ----------------------------------------------------------------------------------------------------------

same("ROIPooling(data, rois; pooled_size: shape, spatial_scale: float)", "roi_pooling", counted=2)
same(
    "_contrib_ROIAlign(data, rois; pooled_size: shape, spatial_scale: float, sample_ratio: int=-1, "
    "position_sensitive: bool=False, aligned: bool=False)",
    "roi_align",
)

_RPN = (
    "cls_prob, bbox_pred, im_info; rpn_pre_nms_top_n: int=6000, rpn_post_nms_top_n: int=300, threshold: float=0.7, "
    "rpn_min_size: int=16, scales: floats=(4 8 16 32), ratios: floats=(0.5 1 2), feature_stride: int=16, "
    "output_score: bool=False, iou_loss: bool=False"
)
for _name, _counted in (("Proposal", 2), ("MultiProposal", 1)):
    same(f"_contrib_{_name}({_RPN})", "proposal", nout=lambda a: 2 if a.output_score else 1, counted=_counted)
same(
    "_contrib_PSROIPooling(data, rois; spatial_scale: float, output_dim: int, pooled_size: int, group_size: int=0)",
    "psroi_pooling",
)
same("_contrib_RROIAlign(data, rois; pooled_size: shape, spatial_scale: float, sampling_ratio: int=-1)", "rroi_align")
same(
    "_contrib_DeformablePSROIPooling(data, rois, trans?; spatial_scale: float, output_dim: int, group_size: int, "
    "pooled_size: int, part_size: int=0, sample_per_part: int=1, trans_std: float=0.0, no_trans: bool=False)",
    "deformable_psroi_pooling",
    needs={"trans": lambda a: not a.no_trans},
)
row(
    "_contrib_count_sketch(data, h, s; out_dim: int, processing_batch_size: int=32)",
    lambda a, data, h, s: core("count_sketch", data, h, s, out_dim=a.out_dim),
    via="count_sketch",
)
row("_contrib_fft(data; compute_size: int=128)", lambda a, data: core("fft_pairs", data), via="fft_pairs")
row("_contrib_ifft(data; compute_size: int=128)", lambda a, data: core("ifft_pairs", data), via="ifft_pairs")

# -- deformable convolution -------------------------------------------------------------------------------------------

_DEFORMABLE = (
    "kernel: shape, stride: shape=(), dilate: shape=(), pad: shape=(), num_filter: int, num_group: int=1, "
    "num_deformable_group: int=1, workspace: int=1024, no_bias: bool=False, {extra}layout: str?=None"
)


def _deformable(name: str, inputs: str, via: str, extra: str = "") -> None:
    row(
        f"{name}({inputs}, bias?; {_DEFORMABLE.format(extra=extra)})",
        lambda a, *arrays: core(via, *arrays, **given(a)),
        via=via,
        needs={"bias": lambda a: not a.no_bias},
    )


_deformable("_contrib_DeformableConvolution", "data, offset, weight", "deformable_convolution")
_deformable(
    "_contrib_ModulatedDeformableConvolution",
    "data, offset, mask, weight",
    "modulated_deformable_convolution",
    "im2col_step: int=64, ",
)

# -- resizing, sampling, comparing ------------------------------------------------------------------------------------

_ROUND = {
    "to_even_down": lambda n: n - n % 2,
    "to_even_up": lambda n: n + n % 2,
    "to_odd_down": lambda n: n - 1 + n % 2,
    "to_odd_up": lambda n: n + 1 - n % 2,
}


def _new_length(a: Attrs, old: int, like: int | None, wanted: int, scale: float | None) -> int:
    if a.mode == "like" and like is not None:
        return like
    if a.mode in _ROUND:
        return _ROUND[a.mode](old)
    if scale is None:
        return wanted
    if a.mode == "odd_scale":
        return int(old * scale) if old % 2 == 0 else int((old - 1) * scale) + 1
    return int(scale * old)


@row(
    "_contrib_BilinearResize2D(data, like?; height: int=1, width: int=1, scale_height: float?=None, "
    "scale_width: float?=None, mode: {like odd_scale size to_even_down to_even_up to_odd_down to_odd_up}=size, "
    "align_corners: bool=True)",
    via="bilinear_resize",
    needs={"like": lambda a: a.mode == "like"},
)
def _bilinear_resize(a: Attrs, data: ndarray, like: ndarray | None = None) -> ndarray | Sequence[ndarray]:
    others = (None, None) if like is None else like.shape[2:]
    sizes = [
        _new_length(a, old, other, wanted, scale)
        for old, other, wanted, scale in zip(
            data.shape[2:], others, (a.height, a.width), (a.scale_height, a.scale_width), strict=True
        )
    ]
    return core("bilinear_resize", data, height=sizes[0], width=sizes[1], align_corners=a.align_corners)


same("GridGenerator(data; transform_type: {affine warp}, target_shape: shape=(0 0))", "grid_generator", counted=2)
row(
    "BilinearSampler(data, grid; cudnn_off: bool?=None)",
    lambda a, data, grid: core("bilinear_sampler", data, grid),
    via="bilinear_sampler",
    counted=2,
)


@row(
    "SpatialTransformer(data, loc; target_shape: shape=(0 0), transform_type: {affine}, sampler_type: {bilinear}, "
    "cudnn_off: bool?=None)",
    via="grid_generator bilinear_sampler",
    counted=3,
)
def _spatial_transformer(a: Attrs, data: ndarray, loc: ndarray) -> ndarray | Sequence[ndarray]:
    shape = tuple([wanted or old for wanted, old in zip(a.target_shape, data.shape[2:], strict=True)])
    grid = core("grid_generator", loc, transform_type="affine", target_shape=shape)
    return core("bilinear_sampler", data, grid)


same(
    "Correlation(data1, data2; kernel_size: int=1, max_displacement: int=1, stride1: int=1, stride2: int=1, "
    "pad_size: int=0, is_multiply: bool=True)",
    "correlation",
    counted=3,
)


_PATCH = "kernel: shape, stride: shape=(), dilate: shape=(), pad: shape=()"
same(f"im2col(data; {_PATCH})", "im2col")
same(f"col2im(data; output_size: shape, {_PATCH})", "col2im")

# -- images of (height, width, channels) ------------------------------------------------------------------------------

for _name in ("to_tensor", "flip_left_right", "flip_top_bottom"):
    same(f"_image_{_name}(data)", f"image.{_name}")
for _name in ("random_flip_left_right", "random_flip_top_bottom"):
    row(
        f"_image_{_name}(data; p: float=0.5)",
        lambda a, data, via=f"image.{_name}": core(via, data, a.p),
        via=f"image.{_name}",
    )


@row("_image_normalize(data; mean: floats=(0 0 0 0), std: floats=(1 1 1 1))", via="image.normalize")
def _normalize(a: Attrs, data: ndarray) -> ndarray | Sequence[ndarray]:
    """As many of the numbers as there are channels; one stands for all."""
    channels = data.shape[-3]
    mean, std = (v * channels if len(v) == 1 else v[:channels] for v in (a.mean, a.std))
    return core("image.normalize", data, mean=mean, std=std)


@row("_image_resize(data; size: shape=(), keep_ratio: bool=False, interp: int=1)", via="image.resize")
def _resize(a: Attrs, data: ndarray) -> ndarray | Sequence[ndarray]:
    size = a.size[0] if len(a.size) == 1 else a.size
    return core("image.resize", data, size=size, keep_ratio=a.keep_ratio, interp=a.interp)


@row("_image_crop(data; x: int, y: int, width: int, height: int)", via="image.crop")
def _crop(a: Attrs, data: ndarray) -> ndarray | Sequence[ndarray]:
    return core("image.crop", data, a.x, a.y, width=a.width, height=a.height)


for _name in ("brightness", "contrast", "saturation", "hue"):
    row(
        f"_image_random_{_name}(data; min_factor: float, max_factor: float)",
        lambda a, data, via=f"image.random_{_name}": core(via, data, a.min_factor, a.max_factor),
        via=f"image.random_{_name}",
    )
same(
    "_image_random_color_jitter(data; brightness: float, contrast: float, saturation: float, hue: float)",
    "image.random_color_jitter",
)
row(
    "_image_adjust_lighting(data; alpha: floats)",
    lambda a, data: core("image.adjust_lighting", data, onp.array(a.alpha)),
    via="image.adjust_lighting",
)
row(
    "_image_random_lighting(data; alpha_std: float=0.05)",
    lambda a, data: core("image.random_lighting", data, a.alpha_std),
    via="image.random_lighting",
)
