"""Operators on the host: NumPy in place of a compiled program, for shapes that are new.

XLA takes 10 to 1,000 ms to compile an operator for a shape that it has not seen; NumPy takes microseconds to compute
it. `gluonx.deferred.run.host` decides which of the two runs an operator.

`kernels` has the most used operators, written in NumPy. `jaxprs` is the general half: it runs the result of
`jax.make_jaxpr`, primitive by primitive, each with the dtype, the shape and the special values that XLA has on a CPU.
The primitives are in modules by family, which register them in the table of `primitives`:

- `elementwise`, `moves` (shapes, slices, gather and scatter), `reductions` (sorting and scans too),
  `windows` (pooling),
- `products` (matrix products, convolutions), `factors` (linear algebra, Fourier transforms), `draws` (random bits).
"""
