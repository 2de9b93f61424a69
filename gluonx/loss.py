"""Losses: blocks that compare a prediction with a label and give one number a sample.

All take an optional ``sample_weight``, an array that broadcasts to the loss before its mean, and are made with a
``weight``, a number. Each is one operator (see `gluonx.ops.losses`), hence one node of the recorded graph.
"""

from __future__ import annotations

from typing import Any

from gluonx.block.block import HybridBlock
from gluonx.deferred import invoke
from gluonx.errors import ArgumentError
from gluonx.np import ndarray
from gluonx.ops import BoundOp
from gluonx.ops import losses as ops

__all__ = [
    "CTCLoss",
    "CosineEmbeddingLoss",
    "HingeLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "L2Loss",
    "LogisticLoss",
    "Loss",
    "PoissonNLLLoss",
    "SDMLLoss",
    "SigmoidBCELoss",
    "SigmoidBinaryCrossEntropyLoss",
    "SoftmaxCELoss",
    "SoftmaxCrossEntropyLoss",
    "SquaredHingeLoss",
    "TripletLoss",
]


def _float(weight: Any) -> float | None:
    return None if weight is None else float(weight)


def _ignoring(label: float | None) -> dict[str, Any]:
    return {} if label is None else {"ignore_label": label}


class Loss(HybridBlock):
    """The base of all losses. A loss of your own defines ``forward``.

    Parameters
    ----------
    weight : float or None
        What the loss is multiplied by.
    batch_axis : int
        The axis of the samples; the mean is taken over all others.

    Raises
    ------
    TypeError
        If the weight is no number.

    Examples
    --------
    >>> from gluonx import loss, np
    >>> class CubicLoss(loss.Loss):
    ...     def forward(self, pred, label):
    ...         return (np.abs(pred - label) ** 3).mean(axis=1) * self._weight
    >>> CubicLoss(weight=0.5, batch_axis=0)(np.array([[3.0], [1.0]]), np.array([[1.0], [1.0]])).tolist()
    [4.0, 0.0]
    """

    _op: Any

    def __init__(self, weight: float | None, batch_axis: int) -> None:
        super().__init__()
        if weight is not None and (isinstance(weight, str) or not hasattr(weight, "__float__")):
            raise TypeError(f"The weight of {type(self).__name__} must be a number or None, got {weight!r}.")
        self._weight = weight
        self._batch_axis = batch_axis

    def _bind(self, op: Any, **attrs: Any) -> None:
        self._op = op.bind(weight=_float(self._weight), batch_axis=self._batch_axis, **attrs)

    def __setattr__(self, name: str, value: object) -> None:
        """Bind the operator anew where the attribute of one of its settings is written: ``loss._weight = 0.5``."""
        super().__setattr__(name, value)
        op = self.__dict__.get("_op")
        if isinstance(op, BoundOp) and name[1:] in op.attrs and name.startswith("_"):
            setting = _float(value) if name == "_weight" else value  # type: ignore[arg-type]
            self.__dict__["_op"] = op.op.bind(**{**op.attrs, name[1:]: setting})

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_axis={self._batch_axis}, w={self._weight})"


class _PairLoss(Loss):
    """A loss of a prediction and a label."""

    def forward(self, pred: ndarray, label: ndarray, sample_weight: ndarray | None = None) -> ndarray:
        """Compute the loss of each sample.

        Parameters
        ----------
        pred, label : ndarray
            Of the same shape or, where the loss says so, a label with fewer axes.
        sample_weight : ndarray, optional
            Broadcast to the loss before the mean: (batch, 1) weighs samples.

        Returns
        -------
        ndarray
            Of shape (batch,).
        """
        if sample_weight is None:
            return invoke(self._op, (pred, label))
        return invoke(self._op, (pred, label, sample_weight))


