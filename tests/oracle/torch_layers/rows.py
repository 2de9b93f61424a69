"""Layers and losses that are said to be PyTorch's, as rows: an expression there, one here, the shapes of the inputs.

Inputs are drawn from the row's name, so both sides have the same. A shape with a letter asks for other numbers:
``"2,3i5"`` for whole ones below 5, ``"2,3p"`` for ones between 0.1 and 0.9, ``"4s"`` for signs. A row with weights
names, by our names, the parameters of theirs.
"""

import zlib

import numpy

_NORM = {"gamma": "weight", "beta": "bias"}
_LINEAR = {"weight": "weight", "bias": "bias"}

ROWS = {
    "Linear": ("nn.Linear(5, 3)", "nn.Dense(3, flatten=False)", ["2,4,5"], _LINEAR),
    "Conv2d": ("nn.Conv2d(4, 6, 3, 2, 1, groups=2)", "nn.Conv2D(6, 3, 2, 1, groups=2)", ["2,4,7,6"], _LINEAR),
    "Conv1d": ("nn.Conv1d(4, 6, 3, dilation=2)", "nn.Conv1D(6, 3, dilation=2)", ["2,4,9"], _LINEAR),
    "ConvTranspose2d": (
        "nn.ConvTranspose2d(4, 6, 3, 2, 1, 1)",
        "nn.Conv2DTranspose(6, 3, 2, 1, output_padding=1)",
        ["2,4,5,4"],
        _LINEAR,
    ),
    "BatchNorm2d": ("nn.BatchNorm2d(3).eval()", "nn.BatchNorm()", ["2,3,4,5"], _NORM),
    "LayerNorm": ("nn.LayerNorm(6)", "nn.LayerNorm()", ["2,4,6"], _NORM),
    "RMSNorm": ("nn.RMSNorm(6, 1e-6)", "nn.RMSNorm(epsilon=1e-6)", ["2,4,6"], {"gamma": "weight"}),
    "GroupNorm": ("nn.GroupNorm(2, 4)", "nn.GroupNorm(2)", ["2,4,5,3"], _NORM),
    "InstanceNorm2d": ("nn.InstanceNorm2d(3)", "nn.InstanceNorm(center=False)", ["2,3,4,5"], {}),
    "Embedding": ("nn.Embedding(5, 3)", "nn.Embedding(5, 3)", ["2,4i5"], {"weight": "weight"}),
    "PReLU": ("nn.PReLU(3)", "nn.PReLU(in_channels=3)", ["2,3,4"], {"alpha": "weight"}),
    "AdaptiveAvgPool2d": ("nn.AdaptiveAvgPool2d((2, 3))", "nn.AdaptiveAvgPool2D((2, 3))", ["2,3,5,7"], {}),
    "AdaptiveMaxPool1d": ("nn.AdaptiveMaxPool1d(4)", "nn.AdaptiveMaxPool1D(4)", ["2,3,9"], {}),
    "AdaptiveMaxPool1d-more": ("nn.AdaptiveMaxPool1d(7)", "nn.AdaptiveMaxPool1D(7)", ["2,3,5"], {}),
    "AdaptiveMaxPool2d": ("nn.AdaptiveMaxPool2d((2, 3))", "nn.AdaptiveMaxPool2D((2, 3))", ["2,3,5,7"], {}),
    "AdaptiveMaxPool2d-even": ("nn.AdaptiveMaxPool2d(2)", "nn.AdaptiveMaxPool2D(2)", ["2,3,6,8"], {}),
    "AdaptiveMaxPool3d": ("nn.AdaptiveMaxPool3d((2, 3, 1))", "nn.AdaptiveMaxPool3D((2, 3, 1))", ["2,3,5,7,4"], {}),
    "LPPool2d": (
        "nn.LPPool2d(3, 2)",
        "lambda x: npx.pooling(x, kernel=(2, 2), stride=(2, 2), pool_type='lp', p_value=3)",
        ["2,3,4,6p"],
        {},
    ),
    "LocalResponseNorm": (
        "nn.LocalResponseNorm(3, 0.01, 0.7, 1.5)",
        "lambda x: npx.lrn(x, nsize=3, alpha=0.01, beta=0.7, knorm=1.5)",
        ["2,5,3,4"],
        {},
    ),
    "PixelShuffle": ("nn.PixelShuffle(2)", "nn.PixelShuffle2D(2)", ["2,8,3,2"], {}),
    "ReflectionPad2d": ("nn.ReflectionPad2d(2)", "nn.ReflectionPad2D(2)", ["2,3,4,5"], {}),
    "ReplicationPad1d": (
        "nn.ReplicationPad1d(2)",
        "lambda x: np.pad(x, ((0, 0), (0, 0), (2, 2)), mode='edge')",
        ["2,3,4"],
        {},
    ),
    "CircularPad1d": (
        "nn.CircularPad1d(2)",
        "lambda x: np.pad(x, ((0, 0), (0, 0), (2, 2)), mode='wrap')",
        ["2,3,4"],
        {},
    ),
    "Upsample": ("nn.Upsample(scale_factor=2, mode='bilinear')", "nn.Upsample(2, 'bilinear')", ["2,3,4,5"], {}),
    "UpsamplingNearest2d": ("nn.UpsamplingNearest2d(scale_factor=3)", "nn.Upsample(3)", ["2,3,4,5"], {}),
    "UpsamplingBilinear2d": (
        "nn.UpsamplingBilinear2d(scale_factor=2)",
        "lambda x: npx.bilinear_resize(x, 8, 10, align_corners=True)",
        ["2,3,4,5"],
        {},
    ),
    "Unfold": ("nn.Unfold(2, stride=2)", "lambda x: npx.im2col(x, kernel=(2, 2), stride=(2, 2))", ["2,3,4,6"], {}),
    "Hardsigmoid": ("nn.Hardsigmoid()", "lambda x: npx.hard_sigmoid(x, alpha=1 / 6)", ["4,9"], {}),
    **{
        name: (f"nn.{name}()", f"nn.Activation('{ours}')", ["4,9"], {})
        for name, ours in {
            "ReLU": "relu",
            "ReLU6": "relu6",
            "Sigmoid": "sigmoid",
            "Tanh": "tanh",
            "Softsign": "softsign",
            "Mish": "mish",
            "LogSigmoid": "log_sigmoid",
            "ELU": "elu",
            "CELU": "celu",
            "SELU": "selu",
            "GELU": "gelu",
            "SiLU": "silu",
            "Softplus": "softplus",
            "Hardswish": "hard_swish",
            "Hardtanh": "hard_tanh",
            "Hardshrink": "hard_shrink",
            "Softshrink": "soft_shrink",
        }.items()
    },
    "GELU-tanh": ("nn.GELU('tanh')", "nn.Activation('gelu_tanh')", ["4,9"], {}),
    "LeakyReLU": ("nn.LeakyReLU()", "nn.LeakyReLU(0.01)", ["4,9"], {}),
    "Softmin": ("nn.Softmin(-1)", "npx.softmin", ["4,9"], {}),
    "Softmax2d": ("nn.Softmax2d()", "lambda x: npx.softmax(x, axis=1)", ["2,3,4,5"], {}),
    "CrossEntropyLoss": ("nn.CrossEntropyLoss()", "loss.SoftmaxCrossEntropyLoss()", ["4,5", "4i5"], {}),
    "CrossEntropyLoss-smooth": (
        "nn.CrossEntropyLoss(label_smoothing=0.1)",
        "loss.SoftmaxCrossEntropyLoss(label_smoothing=0.1)",
        ["4,5", "4i5"],
        {},
    ),
    "CrossEntropyLoss-images": (
        "nn.CrossEntropyLoss()",
        "loss.SoftmaxCrossEntropyLoss(axis=1)",
        ["2,5,3,4", "2,3,4i5"],
        {},
    ),
    "NLLLoss": ("nn.NLLLoss()", "loss.SoftmaxCrossEntropyLoss(from_logits=True)", ["4,5", "4i5"], {}),
    "BCEWithLogitsLoss": ("nn.BCEWithLogitsLoss()", "loss.SigmoidBCELoss()", ["4,5", "4,5p"], {}),
    "BCELoss": ("nn.BCELoss()", "loss.SigmoidBCELoss(from_sigmoid=True)", ["4,5p", "4,5p"], {}),
    "MultiLabelSoftMarginLoss": ("nn.MultiLabelSoftMarginLoss()", "loss.SigmoidBCELoss()", ["4,5", "4,5i2"], {}),
    "MSELoss": ("nn.MSELoss()", "loss.L2Loss(weight=2)", ["4,5", "4,5"], {}),
    "L1Loss": ("nn.L1Loss()", "loss.L1Loss()", ["4,5", "4,5"], {}),
    "SmoothL1Loss": ("nn.SmoothL1Loss(beta=0.5)", "loss.HuberLoss(rho=0.5)", ["4,5", "4,5"], {}),
    "HuberLoss": ("nn.HuberLoss(delta=0.5)", "loss.HuberLoss(rho=0.5, weight=0.5)", ["4,5", "4,5"], {}),
    "KLDivLoss": ("nn.KLDivLoss()", "loss.KLDivLoss()", ["4,5", "4,5p"], {}),
    "PoissonNLLLoss": ("nn.PoissonNLLLoss()", "loss.PoissonNLLLoss()", ["4,5", "4,5i5"], {}),
    "CosineEmbeddingLoss": (
        "nn.CosineEmbeddingLoss(margin=0.1)",
        "loss.CosineEmbeddingLoss(margin=0.1)",
        ["4,5", "4,5", "4s"],
        {},
    ),
    "SoftMarginLoss": ("nn.SoftMarginLoss()", "loss.LogisticLoss(label_format='signed')", ["4,5", "4,5s"], {}),
    "CTCLoss": (
        "lambda x, y: torch.nn.functional.ctc_loss(x.log_softmax(-1).swapaxes(0, 1), y, torch.tensor([6, 6]),"
        " torch.tensor([2, 2]), blank=4, reduction='none').mean()",
        "loss.CTCLoss()",
        ["2,6,5", "2,2i4"],
        {},
    ),
}


def inputs(name):
    """Return the arrays of a row."""
    return [
        _array(shape, numpy.random.RandomState(zlib.crc32(f"{name}{i}".encode())))
        for i, shape in enumerate(ROWS[name][2])
    ]


def _array(text, draw):
    shape = tuple(map(int, text.rstrip("ps").partition("i")[0].split(",")))
    if "i" in text:
        return draw.randint(0, int(text.partition("i")[2]), shape)
    if text[-1] == "p":
        return draw.uniform(0.1, 0.9, shape).astype("float32")
    if text[-1] == "s":
        return draw.choice([-1, 1], shape).astype("float32")
    return (2 * draw.standard_normal(shape)).astype("float32")
