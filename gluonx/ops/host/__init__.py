"""Operators on the host: NumPy in place of a compiled program, for shapes that are new.

XLA takes 10 to 1,000 ms to compile an operator for a shape that it has not seen; NumPy takes microseconds to compute
it. `gluonx.deferred.host` decides which of the two runs an operator.

`forms` holds forms of the hottest operators, written in NumPy. `jaxprs` is the general half: it runs what
`jax.make_jaxpr` gives, primitive by primitive, each with the dtype, the shape and the special values that XLA has on a
CPU. The primitives stand in modules by family, and `rules` is the table that they fill:

- `elementwise`, `moves` (shapes, slices, gather and scatter), `reductions` (sorting and scans too),
  `windows` (pooling),
- `products` (matrix products, convolutions), `factors` (linear algebra, Fourier transforms), `draws` (random bits).
"""
