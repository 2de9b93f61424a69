"""Operators where their gradient jumps, for MXNet and gluonx alike: what they give there and the gradients of the sum.

A case is an expression of `nd`, `np`, `npx` and `gluon`, and the names of the arrays that it is a function of.
"""

__all__ = ["ARRAYS", "ND", "NP", "gradients"]

_PICTURE = [[0, 0, 0, 1], [0, -1, 0, 0], [-1, 2, 2, 2], [0, 0, 2, -3]]
ARRAYS = {
    "x": [-2.5, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 2.5],
    "rows": [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0, 3.0, 4.0], [-1.0, 0.0, 1.0]],
    "level": [[0.0, 1.0, -1.0], [1.0, 1.0, 1.0], [0.0, 3.0, 4.0], [-1.0, 1.0, 0.0]],
    "sure": [[0.0, 1.0, 0.0, 1.0, 1.0]],
    "told": [[0.0, 0.0, 1.0, 1.0, 0.5]],
    "image": [[_PICTURE, [[0] * 4] * 4]],
    "steps": [[[1.0]], [[1.0]]],
    "still": [1.0, 1.0, -1.0, 0.0],
    "start": [[[0.0]]],
}

ND = [
    ("nd.hard_sigmoid(x)", "x"),
    ("nd.hard_sigmoid(x, alpha=1.0, beta=0.5)", "x"),
    ("nd.smooth_l1(x, scalar=1.0)", "x"),
    ("nd.clip(x, -1, 1)", "x"),
    ("nd.MAERegressionOutput(rows, level)", "rows level"),
    *[(f"nd.Pooling(image, kernel=(2, 2), stride=(2, 2), pool_type='lp', p_value={p})", "image") for p in (1, 2, 3)],
    *[
        (
            "nd.Correlation(image, image * 1, kernel_size=1, max_displacement=1, stride1=1, stride2=1, pad_size=1, "
            f"is_multiply={multiply})",
            "image",
        )
        for multiply in (False, True)
    ],
]
NP = [
    ("npx.rnn(data=steps, parameters=still, state=start, mode='rnn_relu', state_size=1, num_layers=1)",
     "steps still start"),
    *[(f"np.linalg.norm(rows, ord={ord}, axis=1)", "rows") for ord in (None, 1, 2, 3)],
    ("np.linalg.norm(rows.reshape(-1), ord=1)", "rows"),
    ("np.abs(x)", "x"),
    ("npx.relu(x)", "x"),
    ("gluon.loss.SigmoidBCELoss(from_sigmoid=True)(sure, told)", "sure"),
]  # fmt: skip


def gradients(text, names, scope, array, autograd):
    """The value of an expression, and the gradients of its sum with respect to the named arrays."""
    values = {name: array(given) for name, given in ARRAYS.items()}
    for name in names.split():
        values[name].attach_grad()
    with autograd.record():
        out = eval(text, {**scope, **values})
    out.backward()
    return [a.asnumpy().tolist() for a in (out, *(values[name].grad for name in names.split()))]
