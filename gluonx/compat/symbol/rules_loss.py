"""Rules of the losses of ``gluonx.loss`` in a symbol: the operators that MXNet 1 composes them of.

The nodes are the same for arrays of any shape, so that a loss can be called with symbols whose shapes nobody knows yet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gluonx.compat.symbol.emit import Emit, rule
from gluonx.errors import GraphError
from gluonx.export.record import Step

if TYPE_CHECKING:
    from gluonx.compat.symbol.graph import Entry


_TINY = 1e-12


class _Writer:
    """The nodes of one loss: operators by short names, and the attributes of the step."""

    def __init__(self, emit: Emit, step: Step) -> None:
        self.emit, self.name, self.attrs, self.args = emit, step.op.name, step.op.attrs, step.args

    def array(self, place: int) -> Any:
        """Return the array at a place; None if it was not given."""
        given = self.args[place] if place < len(self.args) else None
        return None if given is None else self.emit.array(given)

    def pair(self) -> tuple[Any, Any]:
        """Return the prediction, and the label in its shape."""
        pred = self.array(0)
        return pred, self.emit.node("reshape_like", self.array(1), pred)

    def by(self, op: str, x: Any, number: Any) -> Any:
        """Return an operator of an array and a number."""
        return self.emit.node(f"_{op}_scalar", x, scalar=float(number))

    def __getattr__(self, op: str) -> Any:
        return lambda *inputs, **attrs: self.emit.node(op, *inputs, **attrs)

    def mul(self, a: Any, b: Any) -> Entry:
        return self.emit.node("broadcast_mul", a, b)

    def sub(self, a: Entry, b: Any) -> Entry:
        return self.emit.node("broadcast_sub", a, b)

    def add(self, a: Entry, b: Entry) -> Entry:
        return self.emit.node("broadcast_add", a, b)

    def weighted(self, loss: Entry, place: int, factor: float = 1.0) -> Entry:
        """Return the loss times the weight of each sample, which stands at `place`, times the loss's own weight."""
        sample_weight, weight = self.array(place), self.attrs["weight"]
        loss = loss if sample_weight is None else self.mul(loss, sample_weight)
        factor *= 1.0 if weight is None else float(weight)
        return loss if factor == 1.0 else self.by("mul", loss, factor)

    def finish(self, loss: Entry, place: int = 2, factor: float = 1.0) -> Entry:
        """Weighted, and the mean over all axes but that of the batch."""
        return self.mean(self.weighted(loss, place, factor), axis=self.attrs["batch_axis"], exclude=True)

    def finish_kept(self, loss: Entry, label: Any) -> Entry:
        """As `finish`, the mean over places whose label is not to be ignored."""
        ignored, axes = self.attrs["ignore_label"], {"axis": self.attrs["batch_axis"], "exclude": True}
        if ignored is None:
            return self.finish(loss)
        kept = self.reshape_like(self.by("not_equal", label, ignored), loss)
        loss = self.weighted(loss, 2)
        kept = self.broadcast_like(kept, loss)
        total = self.sum(self.where(kept, loss, self.zeros_like(loss)), **axes)
        return self.emit.node("broadcast_div", total, self.by("maximum", self.sum(kept, **axes), 1))

    def softplus(self, x: Entry) -> Entry:
        """``log(1 + exp(x))`` of arrays of any size."""
        small = self.Activation(self.negative(self.abs(x)), act_type="softrelu")
        return self.add(self.relu(x), small)


def _loss(*names: str) -> Callable[[Callable[[_Writer], Any]], Any]:
    """Make the decorated function, which is given a writer, the rule of these losses."""
    return lambda made: rule(*names)(lambda emit, step: made(_Writer(emit, step)))


@_loss("l2_loss")
def _l2(w: _Writer) -> Any:
    pred, label = w.pair()
    return w.finish(w.square(w.sub(label, pred)), factor=0.5)


@_loss("l1_loss")
def _l1(w: _Writer) -> Any:
    pred, label = w.pair()
    return w.finish(w.abs(w.sub(label, pred)))


@_loss("huber_loss")
def _huber(w: _Writer) -> Any:
    rho = float(w.attrs["rho"])
    pred, label = w.pair()
    far = w.abs(w.sub(label, pred))
    near = w.by("mul", w.square(far), 0.5 / rho)
    return w.finish(w.where(w.by("greater", far, rho), w.by("minus", far, 0.5 * rho), near))


@_loss("hinge_loss", "squared_hinge_loss")
def _hinge(w: _Writer) -> Any:
    loss = w.relu(w.by("rminus", w.mul(*w.pair()), w.attrs["margin"]))
    return w.finish(loss if w.name == "hinge_loss" else w.square(loss))


def _binary(w: _Writer, x: Entry, y: Entry) -> Entry:
    return w.sub(w.softplus(x), w.mul(x, y))