class L2Loss(_PairLoss):
    """Half the squared difference: ``weight / 2 * (label - pred) ** 2``.

    Examples
    --------
    >>> from gluonx import np
    >>> L2Loss()(np.array([[1.0], [5.0]]), np.array([[0.0], [3.0]])).tolist()
    [0.5, 2.0]
    """

    def __init__(self, weight: float | None = 1.0, batch_axis: int = 0) -> None:
        super().__init__(weight, batch_axis)
        self._bind(ops.l2_loss)


class L1Loss(_PairLoss):
    """The absolute difference.

    Examples
    --------
    >>> from gluonx import np
    >>> L1Loss()(np.array([[1.0], [5.0]]), np.array([[0.0], [3.0]])).tolist()
    [1.0, 2.0]
    """

    def __init__(self, weight: float | None = None, batch_axis: int = 0) -> None:
        super().__init__(weight, batch_axis)
        self._bind(ops.l1_loss)


class SigmoidBinaryCrossEntropyLoss(Loss):
    """Binary cross entropy of independent decisions.

    Parameters
    ----------
    from_sigmoid : bool
        Whether the prediction is a probability; otherwise it is the logit of one, which is more accurate.
    weight, batch_axis
        As in `Loss`.
    ignore_label : float, optional
        Places with this label count for nothing: the loss of a sample is the mean over the others, 0 without any.

    Examples
    --------
    >>> from gluonx import np
    >>> SigmoidBCELoss()(np.array([[0.0]]), np.array([[1.0]])).item()
    0.69315
    """

    def __init__(
        self,
        from_sigmoid: bool = False,
        weight: float | None = None,
        batch_axis: int = 0,
        *,
        ignore_label: float | None = None,
    ) -> None:
        super().__init__(weight, batch_axis)
        self._from_sigmoid = from_sigmoid
        self._bind(ops.sigmoid_bce_loss, from_sigmoid=from_sigmoid, **_ignoring(ignore_label))

    def forward(
        self, pred: ndarray, label: ndarray, sample_weight: ndarray | None = None, pos_weight: ndarray | None = None
    ) -> ndarray:
        """Get the loss of each sample.

        ``pos_weight`` multiplies the part of positive labels and broadcasts to ``pred``.
        """
        if pos_weight is not None:
            return invoke(self._op, (pred, label, sample_weight, pos_weight))
        if sample_weight is None:
            return invoke(self._op, (pred, label))
        return invoke(self._op, (pred, label, sample_weight))


SigmoidBCELoss = SigmoidBinaryCrossEntropyLoss


class SoftmaxCrossEntropyLoss(_PairLoss):
    """Cross entropy of the softmax of a prediction.

    Parameters
    ----------
    axis : int
        The axis of the classes.
    sparse_label : bool
        Whether a label is a class index (any number type; out of range is clipped), not a distribution over classes.
    from_logits : bool
        Whether the prediction is a log-probability already.
    weight, batch_axis
        As in `Loss`.
    ignore_label : int, optional
        Places with this label, such as padding, count for nothing: the loss of a sample is the mean over the others, 0
        without any.
    label_smoothing : float
        The share of each label that is spread over all classes evenly.

    Raises
    ------
    ArgumentError
        If a label is to be ignored and labels are distributions, or a share is not from 0 to below 1.

    Examples
    --------
    >>> from gluonx import np
    >>> SoftmaxCELoss()(np.zeros((2, 4)), np.array([0, 3])).tolist()
    [1.3863, 1.3863]
    """

    def __init__(
        self,
        axis: int = -1,
        sparse_label: bool = True,
        from_logits: bool = False,
        weight: float | None = None,
        batch_axis: int = 0,
        *,
        ignore_label: int | None = None,
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, batch_axis)
        if not 0 <= label_smoothing < 1:
            raise ArgumentError(f"label_smoothing must be at least 0 and below 1, got {label_smoothing}.")
        if ignore_label is not None and not sparse_label:
            raise ArgumentError("ignore_label needs labels that are class indices: sparse_label=True.")
        self._axis, self._sparse_label, self._from_logits = axis, sparse_label, from_logits
        attrs = {"axis": axis, "sparse_label": sparse_label, "from_logits": from_logits, **_ignoring(ignore_label)}
        if label_smoothing:
            attrs["label_smoothing"] = float(label_smoothing)
        self._bind(ops.softmax_cross_entropy_loss, **attrs)


