"""Programs of which random kin gave different numbers with gluonx and with MXNet 2.0, as expressions.

`a` makes an array of `mx.np`, `n` one of `mx.nd`; gradients are read with ``slope(f, x)``. MXNet gives NumPy's scalars
where it hands a function on to NumPy, so the values are compared, and the dtypes.
"""

__all__ = ["BOUNDS", "OPTIMIZERS", "PROGRAMS"]

_HUNDREDS = "[100, 100, 100, 100, 100]"

PROGRAMS = [
    *(f"np.{name}(a({_HUNDREDS}, '{kind}'))" for name in ("cumprod", "nancumprod", "nancumsum", "nanprod", "nansum")
      for kind in ("int8", "uint8", "int32", "bool", "float32")),
    *(f"np.{name}(a([[1, 2, 3], [4, 5, 6]], 'int32'), axis=1)"
      for name in ("cumprod", "nancumsum", "nanprod", "nansum")),
    "np.nanprod(a([[1, 2, 3], [4, 5, 6]], 'int8'), axis=0, keepdims=True)",
    "np.cumprod(a([100, 100], 'int8'), dtype='float32')",
    "np.nancumsum(a([1, float('nan'), 3], 'float32'))",
    "np.vander(a([100, 5], 'int32'), 5)",
    "np.vander(a([100, 5], 'uint8'), 4, True)",
    *(f"np.correlate(a([16777217, 1, 2], '{kind}'), a([1, 1], '{kind}'))" for kind in ("int32", "int64")),
    "np.correlate(a([200, 100, 2], 'uint8'), a([1, 1], 'uint8'), 'full')",
    "np.polymul(a([16777217, 1], 'int32'), a([1, 3], 'int32'))",
    *(f"np.nanquantile(a({list(range(n))}, 'float32'), 0.5, interpolation='nearest')" for n in (2, 3, 4, 6, 8)),
    "np.nanquantile(a([[1, 2, 3, 4], [7, float('nan'), 5, 6]], 'float32'), a([0.5, 0.9], 'float32'), axis=1, "
    "interpolation='nearest')",
    "np.nanpercentile(a([[1, 2, 3, 4], [7, 8, 5, 6]], 'float32'), 50, axis=(0, 1), keepdims=True, "
    "interpolation='nearest')",
    "np.nanquantile(a(3, 'float32'), a([0.1, 0.9], 'float32'), keepdims=True).shape",
    *(f"nd.linalg.{name}" for name in (
        "extracttrian(n([[0, 1, 2], [3, 4, 5], [6, 7, 8]]), lower=False)",
        "extracttrian(n([[0, 1, 2], [3, 4, 5], [6, 7, 8]]))",
        "extracttrian(n([[[0, 1, 2, 9], [3, 4, 5, 8], [6, 7, 8, 7], [1, 2, 3, 4]]]), offset=1)",
        "maketrian(n([1, 2, 3, 4, 5, 6]), lower=False)",
        "maketrian(n([1, 2, 3, 4, 5, 6]), offset=1)",
        "maketrian(n([1, 2, 3, 4, 5, 6]), offset=-1)",
    )),
    "slope(lambda x: nd.ravel_multi_index(x, shape=(3, 4)), n([[0, 1], [1, 2]]))",
    "slope(lambda x: nd.unravel_index(x, shape=(3, 4)), n([5, 7]))",
    "nd.nansum(n([16777217, 2], 'int32'))",
    "nd.nanprod(n([[3, -5], [1, 2]], 'int32'), axis=1)",
]  # fmt: skip

BOUNDS = (-1, 0)
"""Values of `clip_gradient` (of `clip_weights`) that mean none."""

OPTIMIZERS = [
    (name, words)
    for name, words in (
        ("sgd", {}), ("sgd", {"momentum": 0.9}), ("nag", {}), ("nag", {"momentum": 0.9}), ("adam", {}), ("adamw", {}),
        ("rmsprop", {}), ("rmsprop", {"clip_weights": -1.0}), ("ftrl", {}), ("ftml", {}), ("lamb", {}), ("lans", {}),
        *((name, {"lower_bound": low, "upper_bound": high}) for name in ("lamb", "lans") for low, high in (
            (-1.0, -1.0), (0.0, 0.0), (0.5, 1.0), (5.0, -1.0),
        )),
    )
]  # fmt: skip