@_loss("logistic_loss")
def _logistic(w: _Writer) -> Any:
    pred, label = w.pair()
    if w.attrs["label_format"] == "signed":
        label = w.by("mul", w.by("plus", label, 1), 0.5)
    return w.finish(_binary(w, pred, label))


@_loss("sigmoid_bce_loss")
def _sigmoid_bce(w: _Writer) -> Entry:
    pred, label = w.pair()
    positive = w.array(3)
    if w.attrs["from_sigmoid"]:
        yes = w.mul(w.log(w.by("plus", pred, _TINY)), label)
        no = w.mul(w.log(w.by("plus", w.by("rminus", pred, 1), _TINY)), w.by("rminus", label, 1))
        return w.finish_kept(w.negative(w.add(yes if positive is None else w.mul(yes, positive), no)), label)
    if positive is None:
        return w.finish_kept(_binary(w, pred, label), label)
    scale = w.by("plus", w.mul(w.by("minus", positive, 1), label), 1)
    loss = w.add(w.sub(pred, w.mul(pred, label)), w.mul(scale, w.softplus(w.negative(pred))))
    return w.finish_kept(loss, label)


@_loss("softmax_cross_entropy_loss")
def _softmax_ce(w: _Writer) -> Any:
    attrs = w.attrs
    pred, axis = w.array(0), attrs["axis"]
    logp = pred if attrs["from_logits"] else w.log_softmax(pred, axis=axis)
    if attrs["sparse_label"]:
        return w.finish_kept(w.negative(w.pick(logp, w.array(1), axis=axis, keepdims=True)), w.array(1))
    label = w.reshape_like(w.array(1), pred)
    return w.finish(w.negative(w.sum(w.mul(logp, label), axis=axis, keepdims=True)))


@_loss("kl_div_loss")
def _kl_div(w: _Writer) -> Any:
    attrs = w.attrs
    pred, label = w.array(0), w.array(1)
    logp = pred if attrs["from_logits"] else w.log_softmax(pred, axis=attrs["axis"])
    loss = w.mul(label, w.sub(w.log(w.by("plus", label, _TINY)), logp))
    if attrs["summed"]:
        return w.sum(w.weighted(loss, 2), axis=attrs["batch_axis"], exclude=True)
    return w.finish(loss)


@_loss("poisson_nll_loss")
def _poisson(w: _Writer) -> Any:
    attrs = w.attrs
    if attrs["compute_full"]:
        raise GraphError("PoissonNLLLoss(compute_full=True) cannot be written as a symbol; leave compute_full out")
    pred, target = w.pair()
    if attrs["from_logits"]:
        return w.finish(w.sub(w.exp(pred), w.mul(target, pred)))
    return w.finish(w.sub(pred, w.mul(target, w.log(w.by("plus", pred, attrs["epsilon"])))))


@_loss("triplet_loss")
def _triplet(w: _Writer) -> Any:
    attrs = w.attrs
    pred = w.array(0)
    near, far = (w.square(w.sub(w.reshape_like(w.array(i), pred), pred)) for i in (1, 2))
    apart = w.sum(w.sub(near, far), axis=attrs["batch_axis"], exclude=True)
    return w.weighted(w.relu(w.by("plus", apart, attrs["margin"])), 3)


@_loss("cosine_embedding_loss")
def _cosine(w: _Writer) -> Any:
    margin = float(w.attrs["margin"])
    other = w.array(1)
    one = w.reshape_like(w.array(0), other)
    norms = w.mul(*[w.sqrt(w.sum(w.square(x), axis=-1)) for x in (one, other)])
    cosine = w.broadcast_div(w.sum(w.mul(one, other), axis=-1), w.by("maximum", norms, _TINY))
    cosine = w.Reshape(cosine, shape=(-1, 1))
    alike = w.by("equal", w.reshape_like(w.array(2), cosine), 1)
    apart = w.clip(w.by("minus", cosine, margin), a_min=0.0, a_max=1.0 - margin)
    return w.finish(w.where(alike, w.by("rminus", cosine, 1), apart), 3)


@_loss("ctc_batch_loss")
def _ctc(w: _Writer) -> Any:
    attrs = w.attrs
    pred, label, steps, ends = (w.array(i) for i in range(4))
    pred = w.SwapAxis(pred, dim1=0, dim2=1) if attrs["layout"] == "NTC" else pred
    label = label if attrs["label_layout"] == "NT" else w.SwapAxis(label, dim1=0, dim2=1)
    lengths = [x for x in (steps, ends) if x is not None]
    loss = w.CTCLoss(
        pred,
        label,
        *lengths,
        use_data_lengths=steps is not None,
        use_label_lengths=ends is not None,
        blank_label="last",
    )
    return w.weighted(loss, 4)