SoftmaxCELoss = SoftmaxCrossEntropyLoss


class KLDivLoss(_PairLoss):
    """Kullback and Leibler's divergence of a label distribution from a predicted one.

    Parameters
    ----------
    from_logits : bool
        Whether the prediction is a log-probability; otherwise its softmax is taken along ``axis``.
    axis : int
        The axis of the classes.
    weight, batch_axis
        As in `Loss`.

    Examples
    --------
    >>> from gluonx import loss, np
    >>> loss.KLDivLoss(from_logits=False)(np.zeros((1, 2)), np.array([[0.5, 0.5]])).round(3).tolist()
    [0.0]
    """

    def __init__(
        self, from_logits: bool = True, axis: int = -1, weight: float | None = None, batch_axis: int = 0
    ) -> None:
        super().__init__(weight, batch_axis)
        self._from_logits, self._axis = from_logits, axis
        self._bind(ops.kl_div_loss, from_logits=from_logits, axis=axis)


class HuberLoss(_PairLoss):
    """Quadratic up to a difference of ``rho``, linear beyond.

    Examples
    --------
    >>> from gluonx import np
    >>> HuberLoss()(np.array([[0.5], [3.0]]), np.array([[0.0], [0.0]])).tolist()
    [0.125, 2.5]
    """

    def __init__(self, rho: float = 1, weight: float | None = None, batch_axis: int = 0) -> None:
        super().__init__(weight, batch_axis)
        self._rho = rho
        self._bind(ops.huber_loss, rho=rho)


class HingeLoss(_PairLoss):
    """``max(0, margin - pred * label)``, for labels of -1 and 1.

    Examples
    --------
    >>> from gluonx import loss, np
    >>> loss.HingeLoss()(np.array([[0.5, 2.0]]), np.array([[1.0, -1.0]])).round(3).tolist()
    [1.75]
    """

    def __init__(self, margin: float = 1, weight: float | None = None, batch_axis: int = 0) -> None:
        super().__init__(weight, batch_axis)
        self._margin = margin
        self._bind(ops.hinge_loss, margin=margin)


class SquaredHingeLoss(_PairLoss):
    """The square of the hinge loss.

    Examples
    --------
    >>> from gluonx import loss, np
    >>> loss.SquaredHingeLoss()(np.array([[0.5, 2.0]]), np.array([[1.0, -1.0]])).round(3).tolist()
    [4.625]
    """

    def __init__(self, margin: float = 1, weight: float | None = None, batch_axis: int = 0) -> None:
        super().__init__(weight, batch_axis)
        self._margin = margin
        self._bind(ops.squared_hinge_loss, margin=margin)


class LogisticLoss(_PairLoss):
    """The logistic loss of a logit.

    Parameters
    ----------
    weight, batch_axis
        As in `Loss`.
    label_format : {'signed', 'binary'}
        Whether labels are -1 and 1, or 0 and 1.

    Raises
    ------
    ValueError
        If the format is neither.

    Examples
    --------
    >>> from gluonx import loss, np
    >>> loss.LogisticLoss()(np.array([[0.5, 2.0]]), np.array([[1.0, -1.0]])).asnumpy().round(3)
    array([1.301], dtype=float32)
    """

    def __init__(self, weight: float | None = None, batch_axis: int = 0, label_format: str = "signed") -> None:
        super().__init__(weight, batch_axis)
        if label_format not in ("signed", "binary"):
            raise ValueError(f"label_format must be 'signed' or 'binary', got {label_format!r}.")
        self._label_format = label_format
        self._bind(ops.logistic_loss, label_format=label_format)


