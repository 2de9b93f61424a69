"""Lowerings of operators for CPUs, where XLA's own are slow.

Every workaround for XLA on a CPU is in this package, and nothing else: convolutions (`convolution`, `transposed`,
`channels_last`) and the library that computes those left to XLA (`library`), reductions, running sums and orders
(`reductions`), random bits (`threefry`). Other platforms use XLA's own lowerings.
"""

__all__: list[str] = []