class TripletLoss(Loss):
    """``max(0, |positive - pred|^2 - |negative - pred|^2 + margin)``.

    Examples
    --------
    >>> from gluonx import loss, np
    >>> loss.TripletLoss()(np.zeros((1, 2)), np.zeros((1, 2)), np.ones((1, 2))).tolist()
    [0.0]
    """

    def __init__(self, margin: float = 1, weight: float | None = None, batch_axis: int = 0) -> None:
        super().__init__(weight, batch_axis)
        self._margin = margin
        self._bind(ops.triplet_loss, margin=margin)

    def forward(
        self, pred: ndarray, positive: ndarray, negative: ndarray, sample_weight: ndarray | None = None
    ) -> ndarray:
        """Return the loss of each sample: how much nearer ``positive`` is than ``negative``."""
        return invoke(self._op, (pred, positive, negative, sample_weight))


class PoissonNLLLoss(Loss):
    """The negative log-likelihood of counts under a Poisson.

    Parameters
    ----------
    weight, batch_axis
        As in `Loss`.
    from_logits : bool
        Whether the prediction is the logarithm of the rate.
    compute_full : bool
        Whether the term that depends on the target alone is added, by Stirling's formula.

    Examples
    --------
    >>> from gluonx import loss, np
    >>> loss.PoissonNLLLoss()(np.array([[1.0]]), np.array([[1.0]])).shape
    (1,)
    """

    def __init__(
        self,
        weight: float | None = None,
        from_logits: bool = True,
        batch_axis: int = 0,
        compute_full: bool = False,
    ) -> None:
        super().__init__(weight, batch_axis)
        self._from_logits, self._compute_full = from_logits, compute_full
        self._bind(ops.poisson_nll_loss, from_logits=from_logits, compute_full=compute_full)

    def forward(
        self, pred: ndarray, target: ndarray, sample_weight: ndarray | None = None, epsilon: float = 1e-8
    ) -> ndarray:
        """Return the loss of each sample; ``epsilon`` keeps the logarithm of a rate finite."""
        op = self._op
        if epsilon != op.attrs["epsilon"]:
            op = op.op.bind(**{**op.attrs, "epsilon": float(epsilon)})
        return invoke(op, (pred, target, sample_weight))


class CosineEmbeddingLoss(Loss):
    """``1 - cos`` for pairs with label 1; what the cosine exceeds ``margin`` by for pairs with label -1.

    Examples
    --------
    >>> from gluonx import loss, np
    >>> loss.CosineEmbeddingLoss()(np.ones((1, 2)), np.ones((1, 2)), np.array([1.0])).round(3).tolist()
    [-0.0]
    """

    def __init__(self, weight: float | None = None, batch_axis: int = 0, margin: float = 0) -> None:
        super().__init__(weight, batch_axis)
        self._margin = margin
        self._bind(ops.cosine_embedding_loss, margin=margin)

    def forward(
        self, input1: ndarray, input2: ndarray, label: ndarray, sample_weight: ndarray | None = None
    ) -> ndarray:
        """Return the loss of each pair of rows."""
        if type(self)._cosine_similarity is CosineEmbeddingLoss._cosine_similarity:
            return invoke(self._op, (input1, input2, label, sample_weight))
        from gluonx import np

        cosine = self._cosine_similarity(input1, input2)
        apart = np.clip(cosine - self._margin, 0, 1 - self._margin)
        loss = np.where(label.reshape(cosine.shape) == 1, 1 - cosine, apart)
        loss = loss if sample_weight is None else loss * sample_weight
        loss = loss if self._weight is None else loss * self._weight
        return loss.mean(tuple([axis for axis in range(loss.ndim) if axis != self._batch_axis]))

    def _cosine_similarity(self, x: Any, y: Any, axis: int = -1) -> Any:
        """Return the cosine of each pair of rows, of shape (batch, 1); a class may have another."""
        from gluonx import np

        sizes = np.sqrt((x * x).sum(axis)) * np.sqrt((y * y).sum(axis))
        return ((x * y).sum(axis) / np.maximum(sizes, 1e-12)).reshape((-1, 1))


class SDMLLoss(Loss):
    """Smoothed deep metric learning on two batches of embeddings whose rows belong together.

    Parameters
    ----------
    smoothing_parameter : float
        The probability that is spread over the rows that do not belong together.
    weight, batch_axis
        Accepted as in MXNet, which uses neither.

    Examples
    --------
    >>> from gluonx import loss, np
    >>> loss.SDMLLoss()(np.ones((2, 3)), np.ones((2, 3))).shape
    (2,)
    """

    def __init__(self, smoothing_parameter: float = 0.3, weight: float = 1.0, batch_axis: int = 0) -> None:
        super().__init__(weight, batch_axis)
        self.smoothing_parameter = smoothing_parameter
        self._op = ops.sdml_loss.bind(smoothing_parameter=smoothing_parameter)

    def forward(self, x1: ndarray, x2: ndarray) -> ndarray:
        """Return the loss of each row."""
        cls = type(self)
        if cls._compute_distances is _DISTANCES and cls._compute_labels is _LABELS:
            return invoke(self._op, (x1, x2))
        from gluonx import np, npx

        labels, distances = self._compute_labels(x1.shape[0]), self._compute_distances(x1, x2)
        return (labels * (np.log(labels + 1e-12) - npx.log_softmax(-distances, axis=1))).mean(1)

    def _compute_distances(self, x1: Any, x2: Any) -> Any:
        """Return the squared distance of each row of one batch from each of the other; a class may have another."""
        difference = x1[:, None] - x2[None]
        return (difference * difference).sum(2)

    def _compute_labels(self, batch_size: int) -> Any:
        """Return the probabilities that rows belong together; a class may have others."""
        from gluonx import np

        gold = np.eye(batch_size)
        return gold * (1 - self.smoothing_parameter) + (1 - gold) * self.smoothing_parameter / (batch_size - 1)


_DISTANCES, _LABELS = SDMLLoss._compute_distances, SDMLLoss._compute_labels


class CTCLoss(Loss):
    """Connectionist temporal classification: a sequence of labels shorter than the sequence of predictions.

    The last class is the blank. The softmax is taken inside.

    Parameters
    ----------
    layout : {'NTC', 'TNC'}
        The axes of a prediction: batch, time, class.
    label_layout : {'NT', 'TN'}
        The axes of a label.
    weight : float, optional
        As in `Loss`.

    Raises
    ------
    ValueError
        If a layout is none of these.

    Examples
    --------
    >>> from gluonx import loss, np
    >>> loss.CTCLoss()(np.zeros((1, 4, 3)), np.array([[1, 2]])).shape
    (1,)
    """

    def __init__(self, layout: str = "NTC", label_layout: str = "NT", weight: float | None = None) -> None:
        for what, given, known in (("layout", layout, ("NTC", "TNC")), ("label_layout", label_layout, ("NT", "TN"))):
            if given not in known:
                raise ArgumentError(f"{what} of CTCLoss must be {known[0]!r} or {known[1]!r}, got {given!r}.")
        super().__init__(weight, label_layout.find("N"))
        self._layout, self._label_layout = layout, label_layout
        self._op = ops.ctc_batch_loss.bind(layout=layout, label_layout=label_layout, weight=_float(weight))

    def forward(
        self,
        pred: ndarray,
        label: ndarray,
        pred_lengths: ndarray | None = None,
        label_lengths: ndarray | None = None,
        sample_weight: ndarray | None = None,
    ) -> ndarray:
        """Compute the loss of each sample. Without ``label_lengths`` a label ends before its first negative number."""
        return invoke(self._op, (pred, label, pred_lengths, label_lengths, sample_weight))


def __dir__() -> list[str]:
    return sorted(__all__)
